//! Elements and slices of arrays: reading and replacing.
//!
//! Subscripts are passed as arguments after the array. A slice has two for each dimension, and a number says
//! which of them are present, because an omitted one is not NULL: bit 2d for the lower bound of dimension d,
//! bit 2d + 1 for the upper one.
//!
//! Reference: `array_get_element`, `array_set_element`, `array_get_slice` and `array_set_slice` of
//! PostgreSQL 15.

use super::{Function, mismatch};
use crate::array::{element_count, too_many_dimensions};
use crate::collect::{self, List};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;
use crate::value::array_value::MOST_DIMENSIONS;
use crate::value::{ArrayValue, Dimension, Value};

pub(super) fn subscript_error(message: &str) -> Error {
    Error::input(sqlstate::ARRAY_SUBSCRIPT_ERROR, message)
}

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::ArraySubscript, [Value::Array(array), subscripts @ ..]) => element(array, subscripts),
        (Function::ArraySlice, [Value::Array(array), Value::Integer(written), bounds @ ..]) => {
            slice(array, *written, bounds)
        }
        (Function::ArraySubscript | Function::ArraySlice, _) => Ok(Value::Null),
        (Function::ArraySet, [Value::Array(array), value, subscripts @ ..]) => {
            set_element(array, value, &assigned(subscripts)?)
        }
        (Function::ArraySetSlice, [Value::Array(array), source, Value::Integer(written), bounds @ ..]) => {
            let bounds = bounds_of(*written, bounds);
            if bounds.iter().any(|(lower, upper)| *lower == Bound::Null || *upper == Bound::Null) {
                return Err(null_subscript());
            }
            match source {
                Value::Array(source) => set_slice(array, source, &bounds),
                _ => Ok(arguments[0].clone()),
            }
        }
        _ => Err(mismatch(function, arguments)),
    }
}

fn null_subscript() -> Error {
    Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, "array subscript in assignment must not be null")
}

/// Subscripts of an assignment.
fn assigned(subscripts: &[Value]) -> Result<Vec<i32>> {
    let one = |value: &Value| value.as_i64().and_then(|number| i32::try_from(number).ok());
    // Bounded: by the number of dimensions.
    subscripts.iter().map(|value| one(value).ok_or_else(null_subscript)).collect()
}

fn element(array: &ArrayValue, subscripts: &[Value]) -> Result<Value> {
    let dimensions = array.dimensions();
    if dimensions.len() != subscripts.len() {
        return Ok(Value::Null);
    }
    let mut place = 0;
    for (dimension, subscript) in dimensions.iter().zip(subscripts) {
        let Some(subscript) = subscript.as_i64() else { return Ok(Value::Null) };
        let offset = subscript.saturating_sub(i64::from(dimension.lower));
        if !(0..i64::from(dimension.length)).contains(&offset) {
            return Ok(Value::Null);
        }
        place = place * dimension.length as usize + offset as usize;
    }
    array.values.get(place).map_or(Ok(Value::Null), collect::values::copy)
}

/// A bound of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    LeftOut,
    Null,
    At(i32),
}

impl Bound {
    fn or(self, otherwise: i32) -> i32 {
        match self {
            Bound::At(bound) => bound,
            Bound::LeftOut | Bound::Null => otherwise,
        }
    }
}

fn bounds_of(written: i32, values: &[Value]) -> Vec<(Bound, Bound)> {
    let bound = |number: usize| match values.get(number) {
        _ if written >> number & 1 == 0 => Bound::LeftOut,
        Some(Value::Integer(bound)) => Bound::At(*bound),
        _ => Bound::Null,
    };
    // Bounded: by the number of dimensions.
    (0..values.len() / 2).map(|dimension| (bound(2 * dimension), bound(2 * dimension + 1))).collect()
}

fn slice(array: &ArrayValue, written: i32, values: &[Value]) -> Result<Value> {
    let bounds = bounds_of(written, values);
    if bounds.iter().any(|(lower, upper)| *lower == Bound::Null || *upper == Bound::Null) {
        return Ok(Value::Null);
    }
    let dimensions = array.dimensions();
    let nothing = || Ok(Value::array(array.element, Vec::new()));
    if dimensions.is_empty() || dimensions.len() < bounds.len() {
        return nothing();
    }
    // Bounded: by the number of dimensions.
    let mut ranges = Vec::with_capacity(dimensions.len());
    for (at, dimension) in dimensions.iter().enumerate() {
        let (lower, upper) = bounds.get(at).copied().unwrap_or((Bound::LeftOut, Bound::LeftOut));
        let lower = lower.or(dimension.lower).max(dimension.lower);
        let upper = upper.or(dimension.upper()).min(dimension.upper());
        if lower > upper {
            return nothing();
        }
        ranges.push(Dimension { lower, length: upper - lower + 1 });
    }
    let mut values = List::default();
    each_place(&dimensions, &ranges, &mut |place| values.push_copy(&array.values[place]))?;
    let sliced: Vec<Dimension> =
        // Bounded: by the number of dimensions.
        ranges.iter().map(|range| Dimension { lower: 1, length: range.length }).collect();
    Ok(Value::shaped_array(array.element, &sliced, values.into_vec()))
}

/// Visits the positions of the elements whose subscripts lie in these ranges, in order.
fn each_place(
    dimensions: &[Dimension],
    ranges: &[Dimension],
    visit: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    fn walk(
        rest: &[Dimension],
        ranges: &[Dimension],
        base: usize,
        visit: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let ([dimension, inner @ ..], [range, inner_ranges @ ..]) = (rest, ranges) else {
            return visit(base);
        };
        for subscript in range.lower..=range.upper() {
            let offset = (subscript - dimension.lower) as usize;
            walk(inner, inner_ranges, base * dimension.length as usize + offset, visit)?;
        }
        Ok(())
    }
    walk(dimensions, ranges, 0, visit)
}

