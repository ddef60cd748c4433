//! Plover: each log has a part of the data, and global sequence numbers (GSNs) order transactions. See `cuts`
//! for stamps, milestones and the oracle.
//!
//! # What is modelled
//! `engine/src/protocol/plover.rs`, after the baseline of that name in Taurus (VLDB 2020), section 5. Random
//! interleavings of three workers and the loggers, at the level of the steps that the invariants there order.
//!
//! # State
//! For each log: its latch, and its GSN, that of its last place. Rows: their locks, their last writers, and
//! the GSNs of these. A row belongs to a log. The stamp of a record is its GSN.
//!
//! # Rule
//! A transaction locks its rows. It takes the latches of all logs that it writes to, in their order; its GSN
//! is larger than the GSNs of these logs and than those of all that it has read or overwritten (which may be
//! forgotten once they are durable). It reserves a place for its part in each log, raises the logs' GSNs,
//! gives the latches back, and then its rows. A logger finds the largest GSN of all logs, takes the latch of
//! its log, appends a milestone that names that GSN, and raises its log's GSN to it.

use std::collections::BTreeSet;

use crate::cuts::{Among, Entry, Found, LOGS, Ledger, Logs, Transaction};
use crate::random::Random;

const WORKERS: usize = 3;
const ROWS: usize = 6;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// The code's.
    AsImplemented,
    /// Right, too: in place of marks, the GSNs of all logs count of which something is read or written.
    GsnsOfReadLogs,
    /// Broken: what is in the logs that are only read does not count.
    GsnOfOwnLogs,
    /// Broken: the places are reserved after the latches have been given back.
    PlaceAfterLatch,
    /// Broken: a milestone takes no latch, and does not raise the GSN of its log.
    HeartbeatBesideLatch,
    /// Broken: a logger writes milestones only after records.
    NoMilestoneWithoutTraffic,
    /// Broken: the durable GSN, and the cut, is the largest that the last milestones name.
    LargestMilestone,
    /// Broken: a reader's answer waits for nothing.
    ReadersDoNotWait,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    Chosen,
    /// Takes its latches, one after another.
    Latching,
    /// Has its GSN, and reserves its places, one after another.
    Reserving,
    HasPlaces,
}

#[derive(Clone)]
struct Worker {
    stage: Stage,
    /// The rows, and whether they are written.
    rows: Vec<(usize, bool)>,
    transaction: Option<Transaction>,
    /// The largest GSN of what it has seen; then its own.
    gsn: u64,
    /// The logs that it writes to, and how many of them have been latched, or have a place.
    parts: Vec<usize>,
    reached: usize,
}

#[derive(Clone, Copy, Default)]
struct Row {
    locked_by: Option<usize>,
    last_writer: Option<(Transaction, u64)>,
}

/// What orders the records of a log.
#[derive(Clone, Copy, Default)]
struct Sequence {
    latched_by: Option<usize>,
    gsn: u64,
    /// The largest GSN that its logger has found, and not named yet.
    found: Option<u64>,
}

struct Run {
    rule: Rule,
    random: Random,
    logs: Logs,
    ledger: Ledger,
    rows: [Row; ROWS],
    workers: [Worker; WORKERS],
    sequences: [Sequence; LOGS],
}

fn log_of(row: usize) -> usize {
    row % LOGS
}

impl Run {
    fn new(rule: Rule, seed: u64) -> Run {
        let among = if rule == Rule::LargestMilestone { Among::Largest } else { Among::Smallest };
        let (rows, parts) = (Vec::new(), Vec::new());
        let idle = Worker { stage: Stage::Idle, rows, transaction: None, gsn: 0, parts, reached: 0 };
        Run {
            rule,
            random: Random::new(seed),
            logs: Logs::new(among),
            ledger: Ledger::default(),
            rows: [Row::default(); ROWS],
            workers: std::array::from_fn(|_| idle.clone()),
            sequences: [Sequence::default(); LOGS],
        }
    }

    fn choose(&mut self, worker: usize) {
        let count = self.random.between(1, 3);
        let rows = self.random.some_below(ROWS, count);
        self.workers[worker].rows = rows.into_iter().map(|row| (row, self.random.percent(50))).collect();
        self.workers[worker].stage = Stage::Chosen;
    }

