//! Places in the text of a statement, as reported by sqlparser, and among its tokens.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// The byte offset of a line and column, both 1-based, with columns in characters.
pub(crate) fn byte_offset(sql: &str, location: Location) -> usize {
    let mut line_start = 0;
    for _ in 1..location.line {
        match sql[line_start..].find('\n') {
            Some(length) => line_start += length + 1,
            None => return sql.len(),
        }
    }
    let column = usize::try_from(location.column.saturating_sub(1)).unwrap_or(usize::MAX);
    sql[line_start..].char_indices().nth(column).map_or(sql.len(), |(at, _)| line_start + at)
}

/// A text with line breaks and blanks before it, so that it begins at this place.
pub(super) fn placed_at(place: Location, text: &str) -> String {
    let count = |number: u64| usize::try_from(number.saturating_sub(1)).unwrap_or(0);
    format!("{}{}{text}", "\n".repeat(count(place.line)), " ".repeat(count(place.column)))
}

pub(super) fn is_keyword(token: &TokenWithSpan, keywords: &[Keyword]) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && keywords.contains(&word.keyword))
}

/// The index of the next token that is not a blank.
pub(super) fn next_token(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    tokens.get(from..)?.iter().position(|token| !blank(token)).map(|at| from + at)
}

/// Rewrites what follows a keyword. `other` returns the replacement, and the index at which the statement
/// continues.
pub(super) fn rewritten_after(
    keyword: Keyword,
    tokens: Vec<TokenWithSpan>,
    mut other: impl FnMut(&[TokenWithSpan], usize) -> Option<(Vec<TokenWithSpan>, usize)>,
) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(token, &[keyword])) {
        return tokens;
    }
    let mut rewritten = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        rewritten.push(token.clone());
        if is_keyword(token, &[keyword])
            && let Some((other, end)) = other(&tokens, at)
        {
            rewritten.extend(other);
            at = end;
        }
    }
    rewritten
}

/// The parenthesis that closes the one at `open`.
pub(super) fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (open..tokens.len())
        .find(|at| {
            match tokens[*at].token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })
        .filter(|close| *close > open)
}
