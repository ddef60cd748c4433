//! CREATE, ALTER and DROP SCHEMA, and SET SCHEMA, which moves an object to another schema.
//!
//! The statements inside CREATE SCHEMA stay text, one piece each. Each is parsed and compiled in its turn,
//! with the new schema at the front of the search path.

use hyades_types::definition::RoutineKind;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;

use super::lexer::{TokenKind, character_position};
use super::parsed::{AlterSchema, CreateSchema, DropSchema, Move, Moved, MovedTo, SchemaElement, Statement};
use super::role_syntax::role;
use super::routine_syntax::signature_of;
use super::tokens::Tokens;

/// The statement after its first word, or `None` if the next word is not SCHEMA.
fn begin<'a>(sql: &'a str, word: &str) -> Result<Option<Tokens<'a>>> {
    let mut tokens = Tokens::after(sql, word)?;
    Ok(tokens.accept("schema").then_some(tokens))
}

/// `CREATE SCHEMA`.
pub(super) fn create(sql: &str) -> Result<Option<Statement>> {
    let Some(mut tokens) = begin(sql, "create")? else { return Ok(None) };
    let if_not_exists = tokens.if_not_exists()?;
    let name = if tokens.peek().is_word("authorization") { None } else { Some(tokens.identifier()?) };
    let owner = if tokens.accept("authorization") { Some(role(&mut tokens)?) } else { None };
    let elements = elements(&mut tokens)?;
    if let (true, Some(first)) = (if_not_exists, elements.first()) {
        let message = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
        let error = Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message);
        return Err(error.with_position(first.offset + 1));
    }
    let mut ordered = elements;
    ordered.sort_by_key(|element| element.rank);
    let create = CreateSchema { name, owner, if_not_exists, elements: ordered };
    Ok(Some(Statement::CreateSchema(Box::new(create))))
}

/// The statements inside. Each piece extends to the next CREATE outside of parentheses.
fn elements(tokens: &mut Tokens<'_>) -> Result<Vec<SchemaElement>> {
    let mut elements = Vec::new();
    while tokens.peek().is_word("create") {
        let start = tokens.peek().start;
        let rank = rank(tokens)?;
        loop {
            let token = tokens.peek();
            let is_next = ["create", "grant"].iter().any(|word| token.is_word(word));
            if token.kind == TokenKind::End || token.is_symbol(";") || is_next {
                break;
            }
            if token.is_symbol("(") {
                tokens.parentheses()?;
            } else {
                tokens.next();
            }
        }
        let offset = character_position(tokens.sql, start) - 1;
        elements.push(SchemaElement { text: tokens.text_from(start), offset, rank });
    }
    if tokens.peek().is_word("grant") {
        return tokens.unsupported(Missing::SchemaElements, "GRANT in CREATE SCHEMA is");
    }
    tokens.end()?;
    Ok(elements)
}

/// The order of an element: sequences first, then tables, views, indexes and triggers, as in PostgreSQL.
fn rank(tokens: &mut Tokens<'_>) -> Result<u8> {
    tokens.expect("create")?;
    if tokens.accept("or") {
        tokens.expect("replace")?;
    }
    tokens.persistence();
    let recursive = tokens.accept("recursive");
    for (rank, word) in
        [(0, "sequence"), (1, "table"), (2, "view"), (3, "unique"), (3, "index"), (4, "trigger")]
    {
        if tokens.peek().is_word(word) && (!recursive || word == "view") {
            return Ok(rank);
        }
    }
    tokens.error()
}

/// `DROP SCHEMA`.
pub(super) fn drop_schema(sql: &str) -> Result<Option<Statement>> {
    let Some(mut tokens) = begin(sql, "drop")? else { return Ok(None) };
    let if_exists = tokens.if_exists()?;
    let mut names = vec![tokens.identifier()?];
    while tokens.accept_symbol(",") {
        names.push(tokens.identifier()?);
    }
    let cascades = tokens.drop_behavior();
    tokens.end()?;
    Ok(Some(Statement::DropSchema(DropSchema { names, if_exists, cascades })))
}

/// `ALTER SCHEMA`, and `ALTER ... SET SCHEMA` and `OWNER TO` for anything.
pub(super) fn alter(sql: &str) -> Result<Option<Statement>> {
    let Some(mut tokens) = begin(sql, "alter")? else { return moved(sql) };
    let name = tokens.identifier()?;
    let alter = if tokens.accept("rename") {
        tokens.expect("to")?;
        AlterSchema::Rename { name, to: tokens.identifier()? }
    } else {
        tokens.expect("owner")?;
        tokens.expect("to")?;
        AlterSchema::Owner { name, to: role(&mut tokens)? }
    };
    tokens.end()?;
    Ok(Some(Statement::AlterSchema(alter)))
}

fn moved(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "alter")?;
    let relations = [
        ("table", Moved::Table),
        ("view", Moved::View),
        ("materialized", Moved::MaterializedView),
        ("sequence", Moved::Sequence),
    ];
    let routines = [
        ("function", Some(RoutineKind::Function)),
        ("aggregate", Some(RoutineKind::Aggregate)),
        ("procedure", Some(RoutineKind::Procedure)),
        ("routine", None),
    ];
    let word = tokens.peek().text.to_ascii_lowercase();
    let relation = relations.into_iter().find(|(own, _)| *own == word).map(|(_, moved)| moved);
    let routine = routines.into_iter().find(|(own, _)| *own == word).map(|(_, kind)| kind);
    if relation.is_none() && routine.is_none() {
        return Ok(None);
    }
    tokens.next();
    if relation == Some(Moved::MaterializedView) {
        tokens.expect("view")?;
    }
    let if_exists = relation.is_some() && tokens.peek().is_word("if") && tokens.if_exists()?;
    if relation == Some(Moved::Table) {
        tokens.accept("only");
    }
    let Ok(name) = tokens.qualified_name() else { return Ok(None) };
    let moved = match (relation, routine) {
        (Some(relation), _) => relation,
        (None, kind) => {
            let kind = kind.flatten();
            Moved::Routine { kind, arguments: signature_of(kind, &mut tokens)? }
        }
    };
    let next = [tokens.peek(), tokens.peek_at(1)];
    let is_schema = next[0].is_word("set") && next[1].is_word("schema");
    let is_owner = next[0].is_word("owner") && next[1].is_word("to");
    let is_routine = matches!(moved, Moved::Routine { .. });
    let is_name = !is_routine && next[0].is_word("rename") && next[1].is_word("to");
    if moved == Moved::View && next[0].is_word("rename") && !is_name {
        return tokens.unsupported(Missing::RenamedViewColumns, "ALTER VIEW ... RENAME COLUMN is");
    }
    if !is_schema && !is_owner && !is_name {
        return Ok(None);
    }
    tokens.next();
    tokens.next();
    let to = match (is_schema, is_owner) {
        (true, _) => MovedTo::Schema(tokens.identifier()?),
        (_, true) => MovedTo::Owner(role(&mut tokens)?),
        _ => MovedTo::Name(tokens.identifier()?),
    };
    // If it is one of several actions of ALTER TABLE, it is read with the others.
    if tokens.peek().is_symbol(",") {
        return Ok(None);
    }
    tokens.end()?;
    Ok(Some(Statement::Move(Box::new(Move { moved, name, if_exists, to }))))
}
