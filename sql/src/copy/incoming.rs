//! Data of COPY FROM that has arrived and is not consumed yet.

use hyades_types::error::{Error, Result, sqlstate};

/// The longest row that is accepted.
const LONGEST_ROW_BYTES: usize = 1 << 30;

/// The bytes from the beginning of the next row onwards.
#[derive(Default)]
pub(super) struct Incoming {
    pub(super) bytes: Vec<u8>,
    /// Where the next row begins.
    pub(super) start: usize,
    /// Where unexamined bytes begin.
    pub(super) seen: usize,
}

impl Incoming {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        // Consumed bytes are dropped before they take much memory.
        self.bytes.drain(..self.start);
        self.seen -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Gives up the bytes from the beginning of the next row onwards.
    pub(super) fn give_up_rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.bytes);
        rest.drain(..self.start);
        (self.start, self.seen) = (0, 0);
        rest
    }

    /// Refuses to wait for the rest of a row that is already too long.
    pub(super) fn check_length(&self) -> Result<()> {
        if self.bytes.len() - self.start > LONGEST_ROW_BYTES {
            return Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, "a row of COPY data is too long"));
        }
        Ok(())
    }
}
