//! Generated columns: how CREATE and ALTER TABLE define them, and the values that rows get.
//!
//! Where a table has such columns, a row that is inserted or changed is built in two steps: first from the
//! values that the statement gives, then, over that row, the values of its generated columns
//! ([`super::check`]). An UPDATE computes those that depend on the columns it changes.
//!
//! Reference: ExecComputeStoredGenerated of PostgreSQL's nodeModifyTable.c, cookDefault of heap.c.

use std::ops::ControlFlow;
use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, RowSlot, TableIndex};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{ColumnDefinition, Generation, TableDefinition};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Volatility;
use hyades_types::value::SqlType;
use sqlparser::ast::{self, ColumnOption, GeneratedExpressionMode, visit_expressions};

use super::check::{columns_of, row_type, unqualified};
use super::sequence_statements::serial_type;
use super::{Compiler, unsupported};
use crate::bind::aggregation::AggregateMode;
use crate::bind::coerce::Context;
use crate::bind::{Binder, Place};
use crate::evaluation;
use crate::expr::{self, Draft};
use crate::statement::names::fold;
use crate::statement::query::parse_expression;

/// The expression of a column that is declared as generated.
fn written_generation(column: &ast::ColumnDef) -> Option<&ast::Expr> {
    column.options.iter().find_map(|option| match &option.option {
        ColumnOption::Generated { generation_expr, .. } => generation_expr.as_ref(),
        _ => None,
    })
}

impl Binder<'_> {
    /// The value that a generated column computes from the row in a slot.
    pub(crate) fn computed(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        column: &ColumnDefinition,
        written: &ast::Expr,
    ) -> Result<Expr> {
        self.refuse_queries(written, "column generation expression")?;
        self.over_row(table, row, |binder| {
            binder.aggregate_mode = AggregateMode::Forbidden("in column generation expressions");
            let bound = binder.expression(written)?;
            let from = bound.type_name();
            let value = binder.try_coerce(bound, column.sql_type, Context::Assignment)?;
            value.ok_or_else(|| default_mismatch(&column.name, column.sql_type, from))
        })
    }

    /// A generated column of a table, compiled for the first time or again.
    pub(crate) fn generation(
        &mut self,
        table: &Arc<Table>,
        at: usize,
        written: &ast::Expr,
    ) -> Result<Generation> {
        let definition = table.definition();
        self.refuse_generated_columns(&definition, written)?;
        let row = self.new_row()?;
        let (value, meanings) =
            self.noting(|binder| binder.computed(table, row, &definition.columns[at], written));
        let value = value?;
        self.refuse_clock_literals(&value, Place::of_expr(written))?;
        if !is_immutable(&value, &definition, row) {
            let message = "generation expression is not immutable";
            return Err(Error::input(sqlstate::INVALID_OBJECT_DEFINITION, message));
        }
        Ok(Generation {
            expression: self.kept(&unqualified(written), &meanings),
            shown: self.kept_expression(table, row, written)?,
            columns: columns_of(&value, row),
            indexed: None,
        })
    }

    fn refuse_generated_columns(&self, definition: &TableDefinition, written: &ast::Expr) -> Result<()> {
        let found = visit_expressions(written, |part| {
            let ident = match part {
                ast::Expr::Identifier(ident) => Some(ident),
                ast::Expr::CompoundIdentifier(idents) => idents.last(),
                _ => None,
            };
            let name = ident.map(fold);
            let column = name.and_then(|name| definition.columns.iter().find(|one| one.name == name));
            match column.filter(|column| column.generation.is_some()) {
                Some(column) => ControlFlow::Break((column, Place::of_expr(part))),
                None => ControlFlow::Continue(()),
            }
        });
        let ControlFlow::Break((column, place)) = found else { return Ok(()) };
        let message =
            format!("cannot use generated column \"{}\" in column generation expression", column.name);
        let detail = "A generated column cannot reference another generated column.";
        let error = Error::input(sqlstate::INVALID_OBJECT_DEFINITION, message).with_detail(detail);
        Err(self.place(error, place))
    }
}

/// Whether a row always gives the same value, whatever the session, the clock and the other rows are.
pub(super) fn is_immutable(value: &Expr, definition: &TableDefinition, row: RowSlot) -> bool {
    !expr::any(value, &|part| match part {
        Expr::Call { function, .. } => function.volatility() != Volatility::Immutable,
        Expr::Routine { .. } | Expr::Query { .. } => true,
        Expr::Cast { operand, to, .. } => match &**operand {
            Expr::Column { row: own, column } if *own == row => {
                let from = definition.columns[usize::from(*column)].sql_type;
                !matches!(from, SqlType::Real | SqlType::DoublePrecision)
                    && !evaluation::is_immutable_cast(from, *to)
            }
            _ => to.is_datetime() && !matches!(**operand, Expr::Const(_)),
        },
        _ => false,
    })
}

/// 42804 for a default or a generated column.
pub(super) fn default_mismatch(name: &str, sql_type: SqlType, from: &str) -> Error {
    let message = format!(
        "column \"{name}\" is of type {} but default expression is of type {from}",
        sql_type.base_name()
    );
    Error::input(sqlstate::DATATYPE_MISMATCH, message)
        .with_hint("You will need to rewrite or cast the expression.")
}

impl Compiler<'_> {
    /// The expression that generates a column, not checked yet: its table may not be known.
    pub(super) fn unread_generation(
        &self,
        table: &str,
        column: &ast::ColumnDef,
    ) -> Result<Option<Generation>> {
        let Some(written) = written_generation(column) else { return Ok(None) };
        let (mut expressions, mut defaults, mut identities) = (0, 0, 0);
        for option in &column.options {
            match &option.option {
                ColumnOption::Generated { generation_expr: Some(_), generation_expr_mode, .. } => {
                    if !matches!(generation_expr_mode, Some(GeneratedExpressionMode::Stored)) {
                        return unsupported("columns that are generated and not STORED are not supported");
                    }
                    expressions += 1;
                }
                ColumnOption::Generated { .. } => identities += 1,
                ColumnOption::Default(_) => defaults += 1,
                _ => {}
            }
        }
        let name = fold(&column.name);
        let what = match (expressions, defaults, identities) {
            (1, 0, 0) if serial_type(&column.data_type).is_none() => {
                let expression = written.to_string();
                return Ok(Some(Generation {
                    expression,
                    shown: String::new(),
                    columns: Vec::new(),
                    indexed: None,
                }));
            }
            (2.., ..) => "multiple generation clauses specified",
            (_, 0, 1..) => "both identity and generation expression specified",
            _ => "both default and generation expression specified",
        };
        self.misdeclared(column, format!("{what} for column \"{name}\" of table \"{table}\""))
    }

    /// Checks the generated columns of a new table.
    pub(super) fn created_generations(
        &mut self,
        create: &ast::CreateTable,
        definition: &mut TableDefinition,
    ) -> Result<()> {
        let table = row_type(definition);
        for (at, column) in create.columns.iter().enumerate() {
            if let Some(written) = written_generation(column) {
                definition.columns[at].generation = Some(self.binder.generation(&table, at, written)?);
            }
        }
        Ok(())
    }

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
