//! Which casts exist. Their results are in the table taken from PostgreSQL
//! (`procedure/evaluate/postgres.txt`).

use jiff::tz::TimeZone;

use super::{CastContext, allowed, cast};
use crate::extension::ExtensionType;
use crate::generators::{TYPES, any_type, any_value};
use crate::text::fit_text;
use crate::value::{SqlType, Value};
use proptest::prelude::*;

/// The rows of PostgreSQL 15's `pg_cast` between these types, as `source target context`; all others go
/// through text.
const PG_CAST: &str = "\
    int8 float8 i;int8 int4 a;int8 numeric i;int8 float4 i;int8 int2 a;bool int4 e;date timestamptz i;date timestamp i;\
    float8 int8 a;float8 int4 a;float8 numeric a;float8 float4 a;float8 int2 a;int4 int8 i;int4 bool e;int4 float8 i;\
    int4 numeric i;int4 float4 i;int4 int2 a;numeric int8 a;numeric float8 i;numeric int4 a;numeric float4 i;\
    numeric int2 a;float4 int8 a;float4 float8 i;float4 int4 a;float4 numeric a;float4 int2 a;int2 int8 i;int2 float8 i;\
    int2 int4 i;int2 numeric i;int2 float4 i;timestamptz date a;timestamptz timestamp a;timestamp date a;\
    timestamp timestamptz i;interval time a;time interval i;timestamp time a;timestamptz time a;\
    json jsonb a;jsonb json a;jsonb bool e;jsonb numeric e;jsonb int2 e;jsonb int4 e;jsonb int8 e;jsonb float4 e;jsonb float8 e;\
    inet cidr a;cidr inet i;macaddr macaddr8 i;macaddr8 macaddr i;time timetz i;timetz time a;timestamptz timetz a;\
    citext text i;citext varchar i;citext bpchar a;hstore json e;hstore jsonb e";

#[test]
fn casts_are_those_of_postgresql() {
    // Arrays are cast element by element.
    let types = || TYPES.into_iter().filter(|sql_type| sql_type.element().is_none());
    for from in types() {
        for to in types() {
            let listed = PG_CAST.split(';').find_map(|row| {
                let mut words = row.split(' ');
                let is_this =
                    words.next() == Some(from.catalog_name()) && words.next() == Some(to.catalog_name());
                is_this.then(|| words.next()).flatten()
            });
            let expected = match listed {
                Some("i") => Some(CastContext::Implicit),
                Some("a") => Some(CastContext::Assignment),
                Some(_) => Some(CastContext::Explicit),
                None if from.is_same_base(to) || (from.is_text() && to.is_text()) => {
                    Some(CastContext::Implicit)
                }
                None if to.is_string() => Some(CastContext::Assignment),
                None if from.is_string() => Some(CastContext::Explicit),
                None => None,
            };
            assert_eq!(allowed(from, to), expected, "{} to {}", from.name(), to.name());
        }
    }
}

#[test]
fn a_cast_that_does_not_exist_is_refused() {
    let error = cast(Value::Uuid([0; 16]), SqlType::Integer, true, &TimeZone::UTC).unwrap_err();
    assert_eq!(
        (error.sqlstate().0, error.to_string()),
        ("42846", "cannot cast type uuid to integer".to_owned())
    );
    assert!(cast(Value::Date(1), SqlType::Boolean, true, &TimeZone::UTC).is_err());
    assert!(cast(Value::BigInt(1), SqlType::Boolean, true, &TimeZone::UTC).is_err());
}

#[test]
fn assignment_refuses_what_an_explicit_cast_cuts_off() {
    let varchar = SqlType::Varchar(Some(2));
    assert_eq!(fit_text("héé".into(), varchar, true).unwrap(), "hé");
    assert_eq!(fit_text("hé   ".into(), varchar, false).unwrap(), "hé");
    assert_eq!(fit_text("h".into(), SqlType::Char(3), false).unwrap(), "h  ");
    assert_eq!(fit_text("any length".into(), SqlType::Char(0), false).unwrap(), "any length");
    let error = fit_text("héé".into(), varchar, false).unwrap_err();
    let message = "value too long for type character varying(2)".to_owned();
    assert_eq!((error.sqlstate().0, error.to_string()), ("22001", message));
    let error = cast(Value::Integer(123), SqlType::Char(2), false, &TimeZone::UTC).unwrap_err();
    assert_eq!(error.sqlstate().0, "22001");
}

#[test]
fn null_casts_to_null() {
    for to in TYPES {
        assert!(cast(Value::Null, to, false, &TimeZone::UTC).unwrap().is_null());
    }
}

proptest! {
    /// Every allowed cast gives a value of its target or an error of the user; none panics.
    #[test]
    fn casts_give_their_type(
        (from, value) in any_type().prop_flat_map(|sql_type| (Just(sql_type), any_value(sql_type))),
        to in any_type(),
        explicit in any::<bool>(),
    ) {
        match cast(value, to, explicit, &TimeZone::UTC) {
            Ok(value) => {
                let is_empty = matches!(&value, Value::Array(array) if array.values.iter().all(Value::is_null));
                prop_assert!(value.fits(to) && (is_empty || allowed(from, to).is_some()));
            }
            // PostgreSQL gives the errors of this type no code of their own.
            Err(_) if to.extension_type() == Some(ExtensionType::Hstore) => {}
            Err(error) => prop_assert!(error.sqlstate().0 != "XX000", "{error}"),
        }
    }

    #[test]
    fn a_value_of_the_type_stays_as_it_is(
        (sql_type, value) in any_type().prop_flat_map(|sql_type| (Just(sql_type), any_value(sql_type)))
    ) {
        let same = cast(value.clone(), sql_type, false, &TimeZone::UTC).unwrap();
        prop_assert!(crate::generators::is_identical(&same, &value));
    }
}
