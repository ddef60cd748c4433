//! `concat` and `concat_ws`.

use compact_str::CompactString;

use super::{Function, mismatch};
use crate::environment::Environment;
use crate::error::Result;
use crate::memory;
use crate::text;
use crate::value::Value;

/// Appends to a text, if there is memory for it.
pub(super) fn append(text: &mut CompactString, more: &str) -> Result<()> {
    let length = text.len() + more.len();
    if length > text.capacity() {
        memory::check_value(length)?;
    }
    text.push_str(more);
    Ok(())
}

/// The text forms of all arguments that are not NULL. A NULL separator makes the result NULL.
pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let (separator, values) = match (function, arguments) {
        (Function::Concat, values) => ("", values),
        (_, [Value::Text(separator), values @ ..]) => (separator.as_str(), values),
        (_, [Value::Null, ..]) => return Ok(Value::Null),
        _ => return Err(mismatch(function, arguments)),
    };
    let mut result = CompactString::default();
    for (number, value) in values.iter().filter(|value| !value.is_null()).enumerate() {
        if number > 0 {
            append(&mut result, separator)?;
        }
        match value {
            Value::Text(text) => append(&mut result, text)?,
            other => append(&mut result, &text::format_as(other, environment.text_form()))?,
        }
    }
    Ok(Value::Text(result))
}
