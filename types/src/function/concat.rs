//! `concat` and `concat_ws`.

use super::{Function, mismatch};
use crate::collect::Text;
use crate::environment::Environment;
use crate::error::Result;
use crate::text;
use crate::value::Value;

/// The text forms of all arguments that are not NULL. A NULL separator makes the result NULL.
pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let (separator, values) = match (function, arguments) {
        (Function::Concat, values) => ("", values),
        (_, [Value::Text(separator), values @ ..]) => (separator.as_str(), values),
        (_, [Value::Null, ..]) => return Ok(Value::Null),
        _ => return Err(mismatch(function, arguments)),
    };
    let mut result = Text::default();
    for (number, value) in values.iter().filter(|value| !value.is_null()).enumerate() {
        if number > 0 {
            result.push_str(separator)?;
        }
        match value {
            Value::Text(text) => result.push_str(text)?,
            other => result.push_str(&text::shown(other, environment.text_form())?)?,
        }
    }
    Ok(Value::Text(result.finish()))
}
