//! The content of a `numeric` in a stored row: `u16` (bit 15: negative; bits 0-13: scale), then the unscaled
//! magnitude, little-endian without high zero bytes. With bit 14 there is no magnitude: 4000 and C000 are the
//! infinities, 4001 is NaN.

use bigdecimal::num_bigint::{BigInt, Sign};
use hyades_types::numeric;
use hyades_types::value::{BigDecimal, Numeric};

const HEADER_BYTES: usize = 2;
const NEGATIVE: u16 = 0x8000;
const SPECIAL: u16 = 0x4000;
const INFINITY: u16 = SPECIAL;
const MINUS_INFINITY: u16 = SPECIAL | NEGATIVE;
const NAN: u16 = SPECIAL | 1;

pub(super) fn append(number: &Numeric, out: &mut Vec<u8>) {
    let number = match number {
        Numeric::Finite(number) => number,
        Numeric::Infinity => return out.extend_from_slice(&INFINITY.to_le_bytes()),
        Numeric::MinusInfinity => return out.extend_from_slice(&MINUS_INFINITY.to_le_bytes()),
        Numeric::NaN => return out.extend_from_slice(&NAN.to_le_bytes()),
    };
    let (unscaled, scale) = number.as_bigint_and_scale();
    let sign = if unscaled.sign() == Sign::Minus { NEGATIVE } else { 0 };
    out.extend_from_slice(&(sign | (scale as u16 & !NEGATIVE)).to_le_bytes());
    let start = out.len();
    for word in unscaled.iter_u64_digits() {
        out.extend_from_slice(&word.to_le_bytes());
    }
    while out.len() > start && out.last() == Some(&0) {
        out.pop();
    }
}

pub(super) fn read(bytes: &[u8]) -> Numeric {
    let header = u16::from_le_bytes([bytes[0], bytes[1]]);
    match header {
        INFINITY => return Numeric::Infinity,
        MINUS_INFINITY => return Numeric::MinusInfinity,
        NAN => return Numeric::NaN,
        _ => {}
    }
    let magnitude = &bytes[HEADER_BYTES..];
    let is_negative = header & NEGATIVE != 0;
    let unscaled = if magnitude.len() <= 8 {
        let mut word = [0; 8];
        word[..magnitude.len()].copy_from_slice(magnitude);
        let magnitude = i128::from(u64::from_le_bytes(word));
        BigInt::from(if is_negative { -magnitude } else { magnitude })
    } else {
        BigInt::from_bytes_le(if is_negative { Sign::Minus } else { Sign::Plus }, magnitude)
    };
    BigDecimal::new(unscaled, i64::from(header & !NEGATIVE)).into()
}

/// Whether the bytes are a number in the form above.
pub(super) fn is_numeric(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER_BYTES
        && (bytes.len() == HEADER_BYTES || bytes.last() != Some(&0))
        && numeric::is_within_limits(&read(bytes))
        && match u16::from_le_bytes([bytes[0], bytes[1]]) {
            INFINITY | MINUS_INFINITY | NAN => bytes.len() == HEADER_BYTES,
            header => bytes.len() > HEADER_BYTES || header & NEGATIVE == 0,
        }
}
