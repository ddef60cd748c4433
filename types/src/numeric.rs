//! `numeric`: exact decimal numbers, the infinities, and NaN.
//!
//! Finite numbers are computed in `finite`. This module adds PostgreSQL's rules for the other three. They
//! follow floating point, with two exceptions: NaN equals itself and is the greatest number, so that there is
//! an order for sorting and for keys, and operations that PostgreSQL refuses for a finite argument (division
//! by zero, the logarithm of a negative number) are also refused in combination with an infinity. None of the
//! three has a scale.
//!
//! Reference: PostgreSQL 15's `numeric.c`, where each function begins with its case of "NaN and infinities";
//! for powers POSIX's `pow`.

pub mod finite;

use std::cmp::Ordering;

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::Sign;
use bigdecimal::num_traits::Zero;

use crate::error::{Error, Result, sqlstate};

pub use finite::{MAXIMUM_SCALE, overflow};

/// A value of type `numeric`. Two are equal if they are identical: 1.0 and 1.00 are not ([`compare`] has
/// SQL's equality).
#[derive(Clone, Debug)]
pub enum Numeric {
    Finite(BigDecimal),
    Infinity,
    MinusInfinity,
    NaN,
}

use Numeric::{Finite, Infinity, MinusInfinity, NaN};

impl PartialEq for Numeric {
    fn eq(&self, other: &Numeric) -> bool {
        match (self, other) {
            (Finite(a), Finite(b)) => a.as_bigint_and_scale() == b.as_bigint_and_scale(),
            (Infinity, Infinity) | (MinusInfinity, MinusInfinity) | (NaN, NaN) => true,
            _ => false,
        }
    }
}

impl From<BigDecimal> for Numeric {
    fn from(number: BigDecimal) -> Numeric {
        Finite(number)
    }
}

impl Numeric {
    /// The number, if it is finite.
    pub fn finite(&self) -> Option<&BigDecimal> {
        match self {
            Finite(number) => Some(number),
            Infinity | MinusInfinity | NaN => None,
        }
    }

    /// -1, 0 or 1; None for NaN.
    fn signum(&self) -> Option<i32> {
        match self {
            Finite(number) => Some(match number.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            }),
            Infinity => Some(1),
            MinusInfinity => Some(-1),
            NaN => None,
        }
    }

    /// Bytes of its digits, if there are many; 0 for the numbers of nearly all rows.
    pub fn long_bytes(&self) -> usize {
        const FEW_BITS: u64 = 1024;
        let bits = self.finite().map_or(0, |number| number.as_bigint_and_scale().0.bits());
        if bits > FEW_BITS { usize::try_from(bits / 8).unwrap_or(usize::MAX) } else { 0 }
    }

    fn is_nan(&self) -> bool {
        matches!(self, NaN)
    }

    /// The infinity of this sign, or NaN for 0.
    fn infinite(sign: i32) -> Numeric {
        match sign {
            0 => NaN,
            1.. => Infinity,
            _ => MinusInfinity,
        }
    }
}

fn zero() -> Numeric {
    from_i64(0)
}

fn one() -> Numeric {
    from_i64(1)
}

pub fn from_i64(number: i64) -> Numeric {
    Finite(finite::from_i64(number))
}

pub fn from_i128(number: i128) -> Numeric {
    Finite(finite::from_i128(number))
}

/// PostgreSQL's `double precision` to `numeric`: 15 significant digits.
pub fn from_f64(number: f64) -> Result<Numeric> {
    Ok(match special_of(number) {
        Some(special) => special,
        None => Finite(finite::from_f64(number)?),
    })
}

/// PostgreSQL's `real` to `numeric`: 6 significant digits.
pub fn from_f32(number: f32) -> Result<Numeric> {
    Ok(match special_of(f64::from(number)) {
        Some(special) => special,
        None => Finite(finite::from_f32(number)?),
    })
}

fn special_of(number: f64) -> Option<Numeric> {
    match number {
        number if number.is_nan() => Some(NaN),
        f64::INFINITY => Some(Infinity),
        f64::NEG_INFINITY => Some(MinusInfinity),
        _ => None,
    }
}

/// Whether PostgreSQL could store the number.
pub fn is_within_limits(number: &Numeric) -> bool {
    number.finite().is_none_or(finite::is_within_limits)
}

/// Reads PostgreSQL's text form, with optional blanks around it.
pub fn parse(text: &str) -> Result<Numeric> {
    let plain = text.trim_matches(finite::is_blank);
    let (is_negative, unsigned) = match plain.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let is_word = |word: &str| unsigned.eq_ignore_ascii_case(word.as_bytes());
    if unsigned.len() == plain.len() && is_word("nan") {
        return Ok(NaN);
    }
    if is_word("infinity") || is_word("inf") {
        return Ok(if is_negative { MinusInfinity } else { Infinity });
    }
    finite::parse(text).map(Finite)
}

pub fn write(number: &Numeric, out: &mut Vec<u8>) {
    match number {
        Finite(number) => finite::write(number, out),
        Infinity => out.extend_from_slice(b"Infinity"),
        MinusInfinity => out.extend_from_slice(b"-Infinity"),
        NaN => out.extend_from_slice(b"NaN"),
    }
}

