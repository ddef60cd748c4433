//! What one log says of each table, collected while it is read.
//!
//! While the ends of the logs are still being looked for, it is not known which transactions count. For
//! tables and calls that does not matter: the end of the last record is kept, and a session that waits until
//! the replay has passed a zombie waits a moment longer. Sequences are raised here, and only by transactions
//! that count. A change of the catalog is noted only if it counts, too, because all sessions would wait for
//! it.
//!
//! A transaction counts if the ends of the logs cover what it follows. How far the other logs have been read
//! settles that for nearly all transactions at once. The rest are judged when the ends
//! are known. If there are too many of them, because one log is read long before another, the summary is
//! given up, and the log is read once more.
//!
//! Where the records lie that change rows is collected on the way (`extents`). The list is given up if the
//! log has records without a time whose order only a time says, or if it cannot be known in which file they
//! are.
//!
//! A running server reads its own logs in the same way, and keeps what they say for the next restart
//! (`digester`). There, a transaction counts when the positions that it names are durable, and the states of
//! sequences are noted instead of being applied.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyades_types::definition::{SequenceId, SequenceState, TableId};
use hyades_types::error::{Error, Result};

use super::dead::MayBeDead;
use super::digest::{self, LogDigest};
use super::extents::{Beginning, Collector, Extents, KeyBounds};
use super::last_positions::{Drawn, Draws, Last};
use super::pieces::{Concerned, Pieces};
use super::records::{Body, Damaged, Seen, Walk, What};
use crate::config::Config;
use crate::log::manifest::{Checkpoint, Incarnation, Manifest};
use crate::log::record::{Command, Malformed, Operation, Operations};
use crate::log::set::{Chunk, LogSet};
use crate::lsn::{Lsn, LsnVector};
use crate::protocol::list::recovery;
use crate::protocol::{Counts, Cut, KeptFollows, Order};
use crate::storage::databases::Databases;

/// When this many transactions wait to be judged, it is checked again how far the logs have been read.
const JUDGED_TOGETHER: usize = 4096;
/// At most this many may wait: some hundred bytes each.
const MOST_UNJUDGED: usize = 1 << 20;
/// At most this many bytes of unfinished transactions are kept in a running server.
const MOST_KEPT_BYTES: usize = 64 << 20;

/// How far the logs count.
enum Bound {
    /// Not known yet. The logs have been read this far.
    Read(Arc<[Reached]>),
    /// Not known yet. The logs are durable up to here, and grow.
    Durable(LsnVector),
    /// The logs end here.
    Known(Cut),
}

/// How far a log has been read.
struct Reached {
    /// With a protocol that has ids: up to where it counts for certain, as far as any log has been read.
    position: AtomicU64,
    /// The stamp up to which it is complete there.
    stamp: AtomicU64,
}

impl Bound {
    fn cut(&self) -> Cut {
        match self {
            Bound::Read(read) => {
                let reached: Vec<u64> =
                    read.iter().map(|read| read.position.load(Ordering::Relaxed)).collect();
                let stamp = read.iter().map(|read| read.stamp.load(Ordering::Relaxed)).min();
                Cut::not_before(LsnVector::from_slice(&reached), stamp.unwrap_or(0))
            }
            Bound::Durable(end) => Cut::not_before(end.clone(), 0),
            Bound::Known(cut) => cut.clone(),
        }
    }
}

/// What happens with the states of sequences that count.
enum Sequences {
    /// The catalog's sequences are raised.
    Raised(Arc<Databases>),
    Noted(Draws),
}

/// The effects of a transaction, which are kept only if it counts.
struct Unjudged {
    /// Where its last record begins and ends.
    start: Lsn,
    end: u64,
    follows: KeptFollows,
    states: Box<[(SequenceId, SequenceState)]>,
    changes_catalog: bool,
}

/// See the module head.
pub(super) struct LogSummary {
    log: usize,
    walk: Walk<Pieces>,
    bound: Bound,
    /// As the bound has been lately.
    cut: Cut,
    last: Last,
    /// `None` if they have been given up.
    extents: Option<Collector>,
    /// Whether records need times to have an order.
    needs_times: bool,
    sequences: Sequences,
    /// Most records are of the same table as the record before.
    recent: Option<(TableId, u64)>,
    unjudged: Vec<Unjudged>,
    /// With a protocol that has ids, while the ends of the logs are not known.
    may_be_dead: Option<MayBeDead>,
    /// When there are this many of them, they are judged.
    judge_at: usize,
    is_given_up: bool,
}

