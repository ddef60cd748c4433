//! The parts of foreign keys that sqlparser cannot read: the columns after SET NULL and SET DEFAULT.

use hyades_types::error::{Error, Result, sqlstate};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::lexer::{TokenKind, character_position};
use super::tokens::Tokens;

fn is_word(token: Option<&TokenWithSpan>, wanted: &[&str]) -> bool {
    matches!(token.map(|token| &token.token), Some(Token::Word(word))
        if word.quote_style.is_none() && wanted.iter().any(|wanted| word.value.eq_ignore_ascii_case(wanted)))
}

/// Removes the columns. [`delete_columns`] finds them in the text.
pub(super) fn pack(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_reference = |token: &TokenWithSpan| is_word(Some(token), &["references"]);
    if !tokens.iter().any(is_reference) {
        return tokens;
    }
    let mut packed: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The last four words, not counting blanks.
    let mut before: Vec<TokenWithSpan> = Vec::new();
    let mut is_skipping = false;
    for token in tokens {
        if matches!(token.token, Token::Whitespace(_)) {
            packed.push(token);
            continue;
        }
        if is_skipping {
            is_skipping = token.token != Token::RParen;
            continue;
        }
        let from = before.len().saturating_sub(4);
        let words = &before[from..];
        is_skipping = token.token == Token::LParen
            && is_word(words.first(), &["on"])
            && is_word(words.get(1), &["delete", "update"])
            && is_word(words.get(2), &["set"])
            && is_word(words.get(3), &["null", "default"]);
        if is_skipping {
            continue;
        }
        before.drain(..from);
        before.push(token.clone());
        packed.push(token);
    }
    packed
}

/// The columns after ON DELETE SET NULL or SET DEFAULT, in the clause that references the table whose name
/// is at this byte.
pub(crate) fn delete_columns(sql: &str, from: usize) -> Result<Vec<String>> {
    let mut tokens = Tokens::new(sql)?;
    let mut columns = Vec::new();
    while tokens.peek().kind != TokenKind::End {
        let token = tokens.next();
        if token.start < from {
            continue;
        }
        if token.is_word("references") {
            break;
        }
        let is_update = tokens.peek().is_word("update");
        if !token.is_word("on") || !(is_update || tokens.peek().is_word("delete")) {
            continue;
        }
        tokens.next();
        if !tokens.accept("set") {
            continue;
        }
        let action = if tokens.accept("null") {
            "SET NULL"
        } else if tokens.accept("default") {
            "SET DEFAULT"
        } else {
            continue;
        };
        if !tokens.accept_symbol("(") {
            continue;
        }
        if is_update {
            let message = format!("a column list with {action} is only supported for ON DELETE actions");
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
                .with_position(character_position(sql, token.start)));
        }
        loop {
            columns.push(tokens.identifier()?);
            if !tokens.accept_symbol(",") {
                break;
            }
        }
        tokens.expect_symbol(")")?;
    }
    Ok(columns)
}
