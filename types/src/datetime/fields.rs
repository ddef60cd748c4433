//! Splits the text of a date or time into fields by the classes of their characters.
//!
//! The meaning of a field is decided later ([`super::decode`]), from the fields before it. Letters are
//! converted to lower case. A text has at most 25 fields, and no more characters than PostgreSQL has room
//! for.

use smallvec::SmallVec;

use super::keyword::keyword;

const MAXIMUM_FIELDS: usize = 25;
/// Room for a `date`, including a terminator after each field.
pub(super) const DATE_ROOM: usize = 129;
/// The same for a timestamp.
pub(super) const TIMESTAMP_ROOM: usize = 153;
/// The same for a time of day.
pub(super) const TIME_ROOM: usize = 129;
/// The same for an interval.
pub(super) const INTERVAL_ROOM: usize = 256;

/// The form of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Digits, perhaps with a point.
    Number,
    /// `1999-01-08`, `8-jan-1999`; also `america/new_york` and `gmt-8`.
    Date,
    /// `04:05:06.789`.
    Time,
    Word,
    /// `-infinity`.
    SignedWord,
    /// `+08:00`.
    Offset,
}

/// The fields of a text.
#[derive(Debug, Default)]
pub(super) struct Fields {
    text: SmallVec<[u8; 64]>,
    /// The form and the end in `text` of each field.
    ends: SmallVec<[(Look, usize); 8]>,
}

impl Fields {
    /// None if a field has no valid form, or there is no room.
    pub(super) fn of(text: &str, room: usize) -> Option<Fields> {
        let mut cutter = Cutter { rest: text.as_bytes(), fields: Fields::default(), room };
        while let Some(first) = cutter.next() {
            if first.is_ascii_whitespace() || first == b'\x0b' {
                cutter.skip();
                continue;
            }
            if cutter.fields.len() == MAXIMUM_FIELDS {
                return None;
            }
            let look = match first {
                b'0'..=b'9' => cutter.number()?,
                b'.' => {
                    cutter.take()?;
                    cutter.take_while(|byte| byte.is_ascii_digit())?;
                    Look::Number
                }
                b'a'..=b'z' | b'A'..=b'Z' => cutter.word()?,
                b'+' | b'-' => cutter.signed()?,
                // Other punctuation only separates fields.
                _ if first.is_ascii_punctuation() => {
                    cutter.skip();
                    continue;
                }
                _ => return None,
            };
            let end = cutter.fields.text.len();
            cutter.fields.ends.push((look, end));
        }
        Some(cutter.fields)
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn look(&self, index: usize) -> Option<Look> {
        self.ends.get(index).map(|(look, _)| *look)
    }

    pub(super) fn text(&self, index: usize) -> &str {
        let end = |index: usize| self.ends.get(index).map_or(0, |(_, end)| *end);
        let start = index.checked_sub(1).map_or(0, end);
        // Only ASCII characters get here.
        std::str::from_utf8(&self.text[start..end(index)]).unwrap_or_default()
    }
}

struct Cutter<'a> {
    rest: &'a [u8],
    fields: Fields,
    room: usize,
}

impl Cutter<'_> {
    fn next(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn next_is(&self, wanted: impl Fn(u8) -> bool) -> bool {
        self.next().is_some_and(wanted)
    }

    fn skip(&mut self) {
        self.rest = &self.rest[1..];
    }

    fn take(&mut self) -> Option<()> {
        let first = self.next()?;
        if self.fields.text.len() + self.fields.len() + 1 >= self.room {
            return None;
        }
        self.fields.text.push(first.to_ascii_lowercase());
        self.skip();
        Some(())
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> Option<()> {
        while self.next_is(&wanted) {
            self.take()?;
        }
        Some(())
    }

    /// A time, a date (perhaps with a month's name), or a number.
    fn number(&mut self) -> Option<Look> {
        let is_digit = |byte: u8| byte.is_ascii_digit();
        self.take_while(is_digit)?;
        let Some(delimiter) = self.next() else { return Some(Look::Number) };
        if delimiter == b':' {
            self.take_while(|byte| is_digit(byte) || byte == b':' || byte == b'.')?;
            return Some(Look::Time);
        }
        if !matches!(delimiter, b'-' | b'/' | b'.') {
            return Some(Look::Number);
        }
        self.take()?;
        if !self.next_is(is_digit) {
            self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == delimiter)?;
            return Some(Look::Date);
        }
        self.take_while(is_digit)?;
        if self.next() == Some(delimiter) {
            self.take_while(|byte| is_digit(byte) || byte == delimiter)?;
            return Some(Look::Date);
        }
        Some(if delimiter == b'.' { Look::Number } else { Look::Date })
    }

    /// A word, or a date or the name of a zone that begins with one.
    fn word(&mut self) -> Option<Look> {
        let start = self.fields.text.len();
        self.take_while(|byte| byte.is_ascii_alphabetic())?;
        let is_longer = match self.next() {
            Some(b'-' | b'/' | b'.') => true,
            // A keyword does not begin the name of a zone.
            Some(byte) if byte == b'+' || byte.is_ascii_digit() => {
                keyword(std::str::from_utf8(&self.fields.text[start..]).unwrap_or_default()).is_none()
            }
            _ => false,
        };
        if !is_longer {
            return Some(Look::Word);
        }
        let is_part = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
        };
        self.take_while(is_part)?;
        Some(Look::Date)
    }

    fn signed(&mut self) -> Option<Look> {
        self.take()?;
        while self.next_is(|byte| byte.is_ascii_whitespace() || byte == b'\x0b') {
            self.skip();
        }
        if self.next_is(|byte| byte.is_ascii_digit()) {
            self.take_while(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-'))?;
            return Some(Look::Offset);
        }
        if self.next_is(|byte| byte.is_ascii_alphabetic()) {
            self.take_while(|byte| byte.is_ascii_alphabetic())?;
            return Some(Look::SignedWord);
        }
        None
    }
}
