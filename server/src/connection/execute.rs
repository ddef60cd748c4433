//! Running a statement: its rows are encoded as they come and stay in the answer buffer.
//!
//! A portal with a row limit is run to its end as well, because locks must not be held while waiting for a
//! client. The rows beyond the limit move to the portal, and later Executes hand them out. As in PostgreSQL,
//! a portal is suspended whenever the limit was reached, even if no row is left.

use hyades::session::{Completion, CopyColumns, Notice, Output, Response, ResultColumn, TransactionStatus};
use hyades::types::guest;
use hyades::types::memory;
use hyades::types::text::TextForm;
use hyades::{Error, Result, Value, sqlstate};

use super::portals::{Portal, Progress, format_of};
use super::slow::Watched;
use super::{Connection, Mode};
use crate::codec::backend;
use crate::codec::frontend::Format;

/// The number of row bytes that are encoded in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 4;
/// Most rows are shorter than this in their messages.
const ROW_BYTES: usize = 256;

/// Where a statement's rows go; rebuilt each time its call is repeated.
struct ResultSink<'a> {
    out: &'a mut Vec<u8>,
    columns: &'a [ResultColumn],
    formats: &'a [Format],
    form: TextForm<'a>,
    /// Where the statement's own answers begin.
    start: usize,
    rows: u64,
}

impl ResultSink<'_> {
    /// Requests memory for so many more bytes. A full buffer doubles, so that is when its future size is
    /// requested.
    fn admit(&self, more: usize) -> Result<()> {
        if self.out.capacity() - self.out.len() > more {
            Ok(())
        } else {
            memory::check(self.out.len() + more)
        }
    }
}

impl Output for ResultSink<'_> {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        self.admit(ROW_BYTES)?;
        let before = self.out.len();
        let format = |index| format_of(self.formats, index);
        backend::data_row(self.out, values, self.columns, format, self.form);
        self.rows += 1;
        guest::spend_for((self.out.len() - before) / BYTES_PER_UNIT)
    }

    fn copy_data(&mut self, bytes: &[u8]) -> Result<()> {
        self.admit(bytes.len() + ROW_BYTES)?;
        backend::copy_data(self.out, bytes);
        Ok(())
    }

    fn notice(&mut self, notice: Notice) {
        backend::notice_response(self.out, &notice);
    }

    fn restart(&mut self) {
        self.out.truncate(self.start);
        self.rows = 0;
    }
}

/// A statement that has run.
pub(super) struct Finished {
    pub(super) completion: Completion,
    /// The number of DataRow messages among the answers.
    rows: u64,
    /// Where they begin.
    rows_start: usize,
    /// The columns of a COPY.
    copied: CopyColumns,
}

