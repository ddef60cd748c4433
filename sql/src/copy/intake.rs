//! The rows of COPY FROM STDIN.
//!
//! Data comes in chunks of any size. Lines are cut out of them ([`Lines`]), and fields out of lines (for
//! binary data out of the chunks themselves, [`BinaryRows`]). The fields of a row go into the frame of the
//! procedure that inserts one row. The session that runs it takes the rows one after another.
//!
//! Reference: PostgreSQL's documentation of COPY, messages of copyfromparse.c.

use std::sync::Arc;

use hyades_engine::procedure::frame::Frame;
use hyades_types::binary::{self, invalid_utf8};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::text::{self, Reading};
use hyades_types::value::{SqlType, Value};

use super::binary_rows::{BinaryRows, Part};
use super::copy_plan::CopyInPlan;
use super::fields::{Field, split_csv, split_text};
use super::lines::Lines;
use crate::statement::{CopyFormat, CopyHeader};

/// What a row of COPY costs, and how many bytes one such unit reads.
const UNITS_PER_ROW: usize = 10;
const BYTES_PER_UNIT: usize = 4;

/// Data that is being split into rows.
enum Data {
    /// Text and CSV.
    Lines(Lines),
    Binary(BinaryRows),
}

/// Data of COPY FROM on its way into rows.
pub(crate) struct Intake {
    /// Inserts the current row.
    pub(crate) frame: Frame,
    data: Data,
    /// For text: the row in the frame, to be read again if the table changed before the first row.
    line: Vec<u8>,
    /// For text: the fields of the row.
    fields: Vec<Field>,
    /// For binary data: how many fields of the current row are in the frame.
    read_fields: usize,
    line_number: u64,
    /// How to treat the next line, if it is a header.
    header: CopyHeader,
}

fn bad_format(message: impl Into<String>) -> Error {
    Error::input(sqlstate::BAD_COPY_FILE_FORMAT, message)
}

impl Intake {
    pub(crate) fn new(plan: &CopyInPlan) -> Intake {
        Intake {
            frame: Frame::new(Arc::clone(&plan.insert)),
            data: match plan.options.format {
                CopyFormat::Binary => Data::Binary(BinaryRows::new()),
                _ => Data::Lines(Lines::new(&plan.options)),
            },
            line: Vec::new(),
            fields: Vec::new(),
            read_fields: 0,
            line_number: 0,
            header: plan.options.header,
        }
    }

