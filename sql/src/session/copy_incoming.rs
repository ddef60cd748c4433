//! Data of COPY FROM that has come and is not used up.

use hyades_types::error::{Error, Result, sqlstate};

/// Longest row that is accepted.
const LONGEST_ROW_BYTES: usize = 1 << 30;

/// The bytes from the beginning of the next row on.
#[derive(Default)]
pub(super) struct Incoming {
    pub(super) bytes: Vec<u8>,
    /// Where the next row begins.
    pub(super) start: usize,
    /// How far the bytes have been looked at.
    pub(super) seen: usize,
}

impl Incoming {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        // What has been used is dropped before it becomes much.
        self.bytes.drain(..self.start);
        self.seen -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Refuses to wait for the rest of a row that is too long already.
    pub(super) fn check_length(&self) -> Result<()> {
        if self.bytes.len() - self.start > LONGEST_ROW_BYTES {
            return Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, "a row of COPY data is too long"));
        }
        Ok(())
    }
}
