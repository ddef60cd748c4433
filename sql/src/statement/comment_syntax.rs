//! COMMENT ON.

use hyades_types::definition::RoutineKind;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;

use super::cast_syntax;
use super::parsed::{Comment, Commented, QualifiedName, Statement};
use super::routine_syntax::signature_of;

use super::tokens::Tokens;

/// Objects of PostgreSQL that cannot be created here, or that have no comments here.
const MISSING: [&str; 16] = [
    "access",
    "collation",
    "conversion",
    "database",
    "event",
    "foreign",
    "language",
    "large",
    "operator",
    "policy",
    "publication",
    "role",
    "rule",
    "statistics",
    "tablespace",
    "text",
];

/// `COMMENT ON object IS text`.
pub(super) fn parse(sql: &str) -> Result<Statement> {
    let mut tokens = Tokens::after(sql, "comment")?;
    tokens.expect("on")?;
    let word = tokens.peek().text.to_ascii_lowercase();
    if MISSING.contains(&word.as_str()) {
        return tokens
            .unsupported(Missing::Comments, &format!("COMMENT ON {} is", word.to_ascii_uppercase()));
    }
    let kind = match word.as_str() {
        "table" => Commented::Table,
        "view" => Commented::View,
        "materialized" => Commented::MaterializedView,
        "index" => Commented::Index,
        "sequence" => Commented::Sequence,
        "type" | "domain" => Commented::Type,
        "schema" => Commented::Schema,
        "column" => Commented::Column(String::new()),
        "constraint" => Commented::Constraint(String::new()),
        "trigger" => Commented::Trigger(String::new()),
        "extension" => Commented::Extension,
        "cast" => Commented::Cast(Vec::new()),
        "function" => Commented::Routine { kind: Some(RoutineKind::Function), arguments: None },
        "aggregate" => Commented::Routine { kind: Some(RoutineKind::Aggregate), arguments: None },
        "procedure" => Commented::Routine { kind: Some(RoutineKind::Procedure), arguments: None },
        "routine" => Commented::Routine { kind: None, arguments: None },
        _ => return tokens.error(),
    };
    tokens.next();
    if matches!(kind, Commented::MaterializedView) {
        tokens.expect("view")?;
    }
    let (on, name) = match kind {
        Commented::Column(_) => column(&mut tokens)?,
        Commented::Constraint(_) => {
            let constraint = tokens.identifier()?;
            tokens.expect("on")?;
            if tokens.peek().is_word("domain") && !tokens.peek_at(1).is_word("is") {
                return tokens.unsupported(Missing::Comments, "COMMENT ON CONSTRAINT ... ON DOMAIN is");
            }
            (Commented::Constraint(constraint), tokens.qualified_name()?)
        }
        Commented::Trigger(_) => {
            let trigger = tokens.identifier()?;
            tokens.expect("on")?;
            (Commented::Trigger(trigger), tokens.qualified_name()?)
        }
        Commented::Routine { kind, .. } => {
            let name = tokens.qualified_name()?;
            (Commented::Routine { kind, arguments: signature_of(kind, &mut tokens)? }, name)
        }
        Commented::Cast(_) => {
            (Commented::Cast(cast_syntax::types(&mut tokens)?), QualifiedName::new(None, String::new()))
        }
        Commented::Extension => (Commented::Extension, QualifiedName::new(None, tokens.identifier()?)),
        other => (other, tokens.qualified_name()?),
    };
    tokens.expect("is")?;
    let text = if tokens.accept("null") { None } else { Some(tokens.string()?) };
    tokens.end()?;
    // An empty comment means no comment.
    let text = text.filter(|text| !text.is_empty());
    Ok(Statement::Comment(Box::new(Comment { on, name, text })))
}

/// `table.column`, `schema.table.column`, or the same after a database.
fn column(
    tokens: &mut Tokens<'_>,
) -> Result<(Commented<Vec<super::parsed::WrittenParameter>>, QualifiedName)> {
    let start = tokens.peek().start;
    let mut parts = tokens.dotted()?;
    match parts.pop() {
        Some(column) if !parts.is_empty() => Ok((Commented::Column(column), tokens.qualified(parts, start)?)),
        _ => Err(Error::input(sqlstate::SYNTAX_ERROR, "column name must be qualified")),
    }
}
