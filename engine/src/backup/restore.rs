//! Making a database of a backup, as it was at some time.

use std::path::Path;
use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};

use super::files::{Files, LogExtent, extent, moved};
use super::{refused, shown_time};
use crate::checkpoint::contents::{self, Contents};
use crate::disk::{Disk, restrict};
use crate::log::manifest::{Checkpoint, Incarnation, Manifest, lock_data_directory};
use crate::lsn::LsnVector;

/// What was restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    pub checkpoint: Option<u64>,
    pub copied_files: usize,
    pub copied_bytes: u64,
    /// When the last that counts was written, in microseconds since 1970; 0 if that is not known.
    pub to_us: u64,
}

/// Makes a database in `target`, which is new or empty, of a backup: as it was at this time (microseconds
/// since 1970), or at the backup's end.
///
/// # Errors
/// No backup, a target that holds something, a time before the backup begins, files that are missing or
/// damaged, whatever the disk refuses.
pub fn restore(
    disk: &Arc<dyn Disk>,
    source: &Path,
    target: &Path,
    until_us: Option<u64>,
) -> Result<Restored> {
    let name = source.display();
    let backup = Manifest::read(disk.as_ref(), source)?.filter(|manifest| manifest.backup.is_some());
    let Some(backup) = backup else {
        let message = format!("there is no backup in directory \"{name}\"");
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    };
    let _lock = lock_data_directory(disk, target)?;
    if Manifest::read(disk.as_ref(), target)?.is_some() {
        let message = format!("directory \"{}\" holds a database already", target.display());
        return Err(refused(message));
    }
    restrict(disk.as_ref(), target)?;
    if backup.incarnations.is_empty() {
        return Err(refused(format!("the backup in directory \"{name}\" was not finished: make it again")));
    }
    let mut restoring = Restoring { files: Files::new(disk, source, target), backup };
    let until_us = until_us.unwrap_or(u64::MAX);
    let (incarnations, to_us) = restoring.choose_incarnations(until_us)?;
    let checkpoint = restoring.choose_checkpoint(&incarnations, until_us)?;
    let number = checkpoint.as_ref().map(|checkpoint| checkpoint.number);
    // From here on whoever opens the target is told that not everything is there.
    restoring.backup.emptied().store(disk.as_ref(), target)?;
    restoring.copy(incarnations, checkpoint)?;
    let Files { copied_files, copied_bytes, .. } = restoring.files;
    Ok(Restored { checkpoint: number, copied_files, copied_bytes, to_us })
}

struct Restoring<'r> {
    files: Files<'r>,
    backup: Manifest,
}

impl Restoring<'_> {
    /// The incarnations that had begun by then, the last one with an end that may be earlier; and when the
    /// last of it was written.
    fn choose_incarnations(&self, until_us: u64) -> Result<(Vec<Incarnation>, u64)> {
        let (mut chosen, mut to_us) = (Vec::new(), 0);
        for incarnation in self.backup.incarnations.iter().filter(|incarnation| incarnation.logs > 0) {
            let extents = self.extents(incarnation, until_us)?;
            let is_cut = extents.iter().any(|extent| extent.is_cut);
            let frozen = incarnation.frozen_end().unwrap_or_default();
            let mut end =
                LsnVector::from_slice(&extents.iter().map(|extent| extent.end.0).collect::<Vec<_>>());
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
        let Files { disk, source, .. } = self.files;
        let one = |log| extent(disk, source, &self.backup, incarnation, log, until_us);
        (0..incarnation.logs).map(one).collect()
    }

    /// The last checkpoint that these incarnations hold whole; none if all their logs begin at the beginning.
    fn choose_checkpoint(&self, incarnations: &[Incarnation], until_us: u64) -> Result<Option<Checkpoint>> {
        let directory = contents::directory(self.files.source);
        let mut first_us = None;
        for checkpoint in self.backup.checkpoints.iter().rev() {
            let of = |incarnation: &&Incarnation| incarnation.number == checkpoint.incarnation;
            let settled = LsnVector::from_slice(&checkpoint.settled);
            let is_whole = incarnations.iter().find(of).is_some_and(|incarnation| {
                settled.is_covered_by(incarnation.frozen_end().unwrap_or_default().entries())
            });
            let taken_at_us = Contents::load(self.files.disk.as_ref(), &directory, checkpoint)?.taken_at_us;
            if is_whole && taken_at_us <= until_us {
                check_rest(checkpoint, incarnations)?;
                return Ok(Some(checkpoint.clone()));
            }
            first_us = Some(taken_at_us);
        }
        let is_from_the_beginning =
            incarnations.first().is_some_and(|first| first.number == 1 && first.starts.is_empty());
        if is_from_the_beginning {
            return Ok(None);
        }
        let first = first_us.map(shown_time).unwrap_or_default();
        let message = format!("the backup begins later than that: its first checkpoint was taken at {first}");
        Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message))
    }

    fn copy(&mut self, incarnations: Vec<Incarnation>, checkpoint: Option<Checkpoint>) -> Result<()> {
        let mut restored = self.backup.emptied();
        // From here on it goes its own way.
        restored.begin_timeline();
        if let Some(checkpoint) = &checkpoint {
            self.files.copy_checkpoint(checkpoint)?;
        }
        let first = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.incarnation);
        for incarnation in incarnations.into_iter().filter(|incarnation| incarnation.number >= first) {
            for log in 0..incarnation.logs {
                let stripes = log * incarnation.stripes..(log + 1) * incarnation.stripes;
                let firsts = incarnation.first_segments[stripes].to_vec();
                let nothing = vec![0; incarnation.stripes];
                self.files.copy_log(&incarnation, log, &firsts, &nothing)?;
            }
            restored.incarnations.push(incarnation);
        }
        restored.checkpoints.extend(checkpoint);
        restored.finish();
        restored.store(self.files.disk.as_ref(), self.files.target)
    }
}

/// Whether the incarnations behind a checkpoint are all there, from their beginnings.
fn check_rest(checkpoint: &Checkpoint, incarnations: &[Incarnation]) -> Result<()> {
    let behind = incarnations.iter().filter(|incarnation| incarnation.number > checkpoint.incarnation);
    for (number, incarnation) in (checkpoint.incarnation + 1..).zip(behind) {
        if incarnation.number != number || !incarnation.starts.is_empty() {
            return Err(Error::corrupt(format!(
                "the backup is damaged: logs of incarnation {number} are missing"
            )));
        }
    }
    Ok(())
}
