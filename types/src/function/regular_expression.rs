//! PostgreSQL's advanced regular expressions, translated for the engine of `fancy-regex`; `~` and `~*`.
//!
//! The dialects differ in: `\y`, `\Y`, `\m`, `\M` and `\Z`, a `[` inside brackets, a `{` that does not begin
//! a count, options before the expression (`(?i)`, `***=`), and a dot, which matches any character.
//! Backtracking, which back references and lookaround need, is limited. Everything else takes time
//! proportional to the text, and at worst also to the expression, written without counts. A match cannot be
//! cancelled, so one of a long text with a long expression is refused.
//!
//! Whether a text matches is the same in both dialects. The part that matches may differ if alternatives have
//! a common prefix (`a|ab`): the first that fits is taken here, the longest by PostgreSQL.

use std::cell::RefCell;
use std::iter::Peekable;
use std::str::Chars;

use fancy_regex::{Regex, RegexBuilder};

use super::{Function, mismatch};
use crate::environment::Environment;
use crate::error::{Error, Result, sqlstate};
use crate::guest;
use crate::memory;
use crate::refusal::{Missing, refused};
use crate::value::Value;

/// Steps of backtracking in one match.
const MOST_STEPS: usize = 1_000_000;
/// What a step that may be taken back takes.
const STEP_BYTES: usize = 40;
/// Bytes of a compiled expression.
const LARGEST: usize = 4 << 20;
/// Bytes of a pattern, at most.
const LONGEST: usize = 1 << 20;
/// What compiling takes for a byte of the pattern.
const TREE_BYTES: usize = 200;
const UNITS_PER_BYTE: usize = 50;
/// An expression of this many states matches texts of any length.
const FEW_STATES: usize = 1000;
/// States times bytes of the text, at most, for one of more. At worst each byte looks at each state.
const MOST_WORK: usize = 1 << 31;
/// The maximum number of compiled expressions that a thread keeps.
const MOST_KEPT: usize = 16;

/// The options of an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) is_any_case: bool,
    /// Neither a dot nor `[^...]` matches a line break.
    pub(super) stops_at_lines: bool,
    /// `^` and `$` match at line breaks too.
    pub(super) anchors_at_lines: bool,
    /// Blanks and comments are ignored.
    pub(super) is_expanded: bool,
    /// The expression is literal text.
    pub(super) is_literal: bool,
    /// All matches, not only the first: an option of the function, not of the expression.
    pub(super) is_global: bool,
}

impl Options {
    /// The options for the letters that a function is given.
    pub(super) fn of(letters: &str) -> Result<Options> {
        let mut options = Options::default();
        for letter in letters.chars() {
            match letter {
                'g' => options.is_global = true,
                letter if options.take(letter) => {}
                'b' => return Err(basic()),
                _ => {
                    let message = format!("invalid regular expression option: \"{letter}\"");
                    return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
            }
        }
        Ok(options)
    }

    /// Sets the option with this letter; returns whether there is one.
    fn take(&mut self, letter: char) -> bool {
        match letter {
            'c' => self.is_any_case = false,
            'e' => self.is_literal = false,
            'i' => self.is_any_case = true,
            'm' | 'n' => (self.stops_at_lines, self.anchors_at_lines) = (true, true),
            'p' => (self.stops_at_lines, self.anchors_at_lines) = (true, false),
            'q' => self.is_literal = true,
            's' => (self.stops_at_lines, self.anchors_at_lines) = (false, false),
            't' => self.is_expanded = false,
            'w' => (self.stops_at_lines, self.anchors_at_lines) = (false, true),
            'x' => self.is_expanded = true,
            _ => return false,
        }
        true
    }

    /// Consumes the options in front of the expression; returns the expression.
    fn take_leading<'p>(&mut self, pattern: &'p str) -> Result<&'p str> {
        if let Some(literal) = pattern.strip_prefix("***=") {
            self.is_literal = true;
            return Ok(literal);
        }
        if self.is_literal {
            return Ok(pattern);
        }
        let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
        let Some((letters, rest)) = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')')) else {
            return Ok(pattern);
        };
        if letters.is_empty() || !letters.bytes().all(|letter| letter.is_ascii_lowercase()) {
            return Ok(pattern);
        }
        for letter in letters.chars() {
            if letter == 'b' {
                return Err(basic());
            }
            if !self.take(letter) {
                return Err(invalid("invalid embedded option"));
            }
        }
        Ok(rest)
    }
}

