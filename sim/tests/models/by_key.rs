//! Changes of rows are replayed key by key, in the order of commit times, in rounds.
//!
//! # What is modelled
//! `engine/src/recovery/by_key.rs` (docs/decisions/2026-11-29-replay-by-key.md). The paper (Taurus, VLDB
//! 2020, section 3.3) replays each log record after what its LSN vector covers, changes of rows as well as
//! calls. The histories are those of `logged_history`.
//!
//! # State
//! How far each log has been read, what of that has not been replayed, and the tasks of rounds: the changes
//! of one partition of the keys, or a call. Of each row the newest version.
//!
//! # Rule
//! The *bound* of a log is the time of the last anchor that was read. A round takes all that is at or below
//! the smallest bound and comes before the first call. It divides the changes by key, and sorts those of a
//! partition by time. Partitions of one round run in any order, each after the same partition of the round
//! before. A call runs alone: after all rounds before it, and before all after it.
//!
//! Where there are many calls, the rest is left to the replay by positions (`dated_replay`), which passes
//! what is not after the last round: by its time, for what has been read is not what has been replayed.
//!
//! # Oracle
//! Everything is replayed in the end, and the rows are those that the transactions that count have left when
//! they ran.

use crate::dated_replay;
use crate::logged_history::{Change, Entry, History, LOGS, Logging, Value, Work};
use crate::random::Random;

const PARTITIONS: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// The code's.
    AsImplemented,
    /// Broken: a round goes up to the largest bound.
    LargestBound,
    /// Broken: the bound of a log is the time of its last record that was read.
    BoundOfRecords,
    /// Broken: the changes of a partition are replayed as they were read.
    OrderOfArrival,
    /// Broken: partitions of different rounds run in any order.
    RoundsOverlap,
    /// Broken: a call does not wait for the partitions before it.
    CallsNotAlone,
}

/// What the replay by positions passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Handover {
    /// The code's: what is not after the last round.
    AfterLastRound,
    /// Broken: what has been read.
    AtReadPositions,
    /// Broken: what is not after the bounds.
    UpToBound,
}

enum Task {
    Partition(usize, Vec<(u64, usize, Change)>),
    Call(usize),
}

struct Replay<'h> {
    history: &'h History,
    rule: Rule,
    read: [usize; LOGS],
    bounds: [u64; LOGS],
    /// Read, but in no round.
    pending: Vec<usize>,
    /// In the order of rounds.
    tasks: Vec<Task>,
    rows: Vec<Value>,
    rounds: usize,
    /// Up to this time, all is in some round.
    begun: u64,
}

