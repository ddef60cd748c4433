//! The rows of COPY FROM STDIN, one after another, in the frame of the procedure that inserts one.
//!
//! The session reads the beginning of the data itself ([`RowSource`]). If there is much of it, what follows
//! is divided into pieces that helpers read ahead ([`Pieces`]); the rows still come in the order of the data.
//! While data is divided, every chunk lets the session insert twice as many bytes as it brings: so no chunk
//! keeps it for long, and what it lags behind grows less.

use std::sync::Arc;
use std::vec::IntoIter;

use hyades_engine::procedure::frame::Frame;
use hyades_engine::procedure::ir::RowSlot;
use hyades_types::error::{Error, Result};
use hyades_types::guest;
use hyades_types::memory::{Account, Limits};
use hyades_types::text::Reading;
use hyades_types::value::Value;

use super::copy_plan::CopyInPlan;
use super::piece::ReadRow;
use super::pieces::{Pieces, Portion, Sharing};
use super::row_source::{RowSource, UNITS_PER_ROW, with_context};

/// The bytes that may be inserted for each that arrives, while data is divided.
const PACE: usize = 2;

/// Data of COPY FROM on its way into rows.
pub(crate) struct Intake {
    /// Inserts the current row.
    pub(crate) frame: Frame,
    sharing: Arc<Sharing>,
    /// What the session reads itself. Empty while there are rows that were read ahead.
    source: RowSource,
    /// Rows that were read ahead.
    ahead: Option<Ahead>,
    /// Data that comes after all of this, while it is divided.
    pieces: Option<Pieces>,
    /// Bytes that have arrived since the beginning, or since data was divided last.
    taken: usize,
    /// Bytes that may still be inserted before more arrives, while data is divided.
    may_insert: usize,
    /// Whether the current row was read ahead.
    is_ahead: bool,
}

/// The rows of a piece that are not inserted yet.
struct Ahead {
    bytes: Arc<Vec<u8>>,
    rows: IntoIter<ReadRow>,
    slot: Option<RowSlot>,
    encoded: Vec<u8>,
    values: IntoIter<Value>,
    /// The current row in the piece, and its number of lines.
    start: usize,
    end: usize,
    lines: u64,
    /// Where in `encoded` the next row begins.
    encoded_start: usize,
}

impl Intake {
    pub(crate) fn new(plan: &CopyInPlan, sharing: &Arc<Sharing>) -> Intake {
        Intake {
            frame: Frame::new(Arc::clone(&plan.insert)),
            sharing: Arc::clone(sharing),
            source: RowSource::new(plan),
            ahead: None,
            pieces: None,
            taken: 0,
            may_insert: 0,
            is_ahead: false,
        }
    }

