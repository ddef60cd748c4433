//! Random histories, and the logs that they leave: what `dated_replay` and `by_key` replay.
//!
//! # State
//! A few rows, each with its value and its last writer. Transactions under way: they have locked what they
//! write (and what they read, or they look at it again), and have their places in a log, but no times yet.
//! One clock. Logs of records, fillers and anchors.
//!
//! # Rule
//! A transaction follows the last writers of what it reads and overwrites, also of rows that are gone. It
//! reserves its place, and draws its time later, while it holds its locks. One that finds then that what it
//! has read is outdated leaves a filler. An anchor names the time that the clock showed before its place was
//! reserved. After a crash, each log is cut somewhere, and a transaction counts if its record is there and
//! all that it follows count.
//!
//! A value is a hash of what led to it: of the time of the transaction that wrote it, and of what that
//! transaction had read.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::random::Random;

pub(crate) const LOGS: usize = 2;
pub(crate) const MOST_ROWS: usize = 4;

/// The value of a row, or none.
pub(crate) type Value = Option<u64>;

/// What histories are made of, right or wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Logging {
    /// The code's.
    AsImplemented,
    /// Broken: a transaction follows the last writers of rows that are there, and not those that have deleted
    /// one.
    TombstonesNotFollowed,
    /// Broken: an anchor names the time that the clock shows after its place was reserved.
    AnchorTimeAfterPlace,
    /// Broken: a transaction draws its time before its place is reserved.
    TimeBeforePlace,
}

/// A logged change of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Put,
    Delete,
    /// A part of a row that is there.
    Patch,
}

impl Change {
    /// The row that it makes of another one.
    pub(crate) fn apply(self, time: u64, old: Value) -> Value {
        match self {
            Change::Put => Some(hash((time, 0))),
            Change::Delete => None,
            Change::Patch => Some(hash((time, old))),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// The changes of rows, as they were logged.
    Data(Vec<(usize, Change)>),
    /// It is run again: it reads some rows, and changes others by what it has read.
    Call { reads: Vec<usize>, writes: Vec<usize>, deletes: bool },
}

impl Work {
    /// The rows that a call writes, by the rows that it reads.
    pub(crate) fn run(&self, time: u64, read: impl Fn(usize) -> Value) -> Vec<(usize, Value)> {
        match self {
            Work::Data(changes) => {
                changes.iter().map(|(row, change)| (*row, change.apply(time, read(*row)))).collect()
            }
            Work::Call { reads, writes, deletes } => {
                let seen: Vec<Value> = reads.iter().map(|row| read(*row)).collect();
                let value = if *deletes { None } else { Some(hash((time, seen))) };
                // A row that is not there is not deleted.
                let is_written = |row: &&usize| !*deletes || read(**row).is_some();
                writes.iter().filter(is_written).map(|row| (*row, value)).collect()
            }
        }
    }

    fn read_rows(&self) -> &[usize] {
        match self {
            Work::Data(_) => &[],
            Work::Call { reads, .. } => reads,
        }
    }

    fn written_rows(&self) -> Vec<usize> {
        match self {
            Work::Data(changes) => changes.iter().map(|(row, _)| *row).collect(),
            Work::Call { writes, .. } => writes.clone(),
        }
    }
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) work: Work,
    /// Its commit time. 0: it has not come to that.
    pub(crate) time: u64,
    /// Those that it follows, by their numbers.
    pub(crate) follows: BTreeSet<usize>,
    pub(crate) log: usize,
    /// Its place in the log: the number of entries up to it. 0: none.
    pub(crate) end: usize,
    /// What it wrote when it ran.
    pub(crate) wrote: Vec<(usize, Value)>,
    pub(crate) counts: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    Record(usize),
    Filler,
    /// Everything after it is later than this time.
    Anchor(u64),
}

/// A transaction that has begun to commit, with the last writers of what it has read.
struct UnderWay {
    number: usize,
    seen: Vec<(usize, Option<usize>)>,
    has_place: bool,
}

#[derive(Clone, Copy, Default)]
struct Row {
    value: Value,
    last_writer: Option<usize>,
}

pub(crate) struct History {
    pub(crate) logs: [Vec<Entry>; LOGS],
    /// In the order in which they have begun to commit.
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) rows: usize,
}

struct Maker {
    logging: Logging,
    locks_reads: bool,
    history: History,
    rows: [Row; MOST_ROWS],
    under_way: Vec<UnderWay>,
    /// Anchors that have no time yet.
    open_anchors: Vec<(usize, usize)>,
    clock: u64,
}

impl History {
    /// `calls`: the percentage of transactions that are calls.
    pub(crate) fn new(logging: Logging, calls: usize, random: &mut Random) -> History {
        let rows = random.between(2, MOST_ROWS);
        let history = History { logs: Default::default(), transactions: Vec::new(), rows };
        let mut maker = Maker {
            logging,
            locks_reads: random.percent(50),
            history,
            rows: [Row::default(); MOST_ROWS],
            under_way: Vec::new(),
            open_anchors: Vec::new(),
            clock: 0,
        };
        for _ in 0..random.between(8, 60) {
            match random.below(10) {
                0..=3 => maker.begin(calls, random),
                4..=7 if !maker.under_way.is_empty() => {
                    let chosen = random.below(maker.under_way.len());
                    maker.go_on(chosen, random);
                }
                8 => maker.append_anchor(random.below(LOGS)),
                _ => maker.end_anchors(),
            }
        }
        while !maker.under_way.is_empty() {
            maker.go_on(0, random);
        }
        maker.end_anchors();
        maker.history.cut(random);
        maker.history
    }

