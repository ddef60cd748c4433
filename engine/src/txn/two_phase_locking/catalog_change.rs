//! Schema changes inside a transaction: private to it until its locks are released.
//!
//! New and dropped names live in the transaction's list of names and reach the catalog at precommit. TRUNCATE, ADD PRIMARY KEY
//! and foreign keys (those of both tables) replace the table's state at once, which the lock on the whole table hides; the former state
//! waits in the undo list.

use std::sync::Arc;

use crossbeam_epoch as epoch;

use super::resource::Resource;
use super::{LockingTransaction, Undo, UndoAction};
use crate::catalog::{CatalogChange, ForeignKey, TableDefinition, TableId, TableName};
use crate::error::{Abort, Error, sqlstate};
use crate::protocol::{AccessMode, Protocol};
use crate::storage::catalog::duplicate_table;
use crate::storage::table::{Table, TableState};
use crate::txn::{Flow, Interrupt, Transaction};

impl<P: Protocol> LockingTransaction<P> {
    pub(super) fn apply_catalog_change(&mut self, change: CatalogChange) -> Flow<()> {
        match &change {
            CatalogChange::CreateTable { id, definition } => self.create_table(*id, definition, &change),
            CatalogChange::DropTable { id } => self.drop_table(*id, &change),
            CatalogChange::Truncate { id } => {
                let table = self.table_by_id(*id)?;
                self.lock_table_in(&table, AccessMode::Write)?;
                let state = table.state(&epoch::pin()).truncated();
                self.replace_state(table, state, &change)
            }
            CatalogChange::AddPrimaryKey { id, primary_key } => {
                let table = self.table_by_id(*id)?;
                self.lock_table_in(&table, AccessMode::Write)?;
                let guard = epoch::pin();
                let state = table.state(&guard).with_primary_key(primary_key, &guard)?;
                drop(guard);
                self.replace_state(table, state, &change)
            }
            CatalogChange::AddForeignKey { id, foreign_key } => {
                self.add_foreign_key(*id, foreign_key, &change)
            }
            CatalogChange::DropForeignKey { id, name } => self.drop_foreign_key(*id, name, &change),
        }
    }

