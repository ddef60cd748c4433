//! Functions that look for elements in arrays, replace them, and compare arrays as sets.
//!
//! Elements are compared as by IS NOT DISTINCT FROM, except for containment, where NULL equals nothing.
//!
//! Reference: `array_position_common`, `array_replace_internal` and `array_contain_compare` of PostgreSQL 15.

use super::array_subscript::subscript_error;
use super::{Function, mismatch};
use crate::compare;
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;
use crate::value::{ArrayElement, ArrayValue, Dimension, Value};

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    Ok(match (function, arguments) {
        (Function::ArrayPosition, [Value::Array(array), wanted, rest @ ..]) => {
            let first = match rest.first() {
                None => None,
                Some(first) => Some(first.as_i64().ok_or_else(|| {
                    Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, "initial position must not be null")
                })?),
            };
            let places = positions(array, wanted)?;
            let found = places.iter().find(|place| first.is_none_or(|first| i64::from(**place) >= first));
            found.map_or(Value::Null, |place| Value::Integer(*place))
        }
        (Function::ArrayPositions, [Value::Array(array), wanted]) => {
            let places = positions(array, wanted)?;
            Value::array(ArrayElement::Integer, places.into_iter().map(Value::Integer).collect())
        }
        (Function::ArrayRemove, [Value::Array(array), wanted]) => remove(array, wanted)?,
        (Function::ArrayReplace, [Value::Array(array), wanted, other]) => {
            memory::check(array.heap_bytes())?;
            let is_char = array.element == ArrayElement::Char;
            let replaced = |value: &Value| {
                if is_same(value, wanted, is_char) { other.clone() } else { value.clone() }
            };
            let values = array.values.iter().map(replaced).collect();
            Value::shaped_array(array.element, &array.dimensions(), values)
        }
        (Function::ArrayTrim, [Value::Array(array), count]) => trim(array, count.as_i64().unwrap_or(0))?,
        (Function::ArrayContains, [Value::Array(array), Value::Array(part)]) => {
            Value::Boolean(contains(array, part)?)
        }
        (Function::ArrayOverlaps, [Value::Array(left), Value::Array(right)]) => {
            let has_one = |wanted: &Value| has(left, wanted);
            guest::spend_for(left.values.len().saturating_mul(right.values.len()))?;
            Value::Boolean(right.values.iter().any(has_one))
        }
        (
            Function::ArrayPosition
            | Function::ArrayPositions
            | Function::ArrayRemove
            | Function::ArrayReplace,
            [Value::Null, ..],
        ) => Value::Null,
        _ => return Err(mismatch(function, arguments)),
    })
}

/// Whether the elements are equal; those of `char(n)` regardless of trailing blanks.
fn is_same(left: &Value, right: &Value, is_char: bool) -> bool {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) if is_char => {
            compare::char_order(a.as_bytes(), b.as_bytes()).is_eq()
        }
        (left, right) => compare::not_distinct(left, right),
    }
}

fn several_dimensions(message: &str) -> Error {
    Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

/// The subscripts of the elements that equal the wanted value.
fn positions(array: &ArrayValue, wanted: &Value) -> Result<Vec<i32>> {
    let lower = match &*array.dimensions() {
        [] => return Ok(Vec::new()),
        [dimension] => dimension.lower,
        _ => {
            let message = "searching for elements in multidimensional arrays is not supported";
            return Err(several_dimensions(message));
        }
    };
    let is_char = array.element == ArrayElement::Char;
    let numbered = array.values.iter().zip(lower..);
    Ok(numbered.filter(|(value, _)| is_same(value, wanted, is_char)).map(|(_, place)| place).collect())
}

fn remove(array: &ArrayValue, wanted: &Value) -> Result<Value> {
    let dimensions = array.dimensions();
    if dimensions.len() > 1 {
        let message = "removing elements from multidimensional arrays is not supported";
        return Err(several_dimensions(message));
    }
    memory::check(array.heap_bytes())?;
    let mut values = array.values.clone();
    let is_char = array.element == ArrayElement::Char;
    values.retain(|value| !is_same(value, wanted, is_char));
    let length = i32::try_from(values.len()).unwrap_or(i32::MAX);
    let lower = dimensions.first().map_or(1, |dimension| dimension.lower);
    Ok(Value::shaped_array(array.element, &[Dimension { lower, length }], values))
}

/// The array without its last elements of the first dimension.
fn trim(array: &ArrayValue, count: i64) -> Result<Value> {
    let mut dimensions = array.dimensions().to_vec();
    let length = dimensions.first().map_or(0, |dimension| i64::from(dimension.length));
    if !(0..=length).contains(&count) {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(subscript_error(&message));
    }
    let kept = length - count;
    let width = if length == 0 { 0 } else { array.values.len() / length as usize };
    let values = array.values[..width * kept as usize].to_vec();
    for dimension in &mut dimensions {
        dimension.lower = 1;
    }
    if let Some(first) = dimensions.first_mut() {
        first.length = kept as i32;
    }
    Ok(Value::shaped_array(array.element, &dimensions, values))
}

fn has(array: &ArrayValue, wanted: &Value) -> bool {
    let is_char = array.element == ArrayElement::Char;
    !wanted.is_null() && array.values.iter().any(|value| is_same(value, wanted, is_char))
}

/// Whether every element of `part` is an element of the array.
fn contains(array: &ArrayValue, part: &ArrayValue) -> Result<bool> {
    guest::spend_for(array.values.len().saturating_mul(part.values.len()))?;
    Ok(part.values.iter().all(|wanted| has(array, wanted)))
}
