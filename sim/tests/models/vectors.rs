//! LSN vectors: marks above the floor, anchors, answers, what counts after a crash, and the order of replay.
//!
//! # What is modelled
//! `engine/src/protocol/taurus.rs`, `vectors.rs` and `anchors.rs` beside it, what counts by
//! `engine/src/protocol/recovery.rs`, and replay by positions (docs/decisions/2026-11-21-floor.md,
//! docs/decisions/2026-11-30-vectors-above-the-floor.md), after Xia et al.: "Taurus: Lightweight Parallel
//! Logging for In-Memory Database Management Systems", VLDB 2020, sections 3 to 4.2. Random interleavings of
//! four workers, three loggers and their devices; what they share is looked at and changed entry by entry.
//! Below this file, `commit` has the steps of a transaction, `anchor` those of a logger, and `after` what
//! comes after the crash.
//!
//! # State
//! Logs of records and anchors. A record is two positions long, so a durable position may lie inside one.
//! Rows: their locks, and the marks of their last writers. For each log the last anchor that was published,
//! and the entries in which the floor may exceed it (*lagging*). The floor.
//!
//! # Rule
//! A transaction locks its rows and collects the marks there. It forgets what is at most the floor, and asks
//! which entries lag in its log. Its record names those entries of its vector, and those of the floor that
//! lag, which the anchor of its log does not cover. Then its place is reserved and filled, its vector with
//! its own end becomes its mark, and it gives back its rows. Its answer waits for what its record names of
//! its vector, and for its own end; that of a reader for all that it has collected. A mark at most the floor
//! is forgotten. A transaction that takes a whole table looks at no marks there, but follows all that has a
//! place in a log.
//!
//! An anchor names up to where the logs are durable in whole records. When it has its place, it is published,
//! entry by entry. Then the floor rises to the smallest entries of the anchors of the logs at work. Before
//! it exceeds the anchor of another log, that log is noted as lagging. In the end the logger clears what the
//! new anchor of its own log covers. One logger at a time raises, notes and clears.
//!
//! After a crash, a record counts if its end and all that it names lie before the ends of the logs, which are
//! those of their last whole records. It is replayed when all that lies before what it names, and before what
//! the anchor before it names, has been replayed or does not count. The next incarnation has logs of its own.
//!
//! # Oracle
//! The test knows whom each transaction follows, and its vector as algorithm 1 has it: every entry, and
//! nothing is ever forgotten. Exactly those count whose end and vector lie before the ends of the logs: the
//! floor and the anchors add nothing to that. What counts is closed. If something does not count although it
//! is there with all that it follows, it has taken a table or follows what has: only that names positions
//! without following what lies there. What was acknowledged counts, and so does what an acknowledged reader
//! has seen. Where the floor is beyond the anchor of a log, the log is noted as lagging. Replay ends, and
//! nothing can run before what it follows.

#[path = "vectors/after.rs"]
mod after;
#[path = "vectors/anchor.rs"]
mod anchor;
#[path = "vectors/commit.rs"]
mod commit;

use self::after::Found;
use self::anchor::Logger;
use self::commit::Worker;
use crate::random::Random;

const LOGS: usize = 3;
const WORKERS: usize = 4;
const ROWS: usize = 6;
/// The first rows are a table of their own.
const TABLE: usize = 3;
const RECORD_LENGTH: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    /// The code's.
    AsImplemented,
    /// Right, too: the anchor is looked at before it is asked what lags.
    AnchorBeforeLagging,
    /// Right, too: any logs may be taken for those at work.
    AnyAtWork,
    /// Broken: the record's vector contains a position inside the record.
    OwnEndInStoredLv,
    /// Broken: the place is reserved before the vector is final.
    ReserveBeforeFreeze,
    /// Broken: the rows are given back before the mark is left.
    ReleaseBeforeRaise,
    /// Broken: marks are forgotten once they are durable, and what they do not name reads as zero.
    ZeroTupleLv,
    /// Broken: a log is noted as lagging after the floor has risen.
    LaggingAfterRise,
    /// Broken: what lags in the log is not asked for.
    LaggingIgnored,
    /// Broken: what lags is asked for before the vector is compared with the floor.
    LaggingAskedFirst,
    /// Broken: a log clears what its anchor covers while others raise the floor.
    FloorRaisedTogether,
    /// Broken: the floor rises to the largest entry of the anchors.
    FloorOfLargest,
    /// Broken: anchors name what is reserved.
    AnchorsOfReserved,
    /// Broken: anchors name what is durable, even inside records.
    AnchorsInsideRecords,
    /// Broken: an anchor is published before it has its place.
    AnchorPublishedEarly,
    /// Broken: what takes a table follows nothing there.
    NoBarrier,
    /// Broken: a reader's answer waits for nothing.
    ReadOnlyNoWait,
    /// Broken: an answer waits for its own log.
    OwnLogAwaited,
    /// Broken, the paper's algorithms 1 and 3: an answer waits for those before it in its log, too, and what
    /// comes after something that does not count is ignored.
    CommitInLogOrder,
    /// Broken: after a crash, records go on in the same logs.
    ZombiesRevived,
}

