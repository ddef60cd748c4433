//! Functions of arrays: properties, construction and search. The compiler knows their types. They have no
//! names in the table, because their result types depend on the type of the elements.
//!
//! Reference: `array_userfuncs.c` and `arrayfuncs.c` of PostgreSQL 15.

use super::array_subscript::{set_element, subscript_error};
use super::{Function, mismatch};
use crate::array::{element_count, too_many_dimensions};
use crate::array_value::{Dimensions, MOST_DIMENSIONS};
use crate::compare;
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::memory;
use crate::text;
use crate::value::{ArrayElement, ArrayValue, Dimension, Value};

fn whole(length: usize) -> Value {
    Value::Integer(i32::try_from(length).unwrap_or(i32::MAX))
}

/// The elements' texts with a separator between them. NULL is left out, or replaced by this text.
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
        (
            Function::ArrayLength | Function::ArrayLower | Function::ArrayUpper,
            [Value::Array(array), dimension],
        ) => dimension_number(function, array, dimension.as_i64().unwrap_or(0)),
        (Function::ArrayDimensions, [Value::Array(array)]) => match array.dimensions().len() {
            0 => Value::Null,
            count => whole(count),
        },
        (Function::ArrayBounds, [Value::Array(array)]) => bounds(array),
        (Function::ArrayToString, [Value::Array(array), Value::Text(separator), rest @ ..]) => {
            joined(array, separator, rest.first().and_then(Value::as_str), environment)?
        }
        (Function::ArrayToString, _) => Value::Null,
        (Function::StringToArray, [Value::Text(text), separator, rest @ ..]) => {
            split(text, separator.as_str(), rest.first().and_then(Value::as_str))?
        }
        (Function::StringToArray, _) => Value::Null,
        (Function::ArrayAppend, [Value::Array(array), value]) => add(array, value, false)?,
        (Function::ArrayPrepend, [value, Value::Array(array)]) => add(array, value, true)?,
        (Function::ArrayConcat, [Value::Array(left), Value::Array(right)]) => concatenated(left, right)?,
        (Function::ArrayConcat, [array @ Value::Array(_), Value::Null] | [Value::Null, array]) => {
            array.clone()
        }
        (Function::ArrayFill, [Value::Array(empty), value, lengths, rest @ ..]) => {
            fill(empty.element, value, lengths, rest.first())?
        }
        (Function::ArrayFlat, [Value::Array(array)]) if array.is_plain() => Value::Array(array.clone()),
        (Function::ArrayFlat, [Value::Array(array)]) => Value::array(array.element, array.values.clone()),
        (Function::ArrayOfArrays, [Value::Array(empty), parts @ ..]) => of_arrays(empty.element, parts)?,
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

/// NULL if there is no such dimension, as in an empty array.
fn dimension_number(function: Function, array: &ArrayValue, dimension: i64) -> Value {
    let dimensions = array.dimensions();
    let place = usize::try_from(dimension - 1).ok();
    let Some(dimension) = place.and_then(|place| dimensions.get(place)) else { return Value::Null };
    Value::Integer(match function {
        Function::ArrayLower => dimension.lower,
        Function::ArrayUpper => dimension.upper(),
        _ => dimension.length,
    })
}

/// `[1:2][1:3]`.
fn bounds(array: &ArrayValue) -> Value {
    let show = |one: &Dimension| format!("[{}:{}]", one.lower, one.upper());
    match array.dimensions().iter().map(show).collect::<String>() {
        none if none.is_empty() => Value::Null,
        shown => Value::text(shown),
    }
}

