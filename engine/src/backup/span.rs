//! A span of a backup, without gaps in its logs: how far each log counts for a point in it, and which
//! checkpoint replay begins with.
//!
//! | point | each log counts up to |
//! |---|---|
//! | the end | the end of the backup |
//! | a time | the blocks that were written by then |
//! | a checkpoint | what it holds, and nothing else: replay finds nothing to do |
//! | a transaction X | in its own log everything up to X, inclusive or exclusive; in the others the blocks that were written by the time X's block was, and what X depends on |
//!
//! In every case, the transactions that count are those whose LSN vectors these ends cover, so what is
//! restored is closed under dependencies. Exclusive means that no transaction that depends on X counts
//! either: its vector names a position of X's log beyond the end.
//!
//! The checkpoint is the last one that the logs held completely at that point. What is read, checked and
//! copied is that checkpoint and the logs from there up to the point: files that only other points need may
//! be damaged.
//!
//! Nothing is written here.

use hyades_types::error::{Error, Result, sqlstate};

use super::files::{Broken, LogExtent, Until, begun_at, extent, moved};
use super::place::Place;
use crate::checkpoint::contents::{self, Contents};
use crate::checkpoint::verify::verify;
use crate::log::manifest::{Checkpoint, Incarnation, Manifest, UpToEnd};
use crate::log::set::{Chunk, LogSource};
use crate::log::store::LogReader;
use crate::lsn::{Lsn, LsnVector, TransactionPlace};
use crate::protocol::{Counts, Cut, EVERY_STAMP, Follows};
use crate::recovery::records::{Walk, What};

/// What is restored.
pub(super) struct Choice {
    /// In order, from the checkpoint on. The end of the last one may be earlier than in the backup.
    pub(super) incarnations: Vec<Chosen>,
    pub(super) checkpoint: Option<Checkpoint>,
    /// When the last block that counts was written, in microseconds since 1970; 0 if that is not known.
    pub(super) to_us: u64,
}

/// An incarnation, beginning and ending as far as it is needed.
pub(super) struct Chosen {
    pub(super) incarnation: Incarnation,
    /// For each log and each of its stripes, the segment and the place in it up to which it is needed.
    pub(super) places: Vec<Vec<(u64, u64)>>,
    is_cut: bool,
}

/// A span of a backup to choose from ([`Manifest::spans`]).
pub(super) struct Chooser<'c> {
    pub(super) source: Place<'c>,
    pub(super) backup: &'c Manifest,
}

/// Where replay may begin: with a checkpoint, or at the beginning of all logs.
pub(super) struct Beginning<'c> {
    pub(super) checkpoint: Option<&'c Checkpoint>,
    /// It serves all points from this time on.
    pub(super) from_us: u64,
}

/// A transaction that was found in its log.
struct Found {
    /// Where its last record begins.
    start: Lsn,
    /// Up to where each log is needed for it.
    needed: LsnVector,
    /// When the block in which it ends was written.
    time_us: u64,
}

