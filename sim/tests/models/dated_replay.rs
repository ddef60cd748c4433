//! Calls are replayed at their commit times, on rows that keep versions as long as a call may need them.
//!
//! # What is modelled
//! `engine/src/recovery/schedule.rs` with `low` and `waiting` there, and `engine/src/txn/replay_versions.rs`
//! (docs/decisions/2026-11-29-calls-at-their-times.md). The paper (Taurus, VLDB 2020, section 4.4) orders a
//! call before all that has overwritten what it read, by what readers leave; here readers leave nothing. The
//! histories are those of `logged_history`.
//!
//! # State
//! The versions of each row, in the order in which they were replayed. Which entries of each log are
//! finished, and its watermark: up to there all are.
//!
//! # Rule
//! A record is replayed when what it follows has been: the positions of its vector lie at or below the
//! watermarks (Taurus), or the records that it names are finished (dependency graph). What does not count is
//! passed. A change becomes the newest version of its row. A call sees of each row the newest version before
//! its own time. The *low time* is the smallest, among the logs, of the last anchor before the watermark:
//! what is left is later. A version is forgotten if a later one is not after the low time.
//!
//! # Oracle
//! Everything is replayed in the end, and the rows are those that the transactions that count have left when
//! they ran.

use crate::logged_history::{Entry, History, LOGS, Logging, Value, Work};
use crate::random::Random;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// The code's.
    AsImplemented,
    /// Broken: a call reads the newest rows.
    CallsReadTheNewest,
    /// Broken: what is replaced is forgotten at once.
    NothingKept,
    /// Broken: the low time is the largest of all logs.
    LargestLow,
    /// Broken: the low time is that of the last anchor that was passed, whatever is unfinished before it.
    LowBeyondWatermark,
    /// Broken: a call waits for nothing.
    CallsDoNotWait,
    /// Broken: a logged change waits for nothing.
    ChangesDoNotWait,
}

/// What records say of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// Their LSN vectors.
    Vectors,
    /// The ids of those that they follow.
    Ids,
}

/// A worker looks at most so far beyond the watermark of a log.
const WINDOW: usize = 8;

/// A replay by positions.
pub(crate) struct Replay<'h> {
    history: &'h History,
    vectors: &'h [[usize; LOGS]],
    rule: Rule,
    order: Order,
    /// The versions of each row, with their times.
    rows: Vec<Vec<(u64, Value)>>,
    finished: [Vec<bool>; LOGS],
    watermarks: [usize; LOGS],
    found: Found,
}

