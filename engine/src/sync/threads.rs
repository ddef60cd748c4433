//! Threads and how they wait: the operating system's, or a conductor's.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex as Lock, MutexGuard as LockGuard};

use crate::conductor::{self, Conductor};
use std::sync::Arc;

/// A thread that can be woken.
#[derive(Clone)]
pub(crate) enum Thread {
    Real(thread::Thread),
    Conducted(Arc<dyn Conductor>, u64),
}

impl Thread {
    pub(crate) fn unpark(&self) {
        match self {
            Thread::Real(thread) => thread.unpark(),
            Thread::Conducted(conductor, number) => conductor.unpark(*number),
        }
    }
}

/// The calling thread.
pub(crate) fn current() -> Thread {
    match conductor::of_this_thread() {
        None => Thread::Real(thread::current()),
        Some(conductor) => {
            let number = conductor.current();
            Thread::Conducted(conductor, number)
        }
    }
}

pub(crate) fn park() {
    match conductor::of_this_thread() {
        None => thread::park(),
        Some(conductor) => conductor.park(None),
    }
}

pub(crate) fn park_timeout(limit: Duration) {
    match conductor::of_this_thread() {
        None => thread::park_timeout(limit),
        Some(conductor) => conductor.park(Some(limit)),
    }
}

pub(crate) fn sleep(time: Duration) {
    match conductor::of_this_thread() {
        None => thread::sleep(time),
        Some(conductor) => {
            let until = conductor.elapsed() + time;
            while let Some(rest) = until.checked_sub(conductor.elapsed()).filter(|rest| !rest.is_zero()) {
                conductor.park(Some(rest));
            }
        }
    }
}

pub(crate) fn yield_now() {
    match conductor::of_this_thread() {
        None => thread::yield_now(),
        Some(conductor) => conductor.give_way(),
    }
}

/// Whether it is worthwhile to retry for a moment, because other threads run at the same time.
pub(crate) fn others_run() -> bool {
    conductor::of_this_thread().is_none()
}

/// A thread that can be joined.
pub(crate) enum JoinHandle {
    Real(thread::JoinHandle<()>),
    Conducted(Arc<dyn Conductor>, u64),
}

impl JoinHandle {
    /// Waits for its end. An error if it panicked.
    pub(crate) fn join(self) -> Result<(), Panicked> {
        let is_well = match self {
            JoinHandle::Real(thread) => thread.join().is_ok(),
            JoinHandle::Conducted(conductor, number) => conductor.join(number),
        };
        if is_well { Ok(()) } else { Err(Panicked) }
    }

    pub(crate) fn thread(&self) -> Thread {
        match self {
            JoinHandle::Real(handle) => Thread::Real(handle.thread().clone()),
            JoinHandle::Conducted(conductor, number) => Thread::Conducted(Arc::clone(conductor), *number),
        }
    }
}

/// The error of joining a thread that panicked.
#[derive(Debug)]
pub(crate) struct Panicked;

/// Starts a named thread.
pub(crate) fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle> {
    match conductor::of_this_thread() {
        None => thread::Builder::new().name(name).spawn(run).map(JoinHandle::Real),
        Some(conductor) => {
            let number = conductor.spawn(name, Box::new(run));
            Ok(JoinHandle::Conducted(conductor, number))
        }
    }
}

/// A lock whose owner may wait for a disk while holding it.
#[derive(Debug, Default)]
pub(crate) struct LongLock<T>(Lock<T>);

impl<T> LongLock<T> {
    pub(crate) const fn new(value: T) -> LongLock<T> {
        LongLock(Lock::new(value))
    }

    pub(crate) fn lock(&self) -> LockGuard<'_, T> {
        loop {
            if let Some(guard) = self.0.try_lock() {
                return guard;
            }
            match conductor::of_this_thread() {
                None => return self.0.lock(),
                Some(conductor) => conductor.give_way(),
            }
        }
    }

    pub(crate) fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        self.0.try_lock()
    }
}

/// The part of `parking_lot::Condvar` that is needed.
#[derive(Default)]
pub(crate) struct Condvar {
    real: parking_lot::Condvar,
    /// Waiting threads of a conductor, oldest first.
    conducted: Lock<Vec<(u64, Thread)>>,
    next: std::sync::atomic::AtomicU64,
}

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar::default()
    }

    pub(crate) fn notify_one(&self) {
        self.real.notify_one();
        let mut waiting = self.conducted.lock();
        if !waiting.is_empty() {
            waiting.remove(0).1.unpark();
        }
    }

    pub(crate) fn notify_all(&self) {
        self.real.notify_all();
        for (_, thread) in self.conducted.lock().drain(..) {
            thread.unpark();
        }
    }

    pub(crate) fn wait<T>(&self, guard: &mut LockGuard<'_, T>) {
        match conductor::of_this_thread() {
            None => self.real.wait(guard),
            Some(_) => {
                self.wait_conducted(guard, None);
            }
        }
    }

    /// False if there was no notification by then.
    pub(crate) fn wait_until<T>(&self, guard: &mut LockGuard<'_, T>, until: Instant) -> bool {
        match conductor::of_this_thread() {
            None => !self.real.wait_until(guard, until).timed_out(),
            Some(_) => self.wait_conducted(guard, Some(until)),
        }
    }

    fn wait_conducted<T>(&self, guard: &mut LockGuard<'_, T>, until: Option<Instant>) -> bool {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.conducted.lock().push((number, current()));
        let is_waiting = || self.conducted.lock().iter().any(|(waiting, _)| *waiting == number);
        LockGuard::unlocked(guard, || {
            while is_waiting() {
                match until.map(|until| until.saturating_duration_since(super::now())) {
                    Some(Duration::ZERO) => break,
                    limit => limit.map_or_else(park, park_timeout),
                }
            }
        });
        let mut waiting = self.conducted.lock();
        let before = waiting.len();
        waiting.retain(|(waiting, _)| *waiting != number);
        waiting.len() == before
    }
}
