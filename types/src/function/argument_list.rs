//! Functions that count their arguments, and calls whose last arguments are given as an array (VARIADIC).
//!
//! The elements of such an array are the arguments, in order, whatever its dimensions are. What a call with
//! a NULL in its place returns depends on the function.

use super::{Function, concat, format, json_build, mismatch};
use crate::collect;
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::numeric::Numeric;
use crate::value::Value;

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::CountNulls, values) => Ok(number_of(values, true)),
        (Function::CountNonNulls, values) => Ok(number_of(values, false)),
        (Function::SeriesNumber, [Value::Text(what), number @ Value::Numeric(value)]) => match value.as_ref()
        {
            Numeric::Finite(_) => collect::values::copy(number),
            other => {
                let kind = if matches!(other, Numeric::NaN) { "NaN" } else { "infinity" };
                let message = format!("{what} cannot be {kind}");
                Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message))
            }
        },
        (_, [first @ .., Value::Array(array)]) => {
            let mut all = collect::values::copy_all(first)?;
            all.append(&mut collect::values::copy_all(&array.values)?);
            with_elements(function, &all, environment)?.ok_or_else(|| mismatch(function, arguments))
        }
        (Function::FormatArray, [first @ .., Value::Null]) => {
            format::call(Function::Format, first, environment)
        }
        (_, [.., Value::Null]) => Ok(Value::Null),
        _ => Err(mismatch(function, arguments)),
    }
}

fn number_of(values: &[Value], are_null: bool) -> Value {
    let count = values.iter().filter(|value| value.is_null() == are_null).count();
    Value::Integer(i32::try_from(count).unwrap_or(i32::MAX))
}

/// The result for the elements as arguments.
fn with_elements(function: Function, all: &[Value], environment: &Environment) -> Result<Option<Value>> {
    let built = |function| json_build::call(function, all, environment);
    Ok(Some(match function {
        Function::CountNullsIn => number_of(all, true),
        Function::CountNonNullsIn => number_of(all, false),
        Function::ConcatArray => concat::call(Function::Concat, all, environment)?,
        Function::ConcatArrayWithSeparator => concat::call(Function::ConcatWithSeparator, all, environment)?,
        Function::FormatArray => format::call(Function::Format, all, environment)?,
        Function::JsonBuildArrayOf => built(Function::JsonBuildArray)?,
        Function::JsonbBuildArrayOf => built(Function::JsonbBuildArray)?,
        Function::JsonBuildObjectOf => built(Function::JsonBuildObject)?,
        Function::JsonbBuildObjectOf => built(Function::JsonbBuildObject)?,
        _ => return Ok(None),
    }))
}

impl Function {
    /// The function for a call of this one with VARIADIC. `None` if it takes an array as it is.
    pub fn of_array(self) -> Option<Function> {
        Some(match self {
            Function::CountNulls => Function::CountNullsIn,
            Function::CountNonNulls => Function::CountNonNullsIn,
            Function::Concat => Function::ConcatArray,
            Function::ConcatWithSeparator => Function::ConcatArrayWithSeparator,
            Function::Format => Function::FormatArray,
            Function::JsonBuildArray => Function::JsonBuildArrayOf,
            Function::JsonbBuildArray => Function::JsonbBuildArrayOf,
            Function::JsonBuildObject => Function::JsonBuildObjectOf,
            Function::JsonbBuildObject => Function::JsonbBuildObjectOf,
            _ => return None,
        })
    }
}