impl LogSummary {
    /// Summaries of the logs of an incarnation, which begin where its digest ends, or else empty. If the
    /// incarnation has not ended, the logs are read at the same time.
    pub(super) fn of_each(
        config: &Config,
        manifest: &Manifest,
        incarnation: &Incarnation,
        databases: &Arc<Databases>,
    ) -> Result<Vec<LogSummary>> {
        let digest = digest::find(config, manifest, incarnation);
        let from = manifest.replay_from(incarnation);
        let stamp = manifest.checkpoint_of(incarnation).and_then(|checkpoint| checkpoint.stamp).unwrap_or(0);
        let reached = |from: &u64| Reached { position: AtomicU64::new(*from), stamp: AtomicU64::new(stamp) };
        let read: Arc<[Reached]> = from.entries().iter().map(reached).collect();
        let summary = |log: usize| {
            let bound = match Cut::of(incarnation) {
                Some(cut) => Bound::Known(cut),
                None => Bound::Read(Arc::clone(&read)),
            };
            let sequences = Sequences::Raised(Arc::clone(databases));
            let mut summary = LogSummary::new(manifest, incarnation, log, bound, sequences)?;
            if let Some(digest) = &digest {
                summary.begin_with(&digest.logs[log], &digest.durable);
                read[log].position.store(summary.position().0, Ordering::Relaxed);
            }
            Ok(summary)
        };
        (0..incarnation.logs).map(summary).collect()
    }

    /// Empty summaries of the logs of the running incarnation. Nothing counts before it is known what is
    /// durable ([`LogSummary::judge_by_durable`]).
    pub(super) fn of_each_running(manifest: &Manifest, incarnation: &Incarnation) -> Result<Vec<LogSummary>> {
        let summary = |log| {
            let bound = Bound::Durable(LsnVector::zero(incarnation.logs));
            LogSummary::new(manifest, incarnation, log, bound, Sequences::Noted(Draws::new()))
        };
        (0..incarnation.logs).map(summary).collect()
    }

    fn new(
        manifest: &Manifest,
        incarnation: &Incarnation,
        log: usize,
        bound: Bound,
        sequences: Sequences,
    ) -> Result<LogSummary> {
        let walk = Walk::new(incarnation, log)?
            .from(manifest.replay_from(incarnation).get(log))
            .after(manifest.checkpoint_of(incarnation).cloned().map(Arc::new));
        let recovery = recovery(&incarnation.protocol, incarnation.logs)?;
        let looks_for_dead = recovery.has_ids() && !matches!(bound, Bound::Known(_));
        Ok(LogSummary {
            log,
            walk,
            cut: bound.cut(),
            may_be_dead: looks_for_dead.then(|| MayBeDead::new(log)),
            bound,
            last: Last::default(),
            extents: Some(Collector::after(Extents::default())),
            needs_times: recovery.order() != Order::Total,
            sequences,
            recent: None,
            unjudged: Vec::new(),
            judge_at: JUDGED_TOGETHER,
            is_given_up: false,
        })
    }

    /// Begins where the digest of the log ends, if that is beyond the position of the summary.
    fn begin_with(&mut self, known: &LogDigest, durable: &LsnVector) {
        self.walk.raise_durable(durable);
        if known.position <= self.position().0 {
            return;
        }
        self.walk.go_to(Lsn(known.position));
        self.last.clone_from(&known.last);
        self.extents = known.extents.clone().map(Collector::after);
        if let Sequences::Raised(databases) = &self.sequences {
            for (sequence, drawn) in &known.draws {
                databases.raise_sequence(*sequence, drawn.least);
                databases.raise_sequence(*sequence, drawn.greatest);
            }
        }
    }

    /// Where the next record begins.
    pub(super) fn position(&self) -> Lsn {
        self.walk.position()
    }

    /// Up to where all logs are known to have been durable.
    pub(super) fn durable(&self) -> &LsnVector {
        self.walk.durable()
    }

    /// The stamp up to which the log is complete, as far as it has been read.
    pub(super) fn complete(&self) -> u64 {
        self.walk.complete()
    }

    /// The stamp up to which all logs were durable and complete, as this one says.
    pub(super) fn durable_stamp(&self) -> u64 {
        self.walk.durable_stamp()
    }

    /// What it has found that may be dead.
    pub(super) fn take_dead(&mut self) -> Option<MayBeDead> {
        self.may_be_dead.take()
    }

