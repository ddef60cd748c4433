//! Procedures over all rows of a table that is altered: they compute a column, or check a constraint.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Intent, RowSlot, Strength};
use hyades_engine::storage::table::Table;
use hyades_types::error::{Error, Result};

use crate::bind::tree::Source;
use crate::bind::{BindContext, Binder};
use crate::emit::Compiler;
use crate::emit::run_plan::{RunPlan, Tag};
use crate::plan::access;
use crate::plan::level::{Level, Step};
use crate::statement::deep_text::Written;
use crate::statement::query::parse_expression;

/// A column of an altered table whose values are computed.
#[derive(Clone, Debug)]
pub(crate) enum Filling {
    /// By its default.
    Default(u16),
    /// By the expression that generates it.
    Generated(u16),
    /// From another column, or by USING.
    Converted { into: u16, from: u16, expr: Option<Written> },
}

impl Compiler<'_> {
    /// The new values of a column that the old rows do not hold as they are.
    fn filled(&mut self, table: &Arc<Table>, row: RowSlot, filling: &Filling) -> Result<(u16, Expr)> {
        match filling {
            Filling::Default(column) => {
                let defaults = self.binder.defaults(table)?;
                Ok((*column, defaults[usize::from(*column)].clone()))
            }
            Filling::Generated(column) => {
                let (definition, at) = (table.definition(), usize::from(*column));
                let generation = definition.columns[at].generation.as_ref();
                let expression = generation.map_or("NULL", |generation| generation.expression.as_str());
                let written = parse_expression(expression)?;
                let computed =
                    |binder: &mut Binder<'_>| binder.computed(table, row, &definition.columns[at], &written);
                Ok((*column, self.binder.of_kept(computed)?))
            }
            Filling::Converted { into, from, expr } => {
                let to = table.definition().columns[usize::from(*into)].sql_type;
                let value = self.binder.conversion(table, row, *from, (to, expr.as_deref()))?;
                Ok((*into, value))
            }
        }
    }

    /// A procedure that computes a column of all rows.
    fn filling(&mut self, table: &Arc<Table>, filling: &Filling) -> Result<RunPlan> {
        let row = self.code.new_row()?;
        let index = self.code.table(table)?;
        let (column, value) = self.filled(table, row, filling)?;
        let domain = table.definition().columns[usize::from(column)].domain;
        let set = vec![(column, self.binder.checked_value(value, domain)?)];
        self.over_all_rows(table, row, Strength::Write, |compiler| {
            // No constraint needs to hold for half-finished rows.
            compiler.code.push(Instruction::Update { table: index, row, set: set.clone() });
            Ok(())
        })
    }

    /// A procedure that does something to every row of a locked table.
    fn over_all_rows(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        strength: Strength,
        mut each: impl FnMut(&mut Compiler<'_>) -> Result<()>,
    ) -> Result<RunPlan> {
        let level = Level {
            source: Source::newest(table, row),
            choice: access::choose(table, (row, None), &[], &|_| true),
            intent: Intent::newest(strength),
            is_kept: true,
            key_into: None,
            label: String::new(),
        };
        let end = self.code.label();
        self.loops(&[Step::Loop(Box::new(level))], end, &mut |compiler, _| each(compiler))?;
        self.code.place(end);
        let procedure = self.finish_code("alter table", Vec::new())?;
        Ok(self.direct_run(procedure, Tag::Select, None))
    }

    /// A procedure that fails if a row of the table does not satisfy the constraint of this name.
    fn validation(&mut self, table: &Arc<Table>, constraint: &str) -> Result<RunPlan> {
        let row = self.code.new_row()?;
        let index = self.code.table(table)?;
        self.over_all_rows(table, row, Strength::Read, |compiler| {
            compiler.test_row(index, row, None, Some(constraint))
        })
    }
}

/// Compiles the check of whether the rows of a table satisfy a constraint.
pub(crate) fn compile_validation(
    context: BindContext<'_>,
    table: &Arc<Table>,
    constraint: &str,
) -> Result<RunPlan> {
    Compiler::new("", context, &[], 0)?.validation(table, constraint)
}

/// Compiles the procedure that fills a column of an altered table.
pub(crate) fn compile_filling(
    context: BindContext<'_>,
    table: &Arc<Table>,
    filling: &Filling,
) -> Result<RunPlan> {
    Compiler::new("", context, &[], 0)?.filling(table, filling).map_err(Error::without_position)
}
