//! CREATE, ALTER and DROP VIEW.
//!
//! The query is kept as text, like that of CREATE TABLE AS.

use hyades_types::error::Result;

use super::parsed::{CreateView, DropView, Statement};
use super::tokens::{Tokens, unsupported};

/// `CREATE VIEW`, or `None` for another CREATE.
pub(crate) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "create")?;
    let or_replace = tokens.accept("or") && tokens.accept("replace");
    let is_temporary = tokens.persistence();
    let is_recursive = tokens.accept("recursive");
    if !tokens.accept("view") {
        return Ok(None);
    }
    let name = tokens.qualified_name()?;
    let mut columns = Vec::new();
    if tokens.accept_symbol("(") {
        columns.push(tokens.identifier()?);
        while tokens.accept_symbol(",") {
            columns.push(tokens.identifier()?);
        }
        tokens.expect_symbol(")")?;
    } else if is_recursive {
        return tokens.error();
    }
    let mut options = Vec::new();
    if tokens.accept("with") {
        options = tokens.parameters()?;
    }
    tokens.expect("as")?;
    let begins_query = |word: &&str| tokens.peek().is_word(word);
    if !tokens.peek().is_symbol("(") && !["select", "values", "with", "table"].iter().any(begins_query) {
        return tokens.error();
    }
    let (query, query_offset) = tokens.rest();
    let query = without_check_option(&query)?;
    let create =
        CreateView { name, columns, options, query, query_offset, or_replace, is_temporary, is_recursive };
    Ok(Some(Statement::CreateView(Box::new(create))))
}

/// The query, which is refused if it ends in WITH [LOCAL | CASCADED] CHECK OPTION.
fn without_check_option(query: &str) -> Result<String> {
    let tokens = Tokens::new(query)?.tokens;
    let words: Vec<bool> = ["check", "option"]
        .iter()
        .enumerate()
        .map(|(at, word)| {
            let place = tokens.len().checked_sub(3 - at);
            place.and_then(|place| tokens.get(place)).is_some_and(|token| token.is_word(word))
        })
        .collect();
    if words.iter().all(|is_there| *is_there) {
        return unsupported("WITH CHECK OPTION is");
    }
    Ok(query.to_owned())
}

/// `DROP VIEW`, or `None` for another DROP.
pub(crate) fn drop_view(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "drop")?;
    if !tokens.accept("view") {
        return Ok(None);
    }
    let if_exists = tokens.if_exists()?;
    let names = tokens.qualified_names()?;
    let cascades = tokens.drop_behavior();
    tokens.end()?;
    Ok(Some(Statement::DropView(DropView { names, if_exists, cascades, is_materialized: false })))
}
