//! Functions of arrays: properties, construction and search. The compiler knows their types. They have no
//! names in the table, because their result types depend on the type of the elements.
//!
//! Reference: `array_userfuncs.c` and `arrayfuncs.c` of PostgreSQL 15.

use super::array_subscript::{set_element, subscript_error};
use super::{Function, mismatch};
use crate::array::{element_count, too_many_dimensions};
use crate::collect::{self, List, Text};
use crate::compare;
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::text;
use crate::value::array_value::{Dimensions, MOST_DIMENSIONS};
use crate::value::{ArrayElement, ArrayValue, Dimension, Value};

/// Comparisons between two reports of work.
pub(super) const STRETCH: usize = 1024;
/// Bytes of text that are compared in about ten nanoseconds.
const COMPARED_PER_UNIT: usize = 128;

/// The work of comparing a value with another.
pub(super) fn comparison_units(value: &Value) -> usize {
    let bytes = match value {
        Value::Array(array) => array.heap_bytes(),
        other => other.heap_bytes(),
    };
    1 + bytes / COMPARED_PER_UNIT
}

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
    let mut out = Text::default();
    let mut is_first = true;
    for value in &array.values {
        if value.is_null() && null.is_none() {
            guest::spend(1)?;
            continue;
        }
        if !std::mem::take(&mut is_first) {
            out.push_str(separator)?;
        }
        match value {
            Value::Null => out.push_str(null.unwrap_or_default())?,
            Value::Boolean(truth) => out.push(if *truth { 't' } else { 'f' })?,
            Value::Text(text) => out.push_str(text)?,
            value => out.push_str(&text::shown(value, environment.text_form())?)?,
        }
    }
    Ok(Value::Text(out.finish()))
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
        (Function::ArrayFlat, [Value::Array(array)]) => {
            Value::array(array.element, collect::values::copy_all(&array.values)?)
        }
        (Function::ArrayOfArrays, [Value::Array(empty), parts @ ..]) => of_arrays(empty.element, parts)?,
        (Function::EqualsAny, [wanted, Value::Array(array)]) => any(wanted, &array.values)?,
        (Function::EqualsSorted, [wanted, Value::Array(array)]) => any_sorted(wanted, &array.values),
        (Function::EqualsAny | Function::EqualsSorted, _) => Value::Null,
        (Function::ArrayDistinct, [Value::Array(array)]) => {
            let mut values = collect::values::copies(array.values.iter().filter(|value| !value.is_null()))?;
            collect::sort(&mut values, compare::total)?;
            values.dedup_by(|a, b| compare::total(a, b).is_eq());
            Value::array(array.element, values)
        }
        _ => return Err(mismatch(function, arguments)),
    })
}

/// NULL if there is no such dimension, as in an empty array.
fn dimension_number(function: Function, array: &ArrayValue, dimension: i64) -> Value {
    let dimensions = array.dimensions();
    let place = usize::try_from(dimension.saturating_sub(1)).ok();
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
    // Bounded: by the number of dimensions.
    match array.dimensions().iter().map(show).collect::<String>() {
        none if none.is_empty() => Value::Null,
        shown => Value::text(shown),
    }
}

/// The parts of a text between separators, or its characters if there is no separator.
fn split(text: &str, separator: Option<&str>, null: Option<&str>) -> Result<Value> {
    let mut values = List::default();
    let mut add = |part: &str| match null == Some(part) {
        true => values.push(Value::Null),
        false => values.push_text(part),
    };
    match separator {
        _ if text.is_empty() => {}
        None => text.char_indices().try_for_each(|(at, one)| add(&text[at..at + one.len_utf8()]))?,
        Some("") => add(text)?,
        Some(separator) => text.split(separator).try_for_each(&mut add)?,
    }
    Ok(Value::array(ArrayElement::Text, values.into_vec()))
}

