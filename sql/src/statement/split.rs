//! Facts about a query string that are found before it is parsed: where its statements end, and whether it
//! exceeds limits on what the parser is given.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::{guest, memory};

use super::lexer::{Lexer, Token, TokenKind, character_position, truncation};

/// The longest chain of operators within one list item that is passed to the recursive parser, binder and
/// evaluator.
const LONGEST_OPERATOR_CHAIN: usize = 5_000;
/// The maximum number of dots in one name that is passed to the parser, which takes time quadratic in it.
const MOST_DOTS: usize = 100;
/// The cost of reading a token, as work of a guest.
const UNITS_PER_TOKEN: u32 = 4;
/// PostgreSQL's limit on the number of parameters.
const LARGEST_PARAMETER: u32 = 65_535;

/// Splits a query string after its semicolons. Empty statements are left out. Each statement comes with the
/// 0-based character offset at which its text starts, and keeps its semicolon, because PostgreSQL's `syntax
/// error at or near ";"` shows it.
pub(crate) fn split(sql: &str) -> Result<Vec<(usize, String)>> {
    announce(sql)?;
    let mut statements = Vec::new();
    let mut lexer = Lexer::new(sql);
    let mut start = None;
    let (mut last_end, mut body) = (0, Depth::default());
    // Characters are counted once, from one statement to the next.
    let mut counted = (0, 0);
    let mut take = |start: Option<usize>, end: usize| {
        if let Some(start) = start {
            let (bytes, characters) = counted;
            counted = (start, characters + sql[bytes..start].chars().count());
            statements.push((counted.1, sql[start..end].to_owned()));
        }
        memory::check(0)
    };
    loop {
        let token = lexer.next()?;
        guest::spend(UNITS_PER_TOKEN)?;
        let is_in_body = body.see(&token);
        match token.kind {
            TokenKind::End => {
                take(start, last_end)?;
                return Ok(statements);
            }
            TokenKind::Symbol if token.text == ";" && !is_in_body => {
                take(start.take(), token.end())?;
                body = Depth::default();
            }
            _ => {
                start = start.or(Some(token.start));
                last_end = token.end();
            }
        }
    }
}

/// How much is open in the body of a routine in standard SQL, where a semicolon does not end the statement.
#[derive(Default)]
struct Depth {
    /// The first words, until it is known what the statement is.
    words: usize,
    creates: bool,
    is_after_begin: bool,
    depth: usize,
}

impl Depth {
    /// Takes the next token. Returns whether the statement goes on after it whatever it is.
    fn see(&mut self, token: &Token<'_>) -> bool {
        let is_word = |word: &str| token.kind == TokenKind::Word && token.is_word(word);
        self.words += 1;
        match self.words {
            1 if !is_word("create") => self.words = usize::MAX / 2,
            2 | 4 if is_word("function") || is_word("procedure") => self.creates = true,
            _ => {}
        }
        if self.creates {
            if self.depth > 0 {
                self.depth += usize::from(is_word("case"));
                self.depth -= usize::from(is_word("end"));
            } else if self.is_after_begin && is_word("atomic") {
                self.depth = 1;
            }
            self.is_after_begin = is_word("begin");
        }
        self.depth > 0
    }
}

/// Says that a long text is about to be passed over: it may be a single token.
fn announce(sql: &str) -> Result<()> {
    if sql.len() <= SHORT_BYTES { Ok(()) } else { guest::spend_for(sql.len()) }
}

/// Texts up to this length are parsed without a check of the memory needed.
const SHORT_BYTES: usize = 16 << 10;
/// The memory for tokens, tree and plan per token, not counting white space. Measured: 210 bytes
/// (parentheses) to 600 (rows of one value).
const BYTES_PER_TOKEN: usize = 600;

/// Refuses a text whose parsing would take more memory than is available, because the parser cannot be
/// stopped midway.
///
/// # Errors
/// 53200, and those of unterminated quotes and comments.
pub(crate) fn check_memory(sql: &str) -> Result<()> {
    if sql.len() <= SHORT_BYTES {
        return Ok(());
    }
    announce(sql)?;
    let mut lexer = Lexer::new(sql);
    let mut tokens = 0;
    while lexer.next()?.kind != TokenKind::End {
        guest::spend(UNITS_PER_TOKEN)?;
        tokens += 1;
    }
    memory::check(sql.len() + tokens * BYTES_PER_TOKEN)
}

/// The results of one pass over the tokens of a statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// The largest `$n`.
    pub(crate) parameters: u16,
    /// Names that are too long, each with its cut form.
    pub(crate) truncated: Vec<(String, String)>,
}

/// Passes over a statement once. Finds the largest parameter and refuses what would exhaust the stack.
pub(crate) fn survey(sql: &str) -> Result<Survey> {
    if is_plain(sql) { Ok(Survey::default()) } else { survey_tokens(sql) }
}

