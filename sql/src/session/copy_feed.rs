//! Feeds COPY FROM STDIN; see the module head of `copy_in`.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::procedure::frame::{Frame, RowSink};
use hyades_types::binary::{self, invalid_utf8};
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::text;
use hyades_types::value::{SqlType, Value};

use super::copy_binary::{BinaryRows, Part};
use super::copy_fields::{split_csv, split_text};
use super::copy_in::{CopyIn, Data};
use super::copy_lines::Lines;
use super::run::unattended;
use super::transaction::failed;
use super::{Completion, Prepared, Session};
use crate::plan::{Action, CopyInPlan, Plan};
use crate::statement::{CopyFormat, CopyHeader};

/// What a row of COPY costs, and how many bytes one such unit reads.
const UNITS_PER_ROW: usize = 10;
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
            data: match copy.options.format {
                CopyFormat::Binary => Data::Binary(BinaryRows::new()),
                _ => Data::Lines(Lines::new(&copy.options)),
            },
            is_taken: false,
            is_row_pending: false,
            frame: Frame::new(Arc::clone(&copy.insert)),
            fields: Vec::new(),
            read_fields: 0,
            line_number: 0,
            header: copy.options.header,
            rows: 0,
            plan,
        }));
        Ok(Completion::CopyIn)
    }

    /// Takes data of COPY FROM STDIN, in chunks of any size.
    ///
    /// # Errors
    /// Those of bad data (22P04) and of inserting it. The transaction has failed then.
    pub fn copy_feed(&mut self, bytes: &[u8]) -> Flow<()> {
        let Some(mut copy) = self.copy.take() else {
            return failed(sqlstate::PROTOCOL_VIOLATION, "unexpected message type 0x64 outside COPY");
        };
        if !copy.is_taken {
            if let Err(error) = memory::check(bytes.len() * 2) {
                return self.copy_interrupted(copy, error.into());
            }
            match &mut copy.data {
                Data::Lines(lines) => lines.take(bytes),
                Data::Binary(rows) => rows.take(bytes),
            }
            copy.is_taken = true;
        }
        match self.as_guest(|session| session.copy_rows(&mut copy, false)) {
            Ok(()) => {
                copy.is_taken = false;
                self.copy = Some(copy);
                Ok(())
            }
            Err(interrupt) => self.copy_interrupted(copy, interrupt),
        }
    }

    /// Ends the data.
    ///
    /// # Errors
    /// As [`Session::copy_feed`].
    pub fn copy_finish(&mut self) -> Flow<Completion> {
        let Some(mut copy) = self.copy.take() else {
            return failed(sqlstate::PROTOCOL_VIOLATION, "unexpected message type 0x63 outside COPY");
        };
        match self.as_guest(|session| session.copy_rows(&mut copy, true)) {
            Ok(()) => {
                self.implicit_statements += 1;
                Ok(Completion::Tag(format!("COPY {}", copy.rows).into()))
            }
            Err(interrupt) => self.copy_interrupted(copy, interrupt),
        }
    }

    /// Handles a COPY that the client gave up.
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
                self.fail_transaction();
                let error = match copy.line_number {
                    0 => error,
                    line => with_context(error, format!("COPY {name}, line {line}")),
                };
                Err(Interrupt::Failed(error))
            }
        }
    }

    /// Inserts all complete rows, and with `is_last` also the rest.
    fn copy_rows(&mut self, copy: &mut CopyIn, is_last: bool) -> Flow<()> {
        let mut plan = Arc::clone(&copy.plan);
        loop {
            if copy.is_row_pending {
                let outcome = self.worker.run(&mut copy.frame, &mut self.environment, &mut Nothing);
                match outcome.map_err(unattended) {
                    Ok(()) => {}
                    // Once the first row is inserted, the table is locked against changes.
                    Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) if copy.rows == 0 => {
                        drop(self.worker.rollback_to(copy.savepoint));
                        self.environment.sequences.get_mut().repeat_statement();
                        plan = self.recompile(&copy.statement)?;
                        copy.plan = Arc::clone(&plan);
                        self.repeat_row(copy, copy_plan(&plan)?)?;
                        continue;
                    }
                    Err(interrupt) => return Err(interrupt),
                }
                copy.is_row_pending = false;
                copy.rows += copy.frame.affected;
            }
            let is_there = match copy.data {
                Data::Lines(_) => self.next_line(copy, copy_plan(&plan)?, is_last)?,
                Data::Binary(_) => self.next_binary_row(copy, copy_plan(&plan)?, is_last)?,
            };
            if !is_there {
                return Ok(());
            }
            copy.is_row_pending = true;
        }
    }

    /// Reads the row in the frame again, for the current definition of the table.
    fn repeat_row(&self, copy: &mut CopyIn, plan: &CopyInPlan) -> Result<()> {
        if let Data::Binary(rows) = &mut copy.data {
            rows.repeat_row();
            copy.line_number -= 1;
            return self.next_binary_row(copy, plan, true).map(|_| ());
        }
        let line = std::mem::take(&mut copy.line);
        self.read_row(copy, plan, &line)?;
        copy.line = line;
        Ok(())
    }

    /// Reads the next complete row into the frame. Returns false if there is none.
    fn next_line(&self, copy: &mut CopyIn, plan: &CopyInPlan, is_last: bool) -> Result<bool> {
        loop {
            let Data::Lines(lines) = &mut copy.data else { return Ok(false) };
            let lines = match lines.next(is_last) {
                Ok(Some(lines)) => lines,
                Ok(None) if is_last && copy.header == CopyHeader::Match => {
                    copy.header = CopyHeader::None;
                    copy.line_number += 1;
                    check_header(copy, plan, b"")?;
                    return Ok(false);
                }
                Ok(None) => return Ok(false),
                Err(error) => {
                    copy.line_number += 1;
                    return Err(error);
                }
            };
            copy.line_number += lines.count;
            guest::spend_for(UNITS_PER_ROW + lines.text.len() / BYTES_PER_UNIT)?;
            match std::mem::take(&mut copy.header) {
                CopyHeader::None => {}
                CopyHeader::Names => continue,
                CopyHeader::Match => {
                    check_header(copy, plan, &lines.text)?;
                    continue;
                }
            }
            self.read_row(copy, plan, &lines.text)?;
            copy.line = lines.text;
            return Ok(true);
        }
    }

    /// Reads the fields that have arrived into the frame's registers, up to the end of a row. Returns
    /// whether the row is complete.
    fn next_binary_row(&self, copy: &mut CopyIn, plan: &CopyInPlan, is_last: bool) -> Result<bool> {
        let Data::Binary(rows) = &mut copy.data else { return Ok(false) };
        let columns = &plan.columns;
        loop {
            let column = columns.get(copy.read_fields).filter(|_| rows.is_in_row());
            let of_column = |error: Error, line: u64| match column {
                Some((name, _)) => {
                    let table = &plan.table.definition().name.name;
                    with_context(error, format!("COPY {table}, line {line}, column {name}"))
                }
                None => error,
            };
            let part = rows.next(is_last).map_err(|error| of_column(error, copy.line_number))?;
            match (part, column) {
                (Part::Row(count), _) => {
                    copy.line_number += 1;
                    if usize::try_from(count).ok() != Some(columns.len()) {
                        let expected = columns.len();
                        return Err(bad_format(format!("row field count is {count}, expected {expected}")));
                    }
                    copy.frame.switch(&plan.insert);
                    copy.read_fields = 0;
                }
                (Part::Field(field), Some((_, sql_type))) => {
                    copy.frame.registers[copy.read_fields] =
                        binary_value(field, *sql_type).map_err(|error| of_column(error, copy.line_number))?;
                    copy.read_fields += 1;
                }
                (Part::Trailer, _) => {
                    copy.line_number += 1;
                    continue;
                }
                _ => return Ok(false),
            }
            if copy.read_fields == columns.len() {
                guest::spend_for(UNITS_PER_ROW + rows.row_length() / BYTES_PER_UNIT)?;
                return Ok(true);
            }
        }
    }

    /// Puts the fields of a line into the frame's registers.
    fn read_row(&self, copy: &mut CopyIn, plan: &CopyInPlan, line: &[u8]) -> Result<()> {
        let line = split(copy, plan, line)?;
        let whole_line = |copy: &CopyIn, error: Error| of_line(copy, plan, line, error);
        for (field, forced) in copy.fields.iter_mut().zip(&plan.forced) {
            match field.as_deref() {
                None if forced.to_text => *field = Some(plan.options.null.clone()),
                Some(text) if forced.to_null && text == plan.options.null => *field = None,
                _ => {}
            }
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

/// Splits a line into its fields.
fn split<'l>(copy: &mut CopyIn, plan: &CopyInPlan, line: &'l [u8]) -> Result<&'l str> {
    let line = std::str::from_utf8(line).map_err(|error| invalid_utf8(line, error))?;
    copy.fields.clear();
    // Memory for the fields and for the values.
    memory::check(line.len() * 2)?;
    match plan.options.format {
        CopyFormat::Csv => split_csv(line, &plan.options, &mut copy.fields)?,
        _ => split_text(line, &plan.options, &mut copy.fields)?,
    }
    Ok(line)
}

