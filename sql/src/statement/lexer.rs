//! A small lexer with PostgreSQL's rules for quotes and comments.
//!
//! It exists beside sqlparser's tokenizer because splitting a query string, finding the first keyword and
//! parsing the statements that sqlparser does not know must be cheap, must borrow from the text, and must
//! give PostgreSQL's messages for unterminated quotes and comments.
//!
//! It understands `'...'` with doubled quotes, `E'...'` with backslashes, `B''`, `X''`, `N''`, `U&''`,
//! `"..."`, `$tag$...$tag$`, `-- ...`, nested `/* ... */`, `$n`. Reference: PostgreSQL's documentation,
//! chapter 4.1.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::text::LONGEST_NAME;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    QuotedIdentifier,
    /// A string with any prefix.
    String,
    Number,
    /// `$n`.
    Parameter,
    Symbol,
    /// The end of the text.
    End,
}

/// A token and the bytes it covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    /// Byte offset in the text.
    pub(crate) start: usize,
    pub(crate) text: &'a str,
}

impl Token<'_> {
    /// Whether this is the given word, unquoted and in any case.
    #[inline]
    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    #[inline]
    pub(crate) fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }

    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Characters that combine into one operator.
const OPERATOR_CHARACTERS: &[u8] = b"+-*/<>=~!@#%^&|`?";

