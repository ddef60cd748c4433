//! Schema changes inside a transaction: private to it until its locks are released.
//!
//! New and dropped names live in the transaction's list of names and reach the catalog at precommit.
//! TRUNCATE, ADD PRIMARY KEY and foreign keys (those of both tables) replace the table's state at once, which
//! the lock on the whole table hides; the former state waits in the undo list. Sequences: `sequence_change`;
//! foreign keys: `reference_change`; schemas: `schema_change`.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::access::Access;
use hyades_types::definition::{
    CatalogChange, RoutineDefinition, RoutineId, TableDefinition, TableId, TableName,
};
use hyades_types::error::{Abort, Error, sqlstate};
use hyades_types::sequence::Sequence;
use hyades_types::value::SqlType;

use super::resource::{Resource, TABLE_STRIPES};
use super::{LockingTransaction, NameChange, Undo, UndoAction};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::catalog::{CatalogView, Comments, Schemas, duplicate_routine};
use crate::storage::compilations::Compilations;
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::storage::table::{Table, TableState};
use crate::txn::lock_mode::LockMode;
use crate::txn::{Flow, Interrupt};

impl<P: Protocol> LockingTransaction<P> {
    pub(super) fn apply_catalog_change(&mut self, change: CatalogChange) -> Flow<()> {
        if !matches!(change, CatalogChange::Truncate { .. }) && !change.is_temporary() {
            self.lock_catalog()?;
        }
        match &change {
            CatalogChange::CreateTable { id, definition } => self.create_table(*id, definition, &change),
            CatalogChange::DropTable { id } => self.drop_table(*id, &change),
            CatalogChange::Truncate { id } => {
                let table = self.table_by_id(*id)?;
                self.lock_everybody_out(&table)?;
                let state = table.state(&epoch::pin()).truncated();
                self.replace_state(table, state, &change)
            }
            CatalogChange::AddPrimaryKey { id, primary_key } => {
                let table = self.table_by_id(*id)?;
                self.lock_everybody_out(&table)?;
                self.check_before_rewriting(&table)?;
                let name = TableName { name: primary_key.name.clone(), ..table.definition().name.clone() };
                self.lock_new_name(&name)?;
                let guard = epoch::pin();
                let state = table.state(&guard).with_primary_key(primary_key, &guard)?;
                drop(guard);
                self.replace_state(table, state, &change)
            }
            CatalogChange::AddForeignKey { id, foreign_key } => {
                self.add_foreign_key(*id, foreign_key, &change)
            }
            CatalogChange::DropForeignKey { id, name } => self.drop_foreign_key(*id, name, &change),
            CatalogChange::ValidateForeignKey { id, name } => self.validate_foreign_key(*id, name, &change),
            CatalogChange::CreateIndex { table, index } => self.create_index(*table, index, &change),
            CatalogChange::DropIndex { table, index } => self.drop_index(*table, *index, &change),
            CatalogChange::RenameIndex { table, index, name } => {
                self.rename_index(*table, *index, name, &change)
            }
            CatalogChange::ReplaceView { id, definition } => self.replace_view(*id, definition, &change),
            CatalogChange::CreateRoutine { id, definition, replaces } => {
                self.create_routine(*id, definition, *replaces, &change)
            }
            CatalogChange::DropRoutine { id } => self.drop_routine(*id, &change),
            CatalogChange::CreateSequence { id, definition } => {
                self.create_sequence(*id, definition, &change)
            }
            CatalogChange::AlterSequence { id, definition, restart } => {
                self.alter_sequence(*id, definition, *restart, &change)
            }
            CatalogChange::DropSequence { id } => self.drop_sequence(*id, &change),
            CatalogChange::DropDefault { id, column } => self.drop_default(*id, *column, &change),
            CatalogChange::AlterTable { id, definition, columns } => {
                self.alter_table(*id, definition, columns.as_deref(), &change)
            }
            CatalogChange::RenameTable { id, name, schema } => {
                self.rename_table(*id, (name, schema.as_deref()), &change)
            }
            CatalogChange::CreateSchema { id, name } => self.create_schema(*id, name, &change),
            CatalogChange::DropSchema { id } => self.drop_schema(*id, &change),
            CatalogChange::RenameSchema { id, name } => self.rename_schema(*id, name, &change),
            CatalogChange::Comment { on, text } => self.comment(on, text.as_deref(), &change),
            CatalogChange::PutRole { .. }
            | CatalogChange::DropRole { .. }
            | CatalogChange::PutRights { .. } => self.change_access(&change),
            CatalogChange::CreateType { definition } => self.create_type(definition, &change),
            CatalogChange::AlterType { definition } => self.alter_type(definition, &change),
            CatalogChange::DropType { id } => self.drop_type(*id, &change),
        }
    }

