//! Removes words from the tokens that have no effect here, or that sqlparser does not accept where they
//! are: `FROM ONLY table`, because there is no table inheritance, `OPERATOR(pg_catalog.=)` in front of
//! ANY and ALL, which pg_dump writes, and `CREATE TABLE (...) WITHOUT OIDS`, because no table has them.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// Whether the statement is CREATE TABLE; between the two words there may be others, such as TEMPORARY.
fn creates_table(tokens: &[TokenWithSpan], solid: &[usize]) -> bool {
    let mut words = solid.iter().take(4).map(|at| keyword(&tokens[*at].token));
    words.next() == Some(Some(Keyword::CREATE)) && words.any(|word| word == Some(Keyword::TABLE))
}

/// See the module head.
pub(super) fn respell(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_met = |token: &TokenWithSpan| {
        matches!(keyword(&token.token), Some(Keyword::ONLY | Keyword::OPERATOR | Keyword::WITHOUT))
    };
    if !tokens.iter().any(is_met) {
        return tokens;
    }
    let solid: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let mut left_out = vec![false; tokens.len()];
    for (place, at) in solid.iter().enumerate() {
        let token = |ahead: usize| solid.get(place + ahead).map(|at| &tokens[*at].token);
        match keyword(&tokens[*at].token) {
            Some(Keyword::ONLY) => {
                let before = place.checked_sub(1).map(|before| &tokens[solid[before]].token);
                let is_in_front_of_name = matches!(token(1), Some(Token::Word(_)));
                left_out[*at] = is_in_front_of_name && before.is_some_and(names_a_table);
            }
            Some(Keyword::OPERATOR) => {
                let is_plain = token(1) == Some(&Token::LParen)
                    && matches!(token(2), Some(Token::Word(word)) if word.value == "pg_catalog")
                    && token(3) == Some(&Token::Period)
                    && token(5) == Some(&Token::RParen);
                let follows = token(6).and_then(keyword);
                if is_plain && matches!(follows, Some(Keyword::ANY | Keyword::SOME | Keyword::ALL)) {
                    for ahead in [0, 1, 2, 3, 5] {
                        left_out[solid[place + ahead]] = true;
                    }
                }
            }
            Some(Keyword::WITHOUT) => {
                let is_oids = matches!(token(1), Some(Token::Word(word))
                    if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("oids"));
                let follows_columns = place > 0 && tokens[solid[place - 1]].token == Token::RParen;
                if is_oids && follows_columns && creates_table(&tokens, &solid) {
                    left_out[*at] = true;
                    left_out[solid[place + 1]] = true;
                }
            }
            _ => {}
        }
    }
    let mut left_out = left_out.into_iter();
    tokens.into_iter().filter(|_| !left_out.next().unwrap_or(false)).collect()
}

/// Whether the name of a table follows.
fn names_a_table(before: &Token) -> bool {
    *before == Token::Comma
        || matches!(keyword(before), Some(Keyword::FROM | Keyword::JOIN | Keyword::UPDATE | Keyword::USING))
}
