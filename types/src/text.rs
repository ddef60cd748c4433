//! PostgreSQL's text forms of values, in ([`parse`]) and out ([`write`]).
//!
//! `parse` accepts and `write` prints the same forms as a PostgreSQL 15 server with `DateStyle = ISO, MDY`,
//! `IntervalStyle = postgres`, `extra_float_digits = 1` and `bytea_output = hex`; other settings are passed
//! along ([`Reading`], [`TextForm`]). `parse(write(v)) == v` for every value. What a text form is written to
//! may refuse it ([`Sink`]). Dates and times are in `datetime`, numbers of type numeric in `numeric`,
//! floating-point numbers in `float`.
//!
//! Files:
//! * `conventions`: the settings that both directions take;
//! * `float`: the shortest digits that read back as the same number; `system`: types of the catalog;
//! * `fit`: lengths and characters that a type allows; `pieces`: hexadecimal, padded and fractional numbers.

mod conventions;
mod fit;
mod float;
pub(crate) mod pieces;
mod system;

use compact_str::CompactString;
use jiff::tz::TimeZone;

use crate::collect::{Bytes, Sink, Taken};
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;
use crate::value::composite::RowValue;
use crate::value::{ArrayValue, SqlType, Value};
use crate::{array, datetime, json, network, numeric, rows};
use pieces::{is_blank, syntax};

use crate::error::quoted;
pub use conventions::{DateForm, DateOrder, DateStyles, IntervalForm, Reading, TextForm};
pub use fit::LONGEST_NAME;
pub(crate) use fit::{check_text, meant_byte, shown_byte};
pub use fit::{fit_text, padded};
pub use float::c_number;
pub(crate) use pieces::write_hexadecimal;
pub use pieces::write_integer;
pub(crate) use system::reference;

/// Bytes whose digits are written between two reports of work.
const HEXADECIMAL_AT_ONCE: usize = 4096;
/// Bytes without an escape that are copied between two reports of work.
const PLAIN_AT_ONCE: usize = 4096;

fn out_of_range(sql_type: SqlType, text: &str) -> Error {
    let (name, text) = (sql_type.base_name(), quoted(text));
    Error::input(
        sqlstate::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("value \"{text}\" is out of range for type {name}"),
    )
}

/// Reads a value of this type from its text form. Modifiers apply as on assignment: over-long strings are
/// errors unless only blanks are lost.
pub fn parse<'a>(text: &str, sql_type: SqlType, reading: impl Into<Reading<'a>>) -> Result<Value> {
    let reading = reading.into();
    match sql_type {
        SqlType::Integer => {
            integer(text, sql_type, i32::MIN.into()).map(|number| Value::Integer(number as i32))
        }
        SqlType::BigInt => integer(text, sql_type, i64::MIN).map(Value::BigInt),
        SqlType::SmallInt => {
            integer(text, sql_type, i16::MIN.into()).map(|number| Value::SmallInt(number as i16))
        }
        SqlType::Boolean => parse_boolean(text),
        SqlType::Real => float::parse_real(text),
        SqlType::DoublePrecision => float::parse_double(text),
        SqlType::Numeric(modifier) => {
            let number = numeric::parse(text)?;
            Ok(Value::numeric(match modifier {
                Some((precision, scale)) => numeric::apply_modifier(&number, precision, scale)?,
                None => number,
            }))
        }
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => {
            check_text(text)?;
            memory::check(text.len())?;
            Ok(Value::Text(fit_text(CompactString::from(text), sql_type, false)?))
        }
        SqlType::Bytea => parse_bytea(text).map(|bytes| Value::Bytea(bytes.into())),
        SqlType::Date => datetime::parse_date(text, reading).map(Value::Date),
        SqlType::Time(precision) => {
            Ok(Value::Time(datetime::round_time(datetime::parse_time(text, reading)?, precision)))
        }
        SqlType::TimeTz(precision) => {
            Ok(Value::TimeTz(datetime::parse_timetz(text, reading)?.rounded(precision)))
        }
        SqlType::Timestamp(precision) => {
            let local = datetime::parse_timestamp(text, reading)?;
            datetime::round_timestamp(local, precision).map(Value::Timestamp)
        }
        SqlType::TimestampTz(precision) => {
            let instant = datetime::parse_timestamptz(text, reading)?;
            datetime::round_timestamp(instant, precision).map(Value::TimestampTz)
        }
        SqlType::Uuid => parse_uuid(text),
        SqlType::Json => {
            json::validate(text)?;
            memory::check(text.len())?;
            Ok(Value::Json(text.into()))
        }
        SqlType::Jsonb => json::Jsonb::parse(text).map(Value::Jsonb),
        SqlType::Interval(modifier) => {
            datetime::parse_interval(text, modifier, reading.styles.interval).map(Value::Interval)
        }
        SqlType::Array(element) => {
            array::parse(text, element, |item| parse(item, element.sql_type(), reading))
        }
        SqlType::System(system_type) => system::parse(text, system_type, reading),
        SqlType::Enum(enum_type) => enum_type.parse(text).map(Value::Enum),
        SqlType::Inet => network::parse(text, false).map(Value::Network),
        SqlType::Cidr => network::parse(text, true).map(Value::Network),
        SqlType::MacAddr => network::parse_mac(text).map(Value::MacAddr),
        SqlType::MacAddr8 => network::parse_mac8(text).map(Value::MacAddr8),
        SqlType::Extension(own) => {
            check_text(text)?;
            memory::check(text.len())?;
            own.parse(text).map(Value::Extension)
        }
        SqlType::Composite(row_type) => {
            rows::parse(text, row_type, |item, sql_type| parse(item, sql_type, reading))
        }
    }
}

