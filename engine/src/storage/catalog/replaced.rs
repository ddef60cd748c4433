//! States of tables that open transactions have replaced.
//!
//! Rows have versions, definitions have none: a change of a definition, or of all rows, exchanges the state
//! of a table while its transaction is still open, and the lock on the table hides that. What is committed is
//! then the first of the states that have been replaced. It is kept here until the transaction has ended, for
//! checkpoints, which want the committed state of a table without its lock.

use std::sync::Arc;

use crossbeam_epoch as epoch;

use super::Catalog;
use crate::storage::common::Common;
use crate::storage::table::{Table, TableState};

/// Tables with the states that are committed.
pub(crate) type CommittedTables = Vec<(Arc<Table>, Arc<TableState>)>;

impl Catalog {
    /// Exchanges the state of a table, which no other transaction uses; returns the former one.
    pub(crate) fn replace_state(&self, table: &Table, new: Arc<TableState>) -> Arc<TableState> {
        let mut states = self.replaced.lock();
        table.set_replaced(true);
        let old = self.exchange(table, new, &epoch::pin());
        states.entry(table.id()).or_insert_with(|| Arc::clone(&old));
        old
    }

    /// Restores a former state; returns the one that it replaces.
    pub(crate) fn put_back_state(&self, table: &Table, old: Arc<TableState>) -> Arc<TableState> {
        let mut states = self.replaced.lock();
        let is_committed = states.get(&table.id()).is_some_and(|committed| Arc::ptr_eq(committed, &old));
        if is_committed {
            states.remove(&table.id());
        }
        let replaced = self.exchange(table, old, &epoch::pin());
        table.set_replaced(!is_committed);
        replaced
    }

    /// The current state of this table is committed.
    pub(crate) fn settle_state(&self, table: &Table) {
        self.replaced.lock().remove(&table.id());
        table.set_replaced(false);
    }

    /// The committed catalog, with the committed states of the tables that outlive a session. No transaction
    /// that has changed the catalog commits meanwhile.
    pub(in crate::storage) fn committed(&self, common: &Arc<Common>) -> (Catalog, CommittedTables) {
        let catalog = self.frozen(common);
        let states = self.replaced.lock();
        let committed = |table: Arc<Table>| {
            let state = states.get(&table.id()).map_or_else(|| table.shared_state(), Arc::clone);
            (table, state)
        };
        let tables = catalog.tables().into_iter().filter(|table| !table.id().is_temporary());
        let tables = tables.map(committed).collect();
        (catalog, tables)
    }
}
