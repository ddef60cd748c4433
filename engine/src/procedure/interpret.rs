//! The interpreter: runs a procedure inside a transaction, one instruction after the other.
//!
//! It keeps nothing on the stack that matters: the next instruction, registers, rows and cursors live in the [`Frame`]. When a
//! data instruction must wait, the run returns and a later call begins with that same instruction, whose effect has not happened.

#![allow(unsafe_code)] // Rows are read in place and updated in place; see `storage::record`.

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::environment::Environment;
use hyades_types::error::{Error, Result, SqlState};
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::random::Random;
use hyades_types::scalar::Scalar;
use hyades_types::value::Value;
use smallvec::SmallVec;

use super::access::{self, Scratch};
use super::evaluate::{Context, Places, chosen, condition, evaluate, scalar};
use super::frame::{Frame, RowSink};
use super::ir::{
    Expr, Instruction, Label, Procedure, Register, Replayability, RowSlot, TableReference, Violation,
};
use super::look_ahead::Ahead;
use crate::storage::row::{RowLayout, RowPatch};
use crate::txn::{Access, Flow, Insertion, Interrupt, RowInPlace};

/// Instructions between two pins, and between two looks at what the outside wants.
const PIN_INTERVAL: u32 = 1024;
/// What that many instructions are at least, as work of a guest.
const PIN_UNITS: u32 = 4 * PIN_INTERVAL;

/// Bytes that are copied in about ten nanoseconds.
const BYTES_PER_UNIT: usize = 64;

/// Runs a procedure from where its frame stands until the outermost procedure returns, fails, or must wait.
pub(crate) fn run<T: Access>(
    transaction: &mut T,
    frame: &mut Frame,
    environment: &mut Environment,
    sink: &mut dyn RowSink,
) -> Flow<()> {
    loop {
        if let Some(outcome) = run_pinned(transaction, frame, environment, sink) {
            return outcome;
        }
        guest::pass(PIN_UNITS);
    }
}

/// One part of a run; `None`: it is not over.
fn run_pinned<T: Access>(
    transaction: &mut T,
    frame: &mut Frame,
    environment: &mut Environment,
    sink: &mut dyn RowSink,
) -> Option<Flow<()>> {
    let guard = epoch::pin();
    let mut run = Run {
        transaction,
        frame,
        environment,
        sink,
        guard: &guard,
        rows_in_place: SmallVec::new(),
        ahead: None,
        random_before: None,
    };
    let outcome = run.resume();
    if let Some(ahead) = run.ahead.take() {
        run.frame.scratch.ahead = ahead.keys;
    }
    outcome
}

/// One part of a run, while the thread stays pinned.
///
/// Rows are read where they stand in their tables: bytes of rows never change, and the pin keeps them. What a run has still to see
/// after the pin, or in a procedure that it returns to, is copied into the frame ([`Run::keep_rows`]).
pub(super) struct Run<'r, T: Access> {
    pub(super) transaction: &'r mut T,
    /// Of the procedure that is active; its callers stand in it.
    pub(super) frame: &'r mut Frame,
    pub(super) environment: &'r mut Environment,
    pub(super) sink: &'r mut dyn RowSink,
    pub(super) guard: &'r Guard,
    pub(super) ahead: Option<Ahead<'r>>,
    /// The state of `random()` before the instruction, in a call that may be logged as a command: an instruction that waits runs again,
    /// and must then draw what it drew.
    random_before: Option<Random>,
    /// For row slots of the active procedure. `None`: the frame holds the row.
    pub(super) rows_in_place: SmallVec<[Option<RowInPlace<'r>>; 16]>,
}

