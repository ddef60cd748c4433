//! What one log says of each table, collected while it is read.
//!
//! Where the ends of the logs are still looked for, it is not known yet which transactions count. For tables
//! and calls that does not matter: the end of the last record is kept, and whoever waits until the replay has
//! passed a zombie waits a moment longer. Sequences are raised here, and only by what counts; so only what
//! counts changes the catalog, too, for which everybody would wait.
//!
//! A transaction counts if the positions that it names are covered by the ends of the logs. How far the
//! others have been read tells that of nearly all of them at once, and the rest are judged when the ends are
//! known. If those are too many, because one log is read long before another, the summary is given up, and
//! the log is read once more.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyades_types::definition::{RoutineId, SequenceId, SequenceState, TableId};
use hyades_types::error::{Error, Result};

use super::pieces::{Concerned, Pieces};
use super::replay_source::NAMES_THE_FUTURE;
use crate::log::manifest::{Checkpoint, Incarnation, Manifest};
use crate::log::record::{Command, Commit, Malformed, Operation, Operations, Record, RecordBody};
use crate::lsn::{Lsn, LsnVector};
use crate::protocol::ReplayOrder;
use crate::protocol::list::replay_order;
use crate::storage::catalog::Catalog;

/// So many transactions may wait for their judgement before it is asked again how far the logs are.
const JUDGED_TOGETHER: usize = 4096;
/// So many may wait at all: some hundred bytes each.
const MOST_UNJUDGED: usize = 1 << 20;

/// What a call names: its routine, and the version of it that ran.
pub(super) type Called = (RoutineId, u32);

/// Where the last log record ends of each.
#[derive(Default)]
pub(super) struct Last {
    pub(super) tables: HashMap<TableId, u64>,
    pub(super) calls: HashMap<Called, u64>,
    /// Of those that change the catalog.
    pub(super) catalog: u64,
    /// Of those that draw from sequences.
    pub(super) sequences: u64,
}

/// Up to where the logs count.
enum Bound {
    /// Nobody knows yet; they have been read so far.
    Read(Arc<[AtomicU64]>),
    /// They end here.
    Known(LsnVector),
}

impl Bound {
    fn covers(&self, positions: &[u64]) -> bool {
        positions.iter().enumerate().all(|(log, position)| {
            let bound = match self {
                Bound::Read(read) => read[log].load(Ordering::Relaxed),
                Bound::Known(end) => end.get(log).0,
            };
            *position <= bound
        })
    }
}

/// What a transaction does that is kept only if it counts.
struct Unjudged {
    /// Where its last record ends.
    end: u64,
    /// The positions that it names.
    named: Box<[u64]>,
    states: Box<[(SequenceId, SequenceState)]>,
    changes_catalog: bool,
}

/// See the module head.
pub(super) struct LogSummary {
    log: usize,
    /// See [`LogSummary::position`].
    position: Lsn,
    order: Box<dyn ReplayOrder>,
    checkpoint: Option<Arc<Checkpoint>>,
    catalog: Arc<Catalog>,
    bound: Bound,
    last: Last,
    /// Most records are of the table of the one before.
    recent: Option<(TableId, u64)>,
    named: LsnVector,
    /// The first pieces of large transactions.
    pieces: HashMap<u64, Pieces>,
    unjudged: Vec<Unjudged>,
    /// So many of them are judged.
    judge_at: usize,
    is_given_up: bool,
}

impl LogSummary {
    /// Empty ones for the logs of an incarnation. If it has not ended, they are read at the same time.
    pub(super) fn of_each(
        manifest: &Manifest,
        incarnation: &Incarnation,
        catalog: &Arc<Catalog>,
    ) -> Result<Vec<LogSummary>> {
        let from = manifest.replay_from(incarnation);
        let checkpoint = manifest.checkpoint_of(incarnation).cloned().map(Arc::new);
        let read: Arc<[AtomicU64]> = from.entries().iter().map(|from| AtomicU64::new(*from)).collect();
        let summary = |log| {
            Ok(LogSummary {
                log,
                position: from.get(log),
                order: replay_order(&incarnation.protocol, incarnation.logs)?,
                checkpoint: checkpoint.clone(),
                catalog: Arc::clone(catalog),
                bound: match incarnation.frozen_end() {
                    Some(end) => Bound::Known(end),
                    None => Bound::Read(Arc::clone(&read)),
                },
                last: Last::default(),
                recent: None,
                named: LsnVector::zero(incarnation.logs),
                pieces: HashMap::new(),
                unjudged: Vec::new(),
                judge_at: JUDGED_TOGETHER,
                is_given_up: false,
            })
        };
        (0..incarnation.logs).map(summary).collect()
    }

