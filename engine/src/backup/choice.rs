//! Chooses what of a backup is restored: how far each log counts, and which checkpoint replay begins with.
//!
//! | point | each log counts up to |
//! |---|---|
//! | the end | the end of the backup |
//! | a time | the blocks that were written by then |
//! | a phase | what its checkpoint holds, and nothing else: replay finds nothing to do |
//! | a transaction X | in its own log everything up to X, inclusive or exclusive; in the others the blocks that were written by the time X's block was, and what X depends on |
//!
//! In every case, the transactions that count are those whose LSN vectors these ends cover, so what is
//! restored is closed under dependencies. Exclusive means that no transaction that depends on X counts
//! either: its vector names a position of X's log beyond the end.
//!
//! Nothing is written here.

use hyades_types::error::{Error, Result, sqlstate};

use super::files::{LogExtent, extent, moved};
use super::place::{Place, PointInTime, shown_time};
use crate::checkpoint::contents::{self, Contents};
use crate::log::manifest::{Checkpoint, Incarnation, Manifest};
use crate::log::record::RecordBody;
use crate::log::set::{Chunk, LogSource};
use crate::log::store::{LogReader, segment_with};
use crate::lsn::{Lsn, LsnVector, TransactionPlace};
use crate::protocol::ReplayOrder;
use crate::protocol::list::replay_order;

/// What is restored.
pub(super) struct Choice {
    /// In order. The end of the last one may be earlier than in the backup.
    pub(super) incarnations: Vec<Incarnation>,
    pub(super) checkpoint: Option<Checkpoint>,
    /// When the last block that counts was written, in microseconds since 1970; 0 if that is not known.
    pub(super) to_us: u64,
}

/// A backup to choose from.
pub(super) struct Chooser<'c> {
    pub(super) source: Place<'c>,
    pub(super) backup: &'c Manifest,
}

/// A transaction that was found in its log.
struct Found {
    /// Where its last record begins.
    start: Lsn,
    /// What it comes after.
    vector: LsnVector,
    /// When the block in which it ends was written.
    time_us: u64,
}

