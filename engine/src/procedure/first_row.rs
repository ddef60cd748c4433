//! The row that a procedure makes first, made elsewhere.
//!
//! The procedure that inserts a row of COPY usually begins with the instruction that makes the row, from
//! parameters and constants. Then the bytes of the row depend on nothing else, and a helper can make them
//! ([`FirstRow`]). The frame gets these bytes instead of the parameters ([`Frame::offer_row`]).

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::Value;

use super::frame::Frame;
use super::ir::{Expr, Instruction, Procedure, RowSlot, TableReference};

/// What the first instruction of a procedure makes a row of.
pub struct FirstRow<'p> {
    reference: &'p TableReference,
    values: &'p [Expr],
    slot: RowSlot,
    checks_nulls: bool,
}

impl Procedure {
    /// The row that the first instruction makes. `None` if it makes none, if that depends on more than
    /// parameters and constants, or if another instruction reads a parameter.
    pub fn first_row(&self) -> Option<FirstRow<'_>> {
        let (table, values, slot, checks_nulls) = match self.code.first()? {
            Instruction::Insert { table, values, row, .. } => (*table, values, *row, true),
            Instruction::MakeRow { table, values, row, is_partial, .. } => {
                (*table, values, *row, !is_partial)
            }
            _ => return None,
        };
        let is_given = |value: &Expr| matches!(value, Expr::Register(_) | Expr::Const(_));
        let (reads, _) = self.register_uses_from(1);
        if !values.iter().all(is_given) || reads.iter().take(self.parameters.len()).any(|reads| *reads) {
            return None;
        }
        Some(FirstRow { reference: self.table(table), values, slot, checks_nulls })
    }
}

impl FirstRow<'_> {
    /// Where the frame of a run keeps the row.
    pub fn slot(&self) -> RowSlot {
        self.slot
    }

    /// Appends the row of these parameters. Returns false, and appends a row all the same, if it has a NULL
    /// that its table does not take.
    ///
    /// # Errors
    /// The user's, for a value that its column cannot hold. What has been appended is no row then.
    pub fn append(&self, parameters: &[Value], out: &mut Vec<u8>) -> Result<bool> {
        let mut is_taken = true;
        let mut writer = self.reference.layout.writer(out);
        for (expr, column) in self.values.iter().zip(&self.reference.definition.columns) {
            let value = match expr {
                Expr::Const(value) => Some(value),
                Expr::Register(register) => parameters.get(usize::from(*register)),
                _ => None,
            };
            match value {
                Some(Value::Integer(number)) if writer.integer(*number) => {}
                Some(value) => {
                    is_taken &= !(value.is_null() && self.checks_nulls && !column.is_nullable);
                    writer.value(value);
                }
                None => return Err(Error::input(sqlstate::INTERNAL_ERROR, "a row lacks a parameter")),
            }
        }
        writer.finish().map(|()| is_taken)
    }
}

impl Frame {
    /// At the start of a procedure that has a [`FirstRow`]: runs it with this row, in that one's slot,
    /// instead of the row that it would make of its parameters. Holds until the frame is reset or switched.
    pub fn offer_row(&mut self, slot: RowSlot, row: &[u8]) {
        debug_assert!(self.procedure.first_row().is_some_and(|first| first.slot == slot));
        let bytes = &mut self.rows[usize::from(slot)].bytes;
        bytes.clear();
        bytes.extend_from_slice(row);
        self.has_offered_row = true;
    }
}
