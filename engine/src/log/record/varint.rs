//! LEB128: seven bits in each byte, low bits first. The top bit says that more bytes follow.

use super::Malformed;

/// A u64 takes at most this many bytes.
pub const MAX_VARINT_BYTES: usize = 10;

#[inline]
pub fn write_varint(into: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        into.push(value as u8);
    } else if value < 1 << 56 {
        let (word, bytes) = word_of_varint(value);
        let start = into.len();
        into.extend_from_slice(&word.to_le_bytes());
        into.truncate(start + bytes);
    } else {
        write_long_varint(into, value);
    }
}

/// Writes a byte, then a number.
#[inline]
pub fn write_tagged_varint(into: &mut Vec<u8>, tag: u8, value: u64) {
    if value < 1 << 56 {
        let (word, bytes) = word_of_varint(value);
        write_start(into, u128::from(word) << 8 | u128::from(tag), 1 + bytes);
    } else {
        into.push(tag);
        write_long_varint(into, value);
    }
}

/// Writes the low bytes of a word, low first: all of them, and then takes the rest back, because their number
/// is not known when this program is compiled.
#[inline]
pub fn write_start(into: &mut Vec<u8>, word: u128, bytes: usize) {
    let start = into.len();
    into.extend_from_slice(&word.to_le_bytes());
    into.truncate(start + bytes);
}

#[cold]
fn write_long_varint(into: &mut Vec<u8>, mut value: u64) {
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
pub fn word_of_varint(value: u64) -> (u64, usize) {
    debug_assert!(value < 1 << 56, "it would be longer than a word");
    let bytes = varint_bytes(value);
    // Halves, quarters and eighths move apart, by one bit for each seven.
    let halves = value & 0x0fff_ffff | (value & 0xff_ffff_f000_0000) << 4;
    let quarters = halves & 0x3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
    let eighths = quarters & 0x7f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1;
    (eighths | 0x8080_8080_8080_8080 & ((1 << (8 * (bytes - 1))) - 1), bytes)
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_are_read_as_written() {
        let ends = (0..64).flat_map(|bits| [(1_u64 << bits) - 1, 1 << bits, (1 << bits) | 0x2a]);
        for value in ends.chain([u64::MAX, 0x0123_4567_89ab_cdef, 0x00fe_dcba_9876_5432]) {
            let mut written = Vec::new();
            write_varint(&mut written, value);
            let mut expected = Vec::new();
            write_long_varint(&mut expected, value);
            assert_eq!(written, expected, "{value:x}");
            assert_eq!(written.len(), varint_bytes(value), "{value:x}");
            let mut offset = 0;
            assert_eq!(read_varint(&written, &mut offset), Ok(value));
            assert_eq!(offset, written.len());
            let mut tagged = vec![7];
            write_tagged_varint(&mut tagged, 9, value);
            assert_eq!((&tagged[..2], &tagged[2..]), (&[7, 9][..], &written[..]), "{value:x}");
        }
    }
}
