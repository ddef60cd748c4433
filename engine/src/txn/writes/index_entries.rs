//! Places of rows in secondary indexes, and values that only one row may have.
//!
//! **Entries.** A transaction that is about to give a row new values holds the row's lock, puts the entries
//! of these values into the indexes, and then writes the row. An entry whose row has other values, or is not
//! there, means nothing (`storage::secondary_index`). So an entry that comes too early, or is left behind
//! when the transaction ends otherwise, does no harm; `purge` removes it when no snapshot sees a row there
//! that needs it. None of this is logged. The gap that a new entry divides is locked as for keys of the
//! primary index (`locked_insert`).
//!
//! **Unique values.** A transaction that gives a row values of a unique index locks these values first, until
//! it ends: of two that want the same values the second waits, and no other brings them back meanwhile. Then
//! it checks where the index leads. A row that has the values is a duplicate. If another transaction has
//! taken them from a row and may still undo that, it holds the row's write lock, and is waited for there.
//!
//! | row under another key | seen by a transaction at a snapshot | by a serializable one |
//! |---|---|---|
//! | committed or own, with the values | duplicate | locked as by a reader of keys, then a duplicate |
//! | committed or own, without them | not a duplicate: a transaction that would bring them back has to lock them | the same |
//! | being changed | locked as by a reader of keys (REPEATABLE READ: of the row, because it goes by whether its snapshot sees the duplicate), and looked at again | the same |
//!
//! A duplicate in an index that is being built is no error (`storage::unfinished_index`).
//!
//! A transaction that changes values of a unique index therefore needs the row's strongest lock, as for its
//! key.
//!
//! *Constraints that are checked later.* The values are locked when the row gets them, as always, so of two
//! transactions that want the same values the second waits. Only the search comes later, when the statement
//! or the transaction is done, and is the same. It can be left out if no entry leads to another row that may
//! have the values: other transactions cannot give them to one, and each change of this transaction is
//! checked by itself.
//!
//! *Dependencies.* A search that finds nothing follows the writers of the rows that it passes, and the rest
//! is below the floor: an entry is removed only when the last writer of its row is below it.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::definition::TableId;

use super::modes::row_mode;
use super::purge_queue::Purgeable;
use super::resource::Resource;
use super::{Body, KEPT_BYTES};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::catalog::for_each_record;
use crate::storage::primary_index::{Finger, Located};
use crate::storage::record::Record;
use crate::storage::secondary_index::{ENTRY_BYTES, SecondaryIndex};
use crate::storage::table::{Table, TableState};
use crate::storage::unfinished_index::UnfinishedIndex;
use crate::txn::cursor::{find_record, secondary};
use crate::txn::lock_mode::LockMode;
use crate::txn::reads::Reads;
use crate::txn::{Duplicate, Flow, IndexNumber, Intent, NewRow, Strength};

/// Entries that the running transaction has made, one after another.
#[derive(Default)]
pub(super) struct NewEntries {
    bytes: Vec<u8>,
    /// The table's place among those of the transaction, the index, and where the entry ends.
    entries: Vec<(usize, TableId, usize)>,
}

impl NewEntries {
    fn push(&mut self, table: usize, index: TableId, entry: &[u8]) {
        self.bytes.extend_from_slice(entry);
        self.entries.push((table, index, self.bytes.len()));
    }

    /// Forgets the entries, because they are needed.
    pub(super) fn clear(&mut self) {
        if self.bytes.capacity() > KEPT_BYTES {
            *self = NewEntries::default();
        }
        self.bytes.clear();
        self.entries.clear();
    }
}

/// Memory for the entries of a row, which is reused for the next row.
#[derive(Default)]
pub(super) struct EntryBuffers {
    entry: Vec<u8>,
    scratch: Vec<u8>,
    /// Entries that are to be added, one after another.
    added: Vec<u8>,
    /// The number of the index of each entry in `added`, and where the entry ends.
    ends: Vec<(u16, usize)>,
}

impl EntryBuffers {
    /// Frees the memory of very long entries, as long texts have.
    fn put_away(&mut self) {
        if self.entry.capacity() + self.scratch.capacity() + self.added.capacity() > KEPT_BYTES {
            *self = EntryBuffers::default();
        }
    }
}

