//! Parses EXECUTE, COMMIT and ROLLBACK.

use hyades_types::error::{Result, sqlstate};
use hyades_types::refusal::Missing;

use super::parse::Parser;
use super::tree::{Fragment, Into as IntoClause, StatementKind};

impl Parser<'_> {
    /// `EXECUTE text [INTO [STRICT] variables] [USING values]`, with the clauses in any order.
    pub(super) fn execute(&mut self) -> Result<StatementKind> {
        self.expect("execute")?;
        let query = self.fragment(&["into", "using", ";"])?;
        let mut into = None;
        let mut using = Vec::new();
        loop {
            let start = self.peek().start;
            if self.accept("into") {
                if into.is_some() {
                    return self.fail(sqlstate::SYNTAX_ERROR, "syntax error at or near \"INTO\"", start);
                }
                let is_strict = self.accept("strict");
                into = Some(IntoClause { targets: self.paths()?, is_strict });
            } else if self.accept("using") {
                if !using.is_empty() {
                    return self.fail(sqlstate::SYNTAX_ERROR, "syntax error at or near \"USING\"", start);
                }
                using = self.values(&[",", "into", ";"])?;
            } else {
                return Ok(StatementKind::Execute { query, into, using });
            }
        }
    }

    /// `text [USING values]`, up to `end`.
    pub(super) fn dynamic(&mut self, end: &str) -> Result<(Fragment, Vec<Fragment>)> {
        let query = self.fragment(&["using", end])?;
        let using = if self.accept("using") { self.values(&[",", end])? } else { Vec::new() };
        Ok((query, using))
    }

    /// A list of values. The first of `ends` is the separator.
    fn values(&mut self, ends: &[&str]) -> Result<Vec<Fragment>> {
        let mut values = vec![self.fragment(ends)?];
        while self.accept_symbol(",") {
            values.push(self.fragment(ends)?);
        }
        Ok(values)
    }

    /// `COMMIT [AND NO CHAIN]`, `ROLLBACK [AND NO CHAIN]`.
    pub(super) fn end_transaction(&mut self) -> Result<StatementKind> {
        let commits = self.next().is_word("commit");
        if self.accept("and") {
            let start = self.peek().start;
            if !self.accept("no") {
                return self.unsupported(Missing::AndChain, "AND CHAIN is", start);
            }
            self.expect("chain")?;
        }
        Ok(StatementKind::EndTransaction { commits })
    }
}
