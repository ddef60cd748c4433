//! Statements with a small grammar: transaction control, settings, maintenance, prepared statements,
//! EXPLAIN.
//!
//! A hand-written recursive descent over the tokens. Every refusal is PostgreSQL's
//! `syntax error at or near`.

use hyades_engine::db::TableLock;
use hyades_types::datetime;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::interval::{IntervalFields, IntervalModifier};
use hyades_types::refusal::Missing;
use hyades_types::text::IntervalForm;

use super::cursor_syntax;
use super::lexer::{Token, TokenKind, character_position, identifier_value, string_value};
use super::names::quoted;
use super::parsed::{
    ExplainFormat, ExplainOptions, IsolationModes, ListenStatement, Maintained, QualifiedName, SetValue,
    SettingChange, SettingScope, Statement,
};
use super::tokens::Tokens;

/// Parses a statement that begins with this (lower-case) word.
pub(crate) fn parse(sql: &str, first: &str) -> Result<Statement> {
    let mut tokens = Tokens::new(sql)?;
    while tokens.accept_symbol(";") {}
    let start = tokens.at;
    tokens.next();
    let statement = match first {
        "begin" | "start" => begin(&mut tokens, first == "start")?,
        "commit" | "end" => commit(&mut tokens)?,
        "rollback" | "abort" => rollback(&mut tokens, first == "abort")?,
        "savepoint" => Statement::Savepoint(tokens.identifier()?),
        "release" => {
            tokens.accept("savepoint");
            Statement::Release(tokens.identifier()?)
        }
        "set" => set(&mut tokens)?,
        "show" => show(&mut tokens)?,
        "reset" => reset(&mut tokens)?,
        "vacuum" => vacuum(&mut tokens)?,
        "analyze" | "analyse" => analyze(&mut tokens)?,
        "discard" => discard(&mut tokens)?,
        "reindex" => super::index_syntax::reindex(&mut tokens)?,
        "close" => cursor_syntax::close(&mut tokens)?,
        "declare" => return cursor_syntax::declare(&mut tokens),
        "fetch" | "move" => cursor_syntax::fetch(&mut tokens, first == "move")?,
        "unlisten" => {
            let is_all = tokens.accept_symbol("*");
            let channel = if is_all { None } else { Some(tokens.identifier()?) };
            Statement::Listen(ListenStatement::Unlisten(channel))
        }
        "listen" => Statement::Listen(ListenStatement::Listen(tokens.identifier()?)),
        "notify" => {
            let channel = tokens.identifier()?;
            let payload = if tokens.accept_symbol(",") { tokens.string()? } else { String::new() };
            Statement::Listen(ListenStatement::Notify { channel, payload })
        }
        "lock" => lock_table(&mut tokens)?,
        "prepare" => return prepare(&mut tokens),
        "execute" => execute(&mut tokens)?,
        "deallocate" => {
            tokens.accept("prepare");
            Statement::Deallocate(if tokens.accept("all") { None } else { Some(tokens.identifier()?) })
        }
        "explain" => return explain(&mut tokens),
        "checkpoint" => Statement::Checkpoint,
        _ => {
            tokens.at = start;
            return unknown(&tokens, first);
        }
    };
    tokens.end()?;
    Ok(statement)
}

/// The error for a statement of PostgreSQL that is missing here, or for something that is not a statement.
fn unknown<T>(tokens: &Tokens<'_>, first: &str) -> Result<T> {
    let missing = match first {
        "cluster" => Missing::Clustering,
        "comment" => Missing::Comments,
        "import" => Missing::ForeignData,
        "load" | "security" => Missing::Needless,
        "merge" => Missing::Merge,
        "reassign" => Missing::OwnedObjects,
        _ => return tokens.error(),
    };
    tokens.unsupported(missing, &format!("{} is", first.to_ascii_uppercase()))
}

fn maintenance(
    tag: &'static str,
    tables: Vec<QualifiedName>,
    refused_in_block: Option<&'static str>,
) -> Statement {
    let on = if tables.is_empty() { Maintained::Nothing } else { Maintained::Tables(tables) };
    Statement::Maintenance { tag, on, refused_in_block }
}

