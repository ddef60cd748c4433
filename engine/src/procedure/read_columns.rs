//! Which columns of a row a procedure reads.

use super::ir::{Expr, Instruction, Procedure, RowSlot};
use crate::storage::row::Leading;

impl Procedure {
    /// Notes what is read of the rows in each slot, so that no more of them is copied. All of a row that is
    /// changed, compared or kept, and of one that a scan finds, which may have to look at more columns.
    pub fn note_leading(&mut self) {
        self.leading = (0..self.rows).map(|slot| self.find_leading(slot)).collect();
    }

    fn find_leading(&self, slot: RowSlot) -> Leading {
        let (mut tables, mut last) = (Vec::new(), None);
        for instruction in &self.code {
            let effects = instruction.effects();
            if effects.row_read == Some(slot) || effects.row_changed == Some(slot) {
                return Leading::WHOLE;
            }
            if effects.row_filled == Some(slot) {
                match instruction {
                    Instruction::ReadPoint { table, .. } | Instruction::ReadKey { table, .. } => {
                        tables.push(*table);
                    }
                    _ => return Leading::WHOLE,
                }
            }
            instruction.for_each_expr(&mut |expr| last = last.max(last_column(expr, slot)));
        }
        // One that nothing is read of is looked for, and that is all.
        let leading = |table| self.table(table).layout.leading(last.unwrap_or(0));
        match tables.split_first() {
            Some((first, rest)) if rest.iter().all(|table| table == first) => leading(*first),
            _ => Leading::WHOLE,
        }
    }
}

/// The last column of the slot's row that an expression reads.
fn last_column(expr: &Expr, slot: RowSlot) -> Option<u16> {
    let mut last = match expr {
        Expr::Column { row, column } if *row == slot => Some(*column),
        _ => None,
    };
    expr.for_each_part(&mut |part| last = last.max(last_column(part, slot)));
    last
}
