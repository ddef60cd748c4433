//! Functions of strings and byte strings. Positions and lengths are in characters, starting at 1.

use compact_str::CompactString;
use md5::{Digest, Md5};

use crate::collect::{self, Text};
use crate::environment::Environment;
use crate::error::{Error, Result, SqlState, sqlstate};
use crate::guest;
use crate::identifier::quoted_identifier;
use crate::like;
use crate::like::single;
use crate::memory;
use crate::text;
use crate::value::Value;

use super::{Function, mismatch};

/// Local to this module, because only substrings report it.
const SUBSTRING_ERROR: SqlState = SqlState("22011");
/// No string is longer (PostgreSQL's limit of one allocation).
const MAXIMUM_BYTES: usize = memory::LARGEST_VALUE;

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    // Most results are as long as the argument.
    memory::check(arguments.iter().map(Value::heap_bytes).sum())?;
    match arguments {
        [Value::Null] if function == Function::QuoteNullable => Ok(Value::text("NULL")),
        [Value::Text(string)] => of_text(function, string),
        [Value::Bytea(bytes)] => of_bytes(function, bytes),
        [Value::Integer(number)] => match function {
            Function::ToHex => Ok(Value::text(format!("{number:x}"))),
            Function::Chr => chr(*number),
            _ => Err(mismatch(function, arguments)),
        },
        [Value::BigInt(number)] if function == Function::ToHex => Ok(Value::text(format!("{number:x}"))),
        [Value::Text(string), Value::Text(other)] => of_two_texts(function, string, other),
        [Value::Text(string), Value::Integer(number)] => of_text_and_number(function, string, *number),
        [Value::Text(string), Value::Integer(start), Value::Integer(length)]
            if function == Function::Substring =>
        {
            substring(string, *start, Some(*length))
        }
        [Value::Text(string), Value::Integer(length), Value::Text(fill)] => {
            pad(function, string, *length, fill)
        }
        [Value::Text(string), Value::Text(from), Value::Text(to)] => match function {
            Function::Replace if from.is_empty() => Ok(Value::Text(string.clone())),
            Function::Replace => replace(string, from, to),
            Function::Translate => translate(string, from, to).map(Value::Text),
            _ => Err(mismatch(function, arguments)),
        },
        [Value::Text(string), Value::Text(separator), Value::Integer(field)] => {
            split_part(string, separator, *field)
        }
        _ => of_bytes_and_more(function, arguments),
    }
}

fn of_text(function: Function, string: &CompactString) -> Result<Value> {
    let length = |count: usize| Ok(Value::Integer(i32::try_from(count).unwrap_or(i32::MAX)));
    let changed = |text: CompactString| Ok(Value::Text(text));
    match function {
        Function::Length => length(string.chars().count()),
        Function::LengthOfChar => length(string.trim_end_matches(' ').chars().count()),
        Function::OctetLength => length(string.len()),
        Function::BitLength => length(string.len() * 8),
        Function::Lower => changed(like::lower(string)?),
        Function::Upper => {
            changed(collect::characters(string.chars(), |c| Some(single(c.to_uppercase(), c)))?)
        }
        Function::InitialCapitals => changed(initial_capitals(string)?),
        Function::TrimBoth => changed(string.trim_matches(' ').into()),
        Function::TrimLeft => changed(string.trim_start_matches(' ').into()),
        Function::TrimRight | Function::CharToText => changed(string.trim_end_matches(' ').into()),
        Function::Reverse => changed(collect::characters(string.chars().rev(), Some)?),
        Function::Md5 => Ok(md5(string.as_bytes())),
        Function::Ascii => Ok(Value::Integer(string.chars().next().map_or(0, |c| c as i32))),
        Function::QuoteIdentifier => changed(quote_identifier(string)?),
        Function::QuoteLiteral | Function::QuoteNullable => changed(quote_literal(string)?),
        _ => Err(mismatch(function, &[Value::Text(string.clone())])),
    }
}

fn md5(bytes: &[u8]) -> Value {
    // Bounded: by the length of a digest.
    let mut digits = Vec::with_capacity(32);
    text::write_hexadecimal(&Md5::digest(bytes), &mut digits);
    Value::Text(CompactString::from_utf8_lossy(&digits))
}

/// Upper case after any character that is neither a letter nor a digit, lower case after letters and digits.
fn initial_capitals(string: &str) -> Result<CompactString> {
    let mut is_inside = false;
    let mut capitalize = |c: char| {
        let changed = if is_inside { single(c.to_lowercase(), c) } else { single(c.to_uppercase(), c) };
        is_inside = changed.is_alphanumeric();
        changed
    };
    collect::characters(string.chars(), |c| Some(capitalize(c)))
}

