//! COPY TO STDOUT: rows as lines of text or CSV, or in binary form.

use hyades_types::binary;
use hyades_types::error::Result;
use hyades_types::text;
use hyades_types::text::{DateStyles, TextForm};
use hyades_types::value::{SqlType, Value};
use jiff::tz::TimeZone;

use super::binary_rows::{NULL_LENGTH, SIGNATURE, TRAILER};
use super::copy_plan::CopyOutPlan;
use crate::answer::Output;
use crate::statement::{CopyFormat, CopyHeader, CopyOptions};

/// Writes rows, each passed on as a chunk of its own, because the protocol promises one CopyData message
/// for each row. See the documentation of COPY for the formats.
pub(crate) struct CopyWriter {
    options: CopyOptions,
    types: Vec<SqlType>,
    force_quote: Vec<bool>,
    time_zone: TimeZone,
    float_digits: i8,
    styles: DateStyles,
    /// The chunk that is being built.
    line: Vec<u8>,
    field: Vec<u8>,
    header: Option<Vec<String>>,
}

impl CopyWriter {
    pub(crate) fn new(plan: &CopyOutPlan, form: TextForm<'_>) -> CopyWriter {
        let names = || plan.columns.iter().map(|(name, _)| name.clone()).collect();
        // As in PostgreSQL, the header of binary data precedes the first row in the same message.
        let line = match plan.options.format {
            CopyFormat::Binary => [&SIGNATURE[..], &[0; 8]].concat(),
            _ => Vec::new(),
        };
        CopyWriter {
            options: plan.options.clone(),
            types: plan.columns.iter().map(|(_, sql_type)| *sql_type).collect(),
            force_quote: plan.force_quote.clone(),
            time_zone: form.time_zone.clone(),
            float_digits: form.float_digits,
            styles: form.styles,
            line,
            field: Vec::new(),
            header: (plan.options.header != CopyHeader::None).then(names),
        }
    }

    pub(crate) fn row(&mut self, values: &mut [Value], output: &mut dyn Output) -> Result<()> {
        if self.options.format == CopyFormat::Binary {
            return self.binary_row(values, output);
        }
        self.write_header(output)?;
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.line.push(self.options.delimiter);
            }
            if value.is_null() {
                self.line.extend_from_slice(self.options.null.as_bytes());
                continue;
            }
            self.field.clear();
            let form =
                TextForm { time_zone: &self.time_zone, float_digits: self.float_digits, styles: self.styles };
            text::write_as(value, self.types[at], form, &mut self.field);
            match self.options.format {
                CopyFormat::Csv => {
                    let is_only = values.len() == 1;
                    let quotes = self.force_quote.get(at).copied().unwrap_or(false);
                    quote_csv(&self.field, &self.options, quotes, is_only, &mut self.line);
                }
                _ => escape_text(&self.field, self.options.delimiter, &mut self.line),
            }
        }
        self.end_line(output)
    }

    fn binary_row(&mut self, values: &[Value], output: &mut dyn Output) -> Result<()> {
        let count = i16::try_from(values.len()).unwrap_or(i16::MAX);
        self.line.extend_from_slice(&count.to_be_bytes());
        for (value, sql_type) in values.iter().zip(&self.types) {
            let at = self.line.len();
            self.line.extend_from_slice(&NULL_LENGTH.to_be_bytes());
            if !value.is_null() {
                binary::write(value, *sql_type, &mut self.line);
                let start = at + size_of_val(&NULL_LENGTH);
                let length = i32::try_from(self.line.len() - start).unwrap_or(i32::MAX);
                self.line[at..start].copy_from_slice(&length.to_be_bytes());
            }
        }
        self.hand_on(output)
    }

    fn end_line(&mut self, output: &mut dyn Output) -> Result<()> {
        self.line.push(b'\n');
        self.hand_on(output)
    }

    fn hand_on(&mut self, output: &mut dyn Output) -> Result<()> {
        let handed_on = output.copy_data(&self.line);
        self.line.clear();
        handed_on
    }

    fn write_header(&mut self, output: &mut dyn Output) -> Result<()> {
        let Some(names) = self.header.take() else { return Ok(()) };
        for (at, name) in names.iter().enumerate() {
            if at > 0 {
                self.line.push(self.options.delimiter);
            }
            match self.options.format {
                CopyFormat::Csv => {
                    quote_csv(name.as_bytes(), &self.options, false, names.len() == 1, &mut self.line);
                }
                _ => escape_text(name.as_bytes(), self.options.delimiter, &mut self.line),
            }
        }
        self.end_line(output)
    }

    /// Writes the header if there was no row, and the trailer of binary data.
    pub(crate) fn finish(&mut self, output: &mut dyn Output) -> Result<()> {
        if self.options.format == CopyFormat::Binary {
            self.line.extend_from_slice(&TRAILER.to_be_bytes());
            return self.hand_on(output);
        }
        self.write_header(output)
    }
}

/// Text format: backslash escapes for whatever would be misread.
fn escape_text(field: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    for byte in field {
        let letter = match byte {
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            b'\\' => b'\\',
            byte if *byte == delimiter => delimiter,
            byte => {
                out.push(*byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

/// CSV: quotes around whatever would be misread.
fn quote_csv(field: &[u8], options: &CopyOptions, is_forced: bool, is_only: bool, out: &mut Vec<u8>) {
    let is_special =
        |byte: &u8| *byte == options.delimiter || *byte == options.quote || matches!(byte, b'\n' | b'\r');
    let needs_quotes = is_forced
        || field == options.null.as_bytes()
        || (is_only && field == b"\\.")
        || field.iter().any(is_special);
    if !needs_quotes {
        out.extend_from_slice(field);
        return;
    }
    out.push(options.quote);
    for byte in field {
        if *byte == options.quote || *byte == options.escape {
            out.push(options.escape);
        }
        out.push(*byte);
    }
    out.push(options.quote);
}
