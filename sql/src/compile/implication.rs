//! Whether one condition follows from others, so that an index on some rows serves a statement.
//!
//! Reference: PostgreSQL's predtest.c; the comparisons are its table BT_implic_table.

use hyades_engine::procedure::ir::Expr;
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator::{self, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
use hyades_types::value::Value;

use crate::bind::operator::mirrored;
use crate::evaluation::fold_if_constant;

/// Whether rows that satisfy all the conditions satisfy this one.
pub(super) fn is_implied(wanted: &Expr, conditions: &[Expr]) -> bool {
    if let Expr::Or(one, other) = wanted
        && (is_implied(one, conditions) || is_implied(other, conditions))
    {
        return true;
    }
    conditions.iter().any(|condition| condition == wanted || implies(condition, wanted))
}

/// Whether rows that satisfy one condition satisfy another.
fn implies(condition: &Expr, wanted: &Expr) -> bool {
    if let Some(value) = not_null(wanted) {
        return compares(condition, value);
    }
    let (Some((known, known_operator, bound)), Some((value, operator, limit))) =
        (against_constant(condition), against_constant(wanted))
    else {
        return false;
    };
    // What the constant of the condition must be to the one that is wanted.
    let relation = match (known_operator, operator) {
        (Equal, operator) => operator,
        (NotEqual, NotEqual) => Equal,
        (Less, Less | LessEqual | NotEqual) | (LessEqual, LessEqual) => LessEqual,
        (LessEqual, Less | NotEqual) => Less,
        (Greater, Greater | GreaterEqual | NotEqual) | (GreaterEqual, GreaterEqual) => GreaterEqual,
        (GreaterEqual, Greater | NotEqual) => Greater,
        _ => return false,
    };
    let (left, right) = (Box::new(Expr::Const(bound.clone())), Box::new(Expr::Const(limit.clone())));
    let holds = || fold_if_constant(Expr::Binary { operator: relation, left, right });
    known == value && holds() == Expr::Const(Value::Boolean(true))
}

/// `value IS NOT NULL`.
fn not_null(wanted: &Expr) -> Option<&Expr> {
    let Expr::Not(inner) = wanted else { return None };
    let Expr::IsNull(value) = &**inner else { return None };
    Some(value)
}

/// Whether a condition compares this value with others, so that it is not NULL in rows that satisfy it.
fn compares(condition: &Expr, value: &Expr) -> bool {
    match condition {
        Expr::Binary { left, right, operator } => {
            operator.is_comparison() && (**left == *value || **right == *value)
        }
        Expr::InList { operand, .. } => **operand == *value,
        Expr::Call { function: Function::EqualsAny | Function::EqualsSorted, arguments } => {
            arguments.first() == Some(value)
        }
        _ => false,
    }
}

/// `value < constant`, or the same the other way round.
fn against_constant(condition: &Expr) -> Option<(&Expr, BinaryOperator, &Value)> {
    let Expr::Binary { operator, left, right } = condition else { return None };
    match (&**left, &**right) {
        _ if !operator.is_comparison() => None,
        (Expr::Const(_), Expr::Const(_)) => None,
        (value, Expr::Const(constant)) => Some((value, *operator, constant)),
        (Expr::Const(constant), value) => Some((value, mirrored(*operator), constant)),
        _ => None,
    }
}