impl Connection<'_> {
    /// Runs a portal's statement to its end. After an error its answers are taken back, except for its
    /// notices. `text` is the statement as the client wrote it.
    pub(super) async fn run_statement(&mut self, portal: &Portal, text: &str) -> Result<Finished> {
        let watched = Watched::begin(self.timeouts.log_after);
        let outcome = self.run_watched(portal).await;
        self.note_slow(watched, text);
        outcome
    }

    async fn run_watched(&mut self, portal: &Portal) -> Result<Finished> {
        let Some(statement) = &portal.statement else {
            return Err(Error::input(sqlstate::INTERNAL_ERROR, "a portal without a statement was run"));
        };
        if self.session.transaction_status() != TransactionStatus::Failed
            && let Some(name) = &statement.deallocates
            && self.statements.deallocate(name)
        {
            let completion = Completion::Tag("DEALLOCATE".into());
            let rows_start = self.answers.bytes.len();
            return Ok(Finished { completion, rows: 0, rows_start, copied: CopyColumns::default() });
        }
        let prepared = &statement.prepared;
        let start = self.answers.bytes.len();
        let mut copied = CopyColumns::default();
        let mut columns = &[][..];
        match prepared.response() {
            Response::Rows(result) => columns = result,
            Response::CopyIn(data) => copied = *data,
            Response::CopyOut(data) => backend::copy_out_response(&mut self.answers.bytes, *data),
            Response::Empty | Response::NoData => {}
        }
        let rows_start = self.answers.bytes.len();
        let before = self.session.transaction_status();
        let mut rows = 0;
        if self.session.has_changed_settings() {
            self.time_zone = self.session.time_zone();
        }
        let (float_digits, styles) = (self.session.float_digits(), self.session.date_styles());
        loop {
            let mut sink = ResultSink {
                out: &mut self.answers.bytes,
                columns,
                formats: &portal.result_formats,
                form: TextForm { time_zone: &self.time_zone, float_digits, styles },
                start: rows_start,
                rows,
            };
            let outcome = self.session.execute(prepared, &portal.parameters, &mut sink);
            rows = sink.rows;
            match outcome {
                Ok(completion) => {
                    self.after_statement(&completion, before);
                    return Ok(Finished { completion, rows, rows_start, copied });
                }
                Err(interrupt) => {
                    if let Err(error) = Box::pin(self.settle(interrupt)).await {
                        keep_notices(&mut self.answers.bytes, start);
                        return Err(error);
                    }
                }
            }
        }
    }

    fn after_statement(&mut self, completion: &Completion, before: TransactionStatus) {
        if let Completion::Tag(tag) = completion {
            self.note_completion(tag);
        }
        let idle = self.session.transaction_status() == TransactionStatus::Idle;
        if !idle {
            // BEGIN: from here on COMMIT reports whether what was done is kept.
            self.implicit_start = None;
        } else if before != TransactionStatus::Idle {
            self.portals.clear();
        }
    }

    pub(super) async fn execute(&mut self, name: &str, max_rows: i32) -> Result<()> {
        let mut portal = match self.portals.take(name) {
            Ok(portal) => portal,
            Err(error) => return Err(self.session.abandon(error)),
        };
        let outcome = self.execute_portal(&mut portal, name, max_rows).await;
        self.portals.put_back(name, portal);
        outcome
    }

    async fn execute_portal(&mut self, portal: &mut Portal, name: &str, max_rows: i32) -> Result<()> {
        // A limit of zero or less asks for all rows.
        let limit = u64::try_from(max_rows).ok().filter(|limit| *limit > 0);
        let response = portal.statement.as_ref().map(|statement| statement.prepared.response());
        let returns_rows = matches!(response, Some(Response::Rows(_)));
        match &portal.progress {
            Progress::Bound => {}
            Progress::Suspended { .. } => {
                self.hand_out(portal, limit);
                return Ok(());
            }
            Progress::Done { tag } if returns_rows => {
                backend::command_complete(&mut self.answers.bytes, &tag_of_part(tag, 0));
                return Ok(());
            }
            Progress::Done { .. } => {
                let message = format!("portal \"{name}\" cannot be run anymore");
                let error = Error::input(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
                return Err(self.session.abandon(error));
            }
        }
        self.begin_answers();
        match response {
            Some(Response::Empty) => {
                backend::empty_query_response(&mut self.answers.bytes);
                return Ok(());
            }
            Some(Response::CopyIn(_)) => {
                let _timer = self.start_timer();
                let finished = self.run_statement(portal, portal.text()).await?;
                portal.progress = Progress::Done { tag: "".into() };
                self.finish_statement(&finished, false);
                return Ok(());
            }
            _ => {}
        }
        let _timer = self.start_timer();
        let finished = self.run_statement(portal, portal.text()).await?;
        match (limit, &finished.completion) {
            (Some(limit), Completion::Tag(tag)) if returns_rows && finished.rows >= limit => {
                let rows = self.answers.bytes.split_off(finished.rows_start);
                portal.progress = Progress::Suspended { rows, position: 0, tag: tag.clone() };
                self.hand_out(portal, Some(limit));
            }
            _ => {
                self.finish_statement(&finished, false);
                if let Completion::Tag(tag) = finished.completion {
                    portal.progress = Progress::Done { tag };
                }
            }
        }
        Ok(())
    }

    /// Completes a statement that has run, or begins its COPY.
    pub(super) fn finish_statement(&mut self, finished: &Finished, simple: bool) {
        let out = &mut self.answers.bytes;
        match &finished.completion {
            Completion::Tag(tag) => {
                if tag.starts_with("COPY") {
                    backend::copy_done(out);
                }
                backend::command_complete(out, tag);
            }
            Completion::CopyIn => {
                backend::copy_in_response(out, finished.copied);
                self.answers.due = true;
                self.mode = Mode::CopyIn { simple };
            }
        }
    }

    /// Sends the next rows of a suspended portal.
    fn hand_out(&mut self, portal: &mut Portal, limit: Option<u64>) {
        let Progress::Suspended { rows, position, tag } = &mut portal.progress else {
            return;
        };
        let (end, count) = prefix_of_rows(&rows[*position..], limit.unwrap_or(u64::MAX));
        self.answers.bytes.extend_from_slice(&rows[*position..*position + end]);
        *position += end;
        if limit.is_some_and(|limit| count >= limit) {
            backend::portal_suspended(&mut self.answers.bytes);
            return;
        }
        backend::command_complete(&mut self.answers.bytes, &tag_of_part(tag, count));
        portal.progress = Progress::Done { tag: std::mem::take(tag) };
    }
}

