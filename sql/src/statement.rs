//! The statement front: from text to a [`Statement`].
//!
//! The first keyword decides. Transaction control, settings, COPY, maintenance and prepared statements have
//! few words and PostgreSQL forms that sqlparser lacks, so they are parsed here (`control`, `copy_syntax`,
//! `routine_syntax`); the rest goes through sqlparser (`query`), whose errors are turned into PostgreSQL's
//! `syntax error at or near`.

pub(crate) mod control;
pub(crate) mod copy_syntax;
mod dialect;
pub(crate) mod lexer;
pub(crate) mod locking;
pub(crate) mod names;
mod parsed;
pub(crate) mod query;
pub(crate) mod routine_syntax;
pub(crate) mod split;
mod tokens;

use hyades_types::error::{Error, Result, sqlstate};

pub(crate) use parsed::{
    CopyFormat, CopyOptions, CopySource, CopyStatement, CreateRoutine, DropRoutine, ForceQuote,
    IsolationModes, QualifiedName, SetValue, SettingScope, Statement, WrittenParameter, WrittenReturns,
};

use lexer::TokenKind;

/// Parses one statement; a semicolon may end it, nothing may follow that.
pub(crate) fn parse(sql: &str) -> Result<Statement> {
    let mut lexer = lexer::Lexer::new(sql);
    let mut first = lexer.next()?;
    while first.is_symbol(";") {
        first = lexer.next()?;
    }
    match first.kind {
        TokenKind::End => return Ok(Statement::Empty),
        TokenKind::Word => {}
        TokenKind::Symbol if first.text == "(" => return query::parse(sql),
        _ => return Err(lexer::syntax_error(sql, &first)),
    }
    let word = first.text.to_ascii_lowercase();
    match word.as_str() {
        // Other databases have no need for this FROM, and sqlparser knows them all.
        "delete" => match lexer.next()? {
            next if next.is_word("from") => query::parse(sql),
            next => Err(lexer::syntax_error(sql, &next)),
        },
        "create" => match lexer.next()? {
            next if next.is_word("unlogged") => {
                Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, "unlogged tables are not supported yet"))
            }
            _ => match routine_syntax::create(sql)? {
                Some(create) => Ok(create),
                None => query::parse(sql),
            },
        },
        "drop" => match routine_syntax::drop_routine(sql)? {
            Some(drop) => Ok(drop),
            None => query::parse(sql),
        },
        "call" => query::parse_call(sql).map(|_| Statement::Call),
        "select" | "insert" | "update" | "with" | "values" | "table" | "alter" | "truncate" => {
            query::parse(sql)
        }
        "copy" => copy_syntax::parse(sql),
        _ => control::parse(sql, &word),
    }
}