fn basic() -> Error {
    refused(Missing::BasicExpressions, "basic regular expressions are")
}

/// A compiled expression with its source.
struct Kept {
    pattern: String,
    options: Options,
    regex: Regex,
    /// Back references or lookaround: matching remembers where to go back to.
    backtracks: bool,
    /// See [`states_of`].
    states: usize,
}

impl Kept {
    /// Asks for what a match remembers, and refuses one that may take very long.
    fn ask_for_steps(&self, text: &str) -> Result<()> {
        if self.states > FEW_STATES && self.states.saturating_mul(text.len()) > MOST_WORK {
            return Err(too_complex_for(text));
        }
        if !self.backtracks {
            return Ok(());
        }
        let steps = (text.len() + 1).saturating_mul(self.pattern.len()).min(MOST_STEPS);
        memory::check(steps * STEP_BYTES)
    }
}

thread_local! {
    /// The most recently used one is the last.
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn call(function: Function, arguments: &[Value], _environment: &Environment) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern)] = arguments else {
        return Err(mismatch(function, arguments));
    };
    matches(text, pattern, function == Function::MatchesPatternInAnyCase).map(Value::Boolean)
}

pub(super) fn matches(text: &str, pattern: &str, is_any_case: bool) -> Result<bool> {
    let options = Options { is_any_case, ..Options::default() };
    is_match(text, pattern, options)
}

/// Whether an expression matches anywhere in a text.
pub(super) fn is_match(text: &str, pattern: &str, options: Options) -> Result<bool> {
    guest::spend_for(text.len() / super::BYTES_PER_UNIT)?;
    with_regex(pattern, options, text, |regex| regex.is_match(text).map_err(too_complex))
}

/// Asks for what compiling a pattern takes: its tree is far larger than its text.
pub(super) fn ask_for_pattern(pattern: &str) -> Result<()> {
    if pattern.len() > LONGEST {
        return Err(invalid("regular expression is too complex"));
    }
    memory::check(pattern.len().saturating_mul(TREE_BYTES))?;
    guest::spend_for(pattern.len().saturating_mul(UNITS_PER_BYTE))
}

/// Calls a function with a compiled expression, which it may match with (parts of) this text.
pub(super) fn with_regex<T>(
    pattern: &str,
    options: Options,
    text: &str,
    run: impl FnOnce(&Regex) -> Result<T>,
) -> Result<T> {
    let known = KEPT.with_borrow_mut(|kept| {
        let at = kept.iter().position(|one| one.options == options && one.pattern == pattern)?;
        Some(kept.remove(at))
    });
    let one = match known {
        Some(one) => one,
        None => {
            ask_for_pattern(pattern)?;
            let (regex, backtracks) = compile(pattern, options)?;
            Kept { pattern: pattern.to_owned(), options, regex, backtracks, states: states_of(pattern) }
        }
    };
    let found = one.ask_for_steps(text).and_then(|()| run(&one.regex));
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= MOST_KEPT {
            kept.remove(0);
        }
        kept.push(one);
    });
    found
}

fn too_complex_for(text: &str) -> Error {
    let message = "regular expression is too complex";
    Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, message)
        .with_detail(format!("The text to be searched has {} bytes.", text.len()))
}

