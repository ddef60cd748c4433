//! Where the rows of COPY data end.
//!
//! A row of text ends at a newline. In CSV, newlines in quotes belong to the row. In text format, a newline
//! after a backslash does. A row of binary data says how many fields it has, and each field how long it is.

use memchr::{memchr2, memchr3};

use super::binary_rows::NULL_LENGTH;
use crate::statement::{CopyFormat, CopyOptions};

/// The search for the ends of rows of text, which begins where a row does.
pub(super) struct RowEnds {
    is_csv: bool,
    quote: u8,
    escape: u8,
    is_in_quotes: bool,
    /// Newlines inside the row so far.
    inner_lines: u64,
}

impl RowEnds {
    pub(super) fn new(options: &CopyOptions) -> RowEnds {
        RowEnds {
            is_csv: options.format == CopyFormat::Csv,
            quote: options.quote,
            escape: options.escape,
            is_in_quotes: false,
            inner_lines: 0,
        }
    }

    /// The search begins again, where a row does.
    pub(super) fn restart(&mut self) {
        (self.is_in_quotes, self.inner_lines) = (false, 0);
    }

    /// Whether the search has stopped inside quotes.
    pub(super) fn is_in_quotes(&self) -> bool {
        self.is_in_quotes
    }

    /// The newlines inside the row that was found. The next row begins.
    pub(super) fn take_inner_lines(&mut self) -> u64 {
        std::mem::take(&mut self.inner_lines)
    }

    /// The newline that ends the row, searched for from `seen` on. `None` if it has not arrived yet, or, with
    /// `is_last`, never will. `seen` is then where to go on.
    pub(super) fn find(&mut self, bytes: &[u8], seen: &mut usize, is_last: bool) -> Option<usize> {
        while let Some(found) = self.next_special(&bytes[*seen..]) {
            let at = *seen + found;
            let byte = bytes[at];
            let hides_next = match self.is_csv {
                true => self.is_in_quotes && byte == self.escape && self.escape != self.quote,
                false => byte == b'\\',
            };
            if hides_next {
                let next = bytes.get(at + 1);
                if next.is_none() && !is_last {
                    *seen = at;
                    return None;
                }
                self.inner_lines += u64::from(!self.is_csv && next == Some(&b'\n'));
                *seen = (at + 2).min(bytes.len());
                continue;
            }
            *seen = at + 1;
            if byte == b'\n' {
                if !self.is_in_quotes {
                    return Some(at);
                }
                self.inner_lines += 1;
            } else if byte == self.quote {
                self.is_in_quotes = !self.is_in_quotes;
            }
        }
        *seen = bytes.len();
        None
    }

    fn next_special(&self, bytes: &[u8]) -> Option<usize> {
        match self.is_csv {
            true => memchr3(b'\n', self.quote, self.escape, bytes),
            false => memchr2(b'\n', b'\\', bytes),
        }
    }
}

/// The end of the last whole row in data that begins with a row. 0 if there is none.
pub(super) fn last_row_end(bytes: &[u8], options: &CopyOptions) -> usize {
    let mut end = 0;
    if options.format == CopyFormat::Binary {
        while let Some(next) = binary_row_end(bytes, end) {
            end = next;
        }
        return end;
    }
    let (mut ends, mut seen) = (RowEnds::new(options), 0);
    while ends.find(bytes, &mut seen, false).is_some() {
        end = seen;
    }
    end
}

/// The end of the row of binary data that begins there. `None` if it is not whole, or no row at all.
fn binary_row_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (count, _) = bytes.get(start..)?.split_first_chunk()?;
    let count = u16::try_from(i16::from_be_bytes(*count)).ok()?;
    let mut at = start + size_of::<i16>();
    for _ in 0..count {
        let (length, rest) = bytes.get(at..)?.split_first_chunk()?;
        at += size_of::<i32>();
        let length = i32::from_be_bytes(*length);
        if length != NULL_LENGTH {
            let length = usize::try_from(length).ok().filter(|length| *length <= rest.len())?;
            at += length;
        }
    }
    Some(at)
}
