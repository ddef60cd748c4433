//! Exact decimal numbers with PostgreSQL's scales, limits and rounding.
//!
//! A number is an unscaled integer and a scale (digits after the point), kept in a [`BigDecimal`]. The scale
//! is part of the value as PostgreSQL displays it (1.0 prints as "1.0"), though 1.0 = 1.00. Library division
//! and square roots pick their own precision, so those are computed here on the unscaled integers, with the
//! result scales of PostgreSQL's numeric.c: sums keep the larger scale, products add scales, quotients carry
//! at least 16 significant digits ([`division_scale`]). Rounding is half away from zero everywhere.
//!
//! Reference: PostgreSQL 15 documentation, section 8.1.2; the results are checked against a PostgreSQL 15
//! server.

mod divisors;
mod power;

use std::cmp::Ordering;

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::{BigInt, BigUint, Sign};
use bigdecimal::num_traits::{ToPrimitive, Zero};
use smallvec::SmallVec;

use crate::error::quoted;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;

pub use divisors::{
    bucket, factorial, greatest_common_divisor, least_common_multiple, least_scale, trim_scale,
};
pub(super) use power::{complex_power, logarithm_error, negative_root, zero_to_negative_power};
pub use power::{deviation, exponential, logarithm, logarithm_of_base, power, square, square_root};

/// Digits after the point, at most.
pub const MAXIMUM_SCALE: i64 = 16383;
/// Digits before the point, at most.
pub const MAXIMUM_WHOLE_DIGITS: i64 = 131_072;
/// Scale of quotients and of the transcendental functions, at most.
const MAXIMUM_RESULT_SCALE: i64 = 1000;
/// The least number of significant digits in a quotient.
const MINIMUM_SIGNIFICANT_DIGITS: i64 = 16;
/// PostgreSQL groups four decimal digits; its scale choices are in such groups.
const GROUP_DIGITS: i64 = 4;

/// The decimal digits of a number's magnitude.
pub type DigitBuffer = SmallVec<[u8; 40]>;

/// A nonzero number as 0.`text` times 10 to the `exponent`.
pub struct Digits {
    pub is_negative: bool,
    pub exponent: i32,
    /// ASCII digits; neither the first nor the last is 0.
    pub text: DigitBuffer,
}

