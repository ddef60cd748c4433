//! COPY: its grammar (current and pre-9.0 forms) and its options.
//!
//! Reference: PostgreSQL's documentation of COPY; option checks follow `ProcessCopyOptions`.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refused};

use super::lexer::{TokenKind, character_position, identifier_value, string_value};
use super::parsed::{
    CopyFormat, CopyHeader, CopyOptions, CopySource, CopyStatement, ForceQuote, SqlPart, Statement,
};
use super::tokens::Tokens;

/// Options as written in the statement.
#[derive(Default)]
struct RawOptions {
    format: Option<CopyFormat>,
    freeze: Option<bool>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<CopyHeader>,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: Option<ForceQuote>,
    force_null: Option<Vec<String>>,
    force_not_null: Option<Vec<String>>,
    /// Present if it was given. Its value has been checked.
    encoding: Option<()>,
}

/// Stores an option, which may be given only once.
fn note<T>(slot: &mut Option<T>, value: T, position: u32) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => {
            Err(Error::input(sqlstate::SYNTAX_ERROR, "conflicting or redundant options")
                .with_position(position))
        }
    }
}

/// Parses a COPY statement.
pub(crate) fn parse(sql: &str) -> Result<Statement> {
    let mut tokens = Tokens::new(sql)?;
    while tokens.accept_symbol(";") {}
    tokens.expect("copy")?;
    let mut raw = RawOptions::default();
    if tokens.accept("binary") {
        raw.format = Some(CopyFormat::Binary);
    }
    if raw.format.is_some() && tokens.peek().is_symbol("(") {
        return tokens.error();
    }
    let source = source(&mut tokens)?;
    let is_from = if tokens.accept("from") {
        true
    } else {
        tokens.expect("to")?;
        false
    };
    if is_from && matches!(source, CopySource::Query(_)) {
        tokens.error::<()>()?;
    }
    if tokens.peek().kind == TokenKind::String || tokens.peek().is_word("program") {
        return tokens
            .unsupported(Missing::ServerFiles, "COPY from or to a file of the server is")
            .map_err(|error: Error| error.with_hint("Use COPY FROM STDIN or TO STDOUT, or psql's \\copy."));
    }
    if !tokens.accept("stdin") {
        tokens.expect("stdout")?;
    }
    let has_with = tokens.accept("with");
    if tokens.accept_symbol("(") {
        modern_options(&mut tokens, &mut raw, is_from)?;
    } else {
        old_options(&mut tokens, &mut raw, has_with)?;
    }
    let condition = match tokens.peek() {
        token if token.is_word("where") && matches!(source, CopySource::Table { .. }) => {
            if !is_from {
                let error = Error::input(sqlstate::SYNTAX_ERROR, "WHERE clause not allowed with COPY TO");
                return Err(error.with_position(character_position(tokens.sql, token.start)));
            }
            tokens.next();
            Some(rest(&mut tokens)?)
        }
        _ => None,
    };
    tokens.end()?;
    let options = check(raw, is_from)?;
    Ok(Statement::Copy(Box::new(CopyStatement { source, is_from, options, condition })))
}

/// The rest of the statement.
fn rest(tokens: &mut Tokens<'_>) -> Result<SqlPart> {
    let start = tokens.peek().start;
    let offset = character_position(tokens.sql, start) - 1;
    let mut end = start;
    while tokens.peek().kind != TokenKind::End && !tokens.peek().is_symbol(";") {
        end = tokens.next().end();
    }
    if end == start {
        return tokens.error();
    }
    Ok(SqlPart { text: tokens.sql[start..end].to_owned(), offset })
}

fn source(tokens: &mut Tokens<'_>) -> Result<CopySource> {
    if tokens.peek().is_symbol("(") {
        let start = tokens.next().end();
        let mut depth = 1usize;
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
                    let text = tokens.sql[start..token.start].to_owned();
                    let offset = character_position(tokens.sql, start) - 1;
                    return Ok(CopySource::Query(SqlPart { text, offset }));
                }
            }
        }
    }
    let name = tokens.qualified_name()?;
    let mut columns = Vec::new();
    if tokens.accept_symbol("(") {
        loop {
            let position = character_position(tokens.sql, tokens.peek().start);
            columns.push((tokens.identifier()?, position));
            if !tokens.accept_symbol(",") {
                break;
            }
        }
        tokens.expect_symbol(")")?;
    }
    Ok(CopySource::Table { name, columns })
}

