//! Compiles statements in a session, and compiles them again when a table has changed.

use std::sync::Arc;

use hyades_engine::db::{Engine, Worker};
use hyades_engine::procedure::compiled_routine::Compilation;
use hyades_engine::procedure::ir::{DynamicRows, Expr, Procedure};
use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::stored_type::StoredType;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CheckConstraint, ColumnDefinition, Generation, SchemaId, SequenceId, TableDefinition, TableId, TableName,
};
use hyades_types::environment::Severity;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory;
use hyades_types::sequence::Sequence;
use hyades_types::value::{SqlType, Value};
use parking_lot::Mutex;
use sqlparser::ast;

use super::prepared::Prepared;
use super::{Notice, Response, Session};
use crate::bind::row_expression::row_type;
use crate::bind::sequence_call::sequences_of;
use crate::bind::{BindContext, Binder, SchemaGate, Tables};
use crate::compile;
use crate::compile::action::{Action, Plan};
use crate::ddl::command::SchemaCommand;
use crate::ddl::filling::{self, Filling, compile_validation};
use crate::ddl::table_as::compile_filling;
use crate::ddl::tables::compile_default;
use crate::ddl::wanted::WantedCheck;
use crate::emit::run_plan::{Analysis, RunPlan, Tag};
use crate::plpgsql;
use crate::plpgsql::routine_body::When;
use crate::statement::ExplainOptions;
use crate::statement::deep_text::with_deep_stack;
use crate::statement::query::parse_expression;

/// The tables as the session's transaction sees them.
struct VisibleTables<'a> {
    engine: &'a dyn Engine,
    worker: &'a dyn Worker,
    /// Keeps tables unchanged while something is compiled.
    _compilation: Option<Compilation<'a>>,
}

impl Tables for VisibleTables<'_> {
    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        if self.worker.in_transaction() { self.worker.table(name) } else { self.engine.table(name) }
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        self.worker.routines_named(name)
    }

    fn sequence(&self, name: &TableName) -> Option<Arc<Sequence>> {
        self.worker.catalog_view().sequence_named(name)
    }

    fn procedure(&self, routine: &Routine) -> Result<Arc<Procedure>> {
        self.worker.procedure(routine)
    }

    fn type_named(&self, name: &TableName) -> Option<Arc<StoredType>> {
        self.worker.catalog_view().type_named(name)
    }

    fn schema(&self, name: &str) -> Option<SchemaId> {
        self.worker.catalog_view().schemas().get(name)
    }

    fn temporary_schema(&self) -> Option<String> {
        self.worker.catalog_view().temporary_schema().map(str::to_owned)
    }

    fn old_snapshot(&self) -> Option<u64> {
        self.worker.catalog_view().old_snapshot()
    }

    fn by_id(&self, id: TableId) -> Option<Arc<Table>> {
        let tables = if self.worker.in_transaction() { self.worker.tables() } else { self.engine.tables() };
        tables.into_iter().find(|table| table.id() == id)
    }
}

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

/// The plan of a procedure that ALTER TABLE runs.
fn alteration(run: RunPlan) -> Plan {
    Plan { is_read_only: false, ..Plan::of_run("ALTER TABLE", run) }
}