fn replace(string: &str, from: &str, to: &str) -> Result<Value> {
    let mut found = 0_usize;
    for _ in string.matches(from) {
        guest::spend(1)?;
        found += 1;
    }
    let bytes = (string.len() - found * from.len()).saturating_add(found.saturating_mul(to.len()));
    let mut text = Text::with_capacity(bytes)?;
    let mut rest = string;
    while let Some((before, after)) = rest.split_once(from) {
        text.push_str(before)?;
        text.push_str(to)?;
        rest = after;
    }
    text.push_str(rest)?;
    Ok(Value::Text(text.finish()))
}

pub(super) fn quote_identifier(string: &str) -> Result<CompactString> {
    let bytes = quoted_bytes(string, b"\"");
    memory::check_value(bytes)?;
    // Two copies exist for a moment.
    memory::check(bytes.saturating_mul(2))?;
    Ok(quoted_identifier(string))
}

/// The length of a text in quotes, in which each of these characters is doubled.
fn quoted_bytes(string: &str, doubled: &[u8]) -> usize {
    string.len() + string.bytes().filter(|byte| doubled.contains(byte)).count() + 3
}

pub(super) fn quote_literal(string: &str) -> Result<CompactString> {
    let mut quoted = Text::with_capacity(quoted_bytes(string, b"'\\"))?;
    quoted.push_str(if string.contains('\\') { "E'" } else { "'" })?;
    for part in string.split_inclusive(['\'', '\\']) {
        quoted.push_str(part)?;
        if let Some(last) = part.chars().next_back().filter(|last| matches!(last, '\'' | '\\')) {
            quoted.push(last)?;
        }
    }
    quoted.push('\'')?;
    Ok(quoted.finish())
}

fn chr(code: i32) -> Result<Value> {
    let refused = |message: String| Err(Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    match u32::try_from(code) {
        Err(_) => Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, "character number must be positive")),
        Ok(0) => refused("null character not permitted".to_owned()),
        Ok(code) if code > 0x10_ffff => {
            refused(format!("requested character too large for encoding: {code}"))
        }
        Ok(code) => match char::from_u32(code) {
            Some(character) => Ok(Value::text(CompactString::from_iter([character]))),
            None => refused(format!("requested character not valid for encoding: {code}")),
        },
    }
}

fn of_two_texts(function: Function, string: &CompactString, other: &CompactString) -> Result<Value> {
    let is_trimming = matches!(function, Function::TrimBoth | Function::TrimLeft | Function::TrimRight);
    let set =
        if is_trimming { CharacterMap::of(other.chars().map(|c| (c, ())))? } else { CharacterMap::default() };
    let in_set = |c: char| set.get(c).is_some();
    Ok(match function {
        Function::TrimBoth => Value::text(string.trim_matches(in_set)),
        Function::TrimLeft => Value::text(string.trim_start_matches(in_set)),
        Function::TrimRight => Value::text(string.trim_end_matches(in_set)),
        Function::Position => {
            let found = string.find(other.as_str());
            let position = found.map_or(0, |at| string[..at].chars().count() + 1);
            Value::Integer(i32::try_from(position).unwrap_or(i32::MAX))
        }
        Function::StartsWith => Value::Boolean(string.starts_with(other.as_str())),
        Function::LikeEscape => Value::Text(like::escape(string, other)?),
        _ => return Err(mismatch(function, &[Value::Text(string.clone()), Value::Text(other.clone())])),
    })
}

fn of_text_and_number(function: Function, string: &CompactString, number: i32) -> Result<Value> {
    // Negative: all except this many characters.
    let kept = |number: i32| {
        let magnitude = number.unsigned_abs() as usize;
        if number >= 0 { magnitude } else { string.chars().count().saturating_sub(magnitude) }
    };
    match function {
        Function::Substring => substring(string, number, None),
        Function::Left => Ok(Value::text(&string[..byte_at(string, kept(number))])),
        Function::Right => {
            let skipped = string.chars().count().saturating_sub(kept(number));
            Ok(Value::text(&string[byte_at(string, skipped)..]))
        }
        Function::PadLeft | Function::PadRight => pad(function, string, number, " "),
        Function::Repeat => {
            let times = usize::try_from(number).unwrap_or(0);
            if string.len().saturating_mul(times) > MAXIMUM_BYTES {
                return Err(too_large());
            }
            let mut text = Text::default();
            text.push_times(string, if string.is_empty() { 0 } else { times })?;
            Ok(Value::Text(text.finish()))
        }
        _ => Err(mismatch(function, &[Value::Text(string.clone()), Value::Integer(number)])),
    }
}

