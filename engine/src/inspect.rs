//! Looking at logs without opening the database: for `hyades log`, and for studies of what logs hold.
//!
//! Nothing is written, locked or synced, so a directory may be inspected while a server has it open. The last
//! incarnation is then a moving target: each log is read up to the last whole record that was there when it
//! was read, one log after another. What is said of it (ends, zombies) is what a kill of the server at that
//! moment would have left *in the page cache*, not what is durable.
//!
//! [`Inspection`] finds the logs. [`Inspection::read`] walks through one of them and returns whole
//! transactions, with their fragments put together and their LSN vectors decompressed. [`graph`] makes the
//! graph of their dependencies.

pub mod graph;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_types::definition::{
    CatalogChange, RoutineDefinition, RoutineId, SequenceDefinition, SequenceId, TableDefinition, TableId,
};
use hyades_types::error::{Error, Result, sqlstate};

use crate::config::Config;
use crate::disk::{Disk, RealDisk};
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::record::{Control, Operation, Operations};
use crate::log::set::{Chunk, LogEnd, LogSource};
use crate::log::store::{LogReader, parse_segment_name};
use crate::lsn::{Lsn, LsnVector};
use crate::protocol::list::recovery;
use crate::protocol::{Counts, Cut, EVERY_STAMP, Follows, Order, RecordId};
use crate::recovery::dead::{MayBeDead, find_dead};
use crate::recovery::find_unknown;
use crate::recovery::records::{Assembled, Body, Damaged, Said, Seen, Walk, What};

/// A database directory that is only read.
pub struct Inspection {
    disk: Arc<dyn Disk>,
    data_directory: PathBuf,
    manifest: Manifest,
    tolerates_damage: bool,
}

/// One log record, or for a large transaction its last fragment with the whole of it.
#[derive(Debug)]
pub struct Entry<'a> {
    pub log: usize,
    pub start: Lsn,
    pub end: Lsn,
    pub body: EntryBody<'a>,
}

#[derive(Debug)]
pub enum EntryBody<'a> {
    Transaction(TransactionEntry<'a>),
    /// A fragment other than the last.
    Fragment {
        transaction: u64,
        bytes: usize,
    },
    Control(Control),
    Filler,
}

/// A transaction as its last log record describes it.
#[derive(Debug)]
pub struct TransactionEntry<'a> {
    start: Lsn,
    /// What it comes after, as the protocol's field says.
    pub follows: Follows<'a>,
    /// Bytes of the protocol's field in the log record.
    pub field_bytes: usize,
    pub is_barrier: bool,
    /// Its commit time, in commits since its incarnation began. `None` in logs of older programs.
    pub time: Option<u64>,
    /// Number of fragments, including the last one; 1 for a transaction in one log record.
    pub fragments: usize,
    /// The first fragments were where damage was skipped. There are no operations, because what is left of
    /// them may begin anywhere.
    pub is_cut: bool,
    pub operations: &'a [u8],
}

impl TransactionEntry<'_> {
    /// Where a replay waits for each log, in logs that count up to these ends.
    pub fn positions_up_to(&self, ends: &LsnVector) -> LsnVector {
        self.follows.positions(self.start, ends)
    }

    /// With a protocol whose records name others: those, and where a replay waits for each log beside them.
    pub fn named(&self, ends: &LsnVector) -> Option<(LsnVector, Vec<RecordId>)> {
        let Follows::Predecessors(_) = self.follows else { return None };
        let mut positions = Vec::new();
        self.follows.extend_positions(self.start, ends, &mut positions);
        Some((LsnVector::from_slice(&positions), self.follows.ids().to_vec()))
    }

    /// Whether recovery replays it, in logs that count so far.
    pub fn counts(&self, log: usize, end: Lsn, cut: &Cut) -> bool {
        end <= cut.limit.get(log) && self.follows.counts((log, self.start), cut) == Counts::Yes
    }

    pub fn operations(&self) -> Operations<'_> {
        Operations::new(self.operations)
    }
}

