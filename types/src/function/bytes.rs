//! Functions of byte strings: encodings, digests, single bytes and bits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use compact_str::CompactString;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::collect::{Bytes, Sink, Text};
use crate::environment::Environment;
use crate::error::quoted;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::value::Value;
use crate::{memory, text};

use super::{Function, mismatch};

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::Encode, [Value::Bytea(bytes), Value::Text(encoding)]) => {
            encode(bytes, encoding).map(Value::Text)
        }
        (Function::Decode, [Value::Text(text), Value::Text(encoding)]) => {
            Ok(Value::Bytea(decode(text, encoding)?.into()))
        }
        (Function::Sha224, [Value::Bytea(bytes)]) => digest::<Sha224>(bytes),
        (Function::Sha256, [Value::Bytea(bytes)]) => digest::<Sha256>(bytes),
        (Function::Sha384, [Value::Bytea(bytes)]) => digest::<Sha384>(bytes),
        (Function::Sha512, [Value::Bytea(bytes)]) => digest::<Sha512>(bytes),
        (Function::GetByte, [Value::Bytea(bytes), Value::Integer(index)]) => {
            let at = checked_index(i64::from(*index), bytes.len())?;
            Ok(Value::Integer(i32::from(bytes[at])))
        }
        (Function::SetByte, [Value::Bytea(bytes), Value::Integer(index), Value::Integer(byte)]) => {
            let at = checked_index(i64::from(*index), bytes.len())?;
            changed(bytes, at, |_| *byte as u8)
        }
        (Function::GetBit, [Value::Bytea(bytes), Value::BigInt(index)]) => {
            let at = checked_index(*index, bytes.len() * 8)?;
            Ok(Value::Integer(i32::from(bytes[at / 8] >> (at % 8) & 1)))
        }
        (Function::SetBit, [Value::Bytea(bytes), Value::BigInt(index), Value::Integer(bit)]) => {
            let at = checked_index(*index, bytes.len() * 8)?;
            let mask = 1 << (at % 8);
            match bit {
                0 => changed(bytes, at / 8, |byte| byte & !mask),
                1 => changed(bytes, at / 8, |byte| byte | mask),
                _ => Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1")),
            }
        }
        (Function::BitCount, [Value::Bytea(bytes)]) => {
            Ok(Value::BigInt(bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()))
        }
        _ => Err(mismatch(function, arguments)),
    }
}

fn digest<D: Digest>(bytes: &[u8]) -> Result<Value> {
    let mut digest = D::new();
    for part in bytes.chunks(ENCODED_AT_ONCE) {
        guest::spend_for(part.len() / super::BYTES_PER_UNIT)?;
        digest.update(part);
    }
    // Bounded: by the length of a digest.
    Ok(Value::Bytea(digest.finalize().to_vec().into()))
}

fn changed(bytes: &[u8], at: usize, change: impl Fn(u8) -> u8) -> Result<Value> {
    memory::check(bytes.len())?;
    let mut bytes: Box<[u8]> = bytes.into();
    bytes[at] = change(bytes[at]);
    Ok(Value::Bytea(bytes))
}

fn checked_index(index: i64, length: usize) -> Result<usize> {
    usize::try_from(index).ok().filter(|index| *index < length).ok_or_else(|| {
        let last = length as i64 - 1;
        let message = format!("index {index} out of valid range, 0..{last}");
        Error::input(sqlstate::ARRAY_SUBSCRIPT_ERROR, message)
    })
}

fn invalid(message: String) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn unknown_encoding(encoding: &str) -> Error {
    invalid(format!("unrecognized encoding: \"{}\"", quoted(encoding)))
}

/// Bytes that are encoded between two reports of work.
const ENCODED_AT_ONCE: usize = 4096;

#[derive(Clone, Copy)]
enum Encoding {
    Hexadecimal,
    Base64,
    Escape,
}

