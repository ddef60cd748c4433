//! Mathematical functions.

use std::f64::consts;

use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::value::{Numeric, SqlType, Value};
use crate::{arithmetic, float, numeric};

use super::{Function, mismatch};
use crate::operator::BinaryOperator;

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    compute(function, arguments).unwrap_or_else(|| Err(mismatch(function, arguments)))
}

/// The result, if the function takes such values.
fn compute(function: Function, arguments: &[Value]) -> Option<Result<Value>> {
    Some(match (function, arguments) {
        (Function::Pi, []) => Ok(Value::Double(consts::PI)),
        (Function::Abs, [number]) => absolute(number)?,
        (Function::Modulo, [left, right]) => arithmetic::binary(BinaryOperator::Modulo, left, right),
        (function, [Value::Double(number)]) => double(function, *number)?.map(Value::Double),
        (Function::Power, [Value::Double(base), Value::Double(exponent)]) => {
            arithmetic::power(*base, *exponent).map(Value::Double)
        }
        (Function::ArcTangent2, [Value::Double(y), Value::Double(x)]) => {
            Ok(Value::Double(float::atan2(*y, *x)))
        }
        (function, [Value::Numeric(number)]) => decimal(function, number)?.map(Value::numeric),
        (Function::Round, [Value::Numeric(number), Value::Integer(places)]) => {
            numeric::round(number, i64::from(*places)).map(Value::numeric)
        }
        (Function::Truncate, [Value::Numeric(number), Value::Integer(places)]) => {
            numeric::truncate(number, i64::from(*places)).map(Value::numeric)
        }
        (Function::Power, [Value::Numeric(base), Value::Numeric(exponent)]) => {
            numeric::power(base, exponent).map(Value::numeric)
        }
        (Function::LogarithmOfBase, [Value::Numeric(base), Value::Numeric(number)]) => {
            numeric::logarithm_of_base(base, number).map(Value::numeric)
        }
        (Function::DivideWhole, [Value::Numeric(left), Value::Numeric(right)]) => {
            numeric::divide_whole(left, right).map(Value::numeric)
        }
        _ => return None,
    })
}

fn absolute(number: &Value) -> Option<Result<Value>> {
    Some(match number {
        Value::SmallInt(number) => number
            .checked_abs()
            .map(Value::SmallInt)
            .ok_or_else(|| arithmetic::out_of_range(SqlType::SmallInt)),
        Value::Integer(number) => {
            number.checked_abs().map(Value::Integer).ok_or_else(|| arithmetic::out_of_range(SqlType::Integer))
        }
        Value::BigInt(number) => {
            number.checked_abs().map(Value::BigInt).ok_or_else(|| arithmetic::out_of_range(SqlType::BigInt))
        }
        Value::Real(number) => Ok(Value::Real(number.abs())),
        Value::Double(number) => Ok(Value::Double(number.abs())),
        Value::Numeric(number) => Ok(Value::numeric(numeric::absolute(number))),
        _ => return None,
    })
}

fn double(function: Function, number: f64) -> Option<Result<f64>> {
    let result = match function {
        Function::Ceiling => number.ceil(),
        Function::Floor => number.floor(),
        Function::Round => number.round_ties_even(),
        Function::Truncate => number.trunc(),
        Function::SquareRoot if number < 0.0 => {
            return Some(Err(Error::input(
                sqlstate::INVALID_ARGUMENT_FOR_POWER,
                "cannot take square root of a negative number",
            )));
        }
        Function::SquareRoot => number.sqrt(),
        Function::CubeRoot => float::cbrt(number),
        Function::Exponential => float::exp(number),
        Function::NaturalLogarithm | Function::Logarithm10 if number <= 0.0 => {
            let message = if number == 0.0 {
                "cannot take logarithm of zero"
            } else {
                "cannot take logarithm of a negative number"
            };
            return Some(Err(Error::input(sqlstate::INVALID_ARGUMENT_FOR_LOG, message)));
        }
        Function::NaturalLogarithm => float::ln(number),
        Function::Logarithm10 => float::log10(number),
        Function::Sign if number > 0.0 => 1.0,
        Function::Sign if number < 0.0 => -1.0,
        Function::Sign => 0.0,
        Function::Degrees => number / (consts::PI / 180.0),
        Function::Radians => number * (consts::PI / 180.0),
        Function::ArcSine | Function::ArcCosine if number.abs() > 1.0 => return Some(Err(out_of_range())),
        Function::Sine | Function::Cosine | Function::Tangent if number.is_infinite() => {
            return Some(Err(out_of_range()));
        }
        Function::Sine => float::sin(number),
        Function::Cosine => float::cos(number),
        Function::Tangent => float::tan(number),
        Function::ArcSine => float::asin(number),
        Function::ArcCosine => float::acos(number),
        Function::ArcTangent => float::atan(number),
        _ => return None,
    };
    if result.is_infinite() && number.is_finite() {
        return Some(Err(arithmetic::float_overflow()));
    }
    if function == Function::Exponential && result == 0.0 && number.is_finite() {
        return Some(Err(arithmetic::float_underflow()));
    }
    Some(Ok(result))
}

fn out_of_range() -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

fn decimal(function: Function, number: &Numeric) -> Option<Result<Numeric>> {
    Some(match function {
        Function::Ceiling => numeric::ceiling(number),
        Function::Floor => numeric::floor(number),
        Function::Round => numeric::round(number, 0),
        Function::Truncate => numeric::truncate(number, 0),
        Function::SquareRoot => numeric::square_root(number),
        Function::Exponential => numeric::exponential(number),
        Function::NaturalLogarithm => numeric::logarithm(number),
        Function::Logarithm10 => numeric::logarithm_of_base(&numeric::from_i64(10), number),
        Function::Sign => Ok(numeric::sign(number)),
        _ => return None,
    })
}
