//! Square root, exponential, logarithm and power of `numeric`; the deviation of several numbers from their
//! mean.
//!
//! PostgreSQL fixes how many places each result shows ([`square_root`] ... [`power`] say how). Results that
//! are computed here with guard digits beyond that and then rounded agree with it. Intermediate numbers are
//! fixed-point: a [`BigInt`] counting units of 10 to the -`places`.
//!
//! * exp: halve the argument until it is below 0.01, Taylor series, square back.
//! * ln: x = m * 10^e with m in [1, 10); square roots until m is near 1, then 2 atanh((m-1)/(m+1)).
//! * integer powers: binary exponentiation on as many significant digits as the result can show.
//!
//! Reference: the scales are those of PostgreSQL 15's numeric functions.

use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::num_traits::Zero;

use super::{
    BigDecimal, GROUP_DIGITS, MAXIMUM_RESULT_SCALE, MINIMUM_SIGNIFICANT_DIGITS, checked, compare,
    count_digits, division_by_zero, division_scale, from_i64, leading_group, magnitude_exponent, multiply,
    overflow, power_of_ten, quotient, significant_digits, spend, to_f64, to_i64, with_scale,
};
use crate::error::{Error, Result, sqlstate};
use crate::float;
use crate::guest;

/// Digits computed beyond those shown.
const GUARD_DIGITS: i64 = 12;
/// exp of more than this exceeds what `numeric` may show: 3 * 2000, as in PostgreSQL.
const MAXIMUM_EXPONENT: f64 = 6000.0;

fn power_error(message: &str) -> Error {
    Error::input(sqlstate::INVALID_ARGUMENT_FOR_POWER, message)
}

pub(crate) fn negative_root() -> Error {
    power_error("cannot take square root of a negative number")
}

pub(crate) fn zero_to_negative_power() -> Error {
    power_error("zero raised to a negative power is undefined")
}

pub(crate) fn complex_power() -> Error {
    power_error("a negative number raised to a non-integer power yields a complex result")
}

/// The error for a number that is not positive.
pub(crate) fn logarithm_error(sign: i32) -> Error {
    let number = if sign == 0 { "zero" } else { "a negative number" };
    Error::input(sqlstate::INVALID_ARGUMENT_FOR_LOG, format!("cannot take logarithm of {number}"))
}

/// At least 16 significant digits, not fewer places than the argument.
pub fn square_root(number: &BigDecimal) -> Result<BigDecimal> {
    spend(number, number)?;
    let (unscaled, old) = number.as_bigint_and_scale();
    if unscaled.sign() == Sign::Minus {
        return Err(negative_root());
    }
    let place = leading_group(number).0;
    let whole_digits = place * GROUP_DIGITS / 2 + 1;
    square_root_to(
        number,
        (MINIMUM_SIGNIFICANT_DIGITS - whole_digits).max(old).clamp(0, MAXIMUM_RESULT_SCALE),
    )
}

/// The root of a number that is not negative, with this many places.
pub(super) fn square_root_to(number: &BigDecimal, scale: i64) -> Result<BigDecimal> {
    let (unscaled, old) = number.as_bigint_and_scale();
    // floor(sqrt(n * 10^2(scale+1))) has one digit more than wanted, and that digit is never exactly a half
    // unless the root is exact.
    let shift = 2 * (scale + 1) - old;
    let radicand =
        if shift >= 0 { &*unscaled * power_of_ten(shift) } else { &*unscaled / power_of_ten(-shift) };
    Ok(with_scale(&BigDecimal::new(radicand.sqrt(), scale + 1), scale))
}

/// e to the `number`: at least 16 significant digits, not fewer places than the argument.
pub fn exponential(number: &BigDecimal) -> Result<BigDecimal> {
    let weight = (to_f64(number) * std::f64::consts::LOG10_E).clamp(-2000.0, 2000.0) as i64;
    let scale = (MINIMUM_SIGNIFICANT_DIGITS - weight)
        .max(number.fractional_digit_count())
        .clamp(0, MAXIMUM_RESULT_SCALE);
    exponential_to(number, scale)
}

