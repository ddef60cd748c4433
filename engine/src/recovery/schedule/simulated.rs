//! A replay by positions in simulated time (`recovery::simulated_time`).
//!
//! The schedule is the one of [`super::run`], and almost all that happens to it is done by its own functions.
//! What is written out here are its loops, `work`, `pass` and `run_ready`, as a machine that one thread steps
//! for all workers: between two steps of a worker come those of others. Two kinds of locks count: those of
//! the sources, held while a log is read, and those of the windows.
//!
//! Workers sleep in the schedule's own [`super::Idle`], which is told that this thread sleeps in the place of
//! each. A worker that is no longer among the sleepers after a step was woken by it.
//!
//! **What is left out.** A large transaction is replayed as a whole, and the contention is not counted:
//! [`crate::config::RecoveryMode::Parallel`].
//!
//! Invariants:
//! 1. A record is replayed when its replay begins, which is after the end of all that it follows: that was
//!    told to the schedule in a step of an earlier time.

use std::ops::Range;
use std::sync::Arc;

use crossbeam_deque::Worker as Deque;
use hyades_types::error::Result;
use smallvec::SmallVec;

use super::idle::Woken;
use super::ready::{LOOKS_BEFORE_SLEEP, pause};
use super::window::{OpenSlot, SlotNumber};
use super::{Batch, Pass, ReadyRecord, Replay, Replayed, Schedule, ScheduleOptions, Source, Worker};
use crate::recovery::simulated_time::{
    Accounts, Agenda, CrossingCosts, Doing, Simulated, SimulatedLock, Stopwatch, Time,
};
use crate::sync::Ordering;

/// What a worker is about to do.
enum Todo {
    /// Takes the next piece of work, or looks for one for the so-many-th time.
    Look(usize),
    /// Takes a batch of one of these logs, from the so-many-th on; also of one that another worker serves.
    Take(SmallVec<[usize; 8]>, usize),
    /// Goes on with its batch.
    Pass,
    /// Publishes how far it is with the batch.
    Publish,
    /// A record that had been set aside has been replayed.
    Finish { log: usize, slot: SlotNumber, place: (u64, u64) },
    /// Replays what is in its own queue.
    RunReady,
}

/// A batch on its way through a worker.
struct Passing {
    log: usize,
    slot: OpenSlot,
    batch: Batch,
    /// The next entry.
    next: usize,
    position: u64,
    published: u64,
    is_contiguous: bool,
}

impl Passing {
    /// Does something with the pass as the schedule knows it.
    fn with<T>(&mut self, what: impl FnOnce(&mut Pass<'_>) -> T) -> T {
        let Passing { log, slot, ref batch, position, published, is_contiguous, .. } = *self;
        let mut pass = Pass { log, slot: slot.number, batch, position, published, is_contiguous };
        let done = what(&mut pass);
        (self.position, self.published) = (pass.position, pass.published);
        self.is_contiguous = pass.is_contiguous;
        done
    }
}

struct OneWorker<R: Replay> {
    worker: Worker<R>,
    todo: Todo,
    passing: Option<Passing>,
    /// The memory of the last batch.
    batch: Batch,
    /// Its number among the sleepers.
    sleeps_as: Option<u64>,
}

struct Simulation<'s, S, R: Replay, W> {
    schedule: Schedule<S, R>,
    workers: Vec<OneWorker<R>>,
    sources: Vec<SimulatedLock>,
    windows: Vec<SimulatedLock>,
    agenda: Agenda,
    accounts: Accounts,
    stopwatch: &'s mut W,
    costs: CrossingCosts,
}

