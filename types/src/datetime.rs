//! The calendar: days and microseconds since 2000-01-01, years, months, days, and time zones.
//!
//! PostgreSQL's dates reach from 4713 BC to 5874897 AD and its timestamps to 294276 AD, in the proleptic
//! Gregorian calendar. That is beyond the range of calendar libraries, so days are converted here, by
//! counting 400-year cycles (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"). Time zones come
//! from the library. After the years that it covers the rules repeat, before them its first offset holds.
//!
//! A local time that does not exist (spring) is interpreted with the offset before the change, one that
//! exists twice (autumn) with the offset after it, as in PostgreSQL.
//!
//! Files:
//! * from text: `fields` cuts it, `decode` gives the fields their meaning, with the words of `keyword` and
//!   the names of zones in `abbreviations`; `parse` is the entrance;
//! * `interval_text`: the same for intervals, and the way back;
//! * `styled_text`: dates, timestamps and intervals as text in the other forms of `DateStyle` and
//!   `IntervalStyle`;
//! * `shift`: calculating with times and intervals; `unit`: the names of their units;
//! * `zone`: looking up a time zone by a name, rules or an offset;
//! * `zoned_time`: times of day with a time zone.

mod abbreviations;
mod decode;
mod fields;
mod interval_text;
mod keyword;
mod parse;
mod shift;
mod styled_text;
mod unit;
mod zone;
mod zoned_time;

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::error::{Error, Result, sqlstate};
use crate::interval::round_microseconds;
use crate::text::pieces::{write_fraction, write_padded};
use crate::value::Precision;

pub use crate::zoned_time::ZonedTime;
pub use interval_text::{parse_interval, write_interval};
pub use parse::{
    names_the_clock, parse_date, parse_time, parse_timestamp, parse_timestamptz, parse_timetz, zone_or_offset,
};
pub use shift::{add_interval, add_interval_in, age, bin, date_and_time, difference, shift_time};
pub use styled_text::{write_date_in, write_interval_in, write_timestamp_in, write_timestamptz_in};
pub use unit::unit_named;
pub use zone::{Zone, named, zone};

pub const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
pub const MICROSECONDS_PER_MINUTE: i64 = 60 * MICROSECONDS_PER_SECOND;
pub const MICROSECONDS_PER_HOUR: i64 = 60 * MICROSECONDS_PER_MINUTE;
pub const MICROSECONDS_PER_DAY: i64 = 24 * MICROSECONDS_PER_HOUR;

/// Days from 0000-03-01, where a 400-year cycle starts, to 2000-01-01.
const DAYS_TO_2000: i64 = 730_425;
const DAYS_PER_CYCLE: i64 = 146_097;
/// Days from 1970-01-01 to 2000-01-01.
pub(crate) const DAYS_1970_TO_2000: i64 = 10_957;
const MICROSECONDS_1970_TO_2000: i64 = DAYS_1970_TO_2000 * MICROSECONDS_PER_DAY;
/// Days from Julian day 0 to 2000-01-01.
const DAYS_JULIAN_TO_2000: i64 = 2_451_545;
/// 4714-11-24 BC, the first day that PostgreSQL knows (Julian day 0).
const FIRST_DATE: i32 = -2_451_545;
/// The day after 5874897-12-31.
const END_DATE: i32 = 2_145_031_949;
const FIRST_TIMESTAMP: i64 = -211_813_488_000_000_000;
/// 294277-01-01 00:00:00.
const END_TIMESTAMP: i64 = 9_223_371_331_200_000_000;

/// `infinity` and `-infinity` of dates.
pub const DATE_INFINITY: i32 = i32::MAX;
pub const DATE_MINUS_INFINITY: i32 = i32::MIN;
/// `infinity` and `-infinity` of timestamps.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
pub const TIMESTAMP_MINUS_INFINITY: i64 = i64::MIN;

pub fn is_infinite_date(days: i32) -> bool {
    days == DATE_INFINITY || days == DATE_MINUS_INFINITY
}