    fn drop_default(&mut self, id: TableId, column: u16, change: &CatalogChange) -> Flow<()> {
        let table = self.table_by_id(id)?;
        self.lock_everybody_out(&table)?;
        if table.is_dropped() {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        let definition = table.definition().without_default(column);
        let state = table.state(&epoch::pin()).with_definition(definition);
        self.replace_state(table, state, change)
    }

    /// Keeps away the transactions that are logged as commands: what the source of a routine means must be
    /// the same when they run and when they are replayed. Schema changes do not keep each other away.
    pub(super) fn lock_catalog(&mut self) -> Flow<()> {
        if mutant::is_active(Mutant::NoBarrier) {
            return Ok(());
        }
        for stripe in 0..TABLE_STRIPES {
            self.lock(Resource::catalog_stripe(stripe), LockMode::IntentWrite)?;
        }
        Ok(())
    }

    fn create_routine(
        &mut self,
        id: RoutineId,
        definition: &RoutineDefinition,
        replaces: Option<RoutineId>,
        change: &CatalogChange,
    ) -> Flow<()> {
        self.lock_schema_for(&definition.name.schema)?;
        self.lock(Resource::routine_name(&definition.name), LockMode::Write)?;
        for enum_type in definition.types().filter_map(SqlType::enum_type) {
            self.lock_type(enum_type)?;
        }
        // It may have had another name.
        let replaced = replaces.and_then(|id| self.routine(id));
        if let Some(old) = replaced.as_ref().filter(|old| old.definition.name != definition.name) {
            self.lock_schema_of(&old.definition.name.schema)?;
            self.lock(Resource::routine_name(&old.definition.name), LockMode::Write)?;
        }
        let is_renamed = |id| {
            let old = self.routine(id);
            old.is_some_and(|old| !old.definition.is_same_routine(definition))
        };
        let named = self.routines_named(&definition.name);
        let existing = named.iter().find(|other| other.definition.is_same_routine(definition));
        match (existing, replaces) {
            (None, Some(replaced)) if is_renamed(replaced) => {}
            (None, None) => {}
            (Some(existing), Some(replaced)) if existing.id == replaced => {}
            (Some(_), None) => return Err(duplicate_routine(definition).into()),
            // What the caller wanted to replace is no longer there, or no longer the same. It must look
            // again.
            (_, Some(_)) => return Err(Error::Abort(Abort::StalePlan).into()),
        }
        self.note_change(UndoAction::Name, change)?;
        let routine = Arc::new(Routine::new(id, definition.clone()));
        self.names.push(NameChange::CreatedRoutine { routine, replaces });
        Ok(())
    }

    fn drop_routine(&mut self, id: RoutineId, change: &CatalogChange) -> Flow<()> {
        let stale = || Interrupt::Failed(Error::Abort(Abort::StalePlan));
        let routine = self.routine(id).ok_or_else(stale)?;
        self.lock_schema_of(&routine.definition.name.schema)?;
        self.lock(Resource::routine_name(&routine.definition.name), LockMode::Write)?;
        if self.routine(id).is_none() {
            return Err(stale());
        }
        self.note_change(UndoAction::Name, change)?;
        self.names.push(NameChange::DroppedRoutine(id));
        Ok(())
    }

    fn create_table(
        &mut self,
        id: TableId,
        definition: &TableDefinition,
        change: &CatalogChange,
    ) -> Flow<()> {
        self.lock_new_name(&definition.name)?;
        let key = definition.primary_key.iter().map(|key| &key.name);
        for name in key.chain(definition.indexes.iter().map(|index| &index.name)) {
            self.lock_new_name(&TableName { name: name.clone(), ..definition.name.clone() })?;
        }
        self.lock_used(definition)?;
        self.lock_types(definition)?;
        let keeper = self.keeper.as_ref().filter(|_| id.is_temporary());
        let table = Arc::new(Table::charged_to(id, definition.clone(), keeper));
        self.lock_everybody_out(&table)?;
        self.note_change(UndoAction::Name, change)?;
        self.names.push(NameChange::CreatedTable(definition.name.clone(), table));
        Ok(())
    }

    /// Locks what a view uses, so that it stays until the view is there.
    fn lock_used(&mut self, definition: &TableDefinition) -> Flow<()> {
        let Some(view) = definition.view() else { return Ok(()) };
        for used in &view.tables {
            let used = self.table_by_id(*used).map_err(|_| Error::Abort(Abort::StalePlan))?;
            self.lock_table_in(&used, LockMode::IntentRead)?;
            if used.is_dropped() || self.has_dropped(&used) {
                return Err(Error::Abort(Abort::StalePlan).into());
            }
        }
        Ok(())
    }

    fn replace_view(
        &mut self,
        id: TableId,
        definition: &TableDefinition,
        change: &CatalogChange,
    ) -> Flow<()> {
        let view = self.table_by_id(id)?;
        self.lock_everybody_out(&view)?;
        self.lock_used(definition)?;
        self.lock_types(definition)?;
        if view.is_dropped() || view.definition().view.is_none() {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        let state = TableState::new(Arc::new(definition.clone())).charged_like(&view.shared_state());
        self.replace_state(view, state, change)
    }

    /// Whether a view that this transaction sees uses the table.
    fn is_viewed(&self, id: TableId) -> bool {
        let uses = |view: &Arc<Table>| view.definition().view().is_some_and(|view| view.uses_table(id));
        self.visible_tables().iter().any(uses)
    }

    fn drop_table(&mut self, id: TableId, change: &CatalogChange) -> Flow<()> {
        let table = self.table_by_id(id)?;
        let name = table.definition().name.clone();
        self.lock_schema_of(&name.schema)?;
        self.lock(Resource::name(&name), LockMode::Write)?;
        self.lock_everybody_out(&table)?;
        if table.is_dropped() {
            return Err(undefined_table(&name).into());
        }
        if table.definition().name != name {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        let definition = table.definition();
        if !definition.foreign_keys.is_empty() || !definition.referenced_by.is_empty() || self.is_viewed(id) {
            // The caller drops foreign keys and views first; this one was created after it looked.
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        self.note_change(UndoAction::Name, change)?;
        self.names.push(NameChange::DroppedTable(name));
        Ok(())
    }

    /// Whether this very transaction has dropped the table. For all others, the table says so once that has
    /// committed.
    #[inline]
    pub(super) fn has_dropped(&self, table: &Arc<Table>) -> bool {
        !self.names.is_empty() && self.is_latest_dropped(table)
    }

    #[cold]
    fn is_latest_dropped(&self, table: &Arc<Table>) -> bool {
        let definition = table.definition();
        let latest = self.names.iter().rev().find_map(|change| change.of_table(&definition.name));
        latest.is_some_and(|now| now.is_none_or(|now| !Arc::ptr_eq(now, table)))
    }

    pub(super) fn table_by_id(&self, id: TableId) -> Result<Arc<Table>, Error> {
        let own = self.names.iter().rev().filter_map(|change| match change {
            NameChange::CreatedTable(_, table) => Some(Arc::clone(table)),
            _ => None,
        });
        own.chain(self.shared.catalog.by_id(id))
            .find(|table| table.id() == id && !table.is_dropped())
            .ok_or_else(|| Error::input(sqlstate::UNDEFINED_TABLE, format!("table {} does not exist", id.0)))
    }

    pub(super) fn replace_state(
        &mut self,
        table: Arc<Table>,
        state: TableState,
        change: &CatalogChange,
    ) -> Flow<()> {
        let old = self.shared.replaced.replace(&table, Arc::new(state));
        self.note_own_change(&table);
        self.note_change(UndoAction::State { table, old }, change)
    }

    /// Notes that this transaction has changed a table's definition.
    pub(super) fn note_own_change(&mut self, table: &Arc<Table>) {
        let place = self.table_place(table);
        self.tables[place].note_own_change();
    }

    pub(super) fn note_change(&mut self, action: UndoAction, change: &CatalogChange) -> Flow<()> {
        self.undo.push(Undo {
            payload_bytes: self.payload.len(),
            write_set: self.write_set,
            key_bytes: self.keys.len(),
            names: self.names.len(),
            action,
        });
        self.changes_catalog = true;
        if change.is_temporary() {
            return Ok(());
        }
        self.changes_shared_catalog = true;
        if P::WRITES_LOG {
            self.payload.change_catalog(change)?;
        }
        Ok(())
    }

    /// Publishes the transaction's new and dropped tables, sequences and routines. Its locks are still held,
    /// including those on the names, so no other transaction can have taken a name in between.
    pub(super) fn publish_names(&mut self, token: &P::CommitToken) {
        if !self.changes_catalog {
            return;
        }
        let catalog = Arc::clone(&self.shared.catalog);
        for change in std::mem::take(&mut self.names) {
            let published = match change {
                NameChange::CreatedTable(_, table) => catalog.add(table),
                NameChange::RenamedTable { from, to, table } => catalog.rename(&from, to, &table),
                NameChange::DroppedTable(name) => {
                    if let Some(table) = catalog.by_name(&name) {
                        catalog.remove(table.id());
                        self.shared.purge.discard_rows(&table);
                    }
                    Ok(())
                }
                NameChange::CreatedRoutine { routine, replaces } => catalog.add_routine(routine, replaces),
                NameChange::RetypedRoutine(routine) => {
                    catalog.retype_routine(routine);
                    Ok(())
                }
                NameChange::DroppedRoutine(id) => {
                    catalog.remove_routine(id);
                    Ok(())
                }
                NameChange::PutSchema(id, name) => catalog.put_schema(id, &name),
                NameChange::Comment(on, comment) => {
                    catalog.put_comment(&on, comment.as_ref());
                    Ok(())
                }
                NameChange::Access(change) => {
                    catalog.change_access(&change);
                    Ok(())
                }
                NameChange::DroppedSchema(id) => {
                    catalog.remove_schema(id);
                    Ok(())
                }
                NameChange::PutSequence(sequence) => self.publish_sequence(&sequence, token),
                NameChange::DroppedSequence(id, _) => {
                    catalog.remove_sequence(id);
                    Ok(())
                }
                NameChange::PutType(stored) => catalog.put_type(stored),
                NameChange::FinishedIndex(table) => {
                    self.publish_index(&table);
                    Ok(())
                }
                NameChange::DroppedType(id) => {
                    catalog.remove_type(id);
                    Ok(())
                }
            };
            if let Err(error) = published {
                tracing::error!(%error, "a change of the catalog could not be published");
            }
        }
        // Definitions may have changed under their names.
        if self.changes_shared_catalog {
            catalog.count_change();
        }
    }

    /// Takes the session's temporary relations out of the catalog. No transaction is open, and no other
    /// session can see them.
    pub(super) fn forget_temporaries(&mut self) {
        let Some(schema) = self.temporary_schema.take() else { return };
        let catalog = Arc::clone(&self.shared.catalog);
        for table in catalog.tables() {
            if table.id().is_temporary() && table.definition().name.schema == *schema {
                catalog.remove(table.id());
                self.shared.purge.discard_rows(&table);
            }
        }
        for sequence in catalog.sequences() {
            if sequence.id.is_temporary() && sequence.definition.name.schema == *schema {
                catalog.remove_sequence(sequence.id);
            }
        }
    }

    pub(super) fn visible_tables(&self) -> Vec<Arc<Table>> {
        let mut tables = self.shared.catalog.tables();
        for change in &self.names {
            if let NameChange::CreatedTable(name, _) | NameChange::DroppedTable(name) = change {
                tables.retain(|table| table.definition().name != *name);
            }
            if let NameChange::CreatedTable(_, table) = change {
                tables.push(Arc::clone(table));
            }
        }
        tables
    }

    pub(super) fn visible_routines(&self) -> Vec<Arc<Routine>> {
        self.with_own_routines(self.shared.catalog.routines())
    }

    /// These routines as this transaction has changed them, and all that it has created.
    fn with_own_routines(&self, mut routines: Vec<Arc<Routine>>) -> Vec<Arc<Routine>> {
        for change in &self.names {
            match change {
                NameChange::CreatedRoutine { routine, replaces } => {
                    routines.retain(|other| Some(other.id) != *replaces);
                    routines.push(Arc::clone(routine));
                }
                NameChange::RetypedRoutine(routine) => {
                    routines.retain(|other| other.id != routine.id);
                    routines.push(Arc::clone(routine));
                }
                NameChange::DroppedRoutine(id) => routines.retain(|other| other.id != *id),
                NameChange::CreatedTable(..)
                | NameChange::DroppedTable(_)
                | NameChange::RenamedTable { .. }
                | NameChange::PutSequence(_)
                | NameChange::DroppedSequence(..)
                | NameChange::PutType(_)
                | NameChange::DroppedType(_)
                | NameChange::PutSchema(..)
                | NameChange::DroppedSchema(_)
                | NameChange::Access(_)
                | NameChange::FinishedIndex(_)
                | NameChange::Comment(..) => {}
            }
        }
        routines
    }
}

impl<P: Protocol> CatalogView for LockingTransaction<P> {
    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        match self.names.iter().rev().find_map(|change| change.of_table(name)) {
            Some(table) => table.map(Arc::clone),
            None => self.shared.catalog.by_name(name),
        }
    }

    fn table_by_id(&self, id: TableId) -> Option<Arc<Table>> {
        self.table_by_id(id).ok()
    }

    fn routine(&self, id: RoutineId) -> Option<Arc<Routine>> {
        for change in self.names.iter().rev() {
            match change {
                NameChange::CreatedRoutine { routine, .. } | NameChange::RetypedRoutine(routine)
                    if routine.id == id =>
                {
                    return Some(Arc::clone(routine));
                }
                NameChange::CreatedRoutine { replaces: Some(gone), .. }
                | NameChange::DroppedRoutine(gone)
                    if *gone == id =>
                {
                    return None;
                }
                _ => {}
            }
        }
        self.shared.catalog.routine(id)
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        let routines = self.shared.catalog.routines_named(name);
        if self.names.is_empty() {
            return routines;
        }
        let mut routines = self.with_own_routines(routines);
        routines.retain(|routine| routine.definition.name == *name);
        routines
    }

    fn sequence_named(&self, name: &TableName) -> Option<Arc<Sequence>> {
        self.find_sequence(name)
    }

    fn type_named(&self, name: &TableName) -> Option<Arc<StoredType>> {
        self.find_type(name)
    }

    fn type_by_id(&self, id: u32) -> Option<Arc<StoredType>> {
        if !self.changes_shared_catalog {
            return self.shared.catalog.type_by_id(id);
        }
        self.visible_types().into_iter().find(|stored| stored.id() == id)
    }

    fn schemas(&self) -> Arc<Schemas> {
        self.visible_schemas()
    }

    fn comments(&self) -> Arc<Comments> {
        self.visible_comments()
    }

    fn access(&self) -> Arc<Access> {
        self.visible_access()
    }

    fn catalog_version(&self) -> Option<u64> {
        let is_own = self.changes_shared_catalog || self.old_snapshot().is_some();
        (!is_own).then(|| self.shared.catalog.version())
    }

    fn old_snapshot(&self) -> Option<u64> {
        let time = self.snapshot.as_ref()?.time();
        self.shared.histories.has_newer_key(time).then_some(time)
    }

    fn temporary_schema(&self) -> Option<&str> {
        self.temporary_schema.as_deref()
    }

    fn compilations(&self) -> &Compilations {
        CatalogView::compilations(&*self.shared.catalog)
    }
}

fn undefined_table(name: &TableName) -> Error {
    Error::input(sqlstate::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", name.name))
}