/// Replays all logs, as [`super::run`] does with this many workers to the end, in this thread.
pub(in crate::recovery) fn simulate<S: Source, R: Replay>(
    sources: Vec<(S, Range<u64>)>,
    replay: Arc<R>,
    options: ScheduleOptions,
    stopwatch: &mut impl Stopwatch,
    costs: CrossingCosts,
) -> Result<(Replayed, Simulated)> {
    let workers = if options.is_total { 1 } else { options.workers.max(1) };
    let logs = sources.len();
    // Bounded: one for each worker.
    let queues: Vec<_> = (0..workers).map(|_| Deque::new_fifo()).collect();
    let schedule = Schedule::new(sources, replay, options, &queues);
    schedule.replay.on_low(options.after);
    let numbered = queues.into_iter().enumerate();
    let new_worker = |(number, queue)| OneWorker {
        worker: Worker::new(number, queue, logs),
        todo: Todo::Look(0),
        passing: None,
        batch: Batch::default(),
        sleeps_as: None,
    };
    let mut simulation = Simulation {
        schedule,
        // Bounded: one for each worker.
        workers: numbered.map(new_worker).collect(),
        sources: vec![SimulatedLock::default(); logs],
        windows: vec![SimulatedLock::default(); logs],
        agenda: Agenda::default(),
        accounts: Accounts::new(workers),
        stopwatch,
        costs,
    };
    (0..workers).for_each(|worker| simulation.agenda.put(0, worker));
    while let Some((now, worker)) = simulation.agenda.next() {
        simulation.step(worker, now)?;
    }
    let Simulation { schedule, mut workers, accounts, .. } = simulation;
    for one in &mut workers {
        schedule.count_transactions(&mut one.worker);
    }
    Ok((Replayed { transactions: schedule.conclude()?, was_serial: false }, accounts.conclude()))
}

