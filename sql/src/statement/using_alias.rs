//! The alias of a join's merged columns: `a JOIN b USING (id) AS j`.
//!
//! sqlparser knows only the list of columns. So before parsing, the alias is packed into the list as its
//! last column, after a character that no statement can contain, and is unpacked afterwards.

use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::names::can_name_relation;
use super::places::{closing, is_keyword, next_token, rewritten_after};

const PACKED: char = '\0';

/// Rewrites the lists that sqlparser cannot read.
pub(super) fn pack(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    rewritten_after(Keyword::USING, tokens, |tokens, at| {
        let NamedList { close, alias, name } = NamedList::at(tokens, at)?;
        let end = match name {
            Some(name) => {
                vec![Token::Comma, Token::make_word(&format!("{PACKED}{name}"), Some('"')), Token::RParen]
            }
            // The parser reports a syntax error there.
            None => vec![Token::RParen, Token::Char(PACKED)],
        };
        let span = tokens[alias].span;
        let end = end.into_iter().map(|token| TokenWithSpan { token, span });
        Some((tokens[at..close].iter().cloned().chain(end).collect(), alias + 1))
    })
}

/// Indexes of tokens: the parenthesis that closes a list of columns, and the name after AS.
struct NamedList {
    close: usize,
    alias: usize,
    /// `None` if it is not a valid name.
    name: Option<String>,
}

impl NamedList {
    /// The list that begins here. In DELETE and MERGE the parentheses after USING can contain other things,
    /// which are not lists of names.
    fn at(tokens: &[TokenWithSpan], at: usize) -> Option<NamedList> {
        let open = next_token(tokens, at)?;
        let close = closing(tokens, open)?;
        let is_blank = |token: &&TokenWithSpan| matches!(token.token, Token::Whitespace(_));
        let listed: Vec<_> = tokens[open + 1..close].iter().filter(|token| !is_blank(token)).collect();
        let is_list = listed.len() % 2 == 1
            && listed.iter().enumerate().all(|(number, token)| match &token.token {
                Token::Word(_) => number % 2 == 0,
                Token::Comma => number % 2 == 1,
                _ => false,
            });
        let word = next_token(tokens, close + 1).filter(|word| is_keyword(&tokens[*word], &[Keyword::AS]))?;
        let alias = next_token(tokens, word + 1)?;
        let name = match &tokens[alias].token {
            Token::Word(word) if word.quote_style.is_some() => Some(word.value.clone()),
            Token::Word(word) => Some(word.value.to_ascii_lowercase()).filter(|name| can_name_relation(name)),
            _ => None,
        };
        let name = name.filter(|name| !name.is_empty());
        is_list.then_some(NamedList { close, alias, name })
    }
}

/// The columns of USING, and the alias of the merged columns.
pub(crate) fn unpack(columns: &[ObjectName]) -> (&[ObjectName], Option<&str>) {
    if let Some((last, columns)) = columns.split_last()
        && let Some(ident) = last.0.last().and_then(|part| part.as_ident())
        && let Some(name) = ident.value.strip_prefix(PACKED)
    {
        return (columns, Some(name));
    }
    (columns, None)
}
