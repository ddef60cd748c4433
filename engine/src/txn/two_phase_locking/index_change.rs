//! Secondary indexes that are created, dropped and renamed inside a transaction: the table's state is
//! replaced at once, as by other changes of an existing table (`catalog_change`).
//!
//! Names of indexes are locked like those of tables, because they share a namespace.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::{CatalogChange, IndexDefinition, TableDefinition, TableId, TableName};
use hyades_types::error::{Abort, Error};

use super::LockingTransaction;
use super::resource::Resource;
use crate::protocol::Protocol;
use crate::storage::catalog::{CatalogView, duplicate_table};
use crate::storage::table::Table;
use crate::txn::lock_mode::LockMode;
use crate::txn::{Flow, Interrupt};

fn stale() -> Interrupt {
    Interrupt::Failed(Error::Abort(Abort::StalePlan))
}

impl<P: Protocol> LockingTransaction<P> {
    /// Locks the name of a relation that is to be created; 42P07 if there is one.
    pub(super) fn lock_new_name(&mut self, name: &TableName) -> Flow<()> {
        self.lock_schema_for(&name.schema)?;
        self.lock(Resource::name(name), LockMode::Write)?;
        let is_index = |table: &Arc<Table>| {
            let definition = table.definition();
            definition.name.schema == name.schema && definition.has_relation(&name.name)
        };
        let is_taken = self.table(name).is_some()
            || self.find_sequence(name).is_some()
            || self.visible_tables().iter().any(is_index);
        if is_taken { Err(duplicate_table(name).into()) } else { Ok(()) }
    }

    pub(super) fn create_index(
        &mut self,
        table: TableId,
        index: &IndexDefinition,
        change: &CatalogChange,
    ) -> Flow<()> {
        let table = self.changing_table(table)?;
        self.lock_new_name(&TableName { name: index.name.clone(), ..table.definition().name.clone() })?;
        self.shared.catalog.reserve_table_id(index.id);
        let guard = epoch::pin();
        let mut state = table.state(&guard).with_index(index, &guard)?;
        if let Some(made) = state.indexes().last() {
            self.add_older_entries(&table, made, &guard);
        }
        self.note_new_key(&mut state, index);
        self.replace_state(Arc::clone(&table), state, change)
    }

    pub(super) fn drop_index(&mut self, table: TableId, index: TableId, change: &CatalogChange) -> Flow<()> {
        let table = self.changing_table(table)?;
        let definition = table.definition();
        let name = definition.index(index).ok_or_else(stale)?.name.clone();
        self.lock(Resource::name(&TableName { name, ..definition.name.clone() }), LockMode::Write)?;
        let definition = definition.without_index(index);
        // The caller drops foreign keys first; this one was created after it looked. That is impossible while
        // the table is locked.
        let is_missed = |child: &TableId| {
            let child = self.table_by_id(*child).ok();
            let keys = child.map(|child| child.definition().foreign_keys.clone()).unwrap_or_default();
            keys.iter().any(|key| key.parent == table.id() && key.parent_key(&definition).is_none())
        };
        if definition.referenced_by.iter().any(is_missed) {
            return Err(stale());
        }
        self.replace_definition(&table, definition, change)
    }

    pub(super) fn rename_index(
        &mut self,
        table: TableId,
        index: Option<TableId>,
        name: &str,
        change: &CatalogChange,
    ) -> Flow<()> {
        let table = self.changing_table(table)?;
        let definition = table.definition();
        let is_there = match index {
            Some(index) => definition.index(index).is_some(),
            None => definition.primary_key.is_some(),
        };
        if !is_there {
            return Err(stale());
        }
        self.lock_new_name(&TableName { name: name.to_owned(), ..definition.name.clone() })?;
        self.replace_definition(&table, definition.with_renamed_index(index, name), change)
    }

    /// Locks a table whose definition is to change. What the caller knows of it may be outdated.
    pub(super) fn changing_table(&mut self, id: TableId) -> Flow<Arc<Table>> {
        let table = self.table_by_id(id)?;
        self.lock_everybody_out(&table)?;
        if table.is_dropped() { Err(stale()) } else { Ok(table) }
    }

    pub(super) fn replace_definition(
        &mut self,
        table: &Arc<Table>,
        definition: TableDefinition,
        change: &CatalogChange,
    ) -> Flow<()> {
        let state = table.state(&epoch::pin()).with_definition(definition);
        self.replace_state(Arc::clone(table), state, change)
    }
}
