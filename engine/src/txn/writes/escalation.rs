//! From many row locks to one lock on the table.
//!
//! A transaction that has locked thousands of rows of a table would fill the lock table with entries, and
//! every further row costs a look at them. So after this many row locks (`Config::row_locks_before_table`) it
//! tries to lock the whole table, and then needs no more locks on rows and gaps. It tries and never waits: it
//! gets the table only while no other transaction is in it, so no other loses anything it had, and no new
//! deadlock can arise. Otherwise it goes on row by row, and tries again after as many more.
//!
//! A transaction that inserts and deletes takes the table in `Write`, one that changes other columns than the
//! key in `NoKeyWrite`. One that only reads takes it in `Read`, after [`READERS_PATIENCE`] times as many row
//! locks: two readers that hold `Read` and then want to write a row each block each other, which they do not
//! with row locks. One that only looks at keys never takes the table.
//!
//! **The attempt.** The stripes of the other workers come first, the transaction's own last. Those are new,
//! and can be given back without a trace if one of them is not free: nothing has been read or written under
//! them, so giving them back before the end of the transaction does not break two-phase locking. Its own
//! stripe is an upgrade, which either happens or changes nothing; when it happens, all are held. (From
//! `NoKeyWrite` to `Write` all are upgrades. Those that have happened stay.)
//!
//! **Why no dependency is lost** (pitfalls 3, 19). Let T hold the table from here on.
//! 1. *What T follows.* A transaction that has written a row of the table has held an intent on the stripe
//!    of its worker, and had its place in a log before it gave that up. `Read`, `NoKeyWrite` and `Write`
//!    follow all that has a place when they get a stripe. So T.LV covers everything that the records of the
//!    table could say, although T does not look at their writers.
//! 2. *What follows T.* The rows that T writes name it, and a later transaction that enters by some stripe
//!    finds T's trace in the mode that T holds at its end, which all follow.
//! 3. *What is forgotten.* A stripe's trace is dropped like all others, when the floor covers it. Then the
//!    floor stands for it. `purge` may find a key that T has emptied: it enters by a stripe as well, so T is
//!    over, and a transaction that puts a row there later follows T by its stripe.
//!
//! This is what a lock on the whole table at the beginning of a transaction has always relied on. That T
//! holds single rows as well changes nothing.

use std::sync::Arc;

use super::Body;
use super::modes::{is_of_one_stripe, row_mode};
use super::resource::{Resource, TABLE_STRIPES};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::table::Table;
use crate::txn::Intent;
use crate::txn::lock_mode::LockMode;

/// A reader asks for the table after this many times more row locks than a writer.
const READERS_PATIENCE: u32 = 10;

impl<P: Protocol> Body<P> {
    /// Whether a row of the table, or a gap, needs a lock of its own. To be called before each lock; counts
    /// the calls.
    #[inline(always)]
    pub(super) fn locks_rows(&mut self, table: &Arc<Table>, intent: Intent) -> bool {
        let place = self.table_place(table);
        let used = &mut self.tables[place];
        let wanted = row_mode(intent);
        if used.mode.is_some_and(|mode| !is_of_one_stripe(mode) && mode.covers(wanted)) {
            return false;
        }
        used.countdown.left -= 1;
        used.countdown.left > 0 || !self.escalate(place, wanted)
    }

    /// Tries to lock the whole table; see the module head.
    #[cold]
    fn escalate(&mut self, place: usize, wanted: LockMode) -> bool {
        let row_locks = self.shared.row_locks_before_table;
        let used = &mut self.tables[place];
        if self.pending.is_some() {
            // The transaction must first repeat the request that it has waited for.
            used.countdown.left = 1;
            return false;
        }
        used.countdown.left = row_locks;
        if self.held.len() < row_locks as usize {
            // The same few rows, many times.
            return false;
        }
        used.countdown.rounds += 1;
        let mode = used.mode.map_or(wanted, |held| held.join(wanted));
        let is_early = mode == LockMode::Read && used.countdown.rounds < READERS_PATIENCE;
        if is_early || is_of_one_stripe(mode) {
            return false;
        }
        let (table, worker) = (used.table.id(), self.worker);
        let before = self.held.len();
        let others = if mutant::is_active(Mutant::EscalateOneStripe) { 0 } else { TABLE_STRIPES - 1 };
        for step in (1..=others).chain([TABLE_STRIPES]) {
            if !self.lock_without_waiting(Resource::table_stripe(table, worker + step), mode) {
                while self.held.len() > before {
                    self.let_go(self.held[self.held.len() - 1]);
                }
                return false;
            }
        }
        self.tables[place].mode = Some(mode);
        true
    }
}
