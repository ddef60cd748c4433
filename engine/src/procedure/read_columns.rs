//! Which columns of a row a procedure reads.

use super::ir::{Expr, Instruction, Procedure, TableIndex};
use crate::storage::row::Leading;

/// What is read of the rows in one slot.
#[derive(Clone, Default)]
struct SlotUse {
    is_whole: bool,
    /// The table whose rows are read into it by their keys.
    table: Option<TableIndex>,
    last: u16,
}

impl SlotUse {
    fn fill(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::ReadPoint { table, .. } | Instruction::ReadKey { table, .. } => {
                self.is_whole |= self.table.is_some_and(|other| other != *table);
                self.table = Some(*table);
            }
            _ => self.is_whole = true,
        }
    }
}

impl Procedure {
    /// Notes what is read of the rows in each slot, so that no more of them is copied. All of a row that is
    /// changed, compared or kept, and of one that a scan finds, which may have to look at more columns.
    pub fn note_leading(&mut self) {
        let mut uses = vec![SlotUse::default(); usize::from(self.rows)];
        for instruction in &self.code {
            let effects = instruction.effects();
            for slot in effects.row_read.into_iter().chain(effects.row_changed) {
                uses[usize::from(slot)].is_whole = true;
            }
            if let Some(slot) = effects.row_filled {
                uses[usize::from(slot)].fill(instruction);
            }
            instruction.for_each_expr(&mut |expr| note_columns(expr, &mut uses));
        }
        let leading = |slot: SlotUse| match slot.table.filter(|_| !slot.is_whole) {
            // One that nothing is read of is looked for, and that is all.
            Some(table) => self.table(table).layout.leading(slot.last),
            None => Leading::WHOLE,
        };
        self.leading = uses.into_iter().map(leading).collect();
    }
}

/// Notes the columns that an expression reads.
fn note_columns(expr: &Expr, uses: &mut [SlotUse]) {
    if let Expr::Column { row, column } = expr {
        let last = &mut uses[usize::from(*row)].last;
        *last = (*last).max(*column);
    }
    expr.for_each_part(&mut |part| note_columns(part, uses));
}
