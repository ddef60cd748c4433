//! Dates and times from text.
//!
//! Texts are read in two steps, as in PostgreSQL: a text is split into fields ([`super::fields`]), then each
//! field is decoded from its form and the fields before it ([`super::decode`]). Numbers in ambiguous order
//! are in that of `DateStyle`.
//!
//! `now`, `today`, `yesterday` and `tomorrow` refer to the transaction's time. Without one they are refused.
//!
//! Reference: PostgreSQL documentation, section 8.5.1 and appendix B.

use super::decode::{Decoder, Meaning, Problem, numeric_offset};
use super::fields::{DATE_ROOM, Fields, Look, TIME_ROOM, TIMESTAMP_ROOM};
use super::keyword::{Keyword, Moment, keyword};
use super::{
    DATE_INFINITY, DATE_MINUS_INFINITY, DAYS_1970_TO_2000, MICROSECONDS_PER_DAY, TIMESTAMP_INFINITY,
    TIMESTAMP_MINUS_INFINITY, Zone, ZonedTime, is_infinite_timestamp, is_valid_date, is_valid_timestamp,
    local_offset_seconds, local_to_utc, local_to_utc_in, offset_seconds, utc_to_local, zone,
};
use crate::error::{Error, Result, sqlstate};
use crate::text::Reading;

const TIME: &str = "time";
const ZONED_TIME: &str = "time with time zone";

impl Problem {
    fn into_error(self, type_name: &str, text: &str) -> Error {
        let field = || {
            let message = format!("date/time field value out of range: \"{text}\"");
            Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, message)
        };
        match self {
            Problem::Syntax => {
                let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
                Error::input(sqlstate::INVALID_DATETIME_FORMAT, message)
            }
            Problem::Field => field(),
            Problem::MonthDay => field().with_hint("Perhaps you need a different \"datestyle\" setting."),
            Problem::Displacement => {
                let message = format!("time zone displacement out of range: \"{text}\"");
                Error::input(sqlstate::INVALID_TIME_ZONE_DISPLACEMENT, message)
            }
            Problem::Other(error) => error,
        }
    }
}

fn out_of_range(type_name: &str, text: &str) -> Error {
    Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{type_name} out of range: \"{text}\""))
}

/// The local time and its offset, which a word or a whole text refers to.
fn local_now(text: &str, reading: Reading<'_>) -> Result<(i64, i32)> {
    let Some(instant) = reading.now else {
        let message = format!("date/time value \"{text}\" is not supported here");
        return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
            .with_hint("Use current_date or current_timestamp."));
    };
    let local = utc_to_local(instant, reading.time_zone)?;
    Ok((local, offset_seconds(instant, reading.time_zone)))
}

fn decode(text: &str, type_name: &str, room: usize, reading: Reading<'_>) -> Result<Meaning> {
    let now = |word: &str| local_now(word, reading);
    let fields = Fields::of(text, room).ok_or(Problem::Syntax);
    let decoded = fields.and_then(|fields| {
        let order = reading.styles.order;
        let decoder = match type_name {
            TIME | ZONED_TIME => Decoder::of_time(&fields, order),
            _ => Decoder::of_date(order),
        };
        decoder.decode(&fields, &now)
    });
    decoded.map_err(|problem| problem.into_error(type_name, text))
}

/// A zone as `make_timestamptz` takes it: its name, or its signed offset east of Greenwich.
pub fn zone_or_offset(text: &str) -> Result<Zone> {
    let refused = |message: String| Error::input(sqlstate::INVALID_PARAMETER_VALUE, message);
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric time zone: \"{text}\"");
        let hint = "Numeric time zones must have \"-\" or \"+\" as first character.";
        return Err(refused(message).with_hint(hint));
    }
    if !text.starts_with(['+', '-']) {
        return zone(text);
    }
    match numeric_offset(text) {
        Ok(seconds) => Ok(Zone::Fixed(seconds)),
        Err(Problem::Displacement) => Err(refused(format!("numeric time zone \"{text}\" out of range"))),
        Err(_) => Err(refused(format!("time zone \"{text}\" not recognized"))),
    }
}

/// A `time`: microseconds of the day. Date and zone are checked and ignored.
pub fn parse_time(text: &str, reading: Reading<'_>) -> Result<i64> {
    match decode(text, TIME, TIME_ROOM, reading)? {
        Meaning::Time(_, time, _) => Ok(time),
        _ => Err(Problem::Syntax.into_error(TIME, text)),
    }
}

