//! CREATE, ALTER and DROP VIEW.
//!
//! The query is kept as text, like that of CREATE TABLE AS.

use hyades_types::error::Result;
use hyades_types::refusal::{Missing, refused};

use super::lexer::character_position;
use super::parsed::{CreateView, DropView, Statement};
use super::tokens::Tokens;

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
    refuse_check_option(&query, query_offset)?;
    let create =
        CreateView { name, columns, options, query, query_offset, or_replace, is_temporary, is_recursive };
    Ok(Some(Statement::CreateView(Box::new(create))))
}

/// Refuses a query that ends in WITH [LOCAL | CASCADED] CHECK OPTION. It begins after `offset` characters.
fn refuse_check_option(query: &str, offset: u32) -> Result<()> {
    let tokens = Tokens::new(query)?.tokens;
    match tokens.as_slice() {
        [.., check, option, _] if check.is_word("check") && option.is_word("option") => {
            let position = offset + character_position(query, check.start);
            Err(refused(Missing::CheckOption, "WITH CHECK OPTION is").with_position(position))
        }
        _ => Ok(()),
    }
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
