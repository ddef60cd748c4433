//! Generated columns: the values that rows get.
//!
//! Where a table has such columns, a row that is inserted or changed is built in two steps: first from the
//! values that the statement gives, then, over that row, the values of its generated columns
//! ([`super::check`]). An UPDATE computes those that depend on the columns it changes.
//!
//! Reference: ExecComputeStoredGenerated of PostgreSQL's nodeModifyTable.c.

use hyades_engine::procedure::ir::{Expr, RowSlot, TableIndex};
use hyades_types::error::{Error, Result};

use super::Compiler;
use crate::expr::{self, Draft};
use crate::statement::query::parse_expression;

impl Compiler<'_> {
    /// The draft of the rows that are built in this slot.
    pub(super) fn draft_of(&mut self, table: TableIndex, row: RowSlot) -> Result<Draft> {
        if let Some((_, known)) = self.computed.iter().find(|(of, _)| *of == (table, row)) {
            return Ok(known.clone());
        }
        let (definition, named) = (self.code.definition(table), self.code.table_of(table));
        let draft = self.code.new_row()?;
        let mut computed: Vec<(u16, Expr)> = Vec::new();
        for (at, column) in (0u16..).zip(&definition.columns) {
            let Some(generation) = &column.generation else { continue };
            let written = parse_expression(&generation.expression)?;
            let value = self.binder.of_kept(|binder| binder.computed(&named, draft, column, &written));
            let mut value = value.map_err(Error::without_position)?;
            // The draft has no generated columns: an index that reads one computes its expression too.
            expr::replace(&mut value, &mut |part| match part {
                Expr::Column { row, column } if *row == draft => {
                    computed.iter().find(|(known, _)| known == column).map(|(_, known)| known.clone())
                }
                _ => None,
            });
            computed.push((at, value));
        }
        let draft = Draft { row: draft, computed: computed.into() };
        self.computed.push(((table, row), draft.clone()));
        Ok(draft)
    }
}
