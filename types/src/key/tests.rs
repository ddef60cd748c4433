//! The order of encodings is the order of values.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::{KeyLayout, encode, successor};
use crate::compare;
use crate::generators::{any_type, any_value};
use crate::text;
use crate::value::{SqlType, Value};

fn key(value: &Value, sql_type: SqlType) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, sql_type, &mut out);
    out
}

fn order(left: &Value, right: &Value, sql_type: SqlType) -> Ordering {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) if matches!(sql_type, SqlType::Char(_)) => {
            compare::char_order(a.as_bytes(), b.as_bytes())
        }
        _ => compare::total(left, right),
    }
}

#[test]
fn known_encodings() {
    assert_eq!(key(&Value::Integer(0), SqlType::Integer), [0x80, 0, 0, 0]);
    assert_eq!(key(&Value::Integer(-1), SqlType::Integer), [0x7f, 0xff, 0xff, 0xff]);
    assert_eq!(key(&Value::SmallInt(1), SqlType::SmallInt), [0x80, 1]);
    assert_eq!(key(&Value::BigInt(i64::MIN), SqlType::BigInt), [0; 8]);
    assert_eq!(key(&Value::text("a"), SqlType::Text), [b'a', 0, 0]);
    assert_eq!(key(&Value::text("a "), SqlType::Char(2)), [b'a', 0, 0]);
    assert_eq!(key(&Value::Bytea([1, 0, 2].into()), SqlType::Bytea), [1, 0, 0xff, 2, 0, 0]);
    assert!(key(&Value::Null, SqlType::Text).is_empty());
}

#[test]
fn numerics_in_order() {
    let ascending = [
        "-1e131071",
        "-1000",
        "-100.5",
        "-100",
        "-99",
        "-10",
        "-9.99",
        "-1.01",
        "-1",
        "-0.5",
        "-0.1",
        "-0.05",
        "-0.01",
        "-0.001",
        "-1e-16383",
        "0",
        "1e-16383",
        "0.001",
        "0.009",
        "0.01",
        "0.05",
        "0.1",
        "0.11",
        "0.5",
        "1",
        "1.01",
        "9.99",
        "10",
        "10.001",
        "99",
        "100",
        "100.5",
        "1000",
        "123456789012345678901234567890",
        "1e131071",
    ];
    let keys: Vec<Vec<u8>> = ascending
        .iter()
        .map(|number| {
            let value = text::parse(number, SqlType::Numeric(None), &jiff::tz::TimeZone::UTC).unwrap();
            key(&value, SqlType::Numeric(None))
        })
        .collect();
    assert!(keys.is_sorted_by(|left, right| left < right), "{keys:x?}");
}

#[test]
fn widths() {
    assert_eq!(KeyLayout::new(&[SqlType::Integer, SqlType::Uuid, SqlType::Boolean]).fixed_width(), Some(21));
    assert_eq!(KeyLayout::new(&[SqlType::Integer, SqlType::Text]).fixed_width(), None);
    assert_eq!(KeyLayout::new(&[SqlType::Integer, SqlType::Text]).types().len(), 2);
}

#[test]
fn successors() {
    let next = |bytes: &[u8]| {
        let mut key = bytes.to_vec();
        successor(&mut key).then_some(key)
    };
    assert_eq!(next(&[1, 2]), Some(vec![1, 3]));
    assert_eq!(next(&[1, 0xff, 0xff]), Some(vec![2]));
    assert_eq!(next(&[0xff]), None);
    assert_eq!(next(&[]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_order_of_keys_is_the_order_of_values(
        (sql_type, left, right) in any_type().prop_flat_map(|t| (Just(t), any_value(t), any_value(t)))
    ) {
        prop_assert_eq!(key(&left, sql_type).cmp(&key(&right, sql_type)), order(&left, &right, sql_type));
        prop_assert_eq!(key(&left, sql_type), key(&left.clone(), sql_type));
    }

    /// Column by column, even if one key is shorter than another.
    #[test]
    fn composite_keys_compare_by_column(
        (types, left, right) in prop::collection::vec(any_type(), 1..4).prop_flat_map(|types| {
            let side = || types.iter().map(|sql_type| any_value(*sql_type)).collect::<Vec<_>>();
            let (left, right) = (side(), side());
            (Just(types), left, right)
        }),
        shared in 0_usize..3,
    ) {
        let mut right = right;
        let shared = shared.min(types.len());
        right[..shared].clone_from_slice(&left[..shared]);
        let layout = KeyLayout::new(&types);
        let encoded = |values: &[Value]| {
            let mut out = Vec::new();
            layout.encode(values, &mut out);
            out
        };
        let by_column = types.iter().enumerate().map(|(i, t)| order(&left[i], &right[i], *t));
        let expected = by_column.fold(Ordering::Equal, Ordering::then);
        prop_assert_eq!(encoded(&left).cmp(&encoded(&right)), expected);
        if let Some(width) = layout.fixed_width() {
            prop_assert_eq!(encoded(&left).len(), width);
        }
        // All keys with this prefix lie between it and its successor.
        let prefix = encoded(&left[..shared]);
        let mut end = prefix.clone();
        prop_assert!(prefix <= encoded(&left));
        if successor(&mut end) {
            prop_assert!(encoded(&left) < end);
        }
    }
}
