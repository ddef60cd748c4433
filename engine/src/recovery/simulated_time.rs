//! Simulated time: how long a replay takes with more workers than there are processors.
//!
//! ```text
//!   agenda --the next worker and when--> one step of the replay's own code, for real, in this thread
//!      ^                                      |
//!      |                                      how long it took --> stopwatch
//!      +---- the same worker, that much later, or when the lock is free, or when another wakes it
//! ```
//!
//! One thread does the work of all workers, step by step, always for the one whose time is the earliest. What
//! a step costs is measured while it is done. So nothing is assumed of records, rows or calls, and the order
//! in which things happen is what the replay's own code makes of it (`by_key::simulated`,
//! `schedule::simulated`). Here are the parts of it that know no replay: the agenda, the locks, the
//! stopwatch, and the accounts of where the time goes.
//!
//! What one thread cannot measure is given as [`CrossingCosts`]: what a lock or a line of memory costs
//! that another processor has used last, and how long a sleeping thread takes to run again.
//!
//! **What is not in it.** That processors share caches and memory, and that each has a cache of its own: the
//! one thread finds in its cache what another worker has touched. The locks that are modelled are those of
//! the logs' sources, of their windows, and of the state of a replay by key; the other ones are held for less
//! time than asking a clock takes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// Nanoseconds of simulated time.
pub(super) type Time = u64;

/// A worker that waits for a lock gives the processor away after this time (parking_lot spins and yields
/// before it does).
const SPINS_FOR: Time = 4_000;

/// What a step of one worker costs because of the others, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossingCosts {
    /// Of a lock that another worker held last, and of telling others anything.
    pub handover: u64,
    /// From waking a thread until it runs.
    pub wake: u64,
    /// Of waking, to the one who does it.
    pub unpark: u64,
}

/// What a worker does with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Changes rows and runs calls.
    Replaying,
    /// Reads and decodes a log, under its lock.
    Reading,
    /// Divides changes by key.
    Routing,
    /// Finds out what is next, and tells others how far it is.
    Scheduling,
    /// Waits for a lock.
    WaitingForLock,
    /// Waits for the last partitions of a round.
    WaitingForRound,
    /// Waits for something else that others do: to read on, or to come to some position.
    WaitingForOthers,
}

impl Doing {
    pub const ALL: [Doing; 7] = [
        Doing::Replaying,
        Doing::Reading,
        Doing::Routing,
        Doing::Scheduling,
        Doing::WaitingForLock,
        Doing::WaitingForRound,
        Doing::WaitingForOthers,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Doing::Replaying => "replaying",
            Doing::Reading => "reading",
            Doing::Routing => "routing",
            Doing::Scheduling => "scheduling",
            Doing::WaitingForLock => "lock",
            Doing::WaitingForRound => "round's end",
            Doing::WaitingForOthers => "others",
        }
    }

    /// Whether a processor is at work.
    pub fn is_work(self) -> bool {
        matches!(self, Doing::Replaying | Doing::Reading | Doing::Routing | Doing::Scheduling)
    }
}

/// Where the time of all workers has gone, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent([u64; Doing::ALL.len()]);

impl Spent {
    pub fn on(&self, doing: Doing) -> u64 {
        self.0[doing as usize]
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) fn add(&mut self, doing: Doing, time: Time) {
        self.0[doing as usize] += time;
    }
}

/// What a simulated replay has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simulated {
    pub workers: usize,
    /// When the last worker ended, in nanoseconds.
    pub nanoseconds: u64,
    /// The sum is workers times nanoseconds.
    pub spent: Spent,
}

impl Simulated {
    /// The share of all workers' time that is work.
    pub fn busy(&self) -> f64 {
        let work: u64 =
            Doing::ALL.into_iter().filter(|doing| doing.is_work()).map(|doing| self.spent.on(doing)).sum();
        work as f64 / self.spent.total().max(1) as f64
    }

    /// This replay, and then that one.
    pub(super) fn then(mut self, next: &Simulated) -> Simulated {
        self.workers = self.workers.max(next.workers);
        self.nanoseconds += next.nanoseconds;
        for doing in Doing::ALL {
            self.spent.add(doing, next.spent.on(doing));
        }
        self
    }
}

