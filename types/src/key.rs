//! Order-preserving ("memcomparable") bytes of values: comparing two encodings byte by byte compares the
//! values.
//!
//! Indexes keep and compare only such bytes, so one comparison (`memcmp`) serves all types and all composite
//! keys.
//!
//! | type | bytes |
//! |---|---|
//! | boolean | 1: 0 or 1 |
//! | smallint, integer, bigint, date, time, timestamp(tz) | 2, 4, 8: big-endian, sign bit flipped |
//! | real, double precision | 4, 8: IEEE bits big-endian; negative: all bits flipped, else sign bit flipped;
//! -0 as 0, one NaN, greatest |
//! | uuid | 16 as they are |
//! | interval | 16: its span in microseconds, big-endian, sign bit flipped |
//! | text, varchar, char(n), bytea | content with 00 written 00 FF, then 00 00; char(n) without its trailing
//! blanks |
//! | array | each element as 01 and its encoding, or as 02 if NULL; 00; number of dimensions, 1 byte; the
//! lengths if there are several, and the lower bounds, as integers |
//! | row | each field as 01 and its encoding, or as 02 if NULL, up to the last that is not NULL; 03 |
//! | numeric | 1 sign byte (negative 00, zero 01, positive 02, NaN 03), then unless zero or NaN: 3 bytes
//! exponent to base 100, base-100 digits + 1, 00; of a negative number these are complemented; infinities
//! have the exponent FF FF FF and no digits |
//! | jsonb | as text, of bytes that `json` makes: kinds, counts, keys and scalars in the order in which they
//! are compared |
//!
//! Every encoding is prefix-free, so concatenation orders composite keys column by column. Equal numbers of
//! different scale (1.0, 1.00) encode equally, and so do equal intervals (1 month, 30 days). NULL has no
//! encoding: primary keys contain none, and a scan bound with a NULL is empty. Callers must check for NULL
//! first.
//!
//! References: the "memcomparable format" of MyRocks; SQLite4's key encoding for the numbers.

pub(crate) mod parts;

use crate::json;
use crate::scalar::{Scalar, ScalarKind};
use crate::value::composite::RowValue;
use crate::value::{ArrayValue, SqlType, Value};

pub use self::parts::encode_bytes;
use self::parts::{NUMERIC_NAN, NUMERIC_NEGATIVE, NUMERIC_ZERO, encode_numeric};

/// Follows the fields of a row: greater than what precedes a field, because all that remain are NULL.
const ROW_END: u8 = 3;
const SIGN_128: u128 = 1 << 127;
const SIGN_64: u64 = 1 << 63;
const SIGN_32: u32 = 1 << 31;
const SIGN_16: u16 = 1 << 15;

/// The columns of one index, in key order.
#[derive(Clone, Debug)]
pub struct KeyLayout {
    types: Box<[SqlType]>,
    fixed_width: Option<usize>,
}

impl KeyLayout {
    pub fn new(types: &[SqlType]) -> KeyLayout {
        let fixed_width = types.iter().map(|sql_type| sql_type.stored_bytes()).sum::<Option<usize>>();
        KeyLayout { types: types.into(), fixed_width }
    }

    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// Bytes of every whole key, if all columns have a fixed width.
    pub fn fixed_width(&self) -> Option<usize> {
        self.fixed_width
    }

    /// Appends the key of these values: one per column, or fewer for a prefix; none may be NULL.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) {
        debug_assert!(values.len() <= self.types.len(), "a key has at most one value per column");
        for (value, &sql_type) in values.iter().zip(&self.types) {
            encode(value, sql_type, out);
        }
    }
}