pub fn is_infinite_timestamp(microseconds: i64) -> bool {
    microseconds == TIMESTAMP_INFINITY || microseconds == TIMESTAMP_MINUS_INFINITY
}

/// Whether a finite date is within PostgreSQL's range.
pub fn is_valid_date(days: i32) -> bool {
    (FIRST_DATE..END_DATE).contains(&days)
}

/// Whether a finite timestamp is within PostgreSQL's range.
pub fn is_valid_timestamp(microseconds: i64) -> bool {
    (FIRST_TIMESTAMP..END_TIMESTAMP).contains(&microseconds)
}

/// Whether it is a time of day, including the end of the day.
pub fn is_valid_time(microseconds: i64) -> bool {
    (0..=MICROSECONDS_PER_DAY).contains(&microseconds)
}

/// A time of day rounded to this many digits of its second.
pub fn round_time(microseconds: i64, precision: Precision) -> i64 {
    precision.map_or(microseconds, |precision| round_microseconds(microseconds, precision))
}

/// A timestamp rounded to this many digits of its second; an infinite one is unchanged.
pub fn round_timestamp(microseconds: i64, precision: Precision) -> Result<i64> {
    if is_infinite_timestamp(microseconds) {
        return Ok(microseconds);
    }
    let rounded = round_time(microseconds, precision);
    if is_valid_timestamp(rounded) { Ok(rounded) } else { Err(timestamp_out_of_range()) }
}

/// The time of day of a timestamp; None for an infinite one.
pub fn time_of_day(local: i64) -> Option<i64> {
    (!is_infinite_timestamp(local)).then(|| local.rem_euclid(MICROSECONDS_PER_DAY))
}

/// A day of the calendar. Year 0 is 1 BC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilDate {
    pub year: i64,
    pub month: u8,
    pub day: u8,
}

/// A day and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilTime {
    pub date: CivilDate,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// Days since 2000-01-01. The month must be 1 to 12. A day beyond the month's end counts into the next month.
pub fn days_from_civil(year: i64, month: u8, day: u8) -> i64 {
    // Years that start in March have the leap day at their end.
    let year = year - i64::from(month <= 2);
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let month = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * DAYS_PER_CYCLE + day_of_cycle - DAYS_TO_2000
}

pub fn civil_from_days(days: i64) -> CivilDate {
    let days = days + DAYS_TO_2000;
    let cycle = days.div_euclid(DAYS_PER_CYCLE);
    let day = days.rem_euclid(DAYS_PER_CYCLE);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    CivilDate { year: year + cycle * 400 + i64::from(month <= 2), month: month as u8, day: day as u8 }
}