fn encoding_of(name: &str) -> Option<Encoding> {
    let all = [("hex", Encoding::Hexadecimal), ("base64", Encoding::Base64), ("escape", Encoding::Escape)];
    all.into_iter().find(|(own, _)| name.eq_ignore_ascii_case(own)).map(|(_, encoding)| encoding)
}

fn encode(bytes: &[u8], encoding: &str) -> Result<CompactString> {
    match encoding_of(encoding) {
        Some(Encoding::Hexadecimal) => {
            let mut digits = Bytes::with_capacity(bytes.len().saturating_mul(2))?;
            for part in bytes.chunks(ENCODED_AT_ONCE) {
                digits.write(|out| text::write_hexadecimal(part, out))?;
            }
            digits.into_text()
        }
        Some(Encoding::Base64) => encode_base64(bytes),
        Some(Encoding::Escape) => encode_escape(bytes),
        None => Err(unknown_encoding(encoding)),
    }
}

/// In lines of 76 characters. A full line is always followed by a line break.
fn encode_base64(bytes: &[u8]) -> Result<CompactString> {
    const BYTES_PER_LINE: usize = 57;
    let mut text = Text::with_capacity(bytes.len() / 3 * 4 + bytes.len() / BYTES_PER_LINE + 4)?;
    for line in bytes.chunks(BYTES_PER_LINE) {
        text.push_str(&STANDARD.encode(line))?;
        if line.len() == BYTES_PER_LINE {
            text.push('\n')?;
        }
    }
    Ok(text.finish())
}

/// Zeros and bytes beyond ASCII as `\ooo`, and backslashes doubled.
fn encode_escape(bytes: &[u8]) -> Result<CompactString> {
    let mut text = Text::with_capacity(bytes.len())?;
    for &byte in bytes {
        match byte {
            0 | 0x80.. => text.push_str(&format!("\\{byte:03o}"))?,
            b'\\' => text.push_str("\\\\")?,
            byte => text.push(char::from(byte))?,
        }
    }
    Ok(text.finish())
}

fn decode(text: &str, encoding: &str) -> Result<Vec<u8>> {
    match encoding_of(encoding) {
        Some(Encoding::Hexadecimal) => text::parse_hexadecimal(text),
        Some(Encoding::Base64) => decode_base64(text),
        Some(Encoding::Escape) => text::parse_escaped(text),
        None => Err(unknown_encoding(encoding)),
    }
}

/// Blanks are allowed anywhere, and so are more groups after a padded one.
fn decode_base64(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Bytes::with_capacity(text.len() / 4 * 3)?;
    let mut group = 0_u32;
    let mut characters = 0;
    // The number of bytes of a group that count: fewer from the first padding on.
    let mut counted = 3;
    for character in text.chars() {
        let digit = match character {
            ' ' | '\t' | '\n' | '\r' => continue,
            'A'..='Z' => character as u32 - u32::from('A'),
            'a'..='z' => character as u32 - u32::from('a') + 26,
            '0'..='9' => character as u32 - u32::from('0') + 52,
            '+' => 62,
            '/' => 63,
            '=' => {
                counted = match (counted, characters) {
                    (3, 2) => 1,
                    (3, 3) => 2,
                    (3, _) => {
                        return Err(invalid("unexpected \"=\" while decoding base64 sequence".to_owned()));
                    }
                    (counted, _) => counted,
                };
                0
            }
            _ => {
                let message = format!("invalid symbol \"{character}\" found while decoding base64 sequence");
                return Err(invalid(message));
            }
        };
        group = group << 6 | digit;
        characters += 1;
        if characters == 4 {
            bytes.put(&group.to_be_bytes()[1..=counted])?;
            (group, characters) = (0, 0);
        }
    }
    if characters == 0 {
        return Ok(bytes.into_vec());
    }
    let hint = "Input data is missing padding, is truncated, or is otherwise corrupted.";
    Err(invalid("invalid base64 end sequence".to_owned()).with_hint(hint))
}
