//! CREATE and DROP EXTENSION.

use hyades_types::error::Result;
use hyades_types::refusal::Missing;

use super::lexer::TokenKind;
use super::parsed::{CreateExtension, ExtensionCommand, Statement};
use super::tokens::Tokens;

/// `CREATE EXTENSION`, or `None` for another CREATE.
pub(super) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "create")?;
    if !tokens.accept("extension") {
        return Ok(None);
    }
    let if_not_exists = tokens.if_not_exists()?;
    let name = tokens.identifier()?;
    tokens.accept("with");
    let mut create = CreateExtension { name, if_not_exists, schema: None, version: None };
    loop {
        if tokens.accept("schema") {
            create.schema = Some(tokens.identifier()?);
        } else if tokens.accept("version") {
            create.version = Some(match tokens.peek().kind {
                TokenKind::String => tokens.string()?,
                _ => tokens.label()?,
            });
        } else if !tokens.accept("cascade") {
            break;
        }
    }
    tokens.end()?;
    Ok(Some(Statement::Extension(ExtensionCommand::Create(create))))
}

/// `DROP EXTENSION`, or `None` for another DROP.
pub(super) fn drop_extension(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "drop")?;
    if !tokens.accept("extension") {
        return Ok(None);
    }
    let if_exists = tokens.if_exists()?;
    let mut names = vec![tokens.identifier()?];
    while tokens.accept_symbol(",") {
        names.push(tokens.identifier()?);
    }
    let cascades = tokens.drop_behavior();
    tokens.end()?;
    Ok(Some(Statement::Extension(ExtensionCommand::Drop { names, if_exists, cascades })))
}

/// `ALTER EXTENSION`, or `None` for another ALTER.
pub(super) fn alter(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "alter")?;
    if tokens.accept("extension") {
        tokens.unsupported_before(Missing::ExtensionChanges, "ALTER EXTENSION is")
    } else {
        Ok(None)
    }
}
