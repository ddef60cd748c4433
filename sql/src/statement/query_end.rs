//! The clauses at the end of a query: LIMIT, OFFSET, FETCH FIRST and locking clauses.
//!
//! sqlparser reads them in one order only, and of FETCH FIRST only a literal. So FETCH is passed to it as
//! LIMIT, under its own name: it then expects an operand, and the dialect reads `FIRST count ROWS ONLY`
//! there. A locking clause is moved behind the clauses that may follow it.

use sqlparser::ast::{Expr, Ident, LimitClause, LockClause, NonBlock, Query, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::places::is_keyword;

/// The text of the LIMIT that stands for FETCH.
const FETCH: &str = "\0fetch";
/// Marks the count of FETCH FIRST ... WITH TIES.
const WITH_TIES: &str = "with ties";

/// Rewrites the tokens, none of which is a blank; see the module head.
pub(super) fn respell(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for at in 1..tokens.len() {
        let [fetch, first] = &mut tokens[at - 1..=at] else { continue };
        if is_keyword(fetch, &[Keyword::FETCH])
            && is_keyword(first, &[Keyword::FIRST, Keyword::NEXT])
            && let Token::Word(word) = &mut fetch.token
        {
            word.keyword = Keyword::LIMIT;
            word.value = FETCH.to_owned();
        }
    }
    let mut at = 0;
    while at < tokens.len() {
        let end = locks_end(&tokens, at);
        if end > at
            && let Some(limits) = limits_end(&tokens, end)
        {
            tokens[at..limits].rotate_left(end - at);
            at = limits;
        } else {
            at = end.max(at + 1);
        }
    }
    tokens
}

/// Where the locking clauses end that begin here.
fn locks_end(tokens: &[TokenWithSpan], from: usize) -> usize {
    let is =
        |at: usize, keywords: &[Keyword]| tokens.get(at).is_some_and(|token| is_keyword(token, keywords));
    let mut end = from;
    while is(end, &[Keyword::FOR]) && is(end + 1, &[Keyword::UPDATE, Keyword::SHARE]) {
        end += 2;
        if is(end, &[Keyword::OF]) {
            end += 2;
            while tokens.get(end).is_some_and(|token| token.token == Token::Period) {
                end += 2;
            }
        }
        if is(end, &[Keyword::NOWAIT]) {
            end += 1;
        } else if is(end, &[Keyword::SKIP]) && is(end + 1, &[Keyword::LOCKED]) {
            end += 2;
        }
    }
    end.min(tokens.len())
}

/// Where LIMIT and OFFSET end that begin here, if they do.
fn limits_end(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    if !is_keyword(tokens.get(from)?, &[Keyword::LIMIT, Keyword::OFFSET]) {
        return None;
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth > 0 => depth -= 1,
            Token::RParen | Token::SemiColon => return Some(at),
            // Only one of the two places may have locking clauses.
            _ if depth == 0 && is_keyword(token, &[Keyword::FOR]) => return None,
            _ if depth == 0 && is_keyword(token, &[Keyword::ON, Keyword::RETURNING]) => return Some(at),
            _ => {}
        }
    }
    Some(tokens.len())
}

/// `{FIRST | NEXT} [count] {ROW | ROWS} {ONLY | WITH TIES}` after FETCH. `None`, with nothing consumed, if
/// the parser is not there.
pub(super) fn fetched(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let before = parser.index().checked_sub(1)?;
    match &parser.token_at(before).token {
        Token::Word(word) if word.value == FETCH && word.quote_style.is_none() => Some(fetch(parser)),
        _ => None,
    }
}

fn fetch(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.expect_one_of_keywords(&[Keyword::FIRST, Keyword::NEXT])?;
    let rows = [Keyword::ROW, Keyword::ROWS];
    let count = match parser.parse_one_of_keywords(&rows) {
        Some(_) => Expr::value(Value::Number("1".to_owned(), false)),
        None => {
            let count = parser.parse_prefix()?;
            parser.expect_one_of_keywords(&rows)?;
            count
        }
    };
    if parser.parse_keyword(Keyword::ONLY) {
        return Ok(count);
    }
    let span = parser.peek_token_ref().span;
    parser.expect_keywords(&[Keyword::WITH, Keyword::TIES])?;
    Ok(Expr::Prefixed { prefix: Ident::with_span(span, WITH_TIES), value: Box::new(count) })
}

/// The count of a LIMIT or FETCH FIRST, and whether it is WITH TIES.
pub(crate) fn count(limit: &Expr) -> (&Expr, bool) {
    match limit {
        Expr::Prefixed { prefix, value } if prefix.value == WITH_TIES => (value, true),
        other => (other, false),
    }
}

/// Whether a query has FETCH FIRST ... WITH TIES.
pub(super) fn has_ties(query: &Query) -> bool {
    match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit: Some(limit), .. }) => count(limit).1,
        _ => false,
    }
}

/// Whether a locking clause leaves out locked rows.
pub(super) fn skips(clause: &LockClause) -> bool {
    matches!(clause.nonblock, Some(NonBlock::SkipLocked))
}
