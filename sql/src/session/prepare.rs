//! Compiles statements in a session, and compiles them again when a table has changed.

use std::borrow::Cow;
use std::sync::Arc;

use hyades_engine::db::Interrupt;
use hyades_engine::procedure::ir::{DynamicRows, Procedure};
use hyades_engine::storage::table::Table;
use hyades_types::environment::Severity;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory;
use hyades_types::value::{SqlType, Value};
use parking_lot::Mutex;

use super::state::State;
use super::{Flow, Notice, Prepared, Response, Session};
use crate::bind::BindContext;
use crate::compile::action::{Action, Plan};
use crate::ddl::command::SchemaCommand;
use crate::ddl::materialized_views::compile_refill;
use crate::ddl::standard_bodies::kept_body;
use crate::ddl::table_as::compile_filling;
use crate::emit::run_plan::{Analysis, RunPlan, Tag};
use crate::plpgsql::routine_body::When;
use crate::statement::ExplainOptions;
use crate::{compile, plpgsql};

/// How many plans of a statement may become stale before it gives up.
const MOST_STALE_PLANS: u32 = 1000;

/// The state before a plan was made.
pub(super) struct BeforeCompiling {
    memory: isize,
    catalog_version: u64,
}

/// Whether the plan still fits its tables. Checked only where that is cheap and where the shape of the
/// result may change.
fn is_fresh(plan: &Plan) -> bool {
    match &plan.action {
        Action::Run(run) => run.procedure.is_current(),
        Action::Call(call) => !call.routine.is_dropped(),
        Action::Empty | Action::Transaction(_) | Action::Settings(_) => true,
        _ => false,
    }
}

impl Session {
    /// Brings the meaning of names up to date.
    #[inline]
    pub(super) fn settle_names(&mut self) {
        self.view.settle_names();
        self.forget_old_path();
    }

    /// Computes the path from the setting and the existing schemas.
    pub(super) fn refresh_path(&mut self) {
        self.view.refresh_path();
        self.forget_old_path();
    }

    /// Names in cached statements were looked up in the old path.
    #[inline]
    pub(super) fn forget_old_path(&mut self) {
        if std::mem::take(&mut self.view.meaning.has_new_path) {
            self.cache.clear();
        }
    }

    /// Compiles the query of CREATE TABLE AS for its table.
    pub(super) fn compile_filling(
        &self,
        sql: &str,
        table: &Arc<Table>,
        analysis: Option<Analysis>,
    ) -> Result<Plan> {
        let tables = self.view.compiling();
        let context = self.view.context(&tables);
        let run = match table.definition().materialized.is_some() {
            true => compile_refill(context, table, false, analysis)?,
            false => compile_filling(sql, context, table, analysis)?,
        };
        Ok(Plan::of_run("CREATE TABLE AS", run))
    }

    /// Compiles the text of an EXECUTE in a routine.
    pub(super) fn compile_dynamic(
        &self,
        text: &str,
        types: &[SqlType],
        rows: Option<&DynamicRows>,
    ) -> Result<Procedure> {
        let tables = self.view.compiling();
        let path = self.view.search_path().named().map(str::to_owned).collect();
        let procedure = plpgsql::dynamic::compile(text, types, rows, (&tables, path))?;
        self.check_procedure(&procedure)?;
        Ok(procedure)
    }

    /// The EXPLAIN of a prepared statement with these values.
    pub(super) fn explained(
        &self,
        prepared: &Prepared,
        options: ExplainOptions,
        values: &[Value],
    ) -> Result<Arc<Prepared>> {
        let text = format!("explain ({options}) {}", prepared.text);
        let declared: Vec<Option<SqlType>> =
            self.parameter_types(prepared).iter().copied().map(Some).collect();
        // A position in the text of PREPARE is meaningless in that of EXPLAIN.
        let plan = self
            .compile_showing(values, &text, &declared, &mut Vec::new())
            .map_err(Error::without_position)?;
        Ok(Arc::new(Prepared {
            text,
            parameter_types: plan.parameters.clone(),
            response: plan.response.clone(),
            shown_parameters: values.into(),
            is_binary: false,
            plan: Mutex::new((Arc::new(plan), self.view.stamp())),
            catalog_version: 0,
            charge: self.view.account.keep(0),
        }))
    }

    pub(super) fn compile(
        &self,
        sql: &str,
        declared: &[Option<SqlType>],
        truncated: &mut Vec<(String, String)>,
    ) -> Result<Plan> {
        self.compile_showing(&[], sql, declared, truncated)
    }

