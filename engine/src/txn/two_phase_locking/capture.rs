//! What a checkpoint sees of the catalog: the tables, with the rows that they have in a phase.
//!
//! Rows have versions, definitions have none, and TRUNCATE and ALTER TABLE exchange a table's whole state
//! while their transaction is still open. So the states that have been replaced and not yet been given up are
//! kept here, and transactions that change the catalog do not begin to commit at the moment of a capture:
//!
//! 1. *capturing* is set, then the phase is raised. A transaction that commits a change of the catalog
//!    announces itself, reads the phase, and checks *capturing*: if it is set, it withdraws the announcement
//!    and tries again later. So transactions in the old phase are waited for, and none is in the new one yet.
//! 2. When the stragglers are gone, the committed catalog is that of the phase that has ended. For a table
//!    whose state an open transaction has replaced, the first of the replaced states counts.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_epoch as epoch;
use hyades_types::definition::TableId;
use parking_lot::Mutex;

use super::{LockingTransaction, TwoPhaseLocking};
use crate::log::record::Commit;
use crate::protocol::Protocol;
use crate::storage::catalog::Catalog;
use crate::storage::history::HistoryWriter;
use crate::storage::table::{Table, TableState};
use crate::txn::Captured;

/// What schema changes that have not ended have replaced.
pub(super) struct Replaced {
    catalog: Arc<Catalog>,
    is_capturing: AtomicBool,
    /// The committed states of the tables whose current state is not committed.
    states: Mutex<HashMap<TableId, Arc<TableState>>>,
}

impl Replaced {
    pub(super) fn new(catalog: Arc<Catalog>) -> Replaced {
        Replaced { catalog, is_capturing: AtomicBool::new(false), states: Mutex::default() }
    }

    /// Exchanges the state of a table, which no other transaction uses.
    pub(super) fn replace(&self, table: &Table, new: Arc<TableState>) -> Arc<TableState> {
        let mut states = self.states.lock();
        let old = self.catalog.exchange(table, new, &epoch::pin());
        states.entry(table.id()).or_insert_with(|| Arc::clone(&old));
        old
    }

    /// Restores a previous state; returns the one that it replaces.
    pub(super) fn put_back(&self, table: &Table, old: Arc<TableState>) -> Arc<TableState> {
        let mut states = self.states.lock();
        if states.get(&table.id()).is_some_and(|committed| Arc::ptr_eq(committed, &old)) {
            states.remove(&table.id());
        }
        self.catalog.exchange(table, old, &epoch::pin())
    }

    /// The current state of this table is committed.
    pub(super) fn give_up(&self, table: &Table) {
        self.states.lock().remove(&table.id());
    }
}

impl<P: Protocol> LockingTransaction<P> {
    /// Enters the phase in which the transaction commits (`storage::history::phase`).
    pub(super) fn begin_commit(&mut self) -> Commit {
        let is_barrier = self.changes_shared_catalog;
        loop {
            if self.close_commits() {
                let phase = self.history.begin_commit();
                let is_kept_away = (is_barrier && self.shared.replaced.is_capturing.load(Ordering::SeqCst))
                    || (!self.has_closed_commits && self.shared.unlocked.is_closed());
                if !is_kept_away {
                    self.order_commit();
                    return Commit { is_barrier, is_phase_odd: phase.is_odd() };
                }
                self.history.leave_commit();
                self.open_commits();
            }
            crate::sync::yield_now();
        }
    }
}

impl<P: Protocol> TwoPhaseLocking<P> {
    /// Ends a phase (module head). Calls `before` when no transaction is in the next one, `after` when none
    /// is in this one.
    pub(super) fn capture_phase(&self, before: &mut dyn FnMut(), after: &mut dyn FnMut()) -> Captured {
        let own = HistoryWriter::new(&self.histories);
        let ended = self.histories.ended();
        self.replaced.is_capturing.store(true, Ordering::SeqCst);
        let at = self.histories.end_phase(&own, before);
        self.histories.wait_for_stragglers();
        let catalog = self.catalog.frozen();
        let tables = {
            let states = self.replaced.states.lock();
            let committed = |table: Arc<Table>| {
                let state = states.get(&table.id()).map_or_else(|| table.shared_state(), Arc::clone);
                (table, state)
            };
            catalog.tables().into_iter().filter(|table| !table.id().is_temporary()).map(committed).collect()
        };
        self.replaced.is_capturing.store(false, Ordering::SeqCst);
        after();
        Captured { histories: Arc::clone(&self.histories), at, ended, catalog, tables, _own: own }
    }
}