impl<S: Source, R: Replay, W: Stopwatch> Simulation<'_, S, R, W> {
    fn step(&mut self, worker: usize, now: Time) -> Result<()> {
        let todo = std::mem::replace(&mut self.workers[worker].todo, Todo::Look(0));
        match todo {
            Todo::Look(looks) => self.look(worker, now, looks),
            Todo::Take(logs, next) => self.take(worker, now, logs, next),
            Todo::Pass => self.pass(worker, now),
            Todo::Publish => self.publish(worker, now),
            Todo::Finish { log, slot, place } => {
                self.finish(worker, now, (log, slot, place));
                Ok(())
            }
            Todo::RunReady => self.run_ready(worker, now),
        }
    }

    /// Up to then the worker has been doing one thing, and goes on with another.
    fn done(&mut self, worker: usize, until: Time, doing: Doing, todo: Todo) {
        self.accounts.note(worker, until, doing);
        self.workers[worker].todo = todo;
        self.agenda.put(until, worker);
    }

    /// Something that tells others of work. Returns when it has been done.
    fn tell<T>(
        &mut self,
        worker: usize,
        now: Time,
        what: impl FnOnce(&Schedule<S, R>, &mut Worker<R>) -> T,
    ) -> (T, Time) {
        let before = self.schedule.idle.sleepers();
        let (done, time) = self.stopwatch.time(|| what(&self.schedule, &mut self.workers[worker].worker));
        let mut until = now + time;
        if self.schedule.idle.sleepers() != before {
            until = self.wake(until);
        }
        (done, until)
    }

    /// Lets those run that sleep no longer. Returns when they have been woken, one after the other.
    fn wake(&mut self, now: Time) -> Time {
        let mut asleep: SmallVec<[u64; 16]> = SmallVec::new();
        self.schedule.idle.see_sleepers(|number| asleep.push(number));
        let mut until = now;
        for number in 0..self.workers.len() {
            let is_woken = self.workers[number].sleeps_as.is_some_and(|sleeper| !asleep.contains(&sleeper));
            if is_woken {
                self.workers[number].sleeps_as = None;
                until += self.costs.unpark;
                self.done(number, until + self.costs.wake, Doing::WaitingForOthers, Todo::Look(0));
            }
        }
        until
    }

    fn look(&mut self, worker: usize, now: Time, looks: usize) -> Result<()> {
        if self.schedule.idle.is_over() {
            return Ok(());
        }
        let (stolen, until) = self.tell(worker, now, |schedule, worker| {
            let stolen = schedule.steal(worker);
            if stolen.is_some() {
                schedule.wake_another();
            }
            stolen
        });
        if let Some(record) = stolen {
            let until = until + self.costs.handover;
            self.accounts.note(worker, until, Doing::Scheduling);
            return self.replay_ready(worker, until, record);
        }
        let candidates = self.schedule.candidates();
        if !candidates.is_empty() {
            return self.take_alone(worker, until, candidates);
        }
        self.rest(worker, until, looks);
        Ok(())
    }

    /// There was nothing to do.
    fn rest(&mut self, worker: usize, now: Time, looks: usize) {
        let schedule = &self.schedule;
        let (has_work, time) = self.stopwatch.time(|| {
            pause();
            schedule.has_work()
        });
        let until = now + time.max(1);
        if has_work || looks < LOOKS_BEFORE_SLEEP {
            let looks = if has_work { 0 } else { looks + 1 };
            return self.done(worker, until, Doing::WaitingForOthers, Todo::Look(looks));
        }
        match schedule.idle.fall_asleep(|| schedule.has_work()) {
            Ok(number) => self.workers[worker].sleeps_as = Some(number),
            Err(Woken::Again) => self.done(worker, until, Doing::WaitingForOthers, Todo::Look(0)),
            Err(Woken::Over) => {
                self.accounts.note(worker, until, Doing::WaitingForOthers);
                self.wake(until);
            }
        }
    }

    /// Takes a batch of a log that no other worker serves, if there is one.
    fn take_alone(&mut self, worker: usize, now: Time, logs: SmallVec<[usize; 8]>) -> Result<()> {
        let mut now = now;
        for log in &logs {
            let is_alone = self.sources[*log].is_free(now)
                && self.schedule.logs[*log].in_flight.load(Ordering::Relaxed) == 0;
            if is_alone && self.schedule.is_open(&self.schedule.logs[*log]) {
                let (has_some, until) = self.read(worker, now, *log)?;
                if has_some {
                    return Ok(());
                }
                now = until;
            }
        }
        self.workers[worker].todo = Todo::Take(logs, 0);
        self.agenda.put(now, worker);
        Ok(())
    }

    fn take(&mut self, worker: usize, now: Time, logs: SmallVec<[usize; 8]>, next: usize) -> Result<()> {
        let Some(log) = logs.get(next).copied() else {
            self.rest(worker, now, 0);
            return Ok(());
        };
        if let Some(again) = self.sources[log].retry_at(now, self.costs) {
            self.done(worker, again, Doing::WaitingForLock, Todo::Take(logs, next));
            return Ok(());
        }
        let mut until = now;
        if self.schedule.is_open(&self.schedule.logs[log]) {
            let has_some;
            (has_some, until) = self.read(worker, now, log)?;
            if has_some {
                return Ok(());
            }
        }
        self.workers[worker].todo = Todo::Take(logs, next + 1);
        self.agenda.put(until, worker);
        Ok(())
    }

    /// Reads on in a log whose source is free. False if that gave nothing to replay.
    fn read(&mut self, worker: usize, now: Time, number: usize) -> Result<(bool, Time)> {
        let mut batch = std::mem::take(&mut self.workers[worker].batch);
        let (slot, read) = self.tell(worker, now, |schedule, worker| {
            schedule.fill(worker, number, &mut *schedule.logs[number].source.lock(), &mut batch)
        });
        let until = self.sources[number].hold(worker, now, read - now, self.costs);
        self.accounts.note(worker, until, Doing::Reading);
        let Some(slot) = slot? else {
            self.workers[worker].batch = batch;
            return Ok((false, until));
        };
        let (decoded, time) = self.stopwatch.time(|| batch.decode());
        decoded?;
        let until = until + time;
        self.accounts.note(worker, until, Doing::Reading);
        let log = &self.schedule.logs[number];
        log.in_flight.fetch_add(1, Ordering::Relaxed);
        let is_contiguous = log.watermark.position() >= slot.start;
        let (position, published) = (slot.start, slot.start);
        let passing = Passing { log: number, slot, batch, next: 0, position, published, is_contiguous };
        self.workers[worker].passing = Some(passing);
        let ((), until) = self.tell(worker, until, |schedule, _| schedule.wake_another());
        self.done(worker, until, Doing::Scheduling, Todo::Pass);
        Ok((true, until))
    }

    fn pass(&mut self, worker: usize, now: Time) -> Result<()> {
        let (schedule, one) = (&self.schedule, &mut self.workers[worker]);
        let Some(passing) = &mut one.passing else { return Ok(()) };
        let number = passing.next;
        let Some(entry) = passing.batch.entries.get(number).cloned() else {
            passing.position = passing.batch.end;
            one.todo = Todo::Publish;
            self.agenda.put(now, worker);
            return Ok(());
        };
        passing.position = entry.start;
        let (is_replayed, time) = self.stopwatch.time(|| {
            passing.with(|pass| {
                let needs = pass.batch.needs(number, schedule.logs.len());
                if let Some(blocking) = schedule.blocking(&mut one.worker, needs, Some(pass)) {
                    one.worker.blocked.push((number, blocking));
                    pass.is_contiguous = false;
                    return Ok(false);
                }
                let operations = pass.batch.operations(&entry);
                let place = entry.place(pass.log);
                schedule.replay.replay(&mut one.worker.scratch, place, operations).map(|()| true)
            })
        });
        let is_replayed = is_replayed?;
        passing.position = entry.end;
        passing.next += 1;
        one.worker.transactions += u64::from(is_replayed);
        let is_due = passing.next.is_multiple_of(schedule.published);
        let doing = if is_replayed { Doing::Replaying } else { Doing::Scheduling };
        self.done(worker, now + time, doing, if is_due { Todo::Publish } else { Todo::Pass });
        Ok(())
    }

    fn publish(&mut self, worker: usize, now: Time) -> Result<()> {
        let Some(mut passing) = self.workers[worker].passing.take() else { return Ok(()) };
        let log = passing.log;
        if let Some(again) = self.windows[log].retry_at(now, self.costs) {
            self.workers[worker].passing = Some(passing);
            self.done(worker, again, Doing::WaitingForLock, Todo::Publish);
            return Ok(());
        }
        let (schedule, one) = (&self.schedule, &mut self.workers[worker].worker);
        let (moved, time) = self.stopwatch.time(|| passing.with(|pass| schedule.note_passed(one, pass)));
        let noted = self.windows[log].hold(worker, now, time, self.costs);
        let ((), told) = self.tell(worker, noted, |schedule, worker| {
            passing.with(|pass| schedule.tell_passed(worker, pass, moved));
        });
        // The watermark is read by others.
        let told = told + if self.workers.len() > 1 { self.costs.handover } else { 0 };
        self.workers[worker].passing = Some(passing);
        self.done(worker, told, Doing::Scheduling, Todo::RunReady);
        Ok(())
    }

    fn run_ready(&mut self, worker: usize, now: Time) -> Result<()> {
        if let Some(record) = self.workers[worker].worker.ready.pop() {
            return self.replay_ready(worker, now, record);
        }
        let one = &mut self.workers[worker];
        let is_passed = |passing: &Passing| passing.position >= passing.batch.end;
        match one.passing.take() {
            Some(passing) if is_passed(&passing) => {
                self.schedule.logs[passing.log].in_flight.fetch_sub(1, Ordering::Relaxed);
                one.batch = passing.batch;
            }
            Some(passing) => {
                one.passing = Some(passing);
                one.todo = Todo::Pass;
            }
            None => {}
        }
        self.agenda.put(now, worker);
        Ok(())
    }

    fn replay_ready(&mut self, worker: usize, now: Time, ReadyRecord(parked): ReadyRecord) -> Result<()> {
        let (log, slot, place) = (parked.place.log, parked.slot, (parked.start, parked.place.end));
        let Worker { scratch, transactions, .. } = &mut self.workers[worker].worker;
        let replay = &self.schedule.replay;
        let (replayed, time) = self.stopwatch.time(|| {
            let replayed = replay.replay(scratch, parked.place, &parked.operations);
            drop(parked);
            replayed
        });
        replayed?;
        *transactions += 1;
        self.done(worker, now + time, Doing::Replaying, Todo::Finish { log, slot, place });
        Ok(())
    }

    fn finish(&mut self, worker: usize, now: Time, (log, slot, place): (usize, SlotNumber, (u64, u64))) {
        if let Some(again) = self.windows[log].retry_at(now, self.costs) {
            return self.done(worker, again, Doing::WaitingForLock, Todo::Finish { log, slot, place });
        }
        let (schedule, one) = (&self.schedule, &mut self.workers[worker].worker);
        let (moved, time) = self.stopwatch.time(|| schedule.note_finished(one, log, slot, place));
        let noted = self.windows[log].hold(worker, now, time, self.costs);
        let ((), told) = self.tell(worker, noted, |schedule, worker| {
            schedule.tell_moved(worker, log, moved);
            schedule.examine_woken(worker);
        });
        let told = told + if self.workers.len() > 1 { self.costs.handover } else { 0 };
        self.done(worker, told, Doing::Scheduling, Todo::RunReady);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
