//! Cuts COPY data into rows.
//!
//! A row ends at a newline (`\n` or `\r\n`; a lone `\r` too if the first row ended so). In CSV, newlines in
//! quotes belong to the row; in text format a backslash before a newline does. A row `\.` ends the data.

use hyades_types::error::{Error, Result, sqlstate};

use crate::statement::{CopyFormat, CopyOptions};

/// Longest row that is accepted.
const LONGEST_ROW_BYTES: usize = 1 << 30;

/// The bytes that have come and not been used.
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// Where the next row begins.
    start: usize,
    /// How far the bytes have been looked at for the end of the next row.
    seen: usize,
    is_csv: bool,
    quote: u8,
    escape: u8,
    is_in_quotes: bool,
    /// Newlines inside the row so far.
    inner_lines: u64,
    is_ended: bool,
}

/// A row and how many lines of text it takes.
pub(super) struct RowLines {
    pub(super) text: Vec<u8>,
    pub(super) count: u64,
}

impl Lines {
    pub(super) fn new(options: &CopyOptions) -> Lines {
        Lines {
            bytes: Vec::new(),
            start: 0,
            seen: 0,
            is_csv: options.format == CopyFormat::Csv,
            quote: options.quote,
            escape: options.escape,
            is_in_quotes: false,
            inner_lines: 0,
            is_ended: false,
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        if self.is_ended {
            return;
        }
        // What has been used is dropped before it becomes much.
        self.bytes.drain(..self.start);
        self.seen -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next row, if it is whole (or the last one).
    pub(super) fn next(&mut self, is_last: bool) -> Result<Option<RowLines>> {
        if self.is_ended {
            return Ok(None);
        }
        while self.seen < self.bytes.len() {
            let byte = self.bytes[self.seen];
            if self.is_csv && self.is_in_quotes && byte == self.escape && self.escape != self.quote {
                if self.seen + 1 >= self.bytes.len() && !is_last {
                    return self.incomplete();
                }
                self.seen += 2;
                continue;
            }
            if self.is_csv && byte == self.quote {
                self.is_in_quotes = !self.is_in_quotes;
            }
            if byte == b'\\' && !self.is_csv {
                if self.seen + 1 >= self.bytes.len() && !is_last {
                    return self.incomplete();
                }
                self.inner_lines += u64::from(self.bytes.get(self.seen + 1) == Some(&b'\n'));
                self.seen += 2;
                continue;
            }
            if byte == b'\n' {
                if self.is_in_quotes {
                    self.inner_lines += 1;
                } else {
                    let end = self.seen;
                    self.seen += 1;
                    return Ok(self.row(end));
                }
            }
            self.seen += 1;
        }
        self.seen = self.seen.min(self.bytes.len());
        if is_last && self.start < self.bytes.len() {
            if self.is_in_quotes {
                return Err(Error::input(sqlstate::BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field"));
            }
            return Ok(self.row(self.bytes.len()));
        }
        self.incomplete()
    }

    fn incomplete(&self) -> Result<Option<RowLines>> {
        if self.bytes.len() - self.start > LONGEST_ROW_BYTES {
            return Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, "a row of COPY data is too long"));
        }
        Ok(None)
    }

    /// Takes out the row that ends here.
    fn row(&mut self, end: usize) -> Option<RowLines> {
        let mut text = self.bytes[self.start..end].to_vec();
        if text.last() == Some(&b'\r') {
            text.pop();
        }
        self.start = self.seen.max(end).min(self.bytes.len());
        self.seen = self.start;
        let count = std::mem::take(&mut self.inner_lines) + 1;
        if text == b"\\." {
            self.is_ended = true;
            return None;
        }
        Some(RowLines { text, count })
    }
}
