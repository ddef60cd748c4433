//! `ORDER BY key USING operator`.
//!
//! To sqlparser the dialect presents `USING operator` as an operator that follows its operand and binds most
//! loosely. Afterwards `<` and `>` become ASC and DESC. Any other operator stays in the key, where the binder
//! judges it by the type of the key; and one that is not in a key at all is a syntax error
//! (`super::foreign`).

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArgumentClause, FunctionArguments, Ident, NamedWindowExpr, OrderByExpr,
    OrderByKind, Query, Select, VisitMut, VisitorMut, WindowType,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

use super::places::is_keyword;

/// Binds more loosely than OR.
pub(super) const PRECEDENCE: u8 = 1;

/// Marks an operand with its operator, as it was read.
const WRITTEN: &str = "using";
/// Marks a key with its operator.
const IN_KEY: &str = "order using";

/// Whether `USING operator` is next. After a join, USING is followed by a parenthesis.
pub(super) fn is_next(parser: &Parser<'_>) -> bool {
    let [using, operator] = parser.peek_tokens_ref();
    let is_using = matches!(&using.token, Token::Word(word)
        if word.keyword == Keyword::USING && word.quote_style.is_none());
    is_using && (is_sign(&operator.token) || is_named(&operator.token))
}

/// `OPERATOR (schema.sign)`.
fn is_named(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.keyword == Keyword::OPERATOR && word.quote_style.is_none())
}

fn is_sign(token: &Token) -> bool {
    let sign = token.to_string();
    !sign.is_empty() && sign.chars().all(|part| "+-*/<>=~!@#%^&|`?".contains(part))
}

/// Parses `USING operator` after its operand.
pub(super) fn parse(parser: &mut Parser<'_>, operand: &Expr) -> Result<Expr, ParserError> {
    let using = parser.next_token().span;
    let mut operator = parser.next_token();
    if is_named(&operator.token) {
        parser.expect_token(&Token::LParen)?;
        operator = parser.next_token();
        while parser.peek_token_ref().token == Token::Period || operator.token == Token::Period {
            operator = parser.next_token();
        }
        parser.expect_token(&Token::RParen)?;
    }
    let [next] = parser.peek_tokens_ref();
    if is_keyword(next, &[Keyword::ASC, Keyword::DESC]) {
        return parser.expected_ref("another key", next);
    }
    let sign = match operator.token {
        Token::CustomBinaryOperator(sign) => sign,
        sign => sign.to_string(),
    };
    let value = Box::new(operand.clone());
    let signed = Expr::Prefixed { prefix: Ident::with_span(operator.span, sign), value };
    Ok(marked(WRITTEN, using, signed))
}

fn marked(mark: &str, span: Span, signed: Expr) -> Expr {
    Expr::Prefixed { prefix: Ident::with_span(span, mark), value: Box::new(signed) }
}

fn marked_with<'e>(mark: &str, expr: &'e Expr) -> Option<(&'e Ident, &'e Ident, &'e Expr)> {
    let Expr::Prefixed { prefix: outer, value } = expr else { return None };
    match value.as_ref() {
        Expr::Prefixed { prefix, value } if outer.value == mark => Some((outer, prefix, value)),
        _ => None,
    }
}

/// The word USING of an operand that is no key.
pub(super) fn misplaced(expr: &Expr) -> Option<&Ident> {
    marked_with(WRITTEN, expr).map(|(using, ..)| using)
}

/// The operator of a key, which is neither `<` nor `>`, and the key.
pub(crate) fn of_key(expr: &Expr) -> Option<(&Ident, &Expr)> {
    marked_with(IN_KEY, expr).map(|(_, operator, key)| (operator, key))
}

/// The same for the operators that compare texts byte by byte, which is the order of all texts here.
pub(crate) fn by_pattern(expr: &Expr) -> Option<(&Ident, &Expr)> {
    of_key(expr).filter(|(operator, _)| matches!(operator.value.as_str(), "~<~" | "~>~"))
}

/// Turns the operators of keys into directions; see the module head.
pub(super) fn settle(parsed: &mut impl VisitMut) {
    // It never breaks.
    let _: ControlFlow<()> = parsed.visit(&mut Keys);
}

struct Keys;

fn settle_keys<'k>(keys: impl IntoIterator<Item = &'k mut OrderByExpr>) -> ControlFlow<()> {
    for key in keys {
        let Some((using, operator, operand)) = marked_with(WRITTEN, &key.expr) else { continue };
        let is_descending = matches!(operator.value.as_str(), ">" | "~>~");
        let expr = match operator.value.as_str() {
            "<" | ">" => operand.clone(),
            _ => {
                let value = Box::new(operand.clone());
                marked(IN_KEY, using.span, Expr::Prefixed { prefix: operator.clone(), value })
            }
        };
        key.options.asc = Some(!is_descending);
        key.expr = expr;
    }
    ControlFlow::Continue(())
}

impl VisitorMut for Keys {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        match query.order_by.as_mut().map(|order| &mut order.kind) {
            Some(OrderByKind::Expressions(keys)) => settle_keys(keys),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.named_window.iter_mut().try_for_each(|window| match &mut window.1 {
            NamedWindowExpr::WindowSpec(window) => settle_keys(&mut window.order_by),
            NamedWindowExpr::NamedWindow(_) => ControlFlow::Continue(()),
        })
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(Function { args, within_group, over, .. }) = expr else {
            return ControlFlow::Continue(());
        };
        settle_keys(within_group)?;
        if let Some(WindowType::WindowSpec(window)) = over {
            settle_keys(&mut window.order_by)?;
        }
        if let FunctionArguments::List(list) = args {
            for clause in &mut list.clauses {
                if let FunctionArgumentClause::OrderBy(keys) = clause {
                    settle_keys(keys)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}