/// An error about a line as a whole.
fn of_line(copy: &CopyIn, plan: &CopyInPlan, line: &str, error: Error) -> Error {
    let table = &plan.table.definition().name.name;
    with_context(error, format!("COPY {table}, line {}: \"{}\"", copy.line_number, shortened(line)))
}

/// HEADER MATCH: the first line must have the names of the columns, in this order.
fn check_header(copy: &mut CopyIn, plan: &CopyInPlan, line: &[u8]) -> Result<()> {
    let line = split(copy, plan, line)?;
    let (got, expected) = (copy.fields.len(), plan.columns.len());
    if got != expected {
        let message = format!("wrong number of fields in header line: got {got}, expected {expected}");
        return Err(of_line(copy, plan, line, bad_format(message)));
    }
    for (number, (field, (name, _))) in (1..).zip(copy.fields.iter().zip(&plan.columns)) {
        let got = match field {
            Some(field) if field == name => continue,
            Some(field) => format!("\"{field}\""),
            None => format!("null value (\"{}\")", plan.options.null),
        };
        let message =
            format!("column name mismatch in header line field {number}: got {got}, expected \"{name}\"");
        return Err(of_line(copy, plan, line, bad_format(message)));
    }
    Ok(())
}

/// The value of a field of binary data.
fn binary_value(field: Option<&[u8]>, sql_type: SqlType) -> Result<Value> {
    let Some(bytes) = field else { return Ok(Value::Null) };
    memory::check(bytes.len() * 2)?;
    binary::read(bytes, sql_type)
}

/// Adds the place in the data, unless the error names one already.
fn with_context(error: Error, context: String) -> Error {
    match &error {
        Error::Input(input) if input.context.is_none() => error.with_context(context),
        _ => error,
    }
}

/// Data, shortened for an error context.
fn shortened(data: &str) -> String {
    const LONGEST_SHOWN: usize = 100;
    match data.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}...", &data[..end]),
        None => data.to_owned(),
    }
}
