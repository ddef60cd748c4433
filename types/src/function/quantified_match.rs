//! LIKE, ILIKE and regular expressions with ANY and ALL. The arguments are a text, an array of patterns, and
//! the operator's symbol.
//!
//! The first pattern that decides the result (true for ANY, false for ALL) does so. Otherwise a NULL among
//! the patterns makes the result NULL.

use super::{Function, mismatch, regular_expression};
use crate::environment::Environment;
use crate::error::Result;
use crate::guest;
use crate::like;
use crate::value::Value;

/// Bytes of a text that a pattern without much in it is compared with in about ten nanoseconds.
const COMPARED_PER_UNIT: usize = 128;

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    let [text, array, Value::Text(symbol)] = arguments else {
        return Err(mismatch(function, arguments));
    };
    let Value::Array(array) = array else { return Ok(Value::Null) };
    let is_all = function == Function::MatchesAll;
    if array.values.is_empty() {
        return Ok(Value::Boolean(is_all));
    }
    let Value::Text(text) = text else { return Ok(Value::Null) };
    let (symbol, is_negated) = match symbol.strip_prefix('!') {
        Some(symbol) => (symbol, true),
        None => (symbol.as_str(), false),
    };
    let mut has_null = false;
    for pattern in &array.values {
        // Each of them may go through the whole text.
        guest::spend_for(2 + (text.len() + pattern.heap_bytes()) / COMPARED_PER_UNIT)?;
        let Value::Text(pattern) = pattern else {
            has_null = true;
            continue;
        };
        let is_match = match symbol {
            "~~" => like::matches(text, pattern)?,
            "~~*" => like::matches_ignoring_case(text, pattern)?,
            symbol => regular_expression::matches(text, pattern, symbol == "~*")?,
        };
        if (is_match != is_negated) != is_all {
            return Ok(Value::Boolean(!is_all));
        }
    }
    Ok(if has_null { Value::Null } else { Value::Boolean(is_all) })
}
