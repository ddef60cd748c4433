//! How LSN vectors stand in log records: compressed against an anchor of their log (Taurus, VLDB 2020,
//! algorithm 5).
//!
//! ```text
//!   | bitmap: the logs whose entry exceeds the anchor | those entries |
//! ```

use super::Positions;
use crate::log::record::varint::{read_varint, write_varint};
use crate::log::record::{MAX_LOGS, Malformed, read_position, write_position};
use crate::lsn::logs_in;

/// Appends an LSN vector (algorithm 5, Compress): a bitmap of the logs whose entry exceeds the
/// anchor, then those entries, absolute and not relative to the anchor, so that a record that lands after a
/// newer anchor still decompresses upwards. Returns the bitmap.
pub fn compress(vector: &[u64], anchor: impl Iterator<Item = u64>, into: &mut Vec<u8>) -> u64 {
    debug_assert!(vector.len() <= MAX_LOGS);
    let mut bitmap = 0_u64;
    for (log, (entry, anchor)) in vector.iter().zip(anchor).enumerate() {
        bitmap |= u64::from(*entry > anchor) << log;
    }
    write_varint(into, bitmap);
    for log in logs_in(bitmap) {
        write_position(into, vector[log]);
    }
    bitmap
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
