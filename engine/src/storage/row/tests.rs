//! Rows: values survive the round trip, and bytes that we did not write are refused.

use hyades_types::generators::{any_row, any_type, any_value, is_identical};
use hyades_types::key::KeyLayout;
use hyades_types::scalar::{Scalar, ScalarKind};
use hyades_types::value::{BigDecimal, SqlType, Value};
use proptest::prelude::*;

use super::{RowLayout, RowPatch, invert, overwrite};

fn encode(types: &[SqlType], values: &[Value]) -> (RowLayout, Vec<u8>) {
    let layout = RowLayout::new(types);
    let mut row = Vec::new();
    layout.encode(values, &mut row);
    (layout, row)
}

/// The layout is a format: these bytes may not change without a new version of the log.
#[test]
fn the_bytes_are_as_documented() {
    let types =
        [SqlType::Integer, SqlType::Text, SqlType::SmallInt, SqlType::Char(4), SqlType::Numeric(None)];
    let number = Value::numeric(BigDecimal::new((-258).into(), 2));
    let values = [Value::Integer(1), Value::text("hé"), Value::Null, Value::text("ab  "), number];
    let (layout, row) = encode(&types, &values);
    let expected = [
        &[1, 0, 0, 0][..],
        &[22, 0, 0, 0],
        &[0, 0],
        &[24, 0, 0, 0],
        &[28, 0, 0, 0],
        &[0b0000_0100],
        "hé".as_bytes(),
        b"ab",
        &[2, 0x80, 2, 1],
    ];
    assert_eq!(row, expected.concat());
    assert_eq!(layout.header_bytes(), 19);
    assert_eq!(layout.column_count(), 5);
}

#[test]
fn a_row_of_pgbench_accounts_is_17_bytes() {
    let types = [SqlType::Integer, SqlType::Integer, SqlType::Integer, SqlType::Char(84)];
    let blanks = " ".repeat(84);
    let values = [Value::Integer(1), Value::Integer(1), Value::Integer(0), Value::text(blanks.as_str())];
    let (layout, row) = encode(&types, &values);
    assert_eq!(row.len(), 17);
    assert_eq!(layout.value(&row, 3), Value::text(blanks));
}

#[test]
fn padding_counts_characters() {
    let (layout, row) = encode(
        &[SqlType::Char(3), SqlType::Char(70)],
        &[Value::text("é  "), Value::text("漢".to_owned() + &" ".repeat(69))],
    );
    assert_eq!(layout.value(&row, 0), Value::text("é  "));
    assert_eq!(layout.value(&row, 1).as_str().map(|text| text.chars().count()), Some(70));
}

#[test]
fn encode_and_update_append() {
    let layout = RowLayout::new(&[SqlType::Text, SqlType::Integer]);
    let mut out = b"before".to_vec();
    layout.encode(&[Value::text("x"), Value::Integer(5)], &mut out);
    let first = out[6..].to_vec();
    assert_eq!(layout.value(&first, 0), Value::text("x"));
    let mut out = b"before".to_vec();
    layout.update(&first, &[(0, Value::text("longer")), (1, Value::Null)], &mut out);
    assert!(layout.check(&out[6..]).is_ok());
    assert_eq!(layout.value(&out[6..], 0), Value::text("longer"));
    assert!(layout.is_null(&out[6..], 1));
}

#[test]
fn a_table_without_columns_has_empty_rows() {
    let (layout, row) = encode(&[], &[]);
    assert!(row.is_empty() && layout.check(&row).is_ok() && layout.check(&[0]).is_err());
}

#[test]
fn foreign_bytes_are_refused() {
    let types = [SqlType::Boolean, SqlType::Text, SqlType::Numeric(None), SqlType::Char(2)];
    let values =
        [Value::Boolean(true), Value::text("ab"), Value::numeric(BigDecimal::from(5)), Value::text("x ")];
    let (layout, row) = encode(&types, &values);
    assert!(layout.check(&row).is_ok());
    let broken = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut row = row.clone();
        change(&mut row);
        let error = layout.check(&row).expect_err("must be refused");
        assert_eq!(error.sqlstate().0, "XX001");
    };
    broken(&|row| row.truncate(3));
    broken(&|row| row.push(0));
    broken(&|row| row[0] = 2);
    broken(&|row| row[1] = 200);
    broken(&|row| row[1] = 1);
    broken(&|row| row[13] |= 0x10);
    broken(&|row| row[13] |= 0x01);
    broken(&|row| row[13] |= 0x02);
    broken(&|row| row[14] = 0xff);
    broken(&|row| row[14] = 0);
    // A numeric with a zero high byte, with a scale beyond all limits, and a negative zero.
    broken(&|row| row[18] = 0);
    broken(&|row| row[17] = 0x7f);
    broken(&|row| *row.last_mut().unwrap() = b' ');
}

