//! A replay by key in simulated time (`recovery::simulated_time`).
//!
//! The state, the router and the replay are those of [`super::run`]. What is written out here is
//! `ByKey::work`, as a machine that one thread steps for all workers. The lock of the state counts, which
//! every step takes. A log's source needs none, because only one worker at a time is told to read it on.
//!
//! Invariants:
//! 1. The state is asked and told in the order of simulated time, so it may be told of something only when
//!    the step has ended that did it.
//! 2. A partition is replayed when it begins. Nothing else touches its keys before it ends (`by_key`).

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use hyades_types::error::Result;

use super::routing::{Alone, Routed, Router};
use super::state::{Next, Read, Round, State, changes_of};
use super::{ByKeyOptions, Numbering, ReplayByKey, Replayed, partitions};
use crate::recovery::schedule::{RecordPlace, Source};
use crate::recovery::simulated_time::{
    Accounts, Agenda, CrossingCosts, Doing, Simulated, SimulatedLock, Stopwatch, Time,
};

/// What a worker is about to do. All of it begins with the lock of the state.
enum Todo {
    Ask,
    /// It has read on.
    NoteRead {
        read: Read,
        is_end: bool,
    },
    NoteRouted {
        read: Read,
        routed: Routed,
    },
    EndPartition {
        round: Arc<Round>,
        partition: usize,
        transactions: u64,
    },
    EndAlone(Alone),
}

struct Worker<R: ReplayByKey> {
    scratch: R::Scratch,
    router: Router,
    todo: Todo,
    /// What it waits for in its sleep, and since when.
    waits_for: Doing,
}

struct Simulation<'s, S, R: ReplayByKey, W> {
    sources: Vec<S>,
    replay: &'s R,
    numbering: Numbering,
    partitions: usize,
    state: State,
    lock: SimulatedLock,
    workers: Vec<Worker<R>>,
    sleepers: VecDeque<usize>,
    agenda: Agenda,
    accounts: Accounts,
    stopwatch: &'s mut W,
    costs: CrossingCosts,
}

/// Replays all logs, as [`super::run`] does, in this thread.
pub(in crate::recovery) fn simulate<S: Source, R: ReplayByKey>(
    sources: Vec<(S, Range<u64>)>,
    replay: &R,
    options: ByKeyOptions,
    stopwatch: &mut impl Stopwatch,
    costs: CrossingCosts,
) -> Result<(Replayed, Simulated)> {
    let workers = options.workers.max(1);
    let (sources, positions): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
    let partitions = partitions(workers);
    let new_worker = |_| Worker {
        scratch: R::Scratch::default(),
        router: Router::new(partitions),
        todo: Todo::Ask,
        waits_for: Doing::WaitingForOthers,
    };
    let mut simulation = Simulation {
        sources,
        replay,
        numbering: options.numbering,
        partitions,
        state: State::new(&positions, partitions, workers, options.after),
        lock: SimulatedLock::default(),
        // Bounded: one for each worker.
        workers: (0..workers).map(new_worker).collect(),
        sleepers: VecDeque::new(),
        agenda: Agenda::default(),
        accounts: Accounts::new(workers),
        stopwatch,
        costs,
    };
    (0..workers).for_each(|worker| simulation.agenda.put(0, worker));
    while let Some((now, worker)) = simulation.agenda.next() {
        simulation.step(worker, now)?;
    }
    let replayed = simulation.state.conclude()?;
    Ok((replayed, simulation.accounts.conclude()))
}

