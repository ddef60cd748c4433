//! All fields of a row: `(row).*`, `rows[1].*`.
//!
//! sqlparser knows `.*` only after a name. So before parsing, the asterisk becomes a field whose name begins
//! with a character that no statement can contain.

use sqlparser::ast::{AccessExpr, Expr, Ident};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::places::next_token;

const ALL: &str = "\0*";

/// Rewrites the asterisks that sqlparser cannot read.
pub(super) fn pack(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for at in 0..tokens.len() {
        if !matches!(tokens[at].token, Token::RParen | Token::RBracket) {
            continue;
        }
        let period = next_token(&tokens, at + 1).filter(|at| tokens[*at].token == Token::Period);
        let star = period.and_then(|period| next_token(&tokens, period + 1));
        if let Some(star) = star.filter(|star| tokens[*star].token == Token::Mul) {
            tokens[star].token = Token::make_word(ALL, Some('"'));
        }
    }
    tokens
}

/// Whether the field stands for all of them.
pub(crate) fn is_one(field: &Ident) -> bool {
    field.value == ALL
}

/// The row whose fields are meant; `None` if the expression is anything else.
pub(crate) fn row_of(expr: &Expr) -> Option<Expr> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return None };
    let (AccessExpr::Dot(Expr::Identifier(last)), before) = access_chain.split_last()? else { return None };
    if !is_one(last) {
        return None;
    }
    Some(match before {
        [] => (**root).clone(),
        before => Expr::CompoundFieldAccess { root: root.clone(), access_chain: before.to_vec() },
    })
}
