//! CREATE, ALTER and DROP INDEX, and REINDEX.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;

use super::lexer::TokenKind;
use super::parsed::{
    CreateIndex, DropIndex, IndexKey, IndexedWritten, Maintained, QualifiedName, RenameIndex, Statement,
};
use super::tokens::Tokens;

/// `CREATE [UNIQUE] INDEX`, or `None` for another CREATE.
pub(crate) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "create")?;
    let is_unique = tokens.accept("unique");
    if !tokens.accept("index") {
        return if is_unique { tokens.error() } else { Ok(None) };
    }
    let is_concurrent = tokens.accept("concurrently");
    let if_not_exists = tokens.if_not_exists()?;
    let is_named = if_not_exists || !tokens.peek().is_word("on");
    let name = if is_named { Some(tokens.identifier()?) } else { None };
    tokens.expect("on")?;
    tokens.accept("only");
    let table = tokens.qualified_name()?;
    let method = if tokens.accept("using") { tokens.identifier()? } else { "btree".to_owned() };
    let keys = in_parentheses(&mut tokens, key)?;
    let included =
        if tokens.accept("include") { in_parentheses(&mut tokens, Tokens::identifier)? } else { Vec::new() };
    let nulls_are_equal = nulls_are_equal(&mut tokens)?;
    let parameters = if tokens.accept("with") { tokens.parameters()? } else { Vec::new() };
    if tokens.accept("tablespace") {
        return tokens.unsupported_before(Missing::Tablespaces, "tablespaces are");
    }
    let predicate = if tokens.accept("where") { Some(tokens.take_rest()) } else { None };
    tokens.end()?;
    Ok(Some(Statement::CreateIndex(Box::new(CreateIndex {
        name,
        table,
        method,
        keys,
        included,
        parameters,
        is_unique,
        nulls_are_equal,
        if_not_exists,
        is_concurrent,
        predicate,
    }))))
}

/// `DROP INDEX`, or `None` for another DROP.
pub(crate) fn drop_index(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "drop")?;
    if !tokens.accept("index") {
        return Ok(None);
    }
    let is_concurrent = tokens.accept("concurrently");
    let if_exists = tokens.if_exists()?;
    let names = tokens.qualified_names()?;
    let cascades = tokens.drop_behavior();
    tokens.end()?;
    Ok(Some(Statement::DropIndex(DropIndex { names, if_exists, cascades, is_concurrent })))
}

/// `ALTER INDEX`, or `None` for another ALTER.
pub(crate) fn alter(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "alter")?;
    if !tokens.accept("index") {
        return Ok(None);
    }
    let if_exists = tokens.if_exists()?;
    let index = tokens.qualified_name()?;
    if !tokens.accept("rename") {
        let what = tokens.peek().text.to_ascii_uppercase();
        return match tokens.peek().kind {
            TokenKind::Word => tokens.unsupported(Missing::Needless, &format!("ALTER INDEX ... {what} is")),
            _ => tokens.error(),
        };
    }
    tokens.expect("to")?;
    let name = tokens.identifier()?;
    tokens.end()?;
    Ok(Some(Statement::RenameIndex(RenameIndex { index, if_exists, name })))
}

/// `REINDEX`. There is nothing to rebuild, but the named object must exist.
pub(super) fn reindex(tokens: &mut Tokens<'_>) -> Result<Statement> {
    let mut is_concurrent = false;
    if tokens.accept_symbol("(") {
        while !tokens.accept_symbol(")") {
            if tokens.accept("concurrently") {
                is_concurrent = !["off", "false"].iter().any(|word| tokens.accept(word));
            } else if tokens.next().kind == TokenKind::End {
                return tokens.error();
            }
        }
    }
    let what = tokens.label()?;
    is_concurrent |= tokens.accept("concurrently");
    let name = tokens.qualified_name()?;
    let in_block = |otherwise| if is_concurrent { Some("REINDEX CONCURRENTLY") } else { otherwise };
    let (on, refused_in_block) = match what.as_str() {
        "index" => return Ok(Statement::ReindexIndex(name, is_concurrent)),
        "table" => (Maintained::Tables(vec![name]), in_block(None)),
        "schema" => (Maintained::Schema(name.name), in_block(Some("REINDEX SCHEMA"))),
        "database" => (Maintained::Database(name.name), in_block(Some("REINDEX DATABASE"))),
        "system" if is_concurrent => {
            let message = "cannot reindex system catalogs concurrently";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        "system" => (Maintained::Database(name.name), Some("REINDEX SYSTEM")),
        _ => return tokens.error(),
    };
    Ok(Statement::Maintenance { tag: "REINDEX", on, refused_in_block })
}

fn in_parentheses<'a, T>(
    tokens: &mut Tokens<'a>,
    item: impl Fn(&mut Tokens<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    tokens.expect_symbol("(")?;
    let mut items = vec![item(tokens)?];
    while tokens.accept_symbol(",") {
        items.push(item(tokens)?);
    }
    tokens.expect_symbol(")")?;
    Ok(items)
}

/// One key of an index: a column, a call, or an expression in parentheses.
fn key(tokens: &mut Tokens<'_>) -> Result<IndexKey> {
    let start = tokens.peek().start;
    let indexed = if tokens.peek().is_symbol("(") {
        tokens.parentheses()?;
        IndexedWritten::Expression(tokens.text_from(start))
    } else {
        let QualifiedName { schema, name, .. } = tokens.qualified_name()?;
        if tokens.peek().is_symbol("(") {
            tokens.parentheses()?;
            IndexedWritten::Expression(tokens.text_from(start))
        } else if schema.is_some() {
            return tokens.error();
        } else {
            IndexedWritten::Column(name)
        }
    };
    if tokens.accept("collate") {
        let QualifiedName { name, .. } = tokens.qualified_name()?;
        if !matches!(name.to_ascii_lowercase().as_str(), "c" | "posix" | "default") {
            return tokens.unsupported_before(Missing::Collations, "collations other than \"C\" are");
        }
    }
    let operator_class = operator_class(tokens)?;
    let is_descending = match (tokens.accept("asc"), tokens.accept("desc")) {
        (false, false) => None,
        (_, is_descending) => Some(is_descending),
    };
    let nulls_first = if tokens.accept("nulls") {
        let is_first = tokens.accept("first");
        if !is_first {
            tokens.expect("last")?;
        }
        Some(is_first)
    } else {
        None
    };
    Ok(IndexKey { indexed, is_descending, nulls_first, operator_class })
}

/// The name of an operator class, if one is given.
fn operator_class(tokens: &mut Tokens<'_>) -> Result<Option<String>> {
    let next = tokens.peek();
    if next.kind != TokenKind::Word || ["asc", "desc", "nulls"].iter().any(|word| next.is_word(word)) {
        return Ok(None);
    }
    let QualifiedName { name, .. } = tokens.qualified_name()?;
    if tokens.peek().is_symbol("(") {
        return tokens.unsupported(Missing::OperatorClasses, "parameters of an operator class are");
    }
    Ok(Some(name))
}

/// NULLS [NOT] DISTINCT.
fn nulls_are_equal(tokens: &mut Tokens<'_>) -> Result<bool> {
    if !tokens.accept("nulls") {
        return Ok(false);
    }
    let are_equal = tokens.accept("not");
    tokens.expect("distinct")?;
    Ok(are_equal)
}
