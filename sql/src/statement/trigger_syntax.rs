//! CREATE, ALTER and DROP TRIGGER.
//!
//! Reference: CreateTrigStmt of PostgreSQL's gram.y.

use hyades_types::definition::{TriggerEvent, TriggerTiming};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;

use super::alteration_syntax::deferral;
use super::deep_text::Written;
use super::lexer::{TokenKind, character_position};
use super::parsed::{CreateTrigger, Referencing, Statement, TriggerAction, TriggerCommand};
use super::query::parse_expression;
use super::tokens::Tokens;

/// `CREATE [CONSTRAINT] TRIGGER`, or `None` for another CREATE.
pub(super) fn create(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "create")?;
    let or_replace = tokens.accept("or") && tokens.accept("replace");
    let is_constraint = tokens.accept("constraint");
    if !tokens.accept("trigger") {
        return Ok(None);
    }
    let tokens = &mut tokens;
    let name = tokens.identifier()?;
    let timing = timing(tokens, is_constraint)?;
    let (events, columns) = events(tokens)?;
    tokens.expect("on")?;
    let table = tokens.qualified_name()?;
    let (mut constraint, mut referenced) = (None, None);
    if is_constraint {
        referenced = if tokens.accept("from") { Some(tokens.qualified_name()?) } else { None };
        constraint = Some(deferral(tokens)?);
    }
    let referencing =
        if !is_constraint && tokens.accept("referencing") { naming(tokens)? } else { Vec::new() };
    let is_for_rows = level(tokens, is_constraint)?;
    let condition = if tokens.accept("when") { Some(condition(tokens)?) } else { None };
    tokens.expect("execute")?;
    if !tokens.accept("procedure") {
        tokens.expect("function")?;
    }
    let function = tokens.qualified_name()?;
    let arguments = arguments(tokens)?;
    tokens.end()?;
    if is_constraint && or_replace {
        let message = "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported";
        return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let trigger = CreateTrigger {
        name,
        or_replace,
        timing,
        is_for_rows,
        events,
        columns,
        constraint,
        referenced,
        referencing,
        condition,
        function,
        arguments,
    };
    let action = TriggerAction::Create(Box::new(trigger));
    Ok(Some(Statement::Trigger(Box::new(TriggerCommand { table, action }))))
}

fn timing(tokens: &mut Tokens<'_>, is_constraint: bool) -> Result<TriggerTiming> {
    if tokens.accept("after") {
        return Ok(TriggerTiming::After);
    }
    if !is_constraint && tokens.accept("before") {
        return Ok(TriggerTiming::Before);
    }
    if !is_constraint && tokens.accept("instead") {
        tokens.expect("of")?;
        return Ok(TriggerTiming::InsteadOf);
    }
    tokens.error()
}

/// `INSERT OR UPDATE OF a, b ...`
fn events(tokens: &mut Tokens<'_>) -> Result<(Vec<TriggerEvent>, Vec<String>)> {
    let (mut events, mut columns) = (Vec::new(), Vec::new());
    loop {
        let position = character_position(tokens.sql, tokens.peek().start);
        let known =
            [TriggerEvent::Insert, TriggerEvent::Delete, TriggerEvent::Update, TriggerEvent::Truncate];
        let Some(event) = known.into_iter().find(|event| tokens.accept(event.word())) else {
            return tokens.error();
        };
        if event == TriggerEvent::Update && tokens.accept("of") {
            columns.push(tokens.identifier()?);
            while tokens.accept_symbol(",") {
                columns.push(tokens.identifier()?);
            }
        }
        if events.contains(&event) {
            let word = event.word().to_ascii_lowercase();
            let message = format!("duplicate trigger events specified at or near \"{word}\"");
            return Err(Error::input(sqlstate::SYNTAX_ERROR, message).with_position(position));
        }
        events.push(event);
        if !tokens.accept("or") {
            return Ok((events, columns));
        }
    }
}

/// The items of REFERENCING.
fn naming(tokens: &mut Tokens<'_>) -> Result<Vec<Referencing>> {
    let mut items = Vec::new();
    loop {
        let is_new = tokens.accept("new");
        if !is_new && !tokens.accept("old") {
            return if items.is_empty() { tokens.error() } else { Ok(items) };
        }
        let is_table = tokens.accept("table");
        if !is_table {
            tokens.expect("row")?;
        }
        tokens.accept("as");
        items.push(Referencing { is_new, is_table, name: tokens.identifier()? });
    }
}

/// Whether it runs for each row.
fn level(tokens: &mut Tokens<'_>, is_constraint: bool) -> Result<bool> {
    if !is_constraint && !tokens.peek().is_word("for") {
        return Ok(false);
    }
    tokens.expect("for")?;
    if is_constraint {
        tokens.expect("each")?;
    } else {
        tokens.accept("each");
    }
    if !is_constraint && tokens.accept("statement") {
        return Ok(false);
    }
    tokens.expect("row")?;
    Ok(true)
}

/// `(condition)`
fn condition(tokens: &mut Tokens<'_>) -> Result<Written> {
    if !tokens.peek().is_symbol("(") {
        return tokens.error();
    }
    let start = tokens.peek().end();
    tokens.parentheses()?;
    // Blanks in front of it keep the positions of errors.
    let text = tokens.text_from(start);
    let text = text.trim_end().strip_suffix(')').unwrap_or(&text);
    let blanks: String =
        tokens.sql[..start].chars().map(|before| if before == '\n' { '\n' } else { ' ' }).collect();
    Ok(Written::new(parse_expression(&format!("{blanks}{text}"))?))
}

/// The literals that become `TG_ARGV`.
fn arguments(tokens: &mut Tokens<'_>) -> Result<Vec<String>> {
    tokens.expect_symbol("(")?;
    let mut arguments = Vec::new();
    if tokens.accept_symbol(")") {
        return Ok(arguments);
    }
    loop {
        arguments.push(match tokens.peek().kind {
            TokenKind::String => tokens.string()?,
            TokenKind::Number => tokens.next().text.to_owned(),
            _ => tokens.label()?,
        });
        if !tokens.accept_symbol(",") {
            tokens.expect_symbol(")")?;
            return Ok(arguments);
        }
    }
}

/// `DROP TRIGGER`, or `None` for another DROP.
pub(super) fn drop_trigger(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "drop")?;
    if !tokens.accept("trigger") {
        return Ok(None);
    }
    let if_exists = tokens.if_exists()?;
    let name = tokens.identifier()?;
    tokens.expect("on")?;
    let table = tokens.qualified_name()?;
    tokens.drop_behavior();
    tokens.end()?;
    let action = TriggerAction::Drop { name, if_exists };
    Ok(Some(Statement::Trigger(Box::new(TriggerCommand { table, action }))))
}

/// `ALTER TRIGGER`, or `None` for another ALTER.
pub(super) fn alter(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "alter")?;
    if !tokens.accept("trigger") {
        return Ok(None);
    }
    let name = tokens.identifier()?;
    tokens.expect("on")?;
    let table = tokens.qualified_name()?;
    if tokens.peek().is_word("no") || tokens.peek().is_word("depends") {
        return tokens.unsupported(Missing::Needless, "ALTER TRIGGER ... DEPENDS ON EXTENSION is");
    }
    tokens.expect("rename")?;
    tokens.expect("to")?;
    let to = tokens.identifier()?;
    tokens.end()?;
    let action = TriggerAction::Rename { name, to };
    Ok(Some(Statement::Trigger(Box::new(TriggerCommand { table, action }))))
}
