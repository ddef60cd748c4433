//! Running DDL: names are looked up, then the changes are made one by one. Each of them may wait for its
//! table.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt, Savepoint};
use hyades_engine::storage::table::Table;
use hyades_types::access::{Rights, RoleId};
use hyades_types::definition::{CatalogChange, TableId, TableName};
use hyades_types::error::{Abort, Error, Result, sqlstate};

use super::running::{LateChange, QueryRun, Running, SchemaRun};
use super::schema_commands::late_change;
use super::view_commands::wrong_kind;
use super::{Completion, Output, Prepared, Session};
use crate::compile::action::{Action, Plan};
use crate::ddl::command::SchemaCommand;
use crate::emit::run_plan::Analysis;
use crate::statement::QualifiedName;
use crate::statement::deep_text::with_deep_stack;

impl Session {
    pub(super) fn start_schema(
        &mut self,
        command: &SchemaCommand,
        output: &mut dyn Output,
    ) -> Result<SchemaRun> {
        self.isolate(false);
        let savepoint = self.worker.savepoint();
        let (changes, alteration) = with_deep_stack(|| {
            let changes = self.changes(command, output)?;
            Ok::<_, Error>((changes, self.begun_alteration(command, output)?))
        })?;
        let inside = self.inside_of(command, &changes);
        let late = late_change(command);
        Ok(SchemaRun {
            changes,
            done: 0,
            alteration,
            late,
            inside,
            beside: None,
            has_table: false,
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
                self.table(&self.meant(&wanted.table))
            }
            SchemaCommand::DropIndex(drop) if drop.is_concurrent => {
                let found = drop.names.first().and_then(|name| self.index_named(&self.meant(name)));
                found.map(|found| found.table)
            }
            _ => None,
        };
        let is_shared = |table: &Arc<Table>| !table.id().is_temporary() && self.is_whole_transaction();
        let beside = beside.filter(is_shared).map(|table| (Arc::clone(&table), table.definition()));
        Ok(SchemaRun { beside, ..self.start_schema(command, output)? })
    }

    pub(super) fn changes(
        &mut self,
        command: &SchemaCommand,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        self.check_may_change(command)?;
        self.refuse_pending(command)?;
        match command {
            SchemaCommand::Create { .. } | SchemaCommand::CreateAs { .. } => {
                self.created_table(command, output)
            }
            SchemaCommand::CreateView { definition, or_replace, names_schema } => {
                self.created_view(definition, *or_replace, *names_schema, output)
            }
            SchemaCommand::DropView(drop) => self.dropped_views(drop, output),
            // See `begun_alteration`.
            SchemaCommand::CreateIndex(wanted) if wanted.is_computed() => Ok(Vec::new()),
            SchemaCommand::CreateIndex(wanted) => self.created_index(wanted, output),
            SchemaCommand::DropIndex(drop) => self.dropped_indexes(drop, output),
            SchemaCommand::RenameIndex(rename) => self.renamed_index(rename, output),
            SchemaCommand::Reindex(name, is_concurrent) => self.reindexed(name, *is_concurrent),
            SchemaCommand::CreateSchema { name, owner, if_not_exists, .. } => {
                self.created_schema(name, owner.as_ref(), *if_not_exists, output)
            }
            // See `late_change`.
            SchemaCommand::DropSchema(_) | SchemaCommand::RenameSchema { .. } | SchemaCommand::Access(_) => {
                Ok(Vec::new())
            }
            SchemaCommand::Move { moved, name, if_exists, to } => {
                self.moved(moved, name, (*if_exists, to), output)
            }
            SchemaCommand::RenameRelation { kind, name, if_exists, to } => {
                self.renamed_relation(kind, (name, *if_exists), to, output)
            }
            SchemaCommand::DiscardTemporaries => self.discarded_temporaries(),
            SchemaCommand::CreateSequence { name, if_not_exists, options } => {
                let name = self.own_name(name);
                self.created_sequence(&name, *if_not_exists, options, output)
            }
            SchemaCommand::AlterSequence { name, if_exists, options } => {
                self.altered_sequence(name, *if_exists, options, output)
            }
            SchemaCommand::DropSequence(drop) => self.dropped_sequences(drop, output),
            SchemaCommand::CreateType { name, labels } => self.created_type(name, labels),
            SchemaCommand::AlterType(alter) => self.altered_type(alter, output),
            SchemaCommand::Comment { on, name, text } => self.commented(on, name, text.as_deref()),
            SchemaCommand::DropType(drop) => self.dropped_types(drop, output),
            SchemaCommand::Drop { tables, if_exists, cascades } => {
                let dropped = self.existing_tables(tables, *if_exists, output)?;
                self.dropped(&dropped, *cascades, output)
            }
            SchemaCommand::Truncate { tables, cascades, restarts } => {
                self.truncated(tables, *cascades, *restarts, output)
            }
            SchemaCommand::CreateRoutine { definition, or_replace, .. } => {
                self.created_routine(definition, *or_replace)
            }
            SchemaCommand::DropRoutine { kind, if_exists, names, cascades } => {
                self.dropped_routines((*kind, *if_exists), names, *cascades, output)
            }
            // Its changes are determined action by action.
            SchemaCommand::AlterTable { .. } => Ok(Vec::new()),
        }
    }