/// The approximate number of states of an expression: its characters, each as often as counts repeat it.
fn states_of(pattern: &str) -> usize {
    // Of each open group: the states before its last atom, and those of the last atom.
    let mut groups = vec![(0_usize, 0_usize)];
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        let atom = match character {
            '(' => {
                groups.push((0, 0));
                continue;
            }
            ')' if groups.len() > 1 => groups.pop().map_or(0, |(before, last)| before.saturating_add(last)),
            '{' if characters.peek().is_some_and(char::is_ascii_digit) => {
                // Bounded: by the pattern, for which `ask_for_pattern` asks.
                let count = characters.by_ref().take_while(|next| *next != '}').collect::<String>();
                let most = count.split(',').filter_map(|number| number.parse::<usize>().ok()).max();
                if let Some((_, last)) = groups.last_mut() {
                    *last = last.saturating_mul(most.unwrap_or(1).max(1));
                }
                continue;
            }
            '\\' => characters.next().map_or(0, |_| 1),
            _ => 1,
        };
        if let Some((before, last)) = groups.last_mut() {
            (*before, *last) = (before.saturating_add(*last), atom);
        }
    }
    groups.into_iter().fold(0, |all, (before, last)| all.saturating_add(before).saturating_add(last))
}

pub(super) fn too_complex(_: fancy_regex::Error) -> Error {
    Error::input(sqlstate::PROGRAM_LIMIT_EXCEEDED, "regular expression is too complex")
}

fn invalid(reason: &str) -> Error {
    let message = format!("invalid regular expression: {reason}");
    Error::input(sqlstate::INVALID_REGULAR_EXPRESSION, message)
}

fn compile(pattern: &str, mut options: Options) -> Result<(Regex, bool)> {
    let pattern = options.take_leading(pattern)?;
    // Bounded: by the pattern, for which `ask_for_pattern` asks.
    let mut translated = String::with_capacity(pattern.len() + 8);
    for (letter, is_on) in [
        ("i", options.is_any_case),
        ("s", !options.stops_at_lines || options.is_literal),
        ("m", options.anchors_at_lines),
    ] {
        if is_on {
            translated.push_str(&format!("(?{letter})"));
        }
    }
    if options.is_literal {
        translated.push_str(&fancy_regex::escape(pattern));
    } else {
        translate(pattern, options, &mut translated)?;
    }
    let built = RegexBuilder::new(&translated)
        .backtrack_limit(MOST_STEPS)
        .delegate_size_limit(LARGEST)
        .build()
        .map_err(|error| match error {
            fancy_regex::Error::CompileError(_) => invalid("regular expression is too complex"),
            _ => invalid("quantifier operand invalid"),
        });
    Ok((built?, backtracks(&translated)))
}

/// Whether there may be a back reference or lookaround in it.
fn backtracks(translated: &str) -> bool {
    let has_reference =
        translated.as_bytes().windows(2).any(|two| two[0] == b'\\' && two[1].is_ascii_digit());
    has_reference || ["(?=", "(?!", "(?<"].iter().any(|lookaround| translated.contains(lookaround))
}

fn translate(pattern: &str, options: Options, out: &mut String) -> Result<()> {
    let mut characters = pattern.chars().peekable();
    let mut open = 0_u32;
    while let Some(character) = characters.next() {
        match character {
            '\\' => escape(&mut characters, out)?,
            '[' => bracket(&mut characters, options, out)?,
            '{' if !characters.peek().is_some_and(char::is_ascii_digit) => out.push_str("\\{"),
            '(' => {
                open += 1;
                out.push('(');
            }
            ')' => {
                open = open.checked_sub(1).ok_or_else(|| invalid("parentheses () not balanced"))?;
                out.push(')');
            }
            '#' if options.is_expanded => while characters.next().is_some_and(|next| next != '\n') {},
            blank if options.is_expanded && blank.is_ascii_whitespace() => {}
            other => out.push(other),
        }
    }
    if open > 0 { Err(invalid("parentheses () not balanced")) } else { Ok(()) }
}

