//! `~` and `~*`: PostgreSQL's advanced regular expressions, translated for the engine of `fancy-regex`.
//!
//! What the dialects write differently: `\y`, `\Y`, `\m`, `\M` and `\Z`, a `[` inside of brackets, a `{` that
//! begins no count, and that a dot is any character. Backtracking, which references back and looking around
//! need, has a limit; everything else takes time in proportion to the text.

use std::cell::RefCell;

use fancy_regex::{Regex, RegexBuilder};

use super::{Function, mismatch};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::value::Value;

/// Steps of backtracking in one match.
const MOST_STEPS: usize = 1_000_000;
/// Bytes of a compiled expression.
const LARGEST: usize = 4 << 20;
/// Compiled expressions that a thread keeps.
const MOST_KEPT: usize = 16;

/// A compiled expression, and what of.
struct Kept {
    pattern: String,
    is_any_case: bool,
    regex: Regex,
}

thread_local! {
    /// The one used last is the last.
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern)] = arguments else {
        return Err(mismatch(function, arguments));
    };
    matches(text, pattern, function == Function::MatchesPatternInAnyCase).map(Value::Boolean)
}

fn matches(text: &str, pattern: &str, is_any_case: bool) -> Result<bool> {
    KEPT.with_borrow_mut(|kept| {
        let known = kept.iter().position(|one| one.is_any_case == is_any_case && one.pattern == pattern);
        let one = match known {
            Some(at) => kept.remove(at),
            None => {
                if kept.len() >= MOST_KEPT {
                    kept.remove(0);
                }
                Kept { pattern: pattern.to_owned(), is_any_case, regex: compile(pattern, is_any_case)? }
            }
        };
        let found = one.regex.is_match(text);
        kept.push(one);
        found.map_err(|_| {
            let message = "regular expression is too complex";
            Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
        })
    })
}

fn invalid(reason: &str) -> Error {
    let message = format!("invalid regular expression: {reason}");
    Error::input(sqlstate::INVALID_REGULAR_EXPRESSION, message)
}

fn compile(pattern: &str, is_any_case: bool) -> Result<Regex> {
    let flags = if is_any_case { "(?si)" } else { "(?s)" };
    let translated = format!("{flags}{}", translate(pattern)?);
    RegexBuilder::new(&translated).backtrack_limit(MOST_STEPS).delegate_size_limit(LARGEST).build().map_err(
        |error| match error {
            fancy_regex::Error::CompileError(_) => invalid("regular expression is too complex"),
            _ => invalid("quantifier operand invalid"),
        },
    )
}

fn translate(pattern: &str) -> Result<String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut characters = pattern.chars().peekable();
    let mut open = 0_u32;
    while let Some(character) = characters.next() {
        match character {
            '\\' => escape(characters.next(), &mut out)?,
            '[' => bracket(&mut characters, &mut out)?,
            '{' if !characters.peek().is_some_and(char::is_ascii_digit) => out.push_str("\\{"),
            '(' => {
                open += 1;
                out.push('(');
            }
            ')' => {
                open = open.checked_sub(1).ok_or_else(|| invalid("parentheses () not balanced"))?;
                out.push(')');
            }
            other => out.push(other),
        }
    }
    if open > 0 { Err(invalid("parentheses () not balanced")) } else { Ok(out) }
}

/// What stands behind a backslash.
fn escape(character: Option<char>, out: &mut String) -> Result<()> {
    let character = character.ok_or_else(|| invalid("invalid escape \\ sequence"))?;
    match character {
        'y' => out.push_str("\\b"),
        'Y' => out.push_str("\\B"),
        'm' => out.push_str("\\b(?=\\w)"),
        'M' => out.push_str("\\b(?<=\\w)"),
        'Z' => out.push_str("\\z"),
        'b' => out.push_str("\\x08"),
        other => {
            out.push('\\');
            out.push(other);
        }
    }
    Ok(())
}

/// From behind `[` to its `]`.
fn bracket(characters: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) -> Result<()> {
    let unbalanced = || invalid("brackets [] not balanced");
    out.push('[');
    if characters.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    if characters.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    loop {
        match characters.next().ok_or_else(unbalanced)? {
            ']' => break,
            '[' if characters.next_if_eq(&':').is_some() => {
                let mut name = String::new();
                loop {
                    match characters.next().ok_or_else(unbalanced)? {
                        ']' => break,
                        other => name.push(other),
                    }
                }
                out.push_str(class(&name)?);
            }
            '\\' => escape(characters.next(), out)?,
            special @ ('[' | '&' | '~') => {
                out.push('\\');
                out.push(special);
            }
            other => out.push(other),
        }
    }
    out.push(']');
    Ok(())
}

/// What is in a class, by what stands between `[:` and `]`.
fn class(name: &str) -> Result<&'static str> {
    Ok(match name {
        "alpha:" => "\\p{Alphabetic}",
        "digit:" => "0-9",
        "alnum:" => "\\p{Alphabetic}0-9",
        "upper:" => "\\p{Uppercase}",
        "lower:" => "\\p{Lowercase}",
        "space:" => "\\s",
        "blank:" => " \\t",
        "punct:" => "\\p{P}\\p{S}",
        "cntrl:" => "\\p{Cc}",
        "xdigit:" => "0-9A-Fa-f",
        "graph:" => "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}",
        "print:" => "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Zs}",
        "word:" => "\\w",
        _ => return Err(invalid("invalid character class")),
    })
}

#[cfg(test)]
mod tests {
    use super::matches;
    use crate::error::Error;

    #[test]
    fn texts_match_as_in_postgresql() {
        for (text, pattern, expected) in [
            ("child", "^(child)$", true),
            ("children", "^(child)$", false),
            ("pg_toast", "^pg_", true),
            ("a\nb", "a.b", true),
            ("a\nb", "^b", false),
            ("one two", "\\mtwo\\M", true),
            ("onetwo", "\\ytwo", false),
            ("a[b", "[[]", true),
            ("a]b", "[]]", true),
            ("x{y", "x{y", true),
            ("aa", "^(a)\\1$", true),
            ("ab", "^(a)\\1$", false),
            ("foobar", "foo(?!bar)", false),
            ("é1", "^[[:alpha:]][[:digit:]]$", true),
            ("a&b", "[&&]", true),
        ] {
            assert_eq!(matches(text, pattern, false).unwrap(), expected, "{text} ~ {pattern}");
        }
        assert!(matches("ABC", "b", true).unwrap());
    }

    #[test]
    fn what_is_no_regular_expression_is_refused_in_postgresqls_words() {
        for (pattern, expected) in [
            ("(", "invalid regular expression: parentheses () not balanced"),
            ("a)", "invalid regular expression: parentheses () not balanced"),
            ("[a", "invalid regular expression: brackets [] not balanced"),
            ("*", "invalid regular expression: quantifier operand invalid"),
            ("[[:nope:]]", "invalid regular expression: invalid character class"),
            ("a\\", "invalid regular expression: invalid escape \\ sequence"),
        ] {
            let Err(Error::Input(error)) = matches("a", pattern, false) else { panic!("{pattern}") };
            assert_eq!(error.message, expected, "{pattern}");
        }
    }

    #[test]
    fn backtracking_has_a_limit() {
        assert!(matches(&"a".repeat(40), "^((a+)+)\\1b$", false).is_err());
    }
}
