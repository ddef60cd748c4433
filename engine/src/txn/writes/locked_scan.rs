//! Scans that lock what they pass: whole tables under one lock, ranges key by key.
//!
//! A range scan steps from its position to the next key, locks the key's row and the gap before it, and then
//! looks again: if the same key still comes next, nothing slipped in before the gap was locked, and nothing
//! can any more. The first key beyond the range has only its gap locked; after the last key that gap is the
//! end of the table. A backward scan locks the gap at its upper end first.
//!
//! Looking again is cheap: the batch of keys that the index returned knows whether a key has appeared or
//! disappeared since in the interval it covers. If so, the batch is fetched again from the position.
//!
//! A scan that has gone far enough gets the whole table if it is free (`escalation`), and goes on without
//! locks.
//!
//! **Secondary indexes.** A scan goes from entry to entry in the same way, with the gaps of that index and
//! the locks of the rows to which the entries lead, and skips a row that has another entry once it is locked.
//! A transaction that gives a row its place in the index either puts an entry into a gap or finds one there,
//! and then writes a row that a scan which has passed the entry has locked. A search for all values of a
//! unique index locks these (`index_entries`) instead of gaps: writers of neighbouring values go on.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};

use super::modes::row_mode;
use super::resource::Resource;
use super::row_lock::not_available;
use super::{AtOnce, Body};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::record::Record;
use crate::storage::table::Table;
use crate::txn::cursor::{find_record, first_key_from, next_undisturbed, note_passed};
use crate::txn::lock_mode::LockMode;
use crate::txn::{Cursor, Direction, Flow, Impatience, Intent, KeyRange, RowInPlace, Strength};

/// What a scan notes in the first of its cursor's own words.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Note {
    /// Rows are covered by a lock on the whole table.
    TableLocked = 1,
    /// The far end of a backward scan is protected.
    EndProtected = 2,
    /// It looks for the only row with some values in a unique index. These are then locked instead of gaps.
    ValueLocked = 4,
    /// It skips locked rows, and took a lock for the row returned last: the second word.
    Unkept = 8,
}

impl Cursor {
    #[inline]
    fn has(&self, note: Note) -> bool {
        self.own[0] & note as u64 != 0
    }

    #[inline]
    fn set(&mut self, note: Note, holds: bool) {
        self.own[0] = if holds { self.own[0] | note as u64 } else { self.own[0] & !(note as u64) };
    }

    #[inline]
    fn set_unkept(&mut self, lock: Option<Resource>) {
        self.set(Note::Unkept, lock.is_some());
        self.own[1] = lock.map_or(0, |lock| lock.0);
    }

    #[inline]
    fn take_unkept(&mut self) -> Option<Resource> {
        if !self.has(Note::Unkept) {
            return None;
        }
        self.set(Note::Unkept, false);
        Some(Resource(self.own[1]))
    }

    /// See [`crate::txn::Access::keep_row`].
    #[inline]
    pub(super) fn keep_last(&mut self) {
        debug_assert!(
            self.intent.impatience == Some(Impatience::SkipLocked),
            "the words are those of a locked scan"
        );
        self.set(Note::Unkept, false);
    }
}