/// `[blanks][+-]digits[blanks]`, for a type with this least value. Digits that leave the type's range are out
/// of range, whatever follows them.
fn integer(text: &str, sql_type: SqlType, least: i64) -> Result<i64> {
    let bytes = text.as_bytes();
    let blanks = |from: usize| bytes[from..].iter().take_while(|byte| is_blank(char::from(**byte))).count();
    let mut at = blanks(0);
    let is_negative = bytes.get(at) == Some(&b'-');
    at += usize::from(is_negative || bytes.get(at) == Some(&b'+'));
    let first = at;
    // Counted downwards, because there is one more negative number.
    let mut number = 0_i64;
    while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
        number = number
            .checked_mul(10)
            .and_then(|number| number.checked_sub(i64::from(digit - b'0')))
            .filter(|number| *number >= least)
            .ok_or_else(|| out_of_range(sql_type, text))?;
        at += 1;
    }
    if at == first || at + blanks(at) < bytes.len() {
        return Err(syntax(sql_type, text));
    }
    match number {
        number if is_negative => Ok(number),
        number if number == least => Err(out_of_range(sql_type, text)),
        number => Ok(-number),
    }
}

/// Any unambiguous prefix of true, false, yes, no, on, off; or 1, 0.
fn parse_boolean(text: &str) -> Result<Value> {
    let word = text.trim_matches(is_blank);
    // No word is longer.
    let word = if word.len() <= "false".len() { word.to_ascii_lowercase() } else { "-".to_owned() };
    let begins = |whole: &str, shortest: usize| word.len() >= shortest && whole.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || word == "on" || word == "1" {
        Ok(Value::Boolean(true))
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Ok(Value::Boolean(false))
    } else {
        Err(syntax(SqlType::Boolean, text))
    }
}

/// `\x` and hexadecimal digits, or the older form.
fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => parse_hexadecimal(digits),
        None => parse_escaped(text),
    }
}

/// Bytes with embedded `\\` and `\ooo`.
pub(crate) fn parse_escaped(text: &str) -> Result<Vec<u8>> {
    let wrong = || Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea");
    let mut bytes = Bytes::with_capacity(text.len())?;
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'\\' {
            let plain = rest.iter().take(PLAIN_AT_ONCE).take_while(|byte| **byte != b'\\').count();
            bytes.put(&rest[..plain])?;
            rest = &rest[plain..];
            continue;
        }
        rest = after;
        match *rest {
            [b'\\', ..] => {
                bytes.push(b'\\')?;
                rest = &rest[1..];
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))?;
                rest = &rest[3..];
            }
            _ => return Err(wrong()),
        }
    }
    Ok(bytes.into_vec())
}