impl Chooser<'_> {
    pub(super) fn choose(&self, point: PointInTime) -> Result<Choice> {
        match point {
            PointInTime::End => self.choose_time(u64::MAX),
            PointInTime::Time(until_us) => self.choose_time(until_us),
            PointInTime::Phase(number) => self.choose_phase(number),
            PointInTime::Transaction { place, is_exclusive } => self.choose_transaction(place, is_exclusive),
        }
    }

    fn choose_time(&self, until_us: u64) -> Result<Choice> {
        let (incarnations, to_us) = self.incarnations_until(until_us, u64::MAX)?;
        let checkpoint = self.last_checkpoint(&incarnations, until_us)?;
        Ok(Choice { incarnations, checkpoint, to_us })
    }

    /// The incarnations before `before` that had begun by then, and when the last of their blocks was
    /// written. The end of the last incarnation may be earlier than in the backup.
    fn incarnations_until(&self, until_us: u64, before: u64) -> Result<(Vec<Incarnation>, u64)> {
        let (mut chosen, mut to_us) = (Vec::new(), 0);
        let wanted = |one: &&Incarnation| one.logs > 0 && one.number < before;
        for incarnation in self.backup.incarnations.iter().filter(wanted) {
            let extents = self.extents(incarnation, until_us)?;
            let is_cut = extents.iter().any(|extent| extent.is_cut);
            let frozen = incarnation.frozen_end().unwrap_or_default();
            let mut end = ends(&extents);
            if !is_cut && !frozen.is_covered_by(end.entries()) {
                let message = format!(
                    "the backup is damaged: logs of incarnation {} are cut short",
                    incarnation.number
                );
                return Err(Error::corrupt(message));
            }
            end.lower(frozen.entries());
            to_us = extents.iter().map(|extent| extent.time_us).fold(to_us, u64::max);
            let mut incarnation = moved(incarnation);
            incarnation.freeze(&end);
            chosen.push(incarnation);
            if is_cut {
                break;
            }
        }
        Ok((chosen, to_us))
    }

    fn extents(&self, incarnation: &Incarnation, until_us: u64) -> Result<Vec<LogExtent>> {
        let one = |log| extent(self.source, self.backup, incarnation, log, until_us);
        (0..incarnation.logs).map(one).collect()
    }

    /// The last checkpoint that these incarnations hold completely; none if all their logs start at the
    /// beginning.
    fn last_checkpoint(&self, incarnations: &[Incarnation], until_us: u64) -> Result<Option<Checkpoint>> {
        let mut first_us = None;
        for checkpoint in self.backup.checkpoints.iter().rev() {
            let of = |incarnation: &&Incarnation| incarnation.number == checkpoint.incarnation;
            let settled = LsnVector::from_slice(&checkpoint.settled);
            let is_whole = incarnations.iter().find(of).is_some_and(|incarnation| {
                settled.is_covered_by(incarnation.frozen_end().unwrap_or_default().entries())
            });
            let contents = self.contents(checkpoint)?;
            if is_whole && contents.taken_at_us <= until_us {
                check_rest(checkpoint, incarnations)?;
                self.check_parts(checkpoint, &contents)?;
                return Ok(Some(checkpoint.clone()));
            }
            first_us = Some(contents.taken_at_us);
        }
        if self.backup.begins_at_beginning() {
            return Ok(None);
        }
        let first = first_us.map(shown_time).unwrap_or_default();
        Err(unusable(format!("the backup begins later than that: its first checkpoint was taken at {first}")))
    }

    fn contents(&self, checkpoint: &Checkpoint) -> Result<Contents> {
        Contents::load(self.source.disk.as_ref(), &contents::directory(self.source.directory), checkpoint)
    }

    /// Checks that the parts of a checkpoint are there, so that no copy is begun that lacks one.
    fn check_parts(&self, checkpoint: &Checkpoint, contents: &Contents) -> Result<()> {
        let directory = contents::directory(self.source.directory);
        for file in &contents.files {
            let path = file.number.path(&directory);
            let bytes = self.source.disk.open_read(&path).and_then(|part| part.len());
            if bytes.is_ok_and(|bytes| bytes == file.bytes) {
                continue;
            }
            let what = if self.source.disk.exists(&path) { "is not as long as it was" } else { "is missing" };
            let (number, path) = (checkpoint.number, path.display());
            return Err(Error::corrupt(format!("checkpoint {number} is damaged: \"{path}\" {what}")));
        }
        Ok(())
    }

    fn choose_phase(&self, number: u64) -> Result<Choice> {
        let known = &self.backup.checkpoints;
        let Some(checkpoint) = known.iter().find(|checkpoint| checkpoint.number == number) else {
            let numbers: Vec<String> = known.iter().map(|one| one.number.to_string()).collect();
            return Err(unusable(match numbers.as_slice() {
                [] => format!("the backup has no phase {number}: no checkpoint is in it"),
                _ => format!("the backup has no phase {number}, but {}", numbers.join(", ")),
            }));
        };
        let contents = self.contents(checkpoint)?;
        self.check_parts(checkpoint, &contents)?;
        let of = |incarnation: &&Incarnation| incarnation.number == checkpoint.incarnation;
        let Some(incarnation) = self.backup.incarnations.iter().find(of) else {
            let message = format!("the backup is damaged: logs of incarnation {number} are missing");
            return Err(Error::corrupt(message));
        };
        // What belongs to this phase and comes after `raised` is in the checkpoint. Everything else there
        // belongs to the next phase.
        let positions = checkpoint.raised.clone();
        let mut first_segments = Vec::new();
        for (log, position) in positions.iter().enumerate() {
            let files = self.backup.log_files(self.source.directory, incarnation, log);
            for (directory, first) in files.directories.iter().zip(&files.first_segments) {
                let segment = segment_with(
                    self.source.disk.as_ref(),
                    directory,
                    &files.identity,
                    *first,
                    Lsn(*position),
                )?;
                first_segments.push(segment);
            }
        }
        let incarnation = Incarnation {
            first_segments,
            starts: positions.clone(),
            end: Some(positions.clone()),
            ..moved(incarnation)
        };
        let checkpoint = Checkpoint { from: positions.clone(), settled: positions, ..checkpoint.clone() };
        let to_us = contents.taken_at_us;
        Ok(Choice { incarnations: vec![incarnation], checkpoint: Some(checkpoint), to_us })
    }

    fn choose_transaction(&self, place: TransactionPlace, is_exclusive: bool) -> Result<Choice> {
        let of = |incarnation: &&Incarnation| incarnation.number == place.incarnation;
        let incarnation = self.backup.incarnations.iter().find(of).filter(|one| place.log < one.logs);
        let Some(incarnation) = incarnation else {
            let TransactionPlace { incarnation, log, .. } = place;
            return Err(unusable(format!("the backup has no log {log} of incarnation {incarnation}")));
        };
        let found = self.find(incarnation, place)?;
        let (mut incarnations, _) = self.incarnations_until(u64::MAX, place.incarnation)?;
        let extents = self.extents(incarnation, found.time_us)?;
        let mut end = ends(&extents);
        if !is_exclusive {
            end.raise(found.vector.entries());
        }
        end.lower(incarnation.frozen_end().unwrap_or_default().entries());
        let mut end = end.entries().to_vec();
        end[place.log] = if is_exclusive { found.start.0 } else { place.end.0 };
        let incarnation = Incarnation { end: Some(end), ..moved(incarnation) };
        incarnations.push(incarnation);
        let checkpoint = self.last_checkpoint(&incarnations, found.time_us)?;
        Ok(Choice { incarnations, checkpoint, to_us: found.time_us })
    }

    /// Reads a log up to one of its transactions.
    fn find(&self, incarnation: &Incarnation, place: TransactionPlace) -> Result<Found> {
        let frozen = incarnation.frozen_end().unwrap_or_default();
        if place.end > frozen.get(place.log) {
            return Err(unusable(format!("the backup ends before transaction {place}")));
        }
        if place.end <= incarnation.start(place.log) {
            return Err(unusable(format!("the backup begins after transaction {place}")));
        }
        let files = self.backup.log_files(self.source.directory, incarnation, place.log);
        let mut reader = LogReader::open(self.source.disk, &files)?;
        let mut order = replay_order(&incarnation.protocol, incarnation.logs)?;
        let mut has_block = reader.has_read() || reader.next_block()?;
        while has_block {
            let time_us = reader.block_time_us();
            // No further than this block.
            reader.stop_at(reader.end_of_whole_records());
            if let Some(chunk) = reader.next_chunk()?
                && let Some((start, vector)) = find_in_chunk(&chunk, order.as_mut(), place)?
            {
                return check_found(Found { start, vector, time_us }, &frozen, place);
            }
            if reader.end_of_whole_records() >= place.end {
                break;
            }
            reader.stop_at(Lsn(u64::MAX));
            has_block = reader.next_block()?;
        }
        let TransactionPlace { log, end, .. } = place;
        Err(unusable(format!(
            "no transaction of log {log} ends at position {end}: hyades log dump shows them"
        )))
    }
}