impl<P: Protocol> Body<P> {
    pub(in crate::txn) fn open_locked_scan(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()> {
        let (has_bounds, has_order) = {
            let guard = epoch::pin();
            let state = table.state(&guard);
            (cursor.has_bounds(state), cursor.has_order(state))
        };
        if !has_order {
            // The rows come in an order that replay cannot repeat (pitfall 26).
            self.give_up_command();
        }
        if !has_bounds {
            // The keys come in no particular order, so no bound ends the scan; the procedure filters.
            cursor.range = KeyRange::default();
        }
        // A scan that skips locked rows needs the rows' own locks, wherever there are any.
        let is_by_row = has_bounds && cursor.intent.impatience == Some(Impatience::SkipLocked);
        if cursor.range.is_whole()
            && !is_by_row
            && !self.lock_table_for(table, row_mode(cursor.intent), cursor.intent)?
        {
            cursor.finish();
        }
        let is_table_locked = self.covers_rows(table, cursor.intent);
        cursor.set(Note::TableLocked, is_table_locked);
        if !is_table_locked && !is_by_row {
            self.lock_sought_value(table, cursor)?;
        }
        Ok(())
    }

    /// Locks the values that a scan of a unique index looks for, if it looks for just one row.
    fn lock_sought_value(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()> {
        let sought = cursor.sought_value(table, &epoch::pin());
        let Some(value) = sought.map(|(index, value)| Resource::value(index, value)) else { return Ok(()) };
        self.lock_scanned(table, value, cursor.intent)?;
        cursor.set(Note::ValueLocked, true);
        Ok(())
    }

    pub(in crate::txn) fn next_locked<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        guard: &'g Guard,
    ) -> Flow<Option<RowInPlace<'g>>> {
        self.let_go_of_last(cursor);
        if cursor.is_finished {
            return Ok(None);
        }
        if cursor.has(Note::TableLocked) {
            return Ok(next_undisturbed(table, cursor, guard)?);
        }
        if cursor.intent.impatience == Some(Impatience::SkipLocked) {
            return self.next_unlocked(table, cursor, guard);
        }
        if cursor.direction == Direction::Backward && !cursor.has(Note::EndProtected) {
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
            cursor.set(Note::TableLocked, true);
            return Ok(next_undisturbed(table, cursor, guard)?);
        }
        loop {
            let key = cursor.has_next(table).then(|| cursor.next_key());
            let in_range = key.filter(|key| !cursor.is_beyond(key));
            let row = in_range.map(|_| Resource::row(table.id(), cursor.next_row_key(table, guard)));
            // Its bucket is fetched from memory while the gap is locked.
            row.inspect(|&row| self.shared.locks.prefetch(row));
            if cursor.direction == Direction::Forward || in_range.is_some() {
                let gap = Resource::gap(cursor.relation(table, guard), key);
                self.lock_scanned_gap(table, gap, cursor)?;
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
            cursor.step(table, guard);
            if let Some(row) = self.find_sought(record, table, cursor, guard) {
                return Ok(Some(row));
            }
            note_passed()?;
        }
    }

    /// The row of the record to which the key returned last has led, which is locked, unless it has another
    /// place in the index.
    fn find_sought<'g>(
        &mut self,
        record: Option<&'g Record>,
        table: &Table,
        cursor: &mut Cursor,
        guard: &'g Guard,
    ) -> Option<RowInPlace<'g>> {
        let row = self.find_newest(record, cursor.intent, guard)?;
        let is_found = if cursor.index.is_none() {
            true
        } else if cursor.intent.read_strength() == Strength::KeyRead {
            // Columns of no unique index may be changing beside this lock.
            let mut copy = Vec::new();
            row.record.copy_newest(&mut copy, guard).1 && cursor.finds(table, &copy, guard)
        } else {
            cursor.finds(table, row.bytes, guard)
        };
        is_found.then_some(row)
    }

    /// The next row that no other transaction has locked. No gaps are locked: see `row_lock`.
    fn next_unlocked<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        guard: &'g Guard,
    ) -> Flow<Option<RowInPlace<'g>>> {
        while cursor.has_next(table) && !cursor.is_beyond(cursor.next_key()) {
            let row = Resource::row(table.id(), cursor.next_row_key(table, guard));
            let (is_locked, new) =
                self.lock_row_at_once(table, row, cursor.intent, Impatience::SkipLocked)?;
            cursor.set_unkept(new);
            // The record may have left its index before it was locked; then the key has no row, or another
            // record.
            let key = cursor.next_row_key(table, guard);
            let record = is_locked.then(|| find_record(table, key, guard)).flatten();
            cursor.step(table, guard);
            if let Some(row) = self.find_sought(record, table, cursor, guard) {
                return Ok(Some(row));
            }
            self.let_go_of_last(cursor);
            note_passed()?;
        }
        cursor.finish();
        Ok(None)
    }

    fn lock_scanned_gap(&mut self, table: &Table, gap: Resource, cursor: &Cursor) -> Flow<()> {
        self.divided_gap = None;
        if cursor.has(Note::ValueLocked) || mutant::is_active(Mutant::SkipGapLock) {
            return Ok(());
        }
        self.lock_scanned(table, gap, cursor.intent)
    }

    fn lock_scanned(&mut self, table: &Table, resource: Resource, intent: Intent) -> Flow<()> {
        if intent.impatience.is_none() {
            return self.lock(resource, LockMode::Read).map(drop);
        }
        match self.lock_at_once(resource, LockMode::Read)? {
            AtOnce::New | AtOnce::Held => Ok(()),
            AtOnce::Refused => Err(not_available(table).into()),
        }
    }

    /// Locks the gap between the range's last key and the first key beyond its upper end.
    fn protect_upper_end(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()> {
        let mut locked: Option<Option<Vec<u8>>> = None;
        loop {
            let upper = cursor.range.upper.as_deref();
            let beyond = upper.and_then(|upper| first_key_from(table, cursor, upper));
            if locked.as_ref() == Some(&beyond) {
                cursor.set(Note::EndProtected, true);
                return Ok(());
            }
            let gap = Resource::gap(cursor.relation(table, &epoch::pin()), beyond.as_deref());
            self.lock_scanned_gap(table, gap, cursor)?;
            locked = Some(beyond);
        }
    }

    /// The row that a scan returned last was not kept. A function in the condition may have changed it
    /// meanwhile, or another scan of the same statement may have kept it. Then its lock stays.
    fn let_go_of_last(&mut self, cursor: &mut Cursor) {
        let Some(resource) = cursor.take_unkept() else { return };
        let shared = &*self.shared;
        if let Some(place) = self.held.iter().rposition(|held| *held == resource)
            && shared.locks.release_unused(shared, self.id, resource)
        {
            self.held.swap_remove(place);
        }
    }
}
