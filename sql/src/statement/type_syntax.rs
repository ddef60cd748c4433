//! CREATE, ALTER and DROP of types: enums, and domains (`domain_syntax`). Other kinds are refused by name.

use hyades_types::enumeration::LabelPlace;
use hyades_types::error::Result;
use hyades_types::refusal::Missing;

use super::domain_syntax;
use super::parsed::{AlterType, CreateType, DropType, Statement, TypeAction, WrittenType};
use super::tokens::Tokens;

/// The statement after its first two words, and whether the second is DOMAIN; `None` if it is neither that
/// nor TYPE.
fn begin<'a>(sql: &'a str, word: &str) -> Result<Option<(Tokens<'a>, bool)>> {
    let mut tokens = Tokens::after(sql, word)?;
    let is_domain = tokens.accept("domain");
    Ok((is_domain || tokens.accept("type")).then_some((tokens, is_domain)))
}

/// `CREATE TYPE name AS ENUM (...)`.
pub(crate) fn create(sql: &str) -> Result<Option<Statement>> {
    let Some((mut tokens, is_domain)) = begin(sql, "create")? else { return Ok(None) };
    let name = tokens.qualified_name()?;
    if is_domain {
        return domain_syntax::create(&mut tokens, name).map(Some);
    }
    if !tokens.accept("as") {
        return tokens.unsupported(Missing::BaseTypes, "base types and shell types are");
    }
    if tokens.peek().is_symbol("(") {
        return tokens.unsupported(Missing::CompositeTypes, "composite types are");
    }
    if tokens.peek().is_word("range") {
        return tokens.unsupported(Missing::Ranges, "range types are");
    }
    tokens.expect("enum")?;
    tokens.expect_symbol("(")?;
    let mut labels = Vec::new();
    if !tokens.accept_symbol(")") {
        labels.push(tokens.string()?);
        while tokens.accept_symbol(",") {
            labels.push(tokens.string()?);
        }
        tokens.expect_symbol(")")?;
    }
    tokens.end()?;
    Ok(Some(Statement::CreateType(CreateType { name, kind: WrittenType::Enum(labels) })))
}

/// `ALTER TYPE`.
pub(crate) fn alter(sql: &str) -> Result<Option<Statement>> {
    let Some((mut tokens, is_domain)) = begin(sql, "alter")? else { return Ok(None) };
    let name = tokens.qualified_name()?;
    if is_domain {
        return domain_syntax::alter(&mut tokens, name).map(Some);
    }
    let action = if tokens.accept("add") {
        if tokens.peek().is_word("attribute") {
            return tokens.unsupported(Missing::CompositeTypes, "composite types are");
        }
        tokens.expect("value")?;
        added_value(&mut tokens)?
    } else if tokens.accept("rename") {
        if tokens.accept("value") {
            let from = tokens.string()?;
            tokens.expect("to")?;
            TypeAction::RenameValue { from, to: tokens.string()? }
        } else if tokens.peek().is_word("attribute") {
            return tokens.unsupported(Missing::CompositeTypes, "composite types are");
        } else {
            tokens.expect("to")?;
            TypeAction::Rename(tokens.identifier()?)
        }
    } else if tokens.accept("owner") {
        tokens.expect("to")?;
        TypeAction::SetOwner(super::role_syntax::role(&mut tokens)?)
    } else if tokens.peek().is_word("set") && tokens.peek_at(1).is_word("schema") {
        tokens.next();
        tokens.next();
        TypeAction::SetSchema(tokens.identifier()?)
    } else if tokens.peek().is_word("set") && tokens.peek_at(1).is_symbol("(") {
        return tokens.unsupported(Missing::BaseTypes, "base types and shell types are");
    } else {
        return tokens.error();
    };
    tokens.end()?;
    Ok(Some(Statement::AlterType(AlterType { name, action, is_domain })))
}

fn added_value(tokens: &mut Tokens<'_>) -> Result<TypeAction> {
    let if_not_exists = tokens.accept("if");
    if if_not_exists {
        tokens.expect("not")?;
        tokens.expect("exists")?;
    }
    let label = tokens.string()?;
    let place = if tokens.accept("before") {
        LabelPlace::Before(tokens.string()?)
    } else if tokens.accept("after") {
        LabelPlace::After(tokens.string()?)
    } else {
        LabelPlace::Last
    };
    Ok(TypeAction::AddValue { label, if_not_exists, place })
}

/// `DROP TYPE`.
pub(crate) fn drop_type(sql: &str) -> Result<Option<Statement>> {
    let Some((mut tokens, is_domain)) = begin(sql, "drop")? else { return Ok(None) };
    let if_exists = tokens.if_exists()?;
    let names = tokens.qualified_names()?;
    let cascades = tokens.drop_behavior();
    tokens.end()?;
    Ok(Some(Statement::DropType(DropType { is_domain, names, if_exists, cascades })))
}
