//! Operators as PostgreSQL reads them.
//!
//! `a>-1` is `a > -1`: an operator ends in a sign only if it has one of the rarer characters. sqlparser
//! combines all adjacent operator characters into one operator. It also has tokens of its own for operators
//! of other databases, which mean something to it (`==` is `=`).
//!
//! Reference: PostgreSQL's documentation, chapter 4.1.3, and the rule `operator` of scan.l.

use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};

/// An operator with one of these may end in a sign.
const RARE: [char; 10] = ['~', '!', '@', '#', '%', '^', '&', '|', '`', '?'];

/// Makes operators that PostgreSQL does not have into operators without a meaning, and braces and colons into
/// characters that begin nothing.
pub(super) fn rename(tokens: &mut [TokenWithSpan]) {
    for token in tokens {
        let other = match &token.token {
            Token::DoubleEq => Token::CustomBinaryOperator("==".to_owned()),
            Token::Spaceship => Token::CustomBinaryOperator("<=>".to_owned()),
            Token::DuckIntDiv => Token::CustomBinaryOperator("//".to_owned()),
            Token::Char('`') => Token::CustomBinaryOperator("`".to_owned()),
            Token::ExclamationMark => Token::CustomBinaryOperator("!".to_owned()),
            Token::Placeholder(name) if name.starts_with(':') => Token::Char(':'),
            Token::LBrace => Token::Char('{'),
            Token::RBrace => Token::Char('}'),
            _ => continue,
        };
        token.token = other;
    }
}

/// Whether PostgreSQL has an operator of this name that Hyades lacks.
pub(crate) fn is_of_postgresql(operator: &str) -> bool {
    const OTHERS: &str = "## &< &<| &> *< *<= *<> *= *> *>= -|- <-> << <<= <<| <^ >> >>= >^ ?# ?- ?-| ?|| \
                          @ @-@ @@ @@@ ^@ |&> |/ |>> ||/ !! ~<=~ ~<~ ~= ~>=~ ~>~";
    OTHERS.split_whitespace().any(|other| other == operator)
}

/// Splits the signs off the operators.
pub(super) fn split(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| operator_with_sign(&token.token).is_some()) {
        return tokens;
    }
    let mut split = Vec::with_capacity(tokens.len() + 1);
    for token in tokens {
        let Some(operator) = operator_with_sign(&token.token) else {
            split.push(token);
            continue;
        };
        let rest = operator.trim_end_matches(['+', '-']);
        // A single sign is the operator itself.
        let kept = if rest.is_empty() { &operator[..1] } else { rest };
        let mut start = token.span.start;
        let mut push = |part: Token, length: usize| {
            let end = Location { column: start.column + length as u64, ..start };
            split.push(TokenWithSpan { token: part, span: Span { start, end } });
            start = end;
        };
        push(named(kept), kept.len());
        operator[kept.len()..].chars().for_each(|sign| push(sign_of(sign), 1));
    }
    split
}

/// The text of an operator that wrongly ends in a sign.
fn operator_with_sign(token: &Token) -> Option<&str> {
    match token {
        Token::CustomBinaryOperator(operator) => {
            (operator.ends_with(['+', '-']) && !operator.contains(RARE)).then_some(operator.as_str())
        }
        _ => None,
    }
}

fn sign_of(sign: char) -> Token {
    if sign == '-' { Token::Minus } else { Token::Plus }
}

fn named(operator: &str) -> Token {
    match operator {
        "<" => Token::Lt,
        ">" => Token::Gt,
        "=" => Token::Eq,
        "<=" => Token::LtEq,
        ">=" => Token::GtEq,
        "<>" => Token::Neq,
        "*" => Token::Mul,
        "/" => Token::Div,
        "+" => Token::Plus,
        "-" => Token::Minus,
        "->" => Token::Arrow,
        other => Token::CustomBinaryOperator(other.to_owned()),
    }
}
