//! Functions that build json and jsonb from other values.
//!
//! A json is a text with PostgreSQL's blanks: `{"a" : 1}` from arguments, `[1,2]` from an array, `[1, 2]`
//! from arguments and rows. A jsonb is the same text, parsed. `JsonRow` is given names and values of columns
//! in turn, `RowToJson` a row, and whether each member but the first begins a new line, `JsonOfStructure` an
//! array or a row that is an item.
//!
//! Reference: `json.c` of PostgreSQL 15 (`datum_to_json`, `json_categorize_type`).

use super::{Function, mismatch};
use crate::collect::{Bytes, List, Sink};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::extension::ExtensionType;
use crate::extension_cast;
use crate::json::{Jsonb, write_escaped};
use crate::memory;
use crate::text::{self, DateForm};
use crate::value::composite::RowValue;
use crate::value::{ArrayValue, Value};

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let mut out = Bytes::default();
    match (function, arguments) {
        (Function::ToJson | Function::ToJsonb | Function::JsonOfStructure, [value]) => {
            if let (Function::ToJsonb, Value::Jsonb(_)) = (function, value) {
                return Ok(value.clone());
            }
            write_value(value, environment, &mut out)?;
        }
        (Function::JsonBuildArray | Function::JsonbBuildArray, values) => {
            write_list(b'[', b", ", values, environment, &mut out)?;
        }
        (Function::JsonBuildObject | Function::JsonbBuildObject, pairs) => {
            build_object(function, pairs, environment, &mut out)?;
        }
        (Function::JsonRow, columns) => {
            out.push(b'{')?;
            for (number, column) in columns.chunks_exact(2).enumerate() {
                if number > 0 {
                    out.push(b',')?;
                }
                write_key(&column[0], environment, &mut out)?;
                out.push(b':')?;
                write_value(&column[1], environment, &mut out)?;
            }
            out.push(b'}')?;
        }
        (Function::JsonObject | Function::JsonbObject, arrays) => object(function, arrays, &mut out)?,
        (Function::ArrayToJson, [Value::Array(array), rest @ ..]) => {
            let has_lines = rest.first() == Some(&Value::Boolean(true));
            write_array(array, if has_lines { b",\n " } else { b"," }, environment, &mut out)?;
        }
        (Function::RowToJson, [Value::Row(row), rest @ ..]) => {
            let has_lines = rest.first() == Some(&Value::Boolean(true));
            write_row(row, if has_lines { b",\n " } else { b"," }, environment, &mut out)?;
        }
        (Function::JsonMember, [key, value]) => {
            if key.is_null() {
                let message = "field name must not be null";
                return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
            }
            write_key(key, environment, &mut out)?;
            out.put(b" : ")?;
            write_value(value, environment, &mut out)?;
        }
        (Function::JsonOfRows | Function::JsonbOfRows, [Value::Array(array), Value::Boolean(has_lines)]) => {
            let separator: &[u8] = if *has_lines { b", \n " } else { b", " };
            write_list(b'[', separator, &array.values, environment, &mut out)?;
        }
        (Function::JsonOfMembers | Function::JsonbOfMembers, [Value::Array(array)]) => {
            out.put(b"{ ")?;
            for (number, member) in array.values.iter().enumerate() {
                if number > 0 {
                    out.put(b", ")?;
                }
                write_value(member, environment, &mut out)?;
            }
            out.put(b" }")?;
        }
        _ => return Err(mismatch(function, arguments)),
    }
    built(function, out)
}

/// The value of a text that was built.
fn built(function: Function, out: Bytes) -> Result<Value> {
    let text = out.into_text()?;
    Ok(match function {
        Function::ToJsonb
        | Function::JsonbBuildArray
        | Function::JsonbBuildObject
        | Function::JsonbObject
        | Function::JsonbOfRows
        | Function::JsonbOfMembers => Value::Jsonb(Jsonb::parse(&text)?),
        _ => {
            memory::check(text.len())?;
            Value::Json(text.as_str().into())
        }
    })
}