/// Adds an element at one end. The first subscript does not change.
fn add(array: &ArrayValue, value: &Value, is_first: bool) -> Result<Value> {
    if array.is_plain() {
        let (before, after) = if is_first { (Some(value), None) } else { (None, Some(value)) };
        let values = collect::values::copies(before.into_iter().chain(&array.values).chain(after))?;
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
    Ok(Value::shaped_array(array.element, &dimensions, collect::values::copy_all(&grown.values)?))
}

/// One array after the other. Either may be an element of the other's first dimension.
fn concatenated(left: &ArrayValue, right: &ArrayValue) -> Result<Value> {
    let (own, other) = (left.dimensions(), right.dimensions());
    if own.is_empty() || other.is_empty() {
        let kept = if other.is_empty() { left } else { right };
        return Ok(Value::shaped_array(
            left.element,
            &kept.dimensions(),
            collect::values::copy_all(&kept.values)?,
        ));
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
    // Bounded: by the number of dimensions.
    let inner = |of: &[Dimension]| of[of.len() - (deepest - 1)..].to_vec();
    if inner(&own) != inner(&other) {
        return Err(incompatible(format!(
            "Arrays with differing {what} are not compatible for concatenation."
        )));
    }
    let parts = |of: &[Dimension]| if of.len() == deepest { of[0].length } else { 1 };
    // Bounded: by the number of dimensions.
    let mut dimensions = if own.len() >= other.len() { own.to_vec() } else { other.to_vec() };
    dimensions[0].length = parts(&own).saturating_add(parts(&other));
    element_count(&dimensions)?;
    let values = collect::values::copies(left.values.iter().chain(&right.values))?;
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
        let null = || null("dimension values cannot be null");
        collect::try_list(array.values.iter().map(|value| number(value).ok_or_else(null)))
    };
    let lengths = numbers(lengths, "Dimension")?;
    let lowers = match lowers {
        Some(lowers) => numbers(lowers, "Low bound")?,
        // Bounded: by the number of dimensions.
        None => vec![1; lengths.len().min(MOST_DIMENSIONS + 1)],
    };
    if lengths.len() > MOST_DIMENSIONS {
        return Err(too_many_dimensions(lengths.len()));
    }
    if lowers.len() != lengths.len() {
        let detail = "Low bound array has different size than dimensions array.";
        return Err(subscript_error("wrong number of array subscripts").with_detail(detail));
    }
    let pairs = lengths.iter().zip(&lowers);
    // Bounded: by the number of dimensions.
    let dimensions: Vec<Dimension> = pairs.map(|(&length, &lower)| Dimension { lower, length }).collect();
    let is_negative = lengths.iter().any(|length| *length < 0);
    if is_negative {
        let most = crate::value::array_value::MOST_ELEMENTS;
        let message = format!("array size exceeds the maximum allowed ({most})");
        return Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let count = element_count(&dimensions)?;
    Ok(Value::shaped_array(element, &dimensions, collect::values::copies(std::iter::repeat_n(value, count))?))
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
    let mut values = List::default();
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
            // Bounded: by the number of dimensions.
            None => inner = Some(dimensions.to_vec()),
        }
        array.values.iter().try_for_each(|value| values.push_copy(value))?;
    }
    let Some(inner) = inner else { return Ok(Value::array(element, Vec::new())) };
    if has_empty {
        return Err(unlike());
    }
    let length = i32::try_from(parts.len()).unwrap_or(i32::MAX);
    let mut dimensions = vec![Dimension { lower: 1, length }];
    dimensions.extend(inner);
    element_count(&dimensions)?;
    Ok(Value::shaped_array(element, &dimensions, values.into_vec()))
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
fn any(wanted: &Value, values: &[Value]) -> Result<Value> {
    let mut has_null = false;
    for stretch in values.chunks(STRETCH) {
        guest::spend_for(stretch.len().saturating_mul(comparison_units(wanted)))?;
        for value in stretch {
            match compare::equal(wanted, value) {
                Some(true) => return Ok(Value::Boolean(true)),
                Some(false) => {}
                None => has_null = true,
            }
        }
    }
    Ok(if has_null { Value::Null } else { Value::Boolean(false) })
}
