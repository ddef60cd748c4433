//! Scans under two-phase locking: whole tables under one lock, ranges key by key.
//!
//! A range scan steps from its position to the next key, locks the key's row and the gap before it, and then
//! looks again: if the same key still comes next, nothing slipped in between before the gap was locked, and
//! nothing can any more. The first key beyond the range has only its gap locked; behind the last key that gap
//! is the end of the table. A backward scan locks the gap at its upper end first.
//!
//! Looking again is cheap: the batch of keys that the index handed out knows whether a key has come or gone
//! since in the interval it covers. If so, the batch is fetched anew from the position.
//!
//! A scan that has gone far enough gets the whole table if it is free (`escalation`), and goes on without
//! locks.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};

use super::modes::row_mode;
use super::resource::Resource;
use super::row_lock::not_available;
use super::{AtOnce, LockingTransaction};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::table::Table;
use crate::txn::cursor::{find_record, first_key_from, next_undisturbed};
use crate::txn::lock_mode::LockMode;
use crate::txn::{Cursor, Direction, Flow, Impatience, Intent, KeyRange, RowInPlace};

impl<P: Protocol> LockingTransaction<P> {
    pub(super) fn start_scan(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()> {
        let (is_ordered, has_order) = {
            let guard = epoch::pin();
            let state = table.state(&guard);
            (!state.has_hidden_key() && state.index().is_ordered(), state.index().is_ordered())
        };
        if !has_order {
            // The rows come in an order that replay cannot repeat (pitfall 26).
            self.give_up_command();
        }
        if !is_ordered {
            // The keys come in no order, so no bound ends the scan; the procedure filters.
            cursor.range = KeyRange::default();
        }
        // Who skips locked rows needs their own locks, wherever they have any.
        let is_by_row = is_ordered && cursor.intent.impatience == Some(Impatience::SkipLocked);
        if cursor.range.is_whole()
            && !is_by_row
            && !self.lock_table_for(table, row_mode(cursor.intent), cursor.intent)?
        {
            cursor.finish();
        }
        cursor.is_table_locked = self.covers_rows(table, cursor.intent);
        Ok(())
    }

    pub(super) fn continue_scan<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        guard: &'g Guard,
    ) -> Flow<Option<RowInPlace<'g>>> {
        self.let_go_of_last(cursor);
        if cursor.is_finished {
            return Ok(None);
        }
        if cursor.is_table_locked {
            return Ok(next_undisturbed(table, cursor, guard));
        }
        if cursor.intent.impatience == Some(Impatience::SkipLocked) {
            return self.next_unlocked(table, cursor, guard);
        }
        if cursor.direction == Direction::Backward && !cursor.is_end_protected {
            self.protect_upper_end(table, cursor)?;
        }
        self.next_by_key(table, cursor, guard)
    }

    fn next_by_key<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        guard: &'g Guard,
    ) -> Flow<Option<RowInPlace<'g>>> {
        if !self.locks_rows(table, cursor.intent) {
            cursor.is_table_locked = true;
            return Ok(next_undisturbed(table, cursor, guard));
        }
        loop {
            let key = cursor.has_next(table).then(|| cursor.next_key());
            let in_range = key.filter(|key| !cursor.is_beyond(key));
            let row = in_range.map(|key| Resource::row(table.id(), key));
            // Its bucket comes from memory while the gap is locked.
            row.inspect(|&row| self.shared.locks.prefetch(row));
            if cursor.direction == Direction::Forward || in_range.is_some() {
                self.lock_scanned_gap(table, key, cursor.intent)?;
            }
            match (row, cursor.intent.impatience) {
                (Some(row), None) => drop(self.lock(row, row_mode(cursor.intent))?),
                (Some(row), Some(impatience)) => {
                    self.lock_row_at_once(table, row, cursor.intent, impatience)?;
                }
                (None, _) => {}
            }
            let is_end = in_range.is_none();
            if !cursor.is_still_valid(table, guard) {
                continue;
            }
            if is_end {
                cursor.finish();
                return Ok(None);
            }
            let record = cursor.record(table, guard);
            let found = record.and_then(|record| self.find_newest(record, cursor.intent, guard));
            cursor.step();
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// The next row that is not locked by somebody else. No gaps are locked: see `row_lock`.
    fn next_unlocked<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        guard: &'g Guard,
    ) -> Flow<Option<RowInPlace<'g>>> {
        while cursor.has_next(table) && !cursor.is_beyond(cursor.next_key()) {
            let row = Resource::row(table.id(), cursor.next_key());
            let (is_locked, new) =
                self.lock_row_at_once(table, row, cursor.intent, Impatience::SkipLocked)?;
            cursor.unkept = new;
            // The record may have left its index before it was locked; then the key has no row, or another
            // record.
            let record = is_locked.then(|| find_record(table, cursor.next_key(), guard)).flatten();
            let found = record.and_then(|record| self.find_newest(record, cursor.intent, guard));
            cursor.step();
            if found.is_some() {
                return Ok(found);
            }
            self.let_go_of_last(cursor);
        }
        cursor.finish();
        Ok(None)
    }

    fn lock_scanned_gap(&mut self, table: &Table, key: Option<&[u8]>, intent: Intent) -> Flow<()> {
        self.divided_gap = None;
        if mutant::is_active(Mutant::SkipGapLock) {
            return Ok(());
        }
        let gap = Resource::gap(table.id(), key);
        if intent.impatience.is_none() {
            return self.lock(gap, LockMode::Read).map(drop);
        }
        match self.lock_at_once(gap, LockMode::Read)? {
            AtOnce::New | AtOnce::Held => Ok(()),
            AtOnce::Refused => Err(not_available(table).into()),
        }
    }

    /// Locks the gap between the range's last key and the first key beyond its upper end.
    fn protect_upper_end(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()> {
        let mut locked: Option<Option<Vec<u8>>> = None;
        loop {
            let beyond = cursor.range.upper.as_deref().and_then(|upper| first_key_from(table, upper));
            if locked.as_ref() == Some(&beyond) {
                cursor.is_end_protected = true;
                return Ok(());
            }
            self.lock_scanned_gap(table, beyond.as_deref(), cursor.intent)?;
            locked = Some(beyond);
        }
    }
}
