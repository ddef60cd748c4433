//! Splits COPY data into rows of text.
//!
//! A row ends at a newline (`\n` or `\r\n`) that does not belong to it ([`RowEnds`]). A row `\.` ends the
//! data.

use hyades_types::error::{Error, Result, sqlstate};

use super::incoming::Incoming;
use super::row_ends::RowEnds;
use crate::statement::CopyOptions;

/// The data, with how far it has been searched for the end of the next row.
pub(super) struct Lines {
    incoming: Incoming,
    ends: RowEnds,
    /// Where the row that was read last begins.
    last: usize,
    is_ended: bool,
}

/// A row and how many lines of text it takes.
pub(super) struct RowLines<'l> {
    pub(super) text: &'l [u8],
    pub(super) count: u64,
}

impl Lines {
    pub(super) fn new(options: &CopyOptions) -> Lines {
        Lines { incoming: Incoming::default(), ends: RowEnds::new(options), last: 0, is_ended: false }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        if !self.is_ended {
            self.last = 0;
            self.incoming.take(bytes);
        }
    }

    /// Whether the row that ends the data has been read.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// How many bytes of what was taken last the rows read so far were, if nothing was left before.
    pub(super) fn consumed(&self) -> usize {
        self.incoming.start
    }

    /// The bytes of the row that was read last, with its newline, until more are taken.
    pub(super) fn last_row(&self) -> &[u8] {
        &self.incoming.bytes[self.last..self.incoming.start]
    }

    /// Gives up the bytes from the beginning of the next row onwards.
    pub(super) fn give_up_rest(&mut self) -> Vec<u8> {
        self.ends.restart();
        self.last = 0;
        self.incoming.give_up_rest()
    }

    /// The next row, if it is complete (or the last one).
    pub(super) fn next(&mut self, is_last: bool) -> Result<Option<RowLines<'_>>> {
        if self.is_ended {
            return Ok(None);
        }
        let incoming = &mut self.incoming;
        if let Some(end) = self.ends.find(&incoming.bytes, &mut incoming.seen, is_last) {
            return Ok(self.row(end));
        }
        let end = incoming.bytes.len();
        if is_last && incoming.start < end {
            if self.ends.is_in_quotes() {
                return Err(Error::input(sqlstate::BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field"));
            }
            return Ok(self.row(end));
        }
        incoming.check_length().map(|()| None)
    }

    /// The row that ends at `end`. The next one begins where the search goes on.
    fn row(&mut self, end: usize) -> Option<RowLines<'_>> {
        let incoming = &mut self.incoming;
        self.last = std::mem::replace(&mut incoming.start, incoming.seen);
        let text = &incoming.bytes[self.last..end];
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let count = self.ends.take_inner_lines() + 1;
        if text == b"\\." {
            self.is_ended = true;
            return None;
        }
        Some(RowLines { text, count })
    }
}