/// Appends the encoding of one value of this type. A NULL, which has none, appends nothing.
pub fn encode(value: &Value, sql_type: SqlType, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Boolean(truth) => out.push(u8::from(*truth)),
        Value::SmallInt(number) => out.extend_from_slice(&(*number as u16 ^ SIGN_16).to_be_bytes()),
        Value::Integer(number) | Value::Date(number) => encode_i32(*number, out),
        Value::BigInt(number)
        | Value::Time(number)
        | Value::Timestamp(number)
        | Value::TimestampTz(number) => encode_i64(*number, out),
        Value::TimeTz(time) => {
            encode_i64(time.instant(), out);
            encode_i32(time.west, out);
        }
        Value::Real(number) => {
            let number = if *number == 0.0 { 0.0 } else { *number };
            let bits = if number.is_nan() { f32::NAN.to_bits() & !SIGN_32 } else { number.to_bits() };
            out.extend_from_slice(&(if bits & SIGN_32 != 0 { !bits } else { bits ^ SIGN_32 }).to_be_bytes());
        }
        Value::Double(number) => {
            let number = if *number == 0.0 { 0.0 } else { *number };
            let bits = if number.is_nan() { f64::NAN.to_bits() & !SIGN_64 } else { number.to_bits() };
            out.extend_from_slice(&(if bits & SIGN_64 != 0 { !bits } else { bits ^ SIGN_64 }).to_be_bytes());
        }
        Value::Numeric(number) => encode_numeric(number, out),
        Value::Text(text) => {
            let bytes = text.as_bytes();
            encode_bytes(if matches!(sql_type, SqlType::Char(_)) { trim_blanks(bytes) } else { bytes }, out);
        }
        Value::Bytea(bytes) => encode_bytes(bytes, out),
        Value::Uuid(bytes) => out.extend_from_slice(bytes),
        Value::Interval(interval) => {
            out.extend_from_slice(&(interval.span() as u128 ^ SIGN_128).to_be_bytes());
        }
        Value::Oid(oid) => out.extend_from_slice(&oid.to_be_bytes()),
        Value::Reference(reference) => out.extend_from_slice(&reference.oid.to_be_bytes()),
        Value::Array(array) => encode_array(array, out),
        Value::Jsonb(value) => json::encode_key(value.root(), out),
        Value::Enum(value) => out.extend_from_slice(&value.position.to_be_bytes()),
        Value::Network(network) => parts::encode_network(*network, out),
        Value::MacAddr(bytes) => out.extend_from_slice(bytes),
        Value::MacAddr8(bytes) => out.extend_from_slice(bytes),
        Value::Extension(value) => encode_bytes(&value.sort_key(), out),
        Value::Row(row) => encode_row(row, out),
        // Used for groups, not for indexes: equal texts are equal.
        Value::Json(text) => encode_bytes(text.as_bytes(), out),
    }
}

/// Appends an encoding that distinguishes a value from all others that SQL calls distinct from it. NULLs are
/// not distinct.
pub fn encode_distinct(value: &Value, out: &mut Vec<u8>) {
    match value.sql_type() {
        None => out.push(0),
        Some(sql_type) => {
            out.push(1);
            encode(value, sql_type, out);
        }
    }
}

/// The same for a scalar.
#[inline]
pub fn encode_distinct_scalar(scalar: Scalar, out: &mut Vec<u8>) {
    out.push(u8::from(!scalar.is_null()));
    encode_scalar(scalar, out);
}

/// The same for a text that is not of type `char(n)`.
#[inline]
pub fn encode_distinct_text(text: Option<&[u8]>, out: &mut Vec<u8>) {
    out.push(u8::from(text.is_some()));
    text.into_iter().for_each(|text| encode_bytes(text, out));
}

/// The elements, then the dimensions, which distinguish arrays with the same elements.
fn encode_array(array: &ArrayValue, out: &mut Vec<u8>) {
    for value in &array.values {
        out.push(1 + u8::from(value.is_null()));
        encode(value, array.element.sql_type(), out);
    }
    let dimensions = array.dimensions();
    out.extend_from_slice(&[0, dimensions.len() as u8]);
    if dimensions.len() > 1 {
        dimensions.iter().for_each(|dimension| encode_i32(dimension.length, out));
    }
    dimensions.iter().for_each(|dimension| encode_i32(dimension.lower, out));
}

/// Field by field. A field that is added to the type later is NULL, so it changes nothing.
fn encode_row(row: &RowValue, out: &mut Vec<u8>) {
    let last = row.fields.iter().rposition(|value| !value.is_null());
    let count = last.map_or(0, |last| last + 1);
    for (field, value) in row.row_type.fields().iter().zip(&row.fields).take(count) {
        out.push(1 + u8::from(value.is_null()));
        encode(value, field.sql_type, out);
    }
    out.push(ROW_END);
}