impl<'h> Replay<'h> {
    fn new(history: &'h History, rule: Rule) -> Replay<'h> {
        Replay {
            history,
            rule,
            read: [0; LOGS],
            bounds: [0; LOGS],
            pending: Vec::new(),
            tasks: Vec::new(),
            rows: vec![None; history.rows],
            rounds: 0,
            begun: 0,
        }
    }

    /// Replays all logs.
    fn run(&mut self, random: &mut Random) {
        let is_read = |replay: &Replay| (0..LOGS).all(|log| replay.bounds[log] == u64::MAX);
        while !is_read(self) || !self.pending.is_empty() || !self.tasks.is_empty() {
            self.step(random);
        }
    }

    /// Goes on for a while, and then ends what it has begun.
    fn run_for(&mut self, steps: usize, random: &mut Random) {
        (0..steps).for_each(|_| self.step(random));
        while !self.tasks.is_empty() {
            self.run_task(random);
        }
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(4) {
            0 | 1 => self.read(random.below(LOGS)),
            2 => self.begin_round(),
            _ => self.run_task(random),
        }
    }

    /// Has the rest replayed by positions. Returns the rows, unless something waits for ever.
    fn leave_rest(&self, handover: Handover, random: &mut Random) -> Option<Vec<Value>> {
        let history = self.history;
        let begun = if handover == Handover::UpToBound { self.bound() } else { self.begun };
        let is_replayed = |log: usize, at: usize| match history.logs[log][at] {
            _ if handover == Handover::AtReadPositions => at < self.read[log],
            Entry::Record(number) => {
                let one = &history.transactions[number];
                one.counts && one.time <= begun
            }
            Entry::Anchor(_) | Entry::Filler => false,
        };
        let numbers = 0..history.transactions.len();
        let vectors: Vec<[usize; LOGS]> = numbers.map(|number| history.vector(number)).collect();
        let mut rest = dated_replay::Replay::of_rest(history, &vectors, &self.rows, is_replayed);
        rest.run(random).then(|| rest.newest())
    }

    fn bound(&self) -> u64 {
        let bounds = self.bounds.iter().copied();
        let bound = if self.rule == Rule::LargestBound { bounds.max() } else { bounds.min() };
        bound.unwrap_or(0)
    }

    /// Reads the next entry of a log.
    fn read(&mut self, log: usize) {
        match self.history.logs[log].get(self.read[log]) {
            Some(Entry::Record(number)) if self.history.transactions[*number].counts => {
                self.pending.push(*number);
                if self.rule == Rule::BoundOfRecords {
                    self.bounds[log] = self.history.transactions[*number].time;
                }
            }
            Some(Entry::Anchor(time)) => self.bounds[log] = self.bounds[log].max(*time),
            Some(Entry::Record(_) | Entry::Filler) => {}
            None => self.bounds[log] = u64::MAX,
        }
        self.read[log] += 1;
    }

    /// Takes what is known completely, up to a call, or a call.
    fn begin_round(&mut self) {
        let (history, bound) = (self.history, self.bound());
        let time = |number: &usize| history.transactions[*number].time;
        let is_call = |number: &usize| matches!(history.transactions[*number].work, Work::Call { .. });
        let known = self.pending.iter().copied().filter(|number| time(number) <= bound);
        let first_call = known.clone().filter(is_call).min_by_key(time);
        let before = first_call.map_or(bound, |call| time(&call) - 1);
        let taken: Vec<usize> = known.filter(|number| time(number) <= before).collect();
        let taken = match (taken.is_empty(), first_call) {
            (true, None) => return,
            (true, Some(call)) => {
                self.begun = time(&call);
                self.tasks.push(Task::Call(call));
                vec![call]
            }
            (false, _) => {
                self.begun = before;
                self.divide(&taken);
                taken
            }
        };
        self.rounds += 1;
        self.pending.retain(|number| !taken.contains(number));
    }

    fn divide(&mut self, round: &[usize]) {
        for partition in 0..PARTITIONS {
            let mut changes: Vec<(u64, usize, Change)> = Vec::new();
            for one in round.iter().map(|number| &self.history.transactions[*number]) {
                let Work::Data(of_one) = &one.work else { continue };
                let of_partition = of_one.iter().filter(|(row, _)| row % PARTITIONS == partition);
                changes.extend(of_partition.map(|(row, change)| (one.time, *row, *change)));
            }
            if self.rule != Rule::OrderOfArrival {
                changes.sort_unstable_by_key(|(time, ..)| *time);
            }
            self.tasks.push(Task::Partition(partition, changes));
        }
    }

    /// Whether a task need not wait for this earlier one.
    fn may_pass(&self, task: &Task, earlier: &Task) -> bool {
        match (earlier, task) {
            (Task::Partition(one, _), Task::Partition(other, _)) => {
                one != other || self.rule == Rule::RoundsOverlap
            }
            (Task::Partition(..), Task::Call(_)) => self.rule == Rule::CallsNotAlone,
            (Task::Call(_), _) => false,
        }
    }

    fn run_task(&mut self, random: &mut Random) {
        let is_ready =
            |place: &usize| self.tasks[..*place].iter().all(|one| self.may_pass(&self.tasks[*place], one));
        let ready: Vec<usize> = (0..self.tasks.len()).filter(is_ready).collect();
        if ready.is_empty() {
            return;
        }
        match self.tasks.remove(ready[random.below(ready.len())]) {
            Task::Partition(_, changes) => {
                for (time, row, change) in changes {
                    self.rows[row] = change.apply(time, self.rows[row]);
                }
            }
            Task::Call(number) => {
                let one = &self.history.transactions[number];
                for (row, value) in one.work.run(one.time, |row| self.rows[row]) {
                    self.rows[row] = value;
                }
            }
        }
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Found {
    replays: usize,
    replayed: usize,
    rounds: usize,
    wrong: usize,
}

/// `calls`: the percentage of transactions that are calls.
fn runs(rule: Rule, logging: Logging, calls: usize) -> Found {
    let mut found = Found::default();
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let history = History::new(logging, calls, &mut random);
        let mut replay = Replay::new(&history, rule);
        replay.run(&mut random);
        found.replays += 1;
        found.replayed += history.transactions.iter().filter(|one| one.counts).count();
        found.rounds += replay.rounds;
        found.wrong += usize::from(replay.rows != history.expected());
    }
    println!("replay by key, {rule:?}, {logging:?}, {calls} % calls: {found:?}");
    found
}

/// Replays a part by key, and leaves the rest to the replay by positions.
fn handovers(handover: Handover) -> Found {
    let mut found = Found::default();
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let history = History::new(Logging::AsImplemented, 50, &mut random);
        let mut replay = Replay::new(&history, Rule::AsImplemented);
        replay.run_for(random.below(60), &mut random);
        let rows = replay.leave_rest(handover, &mut random);
        found.replays += 1;
        found.replayed += history.transactions.iter().filter(|one| one.counts).count();
        found.rounds += replay.rounds;
        found.wrong += usize::from(rows != Some(history.expected()));
    }
    println!("replay by key, then by positions, {handover:?}: {found:?}");
    found
}

#[test]
fn what_rounds_leave_can_be_replayed_by_positions() {
    let found = handovers(Handover::AfterLastRound);
    assert_eq!(found.wrong, 0, "{found:?}");
    assert!(found.replayed > 10_000 && found.rounds > 5000, "{found:?}");
}

#[test]
fn what_has_been_read_has_not_all_been_replayed() {
    assert!(handovers(Handover::AtReadPositions).wrong > 100);
}

#[test]
fn what_the_bounds_cover_has_not_all_been_replayed() {
    assert!(handovers(Handover::UpToBound).wrong > 100);
}

#[test]
fn rounds_up_to_the_smallest_bound_replay_the_order_of_times() {
    for calls in [0, 15] {
        let found = runs(Rule::AsImplemented, Logging::AsImplemented, calls);
        assert_eq!(found.wrong, 0, "{found:?}");
        assert!(found.replayed > 10_000 && found.rounds > 5000, "{found:?}");
    }
}

#[test]
fn a_round_up_to_the_largest_bound_is_not_complete() {
    assert!(runs(Rule::LargestBound, Logging::AsImplemented, 0).wrong > 20);
}

#[test]
fn the_time_of_a_record_bounds_nothing() {
    assert!(runs(Rule::BoundOfRecords, Logging::AsImplemented, 0).wrong > 5);
}

#[test]
fn the_order_of_arrival_is_not_that_of_times() {
    assert!(runs(Rule::OrderOfArrival, Logging::AsImplemented, 0).wrong > 100);
}

#[test]
fn rounds_that_overlap_undo_each_other() {
    assert!(runs(Rule::RoundsOverlap, Logging::AsImplemented, 0).wrong > 100);
}

#[test]
fn a_call_beside_a_round_reads_what_is_not_there_yet() {
    assert!(runs(Rule::CallsNotAlone, Logging::AsImplemented, 15).wrong > 100);
}

#[test]
fn an_anchor_with_a_time_after_its_place_is_no_bound() {
    assert!(runs(Rule::AsImplemented, Logging::AnchorTimeAfterPlace, 0).wrong > 0);
}

/// Changes of one row keep their order even then: the second transaction begins after the first has its
/// place. But a call may read what a transaction with an earlier place overwrites later.
#[test]
fn a_time_before_the_place_is_not_after_the_anchor() {
    assert_eq!(runs(Rule::AsImplemented, Logging::TimeBeforePlace, 0).wrong, 0);
    assert!(runs(Rule::AsImplemented, Logging::TimeBeforePlace, 30).wrong > 0);
}