/// Days in a month.
pub fn month_days(year: i64, month: u8) -> u8 {
    match month {
        2 if year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

pub fn civil_from_timestamp(microseconds: i64) -> CivilTime {
    let date = civil_from_days(microseconds.div_euclid(MICROSECONDS_PER_DAY));
    let time = microseconds.rem_euclid(MICROSECONDS_PER_DAY);
    CivilTime {
        date,
        hour: (time / MICROSECONDS_PER_HOUR) as u8,
        minute: (time / MICROSECONDS_PER_MINUTE % 60) as u8,
        second: (time / MICROSECONDS_PER_SECOND % 60) as u8,
        microsecond: (time % MICROSECONDS_PER_SECOND) as u32,
    }
}

pub(crate) fn timestamp_out_of_range() -> Error {
    Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

/// Midnight of a day.
pub fn date_to_timestamp(days: i32) -> Result<i64> {
    match days {
        DATE_INFINITY => Ok(TIMESTAMP_INFINITY),
        DATE_MINUS_INFINITY => Ok(TIMESTAMP_MINUS_INFINITY),
        days => {
            let midnight = i64::from(days).checked_mul(MICROSECONDS_PER_DAY);
            midnight.filter(|time| is_valid_timestamp(*time)).ok_or_else(|| {
                Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")
            })
        }
    }
}

/// The day of a timestamp.
pub fn timestamp_to_date(microseconds: i64) -> i32 {
    match microseconds {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        TIMESTAMP_MINUS_INFINITY => DATE_MINUS_INFINITY,
        // 2^63 microseconds are 107 million days.
        finite => finite.div_euclid(MICROSECONDS_PER_DAY) as i32,
    }
}

/// A time with the same weekday, date and time of day in a year that the library covers: rules of time zones
/// repeat with the 400-year cycle. Times before its first year are unchanged; they get the zone's first
/// offset.
fn known_time(microseconds: i64) -> i64 {
    const CYCLE: i64 = DAYS_PER_CYCLE * MICROSECONDS_PER_DAY;
    // The year 9600.
    const LIMIT: i64 = 19 * CYCLE;
    if microseconds < LIMIT { microseconds } else { LIMIT - CYCLE + (microseconds - LIMIT).rem_euclid(CYCLE) }
}

/// Whole seconds since 1970, within the range of the library.
fn seconds_since_1970(microseconds: i64) -> i64 {
    let since_1970 = known_time(microseconds).saturating_add(MICROSECONDS_1970_TO_2000);
    since_1970
        .div_euclid(MICROSECONDS_PER_SECOND)
        .clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second())
}

/// Seconds east of Greenwich at an instant.
pub fn offset_seconds(microseconds: i64, tz: &TimeZone) -> i32 {
    let since_1970 = known_time(microseconds).saturating_add(MICROSECONDS_1970_TO_2000);
    let known = since_1970.clamp(Timestamp::MIN.as_microsecond(), Timestamp::MAX.as_microsecond());
    Timestamp::from_microsecond(known).map_or(0, |instant| tz.to_offset(instant).seconds())
}

/// A zone's abbreviation at an instant: `CEST`, or `+03` if it has none.
pub fn abbreviation(microseconds: i64, tz: &TimeZone) -> String {
    let seconds = seconds_since_1970(microseconds);
    let instant = Timestamp::from_second(seconds).unwrap_or(Timestamp::MIN);
    tz.to_offset_info(instant).abbreviation().to_owned()
}

/// Seconds east of Greenwich at a local time.
pub fn local_offset_seconds(local: i64, tz: &TimeZone) -> i32 {
    let time = civil_from_timestamp(known_time(local));
    let known = i16::try_from(time.date.year).ok().and_then(|year| {
        let (month, day) = (time.date.month as i8, time.date.day as i8);
        let (hour, minute, second) = (time.hour as i8, time.minute as i8, time.second as i8);
        civil::DateTime::new(year, month, day, hour, minute, second, time.microsecond as i32 * 1000).ok()
    });
    match known {
        None => offset_seconds(local, tz),
        Some(time) => match tz.to_ambiguous_timestamp(time).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
            AmbiguousOffset::Gap { before, .. } => before.seconds(),
            AmbiguousOffset::Fold { after, .. } => after.seconds(),
        },
    }
}

/// The instant of a local time.
pub fn local_to_utc(local: i64, tz: &TimeZone) -> Result<i64> {
    instant_at_offset(local, || local_offset_seconds(local, tz))
}

/// The instant of a local time in a zone that a statement names.
pub fn local_to_utc_in(local: i64, zone: &Zone) -> Result<i64> {
    instant_at_offset(local, || zone.offset_of_local(local))
}

fn instant_at_offset(local: i64, offset_seconds: impl Fn() -> i32) -> Result<i64> {
    if is_infinite_timestamp(local) {
        return Ok(local);
    }
    let offset = i64::from(offset_seconds()) * MICROSECONDS_PER_SECOND;
    local.checked_sub(offset).filter(|time| is_valid_timestamp(*time)).ok_or_else(timestamp_out_of_range)
}

/// The local time of an instant.
pub fn utc_to_local(instant: i64, tz: &TimeZone) -> Result<i64> {
    local_at_offset(instant, || offset_seconds(instant, tz))
}

/// The local time of an instant in a zone that a statement names.
pub fn utc_to_local_in(instant: i64, zone: &Zone) -> Result<i64> {
    local_at_offset(instant, || zone.offset_of_instant(instant))
}

fn local_at_offset(instant: i64, offset_seconds: impl Fn() -> i32) -> Result<i64> {
    if is_infinite_timestamp(instant) {
        return Ok(instant);
    }
    let offset = i64::from(offset_seconds()) * MICROSECONDS_PER_SECOND;
    instant.checked_add(offset).filter(|time| is_valid_timestamp(*time)).ok_or_else(timestamp_out_of_range)
}

fn write_civil_date(date: CivilDate, out: &mut Vec<u8>) {
    write_padded(if date.year > 0 { date.year } else { 1 - date.year }, 4, out);
    out.push(b'-');
    write_padded(i64::from(date.month), 2, out);
    out.push(b'-');
    write_padded(i64::from(date.day), 2, out);
}

fn write_era(date: CivilDate, out: &mut Vec<u8>) {
    if date.year <= 0 {
        out.extend_from_slice(b" BC");
    }
}

/// `YYYY-MM-DD`, followed by ` BC` if needed.
pub fn write_date(days: i32, out: &mut Vec<u8>) {
    match days {
        DATE_INFINITY => out.extend_from_slice(b"infinity"),
        DATE_MINUS_INFINITY => out.extend_from_slice(b"-infinity"),
        days => {
            let date = civil_from_days(i64::from(days));
            write_civil_date(date, out);
            write_era(date, out);
        }
    }
}

fn write_infinite(microseconds: i64, out: &mut Vec<u8>) -> bool {
    match microseconds {
        TIMESTAMP_INFINITY => out.extend_from_slice(b"infinity"),
        TIMESTAMP_MINUS_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => return false,
    }
    true
}

fn write_civil_time(time: CivilTime, out: &mut Vec<u8>) {
    write_civil_date(time.date, out);
    for (separator, number) in [(b' ', time.hour), (b':', time.minute), (b':', time.second)] {
        out.push(separator);
        write_padded(i64::from(number), 2, out);
    }
    write_fraction(i64::from(time.microsecond), out);
}

/// `HH:MM:SS[.ffffff]`.
pub fn write_time(microseconds: i64, out: &mut Vec<u8>) {
    write_padded(microseconds / MICROSECONDS_PER_HOUR, 2, out);
    for unit in [MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND] {
        out.push(b':');
        write_padded(microseconds / unit % 60, 2, out);
    }
    write_fraction(microseconds % MICROSECONDS_PER_SECOND, out);
}

/// `YYYY-MM-DD HH:MM:SS[.ffffff]`.
pub fn write_timestamp(microseconds: i64, out: &mut Vec<u8>) {
    if !write_infinite(microseconds, out) {
        let time = civil_from_timestamp(microseconds);
        write_civil_time(time, out);
        write_era(time.date, out);
    }
}

/// The local time in `tz`, followed by its offset: `+HH[:MM[:SS]]`.
pub fn write_timestamptz(microseconds: i64, tz: &TimeZone, out: &mut Vec<u8>) {
    if write_infinite(microseconds, out) {
        return;
    }
    let offset = i64::from(offset_seconds(microseconds, tz));
    let time = civil_from_timestamp(microseconds.saturating_add(offset * MICROSECONDS_PER_SECOND));
    write_civil_time(time, out);
    write_offset(offset, out);
    write_era(time.date, out);
}

/// `+HH[:MM[:SS]]`, for seconds east of Greenwich.
fn write_offset(offset: i64, out: &mut Vec<u8>) {
    out.push(if offset < 0 { b'-' } else { b'+' });
    let offset = offset.abs();
    write_padded(offset / 3600, 2, out);
    if offset % 3600 != 0 {
        out.push(b':');
        write_padded(offset / 60 % 60, 2, out);
    }
    if offset % 60 != 0 {
        out.push(b':');
        write_padded(offset % 60, 2, out);
    }
}

#[cfg(test)]
mod tests;
