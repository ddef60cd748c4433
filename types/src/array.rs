//! One-dimensional arrays: what parameters and variables of routines may be. Columns of tables may not.
//!
//! The text form is PostgreSQL's `{1,2,NULL}`, elements in double quotes where they need them; the binary
//! form is its `array_send`: dimensions, a flag for NULLs, the element's oid, length and lower bound, then
//! each element with its length. Arrays of several dimensions and lower bounds other than 1 are refused. An
//! empty array has no dimension, so its length is NULL.

use crate::error::{Error, Result, sqlstate};
use crate::memory;
use crate::text::pieces::is_blank;
use crate::value::{ArrayElement, ArrayValue, Value};

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

/// An array from its text form; `parse_item` reads an element from its own.
///
/// # Errors
/// 22P02, those of the elements, and 0A000 for several dimensions.
pub(super) fn parse(
    literal: &str,
    element: ArrayElement,
    parse_item: impl Fn(&str) -> Result<Value>,
) -> Result<Value> {
    let trimmed = literal.trim_matches(is_blank);
    if trimmed.starts_with('[') {
        return Err(too_many_dimensions());
    }
    let Some(inner) = trimmed.strip_prefix('{') else {
        return Err(malformed(literal, "Array value must start with \"{\" or dimension information."));
    };
    let mut values = Vec::new();
    let mut rest = inner.trim_start_matches(is_blank);
    if let Some(behind) = rest.strip_prefix('}') {
        return end(literal, behind, element, values);
    }
    loop {
        let (item, is_quoted, behind) = item(literal, rest)?;
        if !is_quoted && item.eq_ignore_ascii_case("null") {
            values.push(Value::Null);
        } else {
            values.push(parse_item(&item)?);
        }
        memory::check(0)?;
        match behind.chars().next() {
            Some(',') => rest = behind[1..].trim_start_matches(is_blank),
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
                '"' => return Ok((item, true, from[at + 1..].trim_start_matches(is_blank))),
                '\\' => item.extend(characters.next().map(|(_, escaped)| escaped)),
                other => item.push(other),
            }
        }
        return Err(malformed(literal, "Unexpected end of input."));
    }
    while let Some((at, character)) = characters.next() {
        match character {
            ',' | '}' => {
                let kept = item.trim_end_matches(is_blank).len();
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

/// Appends the text form; `write_item` appends an element's.
pub(super) fn write(array: &ArrayValue, out: &mut Vec<u8>, write_item: impl Fn(&Value, &mut Vec<u8>)) {
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
        write_item(value, &mut item);
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

/// An array from its binary form; `read_item` reads an element from its own.
///
/// # Errors
/// 22P03, those of the elements, and 0A000 for several dimensions.
pub(super) fn read_binary(
    bytes: &[u8],
    element: ArrayElement,
    read_item: impl Fn(&[u8]) -> Result<Value>,
) -> Result<Value> {
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
                values.push(read_item(item)?);
                memory::check(0)?;
                rest = behind;
            }
        }
        _ => return Err(too_many_dimensions()),
    }
    if rest.is_empty() { Ok(Value::array(element, values)) } else { Err(wrong()) }
}

/// Appends the binary form; `write_item` appends an element's.
pub(super) fn write_binary(array: &ArrayValue, out: &mut Vec<u8>, write_item: impl Fn(&Value, &mut Vec<u8>)) {
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
            write_item(value, out);
            let length = i32::try_from(out.len() - at - 4).unwrap_or(i32::MAX);
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::value::SqlType;
    use crate::{binary, text};

    fn read(literal: &str, element: ArrayElement) -> Result<Value> {
        text::parse(literal, SqlType::Array(element), &TimeZone::UTC)
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
            let sql_type = SqlType::Array(element);
            let mut shown = Vec::new();
            text::write(&value, sql_type, &TimeZone::UTC, &mut shown);
            assert_eq!(String::from_utf8(shown).unwrap(), literal);
            let mut bytes = Vec::new();
            binary::write(&value, &mut bytes);
            assert_eq!(binary::read(&bytes, sql_type).unwrap(), value);
            for length in 0..bytes.len() {
                assert!(binary::read(&bytes[..length], sql_type).is_err());
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