#[test]
fn contents_of_the_same_length_are_patched() {
    let (layout, row) = encode(
        &[SqlType::Text, SqlType::Integer, SqlType::Text],
        &[Value::text("abc"), Value::Null, Value::text("")],
    );
    let mut patch = RowPatch::default();
    let set = [(0, Value::text("xyz")), (1, Value::Integer(7)), (2, Value::Null)];
    assert!(layout.patch(&row, &set, &mut patch));
    let mut patched = row.clone();
    overwrite(&mut patched, patch.bytes());
    let mut values = Vec::new();
    layout.values(&patched, &mut values);
    assert_eq!(values, [Value::text("xyz"), Value::Integer(7), Value::Null]);
    assert!(!layout.patch(&row, &[(0, Value::text("longer"))], &mut patch));
    assert!(!layout.patch(&row, &[(0, Value::Null)], &mut patch));
}

proptest! {
    #[test]
    fn keys_of_rows_are_keys_of_values(
        (types, values) in prop::collection::vec(any_type(), 1..5).prop_flat_map(|types| {
            let values: Vec<_> = types.iter().map(|sql_type| any_value(*sql_type)).collect();
            (Just(types), values)
        })
    ) {
        let rows = RowLayout::new(&types);
        let mut row = Vec::new();
        rows.encode(&values, &mut row);
        let columns: Vec<u16> = (0..types.len() as u16).rev().collect();
        let reversed: Vec<SqlType> = types.iter().rev().copied().collect();
        let layout = KeyLayout::new(&reversed);
        let (mut from_row, mut from_values) = (Vec::new(), Vec::new());
        rows.encode_key(&row, &columns, &mut from_row);
        layout.encode(&values.iter().rev().cloned().collect::<Vec<_>>(), &mut from_values);
        prop_assert_eq!(from_row, from_values);
    }

    #[test]
    fn values_survive((types, values) in any_row()) {
        let (layout, row) = encode(&types, &values);
        prop_assert!(layout.check(&row).is_ok());
        let mut read = Vec::new();
        layout.values(&row, &mut read);
        for (number, (read, value)) in read.iter().zip(&values).enumerate() {
            prop_assert!(is_identical(read, value), "{read:?} {value:?}");
            prop_assert_eq!(layout.is_null(&row, number as u16), value.is_null());
            prop_assert_eq!(layout.bytes(&row, number as u16).is_none(), value.is_null());
        }
        let mut again = Vec::new();
        layout.encode(&read, &mut again);
        prop_assert_eq!(again, row);
    }

    /// However a column is written, or an integer is read, the bytes are the same.
    #[test]
    fn columns_are_written_alike((types, values) in any_row()) {
        let (layout, row) = encode(&types, &values);
        let mut written = vec![7];
        let mut writer = layout.writer(&mut written);
        for (number, value) in values.iter().enumerate() {
            match (value, Scalar::of(value)) {
                (Value::Null, _) => writer.null(),
                (Value::Integer(integer), _) if writer.integer(*integer) => {}
                (_, Some(scalar)) => writer.scalar(scalar),
                (Value::Text(text), _) if writer.sql_type() == SqlType::Text => writer.text(text.as_bytes()),
                _ => writer.value(value),
            }
            let column = number as u16;
            prop_assert_eq!(layout.scalar(&row, column).is_some(), ScalarKind::of(types[number]).is_some());
            if let Some(scalar) = layout.scalar(&row, column) {
                prop_assert_eq!(&scalar.value(), value);
            }
            let integer = if let Value::Integer(integer) = value { Some(*integer) } else { None };
            prop_assert_eq!(layout.integer(&row, column), integer);
        }
        prop_assert_eq!(&written[1..], row);
    }

    /// An update is the same as encoding the new values.
    #[test]
    fn an_update_changes_what_it_sets(
        ((types, old), changes) in any_row().prop_flat_map(|(types, old)| {
            let changes: Vec<_> = types.iter().map(|sql_type| {
                prop_oneof![
                    2 => Just(None),
                    1 => any_value(*sql_type).prop_map(Some),
                    1 => Just(Some(Value::Null)),
                ]
            }).collect();
            (Just((types, old)), changes)
        }),
        is_backwards in any::<bool>(),
    ) {
        let (layout, row) = encode(&types, &old);
        let mut new = old.clone();
        let mut set = Vec::new();
        for (number, change) in changes.into_iter().enumerate() {
            if let Some(value) = change {
                new[number] = value.clone();
                set.push((number as u16, value));
            }
        }
        if is_backwards {
            set.reverse();
        }
        let mut updated = Vec::new();
        layout.update(&row, &set, &mut updated);
        prop_assert_eq!(&updated, &encode(&types, &new).1);
        let mut patch = RowPatch::default();
        if layout.patch(&row, &set, &mut patch) {
            let mut patched = row.clone();
            let mut inverse = patch.bytes().to_vec();
            invert(&patched, &mut inverse);
            overwrite(&mut patched, patch.bytes());
            prop_assert_eq!(patched.clone(), updated, "in place");
            overwrite(&mut patched, &inverse);
            prop_assert_eq!(patched, row, "and back");
        } else {
            // The total length can stay while contents move.
            let has_text = types.iter().any(|sql_type| sql_type.length_bytes() < 0);
            prop_assert!(has_text, "columns of fixed width stay where they are");
        }
    }

    /// Damage is either found, or harmless: reading never panics, and the values read encode to the same
    /// bytes. Fields that a composite type does not have are passed over, as if it had lost them.
    #[test]
    fn damaged_rows_never_panic(
        (types, values) in any_row(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (layout, mut row) = encode(&types, &values);
        for (index, byte) in damage {
            let at = index.index(row.len());
            row[at] = byte;
        }
        if let Some(cut) = cut {
            row.truncate(cut.index(row.len() + 1));
        }
        if layout.check(&row).is_ok() {
            let mut read = Vec::new();
            layout.values(&row, &mut read);
            let mut again = Vec::new();
            layout.encode(&read, &mut again);
            let is_nan = |value: &Value| match value {
                Value::Real(number) => number.is_nan(),
                Value::Double(number) => number.is_nan(),
                _ => false,
            };
            let has_fields = |sql_type: &SqlType| {
                let of_row = |element: SqlType| matches!(element, SqlType::Composite(_));
                of_row(*sql_type) || sql_type.element().is_some_and(|element| of_row(element.sql_type()))
            };
            // A NaN of another form becomes the stored one.
            if types.iter().any(has_fields) {
                prop_assert!(again.len() <= row.len());
                prop_assert!(layout.check(&again).is_ok());
            } else if read.iter().any(is_nan) {
                prop_assert_eq!(again.len(), row.len());
            } else {
                prop_assert_eq!(again, row);
            }
        }
    }
}

#[test]
fn a_zero_byte_is_found_wherever_it_stands() {
    for length in 0..40 {
        for fill in [1, b'x', 0x7f, 0x80, 0x81, 0xff] {
            let mut bytes = vec![fill; length];
            assert!(!super::has_zero(&bytes), "{length} of {fill}");
            for place in 0..length {
                bytes[place] = 0;
                assert!(super::has_zero(&bytes), "{place} of {length} of {fill}");
                bytes[place] = fill;
            }
        }
    }
}

#[test]
fn text_is_text_whatever_its_length() {
    let naive = |bytes: &[u8], most: Option<u32>| {
        std::str::from_utf8(bytes).is_ok_and(|text| {
            !text.contains('\0') && most.is_none_or(|most| text.chars().count() <= most as usize)
        })
    };
    for length in 0..40 {
        let plain = vec![b'x'; length];
        for special in [
            &b"\0"[..],
            b"\x01",
            b"\x7f",
            b"\x80",
            b"\xff",
            "\u{e9}".as_bytes(),
            "\u{20ac}".as_bytes(),
            b"\0\x01",
        ] {
            for place in 0..=length {
                let mut bytes = plain.clone();
                bytes.splice(place..place, special.iter().copied());
                for most in [None, Some(0), Some(length as u32), Some(length as u32 + 1)] {
                    assert_eq!(
                        super::is_plain_text(&bytes, most),
                        naive(&bytes, most),
                        "{bytes:?}, {most:?}"
                    );
                }
            }
        }
        assert!(super::is_plain_text(&plain, Some(length as u32)));
        assert_eq!(super::is_plain_text(&plain, Some(7)), length <= 7);
    }
}
