//! DECLARE, FETCH, MOVE and CLOSE, and a rewrite of `CURRENT OF` for sqlparser, which does not know it.
//!
//! The query of a cursor is kept as text, with the position where it begins.

use hyades_types::cursors::FetchDirection;
use hyades_types::error::{Error, Result, sqlstate};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::lexer::{Token as Word, TokenKind, character_position};
use super::parsed::{DeclareCursor, FetchCursor, Statement};
use super::places::is_keyword;
use super::tokens::Tokens;

/// The name that replaces `CURRENT OF` for sqlparser. No statement can contain it.
const CURRENT_OF: &str = "\0current of";

fn both(first: &str, second: &str) -> Error {
    let message = format!("cannot specify both {first} and {second}");
    Error::input(sqlstate::INVALID_CURSOR_DEFINITION, message)
}

/// Parses what follows DECLARE.
pub(super) fn declare(tokens: &mut Tokens<'_>) -> Result<Statement> {
    let name = tokens.identifier()?;
    let mut cursor = DeclareCursor { name, ..DeclareCursor::default() };
    let (mut is_asensitive, mut is_forward) = (false, false);
    loop {
        if tokens.accept("no") {
            tokens.expect("scroll")?;
            is_forward = true;
        } else if tokens.accept("scroll") {
            cursor.is_scroll = true;
        } else if tokens.accept("binary") {
            cursor.is_binary = true;
        } else if tokens.accept("insensitive") {
            cursor.is_insensitive = true;
        } else if tokens.accept("asensitive") {
            is_asensitive = true;
        } else {
            break;
        }
    }
    tokens.expect("cursor")?;
    if tokens.accept("with") {
        tokens.expect("hold")?;
        cursor.is_holdable = true;
    } else if tokens.accept("without") {
        tokens.expect("hold")?;
    }
    tokens.expect("for")?;
    let starts_query = ["select", "values", "with", "table"].iter().any(|word| tokens.peek().is_word(word));
    if !starts_query && !tokens.peek().is_symbol("(") {
        return tokens.error();
    }
    if cursor.is_scroll && is_forward {
        return Err(both("SCROLL", "NO SCROLL"));
    }
    if is_asensitive && cursor.is_insensitive {
        return Err(both("ASENSITIVE", "INSENSITIVE"));
    }
    cursor.is_forward = is_forward;
    (cursor.query, cursor.query_offset) = tokens.rest();
    Ok(Statement::DeclareCursor(Box::new(cursor)))
}

/// The position of the name after INTO, 1-based, in characters.
pub(crate) fn into_position(query: &str) -> Result<Option<u32>> {
    let mut tokens = Tokens::new(query)?;
    while tokens.peek().kind != TokenKind::End {
        if tokens.next().is_word("into") {
            return Ok(Some(character_position(query, tokens.peek().start)));
        }
    }
    Ok(None)
}

/// Parses what follows FETCH or MOVE.
pub(super) fn fetch(tokens: &mut Tokens<'_>, is_move: bool) -> Result<Statement> {
    let direction = direction(tokens)?;
    let _ = tokens.accept("from") || tokens.accept("in");
    let name = tokens.identifier()?;
    Ok(Statement::Fetch(FetchCursor { name, direction, is_move }))
}