/// One position for each log.
type Positions = [usize; LOGS];
/// Some of the logs.
type Names = [bool; LOGS];

fn raise(positions: &mut Positions, by: &Positions) {
    positions.iter_mut().zip(by).for_each(|(position, by)| *position = (*position).max(*by));
}

fn is_covered(positions: &Positions, by: &Positions) -> bool {
    positions.iter().zip(by).all(|(position, by)| position <= by)
}

/// The entries that are named. The others are zero.
#[derive(Clone, Copy, Default)]
struct Vector {
    names: Names,
    entries: Positions,
}

impl Vector {
    fn name(&mut self, log: usize, position: usize) {
        self.names[log] = true;
        self.entries[log] = self.entries[log].max(position);
    }

    fn follow(&mut self, other: &Vector) {
        (0..LOGS).filter(|log| other.names[*log]).for_each(|log| self.name(log, other.entries[log]));
    }

    fn forget(&mut self, log: usize) {
        (self.names[log], self.entries[log]) = (false, 0);
    }

    /// Whether this names nothing of a log beyond the position there.
    fn is_at_most(&self, bound: &Positions) -> bool {
        is_covered(&self.entries, bound)
    }
}

enum Entry {
    Reserved,
    /// Of a transaction, with what it names.
    Record(usize, Vector),
    Anchor(Positions),
}

struct Place {
    end: usize,
    entry: Entry,
}

#[derive(Default)]
struct Log {
    places: Vec<Place>,
    durable: usize,
    /// The last anchor, entry by entry as it was published.
    anchor: Positions,
    lagging: Names,
}

impl Log {
    fn reserved(&self) -> usize {
        self.places.last().map_or(0, |place| place.end)
    }

    /// Takes the next place.
    fn append(&mut self, length: usize, entry: Entry) -> usize {
        let end = self.reserved() + length;
        self.places.push(Place { end, entry });
        end
    }

    /// Nothing is written after a place that is not filled.
    fn filled(&self) -> usize {
        let is_open = |place: &Place| matches!(place.entry, Entry::Reserved);
        let filled = self.places.iter().position(is_open).unwrap_or(self.places.len());
        filled.checked_sub(1).map_or(0, |last| self.places[last].end)
    }

    /// The end of the last whole record that is durable.
    fn whole(&self) -> usize {
        let mut durable = self.places.iter().rev().filter(|place| place.end <= self.durable);
        durable.next().map_or(0, |place| place.end)
    }
}

/// What the test knows of a transaction.
struct Known {
    follows: Vec<usize>,
    /// That of algorithm 1, with the own end once there is one.
    vector: Positions,
    /// It has taken a table, or follows what has.
    knows_tables: bool,
    /// The log and the end of the record. None: it only reads, or has no place yet.
    record: Option<(usize, usize)>,
    is_reader: bool,
    awaited: Option<Positions>,
    is_acknowledged: bool,
}

/// How many steps are done, and how often the next one has been taken.
type Done = (usize, usize);

/// After one more, where the next one is taken so many times.
fn advanced((steps, times): Done, of: usize) -> Done {
    if times + 1 < of { (steps, times + 1) } else { (steps + 1, 0) }
}

#[derive(Default)]
struct Row {
    locked_by: Option<usize>,
    mark: Vector,
    /// The transaction whose mark that is, or was.
    left_by: Option<usize>,
}

struct Run {
    rule: Rule,
    random: Random,
    logs: [Log; LOGS],
    floor: Positions,
    rows: [Row; ROWS],
    workers: [Worker; WORKERS],
    loggers: [Logger; LOGS],
    /// The logger that raises the floor.
    raising: Option<usize>,
    all: Vec<Known>,
    /// A log with little to write, and one with a slow device.
    quiet: usize,
    slow: usize,
    /// How often a record has named an entry of the floor.
    named_floor: usize,
    /// The floor was beyond the anchor of a log that was not noted as lagging.
    had_unnoted: bool,
}

