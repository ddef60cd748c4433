//! Makes a database from a backup, as it was at some point in time.

use hyades_types::error::{Error, Result, sqlstate};

use super::choice::{Choice, Chooser};
use super::files::Files;
use super::place::{Place, PointInTime, refused};
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

/// Makes a database in `target`, which is new or empty, from a backup, as it was at this point. If this is
/// refused, the target stays as it was.
///
/// # Errors
/// No backup, a target that holds something, a point that the backup does not have, files that are missing or
/// damaged, any error of the disk.
pub fn restore(source: Place<'_>, target: Place<'_>, point: PointInTime) -> Result<Restored> {
    let name = source.directory.display();
    let backup =
        Manifest::read(source.disk.as_ref(), source.directory)?.filter(|manifest| manifest.backup.is_some());
    let Some(backup) = backup else {
        let message = format!("there is no backup in directory \"{name}\"");
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    };
    check_is_free(target)?;
    if backup.incarnations.is_empty() {
        return Err(refused(format!("the backup in directory \"{name}\" was not finished: make it again")));
    }
    let Choice { incarnations, checkpoint, to_us } = Chooser { source, backup: &backup }.choose(point)?;

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
        files.copy_checkpoint(checkpoint, false)?;
    }
    let number = checkpoint.as_ref().map(|checkpoint| checkpoint.number);
    let first = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.incarnation);
    for incarnation in incarnations.into_iter().filter(|incarnation| incarnation.number >= first) {
        for log in 0..incarnation.logs {
            let stripes = log * incarnation.stripes..(log + 1) * incarnation.stripes;
            let firsts = incarnation.first_segments[stripes].to_vec();
            files.copy_log(&incarnation, log, &firsts, None)?;
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
