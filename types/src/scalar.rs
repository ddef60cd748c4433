//! Values that fit a machine word: the operands of most expressions in a transaction.
//!
//! A [`Value`] is three words with a destructor, so it travels through memory. A [`Scalar`] is a kind and a
//! number, travels in two machine registers, and owns nothing: reading a column, adding to it and comparing
//! it build no `Value`.
//!
//! There are scalars of NULL, boolean, the integers, dates and timestamps. Every operation returns `None` if
//! the result is not a scalar, *or is an error*: the caller then takes the path of values
//! ([`arithmetic`](super::arithmetic), [`compare`](super::compare)), which reports what is wrong. Operations
//! have no effects, so nothing is lost by computing again.
//!
//! Invariant: the number lies in the range of its kind, so that one width of arithmetic serves all kinds, and
//! results are only checked against the range.

use std::cmp::Ordering;

use crate::datetime;
use crate::operator::{BinaryOperator, UnaryOperator};
use crate::value::{SqlType, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    Null,
    Boolean,
    SmallInt,
    Integer,
    BigInt,
    // From here on not every number is valid: see `Scalar::is_fit`.
    Date,
    Timestamp,
    TimestampTz,
}

/// See the module head. The number of a NULL is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub kind: ScalarKind,
    pub number: i64,
}

impl ScalarKind {
    /// The kind of a type's values.
    pub fn of(sql_type: SqlType) -> Option<ScalarKind> {
        Some(match sql_type {
            SqlType::Boolean => ScalarKind::Boolean,
            SqlType::SmallInt => ScalarKind::SmallInt,
            SqlType::Integer => ScalarKind::Integer,
            SqlType::BigInt => ScalarKind::BigInt,
            SqlType::Date => ScalarKind::Date,
            SqlType::Timestamp(_) => ScalarKind::Timestamp,
            SqlType::TimestampTz(_) => ScalarKind::TimestampTz,
            _ => return None,
        })
    }

    #[inline]
    pub fn is_integer(self) -> bool {
        matches!(self, ScalarKind::SmallInt | ScalarKind::Integer | ScalarKind::BigInt)
    }

    /// The number as an integer of this kind; `None` if it is out of range.
    #[inline]
    fn integer(self, number: i64) -> Option<Scalar> {
        let is_in_range = match self {
            ScalarKind::Integer => i64::from(number as i32) == number,
            ScalarKind::BigInt => true,
            ScalarKind::SmallInt => i64::from(number as i16) == number,
            _ => false,
        };
        is_in_range.then_some(Scalar { kind: self, number })
    }
}

impl Value {
    /// Replaces the value by a scalar, at no cost if there was nothing to free.
    #[inline(always)]
    pub fn put_scalar(&mut self, scalar: Scalar) {
        match scalar.kind {
            ScalarKind::Integer => self.put(Value::Integer(scalar.number as i32)),
            ScalarKind::BigInt => self.put(Value::BigInt(scalar.number)),
            _ => self.put(scalar.value()),
        }
    }
}

impl Scalar {
    /// Whether a column of its type can hold it.
    #[inline]
    pub fn is_fit(self) -> bool {
        (self.kind as u8) < ScalarKind::Date as u8 || self.is_fit_time()
    }

    #[inline(never)]
    fn is_fit_time(self) -> bool {
        match self.kind {
            ScalarKind::Null
            | ScalarKind::Boolean
            | ScalarKind::SmallInt
            | ScalarKind::Integer
            | ScalarKind::BigInt => true,
            ScalarKind::Date => {
                let days = self.number as i32;
                datetime::is_valid_date(days) || datetime::is_infinite_date(days)
            }
            ScalarKind::Timestamp | ScalarKind::TimestampTz => {
                datetime::is_valid_timestamp(self.number) || datetime::is_infinite_timestamp(self.number)
            }
        }
    }

    pub const NULL: Scalar = Scalar { kind: ScalarKind::Null, number: 0 };

    #[inline]
    pub fn boolean(truth: bool) -> Scalar {
        Scalar { kind: ScalarKind::Boolean, number: i64::from(truth) }
    }

    #[inline(always)]
    pub fn of(value: &Value) -> Option<Scalar> {
        match *value {
            Value::Integer(number) => Some(Scalar { kind: ScalarKind::Integer, number: i64::from(number) }),
            Value::BigInt(number) => Some(Scalar { kind: ScalarKind::BigInt, number }),
            _ => Scalar::of_other(value),
        }
    }

