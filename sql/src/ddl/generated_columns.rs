//! Generated columns: how CREATE and ALTER TABLE define them.
//!
//! Reference: cookDefault of PostgreSQL's heap.c.

use std::ops::ControlFlow;
use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{Generation, TableDefinition};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use sqlparser::ast::{self, ColumnOption, GeneratedExpressionMode, visit_expressions};

use super::sequences::serial_type;
use crate::bind::row_expression::{columns_of, is_immutable, row_type, unqualified};
use crate::bind::{Binder, Place};
use crate::emit::{Compiler, unsupported};
use crate::statement::names::fold;

/// The expression of a column that is declared as generated.
fn written_generation(column: &ast::ColumnDef) -> Option<&ast::Expr> {
    column.options.iter().find_map(|option| match &option.option {
        ColumnOption::Generated { generation_expr, .. } => generation_expr.as_ref(),
        _ => None,
    })
}

impl Binder<'_> {
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
        let before = self.called.len();
        let (value, meanings) =
            self.noting(|binder| binder.computed(table, row, &definition.columns[at], written));
        let value = value?;
        self.refuse_clock_literals(&value, Place::of_expr(written))?;
        if !is_immutable(&value, &definition, row) || self.called.len() > before {
            let message = "generation expression is not immutable";
            return Err(Error::input(sqlstate::INVALID_OBJECT_DEFINITION, message));
        }
        let [shown, pretty] = self.kept_expression(table, row, written)?;
        Ok(Generation {
            expression: self.kept(&unqualified(written), &meanings),
            shown,
            pretty,
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
                        return unsupported(
                            Missing::GeneratedColumns,
                            "columns that are generated and not STORED are not supported",
                        );
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
                    pretty: String::new(),
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
}
