//! Names and named arguments in the form that the parser produces.

use std::sync::LazyLock;

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::text::LONGEST_NAME;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart};

/// The words that PostgreSQL reserves, in order.
static RESERVED_WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let words = "\
    all analyse analyze and any array as asc asymmetric both case cast check collate column constraint \
        create default deferrable desc distinct do else end except false fetch for foreign from grant group \
        having in initially intersect into lateral leading limit not null offset on only or order placing \
        primary references returning select some symmetric table then to trailing true union unique user \
        using variadic when where window with";
    words.split_ascii_whitespace().collect()
});
/// The length of the longest reserved word.
const MOST_BYTES: usize = 10;

/// Whether PostgreSQL reserves the word, so that it cannot be a name without quotes. Called for most words
/// of most statements.
pub(crate) fn is_reserved(word: &str) -> bool {
    let mut lower = [0; MOST_BYTES];
    let Some(lower) = lower.get_mut(..word.len()) else { return false };
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    RESERVED_WORDS.binary_search_by(|reserved| reserved.as_bytes().cmp(lower)).is_ok()
}

/// Whether the word can name a relation without quotes: PostgreSQL's ColId, which excludes words that can
/// name only types and functions.
pub(crate) fn can_name_relation(word: &str) -> bool {
    const OTHERS: [&str; 23] = [
        "authorization",
        "binary",
        "collation",
        "concurrently",
        "cross",
        "current_schema",
        "freeze",
        "full",
        "ilike",
        "inner",
        "is",
        "isnull",
        "join",
        "left",
        "like",
        "natural",
        "notnull",
        "outer",
        "overlaps",
        "right",
        "similar",
        "tablesample",
        "verbose",
    ];
    !is_reserved(word) && !OTHERS.iter().any(|other| other.eq_ignore_ascii_case(word))
}

/// The name, quoted if necessary.
pub(crate) fn quoted(name: &str) -> String {
    let is_start = |character: char| character.is_ascii_lowercase() || character == '_';
    let is_plain = name.starts_with(is_start)
        && name.chars().all(|character| is_start(character) || character.is_ascii_digit())
        && !is_reserved(name);
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// `first_second_label`, with both names cut to make it a valid name. If the second is empty,
/// `first_label`.
pub(crate) fn cut_name(first: &str, second: &str, label: &str) -> String {
    let room = LONGEST_NAME - label.len() - if second.is_empty() { 1 } else { 2 };
    let (mut kept, mut kept_second) = (first.len(), second.len());
    while kept + kept_second > room {
        if kept > kept_second {
            kept -= 1;
        } else {
            kept_second -= 1;
        }
    }
    let cut = |name: &str, bytes: usize| name[..name.floor_char_boundary(bytes)].to_owned();
    match second {
        "" => format!("{}_{label}", cut(first, kept)),
        _ => format!("{}_{}_{label}", cut(first, kept), cut(second, kept_second)),
    }
}

/// An identifier as it is stored.
pub(crate) fn fold(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_ascii_lowercase() }
}

/// The identifiers of a dotted name.
pub(crate) fn parts(name: &ObjectName) -> Result<Vec<&Ident>> {
    name.0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => Ok(ident),
            ObjectNamePart::Function(_) => {
                Err(Error::input(sqlstate::SYNTAX_ERROR, format!("\"{name}\" is not a name")))
            }
        })
        .collect()
}

/// The expressions and the names of arguments. There is no expression for `*`.
pub(crate) fn split_arguments(
    arguments: &[FunctionArg],
    misplaced: impl Fn(Option<&ast::Expr>) -> Error,
) -> Result<(Vec<Option<&ast::Expr>>, Vec<String>)> {
    let (mut exprs, mut names) = (Vec::with_capacity(arguments.len()), Vec::new());
    for argument in arguments {
        let value = match argument {
            FunctionArg::Named { name, arg, .. } => {
                names.push(fold(name));
                arg
            }
            FunctionArg::ExprNamed { name: ast::Expr::Identifier(name), arg, .. } => {
                names.push(fold(name));
                arg
            }
            FunctionArg::ExprNamed { arg, .. } | FunctionArg::Unnamed(arg) => arg,
        };
        let expr = match value {
            FunctionArgExpr::Expr(expr) => Some(expr),
            _ => None,
        };
        if matches!(argument, FunctionArg::Unnamed(_)) && !names.is_empty() {
            return Err(misplaced(expr));
        }
        exprs.push(expr);
    }
    Ok((exprs, names))
}

/// The name of a function that may be one of the catalog.
pub(crate) fn name_in_catalog(name: &ObjectName) -> Option<String> {
    match parts(name).ok()?.as_slice() {
        [name] => Some(fold(name)),
        [schema, name] if fold(schema) == "pg_catalog" => Some(fold(name)),
        _ => None,
    }
}

/// Error 42601, in PostgreSQL's words.
pub(crate) fn positional_after_named() -> Error {
    Error::input(sqlstate::SYNTAX_ERROR, "positional argument cannot follow named argument")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_found() {
        assert!(RESERVED_WORDS.is_sorted());
        assert_eq!(RESERVED_WORDS.iter().map(|word| word.len()).max(), Some(MOST_BYTES));
        assert!(RESERVED_WORDS.iter().all(|word| is_reserved(word) && is_reserved(&word.to_uppercase())));
        assert!(["", "abalance", "usr", "selects", "asymmetrical"].iter().all(|word| !is_reserved(word)));
    }
}