/// `LOCK [TABLE] [ONLY] name [*] [, ...] [IN mode MODE] [NOWAIT]`
fn lock_table(tokens: &mut Tokens<'_>) -> Result<Statement> {
    tokens.accept("table");
    let mut tables = Vec::new();
    loop {
        // There is no table inheritance.
        if tokens.accept("only") && tokens.accept_symbol("(") {
            tables.push(tokens.qualified_name()?);
            tokens.expect_symbol(")")?;
        } else {
            tables.push(tokens.qualified_name()?);
            tokens.accept_symbol("*");
        }
        if !tokens.accept_symbol(",") {
            break;
        }
    }
    let mut lock = TableLock::AccessExclusive;
    if tokens.accept("in") {
        lock = lock_mode(tokens)?;
        tokens.expect("mode")?;
    }
    let waits = !tokens.accept("nowait");
    Ok(Statement::LockTable { tables, lock, waits })
}

fn lock_mode(tokens: &mut Tokens<'_>) -> Result<TableLock> {
    let first = tokens.peek().text.to_ascii_lowercase();
    if !matches!(first.as_str(), "access" | "row" | "share" | "exclusive") {
        return tokens.error();
    }
    tokens.next();
    Ok(match first.as_str() {
        "exclusive" => TableLock::Exclusive,
        "share" if tokens.accept("update") => {
            tokens.expect("exclusive")?;
            TableLock::ShareUpdateExclusive
        }
        "share" if tokens.accept("row") => {
            tokens.expect("exclusive")?;
            TableLock::ShareRowExclusive
        }
        "share" => TableLock::Share,
        "access" if tokens.accept("share") => TableLock::AccessShare,
        "access" => {
            tokens.expect("exclusive")?;
            TableLock::AccessExclusive
        }
        _ if tokens.accept("share") => TableLock::RowShare,
        _ => {
            tokens.expect("exclusive")?;
            TableLock::RowExclusive
        }
    })
}

fn work(tokens: &mut Tokens<'_>) {
    if !tokens.accept("work") {
        tokens.accept("transaction");
    }
}

fn begin(tokens: &mut Tokens<'_>, is_start: bool) -> Result<Statement> {
    if is_start {
        tokens.expect("transaction")?;
    } else {
        work(tokens);
    }
    Ok(Statement::Begin { modes: modes(tokens, false)?, is_start })
}

fn modes(tokens: &mut Tokens<'_>, needs_one: bool) -> Result<IsolationModes> {
    let mut modes = IsolationModes::default();
    let mut needs_another = needs_one;
    loop {
        if tokens.accept("isolation") {
            tokens.expect("level")?;
            modes.level = Some(isolation_level(tokens)?);
        } else if tokens.accept("read") {
            if tokens.accept("only") {
                modes.read_only = Some(true);
            } else {
                tokens.expect("write")?;
                modes.read_only = Some(false);
            }
        } else if tokens.accept("deferrable") {
            modes.deferrable = Some(true);
        } else if tokens.accept("not") {
            tokens.expect("deferrable")?;
            modes.deferrable = Some(false);
        } else if needs_another {
            return tokens.error();
        } else {
            return Ok(modes);
        }
        needs_another = tokens.accept_symbol(",");
    }
}

