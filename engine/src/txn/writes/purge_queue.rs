//! What is left to `purge`: keys that may have a record without a row, and states that tables had.

use std::collections::VecDeque;
use std::sync::Arc;
use std::vec;

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

    /// Whether it is this key of the primary index.
    pub(super) fn is_row(&self, table: &Arc<Table>, key: &[u8]) -> bool {
        self.index.is_none() && *self.key == *key && Arc::ptr_eq(&self.table, table)
    }
}

/// As many keys of one transaction as are worth moving; more are taken over as they are, so that its end does
/// not hold the mutex for as long as it takes to move them.
const FEW_KEYS: usize = 1 << 10;

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
    /// The keys of transactions that have left many.
    taken_over: Vec<vec::IntoIter<Purgeable>>,
    /// How many are being tried.
    in_hand: usize,
}

impl Keys {
    fn push_all(&mut self, keys: &mut Vec<Purgeable>) {
        match keys.len() {
            ..=FEW_KEYS => self.waiting.extend(keys.drain(..)),
            _ => self.taken_over.push(std::mem::take(keys).into_iter()),
        }
    }

    fn take(&mut self, most: usize) -> Vec<Purgeable> {
        let few = self.waiting.len().min(most);
        let mut keys: Vec<Purgeable> = self.waiting.drain(..few).collect();
        while keys.len() < most
            && let Some(many) = self.taken_over.last_mut()
        {
            keys.extend(many.take(most - keys.len()));
            if many.len() == 0 {
                self.taken_over.pop();
            }
        }
        keys
    }

    fn len(&self) -> usize {
        let many: usize = self.taken_over.iter().map(ExactSizeIterator::len).sum();
        self.waiting.len() + many + self.in_hand
    }
}

impl Queue {
    pub(super) fn push_all(&self, keys: &mut Vec<Purgeable>) {
        if !keys.is_empty() {
            self.keys.lock().push_all(keys);
        }
    }

    /// A table no longer has this state. It is freed when it is no longer used.
    pub(super) fn discard(&self, table: &Table, state: Arc<TableState>) {
        state.give_up_charge(table.state(&epoch::pin()));
        self.states.lock().push(state);
        // The table's own reference waits in this thread's garbage.
        epoch::pin().flush();
    }

    /// The table is gone, and what still refers to it (a cached plan) needs no rows. No account is charged
    /// for them any more. The caller holds the write lock of the table.
    pub(super) fn discard_rows(&self, table: &Table) {
        let guard = epoch::pin();
        let empty = Arc::new(TableState::new(Arc::clone(table.state(&guard).definition())));
        let old = table.replace_state(empty, &guard);
        drop(guard);
        self.discard(table, old);
    }

    pub(super) fn take(&self, most: usize) -> Vec<Purgeable> {
        let mut keys = self.keys.lock();
        let taken = keys.take(most);
        keys.in_hand = taken.len();
        taken
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
        self.keys.lock().len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