/// `value overflows numeric format`.
pub fn overflow() -> Error {
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

/// Whether PostgreSQL could store the number: see the constants.
pub fn is_within_limits(number: &BigDecimal) -> bool {
    let scale = number.fractional_digit_count();
    (0..=MAXIMUM_SCALE).contains(&scale) && magnitude_exponent(number) <= MAXIMUM_WHOLE_DIGITS
}

/// Products of 64-bit words that take about ten nanoseconds.
const WORDS_PER_UNIT: u64 = 8;

/// The number, if it is within limits.
fn checked(number: BigDecimal) -> Result<BigDecimal> {
    if is_within_limits(&number) { Ok(number) } else { Err(overflow()) }
}

/// 10 to the `exponent`.
fn power_of_ten(exponent: i64) -> BigInt {
    match u32::try_from(exponent) {
        Ok(exponent @ 0..=18) => BigInt::from(10_i64.pow(exponent)),
        Ok(exponent) => BigInt::from(BigUint::from(10_u32).pow(exponent)),
        Err(_) => BigInt::from(1),
    }
}

/// Decimal digits of the integer's magnitude; 0 for zero.
fn count_digits(unscaled: &BigInt) -> i64 {
    if unscaled.is_zero() {
        return 0;
    }
    if let Some(small) = unscaled.magnitude().to_u128() {
        return i64::from(small.ilog10()) + 1;
    }
    let bits = unscaled.bits();
    // bits-1 <= log2 < bits, so the count is one of at most two neighbours.
    let estimate = ((bits - 1) as f64 * std::f64::consts::LOG10_2) as i64;
    let reached = |digits: i64| unscaled.magnitude() >= power_of_ten(digits).magnitude();
    let mut digits = estimate.max(1);
    while reached(digits) {
        digits += 1;
    }
    while digits > 1 && !reached(digits - 1) {
        digits -= 1;
    }
    digits
}

/// Decimal digits before the point (negative: minus the zeros after it); 0 for zero.
fn magnitude_exponent(number: &BigDecimal) -> i64 {
    let (unscaled, scale) = number.as_bigint_and_scale();
    if unscaled.is_zero() {
        return 0;
    }
    count_digits(&unscaled) - scale
}

/// The ASCII digits of the integer's magnitude, "0" for zero.
pub(crate) fn digit_text(unscaled: &BigInt) -> DigitBuffer {
    let mut text = DigitBuffer::new();
    match unscaled.magnitude().to_u128() {
        Some(0) => text.push(b'0'),
        Some(mut rest) => {
            while rest > u128::from(u64::MAX) {
                text.push(b'0' + (rest % 10) as u8);
                rest /= 10;
            }
            let mut rest = rest as u64;
            while rest > 0 {
                text.push(b'0' + (rest % 10) as u8);
                rest /= 10;
            }
            text.reverse();
        }
        None => text.extend_from_slice(unscaled.magnitude().to_str_radix(10).as_bytes()),
    }
    text
}

/// The digits without zeros at either end; None for zero.
pub fn significant_digits(number: &BigDecimal) -> Option<Digits> {
    let (unscaled, scale) = number.as_bigint_and_scale();
    if unscaled.is_zero() {
        return None;
    }
    let mut text = digit_text(&unscaled);
    let exponent = (text.len() as i64 - scale) as i32;
    while text.last() == Some(&b'0') {
        text.pop();
    }
    Some(Digits { is_negative: unscaled.sign() == Sign::Minus, exponent, text })
}

/// Reports the work of reading or writing this many digits: each word goes through all of them.
fn spend_for_digits(digits: usize) -> Result<()> {
    let words = digits as u64 / 19;
    guest::spend(u32::try_from(words.saturating_mul(words) / WORDS_PER_UNIT).unwrap_or(u32::MAX))
}

/// From decimal digits (ASCII) and a scale, which may be negative; the result's scale never is.
pub(crate) fn from_digits(is_negative: bool, digits: &[u8], scale: i64) -> Result<BigDecimal> {
    let significant = digits.iter().position(|digit| *digit != b'0').map_or(0, |zeros| digits.len() - zeros);
    if significant as i64 - scale > MAXIMUM_WHOLE_DIGITS && significant > 0 {
        return Err(overflow());
    }
    // Before the digits are read: there may be as many as a text has.
    if scale > MAXIMUM_SCALE {
        return Err(overflow());
    }
    let digits = &digits[digits.len() - significant..];
    spend_for_digits(digits.len())?;
    let magnitude = if digits.len() <= 18 {
        BigInt::from(digits.iter().fold(0_i64, |number, digit| number * 10 + i64::from(digit - b'0')))
    } else {
        BigInt::parse_bytes(digits, 10).unwrap_or_default()
    };
    let unscaled = if is_negative { -magnitude } else { magnitude };
    if scale >= 0 {
        return Ok(BigDecimal::new(unscaled, scale));
    }
    // Zero needs no digits, no matter how large its exponent is.
    let zeros = if significant == 0 { 0 } else { -scale };
    Ok(BigDecimal::new(unscaled * power_of_ten(zeros), 0))
}

pub fn from_i64(number: i64) -> BigDecimal {
    BigDecimal::new(BigInt::from(number), 0)
}

pub fn from_i128(number: i128) -> BigDecimal {
    BigDecimal::new(BigInt::from(number), 0)
}

/// 15 significant digits of a finite number, as PostgreSQL does it.
pub fn from_f64(number: f64) -> Result<BigDecimal> {
    parse_plain(&format!("{number:.14e}"), true)
}

/// 6 significant digits of a finite number, as PostgreSQL does it.
pub fn from_f32(number: f32) -> Result<BigDecimal> {
    parse_plain(&format!("{number:.5e}"), true)
}

/// Parses `[-+]digits[.digits][e[-+]digits]`. With `trim`, trailing zeros of the fraction are dropped (as
/// `%g` does).
fn parse_plain(text: &str, trim: bool) -> Result<BigDecimal> {
    let mut number = parse(text)?;
    if trim && let Some(digits) = significant_digits(&number) {
        let scale = (digits.text.len() as i64 - i64::from(digits.exponent)).max(0);
        number = with_scale(&number, scale);
    } else if trim {
        number = BigDecimal::new(BigInt::zero(), 0);
    }
    Ok(number)
}

fn syntax(text: &str) -> Error {
    Error::input(
        sqlstate::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type numeric: \"{}\"", quoted(text)),
    )
}

