//! Functions and their table. Results are tested by the table taken from PostgreSQL.

use std::cell::RefCell;

use super::{Function, TypePattern, Volatility, call, lookup, names, now_us};
use crate::datetime::{self, ZonedTime};
use crate::environment::Environment;
use crate::error::sqlstate;
use crate::interval::Interval;
use crate::json::Jsonb;
use crate::random::Random;
use crate::system_type::SystemType;
use crate::value::{BigDecimal, Numeric, SqlType, Value};

fn environment() -> Environment {
    Environment {
        // 2024-07-01 23:30:00 UTC, which is the next day in Berlin.
        transaction_time: datetime::parse_timestamp("2024-07-01 23:30", (&jiff::tz::TimeZone::UTC).into())
            .unwrap(),
        statement_time: datetime::parse_timestamp("2024-07-01 23:31", (&jiff::tz::TimeZone::UTC).into())
            .unwrap(),
        time_zone: jiff::tz::TimeZone::get("Europe/Berlin").unwrap(),
        user: String::new(),
        database: String::new(),
        stop: Default::default(),
        sessions: None,
        random: RefCell::new(Random::seeded(7)),
        ..Environment::default()
    }
}

#[test]
fn the_table_is_consistent() {
    for name in names() {
        for signature in lookup(name) {
            let has_common = signature.arguments.contains(&TypePattern::Common);
            assert_eq!(signature.result == TypePattern::Common, has_common, "{name}");
            assert!(signature.result != TypePattern::Any, "{name}");
            assert!(!signature.is_variadic || !signature.arguments.is_empty(), "{name}");
        }
    }
    assert!(names().count() > 80);
    assert!(lookup("no_such_function").is_empty());
}

/// The module in a function's row computes it, for each of its signatures.
#[test]
fn every_signature_is_computed() {
    let environment = environment();
    let utc = &jiff::tz::TimeZone::UTC;
    let sample = |pattern: &TypePattern| match pattern {
        TypePattern::Exact(SqlType::Boolean) => Value::Boolean(true),
        TypePattern::Exact(SqlType::SmallInt) => Value::SmallInt(1),
        TypePattern::Exact(SqlType::Integer) | TypePattern::Any | TypePattern::Common => Value::Integer(1),
        TypePattern::Exact(SqlType::BigInt) => Value::BigInt(1),
        TypePattern::Exact(SqlType::Real) => Value::Real(0.5),
        TypePattern::Exact(SqlType::DoublePrecision) => Value::Double(0.5),
        TypePattern::Exact(SqlType::Numeric(_)) => Value::numeric(BigDecimal::from(2)),
        TypePattern::Exact(SqlType::Bytea) => Value::Bytea(Box::new([1])),
        TypePattern::Exact(SqlType::Uuid) => Value::Uuid([1; 16]),
        TypePattern::Exact(SqlType::Inet) => crate::text::parse("10.1.2.3/8", SqlType::Inet, utc).unwrap(),
        TypePattern::Exact(SqlType::Cidr) => crate::text::parse("10/8", SqlType::Cidr, utc).unwrap(),
        TypePattern::Exact(SqlType::MacAddr) => Value::MacAddr([1; 6]),
        TypePattern::Exact(SqlType::MacAddr8) => Value::MacAddr8([1; 8]),
        TypePattern::Exact(own @ SqlType::Extension(_)) => crate::text::parse("a=>1", *own, utc).unwrap(),
        TypePattern::Exact(SqlType::Date) => Value::Date(1),
        TypePattern::Exact(SqlType::Time(_)) => Value::Time(1),
        TypePattern::Exact(SqlType::TimeTz(_)) => Value::TimeTz(ZonedTime { time: 1, west: 3600 }),
        TypePattern::Exact(SqlType::Timestamp(_)) => Value::Timestamp(1),
        TypePattern::Exact(SqlType::TimestampTz(_)) => Value::TimestampTz(1),
        TypePattern::Exact(SqlType::Interval(_)) => Value::Interval(Interval::new(1, 1, 1)),
        TypePattern::Exact(SqlType::System(SystemType::Oid)) => Value::Oid(1),
        TypePattern::Exact(SqlType::System(system_type)) if system_type.is_reference() => {
            Value::reference(*system_type, 1, "name")
        }
        TypePattern::Exact(SqlType::System(SystemType::OidVector)) => {
            Value::array(crate::value::ArrayElement::System(SystemType::Oid), vec![Value::Oid(23)])
        }
        TypePattern::Exact(SqlType::System(SystemType::JsonPath)) => Value::text("$[*] ? (@ == \"day\")"),
        TypePattern::Exact(SqlType::Json) => Value::Json("{\"day\": 1}".into()),
        TypePattern::Exact(SqlType::Jsonb) => Value::Jsonb(Jsonb::parse("[\"day\", 1]").unwrap()),
        TypePattern::Exact(SqlType::Array(element)) => Value::array(*element, vec![Value::text("0")]),
        TypePattern::Exact(sql_type) => {
            assert!(sql_type.is_text(), "{sql_type:?}");
            Value::text("day")
        }
    };
    for (name, signature) in names().flat_map(|name| lookup(name).iter().map(move |one| (name, one))) {
        let arguments: Vec<Value> = signature.arguments.iter().map(sample).collect();
        if let Err(error) = call(signature.function, &arguments, &environment) {
            assert_ne!(error.sqlstate(), sqlstate::INTERNAL_ERROR, "{name}: {error}");
        }
    }
}

