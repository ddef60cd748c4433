//! CREATE, ALTER and DROP DATABASE.
//!
//! Texts are UTF-8, and ordered by their bytes. An encoding or a locale that asks for anything else is
//! refused, with the way round.
//!
//! Reference: PostgreSQL's gram.y (CreatedbStmt, AlterDatabaseStmt, DropdbStmt) and dbcommands.c.

use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::refusal::{Missing, refused};

use super::control::setting_change;
use super::lexer::{Token, TokenKind, character_position};
use super::parsed::{AccessCommand, DatabaseCommand, DatabaseOptions, SettingsTarget, Statement};
use super::role_syntax::role;
use super::tokens::Tokens;

/// What is written after an option's name.
enum Given {
    Default,
    Text(String),
}

/// The statement after its first word, or `None` if the next word is not DATABASE.
fn begin<'a>(sql: &'a str, word: &str) -> Result<Option<Tokens<'a>>> {
    let mut tokens = Tokens::after(sql, word)?;
    Ok(tokens.accept("database").then_some(tokens))
}

fn failed_at<T>(tokens: &Tokens<'_>, place: Token<'_>, (state, message): (SqlState, String)) -> Result<T> {
    Err(Error::input(state, message).with_position(character_position(tokens.sql, place.start)))
}

/// `CREATE DATABASE name [WITH] options`.
pub(super) fn create(sql: &str) -> Result<Option<Statement>> {
    let Some(mut tokens) = begin(sql, "create")? else { return Ok(None) };
    let name = tokens.identifier()?;
    tokens.accept("with");
    let options = options(&mut tokens, true)?;
    tokens.end()?;
    Ok(Some(Statement::Database(Box::new(DatabaseCommand::Create { name, options }))))
}

/// `ALTER DATABASE`.
pub(super) fn alter(sql: &str) -> Result<Option<Statement>> {
    let Some(mut tokens) = begin(sql, "alter")? else { return Ok(None) };
    let name = tokens.identifier()?;
    let first = tokens.peek();
    let command = if tokens.accept("rename") {
        tokens.expect("to")?;
        DatabaseCommand::Rename { name, to: tokens.identifier()? }
    } else if first.is_word("owner") {
        tokens.next();
        tokens.expect("to")?;
        DatabaseCommand::Own { name, to: role(&mut tokens)? }
    } else if first.is_word("set") || first.is_word("reset") {
        let of = SettingsTarget { role: None, database: Some(name), is_of_database: true };
        let change = setting_change(&mut tokens)?;
        tokens.end()?;
        return Ok(Some(Statement::Access(Box::new(AccessCommand::Settings { of, change }))));
    } else if first.is_word("refresh") {
        return unsupported(&tokens, first, Missing::Locales, "REFRESH COLLATION VERSION is");
    } else {
        tokens.accept("with");
        DatabaseCommand::Alter { name, options: options(&mut tokens, false)? }
    };
    tokens.end()?;
    Ok(Some(Statement::Database(Box::new(command))))
}

/// `DROP DATABASE [IF EXISTS] name [[WITH] (FORCE)]`.
pub(super) fn drop_database(sql: &str) -> Result<Option<Statement>> {
    let Some(mut tokens) = begin(sql, "drop")? else { return Ok(None) };
    let if_exists = tokens.if_exists()?;
    let name = tokens.identifier()?;
    let mut is_forced = false;
    if tokens.accept("with") || tokens.peek().is_symbol("(") {
        tokens.expect_symbol("(")?;
        loop {
            tokens.expect("force")?;
            is_forced = true;
            if !tokens.accept_symbol(",") {
                break;
            }
        }
        tokens.expect_symbol(")")?;
    }
    tokens.end()?;
    let command = DatabaseCommand::Drop { name, if_exists, is_forced };
    Ok(Some(Statement::Database(Box::new(command))))
}

fn options(tokens: &mut Tokens<'_>, is_new: bool) -> Result<DatabaseOptions> {
    let mut options = DatabaseOptions::default();
    let mut seen: Vec<String> = Vec::new();
    while !matches!(tokens.peek().kind, TokenKind::End) && !tokens.peek().is_symbol(";") {
        let place = tokens.peek();
        let mut word = tokens.identifier()?;
        if word == "connection" {
            tokens.expect("limit")?;
            word = "connection_limit".to_owned();
        }
        tokens.accept_symbol("=");
        if seen.contains(&word) {
            let message = "conflicting or redundant options".to_owned();
            return failed_at(tokens, place, (sqlstate::SYNTAX_ERROR, message));
        }
        match word.as_str() {
            "is_template" => options.is_template = Some(truth(tokens, &word)?),
            "allow_connections" => options.allows_connections = Some(truth(tokens, &word)?),
            "connection_limit" => options.connection_limit = Some(limit(tokens)?),
            "owner" if is_new => match tokens.accept("default") {
                true => {}
                false => options.owner = Some(role(tokens)?),
            },
            _ if is_new => creation_option(tokens, (place, &word), &mut options)?,
            _ => return unknown(tokens, place, &word),
        }
        seen.push(word);
    }
    Ok(options)
}

