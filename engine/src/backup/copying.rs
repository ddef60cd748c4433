//! Copying a database, running or not, into a backup.

use hyades_types::error::{Error, Result, sqlstate};

use super::BackupReport;
use super::files::{Files, moved, news};
use super::place::{Place, refused};
use crate::log::manifest::{BackupNote, Checkpoint, Incarnation, Manifest, lock_data_directory};
use crate::log::store::segment_with;
use crate::lsn::{Lsn, LsnVector};

/// A backup that is being made.
pub(super) struct Copying<'c> {
    files: Files<'c>,
    /// The manifest of the database.
    pub(super) database: Manifest,
    /// The manifest that the target had before.
    before: Option<Manifest>,
    _lock: Box<dyn Send + Sync>,
}

impl<'c> Copying<'c> {
    pub(super) fn begin(source: Place<'c>, target: Place<'c>) -> Result<Copying<'c>> {
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
        Ok(Copying { files: Files::new(source, target), database, before, _lock: lock })
    }

    pub(super) fn run(mut self) -> Result<BackupReport> {
        let mut report = BackupReport::default();
        let mut backup = self.kept(&mut report);
        if self.before.is_none() {
            // A first backup that is cut short can be started again.
            let mut nothing = backup.clone();
            nothing.backup = Some(BackupNote { unfinished: None });
            self.store(&nothing)?;
        }
        let last = self.database.last_checkpoint().cloned();
        if let Some(checkpoint) = &last {
            report.checkpoint = Some(checkpoint.number);
            if !backup.checkpoints.contains(checkpoint) {
                // Files in a directory without a manifest may be someone else's.
                self.files.copy_checkpoint(checkpoint, self.before.is_some())?;
            }
        }
        let to_copy = self.to_copy(&backup);
        let kept = backup.incarnations.clone();
        for incarnation in &to_copy {
            let (copied, time_us) = self.copy_incarnation(incarnation, &backup, last.as_ref())?;
            report.to_us = report.to_us.max(time_us);
            backup.incarnations.retain(|known| known.number != copied.number);
            backup.incarnations.push(copied);
        }
        self.check_continuity(&to_copy, &kept, &backup)?;
        if let Some(checkpoint) = &last {
            check_is_whole(checkpoint, &backup)?;
        }
        if let Some(checkpoint) = last
            && backup.checkpoints.iter().all(|known| known.number != checkpoint.number)
        {
            backup.checkpoints.push(checkpoint);
        }
        backup.checkpoints_taken = self.database.checkpoints_taken;
        let unfinished = to_copy.iter().find(|incarnation| incarnation.end.is_none());
        backup.backup = Some(BackupNote { unfinished: unfinished.map(|incarnation| incarnation.number) });
        backup.finish();
        if self.before.as_ref() != Some(&backup) {
            self.store(&backup)?;
        }
        report.copied_files = self.files.copied_files;
        report.copied_bytes = self.files.copied_bytes;
        report.known_files = self.files.known_files;
        Ok(report)
    }

    /// What is already there, as far as the new copy continues it.
    fn kept(&self, report: &mut BackupReport) -> Manifest {
        let Some(before) = &self.before else { return self.database.emptied() };
        let Some(known) = before.incarnations.last() else { return self.database.emptied() };
        let unfinished = before.backup.as_ref().and_then(|note| note.unfinished);
        let now = self.database.incarnations.iter().find(|now| now.number >= known.number);
        let goes_on = now.is_some_and(|now| {
            let end = known.frozen_end().unwrap_or_default();
            match now.number - known.number {
                0 => (0..now.logs).all(|log| now.start(log) <= end.get(log)),
                1 => unfinished.is_none() && now.starts.is_empty(),
                _ => false,
            }
        });
        if goes_on {
            return before.clone();
        }
        report.lost = Some(
            "logs have been given up since the previous backup, so only points in time from this one on can be restored"
                .to_owned(),
        );
        self.database.emptied()
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
    /// when its last block was written. It ends where the database says, or where the copies do.
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
        let (mut end, mut time_us) = (LsnVector::zero(incarnation.logs), 0);
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
            time_us = time_us.max(news.time_us);
        }
        let frozen = incarnation.frozen_end();
        if let Some(frozen) = &frozen
            && !frozen.is_covered_by(end.entries())
        {
            let number = incarnation.number;
            let message = format!("the logs of incarnation {number} are shorter than its manifest says");
            return Err(Error::corrupt(message));
        }
        copied.freeze(&frozen.unwrap_or(end));
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
