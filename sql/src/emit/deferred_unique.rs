//! UNIQUE and PRIMARY KEY constraints that can be deferred: the code that INSERT, UPDATE and ON CONFLICT
//! carry for them.
//!
//! Their index accepts a row whose values another row has, and locks the values against other transactions.
//! The instruction that writes the row is followed by what [`Compiler::check_twins`] emits:
//!
//! ```text
//! no other row can have the values   nothing to do: a change that gives them to another row finds this one
//! the constraint is deferred         the check waits for the end of the transaction (`session::deferred`)
//! else                               an event: it is made when the statement is done (`referential_events`)
//! ```
//!
//! A check identifies the row by the key under which it is stored, and looks at its state at that time: it is
//! gone, or no other row has its values, or 23505.
//!
//! Reference: unique_key_recheck of PostgreSQL's constraint.c, `UNIQUE_CHECK_PARTIAL` of nbtinsert.c,
//! ExecCheckIndexConstraints of execIndexing.c.

use hyades_engine::procedure::ir::{
    Arbiter, Expr, Instruction, Intent, RowSlot, Strength, TableIndex, Violation,
};
use hyades_types::deferred_checks::{CheckKind, DeferrableCheck};
use hyades_types::definition::{Deferral, IndexDefinition, TableDefinition};
use hyades_types::error::{Result, sqlstate};
use hyades_types::value::Value;

use super::Compiler;
use super::event_kinds::Event;
use super::foreign_key::{ColumnValues, all_same, negated, touches, value_of};

/// The indexes of a table whose constraints are checked later, with their positions.
fn checked_later(definition: &TableDefinition) -> impl Iterator<Item = (u16, &IndexDefinition)> {
    (0u16..).zip(&definition.indexes).filter(|(_, index)| index.is_checked_later())
}

impl Compiler<'_> {
    /// The row in `row`, or these columns of it, have just been written.
    pub(super) fn check_twins(
        &mut self,
        table: TableIndex,
        row: RowSlot,
        changed: Option<(&[u16], &ColumnValues)>,
    ) -> Result<()> {
        let definition = self.code.definition(table);
        let primary_key = definition.key_columns(None);
        for (number, index) in checked_later(&definition) {
            let key: Vec<u16> = index.key_columns().collect();
            let done = self.code.label();
            if let Some((columns, old)) = changed {
                // A pending check identifies the row by the key under which it was stored.
                let moves = touches(&primary_key, columns);
                if !moves && !touches(&key, columns) {
                    continue;
                }
                let pairs = key.iter().map(|&column| (Expr::Column { row, column }, value_of(old, column)));
                if !moves && let Some(is_same) = all_same(pairs) {
                    self.code.jump_unless(negated(is_same), done);
                }
            }
            self.code.push(Instruction::SkipUnlessTwin { table, row, index: number, alone: done });
            let stored = self.binder.new_register()?;
            self.code.push(Instruction::RowKey { row, into: stored });
            let check = Box::new(DeferrableCheck {
                table: self.code.table_id(table),
                constraint: index.name.clone(),
                kind: CheckKind::Twin,
                is_initially_deferred: index.deferral == Deferral::InitiallyDeferred,
            });
            let immediate = self.code.label();
            let values = vec![Expr::Register(stored)];
            self.code.push(Instruction::Defer { check, values: values.clone(), immediate });
            self.code.jump(done);
            self.code.place(immediate);
            self.queue(Event::Twin { table, index: number }, values)?;
            self.code.place(done);
        }
        Ok(())
    }

    /// Fails if the row stored under this key exists, and another one has its values.
    pub(super) fn refuse_twin(&mut self, table: TableIndex, index: u16, stored: Expr) -> Result<()> {
        let done = self.code.label();
        let row = self.code.new_row()?;
        let intent = Intent::newest(Strength::Read);
        self.code.push(Instruction::ReadKey { table, key: stored, row, intent, absent: done });
        self.code.push(Instruction::RefuseTwin { table, row, index });
        self.code.place(done);
        Ok(())
    }

    /// ON CONFLICT asks whether a row can be inserted now, which such a constraint cannot answer.
    pub(super) fn refuse_arbiter(&mut self, table: TableIndex, arbiter: Arbiter) {
        let definition = self.code.definition(table);
        let is_asked = |(number, _): &(u16, &IndexDefinition)| match arbiter {
            Arbiter::Any => true,
            Arbiter::Index(asked) => asked == Some(*number),
        };
        let Some((_, index)) = checked_later(&definition).find(is_asked) else { return };
        self.code.push(Instruction::RaiseViolation(Box::new(Violation {
            state: sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE.0,
            message: "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as \
                      arbiters"
                .to_owned(),
            detail: Expr::Const(Value::Null),
            hidden: None,
            table: definition.name.clone(),
            constraint: index.name.clone(),
        })));
    }
}
