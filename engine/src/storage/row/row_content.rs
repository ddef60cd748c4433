//! The content of a value of a composite type in a stored row.
//!
//! ```text
//!  +-------------+-------------+-----------+--- for each field that is not NULL, in their order
//!  | u16 number  | u32 length  | content   |
//!  +-------------+-------------+-----------+---
//! ```
//! * Fields are in the form of columns of their type. All numbers are little-endian.
//! * The number of a field is never used again, so fields that the type has lost since are passed over, and
//!   those that it has got since are NULL.

use hyades_types::value::composite::{CompositeType, RowValue};
use hyades_types::value::{SqlType, Value};

use super::{append_content, array, is_content_of, is_fit, read, write_fixed};

const HEAD: usize = 6;

pub(super) fn append(row_type: CompositeType, row: &RowValue, out: &mut Vec<u8>) {
    for field in row_type.fields() {
        let Some(value) = row.field(field.number).filter(|value| !value.is_null()) else { continue };
        out.extend_from_slice(&field.number.to_le_bytes());
        let start = out.len() + 4;
        out.extend_from_slice(&[0; 4]);
        match field.sql_type.stored_bytes() {
            Some(width) => {
                out.resize(start + width, 0);
                write_fixed(value, &mut out[start..]);
            }
            None => append_content(field.sql_type, value, out),
        }
        let length = (out.len() - start) as u32;
        out[start - 4..start].copy_from_slice(&length.to_le_bytes());
    }
}

/// The number and the content of the first field, and the rest. `None` if the bytes are not a row.
fn first(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let length = u32::from_le_bytes(array(&head[2..])) as usize;
    let (content, rest) = rest.split_at_checked(length)?;
    Some((u16::from_le_bytes(array(&head[..2])), content, rest))
}

/// The row in stored bytes.
pub(super) fn read_row(row_type: CompositeType, bytes: &[u8]) -> Value {
    let mut fields = vec![Value::Null; row_type.fields().len()];
    let mut rest = bytes;
    while let Some((number, content, after)) = first(rest) {
        rest = after;
        if let Some(place) = row_type.place(number) {
            fields[place] = read(row_type.fields()[place].sql_type, content);
        }
    }
    Value::row(row_type, fields)
}

/// Whether these bytes, from a log, are a row in the form that `append` gives it.
pub(super) fn is_row(row_type: CompositeType, bytes: &[u8]) -> bool {
    let (mut rest, mut last) = (bytes, 0);
    while !rest.is_empty() {
        let Some((number, content, after)) = first(rest) else { return false };
        if number <= last {
            return false;
        }
        if let Some(place) = row_type.place(number) {
            let sql_type = row_type.fields()[place].sql_type;
            if !is_field(sql_type, content) {
                return false;
            }
        }
        (rest, last) = (after, number);
    }
    true
}

fn is_field(sql_type: SqlType, content: &[u8]) -> bool {
    sql_type.stored_bytes().is_none_or(|width| width == content.len()) && is_content_of(sql_type, content)
}

/// Whether [`is_row`] will hold for the stored form of the row.
pub(super) fn is_fit_row(row_type: CompositeType, row: &RowValue) -> bool {
    row_type.fields().iter().all(|field| match row.field(field.number) {
        Some(value) => value.fits(field.sql_type) && is_fit(field.sql_type, value),
        None => true,
    })
}
