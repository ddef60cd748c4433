//! `CREATE TABLE t (LIKE other INCLUDING ..., ...)`.

use hyades_types::error::Result;

use super::lexer::{TokenKind, character_position};
use super::parsed::{CreateTableLike, LikeClause, LikeParts, Statement};
use super::tokens::Tokens;

/// `None` if it is not a CREATE TABLE, or has no LIKE among its columns.
pub(crate) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::new(sql)?;
    while tokens.accept_symbol(";") {}
    tokens.expect("create")?;
    tokens.persistence();
    if !tokens.accept("table") {
        return Ok(None);
    }
    if tokens.accept("if") {
        tokens.next();
        tokens.next();
    }
    if tokens.qualified_name().is_err() || !tokens.accept_symbol("(") {
        return Ok(None);
    }
    let mut clauses = Vec::new();
    loop {
        if tokens.peek().is_word("like") {
            clauses.push(clause(&mut tokens)?);
        }
        // Skips to the next element.
        loop {
            match tokens.peek() {
                token if token.is_symbol("(") => tokens.parentheses()?,
                token if token.is_symbol(",") || token.is_symbol(")") => break,
                token if token.kind == TokenKind::End => return Ok(None),
                _ => drop(tokens.next()),
            }
        }
        if tokens.next().is_symbol(")") {
            break;
        }
    }
    let create = CreateTableLike { text: sql.to_owned(), clauses };
    Ok((!create.clauses.is_empty()).then(|| Statement::CreateTableLike(Box::new(create))))
}

fn clause(tokens: &mut Tokens<'_>) -> Result<LikeClause> {
    let start = tokens.next().start;
    let position = character_position(tokens.sql, tokens.peek().start);
    let table = tokens.qualified_name()?;
    let mut parts = LikeParts::default();
    loop {
        let is_included = tokens.accept("including");
        if !is_included && !tokens.accept("excluding") {
            break;
        }
        let option = tokens.peek();
        let mut ignored = false;
        let named = match option.text.to_ascii_lowercase().as_str() {
            "defaults" => &mut parts.defaults,
            "constraints" => &mut parts.constraints,
            "indexes" => &mut parts.indexes,
            "identity" => &mut parts.identity,
            "generated" => &mut parts.generated,
            "comments" => &mut parts.comments,
            // Tables do not have these.
            "statistics" | "storage" | "compression" => &mut ignored,
            "all" => {
                parts = LikeParts::all(is_included);
                tokens.next();
                continue;
            }
            _ => return tokens.error(),
        };
        *named = is_included;
        tokens.next();
    }
    let end = tokens.peek();
    if !end.is_symbol(",") && !end.is_symbol(")") {
        return tokens.error();
    }
    Ok(LikeClause { start, end: end.start, table, position, parts })
}
