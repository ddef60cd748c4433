//! How LSN vectors stand in log records: compressed against an anchor of their log (Taurus, VLDB 2020,
//! algorithm 5).
//!
//! ```text
//!   | bitmap: the logs whose entry exceeds the anchor | those entries |
//! ```

use super::Positions;
use crate::log::record::varint::{read_varint, write_varint};
use crate::log::record::{MAX_LOGS, Malformed, read_position, write_position};
use crate::lsn::{logs_in, word_of};

/// Appends an LSN vector (algorithm 5, Compress): a bitmap of the logs whose entry exceeds the
/// anchor, then those entries, absolute and not relative to the anchor, so that a record that lands after a
/// newer anchor still decompresses upwards. Returns the bitmap.
///
/// `candidates`: one bit for each log whose entry may exceed the anchor. Only these are looked at, and more
/// than once: an entry may grow meanwhile.
#[inline]
pub(super) fn compress(
    candidates: u64,
    entry: impl Fn(usize) -> u64,
    anchor: impl Fn(usize) -> u64,
    into: &mut Vec<u8>,
) -> u64 {
    let is_above = |log: &usize| entry(*log) > anchor(*log);
    let bitmap = word_of(logs_in(candidates).filter(is_above));
    write_varint(into, bitmap);
    for log in logs_in(bitmap) {
        write_position(into, entry(log));
    }
    bitmap
}

/// The same for a vector of which every entry may exceed the anchor.
pub fn compress_all(vector: &[u64], anchor: impl Fn(usize) -> u64, into: &mut Vec<u8>) -> u64 {
    debug_assert!(vector.len() <= MAX_LOGS);
    compress(word_of(0..vector.len()), |log| vector[log], anchor, into)
}

/// Goes to the end of a vector.
///
/// # Errors
/// It has no end.
pub(super) fn skip_vector(content: &[u8], offset: &mut usize) -> Result<(), Malformed> {
    let bitmap = read_varint(content, offset)?;
    for _ in 0..bitmap.count_ones() {
        read_position(content, offset)?;
    }
    Ok(())
}

/// Names the entries of a vector (algorithm 5, Decompress). What was left out is at most the last anchor,
/// zeroes before the first.
///
/// # Errors
/// It names a log that does not exist, or has no end.
pub(super) fn decompress(
    field: &[u8],
    offset: &mut usize,
    positions: &mut Positions,
) -> Result<(), Malformed> {
    let bitmap = read_varint(field, offset)?;
    if bitmap != 0 && bitmap.ilog2() as usize >= positions.logs() {
        return Err(Malformed { offset: 0, reason: "an LSN vector names a log that does not exist" });
    }
    for log in logs_in(bitmap) {
        positions.name(log, read_position(field, offset)?);
    }
    Ok(())
}
