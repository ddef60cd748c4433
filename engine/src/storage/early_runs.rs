//! Ranges of keys of a table that are in use while others are still being loaded.
//!
//! A restart loads a table range by range, and its index is built when all of them are there (`bulk_load`). A
//! range that a session wants before is published here: keys are looked up in its run, in the very leaves
//! that the index takes over later. Only rows that are there can be found and written. No transaction
//! inserts, scans or removes a key before the table is open (`txn::restart_gate`).
//!
//! ```text
//!   lookup: the index, which has no such key --> is anything published? --no--> there is no such key
//!                                                    |
//!                                                    +--yes--> the run that may have it, or the index again
//! ```
//!
//! **Handing over.** The index adopts the runs while no thread looks here. A thread that has not found its
//! key in the index before, comes here after: it finds nothing published any more, and asks the index again.
//! Threads that come as long as that is possible, those that were pinned before, are told to look here.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_epoch::Guard;
use parking_lot::RwLock;

use super::key_run::KeyRun;
use super::record::Record;

type Published = BTreeMap<Box<[u8]>, (usize, KeyRun)>;

/// Of one index; see the module head.
#[derive(Default)]
pub(super) struct EarlyRuns {
    /// Whether threads that find no record have to look here.
    is_consulted: Arc<AtomicBool>,
    /// By the beginnings of their ranges, each with its range's number. `None` if nothing is published.
    runs: RwLock<Option<Published>>,
}

/// What was found of a key.
pub(super) enum Early<'g> {
    Found(Option<&'g Record>),
    /// The index has it, if it is there.
    HandedOver,
}

impl EarlyRuns {
    #[inline]
    pub(super) fn is_consulted(&self) -> bool {
        self.is_consulted.load(Ordering::Acquire)
    }

    /// Publishes the keys of a range, which begins here.
    pub(super) fn publish(&self, range: usize, from: &[u8], run: KeyRun) {
        let mut runs = self.runs.write();
        self.is_consulted.store(true, Ordering::Release);
        runs.get_or_insert_default().insert(from.into(), (range, run));
    }

    /// The record under a key.
    pub(super) fn find<'g>(&'g self, key: &[u8], guard: &'g Guard) -> Early<'g> {
        let runs = self.runs.read();
        let Some(runs) = &*runs else { return Early::HandedOver };
        let run = runs.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
        Early::Found(run.and_then(|(_, (_, run))| run.find(key, guard)))
    }

    /// Takes back what was published and gives it to `adopt`, while no thread looks for anything.
    pub(super) fn hand_over<T>(&self, adopt: impl FnOnce(Vec<(usize, KeyRun)>) -> T, guard: &Guard) -> T {
        let mut runs = self.runs.write();
        let taken = runs.take().unwrap_or_default();
        let was_any = !taken.is_empty();
        let done = adopt(taken.into_values().collect());
        drop(runs);
        if was_any {
            let is_consulted = Arc::clone(&self.is_consulted);
            guard.defer(move || is_consulted.store(false, Ordering::Release));
        }
        done
    }
}