    /// Where the next record begins.
    pub(super) fn position(&self) -> Lsn {
        self.position
    }

    /// Takes the next record of the log.
    pub(super) fn take(&mut self, record: &Record<'_>) -> Result<()> {
        if record.start < self.position {
            return Ok(());
        }
        if record.start > self.position {
            return Err(self.damaged(record, "it begins behind the position from which it is needed"));
        }
        self.position = record.end;
        match record.body {
            RecordBody::Transaction { commit, .. } if self.is_checkpointed(record.end, commit) => {}
            RecordBody::Transaction { content, .. } => {
                let (field, operations) = self.split(record, content)?;
                self.take_transaction(record, field, operations)?;
            }
            RecordBody::Fragment { transaction, commit: None, content } => {
                self.pieces.entry(transaction).or_default().take(content);
            }
            RecordBody::Fragment { transaction, commit: Some(commit), content } => {
                let pieces = self.pieces.remove(&transaction).unwrap_or_default();
                if !self.is_checkpointed(record.end, commit) {
                    let (field, operations) = self.split(record, content)?;
                    let concerned = pieces.finish(operations);
                    let concerned = concerned.map_err(|malformed| self.malformed(record, &malformed))?;
                    self.take_concerned(record, field, concerned)?;
                }
            }
            RecordBody::Anchor(ref anchor) if anchor.len() != self.named.len() => {
                return Err(self.damaged(record, "an anchor names another number of logs"));
            }
            RecordBody::Anchor(ref anchor) => self.order.anchor(anchor),
            RecordBody::Filler => {}
        }
        Ok(())
    }

    /// A chunk has been taken.
    pub(super) fn passed(&mut self) {
        let Bound::Read(read) = &self.bound else { return };
        read[self.log].store(self.position.0, Ordering::Relaxed);
        if self.unjudged.len() < self.judge_at {
            return;
        }
        self.judge();
        self.judge_at = JUDGED_TOGETHER.max(2 * self.unjudged.len());
        if self.unjudged.len() > MOST_UNJUDGED {
            self.is_given_up = true;
            self.unjudged = Vec::new();
        }
    }

    /// The ends of all logs are known: so is which transactions count. `None` if it has been given up.
    pub(super) fn conclude(mut self, end: &LsnVector) -> Option<Last> {
        self.bound = Bound::Known(end.clone());
        self.judge();
        self.last.tables.extend(self.recent);
        (!self.is_given_up).then_some(self.last)
    }

    /// As [`Checkpoint::holds`] has it: the replay passes the transaction.
    fn is_checkpointed(&self, end: Lsn, commit: Commit) -> bool {
        let holds = |checkpoint: &Arc<Checkpoint>| checkpoint.holds(self.log, end, commit.is_phase_odd);
        self.checkpoint.as_ref().is_some_and(holds)
    }