/// The order of sorting and keys.
pub fn compare(left: &Numeric, right: &Numeric) -> Ordering {
    let place = |number: &Numeric| match number {
        MinusInfinity => 0,
        Finite(_) => 1,
        Infinity => 2,
        NaN => 3,
    };
    match (left, right) {
        (Finite(left), Finite(right)) => finite::compare(left, right),
        _ => place(left).cmp(&place(right)),
    }
}

/// Applies a function that leaves infinities and NaN as they are.
fn of_finite(number: &Numeric, compute: impl FnOnce(&BigDecimal) -> Result<BigDecimal>) -> Result<Numeric> {
    match number {
        Finite(number) => compute(number).map(Finite),
        Infinity | MinusInfinity | NaN => Ok(number.clone()),
    }
}

pub fn round(number: &Numeric, places: i64) -> Result<Numeric> {
    of_finite(number, |number| finite::round(number, places))
}

pub fn truncate(number: &Numeric, places: i64) -> Result<Numeric> {
    of_finite(number, |number| finite::truncate(number, places))
}

pub fn floor(number: &Numeric) -> Result<Numeric> {
    of_finite(number, finite::floor)
}

pub fn ceiling(number: &Numeric) -> Result<Numeric> {
    of_finite(number, finite::ceiling)
}

pub fn trim_scale(number: &Numeric) -> Result<Numeric> {
    of_finite(number, finite::trim_scale)
}

/// Rounds to `numeric(precision, scale)`, which NaN fits but no infinity.
pub fn apply_modifier(number: &Numeric, precision: u16, scale: i16) -> Result<Numeric> {
    if matches!(number, Infinity | MinusInfinity) {
        let detail =
            format!("A field with precision {precision}, scale {scale} cannot hold an infinite value.");
        return Err(
            Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").with_detail(detail)
        );
    }
    of_finite(number, |number| finite::apply_modifier(number, precision, scale))
}

pub fn negate(number: &Numeric) -> Numeric {
    match number {
        Finite(number) => Finite(-number.clone()),
        Infinity => MinusInfinity,
        MinusInfinity => Infinity,
        NaN => NaN,
    }
}

pub fn absolute(number: &Numeric) -> Numeric {
    match number {
        Finite(number) => Finite(number.abs()),
        Infinity | MinusInfinity => Infinity,
        NaN => NaN,
    }
}

/// -1, 0 or 1, or NaN.
pub fn sign(number: &Numeric) -> Numeric {
    number.signum().map_or(NaN, |sign| from_i64(i64::from(sign)))
}

pub fn add(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    Ok(match (left, right) {
        (Finite(left), Finite(right)) => Finite(finite::add(left, right)?),
        (NaN, _) | (_, NaN) | (Infinity, MinusInfinity) | (MinusInfinity, Infinity) => NaN,
        (Finite(_), infinite) | (infinite, _) => infinite.clone(),
    })
}

pub fn subtract(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    match (left, right) {
        (Finite(left), Finite(right)) => finite::subtract(left, right).map(Finite),
        _ => add(left, &negate(right)),
    }
}

/// The product of the signs; None if one is NaN.
fn common_sign(left: &Numeric, right: &Numeric) -> Option<i32> {
    Some(left.signum()? * right.signum()?)
}

pub fn multiply(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    match (left, right) {
        (Finite(left), Finite(right)) => finite::multiply(left, right).map(Finite),
        _ => Ok(common_sign(left, right).map_or(NaN, Numeric::infinite)),
    }
}

/// Division if at least one operand is not finite.
fn divide_special(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    match (left, right) {
        (NaN, _) | (_, NaN) => Ok(NaN),
        (Finite(_), _) => Ok(zero()),
        (_, Finite(divisor)) if divisor.is_zero() => Err(finite::division_by_zero()),
        (_, Finite(_)) => Ok(common_sign(left, right).map_or(NaN, Numeric::infinite)),
        _ => Ok(NaN),
    }
}

pub fn divide(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    match (left, right) {
        (Finite(left), Finite(right)) => finite::divide(left, right).map(Finite),
        _ => divide_special(left, right),
    }
}

/// `div(left, right)`: the quotient truncated to an integer.
pub fn divide_whole(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    match (left, right) {
        (Finite(left), Finite(right)) => finite::divide_whole(left, right).map(Finite),
        _ => divide_special(left, right),
    }
}

/// The remainder, with the dividend's sign.
pub fn modulo(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    match (left, right) {
        (Finite(left), Finite(right)) => finite::modulo(left, right).map(Finite),
        (NaN, _) | (_, NaN) => Ok(NaN),
        (Finite(_), _) => Ok(left.clone()),
        (_, Finite(divisor)) if divisor.is_zero() => Err(finite::division_by_zero()),
        _ => Ok(NaN),
    }
}

pub fn square_root(number: &Numeric) -> Result<Numeric> {
    match number {
        MinusInfinity => Err(finite::negative_root()),
        _ => of_finite(number, finite::square_root),
    }
}

