//! JSON read, printed, ordered and refused.

use super::depth::MOST_DEPTH;
use super::*;
use crate::error::sqlstate;
use crate::key;
use crate::value::{SqlType, Value};

fn jsonb(text: &str) -> Jsonb {
    Jsonb::parse(text).unwrap()
}

#[test]
fn a_jsonb_is_printed_in_its_canonical_form() {
    for (written, shown) in [
        ("{}", "{}"),
        (" [ ] ", "[]"),
        (r#"{"b":1,"aa":2,"a":{"x":[1,2.50]},"b":3}"#, r#"{"a": {"x": [1, 2.50]}, "b": 3, "aa": 2}"#),
        ("[1e3, -0, -0.0, 1.5E-2, 12]", "[1000, 0, 0.0, 0.015, 12]"),
        (r#""\u00e9\ud83d\ude00\/\n\"""#, "\"é😀/\\n\\\"\""),
        ("[[],{},[{}],null,true,false]", "[[], {}, [{}], null, true, false]"),
    ] {
        let value = jsonb(written);
        assert_eq!(format!("{value:?}"), shown);
        assert_eq!(jsonb(shown), value);
        assert!(Jsonb::is_canonical(value.as_bytes()));
        for length in 0..value.as_bytes().len() {
            assert!(!Jsonb::is_canonical(&value.as_bytes()[..length]), "{shown} cut");
        }
        assert!(!Jsonb::is_canonical(&[value.as_bytes(), &[0]].concat()));
    }
}

#[test]
fn long_strings_and_keys_come_back() {
    let long = "é".repeat(70_000);
    let value = jsonb(&format!(r#"{{"{long}": "{long}", "a": ["{long}"]}}"#));
    assert!(Jsonb::is_canonical(value.as_bytes()));
    assert_eq!(format!("{value:?}"), format!(r#"{{"a": ["{long}"], "{long}": "{long}"}}"#));
}

#[test]
fn what_nests_deep_is_read_and_what_nests_deeper_is_refused() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let deep = jsonb(&nested(MOST_DEPTH));
    assert!(Jsonb::is_canonical(deep.as_bytes()));
    assert_eq!(format!("{deep:?}"), nested(MOST_DEPTH));
    assert!(compare(deep.root(), deep.root()).is_eq());
    assert!(validate(&nested(MOST_DEPTH)).is_ok());
    for text in [nested(MOST_DEPTH + 1), "[".repeat(1_000_000), "{\"a\":".repeat(1_000_000)] {
        assert_eq!(validate(&text).unwrap_err().sqlstate(), sqlstate::STATEMENT_TOO_COMPLEX);
        assert!(Jsonb::parse(&text).is_err());
    }
}

#[test]
fn values_and_their_keys_are_in_postgresqls_order() {
    let ascending = [
        "[]",
        "null",
        r#""""#,
        r#""a""#,
        r#""b""#,
        "-1",
        "1.0",
        "2",
        "false",
        "true",
        "[null]",
        "[1]",
        "[[]]",
        "[[0]]",
        "[{}]",
        "[1, 1]",
        "[1, 2]",
        "{}",
        r#"{"a": 1}"#,
        r#"{"a": 2}"#,
        r#"{"b": 0}"#,
        r#"{"a": 0, "b": 0}"#,
    ];
    let encoded = |value: &Jsonb| {
        let mut bytes = Vec::new();
        key::encode(&Value::Jsonb(value.clone()), SqlType::Jsonb, &mut bytes);
        assert_eq!(key::encoded_length(SqlType::Jsonb, &bytes, 0), Some(bytes.len()));
        bytes
    };
    for (at, one) in ascending.iter().enumerate() {
        for (other_at, other) in ascending.iter().enumerate() {
            let (left, right) = (jsonb(one), jsonb(other));
            assert_eq!(compare(left.root(), right.root()), at.cmp(&other_at), "{one} {other}");
            assert_eq!(encoded(&left).cmp(&encoded(&right)), at.cmp(&other_at), "keys of {one} {other}");
        }
    }
    assert_eq!(encoded(&jsonb("[1.0]")), encoded(&jsonb("[1.00]")));
}

#[test]
fn what_is_no_json_is_refused() {
    for text in [
        "",
        " ",
        "x",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "-",
        "1e",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "tru",
        "truex",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "é",
        "\"\u{1}\"",
    ] {
        let error = validate(text).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::INVALID_TEXT_REPRESENTATION, "{text}");
        assert!(Jsonb::parse(text).is_err());
    }
    for text in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\ud800""#, r#""\ud800a""#, r#""\u0000""#] {
        assert!(validate(text).is_ok(), "{text}");
        assert!(Jsonb::parse(text).is_err(), "{text}");
    }
}