    /// `shown` are the values that EXPLAIN shows in place of parameters.
    fn compile_showing(
        &self,
        shown: &[Value],
        sql: &str,
        declared: &[Option<SqlType>],
        truncated: &mut Vec<(String, String)>,
    ) -> Result<Plan> {
        let mut plan = self.view.with_context(|context| {
            let context = BindContext { shown_parameters: shown, ..context };
            compile::compile(sql, context, declared, truncated)
        })?;
        let tables = self.view.compiling();
        match &mut plan.action {
            Action::Execute { name, .. } => plan.response = self.named(name)?.response().clone(),
            Action::ExplainExecute { name, .. } => drop(self.named(name)?),
            Action::Fetch(fetch) => {
                let columns = self.cursors.lock().columns(&fetch.name)?.to_vec();
                if !fetch.is_move {
                    plan.response = Response::Rows(columns);
                }
            }
            Action::Schema(SchemaCommand::CreateRoutine { definition, body_offset, .. })
                if definition.uses.is_some() =>
            {
                plpgsql::routine_body::compile(definition, &tables, When::Created(*body_offset))?;
                let keep = |context: BindContext<'_>| kept_body(definition, context, *body_offset);
                let kept = self.view.with_context(keep)?;
                plpgsql::routine_body::compile(&kept, &tables, When::Called)?;
                **definition = kept;
            }
            // Errors in the body are reported now, but PL/pgSQL may name what does not exist yet.
            Action::Schema(SchemaCommand::CreateRoutine { definition, body_offset, .. })
                if self.setting("check_function_bodies").as_deref() != Some("off") =>
            {
                match plpgsql::routine_body::compile(definition, &tables, When::Created(*body_offset)) {
                    Err(error) if definition.language == "plpgsql" && is_of_missing(&error) => {}
                    compiled => drop(compiled?),
                }
            }
            Action::Block { definition, body_offset } => {
                let when = When::Anonymous(*body_offset);
                let procedure = Arc::new(plpgsql::routine_body::compile(definition, &tables, when)?);
                plan.action = Action::Run(Box::new(RunPlan::new(procedure, Tag::Do)));
            }
            _ => {}
        }
        Ok(plan)
    }

    pub(super) fn named(&self, name: &str) -> Result<&Arc<Prepared>> {
        self.named.get(name).map(|named| &named.prepared).ok_or_else(|| {
            Error::input(
                sqlstate::INVALID_SQL_STATEMENT_NAME,
                format!("prepared statement \"{name}\" does not exist"),
            )
        })
    }

    pub(super) fn about_to_compile(&self) -> BeforeCompiling {
        BeforeCompiling { memory: memory::spent(), catalog_version: self.view.catalog.version() }
    }

    /// A cached statement, if its text still means the same.
    pub(super) fn find_cached(&mut self, sql: &str, declared: &[Option<SqlType>]) -> Option<Arc<Prepared>> {
        self.settle_identity();
        self.settle_names();
        let prepared = self.cache.get(sql, declared)?;
        let (plan, is_meant) = prepared.plan_under(self.view.stamp());
        let is_newest = prepared.catalog_version == self.view.catalog.version();
        (is_newest && is_meant && is_fresh(&plan)).then(|| Arc::clone(prepared))
    }

    /// Compiles for a client: a failure fails the transaction.
    pub(super) fn compile_or_fail<T>(&mut self, compile: impl FnMut(&mut Session) -> Result<T>) -> Flow<T> {
        let outcome = self.as_guest(|session| session.compile_settled(compile));
        match &outcome {
            Ok(_) => {}
            Err(Interrupt::Wait(_)) => self.show_state(true),
            Err(Interrupt::Failed(_)) => {
                self.as_guest(Session::fail_transaction);
                self.show_state(false);
            }
        }
        outcome
    }

    /// Compiles by what is committed: while another transaction has changed the definition of a table that
    /// was looked up, waits, and compiles again. As in PostgreSQL the transaction, which may begin with that,
    /// lasts until the end of its statements. To be called again after a wait.
    pub(super) fn compile_settled<T>(
        &mut self,
        mut compile: impl FnMut(&mut Session) -> Result<T>,
    ) -> Flow<T> {
        loop {
            *self.view.meaning.unsettled.get_mut() = None;
            let noticed = self.notices.len();
            let compiled = compile(self);
            let unsettled = self.view.meaning.unsettled.get_mut().take();
            let Some(table) = unsettled.filter(|_| self.state != State::Failed) else { return Ok(compiled?) };
            self.open_transaction()?;
            let outlasted = self.view.worker.outlast_change(&table);
            // An index is built without keeping others away from the definition.
            if outlasted.is_ok() && self.view.worker.is_changed_by_others(&table) {
                return Ok(compiled?);
            }
            self.notices.truncate(noticed);
            outlasted?;
        }
    }

