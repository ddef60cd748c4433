//! Functions that match texts with regular expressions: `regexp_match` ... `regexp_substr`, `regexp_replace`,
//! `regexp_split_to_array`, `substring(... FROM ...)` and SIMILAR TO.
//!
//! All of them process the matches in order ([`found`]). After an empty match, the next search begins one
//! character further on.
//!
//! Reference: PostgreSQL 15's `regexp.c` (`setup_regexp_matches`, `similar_escape_internal`) and
//! `replace_text_regexp` in its `varlena.c`.

use std::ops::Range;

use fancy_regex::Regex;

use super::regular_expression::{Options, ask_for_pattern, is_match, too_complex, with_regex};
use super::{Function, mismatch};
use crate::collect::{self, List, Text};
use crate::environment::Environment;
use crate::error::{Error, Result, SqlState, sqlstate};
use crate::guest;
use crate::text;
use crate::value::{ArrayElement, Value};

const INVALID_USE_OF_ESCAPE: SqlState = SqlState("2200C");
const INVALID_ESCAPE_SEQUENCE: SqlState = SqlState("22025");

/// Where the whole expression and each of its groups matched.
struct Match {
    whole: Range<usize>,
    groups: Vec<Option<Range<usize>>>,
}

/// The first match from a position in the text on.
fn first(text: &str, regex: &Regex, from: usize) -> Result<Option<Match>> {
    guest::spend_for((text.len() - from) / 8)?;
    let Some(captures) = regex.captures_from_pos(text, from).map_err(too_complex)? else { return Ok(None) };
    let Some(whole) = captures.get(0).map(|whole| whole.range()) else { return Ok(None) };
    // Bounded: by the pattern, for which `ask_for_pattern` asks.
    let groups = (1..captures.len()).map(|group| captures.get(group).map(|group| group.range())).collect();
    Ok(Some(Match { whole, groups }))
}

/// Where the search continues after a match; None at the end of the text.
fn next_start(text: &str, whole: &Range<usize>) -> Option<usize> {
    if !whole.is_empty() {
        return Some(whole.end);
    }
    let next = text[whole.end..].chars().next()?;
    Some(whole.end + next.len_utf8())
}

/// The matches from a character of the text on, only the first or all of them. Splitting ignores empty
/// matches at the end of the text and directly after a match.
fn found(text: &str, pattern: &str, options: Options, (start, is_split): (i32, bool)) -> Result<Vec<Match>> {
    let Some(mut from) = offset_of(text, start) else { return Ok(Vec::new()) };
    with_regex(pattern, Options { is_global: false, ..options }, text, |regex| {
        let mut matches = List::default();
        let mut end_before = 0;
        while let Some(one) = first(text, regex, from)? {
            let next = next_start(text, &one.whole);
            let end = one.whole.end;
            if !is_split || (one.whole.start < text.len() && end > end_before) {
                matches.push(one)?;
            }
            end_before = end;
            match next {
                Some(next) if options.is_global => from = next,
                _ => break,
            }
        }
        Ok(matches.into_vec())
    })
}

/// The byte offset of a character, counted from 1; None far beyond the end.
fn offset_of(text: &str, character: i32) -> Option<usize> {
    let before = usize::try_from(character).ok()?.saturating_sub(1);
    let mut offsets = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    offsets.nth(before)
}

fn character_of(text: &str, offset: usize) -> Value {
    Value::Integer(text[..offset].chars().count() as i32 + 1)
}

/// The groups' texts, or the whole match if there are no groups.
fn texts(text: &str, one: &Match) -> Result<Vec<Value>> {
    let mut values = List::default();
    if one.groups.is_empty() {
        values.push_text(&text[one.whole.clone()])?;
    }
    for group in &one.groups {
        match group {
            Some(range) => values.push_text(&text[range.clone()])?,
            None => values.push(Value::Null)?,
        }
    }
    Ok(values.into_vec())
}

