//! Casts between types, and the coercion of values to a type's modifiers.
//!
//! [`allowed`] says when PostgreSQL applies a cast by itself: *implicit* casts anywhere, *assignment* casts
//! when a value is stored into a column, *explicit* ones only when written. It is `pg_cast` of PostgreSQL 15,
//! plus the conversions through text that exist for every type.
//!
//! Modifiers: `numeric(p,s)` rounds and may overflow; `varchar(n)` and `char(n)` refuse a longer text unless
//! the cast is explicit (then they cut it) or only blanks are lost; `char(n)` pads; `interval` drops the
//! fields that it does not keep; times and timestamps are rounded to their precision.
//!
//! A value does not know that it is `char(n)`: to cast one to `text`, apply
//! [`Function::CharToText`](super::function::Function::CharToText), which drops the padding.

use bigdecimal::num_bigint::Sign;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::collect;
use crate::datetime::ZonedTime;
use crate::error::{Error, Result, sqlstate};
use crate::extension::{ExtensionType, ExtensionValue};
use crate::extension_cast::{from_array, half_way};
use crate::interval::{Interval, IntervalModifier};
use crate::system_type::SystemType;
use crate::text::{Reading, TextForm, fit_text};
use crate::value::{ArrayElement, ArrayValue, Numeric, Precision, SqlType, Value};
use crate::{arithmetic, datetime, json, memory, network, numeric, text};

/// When a cast may be applied. A later one includes the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CastContext {
    Implicit,
    Assignment,
    Explicit,
}

/// The context from which on a cast between these types is allowed, modifiers aside; None if there is none.
pub fn allowed(from: SqlType, to: SqlType) -> Option<CastContext> {
    use CastContext::{Assignment, Explicit, Implicit};
    if from.is_same_base(to) || (from.is_text() && to.is_text()) {
        return Some(Implicit);
    }
    if to == SqlType::System(SystemType::Record) {
        return matches!(from, SqlType::Composite(_)).then_some(Implicit);
    }
    if from == SqlType::System(SystemType::Record) && matches!(to, SqlType::Composite(_)) {
        return Some(Implicit);
    }
    if let SqlType::System(system_type) = to
        && let Some(weakest) = allowed_to_system(from, system_type)
    {
        return Some(weakest);
    }
    if from.is_string() && matches!(to, SqlType::Text | SqlType::Varchar(_)) {
        return Some(Implicit);
    }
    if to.is_string() {
        return Some(Assignment);
    }
    if from.is_string() {
        return Some(Explicit);
    }
    // PostgreSQL widens along int2, int4, int8, numeric, float4, float8.
    let width = |sql_type| match sql_type {
        SqlType::SmallInt => Some(0),
        SqlType::Integer => Some(1),
        SqlType::BigInt => Some(2),
        SqlType::Numeric(_) => Some(3),
        SqlType::Real => Some(4),
        SqlType::DoublePrecision => Some(5),
        _ => None,
    };
    if let (Some(from), Some(to)) = (width(from), width(to)) {
        return Some(if from < to { Implicit } else { Assignment });
    }
    match (from, to) {
        (SqlType::Array(from), SqlType::Array(to)) => allowed(from.sql_type(), to.sql_type()),
        (SqlType::System(from), SqlType::Array(to)) => {
            (ArrayElement::of_vector(from) == Some(to)).then_some(Implicit)
        }
        (_, SqlType::BigInt) if from.is_oid() => Some(Implicit),
        (_, SqlType::Integer) if from.is_oid() => Some(Assignment),
        (SqlType::Boolean, SqlType::Integer) | (SqlType::Integer, SqlType::Boolean) => Some(Explicit),
        (SqlType::Date, SqlType::Timestamp(_) | SqlType::TimestampTz(_))
        | (SqlType::Timestamp(_), SqlType::TimestampTz(_)) => Some(Implicit),
        (SqlType::Timestamp(_) | SqlType::TimestampTz(_), SqlType::Date)
        | (SqlType::TimestampTz(_), SqlType::Timestamp(_))
        | (SqlType::Timestamp(_) | SqlType::TimestampTz(_) | SqlType::Interval(_), SqlType::Time(_)) => {
            Some(Assignment)
        }
        (SqlType::TimeTz(_), SqlType::Time(_)) | (SqlType::TimestampTz(_), SqlType::TimeTz(_)) => {
            Some(Assignment)
        }
        (SqlType::Time(_), SqlType::Interval(_) | SqlType::TimeTz(_)) => Some(Implicit),
        (SqlType::Json, SqlType::Jsonb) | (SqlType::Jsonb, SqlType::Json) => Some(Assignment),
        (SqlType::Jsonb, _) if to == SqlType::Boolean || to.is_numeric() => Some(Explicit),
        (SqlType::Inet, SqlType::Cidr) => Some(Assignment),
        (SqlType::Cidr, SqlType::Inet)
        | (SqlType::MacAddr, SqlType::MacAddr8)
        | (SqlType::MacAddr8, SqlType::MacAddr) => Some(Implicit),
        (SqlType::Extension(ExtensionType::Hstore), SqlType::Json | SqlType::Jsonb)
        | (SqlType::Array(ArrayElement::Text), SqlType::Extension(ExtensionType::Hstore)) => Some(Explicit),
        _ => None,
    }
}