fn modern_options(tokens: &mut Tokens<'_>, raw: &mut RawOptions, is_from: bool) -> Result<()> {
    loop {
        let position = character_position(tokens.sql, tokens.peek().start);
        let name = tokens.label()?;
        match name.as_str() {
            "format" => {
                let format = format(&value(tokens)?, position);
                // A repeated option is reported before its value is checked.
                let known = *format.as_ref().unwrap_or(&CopyFormat::Text);
                note(&mut raw.format, known, position)?;
                format?;
            }
            "delimiter" => note(&mut raw.delimiter, value(tokens)?, position)?,
            "null" => note(&mut raw.null, value(tokens)?, position)?,
            "header" => note(&mut raw.header, header(tokens, is_from)?, position)?,
            "quote" => note(&mut raw.quote, value(tokens)?, position)?,
            "escape" => note(&mut raw.escape, value(tokens)?, position)?,
            "freeze" => note(&mut raw.freeze, boolean(tokens, &name)?, position)?,
            "encoding" => note(&mut raw.encoding, encoding(&value(tokens)?)?, position)?,
            "force_quote" => note(&mut raw.force_quote, force_quote(tokens)?, position)?,
            "force_null" | "force_not_null" if !tokens.peek().is_symbol("(") => {
                let message = format!("argument to option \"{name}\" must be a list of column names");
                return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message).with_position(position));
            }
            "force_null" => note(&mut raw.force_null, forced(tokens)?, position)?,
            "force_not_null" => note(&mut raw.force_not_null, forced(tokens)?, position)?,
            _ => {
                return Err(Error::input(
                    sqlstate::SYNTAX_ERROR,
                    format!("option \"{name}\" not recognized"),
                )
                .with_position(position));
            }
        }
        if !tokens.accept_symbol(",") {
            return tokens.expect_symbol(")");
        }
    }
}

fn force_quote(tokens: &mut Tokens<'_>) -> Result<ForceQuote> {
    if tokens.accept_symbol("*") {
        return Ok(ForceQuote::All);
    }
    forced(tokens).map(ForceQuote::Columns)
}

fn value(tokens: &mut Tokens<'_>) -> Result<String> {
    let token = tokens.peek();
    let value = match token.kind {
        TokenKind::String => string_value(token.text),
        TokenKind::Word | TokenKind::QuotedIdentifier => identifier_value(&token),
        TokenKind::Number => token.text.to_owned(),
        _ => return tokens.error(),
    };
    tokens.next();
    Ok(value)
}

fn header(tokens: &mut Tokens<'_>, is_from: bool) -> Result<CopyHeader> {
    let said = tokens.peek();
    if said.is_symbol(",") || said.is_symbol(")") {
        return Ok(CopyHeader::Names);
    }
    match value(tokens)?.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(CopyHeader::Names),
        "false" | "off" | "0" => Ok(CopyHeader::None),
        "match" if is_from => Ok(CopyHeader::Match),
        "match" => refuse("cannot use \"match\" with HEADER in COPY TO"),
        _ => {
            let message = "header requires a Boolean value or \"match\"";
            Err(Error::input(sqlstate::SYNTAX_ERROR, message))
        }
    }
}

/// A list of columns in parentheses.
fn forced(tokens: &mut Tokens<'_>) -> Result<Vec<String>> {
    tokens.expect_symbol("(")?;
    let columns = names(tokens)?;
    tokens.expect_symbol(")")?;
    Ok(columns)
}

fn names(tokens: &mut Tokens<'_>) -> Result<Vec<String>> {
    let mut columns = vec![tokens.identifier()?];
    while tokens.accept_symbol(",") {
        columns.push(tokens.identifier()?);
    }
    Ok(columns)
}

fn boolean(tokens: &mut Tokens<'_>, option: &str) -> Result<bool> {
    if tokens.peek().is_symbol(",") || tokens.peek().is_symbol(")") {
        return Ok(true);
    }
    let text = value(tokens)?;
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => {
            let message = format!("{option} requires a Boolean value");
            Err(Error::input(sqlstate::SYNTAX_ERROR, message))
        }
    }
}

fn format(name: &str, position: u32) -> Result<CopyFormat> {
    match name {
        "text" => Ok(CopyFormat::Text),
        "csv" => Ok(CopyFormat::Csv),
        "binary" => Ok(CopyFormat::Binary),
        _ => Err(Error::input(
            sqlstate::INVALID_PARAMETER_VALUE,
            format!("COPY format \"{name}\" not recognized"),
        )
        .with_position(position)),
    }
}

fn encoding(name: &str) -> Result<()> {
    let folded: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    match folded.as_str() {
        "utf8" | "unicode" | "sqlascii" => Ok(()),
        _ => Err(refused(Missing::Conversions, &format!("COPY encoding \"{name}\" is"))),
    }
}

/// The forms before PostgreSQL 9.0: `WITH CSV HEADER DELIMITER AS ','`.
fn old_options(tokens: &mut Tokens<'_>, raw: &mut RawOptions, has_with: bool) -> Result<()> {
    let mut needs_one = has_with;
    loop {
        let position = character_position(tokens.sql, tokens.peek().start);
        if tokens.accept("binary") {
            note(&mut raw.format, CopyFormat::Binary, position)?;
        } else if tokens.accept("csv") {
            note(&mut raw.format, CopyFormat::Csv, position)?;
        } else if tokens.accept("header") {
            note(&mut raw.header, CopyHeader::Names, position)?;
        } else if tokens.accept("freeze") {
            note(&mut raw.freeze, true, position)?;
        } else if tokens.accept("delimiter") || tokens.accept("delimiters") {
            note(&mut raw.delimiter, old_value(tokens)?, position)?;
        } else if tokens.accept("null") {
            note(&mut raw.null, old_value(tokens)?, position)?;
        } else if tokens.accept("quote") {
            note(&mut raw.quote, old_value(tokens)?, position)?;
        } else if tokens.accept("escape") {
            note(&mut raw.escape, old_value(tokens)?, position)?;
        } else if tokens.accept("encoding") {
            note(&mut raw.encoding, encoding(&tokens.string()?)?, position)?;
        } else if tokens.accept("force") {
            old_force(tokens, raw, position)?;
        } else if needs_one {
            return tokens.error();
        } else {
            return Ok(());
        }
        needs_one = false;
    }
}

