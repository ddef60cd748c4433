//! PostgreSQL's binary wire forms of values (format code 1 of Bind and RowDescription, and binary COPY).
//! Values that are too short for their type and values that are too long give different errors, as in
//! PostgreSQL.
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

pub(crate) mod bytes;

use bigdecimal::num_bigint::Sign;
use compact_str::{CompactString, ToCompactString};
use jiff::tz::TimeZone;

use self::bytes::{take, wrong};
use crate::datetime::ZonedTime;
use crate::error::{Error, Result, sqlstate};
use crate::interval::Interval;
use crate::json_path::JsonPath;
use crate::network::{self, Network};
use crate::numeric::{Numeric, finite};
use crate::system_type::SystemType;
use crate::text::{LONGEST_NAME, check_text, fit_text, meant_byte, shown_byte};
use crate::value::{ArrayElement, SqlType, Value};
use crate::{array, datetime, json, numeric, rows, text};

const NUMERIC_POSITIVE: u16 = 0x0000;
const NUMERIC_NEGATIVE: u16 = 0x4000;
const NUMERIC_NAN: u16 = 0xc000;
const NUMERIC_INFINITY: u16 = 0xd000;
const NUMERIC_MINUS_INFINITY: u16 = 0xf000;
/// The scale that PostgreSQL writes for an infinity.
const INFINITE_SCALE: u16 = 0x20;
const GROUP_DIGITS: usize = 4;
const JSONB_VERSION: u8 = 1;

/// Reads a value of this type from its binary form; not called for NULL, which has none. Modifiers apply as
/// in [`text::parse`](super::text::parse).
pub fn read(bytes: &[u8], sql_type: SqlType) -> Result<Value> {
    let mut rest = bytes;
    let value = read_from(&mut rest, sql_type)?;
    if rest.is_empty() { Ok(value) } else { Err(wrong("incorrect binary data format")) }
}

/// Reads a value off the front of a slice that belongs to it. Only types of fixed size leave a rest.
fn read_from(rest: &mut &[u8], sql_type: SqlType) -> Result<Value> {
    Ok(match sql_type {
        SqlType::Boolean => Value::Boolean(take_byte(rest)? != 0),
        SqlType::SmallInt => Value::SmallInt(i16::from_be_bytes(take(rest)?)),
        SqlType::Integer => Value::Integer(i32::from_be_bytes(take(rest)?)),
        SqlType::BigInt => Value::BigInt(i64::from_be_bytes(take(rest)?)),
        SqlType::Real => Value::Real(f32::from_be_bytes(take(rest)?)),
        SqlType::DoublePrecision => Value::Double(f64::from_be_bytes(take(rest)?)),
        SqlType::Numeric(modifier) => {
            let number = read_numeric(rest)?;
            Value::numeric(match modifier {
                Some((precision, scale)) => numeric::apply_modifier(&number, precision, scale)?,
                None => number,
            })
        }
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => {
            Value::Text(fit_text(CompactString::from(plain_text(rest)?), sql_type, false)?)
        }
        SqlType::Bytea => Value::Bytea(std::mem::take(rest).into()),
        SqlType::Date => {
            let days = i32::from_be_bytes(take(rest)?);
            if !datetime::is_infinite_date(days) && !datetime::is_valid_date(days) {
                return Err(Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range"));
            }
            Value::Date(days)
        }
        SqlType::Time(precision) => Value::Time(datetime::round_time(read_time(rest)?, precision)),
        SqlType::TimeTz(precision) => {
            let (time, west) = (read_time(rest)?, i32::from_be_bytes(take(rest)?));
            if west.unsigned_abs() >= END_OF_OFFSETS {
                let message = "time zone displacement out of range";
                return Err(Error::input(sqlstate::INVALID_TIME_ZONE_DISPLACEMENT, message));
            }
            Value::TimeTz(ZonedTime { time, west }.rounded(precision))
        }
        SqlType::Timestamp(precision) => {
            Value::Timestamp(datetime::round_timestamp(read_timestamp(rest)?, precision)?)
        }
        SqlType::TimestampTz(precision) => {
            Value::TimestampTz(datetime::round_timestamp(read_timestamp(rest)?, precision)?)
        }
        SqlType::Uuid => Value::Uuid(take(rest)?),
        SqlType::Json => text::parse(plain_text(rest)?, sql_type, &TimeZone::UTC)?,
        SqlType::Jsonb => {
            let [version] = take(rest)?;
            if version != JSONB_VERSION {
                let message = format!("unsupported jsonb version number {version}");
                return Err(Error::input(sqlstate::INTERNAL_ERROR, message));
            }
            text::parse(plain_text(rest)?, sql_type, &TimeZone::UTC)?
        }
        SqlType::Interval(modifier) => Value::Interval(read_interval(rest)?.fit(modifier)),
        SqlType::Array(element) => {
            array::read_binary(rest, element, |item| read_from(item, element.sql_type()))?
        }
        SqlType::System(system_type) => read_system(rest, system_type)?,
        SqlType::Enum(enum_type) => Value::Enum(enum_type.parse(plain_text(rest)?)?),
        SqlType::Inet | SqlType::Cidr => Value::Network(read_network(rest, sql_type)?),
        SqlType::MacAddr => Value::MacAddr(take(rest)?),
        SqlType::MacAddr8 => Value::MacAddr8(read_mac8(rest)?),
        SqlType::Extension(own) => Value::Extension(own.read_binary(std::mem::take(rest), whole_text)?),
        SqlType::Composite(row_type) => rows::read_binary(rest, row_type, read_from)?,
    })
}

fn read_time(rest: &mut &[u8]) -> Result<i64> {
    let time = i64::from_be_bytes(take(rest)?);
    match datetime::is_valid_time(time) {
        true => Ok(time),
        false => Err(Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "time out of range")),
    }
}

