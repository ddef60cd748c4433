//! A row between stages, and what it costs.

use hyades_types::value::Value;

/// One row between stages.
pub(crate) type Row = Vec<Value>;

/// What a row costs a stage.
pub(super) const UNITS_PER_ROW: u32 = 10;

/// Memory of a row: an estimate, the same on every machine.
pub(super) fn held_bytes(row: &[Value]) -> usize {
    let beside = |value: &Value| match value {
        Value::Array(array) => array.heap_bytes(),
        // A number of some digits, in an allocation of its own.
        Value::Numeric(_) => 64,
        value => value.heap_bytes(),
    };
    size_of::<Row>() + size_of_val(row) + row.iter().map(beside).sum::<usize>()
}
