//! Operators on values: `+ - * / % ^ ||`, bits and shifts, negation.
//!
//! Both operands have one type (the compiler inserted casts), except where PostgreSQL has an operator over
//! two: `date + integer`, `integer + date`, `date - integer`, timestamps and intervals, intervals and
//! factors, and the shift count, which is an `integer`. An operation that needs a time zone is a function
//! ([`Function::AddInterval`](super::function::Function::AddInterval)), not an operator. A NULL operand makes
//! the result NULL. Integers that leave their type, and floats that overflow from finite operands, are errors
//! 22003; division by zero is 22012, for floats too.
//!
//! Reference: PostgreSQL 15's int.c, int8.c, float.c, numeric.c, date.c.

use compact_str::CompactString;

use crate::error::{Error, Result, sqlstate};
use crate::interval::Interval;
use crate::memory;
use crate::operator::{BinaryOperator, UnaryOperator};
use crate::value::{SqlType, Value};
use crate::{datetime, float, numeric};

/// `integer out of range` and similar errors.
pub(crate) fn out_of_range(sql_type: SqlType) -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{} out of range", sql_type.base_name()))
}

pub(crate) fn division_by_zero() -> Error {
    Error::input(sqlstate::DIVISION_BY_ZERO, "division by zero")
}

pub(crate) fn float_overflow() -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

pub(crate) fn float_underflow() -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

fn no_operator(operator: impl std::fmt::Debug, operands: &[&Value]) -> Error {
    // Not the values, which may be long.
    let types: Vec<Option<SqlType>> = operands.iter().map(|operand| operand.sql_type()).collect();
    Error::input(sqlstate::INTERNAL_ERROR, format!("operator {operator:?} cannot take {types:?}"))
}

/// The integer types: the same operations at three widths.
macro_rules! integer_operation {
    ($operator:expr, $a:expr, $b:expr, $variant:ident, $sql_type:expr) => {{
        let (a, b) = ($a, $b);
        let result = match $operator {
            BinaryOperator::Add => a.checked_add(b),
            BinaryOperator::Subtract => a.checked_sub(b),
            BinaryOperator::Multiply => a.checked_mul(b),
            BinaryOperator::Divide if b == 0 => return Err(division_by_zero()),
            BinaryOperator::Divide => a.checked_div(b),
            BinaryOperator::Modulo if b == 0 => return Err(division_by_zero()),
            // The smallest number modulo -1 is 0, not an overflow.
            BinaryOperator::Modulo => Some(a.wrapping_rem(b)),
            BinaryOperator::BitAnd => Some(a & b),
            BinaryOperator::BitOr => Some(a | b),
            BinaryOperator::BitXor => Some(a ^ b),
            operator => return Err(no_operator(operator, &[&Value::$variant(a), &Value::$variant(b)])),
        };
        result.map(Value::$variant).ok_or_else(|| out_of_range($sql_type))
    }};
}

