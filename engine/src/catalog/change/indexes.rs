//! Indexes: created, built beside writers, dropped, renamed.
//!
//! Names of indexes are locked like those of tables, because they share a namespace.
//!
//! An index that is built beside writers is attached to the state of its table first: writers keep it, no
//! reader finds rows by it, it is in no definition and in no log. The transaction then fills it
//! ([`ObjectAccess::build_index`]). When that is done, the change is logged, and the definition has the index
//! once it is committed. If the transaction ends in any other way, the index is taken out again.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::{CatalogChange, IndexDefinition, TableDefinition, TableId, TableName};

use super::{Applying, stale};
use crate::catalog::effect::{self, Effect};
use crate::catalog::overlay::Overlay;
use crate::storage::catalog::CatalogView;
use crate::storage::table::Table;
use crate::txn::{Flow, Object, ObjectAccess, ObjectMode, TableLock, Waiting, restart_gate};

impl<T: ObjectAccess> Applying<'_, T> {
    pub(super) fn create_index(&mut self, table: TableId, index: &IndexDefinition) -> Flow<()> {
        let table = self.changing_table(table)?;
        self.lock_new_name(&TableName { name: index.name.clone(), ..table.definition().name.clone() })?;
        self.overlay.catalog.reserve_table_id(index.id);
        let state = {
            let guard = epoch::pin();
            let mut state = table.state(&guard).with_index(index, &guard)?;
            if let Some(made) = state.indexes().last() {
                self.transaction.add_older_entries(&table, made, &guard);
            }
            effect::note_new_key(self.transaction, &mut state, index);
            state
        };
        self.replace_state(&table, state)
    }

    pub(super) fn drop_index(&mut self, table: TableId, index: TableId) -> Flow<()> {
        let table = self.changing_table(table)?;
        let definition = table.definition();
        let name = definition.index(index).ok_or_else(stale)?.name.clone();
        let name = TableName { name, ..definition.name.clone() };
        self.lock(Object::Relation(&name), ObjectMode::Change)?;
        let definition = definition.without_index(index);
        // The caller drops foreign keys first; this one was created after it looked. That is impossible while
        // the table is locked.
        let is_missed = |child: &TableId| {
            let child = self.overlay.table_by_id(*child);
            let keys = child.map(|child| child.definition().foreign_keys.clone()).unwrap_or_default();
            keys.iter().any(|key| key.parent == table.id() && key.parent_key(&definition).is_none())
        };
        if definition.referenced_by.iter().any(is_missed) {
            return Err(stale());
        }
        self.replace_definition(&table, definition)
    }

    pub(super) fn rename_index(&mut self, table: TableId, index: Option<TableId>, name: &str) -> Flow<()> {
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
        self.replace_definition(&table, definition.with_renamed_index(index, name))
    }

    /// Gives the table a state with the index. The definition must be what the caller has looked at.
    fn attach_index(
        &mut self,
        table: &Arc<Table>,
        planned: &Arc<TableDefinition>,
        index: &IndexDefinition,
    ) -> Flow<()> {
        self.lock(Object::IndexBuild(table.id()), ObjectMode::Change)?;
        self.transaction.lock_table(table, TableLock::AccessShare, Waiting::InQueue)?;
        self.lock_new_name(&TableName { name: index.name.clone(), ..planned.name.clone() })?;
        if table.is_dropped() || !Arc::ptr_eq(&table.definition(), planned) {
            return Err(stale());
        }
        self.overlay.catalog.reserve_table_id(index.id);
        let state = Arc::new(table.state(&epoch::pin()).with_unfinished_index(index));
        self.begin();
        effect::exchange_beside_others(&self.overlay.catalog, self.transaction, table, state);
        self.push(Effect::UnfinishedIndex(Arc::clone(table)));
        self.transaction.begin_index_build(table);
        self.transaction.note_change(None)?;
        Ok(())
    }
}

/// One step of building an index beside writers, through at most this many records or entries; true if it
/// can be committed. Nothing else may happen in the transaction.
pub(crate) fn build_index<T: ObjectAccess>(
    overlay: &mut Overlay,
    (table, planned): (&Arc<Table>, &Arc<TableDefinition>),
    index: &IndexDefinition,
    transaction: &mut T,
    most: usize,
) -> Flow<bool> {
    restart_gate::wait_for(overlay.catalog.changes())?;
    let change = &CatalogChange::CreateIndex { table: table.id(), index: index.clone() };
    let is_attached =
        overlay.changes.iter().any(|change| matches!(change.effect, Effect::UnfinishedIndex(_)));
    let mut applying = Applying { overlay, transaction, change, before: None };
    if !is_attached {
        applying.attach_index(table, planned, index)?;
        return Ok(false);
    }
    if !applying.transaction.build_index(index, most)? {
        return Ok(false);
    }
    applying.note()?;
    applying.push(Effect::FinishedIndex(Arc::clone(table)));
    applying.transaction.commit_alone();
    applying.transaction.change_meaning();
    Ok(true)
}