/// The characters that may surround the texts of numbers and of most other values.
pub(crate) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// Reads PostgreSQL's text form, with optional blanks around it.
pub fn parse(text: &str) -> Result<BigDecimal> {
    let plain = text.trim_matches(is_blank);
    let (is_negative, unsigned) = match plain.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let mut digits = DigitBuffer::new();
    let mut scale = None;
    let mut position = 0;
    while let Some(&byte) = unsigned.get(position) {
        match byte {
            b'0'..=b'9' => {
                if digits.len() == digits.capacity() {
                    memory::check_growth::<u8>(digits.capacity(), digits.len() + 1)?;
                }
                digits.push(byte);
                scale = scale.map(|scale: i64| scale + 1);
            }
            b'.' if scale.is_none() => scale = Some(0),
            _ => break,
        }
        position += 1;
    }
    if digits.is_empty() {
        return Err(syntax(text));
    }
    let mut scale = scale.unwrap_or(0);
    if let Some((b'e' | b'E', exponent)) = unsigned[position..].split_first() {
        scale -= parse_exponent(exponent).ok_or_else(|| syntax(text))?;
        if scale.abs() > i64::from(i32::MAX / 2) {
            return Err(overflow());
        }
    } else if position < unsigned.len() {
        return Err(syntax(text));
    }
    from_digits(is_negative, &digits, scale)
}

/// None for a syntax error; clamped, because anything so large overflows anyway.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude =
        digits.iter().fold(0_i64, |number, digit| (number * 10 + i64::from(digit - b'0')).min(1 << 40));
    Some(if is_negative { -magnitude } else { magnitude })
}

/// PostgreSQL's text form: plain digits with exactly `scale` places.
pub fn write(number: &BigDecimal, out: &mut Vec<u8>) {
    let (unscaled, scale) = number.as_bigint_and_scale();
    let scale = usize::try_from(scale).unwrap_or(0);
    if unscaled.sign() == Sign::Minus {
        out.push(b'-');
    }
    let digits = digit_text(&unscaled);
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
    if scale > 0 {
        out.push(b'.');
        out.resize(out.len() + scale - fraction.len(), b'0');
        out.extend_from_slice(fraction);
    }
}

/// Divides integers, rounding half away from zero. The divisor is not zero.
fn divide_rounded(dividend: &BigInt, divisor: &BigInt) -> BigInt {
    let quotient = dividend / divisor;
    let remainder = dividend - &quotient * divisor;
    let doubled = remainder.magnitude() << 1_u32;
    if &doubled < divisor.magnitude() {
        quotient
    } else if (dividend.sign() == Sign::Minus) == (divisor.sign() == Sign::Minus) {
        quotient + 1
    } else {
        quotient - 1
    }
}

/// The number with this scale (not negative), rounded half away from zero.
pub fn with_scale(number: &BigDecimal, scale: i64) -> BigDecimal {
    let (unscaled, old) = number.as_bigint_and_scale();
    let rescaled = match scale.cmp(&old) {
        Ordering::Equal => unscaled.into_owned(),
        Ordering::Greater => &*unscaled * power_of_ten(scale - old),
        // All digits vanish, with a margin: the power of ten, which may be huge, is not needed.
        Ordering::Less if count_digits(&unscaled) < old - scale => BigInt::zero(),
        Ordering::Less => divide_rounded(&unscaled, &power_of_ten(old - scale)),
    };
    BigDecimal::new(rescaled, scale)
}

/// Reports the work of multiplying or dividing by 10 to the `places`.
fn spend_shift(number: &BigDecimal, places: i64) -> Result<()> {
    let words = number.as_bigint_and_scale().0.bits() / 64 + 1;
    // The power itself is made by squaring.
    let power_words = places.unsigned_abs() / 19 + 1;
    let steps = power_words.saturating_mul(words + power_words / 8);
    guest::spend(u32::try_from(steps / WORDS_PER_UNIT).unwrap_or(u32::MAX).saturating_add(2))
}

/// `round(number, places)`; negative places round before the point.
pub fn round(number: &BigDecimal, places: i64) -> Result<BigDecimal> {
    // One digit more than a number may have, since its first digit may be rounded up.
    let places = places.clamp(-MAXIMUM_WHOLE_DIGITS - 1, MAXIMUM_SCALE);
    spend_shift(number, places)?;
    checked(rounded(number, places))
}

/// As [`round`], but the result may have one digit too many.
fn rounded(number: &BigDecimal, places: i64) -> BigDecimal {
    if places >= 0 {
        return with_scale(number, places);
    }
    let (unscaled, _) = with_scale(&shifted(number, places), 0).into_bigint_and_scale();
    before_point(unscaled, places)
}

