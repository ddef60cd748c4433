//! CREATE AGGREGATE, in its present form and in the one of before PostgreSQL 8.2.

use hyades_types::error::{Error, Result, sqlstate};

use super::lexer::{TokenKind, string_value};
use super::parsed::{CreateAggregate, Statement};
use super::routine_syntax;
use super::tokens::Tokens;

/// `CREATE AGGREGATE`.
pub(super) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "create")?;
    let or_replace = tokens.peek().is_word("or") && tokens.peek_at(1).is_word("replace");
    if or_replace {
        tokens.next();
        tokens.next();
    }
    if !tokens.accept("aggregate") {
        return Ok(None);
    }
    let name = tokens.qualified_name()?;
    // The old form begins with an option.
    let is_old = tokens.peek_at(2).is_symbol("=");
    let parameters = if is_old { None } else { Some(routine_syntax::aggregate_signature(&mut tokens)?) };
    let options = options(&mut tokens)?;
    tokens.end()?;
    let create = CreateAggregate { or_replace, name, parameters, options };
    Ok(Some(Statement::CreateAggregate(Box::new(create))))
}

/// `(name [= value], ...)`, with the texts of the values.
fn options(tokens: &mut Tokens<'_>) -> Result<Vec<(String, Option<String>)>> {
    tokens.expect_symbol("(")?;
    let mut options = Vec::new();
    loop {
        let name = tokens.label()?;
        let value = if tokens.accept_symbol("=") { Some(value(tokens)?) } else { None };
        options.push((name, value));
        if !tokens.accept_symbol(",") {
            break;
        }
    }
    tokens.expect_symbol(")")?;
    Ok(options)
}

/// The text of a value; the content of a string.
fn value(tokens: &mut Tokens<'_>) -> Result<String> {
    let (start, first) = (tokens.peek().start, tokens.peek());
    let mut depth = 0_usize;
    let mut count = 0_usize;
    loop {
        let token = tokens.peek();
        match token.text {
            _ if token.kind == TokenKind::End => return tokens.error(),
            "(" | "[" if token.kind == TokenKind::Symbol => depth += 1,
            "," | ")" if depth == 0 && token.kind == TokenKind::Symbol => break,
            ")" | "]" if token.kind == TokenKind::Symbol => depth = depth.saturating_sub(1),
            _ => {}
        }
        tokens.next();
        count += 1;
    }
    match (count, first.kind) {
        (0, _) => tokens.error(),
        (1, TokenKind::String) => Ok(string_value(first.text)),
        _ => Ok(tokens.text_from(start)),
    }
}

/// Reads the name of a function in the value of an option.
pub(crate) fn function_name(text: &str) -> Result<super::QualifiedName> {
    let mut tokens = Tokens::new(text)?;
    let name = tokens.qualified_name()?;
    match tokens.peek().kind {
        TokenKind::End => Ok(name),
        _ => Err(Error::input(sqlstate::INVALID_NAME, format!("invalid name syntax: {text}"))),
    }
}
