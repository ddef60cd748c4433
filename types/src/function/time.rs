//! Functions of dates and times.

use std::time::SystemTime;

use crate::datetime;
use crate::datetime::{
    CivilTime, DAYS_1970_TO_2000, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE,
    MICROSECONDS_PER_SECOND, civil_from_days, civil_from_timestamp, days_from_civil,
};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::value::{BigDecimal, Numeric, SqlType, Value};
use crate::{cast, numeric, text};

use super::units::{canonical, scaled, unknown_unit, unsupported_unit};
use super::{Function, interval, mismatch};

/// The computer's clock, in microseconds since 2000-01-01 UTC.
pub fn now_us() -> i64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX) - DAYS_1970_TO_2000 * MICROSECONDS_PER_DAY
}

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    if arguments.iter().any(|argument| matches!(argument, Value::Interval(_))) {
        return interval::call(function, arguments, environment);
    }
    let tz = &environment.time_zone;
    match (function, arguments) {
        (Function::Now, []) => Ok(Value::TimestampTz(environment.transaction_time)),
        (Function::StatementTimestamp, []) => Ok(Value::TimestampTz(environment.statement_time)),
        (Function::ClockTimestamp, []) => Ok(Value::TimestampTz(now_us())),
        (Function::CurrentDate, []) => {
            let local = datetime::utc_to_local(environment.transaction_time, tz)?;
            Ok(Value::Date(datetime::timestamp_to_date(local)))
        }
        (Function::LocalTime, []) => {
            let local = datetime::utc_to_local(environment.transaction_time, tz)?;
            Ok(datetime::time_of_day(local).map_or(Value::Null, Value::Time))
        }
        (Function::CurrentTime, []) => {
            let now = Value::TimestampTz(environment.transaction_time);
            cast::cast(now, SqlType::TIMETZ, true, environment.reading())
        }
        (Function::LocalTimestamp, []) => {
            Ok(Value::Timestamp(datetime::utc_to_local(environment.transaction_time, tz)?))
        }
        (Function::DateTrunc, [Value::Text(unit), Value::Timestamp(time)]) => {
            Ok(Value::Timestamp(truncate(unit, *time, "timestamp without time zone")?))
        }
        (Function::DateTrunc, [Value::Text(unit), Value::TimestampTz(time)]) => {
            truncate_in_zone(unit, *time, tz)
        }
        (Function::DateTrunc, [Value::Text(unit), Value::TimestampTz(time), Value::Text(zone)]) => {
            truncate_in_zone(unit, *time, &datetime::zone(zone)?.whole(zone)?)
        }
        (Function::Extract, [Value::Text(field), time]) => extract(field, time, environment),
        // PostgreSQL adds up these two in floating point.
        (Function::DatePart, [Value::Text(field), Value::TimeTz(zoned)])
            if canonical(field) == Some("epoch") =>
        {
            Ok(Value::Double(zoned.time as f64 / 1e6 + f64::from(zoned.west)))
        }
        (Function::DatePart, [Value::Text(field), time]) => {
            // A date has no hours of its own, but date_part treats it as its midnight.
            let time = match time {
                Value::Date(days) => Value::Timestamp(datetime::date_to_timestamp(*days)?),
                other => other.clone(),
            };
            Ok(match extract(field, &time, environment)? {
                Value::Numeric(number) => Value::Double(as_double(field, &number)),
                other => other,
            })
        }
        (Function::ToTimestamp, [Value::Double(seconds)]) => from_epoch(*seconds),
        (Function::Timezone, [Value::Text(zone), Value::TimestampTz(time)]) => {
            Ok(Value::Timestamp(datetime::utc_to_local_in(*time, &datetime::zone(zone)?)?))
        }
        (Function::Timezone, [Value::Text(zone), Value::Timestamp(time)]) => {
            Ok(Value::TimestampTz(datetime::local_to_utc_in(*time, &datetime::zone(zone)?)?))
        }
        (Function::TimezoneToday, [Value::Text(zone), Value::TimeTz(time)]) => {
            let east = datetime::zone(zone)?.offset_of_instant(environment.transaction_time);
            Ok(Value::TimeTz(time.moved(east)))
        }
        (Function::IsFinite, [Value::Date(days)]) => Ok(Value::Boolean(!datetime::is_infinite_date(*days))),
        (Function::IsFinite, [Value::Timestamp(time) | Value::TimestampTz(time)]) => {
            Ok(Value::Boolean(!datetime::is_infinite_timestamp(*time)))
        }
        _ => Err(mismatch(function, arguments)),
    }
}

