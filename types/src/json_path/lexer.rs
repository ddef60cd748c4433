//! Tokens of a path.

use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, which may be a keyword.
    Name(String),
    /// A text in quotes.
    String(String),
    Variable(String),
    Integer(String),
    Number(String),
    /// An operator or a sign.
    Sign(&'static str),
    End,
}

/// In the order in which they are tried: longer ones first.
const SIGNS: [&str; 32] = [
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "!", "<", ">", "?", "%", "$", ".", "[", "]", "{", "}",
    "(", ")", "|", "&", "=", "@", "#", ",", "*", ":", "-", "+", "/",
];

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

/// Whether it can stand in a name without a backslash.
fn is_other(character: char) -> bool {
    !is_blank(character) && !"?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(character)
}

/// What a path takes at most for each byte of its text.
const PATH_BYTES: usize = 64;

pub(super) struct Lexer<'t> {
    text: &'t str,
    /// Where the next token begins.
    at: usize,
    /// The token that was read last.
    pub(super) token: Token,
    start: usize,
}

impl<'t> Lexer<'t> {
    /// With the first token.
    pub(super) fn new(text: &'t str) -> Result<Lexer<'t>> {
        memory::check(text.len().saturating_mul(PATH_BYTES))?;
        let mut lexer = Lexer { text, at: 0, token: Token::End, start: 0 };
        lexer.next()?;
        Ok(lexer)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// An error at the current token.
    pub(super) fn error(&self, message: &str) -> Error {
        let place = match self.text[self.start..self.at].is_empty() || self.token == Token::End {
            true if self.start >= self.text.len() => "at end".to_owned(),
            _ => format!("at or near \"{}\"", &self.text[self.start..self.at]),
        };
        Error::input(sqlstate::SYNTAX_ERROR, format!("{message} {place} of jsonpath input"))
    }

    /// An error inside of a token, of which it shows the part from `start`.
    fn wrong(&mut self, start: usize, message: &str) -> Error {
        self.start = start;
        self.token = Token::Sign("");
        self.error(message)
    }

    /// Goes to the next token, and returns the current one.
    pub(super) fn next(&mut self) -> Result<Token> {
        guest::spend_for(1)?;
        self.skip_blanks()?;
        self.start = self.at;
        let token = match self.peek() {
            None => Token::End,
            Some('"') => {
                self.at += 1;
                Token::String(self.quoted()?)
            }
            Some('$') => self.variable()?,
            Some(digit) if digit.is_ascii_digit() => self.number()?,
            Some('.') if self.rest()[1..].starts_with(|next: char| next.is_ascii_digit()) => self.number()?,
            Some(other) if is_other(other) || other == '\\' => Token::Name(self.name()?),
            Some(_) => {
                let sign = SIGNS.into_iter().find(|sign| self.rest().starts_with(sign)).unwrap_or("");
                self.at += sign.len();
                Token::Sign(sign)
            }
        };
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches(is_blank).len();
            self.at += blanks;
            let Some(comment) = self.rest().strip_prefix("/*") else { return Ok(()) };
            let Some(end) = comment.find("*/") else {
                self.at = self.text.len();
                return Err(self.wrong(self.at, "unexpected end of comment"));
            };
            self.at += end + 4;
        }
    }

    /// `$`, `$name` or `$"name"`.
    fn variable(&mut self) -> Result<Token> {
        self.at += 1;
        if self.peek() == Some('"') {
            self.at += 1;
            return Ok(Token::Variable(self.quoted()?));
        }
        let rest = self.rest();
        let name = &rest[..rest.find(|next| !is_other(next)).unwrap_or(rest.len())];
        self.at += name.len();
        Ok(if name.is_empty() { Token::Sign("$") } else { Token::Variable(name.to_owned()) })
    }

    fn digits(&mut self) -> usize {
        let rest = self.rest();
        let count = rest.len() - rest.trim_start_matches(|next: char| next.is_ascii_digit()).len();
        self.at += count;
        count
    }

    fn number(&mut self) -> Result<Token> {
        let start = self.at;
        let mut is_integer = true;
        // A number with a leading zero ends after the zero.
        if self.peek() == Some('0') {
            self.at += 1;
        } else {
            self.digits();
        }
        if self.peek() == Some('.') {
            is_integer = false;
            self.at += 1;
            self.digits();
        }
        if self.peek().is_some_and(|next| matches!(next, 'e' | 'E')) {
            let before = self.at;
            self.at += 1;
            let has_sign = self.peek().is_some_and(|next| matches!(next, '+' | '-'));
            self.at += usize::from(has_sign);
            if self.digits() == 0 {
                if has_sign {
                    return Err(self.wrong(start, "invalid numeric literal"));
                }
                self.at = before;
            } else {
                is_integer = false;
            }
        }
        if let Some(next) = self.peek().filter(|next| is_other(*next)) {
            self.at += next.len_utf8();
            return Err(self.wrong(start, "trailing junk after numeric literal"));
        }
        let text = self.text[start..self.at].to_owned();
        Ok(if is_integer { Token::Integer(text) } else { Token::Number(text) })
    }

    fn name(&mut self) -> Result<String> {
        let mut name = String::new();
        loop {
            let rest = self.rest();
            let plain = &rest[..rest.find(|next| !is_other(next)).unwrap_or(rest.len())];
            name.push_str(plain);
            self.at += plain.len();
            if self.peek() != Some('\\') {
                return Ok(name);
            }
            self.escape(&mut name)?;
        }
    }

    /// A text up to its closing quote.
    fn quoted(&mut self) -> Result<String> {
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let Some(end) = rest.find(['"', '\\']) else {
                self.at = self.text.len();
                return Err(self.wrong(self.at, "unexpected end of quoted string"));
            };
            text.push_str(&rest[..end]);
            self.at += end;
            if self.peek() == Some('"') {
                self.at += 1;
                return Ok(text);
            }
            self.escape(&mut text)?;
        }
    }

