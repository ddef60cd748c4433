//! Applies a change of the catalog: what it locks, what it checks, and what it does.
//!
//! Files, one for each kind of object:
//! * relations: `tables` (with views), `indexes`, `references` (foreign keys), `sequences`;
//! * others: `routines`, `types`, `schemas`, `databases`;
//! * what goes with objects: `access` (roles and rights), `comments`.
//!
//! Every change but TRUNCATE, and those of temporary relations, may change what the source of a routine
//! means, which must be the same when a call runs and when it is replayed as a command.

use std::borrow::Cow;
use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::{CatalogChange, DatabaseId, TableDefinition, TableId, TableName};
use hyades_types::error::{Abort, Error, sqlstate};

use super::effect::Effect;
use super::overlay::{Change, Overlay};
use crate::log::record::OperationsWriter;
use crate::storage::catalog::{CatalogView, duplicate_table};
use crate::storage::table::{Table, TableState};
use crate::txn::{
    Flow, Interrupt, Object, ObjectAccess, ObjectMode, Savepoint, TableLock, Waiting, restart_gate,
};

mod access;
mod comments;
pub(super) mod databases;
pub(super) mod indexes;
mod references;
mod routines;
mod schemas;
mod sequences;
mod tables;
mod types;

/// A change that is being applied.
pub(super) struct Applying<'a, T> {
    pub(super) overlay: &'a mut Overlay,
    pub(super) transaction: &'a mut T,
    change: &'a CatalogChange,
    /// The place of the transaction before the change, once it is noted.
    before: Option<Savepoint>,
}

/// What the caller has found is no longer so.
fn stale() -> Interrupt {
    Interrupt::Failed(Error::Abort(Abort::StalePlan))
}

/// Changes the catalog for the transaction.
///
/// # Errors PostgreSQL's, where a name is taken or rows do not fit; `StalePlan` if something is no longer as
/// the caller has found it.
pub(crate) fn apply<T: ObjectAccess>(
    overlay: &mut Overlay,
    change: &CatalogChange,
    transaction: &mut T,
) -> Flow<()> {
    restart_gate::wait_for(overlay.catalog.changes())?;
    let mut applying = Applying { overlay, transaction, change, before: None };
    if !matches!(change, CatalogChange::Truncate { .. }) && !change.is_temporary() {
        applying.transaction.change_meaning();
        applying.use_database()?;
    }
    match change {
        CatalogChange::CreateTable { id, definition } => applying.create_table(*id, definition),
        CatalogChange::DropTable { id } => applying.drop_table(*id),
        CatalogChange::Truncate { id } => applying.truncate(*id),
        CatalogChange::AddPrimaryKey { id, primary_key } => applying.add_primary_key(*id, primary_key),
        CatalogChange::AlterTable { id, definition, columns } => {
            applying.alter_table(*id, definition, columns.as_deref())
        }
        CatalogChange::RenameTable { id, name, schema } => {
            applying.rename_table(*id, name, schema.as_deref())
        }
        CatalogChange::DropDefault { id, column } => applying.drop_default(*id, *column),
        CatalogChange::ReplaceView { id, definition } => applying.replace_view(*id, definition),
        CatalogChange::AddForeignKey { id, foreign_key } => applying.add_foreign_key(*id, foreign_key),
        CatalogChange::DropForeignKey { id, name } => applying.drop_foreign_key(*id, name),
        CatalogChange::ValidateForeignKey { id, name } => applying.validate_foreign_key(*id, name),
        CatalogChange::CreateIndex { table, index } => applying.create_index(*table, index),
        CatalogChange::DropIndex { table, index } => applying.drop_index(*table, *index),
        CatalogChange::RenameIndex { table, index, name } => applying.rename_index(*table, *index, name),
        CatalogChange::CreateRoutine { id, definition, replaces } => {
            applying.create_routine(*id, definition, *replaces)
        }
        CatalogChange::DropRoutine { id } => applying.drop_routine(*id),
        CatalogChange::CreateSequence { id, definition } => applying.create_sequence(*id, definition),
        CatalogChange::AlterSequence { id, definition, restart } => {
            applying.alter_sequence(*id, definition, *restart)
        }
        CatalogChange::DropSequence { id } => applying.drop_sequence(*id),
        CatalogChange::CreateType { definition } => applying.create_type(definition),
        CatalogChange::AlterType { definition } => applying.alter_type(definition),
        CatalogChange::DropType { id } => applying.drop_type(*id),
        CatalogChange::CreateSchema { id, name } => applying.create_schema(*id, name),
        CatalogChange::DropSchema { id } => applying.drop_schema(*id),
        CatalogChange::RenameSchema { id, name } => applying.rename_schema(*id, name),
        CatalogChange::Comment { on, text } => applying.comment(on, text.as_deref()),
        CatalogChange::PutRole { .. }
        | CatalogChange::DropRole { .. }
        | CatalogChange::PutSettings { .. }
        | CatalogChange::PutRights { .. } => applying.change_access(change, applying.overlay.database),
        CatalogChange::PutDatabase { id, definition } => applying.put_database(*id, definition),
        CatalogChange::DropDatabase { id } => applying.drop_database(*id),
        CatalogChange::InDatabase { database, change } => applying.change_other(*database, change),
    }
}

