//! The code of outer joins and of join tables.
//!
//! The code after an outer join is emitted once. Where a row has no match on the other side, that side
//! becomes a row of NULLs and the same code runs with it: `found` is then NULL, which determines where to
//! continue.

use hyades_engine::procedure::ir::{Expr, Instruction, JoinStep, JoinedParts, Label, Register};
use hyades_types::error::Result;
use hyades_types::value::Value;

use super::Compiler;
use super::loops::Body;
use crate::bind::tree::Source;
use crate::plan::access::{Kept, Reading};
use crate::plan::level::{FullJoin, LeftJoin, Level, Step, first_level, for_each_level};

pub(super) fn truth(truth: bool) -> Expr {
    Expr::Const(Value::Boolean(truth))
}

pub(super) fn is_null(register: Register) -> Expr {
    Expr::IsNull(Box::new(Expr::Register(register)))
}

pub(super) fn not(condition: Expr) -> Expr {
    Expr::Not(Box::new(condition))
}

impl Compiler<'_> {
    /// Fills the join tables.
    pub(super) fn build_joins(&mut self, steps: &[Step]) -> Result<()> {
        let mut levels = Vec::new();
        for_each_level(steps, &mut |level| levels.extend(level.kept().map(|kept| (level, kept))));
        levels.into_iter().try_for_each(|(level, kept)| match &kept.reading {
            Reading::EachTime => self.build_join(level, kept),
            Reading::Once(mark) => {
                let is_there = self.code.label();
                self.code.jump_unless(is_null(*mark), is_there);
                self.build_join(level, kept)?;
                self.code.evaluate(*mark, truth(true));
                self.code.place(is_there);
                Ok(())
            }
            Reading::SecondTime(..) => Ok(()),
        })
    }

    pub(super) fn build_join(&mut self, level: &Level, kept: &Kept) -> Result<()> {
        let parts = self.parts_of(level)?;
        let reading = Level { choice: kept.build.clone(), ..level.clone() };
        self.code.push(Instruction::Join { join: kept.join, step: JoinStep::Open });
        let end = self.code.label();
        self.level(&reading, end, &mut |compiler, _| {
            let key = kept.key.clone();
            let step = JoinStep::Keep { key, parts };
            compiler.code.push(Instruction::Join { join: kept.join, step });
            Ok(())
        })?;
        self.code.place(end);
        Ok(())
    }

    /// The parts of a relation's row that are kept.
    fn parts_of(&mut self, level: &Level) -> Result<JoinedParts> {
        let registers = level.source.registers();
        let row = match &level.source {
            Source::Table { table, row, .. } => Some((self.code.table(table)?, *row)),
            _ => None,
        };
        Ok(JoinedParts {
            row,
            is_changed: false,
            into: registers.first().copied().unwrap_or_default(),
            width: u16::try_from(registers.len()).unwrap_or(u16::MAX),
        })
    }

    /// The loop over the rows of a join table that match a key. If at most one row can match, it is not a
    /// loop.
    pub(super) fn probe(
        &mut self,
        level: &Level,
        kept: &Kept,
        end: Label,
        inner: &mut Body<'_>,
    ) -> Result<()> {
        if kept.is_unique {
            let (parts, key) = (self.parts_of(level)?, kept.probe.clone());
            let step = JoinStep::ProbeOnly { key, parts, end };
            self.code.push(Instruction::Join { join: kept.join, step });
            self.check(&level.choice.filter, end);
            return inner(self, end);
        }
        let position = self.binder.new_register()?;
        let again = self.probing(level, kept, position, end)?;
        inner(self, again)?;
        self.code.jump(again);
        Ok(())
    }

    /// Everything up to the inside of that loop. Returns the label that leads to the next row.
    pub(super) fn probing(
        &mut self,
        level: &Level,
        kept: &Kept,
        position: Register,
        end: Label,
    ) -> Result<Label> {
        let (parts, again) = (self.parts_of(level)?, self.code.label());
        self.code.evaluate(position, Expr::Const(Value::Null));
        self.code.place(again);
        let key = kept.probe.clone();
        let step = JoinStep::Probe { key, position, parts, end };
        self.code.push(Instruction::Join { join: kept.join, step });
        self.check(&level.choice.filter, again);
        Ok(again)
    }

    /// Replaces the rows of these steps by rows of NULLs.
    fn make_absent(&mut self, steps: &[Step]) -> Result<()> {
        let mut sources = Vec::new();
        for_each_level(steps, &mut |level| sources.push(&level.source));
        sources.into_iter().try_for_each(|source| self.make_source_absent(source))
    }

    fn make_source_absent(&mut self, source: &Source) -> Result<()> {
        if let Source::Table { table, row, .. } = source {
            let table = self.code.table(table)?;
            self.code.push(Instruction::AbsentRow { table, row: *row });
        }
        for register in source.registers() {
            self.code.evaluate(*register, Expr::Const(Value::Null));
        }
        Ok(())
    }

    pub(super) fn left_join(&mut self, join: &LeftJoin, body: &mut Body<'_>) -> Result<()> {
        let found = self.binder.new_register()?;
        let (none, with_row, end) = (self.code.label(), self.code.label(), self.code.label());
        self.code.evaluate(found, truth(false));
        self.check(&join.gate, none);
        self.nest(&join.steps, none, &mut |compiler, _| {
            compiler.code.evaluate(found, truth(true));
            compiler.code.place(with_row);
            let over = compiler.code.label();
            compiler.check(&join.after, over);
            compiler.count_joined(first_level(&join.steps))?;
            body(compiler, over)?;
            compiler.code.place(over);
            compiler.code.jump_unless(not(is_null(found)), end);
            Ok(())
        })?;
        self.code.place(none);
        self.code.jump_unless(not(Expr::Register(found)), end);
        self.code.evaluate(found, Expr::Const(Value::Null));
        self.make_absent(&join.steps)?;
        self.code.jump(with_row);
        self.code.place(end);
        Ok(())
    }

    /// Rows of the left side with their matches, then the unmatched rows of the right side.
    pub(super) fn full_join(&mut self, join: &FullJoin, body: &mut Body<'_>) -> Result<()> {
        let Some(kept) = join.right.kept() else { return Ok(()) };
        let (found, position) = (self.binder.new_register()?, self.binder.new_register()?);
        let is_left_over = self.binder.new_register()?;
        let (with_row, next_unjoined, end) = (self.code.label(), self.code.label(), self.code.label());
        self.code.push(Instruction::Join { join: kept.join, step: JoinStep::Forget });
        self.code.evaluate(is_left_over, truth(false));
        let left_over = self.code.label();
        self.nest(&join.left, left_over, &mut |compiler, next| {
            let none = compiler.code.label();
            compiler.code.evaluate(found, truth(false));
            let again = compiler.probing(&join.right, kept, position, none)?;
            compiler.code.push(Instruction::Join { join: kept.join, step: JoinStep::Note { position } });
            compiler.code.evaluate(found, truth(true));
            compiler.code.place(with_row);
            let (over, was_absent) = (compiler.code.label(), compiler.code.label());
            compiler.check(&join.after, over);
            compiler.count_joined(Some(&join.right))?;
            body(compiler, over)?;
            compiler.code.place(over);
            compiler.code.jump_unless(not(is_null(found)), was_absent);
            compiler.code.jump(again);
            compiler.code.place(was_absent);
            compiler.code.jump_unless(not(Expr::Register(is_left_over)), next_unjoined);
            compiler.code.jump(next);
            compiler.code.place(none);
            compiler.code.jump_unless(not(Expr::Register(found)), next);
            compiler.code.evaluate(found, Expr::Const(Value::Null));
            compiler.make_source_absent(&join.right.source)?;
            compiler.code.jump(with_row);
            Ok(())
        })?;
        self.code.place(left_over);
        self.code.evaluate(is_left_over, truth(true));
        self.code.evaluate(found, Expr::Const(Value::Null));
        self.code.evaluate(position, Expr::Const(Value::Null));
        self.make_absent(&join.left)?;
        self.code.place(next_unjoined);
        let parts = self.parts_of(&join.right)?;
        let step = JoinStep::NextUnjoined { position, parts, end };
        self.code.push(Instruction::Join { join: kept.join, step });
        self.code.jump(with_row);
        self.code.place(end);
        Ok(())
    }
}