/// The parts of a text between separators, or its characters if there is no separator.
fn split(text: &str, separator: Option<&str>, null: Option<&str>) -> Result<Value> {
    let parts: Vec<&str> = match separator {
        _ if text.is_empty() => Vec::new(),
        None => text.char_indices().map(|(at, one)| &text[at..at + one.len_utf8()]).collect(),
        Some("") => vec![text],
        Some(separator) => text.split(separator).collect(),
    };
    memory::check(parts.len().saturating_mul(size_of::<Value>()))?;
    let value = |part: &str| if null == Some(part) { Value::Null } else { Value::text(part) };
    Ok(Value::array(ArrayElement::Text, parts.into_iter().map(value).collect()))
}

/// Adds an element at one end. The first subscript does not change.
fn add(array: &ArrayValue, value: &Value, is_first: bool) -> Result<Value> {
    memory::check(array.heap_bytes() + value.heap_bytes())?;
    if array.is_plain() {
        let mut values = array.values.clone();
        values.insert(if is_first { 0 } else { values.len() }, value.clone());
        return Ok(Value::array(array.element, values));
    }
    let dimensions = array.dimensions();
    let [dimension] = &*dimensions else {
        let message = "argument must be empty or one-dimensional array";
        return Err(Error::input(sqlstate::DATA_EXCEPTION, message));
    };
    let out_of_range = || Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range");
    let added = if is_first { dimension.lower.checked_sub(1) } else { dimension.upper().checked_add(1) };
    let grown = set_element(array, value, &[added.ok_or_else(out_of_range)?])?;
    let Value::Array(grown) = grown else { return Ok(grown) };
    let length = dimension.length + 1;
    let dimensions = [Dimension { lower: dimension.lower, length }];
    Ok(Value::shaped_array(array.element, &dimensions, grown.values.clone()))
}

/// One array after the other. Either may be an element of the other's first dimension.
fn concatenated(left: &ArrayValue, right: &ArrayValue) -> Result<Value> {
    let (own, other) = (left.dimensions(), right.dimensions());
    memory::check(left.heap_bytes() + right.heap_bytes())?;
    if own.is_empty() || other.is_empty() {
        let kept = if other.is_empty() { left } else { right };
        return Ok(Value::shaped_array(left.element, &kept.dimensions(), kept.values.clone()));
    }
    let incompatible =
        |detail: String| subscript_error("cannot concatenate incompatible arrays").with_detail(detail);
    let what = match own.len().abs_diff(other.len()) {
        0 => "element dimensions",
        1 => "dimensions",
        _ => {
            let (own, other) = (own.len(), other.len());
            return Err(incompatible(format!(
                "Arrays of {own} and {other} dimensions are not compatible for concatenation."
            )));
        }
    };
    let deepest = own.len().max(other.len());
    let inner = |of: &[Dimension]| of[of.len() - (deepest - 1)..].to_vec();
    if inner(&own) != inner(&other) {
        return Err(incompatible(format!(
            "Arrays with differing {what} are not compatible for concatenation."
        )));
    }
    let parts = |of: &[Dimension]| if of.len() == deepest { of[0].length } else { 1 };
    let mut dimensions = if own.len() >= other.len() { own.to_vec() } else { other.to_vec() };
    dimensions[0].length = parts(&own).saturating_add(parts(&other));
    element_count(&dimensions)?;
    let values = left.values.iter().chain(&right.values).cloned().collect();
    Ok(Value::shaped_array(left.element, &dimensions, values))
}

