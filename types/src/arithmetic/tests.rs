//! Operators. Their results are tested by the table taken from PostgreSQL, and NULLs and compiler mistakes
//! here.

use proptest::prelude::*;

use super::{binary, power, unary};
use crate::generators::{any_type, any_value};
use crate::operator::{BinaryOperator, UnaryOperator};
use crate::text;
use crate::value::Value;

const OPERATORS: [BinaryOperator; 12] = [
    BinaryOperator::Add,
    BinaryOperator::Subtract,
    BinaryOperator::Multiply,
    BinaryOperator::Divide,
    BinaryOperator::Modulo,
    BinaryOperator::Power,
    BinaryOperator::Concat,
    BinaryOperator::BitAnd,
    BinaryOperator::BitOr,
    BinaryOperator::BitXor,
    BinaryOperator::ShiftLeft,
    BinaryOperator::ShiftRight,
];

#[test]
fn null_makes_null() {
    for operator in OPERATORS {
        assert!(binary(operator, &Value::Null, &Value::Integer(0)).unwrap().is_null());
        assert!(binary(operator, &Value::text("x"), &Value::Null).unwrap().is_null());
    }
    assert!(unary(UnaryOperator::Negate, &Value::Null).unwrap().is_null());
}

#[test]
fn operands_that_do_not_fit_are_an_internal_error() {
    let error = binary(BinaryOperator::Add, &Value::text("x"), &Value::Integer(1)).unwrap_err();
    assert_eq!(error.sqlstate().0, "XX000");
    let error = binary(BinaryOperator::Equal, &Value::Integer(1), &Value::Integer(1)).unwrap_err();
    assert_eq!(error.sqlstate().0, "XX000");
    assert!(unary(UnaryOperator::BitNot, &Value::Double(1.0)).is_err());
}

#[test]
fn negation_keeps_the_type() {
    assert_eq!(unary(UnaryOperator::Negate, &Value::SmallInt(5)).unwrap(), Value::SmallInt(-5));
    assert_eq!(unary(UnaryOperator::Negate, &Value::Real(0.5)).unwrap(), Value::Real(-0.5));
    assert_eq!(unary(UnaryOperator::BitNot, &Value::BigInt(0)).unwrap(), Value::BigInt(-1));
}

#[test]
fn powers_at_the_edges() {
    assert_eq!(power(0.0, 0.0).unwrap(), 1.0);
    assert_eq!(power(f64::NAN, 0.0).unwrap(), 1.0);
    assert_eq!(power(-2.0, 3.0).unwrap(), -8.0);
    assert_eq!(power(f64::INFINITY, -1.0).unwrap(), 0.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_operands_panic(
        (left, right) in any_type().prop_flat_map(|sql_type| (any_value(sql_type), any_value(sql_type))),
        operator in prop::sample::select(OPERATORS.to_vec()),
    ) {
        // Powers of large numerics take long, and are in the table.
        prop_assume!(operator != BinaryOperator::Power || !matches!(left, Value::Numeric(_)));
        if let Ok(result) = binary(operator, &left, &right) {
            // Even a large number stays within the limits of its type.
            let _ = text::format(&result, &jiff::tz::TimeZone::UTC);
        }
    }

    #[test]
    fn integers_agree_with_wider_ones(a in any::<i32>(), b in any::<i32>(), number in 0_usize..5) {
        let operator = OPERATORS[number];
        let narrow = binary(operator, &Value::Integer(a), &Value::Integer(b));
        let wide = binary(operator, &Value::BigInt(i64::from(a)), &Value::BigInt(i64::from(b)));
        match (narrow, wide) {
            (Ok(narrow), Ok(wide)) => prop_assert_eq!(narrow.as_i64(), wide.as_i64()),
            (Err(narrow), Ok(wide)) => {
                prop_assert_eq!(narrow.to_string(), "integer out of range");
                prop_assert!(i32::try_from(wide.as_i64().unwrap()).is_err());
            }
            (narrow, wide) => prop_assert_eq!(narrow.is_err(), wide.is_err()),
        }
    }
}
