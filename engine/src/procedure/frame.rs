//! The state of one run of a procedure: its position and the contents of its slots.
//!
//! A frame outlives waits: the interpreter leaves everything it needs in it, and a later call resumes.
//! Sessions reuse frames, so that a prepared statement allocates nothing once its buffers have grown.

use std::sync::Arc;

use hyades_types::definition::TableId;
use hyades_types::environment::Gathered;
use hyades_types::environment::Severity;
use hyades_types::error::{Error, SqlState};
use hyades_types::value::{SqlType, Value};

use super::buffers::{RowBuffer, Scratch};
use super::ir::{DynamicRows, Label, Procedure, SpoolSlot, StageRun};
use super::join_table::JoinTable;
use super::spool::Spool;
use super::tape::Tape;
use crate::local_arc::LocalArc;
use crate::storage::row::RowLayout;
use crate::txn::{Cursor, Savepoint};

/// Receives the rows that a procedure emits.
pub trait RowSink {
    /// One result row. The values may be taken. An error ends the run.
    fn row(&mut self, values: &mut [Value]) -> hyades_types::Result<()>;

    /// A message in addition to the rows.
    fn message(&mut self, _message: Message) {}
}

/// A message of RAISE to the client, without an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub severity: Severity,
    pub state: SqlState,
    pub text: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

/// Each buffer of a frame that is put away is at most this large.
const KEPT_BYTES: usize = 16 << 10;
/// The lists of rows of a frame that is put away are at most this long.
const KEPT_ROWS: usize = 64;

/// An exception block that has been entered.
pub(crate) struct Handler {
    pub(crate) label: Label,
    pub(crate) savepoint: Savepoint,
    pub(crate) gathered: Gathered,
    /// Number of errors being handled when it was entered.
    pub(crate) errors: usize,
}

/// The callers of the active procedure, the latest last, and frames to be reused.
#[derive(Default)]
pub(crate) struct Calls {
    pub(crate) callers: Vec<Frame>,
    pub(crate) spare: Vec<Frame>,
}

/// A cursor slot: a position in one of the procedure's tables.
#[derive(Default)]
pub(crate) struct CursorState {
    pub(crate) table: usize,
    pub(crate) position: Cursor,
}

/// A running procedure: registers, rows, cursors, and the next instruction.
pub struct Frame {
    pub procedure: LocalArc<Procedure>,
    /// Parameters first. Set them, then [`Frame::restart`].
    pub registers: Vec<Value>,
    pub rows: Vec<RowBuffer>,
    /// See [`Frame::has_offered_row`].
    pub(super) has_offered_row: bool,
    /// Rows counted by [`Instruction::CountRow`].
    pub affected: u64,
    /// The next instruction.
    pub(crate) next: Label,
    pub(crate) cursors: Vec<CursorState>,
    pub(crate) emitted: Vec<Value>,
    pub(crate) scratch: Scratch,
    /// The layout of the table from which each row slot is filled.
    pub(crate) layouts: Vec<Option<Arc<RowLayout>>>,
    pub(crate) spools: Vec<Spool>,
    pub(crate) joins: Vec<JoinTable>,
    pub(crate) stages: Vec<Option<Box<dyn StageRun>>>,
    /// What the slices of a call pass to each other, lent to the frame of the slice that runs.
    pub(crate) tapes: Vec<Tape>,
    pub(crate) handlers: Vec<Handler>,
    /// Errors that are being handled.
    pub(crate) errors: Vec<Error>,
    /// The context of the current error has been recorded already.
    pub(crate) is_rethrowing: bool,
    /// The caller's spool that receives what is emitted.
    pub(crate) emits_to: Option<SpoolSlot>,
    /// The snapshot time of the statement that has called another procedure
    /// ([`Access::snapshot_time`](crate::txn::Access)).
    pub(crate) snapshot_time: Option<u64>,
    pub(crate) calls: Option<Box<Calls>>,
    /// The place among the callers of the frame of the head of its cycle of calls: its own, unless the call
    /// was one of a [`Callee::Member`](super::ir::Callee::Member).
    pub(crate) head: usize,
    /// The number of the call for which its arguments were declared
    /// ([`Work::begin_call`](crate::db::Work::begin_call)), unless they have been set since. 0: none.
    pub(crate) declared: u64,
    /// What the run needs its session to do.
    pub request: Option<Request>,
    /// The result of [`Request::Compile`].
    pub compiled: Option<hyades_types::Result<Arc<Procedure>>>,
}

/// The request of a run that has stopped with [`Abort::Suspended`](hyades_types::error::Abort::Suspended).
#[derive(Clone, Debug)]
pub enum Request {
    /// Compile a statement of SQL, with the types of its parameters, into [`Frame::compiled`].
    Compile { text: String, types: Vec<SqlType>, rows: Option<DynamicRows> },
    /// End the transaction, and begin the next.
    EndTransaction { commits: bool },
}