pub fn exponential(number: &Numeric) -> Result<Numeric> {
    match number {
        MinusInfinity => Ok(zero()),
        _ => of_finite(number, finite::exponential),
    }
}

pub fn logarithm(number: &Numeric) -> Result<Numeric> {
    match number {
        MinusInfinity => Err(finite::logarithm_error(-1)),
        _ => of_finite(number, finite::logarithm),
    }
}

/// The logarithm of `number` to `base`.
pub fn logarithm_of_base(base: &Numeric, number: &Numeric) -> Result<Numeric> {
    if let (Finite(base), Finite(number)) = (base, number) {
        return finite::logarithm_of_base(base, number).map(Finite);
    }
    let (Some(a), Some(b)) = (base.signum(), number.signum()) else { return Ok(NaN) };
    if a.min(b) <= 0 {
        return Err(finite::logarithm_error(a.min(b)));
    }
    Ok(match (base, number) {
        (Infinity, Infinity) => NaN,
        (Infinity, _) => zero(),
        _ => Infinity,
    })
}

/// `base` to the `exponent`.
pub fn power(base: &Numeric, exponent: &Numeric) -> Result<Numeric> {
    if let (Finite(base), Finite(exponent)) = (base, exponent) {
        return finite::power(base, exponent).map(Finite);
    }
    let is_one = |number: &Numeric| compare(number, &one()).is_eq();
    let (Some(base_sign), Some(exponent_sign)) = (base.signum(), exponent.signum()) else {
        let is_certain = is_one(base) || exponent.signum() == Some(0);
        return Ok(if is_certain { one() } else { NaN });
    };
    if base_sign == 0 && exponent_sign < 0 {
        return Err(finite::zero_to_negative_power());
    }
    let whole = exponent.finite().map(|number| finite::with_scale(number, 0));
    let is_whole = match (exponent, &whole) {
        (Finite(exponent), Some(whole)) => finite::compare(exponent, whole).is_eq(),
        _ => true,
    };
    if base_sign < 0 && !is_whole {
        return Err(finite::complex_power());
    }
    if is_one(base) || exponent_sign == 0 {
        return Ok(one());
    }
    if base_sign == 0 {
        return Ok(zero());
    }
    let Some(whole) = whole else {
        // The exponent is infinite.
        let size = compare(&absolute(base), &one());
        let grows = size.is_gt() == (exponent_sign > 0);
        return Ok(if size.is_eq() {
            one()
        } else if grows {
            Infinity
        } else {
            zero()
        });
    };
    if exponent_sign < 0 {
        return Ok(zero());
    }
    let is_odd = is_whole && whole.as_bigint_and_scale().0.magnitude().bit(0);
    Ok(if base_sign < 0 && is_odd { MinusInfinity } else { Infinity })
}

/// NaN if one of them is not finite.
pub fn greatest_common_divisor(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    match (left, right) {
        (Finite(left), Finite(right)) => finite::greatest_common_divisor(left, right).map(Finite),
        _ => Ok(NaN),
    }
}

/// NaN if one of them is not finite.
pub fn least_common_multiple(left: &Numeric, right: &Numeric) -> Result<Numeric> {
    match (left, right) {
        (Finite(left), Finite(right)) => finite::least_common_multiple(left, right).map(Finite),
        _ => Ok(NaN),
    }
}

/// The bucket of `width_bucket`, or the error for its arguments.
pub fn bucket(
    number: &Numeric,
    first: &Numeric,
    last: &Numeric,
    count: i32,
) -> Result<std::result::Result<i64, &'static str>> {
    if number.is_nan() || first.is_nan() || last.is_nan() {
        return Ok(Err("operand, lower bound, and upper bound cannot be NaN"));
    }
    let (Finite(first), Finite(last)) = (first, last) else {
        return Ok(Err("lower and upper bounds must be finite"));
    };
    let order = finite::compare(first, last);
    match number {
        _ if order.is_eq() => Ok(Err("lower bound cannot equal upper bound")),
        Finite(number) => finite::bucket(number, first, last, count).map(Ok),
        _ => {
            Ok(Ok(if (compare(number, &zero()).is_lt()) == order.is_lt() { 0 } else { i64::from(count) + 1 }))
        }
    }
}

/// Rounded to an integer; None if it does not fit, or is not finite.
pub fn to_i64(number: &Numeric) -> Option<i64> {
    finite::to_i64(number.finite()?)
}

/// The nearest `double precision`; infinite if it is too large.
pub fn to_f64(number: &Numeric) -> f64 {
    match number {
        Finite(number) => finite::to_f64(number),
        Infinity => f64::INFINITY,
        MinusInfinity => f64::NEG_INFINITY,
        NaN => f64::NAN,
    }
}

/// The nearest `real`; infinite if it is too large.
pub fn to_f32(number: &Numeric) -> f32 {
    match number {
        Finite(number) => finite::to_f32(number),
        Infinity => f32::INFINITY,
        MinusInfinity => f32::NEG_INFINITY,
        NaN => f32::NAN,
    }
}

#[cfg(test)]
mod tests;