/// Looks for the transaction among these records. Returns where its last record begins, and what it comes
/// after.
fn find_in_chunk(
    chunk: &Chunk,
    order: &mut dyn ReplayOrder,
    place: TransactionPlace,
) -> Result<Option<(Lsn, LsnVector)>> {
    let damaged = |reason| {
        let TransactionPlace { log, incarnation, .. } = place;
        Error::corrupt(format!("the backup is damaged: log {log} of incarnation {incarnation}: {reason}"))
    };
    for record in chunk.records() {
        let record = record.map_err(|malformed| damaged(malformed.reason))?;
        let content = match record.body {
            RecordBody::Anchor(anchor) => {
                order.anchor(&anchor);
                continue;
            }
            RecordBody::Transaction { content, .. }
            | RecordBody::Fragment { commit: Some(_), content, .. } => content,
            RecordBody::Fragment { .. } | RecordBody::Filler => continue,
        };
        if record.end != place.end {
            continue;
        }
        let length = order.field_bytes(content).map_err(|malformed| damaged(malformed.reason))?;
        let mut vector = LsnVector::zero(order.base().len());
        order
            .read_field(record.start, &content[..length], &mut vector)
            .map_err(|malformed| damaged(malformed.reason))?;
        vector.raise(order.base().entries());
        return Ok(Some((record.start, vector)));
    }
    Ok(None)
}

fn check_found(found: Found, frozen: &LsnVector, place: TransactionPlace) -> Result<Found> {
    if !found.vector.is_covered_by(frozen.entries()) {
        return Err(unusable(format!(
            "transaction {place} does not count: what it depends on is not in the backup"
        )));
    }
    if found.time_us == 0 {
        return Err(unusable(format!(
            "the log of transaction {place} was written by a program that did not note times, so what had come \
             before it is not known"
        )));
    }
    Ok(found)
}

fn ends(extents: &[LogExtent]) -> LsnVector {
    LsnVector::from_slice(&extents.iter().map(|extent| extent.end.0).collect::<Vec<_>>())
}

fn unusable(message: String) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// Checks that the incarnations after a checkpoint are all there, from their beginnings.
fn check_rest(checkpoint: &Checkpoint, incarnations: &[Incarnation]) -> Result<()> {
    let later = incarnations.iter().filter(|incarnation| incarnation.number > checkpoint.incarnation);
    for (number, incarnation) in (checkpoint.incarnation + 1..).zip(later) {
        if incarnation.number != number || !incarnation.starts.is_empty() {
            return Err(Error::corrupt(format!(
                "the backup is damaged: logs of incarnation {number} are missing"
            )));
        }
    }
    Ok(())
}
