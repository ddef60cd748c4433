//! Takes the parts of a binary form off its front.

use crate::error::{Error, Result, sqlstate};

/// Takes this many bytes off the front.
pub(crate) fn take<const LENGTH: usize>(bytes: &mut &[u8]) -> Result<[u8; LENGTH]> {
    let missing = || Error::input(sqlstate::PROTOCOL_VIOLATION, "insufficient data left in message");
    let (first, rest) = bytes.split_first_chunk().ok_or_else(missing)?;
    *bytes = rest;
    Ok(*first)
}

/// 22P03: bytes that are not a valid binary form.
pub(crate) fn wrong(message: impl Into<String>) -> Error {
    Error::input(sqlstate::INVALID_BINARY_REPRESENTATION, message)
}
