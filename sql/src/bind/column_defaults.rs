//! The values of a table's columns if none is given.

use std::sync::Arc;

use hyades_engine::procedure::ir::Expr;
use hyades_engine::storage::table::Table;
use hyades_types::definition::ColumnDefinition;
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::value::Value;

use super::coerce::Context;
use super::{Binder, Class, Place};
use crate::expr;
use crate::statement::query::parse_expression;

/// The default of an identity column. Every role that may insert rows may draw its numbers.
fn drawn_for_all(mut default: Expr) -> Expr {
    expr::replace(&mut default, &mut |part| match part {
        Expr::Call { function: Function::NextNumber, arguments } => {
            Some(Expr::Call { function: Function::OwnNumber, arguments: arguments.clone() })
        }
        _ => None,
    });
    default
}

impl Binder<'_> {
    /// The text of a column's default: its own, or that of its domain.
    fn default_of(&self, column: &ColumnDefinition) -> Result<Option<String>> {
        match column.domain {
            Some(id) if column.default.is_none() && column.generation.is_none() => {
                let stored = self.domain(id)?;
                Ok(stored.definition.domain().and_then(|domain| domain.default.clone()))
            }
            _ => Ok(column.default.clone()),
        }
    }

    /// The value of each column of a table if none is given.
    pub(crate) fn defaults(&mut self, table: &Arc<Table>) -> Result<Vec<Expr>> {
        let definition = table.definition();
        let scope = std::mem::take(&mut self.scope);
        let mut defaults = Vec::with_capacity(definition.columns.len());
        for column in &definition.columns {
            let Some(text) = self.default_of(column)? else {
                defaults.push(Expr::Const(Value::Null));
                continue;
            };
            let parsed = parse_expression(&text)?;
            let bound = self.of_kept(|binder| binder.expression(&parsed))?;
            let is_fitting = matches!(bound.class, Class::Typed(_) | Class::Literal(_) | Class::Null);
            let coerced = self.try_coerce(bound, column.sql_type, Context::Assignment)?;
            match coerced {
                Some(expr) if is_fitting && column.identity.is_some() => defaults.push(drawn_for_all(expr)),
                Some(expr) if is_fitting => defaults.push(expr),
                _ => {
                    let message = format!("the default of column \"{}\" has the wrong type", column.name);
                    return self.fail(sqlstate::DATATYPE_MISMATCH, message, Place::Unknown);
                }
            }
        }
        self.scope = scope;
        Ok(defaults)
    }
}
