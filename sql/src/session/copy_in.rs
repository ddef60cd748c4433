//! COPY FROM STDIN.
//!
//! Data comes in chunks of any size; lines are cut out of them ([`Lines`]), fields out of lines (out of the
//! chunks themselves in binary data, [`BinaryRows`]), and each row goes through the insert procedure. When
//! that waits for another transaction, the caller repeats the call with the same chunk: the chunk has been
//! taken already then, only the row that waits runs on.
//!
//! Reference: PostgreSQL's documentation of COPY, messages of copyfromparse.c.

use std::sync::Arc;

use hyades_engine::db::Savepoint;
use hyades_engine::procedure::frame::Frame;

use super::Prepared;
use super::copy_binary::BinaryRows;
use super::copy_fields::Field;
use super::copy_lines::Lines;
use crate::plan::Plan;
use crate::statement::CopyHeader;

/// Data on its way into rows.
pub(super) enum Data {
    /// Text and CSV.
    Lines(Lines),
    Binary(BinaryRows),
}

/// COPY FROM in progress.
pub(super) struct CopyIn {
    pub(super) statement: Arc<Prepared>,
    pub(super) plan: Arc<Plan>,
    pub(super) data: Data,
    pub(super) savepoint: Savepoint,
    /// Of text: the row in the frame, to be read again if the table changed before the first row.
    pub(super) line: Vec<u8>,
    /// The current chunk has been taken; the call that brought it is being repeated after a wait.
    pub(super) is_taken: bool,
    /// The frame holds a row that is not inserted yet.
    pub(super) is_row_pending: bool,
    pub(super) frame: Frame,
    /// Of text.
    pub(super) fields: Vec<Field>,
    /// Of binary data: how many fields of the row that has begun are in the frame.
    pub(super) read_fields: usize,
    pub(super) line_number: u64,
    /// What the next line is, if it is no row.
    pub(super) header: CopyHeader,
    pub(super) rows: u64,
}
