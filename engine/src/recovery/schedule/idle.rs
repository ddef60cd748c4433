//! Where replay workers sleep when there is nothing to do, without a wake-up ever being lost.
//!
//! A worker that found nothing registers as a sleeper, looks once more, and only then sleeps. A worker that
//! makes work available does so first and looks for sleepers afterwards. A sequentially consistent fence
//! stands between the two steps on either side, so that one of the two workers sees the other (checked under
//! loom). When no worker sleeps, announcing work costs a fence and a load.
//!
//! An announcement wakes one sleeper, which wakes the next one if it finds more than it takes: waking all of
//! them for one record would cost more than the record. So a worker that is awake looks again before it
//! sleeps, and a worker that takes work announces what is left.
//!
//! The last worker to register knows that no other works any more. If there is nothing left to find then,
//! there never will be: either all is done, or the records wait for each other in a circle, which happens
//! only in damaged logs.

use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, Thread, current, fence, park};

/// What a worker does after [`Idle::sleep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Look again.
    Again,
    /// All workers found nothing: there is no more to do.
    Over,
}

#[derive(Default)]
struct State {
    /// With the number by which each finds itself here.
    sleepers: Vec<(u64, Thread)>,
    /// How often a worker has gone to sleep.
    sleeps: u64,
    is_over: bool,
}

pub(crate) struct Idle {
    workers: usize,
    /// How many sleepers the state holds, readable without the lock.
    sleepers: AtomicUsize,
    /// The same as in the state, readable without the lock.
    is_over: AtomicBool,
    state: Mutex<State>,
}

impl Idle {
    pub(crate) fn new(workers: usize) -> Idle {
        Idle {
            workers,
            sleepers: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            state: Mutex::new(State::default()),
        }
    }

    /// Whether a worker waits for work.
    pub(crate) fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) > 0
    }

    /// To be called after work was made available.
    pub(crate) fn announce(&self) {
        fence(Ordering::SeqCst);
        if self.has_sleepers() {
            let mut state = self.state.lock();
            // The one that has slept for the shortest time: its caches are the warmest.
            let woken = state.sleepers.pop();
            self.sleepers.store(state.sleepers.len(), Ordering::Relaxed);
            drop(state);
            if let Some((_, sleeper)) = woken {
                sleeper.unpark();
            }
        }
    }

    /// Ends all sleep for good.
    pub(crate) fn stop(&self) {
        self.end(&mut self.state.lock());
    }

    fn end(&self, state: &mut State) {
        state.is_over = true;
        self.is_over.store(true, Ordering::Relaxed);
        self.sleepers.store(0, Ordering::Relaxed);
        state.sleepers.drain(..).for_each(|(_, sleeper)| sleeper.unpark());
    }

    /// Whether there is no more to do.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Sleeps until work is announced. `has_work` is asked again after the worker has registered.
    pub(crate) fn sleep(&self, has_work: impl Fn() -> bool) -> Woken {
        let number = match self.fall_asleep(has_work) {
            Ok(number) => number,
            Err(woken) => return woken,
        };
        loop {
            park();
            let state = self.state.lock();
            if state.is_over {
                return Woken::Over;
            }
            if state.sleepers.iter().all(|(sleeper, _)| *sleeper != number) {
                return Woken::Again;
            }
        }
    }

    /// Registers the calling thread as a sleeper, under the number that is returned, unless it must not
    /// sleep.
    pub(super) fn fall_asleep(&self, has_work: impl Fn() -> bool) -> Result<u64, Woken> {
        let mut state = self.state.lock();
        if state.is_over {
            return Err(Woken::Over);
        }
        // Registered before the last look, so that the others see it.
        self.sleepers.store(state.sleepers.len() + 1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if has_work() {
            self.sleepers.store(state.sleepers.len(), Ordering::Relaxed);
            return Err(Woken::Again);
        }
        if state.sleepers.len() + 1 == self.workers {
            // No worker is left that could announce anything.
            self.end(&mut state);
            return Err(Woken::Over);
        }
        state.sleeps += 1;
        let number = state.sleeps;
        state.sleepers.push((number, current()));
        Ok(number)
    }

    /// Passes on the numbers of those that sleep.
    pub(super) fn see_sleepers(&self, mut see: impl FnMut(u64)) {
        self.state.lock().sleepers.iter().for_each(|(number, _)| see(*number));
    }

    /// How many sleep.
    pub(super) fn sleepers(&self) -> usize {
        self.sleepers.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Idle, Woken};

    #[test]
    fn the_last_worker_that_finds_nothing_ends_it() {
        let idle = std::sync::Arc::new(Idle::new(2));
        assert_eq!(idle.sleep(|| true), Woken::Again);
        let other = std::thread::spawn({
            let idle = std::sync::Arc::clone(&idle);
            move || idle.sleep(|| false)
        });
        assert_eq!(idle.sleep(|| false), Woken::Over);
        assert_eq!(other.join().unwrap(), Woken::Over);
        assert_eq!(idle.sleep(|| true), Woken::Over);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::{Idle, Woken};
    use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering};

    #[test]
    fn loom_no_announcement_is_slept_through() {
        loom::model(|| {
            // Three workers, of which the third is busy all the time: no worker may conclude that it is over.
            let idle = Arc::new(Idle::new(3));
            let work = Arc::new(AtomicBool::new(false));
            let announcer = loom::thread::spawn({
                let (idle, work) = (Arc::clone(&idle), Arc::clone(&work));
                move || {
                    work.store(true, Ordering::Relaxed);
                    idle.announce();
                }
            });
            while !work.load(Ordering::Relaxed) {
                assert_eq!(idle.sleep(|| work.load(Ordering::Relaxed)), Woken::Again);
            }
            announcer.join().unwrap();
        });
    }

    /// Two pieces of work and two workers that wait for them, announced once: the worker that takes one
    /// wakes the other.
    #[test]
    fn loom_a_worker_that_is_woken_wakes_the_next() {
        loom::model(|| {
            let idle = Arc::new(Idle::new(3));
            let work = Arc::new(AtomicUsize::new(0));
            let take = |idle: &Idle, work: &AtomicUsize| {
                loop {
                    let left =
                        work.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                    match left {
                        Ok(1) => return,
                        Ok(_) => return idle.announce(),
                        Err(_) => {
                            assert_eq!(idle.sleep(|| work.load(Ordering::Relaxed) > 0), Woken::Again);
                        }
                    }
                }
            };
            let other = loom::thread::spawn({
                let (idle, work) = (Arc::clone(&idle), Arc::clone(&work));
                move || take(&idle, &work)
            });
            let announcer = loom::thread::spawn({
                let (idle, work) = (Arc::clone(&idle), Arc::clone(&work));
                move || {
                    work.store(2, Ordering::Relaxed);
                    idle.announce();
                }
            });
            take(&idle, &work);
            other.join().unwrap();
            announcer.join().unwrap();
        });
    }
}
