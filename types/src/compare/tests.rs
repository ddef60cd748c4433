//! Orders of values.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::{char_order, equal, not_distinct, order, total};
use crate::generators::{any_type, any_value};
use crate::value::Value;

#[test]
fn nan_is_greatest_and_equals_itself() {
    let double = Value::Double;
    assert_eq!(total(&double(f64::NAN), &double(f64::INFINITY)), Ordering::Greater);
    assert_eq!(total(&double(f64::NAN), &double(-f64::NAN)), Ordering::Equal);
    assert_eq!(total(&double(0.0), &double(-0.0)), Ordering::Equal);
    assert_eq!(total(&Value::Real(f32::NAN), &Value::Real(1.0)), Ordering::Greater);
}

#[test]
fn null_is_unknown() {
    assert_eq!(equal(&Value::Null, &Value::Null), None);
    assert_eq!(order(&Value::Integer(1), &Value::Null), None);
    assert_eq!(equal(&Value::Integer(1), &Value::Integer(1)), Some(true));
    assert!(not_distinct(&Value::Null, &Value::Null));
    assert!(!not_distinct(&Value::Null, &Value::Integer(1)));
    assert_eq!(total(&Value::Null, &Value::Integer(1)), Ordering::Greater);
}

#[test]
fn trailing_blanks_of_char_do_not_count() {
    assert_eq!(char_order(b"ab  ", b"ab"), Ordering::Equal);
    assert_eq!(char_order(b"ab \x01", b"ab"), Ordering::Greater);
    assert_eq!(char_order(b"  ", b""), Ordering::Equal);
}

proptest! {
    #[test]
    fn the_order_is_total(
        (a, b, c) in any_type().prop_flat_map(|t| (any_value(t), any_value(t), any_value(t)))
    ) {
        prop_assert_eq!(total(&a, &b), total(&b, &a).reverse());
        prop_assert_eq!(total(&a, &a), Ordering::Equal);
        let mut sorted = [a, b, c];
        sorted.sort_by(total);
        prop_assert!(total(&sorted[0], &sorted[2]).is_le());
    }
}
