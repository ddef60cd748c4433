//! Functions of intervals, and of times with them.

use std::cmp::Ordering;

use crate::compare;
use crate::datetime::{
    self, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE, MICROSECONDS_PER_SECOND, Zone,
};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::interval::{Interval, MONTHS_PER_YEAR, out_of_range};
use crate::text;
use crate::value::{BigDecimal, SqlType, Value};

use super::units::{canonical, scaled, unknown_unit, unsupported_unit};
use super::{Function, mismatch};

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::Extract, [Value::Text(field), Value::Interval(interval)]) => extract(field, *interval),
        (Function::DatePart, [Value::Text(field), Value::Interval(interval)]) => {
            date_part(field, *interval).map(Value::Double)
        }
        (Function::IsFinite, [Value::Interval(_)]) => Ok(Value::Boolean(true)),
        (Function::Overlaps, [start, end, other_start, other_end]) => {
            let found = overlap((start, end), (other_start, other_end));
            Ok(found.map_or(Value::Null, Value::Boolean))
        }
        (
            Function::AddInterval | Function::SubtractInterval | Function::DateBin | Function::Timezone,
            arguments,
        ) => time_of(function, arguments, environment),
        _ => interval_of(function, arguments, environment).map(Value::Interval),
    }
}

/// Whether two periods overlap; None if that is unknown.
fn overlap(left: (&Value, &Value), right: (&Value, &Value)) -> Option<bool> {
    // With the earlier time first, and a missing one last.
    let in_order = |(start, end): (&'_ Value, &'_ Value)| -> Option<(Value, Option<Value>)> {
        match (start.is_null(), end.is_null()) {
            (true, true) => None,
            (true, false) => Some((end.clone(), None)),
            (false, true) => Some((start.clone(), None)),
            (false, false) if compare::total(start, end).is_gt() => Some((end.clone(), Some(start.clone()))),
            (false, false) => Some((start.clone(), Some(end.clone()))),
        }
    };
    let ((start, end), (other_start, other_end)) = (in_order(left)?, in_order(right)?);
    let (first_end, later_start, later_end) = match compare::total(&start, &other_start) {
        Ordering::Greater => (other_end, start, end),
        Ordering::Less => (end, other_start, other_end),
        Ordering::Equal => return end.and(other_end).map(|_| true),
    };
    if compare::total(&later_start, &first_end?).is_lt() {
        return Some(true);
    }
    later_end.map(|_| false)
}

/// Functions whose result is a time.
fn time_of(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let tz = &environment.time_zone;
    Ok(match (function, arguments) {
        (Function::AddInterval, [Value::TimestampTz(time), Value::Interval(interval)]) => {
            Value::TimestampTz(datetime::add_interval_in(*time, *interval, tz)?)
        }
        (Function::SubtractInterval, [Value::TimestampTz(time), Value::Interval(interval)]) => {
            Value::TimestampTz(datetime::add_interval_in(*time, interval.negate()?, tz)?)
        }
        (Function::DateBin, [Value::Interval(stride), Value::Timestamp(time), Value::Timestamp(origin)]) => {
            Value::Timestamp(datetime::bin(*stride, *time, *origin)?)
        }
        (
            Function::DateBin,
            [Value::Interval(stride), Value::TimestampTz(time), Value::TimestampTz(origin)],
        ) => Value::TimestampTz(datetime::bin(*stride, *time, *origin)?),
        (Function::Timezone, [Value::Interval(offset), Value::TimestampTz(time)]) => {
            Value::Timestamp(datetime::utc_to_local_in(*time, &zone(*offset)?)?)
        }
        (Function::Timezone, [Value::Interval(offset), Value::Timestamp(time)]) => {
            Value::TimestampTz(datetime::local_to_utc_in(*time, &zone(*offset)?)?)
        }
        (Function::Timezone, [Value::Interval(offset), Value::TimeTz(time)]) => {
            Value::TimeTz(time.moved(zone(*offset)?.offset_of_instant(0)))
        }
        _ => return Err(mismatch(function, arguments)),
    })
}

