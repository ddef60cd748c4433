//! Cuts binary COPY data into fields.
//!
//! ```text
//! PGCOPY\n\377\r\n\0 | flags | length of the extension | extension | row ... | -1
//!        11 bytes      i32             i32                                     i16
//!
//! row = number of fields (i16) | field ...        field = length (i32, -1 for NULL) | bytes
//! ```
//! Of the flags, unknown ones among the lower 16 bits are ignored, and unknown upper ones are refused. The
//! data may end without the last -1, but nothing may follow it.
//!
//! Reference: PostgreSQL's documentation of COPY, section "Binary Format"; messages of copyfromparse.c.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::memory::LARGEST_VALUE;

use super::incoming::Incoming;

/// The first bytes of binary data.
pub(super) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// Stands in place of a row's number of fields.
pub(super) const TRAILER: i16 = -1;
/// The length of a NULL.
pub(super) const NULL_LENGTH: i32 = -1;

/// Set if each row begins with an OID, as before PostgreSQL 12.
const FLAG_OIDS: i32 = 1 << 16;

fn bad_format<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::input(sqlstate::BAD_COPY_FILE_FORMAT, message))
}

/// What is read next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Header,
    /// This many bytes of the header must still be skipped.
    Extension(usize),
    Row,
    /// This many fields of the row are left.
    Fields(usize),
    End,
}

/// The next part of the data.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// The next part has not arrived yet. If all data has been read, this is the end.
    Missing,
    /// The beginning of a row with this many fields.
    Row(i16),
    /// The next field; `None` for NULL.
    Field(Option<&'a [u8]>),
    /// The last -1.
    Trailer,
}

/// Binary data that is being split into rows.
pub(super) struct BinaryRows {
    incoming: Incoming,
    place: Place,
}

impl BinaryRows {
    pub(super) fn new() -> BinaryRows {
        BinaryRows { incoming: Incoming::default(), place: Place::Header }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.incoming.take(bytes);
    }

    /// What comes next is a row, not the header.
    pub(super) fn begin_with_row(&mut self) {
        self.place = Place::Row;
    }

    /// Whether the header has been read and the last -1 has not.
    pub(super) fn is_among_rows(&self) -> bool {
        matches!(self.place, Place::Row | Place::Fields(_))
    }

    /// How many bytes of the only chunk have been read.
    pub(super) fn consumed(&self) -> usize {
        self.incoming.seen
    }

    /// Gives up the bytes from the beginning of the next row onwards, or of the one that is not complete.
    pub(super) fn give_up_rest(&mut self) -> Vec<u8> {
        if !self.is_in_row() {
            self.incoming.start = self.incoming.seen;
        }
        self.place = Place::Row;
        self.incoming.give_up_rest()
    }

    /// The bytes of the row that was read last, including its number of fields.
    pub(super) fn last_row(&self) -> &[u8] {
        &self.incoming.bytes[self.incoming.start..self.incoming.seen]
    }

    /// Whether a row has begun and is not complete.
    pub(super) fn is_in_row(&self) -> bool {
        matches!(self.place, Place::Fields(1..))
    }

    /// The next part, if it is complete. With `is_last`, no more data will come.
    pub(super) fn next(&mut self, is_last: bool) -> Result<Part<'_>> {
        if !self.pass_header(is_last)? {
            return Ok(Part::Missing);
        }
        match self.place {
            Place::Fields(left @ 1..) => self.field(left, is_last),
            Place::End => match self.rest() {
                [] => Ok(Part::Missing),
                _ => bad_format("received copy data after EOF marker"),
            },
            _ => self.row(is_last),
        }
    }

    fn rest(&self) -> &[u8] {
        &self.incoming.bytes[self.incoming.seen..]
    }

    /// The current row needs more data.
    fn missing(&self, is_last: bool) -> Result<Part<'static>> {
        if is_last {
            return bad_format("unexpected EOF in COPY data");
        }
        self.incoming.check_length()?;
        Ok(Part::Missing)
    }

    /// The beginning of a row, up to its number of fields.
    fn row(&mut self, is_last: bool) -> Result<Part<'static>> {
        self.incoming.start = self.incoming.seen;
        let Some(count) = self.rest().first_chunk() else {
            // PostgreSQL ignores an incomplete number too.
            if is_last {
                self.incoming.seen = self.incoming.bytes.len();
                self.place = Place::End;
            }
            return Ok(Part::Missing);
        };
        let count = i16::from_be_bytes(*count);
        self.incoming.seen += size_of::<i16>();
        if count == TRAILER {
            self.place = Place::End;
            return Ok(Part::Trailer);
        }
        self.place = Place::Fields(usize::try_from(count).unwrap_or(0));
        Ok(Part::Row(count))
    }

    fn field(&mut self, left: usize, is_last: bool) -> Result<Part<'_>> {
        let Some((length, rest)) = self.rest().split_first_chunk() else { return self.missing(is_last) };
        let length = i32::from_be_bytes(*length);
        let Ok(size) = usize::try_from(length) else {
            if length != NULL_LENGTH {
                return bad_format("invalid field size");
            }
            self.incoming.seen += size_of::<i32>();
            self.place = Place::Fields(left - 1);
            return Ok(Part::Field(None));
        };
        if size >= LARGEST_VALUE {
            return Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, "out of memory").with_detail(
                format!("Cannot enlarge string buffer containing 0 bytes by {size} more bytes."),
            ));
        }
        if rest.len() < size {
            return self.missing(is_last);
        }
        let start = self.incoming.seen + size_of::<i32>();
        self.incoming.seen = start + size;
        self.place = Place::Fields(left - 1);
        Ok(Part::Field(Some(&self.incoming.bytes[start..start + size])))
    }

    /// Returns false until the whole header has arrived.
    fn pass_header(&mut self, is_last: bool) -> Result<bool> {
        if self.place == Place::Header {
            match self.header(is_last)? {
                Some(extension) => self.place = Place::Extension(extension),
                None => return Ok(false),
            }
        }
        if let Place::Extension(left) = self.place {
            let passed = left.min(self.rest().len());
            self.incoming.seen += passed;
            self.incoming.start = self.incoming.seen;
            self.place = if passed == left { Place::Row } else { Place::Extension(left - passed) };
            if self.place != Place::Row {
                if is_last {
                    return bad_format("invalid COPY file header (wrong length)");
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The length of the header's extension.
    fn header(&mut self, is_last: bool) -> Result<Option<usize>> {
        let bytes = self.rest();
        let known = bytes.len().min(SIGNATURE.len());
        if bytes[..known] != SIGNATURE[..known] || (is_last && known < SIGNATURE.len()) {
            return bad_format("COPY file signature not recognized");
        }
        let Some((flags, rest)) = bytes[known..].split_first_chunk() else {
            return if is_last { bad_format("invalid COPY file header (missing flags)") } else { Ok(None) };
        };
        let flags = i32::from_be_bytes(*flags);
        if flags & FLAG_OIDS != 0 {
            return bad_format("invalid COPY file header (WITH OIDS)");
        }
        if flags >> 16 != 0 {
            return bad_format("unrecognized critical flags in COPY file header");
        }
        let length = match rest.first_chunk() {
            Some(length) => usize::try_from(i32::from_be_bytes(*length)).ok(),
            None if is_last => None,
            None => return Ok(None),
        };
        let Some(length) = length else {
            return bad_format("invalid COPY file header (missing length)");
        };
        self.incoming.seen += SIGNATURE.len() + 2 * size_of::<i32>();
        Ok(Some(length))
    }
}
