//! Parses bound cursors: their declarations, OPEN, FETCH, MOVE, CLOSE, and FOR over one.

use hyades_types::error::Result;

use super::parse::Parser;
use super::tree::{CursorDeclaration, Fragment, StatementKind};

impl Parser<'_> {
    /// `[[NO] SCROLL] CURSOR [(name type, ...)] FOR query;` behind the name; nothing is read of anything
    /// else.
    pub(super) fn cursor_declaration(&mut self) -> Result<Option<CursorDeclaration>> {
        let ahead = match self.peek() {
            token if token.is_word("cursor") => 0,
            token if token.is_word("scroll") => 1,
            token if token.is_word("no") => 2,
            _ => return Ok(None),
        };
        if !self.peek_at(ahead).is_word("cursor") {
            return Ok(None);
        }
        for _ in 0..=ahead {
            self.next();
        }
        let mut parameters = Vec::new();
        if self.accept_symbol("(") {
            loop {
                let name = self.identifier()?;
                parameters.push((name, self.fragment(&[",", ")"])?));
                if !self.accept_symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")")?;
        }
        if !self.accept("for") {
            self.expect("is")?;
        }
        let query = self.fragment(&[";"])?;
        self.expect_symbol(";")?;
        Ok(Some(CursorDeclaration { parameters, query }))
    }

    /// `[(argument, ...)]`
    fn cursor_arguments(&mut self) -> Result<Vec<Fragment>> {
        let mut arguments = Vec::new();
        if self.accept_symbol("(") {
            loop {
                arguments.push(self.fragment(&[",", ")"])?);
                if !self.accept_symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")")?;
        }
        Ok(arguments)
    }

    /// OPEN, FETCH, MOVE and CLOSE.
    pub(super) fn cursor_statement(&mut self, word: &str) -> Result<StatementKind> {
        let start = self.next().start;
        match word {
            "open" => {
                let cursor = self.identifier()?;
                let arguments = self.cursor_arguments()?;
                if !self.peek().is_symbol(";") {
                    return self.unsupported("OPEN of a cursor without a query of its own is", start);
                }
                Ok(StatementKind::Open { cursor, arguments })
            }
            "close" => Ok(StatementKind::Close { cursor: self.identifier()? }),
            _ => {
                let other = ["prior", "first", "last", "absolute", "relative", "backward", "all"];
                if other.iter().any(|word| self.peek().is_word(word)) {
                    return self.unsupported("a direction other than NEXT is", self.peek().start);
                }
                let following = self.peek_at(1);
                if !following.is_symbol(";") && !following.is_word("into") {
                    let _ = self.accept("next") || self.accept("forward");
                    if !self.accept("from") {
                        self.accept("in");
                    }
                }
                let cursor = self.identifier()?;
                let targets = if word == "fetch" {
                    self.expect("into")?;
                    Some(self.paths()?)
                } else {
                    None
                };
                Ok(StatementKind::Fetch { cursor, targets })
            }
        }
    }

    /// `FOR record IN cursor [(arguments)] LOOP`, behind IN; nothing is read of anything else.
    pub(super) fn cursor_of_loop(&mut self) -> Option<(String, Vec<Fragment>)> {
        let start = self.place();
        let parsed = self.identifier().and_then(|cursor| Ok((cursor, self.cursor_arguments()?)));
        match parsed {
            Ok(parsed) if self.peek().is_word("loop") => Some(parsed),
            _ => {
                self.go_to(start);
                None
            }
        }
    }
}
