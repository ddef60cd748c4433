//! Rows as sets of dated versions: changes of rows are replayed in any order. Considered, and not built.
//!
//! # What is modelled
//! The way that docs/decisions/2026-11-29-replay-by-key.md rejects ("rows with times while recovery lasts"):
//! it is right, but needs a latch for each row, and patches that name the time of what they patch. The
//! histories are those of `logged_history`.
//!
//! # State
//! The versions of each row by their times. Patches that wait, each with the time of the version that it
//! patches. Which transactions are done. Watermarks and the low time as in `dated_replay`.
//!
//! # Rule
//! A put or a delete waits for nothing: its version goes where its time says. A patch waits until the version
//! before its own time is the one that it patches. A call waits for what it follows, and reads and writes at
//! its own time. A record is done when all its patches are. A version is forgotten if a later one is not
//! after the low time.
//!
//! # Oracle
//! Everything is replayed in the end, and the rows are those that the transactions that count have left when
//! they ran.

use std::collections::BTreeMap;

use crate::logged_history::{Change, Entry, History, LOGS, Logging, Value, Work};
use crate::random::Random;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// Right, and considered.
    Considered,
    /// Broken: a row keeps its newest version only.
    NewestOnly,
    /// Broken: a version that comes after a later one is dropped.
    LateVersionDropped,
    /// Broken: a patch waits for nothing.
    PatchesDoNotWait,
    /// Broken: a record is done although a patch of it waits.
    WaitingIsDone,
    /// Broken: a call waits for nothing.
    CallsDoNotWait,
}

struct WaitingPatch {
    number: usize,
    row: usize,
    base: u64,
}

struct Replay<'h> {
    history: &'h History,
    rule: Rule,
    rows: Vec<BTreeMap<u64, Value>>,
    /// For each record, how many patches of it wait; nothing as long as it has not been looked at.
    left: Vec<Option<usize>>,
    waiting: Vec<WaitingPatch>,
    /// Versions that came after a later one.
    late: usize,
}