/// Pairs of digits, with optional blanks between pairs.
pub(crate) fn parse_hexadecimal(digits: &str) -> Result<Vec<u8>> {
    let mut bytes = Bytes::with_capacity(digits.len() / 2)?;
    let mut characters = digits.chars();
    let digit = |character: char| {
        character.to_digit(16).ok_or_else(|| {
            let message = format!("invalid hexadecimal digit: \"{character}\"");
            Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
        })
    };
    while let Some(high) = characters.next() {
        if matches!(high, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(high)?;
        let low = characters.next().ok_or_else(|| {
            Error::input(sqlstate::INVALID_PARAMETER_VALUE, "invalid hexadecimal data: odd number of digits")
        })?;
        bytes.push((high << 4 | digit(low)?) as u8)?;
    }
    Ok(bytes.into_vec())
}

/// 32 hexadecimal digits, a hyphen allowed after every fourth, braces allowed around all.
fn parse_uuid(text: &str) -> Result<Value> {
    let wrong = || syntax(SqlType::Uuid, text);
    let (inner, is_braced) = match text.strip_prefix('{') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let inner = if is_braced { inner.strip_suffix('}').ok_or_else(wrong)? } else { inner };
    let mut bytes = [0_u8; 16];
    let mut rest = inner.as_bytes();
    for (number, byte) in bytes.iter_mut().enumerate() {
        let [high, low, after @ ..] = rest else { return Err(wrong()) };
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or_else(wrong);
        *byte = (digit(*high)? << 4 | digit(*low)?) as u8;
        rest = after;
        if number % 2 == 1 && number < 15 && rest.first() == Some(&b'-') {
            rest = &rest[1..];
        }
    }
    if rest.is_empty() { Ok(Value::Uuid(bytes)) } else { Err(wrong()) }
}

/// Appends the text form with these settings; see [`write`].
pub fn write_as(value: &Value, sql_type: SqlType, form: TextForm<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Real(number) if form.float_digits < 1 => {
            float::write_rounded(f64::from(*number), 6, form.float_digits, out);
        }
        Value::Double(number) if form.float_digits < 1 => {
            float::write_rounded(*number, 15, form.float_digits, out);
        }
        Value::Array(array) => {
            let Ok(()) = write_array(array, sql_type, form, out);
        }
        Value::Row(row) => {
            let Ok(()) = write_row(row, form, out);
        }
        Value::Date(days) => datetime::write_date_in(*days, form.styles, out),
        Value::Timestamp(microseconds) => datetime::write_timestamp_in(*microseconds, form.styles, out),
        Value::TimestampTz(microseconds) => {
            datetime::write_timestamptz_in(*microseconds, form.time_zone, form.styles, out);
        }
        Value::Interval(interval) => datetime::write_interval_in(*interval, form.styles.interval, out),
        _ => write(value, sql_type, form.time_zone, out),
    }
}

/// Appends the text form to a sink, which may refuse it in the middle.
fn put<S: Sink>(value: &Value, sql_type: SqlType, form: TextForm<'_>, out: &mut S) -> Taken<S> {
    match value {
        Value::Text(text) => out.put(text.as_bytes()),
        Value::Json(text) => out.put(text.as_bytes()),
        Value::Jsonb(value) => json::write_jsonb(value.root(), out),
        Value::Array(array) => write_array(array, sql_type, form, out),
        Value::Extension(value) => value.write(out),
        Value::Row(row) => write_row(row, form, out),
        Value::Bytea(bytes) => {
            out.put(b"\\x")?;
            bytes
                .chunks(HEXADECIMAL_AT_ONCE)
                .try_for_each(|part| out.write(|out| write_hexadecimal(part, out)))
        }
        _ => out.write(|out| write_as(value, sql_type, form, out)),
    }
}

