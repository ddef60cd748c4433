//! Divisors, multiples, factorials, and the least scale of a number.

use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::num_traits::Zero;

use super::{
    BigDecimal, WORDS_PER_UNIT, aligned, checked, compare, divide_whole, from_i64, multiply, overflow,
    power_of_ten, spend, subtract, to_i64, with_scale,
};
use crate::error::{Error, Result, sqlstate};
use crate::guest;

/// The greatest common divisor, never negative.
pub fn greatest_common_divisor(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal> {
    let (a, b, scale) = aligned(left, right);
    Ok(BigDecimal::new(common_divisor(a, b)?, scale))
}

fn common_divisor(mut a: BigInt, mut b: BigInt) -> Result<BigInt> {
    while !b.is_zero() {
        // One step of Euclid's algorithm goes through the whole number once.
        guest::spend(u32::try_from(a.bits() / 64 / WORDS_PER_UNIT).unwrap_or(u32::MAX).saturating_add(2))?;
        let rest = &a % &b;
        (a, b) = (b, rest);
    }
    Ok(if a.sign() == Sign::Minus { -a } else { a })
}

/// The least common multiple, never negative; 0 if one of them is.
pub fn least_common_multiple(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal> {
    let (a, b, scale) = aligned(left, right);
    if a.is_zero() || b.is_zero() {
        return Ok(BigDecimal::new(BigInt::zero(), scale));
    }
    let divisor = common_divisor(a.clone(), b.clone())?;
    let multiple = a / divisor * b;
    let size = if multiple.sign() == Sign::Minus { -multiple } else { multiple };
    checked(BigDecimal::new(size, scale))
}

/// `factorial(number)`.
pub fn factorial(number: i64) -> Result<BigDecimal> {
    /// The factorial of the next number has too many digits.
    const LARGEST: i64 = 32_177;
    if number < 0 {
        let message = "factorial of a negative number is undefined";
        return Err(Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    if number > LARGEST {
        return Err(overflow());
    }
    let mut product = BigInt::from(1);
    for factor in 2..=number {
        guest::spend_for(usize::try_from(product.bits() / 64).unwrap_or(0))?;
        product *= factor;
    }
    checked(BigDecimal::new(product, 0))
}

/// The fewest digits after the point that represent the number exactly.
pub fn least_scale(number: &BigDecimal) -> Result<i64> {
    let (unscaled, scale) = number.as_bigint_and_scale();
    if unscaled.is_zero() {
        return Ok(0);
    }
    // Bisects the interval that contains the result: the number of trailing zeros.
    let (mut least, mut most) = (0, scale);
    while least < most {
        spend(number, number)?;
        let zeros = (least + most + 1) / 2;
        if (&*unscaled % power_of_ten(zeros)).is_zero() {
            least = zeros;
        } else {
            most = zeros - 1;
        }
    }
    Ok(scale - least)
}

/// The same number with as few digits after the point as possible.
pub fn trim_scale(number: &BigDecimal) -> Result<BigDecimal> {
    Ok(with_scale(number, least_scale(number)?))
}

/// The number of the bucket, among `count` buckets of equal width from one bound to the other, that contains
/// a number: 0 before the first, `count` + 1 after the last.
pub fn bucket(number: &BigDecimal, first: &BigDecimal, last: &BigDecimal, count: i32) -> Result<i64> {
    let (whole, part) = (subtract(last, first)?, subtract(number, first)?);
    // If the bounds descend, everything is mirrored.
    let (whole, part) = if whole.sign() == Sign::Minus { (-whole, -part) } else { (whole, part) };
    if part.sign() == Sign::Minus {
        return Ok(0);
    }
    if compare(&part, &whole).is_ge() {
        return Ok(i64::from(count) + 1);
    }
    let before = divide_whole(&multiply(&part, &from_i64(i64::from(count)))?, &whole)?;
    Ok(to_i64(&before).unwrap_or(0) + 1)
}
