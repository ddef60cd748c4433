//! A counter that many threads change and few read.
//!
//! Each thread adds to a cache line of its own (if there are more threads than cells, they share). A read
//! sums the cells, and is exact when no thread is adding.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

const SHARDS: usize = 16;

/// See the module head.
#[derive(Debug, Default)]
pub(super) struct RowCount([CachePadded<AtomicI64>; SHARDS]);

thread_local! {
    static SHARD: Cell<usize> = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Cell::new(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS)
    };
}

impl RowCount {
    pub(super) fn add(&self, rows: i64) {
        self.0[SHARD.get()].fetch_add(rows, Ordering::Relaxed);
    }

    pub(super) fn sum(&self) -> u64 {
        let sum: i64 = self.0.iter().map(|shard| shard.load(Ordering::Relaxed)).sum();
        // Readers may see a removal before the addition it follows.
        sum.max(0).unsigned_abs()
    }
}
