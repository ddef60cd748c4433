//! Strict two-phase locking: a serializable transaction locks all that it reads, as every transaction locks
//! what it writes.
//!
//! It takes an intent lock on every table it enters and a row lock on every key it reads, present or absent.
//! Range scans also lock the *gap before* each key they pass and the gap before the first key beyond the
//! range (next-key locking), so that nothing can appear in a range that was read; inserts ask for the gap
//! they land in. A search for all columns of a unique index locks these values instead. Scans without bounds,
//! and scans of tables that have no order, lock the table. Transactions of other levels lock the same when
//! they need the newest version of a row, so these reads, and the table of all locks, are in `writes`.
//!
//! **Invariant.** Nothing is read or found absent by a serializable transaction without a lock that lasts to
//! the end of the transaction. So at its end, everything that it has read is as it was read.
//!
//! Reference: Gray and Reuter, "Transaction Processing" (1993), 7.8 and 8; Mohan, "ARIES/KVL" (1990).

use std::sync::Arc;

use crossbeam_epoch::Guard;

use crate::protocol::Protocol;
use crate::storage::table::Table;
use crate::txn::writes::{Body, Reading, Shared};
use crate::txn::{Cursor, Flow, Found, FoundAhead, Intent};

/// The control of a database under two-phase locking.
pub type TwoPhaseLocking<P> = Shared<P, Locking>;

/// Serializable transactions lock what they read.
pub struct Locking;

impl<P: Protocol> Reading<P> for Locking {
    #[inline(always)]
    fn enter(body: &mut Body<P, Locking>, table: &Arc<Table>, version: u64, intent: Intent) -> Flow<bool> {
        body.enter_to_lock(table, version, intent)
    }

    #[inline(always)]
    fn read_point<'g>(
        body: &mut Body<P, Locking>,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        ahead: Option<FoundAhead<'g>>,
        _buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        body.read_locked(table, key, intent, ahead, guard)
    }

    #[inline(always)]
    fn prefetch(body: &Body<P, Locking>, table: &Table, key: &[u8]) {
        body.prefetch_row_lock(table, key);
    }

    #[inline(always)]
    fn open_scan(body: &mut Body<P, Locking>, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()> {
        body.open_locked_scan(table, cursor)
    }

    #[inline(always)]
    fn next_row<'g>(
        body: &mut Body<P, Locking>,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        _buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        body.next_locked(table, cursor, guard).map(Found::from)
    }
}
