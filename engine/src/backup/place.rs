//! Where backups are, and which points in time can be named.

use std::path::Path;
use std::sync::Arc;

use hyades_types::error::{Error, sqlstate};

use crate::disk::Disk;
use crate::lsn::TransactionPlace;

/// A directory, and the disk that it is on.
#[derive(Clone, Copy)]
pub struct Place<'p> {
    pub disk: &'p Arc<dyn Disk>,
    pub directory: &'p Path,
}

impl<'p> Place<'p> {
    pub fn new(disk: &'p Arc<dyn Disk>, directory: &'p Path) -> Place<'p> {
        Place { disk, directory }
    }
}

/// The state to which a database is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointInTime {
    /// As it was at the end of the backup.
    End,
    /// At this time, in microseconds since 1970.
    Time(u64),
    /// As it was at the time of a checkpoint: what that of this number holds, and nothing else.
    Checkpoint(u64),
    /// With this transaction, or just without it and everything that depends on it.
    Transaction { place: TransactionPlace, is_exclusive: bool },
}

/// A time in a form that people read, in UTC.
pub fn shown_time(time_us: u64) -> String {
    let time =
        i64::try_from(time_us).ok().and_then(|time_us| jiff::Timestamp::from_microsecond(time_us).ok());
    time.map_or_else(|| time_us.to_string(), |time| time.strftime("%F %T%.3f UTC").to_string())
}

/// The error for a directory that cannot be used.
pub(super) fn refused(message: String) -> Error {
    Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}
