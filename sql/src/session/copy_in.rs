//! COPY FROM STDIN.
//!
//! Data comes in chunks of any size. Lines are cut out of them ([`Lines`]), and fields out of lines (for
//! binary data out of the chunks themselves, [`BinaryRows`]). Each row goes through the insert procedure.
//! When that waits for another transaction, the caller repeats the call with the same chunk. The chunk has
//! been taken by then, and only the row that waits runs on.
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

/// Data that is being split into rows.
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
    /// For text: the row in the frame, to be read again if the table changed before the first row.
    pub(super) line: Vec<u8>,
    /// Whether the current chunk has been taken. The call with it is being repeated after a wait.
    pub(super) is_taken: bool,
    /// Whether the frame holds a row that is not inserted yet.
    pub(super) is_row_pending: bool,
    pub(super) frame: Frame,
    /// For text: the fields of the row.
    pub(super) fields: Vec<Field>,
    /// For binary data: how many fields of the current row are in the frame.
    pub(super) read_fields: usize,
    pub(super) line_number: u64,
    /// How to treat the next line, if it is a header.
    pub(super) header: CopyHeader,
    pub(super) rows: u64,
}
