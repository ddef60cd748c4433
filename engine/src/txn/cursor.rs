//! How a [`Cursor`] steps through an index: batches of keys, fetched again when a key has appeared or
//! disappeared.
//!
//! The code that scans decides whether a key may be passed; see `writes::locked_scan` and `replay_access`.

use std::ops::Bound;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::definition::TableId;
use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::key;

use crate::mutant::{self, Mutant};
use crate::storage::primary_index::PrimaryIndex;
use crate::storage::record::Record;
use crate::storage::scan_batch::ScanDirection;
use crate::storage::secondary_index::SecondaryIndex;
use crate::storage::table::{Table, TableState};
use crate::txn::{Cursor, Direction, IndexNumber, Intent, RowInPlace, Strength};

/// Keys in the first batch of a scan: many scans want one row, or a few.
const FIRST_AHEAD: usize = 4;
/// Each further batch is this many times larger.
const MORE_AHEAD: usize = 4;
/// The most keys of a batch.
const MOST_AHEAD: usize = 64;

/// The cost of passing a record that shows no row, as work of a guest.
const UNITS_PER_PASSED_RECORD: u32 = 20;

/// The keys of a scan in index order: at least `lower`, below `upper`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
}

impl KeyRange {
    pub fn is_whole(&self) -> bool {
        self.lower.is_none() && self.upper.is_none()
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_ref().is_none_or(|lower| key >= lower.as_slice())
            && self.upper.as_ref().is_none_or(|upper| key < upper.as_slice())
    }
}

/// A scan has passed a record without a row for its reader. There may be many in a row, and what looks for
/// the next row is one instruction.
///
/// # Errors
/// The errors of [`guest::spend`].
#[cold]
pub(super) fn note_passed() -> Result<()> {
    guest::spend(UNITS_PER_PASSED_RECORD)
}

/// The record under `key`, with or without a row.
pub(super) fn find_record<'g>(table: &Table, key: &[u8], guard: &'g Guard) -> Option<&'g Record> {
    table.state(guard).index().get(key, guard)
}

/// The row under `key`, which is protected by a lock.
pub(super) fn find_row<'g>(table: &Table, key: &[u8], guard: &'g Guard) -> Option<RowInPlace<'g>> {
    RowInPlace::of(find_record(table, key, guard)?, guard)
}

/// What a reader with this intent gets of a record: its row, or only that there is one.
pub(super) fn show<'g>(record: &'g Record, intent: Intent, guard: &'g Guard) -> Option<RowInPlace<'g>> {
    match intent.read_strength() {
        Strength::KeyRead => record.has_row().then_some(RowInPlace { bytes: &[], record }),
        _ => RowInPlace::of(record, guard),
    }
}

/// Fetches the next batch after the cursor's position.
fn fetch(table: &Table, cursor: &mut Cursor) {
    let (from, direction) = match cursor.direction {
        Direction::Forward => {
            (cursor.range.lower.as_deref().map_or(Bound::Unbounded, Bound::Included), ScanDirection::Forward)
        }
        Direction::Backward => {
            (cursor.range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded), ScanDirection::Backward)
        }
    };
    if let Some(last) = cursor.next.checked_sub(1) {
        cursor.position.clear();
        cursor.position.extend_from_slice(cursor.batch.key(last));
    }
    let from = if cursor.has_position { Bound::Excluded(cursor.position.as_slice()) } else { from };
    let guard = epoch::pin();
    cursor.ahead = (cursor.ahead * MORE_AHEAD).clamp(FIRST_AHEAD, MOST_AHEAD);
    let state = table.state(&guard);
    cursor.keys(state).scan(from, direction, cursor.ahead, &mut cursor.batch, &guard);
    cursor.is_fetched = true;
    cursor.next = 0;
}

/// The secondary index of this number.
pub(super) fn secondary(state: &TableState, index: IndexNumber) -> Option<&SecondaryIndex> {
    index.map(|index| &state.indexes()[usize::from(index)])
}

