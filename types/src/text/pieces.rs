//! Parts of text forms that several types share.

use crate::error::{Error, quoted, sqlstate};
use crate::value::SqlType;

pub(crate) use crate::numeric::finite::is_blank;

pub(crate) fn syntax(sql_type: SqlType, text: &str) -> Error {
    let (name, text) = (sql_type.base_name(), quoted(text));
    Error::input(
        sqlstate::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {name}: \"{text}\""),
    )
}

pub(crate) fn write_hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// Decimal digits, without the formatting machinery, because most results are integers.
pub fn write_integer(number: i64, out: &mut Vec<u8>) {
    let mut buffer = [0_u8; 20];
    let mut start = buffer.len();
    let mut rest = number.unsigned_abs();
    loop {
        start -= 1;
        buffer[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        start -= 1;
        buffer[start] = b'-';
    }
    out.extend_from_slice(&buffer[start..]);
}

/// Digits, with leading zeros up to this width.
pub(crate) fn write_padded(number: i64, width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    write_integer(number, out);
    while out.len() - start < width {
        out.insert(start, b'0');
    }
}

/// `.ffffff` for microseconds below a second, without trailing zeros; nothing for 0.
pub(crate) fn write_fraction(microseconds: i64, out: &mut Vec<u8>) {
    if microseconds == 0 {
        return;
    }
    out.push(b'.');
    write_padded(microseconds, 6, out);
    while out.last() == Some(&b'0') {
        out.pop();
    }
}
