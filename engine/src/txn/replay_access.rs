//! What a procedure does to data when a logged call is replayed: the same as in its transaction, without
//! locks and without a log.
//!
//! Replay runs a call when everything that it follows is there: what it has read, and what it overwrites. So
//! nothing needs to be locked and nothing ever waits. It reads rows as they were at its own time, whatever
//! has been replayed already (`replay_versions`). What it writes is the newest of its row. What was written
//! is hashed as it was when the call ran. Keys of rows without a primary key are those that were drawn then.
//!
//! Only what follows a savepoint can be rolled back: a call that fails as a whole was never logged.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::definition::TableId;
use hyades_types::error::{Abort, Error, Result, sqlstate};
use smallvec::SmallVec;

use super::cursor::{find_record, next_record, note_passed, secondary};
use super::replay_versions::VersionWriter;
use super::{
    Access, Cursor, Duplicate, Flow, Found, FoundAhead, IndexNumber, Insertion, Intent, NewRow, Savepoint,
    Writable,
};
use crate::log::record::command::{HashForm, WriteChain, WriteSetHash};
use crate::mutant::{self, Mutant};
use crate::storage::history::Handle;
use crate::storage::record::Record;
use crate::storage::row::{RowCopy, overwrite};
use crate::storage::table::Table;

/// See the module head.
pub(crate) struct ReplayAccess<'w> {
    writer: &'w mut VersionWriter,
    write_set: WriteSet,
    /// The row numbers that the call drew when it ran, and how many the replay has drawn again.
    row_numbers: &'w [u64],
    used_row_numbers: usize,
    keeps_undo: bool,
    undo: Vec<Undo>,
    /// A write that was not possible. The interface of procedures has no errors for writes.
    failure: Option<Error>,
}

/// What is under a key afterwards.
#[derive(Clone, Copy)]
enum Written<'r> {
    /// A row where there is none.
    New(&'r [u8]),
    Row(&'r [u8]),
    Patched {
        row: &'r [u8],
        patch: &'r [u8],
    },
    Nothing,
}

impl<'r> Written<'r> {
    /// What is hashed of it.
    fn change(self) -> Option<&'r [u8]> {
        match self {
            Written::New(row) | Written::Row(row) => Some(row),
            Written::Patched { patch, .. } => Some(patch),
            Written::Nothing => None,
        }
    }
}

struct Undo {
    table: Arc<Table>,
    key: Vec<u8>,
    version: Handle,
    /// Of the table, before.
    write_chain: WriteChain,
}

/// What has been written so far, as it was hashed when the call ran.
struct WriteSet {
    form: HashForm,
    hash: WriteSetHash,
    chains: SmallVec<[(TableId, WriteChain); 4]>,
}

impl WriteSet {
    fn chain(&mut self, table: TableId) -> &mut WriteChain {
        let table = if self.form == HashForm::ByTable { table } else { TableId(0) };
        let at = self.chains.iter().position(|(known, _)| *known == table).unwrap_or_else(|| {
            self.chains.push((table, WriteChain::default()));
            self.chains.len() - 1
        });
        &mut self.chains[at].1
    }

    /// Adds a write. Returns the chain that the table had before.
    fn add(&mut self, table: TableId, key: &[u8], change: Option<&[u8]>) -> WriteChain {
        let chain = self.chain(table);
        let before = *chain;
        chain.add(table, key, change);
        let after = *chain;
        self.hash.exchange(before, after);
        before
    }

    fn take_back(&mut self, table: TableId, before: WriteChain) {
        let undone = std::mem::replace(self.chain(table), before);
        self.hash.exchange(undone, before);
    }
}

