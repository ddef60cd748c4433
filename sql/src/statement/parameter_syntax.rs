//! `ALTER {TABLE | VIEW | MATERIALIZED VIEW | INDEX} name SET (parameters)` and `RESET (names)`.
//!
//! Among other actions of ALTER TABLE, sqlparser reads SET.

use hyades_types::error::{Error, Result, sqlstate};

use super::parsed::{ChangeParameters, ParameterChange, ParameterHolder, Statement};
use super::tokens::Tokens;

/// `None` for another ALTER.
pub(super) fn alter(sql: &str) -> Result<Option<Statement>> {
    let mut tokens = Tokens::after(sql, "alter")?;
    let Some(of) = holder(&mut tokens) else { return Ok(None) };
    let if_exists = tokens.peek().is_word("if") && tokens.if_exists()?;
    if of == ParameterHolder::Table {
        tokens.accept("only");
    }
    let Ok(name) = tokens.qualified_name() else { return Ok(None) };
    let mut changes = Vec::new();
    loop {
        let is_set = tokens.peek().is_word("set");
        if !is_set && !tokens.peek().is_word("reset") || !tokens.peek_at(1).is_symbol("(") {
            return Ok(None);
        }
        tokens.next();
        changes.push(match is_set {
            true => ParameterChange::Set(tokens.parameters()?),
            false => ParameterChange::Reset(reset(&mut tokens)?),
        });
        if !tokens.accept_symbol(",") {
            break;
        }
    }
    tokens.end()?;
    Ok(Some(Statement::ChangeParameters(ChangeParameters { of, name, if_exists, changes })))
}

fn holder(tokens: &mut Tokens<'_>) -> Option<ParameterHolder> {
    if tokens.accept("materialized") {
        return tokens.accept("view").then_some(ParameterHolder::MaterializedView);
    }
    let holders = [
        ("table", ParameterHolder::Table),
        ("view", ParameterHolder::View),
        ("index", ParameterHolder::Index),
    ];
    holders.into_iter().find(|(word, _)| tokens.accept(word)).map(|(_, holder)| holder)
}

fn reset(tokens: &mut Tokens<'_>) -> Result<Vec<String>> {
    tokens.expect_symbol("(")?;
    let mut names = Vec::new();
    loop {
        let mut name = tokens.label()?;
        if tokens.accept_symbol(".") {
            name = format!("{name}.{}", tokens.label()?);
        }
        if tokens.peek().is_symbol("=") {
            let message = "RESET must not include values for parameters";
            return Err(Error::input(sqlstate::SYNTAX_ERROR, message));
        }
        names.push(name);
        if !tokens.accept_symbol(",") {
            break;
        }
    }
    tokens.expect_symbol(")")?;
    Ok(names)
}