impl<'c> Chooser<'c> {
    pub(super) fn new(source: Place<'c>, backup: &'c Manifest) -> Chooser<'c> {
        Chooser { source, backup }
    }

    /// Where replay may begin, in order. Each serves the points from its time on up to that of the next.
    pub(super) fn beginnings(&self) -> Result<Vec<Beginning<'c>>> {
        let mut beginnings = Vec::new();
        if self.backup.begins_at_beginning() {
            beginnings.push(Beginning { checkpoint: None, from_us: 0 });
        }
        for checkpoint in &self.backup.checkpoints {
            let from_us = begin_of_checkpoint(self.source, self.backup, checkpoint)?;
            beginnings.push(Beginning { checkpoint: Some(checkpoint), from_us });
        }
        Ok(beginnings)
    }

    pub(super) fn choose_time(&self, until_us: u64) -> Result<Choice> {
        for Beginning { checkpoint, from_us } in self.beginnings()?.into_iter().rev() {
            if from_us > until_us {
                continue;
            }
            let read = self.read(checkpoint, until_us, u64::MAX);
            let (incarnations, to_us) = read.map_err(Broken::into_error)?;
            if checkpoint.is_none_or(|checkpoint| is_whole(checkpoint, &incarnations)) {
                self.check_files(checkpoint)?;
                return Ok(Choice { incarnations, checkpoint: checkpoint.cloned(), to_us });
            }
        }
        Err(unusable("the backup begins later than that".to_owned()))
    }

    /// The incarnations before `before` from this checkpoint on that had begun by then, and when the last of
    /// their blocks was written. The end of the last incarnation may be earlier than in the backup.
    pub(super) fn read(
        &self,
        checkpoint: Option<&Checkpoint>,
        until_us: u64,
        before: u64,
    ) -> std::result::Result<(Vec<Chosen>, u64), Broken> {
        let (mut chosen, mut to_us) = (Vec::new(), 0);
        let first = checkpoint.map_or(0, |checkpoint| checkpoint.incarnation);
        let mut expected = None;
        let wanted = |one: &&Incarnation| one.logs > 0 && (first..before).contains(&one.number);
        for incarnation in self.backup.incarnations.iter().filter(wanted) {
            let broken = |error: Error| Broken { error, whole_before_us: to_us };
            self.check_follows(incarnation, checkpoint, &mut expected).map_err(broken)?;
            let (one, last_us) = self
                .read_incarnation(checkpoint, incarnation, |_| Until::time(until_us))
                .map_err(|one| Broken { whole_before_us: one.whole_before_us.max(to_us), ..one })?;
            to_us = to_us.max(last_us);
            let is_cut = one.is_cut;
            chosen.push(one);
            if is_cut {
                break;
            }
        }
        Ok((chosen, to_us))
    }

    /// Checks that an incarnation after a checkpoint is there from its beginning, and is the next one.
    fn check_follows(
        &self,
        incarnation: &Incarnation,
        checkpoint: Option<&Checkpoint>,
        expected: &mut Option<u64>,
    ) -> Result<()> {
        let Some(checkpoint) = checkpoint else { return Ok(()) };
        let number = expected.replace(incarnation.number + 1).unwrap_or(checkpoint.incarnation);
        if incarnation.number == number && (number == checkpoint.incarnation || incarnation.starts.is_empty())
        {
            return Ok(());
        }
        Err(Error::corrupt(format!("the backup is damaged: logs of incarnation {number} are missing")))
    }

    /// One incarnation, as far as each of its logs counts, and when the last block was written.
    fn read_incarnation(
        &self,
        checkpoint: Option<&Checkpoint>,
        incarnation: &Incarnation,
        until: impl Fn(usize) -> Until,
    ) -> std::result::Result<(Chosen, u64), Broken> {
        let at_once = |error| Broken { error, whole_before_us: 0 };
        let begun = match checkpoint.filter(|one| one.incarnation == incarnation.number) {
            Some(checkpoint) => {
                begun_at(self.source, self.backup, incarnation, &checkpoint.from).map_err(at_once)?
            }
            None => incarnation.clone(),
        };
        let mut extents: Vec<LogExtent> = Vec::new();
        let mut broken: Option<Broken> = None;
        for log in 0..begun.logs {
            match extent(self.source, self.backup, &begun, log, until(log)) {
                Ok(extent) => extents.push(extent),
                // The point up to which all of them are whole is wanted.
                Err(one)
                    if broken.as_ref().is_some_and(|known| known.whole_before_us <= one.whole_before_us) => {}
                Err(one) => broken = Some(one),
            }
        }
        if let Some(broken) = broken {
            return Err(broken);
        }
        let mut end = LsnVector::from_slice(&extents.iter().map(|one| one.end.0).collect::<Vec<_>>());
        end.lower(begun.frozen_end().unwrap_or_default().entries());
        let mut chosen = moved(&begun);
        // If something is cut off, what is left says what counts.
        let is_whole = begun.frozen_end().as_ref() == Some(&end);
        chosen.freeze(&end, if is_whole { begun.up_to_end } else { UpToEnd::unknown() });
        let time_us = extents.iter().map(|one| one.time_us).max().unwrap_or(0);
        let is_cut = extents.iter().any(|one| one.is_cut);
        let places = extents.into_iter().map(|one| one.places).collect();
        Ok((Chosen { incarnation: chosen, places, is_cut }, time_us))
    }

    /// Checks all files of a checkpoint, so that nothing is copied that a start would refuse.
    pub(super) fn check_files(&self, checkpoint: Option<&Checkpoint>) -> Result<u64> {
        let Some(checkpoint) = checkpoint else { return Ok(0) };
        let directory = contents::directory(self.source.directory);
        let contents = verify(self.source.disk, &directory, self.backup.database(), checkpoint)?;
        Ok(contents.taken_at_us)
    }

    pub(super) fn choose_checkpoint(&self, number: u64) -> Result<Choice> {
        let found = self.backup.checkpoints.iter().find(|checkpoint| checkpoint.number == number);
        let Some(checkpoint) = found else { return Err(no_checkpoint(number, &[])) };
        let to_us = self.check_files(Some(checkpoint))?;
        let chosen = self.read_checkpoint(checkpoint)?;
        // What is not later than the checkpoint and comes after `raised` is in it. Everything else there is
        // later.
        let positions = checkpoint.raised.clone();
        let checkpoint = Checkpoint { from: positions.clone(), settled: positions, ..checkpoint.clone() };
        Ok(Choice { incarnations: vec![chosen], checkpoint: Some(checkpoint), to_us })
    }

    /// The logs that a restore to a checkpoint needs: the place in each up to which it holds everything.
    pub(super) fn read_checkpoint(&self, checkpoint: &Checkpoint) -> Result<Chosen> {
        let of = |incarnation: &&Incarnation| incarnation.number == checkpoint.incarnation;
        let Some(incarnation) = self.backup.incarnations.iter().find(of) else {
            let number = checkpoint.incarnation;
            let message = format!("the backup is damaged: logs of incarnation {number} are missing");
            return Err(Error::corrupt(message));
        };
        let positions = &checkpoint.raised;
        let begun = begun_at(self.source, self.backup, incarnation, positions)?;
        let mut places = Vec::new();
        for (log, position) in positions.iter().enumerate() {
            let files = self.backup.log_files(self.source.directory, &begun, log);
            let reader = LogReader::open(self.source.disk, &files)?;
            if reader.end_of_whole_records() < Lsn(*position) {
                reader.end().map_or(Ok(()), |end| end.check(Lsn(*position)))?;
                return Err(Error::corrupt(format!("the backup is damaged: log {log} is cut short")));
            }
            places.push(reader.places());
        }
        let incarnation = Incarnation { end: Some(positions.clone()), ..moved(&begun) };
        Ok(Chosen { incarnation, places, is_cut: true })
    }

    /// Whether this span has the place where a transaction ends.
    pub(super) fn may_have(&self, place: TransactionPlace) -> bool {
        let of = |one: &&Incarnation| one.number == place.incarnation && place.log < one.logs;
        self.backup.incarnations.iter().find(of).is_some_and(|one| place.end > one.start(place.log))
    }

    pub(super) fn choose_transaction(&self, place: TransactionPlace, is_exclusive: bool) -> Result<Choice> {
        let of = |incarnation: &&Incarnation| incarnation.number == place.incarnation;
        let incarnation = self.backup.incarnations.iter().find(of).filter(|one| place.log < one.logs);
        let Some(incarnation) = incarnation else {
            let TransactionPlace { incarnation, log, .. } = place;
            return Err(unusable(format!("the backup has no log {log} of incarnation {incarnation}")));
        };
        let found = self.find(incarnation, place)?;
        let end = if is_exclusive { found.start } else { place.end };
        let needed = |log: usize| match is_exclusive {
            _ if log == place.log => place.end,
            true => Lsn::ZERO,
            false => found.needed.get(log),
        };
        let until = |log| Until { time_us: found.time_us, position: needed(log) };
        for Beginning { checkpoint, from_us } in self.beginnings()?.into_iter().rev() {
            let is_later = checkpoint.is_some_and(|one| {
                one.incarnation > place.incarnation
                    || (one.incarnation == place.incarnation && Lsn(one.settled[place.log]) > end)
            });
            if is_later || from_us > found.time_us {
                continue;
            }
            let read = self.read(checkpoint, u64::MAX, place.incarnation);
            let (mut incarnations, _) = read.map_err(Broken::into_error)?;
            let read = self.read_incarnation(checkpoint, incarnation, until);
            let (mut last, _) = read.map_err(Broken::into_error)?;
            if let Some(ends) = &mut last.incarnation.end {
                let all = ends.iter_mut().enumerate();
                all.for_each(|(log, end)| *end = (*end).max(needed(log).0));
                ends[place.log] = end.0;
            }
            incarnations.push(last);
            if checkpoint.is_none_or(|checkpoint| is_whole(checkpoint, &incarnations)) {
                self.check_files(checkpoint)?;
                let to_us = found.time_us;
                return Ok(Choice { incarnations, checkpoint: checkpoint.cloned(), to_us });
            }
        }
        Err(unusable(format!("the backup begins after transaction {place}")))
    }

    /// Reads a log up to one of its transactions, from the last checkpoint before it on.
    fn find(&self, incarnation: &Incarnation, place: TransactionPlace) -> Result<Found> {
        let frozen = incarnation.frozen_end().unwrap_or_default();
        if place.end > frozen.get(place.log) {
            return Err(unusable(format!("the backup ends before transaction {place}")));
        }
        if place.end <= incarnation.start(place.log) {
            return Err(unusable(format!("the backup begins after transaction {place}")));
        }
        let is_before =
            |one: &&Checkpoint| one.incarnation == incarnation.number && Lsn(one.from[place.log]) < place.end;
        let from = self.backup.checkpoints.iter().rfind(is_before).map_or(0, |one| one.from[place.log]);
        let files = self.backup.log_files(self.source.directory, incarnation, place.log);
        let mut reader = LogReader::open_at(self.source.disk, &files, Lsn(from))?;
        let mut walk = Walk::new(incarnation, place.log)?;
        let mut has_block = reader.has_read() || reader.next_block()?;
        while has_block {
            let time_us = reader.block_time_us();
            // No further than this block.
            reader.stop_at(reader.end_of_whole_records());
            if let Some(chunk) = reader.next_chunk()?
                && let Some((start, needed)) = find_in_chunk(&mut walk, &chunk, place, &frozen)?
            {
                return check_found(Found { start, needed, time_us }, place);
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

/// Whether these incarnations have everything that a checkpoint holds.
pub(super) fn is_whole(checkpoint: &Checkpoint, incarnations: &[Chosen]) -> bool {
    let of = |one: &&Chosen| one.incarnation.number == checkpoint.incarnation;
    let settled = LsnVector::from_slice(&checkpoint.settled);
    incarnations
        .iter()
        .find(of)
        .is_some_and(|one| settled.is_covered_by(one.incarnation.frozen_end().unwrap_or_default().entries()))
}

/// Looks for the transaction among these records, in logs that count up to `frozen`. Returns where its last
/// record begins, and up to where each log is needed for it.
fn find_in_chunk(
    walk: &mut Walk<()>,
    chunk: &Chunk,
    place: TransactionPlace,
    frozen: &LsnVector,
) -> Result<Option<(Lsn, LsnVector)>> {
    let damaged = |reason: &str| {
        let TransactionPlace { log, incarnation, .. } = place;
        Error::corrupt(format!("the backup is damaged: log {log} of incarnation {incarnation}: {reason}"))
    };
    while let Some(seen) = walk.next(chunk.start, &chunk.bytes).map_err(|found| damaged(&found.reason))? {
        if let What::Transaction(last) = &seen.what
            && seen.end == place.end
        {
            let said = walk.read(last).map_err(|found| damaged(&found.reason))?;
            let follows = said.follows.map_err(|malformed| damaged(malformed.reason))?;
            if let Follows::Stamp(_) | Follows::Predecessors(_) = follows {
                return Err(unusable(
                    "the logs do not count transaction by transaction: choose a time".to_owned(),
                ));
            }
            if follows.counts((place.log, seen.start), &Cut::at(frozen, EVERY_STAMP)) != Counts::Yes {
                return Err(unusable(format!(
                    "transaction {place} does not count: what it depends on is not in the backup"
                )));
            }
            return Ok(Some((seen.start, follows.positions(seen.start, frozen))));
        }
    }
    Ok(None)
}

fn check_found(found: Found, place: TransactionPlace) -> Result<Found> {
    if found.time_us == 0 {
        return Err(unusable(format!(
            "the log of transaction {place} was written by a program that did not note times, so what had come \
             before it is not known"
        )));
    }
    Ok(found)
}

pub(super) fn no_checkpoint(number: u64, spans: &[Manifest]) -> Error {
    let checkpoints = spans.iter().flat_map(|span| &span.checkpoints);
    let numbers: Vec<String> = checkpoints.map(|one| one.number.to_string()).collect();
    unusable(match numbers.as_slice() {
        [] => format!("the backup has no checkpoint {number}: there is none in it"),
        _ => format!("the backup has no checkpoint {number}, but {}", numbers.join(", ")),
    })
}

pub(super) fn unusable(message: String) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// From when on a checkpoint of a backup serves.
pub(super) fn begin_of_checkpoint(
    source: Place<'_>,
    span: &Manifest,
    checkpoint: &Checkpoint,
) -> Result<u64> {
    let known = span.backup.as_ref().and_then(|note| note.whole_from_us.get(&checkpoint.number));
    match known {
        Some(from_us) => Ok(*from_us),
        // An older program has made the backup.
        None => {
            let directory = contents::directory(source.directory);
            Ok(Contents::load(source.disk.as_ref(), &directory, checkpoint)?.taken_at_us)
        }
    }
}
