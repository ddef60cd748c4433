//! The points in time that a backup can be restored to.
//!
//! ```text
//!     checkpoint 1   checkpoint 2        end of the copy        checkpoint 5      end
//!  ------+--------------+--------------------+                       +-------------+
//!        |<--- from 1 -->|<------ from 2 ---->|   (logs given up)     |<- from 5 -->|
//!        |<------------- a window ----------->|                       |<- another ->|
//! ```
//!
//! A window begins when the logs held all of its first checkpoint, or at the beginning of the database. It
//! ends when the last backup began to copy: everything that had been acknowledged by then is in it.

use hyades_types::error::{Error, Result, sqlstate};

use super::files::Broken;
use super::place::{Place, refused, shown_time};
use super::span::{Chooser, begin_of_checkpoint};
use crate::log::manifest::Manifest;

/// A stretch of time, any point of which can be restored. In microseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// `None`: from the beginning of the database on.
    pub from_us: Option<u64>,
    pub to_us: u64,
    /// The checkpoints in it, which can be restored, and from when on they count.
    pub checkpoints: Vec<(u64, u64)>,
}

/// The windows of a backup, in order.
///
/// # Errors
/// No backup, or one that is damaged or was not finished.
pub fn windows(source: Place<'_>) -> Result<Vec<Window>> {
    let backup = read_backup(source)?;
    backup.spans().iter().map(|span| window_of(source, span)).collect()
}

/// The manifest of a backup that is complete.
pub(super) fn read_backup(source: Place<'_>) -> Result<Manifest> {
    let name = source.directory.display();
    let backup =
        Manifest::read(source.disk.as_ref(), source.directory)?.filter(|manifest| manifest.backup.is_some());
    let Some(backup) = backup else {
        let message = format!("there is no backup in directory \"{name}\"");
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    };
    if backup.incarnations.is_empty() {
        return Err(refused(format!("the backup in directory \"{name}\" was not finished: make it again")));
    }
    Ok(backup)
}

/// The window of a span of a backup.
pub(super) fn window_of(source: Place<'_>, span: &Manifest) -> Result<Window> {
    let mut checkpoints = Vec::new();
    for checkpoint in &span.checkpoints {
        checkpoints.push((checkpoint.number, begin_of_checkpoint(source, span, checkpoint)?));
    }
    let from_us = match span.begins_at_beginning() {
        true => None,
        false => checkpoints.first().map(|(_, from_us)| *from_us),
    };
    let to_us = match span.backup.as_ref().map_or(0, |note| note.to_us) {
        // An older program has made it: it ends with its last block.
        0 => {
            let read = Chooser::new(source, span).read(span.last_checkpoint(), u64::MAX, u64::MAX);
            read.map_err(Broken::into_error)?.1
        }
        to_us => to_us,
    };
    Ok(Window { from_us, to_us, checkpoints })
}

/// What can be restored, for messages.
pub(super) fn sentence(windows: &[Window]) -> String {
    let each: Vec<String> = windows.iter().map(|window| shown(window.from_us, window.to_us)).collect();
    format!("it can be restored to points in time {}", each.join(" and "))
}

/// A stretch of time in a form that people read.
pub fn shown(from_us: Option<u64>, to_us: u64) -> String {
    let from = from_us.map_or_else(|| "the beginning of the database".to_owned(), shown_time);
    format!("from {from} to {}", shown_time(to_us))
}
