//! One-dimensional arrays: what parameters and variables of routines may be. Columns of tables may not.
//!
//! The text form is PostgreSQL's `{1,2,NULL}`, elements in double quotes where they need them; the binary
//! form is its `array_send`: dimensions, a flag for NULLs, the element's oid, length and lower bound, then
//! each element with its length. Arrays of several dimensions and lower bounds other than 1 are refused. An
//! empty array has no dimension, so its length is NULL.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, sqlstate};
use crate::memory;
use crate::text::{Reading, TextForm};
use crate::value::{SqlType, Value};
use crate::{binary, text};

/// The type of an array's elements: a [`SqlType`] without modifiers that is no array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ArrayElement {
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    Real,
    DoublePrecision,
    Numeric,
    Text,
    Varchar,
    Date,
    Timestamp,
    TimestampTz,
    Uuid,
}

/// The values of an array, each of the element's type or NULL.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayValue {
    pub element: ArrayElement,
    pub values: Vec<Value>,
}

impl ArrayValue {
    /// Memory that a copy would take.
    pub fn heap_bytes(&self) -> usize {
        let own = size_of_val(self.values.as_slice());
        match self.element {
            ArrayElement::Text | ArrayElement::Varchar | ArrayElement::Numeric => {
                own + self.values.iter().map(Value::heap_bytes).sum::<usize>()
            }
            _ => own,
        }
    }
}

impl ArrayElement {
    /// None for types of which there are no arrays here.
    pub fn of(sql_type: SqlType) -> Option<ArrayElement> {
        Some(match sql_type {
            SqlType::Boolean => ArrayElement::Boolean,
            SqlType::SmallInt => ArrayElement::SmallInt,
            SqlType::Integer => ArrayElement::Integer,
            SqlType::BigInt => ArrayElement::BigInt,
            SqlType::Real => ArrayElement::Real,
            SqlType::DoublePrecision => ArrayElement::DoublePrecision,
            SqlType::Numeric(_) => ArrayElement::Numeric,
            SqlType::Text => ArrayElement::Text,
            SqlType::Varchar(_) => ArrayElement::Varchar,
            SqlType::Date => ArrayElement::Date,
            SqlType::Timestamp => ArrayElement::Timestamp,
            SqlType::TimestampTz => ArrayElement::TimestampTz,
            SqlType::Uuid => ArrayElement::Uuid,
            SqlType::Char(_) | SqlType::Bytea | SqlType::Array(_) => return None,
        })
    }

    pub fn sql_type(self) -> SqlType {
        match self {
            ArrayElement::Boolean => SqlType::Boolean,
            ArrayElement::SmallInt => SqlType::SmallInt,
            ArrayElement::Integer => SqlType::Integer,
            ArrayElement::BigInt => SqlType::BigInt,
            ArrayElement::Real => SqlType::Real,
            ArrayElement::DoublePrecision => SqlType::DoublePrecision,
            ArrayElement::Numeric => SqlType::Numeric(None),
            ArrayElement::Text => SqlType::Text,
            ArrayElement::Varchar => SqlType::Varchar(None),
            ArrayElement::Date => SqlType::Date,
            ArrayElement::Timestamp => SqlType::Timestamp,
            ArrayElement::TimestampTz => SqlType::TimestampTz,
            ArrayElement::Uuid => SqlType::Uuid,
        }
    }

    /// Name of the array type, its `pg_type.typname`, and its oid.
    pub(super) fn array_names(self) -> (&'static str, &'static str, u32) {
        match self {
            ArrayElement::Boolean => ("boolean[]", "_bool", 1000),
            ArrayElement::SmallInt => ("smallint[]", "_int2", 1005),
            ArrayElement::Integer => ("integer[]", "_int4", 1007),
            ArrayElement::BigInt => ("bigint[]", "_int8", 1016),
            ArrayElement::Real => ("real[]", "_float4", 1021),
            ArrayElement::DoublePrecision => ("double precision[]", "_float8", 1022),
            ArrayElement::Numeric => ("numeric[]", "_numeric", 1231),
            ArrayElement::Text => ("text[]", "_text", 1009),
            ArrayElement::Varchar => ("character varying[]", "_varchar", 1015),
            ArrayElement::Date => ("date[]", "_date", 1182),
            ArrayElement::Timestamp => ("timestamp without time zone[]", "_timestamp", 1115),
            ArrayElement::TimestampTz => ("timestamp with time zone[]", "_timestamptz", 1185),
            ArrayElement::Uuid => ("uuid[]", "_uuid", 2951),
        }
    }