/// Dates and times in ISO 8601's form: with a `T`, and minutes in the offset.
fn in_iso(value: &Value, shown: &str) -> String {
    if shown.ends_with("infinity") {
        return shown.to_owned();
    }
    let shown = shown.replacen(' ', "T", 1);
    if !matches!(value, Value::TimestampTz(_)) {
        return shown;
    }
    let (time, era) = match shown.strip_suffix(" BC") {
        Some(time) => (time, " BC"),
        None => (shown.as_str(), ""),
    };
    let has_minutes = time.rfind(['+', '-']).is_some_and(|sign| time[sign..].contains(':'));
    format!("{time}{}{era}", if has_minutes { "" } else { ":00" })
}

/// The text of a value that is neither an array nor JSON.
fn scalar_text(value: &Value, environment: &Environment) -> Result<String> {
    Ok(match value {
        Value::Boolean(truth) => truth.to_string(),
        _ => {
            // Dates are in ISO form under every DateStyle.
            let mut form = environment.text_form();
            form.styles.form = DateForm::Iso;
            let shown = text::shown(value, form)?;
            match value {
                Value::Timestamp(_) | Value::TimestampTz(_) => in_iso(value, &shown),
                _ => shown.into_string(),
            }
        }
    })
}

fn write_value(value: &Value, environment: &Environment, out: &mut Bytes) -> Result<()> {
    match value {
        Value::Null => out.put(b"null")?,
        Value::Json(text) => out.put(text.as_bytes())?,
        Value::Jsonb(_) => out.put(text::shown(value, environment.text_form())?.as_bytes())?,
        Value::Array(array) => return write_array(array, b",", environment, out),
        Value::Row(row) => return write_row(row, b",", environment, out),
        Value::Boolean(_) => out.put(scalar_text(value, environment)?.as_bytes())?,
        Value::SmallInt(_)
        | Value::Integer(_)
        | Value::BigInt(_)
        | Value::Real(_)
        | Value::Double(_)
        | Value::Numeric(_) => {
            let shown = scalar_text(value, environment)?;
            // NaN and the infinities are not JSON numbers.
            match shown.ends_with(|last: char| last.is_ascii_digit()) {
                true => out.put(shown.as_bytes())?,
                false => write_escaped(shown.as_bytes(), out)?,
            }
        }
        Value::Text(text) => write_escaped(text.as_bytes(), out)?,
        Value::Extension(own) if own.extension_type() == ExtensionType::Hstore => {
            let Value::Json(text) = extension_cast::json(own, false)? else { return Ok(()) };
            out.put(text.as_bytes())?;
        }
        _ => write_escaped(scalar_text(value, environment)?.as_bytes(), out)?,
    }
    Ok(())
}

/// An object with a member for each field.
fn write_row(row: &RowValue, separator: &[u8], environment: &Environment, out: &mut Bytes) -> Result<()> {
    out.push(b'{')?;
    for (number, (field, value)) in row.row_type.fields().iter().zip(&row.fields).enumerate() {
        if number > 0 {
            out.put(separator)?;
        }
        write_escaped(field.name.as_bytes(), out)?;
        out.push(b':')?;
        write_value(value, environment, out)?;
    }
    out.push(b'}')?;
    Ok(())
}

