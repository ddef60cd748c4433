//! Tokens of a JSON text, and PostgreSQL's messages for its errors.
//!
//! `start..end` is always the token that was read last, also after an error: messages show it.
//!
//! Reference: `json_lex` and `json_errdetail` of PostgreSQL 15.

use std::borrow::Cow;

use compact_str::CompactString;

use crate::error::quoted;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    ObjectStart,
    ObjectEnd,
    ArrayStart,
    ArrayEnd,
    Comma,
    Colon,
    String,
    Number,
    True,
    False,
    Null,
    End,
}

/// What was expected instead of the token found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expected {
    End,
    Value,
    Key,
    ArrayNext,
    ObjectFirst,
    ObjectNext,
    Colon,
}

/// An error inside a token.
enum Wrong {
    Token,
    Escape,
    ControlCharacter(u8),
    Zero,
    Hexadecimal,
    HighSurrogate,
    LowSurrogate,
}

/// The length of the part of a line that a message shows, in bytes.
const SHOWN_BYTES: usize = 50;

/// Appends, with room for the character of an escape.
fn append(resolved: &mut CompactString, part: &str) -> Result<()> {
    guest::spend_for(1 + part.len() / 8)?;
    let more = part.len() + char::MAX.len_utf8();
    memory::check_growth::<u8>(resolved.capacity(), resolved.len() + more)?;
    resolved.reserve(more);
    resolved.push_str(part);
    Ok(())
}