fn exponential_to(number: &BigDecimal, scale: i64) -> Result<BigDecimal> {
    spend_for_series(number, scale)?;
    let mut approximate = to_f64(number);
    if approximate.abs() >= MAXIMUM_EXPONENT {
        return if approximate > 0.0 { Err(overflow()) } else { Ok(BigDecimal::new(BigInt::zero(), scale)) };
    }
    let weight = ((approximate * std::f64::consts::LOG10_E) as i64).max(0);
    let mut halvings = 0_u32;
    while approximate.abs() > 0.01 {
        approximate /= 2.0;
        halvings += 1;
    }
    let places = scale + weight + i64::from(halvings) / 3 + GUARD_DIGITS;
    let one = power_of_ten(places);
    let argument = with_scale(number, places + i64::from(halvings)).into_bigint_and_scale().0;
    // Halving k times and dropping k decimal places is one division by 20^k.
    let x = argument / BigInt::from(20_u32).pow(halvings);
    let mut sum = &one + &x;
    let mut term = x.clone();
    let mut number_of_term = 2_u32;
    loop {
        spend_for_step(places)?;
        term = &term * &x / &one / number_of_term;
        if term.is_zero() {
            break;
        }
        sum += &term;
        number_of_term += 1;
    }
    for _ in 0..halvings {
        spend_for_step(places)?;
        sum = &sum * &sum / &one;
    }
    Ok(with_scale(&BigDecimal::new(sum, places), scale))
}

/// The approximate decimal place of the first digit of ln(number); 0 if there is no logarithm.
fn logarithm_place(number: &BigDecimal) -> i64 {
    let Some(digits) = significant_digits(number).filter(|digits| !digits.is_negative) else { return 0 };
    let difference = number - from_i64(1);
    let near = |text: &str| super::parse(text).unwrap_or_default();
    if compare(number, &near("0.9")).is_ge() && compare(number, &near("1.1")).is_le() {
        return significant_digits(&difference).map_or(0, |digits| i64::from(digits.exponent) - 1);
    }
    let used = digits.text.len().min(16);
    let mantissa =
        digits.text[..used].iter().fold(0.0, |number, digit| number * 10.0 + f64::from(digit - b'0'));
    let logarithm = float::ln(mantissa) + f64::from(digits.exponent - used as i32) * std::f64::consts::LN_10;
    float::log10(logarithm.abs()) as i64
}

/// ln: at least 16 significant digits, not fewer places than the argument.
pub fn logarithm(number: &BigDecimal) -> Result<BigDecimal> {
    let scale = (MINIMUM_SIGNIFICANT_DIGITS - logarithm_place(number))
        .max(number.fractional_digit_count())
        .clamp(0, MAXIMUM_RESULT_SCALE);
    logarithm_to(number, scale)
}

fn logarithm_to(number: &BigDecimal, scale: i64) -> Result<BigDecimal> {
    spend_for_series(number, scale)?;
    match number.sign() {
        Sign::NoSign => return Err(logarithm_error(0)),
        Sign::Minus => return Err(logarithm_error(-1)),
        Sign::Plus => {}
    }
    let exponent = magnitude_exponent(number) - 1;
    let places = scale + GUARD_DIGITS + 6;
    // For numbers close to 1 from below, scaling by ten would subtract two nearly equal logarithms. The
    // places are absolute, so this costs no accuracy.
    let (unscaled, old) = number.as_bigint_and_scale();
    let mantissa = with_scale(&BigDecimal::new(unscaled.into_owned(), old + exponent), places);
    let mut sum = fixed_logarithm(mantissa.into_bigint_and_scale().0, places)?;
    if exponent != 0 {
        sum += fixed_logarithm(power_of_ten(places + 1), places)? * exponent;
    }
    Ok(with_scale(&BigDecimal::new(sum, places), scale))
}