/// An option that only CREATE DATABASE has.
fn creation_option(
    tokens: &mut Tokens<'_>,
    (place, word): (Token<'_>, &str),
    options: &mut DatabaseOptions,
) -> Result<()> {
    match (word, given(tokens)?) {
        ("template", Given::Text(name)) => options.template = Some(name),
        ("encoding", Given::Text(name)) => check_encoding(tokens, place, &name)?,
        ("lc_collate" | "lc_ctype" | "locale" | "icu_locale", Given::Text(name)) => {
            if !["c", "posix", "c.utf-8", "c.utf8", "ucs_basic"].contains(&name.to_ascii_lowercase().as_str())
            {
                return unsupported(tokens, place, Missing::Locales, &format!("the locale \"{name}\" is"));
            }
        }
        ("locale_provider", Given::Text(name)) if !name.eq_ignore_ascii_case("libc") => {
            return unsupported(
                tokens,
                place,
                Missing::Locales,
                &format!("the locale provider \"{name}\" is"),
            );
        }
        ("tablespace", Given::Text(name)) if name != "pg_default" => {
            let message = format!("tablespace \"{name}\" does not exist");
            return Err(Error::input(sqlstate::UNDEFINED_OBJECT, message));
        }
        ("strategy", Given::Text(name))
            if !["wal_log", "file_copy"].contains(&name.to_ascii_lowercase().as_str()) =>
        {
            let message = format!("invalid create database strategy \"{name}\"");
            let error = Error::input(sqlstate::INVALID_PARAMETER_VALUE, message);
            return Err(error.with_hint("Valid strategies are \"wal_log\" and \"file_copy\"."));
        }
        ("oid", Given::Text(_)) => {
            return unsupported(tokens, place, Missing::Numbers, "a number given to a database is");
        }
        ("template" | "encoding" | "lc_collate" | "lc_ctype" | "locale" | "icu_locale", Given::Default)
        | ("locale_provider" | "tablespace" | "strategy" | "collation_version" | "oid", _) => {}
        _ => return unknown(tokens, place, word),
    }
    Ok(())
}

fn unsupported<T>(tokens: &Tokens<'_>, place: Token<'_>, missing: Missing, what: &str) -> Result<T> {
    Err(refused(missing, what).with_position(character_position(tokens.sql, place.start)))
}

fn unknown<T>(tokens: &Tokens<'_>, place: Token<'_>, word: &str) -> Result<T> {
    failed_at(tokens, place, (sqlstate::SYNTAX_ERROR, format!("option \"{word}\" not recognized")))
}

/// A name, a word, a text, a number, or DEFAULT.
fn given(tokens: &mut Tokens<'_>) -> Result<Given> {
    if tokens.accept("default") {
        return Ok(Given::Default);
    }
    let token = tokens.peek();
    Ok(Given::Text(match token.kind {
        TokenKind::String => tokens.string()?,
        TokenKind::Number => tokens.next().text.to_owned(),
        _ => tokens.label()?,
    }))
}

fn truth(tokens: &mut Tokens<'_>, option: &str) -> Result<bool> {
    let Given::Text(text) = given(tokens)? else { return Ok(option == "allow_connections") };
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::input(sqlstate::SYNTAX_ERROR, format!("{option} requires a Boolean value"))),
    }
}

fn limit(tokens: &mut Tokens<'_>) -> Result<i32> {
    if tokens.accept("default") {
        return Ok(-1);
    }
    let sign = if tokens.accept_symbol("-") { "-" } else { "" };
    let token = tokens.peek();
    let TokenKind::Number = token.kind else { return tokens.error() };
    let written = format!("{sign}{}", tokens.next().text);
    match written.parse::<i32>() {
        Ok(limit) if limit >= -1 => Ok(limit),
        Ok(_) => {
            let message = format!("invalid connection limit: {written}");
            Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message))
        }
        Err(_) => failed_at(tokens, token, (sqlstate::SYNTAX_ERROR, "integer out of range".to_owned())),
    }
}

fn check_encoding(tokens: &Tokens<'_>, place: Token<'_>, name: &str) -> Result<()> {
    /// Those of PostgreSQL, letters and digits only, besides `UTF8`.
    const OTHERS: &[&str] = &[
        "sqlascii",
        "eucjp",
        "euccn",
        "euckr",
        "euctw",
        "eucjis2004",
        "latin1",
        "latin2",
        "latin3",
        "latin4",
        "latin5",
        "latin6",
        "latin7",
        "latin8",
        "latin9",
        "latin10",
        "iso88591",
        "iso88592",
        "iso885915",
        "win1250",
        "win1251",
        "win1252",
        "win1253",
        "win1254",
        "win1255",
        "win1256",
        "win1257",
        "win1258",
        "win866",
        "win874",
        "koi8",
        "koi8r",
        "koi8u",
        "muleinternal",
        "sjis",
        "big5",
        "gbk",
        "uhc",
        "gb18030",
        "johab",
    ];
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match letters.to_ascii_lowercase().as_str() {
        // 6 is its number, and -1 asks for the template's.
        "utf8" | "unicode" | "6" | "1" => Ok(()),
        other if OTHERS.contains(&other) || other.parse::<u8>().is_ok_and(|number| number < 42) => {
            unsupported(tokens, place, Missing::Encodings, &format!("the encoding \"{name}\" is"))
        }
        _ => {
            let message = format!("{name} is not a valid encoding name");
            failed_at(tokens, place, (sqlstate::UNDEFINED_OBJECT, message))
        }
    }
}
