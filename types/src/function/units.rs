//! Names of units of time, for functions of times and of intervals.

use crate::datetime;
use crate::error::{Error, sqlstate};
use crate::value::{BigDecimal, Value};

/// The unit's full name; None if there is no such unit.
pub(super) fn canonical(unit: &str) -> Option<&'static str> {
    datetime::unit_named(&unit.to_ascii_lowercase())
}

pub(super) fn unknown_unit(unit: &str, type_name: &str) -> Error {
    let unit = unit.to_ascii_lowercase();
    Error::input(
        sqlstate::INVALID_PARAMETER_VALUE,
        format!("unit \"{unit}\" not recognized for type {type_name}"),
    )
}

pub(super) fn unsupported_unit(unit: &str, type_name: &str) -> Error {
    let unit = unit.to_ascii_lowercase();
    Error::input(
        sqlstate::FEATURE_NOT_SUPPORTED,
        format!("unit \"{unit}\" not supported for type {type_name}"),
    )
}

/// A decimal number of this many units of 10 to the -`scale`.
pub(super) fn scaled(units: i64, scale: i64) -> Value {
    Value::numeric(BigDecimal::new(units.into(), scale))
}