impl Cursor {
    /// What it steps through.
    fn keys<'s>(&self, state: &'s TableState) -> &'s PrimaryIndex {
        secondary(state, self.index).map_or_else(|| state.index(), SecondaryIndex::entries)
    }

    /// Whether the keys come in an order that bounds can be compared with.
    pub(super) fn has_bounds(&self, state: &TableState) -> bool {
        self.index.is_some() || (!state.has_hidden_key() && state.index().is_ordered())
    }

    /// Whether its rows come in an order that a replay can repeat.
    pub(super) fn has_order(&self, state: &TableState) -> bool {
        self.index.is_some() || state.index().is_ordered()
    }

    /// The number of the index, for its gaps.
    pub(super) fn relation(&self, table: &Table, guard: &Guard) -> TableId {
        if self.index.is_none() {
            return table.id();
        }
        secondary(table.state(guard), self.index).map_or(table.id(), |index| index.definition().id)
    }

    /// Whether the row of the key returned last, as some reader sees it, is to be found under that key.
    pub(super) fn finds(&mut self, table: &Table, row: &[u8], guard: &Guard) -> bool {
        if self.index.is_none() || mutant::is_active(Mutant::EntryNotRechecked) {
            return true;
        }
        let state = table.state(guard);
        let Some(index) = secondary(state, self.index) else { return true };
        let mut entry = std::mem::take(&mut self.entry);
        let is_found = index.is_entry_of(self.last_key(), state.layout(), (self.row_key(), row), &mut entry);
        self.entry = entry;
        is_found
    }

    /// The unique index and the whole value it looks for, if it looks for just one row.
    pub(super) fn sought_value(&self, table: &Table, guard: &Guard) -> Option<(TableId, &[u8])> {
        let index = secondary(table.state(guard), self.index)?;
        let (lower, upper) = (self.range.lower.as_deref()?, self.range.upper.as_deref()?);
        let is_one_value = index.definition().is_unique && index.is_whole_value(lower);
        if !is_one_value {
            return None;
        }
        let mut after = lower.to_vec();
        let is_sought = key::successor(&mut after) && after == upper;
        is_sought.then_some((index.definition().id, lower))
    }

    /// Makes sure that the next key in scan order, perhaps beyond the range, is at `next` of the batch; false
    /// at the end of the index.
    pub(super) fn has_next(&mut self, table: &Table) -> bool {
        if !self.is_fetched || (self.next >= self.batch.len() && !self.batch.reaches_end()) {
            fetch(table, self);
        }
        self.next < self.batch.len()
    }

    pub(super) fn next_key(&self) -> &[u8] {
        self.batch.key(self.next)
    }

    /// The key of the row that the next key leads to.
    pub(super) fn next_row_key(&self, table: &Table, guard: &Guard) -> &[u8] {
        let key = self.next_key();
        if self.index.is_none() {
            return key;
        }
        secondary(table.state(guard), self.index).map_or(key, |index| &key[index.key_start(key)..])
    }

    pub(super) fn step(&mut self, table: &Table, guard: &Guard) {
        if self.index.is_some()
            && let Some(index) = secondary(table.state(guard), self.index)
        {
            self.row_key_start = index.key_start(self.batch.key(self.next));
        }
        self.has_position = true;
        self.next += 1;
    }

    pub(super) fn is_beyond(&self, key: &[u8]) -> bool {
        match self.direction {
            Direction::Forward => self.range.upper.as_deref().is_some_and(|upper| key >= upper),
            Direction::Backward => self.range.lower.as_deref().is_some_and(|lower| key < lower),
        }
    }

    /// Whether the batch still has all keys of its interval. If not, the batch is forgotten.
    pub(super) fn is_still_valid(&mut self, table: &Table, guard: &Guard) -> bool {
        self.is_fetched = self.keys(table.state(guard)).validate(&self.batch, guard);
        self.is_fetched
    }

    /// The record of the batch's next key, found under an earlier guard perhaps.
    pub(super) fn record<'g>(&self, table: &Table, guard: &'g Guard) -> Option<&'g Record> {
        if self.index.is_some() {
            return find_record(table, self.next_row_key(table, guard), guard);
        }
        let index = table.state(guard).index();
        let resumed = index.resume_record(&self.batch, self.next, guard);
        resumed.or_else(|| index.get(self.next_key(), guard))
    }
}

/// The smallest key of the cursor's index that is at least `key`.
pub(super) fn first_key_from(table: &Table, cursor: &Cursor, key: &[u8]) -> Option<Vec<u8>> {
    let guard = epoch::pin();
    let keys = cursor.keys(table.state(&guard));
    keys.first_key(Bound::Included(key), &guard).map(|key| key.to_vec())
}

/// The next record of a scan, with or without a row.
///
/// In an ordered index, the scan meets keys that have appeared ahead of it since the batch was fetched,
/// including those of the transaction's own rows, as under row locks. A run and its replay must see the same,
/// wherever the batches happen to end.
///
/// # Errors
/// The errors of [`note_passed`].
pub(super) fn next_record<'g>(
    table: &Table,
    cursor: &mut Cursor,
    guard: &'g Guard,
) -> Result<Option<&'g Record>> {
    if cursor.is_finished {
        return Ok(None);
    }
    let is_ordered = cursor.has_order(table.state(guard));
    loop {
        let is_end = !cursor.has_next(table) || cursor.is_beyond(cursor.next_key());
        if is_ordered && !cursor.is_still_valid(table, guard) {
            continue;
        }
        if is_end {
            break;
        }
        let found = cursor.record(table, guard);
        cursor.step(table, guard);
        if found.is_some() {
            return Ok(found);
        }
        note_passed()?;
    }
    cursor.finish();
    Ok(None)
}

/// The next row of a scan that no other transaction can disturb: the whole table is locked, or this is a
/// replay.
///
/// # Errors
/// The errors of [`note_passed`].
pub(super) fn next_undisturbed<'g>(
    table: &Table,
    cursor: &mut Cursor,
    guard: &'g Guard,
) -> Result<Option<RowInPlace<'g>>> {
    while let Some(record) = next_record(table, cursor, guard)? {
        let found = RowInPlace::of(record, guard);
        if let Some(row) = found
            && cursor.finds(table, row.bytes, guard)
        {
            return Ok(found);
        }
        note_passed()?;
    }
    Ok(None)
}