    /// Takes no record that ends after this position.
    pub(super) fn set_limit(&mut self, limit: Lsn) {
        self.walk.set_limit(limit);
    }

    /// After everything was taken of a chunk: refuses a limit that is not where a record ends.
    pub(super) fn check_limit(&self, set: &dyn LogSet, chunk: &Chunk) -> Result<()> {
        self.walk.check_limit(chunk.end()).map_err(|found| found.in_log_of(set, self.log))
    }

    /// Whether it has been given up, because too many transactions were not judged yet, or too many bytes of
    /// unfinished ones had to be kept.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// Forgets what this checkpoint holds, which is later than the previous one.
    pub(super) fn follow(&mut self, checkpoint: &Arc<Checkpoint>) {
        let raised = checkpoint.raised[self.log];
        self.walk.follow(checkpoint, Pieces::start);
        self.note_recent();
        self.last.forget(raised);
        let from = checkpoint.from[self.log];
        self.extents.iter_mut().for_each(|extents| extents.forget(raised, from));
        self.unjudged.retain(|transaction| transaction.end > raised);
        if let Sequences::Noted(draws) = &mut self.sequences {
            draws.retain(|_, drawn| drawn.end > raised);
        }
    }

    /// Judges the remaining transactions: the logs of the running incarnation are durable up to these ends of
    /// log records.
    pub(super) fn judge_by_durable(&mut self, durable: &LsnVector) {
        self.bound = Bound::Durable(durable.clone());
        self.judge();
    }

    /// What the log says from this position to where it has been read; `None` if it is not known yet whether
    /// all of it counts.
    pub(super) fn digest(&self, from: Lsn) -> Option<LogDigest> {
        let Sequences::Noted(draws) = &self.sequences else { return None };
        if self.is_given_up || !self.unjudged.is_empty() {
            return None;
        }
        let mut last = self.last.clone();
        if let Some((table, end)) = self.recent {
            last.raise_table(table, end);
        }
        // A reader that continues there needs all pieces of the transactions that are not complete.
        let position = self.walk.unfinished().map(Pieces::start).fold(self.position(), Lsn::min);
        if self.extents.as_ref().is_some_and(|extents| !extents.is_settled()) {
            return None;
        }
        let extents = self.extents.as_ref().and_then(|extents| extents.extents(self.position().0));
        Some(LogDigest { from: from.0, position: position.0, last, extents, draws: draws.clone() })
    }

    /// Takes the records of a chunk that come next.
    pub(super) fn take(&mut self, set: &dyn LogSet, chunk: &Chunk) -> Result<()> {
        let log = self.log;
        let failed = |found: Damaged| found.in_log_of(set, log);
        // The other logs have been read further meanwhile.
        self.cut = self.bound.cut();
        while let Some(Seen { start, end, what }) =
            self.walk.next(chunk.start, &chunk.bytes).map_err(failed)?
        {
            let mut origin = Origin { chunk, bound: self.walk.bound(), has_order: true };
            let last = match what {
                What::Transaction(last) => last,
                What::Fragment { transaction, .. } => {
                    self.note_fragment(transaction, start, origin);
                    continue;
                }
                What::Control(_) => {
                    let settled = self.walk.durable().get(log);
                    self.may_be_dead.iter_mut().for_each(|may_be_dead| may_be_dead.settle(settled));
                    continue;
                }
                What::Checkpointed | What::Filler => continue,
            };
            origin.has_order = last.commit.time.is_some() || !self.needs_times;
            let said = self.walk.read(&last).map_err(failed)?;
            let place = Place { log, start, end };
            let follows = said.follows.and_then(|follows| follows.check(log, start).map(|()| follows));
            let follows = follows.map_err(|malformed| place.damaged(&malformed))?;
            self.may_be_dead.iter_mut().for_each(|may_be_dead| may_be_dead.note(end, follows));
            if let Some(extents) = &mut self.extents
                && extents.takes(end.0)
                && !extents.note_follows((log, start, end.0), follows, &self.cut)
            {
                self.extents = None;
            }
            match said.body {
                Body::InRecord(operations) => self.take_transaction(place, operations, origin)?,
                Body::Gathered(concerned) => {
                    let concerned = concerned.map_err(|malformed| place.damaged(&malformed))?;
                    self.take_concerned(place, last.fragment_of.filter(|_| origin.has_order), concerned);
                }
            }
        }
        self.passed();
        Ok(())
    }

