//! Whether parallel replay is worth it: when to fall back to one worker (Taurus, section 3.5).
//!
//! When nearly every record depends on one in another log that is not replayed yet, there is less parallelism
//! than there are workers. The workers then copy records out, park them, wake each other, and fetch each
//! other's cache lines. A single worker that goes from log to log (`serial`) does none of that. The order is
//! the same.
//!
//! **When.** Blocked records among all records passed are counted in windows of [`WINDOW`]. A window with
//! [`HIGH_PERCENT`] per cent of them or more means high contention, and the rest of the incarnation is
//! replayed serially. One log ahead of the others is not contention: its records wait for an anchor, in a
//! held batch, and are not counted. The decision is made once, because the workers that have left would have
//! to be brought back on a guess.
//!
//! [`RecoveryMode`] chooses: as counted, never, or always.

use crate::config::RecoveryMode;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// Records between two checks: enough that a burst of conflicts does not decide.
const WINDOW: u64 = 32 << 10;
/// From here on one worker is not slower than two (`cargo run --release -p hyades-engine --example
/// replay_speed`).
const HIGH_PERCENT: u64 = 75;

pub(super) struct Contention {
    mode: RecoveryMode,
    passed: AtomicU64,
    blocked: AtomicU64,
    is_high: AtomicBool,
}

impl Contention {
    pub(super) fn new(mode: RecoveryMode) -> Contention {
        Contention {
            mode,
            passed: AtomicU64::new(0),
            blocked: AtomicU64::new(0),
            is_high: AtomicBool::new(false),
        }
    }

    /// Whether one worker is enough from here on.
    pub(super) fn is_high(&self) -> bool {
        self.is_high.load(Ordering::Relaxed)
    }

    /// Counts the records that a worker has passed, and those of them that were blocked. True if that made
    /// the contention high.
    pub(super) fn count(&self, passed: usize, blocked: usize) -> bool {
        if self.mode != RecoveryMode::Auto {
            return false;
        }
        self.blocked.fetch_add(blocked as u64, Ordering::Relaxed);
        let all = self.passed.fetch_add(passed as u64, Ordering::Relaxed) + passed as u64;
        if all < WINDOW || self.passed.compare_exchange(all, 0, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return false;
        }
        let blocked = self.blocked.swap(0, Ordering::Relaxed);
        let is_high = blocked * 100 >= all * HIGH_PERCENT;
        is_high && !self.is_high.swap(true, Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Contention, WINDOW};
    use crate::config::RecoveryMode;

    #[test]
    fn a_window_of_blocked_records_is_high_contention() {
        let window = WINDOW as usize;
        let contention = Contention::new(RecoveryMode::Auto);
        assert!(!contention.count(window - 1, window - 1), "the window is not full");
        assert!(contention.count(1, 1) && contention.is_high());
        assert!(!contention.count(window, window), "once is enough");
        let contention = Contention::new(RecoveryMode::Auto);
        assert!(!contention.count(window, window / 2) && !contention.count(window, window / 2));
        let contention = Contention::new(RecoveryMode::Parallel);
        assert!(!contention.count(window, window) && !contention.is_high());
    }
}