    /// Compiles a text, or takes it from the cache.
    pub(super) fn prepare_cached(
        &mut self,
        sql: &str,
        declared: &[Option<SqlType>],
    ) -> Result<Arc<Prepared>> {
        if let Some(prepared) = self.find_cached(sql, declared) {
            self.check_failed(&prepared.plan())?;
            return Ok(prepared);
        }
        let before = self.about_to_compile();
        let mut truncated = Vec::new();
        let is_shown = self.show_preparation(sql);
        let compiled = self.compile(sql, declared, &mut truncated);
        if is_shown {
            self.show_state(false);
        }
        self.note_truncated(truncated);
        let plan = match compiled {
            Ok(plan) => plan,
            // In a failed transaction PostgreSQL checks only the syntax.
            Err(error) => {
                self.check_failed_error(&error)?;
                return Err(error);
            }
        };
        self.check_failed(&plan)?;
        let prepared = self.prepared_of(plan, sql, &before);
        self.cache.put(&prepared, declared);
        Ok(prepared)
    }

    pub(super) fn prepared_of(&self, plan: Plan, sql: &str, before: &BeforeCompiling) -> Arc<Prepared> {
        let is_binary =
            matches!(&plan.action, Action::Fetch(fetch) if self.cursors.lock().is_binary(&fetch.name));
        Arc::new(Prepared {
            is_binary,
            text: sql.to_owned(),
            parameter_types: plan.parameters.clone(),
            response: plan.response.clone(),
            shown_parameters: Box::default(),
            plan: Mutex::new((Arc::new(plan), self.view.stamp())),
            catalog_version: before.catalog_version,
            charge: self
                .view
                .account
                .keep(usize::try_from(memory::spent() - before.memory).unwrap_or(0) + sql.len()),
        })
    }

    fn note_truncated(&mut self, truncated: Vec<(String, String)>) {
        if !self.view.environment.wants(Severity::Notice) {
            return;
        }
        for (name, short) in truncated {
            let message = format!("identifier \"{name}\" will be truncated to \"{short}\"");
            self.notices.push(Notice::new("NOTICE", "42622", message));
        }
    }

    /// To be called before a plan that has become stale is made again.
    ///
    /// # Errors
    /// That of a request to stop the statement; XX000 if its plans are stale each time: the catalog would
    /// have to change between each plan and its start.
    pub(super) fn note_stale_plan(&mut self) -> Result<()> {
        self.view.environment.stop.check()?;
        self.stale_plans += 1;
        if self.stale_plans <= MOST_STALE_PLANS {
            return Ok(());
        }
        let message = format!("the catalog has changed under {MOST_STALE_PLANS} plans of this statement");
        Err(Error::input(sqlstate::INTERNAL_ERROR, message))
    }

    /// Compiles a statement again after a table changed.
    pub(super) fn recompile(&self, prepared: &Arc<Prepared>) -> Result<Arc<Plan>> {
        let declared: Vec<Option<SqlType>> =
            self.parameter_types(prepared).iter().copied().map(Some).collect();
        let shown = &prepared.shown_parameters;
        let plan = Arc::new(self.compile_showing(shown, &prepared.text, &declared, &mut Vec::new())?);
        if plan.response != prepared.response && !same_columns(&plan.response, &prepared.response) {
            return Err(Error::input(
                sqlstate::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            ));
        }
        self.check_rights(&plan)?;
        *prepared.plan.lock() = (Arc::clone(&plan), self.view.stamp_of_recompiled());
        Ok(plan)
    }
}

/// Whether both have the same names and types, even if from different tables.
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

impl Session {
    /// The current versions of the types of a statement's parameters.
    pub fn parameter_types<'p>(&self, prepared: &'p Prepared) -> Cow<'p, [SqlType]> {
        let types = prepared.parameter_types();
        if !types.iter().any(|sql_type| sql_type.has_definition()) {
            return Cow::Borrowed(types);
        }
        let current = |sql_type: &SqlType| {
            let current = sql_type.definition_id().and_then(|id| self.view.type_of_number(id));
            current.map_or(*sql_type, |current| sql_type.with_type(current))
        };
        Cow::Owned(types.iter().map(current).collect())
    }
}

/// Whether something that a statement names does not exist. PostgreSQL looks at what the statements of a
/// function in PL/pgSQL name only when they run, so functions can be created in any order.
fn is_of_missing(error: &Error) -> bool {
    let states = [sqlstate::UNDEFINED_FUNCTION, sqlstate::UNDEFINED_TABLE, sqlstate::UNDEFINED_COLUMN];
    states.contains(&error.sqlstate())
}
