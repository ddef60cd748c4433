//! What a procedure does to data when a logged call is replayed: the same as in its transaction, without
//! locks and without a log.
//!
//! Replay runs a call when everything it depends on is there and nothing that conflicts with it runs, so
//! nothing needs to be locked and nothing ever waits. Rows go into their tables as those of data records do.
//! What was written is hashed as it was when the call ran. Keys of rows without a primary key are those that
//! were drawn then.
//!
//! Only what follows a savepoint can be rolled back: a call that fails as a whole was never logged.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::error::{Abort, Error, sqlstate};

use super::cursor::{find_record, find_row, next_undisturbed, secondary, show};
use super::{
    Access, Cursor, Duplicate, Flow, Found, FoundAhead, IndexNumber, Insertion, Intent, NewRow, Savepoint,
    Writable,
};
use crate::log::record::command::WriteSetHash;
use crate::storage::record::{OldRow, Record};
use crate::storage::table::{Table, TableState};

/// See the module head.
#[derive(Default)]
pub(crate) struct ReplayAccess {
    write_set: WriteSetHash,
    /// The row numbers that the call drew when it ran. From `next_row_number` on, the replay still needs
    /// them.
    pub(crate) row_numbers: Vec<u64>,
    next_row_number: usize,
    keeps_undo: bool,
    undo: Vec<Undo>,
}

struct Undo {
    table: Arc<Table>,
    key: Vec<u8>,
    old: Option<Vec<u8>>,
    write_set: WriteSetHash,
}

impl ReplayAccess {
    /// Forgets the previous call. The caller sets the row numbers of the next one.
    pub(crate) fn begin(&mut self) {
        self.write_set = WriteSetHash::default();
        self.next_row_number = 0;
        self.keeps_undo = false;
        self.undo.clear();
    }

    /// The hash of everything written since [`ReplayAccess::begin`].
    pub(crate) fn write_set(&self) -> WriteSetHash {
        self.write_set
    }

    /// Whether every row number that the call drew was drawn again.
    pub(crate) fn has_used_row_numbers(&self) -> bool {
        self.next_row_number == self.row_numbers.len()
    }

    /// To be called before the write that it notes.
    fn note_write(&mut self, table: &Arc<Table>, key: &[u8], change: Option<&[u8]>, guard: &Guard) {
        if self.keeps_undo {
            let old = find_row(table, key, guard).map(|row| row.bytes.to_vec());
            self.keep_undo(table, key, old);
        }
        self.write_set.add(table.id(), key, change);
    }

    fn keep_undo(&mut self, table: &Arc<Table>, key: &[u8], old: Option<Vec<u8>>) {
        let (table, key) = (Arc::clone(table), key.to_vec());
        self.undo.push(Undo { table, key, old, write_set: self.write_set });
    }
}

/// The first index in which another row is in the way of a new one.
fn find_any_duplicate(state: &TableState, new: NewRow<'_>, guard: &Guard) -> Option<Duplicate> {
    let strict = (0u16..).zip(state.indexes()).filter(|(_, index)| index.definition().is_always_unique());
    strict.map(|(number, _)| number).find_map(|number| find_duplicate(state, Some(number), new, guard))
}

/// Whether another row is in the way of a new one in this index: every entry has its row.
fn find_duplicate(
    state: &TableState,
    number: IndexNumber,
    new: NewRow<'_>,
    guard: &Guard,
) -> Option<Duplicate> {
    let index = secondary(state, number)?;
    let mut columns = Vec::new();
    let has_null = index.append_columns(state.layout(), new.row, &mut columns);
    if !index.is_exclusive(has_null) {
        return None;
    }
    let mut others = index.rows_with(&columns, guard).into_iter();
    others.any(|key| !new.was_under(&key)).then_some(Duplicate { index: number, is_seen: true })
}

impl Access for ReplayAccess {
    fn enter(&mut self, table: &Arc<Table>, version: u64, _intent: Intent) -> Flow<bool> {
        if table.version() != version || table.is_dropped() {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        Ok(true)
    }

    fn read_point<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        ahead: Option<FoundAhead<'g>>,
        _buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        let early = ahead.and_then(|found| found.in_state(table.state(guard)));
        let early = early.filter(|record| record.has_row());
        let record = early.or_else(|| find_record(table, key, guard));
        Ok(record.and_then(|record| show(record, intent, guard)).into())
    }

