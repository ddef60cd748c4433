//! UPDATE and DELETE that find all their rows before they change the first.
//!
//! An UPDATE that changes the primary key while it scans, or the columns of the index it uses, would meet the
//! rows it has moved ahead of itself (the Halloween problem). FROM and USING may find a row several times,
//! which is changed only once. A subquery that runs for each row must not see the rows changed before. So the
//! first part of the procedure keeps the rows to be changed in a join table, with everything that is needed
//! from the other relations and with the new values. The second part locks and changes them one by one. A
//! transaction that reads at a snapshot may find a row changed meanwhile. Then WHERE is evaluated again, on
//! the new row next to the same rows of the others.

use hyades_engine::procedure::ir::{
    Expr, Instruction, Intent, JoinStep, JoinedParts, Label, Register, TableIndex,
};
use hyades_types::error::Result;
use hyades_types::value::Value;

use super::change::{Change, Changed};
use super::select::{described, is_single};
use super::{CompiledQuery, Compiler};
use crate::expr;

/// What is kept with a row, in consecutive registers: the new values, then values of the other relations.
struct Carried {
    first: Register,
    values: Vec<Expr>,
}

impl Carried {
    fn register(&self, at: usize) -> Register {
        self.first + Register::try_from(at).unwrap_or_default()
    }

    fn width(&self) -> u16 {
        u16::try_from(self.values.len()).unwrap_or(u16::MAX)
    }

    /// The expression as the second part of the procedure evaluates it.
    fn replaced(&self, mut expr: Expr, new_values: usize) -> Expr {
        expr::replace(&mut expr, &mut |part| {
            let at = self.values[new_values..].iter().position(|value| value == part)?;
            Some(Expr::Register(self.register(new_values + at)))
        });
        expr
    }
}

impl Compiler<'_> {
    pub(super) fn collect_then_change(&mut self, changed: Changed, change: Change) -> Result<CompiledQuery> {
        self.prepare_subqueries()?;
        let explain = self.explain_change(&changed, &change);
        if let Some(outputs) = &changed.outputs {
            self.describe(described(outputs), is_single(&changed.steps))?;
        }
        let carried = self.carried(&changed, &change)?;
        let table = self.code.table(&changed.table)?;
        let parts = JoinedParts {
            row: Some((table, changed.row)),
            is_changed: true,
            into: carried.first,
            width: carried.width(),
        };
        let join = self.code.new_join()?;
        self.code.push(Instruction::Join { join, step: JoinStep::Open });
        let end = self.code.label();
        self.check(&changed.constant, end);
        self.loops(&changed.steps, end, &mut |compiler, _| {
            for (at, value) in carried.values.iter().enumerate() {
                compiler.code.evaluate(carried.register(at), value.clone());
            }
            let step = JoinStep::Keep { key: Vec::new(), parts };
            compiler.code.push(Instruction::Join { join, step });
            Ok(())
        })?;
        self.code.place(end);
        let position = self.binder.new_register()?;
        let (again, done) = (self.code.label(), self.code.label());
        self.code.evaluate(position, Expr::Const(Value::Null));
        let written = self.code.new_spool()?;
        self.code.push(Instruction::OpenSpool { spool: written });
        self.code.place(again);
        let step = JoinStep::Probe { key: Vec::new(), position, parts, end: done };
        self.code.push(Instruction::Join { join, step });
        self.code.push(Instruction::SkipWritten { spool: written, row: changed.row, to: again });
        self.lock_again(&changed, &change, &carried, (table, again))?;
        self.code.push(Instruction::NoteWritten { spool: written, row: changed.row });
        self.change_kept((&changed, &change, &carried), table, again)?;
        self.code.jump(again);
        self.code.place(done);
        self.finish_change(&changed, &change, explain)
    }

    /// The values that the second part of the procedure needs and cannot read any more.
    fn carried(&mut self, changed: &Changed, change: &Change) -> Result<Carried> {
        let mut values: Vec<Expr> = change.new_values().iter().map(|(_, value)| value.clone()).collect();
        let new_values = values.len();
        let (rows, registers) = changed.beside.clone().unwrap_or_default();
        let is_beside = |part: &Expr| match part {
            Expr::Column { row, .. } => rows.contains(row),
            Expr::Register(register) => registers.contains(register),
            _ => false,
        };
        let outputs = changed.outputs.iter().flatten().map(|output| &output.expr);
        let set = change.new_values().iter().map(|(_, value)| value);
        for expr in changed.wanted.iter().chain(set).chain(outputs) {
            expr::replace(&mut expr.clone(), &mut |part| {
                if is_beside(part) && !values[new_values..].contains(part) {
                    values.push(part.clone());
                }
                None
            });
        }
        let mut first = None;
        for _ in &values {
            let register = self.binder.new_register()?;
            first.get_or_insert(register);
        }
        Ok(Carried { first: first.unwrap_or_default(), values })
    }

    /// Locks the row, and checks it again if it has changed.
    fn lock_again(
        &mut self,
        changed: &Changed,
        change: &Change,
        carried: &Carried,
        (table, next): (TableIndex, u32),
    ) -> Result<()> {
        let new_values = change.new_values();
        let strength = changed.strength;
        let (again, lock) = (self.code.label(), self.code.label());
        self.code.jump(lock);
        self.code.place(again);
        let conditions = changed.wanted.iter().cloned();
        let conditions: Vec<Expr> =
            conditions.map(|condition| carried.replaced(condition, new_values.len())).collect();
        self.check(&conditions, next);
        for (at, (_, value)) in new_values.iter().enumerate() {
            self.code.evaluate(carried.register(at), carried.replaced(value.clone(), new_values.len()));
        }
        self.code.place(lock);
        let intent = Intent::chosen(strength, None);
        self.code.push(Instruction::LockAgain {
            table,
            row: changed.row,
            intent,
            changed: again,
            gone: next,
        });
        Ok(())
    }

    fn change_kept(
        &mut self,
        (changed, change, carried): (&Changed, &Change, &Carried),
        table: TableIndex,
        next: Label,
    ) -> Result<()> {
        let set = change.new_values();
        let kept = match change {
            Change::Update(set) => {
                let value = |(at, (column, _)): (usize, &(u16, Expr))| {
                    (*column, Expr::Register(carried.register(at)))
                };
                Change::Update(set.iter().enumerate().map(value).collect())
            }
            Change::Delete => Change::Delete,
        };
        self.write(kept.instruction(table, changed.row), next)?;
        self.code.push(Instruction::CountRow);
        let outputs = changed.outputs.iter().flatten();
        let outputs = outputs.map(|output| carried.replaced(output.expr.clone(), set.len()));
        if changed.outputs.is_some() {
            self.emit(outputs.collect())?;
        }
        Ok(())
    }
}