/// The segment files of one log of one incarnation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentFiles {
    /// More than one for a striped log.
    pub directories: u64,
    pub count: u64,
    pub bytes: u64,
}

impl Inspection {
    /// Reads the manifest.
    ///
    /// # Errors
    /// A directory that does not exist, is not a database, or is one of another version.
    pub fn open(data_directory: &Path) -> Result<Inspection> {
        Inspection::open_on(Arc::new(RealDisk), data_directory)
    }

    /// Like [`Inspection::open`], on other files than the operating system's.
    ///
    /// # Errors
    /// As [`Inspection::open`].
    pub fn open_on(disk: Arc<dyn Disk>, data_directory: &Path) -> Result<Inspection> {
        // A backup has logs, just as a database does.
        let found = match Manifest::read(disk.as_ref(), data_directory)? {
            Some(manifest) if manifest.backup.is_some() && !manifest.incarnations.is_empty() => {
                Some(manifest)
            }
            _ => Manifest::load(disk.as_ref(), data_directory)?,
        };
        match found {
            Some(manifest) => Ok(Inspection {
                disk,
                data_directory: data_directory.to_owned(),
                manifest,
                tolerates_damage: false,
            }),
            None => {
                let message =
                    format!("there is no Hyades database in directory \"{}\"", data_directory.display());
                Err(Error::input(sqlstate::UNDEFINED_FILE, message))
            }
        }
    }