/// The part of an escape after its backslash.
fn escape(characters: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<()> {
    let character = characters.next().ok_or_else(|| invalid("invalid escape \\ sequence"))?;
    match character {
        'y' => out.push_str("\\b"),
        'Y' => out.push_str("\\B"),
        'm' => out.push_str("\\b(?=\\w)"),
        'M' => out.push_str("\\b(?<=\\w)"),
        'Z' => out.push_str("\\z"),
        'a' => out.push_str("\\x07"),
        'b' => out.push_str("\\x08"),
        'B' => out.push_str("\\\\"),
        'e' => out.push_str("\\x1B"),
        '0' => out.push_str("\\x00"),
        'x' => push_code(characters, usize::MAX, out)?,
        'u' => push_code(characters, 4, out)?,
        'U' => push_code(characters, 8, out)?,
        other if other.is_ascii_alphanumeric() || other.is_ascii_punctuation() => {
            out.push('\\');
            out.push(other);
        }
        other => out.push(other),
    }
    Ok(())
}

/// A character given by its number in hexadecimal digits.
fn push_code(characters: &mut Peekable<Chars<'_>>, most: usize, out: &mut String) -> Result<()> {
    let mut code = 0_u32;
    let mut digits = 0;
    while digits < most
        && let Some(digit) = characters.peek().and_then(|next| next.to_digit(16))
    {
        code = code.saturating_mul(16).saturating_add(digit);
        digits += 1;
        characters.next();
    }
    if digits == 0 || (most < usize::MAX && digits < most) || char::from_u32(code).is_none() {
        return Err(invalid("invalid escape \\ sequence"));
    }
    out.push_str(&format!("\\x{{{code:X}}}"));
    Ok(())
}

/// The part from after `[` to its `]`.
fn bracket(characters: &mut Peekable<Chars<'_>>, options: Options, out: &mut String) -> Result<()> {
    let unbalanced = || invalid("brackets [] not balanced");
    out.push('[');
    if characters.next_if_eq(&'^').is_some() {
        out.push('^');
        if options.stops_at_lines {
            out.push_str("\\n");
        }
    }
    if characters.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    loop {
        match characters.next().ok_or_else(unbalanced)? {
            ']' => break,
            '[' if characters.next_if_eq(&':').is_some() => {
                // Bounded: by the pattern, for which `ask_for_pattern` asks.
                let mut name = String::new();
                loop {
                    match characters.next().ok_or_else(unbalanced)? {
                        ']' => break,
                        other => name.push(other),
                    }
                }
                out.push_str(class(&name)?);
            }
            '\\' => escape(characters, out)?,
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

/// The members of a class, given by the text between `[:` and `]`.
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
    fn a_match_that_may_take_very_long_is_refused() {
        let digits = |count: usize| "9".repeat(count);
        let (text, pattern) = (format!("{0}.{0}", digits(100_000)), format!("9.{}EEEE", digits(100_000)));
        assert!(matches(&text, &pattern, false).is_err());
        assert!(matches(&digits(1_000_000), "(a|b)*a((a|b){99}){99}", false).is_err());
        assert!(!matches(&digits(1_000_000), "[0-9]a", false).unwrap());
        assert!(matches(&digits(10_000), &digits(10_000), false).unwrap());
    }

    #[test]
    fn states_are_counted_as_often_as_they_are_repeated() {
        for (pattern, states) in
            [("abc", 3), ("a{3}b", 4), ("(ab){2,5}", 10), ("((a{9}){9}){9}x", 730), ("\\(a", 2)]
        {
            assert_eq!(super::states_of(pattern), states, "{pattern}");
        }
    }

    #[test]
    fn backtracking_has_a_limit() {
        assert!(matches(&"a".repeat(40), "^((a+)+)\\1b$", false).is_err());
    }
}