fn write_key(key: &Value, environment: &Environment, out: &mut Bytes) -> Result<()> {
    if matches!(key, Value::Array(_) | Value::Row(_) | Value::Json(_) | Value::Jsonb(_)) {
        let message = "key value must be scalar, not array, composite, or json";
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    write_escaped(scalar_text(key, environment)?.as_bytes(), out)?;
    Ok(())
}

fn write_list(
    open: u8,
    separator: &[u8],
    values: &[Value],
    environment: &Environment,
    out: &mut Bytes,
) -> Result<()> {
    out.push(open)?;
    for (number, value) in values.iter().enumerate() {
        if number > 0 {
            // The blanks of several lines precede only values that are not NULL.
            let end = if value.is_null() { separator.len().min(2) } else { separator.len() };
            out.put(&separator[..end])?;
        }
        write_value(value, environment, out)?;
    }
    out.push(b']')?;
    Ok(())
}

/// An array, with a pair of brackets for each dimension. `separator` separates the parts of the first.
fn write_array(
    array: &ArrayValue,
    separator: &[u8],
    environment: &Environment,
    out: &mut Bytes,
) -> Result<()> {
    let dimensions = array.dimensions();
    if dimensions.is_empty() {
        out.put(b"[]")?;
        return Ok(());
    }
    // The number of elements in a pair of brackets, for each level from the innermost.
    // Bounded: by the number of dimensions.
    let mut widths: Vec<usize> = Vec::with_capacity(dimensions.len());
    for dimension in dimensions.iter().rev() {
        widths.push(widths.last().unwrap_or(&1) * dimension.length as usize);
    }
    for (number, value) in array.values.iter().enumerate() {
        let opened = widths.iter().filter(|width| number % **width == 0).count();
        if number > 0 {
            let is_outermost = opened + 1 == widths.len();
            out.put(if is_outermost { separator } else { b"," })?;
        }
        out.fill(b'[', opened)?;
        write_value(value, environment, out)?;
        let closed = widths.iter().filter(|width| (number + 1) % **width == 0).count();
        out.fill(b']', closed)?;
    }
    Ok(())
}

fn build_object(
    function: Function,
    pairs: &[Value],
    environment: &Environment,
    out: &mut Bytes,
) -> Result<()> {
    let is_binary = function == Function::JsonbBuildObject;
    let name = if is_binary { "jsonb_build_object()" } else { "json_build_object()" };
    let wrong = |message: String| Error::input(sqlstate::INVALID_PARAMETER_VALUE, message);
    if !pairs.len().is_multiple_of(2) {
        let hint = format!("The arguments of {name} must consist of alternating keys and values.");
        return Err(wrong("argument list must have even number of elements".to_owned()).with_hint(hint));
    }
    out.push(b'{')?;
    for (number, pair) in pairs.chunks_exact(2).enumerate() {
        let argument = number * 2 + 1;
        if number > 0 {
            out.put(b", ")?;
        }
        if pair[0].is_null() {
            return Err(match is_binary {
                true => wrong(format!("argument {argument}: key must not be null")),
                false => wrong(format!("argument {argument} cannot be null"))
                    .with_hint("Object keys should be text."),
            });
        }
        write_key(&pair[0], environment, out)?;
        out.put(b" : ")?;
        write_value(&pair[1], environment, out)?;
    }
    out.push(b'}')?;
    Ok(())
}

/// An object from an array of keys and values, from pairs, or from two arrays.
fn object(function: Function, arrays: &[Value], out: &mut Bytes) -> Result<()> {
    let wrong = |message: &str| Error::input(sqlstate::ARRAY_SUBSCRIPT_ERROR, message);
    let mut pairs: List<(&Value, &Value)> = List::default();
    match arrays {
        [Value::Array(all)] => {
            match &*all.dimensions() {
                [] => {}
                [one] if one.length % 2 != 0 => {
                    return Err(wrong("array must have even number of elements"));
                }
                [_] => {}
                [_, two] if two.length != 2 => return Err(wrong("array must have two columns")),
                [_, _] => {}
                _ => return Err(wrong("wrong number of array subscripts")),
            }
            pairs.extend(all.values.chunks_exact(2).map(|pair| (&pair[0], &pair[1])))?;
        }
        [Value::Array(keys), Value::Array(values)] => {
            let (of_keys, of_values) = (keys.dimensions().len(), values.dimensions().len());
            if of_keys > 1 || of_keys != of_values {
                return Err(wrong("wrong number of array subscripts"));
            }
            if keys.values.len() != values.values.len() {
                return Err(wrong("mismatched array dimensions"));
            }
            pairs.extend(keys.values.iter().zip(&values.values))?;
        }
        _ => return Err(mismatch(function, arrays)),
    }
    out.push(b'{')?;
    for (number, (key, value)) in pairs.into_vec().into_iter().enumerate() {
        let Some(key) = key.as_str() else {
            let message = "null value not allowed for object key";
            return Err(Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
        };
        if number > 0 {
            out.put(b", ")?;
        }
        write_escaped(key.as_bytes(), out)?;
        out.put(b" : ")?;
        match value.as_str() {
            Some(text) => write_escaped(text.as_bytes(), out)?,
            None => out.put(b"null")?,
        }
    }
    out.push(b'}')?;
    Ok(())
}
