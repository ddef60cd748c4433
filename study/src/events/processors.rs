//! Threads on processors, and the order of events.
//!
//! A thread computes for some time, then takes a step, which says what it does next. While there are as many
//! processors as threads that compute, a step is taken when its time has passed. Otherwise threads wait for a
//! processor: the one that has used the least is next, as under Linux's fair schedulers, and a thread loses
//! its processor at the end of a slice, when it waits for something, and when it offers to. (A step of a
//! thread is never interrupted: slices are a thousand times longer.)
//!
//! Events are in a binary heap, by nanoseconds and, within one, by the order in which they were made. So
//! equal runs have equal results.
//!
//! Invariant: a thread has one event under way that counts, or none: when it gets another one, its generation
//! grows, and the earlier event is skipped.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// What a thread does after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Computes for so long.
    Run(u64),
    /// The same, but others may have the processor first.
    OfferAndRun(u64),
    /// Polls for so long whether it has been woken, on its processor.
    Spin(u64),
    /// Waits until it is woken.
    Block,
    /// Waits until it is woken, or until this time.
    BlockUntil(u64),
    /// Ends.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Ready,
    Blocked,
}

#[derive(Clone, Debug)]
struct Thread {
    state: State,
    /// What it has had of processors, and what it would have had without sleep: this decides which is next.
    used: u64,
    rank: u64,
    /// What it computes before its next step, once it has a processor.
    pending: u64,
    /// Since when it has had its processor, and up to when `used` counts it.
    since: u64,
    counted: u64,
    generation: u32,
}

/// See the module head.
pub(super) struct Processors {
    now: u64,
    slice: u64,
    free: usize,
    threads: Vec<Thread>,
    ready: BTreeSet<(u64, usize)>,
    events: BinaryHeap<Reverse<(u64, u64, usize, u32)>>,
    made: u64,
    /// The rank of the thread that got a processor last: a thread that has slept does not catch up.
    level: u64,
}

