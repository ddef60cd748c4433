//! What is left to `purge`: keys that may have a record without a row, and states that tables had.

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::TableId;
use parking_lot::Mutex;

use crate::storage::table::{Table, TableState};

/// A key that may have a record without a row, or an entry of a secondary index that may be useless.
pub(super) struct Purgeable {
    pub(super) table: Arc<Table>,
    /// `None`: the primary index.
    pub(super) index: Option<TableId>,
    pub(super) key: Box<[u8]>,
}

impl Purgeable {
    /// A key of the primary index.
    pub(super) fn row(table: &Arc<Table>, key: &[u8]) -> Purgeable {
        Purgeable { table: Arc::clone(table), index: None, key: key.into() }
    }
}

/// What is left to the janitor.
#[derive(Default)]
pub(super) struct Queue {
    keys: Mutex<Keys>,
    /// Former states of tables.
    pub(super) states: Mutex<Vec<Arc<TableState>>>,
}

/// Keys that may be removed.
#[derive(Default)]
struct Keys {
    waiting: VecDeque<Purgeable>,
    /// How many are being tried.
    in_hand: usize,
}

impl Queue {
    pub(super) fn push_all(&self, keys: &mut Vec<Purgeable>) {
        if !keys.is_empty() {
            self.keys.lock().waiting.extend(keys.drain(..));
        }
    }

    /// A table no longer has this state. It is freed when it is no longer used.
    pub(super) fn discard(&self, table: &Table, state: Arc<TableState>) {
        state.give_up_charge(table.state(&epoch::pin()));
        self.states.lock().push(state);
        // The table's own reference waits in this thread's garbage.
        epoch::pin().flush();
    }

    /// The table is gone, and what still refers to it (a cached plan) needs no rows; nobody pays for it. The
    /// caller holds its write lock.
    pub(super) fn discard_rows(&self, table: &Table) {
        let guard = epoch::pin();
        let empty = Arc::new(TableState::new(Arc::clone(table.state(&guard).definition())));
        let old = table.replace_state(empty, &guard);
        drop(guard);
        self.discard(table, old);
    }

    pub(super) fn take(&self, most: usize) -> Vec<Purgeable> {
        let mut keys = self.keys.lock();
        let count = keys.waiting.len().min(most);
        keys.in_hand = count;
        keys.waiting.drain(..count).collect()
    }

    pub(super) fn put_back(&self, again: Vec<Purgeable>) {
        let mut keys = self.keys.lock();
        keys.in_hand = 0;
        keys.waiting.extend(again);
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn states(&self) -> usize {
        self.states.lock().len()
    }

    pub(super) fn len(&self) -> usize {
        let keys = self.keys.lock();
        keys.waiting.len() + keys.in_hand
    }
}
