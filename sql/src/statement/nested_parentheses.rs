//! Parentheses directly within parentheses: where they close, and whether a query in them goes on behind
//! them. The parser asks at every level, so it is all found in one pass before.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Words that begin a query.
const QUERY_WORDS: [Keyword; 4] = [Keyword::SELECT, Keyword::VALUES, Keyword::WITH, Keyword::TABLE];
/// Words that continue a query after one in parentheses.
pub(super) const CONTINUING_WORDS: [Keyword; 8] = [
    Keyword::UNION,
    Keyword::INTERSECT,
    Keyword::EXCEPT,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
    Keyword::FOR,
];

/// See the module head.
#[derive(Debug, Default)]
pub(super) struct NestedParentheses {
    /// For every opening parenthesis the place of its closing one, and whether a query that it contains goes
    /// on behind it. Empty if no parenthesis opens directly within another.
    opening: Vec<Opening>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Opening {
    /// 0 if nothing closes it.
    closing: usize,
    continues: bool,
}

/// How deep the parentheses of a text are nested.
pub(super) fn depth(tokens: &[TokenWithSpan]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for token in tokens {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn keyword(token: Option<&TokenWithSpan>) -> Keyword {
    match token.map(|token| &token.token) {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

impl NestedParentheses {
    pub(super) fn among(tokens: &[TokenWithSpan]) -> NestedParentheses {
        let opens = |token: &TokenWithSpan| token.token == Token::LParen;
        if !tokens.windows(2).any(|pair| pair.iter().all(opens)) {
            return NestedParentheses::default();
        }
        let mut opening = vec![Opening::default(); tokens.len()];
        let mut open = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match token.token {
                Token::LParen => open.push(at),
                Token::RParen => {
                    if let Some(opened) = open.pop() {
                        opening[opened].closing = at;
                    }
                }
                _ => {}
            }
        }
        // Whether all parentheses that open directly after one another, from the next token on, contain a
        // query: the innermost ones do, and so do those around them, as long as what follows allows it.
        let mut contain_query = false;
        for at in (0..tokens.len()).rev() {
            if !opens(&tokens[at]) {
                contain_query = QUERY_WORDS.contains(&keyword(Some(&tokens[at])));
                continue;
            }
            let closing = opening[at].closing;
            let goes_on = closing > 0 && CONTINUING_WORDS.contains(&keyword(tokens.get(closing + 1)));
            opening[at].continues = contain_query && goes_on;
            let is_last = tokens.get(closing + 1).is_some_and(|next| next.token == Token::RParen);
            contain_query &= goes_on || closing > 0 && is_last;
        }
        NestedParentheses { opening }
    }

    /// Whether the parentheses that open at this token contain a query that a word after them continues.
    pub(super) fn continues(&self, opening: usize) -> bool {
        self.opening.get(opening).is_some_and(|opening| opening.continues)
    }

    /// Where those that open at this token close.
    pub(super) fn closing(&self, opening: usize) -> Option<usize> {
        self.opening.get(opening).map(|opening| opening.closing).filter(|closing| *closing > 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn tokens(sql: &str) -> Vec<TokenWithSpan> {
        let dialect = PostgreSqlDialect {};
        let mut tokens = Tokenizer::new(&dialect, sql).tokenize_with_location().unwrap();
        tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
        tokens
    }

    /// From the definition, for one opening parenthesis.
    fn continues(tokens: &[TokenWithSpan], opening: usize) -> bool {
        let is = |at: usize, wanted: Token| tokens.get(at).is_some_and(|token| token.token == wanted);
        let mut index = opening;
        while is(index, Token::LParen) {
            index += 1;
        }
        if !QUERY_WORDS.contains(&keyword(tokens.get(index))) {
            return false;
        }
        let mut depth = index - opening;
        let mut of_query = depth;
        while index < tokens.len() {
            if is(index, Token::LParen) {
                depth += 1;
            } else if is(index, Token::RParen) {
                depth -= 1;
                let goes_on = CONTINUING_WORDS.contains(&keyword(tokens.get(index + 1)));
                if depth == 0 {
                    return goes_on;
                }
                if depth + 1 == of_query {
                    if !goes_on && !is(index + 1, Token::RParen) {
                        return false;
                    }
                    of_query = depth;
                }
            }
            index += 1;
        }
        false
    }

    proptest! {
        #[test]
        fn one_pass_finds_the_same_as_one_for_every_parenthesis(
            pieces in proptest::collection::vec(
                prop_oneof![
                    4 => Just("("), 4 => Just(")"), 2 => Just("select 1"), 1 => Just("values"),
                    2 => Just("union"), 1 => Just("order"), 1 => Just("a"), 1 => Just(","),
                ],
                0..25,
            )
        ) {
            let tokens = tokens(&pieces.join(" "));
            let nested = NestedParentheses::among(&tokens);
            for (at, token) in tokens.iter().enumerate() {
                let opens_twice = tokens[at..].iter().take(2).filter(|next| next.token == Token::LParen).count() == 2;
                if token.token == Token::LParen && (opens_twice || !nested.opening.is_empty()) {
                    prop_assert_eq!(nested.continues(at), continues(&tokens, at));
                }
            }
        }
    }

    #[test]
    fn the_depth_is_that_of_the_deepest() {
        assert_eq!(
            ["", "()", "(()) (((", ")) (", "((a) ((b)))"].map(|sql| depth(&tokens(sql))),
            [0, 1, 3, 1, 3]
        );
    }
}