    /// The largest GSN of what is in these rows.
    fn seen_gsn(&self, rows: &[(usize, bool)]) -> u64 {
        let durable = self.logs.durable_stamp();
        let marks = rows.iter().filter_map(|(row, _)| self.rows[*row].last_writer).map(|(_, gsn)| gsn);
        let of_logs = rows.iter().map(|(row, _)| self.sequences[log_of(*row)].gsn);
        let largest = match self.rule {
            Rule::GsnsOfReadLogs => of_logs.max(),
            // What is durable may be forgotten.
            _ => marks.filter(|gsn| *gsn > durable).max(),
        };
        largest.unwrap_or(0)
    }

    /// Locks all rows, if they are free. A transaction that only reads ends here.
    fn lock(&mut self, worker: usize) {
        let rows = self.workers[worker].rows.clone();
        if rows.iter().any(|(row, _)| self.rows[*row].locked_by.is_some()) {
            return;
        }
        let follows = rows.iter().filter_map(|(row, _)| self.rows[*row].last_writer).map(|(of, _)| of);
        let written = rows.iter().filter(|(_, is_written)| *is_written);
        let parts: BTreeSet<usize> = written.map(|(row, _)| log_of(*row)).collect();
        let transaction = self.ledger.begin(follows.collect(), parts.clone());
        let gsn = self.seen_gsn(&rows);
        if parts.is_empty() {
            self.ledger.await_stamp(transaction, if self.rule == Rule::ReadersDoNotWait { 0 } else { gsn });
            self.workers[worker].stage = Stage::Idle;
            return;
        }
        rows.iter().for_each(|(row, _)| self.rows[*row].locked_by = Some(worker));
        let (transaction, parts) = (Some(transaction), parts.into_iter().collect());
        self.workers[worker] = Worker { stage: Stage::Latching, rows, transaction, gsn, parts, reached: 0 };
    }

    /// Takes the next latch. With all of them, draws the GSN.
    fn latch(&mut self, worker: usize) {
        let one = &mut self.workers[worker];
        if let Some(log) = one.parts.get(one.reached) {
            let latched_by = &mut self.sequences[*log].latched_by;
            if latched_by.is_none() {
                *latched_by = Some(worker);
                one.reached += 1;
            }
            return;
        }
        let last = one.parts.iter().map(|log| self.sequences[*log].gsn).max().unwrap_or(0);
        let follows = if self.rule == Rule::GsnOfOwnLogs { 0 } else { one.gsn };
        one.gsn = last.max(follows) + 1;
        (one.stage, one.reached) = (Stage::Reserving, 0);
        if self.rule == Rule::PlaceAfterLatch {
            self.raise_and_unlatch(worker);
        }
    }

    fn raise_and_unlatch(&mut self, worker: usize) {
        let Worker { parts, gsn, .. } = &self.workers[worker];
        for log in parts {
            let sequence = &mut self.sequences[*log];
            sequence.gsn = sequence.gsn.max(*gsn);
            sequence.latched_by = None;
        }
    }

    /// Reserves the next place. With all of them, gives the latches back.
    fn reserve(&mut self, worker: usize) {
        let one = &mut self.workers[worker];
        let Worker { transaction: Some(of), gsn: stamp, .. } = *one else { return };
        if let Some(log) = one.parts.get(one.reached) {
            self.logs.append(*log, Entry::Record { of, stamp });
            one.reached += 1;
            return;
        }
        one.stage = Stage::HasPlaces;
        if self.rule != Rule::PlaceAfterLatch {
            self.raise_and_unlatch(worker);
        }
    }

    /// Leaves marks at the rows, and gives them back.
    fn publish(&mut self, worker: usize) {
        let Worker { transaction: Some(of), gsn, .. } = self.workers[worker] else { return };
        for (row, is_written) in std::mem::take(&mut self.workers[worker].rows) {
            self.rows[row].locked_by = None;
            if is_written {
                self.rows[row].last_writer = Some((of, gsn));
            }
        }
        self.ledger.await_stamp(of, gsn);
        self.workers[worker].stage = Stage::Idle;
    }

    fn step_of_worker(&mut self, worker: usize) {
        match self.workers[worker].stage {
            Stage::Idle => self.choose(worker),
            Stage::Chosen => self.lock(worker),
            Stage::Latching => self.latch(worker),
            Stage::Reserving => self.reserve(worker),
            Stage::HasPlaces => self.publish(worker),
        }
    }

