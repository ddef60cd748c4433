//! Clauses of PostgreSQL that are missing here: they are refused by their names, not as errors of syntax.
//!
//! Looked at only when a statement could not be parsed: the words around the place where that failed are
//! compared with those that PostgreSQL's grammar has and this one lacks.

use hyades_types::error::{Error, InputError, sqlstate};

use super::lexer::TokenKind;
use super::tokens::Tokens;

/// Words that stand together, in lower case, and what is missing where they do.
const MISSING: &[(&str, &str)] = &[
    ("attach partition", "ATTACH PARTITION"),
    ("detach partition", "DETACH PARTITION"),
    ("set unlogged", "SET UNLOGGED"),
    ("set logged", "SET LOGGED"),
    ("set statistics", "SET STATISTICS"),
    ("drop expression", "DROP EXPRESSION"),
    ("no inherit", "NO INHERIT"),
    ("create rule", "CREATE RULE"),
    ("replace rule", "CREATE RULE"),
    ("alter rule", "ALTER RULE"),
    ("drop rule", "DROP RULE"),
    ("create aggregate", "CREATE AGGREGATE"),
    ("drop aggregate", "DROP AGGREGATE"),
    ("create cast", "CREATE CAST"),
    ("drop cast", "DROP CAST"),
    ("create conversion", "CREATE CONVERSION"),
    ("create language", "CREATE LANGUAGE"),
    ("create statistics", "CREATE STATISTICS"),
    ("create publication", "CREATE PUBLICATION"),
    ("create subscription", "CREATE SUBSCRIPTION"),
    ("create event trigger", "CREATE EVENT TRIGGER"),
    ("create foreign", "CREATE FOREIGN"),
    ("create access method", "CREATE ACCESS METHOD"),
    ("create transform", "CREATE TRANSFORM"),
    ("create tablespace", "CREATE TABLESPACE"),
    ("create text search", "CREATE TEXT SEARCH"),
    ("alter text search", "ALTER TEXT SEARCH"),
    ("drop text search", "DROP TEXT SEARCH"),
    ("alter routine", "ALTER ROUTINE"),
    ("drop routine", "DROP ROUTINE"),
    ("grouping sets", "GROUPING SETS"),
    ("rows from", "ROWS FROM"),
    ("search depth", "SEARCH DEPTH FIRST"),
    ("search breadth", "SEARCH BREADTH FIRST"),
    ("variadic", "VARIADIC in a call"),
    ("preceding exclude", "EXCLUDE"),
    ("following exclude", "EXCLUDE"),
    ("row exclude", "EXCLUDE"),
    ("exclude using", "an exclusion constraint"),
    ("using gist", "the index access method gist"),
];

/// The same error, or 0A000 if what the parser stumbled over is missing here.
pub(super) fn named(sql: &str, error: Error) -> Error {
    match &error {
        Error::Input(input) if input.state == sqlstate::SYNTAX_ERROR => missing(sql, input).unwrap_or(error),
        _ => error,
    }
}

fn missing(sql: &str, input: &InputError) -> Option<Error> {
    let before = usize::try_from(input.position?).ok()?.checked_sub(1)?;
    let (start, _) = sql.char_indices().nth(before)?;
    let mut tokens = Tokens::new(sql).ok()?;
    let mut words = Vec::new();
    let mut at = None;
    while tokens.peek().kind != TokenKind::End {
        let token = tokens.next();
        if token.start == start {
            at = Some(words.len());
        }
        words.push(if token.kind == TokenKind::Word {
            token.text.to_ascii_lowercase()
        } else {
            String::new()
        });
    }
    let at = at?;
    let stands_there = |phrase: &str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        let first = at.saturating_sub(phrase.len());
        (first..=at)
            .any(|from| words.len() >= from + phrase.len() && words[from..from + phrase.len()] == phrase)
    };
    let (_, what) = MISSING.iter().find(|(phrase, _)| stands_there(phrase))?;
    Some(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, format!("{what} is not supported yet")))
}
