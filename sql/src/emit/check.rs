//! CHECK constraints: the tests that changes of rows carry.
//!
//! Where a table has such constraints, a row that is inserted or changed is first built in a row slot,
//! checked there, and then written as it is:
//!
//! ```text
//! row := (values)                  NOT NULL and lengths are checked, and generated columns computed
//! unless not (condition) go to ok  once for each constraint, in the order of their names
//! fail with row: constraint
//! ok: insert row
//! ```
//!
//! That is PostgreSQL's order: NOT NULL, then CHECK, then unique constraints, then foreign keys.
//!
//! Reference: ExecConstraints of PostgreSQL's execMain.c.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Given, Instruction, RowSlot, TableIndex};
use hyades_types::error::{Error, Result};
use hyades_types::value::Value;

use super::Compiler;
use crate::expr::NamedConditions;
use crate::statement::query::parse_expression;

impl Compiler<'_> {
    /// An instruction that writes a row, with the tests of the row before it.
    pub(super) fn checked(&mut self, instruction: Instruction) -> Result<Instruction> {
        let (table, row) = match &instruction {
            Instruction::Insert { table, row, .. }
            | Instruction::InsertOr { table, row, .. }
            | Instruction::Update { table, row, .. } => (*table, *row),
            _ => return Ok(instruction),
        };
        let definition = self.code.definition(table);
        let all = 0..u16::try_from(definition.columns.len()).unwrap_or(u16::MAX);
        let generated = match &instruction {
            Instruction::Update { set, .. } => {
                let changed: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
                definition.generated_from(&changed)
            }
            _ => definition.generated_from(&all.clone().collect::<Vec<u16>>()),
        };
        let written: Vec<u16> = match &instruction {
            Instruction::Update { set, .. } => {
                set.iter().map(|(column, _)| *column).chain(generated.iter().copied()).collect()
            }
            _ => all.clone().collect(),
        };
        let is_of_domain = |column: &u16| definition.columns[usize::from(*column)].domain.is_some();
        let tested: Vec<u16> = written.into_iter().filter(is_of_domain).collect();
        if definition.checks.is_empty() && generated.is_empty() && tested.is_empty() {
            return Ok(instruction);
        }
        let as_it_stands = |row: RowSlot| all.clone().map(move |column| Expr::Column { row, column });
        match instruction {
            Instruction::Insert { values, given, .. } => {
                self.make_row(table, (values, &given), row, (&generated, &tested))?;
                Ok(Instruction::Insert { table, values: as_it_stands(row).collect(), row, given })
            }
            Instruction::InsertOr { values, arbiter, duplicate, given, .. } => {
                self.make_row(table, (values, &given), row, (&generated, &tested))?;
                let values = as_it_stands(row).collect();
                Ok(Instruction::InsertOr { table, values, row, arbiter, duplicate, given })
            }
            Instruction::Update { set, .. } => {
                let made = self.code.new_row()?;
                let mut values: Vec<Expr> = as_it_stands(row).collect();
                let mut changed: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
                let given = Given::from(changed.as_slice());
                for (column, value) in set {
                    values[usize::from(column)] = value;
                }
                changed.extend(&generated);
                changed.sort_unstable();
                changed.dedup();
                self.make_row(table, (values, &given), made, (&generated, &tested))?;
                let set = changed.into_iter().map(|column| (column, Expr::Column { row: made, column }));
                Ok(Instruction::Update { table, row, set: set.collect() })
            }
            other => Ok(other),
        }
    }

    /// Builds a row, and fails unless it satisfies the constraints. `generated`: columns that are computed.
    /// `tested`: columns of domains that get a value.
    fn make_row(
        &mut self,
        table: TableIndex,
        (mut values, given): (Vec<Expr>, &Given),
        row: RowSlot,
        (generated, tested): (&[u16], &[u16]),
    ) -> Result<()> {
        if !generated.is_empty() {
            let draft = self.draft_of(table, row)?;
            for column in generated {
                values[usize::from(*column)] = Expr::Const(Value::Null);
            }
            let columns = 0..u16::try_from(values.len()).unwrap_or(u16::MAX);
            let given = Given::default();
            self.code.push(Instruction::MakeRow { table, values, row: draft.row, is_partial: true, given });
            values = columns.map(|column| Expr::Column { row: draft.row, column }).collect();
            for (column, value) in draft.computed.iter().filter(|(column, _)| generated.contains(column)) {
                values[usize::from(*column)] = value.clone();
            }
        }
        let given = Given::clone(given);
        self.code.push(Instruction::MakeRow { table, values, row, is_partial: false, given: given.clone() });
        self.test_columns(table, row, tested)?;
        self.test_row(table, row, Some(given), None)
    }

    /// Fails unless the row in a slot satisfies the constraints, or the one of this name. `given`: what the
    /// statement gives of a new row. `None`: the row is in the table already.
    pub(crate) fn test_row(
        &mut self,
        table: TableIndex,
        row: RowSlot,
        given: Option<Given>,
        only: Option<&str>,
    ) -> Result<()> {
        for (constraint, condition) in self.bound_checks(table, row)?.iter() {
            if only.is_some_and(|only| only != constraint) {
                continue;
            }
            let fulfilled = self.code.label();
            // An unknown result is not a violation.
            self.code.jump_unless(Expr::Not(Box::new(condition.clone())), fulfilled);
            let constraint = constraint.clone();
            let (is_stored, given) = (given.is_none(), given.clone().unwrap_or_default());
            self.code.push(Instruction::RefuseRow { table, row, constraint, is_stored, given });
            self.code.place(fulfilled);
        }
        Ok(())
    }

    fn bound_checks(&mut self, table: TableIndex, row: RowSlot) -> Result<NamedConditions> {
        if let Some((_, known)) = self.checks.iter().find(|(of, _)| *of == (table, row)) {
            return Ok(Arc::clone(known));
        }
        let (definition, named) = (self.code.definition(table), self.code.table_of(table));
        let mut bound = Vec::with_capacity(definition.checks.len());
        for check in &definition.checks {
            let parsed = parse_expression(&check.expression)?;
            let condition = self.binder.of_kept(|binder| binder.check_condition(&named, row, &parsed));
            let condition = condition.map_err(Error::without_position)?;
            bound.push((check.name.clone(), condition));
        }
        bound.sort_by(|(one, _), (other, _)| one.cmp(other));
        let bound: NamedConditions = bound.into();
        self.checks.push(((table, row), Arc::clone(&bound)));
        Ok(bound)
    }
}