fn take_byte(rest: &mut &[u8]) -> Result<u8> {
    let none_left = |_| Error::input(sqlstate::PROTOCOL_VIOLATION, "no data left in message");
    take(rest).map(|[byte]| byte).map_err(none_left)
}

/// The whole rest.
fn plain_text<'a>(rest: &mut &'a [u8]) -> Result<&'a str> {
    whole_text(std::mem::take(rest))
}

/// The text that these bytes are.
fn whole_text(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).map_err(|error| invalid_utf8(bytes, error))?;
    check_text(text)?;
    Ok(text)
}

fn read_interval(rest: &mut &[u8]) -> Result<Interval> {
    // One number: its parts are written from the highest byte on.
    let all = u128::from_be_bytes(take(rest)?);
    Ok(Interval { months: all as i32, days: (all >> 32) as i32, microseconds: (all >> 64) as i64 })
}

/// The byte before a jsonpath.
const JSON_PATH_VERSION: u8 = 1;

fn read_system(rest: &mut &[u8], system_type: SystemType) -> Result<Value> {
    match system_type {
        SystemType::Char => return Ok(Value::Text(shown_byte(take_byte(rest)?))),
        SystemType::Name if rest.len() > LONGEST_NAME => {
            return Err(Error::input(sqlstate::NAME_TOO_LONG, "identifier too long")
                .with_detail(format!("Identifier must be less than {} characters.", LONGEST_NAME + 1)));
        }
        SystemType::JsonPath => {
            let version = take_byte(rest)?;
            if version != JSON_PATH_VERSION {
                let message = format!("unsupported jsonpath version number: {version}");
                return Err(Error::input(sqlstate::INTERNAL_ERROR, message));
            }
            let Value::Text(text) = read_from(rest, SqlType::Text)? else { return Ok(Value::Null) };
            return Ok(Value::text(JsonPath::parse(&text)?.shown()?.as_str()));
        }
        SystemType::Record => {
            let message = "input of anonymous composite types is not implemented";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        _ => {}
    }
    if system_type.is_text() {
        return read_from(rest, SqlType::Text);
    }
    if let Some(element) = ArrayElement::of_vector(system_type) {
        return read_from(rest, SqlType::Array(element));
    }
    let oid = u32::from_be_bytes(take(rest)?);
    if system_type.is_number() {
        return Ok(Value::Oid(oid));
    }
    Ok(Value::reference(system_type, oid, oid.to_compact_string()))
}

fn read_timestamp(rest: &mut &[u8]) -> Result<i64> {
    let microseconds = i64::from_be_bytes(take(rest)?);
    if !datetime::is_infinite_timestamp(microseconds) && !datetime::is_valid_timestamp(microseconds) {
        return Err(Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp out of range"));
    }
    Ok(microseconds)
}

/// PostgreSQL's error for bytes that are not UTF-8, which shows the bytes of the first invalid character.
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

fn read_numeric(rest: &mut &[u8]) -> Result<Numeric> {
    let count = usize::from(u16::from_be_bytes(take(rest)?));
    let weight = i16::from_be_bytes(take(rest)?);
    let sign = u16::from_be_bytes(take(rest)?);
    match sign {
        NUMERIC_POSITIVE | NUMERIC_NEGATIVE => {}
        NUMERIC_NAN | NUMERIC_INFINITY | NUMERIC_MINUS_INFINITY => {}
        _ => return Err(wrong("invalid sign in external \"numeric\" value")),
    }
    let scale = i64::from(u16::from_be_bytes(take(rest)?));
    if scale > numeric::MAXIMUM_SCALE {
        return Err(wrong("invalid scale in external \"numeric\" value"));
    }
    let mut digits = finite::DigitBuffer::new();
    for _ in 0..count {
        let group = u16::from_be_bytes(take(rest)?);
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
    // The digits end at this decimal place.
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

/// The least offset of a zone that is too large, in seconds.
const END_OF_OFFSETS: u32 = 16 * 3600;

/// PostgreSQL's numbers of address families, which are not those of any system.
const FAMILY_V4: u8 = 2;
const FAMILY_V6: u8 = 3;

/// Appends the binary form (without a preceding length). NULL, which has none, appends nothing. `sql_type` is
/// the column's type.
pub fn write(value: &Value, sql_type: SqlType, out: &mut Vec<u8>) {
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
        Value::TimeTz(ZonedTime { time, west }) => {
            out.extend_from_slice(&time.to_be_bytes());
            out.extend_from_slice(&west.to_be_bytes());
        }
        Value::Real(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Double(number) => out.extend_from_slice(&number.to_be_bytes()),
        Value::Numeric(number) => write_numeric(number, out),
        Value::Text(text) if sql_type == SqlType::System(SystemType::Char) => out.push(meant_byte(text)),
        Value::Text(text) => {
            if sql_type == SqlType::System(SystemType::JsonPath) {
                out.push(JSON_PATH_VERSION);
            }
            out.extend_from_slice(text.as_bytes());
        }
        Value::Bytea(bytes) => out.extend_from_slice(bytes),
        Value::Uuid(bytes) => out.extend_from_slice(bytes),
        Value::Json(text) => out.extend_from_slice(text.as_bytes()),
        Value::Jsonb(value) => {
            out.push(JSONB_VERSION);
            let Ok(()) = json::write_jsonb(value.root(), out);
        }
        Value::Interval(interval) => {
            out.extend_from_slice(&interval.microseconds.to_be_bytes());
            out.extend_from_slice(&interval.days.to_be_bytes());
            out.extend_from_slice(&interval.months.to_be_bytes());
        }
        Value::Array(array) => array::write_binary(array, out, |item, out| {
            write(item, array.element.sql_type(), out);
        }),
        Value::Oid(oid) => out.extend_from_slice(&oid.to_be_bytes()),
        Value::Reference(reference) => out.extend_from_slice(&reference.oid.to_be_bytes()),
        Value::Enum(value) => out.extend_from_slice(value.label().as_bytes()),
        Value::Network(network) => write_network(*network, out),
        Value::MacAddr(bytes) => out.extend_from_slice(bytes),
        Value::MacAddr8(bytes) => out.extend_from_slice(bytes),
        Value::Extension(value) => value.write_binary(out),
        Value::Row(row) => rows::write_binary(row, out, write),
    }
}

/// The family, the length of the mask, whether it is a `cidr`, the number of bytes that follow, the address.
fn write_network(network: Network, out: &mut Vec<u8>) {
    let family = if network.family() == 4 { FAMILY_V4 } else { FAMILY_V6 };
    out.extend_from_slice(&[family, network.bits(), u8::from(network.is_cidr()), network.width() / 8]);
    network.append_octets(out);
}

/// Reads what [`write_network`] writes. What it says of being a `cidr` does not count.
fn read_network(rest: &mut &[u8], sql_type: SqlType) -> Result<Network> {
    let invalid = |what: &str| {
        let message = format!("invalid {what} in external \"{}\" value", sql_type.base_name());
        Error::input(sqlstate::INVALID_BINARY_REPRESENTATION, message)
    };
    let width = match take_byte(rest)? {
        FAMILY_V4 => 4,
        FAMILY_V6 => 16,
        _ => return Err(invalid("address family")),
    };
    let bits = take_byte(rest)?;
    if usize::from(bits) > width * 8 {
        return Err(invalid("bits"));
    }
    take_byte(rest)?;
    if usize::from(take_byte(rest)?) != width {
        return Err(invalid("length"));
    }
    let octets = rest.split_off(..width).ok_or_else(|| invalid("length"))?;
    let address = Network::address_of(octets).ok_or_else(|| invalid("length"))?;
    Network::new(address, bits, sql_type == SqlType::Cidr).ok_or_else(|| {
        Error::input(sqlstate::INVALID_BINARY_REPRESENTATION, "invalid external \"cidr\" value")
            .with_detail("Value has bits set to right of mask.")
    })
}

/// Eight bytes, or the six of a macaddr.
fn read_mac8(rest: &mut &[u8]) -> Result<[u8; 8]> {
    if rest.len() == 6 { take(rest).map(network::widened) } else { take(rest) }
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
