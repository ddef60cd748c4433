//! CREATE, ALTER, DROP and REFRESH MATERIALIZED VIEW.
//!
//! The query is kept as text, like that of CREATE TABLE AS. ALTER takes the actions of ALTER TABLE: the text
//! is read as such a statement, with blanks for the words that differ, so that all positions stay right.

use hyades_types::error::{Error, Result, sqlstate};

use super::parsed::{CreateTableAs, DropView, OnCommit, Refresh, Statement};
use super::query;
use super::table_as_syntax::{column_names, without_data_clause};
use super::tokens::Tokens;

/// `CREATE [UNLOGGED] MATERIALIZED VIEW`, or `None` for another CREATE.
pub(super) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "create")?;
    let replaces = tokens.accept("or") && tokens.accept("replace");
    let is_unlogged = tokens.accept("unlogged");
    let is_temporary = !is_unlogged && tokens.persistence();
    if !tokens.peek().is_word("materialized") {
        return Ok(None);
    }
    if replaces || is_temporary {
        return tokens.error();
    }
    tokens.next();
    tokens.expect("view")?;
    let if_not_exists = tokens.peek().is_word("if") && tokens.if_not_exists()?;
    let name = tokens.qualified_name()?;
    let Some(columns) = column_names(&mut tokens) else { return tokens.error() };
    if tokens.accept("using") {
        known("access method", &tokens.identifier()?, "heap")?;
    }
    let parameters = match tokens.accept("with") {
        true => tokens.parameters()?,
        false => Vec::new(),
    };
    if tokens.accept("tablespace") {
        known("tablespace", &tokens.identifier()?, "pg_default")?;
    }
    tokens.expect("as")?;
    let begins_query = |word: &&str| tokens.peek().is_word(word);
    if !tokens.peek().is_symbol("(") && !["select", "values", "with", "table"].iter().any(begins_query) {
        return tokens.error();
    }
    let (query, query_offset) = tokens.rest();
    let (query, is_filled) = without_data_clause(&query)?;
    if is_unlogged {
        let message = "materialized views cannot be unlogged";
        return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(Some(Statement::CreateTableAs(Box::new(CreateTableAs {
        name,
        columns,
        if_not_exists,
        query,
        query_offset,
        is_filled,
        is_into: false,
        is_temporary: false,
        on_commit: OnCommit::PreserveRows,
        parameters,
        is_materialized: true,
    }))))
}

/// Error 42704 unless the name is that of the only such object.
fn known(kind: &str, name: &str, only: &str) -> Result<()> {
    if name == only {
        return Ok(());
    }
    Err(Error::input(sqlstate::UNDEFINED_OBJECT, format!("{kind} \"{name}\" does not exist")))
}

/// `DROP MATERIALIZED VIEW`, or `None` for another DROP.
pub(super) fn drop_view(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "drop")?;
    if !tokens.accept("materialized") {
        return Ok(None);
    }
    tokens.expect("view")?;
    let if_exists = tokens.if_exists()?;
    let names = tokens.qualified_names()?;
    let cascades = tokens.drop_behavior();
    tokens.end()?;
    Ok(Some(Statement::DropView(DropView { names, if_exists, cascades, is_materialized: true })))
}

/// Actions of ALTER MATERIALIZED VIEW that are those of ALTER TABLE, or `None` for another ALTER.
pub(super) fn alter(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "alter")?;
    let first = tokens.peek();
    if !tokens.accept("materialized") {
        return Ok(None);
    }
    let second = tokens.peek();
    tokens.expect("view")?;
    let end = second.start + second.text.len();
    let width = sql[first.start..end].chars().count();
    let text = format!("{}{:<width$}{}", &sql[..first.start], "TABLE", &sql[end..]);
    match query::parse(&text)? {
        Statement::Query(statement) => match *statement {
            sqlparser::ast::Statement::AlterTable(alter) => {
                Ok(Some(Statement::AlterMaterialized(Box::new(alter))))
            }
            _ => tokens.error(),
        },
        _ => tokens.error(),
    }
}

/// `REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH [NO] DATA]`
pub(super) fn refresh(sql: &str) -> Result<Statement> {
    let mut tokens = Tokens::after(sql, "refresh")?;
    tokens.expect("materialized")?;
    tokens.expect("view")?;
    let is_concurrent = tokens.accept("concurrently");
    let name = tokens.qualified_name()?;
    let mut is_filled = true;
    if tokens.accept("with") {
        is_filled = !tokens.accept("no");
        tokens.expect("data")?;
    }
    tokens.end()?;
    Ok(Statement::Refresh(Refresh { name, is_concurrent, is_filled }))
}
