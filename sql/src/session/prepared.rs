//! Compiled statements and their cache.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use hyades_engine::db::{Engine, Worker};
use hyades_engine::procedure::ir::Procedure;
use hyades_engine::storage::routine::Routine;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{TableId, TableName};
use hyades_types::environment::Severity;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory;
use hyades_types::memory::Charge;
use hyades_types::value::SqlType;
use parking_lot::Mutex;

use super::{Notice, Response, Session};
use crate::bind::{BindContext, Tables};
use crate::compile;
use crate::plan::{Action, Plan, SchemaCommand};
use crate::plpgsql;
use crate::plpgsql::routine::When;
use crate::settings::SearchPath;

/// Statements kept for texts that come again; all are forgotten when there are more.
const MOST_CACHED: usize = 256;
/// Longer texts are not worth keeping: they are loads of data.
const LONGEST_CACHED_BYTES: usize = 4096;

/// A compiled statement; recompiles itself when a table changed.
pub struct Prepared {
    text: String,
    parameter_types: Vec<SqlType>,
    response: Response,
    /// And the search path it was compiled under.
    plan: Mutex<(Arc<Plan>, SearchPath)>,
    /// It may be kept for as long as the session lives.
    _charge: Charge,
}

impl Prepared {
    pub fn parameter_types(&self) -> &[SqlType] {
        &self.parameter_types
    }

    pub fn response(&self) -> &Response {
        &self.response
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan.lock().0)
    }

    /// The plan, and whether names mean under this search path what they meant when it was made.
    pub(super) fn plan_under(&self, path: SearchPath) -> (Arc<Plan>, bool) {
        let plan = self.plan.lock();
        (Arc::clone(&plan.0), plan.1 == path)
    }
}

/// Slots of the memory for texts seen once.
const SEEN_SLOTS: usize = 512;

/// The statements of a session by text and declared parameter types. A text is kept when it comes the second
/// time: simple queries with their values in the text are never worth keeping.
pub(super) struct StatementCache {
    by_text: HashMap<String, Vec<CachedStatement>>,
    count: usize,
    /// Hashes of texts, each in the slot of its low bits.
    seen: Vec<u64>,
}

impl Default for StatementCache {
    fn default() -> StatementCache {
        StatementCache { by_text: HashMap::new(), count: 0, seen: vec![0; SEEN_SLOTS] }
    }
}

struct CachedStatement {
    declared: Vec<Option<SqlType>>,
    prepared: Arc<Prepared>,
}

impl StatementCache {
    pub(super) fn clear(&mut self) {
        self.by_text.clear();
        self.count = 0;
    }

    fn get(&self, text: &str, declared: &[Option<SqlType>]) -> Option<&Arc<Prepared>> {
        let statements = self.by_text.get(text)?;
        statements.iter().find(|cached| cached.declared == declared).map(|cached| &cached.prepared)
    }

    fn put(&mut self, prepared: &Arc<Prepared>, declared: &[Option<SqlType>]) {
        if prepared.text.len() > LONGEST_CACHED_BYTES {
            return;
        }
        let hash = self.by_text.hasher().hash_one(&prepared.text);
        let slot = usize::try_from(hash % SEEN_SLOTS as u64).unwrap_or(0);
        if std::mem::replace(&mut self.seen[slot], hash) != hash {
            return;
        }
        if self.count >= MOST_CACHED {
            self.clear();
        }
        let statements = self.by_text.entry(prepared.text.clone()).or_default();
        statements.retain(|cached| cached.declared != declared);
        statements.push(CachedStatement { declared: declared.to_vec(), prepared: Arc::clone(prepared) });
        self.count += 1;
    }
}

/// The tables as the session's transaction sees them.
struct VisibleTables<'a> {
    engine: &'a dyn Engine,
    worker: &'a dyn Worker,
}

impl Tables for VisibleTables<'_> {
    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        if self.worker.in_transaction() { self.worker.table(name) } else { self.engine.table(name) }
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        self.worker.routines_named(name)
    }

    fn procedure(&self, routine: &Routine) -> Result<Arc<Procedure>> {
        self.worker.procedure(routine)
    }

    fn by_id(&self, id: TableId) -> Option<Arc<Table>> {
        let tables = if self.worker.in_transaction() { self.worker.tables() } else { self.engine.tables() };
        tables.into_iter().find(|table| table.id() == id)
    }
}