impl<P: Protocol> Body<P> {
    /// See [`crate::txn::Access::index_row`].
    pub(super) fn index_changed_row(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        row: &[u8],
    ) -> Flow<Option<Duplicate>> {
        let guard = epoch::pin();
        if let Some(duplicate) = self.add_entries(table, NewRow::new(key, row), &guard)? {
            return Ok(Some(duplicate));
        }
        self.give_up_entries(table, key, Some(row), &guard);
        Ok(None)
    }

    /// Puts entries for a locked row that is about to be written into all indexes, unless another row is in
    /// the way.
    pub(super) fn add_entries(
        &mut self,
        table: &Arc<Table>,
        new: NewRow<'_>,
        guard: &Guard,
    ) -> Flow<Option<Duplicate>> {
        let mut buffers = std::mem::take(&mut self.entry_buffers);
        let duplicate = self.add_entries_with(table, new, &mut buffers, guard);
        buffers.put_away();
        self.entry_buffers = buffers;
        duplicate
    }

    fn add_entries_with(
        &mut self,
        table: &Arc<Table>,
        new: NewRow<'_>,
        EntryBuffers { entry, scratch, added, ends }: &mut EntryBuffers,
        guard: &Guard,
    ) -> Flow<Option<Duplicate>> {
        let state = table.state(guard);
        let current = find_record(table, new.key, guard).and_then(|record| record.row(guard));
        added.clear();
        ends.clear();
        for (number, index) in (0u16..).zip(state.indexes()) {
            index.encode(state.layout(), new.row, new.key, entry);
            let is_same =
                current.is_some_and(|row| index.is_entry_of(entry, state.layout(), (new.key, row), scratch));
            if is_same {
                continue;
            }
            // Transactions that want what the row has now wait for this lock.
            if index.definition().is_unique
                && current.is_some()
                && self.locks_rows(table, Intent::newest(Strength::Write))
            {
                self.lock(Resource::row(table.id(), new.key), LockMode::Write)?;
            }
            if index.definition().is_checked_later() {
                self.lock_values(table, index, new.row, guard)?;
            } else if let Some(duplicate) = self.find_duplicate(table, Some(number), new, guard)? {
                return Ok(Some(duplicate));
            }
            added.extend_from_slice(entry);
            ends.push((number, added.len()));
        }
        let mut start = 0;
        for (number, end) in ends.drain(..) {
            let index = &state.indexes()[usize::from(number)];
            self.add_entry(table, index, &added[start..end], guard)?;
            start = end;
        }
        Ok(None)
    }

    /// Locks the values that a row is to have in a unique index, and checks whether another row has them.
    pub(super) fn find_duplicate(
        &mut self,
        table: &Arc<Table>,
        number: IndexNumber,
        new: NewRow<'_>,
        guard: &Guard,
    ) -> Flow<Option<Duplicate>> {
        // An index that was being built may have gone since the caller looked.
        let indexes = table.state(guard).indexes();
        let Some(index) = number.and_then(|number| indexes.get(usize::from(number))) else { return Ok(None) };
        if !index.unfinished().is_none_or(UnfinishedIndex::is_checked) {
            return Ok(None);
        }
        let Some(columns) = self.lock_values(table, index, new.row, guard)? else { return Ok(None) };
        for other in index.rows_with(&columns, guard) {
            if new.was_under(&other) {
                continue;
            }
            if let Some(record) = self.find_holder(table, index, (&columns, &other), guard)? {
                if let Some(unfinished) = index.unfinished() {
                    if unfinished.note_doubt(&columns) {
                        return Ok(None);
                    }
                    // Only the commit of the index is missing.
                    self.lock(Resource::index_build(table.id()), LockMode::Read)?;
                }
                let is_seen = self.sees_duplicate(record, guard)?;
                return Ok(Some(Duplicate { index: number, is_seen }));
            }
        }
        Ok(None)
    }

