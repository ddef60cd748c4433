//! Locking a table against all others without keeping them waiting for longer than necessary: DROP INDEX
//! CONCURRENTLY.
//!
//! A transaction that requests all stripes of a table waits in a queue until the last other one has ended,
//! and all that come meanwhile wait after it. Here it first waits for the transactions in the table without
//! standing in a queue (`LockTable::outlast`), as often as others have come in the meantime, and takes the
//! locks when it gets all of them at once. Only if the table is in use all the time does it request them in
//! the queue after all.

use std::sync::Arc;

use super::Body;
use super::resource::{Resource, TABLE_STRIPES};
use crate::protocol::Protocol;
use crate::storage::table::Table;
use crate::txn::Flow;
use crate::txn::lock_mode::LockMode;

/// How often all transactions in the table are waited for.
pub(super) const TRIES: u32 = 16;

impl<P: Protocol> Body<P> {
    /// See the module head. To be called again after a wait.
    pub(super) fn lock_everybody_out_patiently(&mut self, table: &Arc<Table>) -> Flow<()> {
        while self.patience.tries < TRIES {
            while let Some((resource, others)) = self.patience.awaited.pop() {
                if let Err(interrupt) = self.outlast(resource, &others) {
                    self.patience.awaited.push((resource, others));
                    return Err(interrupt);
                }
            }
            if self.lock_everybody_out_at_once(table) {
                return Ok(());
            }
            self.patience.tries += 1;
            self.patience.awaited = self.users_of(table, |_| true);
        }
        self.lock_everybody_out(table)
    }

    fn lock_everybody_out_at_once(&mut self, table: &Arc<Table>) -> bool {
        let before = self.held.len();
        let place = self.table_place(table);
        self.tables[place].give_up_plans();
        let stripe = |stripe| {
            [Resource::definition_stripe(table.id(), stripe), Resource::table_stripe(table.id(), stripe)]
        };
        for resource in (0..TABLE_STRIPES).flat_map(stripe) {
            if !self.lock_without_waiting(resource, LockMode::Write) {
                // Nothing relies on them yet.
                while self.held.len() > before {
                    self.let_go(self.held[self.held.len() - 1]);
                }
                return false;
            }
        }
        self.tables[place].mode = Some(LockMode::Write);
        self.tables[place].note_entered();
        true
    }
}