fn truncate_in_zone(unit: &str, time: i64, tz: &jiff::tz::TimeZone) -> Result<Value> {
    let local = datetime::utc_to_local(time, tz)?;
    let truncated = truncate(unit, local, "timestamp with time zone")?;
    // Units below a day are truncated in the instant itself, since a local hour that occurs twice must not
    // move.
    let offset = local - time;
    if local - truncated < MICROSECONDS_PER_HOUR && is_below_day(unit) {
        return Ok(Value::TimestampTz(truncated - offset));
    }
    Ok(Value::TimestampTz(datetime::local_to_utc(truncated, tz)?))
}

fn is_below_day(unit: &str) -> bool {
    matches!(canonical(unit), Some("hour" | "minute" | "second" | "milliseconds" | "microseconds"))
}

/// The start of the unit that contains a local time.
fn truncate(unit: &str, time: i64, type_name: &str) -> Result<i64> {
    let name = canonical(unit).ok_or_else(|| unknown_unit(unit, type_name))?;
    if datetime::is_infinite_timestamp(time) {
        return Ok(time);
    }
    let below = |length: i64| Ok(time - time.rem_euclid(length));
    let civil = civil_from_timestamp(time);
    let year = civil.date.year;
    let days = match name {
        "microseconds" => return Ok(time),
        "milliseconds" => return below(1000),
        "second" => return below(MICROSECONDS_PER_SECOND),
        "minute" => return below(MICROSECONDS_PER_MINUTE),
        "hour" => return below(MICROSECONDS_PER_HOUR),
        "day" => return below(MICROSECONDS_PER_DAY),
        "week" => {
            let days = time.div_euclid(MICROSECONDS_PER_DAY);
            days - (iso_weekday(days) - 1)
        }
        "month" => days_from_civil(year, civil.date.month, 1),
        "quarter" => days_from_civil(year, (civil.date.month - 1) / 3 * 3 + 1, 1),
        "year" => days_from_civil(year, 1, 1),
        "decade" => days_from_civil(year.div_euclid(10) * 10, 1, 1),
        // Centuries and millennia begin with their year 1. There is no century 0.
        "century" => days_from_civil((year - 1).div_euclid(100) * 100 + 1, 1, 1),
        "millennium" => days_from_civil((year - 1).div_euclid(1000) * 1000 + 1, 1, 1),
        name if name.starts_with("timezone") => return Err(unsupported_unit(unit, type_name)),
        _ => return Err(unknown_unit(unit, type_name)),
    };
    days.checked_mul(MICROSECONDS_PER_DAY)
        .filter(|time| datetime::is_valid_timestamp(*time))
        .ok_or_else(|| Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))
}

/// 1 (Monday) to 7. 2000-01-01 was a Saturday.
pub(super) fn iso_weekday(days: i64) -> i64 {
    (days + 5).rem_euclid(7) + 1
}