impl Processors {
    /// All threads begin at once, with a step.
    pub(super) fn new(processors: usize, threads: usize, slice: u64) -> Processors {
        let thread =
            Thread { state: State::Ready, used: 0, rank: 0, pending: 0, since: 0, counted: 0, generation: 0 };
        let mut all = Processors {
            now: 0,
            slice,
            free: processors,
            threads: vec![thread; threads],
            ready: (0..threads).map(|thread| (0, thread)).collect(),
            events: BinaryHeap::new(),
            made: 0,
            level: 0,
        };
        all.dispatch();
        all
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// The thread that takes the next step. `None`: nothing happens any more.
    pub(super) fn next(&mut self) -> Option<usize> {
        loop {
            let Reverse((at, _, thread, generation)) = self.events.pop()?;
            if self.threads[thread].generation != generation {
                continue;
            }
            self.now = at;
            match self.threads[thread].state {
                State::Running => return Some(thread),
                State::Ready => {}
                State::Blocked => self.wake(thread, 0),
            }
        }
    }

    fn push(&mut self, at: u64, thread: usize) {
        let one = &mut self.threads[thread];
        one.generation = one.generation.wrapping_add(1);
        self.made += 1;
        self.events.push(Reverse((at, self.made, thread, one.generation)));
    }

    /// What the thread that has taken a step does next.
    pub(super) fn go_on(&mut self, thread: usize, next: Next) {
        let now = self.now;
        let one = &mut self.threads[thread];
        one.used += now - one.counted;
        one.rank += now - one.counted;
        one.counted = now;
        match next {
            Next::Run(time) => {
                let is_over = now - one.since >= self.slice;
                let rank = one.rank;
                match is_over && self.ready.first().is_some_and(|(other, _)| *other < rank) {
                    true => self.give_up(thread, time),
                    false => self.push(now + time, thread),
                }
            }
            Next::OfferAndRun(time) => match self.ready.is_empty() {
                true => self.push(now + time, thread),
                false => self.give_up(thread, time),
            },
            Next::Spin(time) => self.push(now + time, thread),
            Next::Block | Next::End => {
                one.state = State::Blocked;
                one.generation = one.generation.wrapping_add(1);
                self.free += 1;
                self.dispatch();
            }
            Next::BlockUntil(time) => {
                one.state = State::Blocked;
                self.free += 1;
                self.push(time.max(now), thread);
                self.dispatch();
            }
        }
    }

    fn give_up(&mut self, thread: usize, pending: u64) {
        let one = &mut self.threads[thread];
        (one.state, one.pending) = (State::Ready, pending);
        one.generation = one.generation.wrapping_add(1);
        // The others first: what is equal goes by number.
        let others = self.ready.pop_first();
        self.ready.insert((self.threads[thread].rank, thread));
        self.free += 1;
        if let Some((_, first)) = others {
            self.start(first);
        }
        self.dispatch();
    }

    /// A thread that waits, or polls, takes a step after it has computed for so long.
    pub(super) fn wake(&mut self, thread: usize, cost: u64) {
        match self.threads[thread].state {
            State::Running => self.push(self.now + cost, thread),
            State::Ready => {}
            State::Blocked => {
                let one = &mut self.threads[thread];
                one.rank = one.rank.max(self.level.saturating_sub(self.slice));
                (one.state, one.pending) = (State::Ready, cost);
                one.generation = one.generation.wrapping_add(1);
                self.ready.insert((one.rank, thread));
                self.dispatch();
            }
        }
    }

    /// A thread that waits is woken at this time.
    pub(super) fn wake_at(&mut self, thread: usize, at: u64) {
        self.push(at, thread);
    }

    fn dispatch(&mut self) {
        while self.free > 0
            && let Some((_, thread)) = self.ready.pop_first()
        {
            self.start(thread);
        }
    }

    fn start(&mut self, thread: usize) {
        self.free -= 1;
        let one = &mut self.threads[thread];
        self.level = self.level.max(one.rank);
        (one.state, one.since, one.counted) = (State::Running, self.now, self.now);
        let at = self.now + std::mem::take(&mut one.pending);
        self.push(at, thread);
    }

    /// What a thread has had of processors.
    pub(super) fn used(&self, thread: usize) -> u64 {
        self.threads[thread].used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs threads that only compute, in steps of this length, until a time; returns what each has used.
    fn compute(processors: usize, threads: usize, step: u64, until: u64) -> Vec<u64> {
        let mut all = Processors::new(processors, threads, 4_000_000);
        while let Some(thread) = all.next() {
            let next = if all.now() >= until { Next::End } else { Next::Run(step) };
            all.go_on(thread, next);
        }
        (0..threads).map(|thread| all.used(thread)).collect()
    }

    #[test]
    fn threads_share_processors_fairly() {
        assert_eq!(compute(2, 2, 1_000, 1_000_000), [1_000_000; 2]);
        let used = compute(2, 3, 1_000, 120_000_000);
        assert!(used.iter().all(|used| used.abs_diff(80_000_000) <= 8_000_000), "{used:?}");
    }

    #[test]
    fn a_thread_is_woken_in_time_or_before() {
        let mut all = Processors::new(1, 2, 4_000_000);
        let mut steps = Vec::new();
        while let Some(thread) = all.next() {
            steps.push((all.now(), thread));
            let next = match (steps.len(), thread) {
                (1, 0) => Next::BlockUntil(500),
                (2, 1) => Next::Run(300),
                (3, 1) => {
                    all.wake(0, 50);
                    Next::Run(100)
                }
                // The other one has its processor until it ends.
                (4, 1) => Next::End,
                (5, 0) => Next::End,
                other => panic!("{other:?}: {steps:?}"),
            };
            all.go_on(thread, next);
        }
        assert_eq!(steps, [(0, 0), (0, 1), (300, 1), (400, 1), (450, 0)]);
    }
}