/// The same for a type of the catalog; `None` leaves the decision to the rules for all types.
fn allowed_to_system(from: SqlType, to: SystemType) -> Option<CastContext> {
    let is_routine = |one: SystemType| matches!(one, SystemType::RegProc | SystemType::RegProcedure);
    let is_allowed = match from {
        SqlType::System(own) if from.is_oid() => {
            own.is_number() || to.is_number() || (is_routine(own) && is_routine(to))
        }
        _ => from.is_integer(),
    };
    let is_name = from.is_text() && to == SystemType::RegClass;
    (is_name || (is_allowed && SqlType::System(to).is_oid())).then_some(CastContext::Implicit)
}

/// Converts a value to a type, including its modifiers. `explicit`: over-long strings are cut. Fails if there
/// is no such cast.
pub fn cast<'a>(value: Value, to: SqlType, explicit: bool, reading: impl Into<Reading<'a>>) -> Result<Value> {
    let reading = reading.into();
    let tz = reading.time_zone;
    match (&value, to) {
        (Value::Null, _) => Ok(Value::Null),
        (Value::Oid(_) | Value::Reference(_), _) if !to.is_text() => from_object(&value, to, reading),
        (_, SqlType::System(system_type)) if to.is_oid() && value.as_i64().is_some() => {
            let oid = Value::Oid(oid_of(&value)?);
            if system_type.is_number() { Ok(oid) } else { from_object(&oid, to, reading) }
        }
        (_, _) if to.is_numeric() && value.sql_type().is_some_and(SqlType::is_numeric) => {
            from_number(value, to)
        }
        (Value::Text(_), _) if to.is_text() => {
            let Value::Text(text) = value else { return Ok(value) };
            Ok(Value::Text(fit_text(text, to, explicit)?))
        }
        (Value::Text(text), SqlType::Interval(modifier)) => {
            let form = reading.styles.interval;
            Ok(Value::Interval(datetime::parse_interval(text, IntervalModifier::NONE, form)?.fit(modifier)))
        }
        (Value::Text(text), _) => text::parse(text, to, reading),
        (_, SqlType::Extension(_)) if to.is_string() && !value.fits(to) => {
            cast(cast(value, SqlType::Text, explicit, reading)?, to, explicit, reading)
        }
        (Value::Boolean(truth), _) if to.is_text() => {
            let word = if *truth { "true" } else { "false" };
            Ok(Value::Text(fit_text(word.into(), to, explicit)?))
        }
        (Value::Boolean(truth), SqlType::Integer) => Ok(Value::Integer(i32::from(*truth))),
        (Value::Integer(number), SqlType::Boolean) => Ok(Value::Boolean(*number != 0)),
        (Value::Network(network), _) if to.is_text() => {
            Ok(Value::Text(fit_text(network.shown_with_bits().into(), to, explicit)?))
        }
        (_, _) if to.is_text() || to == SqlType::System(SystemType::Record) => Ok(Value::Text(fit_text(
            text::shown(&value, TextForm { styles: reading.styles, ..tz.into() })?,
            to,
            explicit,
        )?)),
        _ if is_of_time(to) && value.sql_type().is_some_and(is_of_time) => datetime_cast(&value, to, reading),
        (Value::Json(text), SqlType::Jsonb) => json::Jsonb::parse(text).map(Value::Jsonb),
        (Value::Jsonb(_), SqlType::Json) => json_of(&value, tz),
        (Value::Jsonb(jsonb), _) if to == SqlType::Boolean || to.is_numeric() => from_jsonb(jsonb, to),
        (Value::Network(network), SqlType::Inet) => Ok(Value::Network(network.to_inet())),
        (Value::Network(network), SqlType::Cidr) => Ok(Value::Network(network.to_cidr())),
        (Value::MacAddr(bytes), SqlType::MacAddr8) => Ok(Value::MacAddr8(network::widened(*bytes))),
        (Value::MacAddr8(bytes), SqlType::MacAddr) => network::narrowed(*bytes).map(Value::MacAddr),
        (Value::Extension(own), _) if !value.fits(to) && is_castable(own, to) => {
            cast(half_way(own, to)?, to, explicit, reading)
        }
        (Value::Array(array), SqlType::Extension(_)) if array.element == ArrayElement::Text => {
            from_array(array).map(Value::Extension)
        }
        _ if value.fits(to) && to == to.without_modifier() => Ok(value),
        (Value::Array(array), SqlType::Array(element)) => cast_array(array, element, explicit, reading),
        _ if value.fits(to) => Ok(value),
        _ => Err(cannot_cast(&value, to)),
    }
}

