//! Statement texts with literals, run as statements with parameters (`statement/lifting.rs`).
//!
//! When a text without its literals occurs for the second time, it is compiled with parameters in their
//! place and kept in the statement cache. From then on such a text costs a walk over its tokens instead of
//! parsing, binding and planning. In any doubt a text is compiled as it was written:
//! 1. the text with parameters does not compile, or is not a query or change: the user gets the error of
//!    the original text, with its position;
//! 2. a parameter has a type in which its value would differ from the literal;
//! 3. the plan may depend on a value: a table has a partial index, or an index on an expression of which a
//!    literal may be part.

use std::sync::Arc;

use hyades_engine::procedure::ir::Procedure;
use hyades_types::value::Value;

use super::prepared::Prepared;
use super::state::State;
use super::{Flow, Session};
use crate::compile::action::{Action, Plan};
use crate::statement::lifting::Lifting;

/// Whether a plan with parameters is as good as a plan for these values.
fn is_suitable(plan: &Plan, lifting: &Lifting) -> bool {
    let procedure = match &plan.action {
        Action::Run(run) => Some(&run.procedure),
        // The routine has been compiled before.
        Action::Call(_) => None,
        _ => return false,
    };
    let has_types = plan.parameters.len() == lifting.literals.len();
    let are_values = || {
        let mut literals = lifting.literals.iter().zip(&plan.parameters);
        literals.all(|(literal, sql_type)| literal.is_value_of(*sql_type))
    };
    let has_one_plan =
        || procedure.is_none_or(|procedure| !depends_on_values(procedure, lifting.has_computed()));
    has_types && are_values() && has_one_plan()
}

/// Whether the plan might differ for another value.
fn depends_on_values(procedure: &Procedure, has_computed: bool) -> bool {
    procedure.tables.iter().any(|used| {
        let definition = used.table.definition();
        definition.indexes.iter().any(|index| index.predicate.is_some())
            || has_computed && definition.columns.iter().any(|column| column.indexed().is_some())
    })
}

impl Session {
    /// Compiles a statement that is run once, and returns the values of its parameters, which are the
    /// literals of its text. If that is not possible, works like [`Session::prepare`].
    ///
    /// # Errors
    /// As [`Session::prepare`].
    pub fn prepare_text(&mut self, sql: &str) -> Flow<(Arc<Prepared>, Vec<Value>)> {
        match self.compile_or_fail(|session| Ok(session.prepare_lifted(sql)))? {
            Some(lifted) => Ok(lifted),
            None => self.prepare(sql, &[]).map(|prepared| (prepared, Vec::new())),
        }
    }

    fn prepare_lifted(&mut self, sql: &str) -> Option<(Arc<Prepared>, Vec<Value>)> {
        if self.state == State::Failed {
            return None;
        }
        let mut lifting = std::mem::take(&mut self.lifting);
        let prepared = lifting.lift(sql).then(|| self.find_lifted(&lifting)).flatten();
        let found = prepared.and_then(|prepared| {
            let literals = lifting.literals.iter().zip(&prepared.parameter_types);
            let values =
                literals.map(|(literal, sql_type)| literal.value(sql, *sql_type, self.view.reading()));
            let values: Option<Vec<Value>> = values.collect();
            values.map(|values| (prepared, values))
        });
        self.lifting = lifting;
        if let Some((prepared, _)) = &found {
            self.show_written(prepared, sql);
        }
        found
    }

    /// The statement with parameters, found in the cache or compiled.
    fn find_lifted(&mut self, lifting: &Lifting) -> Option<Arc<Prepared>> {
        let Lifting { text, types, .. } = lifting;
        if let Some(prepared) = self.find_cached(text, types) {
            return Some(prepared);
        }
        if !self.cache.comes_again(text) || self.cache.is_refused(text) {
            return None;
        }
        let before = self.about_to_compile();
        let mut truncated = Vec::new();
        let compiled = self.compile(text, types, &mut truncated);
        match compiled {
            // The notice about a truncated name is due for each text.
            Ok(plan) if truncated.is_empty() && is_suitable(&plan, lifting) => {
                let prepared = self.prepared_of(plan, text, &before);
                self.cache.keep(&prepared, types);
                Some(prepared)
            }
            _ => {
                self.cache.refuse(text);
                None
            }
        }
    }

    /// While the statement runs, other sessions see the text as it was written.
    fn show_written(&mut self, prepared: &Arc<Prepared>, sql: &str) {
        self.shown_statement = Arc::as_ptr(prepared) as usize;
        self.activity.statement.lock().write(prepared, sql);
    }
}