/// `trunc(number, places)`.
pub fn truncate(number: &BigDecimal, places: i64) -> Result<BigDecimal> {
    let places = places.clamp(-MAXIMUM_WHOLE_DIGITS, MAXIMUM_SCALE);
    spend_shift(number, places)?;
    Ok(truncated(number, places))
}

fn truncated(number: &BigDecimal, places: i64) -> BigDecimal {
    let (unscaled, scale) = number.as_bigint_and_scale();
    if places >= scale {
        return with_scale(number, places);
    }
    let dropped = scale - places;
    let kept =
        if count_digits(&unscaled) <= dropped { BigInt::zero() } else { &*unscaled / power_of_ten(dropped) };
    if places >= 0 { BigDecimal::new(kept, places) } else { before_point(kept, places) }
}

/// The number before the point after this many (negative) places have been dropped.
fn before_point(kept: BigInt, places: i64) -> BigDecimal {
    BigDecimal::new(if kept.is_zero() { kept } else { kept * power_of_ten(-places) }, 0)
}

/// The number times 10 to the `places`, exactly: only the scale changes, possibly beyond its limits.
fn shifted(number: &BigDecimal, places: i64) -> BigDecimal {
    let (unscaled, scale) = number.as_bigint_and_scale();
    BigDecimal::new(unscaled.into_owned(), scale - places)
}

pub fn floor(number: &BigDecimal) -> Result<BigDecimal> {
    let whole = truncated(number, 0);
    checked(if compare(number, &whole) == Ordering::Less { whole - from_i64(1) } else { whole })
}

pub fn ceiling(number: &BigDecimal) -> Result<BigDecimal> {
    let whole = truncated(number, 0);
    checked(if compare(number, &whole) == Ordering::Greater { whole + from_i64(1) } else { whole })
}

pub fn compare(left: &BigDecimal, right: &BigDecimal) -> Ordering {
    let ((a, a_scale), (b, b_scale)) = (left.as_bigint_and_scale(), right.as_bigint_and_scale());
    match a_scale.cmp(&b_scale) {
        Ordering::Equal => a.cmp(&b),
        _ if a.sign() != b.sign() => a.sign().cmp(&b.sign()),
        Ordering::Less => (&*a * power_of_ten(b_scale - a_scale)).cmp(&b),
        Ordering::Greater => (*a).cmp(&(&*b * power_of_ten(a_scale - b_scale))),
    }
}

/// Both unscaled integers at the larger scale, and that scale.
fn aligned(left: &BigDecimal, right: &BigDecimal) -> (BigInt, BigInt, i64) {
    let scale = left.fractional_digit_count().max(right.fractional_digit_count());
    let at_scale = |number: &BigDecimal| {
        let (unscaled, old) = number.as_bigint_and_scale();
        if old == scale { unscaled.into_owned() } else { &*unscaled * power_of_ten(scale - old) }
    };
    (at_scale(left), at_scale(right), scale)
}

/// Reports the work of an operation on these numbers in advance, because large-number arithmetic reports
/// nothing itself.
fn spend(left: &BigDecimal, right: &BigDecimal) -> Result<()> {
    let words = |number: &BigDecimal| number.as_bigint_and_scale().0.bits() / 64 + 1;
    let steps = words(left).saturating_mul(words(right));
    guest::spend(u32::try_from(steps / WORDS_PER_UNIT).unwrap_or(u32::MAX).saturating_add(2))
}