    /// What the caller found out about the tables may have changed until they were locked: then it must look again.
    fn add_foreign_key(&mut self, id: TableId, foreign_key: &ForeignKey, change: &CatalogChange) -> Flow<()> {
        let (child, parent) = (self.table_by_id(id)?, self.table_by_id(foreign_key.parent)?);
        self.lock_table_in(&child, AccessMode::Write)?;
        self.lock_table_in(&parent, AccessMode::Write)?;
        let (definition, parent_definition) = (child.definition(), parent.definition());
        let is_stale = child.is_dropped()
            || parent.is_dropped()
            || definition.foreign_key(&foreign_key.name).is_some()
            || foreign_key.columns_in_key_order(&parent_definition).is_none();
        if is_stale {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        let guard = epoch::pin();
        child.state(&guard).check_foreign_key(foreign_key, parent.state(&guard), &guard)?;
        drop(guard);
        let definitions = definition.add_foreign_key(&parent_definition, id, foreign_key);
        self.replace_definitions((child, parent), definitions, change)
    }

    fn drop_foreign_key(&mut self, id: TableId, name: &str, change: &CatalogChange) -> Flow<()> {
        let stale = || Interrupt::Failed(Error::Abort(Abort::StalePlan));
        let child = self.table_by_id(id)?;
        self.lock_table_in(&child, AccessMode::Write)?;
        let definition = child.definition();
        let parent = definition.foreign_key(name).ok_or_else(stale)?.parent;
        let parent = self.table_by_id(parent)?;
        self.lock_table_in(&parent, AccessMode::Write)?;
        if child.is_dropped() {
            return Err(stale());
        }
        let definitions = definition.drop_foreign_key(&parent.definition(), id, name);
        self.replace_definitions((child, parent), definitions, change)
    }

    /// Both tables change, or neither: the change is noted once, before the first.
    fn replace_definitions(
        &mut self,
        (child, parent): (Arc<Table>, Arc<Table>),
        (child_definition, parent_definition): (TableDefinition, TableDefinition),
        change: &CatalogChange,
    ) -> Flow<()> {
        let guard = epoch::pin();
        let state = child.state(&guard).with_definition(child_definition);
        let parent_state = parent.state(&guard).with_definition(parent_definition);
        drop(guard);
        self.replace_state(child, state, change)?;
        let old = parent.replace_state(Arc::new(parent_state), &epoch::pin());
        self.undo.push(Undo {
            payload_bytes: self.payload.len(),
            key_bytes: self.keys.len(),
            names: self.names.len(),
            action: UndoAction::State { table: parent, old },
        });
        Ok(())
    }

    fn create_table(
        &mut self,
        id: TableId,
        definition: &TableDefinition,
        change: &CatalogChange,
    ) -> Flow<()> {
        self.lock(Resource::name(&definition.name), AccessMode::Write)?;
        if self.table(&definition.name).is_some() {
            return Err(duplicate_table(&definition.name).into());
        }
        let table = Arc::new(Table::new(id, definition.clone()));
        self.lock_table_in(&table, AccessMode::Write)?;
        self.note_change(UndoAction::Name, change)?;
        self.names.push((definition.name.clone(), Some(table)));
        Ok(())
    }

    fn drop_table(&mut self, id: TableId, change: &CatalogChange) -> Flow<()> {
        let table = self.table_by_id(id)?;
        let name = table.definition().name.clone();
        self.lock(Resource::name(&name), AccessMode::Write)?;
        self.lock_table_in(&table, AccessMode::Write)?;
        if table.is_dropped() {
            return Err(undefined_table(&name).into());
        }
        let definition = table.definition();
        if !definition.foreign_keys.is_empty() || !definition.referenced_by.is_empty() {
            // The caller drops foreign keys first; this one has come since it looked.
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        self.note_change(UndoAction::Name, change)?;
        self.names.push((name, None));
        Ok(())
    }

    /// Whether this very transaction has dropped the table; to all others it says so when it has committed.
    pub(super) fn has_dropped(&self, table: &Arc<Table>) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let definition = table.definition();
        let latest = self.names.iter().rev().find(|(name, _)| *name == definition.name);
        latest.is_some_and(|(_, now)| now.as_ref().is_none_or(|now| !Arc::ptr_eq(now, table)))
    }

    fn table_by_id(&self, id: TableId) -> Result<Arc<Table>, Error> {
        let own = self.names.iter().rev().filter_map(|(_, table)| table.clone());
        own.chain(self.shared.catalog.by_id(id))
            .find(|table| table.id() == id && !table.is_dropped())
            .ok_or_else(|| Error::input(sqlstate::UNDEFINED_TABLE, format!("table {} does not exist", id.0)))
    }

    fn replace_state(&mut self, table: Arc<Table>, state: TableState, change: &CatalogChange) -> Flow<()> {
        let old = table.replace_state(Arc::new(state), &epoch::pin());
        self.note_change(UndoAction::State { table, old }, change)
    }

    fn note_change(&mut self, action: UndoAction, change: &CatalogChange) -> Flow<()> {
        self.undo.push(Undo {
            payload_bytes: self.payload.len(),
            key_bytes: self.keys.len(),
            names: self.names.len(),
            action,
        });
        self.changes_catalog = true;
        if P::WRITES_LOG {
            self.payload.change_catalog(change)?;
        }
        Ok(())
    }

    /// Makes the transaction's new and dropped tables everybody's. Its locks are still held, those on the names included, so
    /// nobody can have taken a name in between.
    pub(super) fn publish_names(&mut self) {
        let names = std::mem::take(&mut self.names);
        for (name, change) in names {
            match change {
                Some(table) => {
                    if let Err(error) = self.shared.catalog.add(table) {
                        tracing::error!(%error, "a table could not be published");
                    }
                }
                None => {
                    if let Some(table) = self.shared.catalog.by_name(&name) {
                        self.shared.catalog.remove(table.id());
                    }
                }
            }
        }
    }
}

fn undefined_table(name: &TableName) -> Error {
    Error::input(sqlstate::UNDEFINED_TABLE, format!("relation \"{}\" does not exist", name.name))
}
