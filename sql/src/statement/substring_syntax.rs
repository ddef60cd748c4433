//! `substring(text SIMILAR pattern ESCAPE escape)`, which means `substring(text FROM pattern FOR escape)`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// Rewrites the first form as the second.
pub(super) fn respell(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    // For each open parenthesis, whether it belongs to a call of substring.
    let mut open: Vec<bool> = Vec::new();
    let mut before = None;
    let mut is_similar = Vec::new();
    for at in 0..tokens.len() {
        let token = &tokens[at].token;
        if matches!(token, Token::Whitespace(_)) {
            continue;
        }
        let own = keyword(token);
        match token {
            Token::LParen => {
                open.push(before == Some(Keyword::SUBSTRING));
                is_similar.push(false);
            }
            Token::RParen => {
                open.pop();
                is_similar.pop();
            }
            _ => {}
        }
        let is_own = open.last() == Some(&true);
        let spelled = match own {
            Some(Keyword::SIMILAR) if is_own && !is_followed_by_to(&tokens[at + 1..]) => {
                if let Some(last) = is_similar.last_mut() {
                    *last = true;
                }
                Some((Keyword::FROM, "FROM"))
            }
            Some(Keyword::ESCAPE) if is_own && is_similar.last() == Some(&true) => {
                Some((Keyword::FOR, "FOR"))
            }
            _ => None,
        };
        if let Some((keyword, value)) = spelled {
            tokens[at].token = Token::Word(Word { value: value.to_owned(), quote_style: None, keyword });
        }
        before = own;
    }
    tokens
}

fn is_followed_by_to(tokens: &[TokenWithSpan]) -> bool {
    let next = tokens.iter().find(|token| !matches!(token.token, Token::Whitespace(_)));
    next.is_some_and(|next| keyword(&next.token) == Some(Keyword::TO))
}
