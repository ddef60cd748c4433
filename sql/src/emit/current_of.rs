//! `WHERE CURRENT OF cursor`: the key equals that of the row on which the cursor stands.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, RowSlot};
use hyades_engine::storage::table::Table;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::Value;

use super::Compiler;
use crate::bind::session_function::{SessionCall, SessionFunction};

impl Compiler<'_> {
    /// `WHERE CURRENT OF cursor`.
    pub(super) fn current_of(
        &mut self,
        cursor: &str,
        (table, row): (&Arc<Table>, RowSlot),
        conditions: &mut Vec<Expr>,
    ) -> Result<()> {
        let definition = table.definition();
        let Some(key) = &definition.primary_key else {
            let message = "WHERE CURRENT OF for a table without a primary key is not supported yet";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
        };
        for (at, column) in key.columns.iter().enumerate() {
            let into = self.binder.new_register()?;
            let place = i32::try_from(at).unwrap_or(i32::MAX);
            let arguments = vec![
                Expr::Const(Value::text(cursor)),
                Expr::Const(Value::Oid(table.id().0)),
                Expr::Const(Value::text(definition.name.name.as_str())),
                Expr::Const(Value::Integer(place)),
            ];
            let function = SessionFunction::CursorKey;
            self.binder.session_calls.push(SessionCall { function, arguments, into });
            conditions.push(Expr::Binary {
                operator: BinaryOperator::Equal,
                left: Box::new(Expr::Column { row, column: *column }),
                right: Box::new(Expr::Register(into)),
            });
        }
        Ok(())
    }
}
