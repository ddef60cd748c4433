//! The expressions from which ON CONFLICT infers a unique index: `(lower(mail)) WHERE is_open`.
//!
//! sqlparser knows lists of columns only. Anything else is packed into the name of a constraint before
//! parsing, after a character that no statement can contain, and is unpacked afterwards. Line breaks and
//! blanks in front keep it at its position, so that errors point to the right place.

use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::places::{byte_offset, closing, is_keyword, next_token, placed_at, rewritten_after};

const PACKED: char = '\0';

/// Rewrites the targets that sqlparser cannot read.
pub(super) fn pack(sql: &str, tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    rewritten_after(Keyword::CONFLICT, tokens, |tokens, at| {
        let target = Target::at(tokens, at)?;
        let text = |from: Location, to: Location| {
            placed_at(from, sql.get(byte_offset(sql, from)..byte_offset(sql, to)).unwrap_or_default())
        };
        let first = tokens[target.open].span;
        let keys = text(first.start, tokens[target.close].span.end);
        let predicate = target.predicate.map(|(from, to)| text(tokens[from].span.start, tokens[to].span.end));
        let name = format!("{PACKED}{keys}{PACKED}{}", predicate.unwrap_or_default());
        let words = [
            Token::make_keyword("ON"),
            Token::make_keyword("CONSTRAINT"),
            Token::make_word(&name, Some('"')),
        ];
        let end = target.predicate.map_or(target.close, |(_, to)| to);
        Some((words.map(|token| TokenWithSpan { token, span: first }).to_vec(), end + 1))
    })
}

/// Indexes of tokens: the parentheses, and the first and last token of the condition.
struct Target {
    open: usize,
    close: usize,
    predicate: Option<(usize, usize)>,
}

impl Target {
    /// The target that begins here, if it is more than a list of columns.
    fn at(tokens: &[TokenWithSpan], at: usize) -> Option<Target> {
        let open = next_token(tokens, at)?;
        let close = closing(tokens, open)?;
        let after = next_token(tokens, close + 1)?;
        if is_keyword(&tokens[after], &[Keyword::WHERE]) {
            let from = next_token(tokens, after + 1)?;
            let to = (from..tokens.len()).find(|at| is_keyword(&tokens[*at], &[Keyword::DO]))?;
            let last = (from..to).rev().find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))?;
            return Some(Target { open, close, predicate: Some((from, last)) });
        }
        let is_column = |token: &TokenWithSpan| {
            matches!(token.token, Token::Word(_) | Token::Comma | Token::Whitespace(_))
        };
        let is_plain = tokens[open + 1..close].iter().all(is_column);
        (!is_plain).then_some(Target { open, close, predicate: None })
    }
}

/// The target packed into the name of a constraint, if there is one: the text of the keys in their
/// parentheses, and the text of the condition, which is empty if there is none.
pub(crate) fn unpack(name: &ObjectName) -> Option<(&str, &str)> {
    let ident = name.0.last().and_then(|part| part.as_ident())?;
    ident.value.strip_prefix(PACKED)?.split_once(PACKED)
}