    /// The protocol's field, and the operations after it.
    fn split<'a>(&self, record: &Record<'_>, content: &'a [u8]) -> Result<(&'a [u8], &'a [u8])> {
        let length =
            self.order.field_bytes(content).map_err(|malformed| self.malformed(record, &malformed))?;
        Ok(content.split_at(length))
    }

    /// Sets `named` to what the transaction names; false if that is nothing.
    fn read_named(&mut self, record: &Record<'_>, field: &[u8]) -> Result<bool> {
        let named = self.order.read_field(record.start, field, &mut self.named);
        let names_any = named.map_err(|malformed| self.malformed(record, &malformed))?;
        let named = if names_any { self.named.get(self.log) } else { Lsn::ZERO };
        if named.max(self.order.base().get(self.log)) > record.start {
            return Err(self.damaged(record, NAMES_THE_FUTURE));
        }
        Ok(names_any)
    }

    fn take_transaction(&mut self, record: &Record<'_>, field: &[u8], operations: &[u8]) -> Result<()> {
        let end = record.end.0;
        let names_any = self.read_named(record, field)?;
        if let Some(command) = Command::of(operations) {
            let command = command.map_err(|malformed| self.malformed(record, &malformed))?;
            self.last.calls.insert((command.routine, command.version_hash), end);
            return Ok(());
        }
        let (mut states, mut changes_catalog) = (Vec::new(), false);
        let mut operations = Operations::new(operations);
        while let Some(operation) = operations.next() {
            match operation.map_err(|malformed| self.malformed(record, &malformed))? {
                Operation::Put { table, .. } | Operation::Delete { table, .. } => {
                    self.note_table(table, end);
                    let passed = operations.pass_rows_of(table);
                    passed.map_err(|malformed| self.malformed(record, &malformed))?;
                }
                Operation::Catalog(_) => changes_catalog = true,
                Operation::Sequence { sequence, state } => states.push((sequence, state)),
                Operation::Command(command) => {
                    self.last.calls.insert((command.routine, command.version_hash), end);
                }
            }
        }
        self.take_if_it_counts(end, names_any, states, changes_catalog);
        Ok(())
    }

    /// Takes a large transaction.
    fn take_concerned(&mut self, record: &Record<'_>, field: &[u8], concerned: Concerned) -> Result<()> {
        let end = record.end.0;
        let names_any = self.read_named(record, field)?;
        let Concerned { tables, calls, states, changes_catalog } = concerned;
        tables.into_iter().for_each(|table| self.note_table(table, end));
        self.last.calls.extend(calls.into_iter().map(|called| (called, end)));
        self.take_if_it_counts(end, names_any, states, changes_catalog);
        Ok(())
    }

    fn note_table(&mut self, table: TableId, end: u64) {
        match &mut self.recent {
            Some((known, position)) if *known == table => *position = end,
            recent => self.last.tables.extend(recent.replace((table, end))),
        }
    }

    fn take_if_it_counts(
        &mut self,
        end: u64,
        names_any: bool,
        states: Vec<(SequenceId, SequenceState)>,
        changes_catalog: bool,
    ) {
        if changes_catalog || !states.is_empty() {
            let named = if names_any { self.named.entries().into() } else { Box::default() };
            self.judge_or_keep(Unjudged { end, named, states: states.into(), changes_catalog });
        }
    }

    fn judge_or_keep(&mut self, transaction: Unjudged) {
        if self.bound.covers(&transaction.named) {
            self.last.keep(&transaction, &self.catalog);
        } else if matches!(self.bound, Bound::Read(_)) && !self.is_given_up {
            self.unjudged.push(transaction);
        }
    }

    /// Keeps what counts, as far as that is known.
    fn judge(&mut self) {
        let LogSummary { bound, last, catalog, unjudged, .. } = self;
        unjudged.retain(|transaction| {
            let counts = bound.covers(&transaction.named);
            if counts {
                last.keep(transaction, catalog);
            }
            !counts
        });
    }

    fn malformed(&self, record: &Record<'_>, malformed: &Malformed) -> Error {
        self.damaged(record, malformed.reason)
    }

    fn damaged(&self, record: &Record<'_>, reason: &str) -> Error {
        let (log, end) = (self.log, record.end.0);
        Error::corrupt(format!("log {log} is damaged: {reason} (in the record that ends at position {end})"))
    }
}

