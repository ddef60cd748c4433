//! How other threads learn which workers are committing.
//!
//! Invariants:
//! 1. A transaction announces its commit before it asks whether it may go on (`txn::writes::capture`). The
//!    thread that has forbidden it looks at the announcements afterwards. So the transaction is seen, or sees
//!    that it may not.
//! 2. An announcement ends after the transaction's state is `COMMITTED`, or when it does not commit.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the worker of a history announces while it commits: it counts its commits, by an odd number while one
/// lasts.
#[derive(Default)]
pub(super) struct CommitSlot(AtomicU64);

impl CommitSlot {
    /// To be called by the worker.
    #[inline]
    pub(super) fn enter(&self) {
        let count = self.0.load(Ordering::Relaxed);
        debug_assert!(count.is_multiple_of(2), "one commit at a time");
        self.0.store(count + 1, Ordering::SeqCst);
    }

    /// The same, whether or not it has entered.
    #[inline]
    pub(super) fn leave(&self) {
        let count = self.0.load(Ordering::Relaxed);
        self.0.store(count.next_multiple_of(2), Ordering::Release);
    }

    /// The number of the commit that lasts.
    pub(super) fn entered(&self) -> Option<u64> {
        Some(self.0.load(Ordering::SeqCst)).filter(|count| !count.is_multiple_of(2))
    }
}
