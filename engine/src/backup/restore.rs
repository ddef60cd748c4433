//! Making a database of a backup, as it was at some point in time.

use std::path::Path;
use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};

use super::choice::{Choice, Chooser};
use super::files::Files;
use super::place::{PointInTime, refused};
use crate::disk::{Disk, restrict};
use crate::log::manifest::{Manifest, lock_data_directory};

/// What was restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    pub checkpoint: Option<u64>,
    pub copied_files: usize,
    pub copied_bytes: u64,
    /// When the last that counts was written, in microseconds since 1970; 0 if that is not known.
    pub to_us: u64,
}

/// Makes a database in `target`, which is new or empty, of a backup, as it was at this point. If it is
/// refused, the target stays as it was.
///
/// # Errors
/// No backup, a target that holds something, a point that the backup does not have, files that are missing or
/// damaged, whatever the disk refuses.
pub fn restore(disk: &Arc<dyn Disk>, source: &Path, target: &Path, point: PointInTime) -> Result<Restored> {
    let name = source.display();
    let backup = Manifest::read(disk.as_ref(), source)?.filter(|manifest| manifest.backup.is_some());
    let Some(backup) = backup else {
        let message = format!("there is no backup in directory \"{name}\"");
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    };
    check_is_free(disk, target)?;
    if backup.incarnations.is_empty() {
        return Err(refused(format!("the backup in directory \"{name}\" was not finished: make it again")));
    }
    let Choice { incarnations, checkpoint, to_us } =
        Chooser { disk, source, backup: &backup }.choose(point)?;

    let _lock = lock_data_directory(disk, target)?;
    check_is_free(disk, target)?;
    restrict(disk.as_ref(), target)?;
    // From here on whoever opens the target is told that not everything is there.
    backup.emptied().store(disk.as_ref(), target)?;
    let mut restored = backup.emptied();
    // It goes its own way.
    restored.begin_timeline();
    let mut files = Files::new(disk, source, target);
    if let Some(checkpoint) = &checkpoint {
        files.copy_checkpoint(checkpoint)?;
    }
    let number = checkpoint.as_ref().map(|checkpoint| checkpoint.number);
    let first = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.incarnation);
    for incarnation in incarnations.into_iter().filter(|incarnation| incarnation.number >= first) {
        for log in 0..incarnation.logs {
            let stripes = log * incarnation.stripes..(log + 1) * incarnation.stripes;
            let firsts = incarnation.first_segments[stripes].to_vec();
            let nothing = vec![0; incarnation.stripes];
            files.copy_log(&incarnation, log, &firsts, &nothing)?;
        }
        restored.incarnations.push(incarnation);
    }
    restored.checkpoints.extend(checkpoint);
    restored.finish();
    restored.store(disk.as_ref(), target)?;
    let Files { copied_files, copied_bytes, .. } = files;
    Ok(Restored { checkpoint: number, copied_files, copied_bytes, to_us })
}

/// Refuses a target that holds something.
fn check_is_free(disk: &Arc<dyn Disk>, target: &Path) -> Result<()> {
    match Manifest::read(disk.as_ref(), target)? {
        None => Ok(()),
        Some(_) => Err(refused(format!("directory \"{}\" holds a database already", target.display()))),
    }
}