    /// Skips damage in a log. After it, log records are recognised by what they look like, and what their
    /// vectors left out is not known.
    #[must_use]
    pub fn tolerating_damage(self) -> Inspection {
        Inspection { tolerates_damage: true, ..self }
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The incarnation of this number. Without a number, the last one that has logs.
    ///
    /// # Errors
    /// There is no such incarnation.
    pub fn incarnation(&self, number: Option<u64>) -> Result<&Incarnation> {
        let mut all = self.manifest.incarnations.iter();
        let found = match number {
            Some(number) => all.find(|incarnation| incarnation.number == number),
            None => all.rfind(|incarnation| incarnation.logs > 0),
        };
        found.ok_or_else(|| {
            let message = match number {
                Some(number) => format!("the database has no incarnation {number}"),
                None => "the database has no logs".to_owned(),
            };
            Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
        })
    }

    /// Whether a process holds the directory's lock; `None` where the operating system does not say.
    pub fn is_in_use(&self) -> Option<bool> {
        use std::os::unix::fs::MetadataExt;
        let inode = std::fs::metadata(self.data_directory.join("lock")).ok()?.ino().to_string();
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        // A number, kind, mode, access and process, then major:minor:inode.
        let is_ours = |line: &str| {
            line.contains("FLOCK") && line.split(' ').any(|word| word.rsplit(':').next() == Some(&inode))
        };
        Some(locks.lines().any(is_ours))
    }

    pub fn segment_files(&self, incarnation: &Incarnation, log: usize) -> Result<SegmentFiles> {
        let mut files = SegmentFiles::default();
        for directory in incarnation.stripe_directories(&self.data_directory, log) {
            files.directories += 1;
            let failed = |error| {
                Error::io(format_args!("could not read log directory \"{}\"", directory.display()), &error)
            };
            for name in self.disk.list(&directory).map_err(failed)? {
                if parse_segment_name(&name).is_some_and(|(number, _)| number == incarnation.number) {
                    let length = self.disk.open_read(&directory.join(&name)).and_then(|file| file.len());
                    files.count += 1;
                    files.bytes += length.map_err(failed)?;
                }
            }
        }
        Ok(files)
    }

    /// Passes every record of one log to `see`, in log order, until it breaks off. Returns where and why the
    /// log ended, or nothing if it was not read to its end.
    ///
    /// # Errors
    /// A missing or foreign file, or bytes that are not log records although their checksum is right.
    pub fn read(
        &self,
        incarnation: &Incarnation,
        log: usize,
        see: impl FnMut(Entry<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<Option<LogEnd>> {
        Ok(self.walk(incarnation, log, see)?.0)
    }

    /// The same; also returns the stamp up to which the log is complete, as far as it was read.
    fn walk(
        &self,
        incarnation: &Incarnation,
        log: usize,
        mut see: impl FnMut(Entry<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<(Option<LogEnd>, u64)> {
        let files = self.manifest.log_files(&self.data_directory, incarnation, log);
        let mut walk = Walk::new(incarnation, log)?;
        let mut reader = match LogReader::open(&self.disk, &files) {
            Err(_) if self.tolerates_damage => {
                walk.skip_damage();
                match LogReader::open_past_damage(&self.disk, &files) {
                    Ok(Some(reader)) => reader,
                    _ => return Ok((None, 0)),
                }
            }
            opened => opened?,
        };
        loop {
            let chunk = match reader.next_chunk() {
                Ok(Some(chunk)) => chunk,
                Ok(None) if self.tolerates_damage => {
                    let end = reader.end().cloned();
                    match reader.skip_damage() {
                        Ok(true) => {
                            walk.skip_damage();
                            continue;
                        }
                        _ => return Ok((end, walk.complete())),
                    }
                }
                Ok(None) => return Ok((reader.end().cloned(), walk.complete())),
                Err(_) if self.tolerates_damage => {
                    // Return what was read before the damage.
                    reader.stop_at(reader.whole_records());
                    continue;
                }
                Err(error) => return Err(error),
            };
            if self.walk_chunk(&mut walk, log, &chunk, &mut see)?.is_break() {
                return Ok((None, walk.complete()));
            }
        }
    }

    fn walk_chunk(
        &self,
        walk: &mut Walk<Assembled>,
        log: usize,
        chunk: &Chunk,
        see: &mut impl FnMut(Entry<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        loop {
            let seen = match walk.next(chunk.start, &chunk.bytes) {
                Ok(None) => return Ok(ControlFlow::Continue(())),
                Ok(Some(seen)) => show(walk, log, seen, see)?,
                Err(_) if self.tolerates_damage => {
                    let next = chunk.record_after(walk.position());
                    walk.skip_damage();
                    let Some(next) = next else { return Ok(ControlFlow::Continue(())) };
                    walk.go_to(next);
                    continue;
                }
                Err(damaged) => return Err(damaged.in_log(log)),
            };
            if seen.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Whether each transaction of an incarnation follows all before it.
    pub fn is_serial(&self, incarnation: &Incarnation) -> bool {
        recovery(&incarnation.protocol, incarnation.logs)
            .is_ok_and(|recovery| recovery.order() == Order::Total)
    }

    /// Whether records name the transactions that they follow.
    pub fn has_ids(&self, incarnation: &Incarnation) -> bool {
        recovery(&incarnation.protocol, incarnation.logs).is_ok_and(|recovery| recovery.has_ids())
    }

    /// Whether stamps, and not positions, say what each transaction of an incarnation follows.
    pub fn has_stamps(&self, incarnation: &Incarnation) -> bool {
        recovery(&incarnation.protocol, incarnation.logs).is_ok_and(|recovery| recovery.has_stamps())
    }

    /// Up to where the logs count: the frozen ends, or for the last incarnation what is there now.
    pub fn cut(&self, incarnation: &Incarnation) -> Result<Cut> {
        if let Some(cut) = Cut::of(incarnation) {
            let config = Config { disk: Arc::clone(&self.disk), ..Config::new(&self.data_directory) };
            return Ok(find_unknown(&config, &self.manifest, incarnation)?.unwrap_or(cut));
        }
        let checkpoint = self.manifest.checkpoint_of(incarnation);
        let has_ids = recovery(&incarnation.protocol, incarnation.logs)?.has_ids();
        let (mut ends, mut complete) = (LsnVector::zero(incarnation.logs), EVERY_STAMP);
        let (mut settled, mut all) = (self.manifest.replay_from(incarnation), Vec::new());
        for log in 0..incarnation.logs {
            let mut may_be_dead = MayBeDead::new(log);
            let (end, stamp) = self.walk(incarnation, log, |entry| {
                match &entry.body {
                    EntryBody::Transaction(transaction) if has_ids => {
                        may_be_dead.note(entry.end, transaction.follows);
                    }
                    EntryBody::Control(Control::Anchor(anchor)) => {
                        settled.raise(anchor.durable.entries());
                        may_be_dead.settle(settled.get(log));
                    }
                    _ => {}
                }
                Ok(ControlFlow::Continue(()))
            })?;
            ends.raise_entry(log, end.map_or(Lsn::ZERO, |end| end.whole_records));
            complete = complete.min(stamp);
            all.push(may_be_dead);
        }
        let known = checkpoint.and_then(|checkpoint| checkpoint.stamp).unwrap_or(0);
        let dead = find_dead(all, &ends, &settled);
        Ok(Cut::at(&ends, complete.max(known)).without(dead))
    }

    /// The tables, routines and sequences that the logs up to and including this incarnation have known,
    /// including dropped ones, by id.
    pub fn schema(&self, last: &Incarnation) -> Result<Schema> {
        let mut schema = Schema::default();
        for incarnation in self.manifest.incarnations.iter().filter(|one| one.number <= last.number) {
            for log in 0..incarnation.logs {
                self.read(incarnation, log, |entry| {
                    if let EntryBody::Transaction(transaction) = &entry.body
                        && transaction.is_barrier
                    {
                        schema.learn(transaction);
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
            }
        }
        Ok(schema)
    }
}

/// The things that log records refer to by number.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    pub tables: HashMap<TableId, TableDefinition>,
    pub routines: HashMap<RoutineId, RoutineDefinition>,
    pub sequences: HashMap<SequenceId, SequenceDefinition>,
}

impl Schema {
    fn learn(&mut self, transaction: &TransactionEntry<'_>) {
        for operation in transaction.operations().flatten() {
            let Operation::Catalog(change) = operation else { continue };
            let change = match *change {
                CatalogChange::InDatabase { change, .. } => *change,
                change => change,
            };
            match change {
                CatalogChange::CreateTable { id, definition } => {
                    self.tables.insert(id, definition);
                }
                CatalogChange::AlterTable { id, definition, .. } => {
                    self.tables.insert(id, *definition);
                }
                CatalogChange::RenameTable { id, name, schema } => {
                    if let Some(definition) = self.tables.get_mut(&id) {
                        *definition = definition.with_name(&name, schema.as_deref());
                    }
                }
                CatalogChange::AddPrimaryKey { id, primary_key } => {
                    if let Some(definition) = self.tables.get_mut(&id) {
                        definition.primary_key = Some(primary_key);
                    }
                }
                CatalogChange::CreateRoutine { id, definition, .. } => {
                    self.routines.insert(id, definition);
                }
                CatalogChange::CreateSequence { id, definition }
                | CatalogChange::AlterSequence { id, definition, .. } => {
                    self.sequences.insert(id, definition);
                }
                CatalogChange::AlterType { definition } => {
                    for table in self.tables.values_mut() {
                        *table = table.with_type(&definition);
                    }
                }
                // The other operations do not change how rows are read.
                _ => {}
            }
        }
    }

    /// As [`Schema::routine_name`].
    pub fn sequence_name(&self, id: SequenceId) -> String {
        match self.sequences.get(&id) {
            Some(definition) => format!("{}.{}", definition.name.schema, definition.name.name),
            None => format!("sequence {}", id.0),
        }
    }

    /// `public.transfer`, or its number where the logs do not say.
    pub fn routine_name(&self, id: RoutineId) -> String {
        match self.routines.get(&id) {
            Some(definition) => format!("{}.{}", definition.name.schema, definition.name.name),
            None => format!("routine {}", id.0),
        }
    }
}

/// Passes a record to `see`.
fn show(
    walk: &mut Walk<Assembled>,
    log: usize,
    seen: Seen<'_>,
    see: &mut impl FnMut(Entry<'_>) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let Seen { start, end, what } = seen;
    let last = match what {
        What::Transaction(last) => last,
        What::Fragment { transaction, bytes } => {
            return see(Entry { log, start, end, body: EntryBody::Fragment { transaction, bytes } });
        }
        What::Control(control) => return see(Entry { log, start, end, body: EntryBody::Control(control) }),
        What::Filler => return see(Entry { log, start, end, body: EntryBody::Filler }),
        // No checkpoint was named.
        What::Checkpointed => return Ok(ControlFlow::Continue(())),
    };
    let has_skipped = walk.has_skipped();
    let Said { follows, field_bytes, body } = walk.read(&last).map_err(|damaged| damaged.in_log(log))?;
    let mut transaction = TransactionEntry {
        start,
        follows: follows.map_err(|malformed| Damaged::at(start, &malformed).in_log(log))?,
        field_bytes,
        is_barrier: last.commit.is_barrier,
        time: last.commit.time,
        fragments: 1,
        is_cut: false,
        operations: &[],
    };
    match &body {
        Body::InRecord(operations) => transaction.operations = operations,
        Body::Gathered(whole) => {
            transaction.operations = &whole.operations;
            transaction.fragments = whole.fragments;
            if has_skipped && transaction.operations().any(|operation| operation.is_err()) {
                transaction.is_cut = true;
                transaction.operations = &[];
            }
        }
    }
    see(Entry { log, start, end, body: EntryBody::Transaction(transaction) })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::config::{Config, ProtocolKind};
    use crate::log::manifest::LogShape;
    use crate::log::record::{CommitHeader, encode_anchor, encode_commit, write_position};

    /// Whether a transaction counts that names this position of log 1 itself, if any, after an anchor for
    /// position 800 of log 1, of which a record that ends at 760 is the last whole one.
    fn counts(named: Option<u64>) -> bool {
        let anchor = LsnVector::from_slice(&[0, 800]);
        let mut field = vec![if named.is_some() { 0b10 } else { 0 }];
        named.into_iter().for_each(|position| write_position(&mut field, position));
        let mut records = Vec::new();
        encode_anchor(&mut records, anchor.entries(), None);
        let mut record = Vec::new();
        let length =
            encode_commit(&mut record, CommitHeader::default(), |header| header.extend_from_slice(&field), 0);
        record.resize(length, 0);
        records.extend_from_slice(&record);
        let config = Config { protocol: ProtocolKind::Taurus, ..Config::new("data") };
        let incarnation = Manifest::create().plan_incarnation(&config, LogShape { logs: 2, stripes: 1 });
        let mut walk = Walk::new(&incarnation, 0).expect("it has logs");
        let mut counts = None;
        while let Some(seen) = walk.next(Lsn::ZERO, &records).expect("well-formed") {
            let shown = show(&mut walk, 0, seen, &mut |entry| {
                if let EntryBody::Transaction(transaction) = &entry.body {
                    counts = Some(transaction.counts(
                        0,
                        entry.end,
                        &Cut::at(&LsnVector::from_slice(&[120, 760]), EVERY_STAMP),
                    ));
                }
                Ok(ControlFlow::Continue(()))
            });
            assert!(shown.expect("it fits").is_continue());
        }
        counts.expect("it is there")
    }

    #[test]
    fn an_anchor_inside_a_record_that_never_ended_makes_no_zombies() {
        assert!(counts(None) && counts(Some(760)));
        assert!(!counts(Some(808)), "it names a record that is not there");
    }
}