/// The same for a scalar.
#[inline(always)]
pub fn encode_scalar(scalar: Scalar, out: &mut Vec<u8>) {
    match scalar.kind {
        ScalarKind::Integer => encode_i32(scalar.number as i32, out),
        _ => encode_other_scalar(scalar, out),
    }
}

fn encode_other_scalar(scalar: Scalar, out: &mut Vec<u8>) {
    match scalar.kind {
        ScalarKind::Integer | ScalarKind::Date => encode_i32(scalar.number as i32, out),
        ScalarKind::BigInt | ScalarKind::Timestamp | ScalarKind::TimestampTz => {
            encode_i64(scalar.number, out)
        }
        ScalarKind::SmallInt => out.extend_from_slice(&(scalar.number as u16 ^ SIGN_16).to_be_bytes()),
        ScalarKind::Boolean => out.push(scalar.number as u8),
        ScalarKind::Null => {}
    }
}

/// The end of the encoding of a value of this type at the start of these bytes; `None` if they are too few.
/// `mask`: the value with which each byte was combined by exclusive or.
pub fn encoded_length(sql_type: SqlType, bytes: &[u8], mask: u8) -> Option<usize> {
    if let Some(length) = sql_type.stored_bytes() {
        return (length <= bytes.len()).then_some(length);
    }
    let byte = |at: usize| bytes.get(at).map(|byte| byte ^ mask);
    if let Some(element) = sql_type.element() {
        let mut at = 0;
        loop {
            at += match byte(at)? {
                0 => break,
                1 => 1 + encoded_length(element.sql_type(), bytes.get(at + 1..)?, mask)?,
                _ => 1,
            };
        }
        let dimensions = usize::from(byte(at + 1)?);
        let numbers = dimensions * if dimensions > 1 { 2 } else { 1 };
        let end = at + 2 + numbers * size_of::<i32>();
        return (end <= bytes.len()).then_some(end);
    }
    if let SqlType::Composite(row_type) = sql_type {
        let mut at = 0;
        for field in row_type.fields() {
            at += match byte(at)? {
                ROW_END => return Some(at + 1),
                1 => 1 + encoded_length(field.sql_type, bytes.get(at + 1..)?, mask)?,
                _ => 1,
            };
        }
        return (at < bytes.len()).then_some(at + 1);
    }
    if matches!(sql_type, SqlType::Inet | SqlType::Cidr) {
        let end = parts::network_length(byte(0)?);
        return (end <= bytes.len()).then_some(end);
    }
    if !matches!(sql_type, SqlType::Numeric(_)) {
        let mut at = 0;
        loop {
            match (byte(at)?, byte(at + 1)) {
                (0, Some(0)) => return Some(at + 2),
                (0, _) => at += 2,
                _ => at += 1,
            }
        }
    }
    let end = match byte(0)? {
        NUMERIC_ZERO | NUMERIC_NAN => return Some(1),
        NUMERIC_NEGATIVE => 0xff,
        _ => 0,
    };
    // After the sign and the exponent.
    (4..bytes.len()).find(|at| byte(*at) == Some(end)).map(|at| at + 1)
}

/// Turns the encoding of a key, or of a prefix of its columns, into the smallest byte string that is greater
/// than everything that starts with it. False, with nothing changed, if there is none (all bytes FF, or no
/// bytes).
pub fn successor(key: &mut Vec<u8>) -> bool {
    let Some(last) = key.iter().rposition(|byte| *byte != 0xff) else { return false };
    key.truncate(last + 1);
    key[last] += 1;
    true
}

#[inline]
pub fn encode_i32(number: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&(number as u32 ^ SIGN_32).to_be_bytes());
}

#[inline]
fn encode_i64(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(number as u64 ^ SIGN_64).to_be_bytes());
}

/// What counts of a text of type char(n): UTF-8 without its trailing blanks.
pub fn trim_blanks(text: &[u8]) -> &[u8] {
    let length = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &text[..length]
}

#[cfg(test)]
mod tests;