    /// CREATE TABLE, of columns or of a query.
    fn created_table(
        &mut self,
        command: &SchemaCommand,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let (definition, if_not_exists, on_commit) = match command {
            SchemaCommand::Create { definition, if_not_exists, on_commit, .. }
            | SchemaCommand::CreateAs { definition, if_not_exists, on_commit, .. } => {
                (&**definition, *if_not_exists, *on_commit)
            }
            _ => return Ok(Vec::new()),
        };
        let definition = self.own_definition(definition);
        if self.is_there(&definition.name, if_not_exists, output)? {
            return Ok(Vec::new());
        }
        self.check_row_type_name(&definition.name)?;
        let changes = match command {
            SchemaCommand::Create { foreign_keys, sequences, uniques, indexes, comments, .. } => {
                let mut definition = definition;
                self.name_primary_key(&mut definition, uniques)?;
                self.created_uniques(&mut definition, uniques)?;
                let copied = self.copied_indexes(&mut definition, indexes)?;
                let mut changes = self.created(&definition, foreign_keys, sequences)?;
                let id = changes.iter().find_map(|change| match change {
                    CatalogChange::CreateTable { id, .. } => Some(*id),
                    _ => None,
                });
                if let Some(id) = id {
                    changes.extend(self.copied_comments((id, &definition), comments, &copied));
                }
                changes
            }
            _ => self.created(&definition, &[], &[])?,
        };
        self.note_on_commit(&changes, on_commit);
        Ok(changes)
    }

    /// Whether the name of a CREATE is taken and IF NOT EXISTS makes it do nothing.
    fn is_there(&self, name: &TableName, if_not_exists: bool, output: &mut dyn Output) -> Result<bool> {
        if !self.is_relation(name) {
            return Ok(false);
        }
        let message = format!("relation \"{}\" already exists", name.name);
        if !if_not_exists {
            return Err(Error::input(sqlstate::DUPLICATE_TABLE, message));
        }
        self.note(output, "42P07", format!("{message}, skipping"));
        Ok(true)
    }

    /// The tables with these names, each once, for DROP TABLE.
    fn existing_tables(
        &self,
        names: &[QualifiedName],
        if_exists: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<Arc<Table>>> {
        let mut tables: Vec<Arc<Table>> = Vec::with_capacity(names.len());
        for name in names {
            let full = self.meant(name);
            self.refuse_sequence(&full)?;
            self.refuse_index(&full)?;
            match self.table(&full) {
                Some(view) if view.definition().view.is_some() => {
                    return Err(wrong_kind(&view.definition()));
                }
                Some(table) => {
                    if !tables.iter().any(|known| known.id() == table.id()) {
                        tables.push(table);
                    }
                }
                None => {
                    self.nothing_to_drop(("table", sqlstate::UNDEFINED_TABLE), name, if_exists, output)?;
                }
            }
        }
        Ok(tables)
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
        self.note_own_change();
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
                self.implicit_statements += 1;
                return Ok(Completion::Tag("EXPLAIN".into()));
            }
        }
        self.implicit_statements += 1;
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
        if let Some(change) = run.changes.get(run.done) {
            match (&run.beside, change) {
                (Some((table, planned)), CatalogChange::CreateIndex { index, .. }) => {
                    self.worker.build_index(table, planned, index)?;
                }
                (Some((table, _)), CatalogChange::DropIndex { .. }) if !run.has_table => {
                    self.worker.lock_table_patiently(table)?;
                    run.has_table = true;
                    return Ok(true);
                }
                _ => self.worker.change_catalog(change.clone())?,
            }
            let owned = self.rights_of_new(change, run.changes.get(run.done + 1));
            run.done += 1;
            if let Some(rights) = owned {
                run.changes.insert(run.done, rights);
            }
            return Ok(true);
        }
        if let Some(late) = &run.late {
            if matches!(late, LateChange::Access(_)) {
                self.worker.lock_access()?;
            }
            late.schemas().iter().try_for_each(|schema| self.worker.lock_schema(schema))?;
            (run.changes, run.done) = (self.changes_of_schemas(late, output)?, 0);
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
        if let Some(inside) = &mut run.inside
            && let Some((changes, alteration)) = self.begun_element(inside, output)?
        {
            (run.changes, run.done, run.alteration) = (changes, 0, alteration);
            return Ok(true);
        }
        match self.is_truncation_whole(&run.changes) {
            true => Ok(false),
            false => Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))),
        }
    }

    /// The rights of an object that the session has created, which belongs to its role.
    fn rights_of_new(&self, change: &CatalogChange, next: Option<&CatalogChange>) -> Option<CatalogChange> {
        let object = match change {
            CatalogChange::CreateTable { id, .. } => id.0,
            CatalogChange::CreateSequence { id, .. } => id.0,
            CatalogChange::CreateRoutine { id, replaces: None, .. } => id.0,
            CatalogChange::CreateSchema { id, .. } => id.0,
            CatalogChange::CreateType { definition } => definition.id,
            _ => return None,
        };
        let is_said = matches!(next, Some(CatalogChange::PutRights { object: own, .. }) if *own == object);
        let role = self.role();
        if is_said || role == RoleId::OWNER || change.is_temporary() {
            return None;
        }
        Some(CatalogChange::PutRights { object, rights: Rights::of(role) })
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
        let Some(table) = self.table_by_id(table) else {
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
