//! Calls, exception blocks, spools and loops: what procedures do besides reading and writing rows.
//!
//! **Calls.** The frame that a [`Run`] holds is always that of the active procedure. A call exchanges it for the callee's and pushes
//! the caller's onto the callee's list of callers; a return exchanges them back. So no instruction pays for the possibility of calls,
//! and everything survives a wait, because everything is in the frame. Frames of procedures that have returned are kept and used
//! again.
//!
//! **Errors.** An error looks for a handler in the active procedure, then in its callers. The handler's block is rolled back to the
//! savepoint that was taken when it was entered; registers keep their values, as PL/pgSQL's variables do. A run that goes on behind an
//! error from outside (no memory, a lock that it did not wait for) is logged as data. Conflicts
//! ([`Error::Abort`]) are never handled: the whole transaction must run again, and what would come of handling them depends on
//! chance, which replay cannot repeat. Nor is the end of memory ([`hyades_types::memory`]), for the same reason. Fatal errors are not
//! handled either, and nothing is in a session that was told to end.

use std::sync::Arc;

use hyades_types::environment::Severity;
use hyades_types::error::{Abort, Error, InputError, Result, SqlState, sqlstate};
use hyades_types::memory;
use hyades_types::value::Value;

use super::conditions;
use super::evaluate::evaluate;
use super::frame::{Calls, Frame, Handler, Message};
use super::interpret::{Next, Run};
use super::ir::{Callee, Condition, ErrorField, Expr, Instruction, Procedure, Register, Report, SpoolSlot};
use crate::txn::{Access, Flow};

/// Deepest nesting of calls.
const DEEPEST_CALL: usize = 4000;
/// Of the calls that an error leaves, so many are told one by one.
const MOST_CONTEXT_LINES: usize = 50;
/// Frames kept for later calls.
const MOST_SPARE_FRAMES: usize = 16;
/// Longest array.
const LONGEST_ARRAY: i64 = 1 << 24;