    /// Each log loses its end, or does not.
    fn cut(&mut self, random: &mut Random) {
        for log in &mut self.logs {
            if random.percent(60) {
                log.truncate(random.between(log.len() / 2, log.len()));
            }
        }
        for number in 0..self.transactions.len() {
            let Transaction { log, end, time, follows, .. } = &self.transactions[number];
            let is_there = *time > 0 && *end <= self.logs[*log].len();
            let counts = is_there && follows.iter().all(|other| self.transactions[*other].counts);
            self.transactions[number].counts = counts;
        }
    }

    /// The rows that those which count have left when they ran.
    pub(crate) fn expected(&self) -> Vec<Value> {
        let mut counting: Vec<&Transaction> = self.transactions.iter().filter(|one| one.counts).collect();
        counting.sort_unstable_by_key(|one| one.time);
        let mut rows = vec![None; self.rows];
        counting.iter().flat_map(|one| &one.wrote).for_each(|(row, value)| rows[*row] = *value);
        rows
    }

    /// Everything that lies in the logs up to these positions comes before a transaction: the paper's LV.
    pub(crate) fn vector(&self, number: usize) -> [usize; LOGS] {
        let mut vector = [0; LOGS];
        for other in &self.transactions[number].follows {
            let Transaction { log, end, .. } = self.transactions[*other];
            vector[log] = vector[log].max(end);
            let of_other = self.vector(*other);
            vector.iter_mut().zip(of_other).for_each(|(entry, other)| *entry = (*entry).max(other));
        }
        vector
    }
}

impl Maker {
    fn is_free(&self, row: usize, is_read: bool) -> bool {
        self.under_way.iter().all(|one| {
            let work = &self.history.transactions[one.number].work;
            let is_kept_from = !is_read && self.locks_reads && work.read_rows().contains(&row);
            !work.written_rows().contains(&row) && !is_kept_from
        })
    }

    fn choose(&self, calls: usize, random: &mut Random) -> Work {
        let (read, written) = (random.between(1, 2), random.between(1, 2));
        let rows = random.some_below(self.history.rows, written);
        if random.percent(calls) {
            let reads = random.some_below(self.history.rows, read);
            return Work::Call { reads, writes: rows, deletes: random.percent(25) };
        }
        let changes = rows.into_iter().map(|row| match random.below(5) {
            _ if self.rows[row].value.is_none() => (row, Change::Put),
            0 | 1 => (row, Change::Put),
            2 | 3 => (row, Change::Patch),
            _ => (row, Change::Delete),
        });
        Work::Data(changes.collect())
    }

    /// A transaction does its work, if it gets its locks, and begins to commit.
    fn begin(&mut self, calls: usize, random: &mut Random) {
        let work = self.choose(calls, random);
        let (read, written) = (work.read_rows().to_vec(), work.written_rows());
        let reads_are_free = !self.locks_reads || read.iter().all(|row| self.is_free(*row, true));
        if !reads_are_free || !written.iter().all(|row| self.is_free(*row, false)) {
            return;
        }
        let is_followed =
            |row: &&usize| self.logging != Logging::TombstonesNotFollowed || self.rows[**row].value.is_some();
        let touched = read.iter().chain(&written).filter(is_followed);
        let follows = touched.filter_map(|row| self.rows[*row].last_writer).collect();
        let (number, log) = (self.history.transactions.len(), random.below(LOGS));
        let seen = read.iter().map(|row| (*row, self.rows[*row].last_writer)).collect();
        let (wrote, counts) = (Vec::new(), false);
        self.history.transactions.push(Transaction { work, time: 0, follows, log, end: 0, wrote, counts });
        self.under_way.push(UnderWay { number, seen, has_place: false });
        match self.logging {
            Logging::TimeBeforePlace => self.history.transactions[number].time = self.draw(),
            _ => self.reserve(self.under_way.len() - 1),
        }
    }

    fn draw(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn reserve(&mut self, chosen: usize) {
        let UnderWay { number, has_place, .. } = &mut self.under_way[chosen];
        let Transaction { log, end, .. } = &mut self.history.transactions[*number];
        self.history.logs[*log].push(Entry::Record(*number));
        (*end, *has_place) = (self.history.logs[*log].len(), true);
    }

    /// A transaction draws its time and commits, or finds that what it has read is outdated.
    fn go_on(&mut self, chosen: usize, random: &mut Random) {
        if !self.under_way[chosen].has_place {
            self.reserve(chosen);
            return;
        }
        // Those that have begun first do not always end first.
        if random.percent(30) {
            return;
        }
        let UnderWay { number, seen, .. } = self.under_way.remove(chosen);
        let drawn = self.history.transactions[number].time;
        let time = if drawn > 0 { drawn } else { self.draw() };
        let rows = &mut self.rows;
        let one = &mut self.history.transactions[number];
        if seen.iter().any(|(row, last_writer)| rows[*row].last_writer != *last_writer) {
            self.history.logs[one.log][one.end - 1] = Entry::Filler;
            one.time = 0;
            return;
        }
        one.time = time;
        one.wrote = one.work.run(time, |row| rows[row].value);
        for (row, value) in &one.wrote {
            rows[*row] = Row { value: *value, last_writer: Some(number) };
        }
    }

    fn append_anchor(&mut self, log: usize) {
        self.history.logs[log].push(Entry::Anchor(self.clock));
        self.open_anchors.push((log, self.history.logs[log].len() - 1));
    }

    /// Some time later.
    fn end_anchors(&mut self) {
        for (log, at) in self.open_anchors.drain(..) {
            if self.logging == Logging::AnchorTimeAfterPlace {
                self.history.logs[log][at] = Entry::Anchor(self.clock);
            }
        }
    }
}