fn is_castable(value: &ExtensionValue, to: SqlType) -> bool {
    allowed(SqlType::Extension(value.extension_type()), to).is_some()
}

/// A number as one of another type.
fn from_number(value: Value, to: SqlType) -> Result<Value> {
    match (&value, to) {
        (Value::SmallInt(number), _) if to.is_numeric() => from_integer(i64::from(*number), to),
        (Value::Integer(_), SqlType::Integer) | (Value::BigInt(_), SqlType::BigInt) => Ok(value),
        (Value::Integer(number), _) if to.is_numeric() => from_integer(i64::from(*number), to),
        (Value::BigInt(number), _) if to.is_numeric() => from_integer(*number, to),
        (Value::Real(number), SqlType::Numeric(modifier)) => {
            fit_numeric(numeric::from_f32(*number)?, modifier)
        }
        (Value::Real(number), SqlType::Real) => Ok(Value::Real(*number)),
        (Value::Real(number), _) if to.is_numeric() => from_double(f64::from(*number), to),
        (Value::Double(number), _) if to.is_numeric() => from_double(*number, to),
        (Value::Numeric(_), _) if to.is_numeric() => from_numeric(value, to),
        _ => Err(cannot_cast(&value, to)),
    }
}

fn json_of(value: &Value, tz: &TimeZone) -> Result<Value> {
    let shown = text::shown(value, tz.into())?;
    memory::check(shown.len())?;
    Ok(Value::Json(shown.as_str().into()))
}

fn cast_array(
    array: &ArrayValue,
    element: ArrayElement,
    explicit: bool,
    reading: Reading<'_>,
) -> Result<Value> {
    let cast_one = |value: &Value| match value {
        Value::Text(text) if array.element == ArrayElement::Char && element != ArrayElement::Char => {
            cast(Value::text(text.trim_end_matches(' ')), element.sql_type(), explicit, reading)
        }
        other => cast(collect::values::copy(other)?, element.sql_type(), explicit, reading),
    };
    let values = collect::try_list(array.values.iter().map(cast_one))?;
    Ok(Value::shaped_array(element, &array.dimensions(), values))
}

/// The number of an object; a negative `integer` stands for its sum with 2^32.
fn oid_of(number: &Value) -> Result<u32> {
    let out_of_range = || Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range");
    match number {
        Value::Integer(number) => Ok(number.cast_unsigned()),
        Value::SmallInt(number) => Ok(i32::from(*number).cast_unsigned()),
        other => other.as_i64().and_then(|number| u32::try_from(number).ok()).ok_or_else(out_of_range),
    }
}

/// Casts an object's number, with or without its name.
fn from_object(value: &Value, to: SqlType, reading: Reading<'_>) -> Result<Value> {
    let oid = match value {
        Value::Oid(oid) => *oid,
        Value::Reference(reference) if value.fits(to) => {
            return Ok(Value::Reference(reference.clone()));
        }
        Value::Reference(reference) => reference.oid,
        other => return Err(cannot_cast(other, to)),
    };
    match to {
        SqlType::System(system_type) if system_type.is_number() => Ok(Value::Oid(oid)),
        SqlType::System(system_type) if system_type.is_reference() => {
            Ok(text::reference(system_type, oid, reading))
        }
        SqlType::Integer => Ok(Value::Integer(oid.cast_signed())),
        SqlType::BigInt => Ok(Value::BigInt(i64::from(oid))),
        _ => Err(cannot_cast(value, to)),
    }
}

fn cannot_cast(value: &Value, to: SqlType) -> Error {
    let from = value.sql_type().map_or("unknown", SqlType::base_name);
    Error::input(sqlstate::CANNOT_COERCE, format!("cannot cast type {from} to {}", to.base_name()))
}

