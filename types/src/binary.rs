//! PostgreSQL's binary wire forms of values (format code 1 of Bind and RowDescription, and binary COPY).
//!
//! Integers, floats, dates and timestamps are big-endian; text and bytea are their bytes; uuid its 16
//! bytes; json its text, jsonb a byte 1 (the version) and its text; boolean one byte; interval its
//! microseconds, days and months. numeric:
//! ```text
//! +---------+--------+------+--------+------------------------+
//! | ndigits | weight | sign | dscale | ndigits * u16 (0-9999) |
//! | u16     | i16    | u16  | u16    | base 10000, high first |
//! +---------+--------+------+--------+------------------------+
//! ```
//! The first digit counts 10000^weight. `sign` is 0000 or 4000 (negative), or C000 (NaN), D000 or F000
//! (infinities), which have no digits. Digits beyond `dscale` places are cut off, as PostgreSQL does.
//!
//! Reference: the `*send` and `*recv` functions of PostgreSQL 15.

use bigdecimal::num_bigint::Sign;
use compact_str::{CompactString, ToCompactString};
use jiff::tz::TimeZone;

use crate::error::{Error, Result, sqlstate};
use crate::interval::Interval;
use crate::numeric::{Numeric, finite};
use crate::system_type::SystemType;
use crate::text::{check_text, fit_text};
use crate::value::{SqlType, Value};
use crate::{array, datetime, json, numeric, text};

const NUMERIC_POSITIVE: u16 = 0x0000;
const NUMERIC_NEGATIVE: u16 = 0x4000;
const NUMERIC_NAN: u16 = 0xc000;
const NUMERIC_INFINITY: u16 = 0xd000;
const NUMERIC_MINUS_INFINITY: u16 = 0xf000;
/// What PostgreSQL writes as the scale of an infinity.
const INFINITE_SCALE: u16 = 0x20;
const NUMERIC_HEADER_BYTES: usize = 8;
const GROUP_DIGITS: usize = 4;
const JSONB_VERSION: u8 = 1;

fn wrong(message: &str) -> Error {
    Error::input(sqlstate::INVALID_BINARY_REPRESENTATION, message)
}

fn fixed<const LENGTH: usize>(bytes: &[u8]) -> Result<[u8; LENGTH]> {
    bytes.try_into().map_err(|_| wrong("incorrect binary data format"))
}

/// A value of this type from its binary form; never from NULL, which has none. Modifiers apply as in
/// [`text::parse`](super::text::parse).
pub fn read(bytes: &[u8], sql_type: SqlType) -> Result<Value> {
    Ok(match sql_type {
        SqlType::Boolean => Value::Boolean(fixed::<1>(bytes)?[0] != 0),
        SqlType::SmallInt => Value::SmallInt(i16::from_be_bytes(fixed(bytes)?)),
        SqlType::Integer => Value::Integer(i32::from_be_bytes(fixed(bytes)?)),
        SqlType::BigInt => Value::BigInt(i64::from_be_bytes(fixed(bytes)?)),
        SqlType::Real => Value::Real(f32::from_be_bytes(fixed(bytes)?)),
        SqlType::DoublePrecision => Value::Double(f64::from_be_bytes(fixed(bytes)?)),
        SqlType::Numeric(modifier) => {
            let number = read_numeric(bytes)?;
            Value::numeric(match modifier {
                Some((precision, scale)) => numeric::apply_modifier(&number, precision, scale)?,
                None => number,
            })
        }
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => {
            Value::Text(fit_text(CompactString::from(plain_text(bytes)?), sql_type, false)?)
        }
        SqlType::Bytea => Value::Bytea(bytes.into()),
        SqlType::Date => {
            let days = i32::from_be_bytes(fixed(bytes)?);
            if !datetime::is_infinite_date(days) && !datetime::is_valid_date(days) {
                return Err(Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range"));
            }
            Value::Date(days)
        }
        SqlType::Time(precision) => {
            let time = i64::from_be_bytes(fixed(bytes)?);
            if !datetime::is_valid_time(time) {
                return Err(Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "time out of range"));
            }
            Value::Time(datetime::round_time(time, precision))
        }
        SqlType::Timestamp(precision) => {
            Value::Timestamp(datetime::round_timestamp(read_timestamp(bytes)?, precision)?)
        }
        SqlType::TimestampTz(precision) => {
            Value::TimestampTz(datetime::round_timestamp(read_timestamp(bytes)?, precision)?)
        }
        SqlType::Uuid => Value::Uuid(fixed(bytes)?),
        SqlType::Json => text::parse(plain_text(bytes)?, sql_type, &TimeZone::UTC)?,
        SqlType::Jsonb => match bytes.split_first() {
            Some((&JSONB_VERSION, text)) => text::parse(plain_text(text)?, sql_type, &TimeZone::UTC)?,
            Some((version, _)) => {
                return Err(Error::input(
                    sqlstate::INTERNAL_ERROR,
                    format!("unsupported jsonb version number {version}"),
                ));
            }
            None => {
                return Err(Error::input(sqlstate::PROTOCOL_VIOLATION, "no data left in message"));
            }
        },
        SqlType::Interval(modifier) => Value::Interval(read_interval(bytes)?.fit(modifier)),
        SqlType::Array(element) => array::read_binary(bytes, element, |item| read(item, element.sql_type()))?,
        SqlType::System(system_type) => read_system(bytes, system_type)?,
    })
}