    #[inline(never)]
    fn of_other(value: &Value) -> Option<Scalar> {
        let (kind, number) = match *value {
            Value::Null => (ScalarKind::Null, 0),
            Value::Boolean(truth) => (ScalarKind::Boolean, i64::from(truth)),
            Value::SmallInt(number) => (ScalarKind::SmallInt, i64::from(number)),
            Value::Integer(number) => (ScalarKind::Integer, i64::from(number)),
            Value::BigInt(number) => (ScalarKind::BigInt, number),
            Value::Date(days) => (ScalarKind::Date, i64::from(days)),
            Value::Timestamp(time) => (ScalarKind::Timestamp, time),
            Value::TimestampTz(time) => (ScalarKind::TimestampTz, time),
            _ => return None,
        };
        Some(Scalar { kind, number })
    }

    #[inline]
    pub fn value(self) -> Value {
        match self.kind {
            ScalarKind::Null => Value::Null,
            ScalarKind::Boolean => Value::Boolean(self.number != 0),
            ScalarKind::SmallInt => Value::SmallInt(self.number as i16),
            ScalarKind::Integer => Value::Integer(self.number as i32),
            ScalarKind::BigInt => Value::BigInt(self.number),
            ScalarKind::Date => Value::Date(self.number as i32),
            ScalarKind::Timestamp => Value::Timestamp(self.number),
            ScalarKind::TimestampTz => Value::TimestampTz(self.number),
        }
    }

    #[inline]
    pub fn is_null(self) -> bool {
        self.kind == ScalarKind::Null
    }

    /// Its value as a condition, where NULL is `Some(None)`; `None` if it is no condition.
    #[inline]
    pub fn truth(self) -> Option<Option<bool>> {
        match self.kind {
            ScalarKind::Boolean => Some(Some(self.number != 0)),
            ScalarKind::Null => Some(None),
            _ => None,
        }
    }

    /// An integer as another integer type.
    #[inline]
    pub fn cast(self, to: SqlType) -> Option<Scalar> {
        let kind = match to {
            SqlType::Integer => ScalarKind::Integer,
            SqlType::BigInt => ScalarKind::BigInt,
            SqlType::SmallInt => ScalarKind::SmallInt,
            _ => return None,
        };
        match self.kind {
            ScalarKind::Null => Some(self),
            own if own.is_integer() => kind.integer(self.number),
            _ => None,
        }
    }

    /// `-value` and `~value` of an integer.
    pub fn unary(self, operator: UnaryOperator) -> Option<Scalar> {
        if self.is_null() {
            return Some(self);
        }
        match operator {
            UnaryOperator::Negate => self.kind.integer(self.number.checked_neg()?),
            UnaryOperator::BitNot => self.kind.integer(!self.number),
        }
    }

    /// A comparison, or arithmetic over integers of one type.
    #[inline(always)]
    pub fn binary(operator: BinaryOperator, left: Scalar, right: Scalar) -> Option<Scalar> {
        if left.kind != right.kind || left.is_null() {
            let is_null = left.is_null() || right.is_null();
            return is_null.then_some(Scalar::NULL);
        }
        let (a, b) = (left.number, right.number);
        let number = match operator {
            BinaryOperator::Equal => return Some(Scalar::boolean(a == b)),
            BinaryOperator::NotEqual => return Some(Scalar::boolean(a != b)),
            BinaryOperator::Less => return Some(Scalar::boolean(a < b)),
            BinaryOperator::LessEqual => return Some(Scalar::boolean(a <= b)),
            BinaryOperator::Greater => return Some(Scalar::boolean(a > b)),
            BinaryOperator::GreaterEqual => return Some(Scalar::boolean(a >= b)),
            BinaryOperator::Add => a.checked_add(b),
            BinaryOperator::Subtract => a.checked_sub(b),
            BinaryOperator::Multiply => a.checked_mul(b),
            BinaryOperator::Divide => a.checked_div(b),
            BinaryOperator::Modulo => a.checked_rem(b),
            BinaryOperator::BitAnd => Some(a & b),
            BinaryOperator::BitOr => Some(a | b),
            BinaryOperator::BitXor => Some(a ^ b),
            _ => None,
        };
        left.kind.integer(number?)
    }
}

