//! `(start, end) OVERLAPS (start, end)`, where an end may be the length of the period.

use hyades_types::error::{Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::SqlType;
use sqlparser::ast;

use super::row_syntax::row_items;
use super::{Binder, Bound, Place};

impl Binder<'_> {
    pub(super) fn overlaps(&mut self, left: &ast::Expr, right: &ast::Expr, place: Place) -> Result<Bound> {
        let mut arguments = Vec::with_capacity(4);
        for (side, period) in [("left", left), ("right", right)] {
            let Some([start, end]) = row_items(period).as_deref().and_then(<[_]>::as_array).copied() else {
                let message = format!("wrong number of parameters on {side} side of OVERLAPS expression");
                return self.fail(sqlstate::SYNTAX_ERROR, message, Place::of_expr(period));
            };
            let (start, end) = (self.expression(start)?, self.expression(end)?);
            // PostgreSQL has no such periods of times with time zone.
            let is_length = matches!(end.known_type(), Some(SqlType::Interval(_)))
                && !matches!(start.known_type(), Some(SqlType::TimeTz(_)));
            let end = match is_length {
                true => self.binary(BinaryOperator::Add, start.clone(), end, place)?,
                false => end,
            };
            arguments.extend([start, end]);
        }
        self.call_of("overlaps", arguments, place)
    }
}
