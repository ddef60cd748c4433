//! Assembles a procedure: instructions with labels that are placed later, tables, slots.

use std::sync::Arc;

use hyades_engine::catalog::{TableDefinition, TableId};
use hyades_engine::error::{Error, Result, sqlstate};
use hyades_engine::procedure::ir::{
    CursorSlot, Expr, Instruction, Label, Procedure, Register, Replayability, RowSlot, TableIndex,
    TableReference,
};
use hyades_engine::storage::table::Table;
use hyades_engine::value::SqlType;

/// A procedure under construction. Labels in instructions are numbers into `labels` until [`Code::finish`].
#[derive(Default)]
pub(crate) struct Code {
    instructions: Vec<Instruction>,
    labels: Vec<Label>,
    tables: Vec<TableReference>,
    rows: u16,
    cursors: u16,
    /// Row slots for rows of which only the existence matters, shared by all checks of a table.
    check_rows: Vec<(TableIndex, RowSlot)>,
}

/// A label that stands nowhere yet.
const UNPLACED: Label = Label::MAX;

fn too_large() -> Error {
    Error::input(sqlstate::STATEMENT_TOO_COMPLEX, "the statement is too large")
}

impl Code {
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(UNPLACED);
        Label::try_from(self.labels.len() - 1).unwrap_or(UNPLACED)
    }

    /// The label stands before the next instruction.
    pub(crate) fn place(&mut self, label: Label) {
        self.labels[label as usize] = Label::try_from(self.instructions.len()).unwrap_or(UNPLACED);
    }

    pub(crate) fn push(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
    }

    pub(crate) fn evaluate(&mut self, into: Register, expr: Expr) {
        self.push(Instruction::Evaluate { expr, into });
    }

    pub(crate) fn jump(&mut self, to: Label) {
        self.push(Instruction::Jump { to });
    }

    pub(crate) fn jump_unless(&mut self, condition: Expr, to: Label) {
        self.push(Instruction::JumpUnless { condition, to });
    }

    pub(crate) fn new_row(&mut self) -> Result<RowSlot> {
        self.rows = self.rows.checked_add(1).ok_or_else(too_large)?;
        Ok(self.rows - 1)
    }

    pub(crate) fn new_cursor(&mut self) -> Result<CursorSlot> {
        self.cursors = self.cursors.checked_add(1).ok_or_else(too_large)?;
        Ok(self.cursors - 1)
    }

    pub(crate) fn table(&mut self, table: &Arc<Table>) -> Result<TableIndex> {
        let known = self.tables.iter().position(|reference| Arc::ptr_eq(&reference.table, table));
        let index = known.unwrap_or_else(|| {
            self.tables.push(TableReference::new(Arc::clone(table)));
            self.tables.len() - 1
        });
        TableIndex::try_from(index).map_err(|_| too_large())
    }

    /// The definition that the procedure is compiled against.
    pub(crate) fn definition(&self, table: TableIndex) -> Arc<TableDefinition> {
        Arc::clone(&self.tables[usize::from(table)].definition)
    }

    pub(crate) fn table_id(&self, table: TableIndex) -> TableId {
        self.tables[usize::from(table)].table.id()
    }

    /// What must be known of the table is not visible yet: the procedure is to wait for the table and be compiled again.
    pub(crate) fn make_stale(&mut self, table: TableIndex) {
        self.tables[usize::from(table)].version = u64::MAX;
    }

    /// A row slot that nobody reads.
    pub(crate) fn check_row(&mut self, table: TableIndex) -> Result<RowSlot> {
        if let Some((_, row)) = self.check_rows.iter().find(|(known, _)| *known == table) {
            return Ok(*row);
        }
        let row = self.new_row()?;
        self.check_rows.push((table, row));
        Ok(row)
    }

    /// The finished procedure. All labels must stand somewhere.
    pub(crate) fn finish(
        mut self,
        name: &str,
        parameters: Vec<SqlType>,
        registers: u16,
        output: Vec<SqlType>,
    ) -> Result<Arc<Procedure>> {
        for instruction in &mut self.instructions {
            if let Some(label) = label_of(instruction) {
                *label = self.labels[*label as usize];
                if *label == UNPLACED {
                    return Err(Error::input(sqlstate::INTERNAL_ERROR, "a jump leads nowhere"));
                }
            }
        }
        Ok(Arc::new(Procedure {
            name: name.to_owned(),
            parameters,
            registers,
            rows: self.rows,
            cursors: self.cursors,
            tables: self.tables,
            code: self.instructions,
            output,
            replay: Replayability::default(),
        }))
    }
}

fn label_of(instruction: &mut Instruction) -> Option<&mut Label> {
    match instruction {
        Instruction::Jump { to } | Instruction::JumpUnless { to, .. } => Some(to),
        Instruction::ReadPoint { absent, .. } => Some(absent),
        Instruction::NextRow { end, .. } => Some(end),
        Instruction::InsertOr { duplicate, .. } => Some(duplicate),
        Instruction::Evaluate { .. }
        | Instruction::OpenScan { .. }
        | Instruction::Insert { .. }
        | Instruction::Update { .. }
        | Instruction::Delete { .. }
        | Instruction::Emit { .. }
        | Instruction::CountRow
        | Instruction::Raise { .. }
        | Instruction::RaiseViolation(_)
        | Instruction::Return => None,
    }
}
