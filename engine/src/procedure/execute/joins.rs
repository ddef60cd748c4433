//! Joins: rows kept by a key and found again, and rows of NULLs.

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::scalar::Scalar;
use hyades_types::value::Value;

use crate::procedure::evaluate::{evaluate, scalar};
use crate::procedure::frame::Frame;
use crate::procedure::interpret::{Next, Run};
use crate::procedure::ir::{
    Expr, JoinSlot, JoinStep, JoinedParts, Label, Procedure, Register, RowSlot, TableIndex,
};
use crate::procedure::join_table::JoinKey;
use crate::txn::{Access, Flow};

impl<T: Access> Run<'_, T> {
    #[inline(never)]
    pub(crate) fn join(&mut self, join: JoinSlot, step: &JoinStep) -> Flow<Next> {
        match step {
            JoinStep::Open => self.frame.joins[usize::from(join)].clear(),
            JoinStep::Keep { key, parts } => self.keep_joined(join, key, parts)?,
            JoinStep::KeepNew { key, known } => {
                let key = self.join_key(key)?;
                let is_new = self.frame.joins[usize::from(join)].keep_new(&key);
                self.frame.emitted = key;
                memory::check(0)?;
                if !is_new {
                    return Ok(Next::Label(*known));
                }
            }
            JoinStep::Probe { key, position, parts, end } => {
                return self.probe_join(join, key, *position, parts, *end);
            }
            JoinStep::ProbeOnly { key, parts, end } => {
                let found = self.first_joined(join, key)?;
                return Ok(self.show_joined(join, found, None, parts, *end)?);
            }
            JoinStep::Note { position } => {
                if let Some(number) = self.joined_number(*position)? {
                    self.frame.joins[usize::from(join)].note_joined(number);
                }
            }
            JoinStep::Forget => {
                let table = &mut self.frame.joins[usize::from(join)];
                guest::spend_for(table.len())?;
                table.forget_joined();
            }
            JoinStep::NextUnjoined { position, parts, end } => {
                return self.next_unjoined(join, *position, parts, *end);
            }
        }
        Ok(Next::Following)
    }

    fn keep_joined(&mut self, join: JoinSlot, key: &[Expr], parts: &JoinedParts) -> Result<()> {
        let scalar = self.scalar_key(key);
        let key = if scalar.is_some() { Vec::new() } else { self.join_key(key)? };
        let (mut row_key, mut row) = (&[][..], &[][..]);
        if let Some((_, slot)) = parts.row {
            let buffer = &self.frame.rows[usize::from(slot)];
            row = self.rows_in_place[usize::from(slot)].map_or(&buffer.bytes, |shown| shown.bytes);
            if parts.is_changed {
                row_key = &buffer.key;
            }
        }
        let registers = parts.registers();
        let values = &self.frame.registers[usize::from(registers.start)..usize::from(registers.end)];
        let table = &mut self.frame.joins[usize::from(join)];
        let work = &self.environment.work_memory;
        table.keep(scalar.map_or(JoinKey::Values(&key), JoinKey::Scalar), (row_key, row), values, work)?;
        if scalar.is_none() {
            self.frame.emitted = key;
        }
        memory::check(0)
    }

    fn probe_join(
        &mut self,
        join: JoinSlot,
        key: &[Expr],
        position: Register,
        parts: &JoinedParts,
        end: Label,
    ) -> Flow<Next> {
        let found = match self.joined_number(position)? {
            Some(number) => self.frame.joins[usize::from(join)].following(number)?,
            None => self.first_joined(join, key)?,
        };
        Ok(self.show_joined(join, found, Some(position), parts, end)?)
    }

    /// The number of the first row under a key.
    #[inline]
    fn first_joined(&mut self, join: JoinSlot, key: &[Expr]) -> Result<Option<u32>> {
        if let Some(scalar) = self.scalar_key(key) {
            return self.frame.joins[usize::from(join)].first(JoinKey::Scalar(scalar));
        }
        let key = self.join_key(key)?;
        let found = self.frame.joins[usize::from(join)].first(JoinKey::Values(&key));
        self.frame.emitted = key;
        found
    }

    fn next_unjoined(
        &mut self,
        join: JoinSlot,
        position: Register,
        parts: &JoinedParts,
        end: Label,
    ) -> Flow<Next> {
        let from = self.joined_number(position)?.map_or(0, |number| number.saturating_add(1));
        let found = self.frame.joins[usize::from(join)].unjoined(from);
        // It has skipped those that have been joined.
        guest::spend_for(found.map_or(0, |found| (found - from) as usize))?;
        Ok(self.show_joined(join, found, Some(position), parts, end)?)
    }

    #[inline(never)]
    pub(crate) fn absent_row(
        &mut self,
        procedure: &Procedure,
        table: TableIndex,
        row: RowSlot,
    ) -> Flow<Next> {
        let buffer = &mut self.frame.rows[usize::from(row)];
        buffer.key.clear();
        buffer.bytes.clear();
        procedure.table(table).layout.encode_nulls(&mut buffer.bytes);
        self.set_row(row, None);
        Ok(Next::Following)
    }

    fn show_joined(
        &mut self,
        join: JoinSlot,
        found: Option<u32>,
        position: Option<Register>,
        parts: &JoinedParts,
        end: Label,
    ) -> Result<Next> {
        let Frame { joins, registers, rows, .. } = &mut *self.frame;
        let Some(number) = found else { return Ok(Next::Label(end)) };
        let Some(kept) = joins[usize::from(join)].row(number)? else { return Ok(Next::Label(end)) };
        if !kept.values.is_empty() {
            let into = parts.registers();
            registers[usize::from(into.start)..usize::from(into.end)].clone_from_slice(kept.values);
        }
        if let Some(position) = position {
            registers[usize::from(position)].put(Value::BigInt(i64::from(number)));
        }
        if let Some((_, row)) = parts.row {
            let buffer = &mut rows[usize::from(row)];
            buffer.key.clear();
            if parts.is_changed {
                buffer.key.extend_from_slice(kept.row_key);
            }
            buffer.bytes.clear();
            buffer.bytes.extend_from_slice(kept.row);
            self.set_row(row, None);
        }
        Ok(Next::Following)
    }

    fn joined_number(&self, position: Register) -> Result<Option<u32>> {
        match &self.frame.registers[usize::from(position)] {
            Value::Null => Ok(None),
            Value::BigInt(number) => u32::try_from(*number).map(Some).map_err(|_| no_position()),
            _ => Err(no_position()),
        }
    }

    /// A key that is one scalar, for which no value need be made.
    #[inline]
    fn scalar_key(&self, key: &[Expr]) -> Option<Scalar> {
        let [only] = key else { return None };
        scalar(only, self)
    }

    /// The values of a key, in the buffer of emitted values.
    fn join_key(&mut self, key: &[Expr]) -> Result<Vec<Value>> {
        let mut values = std::mem::take(&mut self.frame.emitted);
        values.clear();
        let context = self.context();
        for part in key {
            values.push(evaluate(part, &context)?);
        }
        Ok(values)
    }
}

#[cold]
fn no_position() -> Error {
    Error::input(sqlstate::INTERNAL_ERROR, "a register holds no position in a join table")
}
