//! How far one log's replay has come (one entry of the paper's RLV), and what waits for it.
//!
//! A log record whose pre-append LV is not covered is parked here, on *one* of the dimensions that block it,
//! keyed by the position it needs. When the watermark passes the position, the worker that raised it takes
//! the record out and looks at the other dimensions. So a blocked record costs a push and a pop for each
//! dimension that ever blocked it, and no pool is scanned (the paper, section 3.3, leaves this data structure
//! to future work).
//!
//! Invariants:
//! 1. The watermark only rises.
//! 2. Every record that is parked is returned exactly once: by [`Watermark::park`] if the watermark has
//!    passed meanwhile, else by the [`Watermark::raise`] that passes its position. No wake-up is lost: the
//!    parker announces its position, then reads the watermark; the raiser raises the watermark, then reads
//!    the announcement. A sequentially consistent fence stands between the two steps on either side (checked
//!    under loom).
//! 3. What was installed before the raise is visible to a worker that sees the raised watermark (release,
//!    acquire).

use std::cmp::Ordering as Order;
use std::collections::BinaryHeap;

use crate::sync::{AtomicU64, Mutex, Ordering, fence};

/// Nothing waits.
const NOBODY: u64 = u64::MAX;

struct Waiting<T> {
    until: u64,
    item: T,
}

/// Reversed, so that the heap's top waits for the smallest position.
impl<T> Ord for Waiting<T> {
    fn cmp(&self, other: &Waiting<T>) -> Order {
        other.until.cmp(&self.until)
    }
}

impl<T> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Waiting<T>) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Waiting<T> {
    fn eq(&self, other: &Waiting<T>) -> bool {
        self.until == other.until
    }
}

impl<T> Eq for Waiting<T> {}

pub(crate) struct Watermark<T> {
    position: AtomicU64,
    /// The smallest position that is waited for.
    first_waiting: AtomicU64,
    waiting: Mutex<BinaryHeap<Waiting<T>>>,
}

impl<T> Watermark<T> {
    pub(crate) fn new() -> Watermark<T> {
        Watermark {
            position: AtomicU64::new(0),
            first_waiting: AtomicU64::new(NOBODY),
            waiting: Mutex::new(BinaryHeap::new()),
        }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position.load(Ordering::Acquire)
    }

    /// Keeps the item until the watermark reaches `until`; returns it if that has happened already.
    pub(crate) fn park(&self, until: u64, item: T) -> Option<T> {
        let mut waiting = self.waiting.lock();
        if until < self.first_waiting.load(Ordering::Relaxed) {
            self.first_waiting.store(until, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
        if self.position() < until {
            waiting.push(Waiting { until, item });
            return None;
        }
        let first = waiting.peek().map_or(NOBODY, |first| first.until);
        self.first_waiting.store(first, Ordering::Relaxed);
        Some(item)
    }

    /// Raises the watermark (never lowers it) and adds to `woken` all items that waited for no more than
    /// that.
    pub(crate) fn raise(&self, to: u64, woken: &mut Vec<T>) {
        let before = self.position.fetch_max(to, Ordering::AcqRel);
        if before >= to {
            return;
        }
        fence(Ordering::SeqCst);
        if self.first_waiting.load(Ordering::Relaxed) > to {
            return;
        }
        let mut waiting = self.waiting.lock();
        let position = self.position();
        while let Some(first) = waiting.peek() {
            if first.until > position {
                break;
            }
            woken.extend(waiting.pop().map(|waiting| waiting.item));
        }
        let first = waiting.peek().map_or(NOBODY, |first| first.until);
        self.first_waiting.store(first, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Watermark;

    #[test]
    fn the_smallest_positions_wake_first_and_once() {
        let watermark = Watermark::new();
        assert_eq!(watermark.park(16, "b"), None);
        assert_eq!(watermark.park(8, "a"), None);
        assert_eq!(watermark.park(24, "c"), None);
        let mut woken = Vec::new();
        watermark.raise(7, &mut woken);
        assert!(woken.is_empty());
        watermark.raise(16, &mut woken);
        assert_eq!(woken, ["a", "b"]);
        watermark.raise(8, &mut woken);
        assert_eq!(watermark.position(), 16);
        assert_eq!(watermark.park(16, "d"), Some("d"));
        watermark.raise(100, &mut woken);
        assert_eq!(woken, ["a", "b", "c"]);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::Watermark;
    use crate::sync::Arc;

    #[test]
    fn loom_a_parked_record_is_returned_exactly_once() {
        loom::model(|| {
            let watermark = Arc::new(Watermark::new());
            let raisers: Vec<_> = [8, 16]
                .into_iter()
                .map(|to| {
                    let watermark = Arc::clone(&watermark);
                    loom::thread::spawn(move || {
                        let mut woken = Vec::new();
                        watermark.raise(to, &mut woken);
                        woken
                    })
                })
                .collect();
            let mut returned: Vec<u32> = watermark.park(8, 1).into_iter().collect();
            returned.extend(watermark.park(16, 2));
            for raiser in raisers {
                returned.extend(raiser.join().unwrap());
            }
            returned.sort_unstable();
            assert_eq!(returned, [1, 2]);
            assert_eq!(watermark.position(), 16);
        });
    }

    #[test]
    fn loom_what_was_installed_before_the_raise_is_seen_after_it() {
        use crate::sync::{AtomicU64, Ordering};
        loom::model(|| {
            let watermark = Arc::new(Watermark::<u32>::new());
            let row = Arc::new(AtomicU64::new(0));
            let other = {
                let (watermark, row) = (Arc::clone(&watermark), Arc::clone(&row));
                loom::thread::spawn(move || {
                    row.store(7, Ordering::Relaxed);
                    watermark.raise(8, &mut Vec::new());
                })
            };
            if watermark.position() >= 8 {
                assert_eq!(row.load(Ordering::Relaxed), 7);
            }
            other.join().unwrap();
        });
    }
}
