//! Makes a database from a backup, as it was at some point in time.

use hyades_types::error::Result;

use super::choice::choose;
use super::files::Files;
use super::place::{Place, PointInTime, refused};
use super::span::{Choice, Chosen};
use super::windows::read_backup;
use crate::disk::restrict;
use crate::log::manifest::{Manifest, lock_data_directory};

/// What was restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    pub checkpoint: Option<u64>,
    pub copied_files: usize,
    pub copied_bytes: u64,
    /// When the last block that counts was written, in microseconds since 1970; 0 if that is not known.
    pub to_us: u64,
}

/// Makes a database in `target`, which is new or empty, from a backup, as it was at this point. All that is
/// needed is read and checked before anything is copied: if this is refused, the target stays as it was.
///
/// # Errors
/// No backup, a target that holds something, a point that the backup does not have, files that are missing or
/// damaged, any error of the disk.
pub fn restore(source: Place<'_>, target: Place<'_>, point: PointInTime) -> Result<Restored> {
    let backup = read_backup(source)?;
    check_is_free(target)?;
    let Choice { incarnations, checkpoint, to_us } = choose(source, &backup, point)?;

    let Place { disk, directory } = target;
    let _lock = lock_data_directory(disk, directory)?;
    check_is_free(target)?;
    restrict(disk.as_ref(), directory)?;
    // From here on, opening the target reports that not everything is there.
    backup.emptied().store(disk.as_ref(), directory)?;
    let mut restored = backup.emptied();
    // The restored database has its own history from here on.
    restored.begin_timeline();
    let mut files = Files::new(source, target);
    if let Some(checkpoint) = &checkpoint {
        files.copy_checkpoint(checkpoint)?;
    }
    let number = checkpoint.as_ref().map(|checkpoint| checkpoint.number);
    for Chosen { incarnation, places, .. } in incarnations {
        for (log, until) in places.iter().enumerate() {
            let stripes = log * incarnation.stripes..(log + 1) * incarnation.stripes;
            let firsts = incarnation.first_segments[stripes].to_vec();
            files.copy_log(&incarnation, log, &firsts, Some(until))?;
        }
        restored.incarnations.push(incarnation);
    }
    restored.checkpoints.extend(checkpoint);
    restored.finish();
    restored.store(disk.as_ref(), directory)?;
    let Files { copied_files, copied_bytes, .. } = files;
    Ok(Restored { checkpoint: number, copied_files, copied_bytes, to_us })
}

/// Refuses a target that holds something.
fn check_is_free(Place { disk, directory }: Place<'_>) -> Result<()> {
    match Manifest::read(disk.as_ref(), directory)? {
        None => Ok(()),
        Some(_) => Err(refused(format!("directory \"{}\" holds a database already", directory.display()))),
    }
}