pub(super) struct Lexer<'t> {
    pub(super) text: &'t str,
    /// Whether escapes are resolved.
    resolves: bool,
    pub(super) token: Token,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The content of a string that has escapes in it.
    pub(super) resolved: Option<CompactString>,
    line: usize,
    line_start: usize,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str, resolves: bool) -> Lexer<'t> {
        Lexer { text, resolves, token: Token::End, start: 0, end: 0, resolved: None, line: 1, line_start: 0 }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Reads the next token.
    pub(super) fn advance(&mut self) -> Result<()> {
        let mut at = self.end;
        while let Some(blank @ (b' ' | b'\t' | b'\n' | b'\r')) = self.byte(at) {
            at += 1;
            if blank == b'\n' {
                self.line += 1;
                self.line_start = at;
            }
        }
        self.start = at;
        self.end = at + 1;
        self.resolved = None;
        let Some(first) = self.byte(at) else {
            self.end = at;
            self.token = Token::End;
            return Ok(());
        };
        self.token = match first {
            b'{' => Token::ObjectStart,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayStart,
            b']' => Token::ArrayEnd,
            b',' => Token::Comma,
            b':' => Token::Colon,
            b'"' => return self.string(),
            b'-' | b'0'..=b'9' => return self.number(),
            _ => return self.word(),
        };
        Ok(())
    }

    fn word(&mut self) -> Result<()> {
        let mut end = self.start;
        while self.byte(end).is_some_and(is_word) {
            end += 1;
        }
        if end == self.start {
            // The whole of a character that cannot be part of a word.
            self.end = self.start + 1;
            return Err(self.wrong(Wrong::Token));
        }
        self.end = end;
        self.token = match &self.text[self.start..end] {
            "true" => Token::True,
            "false" => Token::False,
            "null" => Token::Null,
            _ => return Err(self.wrong(Wrong::Token)),
        };
        Ok(())
    }

    fn number(&mut self) -> Result<()> {
        let bytes = self.text.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut at = self.start + usize::from(bytes[self.start] == b'-');
        let mut is_wrong = false;
        match self.byte(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at += digits(at),
            _ => is_wrong = true,
        }
        if self.byte(at) == Some(b'.') {
            let count = digits(at + 1);
            is_wrong |= count == 0;
            at += 1 + count;
        }
        if matches!(self.byte(at), Some(b'e' | b'E')) {
            at += 1 + usize::from(matches!(self.byte(at + 1), Some(b'+' | b'-')));
            let count = digits(at);
            is_wrong |= count == 0;
            at += count;
        }
        while self.byte(at).is_some_and(is_word) {
            is_wrong = true;
            at += 1;
        }
        self.token = Token::Number;
        self.end = at;
        if is_wrong { Err(self.wrong(Wrong::Token)) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<()> {
        self.token = Token::String;
        let mut at = self.start + 1;
        // The position up to which the content has been copied into `resolved`.
        let mut copied = at;
        let mut high: Option<u32> = None;
        loop {
            let Some(byte) = self.byte(at) else {
                self.end = at;
                return Err(self.wrong(Wrong::Token));
            };
            if byte < b' ' {
                self.end = at;
                return Err(self.wrong(Wrong::ControlCharacter(byte)));
            }
            let is_unicode = byte == b'\\' && self.byte(at + 1) == Some(b'u');
            if self.resolves && high.is_some() && !is_unicode {
                let shown = if byte == b'\\' { at + 1 } else { at };
                return Err(self.wrong_up_to(shown, Wrong::LowSurrogate));
            }
            match byte {
                b'"' => break,
                b'\\' => {
                    if self.resolves {
                        let text = self.text;
                        append(self.resolved.get_or_insert_default(), &text[copied..at])?;
                    }
                    at = self.escape(at + 1, &mut high)?;
                    copied = at;
                }
                _ => at += 1,
            }
        }
        if let Some(resolved) = &mut self.resolved {
            append(resolved, &self.text[copied..at])?;
        }
        self.end = at + 1;
        Ok(())
    }

    /// The part of an escape after its backslash; returns where it ends. `high` is the first half of a
    /// surrogate pair.
    fn escape(&mut self, at: usize, high: &mut Option<u32>) -> Result<usize> {
        let Some(byte) = self.byte(at) else {
            self.end = at;
            return Err(self.wrong(Wrong::Token));
        };
        let plain = match byte {
            b'u' => return self.unicode_escape(at + 1, high),
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => {
                // The message shows the sequence, not the whole string.
                self.start = at;
                return Err(self.wrong_up_to(at, Wrong::Escape));
            }
        };
        if let Some(resolved) = &mut self.resolved {
            resolved.push(plain);
        }
        Ok(at + 1)
    }

    fn unicode_escape(&mut self, first: usize, high: &mut Option<u32>) -> Result<usize> {
        let mut code = 0;
        for at in first..first + 4 {
            let Some(byte) = self.byte(at) else {
                self.end = at;
                return Err(self.wrong(Wrong::Token));
            };
            match char::from(byte).to_digit(16) {
                Some(digit) => code = code * 16 + digit,
                None => return Err(self.wrong_up_to(at, Wrong::Hexadecimal)),
            }
        }
        let last = first + 3;
        if !self.resolves {
            return Ok(last + 1);
        }
        let code = match (code, high.take()) {
            (0xd800..0xdc00, Some(_)) => return Err(self.wrong_up_to(last, Wrong::HighSurrogate)),
            (0xd800..0xdc00, None) => {
                *high = Some(code);
                return Ok(last + 1);
            }
            (0xdc00..0xe000, Some(high)) => 0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00),
            (0xdc00..0xe000, None) | (_, Some(_)) => {
                return Err(self.wrong_up_to(last, Wrong::LowSurrogate));
            }
            (0, None) => return Err(self.wrong_up_to(last, Wrong::Zero)),
            (code, None) => code,
        };
        if let (Some(resolved), Some(character)) = (&mut self.resolved, char::from_u32(code)) {
            resolved.push(character);
        }
        Ok(last + 1)
    }

    /// An error that is noticed at the character that begins here.
    fn wrong_up_to(&mut self, at: usize, wrong: Wrong) -> Error {
        let character = self.text.get(at..).and_then(|rest| rest.chars().next());
        self.end = (at + character.map_or(1, char::len_utf8)).min(self.text.len());
        self.wrong(wrong)
    }

    fn shown_token(&self) -> Cow<'_, str> {
        let mut end = self.end.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        quoted(self.text.get(self.start..end).unwrap_or_default())
    }

    fn wrong(&self, wrong: Wrong) -> Error {
        let detail = match wrong {
            Wrong::Token => format!("Token \"{}\" is invalid.", self.shown_token()),
            Wrong::Escape => format!("Escape sequence \"\\{}\" is invalid.", self.shown_token()),
            Wrong::ControlCharacter(byte) => format!("Character with value 0x{byte:02x} must be escaped."),
            Wrong::Zero => {
                let error =
                    Error::input(sqlstate::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence");
                return error
                    .with_detail("\\u0000 cannot be converted to text.")
                    .with_context(self.context());
            }
            Wrong::Hexadecimal => "\"\\u\" must be followed by four hexadecimal digits.".to_owned(),
            Wrong::HighSurrogate => "Unicode high surrogate must not follow a high surrogate.".to_owned(),
            Wrong::LowSurrogate => "Unicode low surrogate must follow a high surrogate.".to_owned(),
        };
        self.error(detail)
    }

    /// The error for a token other than the expected one.
    pub(super) fn unexpected(&self, expected: Expected) -> Error {
        if self.token == Token::End {
            return self.error("The input string ended unexpectedly.".to_owned());
        }
        let what = match expected {
            Expected::End => "end of input",
            Expected::Value => "JSON value",
            Expected::Key => "string",
            Expected::ArrayNext => "\",\" or \"]\"",
            Expected::ObjectFirst => "string or \"}\"",
            Expected::ObjectNext => "\",\" or \"}\"",
            Expected::Colon => "\":\"",
        };
        self.error(format!("Expected {what}, but found \"{}\".", self.shown_token()))
    }

    fn error(&self, detail: String) -> Error {
        Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
            .with_detail(detail)
            .with_context(self.context())
    }

    /// The line up to the error.
    fn context(&self) -> String {
        let bytes = self.text.as_bytes();
        let mut end = self.end.min(bytes.len());
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        let mut start = self.line_start;
        while end - start >= SHOWN_BYTES {
            start += self.text[start..].chars().next().map_or(1, char::len_utf8);
        }
        if start - self.line_start <= 3 {
            start = self.line_start;
        }
        let before = if start > self.line_start { "..." } else { "" };
        let is_cut = self.token != Token::End && !matches!(bytes.get(end), None | Some(b'\n' | b'\r'));
        let after = if is_cut { "..." } else { "" };
        format!("JSON data, line {}: {before}{}{after}", self.line, &self.text[start..end])
    }
}