fn plain_text(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).map_err(|error| invalid_utf8(bytes, error))?;
    check_text(text)?;
    Ok(text)
}

fn read_interval(bytes: &[u8]) -> Result<Interval> {
    // One number: the parts are written from the highest byte on.
    let all = u128::from_be_bytes(fixed(bytes)?);
    Ok(Interval { months: all as i32, days: (all >> 32) as i32, microseconds: (all >> 64) as i64 })
}

fn read_system(bytes: &[u8], system_type: SystemType) -> Result<Value> {
    if system_type.is_text() {
        return read(bytes, SqlType::Text);
    }
    if let Some(element) = system_type.element() {
        return read(bytes, SqlType::Array(element));
    }
    let oid = u32::from_be_bytes(fixed(bytes)?);
    if system_type.is_number() {
        return Ok(Value::Oid(oid));
    }
    Ok(system_type.reference(oid, oid.to_compact_string()))
}

fn read_timestamp(bytes: &[u8]) -> Result<i64> {
    let microseconds = i64::from_be_bytes(fixed(bytes)?);
    if !datetime::is_infinite_timestamp(microseconds) && !datetime::is_valid_timestamp(microseconds) {
        return Err(Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp out of range"));
    }
    Ok(microseconds)
}

/// PostgreSQL's words for bytes that are no UTF-8: it shows the bytes of the character that fails.
pub fn invalid_utf8(bytes: &[u8], error: std::str::Utf8Error) -> Error {
    let rest = &bytes[error.valid_up_to()..];
    let expected = match rest.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    };
    let shown: Vec<String> = rest.iter().take(expected).map(|byte| format!("0x{byte:02x}")).collect();
    let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
    Error::input(sqlstate::CHARACTER_NOT_IN_REPERTOIRE, message)
}

fn read_numeric(bytes: &[u8]) -> Result<Numeric> {
    let (header, groups) = bytes
        .split_at_checked(NUMERIC_HEADER_BYTES)
        .ok_or_else(|| wrong("insufficient data left in message"))?;
    let field = |index: usize| u16::from_be_bytes([header[index * 2], header[index * 2 + 1]]);
    let (count, weight, sign, scale) =
        (usize::from(field(0)), field(1) as i16, field(2), i64::from(field(3)));
    if groups.len() != count * 2 {
        return Err(wrong("incorrect binary data format"));
    }
    match sign {
        NUMERIC_POSITIVE | NUMERIC_NEGATIVE => {}
        NUMERIC_NAN | NUMERIC_INFINITY | NUMERIC_MINUS_INFINITY => {}
        _ => return Err(wrong("invalid sign in external \"numeric\" value")),
    }
    if scale > numeric::MAXIMUM_SCALE {
        return Err(wrong("invalid scale in external \"numeric\" value"));
    }
    let mut digits = finite::DigitBuffer::new();
    for group in groups.chunks_exact(2) {
        let group = u16::from_be_bytes([group[0], group[1]]);
        if group > 9999 {
            return Err(wrong("invalid digit in external \"numeric\" value"));
        }
        digits.extend(
            [group / 1000, group / 100 % 10, group / 10 % 10, group % 10].map(|digit| b'0' + digit as u8),
        );
    }
    match sign {
        NUMERIC_NAN => return Ok(Numeric::NaN),
        NUMERIC_INFINITY => return Ok(Numeric::Infinity),
        NUMERIC_MINUS_INFINITY => return Ok(Numeric::MinusInfinity),
        _ => {}
    }
    // The digits end at this place after the point.
    let places = (count as i64 - 1 - i64::from(weight)) * GROUP_DIGITS as i64;
    if places > scale {
        let excess = usize::try_from(places - scale).unwrap_or(usize::MAX);
        digits.truncate(digits.len().saturating_sub(excess));
        if digits.is_empty() {
            return finite::from_digits(false, b"0", scale).map(Numeric::Finite);
        }
        return finite::from_digits(sign == NUMERIC_NEGATIVE, &digits, scale).map(Numeric::Finite);
    }
    let number = finite::from_digits(sign == NUMERIC_NEGATIVE, &digits, places)?;
    Ok(Numeric::Finite(finite::with_scale(&number, scale)))
}

