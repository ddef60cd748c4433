//! Messages to clients, appended to a byte buffer.
//!
//! Every function appends one complete message, and none fails. Strings from users hold a zero byte only in
//! theory (SQL text cannot carry one). They are cut there, so that the message stays well-formed.

use hyades::session::{CopyColumns, Notice, ResultColumn, TransactionStatus};
use hyades::types::binary;
use hyades::types::error::InputError;
use hyades::types::text;
use hyades::types::text::TextForm;
use hyades::{Error, SqlType, Value};

use super::frontend::Format;

/// Severity of an ErrorResponse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    /// The connection ends.
    Fatal,
}

fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    length_prefixed(out, 4, body);
}

/// Reserves a length word, writes the body, then sets the length to that of the body plus `own_bytes`.
fn length_prefixed(out: &mut Vec<u8>, own_bytes: usize, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    patch_length(out, start, own_bytes);
}

fn patch_length(out: &mut [u8], start: usize, own_bytes: usize) {
    // Results are limited far below 2 GiB, so the length fits.
    let length = (out.len() - start - 4 + own_bytes) as u32;
    if let Some(word) = out.get_mut(start..start + 4) {
        word.copy_from_slice(&length.to_be_bytes());
    }
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.extend_from_slice(&bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]);
    out.push(0);
}

fn put_i16(out: &mut Vec<u8>, value: i16) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn put_i32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends a count that the protocol gives 16 bits. SQL limits keep it below that.
fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes());
}

pub fn authentication_ok(out: &mut Vec<u8>) {
    message(out, b'R', |body| put_i32(body, 0));
}

/// Offers the SASL mechanisms.
pub fn authentication_sasl(out: &mut Vec<u8>, mechanisms: &[&str]) {
    message(out, b'R', |body| {
        put_i32(body, 10);
        for mechanism in mechanisms {
            put_string(body, mechanism);
        }
        body.push(0);
    });
}

pub fn authentication_sasl_continue(out: &mut Vec<u8>, data: &str) {
    message(out, b'R', |body| {
        put_i32(body, 11);
        body.extend_from_slice(data.as_bytes());
    });
}

pub fn authentication_sasl_final(out: &mut Vec<u8>, data: &str) {
    message(out, b'R', |body| {
        put_i32(body, 12);
        body.extend_from_slice(data.as_bytes());
    });
}

pub fn backend_key_data(out: &mut Vec<u8>, process_id: i32, secret: [u8; 4]) {
    message(out, b'K', |body| {
        put_i32(body, process_id);
        body.extend_from_slice(&secret);
    });
}

/// Tells a client that asks for a newer protocol or for protocol options what the server supports.
pub fn negotiate_protocol_version(out: &mut Vec<u8>, version: u32, unknown_options: &[String]) {
    message(out, b'v', |body| {
        body.extend_from_slice(&version.to_be_bytes());
        put_i32(body, i32::try_from(unknown_options.len()).unwrap_or(0));
        for option in unknown_options {
            put_string(body, option);
        }
    });
}

pub fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, b'S', |body| {
        put_string(body, name);
        put_string(body, value);
    });
}

pub fn ready_for_query(out: &mut Vec<u8>, status: TransactionStatus) {
    let status = match status {
        TransactionStatus::Idle => b'I',
        TransactionStatus::InTransaction => b'T',
        TransactionStatus::Failed => b'E',
    };
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

pub fn parse_complete(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'1', 0, 0, 0, 4]);
}

pub fn bind_complete(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'2', 0, 0, 0, 4]);
}

pub fn close_complete(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'3', 0, 0, 0, 4]);
}

pub fn no_data(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'n', 0, 0, 0, 4]);
}

pub fn portal_suspended(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b's', 0, 0, 0, 4]);
}

pub fn empty_query_response(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'I', 0, 0, 0, 4]);
}

pub fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'c', 0, 0, 0, 4]);
}

pub fn command_complete(out: &mut Vec<u8>, tag: &str) {
    message(out, b'C', |body| put_string(body, tag));
}

/// Asks the client for COPY data.
pub fn copy_in_response(out: &mut Vec<u8>, data: CopyColumns) {
    copy_response(out, b'G', data);
}

/// Announces COPY data to the client.
pub fn copy_out_response(out: &mut Vec<u8>, data: CopyColumns) {
    copy_response(out, b'H', data);
}

