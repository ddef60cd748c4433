//! Encoding and decoding of calls as a pair, how large they are, and decoding of arbitrary bytes.

use hyades_types::extension::ExtensionType;
use hyades_types::generators;
use hyades_types::interval::Interval;
use hyades_types::value::{ArrayElement, BigDecimal, Numeric, SqlType};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::log::record::{CommitHeader, Operation, Operations, encode_commit, write_position};

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        any::<i16>().prop_map(Value::SmallInt),
        any::<i32>().prop_map(Value::Integer),
        any::<i64>().prop_map(Value::BigInt),
        (-1e30_f32..1e30).prop_map(Value::Real),
        (-1e300_f64..1e300).prop_map(Value::Double),
        (any::<i128>(), -20_i64..20)
            .prop_map(|(digits, scale)| { Value::numeric(BigDecimal::from_bigint(digits.into(), scale)) }),
        prop::sample::select(vec![Numeric::NaN, Numeric::Infinity, Numeric::MinusInfinity])
            .prop_map(Value::numeric),
        ".{0,200}".prop_map(Value::text),
        vec(any::<u8>(), 0..300).prop_map(|bytes| Value::Bytea(bytes.into())),
        any::<i32>().prop_map(Value::Date),
        any::<i64>().prop_map(Value::Time),
        generators::any_value(SqlType::TIMETZ),
        generators::any_value(SqlType::Array(ArrayElement::TimeTz)),
        any::<i64>().prop_map(Value::Timestamp),
        any::<i64>().prop_map(Value::TimestampTz),
        any::<[u8; 16]>().prop_map(Value::Uuid),
        any::<[u8; 6]>().prop_map(Value::MacAddr),
        any::<[u8; 8]>().prop_map(Value::MacAddr8),
        generators::any_value(SqlType::Inet),
        generators::any_value(SqlType::Extension(ExtensionType::Hstore)),
        generators::any_value(SqlType::Array(ArrayElement::Extension(ExtensionType::Citext))),
        generators::any_value(SqlType::Cidr),
        any::<(i32, i32, i64)>()
            .prop_map(|(months, days, time)| Value::Interval(Interval::new(months, days, time))),
    ]
}

/// The bits, not only the value: the scale of a numeric and the sign of a zero reach rows.
fn bits(value: &Value) -> String {
    match value {
        Value::Numeric(number) => {
            format!("{number:?} {:?}", number.finite().map(BigDecimal::as_bigint_and_scale))
        }
        Value::Double(number) => format!("{:x}", number.to_bits()),
        Value::Real(number) => format!("{:x}", number.to_bits()),
        other => format!("{other:?}"),
    }
}

fn encode(captured: &Captured<'_>, arguments: &[Value], row_numbers: &[u64], hash: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_command_head(&mut bytes, RoutineId(16_390), 0xDEAD_BEEF, captured);
    write_arguments(&mut bytes, arguments);
    finish_command(&mut bytes, row_numbers, WriteSetHash(hash));
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn calls_come_back_as_they_went(
        arguments in vec(value(), 0..12),
        clock in proptest::option::of((any::<i64>(), any::<i64>())),
        random_seed in proptest::option::of(any::<u64>()),
        user in proptest::option::of(".{0,20}"),
        row_numbers in vec(any::<u64>(), 0..5),
        hash in any::<u64>(),
    ) {
        let captured = Captured {
            clock: clock.map(|(transaction_time, statement_time)| CapturedClock { transaction_time, statement_time }),
            random_seed,
            identity: user.as_deref().map(|user| CapturedIdentity { user, database: "d", time_zone: "UTC" }),
        };
        let bytes = encode(&captured, &arguments, &row_numbers, hash);
        let command = Command::of(&bytes).expect("a call").expect("well-formed");
        prop_assert_eq!((command.routine, command.version_hash), (RoutineId(16_390), 0xDEAD_BEEF));
        prop_assert_eq!((command.captured, command.write_set_hash), (captured, WriteSetHash(hash)));
        prop_assert_eq!(command.hash_form, HashForm::ByTable);
        let mut older = bytes.clone();
        older[1] &= !HASHED_BY_TABLE;
        prop_assert_eq!(Command::of(&older).expect("a call").expect("well-formed").hash_form, HashForm::OneChain);
        let found = command.arguments().expect("well-formed");
        prop_assert_eq!(found.iter().map(bits).collect::<Vec<_>>(), arguments.iter().map(bits).collect::<Vec<_>>());
        let mut numbers = Vec::new();
        command.row_numbers_into(&mut numbers).expect("well-formed");
        prop_assert_eq!(numbers, row_numbers);
        let operations: Vec<_> = Operations::new(&bytes).collect();
        prop_assert_eq!(operations, vec![Ok(Operation::Command(command))]);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..200), cut in any::<usize>()) {
        let mut call = vec![COMMAND_HEAD as u8];
        call.extend(bytes);
        if let Some(Ok(command)) = Command::of(&call) {
            let _ = command.arguments();
        }
        let whole = encode(&Captured::default(), &[Value::Integer(7), Value::text("seven")], &[7], 7);
        prop_assert!(Command::of(&whole[..1 + cut % (whole.len() - 1)]).expect("a call").is_err());
    }
}