impl<S: Source, R: ReplayByKey, W: Stopwatch> Simulation<'_, S, R, W> {
    fn step(&mut self, worker: usize, now: Time) -> Result<()> {
        if let Some(again) = self.lock.retry_at(now, self.costs) {
            self.accounts.note(worker, again, Doing::WaitingForLock);
            self.agenda.put(again, worker);
            return Ok(());
        }
        match std::mem::replace(&mut self.workers[worker].todo, Todo::Ask) {
            Todo::Ask => self.ask(worker, now)?,
            Todo::NoteRead { read, is_end } => {
                let bound = self.numbering.bound_after(&read.batch);
                let noted = self.locked(worker, now, |state| state.note_read(read, is_end, bound)).1;
                let noted = self.wake(1, worker, noted);
                self.agenda.put(noted, worker);
            }
            Todo::NoteRouted { read, routed } => {
                let noted = self.locked(worker, now, |state| state.note_routed(read, routed)).1;
                self.agenda.put(noted, worker);
            }
            Todo::EndPartition { round, partition, transactions } => {
                let (ended, mut noted) =
                    self.locked(worker, now, |state| state.end_partition(&round, partition, transactions));
                if ended.is_some() {
                    noted = self.wake(usize::MAX, worker, noted);
                }
                // The last one to let go of it frees its memory.
                let ((), time) = self.stopwatch.time(|| drop(round));
                self.done(worker, noted + time, Doing::Scheduling);
            }
            Todo::EndAlone(alone) => {
                let noted = self.locked(worker, now, |state| state.end_alone(&alone)).1;
                let noted = self.wake(usize::MAX, worker, noted);
                self.done(worker, noted, Doing::Scheduling);
            }
        }
        Ok(())
    }

    /// Does something with the state, under its lock. Returns also when that has ended.
    fn locked<T>(&mut self, worker: usize, now: Time, what: impl FnOnce(&mut State) -> T) -> (T, Time) {
        let (done, time) = self.stopwatch.time(|| what(&mut self.state));
        let given_back = self.lock.hold(worker, now, time, self.costs);
        self.accounts.note(worker, given_back, Doing::Scheduling);
        (done, given_back)
    }

    /// Up to then the worker has been doing this, and goes on.
    fn done(&mut self, worker: usize, until: Time, doing: Doing) {
        self.accounts.note(worker, until, doing);
        self.agenda.put(until, worker);
    }

    /// Wakes some sleepers. Returns when that has been done.
    fn wake(&mut self, most: usize, worker: usize, now: Time) -> Time {
        let count = self.sleepers.len().min(most);
        if count == 0 {
            return now;
        }
        for sleeper in self.sleepers.drain(..count) {
            let awake = now + self.costs.wake;
            self.accounts.note(sleeper, awake, self.workers[sleeper].waits_for);
            self.agenda.put(awake, sleeper);
        }
        // One call of the operating system moves the others to the queue of the lock.
        let woken = now + self.costs.unpark;
        self.accounts.note(worker, woken, Doing::Scheduling);
        woken
    }

    fn ask(&mut self, worker: usize, now: Time) -> Result<()> {
        let (next, told) = self.locked(worker, now, State::next);
        let Some((next, wakes_others)) = next else {
            self.workers[worker].waits_for = match self.state.is_round_running() {
                true => Doing::WaitingForRound,
                false => Doing::WaitingForOthers,
            };
            self.sleepers.push_back(worker);
            return Ok(());
        };
        let told = if wakes_others { self.wake(usize::MAX, worker, told) } else { told };
        match next {
            Next::Over => {}
            Next::Read(mut read) => {
                read.batch.clear();
                let source = &mut self.sources[read.log];
                let (filled, time) = self.stopwatch.time(|| source.fill(&mut read.batch));
                self.workers[worker].todo = Todo::NoteRead { read, is_end: !filled? };
                self.done(worker, told + time, Doing::Reading);
            }
            Next::Route(mut read) => {
                let Worker { router, .. } = &mut self.workers[worker];
                let (routed, time) = self.stopwatch.time(|| {
                    read.batch.decode()?;
                    router.route(self.replay, read.log, &read.batch, self.numbering)
                });
                self.workers[worker].todo = Todo::NoteRouted { read, routed: routed? };
                self.done(worker, told + time, Doing::Routing);
            }
            Next::Replay(round, partition) => {
                let Worker { scratch, .. } = &mut self.workers[worker];
                let (replayed, time) = self.stopwatch.time(|| {
                    let due = round.due(partition);
                    self.replay.replay_changes(scratch, changes_of(&due))?;
                    Ok(round.transactions(partition, self.partitions))
                });
                self.workers[worker].todo = Todo::EndPartition { round, partition, transactions: replayed? };
                self.done(worker, told + time, Doing::Replaying);
            }
            Next::Alone(alone) => {
                let time = (self.numbering == Numbering::Time).then_some(alone.number);
                let place = RecordPlace { log: alone.log, end: alone.end, time };
                let Worker { scratch, .. } = &mut self.workers[worker];
                let (replayed, time) = self.stopwatch.time(|| {
                    self.replay.replay(scratch, place, alone.operations())?;
                    self.replay.on_low(alone.number);
                    Ok(())
                });
                replayed?;
                self.workers[worker].todo = Todo::EndAlone(alone);
                self.done(worker, told + time, Doing::Replaying);
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
