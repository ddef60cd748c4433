//! `parse_ident`: the parts of a qualified name, and `unistr`: a text with Unicode escapes.
//!
//! Reference: `parse_ident` in PostgreSQL 15's `misc.c`, `unistr` in its `varlena.c`.

use std::iter::Peekable;
use std::str::Chars;

use super::{Function, mismatch};
use crate::collect::{List, Text};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::value::{ArrayElement, Value};

pub(super) fn call(function: Function, arguments: &[Value], _: &Environment) -> Result<Value> {
    match (function, arguments) {
        (Function::ParseIdentifier, [Value::Text(name), rest @ ..]) => {
            let is_strict = rest.first() != Some(&Value::Boolean(false));
            parts(name, is_strict)
        }
        (Function::Unescape, [Value::Text(text)]) => unescaped(text),
        _ => Err(mismatch(function, arguments)),
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

fn begins(character: char) -> bool {
    character == '_' || character.is_ascii_alphabetic() || !character.is_ascii()
}

fn continues(character: char) -> bool {
    begins(character) || character.is_ascii_digit() || character == '$'
}

fn parts(name: &str, is_strict: bool) -> Result<Value> {
    let error = || {
        let message = format!("string is not a valid identifier: \"{name}\"");
        Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
    };
    let skip = |rest: &mut Peekable<Chars<'_>>| while rest.next_if(|next| is_blank(*next)).is_some() {};
    let mut rest = name.chars().peekable();
    let mut parts = List::default();
    let mut is_after_dot = false;
    skip(&mut rest);
    loop {
        let mut part = Text::default();
        if rest.next_if_eq(&'"').is_some() {
            quoted(&mut rest, &mut part, &error)?;
        } else if rest.peek().is_some_and(|next| begins(*next)) {
            while let Some(next) = rest.next_if(|next| continues(*next)) {
                part.push(next.to_ascii_lowercase())?;
            }
        } else {
            return Err(match rest.peek() {
                Some('.') => error().with_detail("No valid identifier before \".\"."),
                _ if is_after_dot => error().with_detail("No valid identifier after \".\"."),
                _ => error(),
            });
        }
        parts.push(Value::Text(part.finish()))?;
        skip(&mut rest);
        if rest.next_if_eq(&'.').is_some() {
            is_after_dot = true;
            skip(&mut rest);
        } else if rest.peek().is_none() || !is_strict {
            return Ok(Value::array(ArrayElement::Text, parts.into_vec()));
        } else {
            return Err(error());
        }
    }
}

/// The rest of an identifier in quotes.
fn quoted(rest: &mut Peekable<Chars<'_>>, part: &mut Text, error: &impl Fn() -> Error) -> Result<()> {
    let mut is_empty = true;
    loop {
        match rest.next() {
            None => return Err(error().with_detail("String has unclosed double quotes.")),
            Some('"') if rest.next_if_eq(&'"').is_none() => break,
            Some(character) => part.push(character)?,
        }
        is_empty = false;
    }
    if is_empty {
        return Err(error().with_detail("Quoted identifier must not be empty."));
    }
    Ok(())
}

fn unescaped(text: &str) -> Result<Value> {
    let mut out = Text::default();
    let mut rest = text;
    // The first half of a surrogate pair.
    let mut high: Option<u32> = None;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        if character != '\\' || after.starts_with('\\') {
            if high.is_some() {
                return Err(broken_pair());
            }
            out.push(character)?;
            rest = if character == '\\' { &after[1..] } else { after };
            continue;
        }
        let (skipped, digits) = match after.chars().next() {
            Some('+') => (1, 6),
            Some('u') => (1, 4),
            Some('U') => (1, 8),
            _ => (0, 4),
        };
        let written = after
            .get(skipped..skipped + digits)
            .filter(|written| written.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let Some(written) = written else {
            let hint = "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.";
            return Err(Error::input(sqlstate::SYNTAX_ERROR, "invalid Unicode escape").with_hint(hint));
        };
        rest = &after[skipped + digits..];
        let code = u32::from_str_radix(written, 16).unwrap_or(u32::MAX);
        let character = match (high.take(), code) {
            (None, 0xD800..=0xDBFF) => {
                high = Some(code);
                continue;
            }
            (Some(high), 0xDC00..=0xDFFF) => {
                char::from_u32(0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00))
            }
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(broken_pair()),
            (None, 0) => None,
            (None, code) => char::from_u32(code),
        };
        let Some(character) = character else {
            let message = format!("invalid Unicode code point: {}", shown(code));
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        };
        out.push(character)?;
    }
    if high.is_some() {
        return Err(broken_pair());
    }
    Ok(Value::Text(out.finish()))
}

fn shown(code: u32) -> String {
    format!("{code:04X}")
}

fn broken_pair() -> Error {
    Error::input(sqlstate::SYNTAX_ERROR, "invalid Unicode surrogate pair")
}