/// Whether the plan still fits its tables; only where that is cheap to see and changes the answer's shape.
fn is_fresh(plan: &Plan) -> bool {
    match &plan.action {
        Action::Run(run) => run.source.is_current() && run.apply.as_deref().is_none_or(Procedure::is_current),
        Action::Call(call) => !call.routine.is_dropped(),
        Action::Empty | Action::Transaction(_) | Action::Settings(_) => true,
        _ => false,
    }
}

impl Session {
    pub(super) fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        VisibleTables { engine: self.shared.engine.as_ref(), worker: self.worker.as_ref() }.table(name)
    }

    pub(super) fn table_by_id(&self, id: TableId) -> Option<Arc<Table>> {
        VisibleTables { engine: self.shared.engine.as_ref(), worker: self.worker.as_ref() }.by_id(id)
    }

    fn compile(
        &self,
        sql: &str,
        declared: &[Option<SqlType>],
        truncated: &mut Vec<(String, String)>,
    ) -> Result<Plan> {
        let tables = VisibleTables { engine: self.shared.engine.as_ref(), worker: self.worker.as_ref() };
        let context = BindContext {
            tables: &tables,
            time_zone: self.settings.time_zone(),
            database: &self.environment.database,
            path: self.settings.search_path(),
        };
        let mut plan = compile::compile(sql, context, declared, truncated)?;
        match &plan.action {
            Action::Execute { name, .. } => plan.response = self.named(name)?.response().clone(),
            // Whatever is wrong with the body is said now.
            Action::Schema(SchemaCommand::CreateRoutine { definition, body_offset, .. }) => {
                plpgsql::routine::compile(definition, &tables, When::Created(*body_offset))?;
            }
            _ => {}
        }
        Ok(plan)
    }

    pub(super) fn named(&self, name: &str) -> Result<&Arc<Prepared>> {
        self.named.get(name).ok_or_else(|| {
            Error::input(
                sqlstate::INVALID_SQL_STATEMENT_NAME,
                format!("prepared statement \"{name}\" does not exist"),
            )
        })
    }

    /// Compiles a text, or finds it compiled.
    pub(super) fn prepare_cached(
        &mut self,
        sql: &str,
        declared: &[Option<SqlType>],
    ) -> Result<Arc<Prepared>> {
        if let Some(prepared) = self.cache.get(sql, declared) {
            let plan = prepared.plan();
            if is_fresh(&plan) {
                self.check_failed(&plan)?;
                return Ok(Arc::clone(prepared));
            }
        }
        let before = memory::spent();
        let mut truncated = Vec::new();
        let compiled = self.compile(sql, declared, &mut truncated);
        self.note_truncated(truncated);
        let plan = match compiled {
            Ok(plan) => plan,
            // In a failed transaction PostgreSQL looks no further than the syntax.
            Err(error) => {
                self.check_failed_error(&error)?;
                return Err(error);
            }
        };
        self.check_failed(&plan)?;
        let prepared = Arc::new(Prepared {
            text: sql.to_owned(),
            parameter_types: plan.parameters.clone(),
            response: plan.response.clone(),
            plan: Mutex::new((Arc::new(plan), self.settings.search_path())),
            _charge: self.account.keep(usize::try_from(memory::spent() - before).unwrap_or(0) + sql.len()),
        });
        self.cache.put(&prepared, declared);
        Ok(prepared)
    }

    fn note_truncated(&mut self, truncated: Vec<(String, String)>) {
        if !self.environment.wants(Severity::Notice) {
            return;
        }
        for (name, short) in truncated {
            let message = format!("identifier \"{name}\" will be truncated to \"{short}\"");
            self.notices.push(Notice::new("NOTICE", "42622", message));
        }
    }

    /// Compiles again after a table changed.
    pub(super) fn recompile(&self, prepared: &Arc<Prepared>) -> Result<Arc<Plan>> {
        let declared: Vec<Option<SqlType>> = prepared.parameter_types.iter().copied().map(Some).collect();
        let plan = Arc::new(self.compile(&prepared.text, &declared, &mut Vec::new())?);
        if plan.response != prepared.response && !same_columns(&plan.response, &prepared.response) {
            return Err(Error::input(
                sqlstate::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            ));
        }
        *prepared.plan.lock() = (Arc::clone(&plan), self.settings.search_path());
        Ok(plan)
    }
}

/// The same names and types, perhaps of another table.
fn same_columns(left: &Response, right: &Response) -> bool {
    match (left, right) {
        (Response::Rows(left), Response::Rows(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| left.name == right.name && left.sql_type == right.sql_type)
        }
        (left, right) => left == right,
    }
}