impl Run {
    fn new(rule: Rule, seed: u64) -> Run {
        let mut random = Random::new(seed);
        let (quiet, slow) = (random.below(LOGS), random.below(LOGS));
        Run {
            rule,
            random,
            logs: Default::default(),
            floor: [0; LOGS],
            rows: Default::default(),
            workers: Default::default(),
            loggers: Default::default(),
            raising: None,
            all: Vec::new(),
            quiet,
            slow,
            named_floor: 0,
            had_unnoted: false,
        }
    }

    /// Up to where the logs are durable.
    fn ends(&self) -> Positions {
        self.logs.each_ref().map(|log| log.durable)
    }

    /// A block of a log becomes durable, and answers leave.
    fn sync(&mut self, log: usize) {
        if log != self.slow || self.random.percent(15) {
            let filled = self.logs[log].filled();
            let takes_all = log != self.slow && self.random.percent(60);
            let durable = self.logs[log].durable;
            self.logs[log].durable = if takes_all { filled } else { self.random.between(durable, filled) };
        }
        let durable = self.ends();
        for number in 0..self.all.len() {
            let known = &self.all[number];
            let is_durable = known.awaited.is_some_and(|awaited| is_covered(&awaited, &durable));
            if is_durable && !known.is_acknowledged && self.may_be_acknowledged(number) {
                self.all[number].is_acknowledged = true;
            }
        }
    }

    /// Whether those before it in its log have been, where they must.
    fn may_be_acknowledged(&self, number: usize) -> bool {
        let (Rule::CommitInLogOrder, Some((log, end))) = (self.rule, self.all[number].record) else {
            return true;
        };
        let mut before = self.logs[log].places.iter().take_while(|place| place.end < end);
        before.all(|place| match place.entry {
            Entry::Record(before, _) => self.all[before].is_acknowledged,
            Entry::Reserved | Entry::Anchor(_) => true,
        })
    }

    /// Forgets the mark of a row, if it may be.
    fn forget_mark(&mut self) {
        let bound = if self.rule == Rule::ZeroTupleLv { self.ends() } else { self.floor };
        let row = &mut self.rows[self.random.below(ROWS)];
        if row.mark.is_at_most(&bound) {
            row.mark = Vector::default();
        }
    }

    /// A thread runs for a while, and all others stand still.
    fn step(&mut self) {
        let thread = self.random.below(WORKERS + LOGS + 2);
        let steps = if self.random.percent(70) { 25 } else { 5 };
        for _ in 0..self.random.between(1, steps) {
            match thread {
                worker if worker < WORKERS => self.step_of_worker(worker),
                logger if logger < WORKERS + LOGS => self.step_of_logger(logger - WORKERS),
                _ if self.random.percent(30) => self.forget_mark(),
                _ => {
                    let log = self.random.below(LOGS);
                    self.sync(log);
                    break;
                }
            }
        }
        self.had_unnoted |= self.has_unnoted();
    }

    /// See [`Run::had_unnoted`].
    fn has_unnoted(&self) -> bool {
        let is_unnoted = |log: &Log, of: usize| self.floor[of] > log.anchor[of] && !log.lagging[of];
        self.logs.iter().any(|log| (0..LOGS).any(|of| is_unnoted(log, of)))
    }

    /// Each log keeps what is durable, and perhaps some of what comes after; of that, whole records.
    fn crash(&mut self) {
        for log in &mut self.logs {
            if self.random.percent(50) {
                log.durable = self.random.between(log.durable, log.filled());
            }
            log.durable = log.whole();
            log.places.retain(|place| place.end <= log.durable);
        }
    }

    /// A start and another crash: what had not counted must never come back.
    fn second_life(mut self, found: &mut Found) {
        let counting = self.counting();
        let mut next = Run::new(self.rule, self.random.below(usize::MAX) as u64);
        let goes_on = self.rule == Rule::ZombiesRevived;
        if goes_on {
            (next.logs, next.all) = (std::mem::take(&mut self.logs), std::mem::take(&mut self.all));
            next.logs.iter_mut().for_each(|log| (log.anchor, log.lagging) = Default::default());
        }
        (0..40).for_each(|_| next.step());
        next.crash();
        // Where the logs are others, they are read again, with the ends that the manifest holds.
        let later = if goes_on { next.counting() } else { self.counting() };
        found.zombies += usize::from(counting.iter().zip(later).any(|(before, later)| later && !before));
    }
}

