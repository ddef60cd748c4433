//! Values of composite types: made of fields, taken apart, changed.
//!
//! Where a function makes a row, its first argument is a constant row of the type: nothing else tells the
//! type. Fields are named by their numbers.
//!
//! * `Row`: a row of the fields that follow.
//! * `RowField`: the field with this number; `RowWith`: the row with another value of it.
//! * `RowIsNull`, `RowIsNotNull`: whether all fields are NULL, or none is. A NULL is a row of NULLs there.

use std::sync::Arc;

use super::{Function, mismatch};
use crate::collect::values;
use crate::environment::Environment;
use crate::error::Result;
use crate::memory;
use crate::value::Value;
use crate::value::composite::RowValue;

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::Row, [Value::Row(of_type), fields @ ..]) => {
            Ok(Value::row(of_type.row_type, values::copy_all(fields)?))
        }
        (Function::RowField, [Value::Row(row), number]) => {
            Ok(row.field(number_of(number)).cloned().unwrap_or_default())
        }
        (Function::RowWith, [Value::Row(of_type), row, number, value]) => {
            let row_type = of_type.row_type;
            let mut changed = match row {
                Value::Row(row) => row.of_version(row_type),
                // Bounded: by the number of fields of a type.
                _ => RowValue { row_type, fields: vec![Value::Null; row_type.fields().len()].into() },
            };
            memory::check(changed.heap_bytes())?;
            if let Some(place) = row_type.place(number_of(number)) {
                changed.fields[place] = values::copy(value)?;
            }
            Ok(Value::Row(Arc::new(changed)))
        }
        (Function::RowIsNull, [row]) => Ok(Value::Boolean(match row {
            Value::Row(row) => row.fields.iter().all(Value::is_null),
            other => other.is_null(),
        })),
        (Function::RowIsNotNull, [row]) => Ok(Value::Boolean(match row {
            Value::Row(row) => !row.fields.iter().any(Value::is_null),
            other => !other.is_null(),
        })),
        _ => Err(mismatch(function, arguments)),
    }
}

fn number_of(number: &Value) -> u16 {
    number.as_i64().and_then(|number| u16::try_from(number).ok()).unwrap_or_default()
}
