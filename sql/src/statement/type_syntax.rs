//! CREATE, ALTER and DROP of types: enums, composite types, and domains (`domain_syntax`). Other kinds are
//! refused by name.

use hyades_types::enumeration::LabelPlace;
use hyades_types::error::Result;
use hyades_types::refusal::Missing;
use sqlparser::ast::DataType;

use super::domain_syntax;
use super::lexer::TokenKind;
use super::parsed::{
    AlterType, AttributeAction, CreateType, DropType, Statement, TypeAction, WrittenAttribute, WrittenType,
};
use super::query::parse_type;
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
    if tokens.accept_symbol("(") {
        let kind = WrittenType::Composite(attributes(&mut tokens)?);
        tokens.end()?;
        return Ok(Some(Statement::CreateType(CreateType { name, kind })));
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
    let action = if changes_attributes(&tokens) {
        TypeAction::Attributes(attribute_actions(&mut tokens)?)
    } else if tokens.accept("add") {
        tokens.expect("value")?;
        added_value(&mut tokens)?
    } else if tokens.accept("rename") {
        if tokens.accept("value") {
            let from = tokens.string()?;
            tokens.expect("to")?;
            TypeAction::RenameValue { from, to: tokens.string()? }
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

/// The attributes of a new type, after the parenthesis.
fn attributes(tokens: &mut Tokens<'_>) -> Result<Vec<WrittenAttribute>> {
    let mut attributes = Vec::new();
    if tokens.accept_symbol(")") {
        return Ok(attributes);
    }
    loop {
        attributes.push(attribute(tokens)?);
        if tokens.accept_symbol(")") {
            return Ok(attributes);
        }
        tokens.expect_symbol(",")?;
    }
}

/// `name type [COLLATE collation]`.
fn attribute(tokens: &mut Tokens<'_>) -> Result<WrittenAttribute> {
    let name = tokens.identifier()?;
    let data_type = attribute_type(tokens)?;
    Ok(WrittenAttribute { name, data_type })
}

fn attribute_type(tokens: &mut Tokens<'_>) -> Result<DataType> {
    let is_end = |tokens: &Tokens<'_>| {
        let token = tokens.peek();
        let ends = [",", ")", ";"].iter().any(|symbol| token.is_symbol(symbol));
        ends || token.kind == TokenKind::End
            || ["collate", "cascade", "restrict"].iter().any(|word| token.is_word(word))
    };
    let data_type = parse_type(&domain_syntax::text_to(tokens, is_end)?)?;
    domain_syntax::collation(tokens)?;
    Ok(data_type)
}

fn changes_attributes(tokens: &Tokens<'_>) -> bool {
    let is_verb = ["add", "drop", "alter", "rename"].iter().any(|verb| tokens.peek().is_word(verb));
    is_verb && tokens.peek_at(1).is_word("attribute")
}

/// `ADD ATTRIBUTE name type`, and the like, separated by commas.
fn attribute_actions(tokens: &mut Tokens<'_>) -> Result<Vec<AttributeAction>> {
    let mut actions = Vec::new();
    loop {
        if !changes_attributes(tokens) {
            return tokens.error();
        }
        let verb = tokens.next();
        tokens.next();
        let is_rename = verb.is_word("rename");
        let action = if verb.is_word("add") {
            AttributeAction::Add(attribute(tokens)?)
        } else if verb.is_word("drop") {
            let if_exists = tokens.if_exists()?;
            AttributeAction::Drop { name: tokens.identifier()?, if_exists }
        } else if is_rename {
            let from = tokens.identifier()?;
            tokens.expect("to")?;
            AttributeAction::Rename { from, to: tokens.identifier()? }
        } else {
            let name = tokens.identifier()?;
            if tokens.accept("set") {
                tokens.expect("data")?;
            }
            tokens.expect("type")?;
            AttributeAction::SetType(WrittenAttribute { name, data_type: attribute_type(tokens)? })
        };
        actions.push(action);
        // There are no typed tables that it could concern.
        tokens.drop_behavior();
        if is_rename || !tokens.accept_symbol(",") {
            return Ok(actions);
        }
    }
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