    /// Takes the next chunk.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        match &mut self.pieces {
            None => {
                self.source.take(bytes);
                self.taken = self.taken.saturating_add(bytes.len());
            }
            Some(pieces) => {
                pieces.take(bytes);
                self.may_insert = bytes.len().saturating_mul(PACE);
            }
        }
    }

    /// Divides the data that has arrived, and what follows, if there is enough of it.
    pub(crate) fn divide(
        &mut self,
        plan: &Arc<CopyInPlan>,
        reading: Reading<'_>,
        (account, limits): (&Account, Limits),
    ) {
        if self.pieces.is_none() && self.sharing.is_worthwhile(self.taken) && self.source.is_among_rows() {
            let rest = self.source.give_up_rest();
            self.may_insert = rest.len();
            self.pieces = Some(Pieces::begin(&self.sharing, plan, reading, (account, limits), rest));
        }
    }

    /// Adds the line that was read last to an error.
    pub(crate) fn placed(&self, plan: Option<&CopyInPlan>, error: Error) -> Error {
        let name = plan.map(|plan| plan.table.definition().name.name.clone()).unwrap_or_default();
        match self.source.line_number {
            0 => error,
            line => with_context(error, format!("COPY {name}, line {line}")),
        }
    }

    /// Reads the next complete row into the frame, with `is_last` also an incomplete one. Returns false if
    /// there is none, or if it can be left until more has arrived.
    pub(crate) fn next_row(
        &mut self,
        plan: &CopyInPlan,
        is_last: bool,
        reading: Reading<'_>,
    ) -> Result<bool> {
        loop {
            if !is_last && self.may_insert == 0 && self.pieces.as_ref().is_some_and(|all| !all.is_crowded()) {
                return Ok(false);
            }
            if self.next_ahead(plan)? {
                return Ok(true);
            }
            let is_end = is_last && self.pieces.is_none();
            if self.source.next(plan, is_end, reading)? {
                self.may_insert = self.may_insert.saturating_sub(self.source.last_row().len());
                self.is_ahead = false;
                self.load(plan);
                return Ok(true);
            }
            if !self.source.is_among_rows() {
                self.pieces = None;
            }
            let Some(pieces) = &mut self.pieces else { return Ok(false) };
            match pieces.next(is_last) {
                None => return Ok(false),
                Some(Portion::Unread(bytes)) => self.source.take(&bytes),
                Some(Portion::Rest(bytes)) => {
                    self.end_division();
                    self.source.take(&bytes);
                }
                Some(Portion::Read(bytes, rows)) => {
                    self.ahead = Some(Ahead {
                        bytes,
                        rows: rows.rows.into_iter(),
                        slot: pieces.recipe.slot,
                        encoded: rows.encoded,
                        values: rows.values.into_iter(),
                        start: 0,
                        end: 0,
                        lines: 0,
                        encoded_start: 0,
                    });
                }
            }
        }
    }

    fn end_division(&mut self) {
        (self.pieces, self.taken) = (None, 0);
    }

    /// Puts the values of the row that was read last into the frame.
    fn load(&mut self, plan: &CopyInPlan) {
        self.frame.switch(&plan.insert);
        for (register, value) in self.frame.registers.iter_mut().zip(&mut self.source.values) {
            std::mem::swap(register, value);
        }
    }

    /// Puts the next row that was read ahead into the frame. Returns false if there is none; what is left of
    /// its piece is then for the session to read.
    fn next_ahead(&mut self, plan: &CopyInPlan) -> Result<bool> {
        let Some(ahead) = &mut self.ahead else { return Ok(false) };
        let Some(row) = ahead.rows.next() else {
            self.source.take(&ahead.bytes[ahead.end..]);
            self.ahead = None;
            return Ok(false);
        };
        guest::spend_for(UNITS_PER_ROW)?;
        (ahead.start, ahead.end, ahead.lines) = (ahead.end, row.end, row.lines);
        self.source.line_number += row.lines;
        self.may_insert = self.may_insert.saturating_sub(ahead.end - ahead.start);
        self.is_ahead = true;
        self.frame.switch(&plan.insert);
        match ahead.slot {
            Some(slot) => {
                self.frame.offer_row(slot, &ahead.encoded[ahead.encoded_start..row.encoded_end]);
                ahead.encoded_start = row.encoded_end;
            }
            None => {
                let values = ahead.values.by_ref().take(plan.columns.len());
                for (register, value) in self.frame.registers.iter_mut().zip(values) {
                    register.put(value);
                }
            }
        }
        Ok(true)
    }

    /// Reads the row in the frame again, for a new plan. What was read ahead by the old one is forgotten.
    pub(crate) fn repeat_row(&mut self, plan: &CopyInPlan, reading: Reading<'_>) -> Result<()> {
        let (row, lines) = match self.ahead.as_ref().filter(|_| self.is_ahead) {
            Some(ahead) => (ahead.bytes[ahead.start..ahead.end].to_vec(), ahead.lines),
            None => (self.source.last_row().to_vec(), self.source.row_lines),
        };
        if let Some(ahead) = self.ahead.take() {
            self.source.take(&ahead.bytes[ahead.end..]);
        }
        if let Some(pieces) = self.pieces.take() {
            self.end_division();
            self.source.take(&pieces.give_up());
        }
        let mut again = RowSource::of_rows(plan, self.source.line_number - lines);
        again.take(&row);
        if again.next(plan, true, reading)? {
            std::mem::swap(&mut self.source.values, &mut again.values);
            self.load(plan);
        }
        Ok(())
    }
}