/// `array_fill(value, lengths [, lower bounds])`.
fn fill(element: ArrayElement, value: &Value, lengths: &Value, lowers: Option<&Value>) -> Result<Value> {
    let null = |message: &str| Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, message);
    let numbers = |array: &Value, what: &str| -> Result<Vec<i32>> {
        let Value::Array(array) = array else {
            return Err(null("dimension array or low bound array cannot be null"));
        };
        if array.dimensions().len() > 1 {
            let detail = format!("{what} array must be one dimensional.");
            return Err(subscript_error("wrong number of array subscripts").with_detail(detail));
        }
        let number = |value: &Value| value.as_i64().and_then(|number| i32::try_from(number).ok());
        let numbers: Option<Vec<i32>> = array.values.iter().map(number).collect();
        numbers.ok_or_else(|| null("dimension values cannot be null"))
    };
    let lengths = numbers(lengths, "Dimension")?;
    let lowers = match lowers {
        Some(lowers) => numbers(lowers, "Low bound")?,
        None => vec![1; lengths.len()],
    };
    if lengths.len() > MOST_DIMENSIONS {
        return Err(too_many_dimensions(lengths.len()));
    }
    if lowers.len() != lengths.len() {
        let detail = "Low bound array has different size than dimensions array.";
        return Err(subscript_error("wrong number of array subscripts").with_detail(detail));
    }
    let pairs = lengths.iter().zip(&lowers);
    let dimensions: Vec<Dimension> = pairs.map(|(&length, &lower)| Dimension { lower, length }).collect();
    let is_negative = lengths.iter().any(|length| *length < 0);
    if is_negative {
        let most = crate::array_value::MOST_ELEMENTS;
        let message = format!("array size exceeds the maximum allowed ({most})");
        return Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let count = element_count(&dimensions)?;
    memory::check((size_of::<Value>() + value.heap_bytes()).saturating_mul(count))?;
    Ok(Value::shaped_array(element, &dimensions, vec![value.clone(); count]))
}

/// `array_agg` of arrays.
///
/// # Errors
/// 22004 and 2202E: all must have elements, and the same dimensions.
pub fn accumulated(element: ArrayElement, parts: &[Value]) -> Result<Value> {
    let mut first: Option<&ArrayValue> = None;
    for part in parts {
        let Value::Array(array) = part else {
            return Err(Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays"));
        };
        if array.values.is_empty() {
            return Err(subscript_error("cannot accumulate empty arrays"));
        }
        if *array.dimensions() != *first.get_or_insert(array).dimensions() {
            return Err(subscript_error("cannot accumulate arrays of different dimensionality"));
        }
    }
    of_arrays(element, parts)
}

/// `ARRAY[array, ...]`: arrays of the same dimensions become one with one dimension more.
fn of_arrays(element: ArrayElement, parts: &[Value]) -> Result<Value> {
    let mut inner: Option<Vec<Dimension>> = None;
    let mut has_empty = false;
    let mut values = Vec::new();
    let unlike =
        || subscript_error("multidimensional arrays must have array expressions with matching dimensions");
    for part in parts {
        let dimensions = match part {
            Value::Array(array) => array.dimensions(),
            _ => Dimensions::Stored(&[]),
        };
        let Value::Array(array) = part else {
            has_empty = true;
            continue;
        };
        if dimensions.is_empty() {
            has_empty = true;
            continue;
        }
        match &inner {
            Some(known) if *known != *dimensions => return Err(unlike()),
            Some(_) => {}
            None if dimensions.len() == MOST_DIMENSIONS => {
                return Err(too_many_dimensions(MOST_DIMENSIONS + 1));
            }
            None => inner = Some(dimensions.to_vec()),
        }
        memory::check(array.heap_bytes())?;
        values.extend(array.values.iter().cloned());
    }
    let Some(inner) = inner else { return Ok(Value::array(element, Vec::new())) };
    if has_empty {
        return Err(unlike());
    }
    let length = i32::try_from(parts.len()).unwrap_or(i32::MAX);
    let mut dimensions = vec![Dimension { lower: 1, length }];
    dimensions.extend(inner);
    element_count(&dimensions)?;
    Ok(Value::shaped_array(element, &dimensions, values))
}

/// `wanted = ANY (array)` for a sorted array.
fn any_sorted(wanted: &Value, values: &[Value]) -> Value {
    let (values, has_null) = match values.split_last() {
        Some((Value::Null, others)) => (others, true),
        _ => (values, false),
    };
    if wanted.is_null() {
        return if values.is_empty() && !has_null { Value::Boolean(false) } else { Value::Null };
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