/// ISO 8601 year and week: the week belongs to the year of its Thursday.
pub(super) fn iso_year_and_week(days: i64) -> (i64, i64) {
    let thursday = days - iso_weekday(days) + 4;
    let year = civil_from_days(thursday).year;
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

/// PostgreSQL computes these two in floating point, and its rounding is visible.
fn as_double(field: &str, number: &Numeric) -> f64 {
    let units = number.finite().and_then(|number| i64::try_from(&*number.as_bigint_and_scale().0).ok());
    match (canonical(field), units) {
        (Some("epoch"), Some(microseconds)) => microseconds as f64 / 1e6,
        (Some("second"), Some(microseconds)) => {
            (microseconds / MICROSECONDS_PER_SECOND) as f64
                + (microseconds % MICROSECONDS_PER_SECOND) as f64 / 1e6
        }
        _ => numeric::to_f64(number),
    }
}

fn extract(field: &str, time: &Value, environment: &Environment) -> Result<Value> {
    let (type_name, local, offset) = match time {
        Value::Date(days) => return extract_from_date(field, *days),
        Value::Time(time) => return extract_from_time(field, *time, SqlType::TIME, None),
        Value::TimeTz(zoned) => {
            let east = -i64::from(zoned.west);
            return extract_from_time(field, zoned.time, SqlType::TIMETZ, Some(east));
        }
        Value::Timestamp(time) => ("timestamp without time zone", *time, None),
        Value::TimestampTz(time) if datetime::is_infinite_timestamp(*time) => {
            ("timestamp with time zone", *time, Some(0))
        }
        Value::TimestampTz(time) => {
            let offset = datetime::offset_seconds(*time, &environment.time_zone);
            let local = time + i64::from(offset) * MICROSECONDS_PER_SECOND;
            ("timestamp with time zone", local, Some(i64::from(offset)))
        }
        _ => return Err(mismatch(Function::Extract, std::slice::from_ref(time))),
    };
    let name = canonical(field).ok_or_else(|| unknown_unit(field, type_name))?;
    if datetime::is_infinite_timestamp(local) {
        return infinite_field(name, local > 0, || unsupported_unit(field, type_name));
    }
    let civil = civil_from_timestamp(local);
    let days = local.div_euclid(MICROSECONDS_PER_DAY);
    if let Some(value) = time_field(name, civil) {
        return Ok(value);
    }
    Ok(match (name, offset) {
        ("epoch", offset) => {
            let instant = local - offset.unwrap_or(0) * MICROSECONDS_PER_SECOND;
            let since_1970 = i128::from(instant) + i128::from(DAYS_1970_TO_2000 * MICROSECONDS_PER_DAY);
            Value::numeric(BigDecimal::new(since_1970.into(), 6))
        }
        ("timezone" | "timezone_hour" | "timezone_minute", Some(offset)) => offset_field(name, offset),
        ("julian", _) => {
            let day = numeric::from_i64(days + 2_451_545);
            let part = numeric::from_i64(local.rem_euclid(MICROSECONDS_PER_DAY));
            Value::numeric(numeric::add(
                &day,
                &numeric::divide(&part, &numeric::from_i64(MICROSECONDS_PER_DAY))?,
            )?)
        }
        (name, _) => date_field(name, days).ok_or_else(|| unsupported_unit(field, type_name))?,
    })
}

/// `east`: the offset of its zone, if its type has one.
fn extract_from_time(field: &str, time: i64, of: SqlType, east: Option<i64>) -> Result<Value> {
    let type_name = of.base_name();
    let name = canonical(field).ok_or_else(|| unknown_unit(field, type_name))?;
    match (name, east) {
        ("epoch", east) => Ok(scaled(time - east.unwrap_or(0) * MICROSECONDS_PER_SECOND, 6)),
        // The end of the day is not an hour of the next one.
        ("hour", _) => Ok(scaled(time / MICROSECONDS_PER_HOUR, 0)),
        (name, Some(east)) if name.starts_with("timezone") => Ok(offset_field(name, east)),
        (name, _) => {
            time_field(name, civil_from_timestamp(time)).ok_or_else(|| unsupported_unit(field, type_name))
        }
    }
}

/// A part of an offset, in seconds east of Greenwich.
fn offset_field(name: &str, east: i64) -> Value {
    match name {
        "timezone_hour" => scaled(east / 3600, 0),
        "timezone_minute" => scaled(east / 60 % 60, 0),
        _ => scaled(east, 0),
    }
}

fn extract_from_date(field: &str, days: i32) -> Result<Value> {
    let name = canonical(field).ok_or_else(|| unknown_unit(field, "date"))?;
    let unsupported = || unsupported_unit(field, "date");
    if datetime::is_infinite_date(days) {
        return infinite_field(name, days > 0, unsupported);
    }
    let days = i64::from(days);
    match name {
        "epoch" => Ok(scaled((days + DAYS_1970_TO_2000) * 86_400, 0)),
        "julian" => Ok(scaled(days + 2_451_545, 0)),
        name => date_field(name, days).ok_or_else(unsupported),
    }
}

/// For an infinite time, fields that grow without bound are infinite, and the others NULL.
fn infinite_field(name: &str, is_positive: bool, unsupported: impl Fn() -> Error) -> Result<Value> {
    match name {
        "year" | "decade" | "century" | "millennium" | "julian" | "isoyear" | "epoch" => {
            Ok(Value::numeric(if is_positive { Numeric::Infinity } else { Numeric::MinusInfinity }))
        }
        "microseconds" | "milliseconds" | "second" | "minute" | "hour" | "day" | "week" | "month"
        | "quarter" | "dow" | "isodow" | "doy" | "timezone" | "timezone_hour" | "timezone_minute" => {
            Ok(Value::Null)
        }
        _ => Err(unsupported()),
    }
}

fn time_field(name: &str, time: CivilTime) -> Option<Value> {
    let microseconds = i64::from(time.second) * MICROSECONDS_PER_SECOND + i64::from(time.microsecond);
    Some(match name {
        "microseconds" => scaled(microseconds, 0),
        "milliseconds" => scaled(microseconds, 3),
        "second" => scaled(microseconds, 6),
        "minute" => scaled(i64::from(time.minute), 0),
        "hour" => scaled(i64::from(time.hour), 0),
        _ => return None,
    })
}

fn date_field(name: &str, days: i64) -> Option<Value> {
    let date = civil_from_days(days);
    // There is no year 0 to show, so 1 BC is -1.
    let shown = |year: i64| if year > 0 { year } else { year - 1 };
    let number = match name {
        "day" => i64::from(date.day),
        "month" => i64::from(date.month),
        "quarter" => i64::from(date.month - 1) / 3 + 1,
        "week" => iso_year_and_week(days).1,
        "year" => shown(date.year),
        "isoyear" => shown(iso_year_and_week(days).0),
        "decade" => date.year.div_euclid(10),
        "century" if date.year > 0 => (date.year + 99) / 100,
        "century" => -((99 - (date.year - 1)) / 100),
        "millennium" if date.year > 0 => (date.year + 999) / 1000,
        "millennium" => -((999 - (date.year - 1)) / 1000),
        "dow" => iso_weekday(days) % 7,
        "isodow" => iso_weekday(days),
        "doy" => days - days_from_civil(date.year, 1, 1) + 1,
        _ => return None,
    };
    Some(scaled(number, 0))
}

/// Seconds since 1970 as a `timestamptz`.
fn from_epoch(seconds: f64) -> Result<Value> {
    let out_of_range = || {
        let seconds = text::format(&Value::Double(seconds), &jiff::tz::TimeZone::UTC);
        let message = format!("timestamp out of range: \"{seconds}\"");
        Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, message)
    };
    if seconds.is_nan() {
        return Err(Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        let bound =
            if seconds > 0.0 { datetime::TIMESTAMP_INFINITY } else { datetime::TIMESTAMP_MINUS_INFINITY };
        return Ok(Value::TimestampTz(bound));
    }
    let since_2000 = seconds - (DAYS_1970_TO_2000 * 86_400) as f64;
    let microseconds = (since_2000 * 1e6).round_ties_even();
    if microseconds.abs() > 9.3e18 || !datetime::is_valid_timestamp(microseconds as i64) {
        return Err(out_of_range());
    }
    Ok(Value::TimestampTz(microseconds as i64))
}
