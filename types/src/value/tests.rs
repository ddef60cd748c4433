//! What types say about themselves.

use crate::generators::TYPES;
use crate::interval::{IntervalFields, IntervalModifier};
use crate::value::{SqlType, Value};

#[test]
fn a_value_is_small() {
    assert_eq!(size_of::<Value>(), 24);
}

#[test]
fn a_type_survives_its_oid_and_modifier() {
    for sql_type in TYPES {
        assert_eq!(SqlType::from_oid(sql_type.oid(), sql_type.type_modifier()), Some(sql_type));
    }
    for scale in [-1000, -1, 0, 1, 1000] {
        let sql_type = SqlType::Numeric(Some((1000, scale)));
        assert_eq!(SqlType::from_oid(1700, sql_type.type_modifier()), Some(sql_type));
    }
    assert_eq!(SqlType::from_oid(1042, -1), Some(SqlType::Char(0)));
    assert_eq!(SqlType::from_oid(1043, i32::MIN), Some(SqlType::Varchar(None)));
    assert_eq!(SqlType::from_oid(600, -1), None);
}

fn day_to_second(precision: Option<u8>) -> SqlType {
    SqlType::Interval(IntervalModifier { fields: Some(IntervalFields::DayToSecond), precision })
}

/// From `format_type` and `atttypmod` of a PostgreSQL 15 server.
#[test]
fn names_and_modifiers_are_those_of_postgresql() {
    let expected = [
        (SqlType::Numeric(Some((10, 2))), "numeric(10,2)", 655_366),
        (SqlType::Numeric(Some((5, -2))), "numeric(5,-2)", 329_730),
        (SqlType::Varchar(Some(7)), "character varying(7)", 11),
        (SqlType::Char(84), "character(84)", 88),
        (SqlType::Char(0), "bpchar", -1),
        (SqlType::TIMESTAMPTZ, "timestamp with time zone", -1),
        (SqlType::TimestampTz(Some(3)), "timestamp(3) with time zone", 3),
        (SqlType::Timestamp(Some(0)), "timestamp(0) without time zone", 0),
        (SqlType::Time(Some(2)), "time(2) without time zone", 2),
        (SqlType::TimeTz(Some(2)), "time(2) with time zone", 2),
        (SqlType::INTERVAL, "interval", -1),
        (day_to_second(None), "interval day to second", 470_351_871),
        (day_to_second(Some(3)), "interval day to second(3)", 470_286_339),
        (SqlType::DoublePrecision, "double precision", -1),
    ];
    for (sql_type, name, modifier) in expected {
        assert_eq!(sql_type.name(), name);
        assert_eq!(sql_type.type_modifier(), modifier, "{name}");
    }
}

#[test]
fn classes_of_types() {
    for sql_type in TYPES {
        assert!(sql_type.is_same_base(sql_type.without_modifier()));
        assert_eq!(
            sql_type.length_bytes() < 0,
            sql_type.is_string()
                || sql_type.element().is_some()
                || matches!(
                    sql_type.catalog_name(),
                    "numeric" | "bytea" | "json" | "jsonb" | "inet" | "cidr" | "hstore"
                )
        );
        assert!(Value::Null.fits(sql_type));
    }
    assert!(SqlType::SmallInt.is_numeric() && !SqlType::Boolean.is_numeric());
    assert!(Value::text("x").fits(SqlType::Char(1)) && !Value::Integer(1).fits(SqlType::BigInt));
    assert_eq!(Value::SmallInt(-3).as_i64(), Some(-3));
    assert_eq!(Value::Boolean(true).as_bool(), Some(true));
    assert_eq!(Value::text("x").as_str(), Some("x"));
}
