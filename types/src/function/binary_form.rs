//! The functions that make the binary form of a value: `int4send` and its like.

use super::{Function, mismatch};
use crate::binary;
use crate::collect::Bytes;
use crate::environment::Environment;
use crate::error::Result;
use crate::value::Value;

/// The bytes of a value's binary form, besides those it keeps outside of itself.
const MOST_BYTES_INSIDE: usize = 64;

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    let [value] = arguments else { return Err(mismatch(function, arguments)) };
    let Some(sql_type) = value.sql_type() else { return Ok(Value::Null) };
    let bytes = value.heap_bytes() * 2 + MOST_BYTES_INSIDE;
    let mut form = Bytes::with_capacity(bytes)?.into_vec();
    binary::write(value, sql_type, &mut form);
    Ok(Value::Bytea(form.into()))
}