/// The first of these texts; NULL without a match.
fn first_text(text: &str, matches: &[Match]) -> Result<Value> {
    let texts = matches.first().map(|one| texts(text, one)).transpose()?;
    Ok(texts.and_then(|texts| texts.into_iter().next()).unwrap_or_default())
}

fn array(values: Vec<Value>) -> Value {
    Value::array(ArrayElement::Text, values)
}

fn invalid_parameter(message: String) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// The options of a function that itself determines whether it looks for all matches or for one.
fn own_options(letters: Option<&Value>, name: &str) -> Result<Options> {
    let options = Options::of(letters.and_then(Value::as_str).unwrap_or_default())?;
    if !options.is_global {
        return Ok(options);
    }
    let error = invalid_parameter(format!("{name}() does not support the \"global\" option"));
    Err(match name {
        "regexp_match" => error.with_hint("Use the regexp_matches function instead."),
        _ => error,
    })
}

/// An optional number, not less than `least`.
fn number(value: Option<&Value>, name: &str, default: i32, least: i32) -> Result<i32> {
    match value {
        Some(Value::Integer(number)) if *number < least => {
            Err(invalid_parameter(format!("invalid value for parameter \"{name}\": {number}")))
        }
        Some(Value::Integer(number)) => Ok(*number),
        _ => Ok(default),
    }
}

pub(super) fn call(function: Function, arguments: &[Value], environment: &Environment) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern), rest @ ..] = arguments else {
        return Err(mismatch(function, arguments));
    };
    match function {
        Function::RegexpMatch => {
            let options = own_options(rest.first(), "regexp_match")?;
            match found(text, pattern, options, (1, false))?.first() {
                Some(one) => texts(text, one).map(array),
                None => Ok(Value::Null),
            }
        }
        Function::RegexpMatches => {
            let options = Options::of(rest.first().and_then(Value::as_str).unwrap_or_default())?;
            let rows = found(text, pattern, options, (1, false))?;
            let shown = |one: &Match| {
                let row = array(texts(text, one)?);
                text::shown(&row, environment.text_form()).map(Value::Text)
            };
            collect::try_list(rows.iter().map(shown)).map(array)
        }
        Function::RegexpLike => {
            let options = own_options(rest.first(), "regexp_like")?;
            let options = Options { is_global: false, ..options };
            is_match(text, pattern, options).map(Value::Boolean)
        }
        Function::RegexpCount => {
            let start = number(rest.first(), "start", 1, 1)?;
            let options = Options { is_global: true, ..own_options(rest.get(1), "regexp_count")? };
            Ok(Value::Integer(found(text, pattern, options, (start, false))?.len() as i32))
        }
        Function::RegexpInstr => position(text, pattern, rest),
        Function::RegexpSubstr => part(text, pattern, rest),
        Function::RegexpReplace => replaced(text, pattern, rest),
        Function::RegexpSplit => {
            // The form that returns rows has a name of its own.
            let options = Options { is_global: true, ..own_options(rest.first(), "regexp_split_to_array")? };
            let mut pieces = List::default();
            let mut start = 0;
            for one in found(text, pattern, options, (1, true))? {
                pieces.push_text(&text[start..one.whole.start])?;
                start = one.whole.end;
            }
            pieces.push_text(&text[start..])?;
            Ok(array(pieces.into_vec()))
        }
        Function::SubstringByPattern => {
            first_text(text, &found(text, pattern, Options::default(), (1, false))?)
        }
        Function::MatchesSimilar => {
            let pattern = similar(pattern, rest.first().and_then(Value::as_str))?;
            is_match(text, &pattern, Options::default()).map(Value::Boolean)
        }
        Function::SubstringSimilar => {
            let pattern = similar(pattern, rest.first().and_then(Value::as_str))?;
            first_text(text, &found(text, &pattern, Options::default(), (1, false))?)
        }
        _ => Err(mismatch(function, arguments)),
    }
}

