//! COPY: its grammar (current and pre-9.0 forms) and its options.
//!
//! Reference: PostgreSQL's documentation of COPY; option checks follow `ProcessCopyOptions`.

use hyades_types::error::{Error, Result, sqlstate};

use super::lexer::{TokenKind, character_position, identifier_value, string_value};
use super::parsed::{CopyFormat, CopyOptions, CopySource, CopyStatement, ForceQuote, Statement};
use super::tokens::Tokens;

/// Options as they stand in the statement.
#[derive(Default)]
struct RawOptions {
    format: Option<CopyFormat>,
    delimiter: Option<String>,
    null: Option<String>,
    header: bool,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: ForceQuote,
}

fn unsupported<T>(sentence: impl Into<String>) -> Result<T> {
    Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, sentence))
}

/// Parses a COPY statement.
pub(crate) fn parse(sql: &str) -> Result<Statement> {
    let mut tokens = Tokens::new(sql)?;
    while tokens.accept_symbol(";") {}
    tokens.expect("copy")?;
    let mut raw = RawOptions::default();
    if tokens.accept("binary") {
        return unsupported("COPY in binary format is not supported yet");
    }
    let source = source(&mut tokens)?;
    let is_from = if tokens.accept("from") {
        true
    } else {
        tokens.expect("to")?;
        false
    };
    if is_from && matches!(source, CopySource::Query { .. }) {
        tokens.error::<()>()?;
    }
    if tokens.peek().kind == TokenKind::String || tokens.peek().is_word("program") {
        return unsupported("COPY from or to a file of the server is not supported")
            .map_err(|error: Error| error.with_hint("Use COPY FROM STDIN or TO STDOUT, or psql's \\copy."));
    }
    if !tokens.accept("stdin") {
        tokens.expect("stdout")?;
    }
    let has_with = tokens.accept("with");
    if tokens.accept_symbol("(") {
        modern_options(&mut tokens, &mut raw)?;
    } else {
        old_options(&mut tokens, &mut raw, has_with)?;
    }
    if tokens.peek().is_word("where") {
        return unsupported("COPY ... WHERE is not supported yet");
    }
    tokens.end()?;
    let options = check(raw)?;
    Ok(Statement::Copy(Box::new(CopyStatement { source, is_from, options })))
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
                    return Ok(CopySource::Query { text, offset: character_position(tokens.sql, start) - 1 });
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

fn modern_options(tokens: &mut Tokens<'_>, raw: &mut RawOptions) -> Result<()> {
    loop {
        let position = character_position(tokens.sql, tokens.peek().start);
        let name = tokens.identifier()?;
        match name.as_str() {
            "format" => raw.format = Some(format(&value(tokens)?, position)?),
            "delimiter" => raw.delimiter = Some(value(tokens)?),
            "null" => raw.null = Some(value(tokens)?),
            "header" => raw.header = boolean(tokens)?,
            "quote" => raw.quote = Some(value(tokens)?),
            "escape" => raw.escape = Some(value(tokens)?),
            "freeze" => {
                boolean(tokens)?;
            }
            "encoding" => encoding(&value(tokens)?)?,
            "force_quote" => raw.force_quote = force_quote(tokens)?,
            "force_not_null" | "force_null" => {
                return unsupported(format!("COPY option {name} is not supported yet"));
            }
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
    tokens.expect_symbol("(")?;
    let mut columns = Vec::new();
    loop {
        columns.push(tokens.identifier()?);
        if !tokens.accept_symbol(",") {
            tokens.expect_symbol(")")?;
            return Ok(ForceQuote::Columns(columns));
        }
    }
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

fn boolean(tokens: &mut Tokens<'_>) -> Result<bool> {
    if tokens.peek().is_symbol(",") || tokens.peek().is_symbol(")") {
        return Ok(true);
    }
    let text = value(tokens)?;
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::input(sqlstate::SYNTAX_ERROR, "header requires a Boolean value")),
    }
}

fn format(name: &str, position: u32) -> Result<CopyFormat> {
    match name {
        "text" => Ok(CopyFormat::Text),
        "csv" => Ok(CopyFormat::Csv),
        "binary" => unsupported("COPY in binary format is not supported yet"),
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
        _ => unsupported(format!("COPY encoding \"{name}\" is not supported, only UTF8")),
    }
}

/// The forms before PostgreSQL 9.0: `WITH CSV HEADER DELIMITER AS ','`.
fn old_options(tokens: &mut Tokens<'_>, raw: &mut RawOptions, has_with: bool) -> Result<()> {
    let mut needs_one = has_with;
    loop {
        if tokens.accept("binary") {
            return unsupported("COPY in binary format is not supported yet");
        } else if tokens.accept("csv") {
            raw.format = Some(CopyFormat::Csv);
        } else if tokens.accept("header") {
            raw.header = true;
        } else if tokens.accept("freeze") {
            // Rows are always visible at commit; there is nothing to freeze.
        } else if tokens.accept("delimiter") || tokens.accept("delimiters") {
            tokens.accept("as");
            raw.delimiter = Some(tokens.string()?);
        } else if tokens.accept("null") {
            tokens.accept("as");
            raw.null = Some(tokens.string()?);
        } else if tokens.accept("quote") {
            tokens.accept("as");
            raw.quote = Some(tokens.string()?);
        } else if tokens.accept("escape") {
            tokens.accept("as");
            raw.escape = Some(tokens.string()?);
        } else if tokens.accept("encoding") {
            encoding(&tokens.string()?)?;
        } else if tokens.peek().is_word("force") {
            return unsupported("COPY ... FORCE is only supported as option force_quote in parentheses");
        } else if needs_one {
            return tokens.error();
        } else {
            return Ok(());
        }
        needs_one = false;
    }
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

fn check(raw: RawOptions) -> Result<CopyOptions> {
    let format = raw.format.unwrap_or(CopyFormat::Text);
    let is_csv = format == CopyFormat::Csv;
    let default_delimiter = if is_csv { "," } else { "\t" };
    let delimiter = single_byte(raw.delimiter.as_deref().unwrap_or(default_delimiter), "delimiter")?;
    if matches!(delimiter, b'\r' | b'\n') {
        return invalid("COPY delimiter cannot be newline or carriage return");
    }
    let null = raw.null.unwrap_or_else(|| if is_csv { String::new() } else { "\\N".to_owned() });
    if null.contains(['\r', '\n']) {
        return invalid("COPY null representation cannot use newline or carriage return");
    }
    if !is_csv && (b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&delimiter)) {
        return invalid(&format!("COPY delimiter cannot be \"{}\"", char::from(delimiter)));
    }
    if !is_csv && raw.quote.is_some() {
        return refuse("COPY quote available only in CSV mode");
    }
    if !is_csv && raw.escape.is_some() {
        return refuse("COPY escape available only in CSV mode");
    }
    if !is_csv && raw.force_quote != ForceQuote::None {
        return refuse("COPY force quote available only in CSV mode");
    }
    let quote = single_byte(raw.quote.as_deref().unwrap_or("\""), "quote")?;
    let escape = match raw.escape {
        Some(escape) => single_byte(&escape, "escape")?,
        None => quote,
    };
    if is_csv && delimiter == quote {
        return invalid("COPY delimiter and quote must be different");
    }
    if null.as_bytes().contains(&delimiter) {
        return refuse("COPY delimiter must not appear in the NULL specification");
    }
    if is_csv && null.as_bytes().contains(&quote) {
        return refuse("CSV quote character must not appear in the NULL specification");
    }
    Ok(CopyOptions {
        format,
        delimiter,
        null,
        has_header: raw.header,
        quote,
        escape,
        force_quote: raw.force_quote,
    })
}
