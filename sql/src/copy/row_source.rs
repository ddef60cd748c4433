//! From data of COPY FROM to the values of one row after another.
//!
//! Data comes in chunks of any size. Lines are cut out of them ([`Lines`]), and fields out of lines (for
//! binary data out of the chunks themselves, [`BinaryRows`]). What a row becomes depends on nothing but its
//! bytes, the plan and the settings for reading, so helpers can do the same (`piece`).
//!
//! Reference: PostgreSQL's documentation of COPY, messages of copyfromparse.c.

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
pub(super) const UNITS_PER_ROW: usize = 10;
const BYTES_PER_UNIT: usize = 4;

/// Data that is being split into rows.
enum Data {
    /// Text and CSV.
    Lines(Lines),
    Binary(BinaryRows),
}

/// Data that is being read.
pub(super) struct RowSource {
    data: Data,
    /// For text: the fields of the row.
    fields: Vec<Field>,
    /// The values of the row that was read last. For binary data that is still incomplete: of those fields
    /// that have arrived.
    pub(super) values: Vec<Value>,
    /// The line that was read last.
    pub(super) line_number: u64,
    /// How many lines the row that was read last takes.
    pub(super) row_lines: u64,
    /// How to treat the next line, if it is a header.
    header: CopyHeader,
}

fn bad_format(message: impl Into<String>) -> Error {
    Error::input(sqlstate::BAD_COPY_FILE_FORMAT, message)
}

impl RowSource {
    pub(super) fn new(plan: &CopyInPlan) -> RowSource {
        RowSource {
            data: match plan.options.format {
                CopyFormat::Binary => Data::Binary(BinaryRows::new()),
                _ => Data::Lines(Lines::new(&plan.options)),
            },
            fields: Vec::new(),
            values: Vec::new(),
            line_number: 0,
            row_lines: 0,
            header: plan.options.header,
        }
    }

    /// For data that begins with a row, after this line.
    pub(super) fn of_rows(plan: &CopyInPlan, line_number: u64) -> RowSource {
        let mut source = RowSource { line_number, header: CopyHeader::None, ..RowSource::new(plan) };
        if let Data::Binary(rows) = &mut source.data {
            rows.begin_with_row();
        }
        source
    }

    /// Takes the next chunk.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        match &mut self.data {
            Data::Lines(lines) => lines.take(bytes),
            Data::Binary(rows) => rows.take(bytes),
        }
    }

    /// How many bytes of the only chunk the rows read so far were.
    pub(super) fn consumed(&self) -> usize {
        match &self.data {
            Data::Lines(lines) => lines.consumed(),
            Data::Binary(rows) => rows.consumed(),
        }
    }

    /// The bytes of the row that was read last, until more are taken.
    pub(super) fn last_row(&self) -> &[u8] {
        match &self.data {
            Data::Lines(lines) => lines.last_row(),
            Data::Binary(rows) => rows.last_row(),
        }
    }

    /// Whether what comes next is a row.
    pub(super) fn is_among_rows(&self) -> bool {
        self.header == CopyHeader::None
            && match &self.data {
                Data::Lines(lines) => !lines.is_ended(),
                Data::Binary(rows) => rows.is_among_rows(),
            }
    }

    /// Gives up the bytes from the beginning of the next row onwards, which must be among the rows.
    pub(super) fn give_up_rest(&mut self) -> Vec<u8> {
        match &mut self.data {
            Data::Lines(lines) => lines.give_up_rest(),
            Data::Binary(rows) => {
                self.line_number -= u64::from(rows.is_in_row());
                rows.give_up_rest()
            }
        }
    }

    /// Reads the next complete row, with `is_last` also an incomplete one. Returns false if there is none.
    pub(super) fn next(&mut self, plan: &CopyInPlan, is_last: bool, reading: Reading<'_>) -> Result<bool> {
        match self.data {
            Data::Lines(_) => self.next_line(plan, is_last, reading),
            Data::Binary(_) => self.next_binary_row(plan, is_last),
        }
    }

    fn next_line(&mut self, plan: &CopyInPlan, is_last: bool, reading: Reading<'_>) -> Result<bool> {
        loop {
            let Data::Lines(lines) = &mut self.data else { return Ok(false) };
            let lines = match lines.next(is_last) {
                Ok(Some(lines)) => lines,
                Ok(None) if is_last && self.header == CopyHeader::Match => {
                    self.header = CopyHeader::None;
                    self.line_number += 1;
                    check_header(plan, (b"", self.line_number), &mut self.fields)?;
                    return Ok(false);
                }
                Ok(None) => return Ok(false),
                Err(error) => {
                    self.line_number += 1;
                    return Err(error);
                }
            };
            self.line_number += lines.count;
            self.row_lines = lines.count;
            guest::spend_for(UNITS_PER_ROW + lines.text.len() / BYTES_PER_UNIT)?;
            let line = (lines.text, self.line_number);
            match std::mem::take(&mut self.header) {
                CopyHeader::None => {}
                CopyHeader::Names => continue,
                CopyHeader::Match => {
                    check_header(plan, line, &mut self.fields)?;
                    continue;
                }
            }
            read_line(plan, line, reading, &mut self.fields, &mut self.values)?;
            return Ok(true);
        }
    }

    /// Reads the fields that have arrived, up to the end of a row. Returns whether the row is complete.
    fn next_binary_row(&mut self, plan: &CopyInPlan, is_last: bool) -> Result<bool> {
        let Data::Binary(rows) = &mut self.data else { return Ok(false) };
        let columns = &plan.columns;
        loop {
            let column = columns.get(self.values.len()).filter(|_| rows.is_in_row());
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
                    self.row_lines = 1;
                    if usize::try_from(count).ok() != Some(columns.len()) {
                        let expected = columns.len();
                        return Err(bad_format(format!("row field count is {count}, expected {expected}")));
                    }
                    self.values.clear();
                }
                (Part::Field(field), Some((_, sql_type))) => {
                    let value = binary_value(field, *sql_type);
                    self.values.push(value.map_err(|error| of_column(error, self.line_number))?);
                }
                (Part::Trailer, _) => {
                    self.line_number += 1;
                    continue;
                }
                _ => return Ok(false),
            }
            if self.values.len() == columns.len() {
                guest::spend_for(UNITS_PER_ROW + rows.last_row().len() / BYTES_PER_UNIT)?;
                return Ok(true);
            }
        }
    }
}