    /// The element of the array type of this oid.
    pub(super) fn of_array_oid(oid: u32) -> Option<ArrayElement> {
        use ArrayElement as E;
        const ALL: [ArrayElement; 13] = [
            E::Boolean,
            E::SmallInt,
            E::Integer,
            E::BigInt,
            E::Real,
            E::DoublePrecision,
            E::Numeric,
            E::Text,
            E::Varchar,
            E::Date,
            E::Timestamp,
            E::TimestampTz,
            E::Uuid,
        ];
        ALL.into_iter().find(|element| element.array_names().2 == oid)
    }
}

fn malformed(literal: &str, detail: &str) -> Error {
    Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, format!("malformed array literal: \"{literal}\""))
        .with_detail(detail)
}

fn too_many_dimensions() -> Error {
    Error::input(
        sqlstate::FEATURE_NOT_SUPPORTED,
        "arrays of several dimensions and lower bounds other than 1 are not supported yet",
    )
}

/// An array from its text form.
///
/// # Errors
/// 22P02, those of the elements, and 0A000 for several dimensions.
pub(super) fn parse(literal: &str, element: ArrayElement, reading: Reading<'_>) -> Result<Value> {
    let trimmed = literal.trim_matches(text::is_blank);
    if trimmed.starts_with('[') {
        return Err(too_many_dimensions());
    }
    let Some(inner) = trimmed.strip_prefix('{') else {
        return Err(malformed(literal, "Array value must start with \"{\" or dimension information."));
    };
    let mut values = Vec::new();
    let mut rest = inner.trim_start_matches(text::is_blank);
    if let Some(behind) = rest.strip_prefix('}') {
        return end(literal, behind, element, values);
    }
    loop {
        let (item, is_quoted, behind) = item(literal, rest)?;
        if !is_quoted && item.eq_ignore_ascii_case("null") {
            values.push(Value::Null);
        } else {
            values.push(text::parse(&item, element.sql_type(), reading)?);
        }
        memory::check(0)?;
        match behind.chars().next() {
            Some(',') => rest = behind[1..].trim_start_matches(text::is_blank),
            Some('}') => return end(literal, &behind[1..], element, values),
            Some(_) => return Err(malformed(literal, "Unexpected array element.")),
            None => return Err(malformed(literal, "Unexpected end of input.")),
        }
    }
}

fn end(literal: &str, behind: &str, element: ArrayElement, values: Vec<Value>) -> Result<Value> {
    if behind.is_empty() {
        Ok(Value::array(element, values))
    } else {
        Err(malformed(literal, "Junk after closing right brace."))
    }
}

/// The next item, whether it stood in quotes, and what follows.
fn item<'a>(literal: &str, from: &'a str) -> Result<(String, bool, &'a str)> {
    let mut item = String::new();
    let mut characters = from.char_indices();
    if from.starts_with('{') {
        return Err(too_many_dimensions());
    }
    if from.starts_with('"') {
        characters.next();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => return Ok((item, true, from[at + 1..].trim_start_matches(text::is_blank))),
                '\\' => item.extend(characters.next().map(|(_, escaped)| escaped)),
                other => item.push(other),
            }
        }
        return Err(malformed(literal, "Unexpected end of input."));
    }
    while let Some((at, character)) = characters.next() {
        match character {
            ',' | '}' => {
                let kept = item.trim_end_matches(text::is_blank).len();
                item.truncate(kept);
                if item.is_empty() {
                    let shown = format!("Unexpected \"{character}\" character.");
                    return Err(malformed(literal, &shown));
                }
                return Ok((item, false, &from[at..]));
            }
            '{' | '"' => {
                return Err(malformed(literal, &format!("Unexpected \"{character}\" character.")));
            }
            '\\' => item.extend(characters.next().map(|(_, escaped)| escaped)),
            other => item.push(other),
        }
    }
    Err(malformed(literal, "Unexpected end of input."))
}

