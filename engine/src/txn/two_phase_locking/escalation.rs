//! From many row locks to one lock on the table.
//!
//! A transaction that has locked thousands of rows of a table would fill the lock table with entries, and
//! every further row costs a look at them. So after so many (`Config::row_locks_before_table`) it tries to
//! lock the whole table, and then needs no locks on rows and gaps any more. It tries and never waits: it gets
//! the table only while nobody else is in it, so nobody is kept from what he had, and nothing can be part of
//! a deadlock that was none before. Otherwise it goes on row by row, and tries again after as many more.
//!
//! Who inserts and deletes takes the table in `Write`, who changes other columns than the key in
//! `NoKeyWrite`. Who only reads takes it in `Read`, and [`READERS_PATIENCE`] times later: two readers that
//! hold `Read` and then want to write a row each stand in each other's way, as row locks do not. Who only
//! looks at keys never does.
//!
//! **The attempt.** The stripes of the other workers come first, the transaction's own last. Those are new,
//! and can be given back without a trace if one of them is not free: nothing has been read or written under
//! them, so giving them back before the end of the transaction does not break two-phase locking. The own one
//! is an upgrade, which either happens or changes nothing; when it happens, all are held. (From `NoKeyWrite`
//! to `Write` all are upgrades. Those that have happened stay.)
//!
//! **Why no dependency is lost** (pitfalls 3, 19, 22, 23). Let T hold the table from here on.
//! 1. *What T follows.* Whoever has touched a row, a gap or an absent key of the table has held an intent on
//!    the stripe of his worker, and left his trace there, before he gave it up: data writers an intent's
//!    (`IntentWrite`), command-logged readers too (`IntentRead`, `KeyRead`), those who had the whole table a
//!    writer's or a reader's. `Write` follows all of them, on every stripe. `NoKeyWrite` follows all but
//!    those who have only looked at keys, and T leaves the keys alone: what it inserts or deletes it still
//!    locks row by row. `Read` follows writers and intents, and needs no more, for a reader follows no
//!    reader. So T.LV covers all that the traces on single rows and gaps could tell, though T does not look
//!    at them any more.
//! 2. *Who follows T.* Whoever comes later enters by some stripe. There stands T's trace in the mode that T
//!    holds at its end: a writer's is followed by everybody (and keeps that of readers of keys, who may have
//!    been there beside `NoKeyWrite`), a command-logged reader's by every writer. Traces that T leaves on the
//!    rows it had locked before are the same token again; rows that it touched afterwards need none.
//! 3. *What is forgotten.* A stripe's trace is dropped as all others are, when the floor covers it; then the
//!    floor stands for it. `purge` may find a key that T has emptied without a trace of its own: it enters by
//!    a stripe as well, so T is over, and whoever puts a row there later follows T by his stripe.
//! 4. *Gaps.* T's inserts divide gaps still (`divide_gap`): those who come later must find the readers of the
//!    whole in both parts.
//!
//! This is what a lock on the whole table at the beginning of a transaction has always relied on; that T
//! holds single rows as well changes nothing in it.

use std::sync::Arc;

use super::LockingTransaction;
use super::modes::{is_of_one_stripe, row_mode};
use super::resource::{Resource, TABLE_STRIPES};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::table::Table;
use crate::txn::Intent;
use crate::txn::lock_mode::LockMode;

/// A reader asks for the table after so many times more row locks than a writer.
const READERS_PATIENCE: u32 = 10;

impl<P: Protocol> LockingTransaction<P> {
    /// Whether a row of the table, or a gap, needs a lock of its own: asked before each, and counted.
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
            // Whatever it has waited for is settled by asking for it again.
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