/// The result of a comparison, given the order of its operands.
#[inline]
pub fn decide(operator: BinaryOperator, order: Ordering) -> bool {
    match operator {
        BinaryOperator::Equal => order.is_eq(),
        BinaryOperator::NotEqual => order.is_ne(),
        BinaryOperator::Less => order.is_lt(),
        BinaryOperator::LessEqual => order.is_le(),
        BinaryOperator::Greater => order.is_gt(),
        _ => order.is_ge(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arithmetic, cast, compare};

    const OPERATORS: [BinaryOperator; 16] = [
        BinaryOperator::Add,
        BinaryOperator::Subtract,
        BinaryOperator::Multiply,
        BinaryOperator::Divide,
        BinaryOperator::Modulo,
        BinaryOperator::Power,
        BinaryOperator::BitAnd,
        BinaryOperator::BitOr,
        BinaryOperator::BitXor,
        BinaryOperator::ShiftLeft,
        BinaryOperator::Equal,
        BinaryOperator::NotEqual,
        BinaryOperator::Less,
        BinaryOperator::LessEqual,
        BinaryOperator::Greater,
        BinaryOperator::GreaterEqual,
    ];

    fn samples() -> Vec<Value> {
        let mut samples = vec![
            Value::Null,
            Value::Boolean(false),
            Value::Boolean(true),
            Value::text("x"),
            Value::Double(0.5),
        ];
        for number in [i64::MIN, i64::MIN + 1, -70_000, -3, -1, 0, 1, 2, 7, 70_000, i64::MAX - 1, i64::MAX] {
            samples.push(Value::BigInt(number));
        }
        for number in [i32::MIN, i32::MIN + 1, -40_000, -3, -1, 0, 1, 2, 7, 65_536, i32::MAX - 1, i32::MAX] {
            samples.extend([Value::Integer(number), Value::Date(number)]);
            samples.extend([Value::Timestamp(number.into()), Value::TimestampTz(number.into())]);
        }
        for number in [i16::MIN, i16::MIN + 1, -200, -3, -1, 0, 1, 2, 7, 255, i16::MAX - 1, i16::MAX] {
            samples.push(Value::SmallInt(number));
        }
        samples
    }

    #[test]
    fn a_value_comes_back_as_it_was() {
        for value in samples() {
            match Scalar::of(&value) {
                Some(scalar) => assert_eq!(scalar.value(), value),
                None => assert!(matches!(value, Value::Text(_) | Value::Double(_)), "{value:?}"),
            }
        }
    }

    /// A scalar's result is the same as that of values; an error is never a result.
    #[test]
    fn results_are_those_of_values() {
        let mut agreed = 0;
        for (left, right) in
            samples().iter().flat_map(|left| samples().into_iter().map(move |right| (left.clone(), right)))
        {
            let (Some(a), Some(b)) = (Scalar::of(&left), Scalar::of(&right)) else { continue };
            for operator in OPERATORS {
                let Some(found) = Scalar::binary(operator, a, b) else { continue };
                let wanted = if operator.is_comparison() {
                    compare::order(&left, &right)
                        .map_or(Value::Null, |order| Value::Boolean(decide(operator, order)))
                } else {
                    arithmetic::binary(operator, &left, &right).unwrap()
                };
                assert_eq!(found.value(), wanted, "{left:?} {operator:?} {right:?}");
                agreed += 1;
            }
        }
        assert!(agreed > 5_000, "{agreed}");
        // Operations that scalars must handle, or they would be useless.
        let add = |a: i32, b: i32| {
            Scalar::binary(
                BinaryOperator::Add,
                Scalar::of(&Value::Integer(a))?,
                Scalar::of(&Value::Integer(b))?,
            )
        };
        assert_eq!(add(1, 2).map(Scalar::value), Some(Value::Integer(3)));
        assert_eq!(add(i32::MAX, 1), None);
    }

    #[test]
    fn casts_are_those_of_values() {
        for value in samples() {
            let Some(scalar) = Scalar::of(&value) else { continue };
            for to in [SqlType::SmallInt, SqlType::Integer, SqlType::BigInt, SqlType::Text, SqlType::Boolean]
            {
                let Some(found) = scalar.cast(to) else { continue };
                let wanted = cast::cast(value.clone(), to, true, &jiff::tz::TimeZone::UTC).unwrap();
                assert_eq!(found.value(), wanted, "{value:?} to {to:?}");
            }
        }
        assert_eq!(
            Scalar::of(&Value::SmallInt(5)).unwrap().cast(SqlType::BigInt).unwrap().value(),
            Value::BigInt(5)
        );
    }
}