#[test]
fn data_records_are_no_calls() {
    assert!(Command::of(&[]).is_none());
    assert!(Command::of(&[5, 0, 0]).is_none());
}

/// The size of the arguments of TPC-C's procedures, with 4 logs that all count.
#[test]
fn new_order_and_payment_are_small() {
    let integer = Value::Integer;
    let mut new_order: Vec<Value> = [3, 7, 2_345, 10].map(integer).to_vec();
    // Ten lines: item, supplying warehouse, quantity. As an array they share their types.
    for line in 0..10 {
        new_order.extend([83_421 - line, 3, 5].map(integer));
    }
    let payment = [
        integer(3),
        integer(7),
        integer(3),
        integer(7),
        integer(2_345),
        Value::Null,
        "1234.56".parse::<BigDecimal>().map(Value::numeric).expect("a number"),
    ];
    let clock = CapturedClock { transaction_time: 850_000_000_000_000, statement_time: 850_000_000_000_000 };
    let captured = Captured { clock: Some(clock), ..Captured::default() };
    // An LSN vector that names two positions.
    let field = |header: &mut Vec<u8>| {
        header.push(0b11);
        (0..2).for_each(|_| write_position(header, 1 << 33));
    };
    let of = |body: &[u8]| encode_commit(&mut Vec::new(), CommitHeader::default(), field, body.len());
    let new_order = of(&encode(&captured, &new_order, &[], 1 << 60));
    let payment = of(&encode(&captured, &payment, &[123_456], 1 << 60));
    println!("New-Order {new_order} bytes, Payment {payment}");
    assert!((new_order + payment) / 2 <= 120, "{new_order}, {payment}");
    let dependencies = of(&[]) - 8;
    assert!(dependencies <= 16, "{dependencies} bytes of dependencies");
}

#[test]
fn the_write_set_hash_is_part_of_the_format() {
    let mut one = WriteChain::default();
    one.add(TableId(16_384), b"key", Some(b"row"));
    one.add(TableId(16_385), b"key", None);
    let of = |chain: WriteChain| {
        let mut hash = WriteSetHash::default();
        hash.exchange(WriteChain::default(), chain);
        hash.0
    };
    assert_eq!(of(one), 6_481_605_039_674_434_798, "a log that was written must stay readable");
    let mut other = WriteChain::default();
    other.add(TableId(16_385), b"key", None);
    other.add(TableId(16_384), b"key", Some(b"row"));
    assert_ne!(one, other, "the order counts");
    let (mut empty, mut absent) = (WriteChain::default(), WriteChain::default());
    empty.add(TableId(1), b"key", Some(b""));
    absent.add(TableId(1), b"key", None);
    assert_ne!(empty, absent);
}
