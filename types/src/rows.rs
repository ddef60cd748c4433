//! Text and binary forms of rows: `(1,"a b",)`, where a field that is NULL is nothing at all.
//!
//! The binary form is PostgreSQL's `record_send`: the number of fields, and of each its type's oid, its
//! length (-1 for NULL) and its content.
//!
//! Reference: `record_in`, `record_out`, `record_recv` and `record_send` of PostgreSQL 15, including the
//! details of their errors.

use crate::binary::bytes::{take, wrong};
use crate::collect::{Sink, Taken};
use crate::error::{Error, Result, quoted, sqlstate};
use crate::guest;
use crate::text::pieces::is_blank;
use crate::value::composite::{CompositeField, CompositeType, RowValue};
use crate::value::{SqlType, Value};

/// PostgreSQL's first oid whose meaning differs between databases.
const FIRST_OWN_OID: u32 = 10_000;

fn malformed(literal: &str, detail: &str) -> Error {
    let message = format!("malformed record literal: \"{}\"", quoted(literal));
    Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
}

/// Reads a row from its text form; `parse_item` reads a field from its own.
///
/// # Errors
/// 22P02, and those of the fields.
pub(crate) fn parse(
    literal: &str,
    row_type: CompositeType,
    parse_item: impl Fn(&str, SqlType) -> Result<Value>,
) -> Result<Value> {
    let after = literal.trim_start_matches(is_blank).strip_prefix('(');
    let mut rest = after.ok_or_else(|| malformed(literal, "Missing left parenthesis."))?;
    let mut fields = Vec::with_capacity(row_type.fields().len());
    for (number, field) in row_type.fields().iter().enumerate() {
        if number > 0 {
            rest = rest.strip_prefix(',').ok_or_else(|| malformed(literal, "Too few columns."))?;
        }
        let (text, after) = read_field(literal, rest)?;
        rest = after;
        fields.push(match text {
            None => Value::Null,
            Some(text) => parse_item(&text, field.sql_type)?,
        });
    }
    rest = rest.strip_prefix(')').ok_or_else(|| malformed(literal, "Too many columns."))?;
    if !rest.trim_start_matches(is_blank).is_empty() {
        return Err(malformed(literal, "Junk after right parenthesis."));
    }
    Ok(Value::row(row_type, fields))
}

/// The text of a field, or `None` for NULL, and the rest from the comma or the parenthesis on.
fn read_field<'l>(literal: &str, text: &'l str) -> Result<(Option<String>, &'l str)> {
    if text.starts_with([',', ')']) {
        return Ok((None, text));
    }
    let end = || malformed(literal, "Unexpected end of input.");
    let mut found = String::new();
    let mut is_quoted = false;
    let mut characters = text.char_indices().peekable();
    loop {
        guest::spend(1)?;
        let (at, character) = characters.next().ok_or_else(end)?;
        match character {
            ',' | ')' if !is_quoted => return Ok((Some(found), &text[at..])),
            '\\' => found.push(characters.next().ok_or_else(end)?.1),
            '"' if !is_quoted => is_quoted = true,
            '"' if characters.peek().is_some_and(|(_, next)| *next == '"') => {
                characters.next();
                found.push('"');
            }
            '"' => is_quoted = false,
            other => found.push(other),
        }
    }
}

/// Appends the text form of a row of these fields; `write_item` appends a field's.
pub(crate) fn write<'v, S: Sink, T>(
    fields: impl IntoIterator<Item = (&'v Value, T)>,
    out: &mut S,
    write_item: impl Fn(&Value, T, &mut S) -> Taken<S>,
) -> Taken<S> {
    let mut item = S::default();
    out.put(b"(")?;
    for (number, (value, sql_type)) in fields.into_iter().enumerate() {
        if number > 0 {
            out.put(b",")?;
        }
        if value.is_null() {
            continue;
        }
        item.clear();
        write_item(value, sql_type, &mut item)?;
        write_field(item.bytes(), out)?;
    }
    out.put(b")")
}

/// A field in quotes if it needs them. NULL is nothing at all, so an empty text is in quotes.
fn write_field<S: Sink>(field: &[u8], out: &mut S) -> Taken<S> {
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'(' | b')' | b',' | b' ' | b'\t'..=b'\r');
    if !field.is_empty() && !field.iter().any(is_special) {
        return out.put(field);
    }
    out.put(b"\"")?;
    let mut rest = field;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        let (before, special) = rest.split_at(at);
        out.put(before)?;
        // Each is doubled, and so is a run of them if it is there twice. Rows in rows have long ones.
        let length = special.iter().take_while(|byte| **byte == special[0]).count();
        let (run, after) = special.split_at(length);
        out.put(run)?;
        out.put(run)?;
        rest = after;
    }
    out.put(rest)?;
    out.put(b"\"")
}

/// Takes a row in its binary form off the front; `read_item` does the same with a field.
///
/// # Errors
/// 22P03, 08P01, 42804 and those of the fields.
pub(crate) fn read_binary(
    rest: &mut &[u8],
    row_type: CompositeType,
    read_item: impl Fn(&mut &[u8], SqlType) -> Result<Value>,
) -> Result<Value> {
    let count = i32::from_be_bytes(take(rest)?);
    let fields = row_type.fields();
    if usize::try_from(count).ok() != Some(fields.len()) {
        let message = format!("wrong number of columns: {count}, expected {}", fields.len());
        return Err(Error::input(sqlstate::DATATYPE_MISMATCH, message));
    }
    let mut values = Vec::with_capacity(fields.len());
    for (number, field) in (1..).zip(fields) {
        check_type(u32::from_be_bytes(take(rest)?), field, number)?;
        let length = i32::from_be_bytes(take(rest)?);
        if length == -1 {
            values.push(Value::Null);
            continue;
        }
        let parts = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let Some((mut item, after)) = parts else {
            return Err(wrong("insufficient data left in message"));
        };
        values.push(read_item(&mut item, field.sql_type)?);
        if !item.is_empty() {
            return Err(wrong(format!("improper binary format in record column {number}")));
        }
        *rest = after;
    }
    Ok(Value::row(row_type, values))
}

/// User-defined types have other numbers in other databases.
fn check_type(found: u32, field: &CompositeField, number: usize) -> Result<()> {
    let wanted = field.sql_type;
    let is_built_in = |oid: u32| oid < FIRST_OWN_OID;
    if found == wanted.oid() || !(is_built_in(found) && is_built_in(wanted.oid())) {
        return Ok(());
    }
    let message = format!(
        "binary data has type {found} ({}) instead of expected {} ({}) in record column {number}",
        SqlType::from_oid(found, -1).map_or("???", SqlType::base_name),
        wanted.oid(),
        wanted.base_name()
    );
    Err(Error::input(sqlstate::DATATYPE_MISMATCH, message))
}

/// Appends the binary form; `write_item` appends a field's.
pub(crate) fn write_binary(
    row: &RowValue,
    out: &mut Vec<u8>,
    write_item: impl Fn(&Value, SqlType, &mut Vec<u8>),
) {
    out.extend_from_slice(&(row.fields.len() as i32).to_be_bytes());
    for (field, value) in row.row_type.fields().iter().zip(&row.fields) {
        out.extend_from_slice(&field.sql_type.oid().to_be_bytes());
        let at = out.len();
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        if !value.is_null() {
            write_item(value, field.sql_type, out);
            let length = i32::try_from(out.len() - at - 4).unwrap_or(i32::MAX);
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}
