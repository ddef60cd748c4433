//! Dates, timestamps and intervals as text in the forms of `DateStyle` and `IntervalStyle`.
//!
//! Reference: `EncodeDateOnly`, `EncodeDateTime` and `EncodeInterval` of PostgreSQL 15's datetime.c.

use jiff::tz::TimeZone;

use super::{
    CivilDate, CivilTime, DATE_INFINITY, DATE_MINUS_INFINITY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE,
    MICROSECONDS_PER_SECOND, abbreviation, civil_from_days, civil_from_timestamp, days_from_civil,
    is_infinite_timestamp, offset_seconds, write_date, write_era, write_interval, write_timestamp,
    write_timestamptz,
};
use crate::interval::{Interval, MONTHS_PER_YEAR};
use crate::text::pieces::{write_fraction, write_integer, write_padded};
use crate::text::{DateForm, DateOrder, DateStyles, IntervalForm};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// From 2000-01-01 on.
const WEEKDAYS: [&str; 7] = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"];

/// A date in this style.
pub fn write_date_in(days: i32, styles: DateStyles, out: &mut Vec<u8>) {
    let is_infinite = matches!(days, DATE_INFINITY | DATE_MINUS_INFINITY);
    if styles.form == DateForm::Iso || is_infinite {
        return write_date(days, out);
    }
    let date = civil_from_days(i64::from(days));
    write_numbers(date, styles, out);
    write_era(date, out);
}

/// Day, month and year as numbers.
fn write_numbers(date: CivilDate, styles: DateStyles, out: &mut Vec<u8>) {
    let separator = match styles.form {
        DateForm::German => b'.',
        DateForm::Sql => b'/',
        DateForm::Iso | DateForm::Postgres => b'-',
    };
    let (month, day) = (i64::from(date.month), i64::from(date.day));
    let is_day_first = styles.form == DateForm::German || styles.order == DateOrder::Dmy;
    let numbers = if is_day_first { [day, month] } else { [month, day] };
    for number in numbers {
        write_padded(number, 2, out);
        out.push(separator);
    }
    write_year(date, out);
}

fn write_year(date: CivilDate, out: &mut Vec<u8>) {
    write_padded(if date.year > 0 { date.year } else { 1 - date.year }, 4, out);
}

/// `07:37:16.5`
fn write_clock(time: CivilTime, out: &mut Vec<u8>) {
    write_padded(i64::from(time.hour), 2, out);
    for number in [time.minute, time.second] {
        out.push(b':');
        write_padded(i64::from(number), 2, out);
    }
    write_fraction(i64::from(time.microsecond), out);
}

/// A timestamp in this style, without its era.
fn write_time(time: CivilTime, styles: DateStyles, out: &mut Vec<u8>) {
    if styles.form != DateForm::Postgres {
        write_numbers(time.date, styles, out);
        out.push(b' ');
        return write_clock(time, out);
    }
    let CivilDate { year, month, day } = time.date;
    let weekday = days_from_civil(year, month, day).rem_euclid(7);
    let month = MONTHS.get(usize::from(month) - 1).copied().unwrap_or_default();
    let weekday = WEEKDAYS.get(weekday as usize).copied().unwrap_or_default();
    out.extend_from_slice(weekday.as_bytes());
    out.push(b' ');
    if styles.order == DateOrder::Dmy {
        write_padded(i64::from(day), 2, out);
        out.push(b' ');
        out.extend_from_slice(month.as_bytes());
    } else {
        out.extend_from_slice(month.as_bytes());
        out.push(b' ');
        write_padded(i64::from(day), 2, out);
    }
    out.push(b' ');
    write_clock(time, out);
    out.push(b' ');
    write_year(time.date, out);
}

/// A timestamp in this style.
pub fn write_timestamp_in(microseconds: i64, styles: DateStyles, out: &mut Vec<u8>) {
    if styles.form == DateForm::Iso || is_infinite_timestamp(microseconds) {
        return write_timestamp(microseconds, out);
    }
    let time = civil_from_timestamp(microseconds);
    write_time(time, styles, out);
    write_era(time.date, out);
}

/// The local time in `tz` in this style, followed by the zone's abbreviation.
pub fn write_timestamptz_in(microseconds: i64, tz: &TimeZone, styles: DateStyles, out: &mut Vec<u8>) {
    if styles.form == DateForm::Iso || is_infinite_timestamp(microseconds) {
        return write_timestamptz(microseconds, tz, out);
    }
    let offset = i64::from(offset_seconds(microseconds, tz));
    let time = civil_from_timestamp(microseconds.saturating_add(offset * MICROSECONDS_PER_SECOND));
    write_time(time, styles, out);
    out.push(b' ');
    out.extend_from_slice(abbreviation(microseconds, tz).as_bytes());
    write_era(time.date, out);
}

/// An interval in its units, each with its own sign.
struct Parts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
    microseconds: i64,
}

impl Parts {
    fn of(interval: Interval) -> Parts {
        let time = interval.microseconds;
        Parts {
            years: i64::from(interval.months / MONTHS_PER_YEAR),
            months: i64::from(interval.months % MONTHS_PER_YEAR),
            days: i64::from(interval.days),
            hours: time / MICROSECONDS_PER_HOUR,
            minutes: time / MICROSECONDS_PER_MINUTE % 60,
            seconds: time / MICROSECONDS_PER_SECOND % 60,
            microseconds: time % MICROSECONDS_PER_SECOND,
        }
    }

