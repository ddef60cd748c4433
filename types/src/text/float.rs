//! Text forms of `real` and `double precision`.
//!
//! The output has the fewest digits that read back as the same number, and of those the nearest to it. The
//! library finds them. Two choices are PostgreSQL's own (its variant of Ryū, "Ryū: fast float-to-string
//! conversion", PLDI 2018): digits that lie exactly half-way to the neighbouring number do not count as
//! reading back, and of two equally near digits the even one is taken. Both can happen only to numbers whose
//! binary expansion is short, so all others skip the check ([`may_be_ambiguous`]).

use std::fmt::LowerExp;
use std::io::Write as _;
use std::ops::Neg;
use std::str::FromStr;

use bigdecimal::num_bigint::BigInt;

use super::pieces::{is_blank, syntax, write_integer};
use crate::error::{Error, Result, sqlstate};
use crate::numeric::finite;
use crate::value::{BigDecimal, SqlType, Value};

/// The number of significant bits, and the exponent of the smallest number.
const DOUBLE: (u32, i64) = (53, -1074);
const REAL: (u32, i64) = (24, -149);
/// Beyond all exponents.
const FAR_EXPONENT: i64 = 100_000;

/// Whether any digit before the exponent is not zero: if so, a zero result has lost the number.
fn is_nonzero_literal(text: &str) -> bool {
    let text = text.trim_start_matches(['+', '-']);
    let is_digit = |byte: &u8| byte.is_ascii_hexdigit() && *byte != b'0';
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => {
            digits.bytes().take_while(|byte| !matches!(byte, b'p' | b'P')).any(|byte| is_digit(&byte))
        }
        None => text.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).any(|byte| is_digit(&byte)),
    }
}

pub(super) fn parse_double(text: &str) -> Result<Value> {
    let plain = text.trim_matches(is_blank);
    let number: Option<f64> = plain.parse().ok().or_else(|| hexadecimal(plain, DOUBLE));
    let number = number.ok_or_else(|| syntax(SqlType::DoublePrecision, text))?;
    let has_digits = plain.bytes().any(|byte| byte.is_ascii_digit());
    if (number.is_infinite() && has_digits) || (number == 0.0 && is_nonzero_literal(plain)) {
        return Err(float_out_of_range(SqlType::DoublePrecision, plain));
    }
    Ok(Value::Double(number))
}

pub(super) fn parse_real(text: &str) -> Result<Value> {
    let plain = text.trim_matches(is_blank);
    // Exact: the number has no more bits than a `real`, or is infinite as one.
    let hexadecimal = || hexadecimal(plain, REAL).map(|number| number as f32);
    let number: Option<f32> = plain.parse().ok().or_else(hexadecimal);
    let number = number.ok_or_else(|| syntax(SqlType::Real, text))?;
    let has_digits = plain.bytes().any(|byte| byte.is_ascii_digit());
    if (number.is_infinite() && has_digits) || (number == 0.0 && is_nonzero_literal(plain)) {
        return Err(float_out_of_range(SqlType::Real, plain));
    }
    Ok(Value::Real(number))
}

/// The result of C's `strtod` for a text, if it consumes all of it.
pub fn c_number(text: &str) -> Option<f64> {
    let text = text.trim_start_matches(is_blank);
    text.parse().ok().or_else(|| hexadecimal(text, DOUBLE))
}

/// `[+-]0xh.hp[+-]d`, rounded half to even to a format's bits.
fn hexadecimal(text: &str, (bits, least): (u32, i64)) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"))?;
    let (digits, power) = match digits.split_once(['p', 'P']) {
        Some((digits, power)) => (digits, binary_exponent(power)?),
        None => (digits, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // The first 64 bits, whether there are more, and the exponent of their unit.
    let (mut mantissa, mut has_rest, mut exponent) = (0_u64, false, power - 4 * fraction.len() as i64);
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = digit.to_digit(16)?;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
        } else {
            has_rest |= digit != 0;
            exponent += 4;
        }
    }
    let number = rounded(mantissa, has_rest, exponent, bits, least);
    Some(if text.starts_with('-') { -number } else { number })
}

/// Clamped: such large or small exponents give infinity or 0 anyway.
fn binary_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(i64::MAX).min(FAR_EXPONENT);
    Some(if text.starts_with('-') { -size } else { size })
}

