//! A piece of COPY data, and the rows that it becomes.
//!
//! A piece consists of whole rows. Reading it depends on its bytes and on a [`Recipe`] alone, so a helper can
//! do it as well as the session that needs the rows. Reading stops at whatever is not simply a row
//! that its table takes: an error, a NULL in the wrong column, the row `\.`, too much memory. The session
//! reads on from there, row by row, so that every error comes from one place and has the right line.
//!
//! ```text
//!   offered --begin--> being read --publish--> read
//!      \                   \                    /
//!       `-------------------`--- take back ----'     the session has its bytes, or its rows
//! ```

use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyades_engine::helpers::Task;
use hyades_engine::procedure::ir::RowSlot;
use hyades_types::memory::{self, Account, Limits};
use hyades_types::text::{DateStyles, Reading};
use hyades_types::value::Value;
use jiff::tz::TimeZone;
use parking_lot::Mutex;

use super::copy_plan::CopyInPlan;
use super::row_source::RowSource;

/// What it takes to read a piece.
pub(super) struct Recipe {
    plan: Arc<CopyInPlan>,
    time_zone: TimeZone,
    styles: DateStyles,
    now: Option<i64>,
    /// The memory that a helper may use for the rows of a piece.
    limits: Limits,
    /// Where the frame takes the bytes of a row, if the insertion begins with making one.
    pub(super) slot: Option<RowSlot>,
}

/// A row that was read.
pub(super) struct ReadRow {
    /// Where in the piece the next row begins.
    pub(super) end: usize,
    /// Where in [`Rows::encoded`] the next row begins.
    pub(super) encoded_end: usize,
    /// How many lines it takes.
    pub(super) lines: u64,
}

/// The rows of a piece from its beginning on.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<ReadRow>,
    /// As bytes for the table, if the recipe has a slot for them.
    pub(super) encoded: Vec<u8>,
    /// Otherwise as values, one row after the other.
    pub(super) values: Vec<Value>,
    /// What a helper has allocated for them.
    pub(super) allocated: usize,
}

impl Recipe {
    pub(super) fn new(plan: &Arc<CopyInPlan>, reading: Reading<'_>, limits: Limits) -> Recipe {
        Recipe {
            plan: Arc::clone(plan),
            time_zone: reading.time_zone.clone(),
            styles: reading.styles,
            now: reading.now,
            limits,
            slot: plan.insert.first_row().map(|first| first.slot()),
        }
    }

    pub(super) fn plan(&self) -> &CopyInPlan {
        &self.plan
    }

    /// Reads rows for as long as they are wanted.
    pub(super) fn read(&self, bytes: &[u8], is_wanted: impl Fn() -> bool) -> Rows {
        let reading = Reading { styles: self.styles, now: self.now, ..(&self.time_zone).into() };
        let first = self.plan.insert.first_row();
        let mut source = RowSource::of_rows(&self.plan, 0);
        source.take(bytes);
        let (mut rows, mut line) = (Rows::default(), 0);
        while is_wanted() && matches!(source.next(&self.plan, false, reading), Ok(true)) {
            match &first {
                None => rows.values.append(&mut source.values),
                Some(first) => {
                    let length = rows.encoded.len();
                    if !matches!(first.append(&source.values, &mut rows.encoded), Ok(true)) {
                        rows.encoded.truncate(length);
                        break;
                    }
                }
            }
            let lines = source.line_number - line;
            line = source.line_number;
            rows.rows.push(ReadRow { end: source.consumed(), encoded_end: rows.encoded.len(), lines });
            if memory::check(0).is_err() {
                break;
            }
        }
        rows
    }
}

enum State {
    Offered(Arc<Vec<u8>>),
    BeingRead(Arc<Vec<u8>>),
    Read(Arc<Vec<u8>>, Rows),
    TakenBack,
}

/// A piece on its way.
pub(super) struct Piece {
    recipe: Arc<Recipe>,
    state: Mutex<State>,
    is_wanted: AtomicBool,
}

impl Piece {
    pub(super) fn new(recipe: &Arc<Recipe>, bytes: Vec<u8>) -> Piece {
        Piece {
            recipe: Arc::clone(recipe),
            state: Mutex::new(State::Offered(Arc::new(bytes))),
            is_wanted: AtomicBool::new(true),
        }
    }

    /// The bytes, for who reads them. `None` if a thread has begun.
    fn begin(&self) -> Option<Arc<Vec<u8>>> {
        let mut state = self.state.lock();
        let State::Offered(bytes) = &*state else { return None };
        let bytes = Arc::clone(bytes);
        *state = State::BeingRead(Arc::clone(&bytes));
        Some(bytes)
    }

    fn publish(&self, rows: Rows) {
        let mut state = self.state.lock();
        if let State::BeingRead(bytes) = &*state {
            *state = State::Read(Arc::clone(bytes), rows);
        }
    }

    /// Reads it on this thread, for the session that computes. Returns false if another has begun.
    pub(super) fn read_here(&self) -> bool {
        let Some(bytes) = self.begin() else { return false };
        self.publish(self.recipe.read(&bytes, || true));
        true
    }

    /// The bytes and the rows, once it has been read.
    pub(super) fn take_rows(&self) -> Option<(Arc<Vec<u8>>, Rows)> {
        let mut state = self.state.lock();
        let State::Read(bytes, rows) = &mut *state else { return None };
        let read = (Arc::clone(bytes), take(rows));
        *state = State::TakenBack;
        Some(read)
    }

    /// The bytes, unless a thread has begun to read them.
    pub(super) fn take_unread(&self) -> Option<Arc<Vec<u8>>> {
        let mut state = self.state.lock();
        let State::Offered(bytes) = &mut *state else { return None };
        let bytes = take(bytes);
        *state = State::TakenBack;
        Some(bytes)
    }

    /// The bytes, also if they are being read. What has been read is forgotten.
    pub(super) fn take_back(&self) -> Option<Arc<Vec<u8>>> {
        self.is_wanted.store(false, Ordering::Relaxed);
        match std::mem::replace(&mut *self.state.lock(), State::TakenBack) {
            State::Offered(bytes) | State::BeingRead(bytes) | State::Read(bytes, _) => Some(bytes),
            State::TakenBack => None,
        }
    }
}

impl Task for Piece {
    fn run(&self) {
        let Some(bytes) = self.begin() else { return };
        let account = Account::new(self.recipe.limits);
        let entered = account.enter();
        let mut rows = self.recipe.read(&bytes, || self.is_wanted.load(Ordering::Relaxed));
        account.leave(entered);
        rows.allocated = account.used_bytes();
        // The session, which has allocated them, is to free them.
        drop(bytes);
        self.publish(rows);
    }
}