/// Appends the text form.
pub(super) fn write(array: &ArrayValue, form: TextForm<'_>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut item = Vec::new();
    for (number, value) in array.values.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        if value.is_null() {
            out.extend_from_slice(b"NULL");
            continue;
        }
        item.clear();
        text::write_as(value, array.element.sql_type(), form, &mut item);
        let needs_quotes = item.is_empty()
            || item.eq_ignore_ascii_case(b"null")
            || item.iter().any(|byte| matches!(byte, b'"' | b'\\' | b'{' | b'}' | b',' | b' ' | 9..=13));
        if !needs_quotes {
            out.extend_from_slice(&item);
            continue;
        }
        out.push(b'"');
        for byte in &item {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(*byte);
        }
        out.push(b'"');
    }
    out.push(b'}');
}

fn wrong() -> Error {
    Error::input(sqlstate::INVALID_BINARY_REPRESENTATION, "incorrect binary data format")
}

/// Takes a big-endian `i32` off the front.
fn take(bytes: &mut &[u8]) -> Result<i32> {
    let (first, rest) = bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
    *bytes = rest;
    Ok(i32::from_be_bytes(*first))
}

/// An array from its binary form.
///
/// # Errors
/// 22P03, those of the elements, and 0A000 for several dimensions.
pub(super) fn read_binary(bytes: &[u8], element: ArrayElement) -> Result<Value> {
    let mut rest = bytes;
    let (dimensions, _, oid) = (take(&mut rest)?, take(&mut rest)?, take(&mut rest)?);
    if u32::try_from(oid) != Ok(element.sql_type().oid()) {
        return Err(wrong());
    }
    let mut values = Vec::new();
    match dimensions {
        0 => {}
        1 => {
            let (length, lower) = (take(&mut rest)?, take(&mut rest)?);
            if lower != 1 {
                return Err(too_many_dimensions());
            }
            for _ in 0..length {
                let Ok(length) = usize::try_from(take(&mut rest)?) else {
                    values.push(Value::Null);
                    continue;
                };
                let (item, behind) = rest.split_at_checked(length).ok_or_else(wrong)?;
                values.push(binary::read(item, element.sql_type())?);
                memory::check(0)?;
                rest = behind;
            }
        }
        _ => return Err(too_many_dimensions()),
    }
    if rest.is_empty() { Ok(Value::array(element, values)) } else { Err(wrong()) }
}

/// Appends the binary form.
pub(super) fn write_binary(array: &ArrayValue, out: &mut Vec<u8>) {
    let dimensions = i32::from(!array.values.is_empty());
    let has_nulls = i32::from(array.values.iter().any(Value::is_null));
    out.extend_from_slice(&dimensions.to_be_bytes());
    out.extend_from_slice(&has_nulls.to_be_bytes());
    out.extend_from_slice(&array.element.sql_type().oid().to_be_bytes());
    if array.values.is_empty() {
        return;
    }
    let length = i32::try_from(array.values.len()).unwrap_or(i32::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&1_i32.to_be_bytes());
    for value in &array.values {
        let at = out.len();
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        if !value.is_null() {
            binary::write(value, out);
            let length = i32::try_from(out.len() - at - 4).unwrap_or(i32::MAX);
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    fn read(literal: &str, element: ArrayElement) -> Result<Value> {
        parse(literal, element, Reading::from(&TimeZone::UTC))
    }

    #[test]
    fn both_forms_come_back_as_they_were() {
        for (literal, element) in [
            ("{}", ArrayElement::Integer),
            ("{1,-2,NULL}", ArrayElement::Integer),
            ("{1.50,2}", ArrayElement::Numeric),
            ("{a,\"b c\",\"\",\"NULL\",NULL,\"q\\\"\\\\\",\"{\"}", ArrayElement::Text),
        ] {
            let value = read(literal, element).unwrap();
            let Value::Array(array) = &value else { panic!("no array") };
            let mut shown = Vec::new();
            write(array, TextForm { time_zone: &TimeZone::UTC, float_digits: 1 }, &mut shown);
            assert_eq!(String::from_utf8(shown).unwrap(), literal);
            let mut bytes = Vec::new();
            write_binary(array, &mut bytes);
            assert_eq!(read_binary(&bytes, element).unwrap(), value);
            for length in 0..bytes.len() {
                assert!(read_binary(&bytes[..length], element).is_err());
            }
        }
    }

    #[test]
    fn what_is_no_array_is_refused() {
        for literal in ["", "1,2", "{1", "{1,", "{1,}", "{,1}", "{1}x", "{\"a}", "{{1}}", "[0:1]={1,2}"] {
            assert!(read(literal, ArrayElement::Integer).is_err(), "{literal}");
        }
        assert!(read("{a}", ArrayElement::Integer).is_err());
    }
}
