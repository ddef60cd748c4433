//! The clock of commits: one number, which orders all transactions of a running database.
//!
//! A transaction draws its commit time while it holds all its locks, and what it has read without one it
//! looks at again at that time. So times are a serial order. They count commits, from the start of the
//! database on.
//!
//! Invariant: a time that is drawn later than another one, or than a look at the clock, is greater.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

/// See the module head. Shared by the histories, which draw from it, and the logs, which look at it.
#[derive(Clone, Debug)]
pub struct CommitClock(Arc<CachePadded<AtomicU64>>);

impl Default for CommitClock {
    fn default() -> CommitClock {
        CommitClock::new()
    }
}

impl CommitClock {
    pub fn new() -> CommitClock {
        CommitClock(Arc::new(CachePadded::new(AtomicU64::new(1))))
    }

    /// The time that was drawn last.
    #[inline]
    pub fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Times up to this one have passed.
    pub fn raise(&self, time: u64) {
        self.0.fetch_max(time, Ordering::AcqRel);
    }

    #[inline]
    pub fn draw(&self) -> u64 {
        self.0.fetch_add(1, Ordering::AcqRel) + 1
    }
}
