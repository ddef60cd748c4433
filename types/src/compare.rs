//! Comparison of values of one type.
//!
//! [`total`] is the order of ORDER BY, indexes, min and max: floating-point NaN equals itself and is greater
//! than all other numbers, and text compares by its bytes (PostgreSQL's "C" collation, whatever the locale).
//! [`equal`] and [`order`] add SQL's third truth value. All follow PostgreSQL's operators:
//! `float8_cmp_internal` for NaN, `bpcharcmp` for blanks.
//!
//! A value does not know whether it is a `char(n)`, whose trailing blanks do not count: use [`char_order`]
//! for those, or compare the results of [`Function::CharToText`](super::function::Function::CharToText).

use std::cmp::Ordering;

use crate::key::trim_blanks;
use crate::value::composite::{CompositeField, RowValue};
use crate::value::{ArrayElement, ArrayValue, Dimension, SqlType, Value};
use crate::{json, numeric};

/// The order of two values of one type. NULLs are equal and greater than all other values (callers that sort
/// decide about NULLS FIRST before they ask). Values of different types are in no useful order, but always in
/// the same one.
pub fn total(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Integer(a), Value::Integer(b)) | (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::BigInt(a), Value::BigInt(b))
        | (Value::Time(a), Value::Time(b))
        | (Value::Timestamp(a), Value::Timestamp(b))
        | (Value::TimestampTz(a), Value::TimestampTz(b)) => a.cmp(b),
        (Value::SmallInt(a), Value::SmallInt(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::Numeric(a), Value::Numeric(b)) => numeric::compare(a, b),
        (Value::Double(a), Value::Double(b)) => float_order(*a, *b),
        (Value::Real(a), Value::Real(b)) => float_order(f64::from(*a), f64::from(*b)),
        (Value::Bytea(a), Value::Bytea(b)) => a.cmp(b),
        (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
        (Value::Interval(a), Value::Interval(b)) => a.order(*b),
        (Value::Array(a), Value::Array(b)) => array_order(a, b),
        (Value::Oid(a), Value::Oid(b)) => a.cmp(b),
        (Value::Reference(a), Value::Reference(b)) => a.oid.cmp(&b.oid),
        (Value::Jsonb(a), Value::Jsonb(b)) => json::compare(a.root(), b.root()),
        (Value::Enum(a), Value::Enum(b)) => a.position.cmp(&b.position),
        (Value::Network(a), Value::Network(b)) => a.order(*b),
        (Value::MacAddr(a), Value::MacAddr(b)) => a.cmp(b),
        (Value::MacAddr8(a), Value::MacAddr8(b)) => a.cmp(b),
        (Value::Extension(a), Value::Extension(b)) => a.order(b),
        (Value::Row(a), Value::Row(b)) => row_order(a, b),
        (Value::TimeTz(a), Value::TimeTz(b)) => a.cmp(b),
        // The type has no order, but its texts have one.
        (Value::Json(a), Value::Json(b)) => a.cmp(b),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

/// Element by element, NULL last; then by length, dimensions, and lower bounds.
fn array_order(left: &ArrayValue, right: &ArrayValue) -> Ordering {
    let is_char = left.element == ArrayElement::Char;
    let one = |(left, right): (&Value, &Value)| match (left, right) {
        (Value::Text(a), Value::Text(b)) if is_char => char_order(a.as_bytes(), b.as_bytes()),
        (left, right) => total(left, right),
    };
    let pairs = left.values.iter().zip(&right.values);
    if let Some(unequal) = pairs.map(one).find(|order| order.is_ne()) {
        return unequal;
    }
    let by_length = left.values.len().cmp(&right.values.len());
    if by_length.is_ne() || (left.is_plain() && right.is_plain()) {
        return by_length;
    }
    let (left, right) = (left.dimensions(), right.dimensions());
    let lengths = |of: &[Dimension]| of.iter().map(|one| one.length).collect::<Vec<_>>();
    let lowers = |of: &[Dimension]| of.iter().map(|one| one.lower).collect::<Vec<_>>();
    let by_dimensions = left.len().cmp(&right.len()).then_with(|| lengths(&left).cmp(&lengths(&right)));
    by_dimensions.then_with(|| lowers(&left).cmp(&lowers(&right)))
}

/// Field by field, NULL last.
fn row_order(left: &RowValue, right: &RowValue) -> Ordering {
    let one = |((field, left), right): ((&CompositeField, &Value), &Value)| match (left, right) {
        (Value::Text(a), Value::Text(b)) if matches!(field.sql_type, SqlType::Char(_)) => {
            char_order(a.as_bytes(), b.as_bytes())
        }
        (left, right) => total(left, right),
    };
    let pairs = left.row_type.fields().iter().zip(&left.fields).zip(&right.fields);
    let unequal = pairs.map(one).find(|order| order.is_ne());
    unequal.unwrap_or_else(|| left.fields.len().cmp(&right.fields.len()))
}

fn float_order(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// NULL last; otherwise by type.
fn rank(value: &Value) -> u32 {
    value.sql_type().map_or(u32::MAX, SqlType::oid)
}

/// The order of two values of `char(n)`: trailing blanks do not count.
pub fn char_order(left: &[u8], right: &[u8]) -> Ordering {
    trim_blanks(left).cmp(trim_blanks(right))
}

/// The order in SQL's logic: None when either is NULL.
pub fn order(left: &Value, right: &Value) -> Option<Ordering> {
    if left.is_null() || right.is_null() { None } else { Some(total(left, right)) }
}

/// `=` in SQL's logic: None (unknown) when either is NULL.
pub fn equal(left: &Value, right: &Value) -> Option<bool> {
    order(left, right).map(Ordering::is_eq)
}

/// `IS NOT DISTINCT FROM`: NULL equals NULL and nothing else.
pub fn not_distinct(left: &Value, right: &Value) -> bool {
    match (left.is_null(), right.is_null()) {
        (false, false) => total(left, right).is_eq(),
        (left_null, right_null) => left_null == right_null,
    }
}

#[cfg(test)]
mod tests;
