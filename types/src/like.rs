//! The LIKE matcher.
//!
//! `%` matches any string, `_` any one character, and a backslash makes the next character literal; ESCAPE
//! with another character is a rewrite of the pattern ([`escape`]), as in PostgreSQL. Matching is greedy with
//! a single backtracking point, the last `%`: after a mismatch, an earlier `%` can never help if the last one
//! cannot. So the time is at most proportional to pattern times text, and there is no recursion.

use compact_str::CompactString;

use crate::collect::{self, Text};
use crate::error::{Error, Result, SqlState};
use crate::guest;

/// Local to this module, because only LIKE reports it.
const INVALID_ESCAPE_SEQUENCE: SqlState = SqlState("22025");

/// Steps of the matcher between two calls of [`guest`].
const STEPS_PER_SPENDING: u32 = 1024;

/// Whether the text matches the pattern. A pattern that ends in a lone backslash is an error if the match
/// gets that far.
pub fn matches(text: &str, pattern: &str) -> Result<bool> {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let (mut t, mut p) = (0, 0);
    // Where to continue after a mismatch: after the last '%', with one more character of text skipped.
    let mut retry: Option<(usize, usize)> = None;
    let mut steps = 0_u32;
    loop {
        steps += 1;
        if steps.is_multiple_of(STEPS_PER_SPENDING) {
            guest::spend(STEPS_PER_SPENDING / 4)?;
        }
        let step = match pattern.get(p) {
            Some(b'%') => {
                p += 1;
                if p == pattern.len() {
                    return Ok(true);
                }
                retry = Some((t, p));
                continue;
            }
            None if t == text.len() => return Ok(true),
            None => None,
            Some(b'_') if t < text.len() => Some((t + character_bytes(text[t]), p + 1)),
            Some(b'_') => None,
            Some(b'\\') => match pattern.get(p + 1) {
                None if t == text.len() => return Ok(false),
                None => {
                    return Err(Error::input(
                        INVALID_ESCAPE_SEQUENCE,
                        "LIKE pattern must not end with escape character",
                    ));
                }
                Some(plain) => (text.get(t) == Some(plain)).then_some((t + 1, p + 2)),
            },
            Some(plain) => (text.get(t) == Some(plain)).then_some((t + 1, p + 1)),
        };
        if let Some((next_text, next_pattern)) = step {
            (t, p) = (next_text, next_pattern);
            continue;
        }
        match retry {
            Some((from, after)) if from < text.len() => {
                let from = from + character_bytes(text[from]);
                retry = Some((from, after));
                (t, p) = (from, after);
            }
            _ => return Ok(false),
        }
    }
}

/// ILIKE: both sides in lower case.
pub fn matches_ignoring_case(text: &str, pattern: &str) -> Result<bool> {
    matches(&lower(text)?, &lower(pattern)?)
}

/// Lower case, character by character (no character becomes two, as in PostgreSQL's libc locales).
pub(crate) fn lower(text: &str) -> Result<CompactString> {
    collect::characters(text.chars(), |character| Some(lower_character(character)))
}

/// The one character that would become two, I with a dot, loses its dot.
pub(crate) fn lower_character(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

/// The only character of a case mapping; the original if there are several.
pub(crate) fn single(mut mapped: impl Iterator<Item = char>, original: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => original,
    }
}

/// Length of the UTF-8 character that starts with this byte.
fn character_bytes(first: u8) -> usize {
    match first {
        0..=0x7f => 1,
        0xf0.. => 4,
        0xe0.. => 3,
        _ => 2,
    }
}

/// Rewrites a pattern whose escape character is `character` (empty: none) into one that uses the backslash.
pub fn escape(pattern: &str, character: &str) -> Result<CompactString> {
    let mut characters = character.chars();
    let escape = match (characters.next(), characters.next()) {
        (Some('\\'), None) => return Ok(pattern.into()),
        (only, None) => only,
        _ => {
            return Err(Error::input(INVALID_ESCAPE_SEQUENCE, "invalid escape string")
                .with_hint("Escape string must be empty or one character."));
        }
    };
    let mut result = Text::with_capacity(pattern.len())?;
    let mut is_escaped = false;
    for character in pattern.chars() {
        if Some(character) == escape && !is_escaped {
            result.push('\\')?;
            is_escaped = true;
        } else if character == '\\' {
            if !is_escaped {
                result.push('\\')?;
            }
            result.push('\\')?;
            is_escaped = false;
        } else {
            result.push(character)?;
            is_escaped = false;
        }
    }
    Ok(result.finish())
}

#[cfg(test)]
mod tests;
