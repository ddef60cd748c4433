//! The description of a result's columns.

use hyades_engine::procedure::ir::Expr;

use super::Compiler;
use crate::answer::ResultColumn;
use crate::bind::tree::OutputColumn;

impl Compiler<'_> {
    /// The description of the result.
    pub(crate) fn result_columns(&self, outputs: &[OutputColumn]) -> Vec<ResultColumn> {
        outputs
            .iter()
            .map(|output| {
                let source = match &output.expr {
                    Expr::Column { row, column } => self.binder.scope.table_of(*row).map(|table| {
                        let number = table.definition().column_number(usize::from(*column));
                        (table.id().0, i16::try_from(number).unwrap_or(i16::MAX))
                    }),
                    Expr::Register(register) => self.binder.scope.system_column(*register),
                    _ => None,
                };
                ResultColumn { name: output.name.clone(), sql_type: output.sql_type, source }
            })
            .collect()
    }
}