/// See the module head.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_word_part(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    /// Starts in the middle of the text.
    pub(crate) fn starting_at(text: &'a str, at: usize) -> Lexer<'a> {
        Lexer { text, at }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn unterminated(&self, what: &str, start: usize) -> Error {
        Error::input(
            sqlstate::SYNTAX_ERROR,
            format!("unterminated {what} at or near \"{}\"", &self.text[start..]),
        )
        .with_position(character_position(self.text, start))
    }

    /// The error for `""`.
    fn nameless(&self, start: usize) -> Error {
        let message =
            format!("zero-length delimited identifier at or near \"{}\"", &self.text[start..self.at]);
        Error::input(sqlstate::SYNTAX_ERROR, message).with_position(character_position(self.text, start))
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Result<()> {
        loop {
            let byte = self.byte(self.at);
            if byte.is_ascii_whitespace() || byte == 0x0b {
                self.at += 1;
            } else if byte == b'-' && self.byte(self.at + 1) == b'-' {
                let rest = &self.text[self.at..];
                self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
            } else if byte == b'/' && self.byte(self.at + 1) == b'*' {
                self.skip_block_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    fn skip_block_comment(&mut self) -> Result<()> {
        let start = self.at;
        let mut depth = 0usize;
        while self.at < self.text.len() {
            match (self.byte(self.at), self.byte(self.at + 1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => self.at += 1,
            }
        }
        Err(self.unterminated("/* comment", start))
    }

    /// Starts at the opening quote and moves past the closing one.
    fn skip_quoted(&mut self, quote: u8, has_backslashes: bool, start: usize) -> Result<()> {
        let opening = self.at;
        self.at += 1;
        while self.at < self.text.len() {
            let byte = self.byte(self.at);
            if byte == quote {
                if self.byte(self.at + 1) != quote {
                    self.at += 1;
                    return match quote == b'"' && self.at == opening + 2 {
                        true => Err(self.nameless(start)),
                        false => Ok(()),
                    };
                }
                self.at += 2;
            } else if byte == b'\\' && has_backslashes {
                self.at += 2;
            } else {
                self.at += 1;
            }
        }
        self.at = self.text.len();
        let what = if quote == b'"' { "quoted identifier" } else { "quoted string" };
        Err(self.unterminated(what, start))
    }

    /// Starts at a `$`. Returns false and does not move if it does not open a dollar quote.
    fn skip_dollar_quoted(&mut self) -> Result<bool> {
        let start = self.at;
        let mut end = start + 1;
        if is_word_start(self.byte(end)) {
            while is_word_part(self.byte(end)) && self.byte(end) != b'$' {
                end += 1;
            }
        }
        if self.byte(end) != b'$' {
            return Ok(false);
        }
        let tag = &self.text[start..=end];
        match self.text[end + 1..].find(tag) {
            Some(length) => {
                self.at = end + 1 + length + tag.len();
                Ok(true)
            }
            None => Err(self.unterminated("dollar-quoted string", start)),
        }
    }

    fn skip_number(&mut self) {
        while self.byte(self.at).is_ascii_digit() {
            self.at += 1;
        }
        // `1..10` is a range of two integers, not `1.` and `.10`.
        if self.byte(self.at) == b'.' && self.byte(self.at + 1) != b'.' {
            self.at += 1;
            while self.byte(self.at).is_ascii_digit() {
                self.at += 1;
            }
        }
        if matches!(self.byte(self.at), b'e' | b'E') {
            let signed = usize::from(matches!(self.byte(self.at + 1), b'+' | b'-'));
            if self.byte(self.at + 1 + signed).is_ascii_digit() {
                self.at += 1 + signed;
                while self.byte(self.at).is_ascii_digit() {
                    self.at += 1;
                }
            }
        }
    }

    /// Called after a number, which letters must not follow directly.
    fn refuse_junk(&self, what: &str, start: usize) -> Result<()> {
        if !is_word_start(self.byte(self.at)) {
            return Ok(());
        }
        let mut end = self.at;
        while is_word_part(self.byte(end)) {
            end += 1;
        }
        // The sign of an exponent without digits belongs to it.
        let is_exponent = end == self.at + 1 && matches!(self.byte(self.at), b'e' | b'E');
        if is_exponent && matches!(self.byte(end), b'+' | b'-') {
            end += 1;
        }
        let message = format!("trailing junk after {what} at or near \"{}\"", &self.text[start..end]);
        Err(Error::input(sqlstate::SYNTAX_ERROR, message).with_position(character_position(self.text, start)))
    }

    /// Starts at a word. A word directly before a quote may be the prefix of a string.
    fn skip_word(&mut self) -> Result<TokenKind> {
        let start = self.at;
        let first = self.byte(start);
        if self.byte(start + 1) == b'\''
            && matches!(first, b'e' | b'E' | b'b' | b'B' | b'x' | b'X' | b'n' | b'N')
        {
            self.at += 1;
            self.skip_quoted(b'\'', matches!(first, b'e' | b'E'), start)?;
            return Ok(TokenKind::String);
        }
        if matches!(first, b'u' | b'U') && self.byte(start + 1) == b'&' {
            let quote = self.byte(start + 2);
            if quote == b'\'' || quote == b'"' {
                self.at += 2;
                self.skip_quoted(quote, false, start)?;
                return Ok(if quote == b'"' { TokenKind::QuotedIdentifier } else { TokenKind::String });
            }
        }
        while is_word_part(self.byte(self.at)) {
            self.at += 1;
        }
        Ok(TokenKind::Word)
    }

    fn skip_symbol(&mut self) {
        let start = self.at;
        if !OPERATOR_CHARACTERS.contains(&self.byte(start)) {
            let pair = (self.byte(start), self.byte(start + 1));
            let is_pair = matches!(pair, (b':', b':' | b'=') | (b'.', b'.'));
            self.at += if is_pair { 2 } else { self.text[start..].chars().next().map_or(1, char::len_utf8) };
            return;
        }
        while self.at < self.text.len() && OPERATOR_CHARACTERS.contains(&self.byte(self.at)) {
            let next = (self.byte(self.at), self.byte(self.at + 1));
            if self.at > start && matches!(next, (b'-', b'-') | (b'/', b'*')) {
                break;
            }
            self.at += 1;
        }
        // `a=-1` is `=` and `-1`: an operator ends in a sign only if it has one of the rarer characters.
        let is_rare = |byte: &u8| b"~!@#%^&|`?".contains(byte);
        if !self.text.as_bytes()[start..self.at].iter().any(is_rare) {
            while self.at > start + 1 && matches!(self.byte(self.at - 1), b'+' | b'-') {
                self.at -= 1;
            }
        }
    }

    /// The next token. After the last one it returns `End` forever.
    pub(crate) fn next(&mut self) -> Result<Token<'a>> {
        self.skip_blank()?;
        let start = self.at;
        if start >= self.text.len() {
            return Ok(Token { kind: TokenKind::End, start, text: "" });
        }
        let byte = self.byte(start);
        let kind = match byte {
            b'\'' => {
                self.skip_quoted(b'\'', false, start)?;
                TokenKind::String
            }
            b'"' => {
                self.skip_quoted(b'"', false, start)?;
                TokenKind::QuotedIdentifier
            }
            b'$' if self.byte(start + 1).is_ascii_digit() => {
                self.at += 1;
                while self.byte(self.at).is_ascii_digit() {
                    self.at += 1;
                }
                self.refuse_junk("parameter", start)?;
                TokenKind::Parameter
            }
            b'$' => {
                if self.skip_dollar_quoted()? {
                    TokenKind::String
                } else {
                    self.at += 1;
                    TokenKind::Symbol
                }
            }
            _ if byte.is_ascii_digit() || (byte == b'.' && self.byte(start + 1).is_ascii_digit()) => {
                self.skip_number();
                self.refuse_junk("numeric literal", start)?;
                TokenKind::Number
            }
            _ if is_word_start(byte) => self.skip_word()?,
            _ => {
                self.skip_symbol();
                TokenKind::Symbol
            }
        };
        // The last character may be preceded by a backslash.
        self.at = self.at.min(self.text.len());
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        Ok(Token { kind, start, text: &self.text[start..self.at] })
    }
}

/// The 1-based character position of a byte offset.
pub(crate) fn character_position(text: &str, byte: usize) -> u32 {
    let characters = text.char_indices().take_while(|(at, _)| *at < byte).count();
    u32::try_from(characters + 1).unwrap_or(u32::MAX)
}

/// `syntax error at or near "x"` for a token, or `at end of input`.
pub(crate) fn syntax_error(text: &str, token: &Token<'_>) -> Error {
    let message = if token.kind == TokenKind::End {
        "syntax error at end of input".to_owned()
    } else {
        format!("syntax error at or near \"{}\"", token.text)
    };
    Error::input(sqlstate::SYNTAX_ERROR, message).with_position(character_position(text, token.start))
}

/// The value of a string token, without quotes and prefix, with doubled quotes and escapes resolved.
pub(crate) fn string_value(token: &str) -> String {
    if let Some(tagged) = token.strip_prefix('$') {
        let tag = tagged.find('$').map_or(1, |end| end + 2);
        return token[tag..token.len() - tag].to_owned();
    }
    let open = token.find('\'').unwrap_or(0);
    let inner = token[open + 1..].strip_suffix('\'').unwrap_or("");
    if !matches!(token.as_bytes().first(), Some(b'e' | b'E')) {
        return inner.replace("''", "'");
    }
    let mut value = String::with_capacity(inner.len());
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                characters.next();
                value.push('\'');
            }
            '\\' => value.push(match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => '\\',
            }),
            other => value.push(other),
        }
    }
    value
}

/// Cuts a name that is too long at a character boundary. Returns whether it was.
pub(crate) fn truncate_name(name: &mut String) -> bool {
    let is_long = name.len() > LONGEST_NAME;
    if is_long {
        name.truncate(name.floor_char_boundary(LONGEST_NAME));
    }
    is_long
}

/// An identifier as it is stored: folded to lower case unless quoted, and cut if it is too long.
pub(crate) fn identifier_value(token: &Token<'_>) -> String {
    let mut name = whole_name(token);
    truncate_name(&mut name);
    name
}

/// The name of an identifier that must be cut, and the name that is left.
pub(crate) fn truncation(token: &Token<'_>) -> Option<(String, String)> {
    let is_name = matches!(token.kind, TokenKind::Word | TokenKind::QuotedIdentifier);
    if token.text.len() <= LONGEST_NAME || !is_name {
        return None;
    }
    let name = whole_name(token);
    let mut short = name.clone();
    truncate_name(&mut short).then_some((name, short))
}

fn whole_name(token: &Token<'_>) -> String {
    if token.kind == TokenKind::QuotedIdentifier {
        let open = token.text.find('"').unwrap_or(0);
        return token.text[open + 1..].strip_suffix('"').unwrap_or("").replace("\"\"", "\"");
    }
    token.text.to_ascii_lowercase()
}
