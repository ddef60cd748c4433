//! Numerics beyond the table taken from PostgreSQL.

use proptest::prelude::*;

use super::{
    BigDecimal, compare, from_f64, from_i64, is_within_limits, logarithm, multiply, parse, power,
    significant_digits, square_root, to_f64, to_i64, with_scale, write,
};

fn number(text: &str) -> BigDecimal {
    parse(text).unwrap()
}

fn shown(number: &BigDecimal) -> String {
    let mut out = Vec::new();
    write(number, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn limits() {
    assert!(is_within_limits(&number("1e131071")));
    assert!(!is_within_limits(&BigDecimal::new(1.into(), 16_384)));
    let large = number("1e131071");
    assert_eq!(multiply(&large, &number("10")).unwrap_err().to_string(), "value overflows numeric format");
    assert_eq!(parse(&"9".repeat(131_073)).unwrap_err().sqlstate().0, "22003");
    let small = number("1e-16383");
    assert_eq!(shown(&multiply(&small, &number("0.4")).unwrap()).len(), 2 + 16_383);
}

#[test]
fn wide_numbers_go_through_text() {
    let text =
        "-170141183460469231731687303715884105728170141183460469231731687303715884105728.000000000000001";
    assert_eq!(shown(&number(text)), text);
    let digits = significant_digits(&number("-0.00120")).unwrap();
    assert_eq!((digits.is_negative, digits.exponent, &digits.text[..]), (true, -2, &b"12"[..]));
    assert!(significant_digits(&number("0.000")).is_none());
}

#[test]
fn conversions() {
    assert_eq!(to_i64(&number("9223372036854775807.4")), Some(i64::MAX));
    assert_eq!(to_i64(&number("-9223372036854775808.5")), None);
    assert_eq!(to_i64(&number("1e131000")), None);
    assert_eq!(shown(&from_f64(1e-300).unwrap()).len(), 302);
    assert!(to_f64(&number("1e400")).is_infinite());
}

#[test]
fn functions_refuse_what_they_cannot() {
    let message = |result: crate::Result<BigDecimal>| result.unwrap_err().to_string();
    assert_eq!(message(square_root(&from_i64(-1))), "cannot take square root of a negative number");
    assert_eq!(message(logarithm(&from_i64(0))), "cannot take logarithm of zero");
    assert_eq!(message(power(&number("10"), &number("200000"))), "value overflows numeric format");
    assert_eq!(message(power(&number("10"), &number("200000.5"))), "value overflows numeric format");
    assert_eq!(shown(&power(&number("0.1"), &number("200000")).unwrap()), "0.0000000000000000");
}

proptest! {
    #[test]
    fn rounding_is_to_the_nearest(digits in any::<i64>(), scale in 0_i64..30, wanted in 0_i64..30) {
        let exact = BigDecimal::new(digits.into(), scale);
        let rounded = with_scale(&exact, wanted);
        prop_assert_eq!(rounded.fractional_digit_count(), wanted);
        let error = (&exact - &rounded).abs();
        let half = BigDecimal::new(5.into(), wanted + 1);
        prop_assert!(compare(&error, &half).is_le());
    }

    #[test]
    fn orders_by_value(a in -9999_i64..9999, a_scale in 0_i64..6, b in -9999_i64..9999, b_scale in 0_i64..6) {
        let exact = |digits: i64, scale: i64| i128::from(digits) * 10_i128.pow(6 - scale as u32);
        let found = compare(&BigDecimal::new(a.into(), a_scale), &BigDecimal::new(b.into(), b_scale));
        prop_assert_eq!(found, exact(a, a_scale).cmp(&exact(b, b_scale)));
    }

    #[test]
    fn no_text_panics(text in "[-+0-9.eE ]{0,12}") {
        if let Ok(number) = parse(&text) {
            prop_assert!(is_within_limits(&number));
        }
    }
}