    /// Seconds with their fraction, without a sign.
    fn write_seconds(&self, width: usize, out: &mut Vec<u8>) {
        write_padded(self.seconds.abs(), width, out);
        write_fraction(self.microseconds.abs(), out);
    }

    /// `4:05:06.7`, without a sign.
    fn write_clock(&self, out: &mut Vec<u8>) {
        write_integer(self.hours.abs(), out);
        out.push(b':');
        write_padded(self.minutes.abs(), 2, out);
        out.push(b':');
        self.write_seconds(2, out);
    }
}

/// An interval in this form.
pub fn write_interval_in(interval: Interval, form: IntervalForm, out: &mut Vec<u8>) {
    match form {
        IntervalForm::Postgres => write_interval(interval, out),
        IntervalForm::Verbose => write_verbose(&Parts::of(interval), out),
        IntervalForm::SqlStandard => write_standard(&Parts::of(interval), out),
        IntervalForm::Iso => write_iso(&Parts::of(interval), out),
    }
}

/// `1-2`, `3 4:05:06`, or with all parts `+1-2 +3 +4:05:06`.
fn write_standard(parts: &Parts, out: &mut Vec<u8>) {
    let Parts { years, months, days, hours, minutes, seconds, microseconds } = *parts;
    let all = [years, months, days, hours, minutes, seconds, microseconds];
    let has_negative = all.iter().any(|part| *part < 0);
    let has_positive = all.iter().any(|part| *part > 0);
    let has_months = years != 0 || months != 0;
    let has_time = all[2..].iter().any(|part| *part != 0);
    if !has_negative && !has_positive {
        return out.push(b'0');
    }
    let sign = |is_negative: bool| if is_negative { b'-' } else { b'+' };
    let write_months = |out: &mut Vec<u8>| {
        write_integer(years.abs(), out);
        out.push(b'-');
        write_integer(months.abs(), out);
    };
    if has_negative && has_positive || has_months && has_time {
        // The standard does not have it, so each part shows its sign.
        out.push(sign(years < 0 || months < 0));
        write_months(out);
        out.extend_from_slice(&[b' ', sign(days < 0)]);
        write_integer(days.abs(), out);
        out.extend_from_slice(&[b' ', sign(all[3..].iter().any(|part| *part < 0))]);
        return parts.write_clock(out);
    }
    if has_negative {
        out.push(b'-');
    }
    if has_months {
        return write_months(out);
    }
    if days != 0 {
        write_integer(days.abs(), out);
        out.push(b' ');
    }
    parts.write_clock(out);
}

/// `P1Y2M3DT4H5M6.7S`
fn write_iso(parts: &Parts, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(b'P');
    let write_unit = |count: i64, unit: u8, out: &mut Vec<u8>| {
        if count != 0 {
            write_integer(count, out);
            out.push(unit);
        }
    };
    write_unit(parts.years, b'Y', out);
    write_unit(parts.months, b'M', out);
    write_unit(parts.days, b'D', out);
    let has_seconds = parts.seconds != 0 || parts.microseconds != 0;
    let has_time = parts.hours != 0 || parts.minutes != 0 || has_seconds;
    if !has_time && out.len() > start + 1 {
        return;
    }
    out.push(b'T');
    write_unit(parts.hours, b'H', out);
    write_unit(parts.minutes, b'M', out);
    if has_seconds || !has_time {
        if parts.seconds < 0 || parts.microseconds < 0 {
            out.push(b'-');
        }
        parts.write_seconds(1, out);
        out.push(b'S');
    }
}

/// `@ 1 year -2 mons 3 days 4 hours 5 mins 6.7 secs ago`. The first part decides about `ago`, and parts of
/// the other sign show it.
fn write_verbose(parts: &Parts, out: &mut Vec<u8>) {
    out.push(b'@');
    let counts = [
        (parts.years, "year"),
        (parts.months, "mon"),
        (parts.days, "day"),
        (parts.hours, "hour"),
        (parts.minutes, "min"),
    ];
    // Whether the first part is negative.
    let mut is_ago = None;
    for (count, unit) in counts.into_iter().filter(|(count, _)| *count != 0) {
        let shown = if *is_ago.get_or_insert(count < 0) { -count } else { count };
        out.push(b' ');
        write_integer(shown, out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if shown != 1 {
            out.push(b's');
        }
    }
    let Parts { seconds, microseconds, .. } = *parts;
    if seconds != 0 || microseconds != 0 {
        let is_negative = seconds < 0 || microseconds < 0;
        out.push(b' ');
        if is_negative != *is_ago.get_or_insert(is_negative) {
            out.push(b'-');
        }
        parts.write_seconds(1, out);
        out.extend_from_slice(b" sec");
        if seconds.abs() != 1 || microseconds != 0 {
            out.push(b's');
        }
    }
    match is_ago {
        None => out.extend_from_slice(b" 0"),
        Some(true) => out.extend_from_slice(b" ago"),
        Some(false) => {}
    }
}