/// ln of a fixed-point number of at least 1, in fixed point.
fn fixed_logarithm(mut x: BigInt, places: i64) -> Result<BigInt> {
    let extra = 4;
    let places = places + extra;
    x *= power_of_ten(extra);
    let one = power_of_ten(places);
    let near = &one + &one / 10;
    let mut doublings = 1_u32;
    while x > near {
        spend_for_step(places)?;
        x = (x * &one).sqrt();
        doublings += 1;
    }
    let z = (&x - &one) * &one / (&x + &one);
    let square = &z * &z / &one;
    let mut sum = z.clone();
    let mut power = z;
    let mut odd = 3_u32;
    loop {
        spend_for_step(places)?;
        power = power * &square / &one;
        let term = &power / odd;
        if term.is_zero() {
            break;
        }
        sum += term;
        odd += 2;
    }
    Ok((sum << doublings) / power_of_ten(extra))
}

/// Reports the work of one step of a series: a product and a quotient of numbers with this many digits.
fn spend_for_step(places: i64) -> Result<()> {
    let words = places.unsigned_abs() / 19 + 1;
    let steps = words.saturating_mul(words).saturating_mul(3) / super::WORDS_PER_UNIT;
    guest::spend(u32::try_from(steps).unwrap_or(u32::MAX).saturating_add(2))
}

/// The logarithm of `number` to `base`.
pub fn logarithm_of_base(base: &BigDecimal, number: &BigDecimal) -> Result<BigDecimal> {
    let (base_place, number_place) = (logarithm_place(base), logarithm_place(number));
    let place = number_place - base_place;
    let scale = (MINIMUM_SIGNIFICANT_DIGITS - place)
        .max(base.fractional_digit_count())
        .max(number.fractional_digit_count())
        .clamp(0, MAXIMUM_RESULT_SCALE);
    let base_logarithm = logarithm_to(base, (scale + place - base_place + 8).max(0))?;
    let number_logarithm = logarithm_to(number, (scale + place - number_place + 8).max(0))?;
    if base_logarithm.is_zero() {
        return Err(division_by_zero());
    }
    checked(quotient(&number_logarithm, &base_logarithm, scale))
}

/// Reports the work of a series with this many places.
fn spend_for_series(number: &BigDecimal, scale: i64) -> Result<()> {
    spend(number, number)?;
    let digits = u32::try_from(scale).unwrap_or(0).saturating_add(16);
    guest::spend(digits.saturating_mul(digits / 8))
}

/// `base` to the `exponent`.
pub fn power(base: &BigDecimal, exponent: &BigDecimal) -> Result<BigDecimal> {
    if base.is_zero() && exponent.sign() == Sign::Minus {
        return Err(zero_to_negative_power());
    }
    let is_whole = compare(exponent, &with_scale(exponent, 0)).is_eq();
    if is_whole && let Some(whole) = to_i64(exponent).and_then(|whole| i32::try_from(whole).ok()) {
        let scale =
            MINIMUM_SIGNIFICANT_DIGITS.max(base.fractional_digit_count()).clamp(0, MAXIMUM_RESULT_SCALE);
        return checked(whole_power(base, whole, scale)?);
    }
    if base.is_zero() {
        return Ok(BigDecimal::new(BigInt::zero(), MINIMUM_SIGNIFICANT_DIGITS));
    }
    if base.sign() == Sign::Minus && !is_whole {
        return Err(complex_power());
    }
    let is_negative =
        base.sign() == Sign::Minus && with_scale(exponent, 0).as_bigint_and_scale().0.magnitude().bit(0);
    let base = BigDecimal::abs(base);
    let place = logarithm_place(&base);
    let rough = multiply(&logarithm_to(&base, (8 - place).max(0))?, exponent)?;
    let approximate = to_f64(&rough);
    if approximate.abs() > MAXIMUM_EXPONENT * 1.003_333 {
        if approximate > 0.0 {
            return Err(overflow());
        }
        return Ok(BigDecimal::new(BigInt::zero(), MAXIMUM_RESULT_SCALE));
    }
    let weight = (approximate * std::f64::consts::LOG10_E) as i64;
    let scale = (MINIMUM_SIGNIFICANT_DIGITS - weight)
        .max(base.fractional_digit_count())
        .max(exponent.fractional_digit_count())
        .clamp(0, MAXIMUM_RESULT_SCALE);
    let places = ((scale + weight).max(0) - place + 8).max(0);
    let exact = multiply(&logarithm_to(&base, places + GUARD_DIGITS)?, exponent)?;
    let result = exponential_to(&with_scale(&exact, places), scale)?;
    checked(if is_negative { -result } else { result })
}

