//! Text forms of the types of the catalog.

use compact_str::CompactString;

use super::conventions::Reading;
use super::fit::{check_text, fit_text};
use super::pieces::{is_blank, syntax, write_integer};
use crate::collect::{self, Sink, Taken};
use crate::error::quoted;
use crate::error::{Error, Result, sqlstate};
use crate::json_path::JsonPath;
use crate::system_type::SystemType;
use crate::value::{ArrayElement, ArrayValue, SqlType, Value};

/// Reads a value of this type from its text form.
pub(super) fn parse(text: &str, system_type: SystemType, reading: Reading<'_>) -> Result<Value> {
    if system_type.is_text() {
        check_text(text)?;
        return Ok(Value::Text(fit_text(CompactString::from(text), SqlType::System(system_type), true)?));
    }
    if system_type == SystemType::JsonPath {
        return Ok(Value::text(JsonPath::parse(text)?.shown()?.as_str()));
    }
    if system_type == SystemType::Record {
        let message = "input of anonymous composite types is not implemented";
        return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    if let Some(element) = ArrayElement::of_vector(system_type) {
        return parse_vector(text, element, reading);
    }
    if system_type.is_number() {
        return number(text, system_type).map(Value::Oid);
    }
    if text == "-" {
        return Ok(Value::reference(system_type, 0, "-"));
    }
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let oid = match (is_number, reading.catalog) {
        (true, _) => number(text, SystemType::Oid)?,
        (false, Some(catalog)) => catalog.find(system_type, text)?,
        (false, None) => {
            let message = format!("a name as {} is not supported here", system_type.shown());
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
    };
    Ok(reference(system_type, oid, reading))
}

/// The object with this number, and its name.
pub(crate) fn reference(system_type: SystemType, oid: u32, reading: Reading<'_>) -> Value {
    let shown = match reading.catalog {
        Some(catalog) => catalog.shown(system_type, oid),
        None => compact_str::format_compact!("{oid}"),
    };
    Value::reference(system_type, oid, shown)
}

/// A number of 32 bits; a negative one stands for its sum with 2^32.
fn number(text: &str, system_type: SystemType) -> Result<u32> {
    let digits = text.trim_matches(is_blank);
    let number: i128 = digits.parse().map_err(|_| syntax(SqlType::System(system_type), text))?;
    match u32::try_from(number).or_else(|_| i32::try_from(number).map(i32::cast_unsigned)) {
        Ok(number) => Ok(number),
        Err(_) => {
            let (text, name) = (quoted(text), system_type.shown());
            let message = format!("value \"{text}\" is out of range for type {name}");
            Err(Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message))
        }
    }
}

/// Numbers separated by blanks.
fn parse_vector(text: &str, element: ArrayElement, reading: Reading<'_>) -> Result<Value> {
    let items = text.split(is_blank).filter(|item| !item.is_empty());
    let values = items.map(|item| super::parse(item, element.sql_type(), reading));
    Ok(Value::array(element, collect::try_list(values)?))
}

pub(super) fn write_vector<S: Sink>(array: &ArrayValue, out: &mut S) -> Taken<S> {
    for (at, value) in array.values.iter().enumerate() {
        if at > 0 {
            out.put(b" ")?;
        }
        let number = match value {
            Value::Oid(oid) => i64::from(*oid),
            other => other.as_i64().unwrap_or_default(),
        };
        out.write(|out| write_integer(number, out))?;
    }
    Ok(())
}
