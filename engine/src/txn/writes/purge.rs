//! Purge: removes records without a row (deleted, or inserted and rolled back) from their indexes.
//!
//! A tombstone keeps its key in the index because the key separates gaps, and its record names the
//! transaction that readers of the absence depend on and leads to the versions that older snapshots see. It
//! may be removed when its row and its gap are neither held nor awaited, when every transaction follows its
//! last writer (so that later readers start from a floor at least as high; pitfalls 19 and 23), and when no
//! snapshot sees a row there. Purge checks that as a small transaction of its own which never waits: it takes
//! the table, the row and the gap, or tries again later. It is a *brief* one: requests that do not want to
//! wait for others (NOWAIT, SKIP LOCKED) do not notice it.
//!
//! Entries of secondary indexes whose rows have other values by now, or are gone, are removed in the same
//! way: under the lock of the row and of their gap.
//!
//! The same thread frees what TRUNCATE, DROP and new primary keys leave behind, a few leaves at a time.
//! Otherwise a table's former state with all its rows would be freed by the last transaction that releases
//! it, which may have nothing to do with it.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};

use super::index_entries::is_entry_needed;
use super::purge_queue::Purgeable;
use super::resource::Resource;
use super::{Body, Transactions};
use crate::protocol::Protocol;
use crate::storage::secondary_index::SecondaryIndex;
use crate::storage::table::TableState;
use crate::txn::lock_mode::LockMode;
use crate::txn::lock_table::{Acquired, TransactionId};
use crate::txn::{Caretaker, Control, Rest, Transaction};

/// Keys that are tried at a time.
const BATCH: usize = 1024;

/// Works off the queue of one database; a thread of `db` calls it now and then.
pub struct Purger<P: Protocol> {
    transaction: Body<P>,
    /// What it is freeing.
    state: Option<TableState>,
}

impl<P: Protocol> Purger<P> {
    pub(crate) fn new(shared: &Arc<Transactions<P>>) -> Purger<P> {
        let mut transaction = shared.transaction();
        transaction.id.0 |= TransactionId::BRIEF;
        Purger { transaction, state: None }
    }

    /// Frees a little of what tables have left behind. Returns whether there is more to do at once.
    pub(crate) fn free_some(&mut self) -> bool {
        if self.state.is_none() {
            self.state = self.next_state();
        }
        let Some(state) = &mut self.state else { return false };
        if state.free_some() {
            self.state = None;
        }
        true
    }

    /// A state that is no longer used elsewhere.
    fn next_state(&self) -> Option<TableState> {
        let mut states = self.transaction.shared.purge.states.lock();
        if states.is_empty() {
            return None;
        }
        // The tables' own references are dropped with the epoch.
        epoch::pin().flush();
        let unused = states.iter().position(|state| Arc::strong_count(state) == 1)?;
        match Arc::try_unwrap(states.swap_remove(unused)) {
            Ok(state) => Some(state),
            Err(used) => {
                states.push(used);
                None
            }
        }
    }

    /// Forgets versions that can no longer be seen. Returns whether there are others. If there are too many,
    /// the oldest snapshot is given up.
    pub(crate) fn forget(&mut self) -> bool {
        let shared = &*self.transaction.shared;
        let left = shared.histories.forget_all(shared);
        let is_too_much = left.is_for_snapshots && left.bytes > shared.version_bytes;
        if is_too_much && shared.histories.expire_oldest() {
            tracing::warn!(
                bytes = left.bytes,
                "versions take too much memory: the oldest snapshot is given up"
            );
            shared.histories.forget_all(shared);
        }
        left.bytes > 0
    }

    /// Tries up to `most` keys. Returns how many it removed for good.
    pub(crate) fn run(&mut self, most: usize) -> usize {
        let entries = self.transaction.shared.purge.take(most);
        let total = entries.len();
        let mut again = Vec::new();
        for entry in entries {
            if !self.transaction.purge(&entry) {
                again.push(entry);
            }
        }
        let kept = again.len();
        self.transaction.shared.purge.put_back(again);
        total - kept
    }
}

impl<P: Protocol> Caretaker for Purger<P> {
    fn tend(&mut self) -> Rest {
        let has_versions = self.forget();
        let removed = self.run(BATCH);
        if self.free_some() || removed >= BATCH / 2 {
            return Rest::None;
        }
        if removed > 0 || has_versions { Rest::Short } else { Rest::Long }
    }
}

impl<P: Protocol> Body<P> {
    /// Removes the record if it is empty and nothing depends on it, or the entry if it is not needed; false
    /// if it must be tried again.
    fn purge(&mut self, purgeable: &Purgeable) -> bool {
        let Purgeable { table, index, key } = purgeable;
        if table.is_dropped() {
            return true;
        }
        let guard = epoch::pin();
        let state = table.state(&guard);
        let index = match index {
            None => None,
            Some(id) => match state.indexes().iter().find(|index| index.definition().id == *id) {
                None => return true,
                index => index,
            },
        };
        self.begin();
        let (relation, row_key) =
            index.map_or((table.id(), &**key), |index| (index.definition().id, &key[index.key_start(key)..]));
        let row = Resource::row(table.id(), row_key);
        let gap = Resource::gap(relation, Some(key));
        let wanted = [
            (Resource::table_stripe(table.id(), self.worker), LockMode::IntentWrite),
            (row, LockMode::Write),
            (gap, LockMode::Write),
        ];
        let is_free = wanted.into_iter().all(|(resource, mode)| self.lock_without_waiting(resource, mode));
        let is_done = is_free
            // Locked by now. It may have been exchanged before.
            && std::ptr::eq(table.state(&guard), state)
            && match index {
                None => self.remove_empty(state, key, &guard),
                Some(index) => self.remove_entry(state, index, key, &guard),
            };
        self.end(None);
        is_done
    }

    fn remove_empty(&self, state: &TableState, key: &[u8], guard: &Guard) -> bool {
        if state.index().is_being_loaded() {
            // It does not have the key yet.
            return false;
        }
        let is_needed = state
            .index()
            .get(key, guard)
            .is_some_and(|record| !record.has_row() && !self.shared.histories.is_old(record.writer()));
        // False when the key has a row again or is gone: either way there is nothing left to do.
        if !is_needed {
            state.index().remove(key, guard);
        }
        !is_needed
    }

    fn remove_entry(&self, state: &TableState, index: &SecondaryIndex, entry: &[u8], guard: &Guard) -> bool {
        let is_needed = is_entry_needed(self, state, index, entry, guard);
        if is_needed == Some(false) {
            index.entries().remove(entry, guard);
        }
        is_needed.is_some()
    }

    pub(super) fn lock_without_waiting(&mut self, resource: Resource, mode: LockMode) -> bool {
        let shared = &*self.shared;
        match shared.locks.try_acquire(shared, &mut self.dependencies, self.id, resource, mode) {
            Some(Acquired::New(_)) => {
                self.held.push(resource);
                true
            }
            Some(Acquired::Held(_)) => true,
            Some(Acquired::Wait(_) | Acquired::Deadlock) | None => false,
        }
    }
}
