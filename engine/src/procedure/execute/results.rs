//! Where rows go: to the caller, to spools, through stages, and how many there were.

use std::sync::Arc;

use hyades_types::deferred_checks::DeferrableCheck;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::value::Value;

use super::values::weight;
use crate::procedure::evaluate::{Places, evaluate, general, scalar};
use crate::procedure::interpret::{Next, Run};
use crate::procedure::ir::{
    Expr, Instruction, Label, Procedure, Register, RowSlot, SpoolSlot, StageIndex, StageRun,
};
use crate::txn::{Access, Flow};

impl<T: Access> Run<'_, T> {
    /// Passes values to other slices of the call, or takes them.
    #[inline(never)]
    pub(crate) fn use_tape(&mut self, instruction: &Instruction) -> Flow<Next> {
        match instruction {
            Instruction::Put { tape, values } => {
                for value in values {
                    let value = evaluate(value, &self.context())?;
                    self.frame.tapes[usize::from(*tape)].put(value);
                }
            }
            Instruction::Take { tape, into } => {
                for register in into {
                    let value = self.frame.tapes[usize::from(*tape)].take()?;
                    self.frame.registers[usize::from(*register)].put(value);
                }
            }
            _ => {}
        }
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn emit(&mut self, values: &[Expr]) -> Flow<Next> {
        let mut emitted = std::mem::take(&mut self.frame.emitted);
        emitted.resize(values.len(), Value::Null);
        self.evaluate_all(values, &mut emitted)?;
        guest::spend_for(emitted.iter().map(weight).sum())?;
        let Some(spool) = self.frame.emits_to else {
            let result = self.sink.row(&mut emitted);
            self.frame.emitted = emitted;
            result?;
            return Ok(Next::Following);
        };
        if let Some(caller) = self.frame.calls.as_mut().and_then(|calls| calls.callers.last_mut()) {
            caller.spools[usize::from(spool)].push(emitted, &self.environment.work_memory)?;
        }
        memory::check(0)?;
        Ok(Next::Following)
    }

    #[inline]
    pub(crate) fn count_row(&mut self) -> Flow<Next> {
        self.frame.affected += 1;
        Ok(Next::Following)
    }

    #[inline]
    pub(crate) fn begin_statement(&mut self) -> Flow<Next> {
        let is_inner = self.frame.calls.as_ref().is_some_and(|calls| !calls.callers.is_empty());
        self.transaction.begin_statement(is_inner);
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn reset_count(&mut self) -> Flow<Next> {
        self.frame.affected = 0;
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn take_count(&mut self, found: Option<Register>, count: Option<Register>) -> Flow<Next> {
        let affected = self.frame.affected;
        if let Some(found) = found {
            self.frame.registers[usize::from(found)].put(Value::Boolean(affected > 0));
        }
        if let Some(count) = count {
            let number = i64::try_from(affected).unwrap_or(i64::MAX);
            self.frame.registers[usize::from(count)] = Value::BigInt(number);
        }
        Ok(Next::Following)
    }

    /// The instructions about all rows of a spool.
    #[inline(never)]
    pub(crate) fn whole_spool(&mut self, instruction: &Instruction) -> Flow<Next> {
        match *instruction {
            Instruction::OpenSpool { spool } => self.frame.spools[usize::from(spool)].clear(),
            Instruction::EmitSpooled { spool, width } => return self.emit_spooled(spool, width),
            _ => {}
        }
        Ok(Next::Following)
    }

    /// Emits one row, as it is in the spool. Repeats until the spool is empty.
    fn emit_spooled(&mut self, spool: SpoolSlot, width: u16) -> Flow<Next> {
        let Some(row) = self.frame.spools[usize::from(spool)].take_next()? else {
            return Ok(Next::Following);
        };
        row.truncate(usize::from(width));
        guest::spend_for(row.iter().map(weight).sum())?;
        match self.frame.emits_to {
            None => self.sink.row(row)?,
            Some(spool) => {
                let row = std::mem::take(row);
                if let Some(caller) = self.frame.calls.as_mut().and_then(|calls| calls.callers.last_mut()) {
                    caller.spools[usize::from(spool)].push(row, &self.environment.work_memory)?;
                }
                memory::check(0)?;
            }
        }
        Ok(Next::Label(self.frame.next))
    }

    #[inline(never)]
    pub(crate) fn spool(&mut self, spool: SpoolSlot, values: &[Expr]) -> Flow<Next> {
        let row = self.evaluated(values)?;
        self.frame.spools[usize::from(spool)].push(row, &self.environment.work_memory)?;
        memory::check(0)?;
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn defer(&mut self, check: &DeferrableCheck, values: &[Expr], immediate: Label) -> Flow<Next> {
        if !self.environment.deferred.is_deferred(check) {
            return Ok(Next::Label(immediate));
        }
        let values = self.evaluated(values)?;
        self.environment.deferred.add(check.clone(), values);
        memory::check(0)?;
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn next_spooled(
        &mut self,
        spool: SpoolSlot,
        (into, width): (Register, u16),
        end: Label,
    ) -> Flow<Next> {
        let spool = &mut self.frame.spools[usize::from(spool)];
        let Some(row) = spool.take_next()? else { return Ok(Next::Label(end)) };
        let first = usize::from(into);
        let registers = &mut self.frame.registers[first..first + usize::from(width)];
        for (register, value) in registers.iter_mut().zip(row) {
            *register = std::mem::take(value);
        }
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn read_spool(&mut self, instruction: &Instruction) -> Flow<Next> {
        let Instruction::ReadSpool { spool, position, into, width, end } = *instruction else {
            return Ok(Next::Following);
        };
        let number = self.frame.registers[usize::from(position)].as_i64().unwrap_or(0);
        let number = usize::try_from(number).unwrap_or(0);
        let spool = &mut self.frame.spools[usize::from(spool)];
        let Some(row) = spool.read(number, &self.environment.work_memory)? else {
            return Ok(Next::Label(end));
        };
        memory::check(0)?;
        let first = usize::from(into);
        self.frame.registers[first..first + usize::from(width)].clone_from_slice(row);
        self.frame.registers[usize::from(position)] = Value::BigInt(number as i64 + 1);
        Ok(Next::Following)
    }

    /// The instructions that note a written row, and that refuse a noted one.
    pub(crate) fn written(&mut self, row: RowSlot, instruction: &Instruction) -> Flow<Next> {
        match instruction {
            Instruction::RefuseWritten { spool, .. } => self.refuse_written(*spool, row),
            Instruction::NoteWritten { spool, .. } => self.note_written(*spool, row),
            _ => Ok(Next::Following),
        }
    }

    #[inline(never)]
    fn note_written(&mut self, spool: SpoolSlot, row: RowSlot) -> Flow<Next> {
        let key = self.frame.rows[usize::from(row)].key.clone();
        self.frame.spools[usize::from(spool)].written.insert(key);
        memory::check(0)?;
        Ok(Next::Following)
    }

    #[inline(never)]
    fn refuse_written(&mut self, spool: SpoolSlot, row: RowSlot) -> Flow<Next> {
        if self.has_written(spool, row) {
            return Err(written_twice().into());
        }
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn skip_written(&mut self, spool: SpoolSlot, row: RowSlot, to: Label) -> Flow<Next> {
        Ok(if self.has_written(spool, row) { Next::Label(to) } else { Next::Following })
    }

    fn has_written(&self, spool: SpoolSlot, row: RowSlot) -> bool {
        let key = &self.frame.rows[usize::from(row)].key;
        self.frame.spools[usize::from(spool)].written.contains(key)
    }

    #[inline(never)]
    pub(crate) fn open_stage(&mut self, procedure: &Procedure, stage: StageIndex) -> Flow<Next> {
        let stage = usize::from(stage);
        let run = Arc::clone(&procedure.stages[stage]).start(&self.frame.registers, self.environment);
        self.frame.stages[stage] = Some(run);
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn feed_stage(&mut self, stage: StageIndex, values: &[Expr]) -> Flow<Next> {
        let stage = usize::from(stage);
        let Some(mut run) = self.frame.stages[stage].take() else { return Ok(Next::Following) };
        let fed = self.feed(&mut *run, values);
        self.frame.stages[stage] = Some(run);
        fed?;
        memory::check(0)?;
        Ok(Next::Following)
    }

    fn feed(&mut self, run: &mut dyn StageRun, values: &[Expr]) -> Result<()> {
        let width = run.key_width();
        // Most rows of a grouping belong to an existing group, and then the values of the key are not needed.
        let mut first = 0;
        if width > 0 {
            let mut key = std::mem::take(&mut self.frame.scratch.key);
            if self.encode_distinct(&values[..width], &mut key) && run.knows(&key) {
                first = width;
            }
            self.frame.scratch.key = key;
        }
        let mut row = std::mem::take(&mut self.frame.emitted);
        row.resize(values.len(), Value::Null);
        let evaluated = self.evaluate_all(&values[first..], &mut row[first..]);
        let fed = evaluated.and_then(|()| run.feed(&mut row));
        self.frame.emitted = row;
        fed
    }

    /// Makes the key of these values without making the values, if they are columns that allow it.
    #[inline]
    fn encode_distinct(&self, values: &[Expr], key: &mut Vec<u8>) -> bool {
        key.clear();
        values.iter().all(|value| {
            let Expr::Column { row, column } = value else { return false };
            self.row(*row).is_some_and(|(layout, bytes)| layout.encode_distinct(bytes, *column, key))
        })
    }

    #[inline]
    fn evaluate_all(&self, values: &[Expr], into: &mut [Value]) -> Result<()> {
        for (expr, value) in values.iter().zip(into) {
            match scalar(expr, self) {
                Some(scalar) => value.put_scalar(scalar),
                None => value.put(general(expr, &self.context())?),
            }
        }
        Ok(())
    }

    #[inline(never)]
    pub(crate) fn finish_stage(&mut self, stage: StageIndex, spool: SpoolSlot) -> Flow<Next> {
        if let Some(run) = self.frame.stages[usize::from(stage)].take() {
            let rows = run.finish()?;
            self.frame.spools[usize::from(spool)].take_from(rows, &self.environment.work_memory)?;
        }
        Ok(Next::Following)
    }

    #[inline(never)]
    pub(crate) fn read_catalog(&mut self, relation: u32, spool: SpoolSlot) -> Flow<Next> {
        let Some(catalog) = &self.environment.catalog else {
            let message = "the system catalog cannot be looked at here";
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message).into());
        };
        let rows = catalog.rows(relation)?;
        self.frame.spools[usize::from(spool)].extend(rows, &self.environment.work_memory)?;
        memory::check(0)?;
        Ok(Next::Following)
    }

    fn evaluated(&self, values: &[Expr]) -> Result<Vec<Value>> {
        let context = self.context();
        values.iter().map(|value| evaluate(value, &context)).collect()
    }
}

fn written_twice() -> Error {
    let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
    Error::input(sqlstate::CARDINALITY_VIOLATION, message).with_hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
    )
}