/// `FORCE QUOTE *`, `FORCE NOT NULL a, b`.
fn old_force(tokens: &mut Tokens<'_>, raw: &mut RawOptions, position: u32) -> Result<()> {
    if tokens.accept("quote") {
        let columns = match tokens.accept_symbol("*") {
            true => ForceQuote::All,
            false => ForceQuote::Columns(names(tokens)?),
        };
        return note(&mut raw.force_quote, columns, position);
    }
    let is_not = tokens.accept("not");
    tokens.expect("null")?;
    let columns = names(tokens)?;
    note(if is_not { &mut raw.force_not_null } else { &mut raw.force_null }, columns, position)
}

fn old_value(tokens: &mut Tokens<'_>) -> Result<String> {
    tokens.accept("as");
    tokens.string()
}

fn invalid<T>(message: &str) -> Result<T> {
    Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message))
}

fn refuse<T>(message: &str) -> Result<T> {
    Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message))
}

fn single_byte(text: &str, what: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => refuse(&format!("COPY {what} must be a single one-byte character")),
    }
}

/// Checks the options that name columns.
fn check_forced(raw: &RawOptions, is_csv: bool, is_from: bool) -> Result<()> {
    if !is_csv && raw.force_quote.is_some() {
        return refuse("COPY force quote available only in CSV mode");
    }
    if is_from && raw.force_quote.is_some() {
        return refuse("COPY force quote only available using COPY TO");
    }
    for (words, is_given) in [("not null", raw.force_not_null.is_some()), ("null", raw.force_null.is_some())]
    {
        if !is_csv && is_given {
            return refuse(&format!("COPY force {words} available only in CSV mode"));
        }
        if !is_from && is_given {
            return refuse(&format!("COPY force {words} only available using COPY FROM"));
        }
    }
    Ok(())
}

fn check(raw: RawOptions, is_from: bool) -> Result<CopyOptions> {
    let format = raw.format.unwrap_or(CopyFormat::Text);
    let is_csv = format == CopyFormat::Csv;
    let is_binary = format == CopyFormat::Binary;
    for (word, is_given) in [("DELIMITER", raw.delimiter.is_some()), ("NULL", raw.null.is_some())] {
        if is_binary && is_given {
            let message = format!("cannot specify {word} in BINARY mode");
            return Err(Error::input(sqlstate::SYNTAX_ERROR, message));
        }
    }
    let default_delimiter = if is_csv { "," } else { "\t" };
    let delimiter = single_byte(raw.delimiter.as_deref().unwrap_or(default_delimiter), "delimiter")?;
    if matches!(delimiter, b'\r' | b'\n') {
        return invalid("COPY delimiter cannot be newline or carriage return");
    }
    let null = raw.null.clone().unwrap_or_else(|| if is_csv { String::new() } else { "\\N".to_owned() });
    if null.contains(['\r', '\n']) {
        return invalid("COPY null representation cannot use newline or carriage return");
    }
    if !is_csv && (b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&delimiter)) {
        return invalid(&format!("COPY delimiter cannot be \"{}\"", char::from(delimiter)));
    }
    let header = raw.header.unwrap_or_default();
    if is_binary && header != CopyHeader::None {
        return refuse("cannot specify HEADER in BINARY mode");
    }
    if !is_csv && raw.quote.is_some() {
        return refuse("COPY quote available only in CSV mode");
    }
    let quote = single_byte(raw.quote.as_deref().unwrap_or("\""), "quote")?;
    if is_csv && delimiter == quote {
        return invalid("COPY delimiter and quote must be different");
    }
    if !is_csv && raw.escape.is_some() {
        return refuse("COPY escape available only in CSV mode");
    }
    let escape = match &raw.escape {
        Some(escape) => single_byte(escape, "escape")?,
        None => quote,
    };
    check_forced(&raw, is_csv, is_from)?;
    if null.as_bytes().contains(&delimiter) {
        return refuse("COPY delimiter must not appear in the NULL specification");
    }
    if is_csv && null.as_bytes().contains(&quote) {
        return refuse("CSV quote character must not appear in the NULL specification");
    }
    let force_quote = raw.force_quote.unwrap_or_default();
    let force_null = raw.force_null.unwrap_or_default();
    let force_not_null = raw.force_not_null.unwrap_or_default();
    Ok(CopyOptions {
        format,
        delimiter,
        null,
        header,
        quote,
        escape,
        force_quote,
        force_null,
        force_not_null,
    })
}
