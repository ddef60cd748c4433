//! A model of logs with LSN vectors, for tests of the lock table with the traces that Taurus leaves.
//!
//! A place is reserved by one atomic add and counts as filled and durable at once; [`ModelLogs::raise_floor`]
//! is a logger that raises the floor to what is durable. So entries of the lock table are evicted and
//! defaulted wherever that may happen. A record that depends on something that had not been reserved before
//! it is refused (pitfall 2).
//!
//! A handle is the vector itself: there are few logs, and they are short.

use std::sync::atomic::{AtomicU64 as Word, Ordering::Relaxed};

use super::Trail;
use crate::lsn::{Lsn, LsnVector};
use crate::storage::history::{Forgettable, Handle};
use crate::sync::{AtomicU64, Ordering};

pub(super) const LOGS: usize = 3;
const RECORD: u64 = 8;
/// Bits of a handle that one entry of a vector takes.
const ENTRY_BITS: usize = 16;

/// Only what the lock table needs.
#[derive(Default)]
pub(super) struct ModelLogs {
    reserved: [AtomicU64; LOGS],
    floor: [AtomicU64; LOGS],
}

impl ModelLogs {
    /// The logger: what is reserved is durable, and an anchor says so.
    pub(super) fn raise_floor(&self) {
        for (floor, reserved) in self.floor.iter().zip(&self.reserved) {
            floor.fetch_max(reserved.load(Ordering::Acquire), Ordering::AcqRel);
        }
    }

    /// Appends a record to `log`. Returns what it leaves.
    pub(super) fn commit(&self, log: usize, vector: &mut LsnVector) -> LsnVector {
        for (of, floor) in self.floor.iter().enumerate() {
            vector.raise_entry(of, Lsn(floor.load(Ordering::Acquire)));
        }
        for (of, reserved) in self.reserved.iter().enumerate() {
            assert!(vector.get(of).0 <= reserved.load(Ordering::Acquire), "it depends on what comes later");
        }
        let mut token = vector.clone();
        token.raise_entry(log, Lsn(self.reserved[log].fetch_add(RECORD, Ordering::AcqRel) + RECORD));
        token
    }
}

impl Forgettable for ModelLogs {
    fn is_forgettable(&self, mark: &[Word]) -> bool {
        mark.iter().zip(&self.floor).all(|(word, floor)| word.load(Relaxed) <= floor.load(Ordering::Acquire))
    }
}

impl Trail for ModelLogs {
    type Dependencies = LsnVector;
    const IS_EMPTY: bool = false;

    fn mark<R>(&self, handle: Handle, show: impl FnOnce(&[Word]) -> R) -> Option<R> {
        let entry = |log| handle.0 >> (ENTRY_BITS * log) & ((1 << ENTRY_BITS) - 1);
        Some(show(&std::array::from_fn::<_, LOGS, _>(|log| Word::new(entry(log)))))
    }

    fn follow(&self, mark: &[Word], vector: &mut LsnVector) {
        for (log, word) in mark.iter().enumerate() {
            vector.raise_entry(log, Lsn(word.load(Relaxed)));
        }
    }

    fn follow_all(&self, vector: &mut LsnVector) {
        for (log, reserved) in self.reserved.iter().enumerate() {
            vector.raise_entry(log, Lsn(reserved.load(Ordering::Acquire)));
        }
    }
}

/// The handle that a transaction with this token leaves.
pub(super) fn handle(token: &LsnVector) -> Handle {
    let entries = (0..LOGS).rev().map(|log| token.get(log).0);
    Handle(entries.fold(0, |handle, entry| handle << ENTRY_BITS | entry))
}