/// A match by its number, or one of its groups.
fn chosen(
    text: &str,
    pattern: &str,
    options: Options,
    (start, count, group): (i32, i32, i32),
) -> Result<Option<Range<usize>>> {
    let options = Options { is_global: true, ..options };
    let matches = found(text, pattern, options, (start, false))?;
    let Some(one) = usize::try_from(count - 1).ok().and_then(|at| matches.get(at)) else { return Ok(None) };
    Ok(match usize::try_from(group).unwrap_or(0) {
        0 => Some(one.whole.clone()),
        group => one.groups.get(group - 1).cloned().flatten(),
    })
}

/// `regexp_instr`
fn position(text: &str, pattern: &str, rest: &[Value]) -> Result<Value> {
    let start = number(rest.first(), "start", 1, 1)?;
    let count = number(rest.get(1), "n", 1, 1)?;
    let end = number(rest.get(2), "endoption", 0, 0)?;
    if end > 1 {
        return Err(invalid_parameter(format!("invalid value for parameter \"endoption\": {end}")));
    }
    let group = number(rest.get(4), "subexpr", 0, 0)?;
    let options = own_options(rest.get(3), "regexp_instr")?;
    let range = chosen(text, pattern, options, (start, count, group))?;
    Ok(range.map_or(Value::Integer(0), |range| {
        character_of(text, if end == 1 { range.end } else { range.start })
    }))
}

/// `regexp_substr`
fn part(text: &str, pattern: &str, rest: &[Value]) -> Result<Value> {
    let start = number(rest.first(), "start", 1, 1)?;
    let count = number(rest.get(1), "n", 1, 1)?;
    let group = number(rest.get(3), "subexpr", 0, 0)?;
    let options = own_options(rest.get(2), "regexp_substr")?;
    let range = chosen(text, pattern, options, (start, count, group))?;
    Ok(range.map_or(Value::Null, |range| Value::text(&text[range])))
}

/// `regexp_replace` with (replacement), (replacement, options), (replacement, start [, n [, options]]).
fn replaced(text: &str, pattern: &str, rest: &[Value]) -> Result<Value> {
    let [Value::Text(replacement), rest @ ..] = rest else {
        return Err(mismatch(Function::RegexpReplace, rest));
    };
    if let [Value::Text(letters)] = rest {
        if let Some(digit) = letters.chars().next().filter(char::is_ascii_digit) {
            let message = format!("invalid regular expression option: \"{digit}\"");
            let hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.";
            return Err(invalid_parameter(message).with_hint(hint));
        }
        let options = Options::of(letters)?;
        let count = i32::from(!options.is_global);
        return replace(text, (pattern, options), replacement, (1, count));
    }
    let start = number(rest.first(), "start", 1, 1)?;
    let count = number(rest.get(1), "n", 1, 0)?;
    let options = Options::of(rest.get(2).and_then(Value::as_str).unwrap_or_default())?;
    let count = if rest.len() < 2 { i32::from(!options.is_global) } else { count };
    replace(text, (pattern, options), replacement, (start, count))
}

/// Replaces the match with this number from a character on, or all matches (0).
fn replace(
    text: &str,
    (pattern, options): (&str, Options),
    replacement: &str,
    (start, count): (i32, i32),
) -> Result<Value> {
    let Some(mut from) = offset_of(text, start) else { return Ok(Value::text(text)) };
    let options = Options { is_global: false, ..options };
    with_regex(pattern, options, text, |regex| {
        let mut out = Text::default();
        let (mut copied, mut number) = (0, 0);
        while let Some(one) = first(text, regex, from)? {
            number += 1;
            if count == 0 || number == count {
                out.push_str(&text[copied..one.whole.start])?;
                append_replacement(text, &one, replacement, &mut out)?;
                copied = one.whole.end;
            }
            match next_start(text, &one.whole) {
                Some(next) if count == 0 || number < count => from = next,
                _ => break,
            }
        }
        out.push_str(&text[copied..])?;
        Ok(Value::Text(out.finish()))
    })
}

