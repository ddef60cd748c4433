//! The interface to threads, clocks, chance and atomics: the standard library, a simulation's conductor
//! (`crate::conductor`), or loom's models under `--cfg loom`.
//!
//! Code that the model checker must see imports its primitives from here. Clocks and thread spawning of the
//! log go through here too, so that one place decides them.

#[cfg(not(loom))]
mod imp {
    pub(crate) use super::threads::{Thread, current, park, park_timeout};
    pub(crate) use parking_lot::{Mutex, MutexGuard};
    pub(crate) use std::cell::UnsafeCell;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering, fence};
}

#[cfg(loom)]
mod imp {
    pub(crate) use loom::cell::UnsafeCell;
    #[cfg(test)]
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use loom::thread::{Thread, current, park};

    /// Time never passes in a model, so a model finds code that sleeps for ever unless a timeout wakes it.
    pub(crate) fn park_timeout(_limit: std::time::Duration) {
        park();
    }

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

        #[cfg(test)]
        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}

pub(crate) mod threads;

pub(crate) use imp::*;
pub(crate) use threads::{Condvar, JoinHandle, LongLock, sleep, spawn, yield_now};

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::conductor;

/// While it lives, the calling thread gets the processor time that others leave, but at least a tenth of one
/// processor.
pub(crate) struct Priority {
    is_lowered: bool,
}

/// Has a tenth of the weight of an ordinary thread.
const LOWERED: i32 = 10;

impl Priority {
    /// Lowers it, or not. The operating system may refuse to raise it again. Then it stays lowered.
    pub(crate) fn lowered(is_lowered: bool) -> Priority {
        let was_set = set_priority(if is_lowered { LOWERED } else { 0 });
        Priority { is_lowered: is_lowered && was_set }
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        if self.is_lowered {
            set_priority(0);
        }
    }
}

fn set_priority(nice: i32) -> bool {
    // In Linux a thread counts as a process in this respect.
    rustix::process::setpriority_process(Some(rustix::thread::gettid()), nice).is_ok()
}

/// The monotonic clock.
pub(crate) fn now() -> Instant {
    /// A conductor's time begins here.
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    match conductor::of_this_thread() {
        None => Instant::now(),
        Some(conductor) => *BEGIN.get_or_init(Instant::now) + conductor.elapsed(),
    }
}

/// The seconds since then.
pub(crate) fn seconds_since(begun: Instant) -> f64 {
    now().duration_since(begun).as_secs_f64()
}

/// The processor time that the calling thread has taken.
pub(crate) fn thread_time() -> Duration {
    processor_time(ClockId::ThreadCPUTime)
}

/// The processor time that all threads of this process have taken.
pub(crate) fn process_time() -> Duration {
    processor_time(ClockId::ProcessCPUTime)
}

fn processor_time(clock: ClockId) -> Duration {
    let taken = clock_gettime(clock);
    Duration::new(taken.tv_sec.unsigned_abs(), taken.tv_nsec.unsigned_abs() as u32)
}

/// Unpredictable bytes.
pub(crate) fn random_bytes() -> [u8; 16] {
    match conductor::of_this_thread() {
        None => rand::random(),
        Some(conductor) => u128::from(conductor.random())
            .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
            .to_le_bytes(),
    }
}