/// `array[subscripts] := value`. An array of one dimension grows up to the subscript.
pub(super) fn set_element(array: &ArrayValue, value: &Value, subscripts: &[i32]) -> Result<Value> {
    if subscripts.len() > MOST_DIMENSIONS {
        return Err(too_many_dimensions(subscripts.len()));
    }
    // Bounded: by the number of dimensions.
    let mut dimensions = array.dimensions().to_vec();
    if dimensions.is_empty() {
        // Bounded: by the number of dimensions.
        dimensions = subscripts.iter().map(|&lower| Dimension { lower, length: 1 }).collect();
        element_count(&dimensions)?;
        return Ok(Value::shaped_array(array.element, &dimensions, vec![collect::values::copy(value)?]));
    }
    if dimensions.len() != subscripts.len() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    let mut values = collect::values::copy_all(&array.values)?;
    if let ([dimension], &[subscript]) = (dimensions.as_mut_slice(), subscripts) {
        extend(dimension, &mut values, (subscript, subscript))?;
    }
    let mut place = 0;
    for (dimension, subscript) in dimensions.iter().zip(subscripts) {
        let offset = i64::from(*subscript) - i64::from(dimension.lower);
        if !(0..i64::from(dimension.length)).contains(&offset) {
            return Err(subscript_error("array subscript out of range"));
        }
        place = place * dimension.length as usize + offset as usize;
    }
    values[place] = collect::values::copy(value)?;
    Ok(Value::shaped_array(array.element, &dimensions, values))
}

/// Fills the only dimension with NULLs until it contains these subscripts.
fn extend(dimension: &mut Dimension, values: &mut Vec<Value>, (lower, upper): (i32, i32)) -> Result<()> {
    let first = i64::from(lower.min(dimension.lower));
    let last = i64::from(upper.max(dimension.upper()));
    let length = i32::try_from(last - first + 1).unwrap_or(i32::MAX);
    let extended = Dimension { lower: first as i32, length };
    let count = element_count(&[extended])?;
    let before = (i64::from(dimension.lower) - first) as usize;
    if count > values.len() {
        // What is put before the first one exists twice for a moment.
        memory::check_growth::<Value>(values.capacity(), count.saturating_add(before))?;
        guest::spend_for(count)?;
        if before > 0 {
            values.splice(0..0, std::iter::repeat_n(Value::Null, before));
        }
        values.resize(count, Value::Null);
    }
    *dimension = extended;
    Ok(())
}

fn set_slice(array: &ArrayValue, source: &ArrayValue, bounds: &[(Bound, Bound)]) -> Result<Value> {
    if bounds.len() > MOST_DIMENSIONS {
        return Err(too_many_dimensions(bounds.len()));
    }
    // Bounded: by the number of dimensions.
    let mut dimensions = array.dimensions().to_vec();
    if dimensions.is_empty() {
        return new_slice(array, source, bounds);
    }
    if dimensions.len() < bounds.len() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    let mut values = collect::values::copy_all(&array.values)?;
    let is_single = dimensions.len() == 1;
    // Bounded: by the number of dimensions.
    let mut ranges = Vec::with_capacity(dimensions.len());
    for (at, dimension) in dimensions.iter().enumerate() {
        let (lower, upper) = bounds.get(at).copied().unwrap_or((Bound::LeftOut, Bound::LeftOut));
        let (lower, upper) = (lower.or(dimension.lower), upper.or(dimension.upper()));
        if lower > upper {
            return Err(subscript_error("upper bound cannot be less than lower bound"));
        }
        if !is_single && (lower < dimension.lower || upper > dimension.upper()) {
            return Err(subscript_error("array subscript out of range"));
        }
        let length = i32::try_from(i64::from(upper) - i64::from(lower) + 1).unwrap_or(i32::MAX);
        ranges.push(Dimension { lower, length });
    }
    if element_count(&ranges)? > source.values.len() {
        return Err(subscript_error("source array too small"));
    }
    if let ([dimension], [range]) = (dimensions.as_mut_slice(), ranges.as_slice()) {
        extend(dimension, &mut values, (range.lower, range.upper()))?;
    }
    let mut next = source.values.iter();
    each_place(&dimensions, &ranges, &mut |place| {
        if let Some(value) = next.next() {
            guest::spend(1)?;
            values[place] = collect::values::copy(value)?;
        }
        Ok(())
    })?;
    Ok(Value::shaped_array(array.element, &dimensions, values))
}

/// A slice of an empty array: the result has only the assigned elements.
fn new_slice(array: &ArrayValue, source: &ArrayValue, bounds: &[(Bound, Bound)]) -> Result<Value> {
    // Bounded: by the number of dimensions.
    let mut dimensions = Vec::with_capacity(bounds.len());
    for bound in bounds {
        let (Bound::At(lower), Bound::At(upper)) = bound else {
            let detail = "When assigning to a slice of an empty array value, slice boundaries must be fully specified.";
            return Err(
                subscript_error("array slice subscript must provide both boundaries").with_detail(detail)
            );
        };
        let length = i64::from(*upper) - i64::from(*lower) + 1;
        dimensions
            .push(Dimension { lower: *lower, length: i32::try_from(length.max(0)).unwrap_or(i32::MAX) });
    }
    let count = element_count(&dimensions)?;
    if source.values.len() < count {
        return Err(subscript_error("source array too small"));
    }
    Ok(Value::shaped_array(array.element, &dimensions, collect::values::copy_all(&source.values[..count])?))
}
