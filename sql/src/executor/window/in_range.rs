//! Whether a value lies within a distance of another one, for RANGE with an offset.
//!
//! Reference: PostgreSQL's functions `in_range`. Where a sum would leave the type of integers, times and
//! numbers, it counts as larger (or smaller) than all values. Sums of timestamps fail.

use std::cmp::Ordering;

use hyades_types::compare;
use hyades_types::datetime::{self, ZonedTime};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::interval::Interval;
use hyades_types::numeric;
use hyades_types::value::{Numeric, Value};
use jiff::tz::TimeZone;

/// `value <= base + offset` and the three others like it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparison {
    /// Whether the offset is subtracted from the base.
    pub(super) is_subtracted: bool,
    /// Whether the value must be at most as large, instead of at least.
    pub(super) is_less: bool,
}

impl Comparison {
    fn holds(self, value_to_bound: Ordering) -> bool {
        if self.is_less { value_to_bound.is_le() } else { value_to_bound.is_ge() }
    }
}

fn invalid_size() -> Error {
    let message = "invalid preceding or following size in window function";
    Error::input(sqlstate::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message)
}

/// See the module head. None of the values is NULL.
///
/// # Errors
/// 22013 for a negative offset; 22008 if a timestamp is out of range.
pub(super) fn in_range(
    value: &Value,
    base: &Value,
    offset: &Value,
    comparison: Comparison,
    time_zone: &TimeZone,
) -> Result<bool> {
    match (value, base, offset) {
        (Value::Double(value), Value::Double(base), Value::Double(offset)) => {
            float(*value, *base, *offset, comparison)
        }
        (Value::Real(value), Value::Real(base), Value::Double(offset)) => {
            float(f64::from(*value), f64::from(*base), *offset, comparison)
        }
        (Value::Numeric(value), Value::Numeric(base), Value::Numeric(offset)) => {
            decimal(value, base, offset, comparison)
        }
        (Value::Time(value), Value::Time(base), Value::Interval(offset)) => {
            // Its months and days do not count.
            let offset = i128::from(offset.microseconds);
            whole(i128::from(*value), i128::from(*base), offset, comparison)
        }
        (Value::TimeTz(value), Value::TimeTz(base), Value::Interval(offset)) => {
            if offset.microseconds < 0 {
                return Err(invalid_size());
            }
            let distance = if comparison.is_subtracted { -offset.microseconds } else { offset.microseconds };
            let bound = ZonedTime { time: base.time.saturating_add(distance), ..*base };
            Ok(comparison.holds(value.cmp(&bound)))
        }
        (_, _, Value::Interval(offset)) => {
            if offset.order(Interval::default()).is_lt() {
                return Err(invalid_size());
            }
            let bound = shifted(base, *offset, comparison.is_subtracted, time_zone)?;
            let value = match value {
                Value::Date(days) => Value::Timestamp(datetime::date_to_timestamp(*days)?),
                other => other.clone(),
            };
            Ok(comparison.holds(compare::total(&value, &bound)))
        }
        _ => match (value.as_i64(), base.as_i64(), offset.as_i64()) {
            (Some(value), Some(base), Some(offset)) => {
                whole(i128::from(value), i128::from(base), i128::from(offset), comparison)
            }
            _ => Err(Error::input(sqlstate::INTERNAL_ERROR, "values of a RANGE that have no distance")),
        },
    }
}

fn whole(value: i128, base: i128, offset: i128, comparison: Comparison) -> Result<bool> {
    if offset < 0 {
        return Err(invalid_size());
    }
    let bound = if comparison.is_subtracted { base - offset } else { base + offset };
    Ok(comparison.holds(value.cmp(&bound)))
}

fn float(value: f64, base: f64, offset: f64, comparison: Comparison) -> Result<bool> {
    if offset.is_nan() || offset < 0.0 {
        return Err(invalid_size());
    }
    // NaN is larger than all other numbers, and at no distance from itself.
    if value.is_nan() || base.is_nan() {
        return Ok(match (value.is_nan(), base.is_nan()) {
            (true, true) => true,
            (true, false) => !comparison.is_less,
            _ => comparison.is_less,
        });
    }
    // Infinity minus infinity is anything.
    if offset.is_infinite() && base.is_infinite() && (base > 0.0) == comparison.is_subtracted {
        return Ok(true);
    }
    let bound = if comparison.is_subtracted { base - offset } else { base + offset };
    Ok(if comparison.is_less { value <= bound } else { value >= bound })
}

fn decimal(value: &Numeric, base: &Numeric, offset: &Numeric, comparison: Comparison) -> Result<bool> {
    let is_nan = |number: &Numeric| matches!(number, Numeric::NaN);
    if is_nan(offset) || numeric::compare(offset, &numeric::from_i64(0)).is_lt() {
        return Err(invalid_size());
    }
    if is_nan(value) || is_nan(base) {
        return Ok(match (is_nan(value), is_nan(base)) {
            (true, true) => true,
            (true, false) => !comparison.is_less,
            _ => comparison.is_less,
        });
    }
    let meets = match base {
        Numeric::Infinity => comparison.is_subtracted,
        Numeric::MinusInfinity => !comparison.is_subtracted,
        _ => false,
    };
    if matches!(offset, Numeric::Infinity) && meets {
        return Ok(true);
    }
    let bound = match comparison.is_subtracted {
        true => numeric::subtract(base, offset)?,
        false => numeric::add(base, offset)?,
    };
    Ok(comparison.holds(numeric::compare(value, &bound)))
}

/// A time that is an interval later or earlier.
fn shifted(base: &Value, offset: Interval, is_subtracted: bool, time_zone: &TimeZone) -> Result<Value> {
    if let Value::Interval(base) = base {
        let bound = if is_subtracted { base.minus(offset)? } else { base.plus(offset)? };
        return Ok(Value::Interval(bound));
    }
    let offset = if is_subtracted { offset.negate()? } else { offset };
    Ok(match base {
        Value::Date(days) => {
            Value::Timestamp(datetime::add_interval(datetime::date_to_timestamp(*days)?, offset)?)
        }
        Value::Timestamp(time) => Value::Timestamp(datetime::add_interval(*time, offset)?),
        Value::TimestampTz(time) => Value::TimestampTz(datetime::add_interval_in(*time, offset, time_zone)?),
        _ => Value::Null,
    })
}