/// Appends the text form. NULL, which has none, appends nothing. `sql_type` is the column's type; times with
/// time zone are shown in `tz`.
pub fn write(value: &Value, sql_type: SqlType, tz: &TimeZone, out: &mut Vec<u8>) {
    debug_assert!(value.fits(sql_type), "{value:?} is not a {}", sql_type.base_name());
    match value {
        Value::Null => {}
        Value::Boolean(truth) => out.push(if *truth { b't' } else { b'f' }),
        Value::SmallInt(number) => write_integer(i64::from(*number), out),
        Value::Integer(number) => write_integer(i64::from(*number), out),
        Value::BigInt(number) => write_integer(*number, out),
        Value::Real(number) => float::write_real(*number, out),
        Value::Double(number) => float::write_double(*number, out),
        Value::Numeric(number) => numeric::write(number, out),
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bytea(bytes) => {
            out.extend_from_slice(b"\\x");
            write_hexadecimal(bytes, out);
        }
        Value::Date(days) => datetime::write_date(*days, out),
        Value::Time(microseconds) => datetime::write_time(*microseconds, out),
        Value::TimeTz(time) => time.write(out),
        Value::Timestamp(microseconds) => datetime::write_timestamp(*microseconds, out),
        Value::TimestampTz(microseconds) => datetime::write_timestamptz(*microseconds, tz, out),
        Value::Uuid(bytes) => {
            for (number, byte) in bytes.iter().enumerate() {
                if matches!(number, 4 | 6 | 8 | 10) {
                    out.push(b'-');
                }
                write_hexadecimal(&[*byte], out);
            }
        }
        Value::Interval(interval) => datetime::write_interval(*interval, out),
        Value::Json(text) => out.extend_from_slice(text.as_bytes()),
        Value::Jsonb(value) => {
            let Ok(()) = json::write_jsonb(value.root(), out);
        }
        Value::Array(array) => {
            let Ok(()) = write_array(array, sql_type, tz.into(), out);
        }
        Value::Row(row) => {
            let Ok(()) = write_row(row, tz.into(), out);
        }
        Value::Oid(oid) => write_integer(i64::from(*oid), out),
        Value::Reference(reference) => out.extend_from_slice(reference.shown.as_bytes()),
        Value::Enum(value) => out.extend_from_slice(value.label().as_bytes()),
        Value::Network(network) => out.extend_from_slice(network.shown().as_bytes()),
        Value::MacAddr(bytes) => network::write_mac(bytes, out),
        Value::MacAddr8(bytes) => network::write_mac(bytes, out),
        Value::Extension(value) => {
            let Ok(()) = value.write(out);
        }
    }
}

fn write_array<S: Sink>(array: &ArrayValue, sql_type: SqlType, form: TextForm<'_>, out: &mut S) -> Taken<S> {
    if matches!(sql_type, SqlType::System(_)) {
        return system::write_vector(array, out);
    }
    array::write(array, out, |value, out| put(value, array.element.sql_type(), form, out))
}

fn write_row<S: Sink>(row: &RowValue, form: TextForm<'_>, out: &mut S) -> Taken<S> {
    let fields = row.fields.iter().zip(row.row_type.fields());
    rows::write(fields, out, |value, field, out| put(value, field.sql_type, form, out))
}

/// Appends the text form of a row of these values.
///
/// # Errors
/// 53200, 54000, 57014.
pub(crate) fn shown_row(fields: &[Value], form: TextForm<'_>) -> Result<CompactString> {
    let mut out = Bytes::with_capacity(fields.iter().map(Value::heap_bytes).sum())?;
    rows::write(fields.iter().map(|value| (value, ())), &mut out, |value, (), out| {
        put(value, value.sql_type().unwrap_or(SqlType::Text), form, out)
    })?;
    out.into_text()
}

/// The text form with these settings, for a computation: it may be much longer than the value, so it asks for
/// memory and reports its work.
///
/// # Errors
/// 53200, 54000, 57014.
pub fn shown(value: &Value, form: TextForm<'_>) -> Result<CompactString> {
    let sql_type = value.sql_type().unwrap_or(SqlType::Text);
    match value {
        Value::Text(text) => {
            memory::check(text.len())?;
            Ok(text.clone())
        }
        Value::Bytea(_) | Value::Json(_) | Value::Jsonb(_) | Value::Array(_) | Value::Row(_) => {
            // In front of all parts, so that most results need not grow.
            let mut out = Bytes::with_capacity(value.heap_bytes())?;
            put(value, sql_type, form, &mut out)?;
            out.into_text()
        }
        _ => {
            guest::spend(1)?;
            let mut bytes = Vec::with_capacity(32);
            write_as(value, sql_type, form, &mut bytes);
            Ok(CompactString::from_utf8_lossy(&bytes))
        }
    }
}

/// The text form as a string, for messages: whatever its length. Computations use [`shown`].
pub fn format(value: &Value, tz: &TimeZone) -> CompactString {
    if let Value::Text(text) = value {
        return text.clone();
    }
    let mut bytes = Vec::with_capacity(32);
    write(value, value.sql_type().unwrap_or(SqlType::Text), tz, &mut bytes);
    CompactString::from_utf8_lossy(&bytes)
}

#[cfg(test)]
mod tests;
