//! The code of recursive queries: the first rows, a step, and the readers of the rows.

use hyades_engine::procedure::ir::{Expr, Instruction, JoinStep, Label, Register, SpoolSlot};
use hyades_types::error::Result;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::Value;

use super::Compiler;
use super::loops::Body;
use super::row_sink::Sink;
use crate::bind::tree::{Branch, Recursion, WorkingTable};
use crate::plan::level::Level;

fn is_less(left: Register, right: Register) -> Expr {
    let register = |register| Box::new(Expr::Register(register));
    Expr::Binary { operator: BinaryOperator::Less, left: register(left), right: register(right) }
}

impl Compiler<'_> {
    /// The rows of the side that does not refer to itself.
    pub(super) fn first_rows(
        &mut self,
        branch: Branch,
        recursion: Recursion,
    ) -> Result<(Register, Option<SpoolSlot>)> {
        let Recursion { working, count, is_finished, seen } = recursion;
        self.code.push(Instruction::OpenSpool { spool: working.spool });
        if let Some(join) = seen {
            self.code.push(Instruction::Join { join, step: JoinStep::Open });
        }
        self.code.evaluate(count, Expr::Const(Value::BigInt(0)));
        self.code.evaluate(working.from, Expr::Const(Value::BigInt(0)));
        self.code.evaluate(is_finished, Expr::Const(Value::Boolean(false)));
        self.sink = Sink::Recursive(recursion);
        self.branch(branch)?;
        Ok((count, Some(working.spool)))
    }

    /// The rows that the other side makes of those added last.
    pub(super) fn more_rows(
        &mut self,
        branch: Branch,
        recursion: Recursion,
    ) -> Result<(Register, Option<SpoolSlot>)> {
        let Recursion { working, count, is_finished, .. } = recursion;
        self.code.evaluate(working.to, Expr::Register(count));
        self.sink = Sink::Recursive(recursion);
        self.branch(branch)?;
        self.code.evaluate(working.from, Expr::Register(working.to));
        let is_more = Box::new(is_less(working.from, count));
        self.code.evaluate(is_finished, Expr::Not(is_more));
        Ok((count, None))
    }

    /// At the end of the rows that a reader has: continues if a step adds some.
    pub(super) fn step(&mut self, step: u16, recursion: &Recursion, again: Label, end: Label) {
        let is_unfinished = Expr::Not(Box::new(Expr::Register(recursion.is_finished)));
        self.code.jump_unless(is_unfinished, end);
        self.code.place_step(step);
        self.code.jump(again);
    }

    /// The loop over the rows added last.
    pub(super) fn working_rows(
        &mut self,
        (working, registers): (&WorkingTable, &[Register]),
        level: &Level,
        end: Label,
        inner: &mut Body<'_>,
    ) -> Result<()> {
        let (position, again) = (self.binder.new_register()?, self.code.label());
        self.code.evaluate(position, Expr::Register(working.from));
        self.code.place(again);
        self.code.jump_unless(is_less(position, working.to), end);
        let into = registers.first().copied().unwrap_or_default();
        let width = u16::try_from(registers.len()).unwrap_or(u16::MAX);
        self.code.push(Instruction::ReadSpool { spool: working.spool, position, into, width, end });
        self.filter(level, again)?;
        inner(self, again)?;
        self.code.jump(again);
        Ok(())
    }
}