fn runs(rule: Rule, count: u64) -> Found {
    let mut found = Found::default();
    for seed in 0..count {
        let mut run = Run::new(rule, seed);
        let steps = run.random.between(10, 300);
        (0..steps).for_each(|_| run.step());
        run.crash();
        found.judge(&mut run);
        if matches!(rule, Rule::AsImplemented | Rule::ZombiesRevived) {
            run.second_life(&mut found);
        }
    }
    println!("vectors, {rule:?}: {found:?}");
    found
}

#[test]
fn exactly_those_count_whose_vectors_lie_before_the_ends() {
    runs(Rule::AsImplemented, 4000).check_right();
}

#[test]
fn the_anchor_may_be_looked_at_before_it_is_asked_what_lags() {
    runs(Rule::AnchorBeforeLagging, 2000).check_right();
}

#[test]
fn which_logs_are_at_work_is_a_question_of_bytes_alone() {
    runs(Rule::AnyAtWork, 2000).check_right();
}

#[test]
fn a_vector_with_the_own_end_is_never_replayed() {
    let found = runs(Rule::OwnEndInStoredLv, 1000);
    assert!(found.never_replayed > 500, "{found:?}");
}

#[test]
fn a_place_before_the_final_vector_is_replayed_early_or_never() {
    let found = runs(Rule::ReserveBeforeFreeze, 1000);
    assert!(found.early > 50 && found.never_replayed > 50, "{found:?}");
}

#[test]
fn rows_given_back_before_the_mark_is_left_lose_dependencies() {
    let found = runs(Rule::ReleaseBeforeRaise, 1000);
    assert!(found.not_closed > 5 && found.answers_lost > 5, "{found:?}");
}

#[test]
fn what_was_forgotten_and_reads_as_zero_is_replayed_late() {
    let found = runs(Rule::ZeroTupleLv, 1000);
    assert!(found.early > 20, "{found:?}");
}

#[test]
fn a_log_that_is_noted_as_lagging_too_late_replays_early() {
    let found = runs(Rule::LaggingAfterRise, 3000);
    assert!(found.early > 5, "{found:?}");
}

#[test]
fn a_log_whose_anchor_lags_must_name_the_floor() {
    let found = runs(Rule::LaggingIgnored, 1000);
    assert!(found.early > 20, "{found:?}");
}

#[test]
fn what_lags_is_asked_after_the_vector_is_final() {
    let found = runs(Rule::LaggingAskedFirst, 3000);
    assert!(found.early > 5, "{found:?}");
}

#[test]
fn loggers_raise_the_floor_one_at_a_time() {
    let found = runs(Rule::FloorRaisedTogether, 1000);
    assert!(found.unnoted > 50, "{found:?}");
}

#[test]
fn the_largest_anchor_is_no_floor() {
    let found = runs(Rule::FloorOfLargest, 1000);
    assert!(found.early > 10, "{found:?}");
}

#[test]
fn anchors_of_what_is_reserved_lose_dependencies() {
    let found = runs(Rule::AnchorsOfReserved, 1000);
    assert!(found.not_closed > 50 && found.answers_lost > 10, "{found:?}");
}

#[test]
fn anchors_that_name_parts_of_records_lose_answers() {
    let found = runs(Rule::AnchorsInsideRecords, 5000);
    assert!(found.answers_lost > 0, "{found:?}");
}

#[test]
fn an_anchor_that_is_published_before_its_place_covers_too_much() {
    let found = runs(Rule::AnchorPublishedEarly, 1000);
    assert!(found.early > 10, "{found:?}");
}

#[test]
fn a_table_is_taken_after_all_that_has_a_place() {
    let found = runs(Rule::NoBarrier, 1000);
    assert!(found.not_closed > 20 && found.in_excess == 0, "{found:?}");
}

#[test]
fn a_reader_that_does_not_wait_has_seen_what_is_lost() {
    let found = runs(Rule::ReadOnlyNoWait, 1000);
    assert!(found.answers_lost > 100 && found.not_closed == 0, "{found:?}");
}

#[test]
fn an_answer_that_waits_for_its_own_log_is_lost() {
    let found = runs(Rule::OwnLogAwaited, 1000);
    assert!(found.answers_lost > 100 && found.not_closed == 0, "{found:?}");
}

#[test]
fn the_order_within_a_log_says_nothing() {
    let found = runs(Rule::CommitInLogOrder, 1000);
    assert!(found.answers_lost > 5 && found.dropped > 20, "{found:?}");
}

#[test]
fn records_that_go_on_in_the_same_logs_revive_zombies() {
    let found = runs(Rule::ZombiesRevived, 1000);
    assert!(found.zombies > 50 && found.not_closed == 0, "{found:?}");
}
