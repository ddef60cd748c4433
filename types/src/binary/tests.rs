//! Binary forms.

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{read, write};
use crate::generators::{TYPES, any_type, any_value, is_identical};
use crate::system_type::SystemType;
use crate::text;
use crate::value::{ArrayElement, SqlType, Value};

fn bytes(value: &Value, sql_type: SqlType) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, sql_type, &mut out);
    out
}

fn refused(bytes: &[u8], sql_type: SqlType) -> (&'static str, String) {
    let error = read(bytes, sql_type).expect_err("must be refused");
    (error.sqlstate().0, error.to_string())
}

/// From `numeric_send` of a PostgreSQL 15 server.
#[test]
fn numerics_are_those_of_postgresql() {
    let expected = [
        ("0", "0000000000000000"),
        ("0.00", "0000000000000002"),
        ("1", "00010000000000000001"),
        ("-1.50", "000200004000000200011388"),
        ("10000", "00010001000000000001"),
        ("12345.678", "0003000100000003000109291a7c"),
        ("0.0001", "0001ffff000000040001"),
        ("1e20", "00010005000000000001"),
        ("-12345.678", "0003000140000003000109291a7c"),
        ("99999999.9999", "0003000100000004270f270f270f"),
    ];
    for (number, expected) in expected {
        let value = text::parse(number, SqlType::Numeric(None), &TimeZone::UTC).unwrap();
        let hexadecimal: String =
            bytes(&value, SqlType::Numeric(None)).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hexadecimal, expected, "{number}");
    }
}