impl Frame {
    /// A frame at the start of a procedure, all registers NULL.
    pub fn new(procedure: Arc<Procedure>) -> Frame {
        let procedure = LocalArc::from(procedure);
        let mut frame = Frame {
            registers: Vec::new(),
            rows: Vec::new(),
            has_offered_row: false,
            affected: 0,
            next: 0,
            cursors: Vec::new(),
            emitted: Vec::new(),
            scratch: Scratch::default(),
            layouts: Vec::new(),
            spools: Vec::new(),
            joins: Vec::new(),
            stages: Vec::new(),
            tapes: Vec::new(),
            handlers: Vec::new(),
            errors: Vec::new(),
            is_rethrowing: false,
            emits_to: None,
            snapshot_time: None,
            calls: None,
            head: 0,
            declared: 0,
            request: None,
            compiled: None,
            procedure,
        };
        frame.fit();
        frame
    }

    /// Whether the run uses the table: its procedure, its callers, or procedures that these call.
    pub fn uses_table(&self, table: TableId) -> bool {
        let callers = self.calls.iter().flat_map(|calls| &calls.callers);
        self.procedure.uses_table(table) || callers.into_iter().any(|frame| frame.procedure.uses_table(table))
    }

    /// How many triggers the run is inside of.
    pub(crate) fn trigger_depth(&self) -> u32 {
        let Some(calls) = &self.calls else { return u32::from(self.procedure.is_trigger) };
        let active = calls.callers.iter().map(|frame| &frame.procedure).chain([&self.procedure]);
        active.map(|procedure| u32::from(procedure.is_trigger)).sum()
    }

    /// Back to the first instruction, for the next run. Registers keep their values.
    pub fn restart(&mut self) {
        self.unwind();
        self.next = 0;
        self.declared = 0;
        self.affected = 0;
        self.handlers.clear();
        self.errors.clear();
        self.emits_to = None;
        self.request = None;
        self.compiled = None;
    }

    /// Back to the outermost procedure, when a run is given up in the middle of a call.
    fn unwind(&mut self) {
        let Some(calls) = &mut self.calls else { return };
        if calls.callers.is_empty() {
            return;
        }
        let mut outermost = calls.callers.swap_remove(0);
        calls.callers.clear();
        std::mem::swap(&mut self.calls, &mut outermost.calls);
        *self = outermost;
    }

    /// Whether the row of the first instruction has been made elsewhere ([`Frame::offer_row`]).
    pub fn has_offered_row(&self) -> bool {
        self.has_offered_row
    }

    /// Whether no instruction has been executed since the last restart.
    pub fn is_at_start(&self) -> bool {
        self.next == 0
    }

    /// To the start of a procedure, with all registers NULL. Keeps the buffers.
    pub fn switch(&mut self, procedure: &Arc<Procedure>) {
        self.unwind();
        if self.procedure.is(procedure) {
            return self.reset();
        }
        self.has_offered_row = false;
        self.registers.clear();
        self.procedure = LocalArc::from(Arc::clone(procedure));
        self.fit();
        self.restart();
    }

    /// To the start of the same procedure, with all registers NULL.
    pub fn reset(&mut self) {
        self.has_offered_row = false;
        self.restart();
        self.registers.iter_mut().for_each(|register| register.put(Value::Null));
    }

    /// To the start of the same procedure, with all registers NULL, to be kept for the next run. Drops
    /// everything that may be large, because memory between statements is charged to no session.
    pub fn put_away(&mut self) {
        self.reset();
        self.emitted.clear();
        self.stages.iter_mut().for_each(|stage| *stage = None);
        self.spools.iter_mut().for_each(|spool| spool.put_away(KEPT_ROWS));
        self.joins.iter_mut().for_each(JoinTable::put_away);
        for row in &mut self.rows {
            row.bytes.clear();
            row.bytes.shrink_to(KEPT_BYTES);
        }
        self.scratch.put_away(KEPT_BYTES);
        if let Some(calls) = &mut self.calls {
            calls.spare.iter_mut().for_each(Frame::put_away);
        }
    }

    /// Sets a register.
    #[inline]
    pub fn set_register(&mut self, register: usize, value: Value) {
        self.declared = 0;
        self.registers[register].put(value);
    }

    /// Makes room for every slot of the procedure.
    fn fit(&mut self) {
        let procedure = &self.procedure;
        self.registers.resize(usize::from(procedure.registers), Value::Null);
        self.rows.resize_with(usize::from(procedure.rows), RowBuffer::default);
        for (slot, row) in self.rows.iter_mut().enumerate() {
            row.leading = procedure.leading.get(slot).copied().unwrap_or_default();
        }
        self.cursors.resize_with(usize::from(procedure.cursors), CursorState::default);
        self.spools.resize_with(usize::from(procedure.spools), Spool::default);
        self.joins.resize_with(usize::from(procedure.joins), JoinTable::default);
        self.stages.resize_with(procedure.stages.len(), || None);
        self.layouts.clear();
        self.layouts.resize(usize::from(procedure.rows), None);
        for instruction in &procedure.code {
            if let Some((table, row)) = procedure.filled_slot(instruction) {
                let layout = Arc::clone(&procedure.tables[usize::from(table)].layout);
                self.layouts[usize::from(row)] = Some(layout);
            }
        }
    }
}