impl<'w> ReplayAccess<'w> {
    pub(crate) fn new(
        writer: &'w mut VersionWriter,
        row_numbers: &'w [u64],
        form: HashForm,
    ) -> ReplayAccess<'w> {
        ReplayAccess {
            writer,
            write_set: WriteSet { form, hash: WriteSetHash::default(), chains: SmallVec::new() },
            row_numbers,
            used_row_numbers: 0,
            keeps_undo: false,
            undo: Vec::new(),
            failure: None,
        }
    }

    /// The hash of everything written.
    ///
    /// # Errors
    /// Something could not be written.
    pub(crate) fn write_set(&self) -> Result<WriteSetHash> {
        self.failure.clone().map_or(Ok(self.write_set.hash), Err)
    }

    /// Whether every row number that the call drew was drawn again.
    pub(crate) fn has_used_row_numbers(&self) -> bool {
        self.used_row_numbers == self.row_numbers.len()
    }

    /// Writes a row, and hashes what has changed of it.
    fn write(&mut self, table: &Arc<Table>, key: &[u8], written: Written<'_>) {
        let guard = epoch::pin();
        let state = table.state(&guard);
        let version = self.writer.write(table, |history, leave| match written {
            Written::New(row) if !mutant::is_active(Mutant::TrapsIgnored) => {
                state.insert_version(key, row, history, leave, &guard)
            }
            Written::New(row) | Written::Row(row) => {
                state.set_version(key, Some(row), history, leave, &guard)
            }
            Written::Patched { row, patch } => {
                match state.set_version_by_patch(key, (row, patch), history, &guard) {
                    Some(version) => Ok(Some(version)),
                    None => state.set_version(key, Some(row), history, leave, &guard),
                }
            }
            Written::Nothing => state.set_version(key, None, history, leave, &guard),
        });
        let version = version.unwrap_or_else(|error| {
            self.failure.get_or_insert(error);
            None
        });
        self.note_write(table, key, written.change(), version);
    }

    /// Hashes a write, and notes how to take it back.
    fn note_write(&mut self, table: &Arc<Table>, key: &[u8], change: Option<&[u8]>, version: Option<Handle>) {
        let write_chain = self.write_set.add(table.id(), key, change);
        if let Some(version) = version.filter(|_| self.keeps_undo) {
            self.undo.push(Undo { table: Arc::clone(table), key: key.to_vec(), version, write_chain });
        }
    }

    /// Copies the row that the call has seen; false if there was none.
    fn read(&self, record: &Record, row: RowCopy<'_>, guard: &Guard) -> Result<bool> {
        let VersionWriter { history, view, .. } = &*self.writer;
        self.writer.histories().read(record, view, history, row, |_| {}, guard)
    }

    /// The first index in which another row is in the way of a new one.
    fn find_any_duplicate(&self, table: &Table, new: NewRow<'_>, guard: &Guard) -> Result<Option<Duplicate>> {
        for (number, index) in (0u16..).zip(table.state(guard).indexes()) {
            if index.definition().is_always_unique()
                && let Some(duplicate) = self.find_duplicate(table, Some(number), new, guard)?
            {
                return Ok(Some(duplicate));
            }
        }
        Ok(None)
    }

    /// Whether another row is in the way of a new one in this index.
    fn find_duplicate(
        &self,
        table: &Table,
        number: IndexNumber,
        new: NewRow<'_>,
        guard: &Guard,
    ) -> Result<Option<Duplicate>> {
        let state = table.state(guard);
        let Some(index) = secondary(state, number) else { return Ok(None) };
        let mut columns = Vec::new();
        let has_null = index.append_columns(state.layout(), new.row, &mut columns);
        if !index.is_exclusive(has_null) {
            return Ok(None);
        }
        let mut row = Vec::new();
        for key in index.rows_with(&columns, guard) {
            if new.was_under(&key) {
                continue;
            }
            let Some(record) = state.index().get(&key, guard) else { continue };
            let mut its_columns = Vec::with_capacity(columns.len());
            if self.read(record, RowCopy::whole(&mut row), guard)? {
                index.append_columns(state.layout(), &row, &mut its_columns);
                if its_columns == columns {
                    return Ok(Some(Duplicate { index: number, is_seen: true }));
                }
            }
        }
        Ok(None)
    }
}