    /// Locks the values that a row is to have in a unique index; returns them, unless other rows may have
    /// them too.
    fn lock_values(
        &mut self,
        table: &Arc<Table>,
        index: &SecondaryIndex,
        row: &[u8],
        guard: &Guard,
    ) -> Flow<Option<Vec<u8>>> {
        if !index.definition().is_unique {
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(ENTRY_BYTES);
        let has_null = index.append_columns(table.state(guard).layout(), row, &mut columns);
        if !index.is_exclusive(has_null) {
            return Ok(None);
        }
        let skips_waiting = mutant::is_active(Mutant::UniqueCheckSkipsWaiting);
        if !skips_waiting && self.locks_rows(table, Intent::newest(Strength::Write)) {
            self.lock(Resource::value(index.definition().id, &columns), LockMode::Write)?;
        }
        Ok(Some(columns))
    }

    /// See [`crate::txn::Access::may_have_twin`]. The values are locked.
    pub(super) fn is_perhaps_a_twin(
        &mut self,
        table: &Arc<Table>,
        number: u16,
        written: NewRow<'_>,
        guard: &Guard,
    ) -> bool {
        let state = table.state(guard);
        let Some(index) = secondary(state, Some(number)) else { return false };
        let mut columns = Vec::with_capacity(ENTRY_BYTES);
        let has_null = index.append_columns(state.layout(), written.row, &mut columns);
        if !index.is_exclusive(has_null) {
            return false;
        }
        let others = index.rows_with(&columns, guard).into_iter().filter(|other| other != written.key);
        let mut row = Vec::new();
        for record in others.filter_map(|other| find_record(table, &other, guard)) {
            match self.read_settled(record, &mut row, guard) {
                Some(false) => {}
                Some(true) if !has_columns(index, state, &row, &columns) => {}
                None if mutant::is_active(Mutant::ChangingTwinForgotten) => {}
                _ => return true,
            }
        }
        false
    }

    /// The record under `key`, if its row has these columns for certain, as far as this transaction is
    /// concerned. See the module head.
    fn find_holder<'g>(
        &mut self,
        table: &Arc<Table>,
        index: &SecondaryIndex,
        (columns, key): (&[u8], &[u8]),
        guard: &'g Guard,
    ) -> Flow<Option<&'g Record>> {
        let Some(record) = find_record(table, key, guard) else { return Ok(None) };
        let state = table.state(guard);
        let mut row = Vec::new();
        let has_columns = |row: &[u8]| has_columns(index, state, row, columns);
        match self.read_settled(record, &mut row, guard) {
            Some(is_there) if !is_there || !has_columns(&row) => return Ok(None),
            Some(_) if !self.reads.is_serializable() => return Ok(Some(record)),
            None if mutant::is_active(Mutant::UniqueCheckSkipsWaiting) => return Ok(None),
            _ => {}
        }
        // REPEATABLE READ goes by whether its snapshot sees the row, so it waits for changes of other columns
        // as well.
        let strength = match self.reads {
            Reads::OneSnapshot => Strength::Read,
            _ => Strength::KeyRead,
        };
        let intent = Intent::newest(strength);
        if self.locks_rows(table, intent) {
            self.lock(Resource::row(table.id(), key), row_mode(intent))?;
        }
        // Another record may have replaced it.
        let Some(record) = find_record(table, key, guard) else { return Ok(None) };
        self.follow_writer(record, guard);
        let (_, is_there) = record.copy_newest(&mut row, guard);
        Ok((is_there && has_columns(&row)).then_some(record))
    }

    /// Whether a row is in the record, and which, unless another transaction is changing it; follows its
    /// writer.
    fn read_settled(&mut self, record: &Record, row: &mut Vec<u8>, guard: &Guard) -> Option<bool> {
        let Self { history, shared, dependencies, .. } = self;
        let follow = |mark: &[_]| shared.protocol.follow(mark, dependencies);
        shared.histories.read_settled(record, history, row, follow, guard)
    }

    /// Puts one entry into an index, unless it is there.
    fn add_entry(
        &mut self,
        table: &Arc<Table>,
        index: &SecondaryIndex,
        entry: &[u8],
        guard: &Guard,
    ) -> Flow<()> {
        let (relation, entries) = (index.definition().id, index.entries());
        let locks_rows = self.locks_rows(table, Intent::newest(Strength::NoKeyWrite));
        let mut divided = None;
        while let Located::Absent(vacancy) = entries.locate(entry, &Finger::default(), guard) {
            let gap = Resource::gap(relation, entries.next_key(&vacancy).as_deref());
            if divided != Some(gap) {
                if locks_rows {
                    self.lock_divided_gap(relation, gap, entry)?;
                }
                divided = Some(gap);
            }
            if entries.fill_empty(&vacancy, entry, guard) {
                let table = self.table_place(table);
                self.new_entries.push(table, relation, entry);
            }
        }
        Ok(())
    }

    /// Gives up those entries of the row under `key` that it does not need as `new`.
    pub(super) fn give_up_entries(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        new: Option<&[u8]>,
        guard: &Guard,
    ) {
        let state = table.state(guard);
        if state.indexes().is_empty() {
            return;
        }
        let Some(row) = find_record(table, key, guard).and_then(|record| record.row(guard)) else { return };
        self.let_entries_go(table, state, key, row, new);
    }

    /// Entries of `row` may be removed one day, except those that `new` needs, too.
    fn let_entries_go(
        &mut self,
        table: &Arc<Table>,
        state: &TableState,
        key: &[u8],
        row: &[u8],
        new: Option<&[u8]>,
    ) {
        let EntryBuffers { entry, scratch, .. } = &mut self.entry_buffers;
        for index in state.indexes() {
            index.encode(state.layout(), row, key, entry);
            let is_kept =
                new.is_some_and(|new| index.is_entry_of(entry, state.layout(), (key, new), scratch));
            if !is_kept {
                let index = Some(index.definition().id);
                self.purgeable.push(Purgeable {
                    table: Arc::clone(table),
                    index,
                    key: entry.as_slice().into(),
                });
            }
        }
        self.entry_buffers.put_away();
    }

    /// What the entries were made for has been undone, or will be: those that are not needed may be removed.
    pub(super) fn give_up_new_entries(&mut self) {
        let mut start = 0;
        for (table, index, end) in self.new_entries.entries.drain(..) {
            let table = Arc::clone(&self.tables[table].table);
            let key = self.new_entries.bytes[start..end].into();
            self.purgeable.push(Purgeable { table, index: Some(index), key });
            start = end;
        }
        self.new_entries.bytes.clear();
    }

    /// Adds the entries of older versions, which snapshots may see, to an index that was made just now. The
    /// caller has locked the table against all others.
    pub(super) fn add_entries_of_older_versions(
        &mut self,
        table: &Arc<Table>,
        index: &SecondaryIndex,
        guard: &Guard,
    ) {
        let shared = Arc::clone(&self.shared);
        let state = table.state(guard);
        let mut entry = Vec::new();
        let added = for_each_record(state.index(), guard, |key, record| {
            shared.histories.for_each_older(record, guard, |row| {
                index.encode(state.layout(), row, key, &mut entry);
                if index.entries().get_or_insert(&entry, None, guard).1 {
                    let index = Some(index.definition().id);
                    let key = entry.as_slice().into();
                    self.purgeable.push(Purgeable { table: Arc::clone(table), index, key });
                }
            });
            Ok(())
        });
        debug_assert!(added.is_ok(), "nothing here fails");
    }
}

