//! Locks, accounts and the agenda, with steps that say themselves what they cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// A clock that only advances when a step says so.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<AtomicU64>);

impl Told {
    /// The step takes this much longer.
    pub(crate) fn takes(&self, time: Time) {
        self.0.fetch_add(time, Ordering::Relaxed);
    }
}

impl Stopwatch for Told {
    fn time<T>(&mut self, step: impl FnOnce() -> T) -> (T, Time) {
        let before = self.0.load(Ordering::Relaxed);
        let done = step();
        (done, self.0.load(Ordering::Relaxed) - before)
    }
}

const COSTS: CrossingCosts = CrossingCosts { handover: 0, wake: 0, unpark: 0 };
/// Steps of all workers together, and what each costs under the lock and without it.
const STEPS: u64 = 4096;
const STEP: Time = 1000;

/// Workers that hold one lock for some part of each of their steps.
fn with_lock(workers: usize, locked: Time, costs: CrossingCosts) -> Simulated {
    let (mut lock, mut agenda) = (SimulatedLock::default(), Agenda::default());
    let mut accounts = Accounts::new(workers);
    (0..workers).for_each(|worker| agenda.put(0, worker));
    let mut left = STEPS;
    while let Some((now, worker)) = agenda.next() {
        if left == 0 {
            continue;
        }
        if let Some(again) = lock.retry_at(now, costs) {
            accounts.note(worker, again, Doing::WaitingForLock);
            agenda.put(again, worker);
            continue;
        }
        left -= 1;
        let given_back = lock.hold(worker, now, locked, costs);
        accounts.note(worker, given_back, Doing::Scheduling);
        let until = given_back + STEP - locked;
        accounts.note(worker, until, Doing::Replaying);
        agenda.put(until, worker);
    }
    accounts.conclude()
}

fn speed_up(one: &Simulated, many: &Simulated) -> f64 {
    one.nanoseconds as f64 / many.nanoseconds as f64
}

#[test]
fn a_lock_that_is_held_for_half_of_the_time_makes_it_twice_as_fast_at_most() {
    let one = with_lock(1, STEP / 2, COSTS);
    assert_eq!(one.nanoseconds, STEPS * STEP);
    for workers in [2, 4, 16] {
        let many = with_lock(workers, STEP / 2, COSTS);
        assert!((1.9..=2.0).contains(&speed_up(&one, &many)), "{workers}: {many:?}");
    }
    let sixteen = with_lock(16, STEP / 2, COSTS);
    assert!(sixteen.spent.on(Doing::WaitingForLock) > 13 * sixteen.nanoseconds, "{sixteen:?}");
}

#[test]
fn a_lock_that_is_hardly_held_is_no_limit() {
    let (one, eight) = (with_lock(1, 1, COSTS), with_lock(8, 1, COSTS));
    assert!(speed_up(&one, &eight) > 7.9, "{eight:?}");
    assert!(eight.busy() > 0.99);
}

#[test]
fn what_crossing_costs_is_paid_by_those_who_cross() {
    let costs = CrossingCosts { handover: STEP, ..COSTS };
    assert_eq!(with_lock(1, STEP / 2, costs), with_lock(1, STEP / 2, COSTS));
    // Each step takes twice as long, and three quarters of it have the lock.
    let two = with_lock(2, STEP / 2, costs);
    assert!((STEPS * STEP * 3 / 2).abs_diff(two.nanoseconds) < 3 * STEP, "{two:?}");
}

#[test]
fn a_long_wait_for_a_lock_ends_with_being_woken() {
    let costs = CrossingCosts { wake: 700, ..COSTS };
    let mut lock = SimulatedLock::default();
    assert_eq!(lock.hold(0, 10, SPINS_FOR + 5, costs), SPINS_FOR + 15);
    assert_eq!(lock.retry_at(10, costs), Some(SPINS_FOR + 15 + 700));
    assert_eq!(lock.retry_at(20, costs), Some(SPINS_FOR + 15), "it spins");
    assert_eq!(lock.retry_at(SPINS_FOR + 15, costs), None);
}

#[test]
fn all_time_of_all_workers_is_accounted_for() {
    for workers in [1, 3, 16] {
        let simulated = with_lock(workers, STEP / 3, CrossingCosts { handover: 90, wake: 700, unpark: 0 });
        assert_eq!(simulated.spent.total(), simulated.nanoseconds * workers as u64);
    }
    let (one, two) = (with_lock(1, 1, COSTS), with_lock(2, 1, COSTS));
    let both = one.clone().then(&two);
    assert_eq!(both.nanoseconds, one.nanoseconds + two.nanoseconds);
    assert_eq!(both.spent.total(), one.spent.total() + two.spent.total());
}

#[test]
fn the_clock_measures_what_the_thread_does_and_not_how_long_it_is_kept_from_it() {
    let mut clock = Clock::new();
    let asleep = Duration::from_millis(30);
    let ((), time) = clock.time(|| std::thread::sleep(asleep));
    assert!(Duration::from_nanos(time) < asleep / 2, "{time}");
    let ((), time) = clock.time(|| {
        let begun = crate::sync::thread_time();
        while crate::sync::thread_time().saturating_sub(begun) < Duration::from_millis(2) {}
    });
    assert!(time > 1_000_000, "{time}");
}