impl<T: Access> Run<'_, T> {
    pub(super) fn control_step(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        match instruction {
            Instruction::Call { callee, arguments, rows, .. } => {
                self.call(&procedure.callees[usize::from(*callee)], arguments, *rows)?;
                return Ok(Next::Call);
            }
            Instruction::ResetCount => self.frame.affected = 0,
            Instruction::TakeCount { found, count } => self.take_count(*found, *count),
            Instruction::SetElement { array, element, index, value } => {
                let context = self.context();
                let (index, value) = (evaluate(index, &context)?, evaluate(value, &context)?);
                let array = &mut self.frame.registers[usize::from(*array)];
                if array.is_null() {
                    *array = Value::array(*element, Vec::new());
                }
                set_element(array, &index, value)?;
            }
            Instruction::Report(report) => self.report(report)?,
            Instruction::EnterBlock { handler } => {
                let savepoint = self.transaction.savepoint();
                let errors = self.frame.errors.len();
                self.frame.handlers.push(Handler { label: *handler, savepoint, errors });
            }
            Instruction::LeaveBlock => {
                self.frame.handlers.pop();
            }
            Instruction::MatchError { conditions, otherwise } => {
                let state = self.frame.errors.last().map_or(sqlstate::INTERNAL_ERROR, Error::sqlstate);
                if !conditions.iter().any(|condition| matches(*condition, state)) {
                    return Ok(Next::Label(*otherwise));
                }
                if comes_from_outside(state) {
                    self.transaction.cannot_be_repeated();
                }
            }
            Instruction::ErrorField { field, into } => {
                let value = self.frame.errors.last().map_or(Value::Null, |error| error_field(error, *field));
                self.frame.registers[usize::from(*into)] = value;
            }
            Instruction::Rethrow => {
                let none = || Error::input(sqlstate::STACKED_DIAGNOSTICS, NO_ERROR);
                self.frame.is_rethrowing = true;
                return Err(self.frame.errors.last().cloned().unwrap_or_else(none).into());
            }
            Instruction::ForgetError => {
                self.frame.errors.pop();
            }
            rows => return self.spool_step(procedure, rows),
        }
        Ok(Next::Following)
    }

    fn spool_step(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        match instruction {
            Instruction::OpenSpool { spool } => {
                let spool = &mut self.frame.spools[usize::from(*spool)];
                spool.rows.clear();
                spool.next = 0;
                spool.written.clear();
            }
            Instruction::NoteWritten { spool, row } => {
                let key = self.frame.rows[usize::from(*row)].key.clone();
                self.frame.spools[usize::from(*spool)].written.insert(key);
            }
            Instruction::RefuseWritten { spool, row } => {
                let key = &self.frame.rows[usize::from(*row)].key;
                if self.frame.spools[usize::from(*spool)].written.contains(key) {
                    return Err(written_twice().into());
                }
            }
            Instruction::Spool { spool, values } => {
                let row = self.evaluated(values)?;
                self.frame.spools[usize::from(*spool)].rows.push(row);
                memory::check(0)?;
            }
            Instruction::NextSpooled { spool, into, width, end } => {
                let spool = &mut self.frame.spools[usize::from(*spool)];
                let Some(row) = spool.rows.get_mut(spool.next) else { return Ok(Next::Label(*end)) };
                spool.next += 1;
                let first = usize::from(*into);
                let registers = &mut self.frame.registers[first..first + usize::from(*width)];
                for (register, value) in registers.iter_mut().zip(row) {
                    *register = std::mem::take(value);
                }
            }
            Instruction::OpenStage { stage } => {
                let stage = usize::from(*stage);
                let run = procedure.stages[stage].start(&self.frame.registers);
                self.frame.stages[stage] = Some(run);
            }
            Instruction::FeedStage { stage, values } => {
                let mut row = std::mem::take(&mut self.frame.emitted);
                row.clear();
                let context = self.context();
                for value in values {
                    row.push(evaluate(value, &context)?);
                }
                if let Some(run) = &mut self.frame.stages[usize::from(*stage)] {
                    run.feed(&mut row)?;
                    memory::check(0)?;
                }
                self.frame.emitted = row;
            }
            Instruction::FinishStage { stage, spool } => {
                if let Some(mut run) = self.frame.stages[usize::from(*stage)].take() {
                    let rows = run.finish(self.environment)?;
                    self.frame.spools[usize::from(*spool)].rows.extend(rows);
                }
            }
            other => unreachable!("{other:?} was to be done before"),
        }
        Ok(Next::Following)
    }

    fn evaluated(&self, values: &[Expr]) -> Result<Vec<Value>> {
        let context = self.context();
        values.iter().map(|value| evaluate(value, &context)).collect()
    }

    /// Makes the callee's frame the active one.
    fn call(&mut self, callee: &Callee, arguments: &[Expr], rows: Option<SpoolSlot>) -> Result<()> {
        let current = self.frame.procedure.clone();
        let procedure = match callee {
            Callee::Current => current.shared(),
            Callee::Procedure { routine, .. } if routine.is_dropped() => {
                return Err(Error::Abort(Abort::StalePlan));
            }
            Callee::Procedure { procedure, .. } => procedure,
        };
        let calls = self.frame.calls.get_or_insert_default();
        if calls.callers.len() >= DEEPEST_CALL {
            return Err(Error::input(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
                .with_hint(format!("Procedures and functions can be nested {DEEPEST_CALL} deep.")));
        }
        let known = calls.spare.iter().rposition(|frame| frame.procedure.is(procedure));
        let mut frame = match known {
            Some(at) => calls.spare.swap_remove(at),
            None => Frame::new(Arc::clone(procedure)),
        };
        frame.registers.iter_mut().for_each(|register| register.put(Value::Null));
        frame.restart();
        self.keep_rows();
        let context = self.context();
        for (register, argument) in frame.registers.iter_mut().zip(arguments) {
            *register = evaluate(argument, &context)?;
        }
        frame.emits_to = rows;
        std::mem::swap(self.frame, &mut frame);
        std::mem::swap(&mut self.frame.calls, &mut frame.calls);
        if let Some(calls) = &mut self.frame.calls {
            calls.callers.push(frame);
        }
        Ok(())
    }

    /// Makes the caller's frame the active one; false when there is none.
    fn leave(&mut self) -> Option<Frame> {
        let mut caller = self.frame.calls.as_mut()?.callers.pop()?;
        std::mem::swap(&mut self.frame.calls, &mut caller.calls);
        std::mem::swap(self.frame, &mut caller);
        self.rows_in_place.clear();
        Some(caller)
    }

    fn keep_spare(&mut self, frame: Frame) {
        let calls: &mut Calls = self.frame.calls.get_or_insert_default();
        if calls.spare.len() < MOST_SPARE_FRAMES {
            calls.spare.push(frame);
        }
    }

    /// Hands the results to the caller; false if the outermost procedure has returned.
    pub(super) fn return_to_caller(&mut self) -> bool {
        let Some(mut callee) = self.leave() else { return false };
        let procedure = self.frame.procedure.clone();
        if let Some(Instruction::Call { into, .. }) = procedure.code.get(self.frame.next as usize) {
            for (target, result) in into.iter().zip(&callee.procedure.results) {
                self.frame.registers[usize::from(*target)] =
                    std::mem::take(&mut callee.registers[usize::from(*result)]);
            }
        }
        self.frame.next += 1;
        self.keep_spare(callee);
        true
    }

    /// Goes to the innermost handler of an error, or hands it on.
    pub(super) fn handle(&mut self, error: Error) -> Result<()> {
        let Error::Input(mut error) = error else { return Err(error) };
        let is_ending = self.environment.stop.is_end();
        let mut lines = 0;
        loop {
            let is_told = std::mem::take(&mut self.frame.is_rethrowing);
            if let Some(line) = line_of(self.frame).filter(|_| !is_told) {
                lines += 1;
                if lines <= MOST_CONTEXT_LINES {
                    add_line(&mut error, &line);
                }
            }
            let handler = self.frame.handlers.pop().filter(|_| !is_ending && !error.is_uncatchable);
            let is_outermost = handler.is_none() && self.leave().is_none();
            if (handler.is_some() || is_outermost) && lines > MOST_CONTEXT_LINES {
                add_line(&mut error, &format!("(and {} more)", lines - MOST_CONTEXT_LINES));
            }
            if let Some(handler) = handler {
                if error.state == sqlstate::QUERY_CANCELED {
                    self.environment.stop.withdraw();
                }
                self.transaction.rollback_to(handler.savepoint);
                self.frame.errors.truncate(handler.errors);
                self.frame.errors.push(Error::Input(error));
                self.frame.next = handler.label;
                return Ok(());
            }
            if is_outermost {
                return Err(Error::Input(error));
            }
        }
    }

    fn take_count(&mut self, found: Option<Register>, count: Option<Register>) {
        let affected = self.frame.affected;
        if let Some(found) = found {
            self.frame.registers[usize::from(found)].put(Value::Boolean(affected > 0));
        }
        if let Some(count) = count {
            let number = i64::try_from(affected).unwrap_or(i64::MAX);
            self.frame.registers[usize::from(count)] = Value::BigInt(number);
        }
    }

    pub(super) fn integer(&self, register: Register) -> i32 {
        match self.frame.registers[usize::from(register)] {
            Value::Integer(number) => number,
            _ => 0,
        }
    }

    /// FOR over integers. A step goes on with the test that it leads to.
    #[inline]
    pub(super) fn loop_step(&mut self, procedure: &Procedure, instruction: &Instruction) -> Next {
        let mut instruction = instruction;
        let mut following = Next::Following;
        if let Instruction::ForStep { counter, step, is_reverse, again, end } = *instruction {
            let (now, step) = (self.integer(counter), self.integer(step));
            let next = if is_reverse { now.checked_sub(step) } else { now.checked_add(step) };
            let Some(next) = next else { return Next::Label(end) };
            self.frame.registers[usize::from(counter)].put(Value::Integer(next));
            match procedure.code.get(again as usize) {
                Some(test @ Instruction::ForNext { .. }) => instruction = test,
                _ => return Next::Label(again),
            }
            following = Next::Label(again + 1);
        }
        let Instruction::ForNext { counter, last, variable, is_reverse, end } = *instruction else {
            unreachable!("{instruction:?} is no loop")
        };
        let (now, last) = (self.integer(counter), self.integer(last));
        if if is_reverse { now < last } else { now > last } {
            return Next::Label(end);
        }
        self.frame.registers[usize::from(variable)].put(Value::Integer(now));
        following
    }

    fn report(&mut self, report: &Report) -> Result<()> {
        let text = |expr: &Expr| -> Result<String> {
            let value = evaluate(expr, &self.context())?;
            Ok(value.as_str().unwrap_or_default().to_owned())
        };
        let state = text(&report.state)?;
        let state = match conditions::states(&state).next() {
            Some(named) => named,
            None if SqlState::is_code(&state) => SqlState::named(&state),
            None => {
                let message = format!("unrecognized exception condition \"{state}\"");
                return Err(Error::input(sqlstate::UNDEFINED_OBJECT, message));
            }
        };
        let message = text(&report.message)?;
        let mut error = InputError::new(state, message);
        for (field, value) in &report.fields {
            let value = Some(text(value)?);
            match field {
                ErrorField::Detail => error.detail = value,
                ErrorField::Hint => error.hint = value,
                ErrorField::Table => error.table = value,
                ErrorField::Column => error.column = value,
                ErrorField::Constraint => error.constraint = value,
                ErrorField::Schema => error.schema = value,
                ErrorField::DataType => error.data_type = value,
                ErrorField::State | ErrorField::Message | ErrorField::Context => {}
            }
        }
        if report.severity == Severity::Exception {
            return Err(Error::Input(Box::new(error)));
        }
        if !self.environment.wants(report.severity) {
            return Ok(());
        }
        self.sink.message(Message {
            severity: report.severity,
            state,
            text: error.message,
            detail: error.detail,
            hint: error.hint,
        });
        memory::check(0)
    }
}

