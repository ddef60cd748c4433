//! Running DDL: `ddl` determines the changes, which are made here one by one. Each of them may wait for its
//! table.

use std::collections::VecDeque;
use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt, Savepoint, TableLock, Waiting};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, TableId};
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::refusal::Missing;

use super::running::{AlterationRun, DatabaseProgress, QueryRun, Running, SchemaRun, TruncationRun};
use super::{Completion, Output, Prepared, Session};
use crate::compile::action::{Action, Plan};
use crate::ddl::alteration_steps::{Alteration, Inside, LateChange};
use crate::ddl::command::SchemaCommand;
use crate::ddl::databases::{self, DatabaseChanges};
use crate::ddl::schemas::late_change;
use crate::emit::run_plan::Analysis;
use crate::emit::{shifted, unsupported};
use crate::statement::deep_text::with_deep_stack;
use crate::statement::{DatabaseCommand, SchemaElement};

impl Session {
    pub(super) fn start_schema(
        &mut self,
        command: &SchemaCommand,
        output: &mut dyn Output,
    ) -> Result<SchemaRun> {
        // A long query should not keep writers out.
        self.isolate(command.computes_rows(), false);
        self.view.is_whole_transaction = self.is_whole_transaction();
        let savepoint = self.view.worker.savepoint();
        let (changes, alteration) = with_deep_stack(|| {
            let changes = self.view.changes(command, output)?;
            Ok::<_, Error>((changes, self.view.begun_alteration(command, output)?))
        })?;
        let alteration = alteration.map(|alteration| Box::new(AlterationRun::of(*alteration)));
        self.forget_old_path();
        let inside = self.inside_of(command, &changes);
        let truncation = TruncationRun::of(&self.view, command, &changes);
        let is_truncation = matches!(command, SchemaCommand::Truncate { .. });
        let late = late_change(command);
        Ok(SchemaRun {
            changes,
            done: 0,
            alteration,
            late,
            databases: DatabaseProgress::default(),
            inside,
            beside: None,
            has_table: false,
            created: None,
            is_truncation,
            truncation,
            savepoint,
        })
    }

    /// The same for a client's statement. If it is the whole transaction, an index is built while others
    /// write the table, and is dropped once the table is unused.
    pub(super) fn start_statement(
        &mut self,
        command: &SchemaCommand,
        output: &mut dyn Output,
    ) -> Result<SchemaRun> {
        let beside = match command {
            SchemaCommand::CreateIndex(wanted) if !wanted.is_computed() => {
                self.view.table(&self.view.meant(&wanted.table))
            }
            SchemaCommand::DropIndex(drop) if drop.is_concurrent => {
                let found = drop.names.first().and_then(|name| self.view.index_named(&self.view.meant(name)));
                found.map(|found| found.table)
            }
            _ => None,
        };
        let is_shared = |table: &Arc<Table>| !table.id().is_temporary() && self.is_whole_transaction();
        let beside = beside.filter(is_shared).map(|table| (Arc::clone(&table), table.definition()));
        Ok(SchemaRun { beside, ..self.start_schema(command, output)? })
    }

    pub(super) fn continue_schema(
        &mut self,
        statement: &Arc<Prepared>,
        mut run: SchemaRun,
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        loop {
            match self.schema_step(&mut run, output) {
                Ok(true) => {}
                Ok(false) => break,
                Err(Interrupt::Wait(ticket)) => {
                    self.running = Some(Running::Schema(run));
                    return Err(Interrupt::Wait(ticket));
                }
                Err(Interrupt::Failed(Error::Abort(abort))) if self.may_retry(abort) => {
                    let plan = self
                        .undo_for_retry(statement, abort, run.savepoint, output)?
                        .unwrap_or_else(|| statement.plan());
                    let Action::Schema(command) = &plan.action else { break };
                    run = self.start_statement(command, output)?;
                }
                Err(failed) => return Err(failed),
            }
        }
        self.view.note_own_change();
        if run.beside.is_some() && !run.changes.is_empty() {
            return self.commit_index(statement, run);
        }
        let plan = statement.plan();
        if let Action::Schema(SchemaCommand::CreateAs { query: Some(query), analysis, .. }) = &plan.action {
            if let Some(CatalogChange::CreateTable { id, .. }) = run.changes.first() {
                let filling = self.start_filling(*id, (query, *analysis), run.savepoint)?;
                return self.continue_filling(statement, filling, output);
            }
            if analysis.is_some() {
                self.implicit.statements += 1;
                return Ok(Completion::Tag("EXPLAIN".into()));
            }
        }
        self.implicit.statements += 1;
        Ok(Completion::Tag(command_of(&plan).into()))
    }