/// Whether two rows have the same columns in an index.
pub(super) fn has_same_columns(index: &SecondaryIndex, state: &TableState, one: &[u8], other: &[u8]) -> bool {
    let mut columns = Vec::with_capacity(ENTRY_BYTES);
    index.append_columns(state.layout(), one, &mut columns);
    has_columns(index, state, other, &columns)
}

/// Whether a row has these columns in an index.
fn has_columns(index: &SecondaryIndex, state: &TableState, row: &[u8], columns: &[u8]) -> bool {
    let mut its_columns = Vec::with_capacity(columns.len());
    index.append_columns(state.layout(), row, &mut its_columns);
    its_columns == columns
}

/// Whether the row under the key that an entry leads to, which is locked, needs the entry: it has these
/// values. `None` if that cannot be said yet, because snapshots may see another version.
pub(super) fn is_entry_needed<P: Protocol>(
    transaction: &Body<P>,
    state: &TableState,
    index: &SecondaryIndex,
    entry: &[u8],
    guard: &Guard,
) -> Option<bool> {
    let key = &entry[index.key_start(entry)..];
    let Some(record) = state.index().get(key, guard) else { return Some(false) };
    if !transaction.shared.histories.is_old(record.writer()) {
        return None;
    }
    let row = record.row(guard);
    Some(row.is_some_and(|row| index.is_entry_of(entry, state.layout(), (key, row), &mut Vec::new())))
}
