//! Parses cursors: declarations of bound ones, OPEN, FETCH, MOVE, CLOSE, and FOR over one.

use hyades_engine::procedure::cursor_statement::FetchWay;
use hyades_types::error::{Result, sqlstate};

use super::parse::Parser;
use super::tree::{CursorDeclaration, CursorName, FetchSteps, Fragment, OpenQuery, StatementKind, Steps};
use crate::statement::lexer::{Token, TokenKind, identifier_value};

impl Parser<'_> {
    /// `[[NO] SCROLL] CURSOR [(name type, ...)] FOR query;` after the name. If anything else follows,
    /// nothing is consumed.
    pub(super) fn cursor_declaration(&mut self, name: &str) -> Result<Option<CursorDeclaration>> {
        let ahead = match self.peek() {
            token if token.is_word("cursor") => 0,
            token if token.is_word("scroll") => 1,
            token if token.is_word("no") => 2,
            _ => return Ok(None),
        };
        if !self.peek_at(ahead).is_word("cursor") {
            return Ok(None);
        }
        let scrolls = (ahead > 0).then_some(ahead == 1);
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
        let is_shared = self.is_shared(name);
        Ok(Some(CursorDeclaration { parameters, query, scrolls, is_shared }))
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

    /// Whether the body does anything with a cursor of this name other than open it, take its rows one
    /// after the other, and close it. If so, the cursor may become known outside of the body.
    fn is_shared(&self, name: &str) -> bool {
        let word = |at: usize, back: usize| at.checked_sub(back).map(|at| self.all()[at]);
        let is_one_of = |token: Option<Token<'_>>, words: &[&str]| {
            token.is_some_and(|token| words.iter().any(|word| token.is_word(word)))
        };
        let is_plain = |at: usize| {
            let before = word(at, 1);
            let is_declared = is_one_of(self.all().get(at + 1).copied(), &["cursor", "scroll", "no"]);
            let is_of_loop = is_one_of(before, &["in"]) && is_one_of(word(at, 3), &["for"]);
            let is_next = is_one_of(before, &["from", "in"])
                && is_one_of(word(at, 2), &["fetch", "move", "next", "forward"]);
            let is_member = before.is_some_and(|token| token.is_symbol("."));
            let words = ["open", "close", "fetch", "move", "next", "forward"];
            is_declared || is_of_loop || is_next || is_member || is_one_of(before, &words)
        };
        let is_name = |token: &Token<'_>| match token.kind {
            TokenKind::Word | TokenKind::QuotedIdentifier => identifier_value(token) == name,
            _ => false,
        };
        let mut used = (0..self.all().len()).filter(|at| is_name(&self.all()[*at]));
        used.any(|at| !is_plain(at))
    }

    fn cursor_name(&mut self) -> Result<CursorName> {
        let start = self.peek().start;
        Ok(CursorName { name: self.identifier()?, start })
    }

    /// OPEN, FETCH, MOVE and CLOSE.
    pub(super) fn cursor_statement(&mut self, word: &str) -> Result<StatementKind> {
        let start = self.next().start;
        match word {
            "open" => self.open(),
            "close" => Ok(StatementKind::Close { cursor: self.cursor_name()? }),
            _ => {
                let is_fetch = word == "fetch";
                let (steps, may_be_several) = self.direction()?;
                if is_fetch && may_be_several {
                    let message = "FETCH statement cannot return multiple rows";
                    return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, start);
                }
                let cursor = self.cursor_name()?;
                let targets = if is_fetch {
                    self.expect("into")?;
                    Some(self.paths()?)
                } else {
                    None
                };
                Ok(StatementKind::Fetch { cursor, steps, targets })
            }
        }
    }

    /// `OPEN cursor [(arguments)]`, `OPEN cursor [[NO] SCROLL] FOR query`, `... FOR EXECUTE text [USING
    /// values]`.
    fn open(&mut self) -> Result<StatementKind> {
        let cursor = self.cursor_name()?;
        let arguments = self.cursor_arguments()?;
        let is_forward = self.accept("no");
        let is_scroll = if is_forward {
            self.expect("scroll")?;
            false
        } else {
            self.accept("scroll")
        };
        if !is_forward && !is_scroll && !self.peek().is_word("for") {
            return Ok(StatementKind::Open { cursor, arguments, query: None });
        }
        self.expect("for")?;
        let scrolls = (is_forward || is_scroll).then_some(is_scroll);
        let query = if self.accept("execute") {
            let (query, using) = self.dynamic(";")?;
            OpenQuery { query, dynamic: Some(using), scrolls }
        } else {
            OpenQuery { query: self.fragment(&[";"])?, dynamic: None, scrolls }
        };
        Ok(StatementKind::Open { cursor, arguments, query: Some(query) })
    }

    /// The direction of FETCH and MOVE, up to the cursor's name, and whether they may pass several rows.
    fn direction(&mut self) -> Result<(FetchSteps, bool)> {
        let of = |way, steps| FetchSteps { way, steps: Steps::Number(steps) };
        let following = self.peek_at(1);
        let is_name = following.is_symbol(";") || following.is_word("into");
        let word = self.peek().text.to_ascii_lowercase();
        let plain = match word.as_str() {
            _ if is_name => return Ok((of(FetchWay::Forward, 1), false)),
            "next" => Some(of(FetchWay::Forward, 1)),
            "prior" => Some(of(FetchWay::Backward, 1)),
            "first" => Some(of(FetchWay::Absolute, 1)),
            "last" => Some(of(FetchWay::Absolute, -1)),
            _ => None,
        };
        if let Some(plain) = plain {
            self.next();
            self.skip_from(false)?;
            return Ok((plain, false));
        }
        let all = |way| FetchSteps { way, steps: Steps::All };
        match word.as_str() {
            "absolute" | "relative" => {
                let is_absolute = self.next().is_word("absolute");
                let way = if is_absolute { FetchWay::Absolute } else { FetchWay::Relative };
                let steps = Steps::Value(self.fragment(&["from", "in"])?);
                self.skip_from(true)?;
                Ok((FetchSteps { way, steps }, false))
            }
            "all" => {
                self.next();
                self.skip_from(false)?;
                Ok((all(FetchWay::Forward), true))
            }
            "forward" | "backward" => {
                let is_forward = self.next().is_word("forward");
                let way = if is_forward { FetchWay::Forward } else { FetchWay::Backward };
                let after = self.peek_at(1);
                if self.peek().is_word("from") || self.peek().is_word("in") {
                    self.skip_from(true)?;
                    return Ok((of(way, 1), false));
                }
                if self.accept("all") {
                    self.skip_from(false)?;
                    return Ok((all(way), true));
                }
                if after.is_symbol(";") || after.is_word("into") {
                    return Ok((of(way, 1), false));
                }
                let steps = Steps::Value(self.fragment(&["from", "in"])?);
                self.skip_from(true)?;
                Ok((FetchSteps { way, steps }, true))
            }
            "from" | "in" => {
                self.skip_from(true)?;
                Ok((of(FetchWay::Forward, 1), false))
            }
            _ => {
                let steps = Steps::Value(self.fragment(&["from", "in"])?);
                self.skip_from(true)?;
                Ok((FetchSteps { way: FetchWay::Forward, steps }, true))
            }
        }
    }

    /// FROM or IN, which is optional unless `must_stand`.
    fn skip_from(&mut self, must_stand: bool) -> Result<()> {
        let stands = self.accept("from") || self.accept("in");
        if must_stand && !stands { self.error() } else { Ok(()) }
    }

    /// `FOR record IN cursor [(arguments)] LOOP`, after IN. If anything else follows, nothing is consumed.
    pub(super) fn cursor_of_loop(&mut self) -> Option<(CursorName, Vec<Fragment>)> {
        let start = self.place();
        let parsed = self.cursor_name().and_then(|cursor| Ok((cursor, self.cursor_arguments()?)));
        match parsed {
            Ok(parsed) if self.peek().is_word("loop") => Some(parsed),
            _ => {
                self.go_to(start);
                None
            }
        }
    }
}
