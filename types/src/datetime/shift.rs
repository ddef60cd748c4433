//! Times and intervals: sums, differences, ages and bins.
//!
//! Months are added first, then days, then the time. For a time with time zone, months and days are added in
//! the zone. A day that its new month does not have becomes the month's last.
//!
//! Reference: `timestamp_pl_interval`, `timestamp_age` and `timestamp_bin` of PostgreSQL 15's timestamp.c.

use jiff::tz::TimeZone;

use super::{
    CivilTime, MICROSECONDS_PER_DAY, civil_from_timestamp, date_to_timestamp, days_from_civil,
    is_infinite_timestamp, is_valid_timestamp, local_to_utc, month_days, timestamp_out_of_range,
    utc_to_local,
};
use crate::error::{Error, Result, sqlstate};
use crate::interval::{Interval, MONTHS_PER_YEAR, out_of_range};

fn valid(time: Option<i64>) -> Result<i64> {
    time.filter(|time| is_valid_timestamp(*time)).ok_or_else(timestamp_out_of_range)
}

fn add_months(local: i64, months: i32) -> Result<i64> {
    let date = civil_from_timestamp(local).date;
    let per_year = i64::from(MONTHS_PER_YEAR);
    let count = date.year * per_year + i64::from(date.month) - 1 + i64::from(months);
    let (year, month) = (count.div_euclid(per_year), count.rem_euclid(per_year) as u8 + 1);
    let days = days_from_civil(year, month, date.day.min(month_days(year, month)));
    let midnight = days.checked_mul(MICROSECONDS_PER_DAY);
    valid(midnight.and_then(|midnight| midnight.checked_add(local.rem_euclid(MICROSECONDS_PER_DAY))))
}

fn add_days(local: i64, days: i32) -> Result<i64> {
    valid(i64::from(days).checked_mul(MICROSECONDS_PER_DAY).and_then(|days| local.checked_add(days)))
}

/// Adds an interval to a timestamp without time zone.
pub fn add_interval(time: i64, interval: Interval) -> Result<i64> {
    if is_infinite_timestamp(time) {
        return Ok(time);
    }
    let mut sum = time;
    if interval.months != 0 {
        sum = add_months(sum, interval.months)?;
    }
    if interval.days != 0 {
        sum = add_days(sum, interval.days)?;
    }
    valid(sum.checked_add(interval.microseconds))
}

/// Adds an interval to a timestamp with time zone.
pub fn add_interval_in(instant: i64, interval: Interval, tz: &TimeZone) -> Result<i64> {
    if is_infinite_timestamp(instant) {
        return Ok(instant);
    }
    let mut sum = instant;
    if interval.months != 0 {
        sum = local_to_utc(add_months(utc_to_local(sum, tz)?, interval.months)?, tz)?;
    }
    if interval.days != 0 {
        sum = local_to_utc(add_days(utc_to_local(sum, tz)?, interval.days)?, tz)?;
    }
    valid(sum.checked_add(interval.microseconds))
}

/// Adds microseconds to a time of day; whole days are dropped.
pub fn shift_time(time: i64, microseconds: i64) -> i64 {
    (time + microseconds % MICROSECONDS_PER_DAY).rem_euclid(MICROSECONDS_PER_DAY)
}

/// Combines a day and a time of day.
pub fn date_and_time(days: i32, time: i64) -> Result<i64> {
    let midnight = date_to_timestamp(days)?;
    if is_infinite_timestamp(midnight) { Ok(midnight) } else { valid(midnight.checked_add(time)) }
}

/// Days and time from one timestamp to another.
pub fn difference(left: i64, right: i64) -> Result<Interval> {
    if is_infinite_timestamp(left) || is_infinite_timestamp(right) {
        let message = "cannot subtract infinite timestamps";
        return Err(Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, message));
    }
    let microseconds = left.checked_sub(right).ok_or_else(out_of_range)?;
    Interval::new(0, 0, microseconds).justify_hours()
}

/// Years, months, days and time from one local time to another: their differences field by field, borrowed
/// from larger fields if negative. `is_negative`: the second one is later.
pub fn age(left: i64, right: i64, is_negative: bool) -> Result<Interval> {
    if is_infinite_timestamp(left) || is_infinite_timestamp(right) {
        return Err(timestamp_out_of_range());
    }
    let (later, earlier) = if is_negative { (right, left) } else { (left, right) };
    let months_of =
        |time: CivilTime| time.date.year * i64::from(MONTHS_PER_YEAR) + i64::from(time.date.month);
    let (late, early) = (civil_from_timestamp(later), civil_from_timestamp(earlier));
    let mut months = months_of(late) - months_of(early);
    let mut days = i64::from(late.date.day) - i64::from(early.date.day);
    let time_of_day = |time: i64| time.rem_euclid(MICROSECONDS_PER_DAY);
    let mut microseconds = time_of_day(later) - time_of_day(earlier);
    if microseconds < 0 {
        microseconds += MICROSECONDS_PER_DAY;
        days -= 1;
    }
    while days < 0 {
        // The length of the earlier one's month.
        days += i64::from(month_days(early.date.year, early.date.month));
        months -= 1;
    }
    let months = i32::try_from(months).map_err(|_| out_of_range())?;
    let age = Interval { months, days: days as i32, microseconds };
    if is_negative { age.negate() } else { Ok(age) }
}

/// The start of the stride that contains a time, where one starts at `origin`.
pub fn bin(stride: Interval, time: i64, origin: i64) -> Result<i64> {
    let refused = |message: &str| Err(Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, message));
    if is_infinite_timestamp(time) {
        return Ok(time);
    }
    if is_infinite_timestamp(origin) {
        return refused("origin out of range");
    }
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let days = i64::from(stride.days).checked_mul(MICROSECONDS_PER_DAY);
    let length = days.and_then(|days| days.checked_add(stride.microseconds)).ok_or_else(out_of_range)?;
    if length <= 0 {
        return refused("stride must be greater than zero");
    }
    let difference = time.checked_sub(origin).ok_or_else(out_of_range)?;
    valid(time.checked_sub(difference.rem_euclid(length)))
}
