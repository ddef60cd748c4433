//! A time of day and the offset of its zone: the type `time with time zone`. What is done with it is in
//! `datetime`.

use std::cmp::Ordering;

const MICROSECONDS_PER_SECOND: i64 = 1_000_000;

/// A value of the type. Two are equal if both parts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ZonedTime {
    /// Microseconds since midnight, in its zone.
    pub time: i64,
    /// Seconds *west* of Greenwich, as PostgreSQL stores it.
    pub west: i32,
}

impl Ord for ZonedTime {
    /// By the time in Greenwich, then by the zone.
    fn cmp(&self, other: &ZonedTime) -> Ordering {
        self.instant().cmp(&other.instant()).then(self.west.cmp(&other.west))
    }
}

impl PartialOrd for ZonedTime {
    fn partial_cmp(&self, other: &ZonedTime) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ZonedTime {
    /// A time in the zone with this offset, in seconds east of Greenwich.
    pub fn at_offset(time: i64, east: i32) -> ZonedTime {
        ZonedTime { time, west: east.saturating_neg() }
    }

    /// The time in Greenwich, which may lie in the day before or after.
    pub fn instant(self) -> i64 {
        self.time + i64::from(self.west) * MICROSECONDS_PER_SECOND
    }
}
