//! Bodies of routines in standard SQL: `RETURN expression`, or `BEGIN ATOMIC statement; ... END`.

use hyades_types::error::{Error, Result, sqlstate};

use super::lexer::{Lexer, TokenKind, syntax_error};
use super::split;
use super::tokens::Tokens;

/// A statement of a body.
pub(crate) struct BodyStatement {
    /// The number of characters before it in the body.
    pub(crate) start: usize,
    /// RETURN is replaced by SELECT, which is as long.
    pub(crate) text: String,
    pub(crate) is_return: bool,
}

/// Passes over a body. Returns its text.
pub(super) fn read<'a>(tokens: &mut Tokens<'a>) -> Result<&'a str> {
    let start = tokens.peek().start;
    let mut end = tokens.peek().end();
    if tokens.accept("return") {
        while tokens.peek().kind != TokenKind::End && !tokens.peek().is_symbol(";") {
            end = tokens.next().end();
        }
        return Ok(&tokens.sql[start..end]);
    }
    tokens.expect("begin")?;
    tokens.expect("atomic")?;
    let mut depth = 1_usize;
    while depth > 0 {
        let token = tokens.peek();
        if token.kind == TokenKind::End {
            return tokens.error();
        }
        depth += usize::from(token.is_word("case"));
        depth -= usize::from(token.is_word("end"));
        end = tokens.next().end();
    }
    Ok(&tokens.sql[start..end])
}

/// Whether the body is BEGIN ATOMIC ... END and not RETURN.
pub(crate) fn is_atomic(body: &str) -> Result<bool> {
    Ok(!Lexer::new(body).next()?.is_word("return"))
}

/// The statements of a body in this form. Empty ones are left out.
pub(crate) fn statements(body: &str) -> Result<Vec<BodyStatement>> {
    let mut lexer = Lexer::new(body);
    let first = lexer.next()?;
    if first.is_word("return") {
        return Ok(vec![statement(body.chars().take_while(|one| one.is_whitespace()).count(), body.trim())]);
    }
    let second = lexer.next()?;
    let mut last = second;
    loop {
        let token = lexer.next()?;
        if token.kind == TokenKind::End {
            break;
        }
        last = token;
    }
    if !second.is_word("atomic") || !last.is_word("end") {
        return Err(syntax_error(body, &first));
    }
    let before = body[..second.end()].chars().count();
    let parts = split::split(&body[second.end()..last.start])?;
    Ok(parts.into_iter().map(|(at, text)| statement(before + at, text.trim_end_matches(';'))).collect())
}

fn statement(start: usize, text: &str) -> BodyStatement {
    const RETURN: &str = "return";
    let is_return = text.get(..RETURN.len()).is_some_and(|word| word.eq_ignore_ascii_case(RETURN))
        && !text[RETURN.len()..]
            .starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_' | '$' | '.'));
    let text = if is_return { format!("SELECT{}", &text[RETURN.len()..]) } else { text.to_owned() };
    BodyStatement { start, text, is_return }
}

/// Error 42P13 for a definition that cannot have such a body.
pub(crate) fn invalid(message: &str) -> Error {
    Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message)
}
