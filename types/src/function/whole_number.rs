//! Divisors, multiples, factorials and buckets.

use crate::environment::Environment;
use crate::error::{Error, Result, SqlState};
use crate::value::{BigDecimal, SqlType, Value};
use crate::{arithmetic, numeric};

use super::{Function, mismatch};

const INVALID_ARGUMENT_FOR_WIDTH_BUCKET: SqlState = SqlState("2201G");

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::Gcd | Function::Lcm, [Value::Numeric(left), Value::Numeric(right)]) => {
            let is_divisor = function == Function::Gcd;
            let compute =
                if is_divisor { numeric::greatest_common_divisor } else { numeric::least_common_multiple };
            compute(left, right).map(Value::numeric)
        }
        (Function::Gcd | Function::Lcm, [Value::Integer(left), Value::Integer(right)]) => {
            let found = of_integers(function, i64::from(*left), i64::from(*right));
            let narrow = found.and_then(|found| i32::try_from(found).ok());
            narrow.map(Value::Integer).ok_or_else(|| arithmetic::out_of_range(SqlType::Integer))
        }
        (Function::Gcd | Function::Lcm, [Value::BigInt(left), Value::BigInt(right)]) => {
            let narrow = of_integers(function, *left, *right).and_then(|found| i64::try_from(found).ok());
            narrow.map(Value::BigInt).ok_or_else(|| arithmetic::out_of_range(SqlType::BigInt))
        }
        (Function::Factorial, [Value::BigInt(number)]) => {
            numeric::finite::factorial(*number).map(Value::numeric)
        }
        (Function::Scale, [Value::Numeric(number)]) => {
            let scale = |number: &BigDecimal| Value::Integer(number.fractional_digit_count() as i32);
            Ok(number.finite().map_or(Value::Null, scale))
        }
        (Function::MinimumScale, [Value::Numeric(number)]) => {
            let Some(number) = number.finite() else { return Ok(Value::Null) };
            Ok(Value::Integer(numeric::finite::least_scale(number)? as i32))
        }
        (Function::TrimScale, [Value::Numeric(number)]) => numeric::trim_scale(number).map(Value::numeric),
        (Function::WidthBucket, [number, first, last, Value::Integer(count)]) => {
            let bucket = width_bucket(number, first, last, *count)?;
            let narrow = i32::try_from(bucket).map_err(|_| arithmetic::out_of_range(SqlType::Integer));
            narrow.map(Value::Integer)
        }
        _ => Err(mismatch(function, arguments)),
    }
}

/// The greatest common divisor, or the least common multiple; None if it is far out of range.
fn of_integers(function: Function, left: i64, right: i64) -> Option<u128> {
    let (left, right) = (u128::from(left.unsigned_abs()), u128::from(right.unsigned_abs()));
    let (mut a, mut b) = (left, right);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    match function {
        Function::Lcm if a == 0 => Some(0),
        Function::Lcm => (left / a).checked_mul(right),
        _ => Some(a),
    }
}

fn width_bucket(number: &Value, first: &Value, last: &Value, count: i32) -> Result<i64> {
    let refused = |message: &str| Err(Error::input(INVALID_ARGUMENT_FOR_WIDTH_BUCKET, message));
    if count <= 0 {
        return refused("count must be greater than zero");
    }
    match (number, first, last) {
        (Value::Double(number), Value::Double(first), Value::Double(last)) => {
            if number.is_nan() || first.is_nan() || last.is_nan() {
                return refused("operand, lower bound, and upper bound cannot be NaN");
            }
            if first.is_infinite() || last.is_infinite() {
                return refused("lower and upper bounds must be finite");
            }
            if first == last {
                return refused("lower bound cannot equal upper bound");
            }
            Ok(double_bucket(*number, *first, *last, count))
        }
        (Value::Numeric(number), Value::Numeric(first), Value::Numeric(last)) => {
            numeric::bucket(number, first, last, count)?.or_else(refused)
        }
        _ => Err(mismatch(Function::WidthBucket, &[number.clone(), first.clone(), last.clone()])),
    }
}

fn double_bucket(number: f64, first: f64, last: f64, count: i32) -> i64 {
    let (number, first, last) = if first < last { (number, first, last) } else { (-number, -first, -last) };
    if number < first {
        return 0;
    }
    if number >= last {
        return i64::from(count) + 1;
    }
    let width = last - first;
    let share = if width.is_finite() {
        (number - first) / width
    } else {
        (number / 2.0 - first / 2.0) / (last / 2.0 - first / 2.0)
    };
    // The quotient could be rounded to 1.
    let before = (f64::from(count) * share) as i32;
    i64::from(before.min(count - 1)) + 1
}
