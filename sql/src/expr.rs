//! Inspecting and rewriting expressions of the procedure IR.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Register, RowSlot};
use hyades_types::function::{Function, Volatility};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::SqlType;

/// A row without its computed columns.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) row: RowSlot,
    /// The generated columns and their values.
    pub(crate) computed: Arc<[(u16, Expr)]>,
}

/// A column that exists only for an index.
#[derive(Clone, Debug)]
pub(crate) struct Computed {
    pub(crate) column: u16,
    /// Its value, where the conditions hold. NULL elsewhere.
    pub(crate) value: Expr,
    pub(crate) conditions: Vec<Expr>,
}

/// Conditions with the names of their constraints.
pub(crate) type NamedConditions = Arc<[(String, Expr)]>;

/// Whether the test holds for the expression or any part of it.
pub(crate) fn any(expr: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let mut found = false;
    expr.for_each_part(&mut |part| found = found || any(part, test));
    found
}

/// The number of its parts.
pub(crate) fn count(expr: &Expr) -> usize {
    let mut parts = 1;
    expr.for_each_part(&mut |part| parts += count(part));
    parts
}

/// Whether it nests deeper than this. Levels are counted from 0 again where the stack is checked
/// ([`Expr::Deep`]).
pub(crate) fn depth_exceeds(expr: &Expr, limit: usize) -> bool {
    if matches!(expr, Expr::Deep(_)) {
        return false;
    }
    if limit == 0 {
        return true;
    }
    let mut exceeds = false;
    expr.for_each_part(&mut |part| exceeds = exceeds || depth_exceeds(part, limit - 1));
    exceeds
}

/// Whether the expression reads a stored row.
pub(crate) fn reads_row(expr: &Expr) -> bool {
    any(expr, &|part| matches!(part, Expr::Column { .. }))
}

/// Whether the expression is the same for all rows.
pub(crate) fn reads_nothing(expr: &Expr) -> bool {
    !any(expr, &|part| matches!(part, Expr::Column { .. } | Expr::Register(_) | Expr::Query { .. }))
}

/// Whether the expression reads this row slot or one of these registers.
pub(crate) fn reads(expr: &Expr, wanted: RowSlot, registers: &[Register]) -> bool {
    any(expr, &|part| match part {
        Expr::Column { row, .. } => *row == wanted,
        Expr::Register(register) => registers.contains(register),
        _ => false,
    })
}

/// Whether two evaluations may give different results.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    any(expr, &|part| match part {
        Expr::Call { function, .. } => function.volatility() == Volatility::Volatile,
        Expr::Routine { .. } => true,
        _ => false,
    })
}

/// Whether the expression has a value for every row.
pub(crate) fn never_fails(expr: &Expr) -> bool {
    !any(expr, &|part| match part {
        Expr::Const(_) | Expr::Column { .. } | Expr::Register(_) | Expr::IsNull(_) | Expr::Not(_) => false,
        Expr::And(..) | Expr::Or(..) | Expr::InList { .. } | Expr::NotDistinct(..) => false,
        // Implicit conversions only widen.
        Expr::Cast { to, explicit, .. } => {
            let is_wide = matches!(
                to,
                SqlType::BigInt
                    | SqlType::Integer
                    | SqlType::DoublePrecision
                    | SqlType::Numeric(None)
                    | SqlType::Text
            );
            *explicit || !is_wide
        }
        Expr::Binary { operator, .. } => !matches!(
            operator,
            BinaryOperator::Equal
                | BinaryOperator::NotEqual
                | BinaryOperator::Less
                | BinaryOperator::LessEqual
                | BinaryOperator::Greater
                | BinaryOperator::GreaterEqual
        ),
        Expr::Call { function, .. } => *function != Function::CharToText,
        _ => true,
    })
}

/// Replaces parts from the outside in. A part for which `replace_with` returns an expression is replaced by
/// that, which is not searched again.
pub(crate) fn replace(expr: &mut Expr, replace_with: &mut dyn FnMut(&Expr) -> Option<Expr>) {
    if let Some(new) = replace_with(expr) {
        *expr = new;
        return;
    }
    expr.for_each_part_mut(&mut |part| replace(part, replace_with));
}

/// The conditions joined by AND, in order.
pub(crate) fn conjuncts(expr: Expr, into: &mut Vec<Expr>) {
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        match expr {
            Expr::And(left, right) => {
                stack.push(*right);
                stack.push(*left);
            }
            other => into.push(other),
        }
    }
}

/// Joins conditions with AND (or OR) as a balanced tree, so that a chain of thousands is not thousands deep.
pub(crate) fn balanced(mut items: Vec<Expr>, join: fn(Box<Expr>, Box<Expr>) -> Expr) -> Option<Expr> {
    while items.len() > 1 {
        let mut joined = Vec::with_capacity(items.len().div_ceil(2));
        let mut pairs = items.into_iter();
        while let Some(left) = pairs.next() {
            joined.push(match pairs.next() {
                Some(right) => join(Box::new(left), Box::new(right)),
                None => left,
            });
        }
        items = joined;
    }
    items.pop()
}