impl<T: ObjectAccess> Applying<'_, T> {
    fn lock(&mut self, object: Object<'_>, mode: ObjectMode) -> Flow<()> {
        self.transaction.lock_object(self.overlay.database, object, mode)
    }

    /// Locks a table against all others.
    fn lock_alone(&mut self, table: &Arc<Table>) -> Flow<()> {
        self.transaction.lock_table(table, TableLock::AccessExclusive, Waiting::InQueue)
    }

    /// Locks a table whose definition is to change. What the caller knows of it may be outdated.
    fn changing_table(&mut self, id: TableId) -> Flow<Arc<Table>> {
        let table = self.existing(id)?;
        self.lock_alone(&table)?;
        if table.is_dropped() { Err(stale()) } else { Ok(table) }
    }

    fn existing(&self, id: TableId) -> Result<Arc<Table>, Error> {
        self.overlay
            .table_by_id(id)
            .ok_or_else(|| Error::input(sqlstate::UNDEFINED_TABLE, format!("table {} does not exist", id.0)))
    }

    /// Locks the name of a relation that is to be created; 42P07 if there is one.
    fn lock_new_name(&mut self, name: &TableName) -> Flow<()> {
        self.lock_schema_for(&name.schema)?;
        self.lock(Object::Relation(name), ObjectMode::Change)?;
        if self.overlay.has_relation(name) { Err(duplicate_table(name).into()) } else { Ok(()) }
    }

    /// The change happens: its operation goes into the log record, and its effects follow.
    fn note(&mut self) -> Flow<()> {
        self.begin();
        self.log()
    }

    fn begin(&mut self) {
        self.before = Some(self.transaction.savepoint());
    }

    fn log(&mut self) -> Flow<()> {
        let is_shared = !self.change.is_temporary();
        self.overlay.is_shared |= is_shared;
        let change = match self.overlay.database {
            DatabaseId::FIRST => Cow::Borrowed(self.change),
            database => Cow::Owned(self.change.clone().in_database(database)),
        };
        let mut write = |payload: &mut OperationsWriter| payload.change_catalog(&change);
        self.transaction.note_change(if is_shared { Some(&mut write) } else { None })?;
        Ok(())
    }

    fn push(&mut self, effect: Effect) {
        let before = *self.before.get_or_insert_with(|| self.transaction.savepoint());
        self.overlay.own.note(&effect);
        self.overlay.changes.push(Change { before, effect });
    }

    /// Notes a change that gives a table another state.
    fn replace_state(&mut self, table: &Arc<Table>, state: TableState) -> Flow<()> {
        self.begin();
        self.follow_state(table, state);
        self.log()
    }

    fn replace_definition(&mut self, table: &Arc<Table>, definition: TableDefinition) -> Flow<()> {
        let state = table.state(&epoch::pin()).with_definition(definition);
        self.replace_state(table, state)
    }

    /// Gives a table another state together with the change that was noted.
    fn follow_state(&mut self, table: &Arc<Table>, state: TableState) {
        let old = self.overlay.catalog.replace_state(table, Arc::new(state));
        self.transaction.note_changed(table);
        self.push(Effect::State { table: Arc::clone(table), old });
    }

    fn follow_definition(&mut self, table: &Arc<Table>, definition: TableDefinition) {
        let state = table.state(&epoch::pin()).with_definition(definition);
        self.follow_state(table, state);
    }
}