    /// A chunk has been taken.
    pub(super) fn passed(&mut self) {
        match &self.bound {
            // What is named by id counts for certain only where an anchor says so.
            Bound::Read(read) if self.may_be_dead.is_some() => {
                for (read, settled) in read.iter().zip(self.walk.durable().entries()) {
                    read.position.fetch_max(*settled, Ordering::Relaxed);
                }
            }
            Bound::Read(read) => {
                read[self.log].position.store(self.position().0, Ordering::Relaxed);
                read[self.log].stamp.fetch_max(self.walk.complete(), Ordering::Relaxed);
            }
            Bound::Durable(_) => {
                let kept_bytes = self.walk.unfinished().map(Pieces::kept_bytes).sum::<usize>();
                self.is_given_up |= kept_bytes > MOST_KEPT_BYTES;
            }
            Bound::Known(_) => return,
        }
        let waiting = self.extents.as_ref().map_or(0, Collector::unsettled);
        if self.unjudged.len().max(waiting) < self.judge_at {
            return;
        }
        self.judge();
        let waiting = self.extents.as_ref().map_or(0, Collector::unsettled);
        self.judge_at = JUDGED_TOGETHER.max(2 * self.unjudged.len().max(waiting));
        if self.unjudged.len() > MOST_UNJUDGED {
            self.is_given_up = true;
            self.unjudged = Vec::new();
        }
    }

    /// Judges the remaining transactions by how far all logs count. `None` if the summary has been given up.
    pub(super) fn conclude(mut self, cut: &Cut) -> Option<Said> {
        self.bound = Bound::Known(cut.clone());
        self.judge();
        self.note_recent();
        let position = self.position().0;
        let extents = self.extents.and_then(|extents| extents.extents(position));
        (!self.is_given_up).then_some(Said { last: self.last, extents })
    }

    /// A fragment begins here that is not the last one.
    fn note_fragment(&mut self, transaction: u64, start: Lsn, origin: Origin<'_>) {
        let Some(extents) = &mut self.extents else { return };
        match origin.beginning(start) {
            Some(beginning) => extents.note_fragment(transaction, || beginning),
            None => self.extents = None,
        }
    }

    /// Rows with these keys are changed by a record, or the fragments, from here to there.
    fn note_extent(
        &mut self,
        table: TableId,
        from: Option<Beginning>,
        end: Lsn,
        (keys, is_large): (KeyBounds, bool),
    ) {
        match (&mut self.extents, from) {
            (Some(extents), Some(from)) if extents.takes(end.0) => {
                extents.note(table, from, end.0, keys, is_large);
            }
            (Some(extents), None) if extents.takes(end.0) => self.extents = None,
            _ => {}
        }
    }

    fn take_transaction(&mut self, place: Place, operations: &[u8], origin: Origin<'_>) -> Result<()> {
        let end = place.end.0;
        if let Some(command) = Command::of(operations) {
            let command = command.map_err(|malformed| place.damaged(&malformed))?;
            self.last.raise_call((command.routine, command.version_hash), end);
            return Ok(());
        }
        let (mut states, mut changes_catalog) = (Vec::new(), false);
        let mut operations = Operations::new(operations);
        while let Some(operation) = operations.next() {
            match operation.map_err(|malformed| place.damaged(&malformed))? {
                Operation::Put { table, key, .. }
                | Operation::Patch { table, key, .. }
                | Operation::Delete { table, key } => {
                    self.note_table(table, end);
                    let mut keys = KeyBounds::of(key);
                    let passed = operations.see_rows_of(table, |key| keys.add(key));
                    passed.map_err(|malformed| place.damaged(&malformed))?;
                    self.note_extent(table, origin.beginning(place.start), place.end, (keys, false));
                }
                Operation::Catalog(_) => changes_catalog = true,
                Operation::Sequence { sequence, state } => states.push((sequence, state)),
                Operation::Command(command) => {
                    self.last.raise_call((command.routine, command.version_hash), end);
                }
            }
        }
        self.take_if_it_counts(place, states, changes_catalog);
        Ok(())
    }

    /// Takes a large transaction.
    fn take_concerned(&mut self, place: Place, transaction: Option<u64>, concerned: Concerned) {
        let end = place.end.0;
        let Concerned { tables, calls, states, changes_catalog } = concerned;
        let begun = transaction.and_then(|transaction| self.extents.as_mut()?.end_large(transaction));
        for (table, keys) in tables {
            self.note_table(table, end);
            self.note_extent(table, begun, place.end, (keys, true));
        }
        calls.into_iter().for_each(|called| self.last.raise_call(called, end));
        self.take_if_it_counts(place, states, changes_catalog);
    }