/// Functions whose result is an interval.
fn interval_of(function: Function, arguments: &[Value], environment: &Environment) -> Result<Interval> {
    let local = |instant| datetime::utc_to_local(instant, &environment.time_zone);
    match (function, arguments) {
        (Function::DateTrunc, [Value::Text(unit), Value::Interval(interval)]) => truncate(unit, *interval),
        (Function::Age, [Value::Timestamp(left), Value::Timestamp(right)]) => {
            datetime::age(*left, *right, left < right)
        }
        (Function::Age, [Value::TimestampTz(left), Value::TimestampTz(right)]) => {
            datetime::age(local(*left)?, local(*right)?, left < right)
        }
        (Function::AgeToday, [time]) => age_today(time, environment),
        (Function::JustifyHours, [Value::Interval(interval)]) => interval.justify_hours(),
        (Function::JustifyDays, [Value::Interval(interval)]) => interval.justify_days(),
        (Function::JustifyInterval, [Value::Interval(interval)]) => interval.justify_interval(),
        (Function::MakeInterval, [parts @ .., Value::Double(seconds)]) => make(parts, *seconds),
        _ => Err(mismatch(function, arguments)),
    }
}

/// The age of a time at the beginning of today.
fn age_today(time: &Value, environment: &Environment) -> Result<Interval> {
    let tz = &environment.time_zone;
    let now = datetime::utc_to_local(environment.transaction_time, tz)?;
    let today = now - now.rem_euclid(MICROSECONDS_PER_DAY);
    match time {
        Value::Timestamp(time) => datetime::age(today, *time, today < *time),
        Value::TimestampTz(instant) => {
            let is_later = datetime::local_to_utc(today, tz)? < *instant;
            datetime::age(today, datetime::utc_to_local(*instant, tz)?, is_later)
        }
        other => Err(mismatch(Function::AgeToday, std::slice::from_ref(other))),
    }
}

/// `make_interval`; the parts are whole years, months, weeks, days, hours and minutes.
fn make(parts: &[Value], seconds: f64) -> Result<Interval> {
    // Bounded: by the number of arguments.
    let whole: Option<Vec<i64>> = parts.iter().map(Value::as_i64).collect();
    let Some([years, months, weeks, days, hours, minutes]) = whole.as_deref() else {
        return Err(mismatch(Function::MakeInterval, parts));
    };
    let narrow = |number: i64| i32::try_from(number).map_err(|_| out_of_range());
    let microseconds = (seconds * 1e6).round_ties_even();
    // NaN and the infinities are in no range.
    const LIMIT: f64 = 9.2e18;
    if !(-LIMIT..LIMIT).contains(&microseconds) {
        return Err(out_of_range());
    }
    let time = (hours * MICROSECONDS_PER_HOUR)
        .checked_add(minutes * MICROSECONDS_PER_MINUTE)
        .and_then(|time| time.checked_add(microseconds as i64));
    Ok(Interval {
        months: narrow(years * i64::from(MONTHS_PER_YEAR) + months)?,
        days: narrow(weeks * 7 + days)?,
        microseconds: time.ok_or_else(out_of_range)?,
    })
}

