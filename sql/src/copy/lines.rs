//! Splits COPY data into rows.
//!
//! A row ends at a newline (`\n` or `\r\n`, or a lone `\r` if the first row ended so). In CSV, newlines in
//! quotes belong to the row. In text format, a newline after a backslash does. A row `\.` ends the data.

use hyades_types::error::{Error, Result, sqlstate};

use super::incoming::Incoming;
use crate::statement::{CopyFormat, CopyOptions};

/// The data, with how far it has been searched for the end of the next row.
pub(super) struct Lines {
    incoming: Incoming,
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
            incoming: Incoming::default(),
            is_csv: options.format == CopyFormat::Csv,
            quote: options.quote,
            escape: options.escape,
            is_in_quotes: false,
            inner_lines: 0,
            is_ended: false,
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        if !self.is_ended {
            self.incoming.take(bytes);
        }
    }

    /// The next row, if it is complete (or the last one).
    pub(super) fn next(&mut self, is_last: bool) -> Result<Option<RowLines>> {
        if self.is_ended {
            return Ok(None);
        }
        let incoming = &mut self.incoming;
        while incoming.seen < incoming.bytes.len() {
            let byte = incoming.bytes[incoming.seen];
            if self.is_csv && self.is_in_quotes && byte == self.escape && self.escape != self.quote {
                if incoming.seen + 1 >= incoming.bytes.len() && !is_last {
                    return self.incomplete();
                }
                incoming.seen += 2;
                continue;
            }
            if self.is_csv && byte == self.quote {
                self.is_in_quotes = !self.is_in_quotes;
            }
            if byte == b'\\' && !self.is_csv {
                if incoming.seen + 1 >= incoming.bytes.len() && !is_last {
                    return self.incomplete();
                }
                self.inner_lines += u64::from(incoming.bytes.get(incoming.seen + 1) == Some(&b'\n'));
                incoming.seen += 2;
                continue;
            }
            if byte == b'\n' {
                if self.is_in_quotes {
                    self.inner_lines += 1;
                } else {
                    let end = incoming.seen;
                    incoming.seen += 1;
                    return Ok(self.row(end));
                }
            }
            incoming.seen += 1;
        }
        incoming.seen = incoming.seen.min(incoming.bytes.len());
        if is_last && incoming.start < incoming.bytes.len() {
            if self.is_in_quotes {
                return Err(Error::input(sqlstate::BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field"));
            }
            let end = incoming.bytes.len();
            return Ok(self.row(end));
        }
        self.incomplete()
    }

    fn incomplete(&self) -> Result<Option<RowLines>> {
        self.incoming.check_length().map(|()| None)
    }

    /// Takes out the row that ends at `end`.
    fn row(&mut self, end: usize) -> Option<RowLines> {
        let incoming = &mut self.incoming;
        let mut text = incoming.bytes[incoming.start..end].to_vec();
        if text.last() == Some(&b'\r') {
            text.pop();
        }
        incoming.start = incoming.seen.max(end).min(incoming.bytes.len());
        incoming.seen = incoming.start;
        let count = std::mem::take(&mut self.inner_lines) + 1;
        if text == b"\\." {
            self.is_ended = true;
            return None;
        }
        Some(RowLines { text, count })
    }
}
