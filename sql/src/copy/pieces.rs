//! Data of COPY FROM, divided into pieces that helpers read.
//!
//! ```text
//!   chunks --> incoming --cut at the end of a row--> pieces in flight, in order --> rows --> insertion
//!                                                      |  ^
//!                                                      v  | read ahead by helpers
//! ```
//! The session takes the pieces in order. It does not wait for one that has not been read when it must go on:
//! it takes it back, if no helper has begun; otherwise it reads a later piece meanwhile; and if there is none
//! left, it reads the same piece again. It must go on when as many pieces are in flight as may be, and at the
//! end of the data.
//!
//! A row that is longer than a piece, or too little memory, ends the division. What follows is read by the
//! session alone, until as much data as before the division has arrived.
//!
//! Decision: docs/decisions/2026-11-29-copy-in-parallel.md.

use std::collections::VecDeque;
use std::sync::Arc;

use hyades_engine::helpers::Helpers;
use hyades_types::memory::{self, Account, Charge, Limits};
use hyades_types::text::Reading;

use super::copy_plan::CopyInPlan;
use super::incoming::Incoming;
use super::piece::{Piece, Recipe, Rows};
use super::row_ends::last_row_end;

/// Bytes of a piece: read in a few milliseconds, so large that handing it over costs nothing in comparison.
const PIECE_BYTES: usize = 256 << 10;
/// As many bytes as these pieces have are read by the session before it divides what follows.
const PIECES_BEFORE: usize = 2;
/// The most pieces of one COPY that are in flight: the insertion of rows keeps up with no more helpers.
const MOST_IN_FLIGHT: usize = 16;
/// The memory that a helper may use for the rows of a piece: so many times as the piece has bytes, and what
/// reading takes for itself.
const BYTES_OF_ROWS: usize = 8;
const BYTES_OF_READING: usize = 64 << 10;

/// How the sessions of a database divide their data.
pub(crate) struct Sharing {
    helpers: Helpers,
    piece_bytes: usize,
}

impl Default for Sharing {
    fn default() -> Sharing {
        Sharing { helpers: Helpers::for_this_machine(), piece_bytes: PIECE_BYTES }
    }
}

impl Sharing {
    /// With these helpers, and pieces of this many bytes.
    #[cfg(test)]
    pub(crate) fn of(helpers: Helpers, piece_bytes: usize) -> Sharing {
        Sharing { helpers, piece_bytes }
    }

    /// Whether a COPY of which this many bytes have arrived is long enough for helpers.
    pub(super) fn is_worthwhile(&self, bytes: usize) -> bool {
        self.helpers.most() > 0 && bytes > PIECES_BEFORE * self.piece_bytes
    }

    fn most_in_flight(&self) -> usize {
        (2 * self.helpers.most() + 1).min(MOST_IN_FLIGHT)
    }

    fn memory_per_piece(&self) -> usize {
        BYTES_OF_ROWS * self.piece_bytes + BYTES_OF_READING
    }
}

/// What the session has to do next.
pub(super) enum Portion {
    /// Insert these rows of a piece, then read the rest of it.
    Read(Arc<Vec<u8>>, Rows),
    /// Read this piece.
    Unread(Arc<Vec<u8>>),
    /// Read what is left. Nothing is divided any more.
    Rest(Vec<u8>),
}

/// Data that is divided.
pub(super) struct Pieces {
    sharing: Arc<Sharing>,
    pub(super) recipe: Arc<Recipe>,
    /// What has not been cut into pieces.
    incoming: Incoming,
    in_flight: VecDeque<Arc<Piece>>,
    /// For what helpers may use.
    charge: Charge,
    is_over: bool,
}

impl Pieces {
    /// Begins with these bytes of whole rows, the last of which may be incomplete.
    pub(super) fn begin(
        sharing: &Arc<Sharing>,
        plan: &Arc<CopyInPlan>,
        reading: Reading<'_>,
        (account, limits): (&Account, Limits),
        bytes: Vec<u8>,
    ) -> Pieces {
        let limits = Limits { connection_bytes: sharing.memory_per_piece(), ..limits };
        Pieces {
            sharing: Arc::clone(sharing),
            recipe: Arc::new(Recipe::new(plan, reading, limits)),
            incoming: Incoming { bytes, start: 0, seen: 0 },
            in_flight: VecDeque::new(),
            charge: Charge::none(&account.keeper()),
            is_over: false,
        }
    }

    /// Takes the next chunk.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.incoming.take(bytes);
    }

    /// Whether the session must go on with what it has before it takes more.
    pub(super) fn is_crowded(&self) -> bool {
        self.is_full() && self.incoming.bytes.len() - self.incoming.start >= self.sharing.piece_bytes
    }

    fn is_full(&self) -> bool {
        self.in_flight.len() >= self.sharing.most_in_flight()
    }

    /// What comes next in the data. `None` if that should be left to helpers until more has arrived.
    pub(super) fn next(&mut self, is_last: bool) -> Option<Portion> {
        loop {
            self.cut();
            let Some(first) = self.in_flight.front() else {
                return (is_last || self.is_over).then(|| Portion::Rest(self.incoming.give_up_rest()));
            };
            if let Some((bytes, rows)) = first.take_rows() {
                self.leave_first();
                memory::adopt(rows.allocated);
                return Some(Portion::Read(bytes, rows));
            }
            if !is_last && !self.is_over && !self.is_full() {
                return None;
            }
            let unread = first.take_unread();
            if unread.is_none() && self.in_flight.iter().any(|piece| piece.read_here()) {
                continue;
            }
            // The first may have been read by now.
            if let Some(bytes) = unread.or_else(|| self.in_flight[0].take_back()) {
                self.leave_first();
                return Some(Portion::Unread(bytes));
            }
        }
    }

    fn leave_first(&mut self) {
        self.in_flight.pop_front();
        self.charge.add(-self.sharing.memory_per_piece().cast_signed());
    }

    /// Offers as many pieces as may be in flight.
    fn cut(&mut self) {
        let length = self.sharing.piece_bytes;
        while !self.is_over && !self.is_full() {
            let Some(bytes) = self.incoming.bytes.get(self.incoming.start..self.incoming.start + length)
            else {
                return;
            };
            let end = last_row_end(bytes, &self.recipe.plan().options);
            if end == 0 || memory::check(self.sharing.memory_per_piece()).is_err() {
                self.is_over = true;
                return;
            }
            let piece = Arc::new(Piece::new(&self.recipe, bytes[..end].to_vec()));
            self.incoming.start += end;
            self.incoming.seen = self.incoming.start;
            self.charge.add(self.sharing.memory_per_piece().cast_signed());
            self.sharing.helpers.offer(Arc::clone(&piece) as _);
            self.in_flight.push_back(piece);
        }
    }

    /// Ends the division: everything that no [`Portion`] has held yet, in order.
    pub(super) fn give_up(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in self.in_flight.drain(..) {
            if let Some(unread) = piece.take_back() {
                bytes.extend_from_slice(&unread);
            }
        }
        bytes.append(&mut self.incoming.give_up_rest());
        bytes
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        for piece in &self.in_flight {
            piece.take_back();
        }
        self.charge.clear();
    }
}
