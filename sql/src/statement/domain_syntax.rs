//! CREATE and ALTER DOMAIN after their first words. DROP DOMAIN is read with DROP TYPE (`type_syntax`).

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;

use super::deep_text::Written;
use super::lexer::TokenKind;
use super::parsed::{
    AlterType, CreateType, DomainAction, QualifiedName, Statement, TypeAction, WrittenCheck, WrittenDomain,
    WrittenType,
};
use super::query::{parse_expression, parse_type};
use super::tokens::Tokens;

/// Words with which a type or a DEFAULT ends.
const ENDS: [&str; 11] = [
    "collate",
    "default",
    "constraint",
    "not",
    "null",
    "check",
    "unique",
    "primary",
    "references",
    "generated",
    "deferrable",
];

/// `CREATE DOMAIN name [AS] type [COLLATE collation] [DEFAULT expression] [constraint ...]`.
pub(super) fn create(tokens: &mut Tokens<'_>, name: QualifiedName) -> Result<Statement> {
    tokens.accept("as");
    let mut domain = WrittenDomain {
        base: parse_type(&text_to_end(tokens)?)?,
        default: None,
        is_not_null: false,
        checks: Vec::new(),
    };
    collation(tokens)?;
    while tokens.peek().kind != TokenKind::End && !tokens.peek().is_symbol(";") {
        element(tokens, &mut domain)?;
    }
    tokens.end()?;
    let kind = WrittenType::Domain(Box::new(domain));
    Ok(Statement::CreateType(CreateType { name, kind }))
}

/// `COLLATE collation`, if it is there. Those that exist mean the same.
pub(super) fn collation(tokens: &mut Tokens<'_>) -> Result<()> {
    if tokens.accept("collate") {
        let collation = tokens.qualified_name()?;
        if !matches!(collation.name.to_ascii_lowercase().as_str(), "c" | "posix" | "default") {
            return tokens.unsupported_before(Missing::Collations, "collations other than \"C\" are");
        }
    }
    Ok(())
}

/// A constraint, or the default.
fn element(tokens: &mut Tokens<'_>, domain: &mut WrittenDomain) -> Result<()> {
    if tokens.accept("default") {
        if domain.default.is_some() {
            return Err(Error::input(sqlstate::SYNTAX_ERROR, "multiple default expressions"));
        }
        domain.default = Some(default(tokens)?);
        return Ok(());
    }
    let name = if tokens.accept("constraint") { Some(tokens.identifier()?) } else { None };
    if tokens.peek().is_word("check") {
        domain.checks.push(check(tokens, name)?);
        if tokens.peek().is_word("no") {
            return Err(Error::input(
                sqlstate::INVALID_OBJECT_DEFINITION,
                "check constraints for domains cannot be marked NO INHERIT",
            ));
        }
    } else if tokens.accept("not") {
        tokens.expect("null")?;
        domain.is_not_null = true;
    } else if tokens.accept("null") {
        if domain.is_not_null {
            return Err(Error::input(sqlstate::SYNTAX_ERROR, "conflicting NULL/NOT NULL constraints"));
        }
    } else if tokens.peek().is_word("unique") {
        return refuse("unique constraints not possible for domains");
    } else if tokens.peek().is_word("primary") {
        return refuse("primary key constraints not possible for domains");
    } else if tokens.peek().is_word("references") {
        return refuse("foreign key constraints not possible for domains");
    } else {
        return tokens.error();
    }
    Ok(())
}

fn refuse<T>(message: &str) -> Result<T> {
    Err(Error::input(sqlstate::SYNTAX_ERROR, message))
}

/// `CHECK (condition)`.
fn check(tokens: &mut Tokens<'_>, name: Option<String>) -> Result<WrittenCheck> {
    tokens.expect("check")?;
    let start = tokens.peek().start;
    if !tokens.peek().is_symbol("(") {
        return tokens.error();
    }
    tokens.parentheses()?;
    let written = placed(tokens.sql, start, tokens.peek().start);
    Ok(WrittenCheck { name, condition: Written::new(parse_expression(&written)?) })
}

fn default(tokens: &mut Tokens<'_>) -> Result<Written> {
    let start = tokens.peek().start;
    // Whatever comes first belongs to it: it may be NULL.
    if tokens.peek().is_word("null") {
        tokens.next();
    }
    if !is_end(tokens) {
        text_to_end(tokens)?;
    }
    parse_expression(&placed(tokens.sql, start, tokens.peek().start)).map(Written::new)
}

