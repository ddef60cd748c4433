//! Functions and operators of hstore.
//!
//! Reference: `hstore_op.c` and `hstore_io.c` of PostgreSQL's contrib/hstore.

use super::{Function, mismatch};
use crate::collect::List;
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::extension::ExtensionValue;
use crate::extension::hstore::{self, Pair, Pairs};
use crate::extension_cast::{from_array, hstore_of, json};
use crate::value::{ArrayElement, ArrayValue, Dimension, Value};

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::HstoreOfPair, [key, value]) => of_pair(key, value),
        (Function::HstoreOfArrays, [keys, values]) => of_arrays(keys, values),
        (_, [Value::Array(array)]) => from_array(array).map(Value::Extension),
        (_, [Value::Extension(own)]) => of_one(function, own),
        (_, [Value::Extension(own), Value::Text(key)]) => with_key(function, own, key),
        (_, [Value::Extension(own), Value::Array(keys)]) => with_keys(function, own, keys),
        (_, [Value::Extension(own), Value::Extension(other)]) => of_two(function, own, other),
        _ => Err(mismatch(function, arguments)),
    }
}

/// Text that is part of a value.
fn text(bytes: &[u8]) -> Value {
    Value::text(String::from_utf8_lossy(bytes))
}

fn text_or_null(bytes: Option<&[u8]>) -> Value {
    bytes.map_or(Value::Null, text)
}

fn texts(values: List<Value>) -> Value {
    Value::array(ArrayElement::Text, values.into_vec())
}

/// The value of the pairs that a test keeps.
fn kept<'a>(own: &'a ExtensionValue, keeps: impl Fn(&Pair<'a>) -> bool) -> Result<Value> {
    let mut pairs = List::default();
    pairs.extend(Pairs::of(own.content()).filter(keeps))?;
    hstore_of(pairs).map(Value::Extension)
}

fn of_pair(key: &Value, value: &Value) -> Result<Value> {
    let Some(key) = key.as_str() else { return Ok(Value::Null) };
    let mut pairs = List::default();
    pairs.push((key, value.as_str()))?;
    hstore_of(pairs).map(Value::Extension)
}

/// Of an array of keys, and one of as many values or NULL for values that all are.
fn of_arrays(keys: &Value, values: &Value) -> Result<Value> {
    let Value::Array(keys) = keys else { return Ok(Value::Null) };
    let wrong = |message| Err(Error::input(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
    let is_flat = |array: &ArrayValue| array.dimensions().len() <= 1;
    let values = match values {
        Value::Array(values) => Some(values),
        _ => None,
    };
    if !is_flat(keys) || !values.is_none_or(|values| is_flat(values)) {
        return wrong("wrong number of array subscripts");
    }
    if values.is_some_and(|values| *values.dimensions() != *keys.dimensions()) {
        return wrong("arrays must have same bounds");
    }
    let mut pairs = List::default();
    for (at, key) in keys.values.iter().enumerate() {
        let key = key.as_str().ok_or_else(hstore::null_key)?;
        pairs.push((key, values.and_then(|values| values.values[at].as_str())))?;
    }
    hstore_of(pairs).map(Value::Extension)
}

fn of_one(function: Function, own: &ExtensionValue) -> Result<Value> {
    let pairs = Pairs::of(own.content());
    let mut values = List::default();
    Ok(match function {
        Function::HstoreKeys => {
            values.extend(pairs.map(|(key, _)| text(key)))?;
            texts(values)
        }
        Function::HstoreValues => {
            values.extend(pairs.map(|(_, value)| text_or_null(value)))?;
            texts(values)
        }
        Function::HstoreToArray => {
            values.extend(pairs.flat_map(|(key, value)| [text(key), text_or_null(value)]))?;
            texts(values)
        }
        Function::HstoreToMatrix => {
            values.extend(pairs.flat_map(|(key, value)| [text(key), text_or_null(value)]))?;
            let length = (values.len() / 2) as i32;
            let shape = [Dimension { lower: 1, length }, Dimension { lower: 1, length: 2 }];
            Value::shaped_array(ArrayElement::Text, &shape, values.into_vec())
        }
        Function::HstoreToJson => json(own, false)?,
        Function::HstoreToJsonLoose => json(own, true)?,
        _ => return Err(mismatch(function, &[Value::Extension(own.clone())])),
    })
}

fn with_key(function: Function, own: &ExtensionValue, key: &str) -> Result<Value> {
    let found = Pairs::of(own.content()).value_of(key.as_bytes());
    Ok(match function {
        Function::HstoreGet => text_or_null(found.flatten()),
        Function::HstoreExists => Value::Boolean(found.is_some()),
        Function::HstoreDefined => Value::Boolean(found.flatten().is_some()),
        Function::HstoreDelete => return kept(own, |(other, _)| *other != key.as_bytes()),
        _ => return Err(mismatch(function, &[Value::Extension(own.clone()), Value::text(key)])),
    })
}

/// Of several keys. NULL is none.
fn with_keys(function: Function, own: &ExtensionValue, array: &ArrayValue) -> Result<Value> {
    let found = |key: &str| Pairs::of(own.content()).value_of(key.as_bytes());
    let mut keys = array.values.iter().filter_map(Value::as_str);
    Ok(match function {
        Function::HstoreGet => {
            let mut values = List::default();
            let one = |key: &Value| text_or_null(key.as_str().and_then(found).flatten());
            values.extend(array.values.iter().map(one))?;
            Value::shaped_array(ArrayElement::Text, &array.dimensions(), values.into_vec())
        }
        Function::HstoreExistsAny => Value::Boolean(keys.any(|key| found(key).is_some())),
        Function::HstoreExistsAll => Value::Boolean(keys.all(|key| found(key).is_some())),
        Function::HstoreSlice => {
            let mut pairs = List::default();
            pairs.extend(keys.filter_map(|key| Some((key.as_bytes(), found(key)?))))?;
            Value::Extension(hstore_of(pairs)?)
        }
        Function::HstoreDelete => {
            let keys: Vec<&[u8]> = crate::collect::list(keys.map(str::as_bytes))?;
            return kept(own, |(key, _)| !keys.contains(key));
        }
        _ => return Err(mismatch(function, &[Value::Extension(own.clone())])),
    })
}

fn of_two(function: Function, own: &ExtensionValue, other: &ExtensionValue) -> Result<Value> {
    let contains = |outer: &ExtensionValue, inner: &ExtensionValue| {
        let outer = Pairs::of(outer.content());
        let mut inner = Pairs::of(inner.content());
        Value::Boolean(inner.all(|(key, value)| outer.clone().value_of(key) == Some(value)))
    };
    Ok(match function {
        Function::HstoreContains => contains(own, other),
        Function::HstoreContained => contains(other, own),
        Function::HstoreConcat => {
            let mut pairs = List::default();
            // Of two pairs with one key the first remains.
            pairs.extend(Pairs::of(other.content()).chain(Pairs::of(own.content())))?;
            Value::Extension(hstore_of(pairs)?)
        }
        Function::HstoreDelete => {
            let gone = Pairs::of(other.content());
            return kept(own, |(key, value)| gone.clone().value_of(key) != Some(*value));
        }
        Function::HstoreLess => Value::Boolean(own.order(other).is_lt()),
        Function::HstoreLessEqual => Value::Boolean(own.order(other).is_le()),
        Function::HstoreGreater => Value::Boolean(own.order(other).is_gt()),
        Function::HstoreGreaterEqual => Value::Boolean(own.order(other).is_ge()),
        _ => return Err(mismatch(function, &[])),
    })
}
