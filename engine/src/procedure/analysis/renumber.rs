//! Moves the code of a procedure into that of another: its slots get other numbers.
//!
//! The match has no wildcard arm: the slots of a new instruction must be given here before it compiles.

use crate::procedure::ir::{
    CalleeIndex, Expr, Instruction, JoinStep, JoinedParts, Register, RowSlot, SpoolSlot, TableIndex,
};

/// What is added to the numbers of slots, and what becomes of those that are looked up.
pub(super) struct Renumbering<'r> {
    pub(super) registers: Register,
    pub(super) rows: RowSlot,
    pub(super) cursors: u16,
    pub(super) joins: u16,
    pub(super) stages: u16,
    pub(super) callees: CalleeIndex,
    pub(super) tables: &'r [TableIndex],
    pub(super) spools: &'r [SpoolSlot],
}

impl Renumbering<'_> {
    fn table(&self, table: &mut TableIndex) {
        *table = self.tables.get(usize::from(*table)).copied().unwrap_or(*table);
    }

    fn spool(&self, spool: &mut SpoolSlot) {
        *spool = self.spools.get(usize::from(*spool)).copied().unwrap_or(*spool);
    }

    fn register(&self, register: &mut Register) {
        *register += self.registers;
    }

    fn row(&self, row: &mut RowSlot) {
        *row += self.rows;
    }

    fn expr(&self, expr: &mut Expr) {
        match expr {
            Expr::Register(register) => self.register(register),
            Expr::Column { row, .. } => self.row(row),
            Expr::Routine { callee, .. } => *callee += self.callees,
            _ => {}
        }
        expr.for_each_part_mut(&mut |part| self.expr(part));
    }

    fn parts(&self, parts: &mut JoinedParts) {
        if let Some((table, row)) = &mut parts.row {
            self.table(table);
            self.row(row);
        }
        self.register(&mut parts.into);
    }

    fn join_step(&self, step: &mut JoinStep) {
        match step {
            JoinStep::Keep { parts, .. } | JoinStep::ProbeOnly { parts, .. } => self.parts(parts),
            JoinStep::Probe { position, parts, .. } | JoinStep::NextUnjoined { position, parts, .. } => {
                self.register(position);
                self.parts(parts);
            }
            JoinStep::Note { position } => self.register(position),
            JoinStep::Open | JoinStep::KeepNew { .. } | JoinStep::Forget => {}
        }
    }

    /// Gives an instruction the new numbers.
    pub(super) fn apply(&self, instruction: &mut Instruction) {
        instruction.for_each_expr_mut(&mut |expr| self.expr(expr));
        match instruction {
            Instruction::ReadPoint { table, row, .. }
            | Instruction::ReadKey { table, row, .. }
            | Instruction::LockAgain { table, row, .. }
            | Instruction::MakeRow { table, row, .. }
            | Instruction::Insert { table, row, .. }
            | Instruction::InsertBlind { table, row, .. }
            | Instruction::InsertOr { table, row, .. }
            | Instruction::Update { table, row, .. }
            | Instruction::Delete { table, row }
            | Instruction::SkipUnlessTwin { table, row, .. }
            | Instruction::RefuseTwin { table, row, .. }
            | Instruction::RefuseRow { table, row, .. }
            | Instruction::AbsentRow { table, row } => {
                self.table(table);
                self.row(row);
            }
            Instruction::RowKey { row, into } => {
                self.row(row);
                self.register(into);
            }
            Instruction::LookAhead { variable, last, reads } => {
                self.register(variable);
                self.register(last);
                reads.iter_mut().for_each(|(table, _)| self.table(table));
            }
            Instruction::OpenScan { cursor, table, .. } => {
                *cursor += self.cursors;
                self.table(table);
            }
            Instruction::NextRow { cursor, row, .. } => {
                *cursor += self.cursors;
                self.row(row);
            }
            Instruction::LockRow { table, row, cursor, .. } => {
                self.table(table);
                self.row(row);
                cursor.iter_mut().for_each(|cursor| *cursor += self.cursors);
            }
            Instruction::NoteWritten { spool, row }
            | Instruction::RefuseWritten { spool, row }
            | Instruction::SkipWritten { spool, row, .. } => {
                self.spool(spool);
                self.row(row);
            }
            other => self.apply_to_kept(other),
        }
    }

    /// The same for one that keeps rows in spools, joins and stages, for calls and for loops.
    fn apply_to_kept(&self, instruction: &mut Instruction) {
        match instruction {
            Instruction::EmitSpooled { spool, .. }
            | Instruction::OpenSpool { spool }
            | Instruction::Spool { spool, .. }
            | Instruction::ReadCatalog { spool, .. } => self.spool(spool),
            Instruction::NextSpooled { spool, into, .. } => {
                self.spool(spool);
                self.register(into);
            }
            Instruction::ReadSpool { spool, position, into, .. } => {
                self.spool(spool);
                self.register(position);
                self.register(into);
            }
            Instruction::Join { join, step } => {
                *join += self.joins;
                self.join_step(step);
            }
            Instruction::OpenStage { stage } | Instruction::FeedStage { stage, .. } => *stage += self.stages,
            Instruction::FinishStage { stage, spool } => {
                *stage += self.stages;
                self.spool(spool);
            }
            Instruction::Call { callee, into, rows, lent, .. } => {
                *callee += self.callees;
                into.iter_mut().for_each(|register| self.register(register));
                rows.iter_mut().chain(lent).for_each(|spool| self.spool(spool));
            }
            Instruction::ForNext { counter, last, variable, .. } => {
                [counter, last, variable].into_iter().for_each(|register| self.register(register));
            }
            Instruction::ForStep { counter, step, .. } => {
                [counter, step].into_iter().for_each(|register| self.register(register));
            }
            other => self.apply_to_values(other),
        }
    }

    /// The same for all others.
    fn apply_to_values(&self, instruction: &mut Instruction) {
        match instruction {
            Instruction::Evaluate { into, .. } | Instruction::ErrorField { into, .. } => self.register(into),
            Instruction::TakeCount { found, count } => {
                found.iter_mut().chain(count).for_each(|register| self.register(register));
            }
            Instruction::SetElement { array, .. } => self.register(array),
            // Of these the functions above know.
            Instruction::EmitSpooled { .. }
            | Instruction::OpenSpool { .. }
            | Instruction::Spool { .. }
            | Instruction::ReadCatalog { .. }
            | Instruction::NextSpooled { .. }
            | Instruction::ReadSpool { .. }
            | Instruction::Join { .. }
            | Instruction::OpenStage { .. }
            | Instruction::FeedStage { .. }
            | Instruction::FinishStage { .. }
            | Instruction::Call { .. }
            | Instruction::ForNext { .. }
            | Instruction::ForStep { .. } => {}
            Instruction::ReadPoint { .. }
            | Instruction::ReadKey { .. }
            | Instruction::LockAgain { .. }
            | Instruction::MakeRow { .. }
            | Instruction::Insert { .. }
            | Instruction::InsertBlind { .. }
            | Instruction::InsertOr { .. }
            | Instruction::Update { .. }
            | Instruction::Delete { .. }
            | Instruction::SkipUnlessTwin { .. }
            | Instruction::RefuseTwin { .. }
            | Instruction::RefuseRow { .. }
            | Instruction::AbsentRow { .. }
            | Instruction::RowKey { .. }
            | Instruction::LookAhead { .. }
            | Instruction::OpenScan { .. }
            | Instruction::NextRow { .. }
            | Instruction::LockRow { .. }
            | Instruction::NoteWritten { .. }
            | Instruction::RefuseWritten { .. }
            | Instruction::SkipWritten { .. } => {}
            // What has these is not moved.
            Instruction::Dynamic(_)
            | Instruction::Cursor(_)
            | Instruction::EndTransaction { .. }
            | Instruction::Put { .. }
            | Instruction::Take { .. } => {}
            Instruction::Jump { .. }
            | Instruction::JumpUnless { .. }
            | Instruction::BeginStatement
            | Instruction::ResetCount
            | Instruction::Emit { .. }
            | Instruction::CountRow
            | Instruction::Raise { .. }
            | Instruction::Defer { .. }
            | Instruction::RaiseViolation(_)
            | Instruction::Report(_)
            | Instruction::EnterBlock { .. }
            | Instruction::LeaveBlock
            | Instruction::MatchError { .. }
            | Instruction::Rethrow
            | Instruction::ForgetError
            | Instruction::Trap { .. }
            | Instruction::Return => {}
        }
    }
}
