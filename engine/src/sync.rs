//! The seam for threads, clocks and atomics: the standard library, or loom's models of them under `--cfg loom`.
//!
//! What the model checker must see imports its primitives from here. Clocks and thread spawning of the log go through
//! here too, so that one place decides them.

#[cfg(not(loom))]
mod imp {
    pub(crate) use parking_lot::Mutex;
    pub(crate) use std::cell::UnsafeCell;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use std::thread::{Thread, current, park};
}

#[cfg(loom)]
mod imp {
    pub(crate) use loom::cell::UnsafeCell;
    #[cfg(test)]
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use loom::thread::{Thread, current, park};

    /// loom's mutex with parking_lot's interface: no poisoning.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            match self.0.lock() {
                Ok(guard) => guard,
                Err(poisoned) => poisoned.into_inner(),
            }
        }
    }
}

pub(crate) use imp::*;

use std::io;
use std::thread::JoinHandle;
use std::time::Instant;

/// Starts a named thread.
pub(crate) fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(run)
}

/// The monotonic clock.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Lets one thread sleep while it has nothing to do, and others wake it at the price of one fence while it works.
///
/// The sleeper announces that it is about to sleep, then looks for work once more; whoever makes work looks for the
/// announcement afterwards. With a full fence between the two steps on either side at least one sees the other.
#[derive(Default)]
pub(crate) struct Bell {
    asleep: AtomicBool,
    sleeper: Mutex<Option<Thread>>,
}

impl Bell {
    /// Wakes the sleeper, if it sleeps. Call after the work is visible.
    #[inline]
    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if self.asleep.swap(false, Ordering::AcqRel)
            && let Some(thread) = self.sleeper.lock().as_ref()
        {
            thread.unpark();
        }
    }

    /// Sleeps until the bell rings, unless there is work. Only one thread may ever call this.
    pub(crate) fn sleep_unless(&self, has_work: impl Fn() -> bool) {
        {
            let mut sleeper = self.sleeper.lock();
            if sleeper.is_none() {
                *sleeper = Some(current());
            }
        }
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if has_work() {
            self.asleep.store(false, Ordering::Relaxed);
            return;
        }
        while self.asleep.load(Ordering::Acquire) {
            park();
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::{Arc, AtomicBool, Bell, Ordering};

    #[test]
    fn loom_a_bell_never_sleeps_through_work() {
        loom::model(|| {
            let bell = Arc::new(Bell::default());
            let work = Arc::new(AtomicBool::new(false));
            let worker = loom::thread::spawn({
                let (bell, work) = (Arc::clone(&bell), Arc::clone(&work));
                move || {
                    work.store(true, Ordering::Release);
                    bell.ring();
                }
            });
            while !work.load(Ordering::Acquire) {
                bell.sleep_unless(|| work.load(Ordering::Acquire));
            }
            worker.join().expect("the worker ends");
        });
    }
}
