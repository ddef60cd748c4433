//! `text ARRAY` and `text ARRAY[4]`, which are the type `text[]`. sqlparser does not know this spelling.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use super::names::is_reserved;
use super::places::is_keyword;

/// Words that are not reserved and come before an operand.
const BEFORE_OPERANDS: [Keyword; 7] = [
    Keyword::BY,
    Keyword::BETWEEN,
    Keyword::LIKE,
    Keyword::ILIKE,
    Keyword::ESCAPE,
    Keyword::OPERATOR,
    Keyword::SIMILAR,
];

/// Replaces the word by brackets where it follows a type, and removes it if brackets follow it.
pub(super) fn respell(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(token, &[Keyword::ARRAY])) {
        return tokens;
    }
    let mut respelled: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        if !is_keyword(&token, &[Keyword::ARRAY]) || !ends_type(&respelled) {
            respelled.push(token);
            continue;
        }
        if rest.peek().is_none_or(|next| next.token != Token::LBracket) {
            let bracket = |token: Token, span: Span| TokenWithSpan { token, span };
            respelled.push(bracket(Token::LBracket, token.span));
            respelled.push(bracket(Token::RBracket, token.span));
        }
    }
    respelled
}

/// Whether the last of these tokens may be the last one of a type's name: no operand follows it.
fn ends_type(before: &[TokenWithSpan]) -> bool {
    let mut solid =
        before.iter().rev().filter(|token| !matches!(token.token, Token::Whitespace(_))).peekable();
    let is_name = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => {
            word.quote_style.is_some()
                || !(is_reserved(&word.value) || BEFORE_OPERANDS.contains(&word.keyword))
        }
        _ => false,
    };
    match solid.peek() {
        Some(token) if token.token == Token::RParen => {
            solid.next();
            let mut inside =
                solid.skip_while(|token| matches!(token.token, Token::Number(..) | Token::Comma));
            inside.next().is_some_and(|token| token.token == Token::LParen)
                && inside.next().is_some_and(is_name)
        }
        Some(token) => is_name(token),
        None => false,
    }
}
