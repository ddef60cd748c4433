//! Feeds COPY FROM STDIN; see the head of `copy_in`.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::procedure::frame::{Frame, RowSink};
use hyades_types::binary::invalid_utf8;
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::text;
use hyades_types::value::Value;

use super::copy_fields::{split_csv, split_text};
use super::copy_in::CopyIn;
use super::copy_lines::Lines;
use super::transaction::failed;
use super::{Completion, Prepared, Session};
use crate::plan::{Action, CopyInPlan, Plan};

/// What a line of COPY costs, and what a unit of that reads.
const UNITS_PER_LINE: usize = 10;
const BYTES_PER_UNIT: usize = 4;

struct Nothing;

impl RowSink for Nothing {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }
}

fn copy_plan(plan: &Plan) -> Result<&CopyInPlan> {
    match &plan.action {
        Action::CopyIn(copy) => Ok(copy),
        _ => Err(Error::input(sqlstate::INTERNAL_ERROR, "the statement is no COPY")),
    }
}

fn bad_format(message: impl Into<String>) -> Error {
    Error::input(sqlstate::BAD_COPY_FILE_FORMAT, message)
}

impl Session {
    pub(super) fn start_copy_in(&mut self, statement: &Arc<Prepared>, plan: Arc<Plan>) -> Flow<Completion> {
        self.isolate(false);
        let mut plan = plan;
        let copy = copy_plan(&plan)?;
        let is_stale =
            copy.insert.tables.iter().any(|reference| {
                reference.table.is_dropped() || reference.table.version() != reference.version
            });
        if is_stale {
            plan = self.recompile(statement)?;
        }
        let copy = copy_plan(&plan)?;
        self.copy = Some(Box::new(CopyIn {
            statement: Arc::clone(statement),
            line: Vec::new(),
            savepoint: self.worker.savepoint(),
            lines: Lines::new(&copy.options),
            is_taken: false,
            is_row_pending: false,
            frame: Frame::new(Arc::clone(&copy.insert)),
            fields: Vec::new(),
            line_number: 0,
            skips_header: copy.options.has_header,
            rows: 0,
            plan,
        }));
        Ok(Completion::CopyIn)
    }

    /// Data of COPY FROM STDIN, in chunks of any size.
    ///
    /// # Errors
    /// Those of bad data (22P04) and of inserting it; the transaction has failed then.
    pub fn copy_feed(&mut self, bytes: &[u8]) -> Flow<()> {
        let Some(mut copy) = self.copy.take() else {
            return failed(sqlstate::PROTOCOL_VIOLATION, "unexpected message type 0x64 outside COPY");
        };
        if !copy.is_taken {
            if let Err(error) = memory::check(bytes.len() * 2) {
                return self.copy_interrupted(copy, error.into());
            }
            copy.lines.take(bytes);
            copy.is_taken = true;
        }
        match self.as_guest(|session| session.copy_lines(&mut copy, false)) {
            Ok(()) => {
                copy.is_taken = false;
                self.copy = Some(copy);
                Ok(())
            }
            Err(interrupt) => self.copy_interrupted(copy, interrupt),
        }
    }

    /// The data is complete.
    ///
    /// # Errors
    /// As [`Session::copy_feed`].
    pub fn copy_finish(&mut self) -> Flow<Completion> {
        let Some(mut copy) = self.copy.take() else {
            return failed(sqlstate::PROTOCOL_VIOLATION, "unexpected message type 0x63 outside COPY");
        };
        match self.as_guest(|session| session.copy_lines(&mut copy, true)) {
            Ok(()) => {
                self.implicit_statements += 1;
                Ok(Completion::Tag(format!("COPY {}", copy.rows).into()))
            }
            Err(interrupt) => self.copy_interrupted(copy, interrupt),
        }
    }

    /// The client gave up its COPY.
    pub fn copy_fail(&mut self, message: &str) -> Error {
        self.abandon(Error::input(sqlstate::QUERY_CANCELED, message))
    }

