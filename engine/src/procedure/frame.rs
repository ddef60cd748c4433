//! The state of one run of a procedure: where it stands and what its slots hold.
//!
//! A frame outlives waits: the interpreter leaves everything it needs in it and a later call resumes. Sessions reuse frames, so
//! that a prepared statement allocates nothing once its buffers have grown.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::ir::{Label, Procedure};
use crate::value::Value;

/// A copy of a stored row and the primary key it was found under.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    /// The row's bytes (see `storage::row`).
    pub bytes: Vec<u8>,
    /// The primary key in index order (see `value::key`).
    pub key: Vec<u8>,
}

/// What expressions may ask about their surroundings; captured once per transaction or statement, so that replay can be
/// given the same.
#[derive(Clone, Debug)]
pub struct Environment {
    /// `now()`: start of the transaction, microseconds since 2000-01-01 UTC.
    pub transaction_time: i64,
    /// `statement_timestamp()`.
    pub statement_time: i64,
    pub time_zone: jiff::tz::TimeZone,
    pub user: String,
    pub database: String,
    /// Set from another thread to make the run fail with 57014 (query canceled); looked at every few instructions.
    pub interrupt: Arc<AtomicBool>,
    /// State of `random()`.
    pub random: rand::rngs::SmallRng,
}

/// Receives the rows that a procedure emits.
pub trait RowSink {
    /// One result row. The values may be taken; an error ends the run.
    fn row(&mut self, values: &mut [Value]) -> crate::Result<()>;
}

/// See the module head.
pub struct Frame {
    pub procedure: Arc<Procedure>,
    pub registers: Vec<Value>,
    pub rows: Vec<RowBuffer>,
    pub affected: u64,
    /// The next instruction.
    pub(crate) next: Label,
    pub(crate) cursors: Vec<super::access::Cursor>,
    pub(crate) emitted: Vec<Value>,
}