fn whole_power(base: &BigDecimal, exponent: i32, scale: i64) -> Result<BigDecimal> {
    match exponent {
        0 => return Ok(with_scale(&from_i64(1), scale)),
        1 => return Ok(with_scale(base, scale)),
        -1 => return Ok(quotient(&from_i64(1), base, scale)),
        _ if base.is_zero() => return Ok(BigDecimal::new(BigInt::zero(), scale)),
        _ => {}
    }
    let digits = significant_digits(base);
    let logarithm = digits.map_or(0.0, |digits| {
        let used = digits.text.len().min(16);
        let mantissa =
            digits.text[..used].iter().fold(0.0, |number, digit| number * 10.0 + f64::from(digit - b'0'));
        float::log10(mantissa) + f64::from(digits.exponent - used as i32)
    });
    let weight = f64::from(exponent) * logarithm;
    if weight > 400_000.0 {
        return Err(overflow());
    }
    if weight + 1.0 < -(scale as f64) {
        return Ok(BigDecimal::new(BigInt::zero(), scale));
    }
    let guard = float::ln(f64::from(exponent).abs()) as i64 + GUARD_DIGITS;
    let significant = (1 + scale + weight as i64 + guard).max(guard);
    let mut result = from_i64(1);
    let mut square = base.clone();
    let mut rest = exponent.unsigned_abs();
    loop {
        // Counting the digits of a product costs as much again.
        spend(&square, &square)?;
        spend(&square, &result)?;
        if rest & 1 == 1 {
            result = rounded_product(&result, &square, significant);
        }
        rest >>= 1;
        if rest == 0 {
            break;
        }
        square = rounded_product(&square, &square, significant);
    }
    if exponent < 0 {
        spend(&result, &result)?;
        return Ok(quotient(&from_i64(1), &result, scale));
    }
    Ok(with_scale(&result, scale))
}

/// The product, rounded to this many significant digits (its scale may become negative meanwhile).
fn rounded_product(left: &BigDecimal, right: &BigDecimal, significant: i64) -> BigDecimal {
    let ((a, a_scale), (b, b_scale)) = (left.as_bigint_and_scale(), right.as_bigint_and_scale());
    let product = &*a * &*b;
    let excess = count_digits(&product) - significant;
    if excess <= 0 {
        return BigDecimal::new(product, a_scale + b_scale);
    }
    BigDecimal::new(super::divide_rounded(&product, &power_of_ten(excess)), a_scale + b_scale - excess)
}

/// The square, which may have more digits than a numeric.
pub fn square(number: &BigDecimal) -> Result<BigDecimal> {
    spend(number, number)?;
    Ok(number * number)
}

/// The deviation of `count` numbers; the variance of a sample is divided by one less. `count` is at least 2
/// for a sample, otherwise at least 1. `is_root`: the standard deviation.
pub fn deviation(
    (count, is_sample): (i64, bool),
    sum: &BigDecimal,
    squares: &BigDecimal,
    is_root: bool,
) -> Result<BigDecimal> {
    let count = from_i64(count);
    let numerator = &count * squares - square(sum)?;
    if numerator.sign() != Sign::Plus {
        return Ok(from_i64(0));
    }
    let other = if is_sample { &count - from_i64(1) } else { count.clone() };
    let denominator = &count * other;
    if denominator.sign() != Sign::Plus {
        return Err(division_by_zero());
    }
    let scale = division_scale(&numerator, &denominator);
    let variance = quotient(&numerator, &denominator, scale);
    checked(if is_root { square_root_to(&variance, scale)? } else { variance })
}