/// Without the ado of a [`Context`].
impl<T: Access> Places for Run<'_, T> {
    #[inline]
    fn register(&self, register: Register) -> Option<&Value> {
        self.frame.registers.get(usize::from(register))
    }

    #[inline]
    fn row(&self, row: RowSlot) -> Option<(&RowLayout, &[u8])> {
        let row = usize::from(row);
        let layout = self.frame.layouts.get(row)?.as_ref()?;
        let bytes = match self.rows_in_place.get(row)? {
            Some(row) => row.bytes,
            None => self.frame.rows.get(row)?.bytes.as_slice(),
        };
        if bytes.is_empty() { None } else { Some((layout, bytes)) }
    }
}

/// What it takes to make a value, a copy for example: only long ones count.
#[inline]
fn weight(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len() / BYTES_PER_UNIT,
        Value::Array(array) => array.values.len(),
        _ => 0,
    }
}

/// Where to go on.
pub(super) enum Next {
    Following,
    Label(Label),
    /// In another procedure, whose frame is the active one now.
    Call,
    Return,
}

/// Why an activation stopped.
enum Exit {
    Called,
    Returned,
    /// It has run for long: memory is given back only when pins end.
    Unpin,
}

impl<'r, T: Access> Run<'r, T> {
    /// Runs until the outermost procedure returns, fails, or must wait; `None`: until it is time for a new pin.
    fn resume(&mut self) -> Option<Flow<()>> {
        loop {
            match self.run_activation() {
                Ok(Exit::Called) => {}
                Ok(Exit::Returned) => {
                    if !self.return_to_caller() {
                        return Some(Ok(()));
                    }
                }
                Ok(Exit::Unpin) => {
                    self.keep_rows();
                    return None;
                }
                Err(Interrupt::Failed(error)) => {
                    // A handler may take back what was written in place.
                    self.keep_rows();
                    if let Err(error) = self.handle(error) {
                        return Some(Err(error.into()));
                    }
                }
                Err(wait) => {
                    self.keep_rows();
                    if let Some(random) = self.random_before.take() {
                        self.environment.random.replace(random);
                    }
                    return Some(Err(wait));
                }
            }
        }
    }

    /// Runs the active procedure until it returns or calls another.
    fn run_activation(&mut self) -> Flow<Exit> {
        let procedure = self.frame.procedure.clone();
        let draws = matches!(procedure.replay, Replayability::Deterministic { uses_random: true, .. });
        self.random_before = None;
        self.rows_in_place.resize(usize::from(procedure.rows), None);
        let mut budget = PIN_INTERVAL;
        while let Some(instruction) = procedure.code.get(self.frame.next as usize) {
            budget -= 1;
            if budget == 0 {
                self.check_stop()?;
                memory::check(0)?;
                return Ok(Exit::Unpin);
            }
            if draws {
                self.random_before = Some(self.environment.random.borrow().clone());
            }
            let next = match instruction {
                Instruction::Evaluate { expr, into } => self.evaluate_into(expr, *into)?,
                Instruction::Jump { to } => Next::Label(*to),
                Instruction::JumpUnless { condition, to } => match self.holds(condition)? {
                    true => Next::Following,
                    false => Next::Label(*to),
                },
                Instruction::ForNext { .. } | Instruction::ForStep { .. } => {
                    self.loop_step(&procedure, instruction)
                }
                Instruction::Insert { table, values, row } => {
                    self.insert_or_fail(&procedure.tables[usize::from(*table)], values, *row)?
                }
                Instruction::ReadPoint { .. } | Instruction::NextRow { .. } | Instruction::Update { .. } => {
                    self.data_step(&procedure, instruction)?
                }
                other => self.step(&procedure, other)?,
            };
            match next {
                Next::Following => self.frame.next += 1,
                Next::Label(label) => self.frame.next = label,
                Next::Call => {
                    self.check_stop()?;
                    return Ok(Exit::Called);
                }
                Next::Return => break,
            }
        }
        self.frame.next = procedure.code.len() as Label;
        Ok(Exit::Returned)
    }