fn written_twice() -> Error {
    let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
    Error::input(sqlstate::CARDINALITY_VIOLATION, message).with_hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
    )
}

const NO_ERROR: &str = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";

fn add_line(error: &mut InputError, line: &str) {
    let context = error.context.get_or_insert_default();
    if !context.is_empty() {
        context.push('\n');
    }
    context.push_str(line);
}

/// Where a frame stands, as PostgreSQL says it.
fn line_of(frame: &Frame) -> Option<String> {
    let procedure = &frame.procedure;
    let at = procedure.lines.partition_point(|line| line.from <= frame.next);
    let line = procedure.lines.get(at.checked_sub(1)?)?;
    let (name, number, kind) = (&procedure.name, line.line, line.kind);
    Some(match (number, kind.starts_with("during")) {
        (0, _) => format!("PL/pgSQL function {name} {kind}").trim_end().to_owned(),
        (_, true) => format!("PL/pgSQL function {name} line {number} {kind}"),
        (_, false) => format!("PL/pgSQL function {name} line {number} at {kind}"),
    })
}

fn matches(condition: Condition, state: SqlState) -> bool {
    match condition {
        Condition::Others => state != sqlstate::QUERY_CANCELED && state != sqlstate::ASSERT_FAILURE,
        Condition::State(wanted) if wanted.0.ends_with("000") => state.0[..2] == wanted.0[..2],
        Condition::State(wanted) => state == wanted,
    }
}

