//! Inserts, and what they lock.
//!
//! An insert locates its key, locks its row and the gap before the next key, and then puts its record there,
//! row included. The index refuses that if the next key may no longer be the next. Then the key is located
//! again. A later scan meets the key and waits for its row; an earlier one holds the gap.
//!
//! The gap is locked before the key appears, so that a transaction that must wait leaves nothing behind that
//! the transaction it waits for could run into. Entries of secondary indexes come before the row, too, and
//! mean nothing while it is not there (`index_entries`). No gaps are locked if the whole table is, or where
//! no scan goes by key: in hash indexes and under hidden keys.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::definition::TableId;

use super::Body;
use super::resource::Resource;
use super::undo::RowChange;
use crate::protocol::Protocol;
use crate::storage::primary_index::{Located, PrimaryIndex, Vacancy};
use crate::storage::record::Record;
use crate::storage::table::Table;
use crate::txn::lock_mode::LockMode;
use crate::txn::{Duplicate, Flow, Insertion, Intent, NewRow, Strength};

/// Where a row goes.
enum Target<'g> {
    Record(&'g Record),
    /// A place for a new record, and the gap that it divides.
    Vacancy(Vacancy<'g>, Resource),
}

impl<P: Protocol> Body<P> {
    pub(super) fn insert_row(&mut self, table: &Arc<Table>, inserted: NewRow<'_>) -> Flow<Insertion> {
        let NewRow { key, row, arbiter, .. } = inserted;
        let guard = epoch::pin();
        let state = table.state(&guard);
        let index = state.index();
        // Under a hidden key, a new row can be found only by a secondary index.
        let is_found = !state.has_hidden_key() || !state.indexes().is_empty();
        let locks_rows = is_found && self.locks_rows(table, Intent::newest(Strength::Write));
        let has_gaps = !state.has_hidden_key() && index.is_ordered();
        // The buckets of both locks are fetched from memory while something else is done.
        let row_resource = Resource::row(table.id(), key);
        self.shared.locks.prefetch(row_resource);
        if arbiter.is_some()
            && let Some(duplicate) = self.find_duplicate(table, arbiter, inserted, &guard)?
        {
            return Ok(Insertion::Duplicate(duplicate));
        }
        let mut target = self.locate(table, index, key, &guard);
        if let Target::Record(record) = target
            && self.is_taken(record, &guard)
        {
            return self.duplicate(record, &guard);
        }
        if locks_rows {
            self.lock(row_resource, LockMode::Write)?;
        }
        if let Some(hindered) = self.enter_indexes(table, inserted, &guard)? {
            return Ok(hindered);
        }
        let mut divided = None;
        let mut new = None;
        let version = loop {
            match target {
                Target::Record(record) if record.has_row() => {
                    self.follow_writer(record, &guard);
                    return self.duplicate(record, &guard);
                }
                // A record without a row already separates its gaps, and scanners have locked its row. It
                // stays, unless it had left before the row was locked.
                Target::Record(record) => {
                    self.follow_writer(record, &guard);
                    let history = &mut self.history;
                    let written =
                        index.charging_write(record, &guard, || record.write(Some(row), history, &guard));
                    if let Ok((version, _)) = written {
                        break version;
                    }
                }
                Target::Vacancy(vacancy, gap) => {
                    if has_gaps && divided != Some(gap) {
                        if locks_rows {
                            self.lock_divided_gap(table.id(), gap, key)?;
                        }
                        divided = Some(gap);
                    }
                    let history = &mut self.history;
                    let version = *new.get_or_insert_with(|| history.note_new());
                    if index.fill(&vacancy, key, (row, version), &mut self.finger, &guard) {
                        break version;
                    }
                }
            }
            target = self.locate(table, index, key, &guard);
        };
        state.count_added(1);
        self.note_write(table, key, (RowChange::Put(row), RowChange::Put(row)), version);
        Ok(Insertion::Done)
    }

    /// Puts entries for a row whose key is locked into the secondary indexes, unless the row cannot be
    /// inserted.
    fn enter_indexes(
        &mut self,
        table: &Arc<Table>,
        inserted: NewRow<'_>,
        guard: &Guard,
    ) -> Flow<Option<Insertion>> {
        let state = table.state(guard);
        if state.indexes().is_empty() {
            return Ok(None);
        }
        if let Some(record) = state.index().get(inserted.key, guard).filter(|record| record.has_row()) {
            self.follow_writer(record, guard);
            return self.duplicate(record, guard).map(Some);
        }
        Ok(self.add_entries(table, inserted, guard)?.map(Insertion::Duplicate))
    }

    fn duplicate(&mut self, record: &Record, guard: &Guard) -> Flow<Insertion> {
        let is_seen = self.sees_duplicate(record, guard)?;
        Ok(Insertion::Duplicate(Duplicate { index: None, is_seen }))
    }

    fn locate<'g>(&self, table: &Table, index: &'g PrimaryIndex, key: &[u8], guard: &'g Guard) -> Target<'g> {
        match index.locate(key, &self.finger, guard) {
            Located::Present(record) => Target::Record(record),
            Located::Absent(vacancy) => {
                let gap = Resource::gap(table.id(), index.next_key(&vacancy).as_deref());
                self.shared.locks.prefetch(gap);
                Target::Vacancy(vacancy, gap)
            }
        }
    }

    /// Locks the gap before the next key, which a new key is about to divide.
    pub(super) fn lock_divided_gap(&mut self, relation: TableId, gap: Resource, key: &[u8]) -> Flow<()> {
        // Ascending keys divide the same gap. A wait for another one was settled when the row was locked.
        if self.divided_gap == Some(gap) {
            return Ok(());
        }
        let held = self.lock(gap, LockMode::IntentWrite)?;
        if held.covers(LockMode::Read) {
            // This transaction has read the range; the part below `key` gets a gap of its own.
            self.lock(Resource::gap(relation, Some(key)), LockMode::Read)?;
        } else {
            self.divided_gap = Some(gap);
        }
        Ok(())
    }
}