fn is_end(tokens: &Tokens<'_>) -> bool {
    let token = tokens.peek();
    token.kind == TokenKind::End || token.is_symbol(";") || ENDS.iter().any(|word| token.is_word(word))
}

/// The text up to a word with which it ends.
fn text_to_end(tokens: &mut Tokens<'_>) -> Result<String> {
    text_to(tokens, is_end)
}

/// The text up to its end, which is not within parentheses. There must be some.
pub(super) fn text_to(tokens: &mut Tokens<'_>, is_end: impl Fn(&Tokens<'_>) -> bool) -> Result<String> {
    if is_end(tokens) {
        return tokens.error();
    }
    let start = tokens.peek().start;
    while !is_end(tokens) {
        match tokens.peek().is_symbol("(") {
            true => tokens.parentheses()?,
            false => drop(tokens.next()),
        }
    }
    Ok(placed(tokens.sql, start, tokens.peek().start))
}

/// A part of the statement, with blanks in place of what comes before it, so that positions in it are those
/// in the statement.
fn placed(sql: &str, start: usize, end: usize) -> String {
    let blank = |character| if character == '\n' { '\n' } else { ' ' };
    sql[..start].chars().map(blank).chain(sql[start..end].chars()).collect()
}

/// `ALTER DOMAIN`.
pub(super) fn alter(tokens: &mut Tokens<'_>, name: QualifiedName) -> Result<Statement> {
    let action = if tokens.accept("set") {
        if tokens.accept("schema") {
            TypeAction::SetSchema(tokens.identifier()?)
        } else if tokens.accept("default") {
            let start = tokens.peek().start;
            tokens.take_rest();
            let end = tokens.sql.trim_end().trim_end_matches(';').len();
            let default = parse_expression(&placed(tokens.sql, start, end.max(start)))?;
            TypeAction::Domain(DomainAction::SetDefault(Some(Written::new(default))))
        } else {
            tokens.expect("not")?;
            tokens.expect("null")?;
            TypeAction::Domain(DomainAction::SetNotNull(true))
        }
    } else if tokens.accept("drop") {
        TypeAction::Domain(dropped(tokens)?)
    } else if tokens.accept("add") {
        TypeAction::Domain(added(tokens)?)
    } else if tokens.accept("rename") {
        if tokens.accept("constraint") {
            let from = tokens.identifier()?;
            tokens.expect("to")?;
            TypeAction::Domain(DomainAction::RenameConstraint { from, to: tokens.identifier()? })
        } else {
            tokens.expect("to")?;
            TypeAction::Rename(tokens.identifier()?)
        }
    } else if tokens.accept("validate") {
        tokens.expect("constraint")?;
        tokens.identifier()?;
        return tokens
            .unsupported_before(Missing::DomainValidation, "ALTER DOMAIN ... VALIDATE CONSTRAINT is");
    } else if tokens.accept("owner") {
        tokens.expect("to")?;
        TypeAction::SetOwner(super::role_syntax::role(tokens)?)
    } else {
        return tokens.error();
    };
    tokens.end()?;
    Ok(Statement::AlterType(AlterType { name, action, is_domain: true }))
}

fn dropped(tokens: &mut Tokens<'_>) -> Result<DomainAction> {
    if tokens.accept("default") {
        return Ok(DomainAction::SetDefault(None));
    }
    if tokens.accept("not") {
        tokens.expect("null")?;
        return Ok(DomainAction::SetNotNull(false));
    }
    tokens.expect("constraint")?;
    let if_exists = tokens.if_exists()?;
    let name = tokens.identifier()?;
    tokens.drop_behavior();
    Ok(DomainAction::DropConstraint { name, if_exists })
}

fn added(tokens: &mut Tokens<'_>) -> Result<DomainAction> {
    let name = if tokens.accept("constraint") { Some(tokens.identifier()?) } else { None };
    if !tokens.peek().is_word("check") {
        return tokens.error();
    }
    let check = check(tokens, name)?;
    let is_not_valid = tokens.accept("not");
    if is_not_valid {
        tokens.expect("valid")?;
    }
    Ok(DomainAction::AddCheck { check: Box::new(check), is_not_valid })
}