/// `mantissa` times 2 to the `exponent`, and a little more if `has_rest`.
fn rounded(mantissa: u64, has_rest: bool, exponent: i64, bits: u32, least: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let length = i64::from(u64::BITS - mantissa.leading_zeros());
    let unit = (exponent + length - i64::from(bits)).max(least);
    let dropped = unit - exponent;
    let units = match u32::try_from(dropped) {
        // All bits are kept: there are fewer than the format has.
        Err(_) | Ok(0) => return scaled(mantissa, exponent),
        Ok(dropped) if dropped > u64::BITS => 0,
        Ok(dropped) => {
            let kept = u128::from(mantissa) >> dropped;
            let rest = u128::from(mantissa) & ((1 << dropped) - 1);
            let half = 1_u128 << (dropped - 1);
            let is_above = rest > half || (rest == half && (has_rest || kept & 1 == 1));
            kept as u64 + u64::from(is_above)
        }
    };
    scaled(units, unit)
}

/// Exact, or infinite.
fn scaled(units: u64, exponent: i64) -> f64 {
    libm::scalbn(units as f64, exponent.clamp(-FAR_EXPONENT, FAR_EXPONENT) as i32)
}

fn float_out_of_range(sql_type: SqlType, text: &str) -> Error {
    let name = sql_type.base_name();
    Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("\"{text}\" is out of range for type {name}"))
}

/// The shortest digits; with an exponent from 1e15 and below 1e-4.
pub(super) fn write_double(number: f64, out: &mut Vec<u8>) {
    if !write_special(number, out) {
        let bits = number.to_bits();
        let binary = Binary::new(bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32, 52, 1075);
        write_shortest(number, binary, 15, out);
    }
}

/// As for doubles, with an exponent from 1e6.
pub(super) fn write_real(number: f32, out: &mut Vec<u8>) {
    if !write_special(f64::from(number), out) {
        let bits = number.to_bits();
        let binary = Binary::new(u64::from(bits & ((1 << 23) - 1)), (bits >> 23 & 0xff) as i32, 23, 150);
        write_shortest(number, binary, 6, out);
    }
}