    /// The statement ends its transaction, so that later statements see the index, or no longer see it.
    fn commit_index(&mut self, statement: &Arc<Prepared>, run: SchemaRun) -> Flow<Completion> {
        match self.commit_transaction() {
            Err(Interrupt::Wait(ticket)) => {
                self.running = Some(Running::Schema(run));
                Err(Interrupt::Wait(ticket))
            }
            committed => committed.map(|()| Completion::Tag(command_of(&statement.plan()).into())),
        }
    }

    /// Makes the next step of a schema command. Returns false if nothing is left to do.
    pub(super) fn schema_step(&mut self, run: &mut SchemaRun, output: &mut dyn Output) -> Flow<bool> {
        let schema = run.inside.as_ref().map(|inside| inside.schema.clone());
        let step = |session: &mut Session| with_deep_stack(|| session.step_in_schema(run, output));
        self.with_first_schema(schema.as_deref(), step)
    }

    fn step_in_schema(&mut self, run: &mut SchemaRun, output: &mut dyn Output) -> Flow<bool> {
        if let Some(truncation) = &mut run.truncation
            && self.before_truncation(truncation, &run.changes, output)?
        {
            return Ok(true);
        }
        if let Some(change) = run.changes.get(run.done) {
            match (&run.beside, change) {
                (Some((table, planned)), CatalogChange::CreateIndex { index, .. }) => {
                    self.view.worker.build_index(table, planned, index)?;
                }
                (Some((table, _)), CatalogChange::DropIndex { .. }) if !run.has_table => {
                    self.view.worker.lock_table(table, TableLock::AccessExclusive, Waiting::BesideOthers)?;
                    run.has_table = true;
                    return Ok(true);
                }
                _ => self.view.worker.change_catalog(change.clone())?,
            }
            let owned = self.view.rights_of_new(change, run.changes.get(run.done + 1));
            run.done += 1;
            if let Some(rights) = owned {
                run.changes.insert(run.done, rights);
            }
            return Ok(true);
        }
        if let Some(LateChange::Database(command)) = &run.late {
            let command = Arc::clone(command);
            self.begin_database_change(&command, run, output)?;
            return Ok(true);
        }
        if let Some((from, to)) = run.databases.copied {
            self.view.worker.copy_database(from, to)?;
            run.databases.copied = None;
            return Ok(true);
        }
        if let Some(late) = &run.late {
            if matches!(late, LateChange::Access(_)) {
                self.view.worker.lock_access()?;
                self.refresh_identity();
            }
            late.schemas().iter().try_for_each(|schema| self.view.worker.lock_schema(schema))?;
            (run.changes, run.done) = (self.view.changes_of_schemas(late, output)?, 0);
            run.late = None;
            return Ok(true);
        }
        if let Some(alteration) = &mut run.alteration {
            if let Some(changes) = self.alteration_step(alteration, output)? {
                (run.changes, run.done) = (changes, 0);
                return Ok(true);
            }
            run.alteration = None;
        }
        if let Some(view) = run.created.take().and_then(|created| self.view.table_by_id(created)) {
            run.alteration = Some(Box::new(AlterationRun::of(Alteration::first_rows(view))));
            return Ok(true);
        }
        if let Some(inside) = &mut run.inside
            && let Some((changes, alteration)) = self.begun_element(inside, output)?
        {
            (run.changes, run.done) = (changes, 0);
            run.alteration = alteration.map(|alteration| Box::new(AlterationRun::of(*alteration)));
            return Ok(true);
        }
        let is_whole = self.view.is_truncation_whole(&run.changes);
        match &mut run.truncation {
            Some(truncation) if is_whole => self.after_truncation(truncation, output),
            None if is_whole && (!run.is_truncation || self.is_without_triggers(&run.changes)) => Ok(false),
            _ => Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))),
        }
    }

    /// Determines what a command about databases changes.
    fn begin_database_change(
        &mut self,
        command: &DatabaseCommand,
        run: &mut SchemaRun,
        output: &mut dyn Output,
    ) -> Flow<()> {
        for name in databases::names(command).iter().skip(run.databases.locked) {
            self.view.worker.lock_database(name)?;
            run.databases.locked += 1;
        }
        let DatabaseChanges { changes, vacated, copied } = self.view.database_changes(command, output)?;
        if let Some(vacated) = vacated {
            self.vacate(&vacated, &mut run.databases.vacating)?;
        }
        (run.changes, run.done, run.databases.copied, run.late) = (changes, 0, copied, None);
        Ok(())
    }

    /// Starts the statement again.
    pub(super) fn begin_schema(
        &mut self,
        statement: &Arc<Prepared>,
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        let plan = statement.plan();
        let Action::Schema(command) = &plan.action else {
            return Ok(Completion::Tag(command_of(&plan).into()));
        };
        let run = self.start_statement(command, output)?;
        self.continue_schema(statement, run, output)
    }

    /// Starts to fill the table that CREATE TABLE AS has created.
    fn start_filling(
        &mut self,
        table: TableId,
        (query, analysis): (&str, Option<Analysis>),
        savepoint: Savepoint,
    ) -> Result<QueryRun> {
        let Some(table) = self.view.table_by_id(table) else {
            return Err(Error::input(sqlstate::INTERNAL_ERROR, "the new table cannot be found"));
        };
        let plan = self.compile_filling(query, &table, analysis)?;
        self.check_filling(&plan, table.id())?;
        Ok(QueryRun { savepoint, ..self.start_query(Arc::new(plan), &[])? })
    }
}

