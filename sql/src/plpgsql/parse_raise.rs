//! RAISE.

use hyades_types::error::{Result, sqlstate};

use super::parse::Parser;
use super::tree::Raise;
use crate::statement::lexer::{TokenKind, string_value};

const LEVELS: [&str; 6] = ["debug", "log", "info", "notice", "warning", "exception"];
const OPTIONS: [&str; 9] =
    ["errcode", "message", "detail", "hint", "column", "constraint", "datatype", "table", "schema"];

impl Parser<'_> {
    /// What follows the word RAISE, up to the semicolon.
    pub(super) fn raise(&mut self) -> Result<Raise> {
        let mut raise = Raise::default();
        if self.peek().is_symbol(";") {
            return Ok(raise);
        }
        if let Some(level) = LEVELS.iter().find(|level| self.peek().is_word(level)) {
            self.next();
            raise.level = (*level).to_owned();
        }
        let token = self.peek();
        match token.kind {
            TokenKind::String => {
                self.next();
                raise.format = Some((string_value(token.text), token.start));
                while self.accept_symbol(",") {
                    raise.arguments.push(self.fragment(&[",", "using", ";"])?);
                }
                self.check_placeholders(&raise)?;
            }
            TokenKind::Word if token.is_word("sqlstate") => {
                self.next();
                let state = self.peek();
                if state.kind != TokenKind::String {
                    return self.error();
                }
                self.next();
                let code = string_value(state.text);
                self.check_state(&code, state.start)?;
                raise.condition = Some((code, state.start));
            }
            TokenKind::Word if !token.is_word("using") => {
                raise.condition = Some((self.identifier()?, token.start));
            }
            _ => {}
        }
        if self.accept("using") {
            loop {
                let token = self.peek();
                let name = token.text.to_ascii_lowercase();
                if !OPTIONS.contains(&name.as_str()) {
                    return self.fail(
                        sqlstate::SYNTAX_ERROR,
                        "unrecognized RAISE statement option",
                        token.start,
                    );
                }
                self.next();
                if !self.accept_symbol("=") {
                    self.expect_symbol(":=")?;
                }
                let value = self.fragment(&[",", ";"])?;
                raise.options.push((name, value, token.start));
                if !self.accept_symbol(",") {
                    break;
                }
            }
        }
        if !self.peek().is_symbol(";") {
            return self.error();
        }
        Ok(raise)
    }

    fn check_placeholders(&self, raise: &Raise) -> Result<()> {
        let Some((format, start)) = &raise.format else { return Ok(()) };
        let wanted = super::raise_parts(format).len() - 1;
        if wanted == raise.arguments.len() {
            return Ok(());
        }
        let message = if wanted > raise.arguments.len() {
            "too few parameters specified for RAISE"
        } else {
            "too many parameters specified for RAISE"
        };
        self.fail(sqlstate::SYNTAX_ERROR, message, *start)
    }
}
