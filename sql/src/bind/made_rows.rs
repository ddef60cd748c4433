//! Values of composite types as expressions: made of their fields, taken apart, changed.

use hyades_engine::procedure::ir::Expr;
use hyades_types::function::Function;
use hyades_types::value::Value;
use hyades_types::value::composite::{CompositeField, CompositeType};

use crate::evaluation;

/// A row of these fields.
pub(crate) fn made_row(row_type: CompositeType, fields: Vec<Expr>) -> Expr {
    call_with_type(Function::Row, row_type, fields)
}

/// The row with another value of a field.
pub(crate) fn row_with(row_type: CompositeType, row: Expr, field: &CompositeField, value: Expr) -> Expr {
    let number = Expr::Const(Value::Integer(i32::from(field.number)));
    call_with_type(Function::RowWith, row_type, vec![row, number, value])
}

fn call_with_type(function: Function, row_type: CompositeType, arguments: Vec<Expr>) -> Expr {
    let mut all = vec![Expr::Const(row_type.nulls())];
    all.extend(arguments);
    evaluation::fold_if_constant(Expr::Call { function, arguments: all })
}

/// A field of a row.
pub(crate) fn field_expr(row: Expr, field: &CompositeField) -> Expr {
    let number = Expr::Const(Value::Integer(i32::from(field.number)));
    evaluation::fold_if_constant(Expr::Call { function: Function::RowField, arguments: vec![row, number] })
}
