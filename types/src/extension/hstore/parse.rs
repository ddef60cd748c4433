//! The text form of an hstore: `"key"=>"value", "other"=>NULL`. Quotes may be left out.
//!
//! Reference: `parse_hstore` and `get_val` of PostgreSQL's `hstore_io.c`.

use crate::collect::{Bytes, List};
use crate::error::{Error, Result, sqlstate};

/// The content of the value with this text form.
pub(super) fn parsed(text: &str) -> Result<Vec<u8>> {
    let mut parser = Parser { text, at: 0 };
    let mut pairs = List::default();
    while let Some(key) = parser.word(b'=')? {
        parser.arrow()?;
        let value = parser.word(b',')?.ok_or_else(unexpected_end)?;
        let is_null = !value.is_quoted && value.text.eq_ignore_ascii_case(b"null");
        pairs.push((key.text, (!is_null).then_some(value.text)))?;
        if !parser.comma()? {
            break;
        }
    }
    super::content(pairs)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

struct Word {
    text: Vec<u8>,
    is_quoted: bool,
}

/// Where a word is read.
#[derive(PartialEq)]
enum Within {
    Before,
    Bare,
    Quotes,
}

/// PostgreSQL gives these errors no code of their own.
fn unexpected_end() -> Error {
    Error::input(sqlstate::INTERNAL_ERROR, "Unexpected end of string")
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no space, which stays the next one.
    fn next_visible(&mut self) -> Option<u8> {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
        self.peek()
    }

    fn syntax(&self) -> Error {
        let near = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        let near = near.map(String::from).unwrap_or_default();
        let message = format!("Syntax error near \"{near}\" at position {}", self.at);
        Error::input(sqlstate::INTERNAL_ERROR, message)
    }

    /// A key (which ends at `=`) or a value (at `,`). `None` at the end of the text.
    fn word(&mut self, end: u8) -> Result<Option<Word>> {
        let mut word = Bytes::default();
        let mut within = Within::Before;
        loop {
            let Some(byte) = self.peek() else {
                match within {
                    Within::Before => return Ok(None),
                    Within::Bare => return Ok(Some(Word { text: word.into_vec(), is_quoted: false })),
                    Within::Quotes => return Err(unexpected_end()),
                }
            };
            match byte {
                b'\\' => {
                    self.at += 1;
                    word.push(self.peek().ok_or_else(unexpected_end)?)?;
                    if within == Within::Before {
                        within = Within::Bare;
                    }
                }
                b'"' if within == Within::Before => within = Within::Quotes,
                b'"' if within == Within::Quotes => {
                    self.at += 1;
                    return Ok(Some(Word { text: word.into_vec(), is_quoted: true }));
                }
                _ if within == Within::Quotes => word.push(byte)?,
                b'=' if within == Within::Before && end == b'=' => return Err(self.syntax()),
                _ if is_space(byte) && within == Within::Before => {}
                _ if within == Within::Bare && (byte == end || is_space(byte)) => {
                    return Ok(Some(Word { text: word.into_vec(), is_quoted: false }));
                }
                _ => {
                    word.push(byte)?;
                    within = Within::Bare;
                }
            }
            self.at += 1;
        }
    }

    /// `=>` after a key.
    fn arrow(&mut self) -> Result<()> {
        match self.next_visible() {
            Some(b'=') => self.at += 1,
            Some(_) => return Err(self.syntax()),
            None => return Err(unexpected_end()),
        }
        match self.peek() {
            Some(b'>') => self.at += 1,
            Some(_) => return Err(self.syntax()),
            None => return Err(unexpected_end()),
        }
        Ok(())
    }

    /// Whether a comma follows. Nothing else may.
    fn comma(&mut self) -> Result<bool> {
        match self.next_visible() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(_) => Err(self.syntax()),
            None => Ok(false),
        }
    }
}