    fn copy_interrupted<T>(&mut self, copy: Box<CopyIn>, interrupt: Interrupt) -> Flow<T> {
        match interrupt {
            Interrupt::Wait(ticket) => {
                self.copy = Some(copy);
                Err(Interrupt::Wait(ticket))
            }
            Interrupt::Failed(error) => {
                let name = copy_plan(&copy.plan)
                    .map(|plan| plan.table.definition().name.name.clone())
                    .unwrap_or_default();
                let context = format!("COPY {name}, line {}", copy.line_number);
                self.fail_transaction();
                Err(Interrupt::Failed(with_context(error, context)))
            }
        }
    }

    /// Inserts the rows of all whole lines, and with `is_last` of what is left.
    fn copy_lines(&mut self, copy: &mut CopyIn, is_last: bool) -> Flow<()> {
        let mut plan = Arc::clone(&copy.plan);
        loop {
            if copy.is_row_pending {
                match self.worker.run(&mut copy.frame, &mut self.environment, &mut Nothing) {
                    Ok(()) => {}
                    // From the first row on the table is locked against changes.
                    Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) if copy.rows == 0 => {
                        drop(self.worker.rollback_to(copy.savepoint));
                        self.environment.sequences.get_mut().repeat_statement();
                        plan = self.recompile(&copy.statement)?;
                        copy.plan = Arc::clone(&plan);
                        let line = std::mem::take(&mut copy.line);
                        self.read_row(copy, copy_plan(&plan)?, &line)?;
                        copy.line = line;
                        continue;
                    }
                    Err(interrupt) => return Err(interrupt),
                }
                copy.is_row_pending = false;
                copy.rows += 1;
            }
            let lines = match copy.lines.next(is_last) {
                Ok(Some(lines)) => lines,
                Ok(None) => return Ok(()),
                Err(error) => {
                    copy.line_number += 1;
                    return Err(error.into());
                }
            };
            copy.line_number += lines.count;
            guest::spend_for(UNITS_PER_LINE + lines.text.len() / BYTES_PER_UNIT)?;
            if copy.skips_header {
                copy.skips_header = false;
                continue;
            }
            self.read_row(copy, copy_plan(&plan)?, &lines.text)?;
            copy.line = lines.text;
            copy.is_row_pending = true;
        }
    }

    /// Puts the fields of a line into the frame's registers.
    fn read_row(&self, copy: &mut CopyIn, plan: &CopyInPlan, line: &[u8]) -> Result<()> {
        let line = std::str::from_utf8(line).map_err(|error| invalid_utf8(line, error))?;
        let whole_line = |copy: &CopyIn, error: Error| {
            let table = &plan.table.definition().name.name;
            with_context(error, format!("COPY {table}, line {}: \"{}\"", copy.line_number, shortened(line)))
        };
        copy.fields.clear();
        // Fields and values.
        memory::check(line.len() * 2)?;
        match plan.options.format {
            crate::statement::CopyFormat::Text => split_text(line, &plan.options, &mut copy.fields)?,
            crate::statement::CopyFormat::Csv => split_csv(line, &plan.options, &mut copy.fields)?,
        }
        if copy.fields.len() > plan.columns.len() {
            return Err(whole_line(copy, bad_format("extra data after last expected column")));
        }
        copy.frame.switch(&plan.insert);
        for (at, (name, sql_type)) in plan.columns.iter().enumerate() {
            let Some(field) = copy.fields.get(at) else {
                return Err(whole_line(copy, bad_format(format!("missing data for column \"{name}\""))));
            };
            copy.frame.registers[at] = match field {
                None => Value::Null,
                Some(field) => text::parse(field, *sql_type, self.reading()).map_err(|error| {
                    let table = &plan.table.definition().name.name;
                    let (line, value) = (copy.line_number, shortened(field));
                    with_context(error, format!("COPY {table}, line {line}, column {name}: \"{value}\""))
                })?,
            };
        }
        Ok(())
    }
}

/// Names the place in the data, unless it is named already.
fn with_context(error: Error, context: String) -> Error {
    match &error {
        Error::Input(input) if input.context.is_none() => error.with_context(context),
        _ => error,
    }
}

/// Data as it is shown in a context.
fn shortened(data: &str) -> String {
    const LONGEST_SHOWN: usize = 100;
    match data.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}...", &data[..end]),
        None => data.to_owned(),
    }
}
