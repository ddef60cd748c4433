//! The text form of rows.
//!
//! Reference: PostgreSQL's record_out and record_in.

use super::Function;
use crate::collect::Text;
use crate::environment::Environment;
use crate::error::Result;
use crate::guest;
use crate::text;
use crate::value::Value;

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::RecordField, [row, Value::Integer(number)]) => {
            let Some(row) = row.as_str() else { return Ok(Value::Null) };
            field(row, usize::try_from(*number).unwrap_or(usize::MAX))
        }
        (_, fields) => row_of(fields, environment),
    }
}

/// The field of a row's text with this number, from 0 on.
fn field(row: &str, wanted: usize) -> Result<Value> {
    let mut found: Option<Text> = None;
    let (mut number, mut is_quoted) = (0, false);
    let inner = row.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or_default();
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        guest::spend(1)?;
        let plain = match character {
            ',' if !is_quoted => {
                if number == wanted {
                    break;
                }
                number += 1;
                continue;
            }
            '"' if !is_quoted || characters.peek() != Some(&'"') => {
                is_quoted = !is_quoted;
                None
            }
            '"' | '\\' => characters.next(),
            other => Some(other),
        };
        if number == wanted {
            let text = found.get_or_insert_default();
            plain.map_or(Ok(()), |character| text.push(character))?;
        }
    }
    Ok(found.map_or(Value::Null, |text| Value::Text(text.finish())))
}

/// The fields in parentheses. NULL is nothing at all, so an empty text is in quotes.
fn row_of(fields: &[Value], environment: &Environment) -> Result<Value> {
    let mut row = Text::default();
    row.push_str("(")?;
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            row.push_str(",")?;
        }
        match field {
            Value::Null => {}
            Value::Text(text) => push_field(&mut row, text)?,
            other => push_field(&mut row, &text::shown(other, environment.text_form())?)?,
        }
    }
    row.push_str(")")?;
    Ok(Value::Text(row.finish()))
}

fn push_field(row: &mut Text, field: &str) -> Result<()> {
    let is_special = |character: char| {
        matches!(character, '"' | '\\' | '(' | ')' | ',')
            || character.is_ascii_whitespace()
            || character == '\u{b}'
    };
    if !field.is_empty() && !field.contains(is_special) {
        return row.push_str(field);
    }
    let doubled = field.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    row.reserve(field.len() + doubled + 2)?;
    row.push_str("\"")?;
    let mut rest = field;
    while let Some(at) = rest.find(['"', '\\']) {
        let (before, special) = rest.split_at(at);
        row.push_str(before)?;
        // Each is doubled, and so is a run of them if it is there twice. Rows in rows have long ones.
        let first = &special[..1];
        let (run, after) = special.split_at(special.len() - special.trim_start_matches(first).len());
        row.push_str(run)?;
        row.push_str(run)?;
        rest = after;
    }
    row.push_str(rest)?;
    row.push_str("\"")
}
