//! `format(text, ...)`: `%[position$][-][width]type` with the types `s`, `I` and `L`, and `%%`.
//!
//! Reference: PostgreSQL's documentation, section 9.4.1, and the messages of `text_format` in varlena.c.

use std::iter::Peekable;
use std::str::Chars;

use compact_str::CompactString;

use super::string::{quote_identifier, quote_literal, too_large};
use super::{BYTES_PER_UNIT, Function, mismatch};
use crate::collect::Text;
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;
use crate::text::{self, TextForm};
use crate::value::Value;

/// No result is longer (PostgreSQL's limit of one allocation).
const MAXIMUM_BYTES: usize = memory::LARGEST_VALUE;

fn wrong(message: impl Into<String>) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn wrong_type(message: impl Into<String>) -> Error {
    wrong(message).with_hint("For a single \"%\" use \"%%\".")
}

/// The arguments after the format, and the next one of them.
struct Arguments<'a> {
    values: &'a [Value],
    next: usize,
}

impl<'a> Arguments<'a> {
    fn take(&mut self, position: Option<usize>) -> Result<&'a Value> {
        let at = match position {
            Some(0) => {
                return Err(wrong("format specifies argument 0, but arguments are numbered from 1"));
            }
            Some(position) => position - 1,
            None => self.next,
        };
        let value = self.values.get(at).ok_or_else(|| wrong("too few arguments for format()"))?;
        self.next = at + 1;
        Ok(value)
    }
}

/// The parts of a specifier between `%` and the type.
#[derive(Default)]
struct Specifier {
    position: Option<usize>,
    is_left: bool,
    width: usize,
}

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let (format, values) = match arguments {
        [Value::Null, ..] => return Ok(Value::Null),
        [Value::Text(format), values @ ..] => (format, values),
        _ => return Err(mismatch(function, arguments)),
    };
    let mut arguments = Arguments { values, next: 0 };
    let mut result = Text::default();
    let mut rest = format.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '%' {
            result.push(character)?;
            continue;
        }
        if rest.next_if_eq(&'%').is_some() {
            result.push('%')?;
            continue;
        }
        let specifier = specifier(&mut rest, &mut arguments)?;
        let kind = rest.next().ok_or_else(unterminated)?;
        if !matches!(kind, 's' | 'I' | 'L') {
            return Err(wrong_type(format!("unrecognized format() type specifier \"{kind}\"")));
        }
        let value = arguments.take(specifier.position)?;
        pad(&mut result, &shown(kind, value, environment)?, &specifier)?;
    }
    Ok(Value::Text(result.finish()))
}

fn unterminated() -> Error {
    wrong_type("unterminated format() type specifier")
}

fn number(rest: &mut Peekable<Chars<'_>>) -> Result<Option<usize>> {
    let mut number: Option<usize> = None;
    while let Some(digit) = rest.peek().and_then(|character| character.to_digit(10)) {
        rest.next();
        let grown = number.unwrap_or(0) * 10 + digit as usize;
        if i32::try_from(grown).is_err() {
            return Err(Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range"));
        }
        number = Some(grown);
    }
    match rest.peek() {
        Some(_) => Ok(number),
        None => Err(unterminated()),
    }
}

fn specifier(rest: &mut Peekable<Chars<'_>>, arguments: &mut Arguments<'_>) -> Result<Specifier> {
    let mut specifier = Specifier::default();
    match number(rest)? {
        Some(position) if rest.next_if_eq(&'$').is_some() => {
            // Reported before anything else is checked.
            if position == 0 {
                arguments.take(Some(0))?;
            }
            specifier.position = Some(position);
        }
        Some(width) => {
            specifier.width = width;
            return Ok(specifier);
        }
        None => {}
    }
    while rest.next_if_eq(&'-').is_some() {
        specifier.is_left = true;
    }
    if rest.next_if_eq(&'*').is_none() {
        specifier.width = number(rest)?.unwrap_or(0);
        return Ok(specifier);
    }
    let position = number(rest)?;
    if position.is_some() && rest.next_if_eq(&'$').is_none() {
        return Err(wrong("width argument position must be ended by \"$\""));
    }
    let width = match arguments.take(position)? {
        Value::Null => 0,
        value => match value.as_i64().map(i32::try_from) {
            Some(Ok(width)) => width,
            Some(Err(_)) => {
                return Err(Error::input(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"));
            }
            None => text::shown(value, TextForm::from(&jiff::tz::TimeZone::UTC))?.trim().parse().map_err(
                |_| {
                    let digits = text::format(value, &jiff::tz::TimeZone::UTC);
                    let digits = crate::error::quoted(&digits);
                    let message = format!("invalid input syntax for type integer: \"{digits}\"");
                    Error::input(sqlstate::INVALID_TEXT_REPRESENTATION, message)
                },
            )?,
        },
    };
    specifier.is_left |= width < 0;
    specifier.width = width.unsigned_abs() as usize;
    Ok(specifier)
}

fn shown(kind: char, value: &Value, environment: &Environment) -> Result<CompactString> {
    let text = || text::shown(value, environment.text_form());
    Ok(match kind {
        'I' if value.is_null() => {
            let message = "null values cannot be formatted as an SQL identifier";
            return Err(Error::input(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
        }
        'I' => quote_identifier(&text()?)?,
        'L' if value.is_null() => "NULL".into(),
        'L' => quote_literal(&text()?)?,
        _ if value.is_null() => CompactString::default(),
        _ => text()?,
    })
}

fn pad(result: &mut Text, shown: &str, specifier: &Specifier) -> Result<()> {
    let missing = specifier.width.saturating_sub(shown.chars().count());
    if result.len().saturating_add(missing).saturating_add(shown.len()) > MAXIMUM_BYTES {
        return Err(too_large());
    }
    guest::spend_for(4 + (missing + shown.len()) / BYTES_PER_UNIT)?;
    if specifier.is_left {
        result.push_str(shown)?;
        result.fill(' ', missing)
    } else {
        result.fill(' ', missing)?;
        result.push_str(shown)
    }
}