/// `%.*g` of C with `usual + extra` digits, at least one.
pub(super) fn write_rounded(number: f64, usual: i8, extra: i8, out: &mut Vec<u8>) {
    if write_special(number, out) {
        return;
    }
    let digits = usize::try_from(usual + extra).unwrap_or(1).max(1);
    let scientific = format!("{number:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let without_zeros = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    let last = i32::try_from(digits).unwrap_or(i32::MAX);
    if (-4..last).contains(&exponent) {
        let places = usize::try_from(last - 1 - exponent).unwrap_or(0);
        out.extend_from_slice(without_zeros(&format!("{number:.places$}")).as_bytes());
        return;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let shown = format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.unsigned_abs());
    out.extend_from_slice(shown.as_bytes());
}

fn write_special(number: f64, out: &mut Vec<u8>) -> bool {
    let word: &[u8] = if number.is_nan() {
        b"NaN"
    } else if number == f64::INFINITY {
        b"Infinity"
    } else if number == f64::NEG_INFINITY {
        b"-Infinity"
    } else {
        return false;
    };
    out.extend_from_slice(word);
    true
}

/// The magnitude of a finite number: `mantissa` times 2 to the `exponent`.
#[derive(Clone, Copy)]
struct Binary {
    mantissa: u64,
    exponent: i32,
}

impl Binary {
    fn new(fraction: u64, biased_exponent: i32, fraction_bits: u32, bias: i32) -> Binary {
        if biased_exponent == 0 {
            return Binary { mantissa: fraction, exponent: 1 - bias };
        }
        Binary { mantissa: fraction | 1 << fraction_bits, exponent: biased_exponent - bias }
    }

    /// The exact decimal expansion of `mantissa * 2^exponent`.
    fn decimal(mantissa: u64, exponent: i32) -> BigDecimal {
        if exponent >= 0 {
            return BigDecimal::new(BigInt::from(mantissa) << exponent, 0);
        }
        let places = exponent.unsigned_abs();
        BigDecimal::new(BigInt::from(mantissa) * BigInt::from(5_u32).pow(places), i64::from(places))
    }
}

/// Whether a decimal of at most 17 digits can lie exactly half-way between this number and a neighbour, or be
/// as near to it as another: then the number or the half-way point is an integer of few digits, or has few
/// decimal places.
fn may_be_ambiguous(binary: Binary) -> bool {
    let odd_exponent = binary.exponent + binary.mantissa.trailing_zeros() as i32;
    binary.mantissa != 0 && odd_exponent >= -30 && binary.exponent <= 90
}

/// The digits that PostgreSQL prefers, as `d[ddd]e[-]x`; None if the shortest digits are the exact number.
fn preferred<F: FromStr + PartialEq + Neg<Output = F>>(
    number: F,
    binary: Binary,
    shortest: &str,
) -> Option<String> {
    let exact = Binary::decimal(binary.mantissa, binary.exponent);
    if finite::compare(&finite::parse(shortest).ok()?.abs(), &exact).is_eq() {
        return None;
    }
    let is_power_of_two = binary.mantissa.is_power_of_two();
    let half_way = [
        Binary::decimal(binary.mantissa * 2 + 1, binary.exponent - 1),
        // Below a power of two the numbers are closer together.
        if is_power_of_two {
            Binary::decimal(binary.mantissa * 4 - 1, binary.exponent - 2)
        } else {
            Binary::decimal(binary.mantissa * 2 - 1, binary.exponent - 1)
        },
    ];
    let (unscaled, scale) = exact.as_bigint_and_scale();
    let length = finite::digit_text(&unscaled).len();
    let count = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    (count..=length.min(17)).find_map(|count| {
        let dropped = length - count;
        let unit = BigInt::from(10_u32).pow(dropped as u32);
        let below = &*unscaled / &unit;
        let twice_rest = (&*unscaled - &below * &unit) * 2_u32;
        let above = &below + 1_u32;
        // The nearer candidate first; of two equally near the even one.
        let above_first = twice_rest > unit || (twice_rest == unit && below.bit(0));
        let candidates = if above_first { [above, below] } else { [below, above] };
        candidates.into_iter().find_map(|digits| {
            let decimal = BigDecimal::new(digits.clone(), scale - dropped as i64);
            let text = format!("{digits}e{}", dropped as i64 - scale);
            let read: F = text.parse().ok()?;
            let is_same = read == number || -read == number;
            let is_half_way = half_way.iter().any(|point| finite::compare(point, &decimal).is_eq());
            (is_same && !is_half_way).then_some(text)
        })
    })
}

fn write_shortest<F>(number: F, binary: Binary, exponent_from: i32, out: &mut Vec<u8>)
where
    F: LowerExp + FromStr + PartialEq + Neg<Output = F> + Copy,
{
    let mut buffer = [0_u8; 40];
    let capacity = buffer.len();
    let mut rest = &mut buffer[..];
    // A double needs at most 24 bytes, so this cannot fail.
    let _ = write!(rest, "{number:e}");
    let length = capacity - rest.len();
    let shortest = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
    if shortest.starts_with('-') {
        out.push(b'-');
    }
    let preferred = may_be_ambiguous(binary).then(|| preferred(number, binary, shortest)).flatten();
    lay_out(preferred.as_deref().unwrap_or(shortest), exponent_from, out);
}

/// Lays out the magnitude of `[-]d...[.ddd]e[-]x` as PostgreSQL does.
fn lay_out(scientific: &str, exponent_from: i32, out: &mut Vec<u8>) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // All digits except the first come after the point.
    let unsigned = mantissa.trim_start_matches('-');
    let exponent = exponent + unsigned.find('.').unwrap_or(unsigned.len()) as i32 - 1;
    let mut digits = [0_u8; 24];
    let mut count = 0;
    for byte in mantissa.bytes().filter(u8::is_ascii_digit) {
        digits[count] = byte;
        count += 1;
    }
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    let digits = &digits[..count];
    if !(-4..exponent_from).contains(&exponent) {
        out.push(digits[0]);
        if count > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        write_integer(i64::from(exponent.abs()), out);
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-exponent - 1) as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let whole = exponent as usize + 1;
        if count <= whole {
            out.extend_from_slice(digits);
            out.resize(out.len() + whole - count, b'0');
        } else {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}