fn from_integer(number: i64, to: SqlType) -> Result<Value> {
    let out_of_range = || arithmetic::out_of_range(to);
    Ok(match to {
        SqlType::SmallInt => Value::SmallInt(i16::try_from(number).map_err(|_| out_of_range())?),
        SqlType::Integer => Value::Integer(i32::try_from(number).map_err(|_| out_of_range())?),
        SqlType::Real => Value::Real(number as f32),
        SqlType::DoublePrecision => Value::Double(number as f64),
        SqlType::Numeric(modifier) => return fit_numeric(numeric::from_i64(number), modifier),
        _ => Value::BigInt(number),
    })
}

/// The value of a top-level scalar.
fn from_jsonb(value: &json::Jsonb, to: SqlType) -> Result<Value> {
    let kind = match value.root().node() {
        json::Node::Boolean(truth) if to == SqlType::Boolean => return Ok(Value::Boolean(truth)),
        json::Node::Number(text) if to.is_numeric() => {
            return from_numeric(Value::numeric(json::number(text)), to);
        }
        json::Node::Null => "null",
        json::Node::Boolean(_) => "boolean",
        json::Node::Number(_) => "numeric",
        json::Node::String(_) => "string",
        json::Node::Array(_) => "array",
        json::Node::Object(_) => "object",
    };
    let message = format!("cannot cast jsonb {kind} to type {}", to.base_name());
    Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message))
}

/// Rounds half to even, as the processor does.
fn from_double(number: f64, to: SqlType) -> Result<Value> {
    let rounded = number.round_ties_even();
    // The upper limits are exclusive because 2^63 - 1 is not a double. NaN is in no range.
    let fits = |limit: f64| rounded >= -limit && rounded < limit;
    let out_of_range = || Err(arithmetic::out_of_range(to));
    Ok(match to {
        SqlType::SmallInt if fits(32_768.0) => Value::SmallInt(rounded as i16),
        SqlType::Integer if fits(2_147_483_648.0) => Value::Integer(rounded as i32),
        SqlType::BigInt if fits(9_223_372_036_854_775_808.0) => Value::BigInt(rounded as i64),
        SqlType::SmallInt | SqlType::Integer | SqlType::BigInt => return out_of_range(),
        SqlType::Real => {
            let narrow = number as f32;
            if narrow.is_infinite() && number.is_finite() {
                return Err(arithmetic::float_overflow());
            }
            if narrow == 0.0 && number != 0.0 {
                return Err(arithmetic::float_underflow());
            }
            Value::Real(narrow)
        }
        SqlType::Numeric(modifier) => return fit_numeric(numeric::from_f64(number)?, modifier),
        _ => Value::Double(number),
    })
}

fn from_numeric(value: Value, to: SqlType) -> Result<Value> {
    let Value::Numeric(number) = &value else { return Ok(value) };
    let whole = || match **number {
        Numeric::Finite(_) => numeric::to_i64(number).ok_or_else(|| arithmetic::out_of_range(to)),
        Numeric::NaN => Err(no_integer("NaN", to)),
        Numeric::Infinity | Numeric::MinusInfinity => Err(no_integer("infinity", to)),
    };
    Ok(match to {
        SqlType::Numeric(None) => value,
        SqlType::Numeric(modifier) => return fit_numeric((**number).clone(), modifier),
        SqlType::Real => {
            let real = numeric::to_f32(number);
            check_float(real.is_finite(), real == 0.0, number, to)?;
            Value::Real(real)
        }
        SqlType::DoublePrecision => {
            let double = numeric::to_f64(number);
            check_float(double.is_finite(), double == 0.0, number, to)?;
            Value::Double(double)
        }
        _ => return from_integer(whole()?, to),
    })
}

fn no_integer(name: &str, to: SqlType) -> Error {
    let message = format!("cannot convert {name} to {}", to.base_name());
    Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

/// A finite number may become neither infinite nor zero.
fn check_float(is_finite: bool, is_zero: bool, number: &Numeric, to: SqlType) -> Result<()> {
    if number.finite().is_none_or(|number| is_finite && (!is_zero || number.sign() == Sign::NoSign)) {
        return Ok(());
    }
    let mut digits = Vec::new();
    numeric::write(number, &mut digits);
    let digits = String::from_utf8_lossy(&digits);
    let message = format!("\"{digits}\" is out of range for type {}", to.base_name());
    Err(Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message))
}