    /// A backslash and what follows.
    fn escape(&mut self, out: &mut String) -> Result<()> {
        let start = self.at;
        self.at += 1;
        let Some(letter) = self.peek() else {
            return Err(self.wrong(start, "unexpected end after backslash"));
        };
        self.at += letter.len_utf8();
        out.push(match letter {
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => {
                let code = self.hexadecimal(2);
                match code.and_then(char::from_u32) {
                    Some('\0') => return Err(no_zero()),
                    Some(character) => character,
                    None => return Err(self.wrong(start, "invalid hex character sequence")),
                }
            }
            'u' => return self.unicode(start, out),
            other => other,
        });
        Ok(())
    }

    /// So many hexadecimal digits.
    fn hexadecimal(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest().get(..count)?;
        let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)?;
        self.at += count;
        Some(code)
    }

    /// The code after `\u`.
    fn code(&mut self) -> Option<u32> {
        if self.peek() != Some('{') {
            return self.hexadecimal(4);
        }
        let end = self.rest().find('}').filter(|end| (2..=7).contains(end))?;
        self.at += 1;
        let code = self.hexadecimal(end - 1)?;
        self.at += 1;
        Some(code)
    }

    fn unicode(&mut self, start: usize, out: &mut String) -> Result<()> {
        let Some(first) = self.code() else { return Err(self.wrong(start, "invalid unicode sequence")) };
        let code = match first {
            0xD800..=0xDBFF => {
                if !self.rest().starts_with("\\u") {
                    return Err(surrogate("Unicode low surrogate must follow a high surrogate."));
                }
                self.at += 2;
                match self.code() {
                    Some(second @ 0xDC00..=0xDFFF) => 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00),
                    Some(0xD800..=0xDBFF) => {
                        return Err(surrogate("Unicode high surrogate must not follow a high surrogate."));
                    }
                    Some(_) => return Err(surrogate("Unicode low surrogate must follow a high surrogate.")),
                    None => return Err(self.wrong(start, "invalid unicode sequence")),
                }
            }
            0xDC00..=0xDFFF => return Err(surrogate("Unicode low surrogate must follow a high surrogate.")),
            0 => return Err(no_zero()),
            code => code,
        };
        match char::from_u32(code) {
            Some(character) => out.push(character),
            None => return Err(self.wrong(start, "invalid unicode sequence")),
        }
        Ok(())
    }
}

fn no_zero() -> Error {
    Error::input(sqlstate::UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence")
        .with_detail("\\u0000 cannot be converted to text.")
}

fn surrogate(detail: &str) -> Error {
    Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type jsonpath")
        .with_detail(detail)
}
