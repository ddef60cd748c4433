//! Copying a database, running or not, into a backup.

use hyades_types::error::{Error, Result, sqlstate};

use super::BackupReport;
use super::files::{Files, moved, news, time_of};
use super::place::{Place, refused};
use super::prune::{prune, remove_unneeded};
use super::windows::window_of;
use crate::checkpoint::contents::{self, Contents};
use crate::log::manifest::{
    BackupNote, Checkpoint, EarlierSpan, Incarnation, Manifest, UpToEnd, lock_data_directory,
};
use crate::log::store::segment_with;
use crate::lsn::{Lsn, LsnVector};

/// A backup that is being made.
pub(super) struct Copying<'c> {
    files: Files<'c>,
    /// Whatever had been acknowledged by this time is in the files of the database.
    begun_us: u64,
    /// The manifest of the database.
    pub(super) database: Manifest,
    /// The manifest that the target had before.
    before: Option<Manifest>,
    _lock: Box<dyn Send + Sync>,
}

impl<'c> Copying<'c> {
    pub(super) fn begin(source: Place<'c>, target: Place<'c>) -> Result<Copying<'c>> {
        let begun_us = crate::sync::microseconds_since_1970();
        let Some(database) = Manifest::load(source.disk.as_ref(), source.directory)? else {
            let directory = source.directory.display();
            let message = format!("there is no Hyades database in directory \"{directory}\"");
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        };
        let lock = lock_data_directory(target.disk, target.directory)?;
        let before = Manifest::read(target.disk.as_ref(), target.directory)?;
        let name = target.directory.display();
        match &before {
            Some(before) if before.backup.is_none() => {
                return Err(refused(format!("directory \"{name}\" holds a database, and not a backup")));
            }
            Some(before) if before.database() != database.database() => {
                return Err(refused(format!("directory \"{name}\" holds a backup of another database")));
            }
            Some(before) if before.timeline != database.timeline => {
                return Err(refused(format!(
                    "directory \"{name}\" holds a backup of this database from before it was restored, and the two have \
                     gone different ways: choose another directory"
                )));
            }
            _ => {}
        }
        Ok(Copying { files: Files::new(source, target), begun_us, database, before, _lock: lock })
    }

    /// Copies what the backup lacks. Gives up what only points before the last `keep_us` microseconds need.
    pub(super) fn run(mut self, keep_us: Option<u64>) -> Result<BackupReport> {
        let mut report = BackupReport::default();
        let (mut backup, mut note) = self.kept(&mut report);
        if self.before.is_none() {
            // A first backup that is cut short can be started again.
            let mut nothing = backup.clone();
            nothing.backup = Some(BackupNote::default());
            self.store(&nothing)?;
        }
        let (last, damage) = self.copy_checkpoint(&backup)?;
        let newest = last.as_ref().or(backup.checkpoints.last());
        report.checkpoint = newest.map(|checkpoint| checkpoint.number);
        let to_copy = self.to_copy(&backup);
        let kept = backup.incarnations.clone();
        note.to_us = note.to_us.max(self.begun_us);
        for incarnation in &to_copy {
            let (copied, time_us) = self.copy_incarnation(incarnation, &backup, last.as_ref())?;
            note.to_us = note.to_us.max(time_us);
            backup.incarnations.retain(|known| known.number != copied.number);
            backup.incarnations.push(copied);
        }
        self.check_continuity(&to_copy, &kept, &backup)?;
        if let Some(checkpoint) = last {
            self.add_checkpoint(checkpoint, &mut backup, &mut note)?;
        }
        backup.checkpoints_taken = self.database.checkpoints_taken;
        let unfinished = to_copy.iter().find(|incarnation| incarnation.end.is_none());
        note.unfinished = unfinished.map(|incarnation| incarnation.number);
        backup.backup = Some(note);
        backup.finish();
        // While a checkpoint cannot be copied, nothing is given up.
        let keep_us = keep_us.filter(|_| damage.is_none());
        let from_us = keep_us.map(|keep_us| self.begun_us.saturating_sub(keep_us));
        let has_pruned =
            from_us.map_or(Ok(false), |from_us| prune(&mut backup, self.files.target, from_us))?;
        self.store(&backup)?;
        if has_pruned {
            remove_unneeded(&backup, self.files.target)?;
        }
        if let Some(damage) = damage {
            let message = format!("{damage}; the logs have been copied, and the backup goes on without it");
            return Err(Error::corrupt(message));
        }
        for span in backup.spans() {
            report.windows.push(window_of(self.files.target, &span)?);
        }
        let Files { copied_files, copied_bytes, known_files, .. } = self.files;
        Ok(BackupReport { copied_files, copied_bytes, known_files, ..report })
    }

    /// Copies the last checkpoint, if the backup lacks it. Returns the checkpoint that the backup gets, and
    /// what is damaged in it.
    fn copy_checkpoint(&mut self, backup: &Manifest) -> Result<(Option<Checkpoint>, Option<Error>)> {
        let newest = backup.checkpoints.last().map_or(0, |known| known.number);
        // A database that has fallen back to an earlier checkpoint goes on with the same logs.
        let last = self.database.last_checkpoint().filter(|last| last.number >= newest).cloned();
        let Some(checkpoint) = last.as_ref().filter(|last| !backup.checkpoints.contains(last)) else {
            return Ok((last, None));
        };
        // Files in a directory without a manifest may be someone else's.
        let may_be_known = self.before.is_some();
        match self.files.copy_verified_checkpoint(checkpoint, &self.database, may_be_known) {
            Ok(()) => Ok((last, None)),
            // What the backup has is enough.
            Err(error) if error.sqlstate() == sqlstate::DATA_CORRUPTED && !backup.incarnations.is_empty() => {
                Ok((None, Some(error)))
            }
            Err(error) => Err(error),
        }
    }

    /// Adds a checkpoint, whose files have been copied, and its logs, too.
    fn add_checkpoint(
        &self,
        checkpoint: Checkpoint,
        backup: &mut Manifest,
        note: &mut BackupNote,
    ) -> Result<()> {
        check_is_whole(&checkpoint, backup)?;
        let from_us = match note.whole_from_us.get(&checkpoint.number) {
            Some(from_us) => *from_us,
            None => self.whole_from_us(&checkpoint)?,
        };
        note.whole_from_us.insert(checkpoint.number, from_us);
        // It counted before the copying of the logs began.
        note.to_us = note.to_us.max(from_us);
        if backup.checkpoints.iter().all(|known| known.number != checkpoint.number) {
            backup.checkpoints.push(checkpoint);
        }
        Ok(())
    }

    /// From when on the blocks of the logs hold everything that a checkpoint holds.
    fn whole_from_us(&self, checkpoint: &Checkpoint) -> Result<u64> {
        let source = self.files.source;
        let directory = contents::directory(source.directory);
        let mut from_us = Contents::load(source.disk.as_ref(), &directory, checkpoint)?.taken_at_us;
        let of = |incarnation: &&Incarnation| incarnation.number == checkpoint.incarnation;
        let Some(incarnation) = self.database.incarnations.iter().find(of) else { return Ok(from_us) };
        for (log, (from, settled)) in checkpoint.from.iter().zip(&checkpoint.settled).enumerate() {
            let positions = [Lsn(*from), Lsn(*settled)];
            from_us = from_us.max(time_of(source, &self.database, incarnation, log, positions)?);
        }
        Ok(from_us)
    }

    /// What is already there and the new copy continues, and what the backup notes of itself.
    fn kept(&self, report: &mut BackupReport) -> (Manifest, BackupNote) {
        let nothing = self.database.emptied();
        let Some(before) = &self.before else { return (nothing, BackupNote::default()) };
        let note = before.backup.clone().unwrap_or_default();
        let Some(known) = before.incarnations.last() else { return (nothing, note) };
        let now = self.database.incarnations.iter().find(|now| now.number >= known.number);
        let goes_on = now.is_some_and(|now| {
            let end = known.frozen_end().unwrap_or_default();
            match now.number - known.number {
                0 => (0..now.logs).all(|log| now.start(log) <= end.get(log)),
                1 => note.unfinished.is_none() && now.starts.is_empty(),
                _ => false,
            }
        });
        if goes_on {
            return (before.clone(), note);
        }
        report.lost = Some(
            "logs have been given up since the previous backup: the points in time in between cannot be restored"
                .to_owned(),
        );
        let mut earlier = note.earlier.clone();
        earlier.push(EarlierSpan {
            incarnations: before.incarnations.clone(),
            checkpoints: before.checkpoints.clone(),
            to_us: note.to_us,
        });
        (nothing, BackupNote { earlier, to_us: 0, ..note })
    }

    /// The incarnations whose logs may hold something that the backup lacks.
    fn to_copy(&self, backup: &Manifest) -> Vec<Incarnation> {
        let logged = self.database.incarnations.iter().filter(|incarnation| incarnation.logs > 0);
        match backup.incarnations.last() {
            None => self.database.to_replay().cloned().collect(),
            Some(last) => logged.filter(|incarnation| incarnation.number >= last.number).cloned().collect(),
        }
    }

    /// Checks that nothing that the copies need was given up before it was copied.
    fn check_continuity(
        &self,
        copied: &[Incarnation],
        kept: &[Incarnation],
        backup: &Manifest,
    ) -> Result<()> {
        let now = Manifest::load(self.files.source.disk.as_ref(), self.files.source.directory)?;
        let incarnations = now.as_ref().map(|now| now.incarnations.as_slice()).unwrap_or_default();
        let was_there = |one: &Incarnation| {
            let now = incarnations.iter().find(|now| now.number == one.number);
            let known =
                kept.iter().find(|known| known.number == one.number).and_then(Incarnation::frozen_end);
            let copied = backup.incarnations.iter().find(|copied| copied.number == one.number);
            let from = |log: usize| match &known {
                Some(end) => end.get(log),
                None => copied.map_or(Lsn::ZERO, |copied| copied.start(log)),
            };
            now.is_some_and(|now| (0..one.logs).all(|log| now.start(log) <= from(log)))
        };
        match copied.iter().find(|one| !was_there(one)) {
            None => Ok(()),
            Some(one) => {
                Err(refused(format!("logs of incarnation {} vanished while they were copied", one.number)))
            }
        }
    }

    /// Copies what is new in the logs of an incarnation. Returns the incarnation as the backup knows it, and
    /// a time up to which every log was copied. It ends where the database says, or where the copies do.
    fn copy_incarnation(
        &mut self,
        incarnation: &Incarnation,
        backup: &Manifest,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<(Incarnation, u64)> {
        let known = backup.incarnations.iter().find(|known| known.number == incarnation.number);
        let mut copied = moved(incarnation);
        if let Some(known) = known {
            copied.first_segments.clone_from(&known.first_segments);
            copied.starts.clone_from(&known.starts);
        } else if backup.incarnations.is_empty()
            && let Some(checkpoint) = checkpoint.filter(|one| one.incarnation == incarnation.number)
        {
            copied.starts.clone_from(&checkpoint.from);
            copied.first_segments.clear();
            for (log, from) in checkpoint.from.iter().enumerate() {
                copied.first_segments.extend(self.segments_with(incarnation, log, Lsn(*from))?);
            }
        }
        let known_end = known.and_then(Incarnation::frozen_end);
        let (mut end, mut time_us) = (LsnVector::zero(incarnation.logs), u64::MAX);
        for log in 0..incarnation.logs {
            let from = known_end.as_ref().map_or(copied.start(log), |end| end.get(log));
            let files = self.database.log_files(self.files.source.directory, incarnation, log);
            let news = news(self.files.source.disk, &files, from)?;
            let first = self.segments_with(incarnation, log, from)?;
            self.files.count_known(incarnation, log, &first)?;
            // Everything after the last whole record is the beginning of another one.
            if known_end.is_none() || news.end > from {
                self.files.copy_log(incarnation, log, &first, Some(&news.until))?;
            } else {
                self.files.known_files += first.len();
            }
            end.raise_entry(log, news.end);
            time_us = time_us.min(news.time_us);
        }
        let frozen = incarnation.frozen_end();
        if let Some(frozen) = &frozen
            && !frozen.is_covered_by(end.entries())
        {
            let number = incarnation.number;
            let message = format!("the logs of incarnation {number} are shorter than its manifest says");
            return Err(Error::corrupt(message));
        }
        match frozen {
            Some(frozen) => copied.freeze(&frozen, incarnation.up_to_end.clone()),
            None => copied.freeze(&end, UpToEnd::unknown()),
        }
        Ok((copied, time_us))
    }

    /// For each stripe of a log, the segment that holds this position, or an earlier one.
    fn segments_with(&self, incarnation: &Incarnation, log: usize, position: Lsn) -> Result<Vec<u64>> {
        let Place { disk, directory } = self.files.source;
        let files = self.database.log_files(directory, incarnation, log);
        let directories = files.directories.iter().zip(&files.first_segments);
        directories
            .map(|(directory, first)| {
                segment_with(disk.as_ref(), directory, &files.identity, *first, position)
            })
            .collect()
    }

    fn store(&self, manifest: &Manifest) -> Result<()> {
        manifest.store(self.files.target.disk.as_ref(), self.files.target.directory)
    }
}

/// Checks that a backup has the logs up to what a checkpoint holds.
fn check_is_whole(checkpoint: &Checkpoint, backup: &Manifest) -> Result<()> {
    let of = |incarnation: &&Incarnation| incarnation.number == checkpoint.incarnation;
    let end = backup.incarnations.iter().find(of).and_then(Incarnation::frozen_end).unwrap_or_default();
    if LsnVector::from_slice(&checkpoint.settled).is_covered_by(end.entries()) {
        return Ok(());
    }
    Err(Error::corrupt(format!("the logs end before what checkpoint {} holds", checkpoint.number)))
}
