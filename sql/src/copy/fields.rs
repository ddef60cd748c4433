//! Splits a row of COPY data into fields.

use hyades_types::binary::invalid_utf8;
use hyades_types::error::{Error, Result, sqlstate};

use crate::statement::CopyOptions;

/// A field's text; `None` for NULL.
pub(super) type Field = Option<String>;

/// Text format: fields between delimiters, backslash escapes.
pub(super) fn split_text(line: &str, options: &CopyOptions, fields: &mut Vec<Field>) -> Result<()> {
    let bytes = line.as_bytes();
    let mut start = 0;
    loop {
        let mut end = start;
        let mut has_escape = false;
        while end < bytes.len() && bytes[end] != options.delimiter {
            if bytes[end] == b'\\' {
                has_escape = true;
                end += 1;
            }
            end += 1;
        }
        let end = end.min(bytes.len());
        let raw = &bytes[start..end];
        // NULL is recognized before escapes are resolved.
        fields.push(if raw == options.null.as_bytes() {
            None
        } else if has_escape {
            Some(unescape(raw)?)
        } else {
            Some(utf8(raw.to_vec())?)
        });
        if end >= bytes.len() {
            return Ok(());
        }
        start = end + 1;
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String> {
    let text =
        String::from_utf8(bytes).map_err(|error| invalid_utf8(error.as_bytes(), error.utf8_error()))?;
    if text.contains('\0') {
        return Err(Error::input(
            sqlstate::CHARACTER_NOT_IN_REPERTOIRE,
            "invalid byte sequence for encoding \"UTF8\": 0x00",
        ));
    }
    Ok(text)
}

fn digit(byte: Option<&u8>, radix: u32) -> Option<u8> {
    byte.and_then(|byte| char::from(*byte).to_digit(radix)).and_then(|digit| u8::try_from(digit).ok())
}

/// Resolves `\n`, `\101` (octal), `\x41` and similar. A backslash before anything else is dropped.
fn unescape(raw: &[u8]) -> Result<String> {
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        let byte = raw[at];
        at += 1;
        if byte != b'\\' || at >= raw.len() {
            out.push(byte);
            continue;
        }
        let escaped = raw[at];
        at += 1;
        let value = match escaped {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'0'..=b'7' => {
                let mut value = u32::from(escaped - b'0');
                for _ in 0..2 {
                    let Some(next) = digit(raw.get(at), 8) else { break };
                    value = value * 8 + u32::from(next);
                    at += 1;
                }
                u8::try_from(value & 0xff).unwrap_or(0)
            }
            b'x' if digit(raw.get(at), 16).is_some() => {
                let mut value = 0;
                for _ in 0..2 {
                    let Some(next) = digit(raw.get(at), 16) else { break };
                    value = value * 16 + next;
                    at += 1;
                }
                value
            }
            other => other,
        };
        out.push(value);
    }
    utf8(out)
}

/// CSV: fields between delimiters, possibly quoted. NULL is the unquoted NULL string.
pub(super) fn split_csv(line: &str, options: &CopyOptions, fields: &mut Vec<Field>) -> Result<()> {
    let bytes = line.as_bytes();
    let mut at = 0;
    loop {
        let mut field = Vec::new();
        let mut is_quoted = false;
        while at < bytes.len() && bytes[at] != options.delimiter {
            if bytes[at] == options.quote {
                is_quoted = true;
                at = quoted_part(bytes, at + 1, options, &mut field)?;
            } else {
                field.push(bytes[at]);
                at += 1;
            }
        }
        let is_null = !is_quoted && field == options.null.as_bytes();
        fields.push(if is_null { None } else { Some(utf8(field)?) });
        if at >= bytes.len() {
            return Ok(());
        }
        at += 1;
    }
}

/// Copies quoted text. Returns the place after the closing quote.
fn quoted_part(bytes: &[u8], mut at: usize, options: &CopyOptions, field: &mut Vec<u8>) -> Result<usize> {
    while at < bytes.len() {
        let byte = bytes[at];
        let next = bytes.get(at + 1).copied();
        if byte == options.escape && (next == Some(options.quote) || next == Some(options.escape)) {
            field.extend(next);
            at += 2;
        } else if byte == options.quote {
            return Ok(at + 1);
        } else {
            field.push(byte);
            at += 1;
        }
    }
    Err(Error::input(sqlstate::BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field"))
}
