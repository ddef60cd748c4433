//! Text forms beyond those in the table taken from PostgreSQL.

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{TextForm, format, parse, write, write_as, write_integer};
use crate::generators::{TYPES, any_type, any_value, is_identical};
use crate::value::{ArrayElement, SqlType, Value};

fn refused(text: &str, sql_type: SqlType) -> (&'static str, String) {
    let error = parse(text, sql_type, &TimeZone::UTC).expect_err("must be refused");
    (error.sqlstate().0, error.to_string())
}

#[test]
fn integers_of_all_lengths() {
    for number in [0, 7, -7, 10, 99, 100, 12345, i64::MAX, i64::MIN, i64::MAX / 10] {
        let mut out = b"x".to_vec();
        write_integer(number, &mut out);
        assert_eq!(out, format!("x{number}").into_bytes());
    }
}

#[test]
fn modifiers_apply() {
    let parsed = |text: &str, sql_type| parse(text, sql_type, &TimeZone::UTC).unwrap();
    assert_eq!(parsed("abc  ", SqlType::Varchar(Some(3))), Value::text("abc"));
    assert_eq!(parsed("ab", SqlType::Char(4)), Value::text("ab  "));
    assert_eq!(format(&parsed("1.005", SqlType::Numeric(Some((5, 2)))), &TimeZone::UTC), "1.01");
    assert_eq!(
        refused("abcd", SqlType::Varchar(Some(3))),
        ("22001", "value too long for type character varying(3)".to_owned())
    );
    assert_eq!(
        refused("abcd", SqlType::Char(3)),
        ("22001", "value too long for type character(3)".to_owned())
    );
    assert_eq!(
        refused("1000", SqlType::Numeric(Some((5, 2)))),
        ("22003", "numeric field overflow".to_owned())
    );
}

#[test]
fn text_has_no_zero() {
    let expected = ("22021", "invalid byte sequence for encoding \"UTF8\": 0x00".to_owned());
    assert_eq!(refused("a\0b", SqlType::Text), expected);
}

/// As PostgreSQL 15 printed with these values of `extra_float_digits`.
#[test]
fn floats_are_rounded_as_they_are_asked_to() {
    let shown = |value: Value, float_digits: i8| {
        let mut out = Vec::new();
        let zone = TimeZone::UTC;
        let form = TextForm { float_digits, ..(&zone).into() };
        write_as(&value, value.sql_type().unwrap(), form, &mut out);
        String::from_utf8(out).unwrap()
    };
    let double = |number: f64, digits| shown(Value::Double(number), digits);
    assert_eq!(double(0.1 + 0.2, 0), "0.3");
    assert_eq!(double(0.1 + 0.2, 1), "0.30000000000000004");
    assert_eq!(double(0.1 + 0.2, 3), "0.30000000000000004");
    assert_eq!(double(1e15, 0), "1e+15");
    assert_eq!(double(1e14, 0), "100000000000000");
    assert_eq!(double(1e-5, 0), "1e-05");
    assert_eq!(double(-0.0, 0), "-0");
    assert_eq!(double(96.0, -15), "1e+02");
    assert_eq!(double(5e-324, 0), "4.94065645841247e-324");
    assert_eq!(double(f64::MAX, 0), "1.79769313486232e+308");
    assert_eq!(double(f64::NEG_INFINITY, -3), "-Infinity");
    assert_eq!(shown(Value::Real(999_999.5), 0), "1e+06");
    assert_eq!(shown(Value::Real(9.99), -15), "1e+01");
    assert_eq!(
        shown(Value::array(ArrayElement::Real, vec![Value::Real(0.1), Value::Null]), -3),
        "{0.1,NULL}"
    );
}

#[test]
fn null_has_no_text() {
    let mut out = Vec::new();
    write(&Value::Null, SqlType::Date, &TimeZone::UTC, &mut out);
    assert!(out.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_written_reads_back(
        (sql_type, value) in any_type().prop_flat_map(|sql_type| (Just(sql_type), any_value(sql_type))),
        zone in prop::sample::select(vec!["UTC", "America/New_York", "Asia/Kathmandu", "Africa/Monrovia"]),
    ) {
        // An hour that happens twice is no different if its offset is written after it.
        let tz = TimeZone::get(zone).unwrap();
        let mut out = Vec::new();
        write(&value, sql_type, &tz, &mut out);
        let text = String::from_utf8(out).unwrap();
        let read = parse(&text, sql_type, &tz).unwrap();
        prop_assert!(is_identical(&read, &value), "{text}: {read:?} {value:?}");
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,30}|[-+0-9:. /TZajn\\\\x]{0,25}", number in 0..TYPES.len()) {
        let _ = parse(&text, TYPES[number], &TimeZone::UTC);
    }
}
