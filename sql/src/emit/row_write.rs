//! Writing a row: the instruction itself, and all that constraints and triggers add to it.
//!
//! ```text
//! triggers before the row       they may change the new row, or make the statement skip it (`triggers`)
//! generated columns, CHECK      computed and tested on the new row (`check`)
//! the instruction
//! keys checked later            (`deferred_unique`)
//! foreign keys                  (`foreign_key`)
//! triggers after the row        queued until the statement is done
//! ```
//!
//! That is PostgreSQL's order. Triggers of constraints come before others there, because of their names.

use hyades_engine::procedure::ir::{Instruction, Label};
use hyades_types::definition::TriggerEvent;
use hyades_types::error::Result;

use super::Compiler;
use super::trigger_call::Rows;
use super::triggers::{stored_row, with_generated};

impl Compiler<'_> {
    /// Emits an instruction that changes a row, with all that belongs to it. Jumps to `skip` if a trigger
    /// makes the statement skip the row.
    pub(crate) fn write(&mut self, instruction: Instruction, skip: Label) -> Result<()> {
        let set = self.updated_columns(&instruction);
        let instruction = self.before_row(instruction, &set, skip)?;
        self.write_made(instruction, &set)
    }

    /// The columns that an UPDATE sets, for UPDATE OF: those of the statement, and what is computed from
    /// them.
    fn updated_columns(&self, instruction: &Instruction) -> Vec<u16> {
        let Instruction::Update { table, set, .. } = instruction else { return Vec::new() };
        let set: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
        with_generated(&self.code.definition(*table), &set)
    }

    /// The same for a row that the triggers before it have seen. `set`: the columns that an UPDATE sets, for
    /// UPDATE OF.
    pub(super) fn write_made(&mut self, instruction: Instruction, set: &[u16]) -> Result<()> {
        let instruction = self.checked(instruction)?;
        match &instruction {
            Instruction::Insert { table, row, .. } | Instruction::InsertOr { table, row, .. } => {
                let (table, row) = (*table, *row);
                if let Instruction::InsertOr { arbiter, .. } = &instruction {
                    self.refuse_arbiter(table, *arbiter);
                }
                self.code.push(instruction);
                self.check_twins(table, row, None)?;
                self.check_parents(table, row, None)?;
                let new = stored_row(&self.code.definition(table), row);
                self.after_row((table, TriggerEvent::Insert, set), &Rows { old: Vec::new(), new })
            }
            Instruction::Update { table, row, set: written } => {
                let (table, row) = (*table, *row);
                let changed: Vec<u16> = written.iter().map(|(column, _)| *column).collect();
                let references = self.references_to(table);
                let old = self.old_values(table, row, &changed, &references)?;
                let kept = self.kept_for_triggers(table, row, set)?;
                self.code.push(instruction);
                self.check_twins(table, row, Some((&changed, &old)))?;
                self.check_moved(table, row, (&changed, &old), &references)?;
                self.check_parents(table, row, Some((&changed, &old)))?;
                let new = stored_row(&self.code.definition(table), row);
                self.after_row((table, TriggerEvent::Update, set), &Rows { old: kept, new })
            }
            Instruction::Delete { table, row } => {
                let (table, row) = (*table, *row);
                self.code.push(instruction);
                self.check_removed(table, row)?;
                let old = stored_row(&self.code.definition(table), row);
                self.after_row((table, TriggerEvent::Delete, set), &Rows { old, new: Vec::new() })
            }
            _ => {
                self.code.push(instruction);
                Ok(())
            }
        }
    }
}