/// A `timetz`. If the text has no zone, the time is in the session's; an offset that depends on the day is
/// that of the day in the text, or of today.
pub fn parse_timetz(text: &str, reading: Reading<'_>) -> Result<ZonedTime> {
    let Meaning::Time(day, time, zone) = decode(text, ZONED_TIME, TIME_ROOM, reading)? else {
        return Err(Problem::Syntax.into_error(ZONED_TIME, text));
    };
    let is_constant = zone.as_ref().is_some_and(|zone| !zone.changes());
    let day = match day {
        None if is_constant => 0,
        None => local_now(text, reading)?.0.div_euclid(MICROSECONDS_PER_DAY),
        Some(day) => day,
    };
    let local = day.saturating_mul(MICROSECONDS_PER_DAY).saturating_add(time);
    let east = match zone {
        Some(zone) => zone.offset_of_local(local),
        None => local_offset_seconds(local, reading.time_zone),
    };
    Ok(ZonedTime::at_offset(time, east))
}

/// A `date`; time of day and zone are checked and ignored.
pub fn parse_date(text: &str, reading: Reading<'_>) -> Result<i32> {
    match decode(text, "date", DATE_ROOM, reading)? {
        Meaning::Infinity => Ok(DATE_INFINITY),
        Meaning::MinusInfinity => Ok(DATE_MINUS_INFINITY),
        Meaning::Epoch => Ok(-DAYS_1970_TO_2000 as i32),
        Meaning::Local(days, ..) => i32::try_from(days)
            .ok()
            .filter(|days| is_valid_date(*days))
            .ok_or_else(|| out_of_range("date", text)),
        Meaning::Time(..) => Err(Problem::Syntax.into_error("date", text)),
    }
}

/// Microseconds since 2000-01-01, and the zone in the text.
fn decode_timestamp(text: &str, type_name: &str, reading: Reading<'_>) -> Result<(i64, Option<Zone>)> {
    Ok(match decode(text, type_name, TIMESTAMP_ROOM, reading)? {
        Meaning::Infinity => (TIMESTAMP_INFINITY, None),
        Meaning::MinusInfinity => (TIMESTAMP_MINUS_INFINITY, None),
        Meaning::Epoch => (-DAYS_1970_TO_2000 * MICROSECONDS_PER_DAY, Some(Zone::Fixed(0))),
        Meaning::Local(days, time, zone) => {
            let local =
                days.checked_mul(MICROSECONDS_PER_DAY).and_then(|midnight| midnight.checked_add(time));
            (local.ok_or_else(|| out_of_range("timestamp", text))?, zone)
        }
        Meaning::Time(..) => return Err(Problem::Syntax.into_error(type_name, text)),
    })
}

/// A `timestamp`; a time zone is checked and ignored.
pub fn parse_timestamp(text: &str, reading: Reading<'_>) -> Result<i64> {
    let (local, _) = decode_timestamp(text, "timestamp", reading)?;
    let is_valid = is_valid_timestamp(local) || is_infinite_timestamp(local);
    if is_valid { Ok(local) } else { Err(out_of_range("timestamp", text)) }
}

/// A `timestamptz`. If the text has no zone, the time is in the session's.
pub fn parse_timestamptz(text: &str, reading: Reading<'_>) -> Result<i64> {
    let (local, zone) = decode_timestamp(text, "timestamp with time zone", reading)?;
    let instant = match zone {
        Some(zone) => local_to_utc_in(local, &zone),
        None => local_to_utc(local, reading.time_zone),
    };
    instant.map_err(|_| out_of_range("timestamp", text))
}

/// Whether a text for a date or time contains `now`, `today`, `yesterday` or `tomorrow`.
pub fn names_the_clock(text: &str) -> bool {
    let is_clock = |word: &str| {
        use Moment::{Now, Today, Tomorrow, Yesterday};
        matches!(keyword(word), Some(Keyword::Moment(Now | Today | Tomorrow | Yesterday)))
    };
    Fields::of(text, TIMESTAMP_ROOM).is_some_and(|fields| {
        (0..fields.len()).any(|index| fields.look(index) == Some(Look::Word) && is_clock(fields.text(index)))
    })
}