    fn note_table(&mut self, table: TableId, end: u64) {
        match &mut self.recent {
            Some((known, position)) if *known == table => *position = end,
            _ => {
                self.note_recent();
                self.recent = Some((table, end));
            }
        }
    }

    fn note_recent(&mut self) {
        if let Some((table, end)) = self.recent.take() {
            self.last.raise_table(table, end);
        }
    }

    fn take_if_it_counts(
        &mut self,
        Place { start, end, .. }: Place,
        states: Vec<(SequenceId, SequenceState)>,
        changes_catalog: bool,
    ) {
        if changes_catalog || !states.is_empty() {
            let follows = self.walk.follows().keep();
            self.judge_or_keep(Unjudged {
                start,
                end: end.0,
                follows,
                states: states.into(),
                changes_catalog,
            });
        }
    }

    fn judge_or_keep(&mut self, transaction: Unjudged) {
        match transaction.counts(self.log, &self.cut) {
            Counts::Yes => keep(&transaction, &mut self.last, &mut self.sequences),
            Counts::Unsettled { .. } if !self.is_given_up => self.unjudged.push(transaction),
            _ => {}
        }
    }

    /// Keeps what counts, as far as that is known.
    fn judge(&mut self) {
        self.cut = self.bound.cut();
        let LogSummary { log, cut, last, sequences, unjudged, extents, .. } = self;
        extents.iter_mut().for_each(|extents| extents.judge(*log, cut));
        unjudged.retain(|transaction| {
            let counts = transaction.counts(*log, cut);
            if counts == Counts::Yes {
                keep(transaction, last, sequences);
            }
            matches!(counts, Counts::Unsettled { .. })
        });
    }
}

impl Unjudged {
    fn counts(&self, log: usize, cut: &Cut) -> Counts {
        self.follows.follows().counts((log, self.start), cut)
    }
}

/// What a log says, once it is known where all logs end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) last: Last,
    /// `None` if they are not known.
    pub(super) extents: Option<Extents>,
}

/// What is known of the place of a record besides its position.
#[derive(Clone, Copy)]
struct Origin<'c> {
    chunk: &'c Chunk,
    bound: Option<u64>,
    /// Whether it is known which changes of rows come before and after those of the record.
    has_order: bool,
}

impl Origin<'_> {
    /// `None` if it is not known in which block this is, or if the record has no order.
    fn beginning(&self, start: Lsn) -> Option<Beginning> {
        let block = self.chunk.block_with(start).filter(|_| self.has_order)?;
        Some(Beginning { start: start.0, block, bound: self.bound.unwrap_or(0) })
    }
}

/// Where the transaction ends that is being taken.
#[derive(Clone, Copy)]
struct Place {
    log: usize,
    start: Lsn,
    end: Lsn,
}

impl Place {
    fn damaged(self, malformed: &Malformed) -> Error {
        let Place { log, end, .. } = self;
        let reason = malformed.reason;
        Error::corrupt(format!("log {log} is damaged: {reason} (in the record that ends at position {end})"))
    }
}