    /// Takes the next chunk.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        match &mut self.data {
            Data::Lines(lines) => lines.take(bytes),
            Data::Binary(rows) => rows.take(bytes),
        }
    }

    /// Adds the line that was read last to an error.
    pub(crate) fn placed(&self, plan: Option<&CopyInPlan>, error: Error) -> Error {
        let name = plan.map(|plan| plan.table.definition().name.name.clone()).unwrap_or_default();
        match self.line_number {
            0 => error,
            line => with_context(error, format!("COPY {name}, line {line}")),
        }
    }

    /// Reads the next complete row into the frame, with `is_last` also an incomplete one. Returns false if
    /// there is none.
    pub(crate) fn next_row(
        &mut self,
        plan: &CopyInPlan,
        is_last: bool,
        reading: Reading<'_>,
    ) -> Result<bool> {
        match self.data {
            Data::Lines(_) => self.next_line(plan, is_last, reading),
            Data::Binary(_) => self.next_binary_row(plan, is_last),
        }
    }

    /// Reads the row in the frame again, for the current definition of the table.
    pub(crate) fn repeat_row(&mut self, plan: &CopyInPlan, reading: Reading<'_>) -> Result<()> {
        if let Data::Binary(rows) = &mut self.data {
            rows.repeat_row();
            self.line_number -= 1;
            return self.next_binary_row(plan, true).map(|_| ());
        }
        let line = std::mem::take(&mut self.line);
        self.read_row(plan, &line, reading)?;
        self.line = line;
        Ok(())
    }

    /// Reads the next complete row into the frame. Returns false if there is none.
    fn next_line(&mut self, plan: &CopyInPlan, is_last: bool, reading: Reading<'_>) -> Result<bool> {
        loop {
            let Data::Lines(lines) = &mut self.data else { return Ok(false) };
            let lines = match lines.next(is_last) {
                Ok(Some(lines)) => lines,
                Ok(None) if is_last && self.header == CopyHeader::Match => {
                    self.header = CopyHeader::None;
                    self.line_number += 1;
                    check_header(self, plan, b"")?;
                    return Ok(false);
                }
                Ok(None) => return Ok(false),
                Err(error) => {
                    self.line_number += 1;
                    return Err(error);
                }
            };
            self.line_number += lines.count;
            guest::spend_for(UNITS_PER_ROW + lines.text.len() / BYTES_PER_UNIT)?;
            match std::mem::take(&mut self.header) {
                CopyHeader::None => {}
                CopyHeader::Names => continue,
                CopyHeader::Match => {
                    check_header(self, plan, &lines.text)?;
                    continue;
                }
            }
            self.read_row(plan, &lines.text, reading)?;
            self.line = lines.text;
            return Ok(true);
        }
    }

    /// Reads the fields that have arrived into the frame's registers, up to the end of a row. Returns
    /// whether the row is complete.
    fn next_binary_row(&mut self, plan: &CopyInPlan, is_last: bool) -> Result<bool> {
        let Data::Binary(rows) = &mut self.data else { return Ok(false) };
        let columns = &plan.columns;
        loop {
            let column = columns.get(self.read_fields).filter(|_| rows.is_in_row());
            let of_column = |error: Error, line: u64| match column {
                Some((name, _)) => {
                    let table = &plan.table.definition().name.name;
                    with_context(error, format!("COPY {table}, line {line}, column {name}"))
                }
                None => error,
            };
            let part = rows.next(is_last).map_err(|error| of_column(error, self.line_number))?;
            match (part, column) {
                (Part::Row(count), _) => {
                    self.line_number += 1;
                    if usize::try_from(count).ok() != Some(columns.len()) {
                        let expected = columns.len();
                        return Err(bad_format(format!("row field count is {count}, expected {expected}")));
                    }
                    self.frame.switch(&plan.insert);
                    self.read_fields = 0;
                }
                (Part::Field(field), Some((_, sql_type))) => {
                    self.frame.registers[self.read_fields] =
                        binary_value(field, *sql_type).map_err(|error| of_column(error, self.line_number))?;
                    self.read_fields += 1;
                }
                (Part::Trailer, _) => {
                    self.line_number += 1;
                    continue;
                }
                _ => return Ok(false),
            }
            if self.read_fields == columns.len() {
                guest::spend_for(UNITS_PER_ROW + rows.row_length() / BYTES_PER_UNIT)?;
                return Ok(true);
            }
        }
    }

    /// Puts the fields of a line into the frame's registers.
    fn read_row(&mut self, plan: &CopyInPlan, line: &[u8], reading: Reading<'_>) -> Result<()> {
        let line = split(self, plan, line)?;
        let whole_line = |intake: &Intake, error: Error| of_line(intake, plan, line, error);
        for (field, forced) in self.fields.iter_mut().zip(&plan.forced) {
            match field.as_deref() {
                None if forced.to_text => *field = Some(plan.options.null.clone()),
                Some(text) if forced.to_null && text == plan.options.null => *field = None,
                _ => {}
            }
        }
        if self.fields.len() > plan.columns.len() {
            return Err(whole_line(self, bad_format("extra data after last expected column")));
        }
        self.frame.switch(&plan.insert);
        for (at, (name, sql_type)) in plan.columns.iter().enumerate() {
            let Some(field) = self.fields.get(at) else {
                return Err(whole_line(self, bad_format(format!("missing data for column \"{name}\""))));
            };
            self.frame.registers[at] = match field {
                None => Value::Null,
                Some(field) => text::parse(field, *sql_type, reading).map_err(|error| {
                    let table = &plan.table.definition().name.name;
                    let (line, value) = (self.line_number, shortened(field));
                    with_context(error, format!("COPY {table}, line {line}, column {name}: \"{value}\""))
                })?,
            };
        }
        Ok(())
    }
}

/// Splits a line into its fields.
fn split<'l>(intake: &mut Intake, plan: &CopyInPlan, line: &'l [u8]) -> Result<&'l str> {
    let line = std::str::from_utf8(line).map_err(|error| invalid_utf8(line, error))?;
    intake.fields.clear();
    // Memory for the fields and for the values.
    memory::check(line.len() * 2)?;
    match plan.options.format {
        CopyFormat::Csv => split_csv(line, &plan.options, &mut intake.fields)?,
        _ => split_text(line, &plan.options, &mut intake.fields)?,
    }
    Ok(line)
}

/// An error about a line as a whole.
fn of_line(intake: &Intake, plan: &CopyInPlan, line: &str, error: Error) -> Error {
    let table = &plan.table.definition().name.name;
    with_context(error, format!("COPY {table}, line {}: \"{}\"", intake.line_number, shortened(line)))
}

/// HEADER MATCH: the first line must have the names of the columns, in this order.
fn check_header(intake: &mut Intake, plan: &CopyInPlan, line: &[u8]) -> Result<()> {
    let line = split(intake, plan, line)?;
    let (got, expected) = (intake.fields.len(), plan.columns.len());
    if got != expected {
        let message = format!("wrong number of fields in header line: got {got}, expected {expected}");
        return Err(of_line(intake, plan, line, bad_format(message)));
    }
    for (number, (field, (name, _))) in (1..).zip(intake.fields.iter().zip(&plan.columns)) {
        let got = match field {
            Some(field) if field == name => continue,
            Some(field) => format!("\"{field}\""),
            None => format!("null value (\"{}\")", plan.options.null),
        };
        let message =
            format!("column name mismatch in header line field {number}: got {got}, expected \"{name}\"");
        return Err(of_line(intake, plan, line, bad_format(message)));
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
