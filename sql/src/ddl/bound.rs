//! Expressions of tables that are altered, bound when the statement runs.

use std::sync::Arc;

use hyades_engine::procedure::ir::Expr;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{CheckConstraint, ColumnDefinition, Generation, SequenceId, TableDefinition};
use hyades_types::error::Result;
use hyades_types::value::SqlType;
use sqlparser::ast;

use super::tables::compile_default;
use super::wanted::WantedCheck;
use crate::bind::Binder;
use crate::bind::row_expression::row_type;
use crate::bind::sequence_call::sequences_of;
use crate::statement::deep_text::with_deep_stack;
use crate::statement::query::parse_expression;
use crate::viewpoint::Viewpoint;

impl Viewpoint {
    /// The sequences that the defaults of a table draw from, each with its column.
    pub(super) fn sequences_of_defaults(&self, table: &Arc<Table>) -> Result<Vec<(u16, SequenceId)>> {
        let tables = self.compiling();
        let defaults = with_deep_stack(|| Binder::new("", self.context(&tables), &[], 0)?.defaults(table))?;
        let drawn = (0u16..).zip(&defaults).flat_map(|(column, default)| {
            sequences_of(default).into_iter().map(move |sequence| (column, sequence))
        });
        Ok(drawn.collect())
    }

    /// The defaults of the columns of a definition.
    pub(super) fn bound_defaults(&self, definition: &TableDefinition) -> Result<Vec<Expr>> {
        self.with_binder(|binder| binder.defaults(&row_type(definition)))
    }

    /// The text of a default, or `None` for NULL.
    pub(super) fn bound_default(
        &self,
        column: &ColumnDefinition,
        default: &ast::Expr,
    ) -> Result<Option<String>> {
        self.with_context(|context| compile_default(context, column, default))
    }

    /// Whether the values of a column must be computed to change its type.
    pub(super) fn bound_conversion(
        &self,
        table: &Arc<Table>,
        column: u16,
        to: SqlType,
        using: Option<&ast::Expr>,
    ) -> Result<bool> {
        self.with_binder(|binder| {
            let row = binder.new_row()?;
            Ok(binder.conversion(table, row, column, (to, using))? != Expr::Column { row, column })
        })
    }

    /// A CHECK constraint of an existing table.
    pub(super) fn bound_check(&self, table: &Arc<Table>, wanted: &WantedCheck) -> Result<CheckConstraint> {
        self.with_binder(|binder| binder.check_constraint(table, &table.definition(), wanted))
    }

    /// The generation expression of a column of an existing table, bound again.
    pub(super) fn bound_generation(
        &self,
        table: &Arc<Table>,
        at: usize,
        expression: &str,
    ) -> Result<Generation> {
        let written = parse_expression(expression)?;
        self.with_binder(|binder| binder.generation(table, at, &written))
    }
}