/// Notes a transaction that counts, and what it has drawn.
fn keep(transaction: &Unjudged, last: &mut Last, sequences: &mut Sequences) {
    let end = transaction.end;
    for (sequence, state) in &transaction.states {
        match sequences {
            Sequences::Raised(databases) => databases.raise_sequence(*sequence, *state),
            Sequences::Noted(draws) => {
                draws.entry(*sequence).or_insert_with(|| Drawn::new(end, *state)).add(end, *state);
            }
        }
        last.sequences = last.sequences.max(end);
    }
    if transaction.changes_catalog {
        last.catalog = last.catalog.max(end);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use hyades_types::definition::{CatalogChange, SequenceDefinition, SequenceId, SequenceState, TableName};
    use hyades_types::value::SqlType;

    use crate::config::Config;
    use crate::disk::MemoryDisk;
    use crate::log::manifest::{LogShape, Manifest};
    use crate::lsn::{Lsn, LsnVector};
    use crate::protocol::{Cut, EVERY_STAMP, Follows, Positions};
    use crate::recovery::log_summary::{JUDGED_TOGETHER, LogSummary, MOST_UNJUDGED, Unjudged};
    use crate::storage::databases::Databases;

    const SEQUENCE: SequenceId = SequenceId(7);

    fn databases() -> Arc<Databases> {
        let definition = SequenceDefinition {
            name: TableName { schema: "public".to_owned(), name: "numbers".to_owned() },
            sql_type: SqlType::BigInt,
            start: 1,
            increment: 1,
            least: 1,
            greatest: i64::MAX,
            cache: 1,
            cycles: false,
            owner: None,
            version: 0,
        };
        let databases = Databases::new();
        let create = CatalogChange::CreateSequence { id: SEQUENCE, definition };
        databases.apply(&create, &crossbeam_epoch::pin()).expect("nothing stands in its way");
        Arc::new(databases)
    }

    fn summaries(databases: &Arc<Databases>, end: Option<&[u64]>) -> [LogSummary; 2] {
        let manifest = Manifest::create();
        let shape = LogShape { logs: 2, stripes: 1 };
        let config = Config { disk: Arc::new(MemoryDisk::default()), ..Config::new(PathBuf::from("data")) };
        let mut incarnation = manifest.plan_incarnation(&config, shape);
        if let Some(end) = end {
            incarnation.freeze(&LsnVector::from_slice(end), crate::log::manifest::UpToEnd::default());
        }
        let summaries =
            LogSummary::of_each(&config, &manifest, &incarnation, databases).expect("it is known");
        summaries.try_into().unwrap_or_else(|_| panic!("there are two logs"))
    }

    /// A transaction that has set the sequence.
    fn set(value: i64, named: &[u64]) -> Unjudged {
        let state = SequenceState { epoch: value.unsigned_abs(), value, is_called: true };
        let mut positions = Positions::zero(2);
        named.iter().enumerate().for_each(|(log, named)| positions.name(log, Lsn(*named)));
        let follows = Follows::Positions(&positions).keep();
        let states = [(SEQUENCE, state)].into();
        Unjudged { start: Lsn::ZERO, end: 8, follows, states, changes_catalog: false }
    }

    fn cut(ends: &[u64]) -> Cut {
        Cut::at(&LsnVector::from_slice(ends), EVERY_STAMP)
    }

    fn read_to(summary: &mut LogSummary, position: u64) {
        summary.walk.go_to(Lsn(position));
        summary.passed();
    }

    fn value(databases: &Databases) -> i64 {
        databases.sequences().pop().expect("it is there").state().value
    }

    #[test]
    fn sequences_are_raised_by_what_counts_alone() {
        let databases = databases();
        let [mut one, mut other] = summaries(&databases, None);
        for (value, named) in [(10, &[][..]), (20, &[0, 64]), (30, &[0, 128]), (40, &[0, 136])] {
            one.judge_or_keep(set(value, named));
        }
        assert_eq!((value(&databases), one.unjudged.len()), (10, 3), "only what names nothing");
        read_to(&mut other, 64);
        one.judge();
        assert_eq!((value(&databases), one.unjudged.len()), (20, 2));
        // The other log ends at 128: a transaction that names a later position is a zombie.
        assert!(one.conclude(&cut(&[256, 128])).is_some());
        assert_eq!(value(&databases), 30);
    }

    #[test]
    fn what_is_read_of_an_ended_log_makes_nothing_count() {
        let databases = databases();
        let [mut one, mut other] = summaries(&databases, Some(&[256, 64]));
        // There may be whole records after the end.
        read_to(&mut other, 128);
        one.judge_or_keep(set(20, &[0, 128]));
        one.judge_or_keep(set(10, &[0, 64]));
        let last = one.conclude(&cut(&[256, 64]));
        assert_eq!((value(&databases), last.map(|said| said.last.sequences)), (10, Some(8)));
    }

    #[test]
    fn transactions_are_judged_before_they_are_too_many() {
        let databases = databases();
        let [mut one, mut other] = summaries(&databases, None);
        for value in 1..=JUDGED_TOGETHER as i64 {
            one.judge_or_keep(set(value, &[0, 64]));
        }
        read_to(&mut other, 64);
        read_to(&mut one, 64);
        assert_eq!((value(&databases), one.unjudged.len()), (JUDGED_TOGETHER as i64, 0));
    }

    #[test]
    fn a_summary_of_too_many_is_given_up() {
        let databases = databases();
        let [mut one, _] = summaries(&databases, None);
        for value in 1..=MOST_UNJUDGED as i64 + 1 {
            one.judge_or_keep(set(value, &[0, 64]));
        }
        read_to(&mut one, 64);
        one.judge_or_keep(set(5, &[0, 64]));
        assert!(one.unjudged.is_empty());
        assert!(one.conclude(&cut(&[64, 64])).is_none());
    }
}
