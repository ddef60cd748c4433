//! Looking at and rewriting expressions of the procedure IR.

use hyades_engine::procedure::ir::{Expr, Register, RowSlot};
use hyades_engine::value::function::Volatility;

/// Hands every direct part of an expression to a visitor; the two functions below differ in what they borrow.
macro_rules! visit_parts {
    ($expr:ident, $visit:ident, $iter:ident) => {
        match $expr {
            Expr::Const(_) | Expr::Register(_) | Expr::Column { .. } => {}
            Expr::Unary { operand, .. } | Expr::Cast { operand, .. } => $visit(operand),
            Expr::Not(operand) | Expr::IsNull(operand) => $visit(operand),
            Expr::Binary { left, right, .. }
            | Expr::And(left, right)
            | Expr::Or(left, right)
            | Expr::NotDistinct(left, right) => {
                $visit(left);
                $visit(right);
            }
            Expr::Like { operand, pattern, .. } => {
                $visit(operand);
                $visit(pattern);
            }
            Expr::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    $visit(condition);
                    $visit(result);
                }
                $visit(otherwise);
            }
            Expr::Coalesce(items)
            | Expr::Call { arguments: items, .. }
            | Expr::Array { items, .. }
            | Expr::Routine { arguments: items, .. } => items.$iter().for_each($visit),
            Expr::Element { array, index } => {
                $visit(array);
                $visit(index);
            }
            Expr::InList { operand, list } => {
                $visit(operand);
                list.$iter().for_each($visit);
            }
        }
    };
}

/// Calls `visit` on every direct part of an expression.
pub(crate) fn for_each_part<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e Expr)) {
    visit_parts!(expr, visit, iter);
}

pub(crate) fn for_each_part_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    visit_parts!(expr, visit, iter_mut);
}

/// Whether the test holds for the expression or any part of it.
pub(crate) fn any(expr: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let mut found = false;
    for_each_part(expr, &mut |part| found = found || any(part, test));
    found
}

/// Whether it nests deeper than this.
pub(crate) fn depth_exceeds(expr: &Expr, limit: usize) -> bool {
    if limit == 0 {
        return true;
    }
    let mut exceeds = false;
    for_each_part(expr, &mut |part| exceeds = exceeds || depth_exceeds(part, limit - 1));
    exceeds
}

/// Whether the expression reads a stored row.
pub(crate) fn reads_row(expr: &Expr) -> bool {
    any(expr, &|part| matches!(part, Expr::Column { .. }))
}

/// Whether the expression reads this row slot or one of these registers.
pub(crate) fn reads(expr: &Expr, wanted: RowSlot, registers: &[Register]) -> bool {
    any(expr, &|part| match part {
        Expr::Column { row, .. } => *row == wanted,
        Expr::Register(register) => registers.contains(register),
        _ => false,
    })
}

/// Whether two evaluations may differ.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    any(expr, &|part| match part {
        Expr::Call { function, .. } => function.volatility() == Volatility::Volatile,
        Expr::Routine { .. } => true,
        _ => false,
    })
}

/// Replaces parts from the outside in: where `replace` answers an expression, that is taken as it is.
pub(crate) fn replace(expr: &mut Expr, replace_with: &mut dyn FnMut(&Expr) -> Option<Expr>) {
    if let Some(new) = replace_with(expr) {
        *expr = new;
        return;
    }
    for_each_part_mut(expr, &mut |part| replace(part, replace_with));
}

/// The conditions that AND joins, in order.
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