fn copy_response(out: &mut Vec<u8>, kind: u8, data: CopyColumns) {
    let format = i16::from(data.is_binary);
    message(out, kind, |body| {
        body.push(u8::from(data.is_binary));
        put_count(body, data.count);
        for _ in 0..data.count {
            put_i16(body, format);
        }
    });
}

pub fn copy_data(out: &mut Vec<u8>, bytes: &[u8]) {
    message(out, b'd', |body| body.extend_from_slice(bytes));
}

pub fn parameter_description(out: &mut Vec<u8>, parameter_types: &[SqlType]) {
    message(out, b't', |body| {
        put_count(body, parameter_types.len());
        for sql_type in parameter_types {
            body.extend_from_slice(&sql_type.oid().to_be_bytes());
        }
    });
}

/// A notification for this session.
pub fn notification_response(out: &mut Vec<u8>, process: i32, channel: &str, payload: &str) {
    message(out, b'A', |body| {
        put_i32(body, process);
        put_string(body, channel);
        put_string(body, payload);
    });
}

/// Describes the columns of a result. `format` returns the format of the column at an index.
pub fn row_description(out: &mut Vec<u8>, columns: &[ResultColumn], format: impl Fn(usize) -> Format) {
    message(out, b'T', |body| {
        put_count(body, columns.len());
        for (index, column) in columns.iter().enumerate() {
            let (table, attribute) = column.source.unwrap_or((0, 0));
            put_string(body, &column.name);
            body.extend_from_slice(&table.to_be_bytes());
            put_i16(body, attribute);
            body.extend_from_slice(&column.sql_type.oid().to_be_bytes());
            put_i16(body, column.sql_type.length_bytes());
            put_i32(body, column.sql_type.type_modifier());
            put_i16(body, format(index).code());
        }
    });
}

/// One row.
pub fn data_row(
    out: &mut Vec<u8>,
    values: &[Value],
    columns: &[ResultColumn],
    format: impl Fn(usize) -> Format,
    form: TextForm<'_>,
) {
    out.push(b'D');
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put_count(out, values.len());
    for (index, value) in values.iter().enumerate() {
        if value.is_null() {
            put_i32(out, -1);
            continue;
        }
        let sql_type = columns.get(index).map_or(SqlType::Text, |column| column.sql_type);
        let value_start = out.len();
        out.extend_from_slice(&[0; 4]);
        match format(index) {
            Format::Text => text::write_as(value, sql_type, form, out),
            Format::Binary => binary::write(value, sql_type, out),
        }
        patch_length(out, value_start, 0);
    }
    patch_length(out, start, 4);
}

fn put_field(out: &mut Vec<u8>, code: u8, text: &str) {
    out.push(code);
    put_string(out, text);
}

/// An error with all its fields. `position_offset` is added to its position in the statement.
pub fn error_response(out: &mut Vec<u8>, severity: Severity, error: &Error, position_offset: usize) {
    let severity = match severity {
        Severity::Error => "ERROR",
        Severity::Fatal => "FATAL",
    };
    message(out, b'E', |body| {
        put_field(body, b'S', severity);
        put_field(body, b'V', severity);
        put_field(body, b'C', error.sqlstate().0);
        put_field(body, b'M', &error.to_string());
        if let Error::Input(input) = error {
            put_details(body, input, position_offset);
        }
        body.push(0);
    });
}

fn put_details(body: &mut Vec<u8>, input: &InputError, position_offset: usize) {
    let position = input.position.map(|position| (position as usize + position_offset).to_string());
    let fields = [
        (b'D', &input.detail),
        (b'H', &input.hint),
        (b'P', &position),
        (b'W', &input.context),
        (b's', &input.schema),
        (b't', &input.table),
        (b'c', &input.column),
        (b'd', &input.data_type),
        (b'n', &input.constraint),
    ];
    for (code, text) in fields {
        if let Some(text) = text {
            put_field(body, code, text);
        }
    }
}

pub fn notice_response(out: &mut Vec<u8>, notice: &Notice) {
    message(out, b'N', |body| {
        put_field(body, b'S', notice.severity);
        put_field(body, b'V', notice.severity);
        put_field(body, b'C', notice.state);
        put_field(body, b'M', &notice.message);
        for (field, text) in [(b'D', &notice.detail), (b'H', &notice.hint)] {
            if let Some(text) = text {
                put_field(body, field, text);
            }
        }
        body.push(0);
    });
}