fn command_of(plan: &Plan) -> &'static str {
    plan.command
}

/// The changes that a statement makes at once, and what follows.
pub(super) type Begun = (Vec<CatalogChange>, Option<Box<Alteration>>);

impl Session {
    /// The next thing that CREATE SCHEMA creates inside it.
    pub(super) fn begun_element(
        &mut self,
        inside: &mut Inside,
        output: &mut dyn Output,
    ) -> Result<Option<Begun>> {
        let Some(element) = inside.elements.pop_front() else { return Ok(None) };
        let begun = self.element(&inside.schema, &element, output);
        begun.map(Some).map_err(|error| shifted(error, element.offset))
    }

    fn element(&mut self, schema: &str, element: &SchemaElement, output: &mut dyn Output) -> Result<Begun> {
        let plan = self.compile(&element.text, &[], &mut Vec::new())?;
        let Action::Schema(command) = &plan.action else {
            return unsupported(Missing::SchemaElements, "this statement in CREATE SCHEMA is");
        };
        let other = match command {
            SchemaCommand::Create { definition, .. } | SchemaCommand::CreateView { definition, .. } => {
                Some(&definition.name.schema)
            }
            SchemaCommand::CreateSequence { name, .. } => Some(&name.schema),
            SchemaCommand::CreateIndex(wanted) => wanted.table.schema.as_ref(),
            _ => return unsupported(Missing::SchemaElements, "this statement in CREATE SCHEMA is"),
        };
        if let Some(other) = other.filter(|other| *other != schema) {
            let message = format!(
                "CREATE specifies a schema ({other}) different from the one being created ({schema})"
            );
            return Err(Error::input(sqlstate::INVALID_SCHEMA_DEFINITION, message));
        }
        let changes = self.view.changes(command, output)?;
        Ok((changes, self.view.begun_alteration(command, output)?))
    }

    /// What must be created inside the schema that these changes create.
    pub(super) fn inside_of(
        &self,
        command: &SchemaCommand,
        changes: &[CatalogChange],
    ) -> Option<Box<Inside>> {
        match command {
            SchemaCommand::CreateSchema { name, elements, .. } if !changes.is_empty() => {
                let elements: VecDeque<SchemaElement> = elements.iter().cloned().collect();
                Some(Box::new(Inside { schema: name.clone(), elements }))
            }
            _ => None,
        }
    }

    /// Runs `act` with this schema, if any, at the front of the path.
    pub(super) fn with_first_schema<T>(
        &mut self,
        schema: Option<&str>,
        act: impl FnOnce(&mut Session) -> T,
    ) -> T {
        let Some(schema) = schema else { return act(self) };
        let before = Arc::clone(&self.view.meaning.path);
        self.view.meaning.path = Arc::new(before.with_first(schema));
        let outcome = act(self);
        self.view.meaning.path = before;
        outcome
    }
}
