//! `WHERE CURRENT OF cursor`: the key equals that of the row on which the cursor stands.
//!
//! The rows of a table without a primary key are found by the keys under which they are stored.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, RowSlot};
use hyades_engine::storage::table::Table;
use hyades_types::error::Result;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::Value;

use super::Compiler;
use crate::bind::session_function::{SessionCall, SessionFunction};
use crate::plan::access::Access;
use crate::statement::names::quoted;

impl Compiler<'_> {
    /// `WHERE CURRENT OF cursor`: adds conditions on the primary key. Without one, returns how the row is
    /// found.
    pub(super) fn current_of(
        &mut self,
        cursor: &str,
        (table, row): (&Arc<Table>, RowSlot),
        conditions: &mut Vec<Expr>,
    ) -> Result<Option<Access>> {
        let definition = table.definition();
        let Some(key) = &definition.primary_key else {
            let key = self.key_at_cursor(cursor, table, 0)?;
            return Ok(Some(Access::Stored { key, cursor: quoted(cursor) }));
        };
        for (at, column) in key.columns.iter().enumerate() {
            let right = Box::new(self.key_at_cursor(cursor, table, at)?);
            let left = Box::new(Expr::Column { row, column: *column });
            conditions.push(Expr::Binary { operator: BinaryOperator::Equal, left, right });
        }
        Ok(None)
    }

    /// A part of the key that the cursor keeps with its row.
    fn key_at_cursor(&mut self, cursor: &str, table: &Arc<Table>, part: usize) -> Result<Expr> {
        let into = self.binder.new_register()?;
        let arguments = vec![
            Expr::Const(Value::text(cursor)),
            Expr::Const(Value::Oid(table.id().0)),
            Expr::Const(Value::text(table.definition().name.name.as_str())),
            Expr::Const(Value::Integer(i32::try_from(part).unwrap_or(i32::MAX))),
        ];
        let function = SessionFunction::CursorKey;
        self.binder.session_calls.push(SessionCall { function, arguments, into });
        Ok(Expr::Register(into))
    }
}