/// The zone with this offset east of Greenwich.
fn zone(offset: Interval) -> Result<Zone> {
    if offset.months != 0 || offset.days != 0 {
        let shown = text::format(&Value::Interval(offset), &jiff::tz::TimeZone::UTC);
        let message = format!("interval time zone \"{shown}\" must not include months or days");
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    let seconds = i32::try_from(offset.microseconds / MICROSECONDS_PER_SECOND);
    seconds.map(Zone::Fixed).map_err(|_| datetime::timestamp_out_of_range())
}

fn unknown(unit: &str) -> Error {
    unknown_unit(unit, SqlType::INTERVAL.base_name())
}

fn unsupported(unit: &str) -> Error {
    unsupported_unit(unit, SqlType::INTERVAL.base_name())
}

/// `date_trunc`: fields smaller than the unit become zero.
fn truncate(unit: &str, interval: Interval) -> Result<Interval> {
    let months = |unit: i32| Ok(Interval::new(interval.months / unit * unit, 0, 0));
    let below = |unit: i64| Ok(Interval { microseconds: interval.microseconds / unit * unit, ..interval });
    match canonical(unit).ok_or_else(|| unknown(unit))? {
        "microseconds" => Ok(interval),
        "milliseconds" => below(1000),
        "second" => below(MICROSECONDS_PER_SECOND),
        "minute" => below(MICROSECONDS_PER_MINUTE),
        "hour" => below(MICROSECONDS_PER_HOUR),
        "day" => Ok(Interval { microseconds: 0, ..interval }),
        "month" => months(1),
        "quarter" => months(3),
        "year" => months(MONTHS_PER_YEAR),
        "decade" => months(10 * MONTHS_PER_YEAR),
        "century" => months(100 * MONTHS_PER_YEAR),
        "millennium" => months(1000 * MONTHS_PER_YEAR),
        "week" => Err(unsupported(unit).with_detail("Months usually have fractional weeks.")),
        "timezone" | "timezone_hour" | "timezone_minute" => Err(unsupported(unit)),
        _ => Err(unknown(unit)),
    }
}

/// `extract`.
fn extract(field: &str, interval: Interval) -> Result<Value> {
    let Interval { months, days, microseconds } = interval;
    let years = i64::from(months / MONTHS_PER_YEAR);
    let below_minute = microseconds % MICROSECONDS_PER_MINUTE;
    let whole = |number: i64| Ok(scaled(number, 0));
    match canonical(field).ok_or_else(|| unknown(field))? {
        "microseconds" => whole(below_minute),
        "milliseconds" => Ok(scaled(below_minute, 3)),
        "second" => Ok(scaled(below_minute, 6)),
        "minute" => whole(microseconds / MICROSECONDS_PER_MINUTE % 60),
        "hour" => whole(microseconds / MICROSECONDS_PER_HOUR),
        "day" => whole(i64::from(days)),
        "month" => whole(i64::from(months % MONTHS_PER_YEAR)),
        "quarter" => whole(i64::from(months % MONTHS_PER_YEAR / 3 + 1)),
        "year" => whole(years),
        "decade" => whole(years / 10),
        "century" => whole(years / 100),
        "millennium" => whole(years / 1000),
        "epoch" => {
            let seconds = seconds_of_days(interval);
            let microseconds = i128::from(seconds) * 1_000_000 + i128::from(microseconds);
            Ok(Value::numeric(BigDecimal::new(microseconds.into(), 6)))
        }
        _ => Err(unsupported(field)),
    }
}

/// The seconds of years (365.25 days), months and days, without the time.
fn seconds_of_days(interval: Interval) -> i64 {
    const PER_DAY: i64 = 86_400;
    const PER_YEAR: i64 = PER_DAY * 1461 / 4;
    i64::from(interval.months / MONTHS_PER_YEAR) * PER_YEAR
        + i64::from(interval.months % MONTHS_PER_YEAR) * 30 * PER_DAY
        + i64::from(interval.days) * PER_DAY
}

/// `date_part`, in PostgreSQL's steps, whose rounding is visible.
fn date_part(field: &str, interval: Interval) -> Result<f64> {
    let microseconds = interval.microseconds;
    let below_minute = microseconds % MICROSECONDS_PER_MINUTE;
    let seconds = (below_minute / MICROSECONDS_PER_SECOND) as f64;
    let below_second = (below_minute % MICROSECONDS_PER_SECOND) as f64;
    match canonical(field) {
        Some("second") => Ok(seconds + below_second / 1e6),
        Some("milliseconds") => Ok(seconds * 1000.0 + below_second / 1000.0),
        Some("epoch") => {
            const PER_YEAR: f64 = 365.25 * 86_400.0;
            const PER_MONTH: f64 = 30.0 * 86_400.0;
            let mut epoch = microseconds as f64 / 1e6;
            epoch += PER_YEAR * f64::from(interval.months / MONTHS_PER_YEAR);
            epoch += PER_MONTH * f64::from(interval.months % MONTHS_PER_YEAR);
            Ok(epoch + 86_400.0 * f64::from(interval.days))
        }
        _ => match extract(field, interval)? {
            Value::Numeric(number) => Ok(crate::numeric::to_f64(&number)),
            other => Err(mismatch(Function::DatePart, &[other])),
        },
    }
}
