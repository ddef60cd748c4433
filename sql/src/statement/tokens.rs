//! The tokens of a statement, and a position among them: the input of the hand-written parsers.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::refusal::{Missing, refused};

use super::lexer::{
    Lexer, Token, TokenKind, character_position, identifier_value, string_value, syntax_error,
};
use super::names::is_reserved;
use super::parsed::QualifiedName;

/// Those of `database.schema.name`.
const MOST_PARTS: usize = 3;

/// The cost of a token, as work of a guest.
const UNITS_PER_TOKEN: u32 = 10;

/// A position in the tokens of a statement.
pub(crate) struct Tokens<'a> {
    pub(crate) sql: &'a str,
    pub(super) tokens: Vec<Token<'a>>,
    pub(super) at: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(sql: &'a str) -> Result<Tokens<'a>> {
        let mut lexer = Lexer::new(sql);
        let mut tokens = Vec::new();
        loop {
            guest::spend(UNITS_PER_TOKEN)?;
            let token = lexer.next()?;
            tokens.push(token);
            if token.kind == TokenKind::End {
                return Ok(Tokens { sql, tokens, at: 0 });
            }
        }
    }

    /// The tokens after the first word of a statement.
    pub(super) fn after(sql: &'a str, word: &str) -> Result<Tokens<'a>> {
        let mut tokens = Tokens::new(sql)?;
        while tokens.accept_symbol(";") {}
        tokens.expect(word)?;
        Ok(tokens)
    }

    /// Refuses what is missing, at the next token. `what` ends in a verb.
    pub(crate) fn unsupported<T>(&self, missing: Missing, what: &str) -> Result<T> {
        self.unsupported_from(self.at, missing, what)
    }

    /// The same at the token before.
    pub(crate) fn unsupported_before<T>(&self, missing: Missing, what: &str) -> Result<T> {
        self.unsupported_from(self.at.saturating_sub(1), missing, what)
    }

    fn unsupported_from<T>(&self, at: usize, missing: Missing, what: &str) -> Result<T> {
        let token = self.tokens[at.min(self.tokens.len() - 1)];
        Err(refused(missing, what).with_position(character_position(self.sql, token.start)))
    }

    pub(crate) fn peek(&self) -> Token<'a> {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> Token<'a> {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(crate) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Moves to the token that begins at this byte, or to the first one after it.
    pub(super) fn skip_to(&mut self, byte: usize) {
        while self.peek().start < byte && self.peek().kind != TokenKind::End {
            self.next();
        }
    }

    pub(crate) fn error<T>(&self) -> Result<T> {
        Err(syntax_error(self.sql, &self.peek()))
    }

    pub(crate) fn accept(&mut self, word: &str) -> bool {
        let is_next = self.peek().is_word(word);
        if is_next {
            self.next();
        }
        is_next
    }

    pub(crate) fn accept_symbol(&mut self, symbol: &str) -> bool {
        let is_next = self.peek().is_symbol(symbol);
        if is_next {
            self.next();
        }
        is_next
    }

    /// `[GLOBAL | LOCAL] TEMP`, TEMPORARY or UNLOGGED, all optional. Returns whether it is temporary.
    pub(crate) fn persistence(&mut self) -> bool {
        if !self.accept("global") {
            self.accept("local");
        }
        let is_temporary = self.accept("temp") || self.accept("temporary");
        if !is_temporary {
            self.accept("unlogged");
        }
        is_temporary
    }

    pub(crate) fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) { Ok(()) } else { self.error() }
    }

    pub(crate) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.accept_symbol(symbol) { Ok(()) } else { self.error() }
    }

    /// A name, which is no reserved word unless it is in quotes.
    pub(crate) fn identifier(&mut self) -> Result<String> {
        match self.peek().kind {
            TokenKind::Word if is_reserved(self.peek().text) => self.error(),
            _ => self.label(),
        }
    }

    /// A name where no other word could be: after a point, or that of an option.
    pub(crate) fn label(&mut self) -> Result<String> {
        match self.peek().kind {
            TokenKind::Word | TokenKind::QuotedIdentifier => Ok(identifier_value(&self.next())),
            _ => self.error(),
        }
    }

    pub(crate) fn string(&mut self) -> Result<String> {
        match self.peek().kind {
            TokenKind::String => Ok(string_value(self.next().text)),
            _ => self.error(),
        }
    }

    pub(crate) fn qualified_name(&mut self) -> Result<QualifiedName> {
        let start = self.peek().start;
        let parts = self.dotted()?;
        self.qualified(parts, start)
    }

    /// Names with commas between them.
    pub(super) fn qualified_names(&mut self) -> Result<Vec<QualifiedName>> {
        let mut names = vec![self.qualified_name()?];
        while self.accept_symbol(",") {
            names.push(self.qualified_name()?);
        }
        Ok(names)
    }

    /// `(name [= value], ...)`, the parameters of a relation. Those of its table of long values have a name
    /// of two parts.
    pub(super) fn parameters(&mut self) -> Result<Vec<(String, String)>> {
        self.expect_symbol("(")?;
        let mut parameters = Vec::new();
        loop {
            let mut name = self.label()?;
            if self.accept_symbol(".") {
                name = format!("{name}.{}", self.label()?);
            }
            let value = if self.accept_symbol("=") { self.parameter_value()? } else { "true".to_owned() };
            parameters.push((name, value));
            if !self.accept_symbol(",") {
                break;
            }
        }
        self.expect_symbol(")")?;
        Ok(parameters)
    }

    fn parameter_value(&mut self) -> Result<String> {
        let is_negative = self.accept_symbol("-");
        match self.peek().kind {
            TokenKind::Number => Ok(format!("{}{}", if is_negative { "-" } else { "" }, self.next().text)),
            _ if is_negative => self.error(),
            TokenKind::String => self.string(),
            _ => self.label(),
        }
    }

    /// A name in parts, with points between them.
    pub(super) fn dotted(&mut self) -> Result<Vec<String>> {
        let mut parts = vec![self.identifier()?];
        while self.accept_symbol(".") {
            parts.push(self.label()?);
        }
        Ok(parts)
    }

    /// The name that consists of these parts and begins at this byte.
    pub(super) fn qualified(&self, mut parts: Vec<String>, start: usize) -> Result<QualifiedName> {
        let (shown, number) = (parts.join("."), parts.len());
        let (name, schema, database) = (parts.pop(), parts.pop(), parts.pop());
        match name {
            Some(name) if number <= MOST_PARTS => Ok(QualifiedName { database, schema, name }),
            _ => {
                let message = format!("improper qualified name (too many dotted names): {shown}");
                Err(Error::input(sqlstate::SYNTAX_ERROR, message)
                    .with_position(character_position(self.sql, start)))
            }
        }
    }

    /// IF EXISTS.
    pub(super) fn if_exists(&mut self) -> Result<bool> {
        let is_there = self.accept("if");
        if is_there {
            self.expect("exists")?;
        }
        Ok(is_there)
    }

    /// IF NOT EXISTS.
    pub(crate) fn if_not_exists(&mut self) -> Result<bool> {
        let is_there = self.accept("if");
        if is_there {
            self.expect("not")?;
            self.expect("exists")?;
        }
        Ok(is_there)
    }

    /// CASCADE or RESTRICT, both optional.
    pub(super) fn drop_behavior(&mut self) -> bool {
        let cascades = self.accept("cascade");
        if !cascades {
            self.accept("restrict");
        }
        cascades
    }

    /// Checks that only semicolons are left.
    pub(crate) fn end(&mut self) -> Result<()> {
        while self.accept_symbol(";") {}
        if self.peek().kind == TokenKind::End { Ok(()) } else { self.error() }
    }

    /// Moves past the parenthesis that closes the next one.
    pub(crate) fn parentheses(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        loop {
            let token = self.next();
            match token.kind {
                TokenKind::End => return self.error(),
                _ if token.is_symbol("(") => depth += 1,
                _ if token.is_symbol(")") => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// The text from this byte up to the next token.
    pub(crate) fn text_from(&self, start: usize) -> String {
        self.sql[start..self.peek().start].trim_end().to_owned()
    }

    /// The text from the next token on, without the semicolon. Consumes everything.
    pub(crate) fn take_rest(&mut self) -> String {
        let (rest, _) = self.rest();
        while self.peek().kind != TokenKind::End {
            self.next();
        }
        rest
    }

    /// The text from the next token on, without the semicolon, and its 0-based character offset.
    pub(super) fn rest(&self) -> (String, u32) {
        let start = self.peek().start;
        let text = self.sql[start..].trim_end().trim_end_matches(';');
        (text.to_owned(), character_position(self.sql, start) - 1)
    }
}