fn fit_numeric(number: Numeric, modifier: Option<(u16, i16)>) -> Result<Value> {
    Ok(Value::numeric(match modifier {
        Some((precision, scale)) => numeric::apply_modifier(&number, precision, scale)?,
        None => number,
    }))
}

/// Dates, times and intervals.
fn is_of_time(sql_type: SqlType) -> bool {
    let is_of_day = matches!(sql_type, SqlType::Time(_) | SqlType::TimeTz(_) | SqlType::Interval(_));
    is_of_day || sql_type.is_datetime()
}

fn datetime_cast(value: &Value, to: SqlType, reading: Reading<'_>) -> Result<Value> {
    let tz = reading.time_zone;
    let time = |local| datetime::time_of_day(local).map(|time| datetime::round_time(time, precision_of(to)));
    let timestamp = |time| datetime::round_timestamp(time, precision_of(to));
    Ok(match (value, to) {
        (Value::Date(days), SqlType::Timestamp(_)) => Value::Timestamp(datetime::date_to_timestamp(*days)?),
        (Value::Date(days), SqlType::TimestampTz(_)) => {
            Value::TimestampTz(datetime::local_to_utc(datetime::date_to_timestamp(*days)?, tz)?)
        }
        (Value::Timestamp(local), SqlType::Date) => Value::Date(datetime::timestamp_to_date(*local)),
        (Value::Timestamp(local), SqlType::Timestamp(_)) => Value::Timestamp(timestamp(*local)?),
        (Value::Timestamp(local), SqlType::TimestampTz(_)) => {
            Value::TimestampTz(timestamp(datetime::local_to_utc(*local, tz)?)?)
        }
        (Value::TimestampTz(instant), SqlType::TimestampTz(_)) => Value::TimestampTz(timestamp(*instant)?),
        (Value::TimestampTz(instant), SqlType::Timestamp(_)) => {
            Value::Timestamp(timestamp(datetime::utc_to_local(*instant, tz)?)?)
        }
        (Value::TimestampTz(instant), SqlType::Date) => {
            Value::Date(datetime::timestamp_to_date(datetime::utc_to_local(*instant, tz)?))
        }
        (Value::Timestamp(local), SqlType::Time(_)) => time(*local).map_or(Value::Null, Value::Time),
        (Value::TimestampTz(instant), SqlType::Time(_)) => {
            time(datetime::utc_to_local(*instant, tz)?).map_or(Value::Null, Value::Time)
        }
        (Value::Time(time), SqlType::Time(precision)) => Value::Time(datetime::round_time(*time, precision)),
        (Value::TimeTz(zoned), SqlType::Time(precision)) => {
            Value::Time(datetime::round_time(zoned.time, precision))
        }
        (Value::TimeTz(zoned), SqlType::TimeTz(precision)) => Value::TimeTz(zoned.rounded(precision)),
        (Value::Time(time), SqlType::TimeTz(precision)) => {
            // Its zone has the offset of today.
            let now = datetime::utc_to_local(reading.now.unwrap_or_default(), tz)?;
            let today = now - now.rem_euclid(datetime::MICROSECONDS_PER_DAY);
            let east = datetime::local_offset_seconds(today.saturating_add(*time), tz);
            Value::TimeTz(ZonedTime::at_offset(*time, east).rounded(precision))
        }
        (Value::TimestampTz(instant), SqlType::TimeTz(precision)) => {
            let east = datetime::offset_seconds(*instant, tz);
            datetime::time_of_day(datetime::utc_to_local(*instant, tz)?).map_or(Value::Null, |time| {
                Value::TimeTz(ZonedTime::at_offset(time, east).rounded(precision))
            })
        }
        (Value::Interval(interval), SqlType::Time(precision)) => {
            let time = datetime::shift_time(0, interval.microseconds);
            Value::Time(datetime::round_time(time, precision))
        }
        (Value::Time(time), SqlType::Interval(modifier)) => {
            Value::Interval(Interval::new(0, 0, *time).fit(modifier))
        }
        (Value::Interval(interval), SqlType::Interval(modifier)) => Value::Interval(interval.fit(modifier)),
        _ if value.fits(to) => value.clone(),
        _ => return Err(cannot_cast(value, to)),
    })
}

/// The precision of a time type.
fn precision_of(sql_type: SqlType) -> Precision {
    match sql_type {
        SqlType::Time(precision)
        | SqlType::TimeTz(precision)
        | SqlType::Timestamp(precision)
        | SqlType::TimestampTz(precision) => precision,
        _ => None,
    }
}

#[cfg(test)]
mod tests;
