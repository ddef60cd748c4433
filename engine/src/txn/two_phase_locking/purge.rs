//! Purge: removes records without a row (deleted, or inserted and rolled back) from their indexes.
//!
//! A tombstone keeps its key in the index because the key separates gaps and its lock entry carries what readers of the
//! absence depend on. It may go when nobody holds or awaits its row or its gap, and when the protocol can forget both (so
//! that whoever looks later starts from a floor at least as high; pitfalls 19 and 23). Purge checks that as a small
//! transaction of its own which never waits: it takes the table, the row and the gap, or tries again later.

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_epoch as epoch;
use parking_lot::Mutex;

use super::resource::Resource;
use super::{LockingTransaction, TwoPhaseLocking};
use crate::protocol::{AccessMode, Protocol, Trace};
use crate::storage::table::Table;
use crate::txn::Transaction;
use crate::txn::lock_table::Acquired;

/// A key that may have a record without a row.
pub(super) type PurgeableKey = (Arc<Table>, Box<[u8]>);

/// Keys that may have a record without a row.
#[derive(Default)]
pub(super) struct Queue {
    entries: Mutex<VecDeque<PurgeableKey>>,
}

impl Queue {
    pub(super) fn push_all(&self, keys: &mut Vec<PurgeableKey>) {
        if !keys.is_empty() {
            self.entries.lock().extend(keys.drain(..));
        }
    }

    fn take(&self, most: usize) -> Vec<PurgeableKey> {
        let mut entries = self.entries.lock();
        let count = entries.len().min(most);
        entries.drain(..count).collect()
    }
}

/// Works off the queue of one database; a thread of `db` calls it now and then.
pub(crate) struct Purger<P: Protocol> {
    transaction: LockingTransaction<P>,
}

impl<P: Protocol> Purger<P> {
    pub(crate) fn new(shared: &Arc<TwoPhaseLocking<P>>) -> Purger<P> {
        Purger { transaction: shared.transaction() }
    }

    /// Tries up to `most` keys; answers how many it removed for good and how many it put back.
    pub(crate) fn run(&mut self, most: usize) -> (usize, usize) {
        let entries = self.transaction.shared.purge.take(most);
        let total = entries.len();
        let mut again = Vec::new();
        for (table, key) in entries {
            if !self.transaction.purge(&table, &key) {
                again.push((table, key));
            }
        }
        let kept = again.len();
        self.transaction.shared.purge.push_all(&mut again);
        (total - kept, kept)
    }
}

impl<P: Protocol> LockingTransaction<P> {
    /// Removes the record if it is empty and nobody cares for it; false if it must be tried again.
    fn purge(&mut self, table: &Arc<Table>, key: &[u8]) -> bool {
        if table.is_dropped() {
            return true;
        }
        self.begin();
        let row = Resource::row(table.id(), key);
        let gap = Resource::gap(table.id(), Some(key));
        let wanted = [
            (Resource::table_stripe(table.id(), self.worker), AccessMode::IntentWrite),
            (row, AccessMode::Write),
            (gap, AccessMode::Write),
        ];
        let is_free = wanted.into_iter().all(|(resource, mode)| self.lock_without_waiting(resource, mode));
        let shared = &*self.shared;
        let is_done = is_free
            && shared.locks.is_forgettable(&shared.protocol, row)
            && shared.locks.is_forgettable(&shared.protocol, gap)
            && {
                let guard = epoch::pin();
                let index = table.state(&guard).index();
                // False when the key has a row again or is gone: either way there is nothing left to do.
                index.remove(key, &guard);
                true
            };
        let token = self.shared.protocol.read_only_commit(&self.dependencies);
        self.end(&token, Trace::None);
        is_done
    }

    pub(super) fn lock_without_waiting(&mut self, resource: Resource, mode: AccessMode) -> bool {
        let shared = &*self.shared;
        match shared.locks.try_acquire(&shared.protocol, &mut self.dependencies, self.id, resource, mode) {
            Some(Acquired::New(_)) => {
                self.held.push(resource);
                true
            }
            Some(Acquired::Held(_)) => true,
            Some(Acquired::Wait(_) | Acquired::Deadlock) | None => false,
        }
    }
}