/// The wall clock, in microseconds since 1970. 0 if it is set to an earlier time.
pub(crate) fn microseconds_since_1970() -> u64 {
    if let Some(conductor) = conductor::of_this_thread() {
        return conductor.microseconds_since_1970();
    }
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

/// Lets one thread sleep while it has nothing to do, and others wake it, at the price of one fence while it
/// works.
///
/// It sleeps in one of two ways: *asleep* it wakes for any new work, *dozing* only for urgent work or when
/// its time is up.
///
/// The sleeper announces that it is about to sleep, then looks for work once more. A thread that makes work
/// looks for the announcement afterwards. With a full fence between the two steps on either side, at least
/// one sees the other.
#[derive(Default)]
pub(crate) struct Bell {
    state: AtomicUsize,
    sleeper: Mutex<Option<Thread>>,
}

const AWAKE: usize = 0;
const DOZING: usize = 1;
const ASLEEP: usize = 2;

impl Bell {
    /// There is work: wakes the sleeper unless it only dozes. Call after the work is visible.
    #[inline]
    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.state.load(Ordering::Relaxed) == ASLEEP {
            self.wake();
        }
    }

    /// A thread waits for the work: wakes the sleeper in any case. Call after that is visible.
    #[inline]
    pub(crate) fn ring_urgently(&self) {
        fence(Ordering::SeqCst);
        if self.state.load(Ordering::Relaxed) != AWAKE {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if self.state.swap(AWAKE, Ordering::AcqRel) != AWAKE
            && let Some(thread) = self.sleeper.lock().as_ref()
        {
            thread.unpark();
        }
    }

    /// Sleeps until the bell rings, unless there is work. Only one thread may ever call this and
    /// [`Bell::doze_unless`].
    pub(crate) fn sleep_unless(&self, has_work: impl Fn() -> bool) {
        if self.fall(ASLEEP, has_work) {
            while self.state.load(Ordering::Acquire) == ASLEEP {
                park();
            }
        }
    }

    /// As [`Bell::sleep_unless`], for about `limit` at most.
    pub(crate) fn sleep_for_unless(&self, limit: Duration, has_work: impl Fn() -> bool) {
        if self.fall(ASLEEP, has_work) {
            // Once is enough, because waking too early does no harm.
            park_timeout(limit);
            self.state.store(AWAKE, Ordering::Relaxed);
        }
    }

    /// Sleeps for `limit` or until the bell rings urgently, unless something is urgent.
    pub(crate) fn doze_unless(&self, limit: Duration, is_urgent: impl Fn() -> bool) {
        if self.fall(DOZING, is_urgent) {
            // Once is enough, because waking too early does no harm.
            park_timeout(limit);
            self.state.store(AWAKE, Ordering::Relaxed);
        }
    }

    fn fall(&self, into: usize, must_not: impl Fn() -> bool) -> bool {
        {
            let mut sleeper = self.sleeper.lock();
            if sleeper.is_none() {
                *sleeper = Some(current());
            }
        }
        self.state.store(into, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if must_not() {
            self.state.store(AWAKE, Ordering::Relaxed);
            return false;
        }
        true
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::{Arc, AtomicBool, AtomicUsize, Bell, Mutex, Ordering};

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

    /// A log whose writer is a role (`log::logger`).
    #[derive(Default)]
    struct Log {
        bell: Bell,
        /// Whether a block is under way.
        role: Mutex<bool>,
        filled: AtomicUsize,
        taken: AtomicUsize,
        durable: AtomicUsize,
        is_stopping: AtomicBool,
    }

    impl Log {
        /// Takes what is filled. It becomes durable at once, or later.
        fn write(&self, is_under_way: &mut bool, is_striped: bool) {
            let filled = self.filled.load(Ordering::Acquire);
            if filled > self.taken.load(Ordering::Acquire) {
                self.taken.store(filled, Ordering::Release);
                *is_under_way = is_striped;
                if !is_striped {
                    self.durable.store(filled, Ordering::Release);
                }
            }
        }

        /// The log's own thread, until the record is durable.
        fn run(&self, is_written: &AtomicBool) {
            loop {
                let mut is_under_way = self.role.lock();
                self.write(&mut is_under_way, false);
                if *is_under_way {
                    self.bell.sleep_unless(|| is_written.load(Ordering::Acquire));
                    self.durable.store(1, Ordering::Release);
                }
                drop(is_under_way);
                if self.durable.load(Ordering::Acquire) > 0 {
                    return;
                }
                self.bell.sleep_unless(|| {
                    self.filled.load(Ordering::Acquire) > self.taken.load(Ordering::Acquire)
                        || self.is_stopping.load(Ordering::Acquire)
                        || self.role.try_lock().is_none_or(|is_under_way| *is_under_way)
                });
            }
        }
    }

    /// A session publishes a record without ringing. It writes that itself, or finds the role of the writer
    /// taken and rings.
    #[test]
    fn loom_a_quiet_record_is_written() {
        loom::model(|| {
            let log = Arc::new(Log::default());
            let own = Arc::clone(&log);
            let thread = loom::thread::spawn(move || own.run(&AtomicBool::new(true)));
            log.filled.store(1, Ordering::Release);
            match log.role.try_lock() {
                None => log.bell.ring(),
                Some(mut is_under_way) => {
                    log.write(&mut is_under_way, false);
                    drop(is_under_way);
                    log.is_stopping.store(true, Ordering::Release);
                    log.bell.ring();
                }
            }
            thread.join().expect("the log's thread ends");
        });
    }

    /// A session submits a block, and leaves it to the log's thread, which may be about to sleep.
    #[test]
    fn loom_a_block_that_a_session_has_submitted_is_noticed() {
        loom::model(|| {
            let log = Arc::new(Log::default());
            let is_written = Arc::new(AtomicBool::new(false));
            let (own, signal) = (Arc::clone(&log), Arc::clone(&is_written));
            let thread = loom::thread::spawn(move || own.run(&signal));
            log.filled.store(1, Ordering::Release);
            if let Some(mut is_under_way) = log.role.try_lock() {
                log.write(&mut is_under_way, true);
            }
            // The thread of the stripe is faster.
            is_written.store(true, Ordering::Release);
            log.bell.ring();
            thread.join().expect("the log's thread ends");
        });
    }

    #[test]
    fn loom_a_dozer_never_misses_what_is_urgent() {
        loom::model(|| {
            let bell = Arc::new(Bell::default());
            let urgent = Arc::new(AtomicBool::new(false));
            let client = loom::thread::spawn({
                let (bell, urgent) = (Arc::clone(&bell), Arc::clone(&urgent));
                move || {
                    bell.ring();
                    urgent.store(true, Ordering::Release);
                    bell.ring_urgently();
                }
            });
            while !urgent.load(Ordering::Acquire) {
                bell.doze_unless(std::time::Duration::ZERO, || urgent.load(Ordering::Acquire));
            }
            client.join().expect("the client ends");
        });
    }
}
