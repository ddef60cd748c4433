//! Where a written row is accounted for: in the log record, or, for temporary tables, which no log knows, in
//! the memory of the session.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};

use super::LockingTransaction;
use crate::protocol::Protocol;
use crate::storage::table::Table;

impl<P: Protocol> LockingTransaction<P> {
    /// Notes a written row, or a removed one. A call is logged by its name and writes no temporary tables.
    #[inline]
    pub(super) fn log_write(&mut self, table: &Arc<Table>, key: &[u8], row: Option<&[u8]>) {
        if self.command.is_some() {
            return;
        }
        if table.id().is_temporary() {
            table.state(&epoch::pin()).charge_write(key, row);
        } else if P::WRITES_LOG {
            match row {
                Some(row) => self.payload.put(table.id(), key, row),
                None => self.payload.delete(table.id(), key),
            }
        }
    }
}

/// A row of a temporary table may be gone.
pub(super) fn charge_removal(table: &Table, key: &[u8], guard: &Guard) {
    if table.id().is_temporary() {
        table.state(guard).charge_write(key, None);
    }
}