impl Access for ReplayAccess<'_> {
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
        _intent: Intent,
        ahead: Option<FoundAhead<'g>>,
        copy: RowCopy<'_>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        let early = ahead.and_then(|found| found.in_state(table.state(guard)));
        let early = early.filter(|record| !record.is_removed());
        let Some(record) = early.or_else(|| find_record(table, key, guard)) else {
            return Ok(Found::Nothing);
        };
        let is_there = self.read(record, copy, guard)?;
        Ok(if is_there { Found::Copied } else { Found::Nothing })
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
        buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        while let Some(record) = next_record(table, cursor, guard)? {
            if self.read(record, RowCopy::whole(buffer), guard)? && cursor.finds(table, buffer, guard) {
                return Ok(Found::Copied);
            }
            note_passed()?;
        }
        Ok(Found::Nothing)
    }

    fn insert(&mut self, table: &Arc<Table>, new: NewRow<'_>) -> Flow<Insertion> {
        let NewRow { key, row, arbiter, is_blind, .. } = new;
        if is_blind {
            self.write(table, key, Written::New(row));
            return Ok(Insertion::Done);
        }
        let guard = epoch::pin();
        if let Some(duplicate) = self.find_duplicate(table, arbiter, new, &guard)? {
            return Ok(Insertion::Duplicate(duplicate));
        }
        if let Some(record) = find_record(table, key, &guard)
            && self.read(record, RowCopy::whole(&mut Vec::new()), &guard)?
        {
            return Ok(Insertion::Duplicate(Duplicate { index: None, is_seen: true }));
        }
        if let Some(duplicate) = self.find_any_duplicate(table, new, &guard)? {
            return Ok(Insertion::Duplicate(duplicate));
        }
        self.write(table, key, Written::Row(row));
        Ok(Insertion::Done)
    }

    fn index_row(&mut self, table: &Arc<Table>, key: &[u8], row: &[u8]) -> Flow<Option<Duplicate>> {
        Ok(self.find_any_duplicate(table, NewRow::new(key, row), &epoch::pin())?)
    }

    fn may_have_twin(&mut self, _table: &Arc<Table>, _index: u16, _row: NewRow<'_>) -> bool {
        true
    }

    fn find_twin(&mut self, table: &Arc<Table>, index: u16, row: NewRow<'_>) -> Flow<Option<Duplicate>> {
        Ok(self.find_duplicate(table, Some(index), row, &epoch::pin())?)
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
        let written = patch.map_or(Written::Row(row), |patch| Written::Patched { row, patch });
        self.write(table, key, written);
    }

    const PATCHES_COPIES: bool = true;

    fn patch_read(&mut self, table: &Arc<Table>, key: &[u8], patch: &[u8]) -> bool {
        let guard = epoch::pin();
        let state = table.state(&guard);
        let version = self.writer.write(table, |history, _| state.patch_read(key, patch, history, &guard));
        if version.is_some() {
            self.note_write(table, key, Some(patch), version);
        }
        version.is_some()
    }

    #[allow(unsafe_code)] // As declared.
    unsafe fn patch(&mut self, written: Writable<'_>, record: &Record, patch: &[u8], guard: &Guard) {
        // Rows are not read in place, so this is not asked for.
        let Some(old) = record.row(guard) else { return };
        let mut row = old.to_vec();
        overwrite(&mut row, patch);
        self.write(written.table, written.key, Written::Patched { row: &row, patch });
    }

    fn delete(&mut self, Writable { table, key }: Writable<'_>) {
        self.write(table, key, Written::Nothing);
    }

    fn new_row_number(&mut self, _table: &Arc<Table>) -> Flow<u64> {
        let number = self.row_numbers.get(self.used_row_numbers).copied();
        self.used_row_numbers += 1;
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
            let Some(Undo { table, key, version, write_chain }) = self.undo.pop() else { return };
            self.writer.write(&table, |history, leave| {
                table.state(&guard).take_version_back(&key, version, history, leave, &guard);
            });
            self.write_set.take_back(table.id(), write_chain);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