    fn open_scan(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()> {
        let guard = epoch::pin();
        let state = table.state(&guard);
        if !cursor.has_order(state) {
            let message = "it scans a table whose rows come in no order";
            return Err(Error::input(sqlstate::INTERNAL_ERROR, message).into());
        }
        if !cursor.has_bounds(state) {
            // No bound of a procedure means a row number.
            cursor.range = super::KeyRange::default();
        }
        Ok(())
    }

    fn next_row<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        _buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        Ok(next_undisturbed(table, cursor, guard)?.into())
    }

    fn insert(&mut self, table: &Arc<Table>, new: NewRow<'_>) -> Flow<Insertion> {
        let NewRow { key, row, arbiter, .. } = new;
        let guard = epoch::pin();
        let state = table.state(&guard);
        let of_arbiter = find_duplicate(state, arbiter, new, &guard);
        let is_taken = || state.index().get(key, &guard).is_some_and(|record| record.has_row());
        let of_primary_key = || is_taken().then_some(Duplicate { index: None, is_seen: true });
        let duplicate = of_arbiter.or_else(of_primary_key).or_else(|| find_any_duplicate(state, new, &guard));
        if let Some(duplicate) = duplicate {
            return Ok(Insertion::Duplicate(duplicate));
        }
        self.note_write(table, key, Some(row), &guard);
        state.set(key, Some(row), &guard);
        Ok(Insertion::Done)
    }

    fn index_row(&mut self, table: &Arc<Table>, key: &[u8], row: &[u8]) -> Flow<Option<Duplicate>> {
        let guard = epoch::pin();
        Ok(find_any_duplicate(table.state(&guard), NewRow::new(key, row), &guard))
    }

    fn may_have_twin(&mut self, _table: &Arc<Table>, _index: u16, _row: NewRow<'_>) -> bool {
        true
    }

    fn find_twin(&mut self, table: &Arc<Table>, index: u16, row: NewRow<'_>) -> Flow<Option<Duplicate>> {
        let guard = epoch::pin();
        Ok(find_duplicate(table.state(&guard), Some(index), row, &guard))
    }

    /// The call was admitted when it ran.
    fn admit_write<'a>(
        &mut self,
        table: &'a Arc<Table>,
        key: &'a [u8],
        _record: Option<&Record>,
    ) -> Flow<Writable<'a>> {
        Ok(Writable { table, key })
    }

    fn update(&mut self, Writable { table, key }: Writable<'_>, row: &[u8], patch: Option<&[u8]>) {
        let guard = epoch::pin();
        self.note_write(table, key, Some(patch.unwrap_or(row)), &guard);
        let state = table.state(&guard);
        // Its row was read before, so it is there, unless the log lies about what the call depends on.
        match state.index().get(key, &guard).map(|record| record.try_replace(Some(row), &guard)) {
            Some(Ok(old)) => {
                state.exchange_entries(key, (old.as_ref().map(OldRow::bytes), Some(row)), &guard);
                match old {
                    Some(old) => old.retire(&guard),
                    None => state.count_added(1),
                }
            }
            Some(Err(_)) | None => state.set(key, Some(row), &guard),
        }
    }

    #[allow(unsafe_code)] // As declared.
    unsafe fn patch(&mut self, written: Writable<'_>, record: &Record, patch: &[u8], guard: &Guard) {
        let Writable { table, key } = written;
        if self.keeps_undo {
            self.keep_undo(table, key, record.row(guard).map(<[u8]>::to_vec));
        }
        self.write_set.add(table.id(), key, Some(patch));
        // SAFETY: nothing that conflicts with this call runs beside it (module head), and a reader of keys
        // alone touches no bytes; the rest is this function's contract.
        unsafe { record.replay_patch(patch, guard) };
    }

    fn delete(&mut self, Writable { table, key }: Writable<'_>) {
        let guard = epoch::pin();
        self.note_write(table, key, None, &guard);
        table.state(&guard).set(key, None, &guard);
    }

    fn new_row_number(&mut self, _table: &Arc<Table>) -> Flow<u64> {
        let number = self.row_numbers.get(self.next_row_number).copied();
        self.next_row_number += 1;
        number.ok_or_else(|| {
            Error::input(sqlstate::INTERNAL_ERROR, "it inserts more rows than it did when it ran").into()
        })
    }

    /// What is replayed was logged as a call, so it never came here; if it does now, its writes differ.
    fn cannot_be_repeated(&mut self) {}

    fn savepoint(&mut self) -> Savepoint {
        self.keeps_undo = true;
        Savepoint { changes: self.undo.len(), own: 0 }
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        let guard = epoch::pin();
        while self.undo.len() > savepoint.changes {
            let Some(undo) = self.undo.pop() else { return };
            undo.table.state(&guard).set(&undo.key, undo.old.as_deref(), &guard);
            self.write_set = undo.write_set;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
