//! The interpreter: runs a procedure inside a transaction, one instruction after the other.
//!
//! It keeps no important state on the stack: the next instruction, registers, rows and cursors live in the
//! [`Frame`]. When a data instruction must wait, the run returns, and a later call begins with that same
//! instruction, which has had no effect yet.
//!
//! [`Run::execute`] dispatches each instruction to its function in `execute`.

#![allow(unsafe_code)] // Rows are read in place and updated in place; see `storage::record`.

use std::time::Duration;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::environment::Environment;
use hyades_types::error::{Abort, Error, Result};
use hyades_types::function::now_us;
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::random::Random;
use hyades_types::value::Value;
use smallvec::SmallVec;

use super::evaluate::{Context, Places};
use super::found_ahead::Ahead;
use super::frame::{Frame, RowSink};
use super::ir::{Instruction, Label, Procedure, Register, Replayability, RowSlot};
use crate::storage::row::RowLayout;
use crate::ticket::{self, Ticket, ticket};
use crate::txn::{Access, Flow, Interrupt, RowInPlace, Savepoint};

/// Instructions between two pins, and between two checks for requests from outside. What is more expensive
/// than an instruction counts as several.
const PIN_INTERVAL: u32 = 1024;
/// A call: a frame is exchanged, and a return exchanges it back.
const CALL: u32 = 16;
/// Registers that are reset in the time of an instruction.
const REGISTERS: usize = 8;
/// An error that a handler has caught, besides what is undone: its message and its context are texts.
const CAUGHT_ERROR: u32 = 64;
/// A run that stops and is entered again.
const ENTRY: u32 = 16;
/// The least work that an instruction counts as for a guest.
const UNITS_PER_INSTRUCTION: u32 = 4;

/// Takes back everything since a savepoint: what the procedure has done, and what was done for it between two
/// parts of its run (changes of the catalog). The environment then shows what is left.
pub(crate) type Undo<'a, T> = &'a mut dyn FnMut(&mut T, Savepoint, &mut Environment);

/// Runs a procedure from the position of its frame until the outermost one returns, fails, or must wait.
pub(crate) fn run<T: Access>(
    transaction: &mut T,
    frame: &mut Frame,
    environment: &mut Environment,
    sink: &mut dyn RowSink,
    undo: Undo<'_, T>,
) -> Flow<()> {
    environment.trigger_depth = frame.trigger_depth();
    loop {
        if let Some(outcome) = run_pinned(transaction, frame, environment, sink, undo) {
            return outcome;
        }
        guest::pass(UNITS_PER_INSTRUCTION * PIN_INTERVAL);
    }
}

/// One part of a run. `None`: the run is not over.
fn run_pinned<T: Access>(
    transaction: &mut T,
    frame: &mut Frame,
    environment: &mut Environment,
    sink: &mut dyn RowSink,
    undo: Undo<'_, T>,
) -> Option<Flow<()>> {
    let guard = epoch::pin();
    let has_slept = !environment.sleeps.get_mut().is_empty();
    let mut run = Run {
        transaction,
        frame,
        environment,
        sink,
        undo,
        guard: &guard,
        rows_in_place: SmallVec::new(),
        ahead: None,
        random_before: None,
        has_slept,
        budget: PIN_INTERVAL,
    };
    let outcome = run.resume();
    if let Some(ahead) = run.ahead.take() {
        run.frame.scratch.ahead = ahead.keys;
    }
    if let Some(Err(_)) = outcome {
        run.count_stop();
    }
    outcome
}

/// One part of a run, while the thread stays pinned.
///
/// Rows are read in place in their tables. While a slot shows a row there, the pin keeps its bytes,
/// the transaction's lock keeps others from changing them, and the run's own updates in place first copy what
/// other slots show ([`Run::keep_rows_at`]). Rows that a run still needs after the pin, or in a procedure
/// that it returns to, are copied into the frame ([`Run::keep_rows`]).
pub(super) struct Run<'r, T: Access> {
    pub(super) transaction: &'r mut T,
    /// The frame of the active procedure. It contains the callers.
    pub(super) frame: &'r mut Frame,
    pub(super) environment: &'r mut Environment,
    pub(super) sink: &'r mut dyn RowSink,
    pub(super) undo: Undo<'r, T>,
    pub(super) guard: &'r Guard,
    pub(super) ahead: Option<Ahead<'r>>,
    /// The state of `random()` before the instruction, in a call that may be logged as a command: an
    /// instruction that waits runs again, and must then draw the same numbers.
    random_before: Option<Random>,
    /// Whether the next instruction has waited for a sleep: its sleeps are its own.
    has_slept: bool,
    /// Instructions until the next pin, at least 1. It belongs to the run, not to an activation: a loop may
    /// leave its activation as often as it likes.
    budget: u32,
    /// For the row slots of the active procedure. `None`: the frame holds the row.
    pub(super) rows_in_place: SmallVec<[Option<RowInPlace<'r>>; 16]>,
}

