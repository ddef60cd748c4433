//! Functions that look for elements in arrays, replace them, and compare arrays as sets.
//!
//! Elements are compared as by IS NOT DISTINCT FROM, except for containment, where NULL equals nothing.
//!
//! Reference: `array_position_common`, `array_replace_internal` and `array_contain_compare` of PostgreSQL 15.

use super::array::{STRETCH, comparison_units};
use super::array_subscript::subscript_error;
use super::{Function, mismatch};
use crate::collect::{self, List};
use crate::compare;
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
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
            Value::array(ArrayElement::Integer, collect::list(places.into_iter().map(Value::Integer))?)
        }
        (Function::ArrayRemove, [Value::Array(array), wanted]) => remove(array, wanted)?,
        (Function::ArrayReplace, [Value::Array(array), wanted, other]) => {
            let is_char = array.element == ArrayElement::Char;
            let units = comparison_units(wanted);
            let mut values = List::with_capacity(array.values.len())?;
            for value in &array.values {
                guest::spend_for(units)?;
                values.push_copy(if is_same(value, wanted, is_char) { other } else { value })?;
            }
            Value::shaped_array(array.element, &array.dimensions(), values.into_vec())
        }
        (Function::ArrayTrim, [Value::Array(array), count]) => trim(array, count.as_i64().unwrap_or(0))?,
        (Function::ArrayContains, [Value::Array(array), Value::Array(part)]) => {
            Value::Boolean(contains(array, part)?)
        }
        (Function::ArrayOverlaps, [Value::Array(left), Value::Array(right)]) => {
            Value::Boolean(any(right.values.iter().map(|wanted| has(left, wanted)), true)?)
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
    let units = comparison_units(wanted);
    let mut places = List::default();
    for (value, place) in array.values.iter().zip(lower..) {
        guest::spend_for(units)?;
        if is_same(value, wanted, is_char) {
            places.push(place)?;
        }
    }
    Ok(places.into_vec())
}

fn remove(array: &ArrayValue, wanted: &Value) -> Result<Value> {
    let dimensions = array.dimensions();
    if dimensions.len() > 1 {
        let message = "removing elements from multidimensional arrays is not supported";
        return Err(several_dimensions(message));
    }
    let is_char = array.element == ArrayElement::Char;
    let units = comparison_units(wanted);
    let mut values = List::default();
    for value in &array.values {
        guest::spend_for(units)?;
        if !is_same(value, wanted, is_char) {
            values.push_copy(value)?;
        }
    }
    let length = i32::try_from(values.len()).unwrap_or(i32::MAX);
    let lower = dimensions.first().map_or(1, |dimension| dimension.lower);
    Ok(Value::shaped_array(array.element, &[Dimension { lower, length }], values.into_vec()))
}

/// The array without its last elements of the first dimension.
fn trim(array: &ArrayValue, count: i64) -> Result<Value> {
    // Bounded: by the number of dimensions.
    let mut dimensions = array.dimensions().to_vec();
    let length = dimensions.first().map_or(0, |dimension| i64::from(dimension.length));
    if !(0..=length).contains(&count) {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(subscript_error(&message));
    }
    let kept = length - count;
    let width = if length == 0 { 0 } else { array.values.len() / length as usize };
    let values = collect::values::copy_all(&array.values[..width * kept as usize])?;
    for dimension in &mut dimensions {
        dimension.lower = 1;
    }
    if let Some(first) = dimensions.first_mut() {
        first.length = kept as i32;
    }
    Ok(Value::shaped_array(array.element, &dimensions, values))
}

/// Whether one of these tests gives `wanted`.
fn any(mut tests: impl Iterator<Item = Result<bool>>, wanted: bool) -> Result<bool> {
    match tests.find(|test| !matches!(test, Ok(found) if *found != wanted)) {
        None => Ok(false),
        Some(test) => test.map(|_| true),
    }
}

/// Each search of many reports its own work, so that all of them together can be stopped.
fn has(array: &ArrayValue, wanted: &Value) -> Result<bool> {
    if wanted.is_null() {
        return Ok(false);
    }
    let is_char = array.element == ArrayElement::Char;
    let units = comparison_units(wanted);
    for stretch in array.values.chunks(STRETCH) {
        guest::spend_for(stretch.len().saturating_mul(units))?;
        if stretch.iter().any(|value| is_same(value, wanted, is_char)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether every element of `part` is an element of the array.
fn contains(array: &ArrayValue, part: &ArrayValue) -> Result<bool> {
    any(part.values.iter().map(|wanted| has(array, wanted)), false).map(|is_missing| !is_missing)
}