    /// Copies the rows that are read in place into the frame.
    pub(super) fn keep_rows(&mut self) {
        for (buffer, row) in self.frame.rows.iter_mut().zip(self.rows_in_place.drain(..)) {
            if let Some(row) = row {
                buffer.bytes.clear();
                buffer.bytes.extend_from_slice(row.bytes);
            }
        }
    }

    /// Copies the row of every slot that shows these bytes in place into the frame: they are about to change.
    fn keep_rows_at(&mut self, bytes: *const u8) {
        for (buffer, row) in self.frame.rows.iter_mut().zip(&mut self.rows_in_place) {
            if let Some(shown) = row.take_if(|row| row.bytes.as_ptr() == bytes) {
                buffer.bytes.clear();
                buffer.bytes.extend_from_slice(shown.bytes);
            }
        }
    }

    /// From now on a slot holds this row, found in place or (`None`) in the frame.
    fn set_row(&mut self, slot: RowSlot, row: Option<RowInPlace<'r>>) {
        self.rows_in_place[usize::from(slot)] = row;
    }

    pub(super) fn context(&self) -> Context<'_> {
        let Frame { registers, rows, layouts, .. } = &*self.frame;
        let (rows_in_place, environment) = (&self.rows_in_place, &*self.environment);
        Context { registers, rows, rows_in_place, layouts, environment }
    }

    fn check_stop(&self) -> Result<()> {
        self.environment.stop.check()
    }

    #[inline]
    fn holds(&self, test: &Expr) -> Result<bool> {
        match scalar(test, self).and_then(Scalar::truth) {
            Some(truth) => Ok(truth == Some(true)),
            None => condition(test, &self.context()),
        }
    }

    #[inline]
    fn evaluate_into(&mut self, expr: &Expr, into: Register) -> Result<Next> {
        let expr = match expr {
            Expr::Case { branches, otherwise } => chosen(branches, otherwise, &self.context())?,
            other => other,
        };
        match scalar(expr, self) {
            Some(scalar) => self.frame.registers[usize::from(into)].put_scalar(scalar),
            None => {
                let value = evaluate(expr, &self.context())?;
                guest::spend_for(weight(&value))?;
                self.frame.registers[usize::from(into)].put(value);
                memory::check(0)?;
            }
        }
        Ok(Next::Following)
    }

    /// Does what is left to do once [`Run::run_activation`] has done what happens most.
    fn step(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        match instruction {
            Instruction::LookAhead { variable, last, reads } => {
                self.look_ahead(procedure, (*variable, *last), reads);
            }
            Instruction::Emit { values } => self.emit(values)?,
            Instruction::CountRow => self.frame.affected += 1,
            Instruction::Raise { state, message } => return Err(self.raise(state, message)?.into()),
            Instruction::RaiseViolation(violation) => return Err(self.violation(violation)?.into()),
            Instruction::Return => return Ok(Next::Return),
            Instruction::ReadPoint { .. }
            | Instruction::OpenScan { .. }
            | Instruction::NextRow { .. }
            | Instruction::KeepRow { .. }
            | Instruction::InsertOr { .. }
            | Instruction::Update { .. }
            | Instruction::Delete { .. } => return self.data_step(procedure, instruction),
            control => return self.control_step(procedure, control),
        }
        Ok(Next::Following)
    }

    #[inline(never)]
    fn data_step(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        match instruction {
            Instruction::ReadPoint { table, key, row, intent, absent } => {
                let reference = &procedure.tables[usize::from(*table)];
                let mut bytes = std::mem::take(&mut self.frame.scratch.key);
                let is_complete = access::build_key(key, &reference.key_layout, &self.context(), &mut bytes);
                let found = match is_complete {
                    Ok(true) => self.read_point(reference, &bytes, *intent, *row),
                    Ok(false) => Ok(false),
                    Err(error) => Err(error.into()),
                };
                self.frame.scratch.key = bytes;
                Ok(if found? { Next::Following } else { Next::Label(*absent) })
            }
            Instruction::OpenScan { cursor, table, range, direction, intent } => {
                let reference = &procedure.tables[usize::from(*table)];
                let is_open = self.transaction.enter(&reference.table, reference.version, *intent)?;
                let slot = usize::from(*cursor);
                let mut bounds = std::mem::take(&mut self.frame.cursors[slot].position.range);
                let context = self.context();
                let is_possible = access::build_range(range, &reference.key_layout, &context, &mut bounds)?;
                let cursor = &mut self.frame.cursors[slot];
                cursor.table = usize::from(*table);
                cursor.position.open(bounds, *direction, *intent);
                if !is_possible || !is_open {
                    cursor.position.finish();
                    return Ok(Next::Following);
                }
                self.transaction.open_scan(&reference.table, &mut cursor.position)?;
                Ok(Next::Following)
            }
            Instruction::NextRow { cursor, row, end } => {
                let Frame { cursors, rows, .. } = &mut *self.frame;
                let cursor = &mut cursors[usize::from(*cursor)];
                let reference = &procedure.tables[cursor.table];
                let found = self.transaction.next_row(&reference.table, &mut cursor.position, self.guard)?;
                if found.is_none() {
                    return Ok(Next::Label(*end));
                }
                rows[usize::from(*row)].key.clone_from(&cursor.position.position);
                self.set_row(*row, found);
                Ok(Next::Following)
            }
            Instruction::KeepRow { cursor } => {
                let cursor = &mut self.frame.cursors[usize::from(*cursor)];
                self.transaction.keep_row(&mut cursor.position);
                Ok(Next::Following)
            }
            write => self.write_step(procedure, write),
        }
    }

    fn read_point(
        &mut self,
        reference: &TableReference,
        key: &[u8],
        intent: crate::txn::Intent,
        row: RowSlot,
    ) -> Flow<bool> {
        if !self.transaction.enter(&reference.table, reference.version, intent)? {
            return Ok(false);
        }
        let ahead = self.found_ahead(&reference.table, key);
        let found = self.transaction.read_point(&reference.table, key, intent, ahead, self.guard)?;
        if found.is_none() {
            return Ok(false);
        }
        let buffer = &mut self.frame.rows[usize::from(row)];
        buffer.key.clear();
        buffer.key.extend_from_slice(key);
        self.set_row(row, found);
        Ok(true)
    }

    fn write_step(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        match instruction {
            Instruction::InsertOr { table, values, row, duplicate } => {
                let reference = &procedure.tables[usize::from(*table)];
                if self.insert(reference, values, *row)? == Insertion::Duplicate {
                    return Ok(Next::Label(*duplicate));
                }
            }
            Instruction::Update { table, row, set } => {
                let reference = &procedure.tables[usize::from(*table)];
                let mut scratch = std::mem::take(&mut self.frame.scratch);
                let result = self.update(reference, set, *row, &mut scratch);
                self.frame.scratch = scratch;
                result?;
            }
            Instruction::Delete { table, row } => {
                let reference = &procedure.tables[usize::from(*table)];
                self.transaction.delete(&reference.table, &self.frame.rows[usize::from(*row)].key);
            }
            other => unreachable!("{other:?} does not write"),
        }
        Ok(Next::Following)
    }

    fn insert_or_fail(&mut self, reference: &TableReference, values: &[Expr], row: RowSlot) -> Flow<Next> {
        if self.insert(reference, values, row)? == Insertion::Duplicate {
            let row = &self.frame.rows[usize::from(row)];
            return Err(access::duplicate_key(reference, &row.bytes).into());
        }
        Ok(Next::Following)
    }

    fn insert(&mut self, reference: &TableReference, values: &[Expr], row: RowSlot) -> Flow<Insertion> {
        let mut bytes = std::mem::take(&mut self.frame.scratch.row);
        let built = access::build_row(values, reference, &self.context(), &mut bytes);
        let buffer = &mut self.frame.rows[usize::from(row)];
        if built.is_ok() {
            std::mem::swap(&mut buffer.bytes, &mut bytes);
        }
        self.frame.scratch.row = bytes;
        built?;
        self.set_row(row, None);
        access::insert(self.transaction, reference, &mut self.frame.rows[usize::from(row)])
    }

    fn update(
        &mut self,
        reference: &TableReference,
        set: &[(u16, Expr)],
        row: RowSlot,
        scratch: &mut Scratch,
    ) -> Flow<()> {
        let slot = usize::from(row);
        let in_place = self.rows_in_place.get(slot).copied().flatten();
        if let Some(found) = in_place.filter(|found| found.is_current(self.guard))
            && access::patch_scalars(reference, found.bytes, set, self, &mut scratch.patch)
        {
            self.patch_in_place(reference, row, found, &mut scratch.patch);
            return Ok(());
        }
        scratch.set.drain(..).for_each(|(_, value)| value.discard());
        let context = self.context();
        for (column, value) in set {
            scratch.set.push((*column, evaluate(value, &context)?));
        }
        let old = in_place.map_or(self.frame.rows[slot].bytes.as_slice(), |row| row.bytes);
        access::check_set(reference, old, &scratch.set)?;
        let keeps_length = reference.layout.patch(old, &scratch.set, &mut scratch.patch);
        let stays = keeps_length && !access::moves_row(reference, &scratch.set);
        match in_place {
            Some(found) if stays && found.is_current(self.guard) => {
                self.patch_in_place(reference, row, found, &mut scratch.patch);
            }
            _ => {
                let in_place = in_place.map(|row| row.bytes);
                let buffer = &mut self.frame.rows[slot];
                access::update(self.transaction, reference, scratch, keeps_length, in_place, buffer)?;
                self.set_row(row, None);
            }
        }
        Ok(())
    }

    fn patch_in_place(
        &mut self,
        reference: &TableReference,
        row: RowSlot,
        found: RowInPlace<'r>,
        patch: &mut RowPatch,
    ) {
        let record = found.record;
        self.set_row(row, None);
        self.keep_rows_at(found.bytes.as_ptr());
        let key = &self.frame.rows[usize::from(row)].key;
        // SAFETY: no slot shows the row in place any more; those of callers never do (`keep_rows`).
        unsafe { self.transaction.patch(&reference.table, key, record, patch.bytes_mut(), self.guard) };
        self.set_row(row, RowInPlace::of(record, self.guard));
    }

    fn emit(&mut self, values: &[Expr]) -> Result<()> {
        let mut emitted = std::mem::take(&mut self.frame.emitted);
        emitted.clear();
        let context = self.context();
        for value in values {
            let value = evaluate(value, &context)?;
            guest::spend_for(weight(&value))?;
            emitted.push(value);
        }
        let Some(spool) = self.frame.emits_to else {
            let result = self.sink.row(&mut emitted);
            self.frame.emitted = emitted;
            return result;
        };
        if let Some(caller) = self.frame.calls.as_mut().and_then(|calls| calls.callers.last_mut()) {
            caller.spools[usize::from(spool)].rows.push(emitted);
        }
        memory::check(0)
    }

    fn raise(&self, state: &'static str, message: &Expr) -> Result<Error> {
        let message = match evaluate(message, &self.context())? {
            Value::Text(text) => text.to_string(),
            other => format!("{other:?}"),
        };
        Ok(Error::input(SqlState(state), message))
    }

    fn violation(&self, violation: &Violation) -> Result<Error> {
        let detail = evaluate(&violation.detail, &self.context())?;
        Ok(Error::input(SqlState(violation.state), &violation.message)
            .with_detail(detail.as_str().unwrap_or_default())
            .with_table(&violation.table)
            .with_constraint(&violation.constraint))
    }
}
