//! Array elements and fields of rows as targets of assignments: `SET a[1] = 2`, `SET a[1:2] = '{3,4}'`, `SET
//! r.x = 1`, and of INSERT: `INSERT INTO t (a[1], a[2], r.x)`.
//!
//! sqlparser knows only names there. So before parsing, the subscripts are packed into a second part of the
//! name, after a character that no statement can contain, and are unpacked afterwards. Line breaks and
//! blanks in front of them keep them at their position, so that errors point to the right place.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::places::{byte_offset, is_keyword, next_token, placed_at};

const PACKED: char = '\0';

/// Rewrites the targets that sqlparser cannot read.
pub(super) fn pack(sql: &str, tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_bracket = |token: &TokenWithSpan| matches!(token.token, Token::LBracket | Token::Period);
    let may_have_fields = tokens.iter().any(|token| is_keyword(token, &[Keyword::UPDATE, Keyword::INSERT]));
    let has_list = |token: &TokenWithSpan| is_keyword(token, &[Keyword::SET, Keyword::INTO]);
    if !tokens.iter().any(has_list) || !tokens.iter().any(is_bracket) {
        return tokens;
    }
    let mut packed = Vec::with_capacity(tokens.len());
    // The current depth of parentheses, the depth of the list that is being read, and what may follow a
    // target in it.
    let (mut depth, mut list) = (0_usize, None);
    let mut ends: &[Token] = &[Token::Eq];
    let mut columns = inserted_columns(&tokens).peekable();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        packed.push(token.clone());
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        if list.is_some_and(|list| depth < list)
            || is_keyword(token, &[Keyword::WHERE, Keyword::FROM, Keyword::RETURNING])
        {
            list = None;
        }
        if is_keyword(token, &[Keyword::SET]) {
            (list, ends) = (Some(depth), &[Token::Eq]);
        } else if columns.next_if_eq(&(at - 1)).is_some() {
            (list, ends) = (Some(depth), &[Token::Comma, Token::RParen]);
        } else if token.token != Token::Comma || list != Some(depth) {
            continue;
        }
        // A target begins here.
        let Some(name) = next_token(&tokens, at) else { continue };
        let Some((from, to)) = brackets(&tokens, name + 1, ends) else { continue };
        if tokens[from].token == Token::Period && !may_have_fields {
            continue;
        }
        packed.extend(tokens[at..=name].iter().cloned());
        let (first, last) = (tokens[from].span, tokens[to].span);
        let text = sql.get(byte_offset(sql, first.start)..byte_offset(sql, last.end)).unwrap_or_default();
        let before = Location { column: first.start.column.saturating_sub(1), ..first.start };
        let text = placed_at(before, &format!("x{text}"));
        let subscripts = Token::make_word(&format!("{PACKED}{text}"), Some('"'));
        let parts = [Token::Period, subscripts];
        packed.extend(parts.map(|token| TokenWithSpan { token, span: tokens[name].span }));
        at = to + 1;
    }
    packed
}

/// The parentheses that open the lists of columns of INSERT.
fn inserted_columns(tokens: &[TokenWithSpan]) -> impl Iterator<Item = usize> {
    let begins_query = |at: usize| {
        let words = [Keyword::SELECT, Keyword::VALUES, Keyword::WITH, Keyword::TABLE];
        tokens[at].token == Token::LParen || is_keyword(&tokens[at], &words)
    };
    (0..tokens.len()).filter_map(move |at| {
        let into = Some(at).filter(|at| is_keyword(&tokens[*at], &[Keyword::INSERT]))?;
        let into = next_token(tokens, into + 1).filter(|at| is_keyword(&tokens[*at], &[Keyword::INTO]))?;
        let is_name = |at: &usize| match &tokens[*at].token {
            Token::Word(_) => !begins_query(*at),
            Token::Period | Token::Whitespace(_) => true,
            _ => false,
        };
        let open = (into + 1..tokens.len()).find(|at| !is_name(at))?;
        let first = next_token(tokens, open + 1)?;
        (tokens[open].token == Token::LParen && !begins_query(first)).then_some(open)
    })
}

/// The first and the last token of the subscripts and fields that begin here, if one of these tokens follows
/// them.
fn brackets(tokens: &[TokenWithSpan], from: usize, ends: &[Token]) -> Option<(usize, usize)> {
    let first = next_token(tokens, from)?;
    let mut last = None;
    let mut begin = first;
    while matches!(tokens[begin].token, Token::LBracket | Token::Period) {
        if tokens[begin].token == Token::Period {
            let field = next_token(tokens, begin + 1)?;
            if !matches!(tokens[field].token, Token::Word(_)) {
                return None;
            }
            last = Some(field);
            begin = next_token(tokens, field + 1)?;
            continue;
        }
        let mut depth = 0_usize;
        let end = (begin..tokens.len()).find(|at| {
            match tokens[*at].token {
                Token::LBracket => depth += 1,
                Token::RBracket => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
        last = Some(end);
        begin = next_token(tokens, end + 1)?;
    }
    ends.contains(&tokens[begin].token).then_some((first, last?))
}

/// The text of a target with its subscripts, if it has any.
pub(crate) fn unpack(target: &ObjectName) -> Option<&str> {
    let Some(ObjectNamePart::Identifier(ident)) = target.0.last() else { return None };
    ident.value.strip_prefix(PACKED)
}

/// The column of a target, which stands before its subscripts.
pub(crate) fn column(target: &ObjectName) -> Option<&Ident> {
    let idents = target.0.iter().rev().filter_map(ObjectNamePart::as_ident);
    idents.into_iter().find(|ident| !ident.value.starts_with(PACKED))
}