/// `\1` to `\9` are groups, `\&` is the whole match, `\\` a backslash.
fn append_replacement(text: &str, one: &Match, replacement: &str, out: &mut Text) -> Result<()> {
    let mut rest = replacement;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before)?;
        rest = after;
        match after.bytes().next() {
            Some(digit @ b'1'..=b'9') => {
                if let Some(Some(range)) = one.groups.get(usize::from(digit - b'1')) {
                    out.push_str(&text[range.clone()])?;
                }
                rest = &after[1..];
            }
            Some(b'&') => {
                out.push_str(&text[one.whole.clone()])?;
                rest = &after[1..];
            }
            Some(b'\\') => {
                out.push('\\')?;
                rest = &after[1..];
            }
            // The backslash is literal.
            _ => out.push('\\')?,
        }
    }
    out.push_str(rest)
}

/// The regular expression for a pattern of SIMILAR TO: `%` and `_` as in LIKE, the rest nearly unchanged. Two
/// quotes after the escape character divide it into three parts. The first and the last of them match as
/// little as possible, so repetitions in the first are marked as not greedy.
fn similar(pattern: &str, escape: Option<&str>) -> Result<String> {
    let escape = match escape {
        None => Some('\\'),
        Some(escape) => {
            let mut characters = escape.chars();
            let first = characters.next();
            if characters.next().is_some() {
                return Err(Error::input(INVALID_ESCAPE_SEQUENCE, "invalid escape string")
                    .with_hint("Escape string must be empty or one character."));
            }
            first
        }
    };
    ask_for_pattern(pattern)?;
    let mut parts = vec![String::new()];
    // The number of open brackets, and the progress within their content (3: `]` ends it).
    let (mut depth, mut place) = (0_u32, 0);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let Some(out) = parts.last_mut() else { break };
        if Some(character) == escape {
            match characters.next() {
                Some('"') if depth == 0 => parts.push(String::new()),
                Some(next) => {
                    out.push('\\');
                    out.push(next);
                    place = 3;
                }
                None => {}
            }
        } else if depth > 0 {
            if character == '\\' {
                out.push('\\');
            }
            out.push(character);
            match character {
                ']' if place > 2 => depth -= 1,
                '[' => (depth, place) = (depth + 1, 3),
                '^' => place += 1,
                _ => place = 3,
            }
        } else {
            match character {
                '[' => {
                    out.push('[');
                    (depth, place) = (1, 1);
                }
                '%' => out.push_str(".*"),
                '_' => out.push('.'),
                '(' => out.push_str("(?:"),
                '\\' | '.' | '^' | '$' => {
                    out.push('\\');
                    out.push(character);
                }
                other => out.push(other),
            }
        }
    }
    match parts.as_slice() {
        [whole] => Ok(format!("^(?:{whole})$")),
        [before, part] => Ok(format!("^(?:{})({part})$", reluctant(before))),
        [before, part, rest] => Ok(format!("^(?:{})({part})(?:{rest})$", reluctant(before))),
        _ => {
            let message =
                "SQL regular expression may not contain more than two escape-double-quote separators";
            Err(Error::input(INVALID_USE_OF_ESCAPE, message))
        }
    }
}

/// The expression with all repetitions made reluctant.
fn reluctant(part: &str) -> String {
    // Bounded: by the pattern, for which `ask_for_pattern` asks.
    let mut out = String::with_capacity(part.len() + 4);
    let mut characters = part.chars().peekable();
    let mut is_in_bracket = false;
    while let Some(character) = characters.next() {
        out.push(character);
        match character {
            '\\' => out.extend(characters.next()),
            '[' => is_in_bracket = true,
            ']' => is_in_bracket = false,
            // Part of `(?:`.
            '?' if characters.peek() == Some(&':') => {}
            '*' | '+' | '?' | '}' if !is_in_bracket => out.push('?'),
            _ => {}
        }
    }
    out
}