/// A word is a direction only if a name, FROM or IN can follow it, because a cursor may also be called
/// `next`.
fn direction(tokens: &mut Tokens<'_>) -> Result<FetchDirection> {
    let token = tokens.peek();
    let is_number =
        |token: &Word<'_>| token.kind == TokenKind::Number || token.is_symbol("-") || token.is_symbol("+");
    if is_number(&token) {
        return Ok(FetchDirection::Forward(Some(count(tokens)?)));
    }
    let following = tokens.peek_at(1);
    let is_last = following.kind == TokenKind::End || following.is_symbol(";");
    if is_last || token.kind != TokenKind::Word {
        return Ok(FetchDirection::Forward(Some(1)));
    }
    let word = token.text.to_ascii_lowercase();
    let direction = match word.as_str() {
        "next" => FetchDirection::Forward(Some(1)),
        "prior" => FetchDirection::Backward(Some(1)),
        "first" => FetchDirection::Absolute(1),
        "last" => FetchDirection::Absolute(-1),
        "all" => FetchDirection::Forward(None),
        "absolute" | "relative" => {
            tokens.next();
            let count = count(tokens)?;
            return Ok(match word.as_str() {
                "absolute" => FetchDirection::Absolute(count),
                _ => FetchDirection::Relative(count),
            });
        }
        "forward" | "backward" => {
            tokens.next();
            let count = if is_number(&tokens.peek()) {
                Some(count(tokens)?)
            } else if tokens.accept("all") {
                None
            } else {
                Some(1)
            };
            return Ok(match word.as_str() {
                "forward" => FetchDirection::Forward(count),
                _ => FetchDirection::Backward(count),
            });
        }
        _ => return Ok(FetchDirection::Forward(Some(1))),
    };
    tokens.next();
    Ok(direction)
}

fn count(tokens: &mut Tokens<'_>) -> Result<i64> {
    let is_negative = tokens.accept_symbol("-");
    if !is_negative {
        tokens.accept_symbol("+");
    }
    // In PostgreSQL a count is a 32-bit integer.
    let Some(count) = Some(tokens.peek())
        .filter(|token| token.kind == TokenKind::Number)
        .and_then(|token| token.text.parse::<i32>().ok())
    else {
        return tokens.error();
    };
    tokens.next();
    Ok(if is_negative { -i64::from(count) } else { i64::from(count) })
}

/// Parses what follows CLOSE.
pub(super) fn close(tokens: &mut Tokens<'_>) -> Result<Statement> {
    if tokens.peek().is_word("all") {
        tokens.next();
        return Ok(Statement::CloseCursor(None));
    }
    Ok(Statement::CloseCursor(Some(tokens.identifier()?)))
}

/// Rewrites `CURRENT OF cursor` as a call that [`current_of`] recognizes.
pub(super) fn pack(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_word = |token: &TokenWithSpan, word: &str| matches!(&token.token, Token::Word(own) if own.quote_style.is_none() && own.value.eq_ignore_ascii_case(word));
    if !tokens.iter().any(|token| is_word(token, "current")) {
        return tokens;
    }
    let mut tokens = tokens;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    let mut packed = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [first, after @ ..] = rest {
        rest = after;
        let [of, name, after @ ..] = after else {
            packed.push(first.clone());
            continue;
        };
        let follows_where =
            packed.last().is_some_and(|token: &TokenWithSpan| is_keyword(token, &[Keyword::WHERE]));
        let cursor = match &name.token {
            Token::Word(word) if word.quote_style.is_some() => Some(word.value.clone()),
            Token::Word(word) => Some(word.value.to_ascii_lowercase()),
            _ => None,
        };
        let Some(cursor) = cursor.filter(|_| follows_where && is_word(first, "current") && is_word(of, "of"))
        else {
            packed.push(first.clone());
            continue;
        };
        rest = after;
        let call = [
            Token::make_word(CURRENT_OF, Some('"')),
            Token::LParen,
            Token::SingleQuotedString(cursor),
            Token::RParen,
        ];
        // If it is not understood here, the error should point to `OF`.
        packed.extend(call.map(|token| TokenWithSpan { token, span: of.span }));
    }
    packed
}

/// Whether a function stands for `CURRENT OF`, which is valid only as the whole condition of UPDATE and
/// DELETE.
pub(crate) fn is_current_of(function: &str) -> bool {
    function == CURRENT_OF
}

/// The cursor, if the condition is `CURRENT OF cursor`.
pub(crate) fn current_of(condition: &Expr) -> Option<&str> {
    let Expr::Function(call) = condition else { return None };
    let [name] = call.name.0.as_slice() else { return None };
    if !is_current_of(&name.as_ident()?.value) {
        return None;
    }
    let FunctionArguments::List(list) = &call.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] = list.args.as_slice() else {
        return None;
    };
    match &value.value {
        Value::SingleQuotedString(cursor) => Some(cursor),
        _ => None,
    }
}
