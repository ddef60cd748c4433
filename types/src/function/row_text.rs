//! The text form of rows: of these fields (`RowText`), and the field of such a text with a number from 0 on
//! (`RecordField`).
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
        (_, fields) => text::shown_row(fields, environment.text_form()).map(Value::Text),
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