/// Says how long a step takes.
pub(super) trait Stopwatch {
    /// Takes the step.
    fn time<T>(&mut self, step: impl FnOnce() -> T) -> (T, Time);
}

/// Measures.
pub(super) struct Clock {
    /// What asking the time takes.
    overhead: Time,
    /// When it was last compared with the time that the thread ran.
    compared: (Instant, Duration),
}

/// A shorter step is not looked into: it is unlikely that the thread was interrupted.
const LONG: Time = 20_000;

impl Clock {
    pub(super) fn new() -> Clock {
        let asked = (0..1000).map(|_| {
            let begun = crate::sync::now();
            nanoseconds(crate::sync::now().duration_since(begun))
        });
        let overhead = asked.min().unwrap_or(0);
        Clock { overhead, compared: (crate::sync::now(), crate::sync::thread_time()) }
    }

    /// How long the thread has not run since this was last asked.
    fn interrupted_for(&mut self) -> Time {
        let before = self.compared;
        self.compared = (crate::sync::now(), crate::sync::thread_time());
        let passed = self.compared.0.duration_since(before.0);
        nanoseconds(passed.saturating_sub(self.compared.1.saturating_sub(before.1)))
    }
}

impl Stopwatch for Clock {
    fn time<T>(&mut self, step: impl FnOnce() -> T) -> (T, Time) {
        let begun = crate::sync::now();
        let done = step();
        let taken = nanoseconds(crate::sync::now().duration_since(begun)).saturating_sub(self.overhead);
        match taken < LONG {
            true => (done, taken),
            // Another program ran meanwhile, perhaps.
            false => (done, taken.saturating_sub(self.interrupted_for())),
        }
    }
}

fn nanoseconds(time: Duration) -> Time {
    time.as_nanos() as Time
}

/// A lock in simulated time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SimulatedLock {
    free_at: Time,
    last: Option<usize>,
}

impl SimulatedLock {
    /// When a worker that wants the lock now can try again; `None` if it can have it.
    pub(super) fn retry_at(&self, now: Time, costs: CrossingCosts) -> Option<Time> {
        match self.free_at.checked_sub(now) {
            None | Some(0) => None,
            Some(wait) if wait <= SPINS_FOR => Some(self.free_at),
            Some(_) => Some(self.free_at + costs.wake),
        }
    }

    pub(super) fn is_free(&self, now: Time) -> bool {
        self.free_at <= now
    }

    /// The worker takes it now, for this long and what it costs to get it. Returns when it is given back.
    pub(super) fn hold(&mut self, worker: usize, now: Time, time: Time, costs: CrossingCosts) -> Time {
        let is_other = self.last.is_some_and(|last| last != worker);
        self.last = Some(worker);
        self.free_at = now + time + if is_other { costs.handover } else { 0 };
        self.free_at
    }
}

/// Which worker goes on when. Of several at the same time, the one that was put in first.
#[derive(Default)]
pub(super) struct Agenda {
    events: BinaryHeap<Reverse<(Time, u64, usize)>>,
    count: u64,
}

impl Agenda {
    pub(super) fn put(&mut self, at: Time, worker: usize) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, worker)));
    }

    pub(super) fn next(&mut self) -> Option<(Time, usize)> {
        self.events.pop().map(|Reverse((at, _, worker))| (at, worker))
    }
}

/// Where each worker's time goes: whatever passes between two notes of a worker belongs to the second.
pub(super) struct Accounts {
    /// Up to when each worker's time has been noted.
    noted: Vec<Time>,
    spent: Spent,
}

impl Accounts {
    pub(super) fn new(workers: usize) -> Accounts {
        Accounts { noted: vec![0; workers], spent: Spent::default() }
    }

    /// Up to then the worker has been doing this.
    pub(super) fn note(&mut self, worker: usize, until: Time, doing: Doing) {
        let noted = &mut self.noted[worker];
        self.spent.add(doing, until.saturating_sub(*noted));
        *noted = until.max(*noted);
    }

    /// All have ended; who ended earlier waited for the others.
    pub(super) fn conclude(mut self) -> Simulated {
        let end = self.noted.iter().copied().max().unwrap_or(0);
        for worker in 0..self.noted.len() {
            self.note(worker, end, Doing::WaitingForOthers);
        }
        Simulated { workers: self.noted.len(), nanoseconds: end, spent: self.spent }
    }
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests;
