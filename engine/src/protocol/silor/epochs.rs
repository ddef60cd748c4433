//! Epochs: who is inside which one, which are closed, which are durable, and the thread that ends them.
//!
//! ```text
//!   current:   e              e + 1 ---------------->
//!   inside e:  |--- places are reserved ---|
//!                                          closed: e --milestone in each log--> durable: e
//! ```
//!
//! A worker that enters counts itself in the epoch that it has read, then looks whether that is still the
//! current one. The thread that ends the epoch raises the current one, then looks whether a worker is
//! counted. A full fence lies between the two steps of each, so one of them sees the other (checked by loom).

use std::sync::Arc;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use hyades_types::error::{Error, Result};

use crate::log::{Logs, Stamps};
use crate::sync::{AtomicBool, AtomicU64, Bell, JoinHandle, LongLock, Ordering, fence};

/// Workers with different numbers below this do not contend when they enter an epoch.
const PLACES: usize = 64;

/// See the module head.
pub(super) struct Epochs {
    entrance: Entrance,
    /// The largest that is closed.
    closed: CachePadded<AtomicU64>,
    /// The last one in which a record has a place.
    used: CachePadded<AtomicU64>,
    bell: Bell,
}

/// Who is inside the current epoch, or the one before.
struct Entrance {
    current: CachePadded<AtomicU64>,
    /// How many are inside, by worker, of an even epoch and of an odd one.
    inside: Box<[CachePadded<[AtomicU64; 2]>]>,
}

impl Entrance {
    fn new(places: usize) -> Entrance {
        Entrance {
            current: CachePadded::new(AtomicU64::new(1)),
            inside: (0..places).map(|_| CachePadded::new([AtomicU64::new(0), AtomicU64::new(0)])).collect(),
        }
    }

    fn count(&self, place: usize, epoch: u64) -> &AtomicU64 {
        &self.inside[place % self.inside.len()][epoch as usize % 2]
    }

    fn enter(&self, place: usize) -> u64 {
        loop {
            let epoch = self.current.load(Ordering::Acquire);
            self.count(place, epoch).fetch_add(1, Ordering::AcqRel);
            fence(Ordering::SeqCst);
            if self.current.load(Ordering::Acquire) == epoch {
                return epoch;
            }
            self.leave(place, epoch);
        }
    }

    fn leave(&self, place: usize, epoch: u64) {
        self.count(place, epoch).fetch_sub(1, Ordering::Release);
    }

    /// Begins the next epoch. Returns the one before.
    fn begin_next(&self) -> u64 {
        let epoch = self.current.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        epoch
    }

    /// Whether no worker is inside this epoch, which is no longer the current one.
    fn is_left(&self, epoch: u64) -> bool {
        (0..self.inside.len()).all(|place| self.count(place, epoch).load(Ordering::Acquire) == 0)
    }
}

/// While it lives, its epoch is not closed.
pub(super) struct Inside<'e> {
    epochs: &'e Epochs,
    place: usize,
    epoch: u64,
}

impl Inside<'_> {
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// A record has got its place in the epoch, which will be closed.
    pub(super) fn note_place(&self) {
        let Epochs { used, bell, .. } = self.epochs;
        if used.load(Ordering::Relaxed) < self.epoch {
            used.fetch_max(self.epoch, Ordering::AcqRel);
            bell.ring();
        }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.epochs.entrance.leave(self.place, self.epoch);
    }
}

impl Epochs {
    /// The first one is 1.
    pub(super) fn new() -> Epochs {
        Epochs {
            entrance: Entrance::new(PLACES),
            closed: CachePadded::default(),
            used: CachePadded::default(),
            bell: Bell::default(),
        }
    }