/// Reads the values of a line, which has this number.
fn read_line(
    plan: &CopyInPlan,
    (line, number): (&[u8], u64),
    reading: Reading<'_>,
    fields: &mut Vec<Field>,
    values: &mut Vec<Value>,
) -> Result<()> {
    let line = split(plan, line, fields)?;
    let whole_line = |message: String| of_line(plan, (line, number), bad_format(message));
    for (field, forced) in fields.iter_mut().zip(&plan.forced) {
        match field.as_deref() {
            None if forced.to_text => *field = Some(plan.options.null.clone()),
            Some(text) if forced.to_null && text == plan.options.null => *field = None,
            _ => {}
        }
    }
    if fields.len() > plan.columns.len() {
        return Err(whole_line("extra data after last expected column".to_owned()));
    }
    values.clear();
    for (at, (name, sql_type)) in plan.columns.iter().enumerate() {
        let Some(field) = fields.get(at) else {
            return Err(whole_line(format!("missing data for column \"{name}\"")));
        };
        values.push(match field {
            None => Value::Null,
            Some(field) => text::parse(field, *sql_type, reading).map_err(|error| {
                let (table, value) = (&plan.table.definition().name.name, shortened(field));
                with_context(error, format!("COPY {table}, line {number}, column {name}: \"{value}\""))
            })?,
        });
    }
    Ok(())
}

/// Splits a line into its fields.
fn split<'l>(plan: &CopyInPlan, line: &'l [u8], fields: &mut Vec<Field>) -> Result<&'l str> {
    let line = std::str::from_utf8(line).map_err(|error| invalid_utf8(line, error))?;
    fields.clear();
    // Memory for the fields and for the values.
    memory::check(line.len() * 2)?;
    match plan.options.format {
        CopyFormat::Csv => split_csv(line, &plan.options, fields)?,
        _ => split_text(line, &plan.options, fields)?,
    }
    Ok(line)
}

/// An error about a line as a whole.
fn of_line(plan: &CopyInPlan, (line, number): (&str, u64), error: Error) -> Error {
    let table = &plan.table.definition().name.name;
    with_context(error, format!("COPY {table}, line {number}: \"{}\"", shortened(line)))
}

/// HEADER MATCH: the first line must have the names of the columns, in this order.
fn check_header(plan: &CopyInPlan, (line, number): (&[u8], u64), fields: &mut Vec<Field>) -> Result<()> {
    let line = split(plan, line, fields)?;
    let refused = |message: String| of_line(plan, (line, number), bad_format(message));
    let (got, expected) = (fields.len(), plan.columns.len());
    if got != expected {
        let message = format!("wrong number of fields in header line: got {got}, expected {expected}");
        return Err(refused(message));
    }
    for (number, (field, (name, _))) in (1..).zip(fields.iter().zip(&plan.columns)) {
        let got = match field {
            Some(field) if field == name => continue,
            Some(field) => format!("\"{field}\""),
            None => format!("null value (\"{}\")", plan.options.null),
        };
        let message =
            format!("column name mismatch in header line field {number}: got {got}, expected \"{name}\"");
        return Err(refused(message));
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
pub(super) fn with_context(error: Error, context: String) -> Error {
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
