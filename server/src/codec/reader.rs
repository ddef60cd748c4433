//! A cursor over the body of one message.
//!
//! Every read checks the remaining length. Errors carry PostgreSQL's words for a malformed message (08P01).
//! Strings end with a zero byte and must be UTF-8 (22021), the only client encoding.

use hyades::types::binary::invalid_utf8;
use hyades::{Error, Result, sqlstate};

/// A cursor over the body of one message. Every read checks the remaining length.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

fn too_short() -> Error {
    Error::input(sqlstate::PROTOCOL_VIOLATION, "insufficient data left in message")
}

impl<'a> Reader<'a> {
    pub fn new(body: &'a [u8]) -> Reader<'a> {
        Reader { rest: body }
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(length).ok_or_else(too_short)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or_else(too_short)?;
        self.rest = tail;
        Ok(*head)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// A 16-bit count of items that follow. Negative ones are refused.
    pub fn count(&mut self) -> Result<usize> {
        // PostgreSQL reads it as unsigned: 65535 parameters are allowed.
        Ok(usize::from(u16::from_be_bytes(self.array()?)))
    }

    /// A zero-terminated string without its terminator.
    pub fn string(&mut self) -> Result<&'a str> {
        let end = memchr::memchr(0, self.rest)
            .ok_or_else(|| Error::input(sqlstate::PROTOCOL_VIOLATION, "invalid string in message"))?;
        let bytes = self.take(end)?;
        self.take(1)?;
        std::str::from_utf8(bytes).map_err(|error| invalid_utf8(bytes, error))
    }

    /// All remaining bytes.
    pub fn remainder(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Fails unless the message ends here.
    pub fn finish(self) -> Result<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Error::input(sqlstate::PROTOCOL_VIOLATION, "invalid message format"))
        }
    }
}