fn survey_tokens(sql: &str) -> Result<Survey> {
    let mut lexer = Lexer::new(sql);
    let mut result = Survey::default();
    // Operators seen since the last comma, for each open parenthesis.
    let mut chains = vec![0usize];
    let mut costly = Costly::default();
    let (mut dots, mut is_after_dot) = (0, false);
    loop {
        let token = lexer.next()?;
        guest::spend(UNITS_PER_TOKEN)?;
        costly.see(&token)?;
        result.truncated.extend(truncation(&token));
        if token.is_symbol(".") {
            dots += 1;
        } else if !is_after_dot {
            dots = 0;
        }
        is_after_dot = token.is_symbol(".");
        if dots > MOST_DOTS {
            let message = "improper qualified name (too many dotted names)";
            return Err(Error::input(sqlstate::SYNTAX_ERROR, message)
                .with_position(character_position(sql, token.start)));
        }
        match token.kind {
            TokenKind::End => return Ok(result),
            TokenKind::Parameter => {
                let number: u32 = token.text[1..].parse().unwrap_or(u32::MAX);
                if number == 0 || number > LARGEST_PARAMETER {
                    return Err(Error::input(
                        sqlstate::UNDEFINED_PARAMETER,
                        format!("there is no parameter {}", token.text),
                    )
                    .with_position(character_position(sql, token.start)));
                }
                result.parameters = result.parameters.max(u16::try_from(number).unwrap_or(u16::MAX));
            }
            TokenKind::Symbol => match token.text {
                "(" => chains.push(0),
                ")" => {
                    if chains.len() > 1 {
                        chains.pop();
                    }
                }
                "," => count(&mut chains, true)?,
                "." => {}
                _ => count(&mut chains, false)?,
            },
            TokenKind::Word if is_operator_word(token.text) => count(&mut chains, false)?,
            _ => {}
        }
    }
}

/// The longest text that [`is_plain`] examines.
const LONGEST_PLAIN_BYTES: usize = 500;
/// Names of more bytes are cut.
const LONGEST_PLAIN_WORD: usize = 63;

/// Whether the bytes alone show that the tokens are well-formed and hold nothing of interest: a short text
/// of words, numbers, blanks and operators, with few parentheses and dots, as in most statements of
/// applications.
/// applications are.
fn is_plain(sql: &str) -> bool {
    if sql.len() > LONGEST_PLAIN_BYTES {
        return false;
    }
    let (mut word, mut is_number, mut eights, mut opened, mut dots, mut last) = (0, false, 0, 0, 0, b' ');
    for byte in sql.bytes().chain([b' ']) {
        match byte {
            b'0'..=b'9' => {
                is_number |= word == 0;
                word += 1;
            }
            // Letters after digits are junk, an exponent, or a number in another base.
            b'a'..=b'z' | b'A'..=b'Z' | b'_' if is_number => return false,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => word += 1,
            _ => {
                // The words that can nest without parentheses have eight letters.
                eights += usize::from(word == COSTLY_NAMES[0].len());
                if word > LONGEST_PLAIN_WORD {
                    return false;
                }
                word = 0;
                // Digits after a number's dot belong to the number.
                is_number &= byte == b'.';
                match byte {
                    b' ' | b'\n' | b',' | b';' | b'=' | b'<' | b'>' | b'+' | b')' => {}
                    b'(' => opened += 1,
                    b'.' => dots += 1,
                    b'-' if last != b'-' => {}
                    b'*' if last != b'/' => {}
                    _ => return false,
                }
            }
        }
        last = byte;
    }
    opened <= DEEPEST_COSTLY && eights <= DEEPEST_COSTLY && dots <= MOST_DOTS
}

/// How deep calls that sqlparser reads twice on every level may nest.
const DEEPEST_COSTLY: usize = 8;

/// Tracks the nesting of calls whose parsing takes time exponential in the nesting.
#[derive(Default)]
struct Costly {
    /// For each open parenthesis, whether it opens such a call.
    open: Vec<bool>,
    depth: usize,
    is_after_name: bool,
}

impl Costly {
    fn see(&mut self, token: &Token<'_>) -> Result<()> {
        if token.is_symbol("(") {
            self.open.push(self.is_after_name);
            self.depth += usize::from(self.is_after_name);
        } else if token.is_symbol(")") && self.open.pop() == Some(true) {
            self.depth -= 1;
        }
        let is_name = token.kind == TokenKind::Word
            && COSTLY_NAMES.iter().any(|name| token.text.eq_ignore_ascii_case(name));
        // `interval interval ...` nests without parentheses.
        self.depth += usize::from(self.is_after_name && is_name);
        self.is_after_name = is_name;
        if self.depth > DEEPEST_COSTLY { Err(too_deep()) } else { Ok(()) }
    }
}

const COSTLY_NAMES: [&str; 2] = ["position", "interval"];

fn is_operator_word(word: &str) -> bool {
    [
        "and", "or", "not", "is", "isnull", "notnull", "like", "ilike", "in", "between", "collate", "case",
        "at", "union",
    ]
    .iter()
    .any(|operator| word.eq_ignore_ascii_case(operator))
}

fn count(chains: &mut [usize], resets: bool) -> Result<()> {
    if let Some(chain) = chains.last_mut() {
        *chain = if resets { 0 } else { *chain + 1 };
        if *chain > LONGEST_OPERATOR_CHAIN {
            return Err(too_deep());
        }
    }
    Ok(())
}

/// The error for an expression that nests deeper than the stack allows.
pub(crate) fn too_deep() -> Error {
    Error::input(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .with_hint("Write the expression with fewer operators, or nest it less deeply.")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_are_plain_only_without_findings(
            pieces in proptest::collection::vec(
                prop_oneof![
                    "[a-z0-9_$'\"./*(),;=<>+ \n-]{1,3}",
                    Just("interval ".to_owned()),
                    Just("position(".to_owned()),
                    Just("a_name_".repeat(9)),
                    Just("1e5".to_owned()),
                ],
                0..40,
            ),
        ) {
            let text = pieces.concat();
            if is_plain(&text) {
                prop_assert_eq!(survey_tokens(&text).ok(), Some(Survey::default()));
            }
        }
    }

    #[test]
    fn statements_of_applications_are_plain() {
        assert!(is_plain("SELECT abalance FROM pgbench_accounts WHERE aid = 12345;"));
        assert!(is_plain("UPDATE t SET a = a + -17, b = 2 * (b - 1) WHERE t.id >= 3"));
        assert!(!is_plain("select 123abc"));
        assert!(!is_plain("select 1 -- one"));
    }
}
