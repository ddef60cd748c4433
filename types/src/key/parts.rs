//! Bytes and numbers in keys, also as parts of the keys of other values.

use crate::network::Network;
use crate::numeric::{Numeric, finite};

pub(super) const NUMERIC_NEGATIVE: u8 = 0;
pub(super) const NUMERIC_ZERO: u8 = 1;
const NUMERIC_POSITIVE: u8 = 2;
pub(super) const NUMERIC_NAN: u8 = 3;
/// Greater than the exponent of every finite number.
const NUMERIC_INFINITE_EXPONENT: [u8; 3] = [0xff; 3];
/// Added to the exponent to base 100, which lies within -8192..=65536.
const NUMERIC_EXPONENT_BIAS: i32 = 1 << 16;

/// Bytes of any length: 00 is written 00 FF, and the end 00 00.
pub fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(zero) = memchr::memchr(0, rest) {
        out.extend_from_slice(&rest[..=zero]);
        out.push(0xff);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0, 0]);
}

/// The value is 0.d1 d2 d3 ... times 100 to the exponent, where neither d1 nor the last digit is 0: a
/// canonical form for every scale. One is added to each digit, so that the end (00) sorts before every
/// further digit.
pub(crate) fn encode_numeric(number: &Numeric, out: &mut Vec<u8>) {
    let number = match number {
        Numeric::Finite(number) => number,
        Numeric::Infinity => {
            out.push(NUMERIC_POSITIVE);
            out.extend(NUMERIC_INFINITE_EXPONENT);
            out.push(0);
            return;
        }
        Numeric::MinusInfinity => {
            out.push(NUMERIC_NEGATIVE);
            out.extend(NUMERIC_INFINITE_EXPONENT.map(|byte| !byte));
            out.push(!0);
            return;
        }
        Numeric::NaN => {
            out.push(NUMERIC_NAN);
            return;
        }
    };
    let Some(digits) = finite::significant_digits(number) else {
        out.push(NUMERIC_ZERO);
        return;
    };
    out.push(if digits.is_negative { NUMERIC_NEGATIVE } else { NUMERIC_POSITIVE });
    let start = out.len();
    // `exponent` counts decimal digits before the point; pairs must line up with the point.
    let pairs_before_point = digits.exponent.div_euclid(2) + digits.exponent.rem_euclid(2);
    let lead = usize::try_from(digits.exponent.rem_euclid(2)).unwrap_or(0);
    let exponent = (pairs_before_point + NUMERIC_EXPONENT_BIAS) as u32;
    out.extend_from_slice(&exponent.to_be_bytes()[1..]);
    let (first, rest) = digits.text.split_at(lead.min(digits.text.len()));
    if let [digit] = first {
        out.push(digit - b'0' + 1);
    }
    for pair in rest.chunks(2) {
        let low = pair.get(1).map_or(0, |digit| digit - b'0');
        out.push((pair[0] - b'0') * 10 + low + 1);
    }
    out.push(0);
    if digits.is_negative {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
}

/// Appends the family, the address of the network, the length of the mask, and the address of the host, which
/// sort as the values do.
pub(super) fn encode_network(network: Network, out: &mut Vec<u8>) {
    out.push(network.family());
    network.to_cidr().append_octets(out);
    out.push(network.bits());
    network.append_octets(out);
}

/// The length of that encoding, of a network of this family.
pub(super) fn network_length(family: u8) -> usize {
    let address = if family == 4 { 4 } else { 16 };
    2 + 2 * address
}
