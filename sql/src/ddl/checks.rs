//! CHECK constraints: how CREATE and ALTER TABLE define them.
//!
//! Reference: AddRelationNewConstraints of PostgreSQL's heap.c.

use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{CheckConstraint, TableDefinition};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use sqlparser::ast::{self, ColumnOption, TableConstraint};

use super::wanted::WantedCheck;
use crate::bind::row_expression::{columns_of, row_type, unqualified};
use crate::bind::{Binder, Place};
use crate::emit::{Compiler, unsupported};
use crate::statement::deep_text::Written;
use crate::statement::names::{cut_name, fold};

impl Binder<'_> {
    /// A constraint on a table. Its name is generated if none was given.
    pub(crate) fn check_constraint(
        &mut self,
        table: &Arc<Table>,
        known: &TableDefinition,
        wanted: &WantedCheck,
    ) -> Result<CheckConstraint> {
        let row = self.new_row()?;
        let (condition, meanings) = self.noting(|binder| binder.check_condition(table, row, &wanted.expr));
        let condition = condition?;
        self.refuse_clock_literals(&condition, Place::of_expr(&wanted.expr))?;
        let columns = columns_of(&condition, row);
        let [shown, pretty] = self.kept_expression(table, row, &wanted.expr)?;
        let name = wanted.name.clone().unwrap_or_else(|| made_up_name(known, &columns));
        Ok(CheckConstraint {
            name,
            expression: self.kept(&unqualified(&wanted.expr), &meanings),
            shown,
            pretty,
            columns,
            is_not_valid: wanted.is_not_valid,
        })
    }
}

impl Compiler<'_> {
    /// The constraints of a new table: those of its columns, then its own.
    pub(super) fn created_checks(
        &mut self,
        create: &ast::CreateTable,
        definition: &mut TableDefinition,
    ) -> Result<()> {
        let mut wanted = Vec::new();
        for column in &create.columns {
            for option in &column.options {
                if let ColumnOption::Check(check) = &option.option {
                    wanted.push(wanted_check(check, option.name.as_ref(), false)?);
                }
            }
        }
        for constraint in &create.constraints {
            if let TableConstraint::Check(check) = constraint {
                wanted.push(wanted_check(check, None, false)?);
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let table = row_type(definition);
        for wanted in &wanted {
            let check = self.binder.check_constraint(&table, definition, wanted)?;
            if definition.check(&check.name).is_some() {
                let message = format!("check constraint \"{}\" already exists", check.name);
                return Err(Error::input(sqlstate::DUPLICATE_OBJECT, message));
            }
            definition.checks.push(check);
        }
        Ok(())
    }
}

/// `table_column_check` for a constraint on one column, else `table_check`, followed by a number if that name
/// is taken.
fn made_up_name(definition: &TableDefinition, columns: &[u16]) -> String {
    let labels = std::iter::once("check".to_owned()).chain((1u32..).map(|number| format!("check{number}")));
    let table = &definition.name.name;
    let column = match columns {
        [column] => definition.columns[usize::from(*column)].name.as_str(),
        _ => "",
    };
    let name = |label: String| cut_name(table, column, &label);
    labels.map(name).find(|name| !definition.has_constraint(name)).unwrap_or_default()
}

/// A CHECK clause. `name` is that of a column's constraint.
pub(crate) fn wanted_check(
    check: &ast::CheckConstraint,
    name: Option<&ast::Ident>,
    is_not_valid: bool,
) -> Result<WantedCheck> {
    if check.enforced.is_some() {
        return unsupported(Missing::Dialects, "[NOT] ENFORCED is not supported");
    }
    let name = name.or(check.name.as_ref()).map(fold);
    Ok(WantedCheck { name, expr: Written::new((*check.expr).clone()), is_not_valid })
}