fn isolation_level(tokens: &mut Tokens<'_>) -> Result<&'static str> {
    if tokens.accept("serializable") {
        return Ok("serializable");
    }
    if tokens.accept("repeatable") {
        tokens.expect("read")?;
        return Ok("repeatable read");
    }
    tokens.expect("read")?;
    if tokens.accept("committed") {
        return Ok("read committed");
    }
    tokens.expect("uncommitted")?;
    Ok("read uncommitted")
}

/// Whether a transaction of the same kind must begin at once.
fn chain(tokens: &mut Tokens<'_>) -> Result<bool> {
    if !tokens.accept("and") {
        return Ok(false);
    }
    let is_refused = tokens.accept("no");
    tokens.expect("chain")?;
    Ok(!is_refused)
}

fn commit(tokens: &mut Tokens<'_>) -> Result<Statement> {
    if tokens.accept("prepared") {
        return tokens.unsupported_before(Missing::TwoPhase, "two-phase commit is");
    }
    work(tokens);
    Ok(Statement::Commit { chains: chain(tokens)? })
}

fn rollback(tokens: &mut Tokens<'_>, is_abort: bool) -> Result<Statement> {
    if tokens.accept("prepared") {
        return tokens.unsupported_before(Missing::TwoPhase, "two-phase commit is");
    }
    work(tokens);
    if !is_abort && tokens.accept("to") {
        tokens.accept("savepoint");
        return Ok(Statement::RollbackTo(tokens.identifier()?));
    }
    Ok(Statement::Rollback { chains: chain(tokens)? })
}

fn set(tokens: &mut Tokens<'_>) -> Result<Statement> {
    let mut scope = SettingScope::Session;
    let mut is_after_session = false;
    if tokens.peek().is_word("session") && !is_assignment(tokens.peek_at(1)) {
        tokens.next();
        is_after_session = true;
        if tokens.accept("characteristics") {
            tokens.expect("as")?;
            tokens.expect("transaction")?;
            return Ok(Statement::SetSessionCharacteristics(modes(tokens, true)?));
        }
    } else if tokens.peek().is_word("local") && !is_assignment(tokens.peek_at(1)) {
        tokens.next();
        scope = SettingScope::Local;
    }
    if tokens.peek().is_word("transaction") && !is_assignment(tokens.peek_at(1)) {
        tokens.next();
        return Ok(Statement::SetTransaction(modes(tokens, true)?));
    }
    if tokens.accept("constraints") {
        let names = if tokens.accept("all") { Vec::new() } else { tokens.qualified_names()? };
        let is_deferred = tokens.accept("deferred");
        if !is_deferred {
            tokens.expect("immediate")?;
        }
        return Ok(Statement::SetConstraints { names, is_deferred });
    }
    // The word SESSION may be the scope, or the first of SESSION AUTHORIZATION, or both.
    if tokens.peek().is_word("session") && tokens.peek_at(1).is_word("authorization") {
        tokens.next();
    } else if tokens.peek().is_word("authorization") && !is_after_session {
        return tokens.error();
    }
    let (name, value) = set_target(tokens)?;
    Ok(Statement::Set { name, value, scope })
}

/// `SET name TO value`, `SET name FROM CURRENT`, `RESET name` or `RESET ALL`, for sessions to come.
pub(super) fn setting_change(tokens: &mut Tokens<'_>) -> Result<SettingChange> {
    if tokens.accept("reset") {
        return Ok(named_setting(tokens)?.map_or(SettingChange::ResetAll, SettingChange::Reset));
    }
    tokens.expect("set")?;
    let start = tokens.at;
    if let Ok(name) = setting_name(tokens)
        && tokens.accept("from")
    {
        tokens.expect("current")?;
        return Ok(SettingChange::SetFromCurrent(name));
    }
    tokens.at = start;
    Ok(match set_target(tokens)? {
        (name, SetValue::Text(value)) => SettingChange::Set(name, value),
        (name, SetValue::Default) => SettingChange::Reset(name),
    })
}

fn is_assignment(token: Token<'_>) -> bool {
    token.is_symbol("=") || token.is_word("to")
}

fn set_target(tokens: &mut Tokens<'_>) -> Result<(String, SetValue)> {
    if tokens.peek().is_word("time") && tokens.peek_at(1).is_word("zone") {
        tokens.next();
        tokens.next();
        if tokens.accept("local") {
            return Ok(("timezone".to_owned(), SetValue::Default));
        }
        if tokens.peek().is_word("interval") {
            return Ok(("timezone".to_owned(), interval_value(tokens)?));
        }
        return Ok(("timezone".to_owned(), set_value(tokens)?));
    }
    if tokens.accept("names") {
        return Ok(("client_encoding".to_owned(), set_value(tokens)?));
    }
    if tokens.peek().is_word("schema") && tokens.peek_at(1).kind == TokenKind::String {
        tokens.next();
        return Ok(("search_path".to_owned(), SetValue::Text(quoted(&tokens.string()?))));
    }
    if tokens.peek().is_word("role") && !is_assignment(tokens.peek_at(1)) {
        tokens.next();
        return Ok(("role".to_owned(), role_value(tokens)?));
    }
    if tokens.peek().is_word("authorization") {
        tokens.next();
        if tokens.accept("default") {
            return Ok(("session_authorization".to_owned(), SetValue::Default));
        }
        return Ok(("session_authorization".to_owned(), role_value(tokens)?));
    }
    let name = setting_name(tokens)?;
    if !tokens.accept("to") {
        tokens.expect_symbol("=")?;
    }
    let value = match name.as_str() {
        "search_path" => set_names(tokens)?,
        _ => set_value_of(tokens, &name)?,
    };
    Ok((name, value))
}

/// A list of names, each quoted if necessary.
fn set_names(tokens: &mut Tokens<'_>) -> Result<SetValue> {
    if tokens.accept("default") {
        return Ok(SetValue::Default);
    }
    let mut names = Vec::new();
    loop {
        names.push(match tokens.peek().kind {
            TokenKind::String => quoted(&tokens.string()?),
            TokenKind::Number => quoted(tokens.next().text),
            _ => quoted(&tokens.label()?),
        });
        if !tokens.accept_symbol(",") {
            return Ok(SetValue::Text(names.join(", ")));
        }
    }
}

fn setting_name(tokens: &mut Tokens<'_>) -> Result<String> {
    let mut name = tokens.identifier()?;
    while tokens.accept_symbol(".") {
        name.push('.');
        name.push_str(&tokens.identifier()?);
    }
    Ok(name)
}

/// Settings that accept a list.
const LISTS: [&str; 6] = [
    "datestyle",
    "local_preload_libraries",
    "session_preload_libraries",
    "temp_tablespaces",
    "wal_consistency_checking",
    "restrict_nonsystem_relation_kind",
];

fn set_value_of(tokens: &mut Tokens<'_>, name: &str) -> Result<SetValue> {
    let start = tokens.at;
    let value = set_value(tokens)?;
    let is_list = tokens.tokens[start..tokens.at].iter().any(|token| token.is_symbol(","));
    if is_list && !LISTS.contains(&name) {
        let message = format!("SET {name} takes only one argument");
        return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    Ok(value)
}

/// A role: a name or a string.
fn role_value(tokens: &mut Tokens<'_>) -> Result<SetValue> {
    if tokens.peek().is_word("default") {
        return tokens.error();
    }
    let name = if tokens.peek().kind == TokenKind::String { tokens.string() } else { tokens.identifier() };
    name.map(SetValue::Text)
}

fn set_value(tokens: &mut Tokens<'_>) -> Result<SetValue> {
    if tokens.accept("default") {
        return Ok(SetValue::Default);
    }
    let mut values = Vec::new();
    loop {
        let sign = if tokens.accept_symbol("-") {
            "-"
        } else {
            tokens.accept_symbol("+");
            ""
        };
        let token = tokens.peek();
        values.push(match token.kind {
            TokenKind::Number => format!("{sign}{}", token.text),
            TokenKind::String if sign.is_empty() => string_value(token.text),
            TokenKind::Word | TokenKind::QuotedIdentifier if sign.is_empty() => identifier_value(&token),
            _ => return tokens.error(),
        });
        tokens.next();
        if !tokens.accept_symbol(",") {
            return Ok(SetValue::Text(values.join(", ")));
        }
    }
}

/// `INTERVAL '+01:00' HOUR TO MINUTE`, in the form that the setting accepts.
fn interval_value(tokens: &mut Tokens<'_>) -> Result<SetValue> {
    tokens.expect("interval")?;
    let text = tokens.string()?;
    let fields = if tokens.accept("hour") {
        if tokens.accept("to") {
            tokens.expect("minute")?;
            Some(IntervalFields::HourToMinute)
        } else {
            Some(IntervalFields::Hour)
        }
    } else if tokens.accept("minute") {
        Some(IntervalFields::Minute)
    } else if tokens.peek().kind == TokenKind::Word {
        let message = "time zone interval must be HOUR or HOUR TO MINUTE";
        let position = character_position(tokens.sql, tokens.peek().start);
        return Err(Error::input(sqlstate::SYNTAX_ERROR, message).with_position(position));
    } else {
        None
    };
    let interval = datetime::parse_interval(
        &text,
        IntervalModifier { fields, precision: None },
        IntervalForm::default(),
    )?;
    let mut shown = Vec::new();
    datetime::write_interval(interval, &mut shown);
    Ok(SetValue::Text(format!("INTERVAL '{}'", String::from_utf8_lossy(&shown))))
}

fn named_setting(tokens: &mut Tokens<'_>) -> Result<Option<String>> {
    if tokens.accept("all") {
        return Ok(None);
    }
    if tokens.accept("time") {
        tokens.expect("zone")?;
        return Ok(Some("timezone".to_owned()));
    }
    if tokens.peek().is_word("transaction") && tokens.peek_at(1).is_word("isolation") {
        tokens.next();
        tokens.next();
        tokens.expect("level")?;
        return Ok(Some("transaction_isolation".to_owned()));
    }
    if tokens.peek().is_word("session") && tokens.peek_at(1).is_word("authorization") {
        tokens.next();
        tokens.next();
        return Ok(Some("session_authorization".to_owned()));
    }
    setting_name(tokens).map(Some)
}

fn show(tokens: &mut Tokens<'_>) -> Result<Statement> {
    Ok(Statement::Show(named_setting(tokens)?))
}

fn reset(tokens: &mut Tokens<'_>) -> Result<Statement> {
    Ok(Statement::Reset(named_setting(tokens)?))
}

/// Skips a list of options in parentheses.
fn skip_options(tokens: &mut Tokens<'_>) -> Result<()> {
    let mut depth = 0usize;
    loop {
        if tokens.peek().kind == TokenKind::End {
            return tokens.error();
        }
        let token = tokens.next();
        if token.is_symbol("(") {
            depth += 1;
        } else if token.is_symbol(")") {
            depth -= 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

fn table_list(tokens: &mut Tokens<'_>) -> Result<Vec<QualifiedName>> {
    let mut tables = Vec::new();
    if tokens.peek().kind == TokenKind::End || tokens.peek().is_symbol(";") {
        return Ok(tables);
    }
    loop {
        tables.push(tokens.qualified_name()?);
        if tokens.peek().is_symbol("(") {
            skip_options(tokens)?;
        }
        if !tokens.accept_symbol(",") {
            return Ok(tables);
        }
    }
}

fn vacuum(tokens: &mut Tokens<'_>) -> Result<Statement> {
    if tokens.peek().is_symbol("(") {
        skip_options(tokens)?;
    } else {
        tokens.accept("full");
        tokens.accept("freeze");
        tokens.accept("verbose");
        if !tokens.accept("analyze") {
            tokens.accept("analyse");
        }
    }
    Ok(maintenance("VACUUM", table_list(tokens)?, Some("VACUUM")))
}

fn analyze(tokens: &mut Tokens<'_>) -> Result<Statement> {
    if tokens.peek().is_symbol("(") {
        skip_options(tokens)?;
    } else {
        tokens.accept("verbose");
    }
    Ok(maintenance("ANALYZE", table_list(tokens)?, None))
}

fn discard(tokens: &mut Tokens<'_>) -> Result<Statement> {
    if tokens.accept("all") {
        return Ok(Statement::DiscardAll);
    }
    if tokens.accept("temp") || tokens.accept("temporary") {
        return Ok(Statement::DiscardTemporaries);
    }
    for (word, tag) in [("plans", "DISCARD PLANS"), ("sequences", "DISCARD SEQUENCES")] {
        if tokens.accept(word) {
            return Ok(maintenance(tag, Vec::new(), None));
        }
    }
    tokens.error()
}

fn prepare(tokens: &mut Tokens<'_>) -> Result<Statement> {
    if tokens.peek().is_word("transaction") && tokens.peek_at(1).kind == TokenKind::String {
        return tokens.unsupported(Missing::TwoPhase, "two-phase commit is");
    }
    let name = tokens.identifier()?;
    let mut types = Vec::new();
    if tokens.accept_symbol("(") {
        loop {
            types.push(type_text(tokens)?);
            if !tokens.accept_symbol(",") {
                break;
            }
        }
        tokens.expect_symbol(")")?;
    }
    tokens.expect("as")?;
    let (body, body_offset) = tokens.rest();
    Ok(Statement::Prepare { name, types, body, body_offset })
}

/// The text of a type name, up to the comma or parenthesis that ends it.
fn type_text(tokens: &mut Tokens<'_>) -> Result<String> {
    let start = tokens.peek().start;
    let mut end = start;
    loop {
        let token = tokens.peek();
        match token.kind {
            TokenKind::Word | TokenKind::QuotedIdentifier => end = tokens.next().end(),
            TokenKind::Symbol if token.text == "." => end = tokens.next().end(),
            TokenKind::Symbol if token.text == "[" => {
                tokens.next();
                if tokens.peek().kind == TokenKind::Number {
                    tokens.next();
                }
                end = tokens.peek().end();
                tokens.expect_symbol("]")?;
            }
            TokenKind::Symbol if token.text == "(" => {
                skip_options(tokens)?;
                end = tokens.peek().start;
            }
            _ if end == start => return tokens.error(),
            _ => return Ok(tokens.sql[start..end].trim_end().to_owned()),
        }
    }
}

fn execute(tokens: &mut Tokens<'_>) -> Result<Statement> {
    let name = tokens.identifier()?;
    let mut arguments = String::new();
    if tokens.peek().is_symbol("(") {
        let start = tokens.peek().start;
        skip_options(tokens)?;
        arguments = tokens.sql[start..tokens.peek().start].trim_end().to_owned();
    }
    Ok(Statement::Execute { name, arguments })
}

fn explain(tokens: &mut Tokens<'_>) -> Result<Statement> {
    let mut options = ExplainOptions::default();
    if tokens.peek().is_symbol("(") && !tokens.peek_at(1).is_word("select") {
        tokens.next();
        loop {
            let position = character_position(tokens.sql, tokens.peek().start);
            let option = tokens.label()?;
            let value = match tokens.peek() {
                token if token.is_symbol(",") || token.is_symbol(")") => String::from("on"),
                _ => tokens.next().text.to_ascii_lowercase(),
            };
            let is_on = !matches!(value.as_str(), "off" | "false" | "0");
            match option.as_str() {
                "analyze" | "analyse" => options.is_analyze = is_on,
                "format" => {
                    options.format = ExplainFormat::named(&value).ok_or_else(|| {
                        Error::input(
                            sqlstate::INVALID_PARAMETER_VALUE,
                            format!("unrecognized value for EXPLAIN option \"format\": \"{value}\""),
                        )
                    })?;
                }
                "verbose" => options.is_verbose = is_on,
                "summary" => options.has_times = Some(is_on),
                "costs" | "settings" | "buffers" | "wal" | "timing" => {}
                _ => {
                    return Err(Error::input(
                        sqlstate::SYNTAX_ERROR,
                        format!("unrecognized EXPLAIN option \"{option}\""),
                    )
                    .with_position(position));
                }
            }
            if !tokens.accept_symbol(",") {
                break;
            }
        }
        tokens.expect_symbol(")")?;
    } else {
        options.is_analyze = tokens.accept("analyze") || tokens.accept("analyse");
        options.is_verbose = tokens.accept("verbose");
    }
    let is_explained =
        |token: Token<'_>| token.is_symbol("(") || EXPLAINED.iter().any(|word| token.is_word(word));
    if !is_explained(tokens.peek()) {
        return tokens.error();
    }
    let (body, body_offset) = tokens.rest();
    Ok(Statement::Explain { options, body, body_offset })
}

/// The first words of the statements that EXPLAIN accepts.
const EXPLAINED: [&str; 13] = [
    "select", "values", "table", "with", "insert", "update", "delete", "merge", "execute", "declare",
    "create", "refresh", "call",
];
