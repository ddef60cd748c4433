//! The simple protocol: a text of one or more statements, answered in text format.
//!
//! The statements share an implicit transaction, which ends with the text. The first error ends the text. A
//! COPY FROM STDIN interrupts it: the statements after it wait in `remaining` until the data has arrived.

use std::collections::VecDeque;

use hyades::Result;
use hyades::session::Response;

use super::execute::keep_notices;
use super::portals::{Portal, Statement};
use super::stint::Stint;
use super::{Connection, Mode};
use crate::codec::backend;
use crate::codec::frontend::Format;

/// The text without its last semicolon, if it has no other. Then it is certainly one statement, and needs no
/// splitting.
fn single_statement(sql: &str) -> Option<&str> {
    let trimmed = sql.trim_ascii_end();
    let statement = trimmed.strip_suffix(';').unwrap_or(trimmed);
    memchr::memchr(b';', statement.as_bytes()).is_none().then_some(statement)
}

impl Connection<'_> {
    pub(super) async fn simple_query(&mut self, sql: &str) {
        self.statements.remove_unnamed();
        self.remaining.clear();
        if let Some(statement) = single_statement(sql) {
            self.session.set_in_list(false);
            self.session.set_last(true);
            let outcome = self.run_simple(statement).await;
            return self.end_query(outcome, 0).await;
        }
        match self.session.split(sql) {
            Ok(statements) if statements.is_empty() => {
                backend::empty_query_response(&mut self.answers.bytes);
                self.ready();
            }
            Ok(statements) => {
                self.session.set_in_list(statements.len() > 1);
                self.session.set_last(statements.len() == 1);
                self.remaining = VecDeque::from(statements);
                self.run_remaining().await;
            }
            Err(error) => {
                let error = self.session.abandon(error);
                self.end_query(Err(error), 0).await;
            }
        }
    }

    /// Runs the rest of a simple query, up to its end, an error, or a COPY FROM STDIN.
    pub(super) async fn run_remaining(&mut self) {
        let mut stint = Stint::default();
        while let Some((offset, sql)) = self.remaining.pop_front() {
            let outcome = match self.look_up(&mut stint).await {
                Ok(()) => self.run_simple(&sql).await,
                Err(error) => Err(error),
            };
            if outcome.is_err() || self.mode != Mode::Ready {
                return self.end_query(outcome, offset).await;
            }
        }
        self.end_query(Ok(()), 0).await;
    }

    /// Between two statements of a text: obeys requests to end it, and now and then lets other tasks run.
    async fn look_up(&mut self, stint: &mut Stint) -> Result<()> {
        if !stint.is_over() {
            return Ok(());
        }
        tokio::task::yield_now().await;
        match self.stop_reason() {
            Some(error) => Err(self.session.abandon(error)),
            None => Ok(()),
        }
    }

    /// Ends a simple query, unless a COPY has interrupted it.
    pub(super) async fn end_query(&mut self, outcome: Result<()>, position_offset: usize) {
        if let Err(error) = outcome {
            self.remaining.clear();
            self.report(&error, position_offset);
        } else if self.mode != Mode::Ready {
            return;
        }
        self.mode = Mode::Ready;
        self.commit_implicit().await;
        self.ready();
    }

    async fn run_simple(&mut self, sql: &str) -> Result<()> {
        self.begin_answers();
        // Compilation may evaluate constants.
        let _timer = self.start_timer();
        let prepared = self.complete(|session| session.prepare_text(sql)).await;
        self.tell_notices();
        let (prepared, parameters) = prepared?;
        let start = self.answers.bytes.len();
        let format = if prepared.is_binary() { Format::Binary } else { Format::Text };
        let out = &mut self.answers.bytes;
        match prepared.response() {
            Response::Empty => {
                backend::empty_query_response(out);
                return Ok(());
            }
            Response::Rows(columns) => backend::row_description(out, columns, |_| format),
            Response::NoData | Response::CopyIn(_) | Response::CopyOut(_) => {}
        }
        let statement = Statement::new(prepared);
        let result_formats = vec![format];
        let portal = Portal { statement: Some(statement), parameters, result_formats, ..Portal::default() };
        let outcome = self.run_statement(&portal, sql).await;
        match outcome {
            Ok(finished) => {
                self.finish_statement(&finished, true);
                Ok(())
            }
            Err(error) => {
                keep_notices(&mut self.answers.bytes, start);
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_without_inner_semicolons_is_taken_whole() {
        assert_eq!(single_statement("select 1"), Some("select 1"));
        assert_eq!(single_statement("select 1 ;\n"), Some("select 1 "));
        assert_eq!(single_statement(";"), Some(""));
        assert_eq!(single_statement("select 1; select 2"), None);
        assert_eq!(single_statement("select ';' "), None);
        assert_eq!(single_statement("select 1;;"), None);
    }
}
