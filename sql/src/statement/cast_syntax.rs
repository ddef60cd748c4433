//! CREATE and DROP CAST.

use hyades_types::cast::CastContext;
use hyades_types::error::Result;

use super::parsed::{CastCommand, Statement, WrittenMethod, WrittenParameter};
use super::routine_syntax::{signature_of, unnamed_type};
use super::tokens::Tokens;

/// `CREATE CAST`, or `None` for another CREATE.
pub(super) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "create")?;
    if !tokens.accept("cast") {
        return Ok(None);
    }
    let types = types(&mut tokens)?;
    let method = if tokens.accept("without") {
        tokens.expect("function")?;
        WrittenMethod::WithoutFunction
    } else {
        tokens.expect("with")?;
        if tokens.accept("inout") {
            WrittenMethod::InOut
        } else {
            tokens.expect("function")?;
            let name = tokens.qualified_name()?;
            WrittenMethod::Function(name, signature_of(None, &mut tokens)?)
        }
    };
    let context = if !tokens.accept("as") {
        CastContext::Explicit
    } else if tokens.accept("implicit") {
        CastContext::Implicit
    } else {
        tokens.expect("assignment")?;
        CastContext::Assignment
    };
    tokens.end()?;
    Ok(Some(Statement::Cast(CastCommand::Create { types, context, method })))
}

/// `DROP CAST`, or `None` for another DROP.
pub(super) fn drop_cast(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "drop")?;
    if !tokens.accept("cast") {
        return Ok(None);
    }
    let if_exists = tokens.if_exists()?;
    let types = types(&mut tokens)?;
    let cascades = tokens.drop_behavior();
    tokens.end()?;
    Ok(Some(Statement::Cast(CastCommand::Drop { types, if_exists, cascades })))
}

/// `(source AS target)`.
pub(super) fn types(tokens: &mut Tokens<'_>) -> Result<Vec<WrittenParameter>> {
    tokens.expect_symbol("(")?;
    let source = unnamed_type(tokens)?;
    tokens.expect("as")?;
    let target = unnamed_type(tokens)?;
    tokens.expect_symbol(")")?;
    Ok(vec![source, target])
}
