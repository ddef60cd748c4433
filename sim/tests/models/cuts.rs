//! What Silo-R and Plover have in common: stamps, milestones, answers, and the cut after a crash.
//!
//! # What is modelled
//! docs/decisions/2026-11-29-stamps.md and `engine/src/protocol/milestones.rs`. How records get their stamps,
//! and what milestones name, is in `silor` and `plover` beside this file.
//!
//! # State
//! Logs: in each, records with stamps and milestones, and how much of it is durable. A ledger of all
//! transactions: what each one follows, in which logs it has parts, and whether it has been acknowledged.
//!
//! # Rule
//! A milestone names a stamp that no later record of its log has. The durable stamp is the smallest of those
//! that the last durable milestones of all logs name, and answers leave up to it. At a crash, each log keeps
//! what is durable, and perhaps some of what comes after. A record counts if its stamp is at most the
//! smallest of those that the last milestones then found in the logs name.
//!
//! # Oracle
//! What counts is closed: with each transaction, all that it has read or overwritten the work of counts. What
//! was acknowledged counts; what an acknowledged reader has seen counts. Of a transaction all parts count, or
//! none. When everything has come to rest, everything is acknowledged.

use std::collections::BTreeSet;

use crate::random::Random;

/// The number of a transaction in the ledger.
pub(crate) type Transaction = usize;

pub(crate) const LOGS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// A record, or that part of it which belongs to this log.
    Record {
        of: Transaction,
        stamp: u64,
    },
    Milestone {
        stamp: u64,
    },
}

#[derive(Clone, Default)]
struct Log {
    entries: Vec<Entry>,
    /// So many entries are durable.
    durable: usize,
}

impl Log {
    /// What the last milestone among so many entries names.
    fn last_milestone(&self, entries: usize) -> u64 {
        let stamps = self.entries[..entries].iter().rev().find_map(|entry| match entry {
            Entry::Milestone { stamp } => Some(*stamp),
            Entry::Record { .. } => None,
        });
        stamps.unwrap_or(0)
    }
}

/// How the last milestones of the logs give one stamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Among {
    Smallest,
    /// Broken.
    Largest,
}

impl Among {
    fn of(self, stamps: impl Iterator<Item = u64>) -> u64 {
        match self {
            Among::Smallest => stamps.min(),
            Among::Largest => stamps.max(),
        }
        .unwrap_or(0)
    }
}

/// The logs of one incarnation.
#[derive(Clone)]
pub(crate) struct Logs {
    logs: [Log; LOGS],
    among: Among,
}

impl Logs {
    pub(crate) fn new(among: Among) -> Logs {
        Logs { logs: Default::default(), among }
    }

    pub(crate) fn append(&mut self, log: usize, entry: Entry) {
        self.logs[log].entries.push(entry);
    }

    /// What the last milestone of a log names, durable or not.
    pub(crate) fn named(&self, log: usize) -> u64 {
        self.logs[log].last_milestone(self.logs[log].entries.len())
    }

    /// Whether there are records after the last milestone of a log.
    pub(crate) fn has_traffic(&self, log: usize) -> bool {
        matches!(self.logs[log].entries.last(), Some(Entry::Record { .. }))
    }

    /// A block of a log becomes durable: some of what is not, or all.
    pub(crate) fn sync(&mut self, log: usize, random: &mut Random) {
        // The first log is often a slow one.
        if log > 0 || random.percent(15) {
            let Log { entries, durable } = &mut self.logs[log];
            *durable = random.between(*durable, entries.len());
        }
    }

    pub(crate) fn sync_all(&mut self) {
        self.logs.iter_mut().for_each(|log| log.durable = log.entries.len());
    }

    pub(crate) fn durable_stamp(&self) -> u64 {
        self.among.of(self.logs.iter().map(|log| log.last_milestone(log.durable)))
    }

    /// Each log keeps what is durable, and perhaps some of what comes after.
    pub(crate) fn crash(&mut self, random: &mut Random) {
        for log in 0..LOGS {
            if random.percent(50) {
                self.sync(log, random);
            }
            let Log { entries, durable } = &mut self.logs[log];
            entries.truncate(*durable);
        }
    }

    /// The last stamp that counts.
    pub(crate) fn cut(&self) -> u64 {
        self.among.of((0..LOGS).map(|log| self.named(log)))
    }

