//! Dates and times from numbers.

use jiff::tz::TimeZone;

use crate::datetime::{
    self, MICROSECONDS_PER_DAY, MICROSECONDS_PER_HOUR, MICROSECONDS_PER_MINUTE, days_from_civil,
};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::value::Value;

use super::{Function, mismatch};

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let tz = &environment.time_zone;
    match (function, arguments) {
        (Function::MakeDate, [Value::Integer(year), Value::Integer(month), Value::Integer(day)]) => {
            Ok(Value::Date(date(*year, *month, *day)?))
        }
        (Function::MakeTime, [Value::Integer(hour), Value::Integer(minute), Value::Double(second)]) => {
            Ok(Value::Time(time(*hour, *minute, *second)?))
        }
        (Function::MakeTimestamp, parts) => timestamp(function, parts).map(Value::Timestamp),
        (Function::MakeTimestampTz, [parts @ .., Value::Text(zone)]) => {
            let local = timestamp(function, parts)?;
            let zone = datetime::zone_or_offset(zone)?;
            Ok(Value::TimestampTz(datetime::local_to_utc_in(local, &zone)?))
        }
        (Function::MakeTimestampTz, parts) => in_zone(timestamp(function, parts)?, tz),
        _ => Err(mismatch(function, arguments)),
    }
}

fn in_zone(local: i64, tz: &TimeZone) -> Result<Value> {
    Ok(Value::TimestampTz(datetime::local_to_utc(local, tz)?))
}

fn out_of_range(message: String) -> Error {
    Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, message)
}

fn date(year: i32, month: i32, day: i32) -> Result<i32> {
    let shown = || format!("{year}-{month:02}-{day:02}");
    let field = || out_of_range(format!("date field value out of range: {}", shown()));
    // Negative years are BC, and there is no year 0.
    let civil_year = match i64::from(year) {
        0 => return Err(field()),
        year if year < 0 => year + 1,
        year => year,
    };
    let month = u8::try_from(month).ok().filter(|month| (1..=12).contains(month)).ok_or_else(field)?;
    let last = datetime::month_days(civil_year, month);
    let day = u8::try_from(day).ok().filter(|day| (1..=last).contains(day)).ok_or_else(field)?;
    i32::try_from(days_from_civil(civil_year, month, day))
        .ok()
        .filter(|days| datetime::is_valid_date(*days))
        .ok_or_else(|| out_of_range(format!("date out of range: {}", shown())))
}

/// `hour:minute:second` as messages show it.
fn shown_time(hour: i32, minute: i32, second: f64) -> String {
    let second = second.to_string();
    format!("{hour}:{minute:02}:{second:0>2}")
}

fn time(hour: i32, minute: i32, second: f64) -> Result<i64> {
    let microseconds = (second * 1e6).round_ties_even();
    let whole_minutes = i64::from(hour) * MICROSECONDS_PER_HOUR + i64::from(minute) * MICROSECONDS_PER_MINUTE;
    // An invalid second makes the time of day invalid too.
    let time = whole_minutes.saturating_add(microseconds as i64);
    // NaN is in no range.
    let is_within = (0..=24).contains(&hour)
        && (0..60).contains(&minute)
        && (0.0..=60e6).contains(&microseconds)
        && time <= MICROSECONDS_PER_DAY;
    let message = || format!("time field value out of range: {}", shown_time(hour, minute, second));
    if is_within { Ok(time) } else { Err(out_of_range(message())) }
}

fn timestamp(function: Function, parts: &[Value]) -> Result<i64> {
    let [
        Value::Integer(year),
        Value::Integer(month),
        Value::Integer(day),
        Value::Integer(hour),
        Value::Integer(minute),
        Value::Double(second),
    ] = parts
    else {
        return Err(mismatch(function, parts));
    };
    let days = date(*year, *month, *day)?;
    let time = time(*hour, *minute, *second)?;
    datetime::date_and_time(days, time).map_err(|_| {
        let time = shown_time(*hour, *minute, *second);
        out_of_range(format!("timestamp out of range: {year}-{month:02}-{day:02} {time}"))
    })
}