/// Appends the binary form (without a length before it). NULL, which has none, appends nothing.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Boolean(truth) => out.push(u8::from(*truth)),
        Value::SmallInt(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Integer(number) | Value::Date(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::BigInt(number)
        | Value::Time(number)
        | Value::Timestamp(number)
        | Value::TimestampTz(number) => {
            out.extend_from_slice(&number.to_be_bytes());
        }
        Value::Real(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Double(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Numeric(number) => write_numeric(number, out),
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bytea(bytes) => out.extend_from_slice(bytes),
        Value::Uuid(bytes) => out.extend_from_slice(bytes),
        Value::Json(text) => out.extend_from_slice(text.as_bytes()),
        Value::Jsonb(value) => {
            out.push(JSONB_VERSION);
            json::write_jsonb(value.root(), out);
        }
        Value::Interval(interval) => {
            out.extend_from_slice(&interval.microseconds.to_be_bytes());
            out.extend_from_slice(&interval.days.to_be_bytes());
            out.extend_from_slice(&interval.months.to_be_bytes());
        }
        Value::Array(array) => array::write_binary(array, out, write),
        Value::Oid(oid) => out.extend_from_slice(&oid.to_be_bytes()),
        Value::Reference(reference) => out.extend_from_slice(&reference.oid.to_be_bytes()),
    }
}

fn write_numeric(number: &Numeric, out: &mut Vec<u8>) {
    let mut field = |number: u16| out.extend_from_slice(&number.to_be_bytes());
    let number = match number {
        Numeric::Finite(number) => number,
        Numeric::NaN => return [0, 0, NUMERIC_NAN, 0].into_iter().for_each(field),
        Numeric::Infinity => return [0, 0, NUMERIC_INFINITY, INFINITE_SCALE].into_iter().for_each(field),
        Numeric::MinusInfinity => {
            return [0, 0, NUMERIC_MINUS_INFINITY, INFINITE_SCALE].into_iter().for_each(field);
        }
    };
    let scale = number.fractional_digit_count();
    let Some(digits) = finite::significant_digits(number) else {
        field(0);
        field(0);
        field(NUMERIC_POSITIVE);
        field(scale as u16);
        return;
    };
    // Digits before the point within the first group: 1 to 4.
    let lead = (digits.exponent - 1).rem_euclid(GROUP_DIGITS as i32) as usize + 1;
    let weight = (digits.exponent - 1).div_euclid(GROUP_DIGITS as i32);
    let count = 1 + digits.text.len().saturating_sub(lead).div_ceil(GROUP_DIGITS);
    field(count as u16);
    field(weight as i16 as u16);
    field(if digits.is_negative { NUMERIC_NEGATIVE } else { NUMERIC_POSITIVE });
    field(scale as u16);
    let digit = |index: usize| digits.text.get(index).map_or(0, |digit| u16::from(digit - b'0'));
    field((0..lead).fold(0, |group, index| group * 10 + digit(index)));
    for group in 1..count {
        let first = lead + (group - 1) * GROUP_DIGITS;
        field((first..first + GROUP_DIGITS).fold(0, |group, index| group * 10 + digit(index)));
    }
    debug_assert!(number.sign() != Sign::NoSign);
}

#[cfg(test)]
mod tests;
