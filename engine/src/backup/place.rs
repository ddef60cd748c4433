//! Which points in time can be named, and what is said of directories.

use hyades_types::error::{Error, sqlstate};

use crate::lsn::TransactionPlace;

/// As what a database is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointInTime {
    /// As it was at the end of the backup.
    End,
    /// At this time, in microseconds since 1970.
    Time(u64),
    /// When this phase ended: with what the checkpoint of this number holds, and nothing else.
    Phase(u64),
    /// With this transaction, or just without it and all that depends on it.
    Transaction { place: TransactionPlace, is_exclusive: bool },
}

/// A time as people read it, in UTC.
pub fn shown_time(time_us: u64) -> String {
    let time =
        i64::try_from(time_us).ok().and_then(|time_us| jiff::Timestamp::from_microsecond(time_us).ok());
    time.map_or_else(|| time_us.to_string(), |time| time.strftime("%F %T%.3f UTC").to_string())
}

/// A sentence about a directory that cannot be used.
pub(super) fn refused(message: String) -> Error {
    Error::fatal(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}