impl Session {
    fn visible(&self) -> VisibleTables<'_> {
        VisibleTables {
            engine: self.shared.engine.as_ref(),
            worker: self.worker.as_ref(),
            _compilation: None,
        }
    }

    fn compiling(&self) -> VisibleTables<'_> {
        let compilation = self.worker.catalog_view().compilations().begin();
        VisibleTables { _compilation: Some(compilation), ..self.visible() }
    }

    pub(super) fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.visible().table(name)
    }

    pub(super) fn table_by_id(&self, id: TableId) -> Option<Arc<Table>> {
        self.visible().by_id(id)
    }

    pub(super) fn visible_tables(&self) -> Vec<Arc<Table>> {
        match self.worker.in_transaction() {
            true => self.worker.tables(),
            false => self.shared.engine.tables(),
        }
    }

    /// The sequences that the defaults of a table draw from, each with its column.
    pub(super) fn sequences_of_defaults(&self, table: &Arc<Table>) -> Result<Vec<(u16, SequenceId)>> {
        let tables = self.compiling();
        let defaults = with_deep_stack(|| Binder::new("", self.context(&tables), &[], 0)?.defaults(table))?;
        let drawn = (0u16..).zip(&defaults).flat_map(|(column, default)| {
            sequences_of(default).into_iter().map(move |sequence| (column, sequence))
        });
        Ok(drawn.collect())
    }

    /// Compiles something that is not a client's statement.
    pub(super) fn with_context<T>(&self, compile: impl FnOnce(BindContext<'_>) -> Result<T>) -> Result<T> {
        let (tables, gate) = (self.compiling(), self.gate());
        let compiled = compile(BindContext { gate: gate.as_ref(), ..self.context(&tables) });
        match gate {
            Some(gate) => gate.outcome(compiled),
            None => compiled,
        }
    }

    /// What checks the schemas that a statement of the session names.
    fn gate(&self) -> Option<SchemaGate> {
        (!self.is_superuser()).then(|| SchemaGate::of(self.caller()))
    }

    fn context<'a>(&'a self, tables: &'a VisibleTables<'a>) -> BindContext<'a> {
        BindContext {
            tables,
            time_zone: self.settings.time_zone(),
            database: &self.environment.database,
            path: self.search_path(),
            shown_parameters: &[],
            gate: None,
        }
    }

    /// Compiles the query of CREATE TABLE AS for its table.
    pub(super) fn compile_filling(
        &self,
        sql: &str,
        table: &Arc<Table>,
        analysis: Option<Analysis>,
    ) -> Result<Plan> {
        let tables = self.compiling();
        let run = compile_filling(sql, self.context(&tables), table, analysis)?;
        Ok(Plan::of_run("CREATE TABLE AS", run))
    }

    /// Compiles the check of a table's rows against a constraint.
    pub(super) fn compile_validation(&self, table: &Arc<Table>, constraint: &str) -> Result<Plan> {
        let tables = self.compiling();
        Ok(alteration(compile_validation(self.context(&tables), table, constraint)?))
    }

    /// Compiles the computation of a column of a table that is altered.
    pub(super) fn compile_column_filling(&self, table: &Arc<Table>, filling: &Filling) -> Result<Plan> {
        let tables = self.compiling();
        Ok(alteration(filling::compile_filling(self.context(&tables), table, filling)?))
    }

    /// Binds something that is not part of a statement's text, so that its errors carry no position.
    pub(super) fn with_binder<T>(&self, bind: impl FnOnce(&mut Binder<'_>) -> Result<T>) -> Result<T> {
        let bound = with_deep_stack(|| {
            self.with_context(|context: BindContext<'_>| bind(&mut Binder::new("", context, &[], 0)?))
        });
        bound.map_err(Error::without_position)
    }

    /// The defaults of the columns of a definition.
    pub(super) fn bound_defaults(&self, definition: &TableDefinition) -> Result<Vec<Expr>> {
        self.with_binder(|binder| binder.defaults(&row_type(definition)))
    }

    /// The text of a default, or `None` for NULL.
    pub(super) fn bound_default(
        &self,
        column: &ColumnDefinition,
        default: &ast::Expr,
    ) -> Result<Option<String>> {
        self.with_context(|context| compile_default(context, column, default))
    }

    /// Whether the values of a column must be computed to change its type.
    pub(super) fn bound_conversion(
        &self,
        table: &Arc<Table>,
        column: u16,
        to: SqlType,
        using: Option<&ast::Expr>,
    ) -> Result<bool> {
        self.with_binder(|binder| {
            let row = binder.new_row()?;
            Ok(binder.conversion(table, row, column, (to, using))? != Expr::Column { row, column })
        })
    }

    /// A CHECK constraint of an existing table.
    pub(super) fn bound_check(&self, table: &Arc<Table>, wanted: &WantedCheck) -> Result<CheckConstraint> {
        self.with_binder(|binder| binder.check_constraint(table, &table.definition(), wanted))
    }

    /// The generation expression of a column of an existing table, bound again.
    pub(super) fn bound_generation(
        &self,
        table: &Arc<Table>,
        at: usize,
        expression: &str,
    ) -> Result<Generation> {
        let written = parse_expression(expression)?;
        self.with_binder(|binder| binder.generation(table, at, &written))
    }

    /// Compiles the text of an EXECUTE in a routine.
    pub(super) fn compile_dynamic(
        &self,
        text: &str,
        types: &[SqlType],
        rows: Option<&DynamicRows>,
    ) -> Result<Procedure> {
        let tables = self.compiling();
        let path = self.search_path().named().map(str::to_owned).collect();
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
            plan: Mutex::new((Arc::new(plan), self.stamp())),
            catalog_version: 0,
            charge: self.account.keep(0),
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
        let mut plan = self.with_context(|context| {
            let context = BindContext { shown_parameters: shown, ..context };
            compile::compile(sql, context, declared, truncated)
        })?;
        let tables = self.compiling();
        match &plan.action {
            Action::Execute { name, .. } => plan.response = self.named(name)?.response().clone(),
            Action::ExplainExecute { name, .. } => drop(self.named(name)?),
            Action::Fetch(fetch) => {
                let columns = self.cursors.lock().columns(&fetch.name)?.to_vec();
                if !fetch.is_move {
                    plan.response = Response::Rows(columns);
                }
            }
            // Errors in the body are reported now.
            Action::Schema(SchemaCommand::CreateRoutine { definition, body_offset, .. })
                if self.setting("check_function_bodies").as_deref() != Some("off") =>
            {
                plpgsql::routine_body::compile(definition, &tables, When::Created(*body_offset))?;
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
        BeforeCompiling { memory: memory::spent(), catalog_version: self.shared.engine.catalog_version() }
    }

    /// A cached statement, if its text still means the same.
    pub(super) fn find_cached(&mut self, sql: &str, declared: &[Option<SqlType>]) -> Option<Arc<Prepared>> {
        self.settle_identity();
        self.settle_names();
        let prepared = self.cache.get(sql, declared)?;
        let (plan, is_meant) = prepared.plan_under(self.stamp());
        let is_newest = prepared.catalog_version == self.shared.engine.catalog_version();
        (is_newest && is_meant && is_fresh(&plan)).then(|| Arc::clone(prepared))
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
            plan: Mutex::new((Arc::new(plan), self.stamp())),
            catalog_version: before.catalog_version,
            charge: self
                .account
                .keep(usize::try_from(memory::spent() - before.memory).unwrap_or(0) + sql.len()),
        })
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
        *prepared.plan.lock() = (Arc::clone(&plan), self.stamp_of_recompiled());
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
