//! The text form of rows.
//!
//! Reference: PostgreSQL's record_out.

use super::Function;
use crate::collect::Text;
use crate::environment::Environment;
use crate::error::Result;
use crate::text;
use crate::value::Value;

/// The fields in parentheses. NULL is nothing at all, so an empty text is in quotes.
pub(super) fn call(_: Function, fields: &[Value], environment: &Environment) -> Result<Value> {
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