impl Last {
    /// Notes a transaction that counts, and raises what it has drawn from.
    fn keep(&mut self, transaction: &Unjudged, catalog: &Catalog) {
        for (sequence, state) in &transaction.states {
            catalog.raise_sequence(*sequence, *state);
            self.sequences = self.sequences.max(transaction.end);
        }
        if transaction.changes_catalog {
            self.catalog = self.catalog.max(transaction.end);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use hyades_types::definition::{CatalogChange, SequenceDefinition, SequenceId, SequenceState, TableName};
    use hyades_types::sequence::SequenceCatalog;
    use hyades_types::value::SqlType;

    use crate::config::Config;
    use crate::log::manifest::{LogShape, Manifest};
    use crate::lsn::{Lsn, LsnVector};
    use crate::recovery::log_summary::{JUDGED_TOGETHER, LogSummary, MOST_UNJUDGED, Unjudged};
    use crate::storage::catalog::Catalog;

    const SEQUENCE: SequenceId = SequenceId(7);

    fn catalog() -> Arc<Catalog> {
        let definition = SequenceDefinition {
            name: TableName { schema: "public".to_owned(), name: "numbers".to_owned() },
            sql_type: SqlType::BigInt,
            start: 1,
            increment: 1,
            least: 1,
            greatest: i64::MAX,
            cycles: false,
            owner: None,
            version: 0,
        };
        let catalog = Catalog::new();
        let create = CatalogChange::CreateSequence { id: SEQUENCE, definition };
        catalog.apply(&create, &crossbeam_epoch::pin()).expect("nothing stands in its way");
        Arc::new(catalog)
    }

    fn summaries(catalog: &Arc<Catalog>, end: Option<&[u64]>) -> [LogSummary; 2] {
        let manifest = Manifest::create();
        let shape = LogShape { logs: 2, stripes: 1 };
        let mut incarnation = manifest.plan_incarnation(&Config::new(PathBuf::from("data")), shape);
        if let Some(end) = end {
            incarnation.freeze(&LsnVector::from_slice(end));
        }
        let summaries = LogSummary::of_each(&manifest, &incarnation, catalog).expect("it is known");
        summaries.try_into().unwrap_or_else(|_| panic!("there are two logs"))
    }

    /// A transaction has set the sequence.
    fn set(value: i64, named: &[u64]) -> Unjudged {
        let state = SequenceState { epoch: value.unsigned_abs(), value, is_called: true };
        Unjudged { end: 8, named: named.into(), states: [(SEQUENCE, state)].into(), changes_catalog: false }
    }

    fn read_to(summary: &mut LogSummary, position: u64) {
        summary.position = Lsn(position);
        summary.passed();
    }

    fn value(catalog: &Catalog) -> i64 {
        catalog.sequence(SEQUENCE).expect("it is there").state().value
    }

    #[test]
    fn sequences_are_raised_by_what_counts_alone() {
        let catalog = catalog();
        let [mut one, mut other] = summaries(&catalog, None);
        for (value, named) in [(10, &[][..]), (20, &[0, 64]), (30, &[0, 128]), (40, &[0, 136])] {
            one.judge_or_keep(set(value, named));
        }
        assert_eq!((value(&catalog), one.unjudged.len()), (10, 3), "only what names nothing");
        read_to(&mut other, 64);
        one.judge();
        assert_eq!((value(&catalog), one.unjudged.len()), (20, 2));
        // The other log ends at 128: who names a later position is a zombie.
        assert!(one.conclude(&LsnVector::from_slice(&[256, 128])).is_some());
        assert_eq!(value(&catalog), 30);
    }

    #[test]
    fn what_is_read_of_an_ended_log_makes_nothing_count() {
        let catalog = catalog();
        let [mut one, mut other] = summaries(&catalog, Some(&[256, 64]));
        // Whole records may stand behind the end.
        read_to(&mut other, 128);
        one.judge_or_keep(set(20, &[0, 128]));
        one.judge_or_keep(set(10, &[0, 64]));
        let last = one.conclude(&LsnVector::from_slice(&[256, 64]));
        assert_eq!((value(&catalog), last.map(|last| last.sequences)), (10, Some(8)));
    }

    #[test]
    fn transactions_are_judged_before_they_are_too_many() {
        let catalog = catalog();
        let [mut one, mut other] = summaries(&catalog, None);
        for value in 1..=JUDGED_TOGETHER as i64 {
            one.judge_or_keep(set(value, &[0, 64]));
        }
        read_to(&mut other, 64);
        read_to(&mut one, 64);
        assert_eq!((value(&catalog), one.unjudged.len()), (JUDGED_TOGETHER as i64, 0));
    }

    #[test]
    fn a_summary_of_too_many_is_given_up() {
        let catalog = catalog();
        let [mut one, _] = summaries(&catalog, None);
        for value in 1..=MOST_UNJUDGED as i64 + 1 {
            one.judge_or_keep(set(value, &[0, 64]));
        }
        read_to(&mut one, 64);
        one.judge_or_keep(set(5, &[0, 64]));
        assert!(one.unjudged.is_empty());
        assert!(one.conclude(&LsnVector::from_slice(&[64, 64])).is_none());
    }
}
