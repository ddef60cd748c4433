//! Calls that the session makes before a procedure runs.

use hyades_engine::procedure::ir::{Expr, Register};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionFunction {
    /// `current_setting(name [, missing_ok])`.
    CurrentSetting,
    /// `set_config(name, value, is_local)`.
    SetConfig,
    BackendProcess,
    /// For the row on which a cursor stands: (cursor, number and name of its table, position in the primary
    /// key).
    CursorKey,
    CurrentTransaction,
    /// `hyades_last_commit()`.
    LastCommit,
    /// `pg_listening_channels()`, as an array.
    ListeningChannels,
    /// `pg_get_serial_sequence(table, column)`.
    SerialSequence,
}

/// A call that the session makes before the procedure runs.
#[derive(Clone, Debug)]
pub(crate) struct SessionCall {
    pub(crate) function: SessionFunction,
    pub(crate) arguments: Vec<Expr>,
    pub(crate) into: Register,
}