    /// A logger looks at all logs, and then appends a milestone to its own, once it has the latch.
    fn step_of_logger(&mut self, log: usize) {
        let is_beside = self.rule == Rule::HeartbeatBesideLatch;
        let Some(found) = self.sequences[log].found else {
            let newest = self.sequences.iter().map(|sequence| sequence.gsn).max().unwrap_or(0);
            let is_due = self.rule != Rule::NoMilestoneWithoutTraffic || self.logs.has_traffic(log);
            self.sequences[log].found = (newest > self.logs.named(log) && is_due).then_some(newest);
            return;
        };
        if self.sequences[log].latched_by.is_some() && !is_beside {
            return;
        }
        let stamp = if is_beside { found } else { found.max(self.sequences[log].gsn) };
        self.logs.append(log, Entry::Milestone { stamp });
        self.sequences[log].found = None;
        if !is_beside {
            self.sequences[log].gsn = stamp;
        }
    }

    /// A thread runs for a while, and all others stand still.
    fn step(&mut self) {
        let thread = self.random.below(WORKERS + 2);
        for _ in 0..self.random.between(1, 8) {
            match thread {
                worker if worker < WORKERS => self.step_of_worker(worker),
                _ => self.step_of_background(),
            }
        }
    }

    fn step_of_background(&mut self) {
        let log = self.random.below(LOGS);
        if self.random.percent(40) {
            self.step_of_logger(log);
        } else {
            self.logs.sync(log, &mut self.random);
            self.ledger.acknowledge(self.logs.durable_stamp());
        }
    }

    /// No more transactions begin; all others go on for as long as they have something to do.
    fn come_to_rest(&mut self) {
        for _ in 0..60 {
            let is_busy =
                |worker: &usize| !matches!(self.workers[*worker].stage, Stage::Idle | Stage::Chosen);
            let busy: Vec<usize> = (0..WORKERS).filter(is_busy).collect();
            busy.into_iter().for_each(|worker| self.step_of_worker(worker));
            (0..LOGS).for_each(|log| self.step_of_logger(log));
            self.logs.sync_all();
            self.ledger.acknowledge(self.logs.durable_stamp());
        }
    }
}

fn runs(rule: Rule) -> Found {
    let mut found = Found::default();
    for seed in 0..8000 {
        let mut run = Run::new(rule, seed);
        let steps = run.random.between(10, 60);
        (0..steps).for_each(|_| run.step());
        if seed % 4 == 0 {
            run.come_to_rest();
            run.ledger.judge_rest(&mut found);
        } else {
            run.logs.crash(&mut run.random);
            run.ledger.judge_crash(&run.logs, run.logs.cut(), &mut found);
        }
    }
    println!("Plover, {rule:?}: {found:?}");
    found
}

#[test]
fn what_the_durable_gsn_covers_is_closed_and_whole() {
    runs(Rule::AsImplemented).check_right();
}

#[test]
fn the_gsns_of_the_logs_that_are_read_would_do_in_place_of_marks() {
    runs(Rule::GsnsOfReadLogs).check_right();
}

#[test]
fn a_gsn_of_the_own_logs_alone_is_not_after_what_was_read() {
    let found = runs(Rule::GsnOfOwnLogs);
    assert!(found.not_closed > 5, "{found:?}");
}

#[test]
fn a_place_reserved_after_the_latch_loses_acknowledged_answers() {
    let found = runs(Rule::PlaceAfterLatch);
    assert!(found.answers_lost > 5 && found.torn > 5, "{found:?}");
}

#[test]
fn a_milestone_beside_the_latch_loses_acknowledged_answers() {
    let found = runs(Rule::HeartbeatBesideLatch);
    assert!(found.answers_lost > 5, "{found:?}");
}

#[test]
fn an_idle_log_without_milestones_keeps_all_answers_waiting() {
    let found = runs(Rule::NoMilestoneWithoutTraffic);
    assert!(found.never_acknowledged > 100, "{found:?}");
}

#[test]
fn the_largest_milestone_tears_transactions_apart() {
    let found = runs(Rule::LargestMilestone);
    assert!(found.torn > 20 && found.answers_lost > 20, "{found:?}");
}

#[test]
fn a_reader_that_does_not_wait_has_seen_what_is_lost() {
    let found = runs(Rule::ReadersDoNotWait);
    assert!(found.answers_lost > 100 && found.not_closed == 0, "{found:?}");
}
