//! `overlay`: a part of a string replaced by another.

use crate::arithmetic;
use crate::collect;
use crate::environment::Environment;
use crate::error::{Error, Result, SqlState};
use crate::memory;
use crate::value::{SqlType, Value};

use super::{Function, mismatch};

const SUBSTRING_ERROR: SqlState = SqlState("22011");

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    let [whole, part, Value::Integer(start), length @ ..] = arguments else {
        return Err(mismatch(function, arguments));
    };
    memory::check_value(whole.heap_bytes() + part.heap_bytes())?;
    let length = match length {
        [Value::Integer(length)] => Some(*length),
        _ => None,
    };
    match (whole, part) {
        (Value::Text(whole), Value::Text(part)) => {
            let (first, after) = replaced(*start, length, part.chars().count())?;
            let head = whole.chars().take(first);
            let characters = head.chain(part.chars()).chain(whole.chars().skip(after));
            collect::characters(characters, Some).map(Value::Text)
        }
        (Value::Bytea(whole), Value::Bytea(part)) => {
            let (first, after) = replaced(*start, length, part.len())?;
            let (head, tail) = (&whole[..first.min(whole.len())], whole.get(after..).unwrap_or_default());
            // Bounded: by the arguments, for which this function has asked.
            Ok(Value::Bytea([head, part, tail].concat().into()))
        }
        _ => Err(mismatch(function, arguments)),
    }
}

/// The number of characters before the replaced part, and where those after it begin. The part starts at
/// `start` (from 1) and is `length` characters long, or as long as the replacement.
fn replaced(start: i32, length: Option<i32>, own_length: usize) -> Result<(usize, usize)> {
    if start <= 0 {
        return Err(Error::input(SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let length = length.unwrap_or(i32::try_from(own_length).unwrap_or(i32::MAX));
    let end = start.checked_add(length).ok_or_else(|| arithmetic::out_of_range(SqlType::Integer))?;
    let before = |place: i32| usize::try_from(place - 1).unwrap_or(0);
    Ok((before(start), before(end)))
}