impl<'h> Replay<'h> {
    fn new(history: &'h History, vectors: &'h [[usize; LOGS]], rule: Rule, order: Order) -> Replay<'h> {
        Replay {
            history,
            vectors,
            rule,
            order,
            rows: vec![Vec::new(); history.rows],
            finished: std::array::from_fn(|log| vec![false; history.logs[log].len()]),
            watermarks: [0; LOGS],
            found: Found::default(),
        }
    }

    /// What a replay by key has left: its rows, and which entries of a log have been replayed.
    pub(crate) fn of_rest(
        history: &'h History,
        vectors: &'h [[usize; LOGS]],
        rows: &[Value],
        is_replayed: impl Fn(usize, usize) -> bool,
    ) -> Replay<'h> {
        let mut replay = Replay::new(history, vectors, Rule::AsImplemented, Order::Vectors);
        replay.rows = rows.iter().map(|value| vec![(0, *value)]).collect();
        for log in 0..LOGS {
            let replayed = (0..replay.finished[log].len()).map(|at| is_replayed(log, at));
            replay.finished[log] = replayed.collect();
            replay.raise_watermark(log);
        }
        replay
    }

    /// Replays all logs, one record after another. Returns false if something waits for ever.
    pub(crate) fn run(&mut self, random: &mut Random) -> bool {
        loop {
            let mut places: Vec<(usize, usize)> = (0..LOGS).flat_map(|log| self.places(log)).collect();
            if places.is_empty() {
                return true;
            }
            random.shuffle(&mut places);
            let Some((log, at)) = places.into_iter().find(|(log, at)| self.is_ready(*log, *at)) else {
                return false;
            };
            if let Entry::Record(number) = self.history.logs[log][at] {
                self.replay(number);
            }
            self.finish(log, at);
        }
    }

    /// The unfinished entries of a log that a worker looks at.
    fn places(&self, log: usize) -> Vec<(usize, usize)> {
        let (from, end) = (self.watermarks[log], self.finished[log].len());
        let window = from..end.min(from + WINDOW);
        window.filter(|at| !self.finished[log][*at]).map(|at| (log, at)).collect()
    }

    fn is_ready(&self, log: usize, at: usize) -> bool {
        let Entry::Record(number) = self.history.logs[log][at] else { return true };
        let one = &self.history.transactions[number];
        let waits = match (self.rule, &one.work) {
            (Rule::CallsDoNotWait, Work::Call { .. }) | (Rule::ChangesDoNotWait, Work::Data(_)) => false,
            _ => one.counts,
        };
        !waits
            || match self.order {
                Order::Vectors => {
                    self.vectors[number].iter().zip(&self.watermarks).all(|(entry, mark)| entry <= mark)
                }
                Order::Ids => one.follows.iter().all(|other| {
                    let other = &self.history.transactions[*other];
                    self.finished[other.log][other.end - 1]
                }),
            }
    }

    fn replay(&mut self, number: usize) {
        let one = &self.history.transactions[number];
        if !one.counts {
            self.found.passed += 1;
            return;
        }
        let is_call = matches!(one.work, Work::Call { .. });
        // A call sees the rows of its time, a change is one of the newest.
        let at = if is_call && self.rule != Rule::CallsReadTheNewest { one.time } else { u64::MAX };
        let seen = |row: usize| {
            let mut versions = self.rows[row].iter().rev();
            versions.find(|(time, _)| *time < at).and_then(|(_, value)| *value)
        };
        let is_late = |row: &Vec<(u64, Value)>| row.last().is_some_and(|(time, _)| *time > one.time);
        self.found.late_calls += usize::from(is_call && self.rows.iter().any(is_late));
        for (row, value) in one.work.run(one.time, seen) {
            self.rows[row].push((one.time, value));
        }
    }

    fn finish(&mut self, log: usize, at: usize) {
        self.finished[log][at] = true;
        self.raise_watermark(log);
        let low = self.low();
        for versions in &mut self.rows {
            let before = versions.len();
            // The newest one that is not after the low time hides those before it.
            if let Some(last) = versions.iter().rposition(|(time, _)| *time <= low) {
                versions.drain(..last);
            }
            self.found.forgotten += before - versions.len();
        }
    }

    fn raise_watermark(&mut self, log: usize) {
        let ahead = self.finished[log].iter().take_while(|is_finished| **is_finished);
        self.watermarks[log] = ahead.count();
    }

    /// Everything that is still to be replayed is later.
    fn low(&self) -> u64 {
        let of_log = |log: usize| {
            let finished = &self.finished[log];
            let passed = match self.rule {
                Rule::LowBeyondWatermark => finished.iter().rposition(|is| *is).map_or(0, |at| at + 1),
                _ => self.watermarks[log],
            };
            if passed == finished.len() {
                return u64::MAX;
            }
            let times = self.history.logs[log][..passed].iter().rev().find_map(|entry| match entry {
                Entry::Anchor(time) => Some(*time),
                Entry::Record(_) | Entry::Filler => None,
            });
            times.unwrap_or(0)
        };
        let lows = (0..LOGS).map(of_log);
        match self.rule {
            Rule::NothingKept => u64::MAX,
            Rule::LargestLow => lows.max().unwrap_or(0),
            _ => lows.min().unwrap_or(0),
        }
    }

    /// The newest version of each row.
    pub(crate) fn newest(&self) -> Vec<Value> {
        self.rows.iter().map(|versions| versions.last().and_then(|(_, value)| *value)).collect()
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Found {
    replays: usize,
    /// Records that do not count.
    passed: usize,
    /// Calls that were replayed after something that had run later.
    late_calls: usize,
    /// Versions.
    forgotten: usize,
    stuck: usize,
    wrong: usize,
}

fn runs(rule: Rule, logging: Logging) -> Found {
    let mut found = Found::default();
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let history = History::new(logging, 50, &mut random);
        let vectors: Vec<_> = (0..history.transactions.len()).map(|number| history.vector(number)).collect();
        for order in [Order::Vectors, Order::Ids] {
            let mut replay = Replay::new(&history, &vectors, rule, order);
            let has_ended = replay.run(&mut random);
            found.replays += 1;
            found.stuck += usize::from(!has_ended);
            found.wrong += usize::from(has_ended && replay.newest() != history.expected());
            found.passed += replay.found.passed;
            found.late_calls += replay.found.late_calls;
            found.forgotten += replay.found.forgotten;
        }
    }
    println!("replay of calls, {rule:?}, {logging:?}: {found:?}");
    found
}

#[test]
fn calls_at_their_times_do_what_they_did() {
    let found = runs(Rule::AsImplemented, Logging::AsImplemented);
    assert_eq!([found.stuck, found.wrong], [0, 0], "{found:?}");
    assert!(found.passed > 1000 && found.late_calls > 1000 && found.forgotten > 1000, "{found:?}");
}

#[test]
fn a_call_that_reads_the_newest_rows_reads_what_came_later() {
    assert!(runs(Rule::CallsReadTheNewest, Logging::AsImplemented).wrong > 100);
}

#[test]
fn a_version_that_is_not_kept_is_missed_by_a_call() {
    assert!(runs(Rule::NothingKept, Logging::AsImplemented).wrong > 100);
}

#[test]
fn a_low_time_that_leaves_out_a_log_forgets_too_much() {
    assert!(runs(Rule::LargestLow, Logging::AsImplemented).wrong > 20);
}

#[test]
fn a_low_time_beyond_the_watermark_forgets_too_much() {
    assert!(runs(Rule::LowBeyondWatermark, Logging::AsImplemented).wrong > 0);
}

#[test]
fn a_call_that_does_not_wait_misses_what_it_has_read() {
    assert!(runs(Rule::CallsDoNotWait, Logging::AsImplemented).wrong > 100);
}

#[test]
fn a_change_that_does_not_wait_is_undone_by_an_earlier_one() {
    assert!(runs(Rule::ChangesDoNotWait, Logging::AsImplemented).wrong > 100);
}

#[test]
fn a_tombstone_that_is_not_followed_leaves_writers_without_order() {
    assert!(runs(Rule::AsImplemented, Logging::TombstonesNotFollowed).wrong > 20);
}

#[test]
fn an_anchor_with_a_time_after_its_place_forgets_too_much() {
    assert!(runs(Rule::AsImplemented, Logging::AnchorTimeAfterPlace).wrong > 0);
}

#[test]
fn a_time_before_the_place_makes_anchors_wrong() {
    assert!(runs(Rule::AsImplemented, Logging::TimeBeforePlace).wrong > 0);
}
