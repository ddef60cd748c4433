//! Backups: a checkpoint and the logs from there on, copied while the database runs. A backup can be restored
//! to a point in time.
//!
//! A backup is a directory laid out as a data directory, with every log under `logs`. Its manifest says that
//! it is a backup, so it cannot be started. It is copied from files alone: a running server is neither asked
//! nor held up.
//!
//! ```text
//!   read the manifest -> copy the files of its checkpoints -> read the logs after them -> copy those blocks
//!        ^                     (never change)                                                    |
//!        |                                                                                       v
//!        +---- a file has gone: two checkpoints were taken meanwhile -----    manifest: the logs end here
//! ```
//!
//! Only whole blocks are copied. They do not change any more, so a copy is a prefix of every later one. The
//! target may be on another disk than the database, or in an object store: it is written through
//! `Disk::replace` alone.
//!
//! Each log is copied on its own, so the copies end at different times, as logs do after a crash. What counts
//! is closed under dependencies because of the LSN vectors and the frozen ends (pitfall 8), and everything
//! acknowledged before the copying of the logs began is included.
//!
//! Backing up into the same directory again copies what is new, and keeps the checkpoints and logs that are
//! already there: any point in time between the first checkpoint and the end can be restored. If the database
//! has given up logs meanwhile that the backup lacks, what is there is a window of its own, and a new one
//! begins (`windows`). What leaves the time for which a backup is kept is removed (`prune`).
//!
//! **A point in time.** Blocks record when they were written. Of each log, the blocks written up to that time
//! count. Whatever was acknowledged by then was durable, so it is in those blocks with everything that it
//! depends on. A point may also be a checkpoint or a transaction (`span`).
//!
//! Files:
//! * making one: `copying` (the steps), `files` (copying a file durably), `prune` (removing what is too old);
//! * `place`: where a backup is, and names of points in time; `windows`: which points it has;
//! * using one: `choice` (of a span), `span` (how far each log counts), `restore`, `verify` (every point that
//!   it claims to have).
//!
//! Invariants:
//! 1. A backup counts once its manifest is there, which is written last, durably. A backup that is cut short
//!    leaves the previous one.
//! 2. A copy is never shorter than the manifest says.

mod choice;
mod copying;
mod files;
mod place;
mod prune;
mod restore;
mod span;
#[cfg(all(test, not(loom)))]
mod tests;
mod verify;
mod windows;

use std::time::Duration;

use hyades_types::error::{Error, Result};

use self::copying::Copying;
pub use self::place::{Place, PointInTime, shown_time};
pub use self::restore::{Restored, restore};
pub use self::verify::{Restorable, Verified, verify};
pub use self::windows::{Window, shown, windows};
use crate::log::manifest::Manifest;

/// How often a copy is started over because files have gone meanwhile.
const ATTEMPTS: usize = 5;

/// What a backup has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// The last checkpoint in it; `None` if there is none, and all logs are there.
    pub checkpoint: Option<u64>,
    pub copied_files: usize,
    pub copied_bytes: u64,
    /// Files that were there already.
    pub known_files: usize,
    /// The points in time that can be restored.
    pub windows: Vec<Window>,
    /// Why the last window does not continue the one before.
    pub lost: Option<String>,
}

/// Backs up the database in `source` into `target`, which is new, empty, or an older backup of the same
/// database. The database may be running.
///
/// # Errors
/// No database, a target that is something else, files that are missing or damaged, any error of the disk.
pub fn back_up(source: Place<'_>, target: Place<'_>) -> Result<BackupReport> {
    back_up_keeping(source, target, None)
}

/// As [`back_up`]. Removes what only points in time before the last `keep` need.
///
/// # Errors
/// As [`back_up`].
pub fn back_up_keeping(source: Place<'_>, target: Place<'_>, keep: Option<Duration>) -> Result<BackupReport> {
    let keep_us = keep.map(|keep| u64::try_from(keep.as_micros()).unwrap_or(u64::MAX));
    let mut attempts = 1;
    loop {
        let copying = Copying::begin(source, target)?;
        let before = copying.database.clone();
        let error = match copying.run(keep_us) {
            Ok(report) => return Ok(report),
            Err(error) => error,
        };
        if Manifest::load(source.disk.as_ref(), source.directory)?.as_ref() == Some(&before) {
            return Err(error);
        }
        if attempts == ATTEMPTS {
            let message =
                format!("files went while they were copied, in each of {ATTEMPTS} attempts: {error}");
            return Err(Error::fatal(error.sqlstate(), message));
        }
        tracing::info!(%error, "the backup starts over: files have been given up meanwhile");
        attempts += 1;
    }
}