    /// The records that are there, with their logs and stamps.
    fn records(&self) -> impl Iterator<Item = (usize, Transaction, u64)> + '_ {
        let of_log = |(number, log): (usize, &Log)| {
            let records = log.entries.iter().filter_map(move |entry| match entry {
                Entry::Record { of, stamp } => Some((number, *of, *stamp)),
                Entry::Milestone { .. } => None,
            });
            records.collect::<Vec<_>>()
        };
        self.logs.iter().enumerate().flat_map(of_log)
    }

    /// The transactions of which a record has a stamp up to this one.
    pub(crate) fn counting(&self, cut: u64) -> BTreeSet<Transaction> {
        self.records().filter(|(_, _, stamp)| *stamp <= cut).map(|(_, of, _)| of).collect()
    }
}

/// What is known of a transaction that has done its work, or has begun to commit.
#[derive(Clone, Default)]
struct Known {
    follows: BTreeSet<Transaction>,
    /// The logs of its parts. None: it has only read.
    parts: BTreeSet<usize>,
    /// What its answer waits for, once that is known.
    awaited: Option<u64>,
    is_acknowledged: bool,
}

/// What the clients and the test know.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    all: Vec<Known>,
}

impl Ledger {
    pub(crate) fn begin(&mut self, follows: BTreeSet<Transaction>, parts: BTreeSet<usize>) -> Transaction {
        self.all.push(Known { follows, parts, ..Known::default() });
        self.all.len() - 1
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// The answer leaves when the logs are durable up to this stamp.
    pub(crate) fn await_stamp(&mut self, transaction: Transaction, stamp: u64) {
        self.all[transaction].awaited = Some(stamp);
    }

    /// Answers leave.
    pub(crate) fn acknowledge(&mut self, durable_stamp: u64) {
        for known in &mut self.all {
            known.is_acknowledged |= known.awaited.is_some_and(|awaited| awaited <= durable_stamp);
        }
    }

    /// Everything has come to rest.
    pub(crate) fn judge_rest(&self, found: &mut Found) {
        found.rests += 1;
        let is_left = |known: &Known| known.awaited.is_some() && !known.is_acknowledged;
        found.never_acknowledged += usize::from(self.all.iter().any(is_left));
    }

    /// What the logs hold after a crash, judged by this cut.
    pub(crate) fn judge_crash(&self, logs: &Logs, cut: u64, found: &mut Found) {
        let counting = logs.counting(cut);
        let records: BTreeSet<_> = logs.records().map(|(log, of, _)| (log, of)).collect();
        let of = |transaction: &Transaction| &self.all[*transaction];
        found.crashes += 1;
        found.acknowledged += self.all.iter().filter(|known| known.is_acknowledged).count();
        found.not_counting += records.iter().filter(|(_, of)| !counting.contains(of)).count();
        let is_torn = |one: &Transaction| of(one).parts.iter().any(|log| !records.contains(&(*log, *one)));
        let is_open = |one: &Transaction| !of(one).follows.is_subset(&counting);
        found.torn += usize::from(counting.iter().any(is_torn));
        found.not_closed += usize::from(counting.iter().any(is_open));
        let mut acknowledged = (0..self.all.len()).filter(|one| of(one).is_acknowledged);
        found.answers_lost += usize::from(acknowledged.any(|one| match of(&one).parts.is_empty() {
            true => is_open(&one),
            false => !counting.contains(&one),
        }));
    }
}

/// What many runs have shown.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Found {
    pub(crate) crashes: usize,
    pub(crate) rests: usize,
    /// Transactions.
    pub(crate) acknowledged: usize,
    /// Records that are there and do not count.
    pub(crate) not_counting: usize,
    /// Runs in which something is wrong.
    pub(crate) torn: usize,
    pub(crate) not_closed: usize,
    pub(crate) answers_lost: usize,
    pub(crate) never_acknowledged: usize,
    pub(crate) zombies: usize,
}

impl Found {
    /// The rule is right, and the runs have shown something.
    pub(crate) fn check_right(&self) {
        let Found { torn, not_closed, answers_lost, never_acknowledged, zombies, .. } = *self;
        assert_eq!([torn, not_closed, answers_lost, never_acknowledged, zombies], [0; 5], "{self:?}");
        assert!(self.crashes > 1000 && self.rests > 1000, "{self:?}");
        assert!(self.acknowledged > 1000 && self.not_counting > 1000, "{self:?}");
    }
}
