//! LEB128: seven bits in each byte, low bits first. The top bit says that more bytes follow.

use super::Malformed;

/// A u64 takes at most this many bytes.
pub const MAX_VARINT_BYTES: usize = 10;

#[inline]
pub fn write_varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// The number of bytes that a number takes.
#[inline]
pub fn varint_bytes(value: u64) -> usize {
    (u64::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// The bytes of a number below 2^56 as a little-endian word, and their count.
#[inline]
pub fn word_of_varint(mut value: u64) -> (u64, usize) {
    debug_assert!(value < 1 << 56, "it would be longer than a word");
    let (mut word, mut bytes) = (0, 1);
    while value >= 0x80 {
        word |= (value & 0x7f | 0x80) << (8 * (bytes - 1));
        value >>= 7;
        bytes += 1;
    }
    (word | value << (8 * (bytes - 1)), bytes)
}

/// Small numbers of either sign become small unsigned ones.
#[inline]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[inline]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads the number at `offset` and steps over it.
#[inline]
pub fn read_varint(bytes: &[u8], offset: &mut usize) -> Result<u64, Malformed> {
    match bytes.get(*offset) {
        Some(byte) if *byte < 0x80 => {
            *offset += 1;
            Ok(u64::from(*byte))
        }
        _ => read_long_varint(bytes, offset),
    }
}

fn read_long_varint(bytes: &[u8], offset: &mut usize) -> Result<u64, Malformed> {
    let start = *offset;
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().skip(start).take(MAX_VARINT_BYTES).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if index == MAX_VARINT_BYTES - 1 && bits > 1 {
            break;
        }
        value |= bits << (7 * index);
        if *byte < 0x80 {
            *offset = start + index + 1;
            return Ok(value);
        }
    }
    Err(Malformed { offset: start, reason: "a number is cut off or too large" })
}
