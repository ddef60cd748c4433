//! COLLATE. There is one collation, by bytes, under the names "C", "POSIX" and "default". What remains is to
//! refuse what PostgreSQL refuses: collations of types that have none, and two conflicting explicit ones.
//!
//! Reference: assign_collations_walker of parse_collate.c.

use hyades_types::error::{Result, sqlstate};
use sqlparser::ast;

use super::{Binder, Bound, Place};
use crate::statement::dialect::symmetric_bound;
use crate::statement::query::end_of;

/// An explicit collation: its name as shown in messages, and its place.
type Explicit = (String, Place);

impl Binder<'_> {
    /// The operand of COLLATE.
    pub(super) fn collated(&mut self, inner: &ast::Expr) -> Result<Bound> {
        let bound = self.expression(inner)?;
        self.has_collation = true;
        match bound.known_type() {
            Some(sql_type) if !sql_type.is_string() => {
                let message = format!("collations are not supported by type {}", sql_type.base_name());
                self.fail(sqlstate::DATATYPE_MISMATCH, message, Place::OperatorAfter(end_of(inner)))
            }
            _ => Ok(bound),
        }
    }

    /// Refuses an expression whose parts have different explicit collations.
    pub(super) fn check_collations(&self, expr: &ast::Expr) -> Result<()> {
        let mut first: Option<Explicit> = None;
        for part in meeting(expr) {
            let Some((name, place)) = explicit(part) else { continue };
            match &first {
                Some((known, _)) if *known != name => {
                    let message =
                        format!("collation mismatch between explicit collations \"{known}\" and \"{name}\"");
                    return self.fail(sqlstate::COLLATION_MISMATCH, message, place);
                }
                Some(_) => {}
                None => first = Some((name, place)),
            }
        }
        Ok(())
    }
}

/// The parts of an expression whose collations must agree.
fn meeting(expr: &ast::Expr) -> Vec<&ast::Expr> {
    use ast::Expr as Ast;
    match expr {
        Ast::BinaryOp { left, right, .. }
        | Ast::IsDistinctFrom(left, right)
        | Ast::IsNotDistinctFrom(left, right) => vec![left, right],
        Ast::Like { expr: left, pattern: right, .. } | Ast::ILike { expr: left, pattern: right, .. } => {
            vec![left, right]
        }
        Ast::Between { expr, low, high, .. } => vec![expr, symmetric_bound(low).unwrap_or(low), high],
        Ast::InList { expr, list, .. } => std::iter::once(expr.as_ref()).chain(list).collect(),
        Ast::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| &when.result);
            results.chain(else_result.as_deref()).collect()
        }
        Ast::Function(call) => match &call.args {
            ast::FunctionArguments::List(list) => list.args.iter().filter_map(argument).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn argument(argument: &ast::FunctionArg) -> Option<&ast::Expr> {
    match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr))
        | ast::FunctionArg::Named { arg: ast::FunctionArgExpr::Expr(expr), .. } => Some(expr),
        _ => None,
    }
}

/// The explicit collation of an expression, its own or that of its parts.
fn explicit(expr: &ast::Expr) -> Option<Explicit> {
    use ast::Expr as Ast;
    match expr {
        Ast::Collate { expr: inner, collation } => {
            let name = collation.to_string().replace('"', "");
            let name = name.rsplit('.').next().unwrap_or_default().to_owned();
            Some((name, Place::OperatorAfter(end_of(inner))))
        }
        Ast::Nested(inner) | Ast::Cast { expr: inner, .. } => explicit(inner),
        Ast::BinaryOp { op: ast::BinaryOperator::StringConcat, .. } | Ast::Function(_) | Ast::Case { .. } => {
            meeting(expr).into_iter().find_map(explicit)
        }
        _ => None,
    }
}