pub fn add(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal> {
    guest::spend(2)?;
    let (a, b, scale) = aligned(left, right);
    checked(BigDecimal::new(a + b, scale))
}

pub fn subtract(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal> {
    let (a, b, scale) = aligned(left, right);
    checked(BigDecimal::new(a - b, scale))
}

pub fn multiply(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal> {
    spend(left, right)?;
    let ((a, a_scale), (b, b_scale)) = (left.as_bigint_and_scale(), right.as_bigint_and_scale());
    let product = BigDecimal::new(&*a * &*b, a_scale + b_scale);
    if a_scale + b_scale > MAXIMUM_SCALE {
        return checked(with_scale(&product, MAXIMUM_SCALE));
    }
    checked(product)
}

pub(super) fn division_by_zero() -> Error {
    Error::input(sqlstate::DIVISION_BY_ZERO, "division by zero")
}

pub fn divide(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal> {
    if right.is_zero() {
        return Err(division_by_zero());
    }
    spend(left, right)?;
    checked(quotient(left, right, division_scale(left, right)))
}

/// The quotient rounded to a scale.
fn quotient(left: &BigDecimal, right: &BigDecimal, scale: i64) -> BigDecimal {
    let ((a, a_scale), (b, b_scale)) = (left.as_bigint_and_scale(), right.as_bigint_and_scale());
    let shift = scale - a_scale + b_scale;
    let unscaled = if shift >= 0 {
        divide_rounded(&(&*a * power_of_ten(shift)), &b)
    } else {
        divide_rounded(&a, &(&*b * power_of_ten(-shift)))
    };
    BigDecimal::new(unscaled, scale)
}

/// `div(left, right)`: the quotient truncated to an integer.
pub fn divide_whole(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal> {
    if right.is_zero() {
        return Err(division_by_zero());
    }
    spend(left, right)?;
    let (a, b, _) = aligned(left, right);
    checked(BigDecimal::new(a / b, 0))
}

/// The remainder, with the dividend's sign.
pub fn modulo(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal> {
    if right.is_zero() {
        return Err(division_by_zero());
    }
    spend(left, right)?;
    let (a, b, scale) = aligned(left, right);
    Ok(BigDecimal::new(a % b, scale))
}

/// The place of the first nonzero group of four digits (0: just before the point) and its value, as
/// PostgreSQL stores numbers; (0, 0) for zero.
fn leading_group(number: &BigDecimal) -> (i64, u32) {
    let Some(digits) = significant_digits(number) else { return (0, 0) };
    let place = (i64::from(digits.exponent) - 1).div_euclid(GROUP_DIGITS);
    let length = (i64::from(digits.exponent) - 1).rem_euclid(GROUP_DIGITS) + 1;
    let digit = |index| digits.text.get(index).map_or(0, |digit| u32::from(digit - b'0'));
    (place, (0..length as usize).fold(0, |group, index| group * 10 + digit(index)))
}

/// Digits after the point of `left / right`: enough for 16 significant digits, estimated from the leading
/// groups.
fn division_scale(left: &BigDecimal, right: &BigDecimal) -> i64 {
    let (left_place, left_group) = leading_group(left);
    let (right_place, right_group) = leading_group(right);
    let place = left_place - right_place - i64::from(left_group <= right_group);
    (MINIMUM_SIGNIFICANT_DIGITS - place * GROUP_DIGITS)
        .max(left.fractional_digit_count())
        .max(right.fractional_digit_count())
        .clamp(0, MAXIMUM_RESULT_SCALE)
}

/// Rounds to `numeric(precision, scale)` or fails with PostgreSQL's "numeric field overflow".
pub fn apply_modifier(number: &BigDecimal, precision: u16, scale: i16) -> Result<BigDecimal> {
    let rounded = rounded(number, i64::from(scale));
    let whole_digits = i64::from(precision) - i64::from(scale);
    if !rounded.is_zero() && magnitude_exponent(&rounded) > whole_digits {
        let (base, digits) = if whole_digits == 0 { ("", 1) } else { ("10^", whole_digits) };
        let detail = format!(
            "A field with precision {precision}, scale {scale} must round to an absolute value less than {base}{digits}."
        );
        return Err(
            Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").with_detail(detail)
        );
    }
    Ok(rounded)
}

/// One digit before the point, `places` after it, and an exponent. (As in PostgreSQL, 9.96 is 10.0e+00.)
pub fn scientific(number: &BigDecimal, places: usize) -> Result<String> {
    spend_shift(number, places as i64)?;
    let exponent = significant_digits(number).map_or(0, |digits| i64::from(digits.exponent) - 1);
    let mut text = Vec::new();
    write(&with_scale(&shifted(number, -exponent), places as i64), &mut text);
    Ok(format!("{}e{exponent:+03}", String::from_utf8_lossy(&text)))
}

/// Rounded to an integer; None if it does not fit.
pub fn to_i64(number: &BigDecimal) -> Option<i64> {
    if magnitude_exponent(number) > 19 {
        return None;
    }
    with_scale(number, 0).as_bigint_and_scale().0.to_i64()
}

/// The nearest `double precision`; infinite if it is too large.
pub fn to_f64(number: &BigDecimal) -> f64 {
    let mut text = Vec::new();
    write(number, &mut text);
    std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// The nearest `real`; infinite if it is too large.
pub fn to_f32(number: &BigDecimal) -> f32 {
    let mut text = Vec::new();
    write(number, &mut text);
    std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).unwrap_or(f32::NAN)
}

#[cfg(test)]
mod tests;
