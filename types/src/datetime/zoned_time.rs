//! What is done with times of day with time zone.
//!
//! Reference: PostgreSQL 15's date.c.

use super::{
    MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND, date_to_timestamp, is_infinite_timestamp, is_valid_time,
    is_valid_timestamp, round_time, write_offset, write_time,
};
use crate::error::{Error, Result, sqlstate};
use crate::value::Precision;
use crate::zoned_time::ZonedTime;

impl ZonedTime {
    /// Whether a column can hold it.
    pub fn is_valid(self) -> bool {
        is_valid_time(self.time)
    }

    /// Rounded to this many digits of its second.
    #[must_use]
    pub fn rounded(self, precision: Precision) -> ZonedTime {
        ZonedTime { time: round_time(self.time, precision), ..self }
    }

    /// This much later, in the same zone; whole days are dropped.
    #[must_use]
    pub fn shifted(self, microseconds: i64) -> ZonedTime {
        ZonedTime { time: super::shift_time(self.time, microseconds), ..self }
    }

    /// The same time in another zone, whose offset is in seconds east of Greenwich.
    #[must_use]
    pub fn moved(self, east: i32) -> ZonedTime {
        let west = i64::from(east.saturating_neg());
        let time = self.instant() - west * MICROSECONDS_PER_SECOND;
        ZonedTime::at_offset(time.rem_euclid(MICROSECONDS_PER_DAY), east)
    }

    /// The instant on a day, as a timestamp with time zone.
    pub fn on(self, days: i32) -> Result<i64> {
        let midnight = date_to_timestamp(days)?;
        if is_infinite_timestamp(midnight) {
            return Ok(midnight);
        }
        midnight
            .checked_add(self.instant())
            .filter(|instant| is_valid_timestamp(*instant))
            .ok_or_else(|| Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp"))
    }

    /// Appends the text form: the time, then the offset.
    pub fn write(self, out: &mut Vec<u8>) {
        write_time(self.time, out);
        write_offset(-i64::from(self.west), out);
    }
}