/// The bytes that hold the first `limit` rows (with notices between them), and the number of those rows.
fn prefix_of_rows(messages: &[u8], limit: u64) -> (usize, u64) {
    let (mut end, mut count) = (0, 0);
    while count < limit {
        let Some([kind, length @ ..]) = messages.get(end..).and_then(|rest| rest.first_chunk::<5>()) else {
            break;
        };
        count += u64::from(*kind == b'D');
        end += 1 + u32::from_be_bytes(*length) as usize;
    }
    (end, count)
}

/// Takes back the messages from `start` on, except notices.
pub(super) fn keep_notices(messages: &mut Vec<u8>, start: usize) {
    let (mut at, mut kept) = (start, start);
    while let Some([kind, length @ ..]) = messages.get(at..).and_then(|rest| rest.first_chunk::<5>()) {
        let (is_notice, end) = (*kind == b'N', at + 1 + u32::from_be_bytes(*length) as usize);
        if is_notice {
            messages.copy_within(at..end, kept);
            kept += end - at;
        }
        at = end;
    }
    messages.truncate(kept);
}

/// The tag of SELECT counts the rows of one Execute. The tags of other commands count all that they did.
fn tag_of_part(tag: &str, rows: u64) -> std::borrow::Cow<'_, str> {
    if tag.starts_with("SELECT ") { format!("SELECT {rows}").into() } else { tag.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_leaves_the_notices_before_it() {
        let row = [b'D', 0, 0, 0, 6, 0, 0];
        let notice = |letter| [b'N', 0, 0, 0, 5, letter];
        let mut messages = [&row[..], &notice(b'a'), &row, &notice(b'b'), &notice(b'c'), &row].concat();
        keep_notices(&mut messages, row.len());
        assert_eq!(messages, [&row[..], &notice(b'a'), &notice(b'b'), &notice(b'c')].concat());
        let end = messages.len();
        keep_notices(&mut messages, end);
        assert_eq!(messages.len(), 7 + 3 * 6);
        let mut rows = row.repeat(3);
        keep_notices(&mut rows, 0);
        assert!(rows.is_empty());
    }

    #[test]
    fn rows_are_counted_past_notices() {
        let row = [b'D', 0, 0, 0, 6, 0, 0];
        let notice = [b'N', 0, 0, 0, 5, 0];
        let messages = [&row[..], &notice, &row, &row].concat();
        assert_eq!(prefix_of_rows(&messages, 1), (7, 1));
        assert_eq!(prefix_of_rows(&messages, 2), (20, 2));
        assert_eq!(prefix_of_rows(&messages, 3), (27, 3));
        assert_eq!(prefix_of_rows(&messages, 9), (27, 3));
        assert_eq!(tag_of_part("SELECT 3", 2), "SELECT 2");
        assert_eq!(tag_of_part("INSERT 0 3", 2), "INSERT 0 3");
    }
}
