//! Clauses of PostgreSQL that are missing here. They are refused by name, not as syntax errors.
//!
//! Used only when a statement could not be parsed. Its first words, and the words around the place where
//! parsing failed, are compared with phrases of PostgreSQL's grammar that are missing here.

use hyades_types::error::{Error, InputError, sqlstate};

use super::lexer::TokenKind;
use super::tokens::Tokens;
use super::way_round::way_round;

/// Adjacent words, in lower case, and what is missing where they occur.
const MISSING: &[(&str, &str)] = &[
    ("attach partition", "ATTACH PARTITION"),
    ("detach partition", "DETACH PARTITION"),
    ("set unlogged", "SET UNLOGGED"),
    ("set logged", "SET LOGGED"),
    ("set statistics", "SET STATISTICS"),
    ("set tablespace", "SET TABLESPACE"),
    ("set access method", "SET ACCESS METHOD"),
    ("cluster on", "CLUSTER ON"),
    ("drop expression", "DROP EXPRESSION"),
    ("no inherit", "NO INHERIT"),
    ("inherit", "INHERIT"),
    ("alter database", "ALTER DATABASE"),
    ("alter routine", "ALTER ROUTINE"),
    ("drop routine", "DROP ROUTINE"),
    ("grouping sets", "GROUPING SETS"),
    ("search depth", "SEARCH DEPTH FIRST"),
    ("search breadth", "SEARCH BREADTH FIRST"),
    ("exclude using", "an exclusion constraint"),
    ("is document", "IS DOCUMENT"),
    ("is not document", "IS DOCUMENT"),
    ("using gist", "the index access method gist"),
];

/// The same for statements that begin with certain words, and only where parsing failed.
const MISSING_IN: &[(&str, &str, &str)] = &[
    ("alter view", "alter", "ALTER VIEW ... ALTER COLUMN"),
    ("alter table", "of", "ALTER TABLE ... OF"),
    ("alter table", "not of", "ALTER TABLE ... NOT OF"),
    ("create table", "of", "CREATE TABLE ... OF"),
];

/// Functions with a grammar of their own.
const MISSING_CALLS: &[&str] =
    &["xmlelement", "xmlexists", "xmlforest", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable"];

/// Objects that PostgreSQL can create, alter and drop, and that are missing here.
const OBJECTS: &[&str] = &[
    "access method",
    "aggregate",
    "cast",
    "collation",
    "conversion",
    "event trigger",
    "foreign data wrapper",
    "foreign table",
    "language",
    "large object",
    "operator class",
    "operator family",
    "operator",
    "policy",
    "publication",
    "rule",
    "server",
    "statistics",
    "subscription",
    "system",
    "tablespace",
    "text search",
    "transform",
    "user mapping",
];

/// The name of the statement that begins with these words, in lower case, if it is about such an object.
pub(crate) fn statement_of_object(words: &[&str]) -> Option<String> {
    let (verb, rest) = words.split_first()?;
    if !["create", "alter", "drop"].contains(verb) {
        return None;
    }
    let is_before =
        |word: &&&str| matches!(**word, "or" | "replace" | "constraint" | "trusted" | "procedural");
    let rest = &rest[rest.iter().take_while(is_before).count()..];
    let begins = |object: &&&str| rest.starts_with(&object.split(' ').collect::<Vec<_>>());
    OBJECTS.iter().find(begins).map(|object| format!("{verb} {object}").to_ascii_uppercase())
}

/// The same error, or 0A000 if the parser failed on something that is missing here.
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
        words.push(match token.kind {
            TokenKind::Word => token.text.to_ascii_lowercase(),
            _ if token.text == "(" => token.text.to_owned(),
            _ => String::new(),
        });
    }
    let first_words: Vec<&str> = words.iter().take(6).map(String::as_str).collect();
    let what = statement_of_object(&first_words).or_else(|| missing_clause(&words, at?))?;
    Some(refusal(&what))
}

/// Error 0A000 for something that is missing.
pub(crate) fn refusal(what: &str) -> Error {
    let verb = if what.ends_with("tables") { "are" } else { "is" };
    let error = Error::input(sqlstate::FEATURE_NOT_SUPPORTED, format!("{what} {verb} not supported yet"));
    match way_round(what) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// The missing clause around the word at this place.
fn missing_clause(words: &[String], at: usize) -> Option<String> {
    let stands_there = |phrase: &str| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        let first = at.saturating_sub(phrase.len());
        (first..=at)
            .any(|from| words.len() >= from + phrase.len() && words[from..from + phrase.len()] == phrase)
    };
    if let Some((_, what)) = MISSING.iter().find(|(phrase, _)| stands_there(phrase)) {
        return Some((*what).to_owned());
    }
    let begins = |words: &[String], phrase: &str| {
        phrase.split(' ').enumerate().all(|(at, word)| words.get(at).is_some_and(|own| own == word))
    };
    let (before, after) = words.split_at(at);
    let here = |(first, phrase, _): &&(&str, &str, &str)| begins(words, first) && begins(after, phrase);
    if let Some((.., what)) = MISSING_IN.iter().find(here) {
        return Some((*what).to_owned());
    }
    // The call whose arguments contain the place, or have ended before it.
    let calls = before.windows(2).rev().filter(|pair| pair[1] == "(");
    let call = calls.map(|pair| pair[0].as_str()).find(|name| MISSING_CALLS.contains(name))?;
    Some(format!("function {call}"))
}
