//! Clauses of PostgreSQL that are missing here. They are refused by name, not as syntax errors.
//!
//! Used only when a statement could not be parsed. Its first words, and the words around the place where
//! parsing failed, are compared with phrases of PostgreSQL's grammar that are missing here.

use hyades_types::error::{Error, InputError, sqlstate};
use hyades_types::refusal::{Missing, refused};

use super::lexer::{TokenKind, character_position};
use super::tokens::Tokens;

/// Adjacent words, in lower case, and what is missing where they occur: its name, and what can be done.
const MISSING: &[(&str, &str, Missing)] = &[
    ("attach partition", "ATTACH PARTITION", Missing::Partitions),
    ("detach partition", "DETACH PARTITION", Missing::Partitions),
    ("set unlogged", "SET UNLOGGED", Missing::Unlogged),
    ("set logged", "SET LOGGED", Missing::Needless),
    ("set statistics", "SET STATISTICS", Missing::Needless),
    ("set tablespace", "SET TABLESPACE", Missing::Tablespaces),
    ("set access method", "SET ACCESS METHOD", Missing::AccessMethods),
    ("cluster on", "CLUSTER ON", Missing::Clustering),
    ("drop expression", "DROP EXPRESSION", Missing::GeneratedColumns),
    ("no inherit", "NO INHERIT", Missing::Inheritance),
    ("inherit", "INHERIT", Missing::Inheritance),
    ("alter routine", "ALTER ROUTINE", Missing::RoutineChanges),
    ("search depth", "SEARCH DEPTH FIRST", Missing::SearchOrder),
    ("search breadth", "SEARCH BREADTH FIRST", Missing::SearchOrder),
    ("exclude using", "an exclusion constraint", Missing::Exclusion),
    ("is document", "IS DOCUMENT", Missing::Xml),
    ("is not document", "IS DOCUMENT", Missing::Xml),
    ("using gist", "the index access method gist", Missing::IndexMethods),
];

/// The same for statements that begin with certain words, and only where parsing failed.
const MISSING_IN: &[(&str, &str, &str, Missing)] = &[
    ("alter view", "alter", "ALTER VIEW ... ALTER COLUMN", Missing::ViewDefaults),
    ("alter table", "of", "ALTER TABLE ... OF", Missing::TypedTables),
    ("alter table", "not of", "ALTER TABLE ... NOT OF", Missing::TypedTables),
    ("create table", "of", "CREATE TABLE ... OF", Missing::TypedTables),
];

/// Actions of ALTER TABLE that sqlparser reads, by their first words in lower case.
const ACTIONS: &[(&str, Missing)] = &[
    ("enable row", Missing::Policies),
    ("force row", Missing::Policies),
    ("disable row", Missing::Needless),
    ("no force", Missing::Needless),
    ("enable rule", Missing::Rules),
    ("disable rule", Missing::Needless),
    ("replica identity", Missing::Needless),
];

