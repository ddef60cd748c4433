//! Waiters ordered by the position they wait for.
//!
//! Generic over the waiter so that loom can check the handshake in the code that ships. `count` lets the
//! logger skip the mutex while there are no waiters. The fences order it against the position (invariant 2 of
//! `durable`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::sync::{AtomicUsize, Mutex, Ordering, fence};

struct Entry<W> {
    position: u64,
    waiter: W,
}

impl<W> PartialEq for Entry<W> {
    fn eq(&self, other: &Entry<W>) -> bool {
        self.position == other.position
    }
}

impl<W> Eq for Entry<W> {}

impl<W> PartialOrd for Entry<W> {
    fn partial_cmp(&self, other: &Entry<W>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<W> Ord for Entry<W> {
    fn cmp(&self, other: &Entry<W>) -> std::cmp::Ordering {
        self.position.cmp(&other.position)
    }
}

/// See the module documentation.
pub(super) struct WaitList<W> {
    count: AtomicUsize,
    heap: Mutex<BinaryHeap<Reverse<Entry<W>>>>,
}

impl<W> Default for WaitList<W> {
    fn default() -> WaitList<W> {
        WaitList { count: AtomicUsize::new(0), heap: Mutex::new(BinaryHeap::new()) }
    }
}

impl<W> WaitList<W> {
    /// Enters a waiter. Check the position again afterwards: it may have risen before this was visible.
    pub(super) fn insert(&self, position: u64, waiter: W) {
        let mut heap = self.heap.lock();
        heap.push(Reverse(Entry { position, waiter }));
        self.count.store(heap.len(), Ordering::Relaxed);
        drop(heap);
        fence(Ordering::SeqCst);
    }

    /// Whether there may be waiters. Call after the position has been raised.
    #[inline]
    pub(super) fn may_have_waiters(&self) -> bool {
        fence(Ordering::SeqCst);
        self.count.load(Ordering::Relaxed) != 0
    }

    /// Takes out all waiters for positions up to the current one.
    pub(super) fn take_up_to(&self, position: impl Fn() -> u64) -> Vec<W> {
        let mut taken = Vec::new();
        let mut heap = self.heap.lock();
        let position = position();
        while heap.peek().is_some_and(|Reverse(entry)| entry.position <= position) {
            if let Some(Reverse(entry)) = heap.pop() {
                taken.push(entry.waiter);
            }
        }
        self.count.store(heap.len(), Ordering::Relaxed);
        taken
    }

    pub(super) fn take_all(&self) -> Vec<W> {
        self.take_up_to(|| u64::MAX)
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::Arc;

    use super::WaitList;
    use crate::sync::{AtomicBool, AtomicU64, Ordering};

    /// A waiter that fires when dropped, as the real one does.
    struct Fires(Arc<AtomicBool>);

    impl Drop for Fires {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }

    #[test]
    fn loom_no_wake_up_is_lost() {
        loom::model(|| {
            let list: Arc<WaitList<Fires>> = Arc::new(WaitList::default());
            let durable = Arc::new(AtomicU64::new(0));
            let logger = loom::thread::spawn({
                let (list, durable) = (Arc::clone(&list), Arc::clone(&durable));
                move || {
                    for position in [8, 16] {
                        durable.store(position, Ordering::Release);
                        if list.may_have_waiters() {
                            drop(list.take_up_to(|| durable.load(Ordering::Acquire)));
                        }
                    }
                }
            });
            let fired = Arc::new(AtomicBool::new(false));
            list.insert(16, Fires(Arc::clone(&fired)));
            drop(list.take_up_to(|| durable.load(Ordering::Acquire)));
            logger.join().expect("the logger ends");
            assert!(fired.load(Ordering::Acquire), "the waiter was forgotten");
        });
    }

    #[test]
    fn loom_no_waiter_is_released_early() {
        loom::model(|| {
            let list: Arc<WaitList<Fires>> = Arc::new(WaitList::default());
            let durable = Arc::new(AtomicU64::new(0));
            let fired = Arc::new(AtomicBool::new(false));
            let waiter = loom::thread::spawn({
                let (list, durable, fired) = (Arc::clone(&list), Arc::clone(&durable), Arc::clone(&fired));
                move || {
                    list.insert(16, Fires(fired));
                    drop(list.take_up_to(|| durable.load(Ordering::Acquire)));
                }
            });
            durable.store(8, Ordering::Release);
            if list.may_have_waiters() {
                drop(list.take_up_to(|| durable.load(Ordering::Acquire)));
            }
            waiter.join().expect("the waiter returns");
            assert!(!fired.load(Ordering::Acquire));
        });
    }
}
