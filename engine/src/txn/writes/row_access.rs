//! What procedures do to rows. Here it is decided whether a read is one at a snapshot; all others lock.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};

use super::Body;
use super::purge_queue::Purgeable;
use super::undo::RowChange;
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::history::Snapshot;
use crate::storage::record::Record;
use crate::storage::row::{RowCopy, leads_to};
use crate::storage::table::Table;
use crate::txn::reads::Reads;
use crate::txn::restart_gate::{wait_for, wait_for_key};
use crate::txn::row_changes::write_row;
use crate::txn::{
    Access, Chosen, Cursor, Duplicate, Flow, Found, FoundAhead, Impatience, Insertion, Intent, NewRow,
    Savepoint, Sight, Writable,
};

impl<P: Protocol> Access for Body<P> {
    #[inline(always)]
    fn enter(&mut self, table: &Arc<Table>, version: u64, intent: Intent) -> Flow<bool> {
        wait_for(table.opening())?;
        self.enter_restored(table, version, intent)
    }

    #[inline(always)]
    fn enter_for_key(&mut self, table: &Arc<Table>, version: u64, intent: Intent, key: &[u8]) -> Flow<bool> {
        wait_for_key(table, key)?;
        self.enter_restored(table, version, intent)
    }

    fn read_point<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        ahead: Option<FoundAhead<'g>>,
        copy: RowCopy<'_>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        if self.reads_snapshot(intent) {
            let early = ahead.and_then(|found| found.in_state(table.state(guard)));
            return self.read_at_snapshot(table, key, early, copy, guard);
        }
        if matches!(intent.sight, Sight::Decided | Sight::InTheWay) && self.reads.without_locks() {
            if intent.sight == Sight::Decided && self.reads.is_checked() {
                return self.read_decided(table, key, intent, ahead, guard);
            }
            return self.read_wanted(table, key, intent, copy.bytes, guard);
        }
        self.read_locked(table, key, intent, ahead, guard)
    }

    #[inline]
    fn prefetch_lock(&self, table: &Table, key: &[u8]) {
        self.prefetch_row_lock(table, key);
    }

    fn open_scan(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()> {
        if self.reads_snapshot(cursor.intent) {
            if self.reads.is_checked() && !cursor.has_order(table.state(&epoch::pin())) {
                // As for a scan that locks.
                self.give_up_command();
            }
            return Ok(());
        }
        self.open_locked_scan(table, cursor)
    }

    fn next_row<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        if self.reads.without_locks() {
            return self.next_row_beside_writers(table, cursor, buffer, guard);
        }
        self.next_locked(table, cursor, guard).map(Found::from)
    }

    fn keep_row(&mut self, cursor: &mut Cursor) {
        cursor.keep_last();
    }

    #[inline(always)]
    fn reads_at_snapshot(&self) -> bool {
        self.reads.without_locks() || self.has_begun_unlocked
    }

    fn lock_row<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        seen: &[u8],
        guard: &'g Guard,
    ) -> Flow<Chosen<'g>> {
        if self.reads.is_checked() && intent.impatience == Some(Impatience::SkipLocked) {
            // It was locked when it was read.
            return Ok(Chosen::Unchanged(None));
        }
        self.lock_chosen(table, key, intent, seen, guard)
    }

    #[inline]
    fn begin_statement(&mut self, is_inner: bool) {
        if is_inner {
            self.read_at(None);
        } else {
            self.renew_snapshot();
        }
    }

    fn snapshot_time(&self) -> Option<u64> {
        self.snapshot.as_ref().map(Snapshot::time)
    }

    fn read_at(&mut self, time: Option<u64>) {
        if let (Reads::EachStatement, Some(snapshot)) = (self.reads, &mut self.snapshot) {
            snapshot.read_at(time, &self.shared.histories);
        }
    }

    fn insert(&mut self, table: &Arc<Table>, new: NewRow<'_>) -> Flow<Insertion> {
        // An update that moves a row has entered the table for the old key.
        wait_for(table.opening())?;
        let inserted = self.insert_row(table, new)?;
        self.number_in_hand = None;
        Ok(inserted)
    }

    fn index_row(&mut self, table: &Arc<Table>, key: &[u8], row: &[u8]) -> Flow<Option<Duplicate>> {
        self.index_changed_row(table, key, row)
    }

    fn may_have_twin(&mut self, table: &Arc<Table>, index: u16, row: NewRow<'_>) -> bool {
        self.is_perhaps_a_twin(table, index, row, &epoch::pin())
    }

    fn find_twin(&mut self, table: &Arc<Table>, index: u16, row: NewRow<'_>) -> Flow<Option<Duplicate>> {
        self.find_duplicate(table, Some(index), row, &epoch::pin())
    }

    #[inline(always)]
    fn admit_write<'a>(
        &mut self,
        table: &'a Arc<Table>,
        key: &'a [u8],
        record: Option<&Record>,
    ) -> Flow<Writable<'a>> {
        if self.must_see_newest() {
            self.check_overwriting(table, key, record)?;
        }
        Ok(Writable { table, key })
    }

    fn update(&mut self, Writable { table, key }: Writable<'_>, row: &[u8], patch: Option<&[u8]>) {
        // The patch was made for the row that the update has read. If the statement itself has changed the
        // row since then, by a function that it calls, only the whole row says what is there now.
        let (logs_rows, mut is_base) = (self.logs_rows(), false);
        let compare = |old: &[u8]| {
            is_base = logs_rows && patch.is_some_and(|patch| leads_to(old, patch, row));
        };
        let written = write_row(table, key, Some(row), &mut self.history, compare, &epoch::pin());
        let Some(version) = written else { return };
        let hashed = patch.map_or(RowChange::Put(row), RowChange::Patch);
        let logged = patch.filter(|_| is_base || mutant::is_active(Mutant::PatchOfStaleRow));
        let change = logged.map_or(RowChange::Put(row), |patch| RowChange::shorter(row, patch));
        self.note_write(table, key, (change, hashed), version);
    }

    #[allow(unsafe_code)] // As declared.
    unsafe fn patch(&mut self, written: Writable<'_>, record: &Record, patch: &[u8], guard: &Guard) {
        let Writable { table, key } = written;
        // SAFETY: the row was read for writing, so its write lock is held; the rest is this function's
        // contract.
        let version = unsafe { record.patch(patch, &mut self.history, guard) };
        let Some(version) = version else { return };
        if table.id().is_temporary() {
            table.state(guard).index().charge_patch(patch.len());
        }
        let row = if self.logs_rows() { record.row(guard) } else { None };
        let change = row.map_or(RowChange::Patch(patch), |row| RowChange::shorter(row, patch));
        self.note_write(table, key, (change, RowChange::Patch(patch)), version);
    }

    fn delete(&mut self, Writable { table, key }: Writable<'_>) {
        let guard = epoch::pin();
        self.give_up_entries(table, key, None, &guard);
        let Some(version) = write_row(table, key, None, &mut self.history, |_| {}, &guard) else { return };
        self.purgeable.push(Purgeable::row(table, key));
        self.note_write(table, key, (RowChange::Delete, RowChange::Delete), version);
    }

    fn new_row_number(&mut self, table: &Arc<Table>) -> Flow<u64> {
        // An insert that waits and is started again has its number.
        if let Some((_, number)) = self.number_in_hand.filter(|(id, _)| *id == table.id()) {
            return Ok(number);
        }
        let number = table.new_row_number();
        self.number_in_hand = Some((table.id(), number));
        if self.command.is_some() {
            self.row_numbers.push(number);
        }
        Ok(number)
    }

    fn cannot_be_repeated(&mut self) {
        self.give_up_command();
    }

    fn savepoint(&mut self) -> Savepoint {
        Savepoint { changes: self.undo.len(), own: self.held.len() }
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        self.withdraw_wait();
        self.undo_to(savepoint.changes);
        if !self.reads.is_serializable() && !self.changes_objects {
            self.release_since(savepoint.own);
        }
    }
}

impl<P: Protocol> Body<P> {
    /// Enters a table in which what is wanted has been restored.
    #[inline(always)]
    fn enter_restored(&mut self, table: &Arc<Table>, version: u64, intent: Intent) -> Flow<bool> {
        if self.reads_snapshot(intent) {
            return self.enter_at_snapshot(table, version);
        }
        if self.reads.without_locks() && !self.reads.is_checked() {
            self.define(table, intent)?;
        }
        self.enter_to_lock(table, version, intent)
    }
}