/// Functions with a grammar of their own.
const MISSING_CALLS: &[&str] =
    &["xmlelement", "xmlexists", "xmlforest", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable"];

/// Objects that PostgreSQL can create, alter and drop, and that are missing here.
const OBJECTS: &[(&str, Missing)] = &[
    ("access method", Missing::AccessMethods),
    ("collation", Missing::Collations),
    ("conversion", Missing::Conversions),
    ("event trigger", Missing::EventTriggers),
    ("foreign data wrapper", Missing::ForeignData),
    ("foreign table", Missing::ForeignData),
    ("language", Missing::Languages),
    ("large object", Missing::LargeObjects),
    ("operator class", Missing::OperatorClasses),
    ("operator family", Missing::OperatorClasses),
    ("operator", Missing::Operators),
    ("policy", Missing::Policies),
    ("publication", Missing::Publications),
    ("rule", Missing::Rules),
    ("server", Missing::ForeignData),
    ("statistics", Missing::Statistics),
    ("subscription", Missing::Publications),
    ("system", Missing::System),
    ("tablespace", Missing::Tablespaces),
    ("text search", Missing::TextSearch),
    ("transform", Missing::Languages),
    ("user mapping", Missing::ForeignData),
];

/// What is missing, as a statement names it.
pub(crate) struct MissingPart {
    name: String,
    missing: Missing,
    /// Where it stands among the words.
    at: usize,
}

impl MissingPart {
    /// Error 0A000. `position_of` gives the position of one of the words.
    pub(crate) fn refusal(&self, position_of: impl FnOnce(usize) -> Option<u32>) -> Error {
        let error = refused(self.missing, &format!("{} is", self.name));
        match position_of(self.at) {
            Some(position) => error.with_position(position),
            None => error,
        }
    }
}

/// What the statement that begins with these words, in lower case, is about, if it is such an object.
pub(crate) fn object_of_statement(words: &[&str]) -> Option<MissingPart> {
    let (verb, rest) = words.split_first()?;
    if !["create", "alter", "drop"].contains(verb) {
        return None;
    }
    let is_before =
        |word: &&&str| matches!(**word, "or" | "replace" | "constraint" | "trusted" | "procedural");
    let before = rest.iter().take_while(is_before).count();
    let begins =
        |(object, _): &&(&str, Missing)| rest[before..].starts_with(&object.split(' ').collect::<Vec<_>>());
    let (object, missing) = OBJECTS.iter().find(begins)?;
    let missing = match *missing {
        Missing::System | Missing::LargeObjects => *missing,
        creation if *verb == "create" => creation,
        _ => Missing::AbsentObjects,
    };
    Some(MissingPart { name: format!("{verb} {object}").to_ascii_uppercase(), missing, at: before + 1 })
}

/// What is missing where the statement that begins with these two words, in lower case, is read by sqlparser
/// and by nothing else.
pub(crate) fn missing_statement(words: &str) -> Missing {
    match words {
        "alter function" | "alter procedure" => Missing::RoutineChanges,
        _ => Missing::OtherForms,
    }
}

/// What is missing where ALTER TABLE has an action that begins with these words, in lower case.
pub(crate) fn missing_action(words: &str) -> Missing {
    ACTIONS.iter().find(|(first, _)| *first == words).map_or(Missing::Dialects, |(_, missing)| *missing)
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
    let (mut words, mut starts) = (Vec::new(), Vec::new());
    while tokens.peek().kind != TokenKind::End {
        let token = tokens.next();
        starts.push(token.start);
        words.push(match token.kind {
            TokenKind::Word => token.text.to_ascii_lowercase(),
            _ if token.text == "(" => token.text.to_owned(),
            _ => String::new(),
        });
    }
    let at = starts.iter().position(|own| *own == start);
    let first_words: Vec<&str> = words.iter().take(6).map(String::as_str).collect();
    let part = object_of_statement(&first_words).or_else(|| missing_clause(&words, at?))?;
    Some(part.refusal(|at| starts.get(at).map(|start| character_position(sql, *start))))
}

/// The missing clause around the word at this place.
fn missing_clause(words: &[String], place: usize) -> Option<MissingPart> {
    let begins = |words: &[String], phrase: &str| {
        phrase.split(' ').enumerate().all(|(at, word)| words.get(at).is_some_and(|own| own == word))
    };
    let part = |name: &str, missing, at| MissingPart { name: name.to_owned(), missing, at };
    for (phrase, name, missing) in MISSING {
        let first = place.saturating_sub(phrase.split(' ').count());
        if let Some(at) = (first..=place).find(|from| begins(&words[*from..], phrase)) {
            // A statement is missing because of what it is about.
            return Some(part(name, *missing, at + usize::from(phrase.starts_with("alter "))));
        }
    }
    let (before, after) = words.split_at(place);
    let here =
        |(first, phrase, ..): &&(&str, &str, &str, Missing)| begins(words, first) && begins(after, phrase);
    if let Some((.., name, missing)) = MISSING_IN.iter().find(here) {
        return Some(part(name, *missing, place));
    }
    // The call whose arguments contain the place, or have ended before it.
    let at =
        before.windows(2).rposition(|pair| pair[1] == "(" && MISSING_CALLS.contains(&pair[0].as_str()))?;
    Some(part(&format!("function {}", before[at]), Missing::Xml, at))
}
