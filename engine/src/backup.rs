//! Backups: a checkpoint and the logs from there on, copied while the database runs, and points in time to
//! restore.
//!
//! A backup is a directory laid out as a data directory, with every log under `logs`, and a manifest that
//! says so: nobody starts it. It is copied from files alone; the server, if one runs, is not asked and not
//! held up:
//!
//! ```text
//!   read the manifest -> copy the files of its checkpoints -> read the logs behind them -> copy so many blocks
//!        ^                     (never change)                                                    |
//!        |                                                                                       v
//!        +---- a file has gone: two checkpoints have come meanwhile ----    manifest: the logs end here
//! ```
//!
//! Whole blocks are copied, which do not change any more, so a copy is a beginning of every later one. The
//! target may be on another disk than the database, or in an object store: it is written by
//! `Disk::replace` alone.
//!
//! Each log is copied for itself, so the copies end at different times. That is as after a crash: what
//! counts is closed under dependencies by the LSN vectors and the frozen ends (pitfall 8), and everything
//! acknowledged before the copy of the logs began is there.
//!
//! Backing up into the same directory again copies what is new, and keeps the checkpoints and logs that are
//! there: any point in time between the first checkpoint and the end can be restored.
//!
//! **A point in time.** Blocks say when they were written. Of each log counts what stands in blocks up to
//! that time. Whatever was acknowledged by then was durable, so it stands there with all that it depends on.
//! A point may also be a phase, or a transaction (`choice`).
//!
//! Invariants:
//! 1. A backup counts when its manifest does: last, and durably. One that was cut short leaves the one
//!    before.
//! 2. A copy is never shorter than what the manifest says of it.

mod choice;
mod copying;
mod files;
mod place;
mod restore;
#[cfg(all(test, not(loom)))]
mod tests;

use hyades_types::error::Result;

use self::copying::Copying;
pub use self::place::{Place, PointInTime, shown_time};
pub use self::restore::{Restored, restore};
use crate::log::manifest::Manifest;

/// How often a copy is begun anew because files have gone meanwhile.
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
    /// Up to when it can be restored, in microseconds since 1970; 0 if that is not known.
    pub to_us: u64,
    /// Why older points in time cannot be restored any more.
    pub lost: Option<String>,
}

/// Backs the database in `source` up into `target`, which is new, empty, or an older backup of it. It may be
/// running.
///
/// # Errors
/// No database, a target that is something else, files that are missing or damaged, whatever the disk
/// refuses.
pub fn back_up(source: Place<'_>, target: Place<'_>) -> Result<BackupReport> {
    let mut attempts = 1;
    loop {
        let copying = Copying::begin(source, target)?;
        let before = copying.database.clone();
        match copying.run() {
            Err(error)
                if attempts < ATTEMPTS
                    && Manifest::load(source.disk.as_ref(), source.directory)?.as_ref() != Some(&before) =>
            {
                tracing::info!(%error, "the backup begins anew: files have been given up meanwhile");
                attempts += 1;
            }
            done => return done,
        }
    }
}