/// Whether the error tells how things stood around the run (memory, locks of others, time), which a replay cannot find again.
fn comes_from_outside(state: SqlState) -> bool {
    let class = &state.0[..2];
    matches!(class, "53" | "57" | "58") || state == sqlstate::LOCK_NOT_AVAILABLE
}

fn error_field(error: &Error, field: ErrorField) -> Value {
    let Error::Input(input) = error else { return Value::Null };
    let optional = |text: &Option<String>| Value::text(text.as_deref().unwrap_or_default());
    match field {
        ErrorField::State => Value::text(input.state.0),
        ErrorField::Message => Value::text(input.message.as_str()),
        ErrorField::Detail => optional(&input.detail),
        ErrorField::Hint => optional(&input.hint),
        ErrorField::Table => optional(&input.table),
        ErrorField::Column => optional(&input.column),
        ErrorField::Constraint => optional(&input.constraint),
        ErrorField::Schema => optional(&input.schema),
        ErrorField::DataType => optional(&input.data_type),
        ErrorField::Context => optional(&input.context),
    }
}

/// `array[index] := value`; what lies between the end (if there is one) and the index becomes NULL.
fn set_element(array: &mut Value, index: &Value, value: Value) -> Result<()> {
    let Value::Array(array) = array else {
        return Err(Error::input(sqlstate::INTERNAL_ERROR, "an element was assigned to what is no array"));
    };
    let Some(index) = index.as_i64() else {
        return Err(Error::input(
            sqlstate::NULL_VALUE_NOT_ALLOWED,
            "array subscript in assignment must not be null",
        ));
    };
    // The first element of an empty array has the subscript that it is given.
    if index < 1 || (index > 1 && array.values.is_empty()) {
        return Err(Error::input(
            sqlstate::FEATURE_NOT_SUPPORTED,
            "arrays with a lower bound other than 1 are not supported yet",
        ));
    }
    if index > LONGEST_ARRAY {
        return Err(Error::input(
            sqlstate::PROGRAM_LIMIT_EXCEEDED,
            format!("array size exceeds the maximum allowed ({LONGEST_ARRAY})"),
        ));
    }
    let place = usize::try_from(index - 1).unwrap_or(usize::MAX);
    if Arc::strong_count(array) > 1 {
        memory::check(array.heap_bytes())?;
    }
    if place >= array.values.capacity() {
        // It doubles, at least.
        memory::check(size_of::<Value>() * (place + 1).max(2 * array.values.len()))?;
    }
    let array = Arc::make_mut(array);
    if place >= array.values.len() {
        array.values.resize(place + 1, Value::Null);
    }
    array.values[place] = value;
    Ok(())
}
