//! Foreign keys that are added, dropped or validated inside a transaction.
//!
//! Both tables are locked against all others. Their definitions are replaced at once, which the locks hide;
//! the former states wait in the undo list.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::{CatalogChange, ForeignKey, TableDefinition, TableId};
use hyades_types::error::{Abort, Error};

use super::{LockingTransaction, Undo, UndoAction};
use crate::protocol::Protocol;
use crate::storage::table::{Table, TableState};
use crate::txn::{Flow, Interrupt};

fn stale() -> Interrupt {
    Interrupt::Failed(Error::Abort(Abort::StalePlan))
}

impl<P: Protocol> LockingTransaction<P> {
    /// What the caller found out about the tables may have changed before they were locked. Then it must look
    /// again.
    pub(super) fn add_foreign_key(
        &mut self,
        id: TableId,
        foreign_key: &ForeignKey,
        change: &CatalogChange,
    ) -> Flow<()> {
        let (child, parent) = (self.table_by_id(id)?, self.table_by_id(foreign_key.parent)?);
        self.lock_everybody_out(&child)?;
        self.lock_everybody_out(&parent)?;
        let definition = child.definition();
        let is_stale = child.is_dropped()
            || parent.is_dropped()
            || definition.foreign_key(&foreign_key.name).is_some()
            || foreign_key.parent_key(&parent.definition()).is_none();
        if is_stale {
            return Err(stale());
        }
        if !foreign_key.is_not_valid {
            let guard = epoch::pin();
            child.state(&guard).check_foreign_key(foreign_key, parent.state(&guard), &guard)?;
        }
        self.replace_definition(&child, definition.with_foreign_key(id, foreign_key), change)?;
        if foreign_key.parent != id {
            let definition = parent.definition().with_child(id);
            self.follow_definition(parent, definition);
        }
        Ok(())
    }

    pub(super) fn drop_foreign_key(&mut self, id: TableId, name: &str, change: &CatalogChange) -> Flow<()> {
        let child = self.table_by_id(id)?;
        self.lock_everybody_out(&child)?;
        let definition = child.definition();
        let parent = definition.foreign_key(name).ok_or_else(stale)?.parent;
        let parent = self.table_by_id(parent)?;
        self.lock_everybody_out(&parent)?;
        if child.is_dropped() {
            return Err(stale());
        }
        self.replace_definition(&child, definition.without_foreign_key(id, name), change)?;
        if parent.id() != id {
            let number = definition.number_among(parent.id(), name);
            let definition = parent.definition().without_child(id, number);
            self.follow_definition(parent, definition);
        }
        Ok(())
    }

    pub(super) fn validate_foreign_key(
        &mut self,
        id: TableId,
        name: &str,
        change: &CatalogChange,
    ) -> Flow<()> {
        let child = self.table_by_id(id)?;
        self.lock_everybody_out(&child)?;
        let definition = child.definition();
        let foreign_key = definition.foreign_key(name).ok_or_else(stale)?;
        let parent = self.table_by_id(foreign_key.parent)?;
        self.lock_everybody_out(&parent)?;
        if child.is_dropped() {
            return Err(stale());
        }
        let guard = epoch::pin();
        child.state(&guard).check_foreign_key(foreign_key, parent.state(&guard), &guard)?;
        drop(guard);
        self.replace_definition(&child, definition.with_valid_foreign_key(name), change)
    }

    /// The table at the other end changes together with the one whose change was noted, or not at all.
    fn follow_definition(&mut self, table: Arc<Table>, definition: TableDefinition) {
        let state = table.state(&epoch::pin()).with_definition(definition);
        self.follow_state(table, state);
    }

    /// Replaces the state of a table because of another change, which is logged.
    pub(super) fn follow_state(&mut self, table: Arc<Table>, state: TableState) {
        let old = self.shared.replaced.replace(&table, Arc::new(state));
        self.note_own_change(&table);
        self.undo.push(Undo {
            payload_bytes: self.payload.len(),
            write_set: self.write_set,
            key_bytes: self.keys.len(),
            names: self.names.len(),
            action: UndoAction::State { table, old },
        });
    }
}