impl<'h> Replay<'h> {
    fn new(history: &'h History, rule: Rule) -> Replay<'h> {
        Replay {
            history,
            rule,
            rows: vec![BTreeMap::new(); history.rows],
            left: vec![None; history.transactions.len()],
            waiting: Vec::new(),
            late: 0,
        }
    }

    /// Replays all records, in any order. Returns false if something waits for ever.
    fn run(&mut self, random: &mut Random) -> bool {
        loop {
            let is_left =
                |number: &usize| self.history.transactions[*number].counts && self.left[*number].is_none();
            let mut records: Vec<usize> = (0..self.left.len()).filter(is_left).collect();
            if records.is_empty() && self.waiting.is_empty() {
                return true;
            }
            random.shuffle(&mut records);
            let ready = records.into_iter().find(|number| self.is_ready(*number));
            ready.into_iter().for_each(|number| self.replay(number));
            let patches = self.waiting.len();
            self.look_at_patches(random);
            if ready.is_none() && self.waiting.len() == patches {
                return false;
            }
            self.forget();
        }
    }

    fn is_done(&self, number: usize) -> bool {
        !self.history.transactions[number].counts
            || match self.rule {
                Rule::WaitingIsDone => self.left[number].is_some(),
                _ => self.left[number] == Some(0),
            }
    }

    fn is_ready(&self, number: usize) -> bool {
        let one = &self.history.transactions[number];
        matches!(one.work, Work::Data(_))
            || self.rule == Rule::CallsDoNotWait
            || one.follows.iter().all(|other| self.is_done(*other))
    }

    fn version_before(&self, row: usize, time: u64) -> Option<(u64, Value)> {
        self.rows[row].range(..time).next_back().map(|(time, value)| (*time, *value))
    }

    fn install(&mut self, row: usize, time: u64, value: Value) {
        let is_late = self.rows[row].last_key_value().is_some_and(|(newest, _)| *newest > time);
        self.late += usize::from(is_late);
        match self.rule {
            Rule::LateVersionDropped | Rule::NewestOnly if is_late => return,
            Rule::NewestOnly => self.rows[row].clear(),
            _ => {}
        }
        self.rows[row].insert(time, value);
    }

    fn replay(&mut self, number: usize) {
        let one = &self.history.transactions[number];
        let mut left = 0;
        match &one.work {
            Work::Data(changes) => {
                for (row, change) in changes {
                    if *change == Change::Patch {
                        let base = self.patched_time(*row, one.time);
                        self.waiting.push(WaitingPatch { number, row: *row, base });
                        left += 1;
                    } else {
                        self.install(*row, one.time, change.apply(one.time, None));
                    }
                }
            }
            call @ Work::Call { .. } => {
                let seen = |row: usize| self.version_before(row, one.time).and_then(|(_, value)| value);
                let written = call.run(one.time, seen);
                written.into_iter().for_each(|(row, value)| self.install(row, one.time, value));
            }
        }
        self.left[number] = Some(left);
    }

    /// What the record of a patch names: the time of the version before it, when it was logged.
    fn patched_time(&self, row: usize, time: u64) -> u64 {
        let wrote = |wrote: &[(usize, Value)]| wrote.iter().any(|(written, _)| *written == row);
        let earlier = self.history.transactions.iter().filter(|one| one.time < time && wrote(&one.wrote));
        earlier.map(|one| one.time).max().unwrap_or(0)
    }

    fn look_at_patches(&mut self, random: &mut Random) {
        random.shuffle(&mut self.waiting);
        for WaitingPatch { number, row, base } in std::mem::take(&mut self.waiting) {
            let time = self.history.transactions[number].time;
            let before = self.version_before(row, time);
            let is_ready = before.is_some_and(|(time, _)| time == base);
            if !is_ready && self.rule != Rule::PatchesDoNotWait {
                self.waiting.push(WaitingPatch { number, row, base });
                continue;
            }
            let old = before.and_then(|(_, value)| value);
            self.install(row, time, Change::Patch.apply(time, old));
            self.left[number] = self.left[number].map(|left| left - 1);
        }
    }

    fn forget(&mut self) {
        let low = (0..LOGS).map(|log| self.low_of(log)).min().unwrap_or(0);
        for versions in &mut self.rows {
            if let Some(last) = versions.range(..=low).next_back().map(|(time, _)| *time) {
                *versions = versions.split_off(&last);
            }
        }
    }

    /// What is left of a log is later than this.
    fn low_of(&self, log: usize) -> u64 {
        let mut low = 0;
        for entry in &self.history.logs[log] {
            match entry {
                Entry::Record(number) if !self.is_done(*number) => return low,
                Entry::Anchor(time) => low = *time,
                Entry::Record(_) | Entry::Filler => {}
            }
        }
        u64::MAX
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Found {
    replays: usize,
    late: usize,
    stuck: usize,
    wrong: usize,
}

fn runs(rule: Rule, logging: Logging) -> Found {
    let mut found = Found::default();
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let history = History::new(logging, 40, &mut random);
        let mut replay = Replay::new(&history, rule);
        let has_ended = replay.run(&mut random);
        let newest =
            |versions: &BTreeMap<u64, Value>| versions.last_key_value().and_then(|(_, value)| *value);
        let rows: Vec<Value> = replay.rows.iter().map(newest).collect();
        found.replays += 1;
        found.late += replay.late;
        found.stuck += usize::from(!has_ended);
        found.wrong += usize::from(has_ended && rows != history.expected());
    }
    println!("any order, {rule:?}, {logging:?}: {found:?}");
    found
}

#[test]
fn dated_versions_can_come_in_any_order() {
    let found = runs(Rule::Considered, Logging::AsImplemented);
    assert_eq!([found.stuck, found.wrong], [0, 0], "{found:?}");
    assert!(found.late > 1000, "{found:?}");
}

#[test]
fn a_row_that_keeps_its_newest_version_only_fails_calls_and_patches() {
    let found = runs(Rule::NewestOnly, Logging::AsImplemented);
    assert!(found.wrong + found.stuck > 100, "{found:?}");
}

#[test]
fn a_late_version_that_is_dropped_fails_calls_and_patches() {
    let found = runs(Rule::LateVersionDropped, Logging::AsImplemented);
    assert!(found.wrong + found.stuck > 100, "{found:?}");
}

#[test]
fn a_patch_that_does_not_wait_patches_the_wrong_row() {
    assert!(runs(Rule::PatchesDoNotWait, Logging::AsImplemented).wrong > 100);
}

#[test]
fn a_record_whose_patch_waits_is_not_done() {
    let found = runs(Rule::WaitingIsDone, Logging::AsImplemented);
    assert!(found.wrong + found.stuck > 20, "{found:?}");
}

#[test]
fn a_call_that_does_not_wait_misses_what_it_has_read() {
    assert!(runs(Rule::CallsDoNotWait, Logging::AsImplemented).wrong > 100);
}

#[test]
fn a_tombstone_that_is_not_followed_is_missed_by_a_call() {
    assert!(runs(Rule::Considered, Logging::TombstonesNotFollowed).wrong > 20);
}
