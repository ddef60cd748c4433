//! Functions of arrays. The compiler knows their types; they have no names in the table, because their
//! results' types depend on the elements'.

use super::{Function, mismatch};
use crate::compare;
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::memory;
use crate::text;
use crate::value::{ArrayValue, Value};

fn whole(length: usize) -> Value {
    Value::Integer(i32::try_from(length).unwrap_or(i32::MAX))
}

/// The elements' texts with a separator between them; NULL is left out, or is this text.
fn joined(
    array: &ArrayValue,
    separator: &str,
    null: Option<&str>,
    environment: &Environment,
) -> Result<Value> {
    let mut out = String::new();
    let mut is_first = true;
    for value in &array.values {
        let shown = match (value, null) {
            (Value::Null, None) => continue,
            (Value::Null, Some(null)) => null.into(),
            (Value::Boolean(truth), _) => if *truth { "t" } else { "f" }.into(),
            (value, _) => text::format_as(value, environment.text_form()),
        };
        if !std::mem::take(&mut is_first) {
            out.push_str(separator);
        }
        out.push_str(&shown);
        memory::check(out.len())?;
    }
    Ok(Value::text(out))
}

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    Ok(match (function, arguments) {
        (Function::Cardinality, [Value::Array(array)]) => whole(array.values.len()),
        // An empty array has no dimension.
        (
            Function::ArrayLength | Function::ArrayLower | Function::ArrayUpper,
            [Value::Array(array), dimension],
        ) => {
            if dimension.as_i64() != Some(1) || array.values.is_empty() {
                return Ok(Value::Null);
            }
            if function == Function::ArrayLower { Value::Integer(1) } else { whole(array.values.len()) }
        }
        (Function::ArrayToString, [Value::Array(array), Value::Text(separator), rest @ ..]) => {
            joined(array, separator, rest.first().and_then(Value::as_str), environment)?
        }
        (Function::ArrayToString, _) => Value::Null,
        (Function::ArrayAppend, [Value::Array(array), value]) => {
            memory::check(array.heap_bytes() + value.heap_bytes())?;
            let mut array = ArrayValue::clone(array);
            array.values.push(value.clone());
            Value::array(array.element, array.values)
        }
        (Function::ArrayPrepend, [value, Value::Array(array)]) => {
            memory::check(array.heap_bytes() + value.heap_bytes())?;
            let mut array = ArrayValue::clone(array);
            array.values.insert(0, value.clone());
            Value::array(array.element, array.values)
        }
        (Function::ArrayConcat, [Value::Array(left), Value::Array(right)]) => {
            memory::check(left.heap_bytes() + right.heap_bytes())?;
            let mut array = ArrayValue::clone(left);
            array.values.extend(right.values.iter().cloned());
            Value::array(array.element, array.values)
        }
        (Function::ArrayConcat, [array @ Value::Array(_), Value::Null] | [Value::Null, array]) => {
            array.clone()
        }
        (Function::ArrayAppend | Function::ArrayPrepend | Function::ArrayConcat, _) => Value::Null,
        (Function::ArrayPosition, [Value::Array(array), wanted]) => {
            let place = array.values.iter().position(|value| compare::not_distinct(value, wanted));
            place.map_or(Value::Null, |place| whole(place + 1))
        }
        (Function::ArrayPosition, [Value::Null, _]) => Value::Null,
        (Function::ArrayFill, [value, length]) => {
            let Some(length) = length.as_i64() else {
                return Err(Error::input(
                    sqlstate::NULL_VALUE_NOT_ALLOWED,
                    "dimension array or low bound array cannot be null",
                ));
            };
            fill(value, length)?
        }
        (Function::EqualsAny, [wanted, Value::Array(array)]) => any(wanted, &array.values),
        (Function::EqualsSorted, [wanted, Value::Array(array)]) => any_sorted(wanted, &array.values),
        (Function::EqualsAny | Function::EqualsSorted, _) => Value::Null,
        (Function::ArrayDistinct, [Value::Array(array)]) => {
            memory::check(array.heap_bytes())?;
            let mut values = array.values.clone();
            values.retain(|value| !value.is_null());
            values.sort_by(compare::total);
            values.dedup_by(|a, b| compare::total(a, b).is_eq());
            Value::array(array.element, values)
        }
        _ => return Err(mismatch(function, arguments)),
    })
}

/// `array_fill(value, ARRAY[length])`, the length taken out of its array by the compiler.
fn fill(value: &Value, length: i64) -> Result<Value> {
    const LONGEST: i64 = 1 << 24;
    let element = value.sql_type().and_then(crate::value::ArrayElement::of);
    let Some(element) = element else { return Ok(Value::Null) };
    match usize::try_from(length) {
        Ok(count) if length <= LONGEST => {
            memory::check((size_of::<Value>() + value.heap_bytes()).saturating_mul(count))?;
            Ok(Value::array(element, vec![value.clone(); count]))
        }
        _ => Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed")),
    }
}

/// `wanted = ANY (array)` where the array is in order.
fn any_sorted(wanted: &Value, values: &[Value]) -> Value {
    let (values, has_null) = match values.split_last() {
        Some((Value::Null, others)) => (others, true),
        _ => (values, false),
    };
    if wanted.is_null() {
        return Value::Null;
    }
    match values.binary_search_by(|value| compare::total(value, wanted)) {
        Ok(_) => Value::Boolean(true),
        Err(_) if has_null => Value::Null,
        Err(_) => Value::Boolean(false),
    }
}

/// `wanted = ANY (array)`.
fn any(wanted: &Value, values: &[Value]) -> Value {
    let mut has_null = false;
    for value in values {
        match compare::equal(wanted, value) {
            Some(true) => return Value::Boolean(true),
            Some(false) => {}
            None => has_null = true,
        }
    }
    if has_null { Value::Null } else { Value::Boolean(false) }
}