pub(super) fn too_large() -> Error {
    Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

/// The byte at which the character with this number (from 0) starts; the end if there is none.
fn byte_at(string: &str, character: usize) -> usize {
    if string.is_ascii() {
        return character.min(string.len());
    }
    string.char_indices().nth(character).map_or(string.len(), |(at, _)| at)
}

/// First and end position (from 0, end exclusive) of the part of a window that lies inside a string. The
/// window itself may begin before the string.
fn window(start: i32, length: Option<i32>) -> Result<(usize, usize)> {
    let first = i64::from(start) - 1;
    let end = match length {
        None => i64::MAX,
        Some(length) if length < 0 => {
            return Err(Error::input(SUBSTRING_ERROR, "negative substring length not allowed"));
        }
        Some(length) => first + i64::from(length),
    };
    let clamp = |position: i64| usize::try_from(position.max(0)).unwrap_or(usize::MAX);
    Ok((clamp(first), clamp(end).max(clamp(first))))
}

fn substring(string: &str, start: i32, length: Option<i32>) -> Result<Value> {
    let (first, end) = window(start, length)?;
    let rest = &string[byte_at(string, first)..];
    Ok(Value::text(&rest[..byte_at(rest, end - first)]))
}

/// lpad and rpad: to exactly `length` characters, truncating at the end.
fn pad(function: Function, string: &str, length: i32, fill: &str) -> Result<Value> {
    let length = usize::try_from(length).unwrap_or(0);
    let present = string.chars().count();
    if length <= present || fill.is_empty() {
        return Ok(Value::text(&string[..byte_at(string, length)]));
    }
    if length.saturating_mul(4) > MAXIMUM_BYTES {
        return Err(too_large());
    }
    let padding = fill.chars().cycle().take(length - present);
    Ok(Value::Text(match function {
        Function::PadLeft => collect::characters(padding.chain(string.chars()), Some)?,
        Function::PadRight => collect::characters(string.chars().chain(padding), Some)?,
        _ => return Err(mismatch(function, &[Value::text(string)])),
    }))
}

/// The replacement of each character; of duplicates the first counts.
#[derive(Default)]
struct CharacterMap<T>(Vec<(char, T)>);

impl<T> CharacterMap<T> {
    fn of(entries: impl Iterator<Item = (char, T)>) -> Result<CharacterMap<T>> {
        let mut entries = collect::list(entries)?;
        collect::sort(&mut entries, |one, other| one.0.cmp(&other.0))?;
        entries.dedup_by_key(|(character, _)| *character);
        Ok(CharacterMap(entries))
    }

    fn get(&self, character: char) -> Option<&T> {
        let found = self.0.binary_search_by_key(&character, |(known, _)| *known);
        found.ok().and_then(|at| self.0.get(at)).map(|(_, value)| value)
    }
}

fn translate(string: &str, from: &str, to: &str) -> Result<CompactString> {
    let replacements = to.chars().map(Some).chain(std::iter::repeat(None));
    let map = CharacterMap::of(from.chars().zip(replacements))?;
    collect::characters(string.chars(), |c| map.get(c).copied().unwrap_or(Some(c)))
}

fn split_part(string: &str, separator: &str, field: i32) -> Result<Value> {
    if field == 0 {
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, "field position must not be zero"));
    }
    let wanted = field.unsigned_abs() as usize - 1;
    let part = if separator.is_empty() {
        if wanted == 0 { Some(string) } else { None }
    } else if field > 0 {
        string.split(separator).nth(wanted)
    } else {
        string.rsplit(separator).nth(wanted)
    };
    Ok(Value::text(part.unwrap_or("")))
}

fn of_bytes(function: Function, bytes: &[u8]) -> Result<Value> {
    let length = |count: usize| Ok(Value::Integer(i32::try_from(count).unwrap_or(i32::MAX)));
    match function {
        Function::Length | Function::OctetLength => length(bytes.len()),
        Function::BitLength => length(bytes.len() * 8),
        Function::Md5 => Ok(md5(bytes)),
        _ => Err(mismatch(function, &[Value::Bytea(bytes.into())])),
    }
}

fn of_bytes_and_more(function: Function, arguments: &[Value]) -> Result<Value> {
    let part = |bytes: &[u8], start: i32, length: Option<i32>| {
        let (first, end) = window(start, length)?;
        let end = end.min(bytes.len());
        Ok(Value::Bytea(bytes[first.min(end)..end].into()))
    };
    match (function, arguments) {
        (Function::Substring, [Value::Bytea(bytes), Value::Integer(start)]) => part(bytes, *start, None),
        (Function::Substring, [Value::Bytea(bytes), Value::Integer(start), Value::Integer(length)]) => {
            part(bytes, *start, Some(*length))
        }
        (Function::Position, [Value::Bytea(bytes), Value::Bytea(wanted)]) => {
            let found = if wanted.is_empty() { Some(0) } else { memchr::memmem::find(bytes, wanted) };
            Ok(Value::Integer(found.map_or(0, |at| i32::try_from(at + 1).unwrap_or(i32::MAX))))
        }
        (
            Function::TrimBoth | Function::TrimLeft | Function::TrimRight,
            [Value::Bytea(bytes), Value::Bytea(set)],
        ) => {
            let mut rest = &**bytes;
            while function != Function::TrimRight && rest.first().is_some_and(|byte| set.contains(byte)) {
                rest = &rest[1..];
            }
            while function != Function::TrimLeft && rest.last().is_some_and(|byte| set.contains(byte)) {
                rest = &rest[..rest.len() - 1];
            }
            Ok(Value::Bytea(rest.into()))
        }
        _ => Err(mismatch(function, arguments)),
    }
}
