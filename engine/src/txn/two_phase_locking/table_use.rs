//! What a transaction knows of a table it is in.

use std::sync::Arc;

use crate::storage::table::Table;
use crate::txn::lock_mode::LockMode;

/// A table this worker has met; `mode` is what the running transaction holds of it.
pub(super) struct TableUse {
    pub(super) table: Arc<Table>,
    pub(super) mode: Option<LockMode>,
    /// Its definition is locked for reading at snapshots.
    pub(super) is_defined: bool,
    pub(super) countdown: Countdown,
}

/// When a transaction that uses a table will try to lock it as a whole.
pub(super) struct Countdown {
    /// Accesses until then.
    pub(super) left: u32,
    /// How often it has come to that.
    pub(super) rounds: u32,
}

impl Countdown {
    pub(super) fn new(row_locks: u32) -> Countdown {
        Countdown { left: row_locks, rounds: 0 }
    }
}
