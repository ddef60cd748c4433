//! Expressions over scalars: see the documentation of `evaluate`, and [`Scalar`] for what they are.
//!
//! Invariants:
//! 1. A result is what `general` would return.
//! 2. `None` says nothing about the expression: it may not be a scalar, and it may fail.
//! 3. Nothing that has an effect, such as `random()`, is computed here, so that computing again gives the
//!    same.

use hyades_types::operator::BinaryOperator;
use hyades_types::scalar::Scalar;
use hyades_types::value::{SqlType, Value};

use super::context::Context;
use crate::procedure::ir::{Expr, Register, RowSlot};
use crate::storage::row::RowLayout;

/// Where values lie: registers and rows.
pub(in crate::procedure) trait Places {
    fn register(&self, register: Register) -> Option<&Value>;

    /// The row in a row slot and its layout.
    fn row(&self, row: RowSlot) -> Option<(&RowLayout, &[u8])>;
}

impl Places for Context<'_> {
    #[inline]
    fn register(&self, register: Register) -> Option<&Value> {
        self.registers.get(usize::from(register))
    }

    #[inline]
    fn row(&self, row: RowSlot) -> Option<(&RowLayout, &[u8])> {
        Context::row(self, row)
    }
}

/// The value of an expression, if that is a scalar.
#[inline(always)]
pub(in crate::procedure) fn scalar(expr: &Expr, places: &impl Places) -> Option<Scalar> {
    match expr {
        Expr::Register(register) => Scalar::of(places.register(*register)?),
        Expr::Const(value) => Scalar::of(value),
        Expr::Column { row, column } => of_column(*row, *column, places),
        Expr::Binary { operator, left, right } => binary(*operator, left, right, places),
        Expr::Cast { operand, to, .. } => cast(operand, *to, places),
        Expr::Element { array, index } => element(array, index, places),
        other => compound(other, places),
    }
}

#[inline(never)]
fn of_column(row: u16, column: u16, places: &impl Places) -> Option<Scalar> {
    let (layout, row) = places.row(row)?;
    layout.scalar(row, column)
}

/// Operators over texts and floats alone do not evaluate their operands, because the result would not be a
/// scalar.
fn binary(operator: BinaryOperator, left: &Expr, right: &Expr, places: &impl Places) -> Option<Scalar> {
    if matches!(operator, BinaryOperator::Concat | BinaryOperator::Power) {
        return None;
    }
    Scalar::binary(operator, scalar(left, places)?, scalar(right, places)?)
}

fn cast(operand: &Expr, to: SqlType, places: &impl Places) -> Option<Scalar> {
    if to.is_integer() { scalar(operand, places)?.cast(to) } else { None }
}

/// The less frequent cases.
fn compound(expr: &Expr, places: &impl Places) -> Option<Scalar> {
    match expr {
        Expr::And(left, right) => both(left, right, false, places),
        Expr::Or(left, right) => both(left, right, true, places),
        Expr::Not(inner) => Some(match scalar(inner, places)?.truth()? {
            Some(truth) => Scalar::boolean(!truth),
            None => Scalar::NULL,
        }),
        Expr::IsNull(inner) => is_null(inner, places).map(Scalar::boolean),
        Expr::Unary { operator, operand } => scalar(operand, places)?.unary(*operator),
        Expr::Case { branches, otherwise } => {
            for (when, then) in branches {
                if scalar(when, places)?.truth()? == Some(true) {
                    return scalar(then, places);
                }
            }
            scalar(otherwise, places)
        }
        _ => None,
    }
}

/// AND, which false decides, or OR, which true decides.
fn both(left: &Expr, right: &Expr, decides: bool, places: &impl Places) -> Option<Scalar> {
    let left = scalar(left, places)?.truth()?;
    if left == Some(decides) {
        return Some(Scalar::boolean(decides));
    }
    let right = scalar(right, places)?.truth()?;
    Some(match (left, right) {
        (_, Some(truth)) if truth == decides => Scalar::boolean(decides),
        (None, _) | (_, None) => Scalar::NULL,
        _ => Scalar::boolean(!decides),
    })
}

fn is_null(inner: &Expr, places: &impl Places) -> Option<bool> {
    Some(match inner {
        Expr::Register(register) => places.register(*register)?.is_null(),
        Expr::Column { row, column } => {
            let (layout, row) = places.row(*row)?;
            layout.is_null(row, *column)
        }
        other => scalar(other, places)?.is_null(),
    })
}

/// The element of an array in a register, read in place. NULL outside the array.
fn element(array: &Expr, index: &Expr, places: &impl Places) -> Option<Scalar> {
    let Expr::Register(array) = array else { return None };
    let index = scalar(index, places)?;
    match places.register(*array)? {
        Value::Array(array) if index.kind.is_integer() => match array.place(index.number) {
            Some(place) => Scalar::of(&array.values[place]),
            None => Some(Scalar::NULL),
        },
        Value::Array(_) | Value::Null => Some(Scalar::NULL),
        _ => None,
    }
}