/// Reads slots directly, without building a [`Context`].
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

/// Where to continue.
pub(super) enum Next {
    Following,
    Label(Label),
    /// In another procedure, whose frame is now the active one.
    Call,
    Return,
}

/// Why an activation stopped.
enum Exit {
    Called,
    Returned,
    /// It has run for long. Memory is freed only when pins end.
    Unpin,
}

impl<'r, T: Access> Run<'r, T> {
    /// Runs until the outermost procedure returns, fails, or must wait. `None`: until it is time for a new
    /// pin.
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
                Err(Interrupt::Failed(Error::Abort(Abort::MustWait))) => {
                    self.keep_rows();
                    if let Some(random) = self.random_before.take() {
                        self.environment.random.replace(random);
                    }
                    return Some(Err(Interrupt::Wait(self.ticket_of_function())));
                }
                Err(Interrupt::Failed(error)) => {
                    // A handler may undo what was written in place.
                    self.keep_rows();
                    if let Err(error) = self.handle(error) {
                        return Some(Err(error.into()));
                    }
                    self.charge(CAUGHT_ERROR);
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

    /// Counts what has just been done as so many instructions more.
    fn charge(&mut self, instructions: u32) {
        self.budget = self.budget.saturating_sub(instructions).max(1);
    }

    /// Counts a call of a procedure with so many registers.
    pub(super) fn charge_call(&mut self, registers: usize) {
        self.charge(CALL + (registers / REGISTERS) as u32);
    }

    /// Counts the instructions of a run that stops before its end, to be entered again perhaps, however few
    /// there were. A run that has returned need not: callers that run one procedure after the other count
    /// them.
    #[cold]
    fn count_stop(&self) {
        guest::pass(UNITS_PER_INSTRUCTION * (PIN_INTERVAL - self.budget + ENTRY));
    }

    /// Fires when a sleep is over, or the awaited advisory lock is granted.
    fn ticket_of_function(&self) -> Ticket {
        if let Some(left) = self.environment.sleeps.borrow_mut().begin_again(now_us()) {
            return ticket::after(Duration::from_micros(left.cast_unsigned()));
        }
        let (ticket, signal) = ticket();
        if let Some(locks) = &self.environment.advisory_locks {
            locks.when_granted(Box::new(move || signal.fire()));
        }
        ticket
    }

    /// Runs the active procedure until it returns or calls another.
    fn run_activation(&mut self) -> Flow<Exit> {
        let procedure = self.frame.procedure.clone();
        let draws = matches!(procedure.replay, Replayability::Deterministic { uses_random: true, .. });
        self.random_before = None;
        self.rows_in_place.resize(usize::from(procedure.rows), None);
        let mut is_watched = draws || self.has_slept;
        let mut is_first = true;
        while let Some(instruction) = procedure.code.get(self.frame.next as usize) {
            self.budget -= 1;
            if self.budget == 0 {
                self.check_stop()?;
                memory::check(0)?;
                return Ok(Exit::Unpin);
            }
            if is_watched {
                if self.has_slept && !is_first {
                    self.environment.sleeps.take();
                    (self.has_slept, is_watched) = (false, draws);
                }
                is_first = false;
                if draws {
                    self.random_before = Some(self.environment.random.borrow().clone());
                }
            }
            match self.execute(&procedure, instruction)? {
                Next::Following => self.frame.next += 1,
                Next::Label(label) => self.frame.next = label,
                Next::Call => return Ok(Exit::Called),
                Next::Return => break,
            }
        }
        self.frame.next = procedure.code.len() as Label;
        Ok(Exit::Returned)
    }

    /// Executes one instruction by its function.
    #[inline]
    fn execute(&mut self, procedure: &Procedure, instruction: &Instruction) -> Flow<Next> {
        use Instruction as Do;
        match instruction {
            Do::Evaluate { expr, into } => self.evaluate_into(expr, *into),
            Do::Jump { to } => Ok(Next::Label(*to)),
            Do::JumpUnless { condition, to } => self.jump_unless(condition, *to),
            Do::ForNext { counter, last, variable, is_reverse, end } => {
                Ok(self.for_next((*counter, *last, *variable), *is_reverse, *end))
            }
            Do::ForStep { counter, step, is_reverse, again, end } => {
                self.for_step(procedure, (*counter, *step, *is_reverse), *again, *end)
            }
            Do::LookAhead { variable, last, reads } => self.look_ahead(procedure, (*variable, *last), reads),
            Do::ReadPoint { table, key, row, intent, absent } => {
                self.read_point(procedure.table(*table), key, (*row, *intent), *absent)
            }
            Do::RowKey { .. } | Do::ReadKey { .. } => self.stored_row(procedure, instruction),
            Do::OpenScan { cursor, table, range, direction, intent } => {
                self.open_scan(procedure, *cursor, *table, range, (*direction, *intent))
            }
            Do::NextRow { cursor, row, end } => self.next_row(procedure, *cursor, *row, *end),
            Do::LockRow { table, row, cursor, intent, changed, gone } => {
                self.lock_row(procedure.table(*table), (*row, *intent), *cursor, (*changed, *gone))
            }
            Do::LockAgain { table, row, intent, changed, gone } => {
                self.lock_again(procedure.table(*table), (*row, *intent), (*changed, *gone))
            }
            Do::BeginStatement => self.begin_statement(),
            Do::MakeRow { .. } | Do::RefuseRow { .. } => self.try_row(procedure, instruction),
            Do::Insert { .. } | Do::InsertBlind { .. } => self.insert(procedure, instruction),
            Do::InsertOr { table, values, row, arbiter, duplicate, .. } => {
                self.insert_or(procedure.table(*table), (values, *row), *arbiter, *duplicate)
            }
            Do::Update { table, row, set } => self.update(procedure.table(*table), set, *row),
            Do::Delete { table, row } => self.delete(procedure.table(*table), *row),
            Do::Emit { values } => self.emit(values),
            Do::CountRow => self.count_row(),
            Do::ResetCount => self.reset_count(),
            Do::TakeCount { found, count } => self.take_count(*found, *count),
            Do::OpenSpool { .. } | Do::EmitSpooled { .. } => self.whole_spool(instruction),
            Do::Spool { spool, values } => self.spool(*spool, values),
            Do::NextSpooled { spool, into, width, end } => self.next_spooled(*spool, (*into, *width), *end),
            Do::ReadSpool { .. } => self.read_spool(instruction),
            Do::Defer { .. } | Do::SkipUnlessTwin { .. } | Do::RefuseTwin { .. } => {
                self.later_check(procedure, instruction)
            }
            Do::Join { join, step } => self.join(*join, step),
            Do::AbsentRow { table, row } => self.absent_row(procedure, *table, *row),
            Do::NoteWritten { row, .. } | Do::RefuseWritten { row, .. } => self.written(*row, instruction),
            Do::SkipWritten { spool, row, to } => self.skip_written(*spool, *row, *to),
            Do::OpenStage { stage } => self.open_stage(procedure, *stage),
            Do::FeedStage { stage, values } => self.feed_stage(*stage, values),
            Do::FinishStage { stage, spool } => self.finish_stage(*stage, *spool),
            Do::ReadCatalog { relation, spool } => self.read_catalog(*relation, *spool),
            Do::Call { .. } => self.call(procedure, instruction),
            Do::Dynamic(_) | Do::Cursor(_) | Do::EndTransaction { .. } => self.asked_of_session(instruction),
            Do::Return => Ok(Next::Return),
            Do::Raise { .. } | Do::RaiseViolation(_) | Do::Trap { .. } => self.raise(instruction),
            Do::Report(report) => self.report(report),
            Do::EnterBlock { handler } => self.enter_block(*handler),
            Do::LeaveBlock => self.leave_block(),
            Do::MatchError { conditions, otherwise } => self.match_error(conditions, *otherwise),
            Do::ErrorField { field, into } => self.error_field(*field, *into),
            Do::Rethrow => self.rethrow(),
            Do::ForgetError => self.forget_error(),
            Do::Put { .. } | Do::Take { .. } => self.use_tape(instruction),
            Do::SetElement { .. } => self.set_element(instruction),
        }
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

    /// Copies the row of every slot that shows these bytes in place into the frame, because they are about to
    /// change.
    pub(super) fn keep_rows_at(&mut self, bytes: *const u8) {
        for (buffer, row) in self.frame.rows.iter_mut().zip(&mut self.rows_in_place) {
            if let Some(shown) = row.take_if(|row| row.bytes.as_ptr() == bytes) {
                buffer.bytes.clear();
                buffer.bytes.extend_from_slice(shown.bytes);
            }
        }
    }

    /// Makes a slot hold this row, found in place or (`None`) in the frame.
    pub(super) fn set_row(&mut self, slot: RowSlot, row: Option<RowInPlace<'r>>) {
        self.rows_in_place[usize::from(slot)] = row;
    }

    pub(super) fn context(&self) -> Context<'_> {
        let Frame { registers, rows, layouts, .. } = &*self.frame;
        let (rows_in_place, environment) = (&self.rows_in_place, &*self.environment);
        Context { registers, rows, rows_in_place, layouts, environment }
    }

    pub(super) fn check_stop(&self) -> Result<()> {
        self.environment.stop.check()
    }
}