#[test]
fn big_endian() {
    assert_eq!(bytes(&Value::Integer(258), SqlType::Integer), [0, 0, 1, 2]);
    assert_eq!(bytes(&Value::Double(1.0), SqlType::DoublePrecision), [0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes(&Value::Boolean(true), SqlType::Boolean), [1]);
    assert!(bytes(&Value::Null, SqlType::Integer).is_empty());
}

#[test]
fn bad_bytes_are_refused() {
    let format = ("22P03", "incorrect binary data format".to_owned());
    let short = ("08P01", "insufficient data left in message".to_owned());
    assert_eq!(refused(&[1, 2, 3], SqlType::Integer), short);
    assert_eq!(refused(&[1; 5], SqlType::Integer), format);
    assert_eq!(refused(&[], SqlType::Boolean), ("08P01", "no data left in message".to_owned()));
    assert_eq!(refused(&[1; 2], SqlType::Boolean), format);
    assert_eq!(refused(&[1; 15], SqlType::Uuid), short);
    assert_eq!(refused(&[1; 17], SqlType::Uuid), format);
    assert_eq!(refused(&[], SqlType::Jsonb), short);
    assert_eq!(refused(b"\x02{}", SqlType::Jsonb).1, "unsupported jsonb version number 2");
    assert_eq!(refused(&[0, 1, 0, 0, 0, 0, 0, 0], SqlType::Numeric(None)), short);
    assert_eq!(refused(&[0, 0, 0, 0, 0, 0, 0, 0, 0], SqlType::Numeric(None)), format);
    let long_name = ("42622", "identifier too long".to_owned());
    assert_eq!(refused(&[b'a'; 64], SqlType::System(SystemType::Name)), long_name);
    let number =
        |sign: [u8; 2], scale: [u8; 2], digit: [u8; 2]| [&[0, 1, 0, 0], &sign[..], &scale, &digit].concat();
    let message = |part: &str| ("22P03", format!("invalid {part} in external \"numeric\" value"));
    assert_eq!(refused(&number([1, 0], [0, 0], [0, 1]), SqlType::Numeric(None)), message("sign"));
    assert_eq!(refused(&number([0, 0], [0x40, 0], [0, 1]), SqlType::Numeric(None)), message("scale"));
    assert_eq!(refused(&number([0, 0], [0, 0], [0x27, 0x10]), SqlType::Numeric(None)), message("digit"));
    assert_eq!(
        refused(b"a\xff", SqlType::Text),
        ("22021", "invalid byte sequence for encoding \"UTF8\": 0xff".to_owned())
    );
    assert_eq!(
        refused(b"\xc3\x28", SqlType::Varchar(None)),
        ("22021", "invalid byte sequence for encoding \"UTF8\": 0xc3 0x28".to_owned())
    );
    assert_eq!(refused(b"a\0", SqlType::Text).0, "22021");
    assert_eq!(refused(b"abc", SqlType::Varchar(Some(2))).0, "22001");
    assert_eq!(
        refused(&i32::MIN.wrapping_add(1).to_be_bytes(), SqlType::Date),
        ("22008", "date out of range".to_owned())
    );
    assert_eq!(refused(&(i64::MAX - 1).to_be_bytes(), SqlType::TIMESTAMP).0, "22008");
}

#[test]
fn bytes_of_arrays_are_checked() {
    let array = |numbers: &[i32]| -> Vec<u8> { numbers.iter().flat_map(|it| it.to_be_bytes()).collect() };
    let of_integers = |numbers: &[i32]| refused(&array(numbers), SqlType::Array(ArrayElement::Integer));
    let refused_as = |state, message: &str| (state, message.to_owned());
    assert_eq!(of_integers(&[-1]), refused_as("22P03", "invalid number of dimensions: -1"));
    assert_eq!(of_integers(&[1]), refused_as("08P01", "insufficient data left in message"));
    assert_eq!(of_integers(&[1, 2, 23]), refused_as("22P03", "invalid array flags"));
    let too_large = refused_as("54000", "array size exceeds the maximum allowed (134217727)");
    assert_eq!(of_integers(&[1, 0, 23, -1, 1]), too_large);
    assert_eq!(of_integers(&[1, 0, 23, i32::MAX, 1]), too_large);
    let lower = refused_as("54000", "array lower bound is too large: 2147483647");
    assert_eq!(of_integers(&[1, 0, 23, 1, i32::MAX]), lower);
    let mismatch = "binary data has array element type 25 (text) instead of expected 23 (integer)";
    assert_eq!(of_integers(&[0, 0, 25]), refused_as("42804", mismatch));
    // The number of a user-defined type is not checked.
    assert!(read(&array(&[0, 0, 16_500]), SqlType::Array(ArrayElement::Integer)).is_ok());
    let item = refused_as("22P03", "insufficient data left in message");
    assert_eq!(of_integers(&[1, 0, 23, 1, 1, -2]), item);
    assert_eq!(of_integers(&[1, 0, 23, 1, 1, 4]), item);
    let wrong_item = refused_as("22P03", "improper binary format in array element 2");
    assert_eq!(of_integers(&[1, 0, 23, 2, 1, 4, 7, 8, 7, 7]), wrong_item);
    assert_eq!(of_integers(&[1, 0, 23, 1, 1, 4, 7, 7]), refused_as("22P03", "incorrect binary data format"));
}

/// One byte each, whatever their text form.
#[test]
fn single_byte_characters() {
    let sql_type = SqlType::System(SystemType::Char);
    for (byte, shown) in [(0, ""), (b'a', "a"), (0o201, "\\201"), (b'\\', "\\")] {
        let value = read(&[byte], sql_type).unwrap();
        assert_eq!(value, Value::text(shown));
        assert_eq!(bytes(&value, sql_type), [byte]);
    }
    assert_eq!(refused(b"ab", sql_type).0, "22P03");
    assert_eq!(refused(b"", sql_type), ("08P01", "no data left in message".to_owned()));
}

/// Digits beyond the scale are cut off; a number may also begin with zero groups.
#[test]
fn odd_numerics_are_read() {
    let shown = |bytes: &[u8]| text::format(&read(bytes, SqlType::Numeric(None)).unwrap(), &TimeZone::UTC);
    assert_eq!(shown(&[0, 1, 0xff, 0xff, 0, 0, 0, 2, 0x16, 0x2e]), "0.56");
    assert_eq!(shown(&[0, 2, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7]), "7.0");
    assert_eq!(shown(&[0, 1, 0xff, 0xf0, 0, 0, 0, 2, 0, 1]), "0.00");
    assert_eq!(shown(&[0, 0, 0, 9, 0x40, 0, 0, 0]), "0");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_written_reads_back(
        (sql_type, value) in any_type().prop_flat_map(|sql_type| (Just(sql_type), any_value(sql_type)))
    ) {
        let read = read(&bytes(&value, sql_type), sql_type).unwrap();
        prop_assert!(is_identical(&read, &value), "{read:?} {value:?}");
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..40), number in 0..TYPES.len()) {
        let _ = read(&bytes, TYPES[number]);
    }

    /// Almost valid headers, so that the digits are reached.
    #[test]
    fn no_numeric_panics(
        count in 0_u16..6, weight in any::<i16>(), sign in prop::sample::select(vec![0_u16, 0x4000]),
        scale in 0_u16..0x4100, digits in prop::collection::vec(0_u16..10_000, 6),
    ) {
        let mut bytes = [count, weight as u16, sign, scale].map(u16::to_be_bytes).concat();
        bytes.extend(digits[..usize::from(count)].iter().flat_map(|digit| digit.to_be_bytes()));
        if let Ok(Value::Numeric(number)) = read(&bytes, SqlType::Numeric(None)) {
            prop_assert!(super::numeric::is_within_limits(&number));
        }
    }
}
