//! The *low* time: everything that is still to be replayed has a later commit time.
//!
//! A log's anchors have times, and every record after an anchor is later. So what is left of a log is later
//! than the last anchor before its watermark. A batch ends with an anchor, so the schedule knows where the
//! batches begin and which anchor each of them comes after. The low time is the smallest of all logs.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::sync::{AtomicU64, Ordering};

/// What is known of the times of one log.
pub(super) struct LogTimes {
    /// Where batches begin, and the time of the last anchor before each.
    batches: Mutex<VecDeque<(u64, u64)>>,
    /// What is left is later than this.
    low: AtomicU64,
}

impl LogTimes {
    /// Of a log in which everything is later than a time.
    pub(super) fn later_than(time: u64) -> LogTimes {
        LogTimes { batches: Mutex::default(), low: AtomicU64::new(time) }
    }

    /// A batch begins here. Batches come in the order of the log.
    pub(super) fn note_batch(&self, start: u64, since: u64) {
        self.batches.lock().push_back((start, since));
    }

    /// Everything before the watermark has been replayed.
    pub(super) fn pass(&self, watermark: u64) {
        let mut batches = self.batches.lock();
        while batches.get(1).is_some_and(|(start, _)| *start <= watermark) {
            batches.pop_front();
        }
        if let Some((_, since)) = batches.front() {
            self.low.fetch_max(*since, Ordering::Relaxed);
        }
    }

    /// All of the log has been replayed.
    pub(super) fn end(&self) {
        self.low.store(u64::MAX, Ordering::Relaxed);
    }

    pub(super) fn low(&self) -> u64 {
        self.low.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::LogTimes;

    #[test]
    fn what_is_left_is_later_than_the_anchor_before_it() {
        let times = LogTimes::later_than(3);
        times.pass(8);
        assert_eq!(times.low(), 3);
        times.note_batch(0, 3);
        times.note_batch(100, 7);
        times.note_batch(200, 9);
        times.pass(90);
        assert_eq!(times.low(), 3);
        times.pass(100);
        assert_eq!(times.low(), 7);
        times.pass(190);
        assert_eq!(times.low(), 7, "a record of the second batch is left");
        times.pass(250);
        assert_eq!(times.low(), 9);
        times.end();
        assert_eq!(times.low(), u64::MAX);
    }
}