/// The result of an operator other than a comparison.
#[inline]
pub fn binary(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value> {
    match (left, right) {
        (Value::Integer(a), Value::Integer(b)) => integer(operator, *a, *b),
        (Value::BigInt(a), Value::BigInt(b)) => bigint(operator, *a, *b),
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        _ => other(operator, left, right),
    }
}

#[inline]
pub(crate) fn integer(operator: BinaryOperator, a: i32, b: i32) -> Result<Value> {
    match operator {
        // The count is taken modulo the width, as on x86 and therefore in PostgreSQL.
        BinaryOperator::ShiftLeft => Ok(Value::Integer(a.wrapping_shl(b as u32))),
        BinaryOperator::ShiftRight => Ok(Value::Integer(a.wrapping_shr(b as u32))),
        operator => integer_operation!(operator, a, b, Integer, SqlType::Integer),
    }
}

#[inline]
pub(crate) fn bigint(operator: BinaryOperator, a: i64, b: i64) -> Result<Value> {
    integer_operation!(operator, a, b, BigInt, SqlType::BigInt)
}

fn other(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value> {
    match (left, right) {
        (Value::SmallInt(a), Value::SmallInt(b)) => {
            integer_operation!(operator, *a, *b, SmallInt, SqlType::SmallInt)
        }
        (Value::SmallInt(a), Value::Integer(count)) => match operator {
            BinaryOperator::ShiftLeft => {
                Ok(Value::SmallInt(i32::from(*a).wrapping_shl(*count as u32) as i16))
            }
            BinaryOperator::ShiftRight => {
                Ok(Value::SmallInt(i32::from(*a).wrapping_shr(*count as u32) as i16))
            }
            operator => Err(no_operator(operator, &[left, right])),
        },
        (Value::BigInt(a), Value::Integer(count)) => match operator {
            BinaryOperator::ShiftLeft => Ok(Value::BigInt(a.wrapping_shl(*count as u32))),
            BinaryOperator::ShiftRight => Ok(Value::BigInt(a.wrapping_shr(*count as u32))),
            operator => Err(no_operator(operator, &[left, right])),
        },
        (Value::Double(a), Value::Double(b)) => double(operator, *a, *b).map(Value::Double),
        (Value::Real(a), Value::Real(b)) => real(operator, *a, *b).map(Value::Real),
        (Value::Numeric(a), Value::Numeric(b)) => match operator {
            BinaryOperator::Add => numeric::add(a, b),
            BinaryOperator::Subtract => numeric::subtract(a, b),
            BinaryOperator::Multiply => numeric::multiply(a, b),
            BinaryOperator::Divide => numeric::divide(a, b),
            BinaryOperator::Modulo => numeric::modulo(a, b),
            BinaryOperator::Power => numeric::power(a, b),
            operator => return Err(no_operator(operator, &[left, right])),
        }
        .map(Value::numeric),
        (Value::Text(a), Value::Text(b)) if operator == BinaryOperator::Concat => {
            memory::check_value(a.len() + b.len())?;
            let mut text = CompactString::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Ok(Value::Text(text))
        }
        (Value::Bytea(a), Value::Bytea(b)) if operator == BinaryOperator::Concat => {
            memory::check_value(a.len() + b.len())?;
            Ok(Value::Bytea([&**a, &**b].concat().into()))
        }
        (Value::Date(date), Value::Time(time)) | (Value::Time(time), Value::Date(date))
            if operator == BinaryOperator::Add =>
        {
            datetime::date_and_time(*date, *time).map(Value::Timestamp)
        }
        (Value::Date(date), Value::TimeTz(time)) | (Value::TimeTz(time), Value::Date(date))
            if operator == BinaryOperator::Add =>
        {
            time.on(*date).map(Value::TimestampTz)
        }
        (Value::Date(_), _) | (_, Value::Date(_)) => date(operator, left, right),
        (
            Value::Interval(_)
            | Value::Time(_)
            | Value::TimeTz(_)
            | Value::Timestamp(_)
            | Value::TimestampTz(_)
            | Value::Double(_),
            _,
        ) => time(operator, left, right),
        _ => Err(no_operator(operator, &[left, right])),
    }
}

fn date(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value> {
    let shifted = |date: i32, days: i64| {
        if datetime::is_infinite_date(date) {
            return Ok(Value::Date(date));
        }
        let shifted = i64::from(date) + days;
        i32::try_from(shifted)
            .ok()
            .filter(|date| datetime::is_valid_date(*date))
            .map(Value::Date)
            .ok_or_else(|| Error::input(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range"))
    };
    match (operator, left, right) {
        (BinaryOperator::Add, Value::Date(date), Value::Integer(days))
        | (BinaryOperator::Add, Value::Integer(days), Value::Date(date)) => shifted(*date, i64::from(*days)),
        (BinaryOperator::Subtract, Value::Date(date), Value::Integer(days)) => {
            shifted(*date, -i64::from(*days))
        }
        (BinaryOperator::Subtract, Value::Date(a), Value::Date(b)) => {
            if datetime::is_infinite_date(*a) || datetime::is_infinite_date(*b) {
                return Err(Error::input(
                    sqlstate::DATETIME_FIELD_OVERFLOW,
                    "cannot subtract infinite dates",
                ));
            }
            Ok(Value::Integer(a - b))
        }
        _ => Err(no_operator(operator, &[left, right])),
    }
}

/// Intervals, and times with intervals.
fn time(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value> {
    use BinaryOperator::{Add, Divide, Multiply, Subtract};
    match (operator, left, right) {
        (Add, Value::Interval(a), Value::Interval(b)) => a.plus(*b),
        (Subtract, Value::Interval(a), Value::Interval(b)) => a.minus(*b),
        (Multiply, Value::Interval(interval), Value::Double(factor))
        | (Multiply, Value::Double(factor), Value::Interval(interval)) => interval.multiply(*factor),
        (Divide, Value::Interval(interval), Value::Double(divisor)) => interval.divide(*divisor),
        (Subtract, Value::Time(a), Value::Time(b)) => Ok(Interval::new(0, 0, a - b)),
        (Add, Value::Time(time), Value::Interval(interval))
        | (Add, Value::Interval(interval), Value::Time(time)) => {
            return Ok(Value::Time(datetime::shift_time(*time, interval.microseconds)));
        }
        (Subtract, Value::Time(time), Value::Interval(interval)) => {
            let microseconds = -(interval.microseconds % datetime::MICROSECONDS_PER_DAY);
            return Ok(Value::Time(datetime::shift_time(*time, microseconds)));
        }
        (Add, Value::TimeTz(time), Value::Interval(interval))
        | (Add, Value::Interval(interval), Value::TimeTz(time)) => {
            return Ok(Value::TimeTz(time.shifted(interval.microseconds)));
        }
        (Subtract, Value::TimeTz(time), Value::Interval(interval)) => {
            let microseconds = -(interval.microseconds % datetime::MICROSECONDS_PER_DAY);
            return Ok(Value::TimeTz(time.shifted(microseconds)));
        }
        (Subtract, Value::Timestamp(a), Value::Timestamp(b))
        | (Subtract, Value::TimestampTz(a), Value::TimestampTz(b)) => datetime::difference(*a, *b),
        (Add, Value::Timestamp(time), Value::Interval(interval))
        | (Add, Value::Interval(interval), Value::Timestamp(time)) => {
            return datetime::add_interval(*time, *interval).map(Value::Timestamp);
        }
        (Subtract, Value::Timestamp(time), Value::Interval(interval)) => {
            return datetime::add_interval(*time, interval.negate()?).map(Value::Timestamp);
        }
        _ => return Err(no_operator(operator, &[left, right])),
    }
    .map(Value::Interval)
}

/// An infinite result of finite operands is an overflow; a zero product of nonzero operands an underflow.
fn double(operator: BinaryOperator, a: f64, b: f64) -> Result<f64> {
    let (result, may_underflow) = match operator {
        BinaryOperator::Add => (a + b, false),
        BinaryOperator::Subtract => (a - b, false),
        BinaryOperator::Multiply => (a * b, a != 0.0 && b != 0.0),
        BinaryOperator::Divide if b == 0.0 && !a.is_nan() => return Err(division_by_zero()),
        BinaryOperator::Divide => (a / b, a != 0.0 && !b.is_infinite()),
        BinaryOperator::Power => return power(a, b),
        operator => return Err(no_operator(operator, &[&Value::Double(a), &Value::Double(b)])),
    };
    if result.is_infinite() && !a.is_infinite() && !b.is_infinite() {
        return Err(float_overflow());
    }
    if result == 0.0 && may_underflow {
        return Err(float_underflow());
    }
    Ok(result)
}

fn real(operator: BinaryOperator, a: f32, b: f32) -> Result<f32> {
    let (result, may_underflow) = match operator {
        BinaryOperator::Add => (a + b, false),
        BinaryOperator::Subtract => (a - b, false),
        BinaryOperator::Multiply => (a * b, a != 0.0 && b != 0.0),
        BinaryOperator::Divide if b == 0.0 && !a.is_nan() => return Err(division_by_zero()),
        BinaryOperator::Divide => (a / b, a != 0.0 && !b.is_infinite()),
        operator => return Err(no_operator(operator, &[&Value::Real(a), &Value::Real(b)])),
    };
    if result.is_infinite() && !a.is_infinite() && !b.is_infinite() {
        return Err(float_overflow());
    }
    if result == 0.0 && may_underflow {
        return Err(float_underflow());
    }
    Ok(result)
}

/// `double precision` to a power, with SQL's errors.
pub(crate) fn power(base: f64, exponent: f64) -> Result<f64> {
    let refused = |message: &str| Err(Error::input(sqlstate::INVALID_ARGUMENT_FOR_POWER, message));
    if base == 0.0 && exponent < 0.0 {
        return refused("zero raised to a negative power is undefined");
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return refused("a negative number raised to a non-integer power yields a complex result");
    }
    let result = float::power(base, exponent);
    if base.is_finite() && exponent.is_finite() {
        if result.is_infinite() {
            return Err(float_overflow());
        }
        if result == 0.0 && base != 0.0 {
            return Err(float_underflow());
        }
    }
    Ok(result)
}

/// `-value` and `~value`.
pub fn unary(operator: UnaryOperator, value: &Value) -> Result<Value> {
    match (operator, value) {
        (_, Value::Null) => Ok(Value::Null),
        (UnaryOperator::Negate, Value::SmallInt(number)) => {
            number.checked_neg().map(Value::SmallInt).ok_or_else(|| out_of_range(SqlType::SmallInt))
        }
        (UnaryOperator::Negate, Value::Integer(number)) => {
            number.checked_neg().map(Value::Integer).ok_or_else(|| out_of_range(SqlType::Integer))
        }
        (UnaryOperator::Negate, Value::BigInt(number)) => {
            number.checked_neg().map(Value::BigInt).ok_or_else(|| out_of_range(SqlType::BigInt))
        }
        (UnaryOperator::Negate, Value::Real(number)) => Ok(Value::Real(-number)),
        (UnaryOperator::Negate, Value::Double(number)) => Ok(Value::Double(-number)),
        (UnaryOperator::Negate, Value::Numeric(number)) => Ok(Value::numeric(numeric::negate(number))),
        (UnaryOperator::Negate, Value::Interval(interval)) => interval.negate().map(Value::Interval),
        (UnaryOperator::BitNot, Value::SmallInt(number)) => Ok(Value::SmallInt(!number)),
        (UnaryOperator::BitNot, Value::Integer(number)) => Ok(Value::Integer(!number)),
        (UnaryOperator::BitNot, Value::BigInt(number)) => Ok(Value::BigInt(!number)),
        (operator, value) => Err(no_operator(operator, &[value])),
    }
}

#[cfg(test)]
mod tests;