    /// Enters the current epoch.
    #[inline]
    pub(super) fn enter(&self, worker: usize) -> Inside<'_> {
        Inside { epochs: self, place: worker, epoch: self.entrance.enter(worker) }
    }

    /// The largest epoch that is closed: all of its records, and of those before, have their places.
    #[inline]
    pub(super) fn closed(&self) -> u64 {
        self.closed.load(Ordering::Acquire)
    }

    /// The last epoch in which a record has a place.
    pub(super) fn last_used(&self) -> u64 {
        self.used.load(Ordering::Acquire)
    }

    /// Ends the current epoch, and waits until it is closed.
    fn end(&self) {
        let epoch = self.entrance.begin_next();
        while !self.entrance.is_left(epoch) {
            crate::sync::yield_now();
        }
        self.closed.store(epoch, Ordering::Release);
    }

    /// Whether a record has a place in the current epoch.
    pub(super) fn is_used(&self) -> bool {
        self.last_used() >= self.entrance.current.load(Ordering::Relaxed)
    }
}

impl Stamps for Epochs {
    fn newest(&self) -> u64 {
        self.last_used()
    }

    fn comes_with_blocks(&self) -> bool {
        false
    }
}

/// The thread that ends the epochs.
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: LongLock<Option<JoinHandle>>,
}

struct Shared {
    epochs: Arc<Epochs>,
    logs: Arc<Logs>,
    is_stopping: AtomicBool,
}

impl Ticker {
    pub(super) fn start(epoch_time: Duration, epochs: &Arc<Epochs>, logs: &Arc<Logs>) -> Result<Ticker> {
        let is_stopping = AtomicBool::new(false);
        let shared = Arc::new(Shared { epochs: Arc::clone(epochs), logs: Arc::clone(logs), is_stopping });
        let working = Arc::clone(&shared);
        let thread = crate::sync::spawn("log-epochs".to_owned(), move || working.run(epoch_time))
            .map_err(|error| Error::io("could not start the thread that ends epochs", &error))?;
        Ok(Ticker { shared, thread: LongLock::new(Some(thread)) })
    }

    /// Ends the current epoch if anything is in it, and the thread.
    pub(super) fn stop(&self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        self.shared.epochs.bell.ring_urgently();
        if let Some(thread) = self.thread.lock().take() {
            // If it has panicked, nothing was acknowledged since then, and nothing will be.
            let _ = thread.join();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self, epoch_time: Duration) {
        let epochs = &self.epochs;
        let is_ending = || self.is_stopping.load(Ordering::SeqCst) || self.logs.watch().failure().is_some();
        loop {
            epochs.bell.sleep_unless(|| epochs.is_used() || is_ending());
            let is_last = is_ending();
            if epochs.is_used() {
                epochs.bell.doze_unless(epoch_time, is_ending);
                epochs.end();
                (0..self.logs.count()).for_each(|log| self.logs.ring_urgently(log));
            }
            if is_last {
                return;
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::Entrance;
    use crate::sync::{Arc, AtomicU64, Ordering};

    /// Two workers get places while epochs end: once an epoch is closed, all places of it are known.
    #[test]
    fn loom_a_closed_epoch_has_all_its_places() {
        loom::model(|| {
            let entrance = Arc::new(Entrance::new(1));
            // One bit for each epoch in which a place was reserved.
            let places = Arc::new(AtomicU64::new(0));
            let workers: Vec<_> = (0..2)
                .map(|_| {
                    let (entrance, places) = (Arc::clone(&entrance), Arc::clone(&places));
                    loom::thread::spawn(move || {
                        let epoch = entrance.enter(0);
                        let before = places.fetch_or(1 << epoch, Ordering::Relaxed);
                        assert_eq!(before >> (8 + epoch) & 1, 0, "epoch {epoch} was closed");
                        entrance.leave(0, epoch);
                    })
                })
                .collect();
            for _ in 0..2 {
                let epoch = entrance.begin_next();
                if !entrance.is_left(epoch) {
                    break;
                }
                places.fetch_or(1 << (8 + epoch), Ordering::Relaxed);
            }
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
    }
}