#[test]
fn volatilities() {
    assert_eq!(Function::Random.volatility(), Volatility::Volatile);
    assert_eq!(lookup("now")[0].volatility(), Volatility::Stable);
    assert_eq!(lookup("abs")[0].volatility(), Volatility::Immutable);
    assert!(lookup("abs")[0].is_strict() && !lookup("concat")[0].is_strict());
}

#[test]
fn clocks() {
    let environment = environment();
    let of = |function| call(function, &[], &environment).unwrap();
    assert_eq!(of(Function::Now), Value::TimestampTz(environment.transaction_time));
    assert_eq!(of(Function::StatementTimestamp), Value::TimestampTz(environment.statement_time));
    assert_eq!(
        of(Function::CurrentDate),
        Value::Date(datetime::parse_date("2024-07-02", (&jiff::tz::TimeZone::UTC).into()).unwrap())
    );
    let local = datetime::parse_timestamp("2024-07-02 01:30", (&jiff::tz::TimeZone::UTC).into()).unwrap();
    assert_eq!(of(Function::LocalTimestamp), Value::Timestamp(local));
    let Value::TimestampTz(now) = of(Function::ClockTimestamp) else {
        panic!("clock_timestamp is a timestamptz")
    };
    assert!(
        now <= now_us()
            && now > datetime::parse_timestamp("2024-01-01", (&jiff::tz::TimeZone::UTC).into()).unwrap()
    );
}

#[test]
fn random_comes_from_the_environment() {
    let (first, second) = (environment(), environment());
    let draw = |environment: &Environment| match call(Function::Random, &[], environment).unwrap() {
        Value::Double(number) => number,
        other => panic!("{other:?}"),
    };
    for _ in 0..100 {
        let number = draw(&first);
        assert!((0.0..1.0).contains(&number));
        assert_eq!(number, draw(&second));
    }
    let Value::Uuid(uuid) = call(Function::GenRandomUuid, &[], &first).unwrap() else { panic!("no uuid") };
    assert_eq!((uuid[6] >> 4, uuid[8] >> 6), (4, 2));
    assert_ne!(call(Function::GenRandomUuid, &[], &first).unwrap(), Value::Uuid(uuid));
}

#[test]
fn strict_functions_are_not_run_on_null() {
    let environment = environment();
    assert!(call(Function::Substring, &[Value::text("x"), Value::Null], &environment).unwrap().is_null());
    assert!(call(Function::Greatest, &[Value::Null, Value::Null], &environment).unwrap().is_null());
    assert!(call(Function::NullIf, &[Value::Null, Value::Integer(1)], &environment).unwrap().is_null());
}

#[test]
fn arguments_that_fit_no_signature_are_an_internal_error() {
    let error = call(Function::Lower, &[Value::Integer(1)], &environment()).unwrap_err();
    assert_eq!(error.sqlstate().0, "XX000");
    for function in
        [Function::Round, Function::Position, Function::PadLeft, Function::DateTrunc, Function::NullIf]
    {
        assert!(call(function, &[Value::Boolean(true)], &environment()).is_err());
        assert!(call(function, &[], &environment()).is_err());
    }
}

#[test]
fn char_drops_its_blanks() {
    let environment = environment();
    assert_eq!(call(Function::CharToText, &[Value::text("a  ")], &environment).unwrap(), Value::text("a"));
    let of_char = lookup("length").iter().find(|signature| signature.function == Function::LengthOfChar);
    assert_eq!(
        of_char.map(|signature| signature.arguments),
        Some(&[TypePattern::Exact(SqlType::Char(0))][..])
    );
}

#[test]
fn fields_of_infinity() {
    let environment = environment();
    let arguments = [Value::text("epoch"), Value::Timestamp(datetime::TIMESTAMP_INFINITY)];
    assert_eq!(call(Function::DatePart, &arguments, &environment).unwrap(), Value::Double(f64::INFINITY));
    let infinite = Value::numeric(Numeric::Infinity);
    assert_eq!(call(Function::Extract, &arguments, &environment).unwrap(), infinite);
}
