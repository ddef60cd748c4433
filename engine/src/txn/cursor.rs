//! How a [`Cursor`] steps through an index: batches of keys, fetched anew when a key has come or gone.
//!
//! Whether a key may be passed is the business of whoever scans; see `two_phase_locking::scan` and `replay`.

use std::ops::Bound;

use crossbeam_epoch as epoch;

use crate::storage::scan_batch::{ScanBatch, ScanDirection};
use crate::storage::table::Table;
use crate::txn::{Cursor, Direction, RowBuffer};

/// Copies the row under `key`, which is protected by a lock; false if there is none.
pub(super) fn copy_row(table: &Table, key: &[u8], row: &mut RowBuffer) -> bool {
    let guard = epoch::pin();
    let record = table.state(&guard).index().get(key, &guard);
    let Some(bytes) = record.and_then(|record| record.row(&guard)) else { return false };
    fill(row, key, bytes);
    true
}

fn fill(row: &mut RowBuffer, key: &[u8], bytes: &[u8]) {
    row.bytes.clear();
    row.bytes.extend_from_slice(bytes);
    row.key.clear();
    row.key.extend_from_slice(key);
}

/// Fetches the next batch behind the cursor's position.
fn fetch(table: &Table, cursor: &mut Cursor) {
    let (from, direction) = match cursor.direction {
        Direction::Forward => {
            (cursor.range.lower.as_deref().map_or(Bound::Unbounded, Bound::Included), ScanDirection::Forward)
        }
        Direction::Backward => {
            (cursor.range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded), ScanDirection::Backward)
        }
    };
    let from = if cursor.has_position { Bound::Excluded(cursor.position.as_slice()) } else { from };
    let guard = epoch::pin();
    table.state(&guard).index().scan(from, direction, &mut cursor.batch, &guard);
    cursor.is_fetched = true;
    cursor.next = 0;
}

impl Cursor {
    /// Makes sure that the next key in scan order, beyond the range perhaps, stands at `next` of the batch; false at the end of
    /// the index.
    pub(super) fn has_next(&mut self, table: &Table) -> bool {
        if !self.is_fetched || (self.next >= self.batch.len() && !self.batch.reaches_end()) {
            fetch(table, self);
        }
        self.next < self.batch.len()
    }

    pub(super) fn next_key(&self) -> &[u8] {
        self.batch.key(self.next)
    }

    pub(super) fn step(&mut self) {
        self.position.clear();
        self.position.extend_from_slice(self.batch.key(self.next));
        self.has_position = true;
        self.next += 1;
    }

    pub(super) fn is_beyond(&self, key: &[u8]) -> bool {
        match self.direction {
            Direction::Forward => self.range.upper.as_deref().is_some_and(|upper| key >= upper),
            Direction::Backward => self.range.lower.as_deref().is_some_and(|lower| key < lower),
        }
    }

    /// Whether the keys of the batch are still all there are. If not, the batch is forgotten.
    pub(super) fn is_still_valid(&mut self, table: &Table) -> bool {
        let guard = epoch::pin();
        self.is_fetched = table.state(&guard).index().validate(&self.batch, &guard);
        self.is_fetched
    }

    /// Copies the next row of the batch, found under an earlier guard perhaps.
    pub(super) fn copy_next(&self, table: &Table, row: &mut RowBuffer) -> bool {
        let guard = epoch::pin();
        let Some(page) = table.state(&guard).index().resume(&self.batch, &guard) else {
            return copy_row(table, self.next_key(), row);
        };
        let Some(bytes) = page.record(self.next).row(&guard) else { return false };
        fill(row, page.key(self.next), bytes);
        true
    }
}

/// The smallest key that is at least `key`.
pub(super) fn first_key_from(table: &Table, key: &[u8]) -> Option<Vec<u8>> {
    let guard = epoch::pin();
    let mut batch = ScanBatch::new();
    let index = table.state(&guard).index();
    let page = index.scan(Bound::Included(key), ScanDirection::Forward, &mut batch, &guard);
    (!page.is_empty()).then(|| page.key(0).to_vec())
}

/// The next row of a scan that nobody else can disturb: its table is locked as a whole, or it is replayed.
///
/// In an ordered index rows that the transaction itself has put ahead of the scan are met, as under row locks: a run and its
/// replay must see the same, wherever the batches happen to end.
pub(super) fn next_undisturbed(table: &Table, cursor: &mut Cursor, row: &mut RowBuffer) -> bool {
    let is_ordered = table.state(&epoch::pin()).index().is_ordered();
    loop {
        let is_end = !cursor.has_next(table) || cursor.is_beyond(cursor.next_key());
        if is_ordered && !cursor.is_still_valid(table) {
            continue;
        }
        if is_end {
            break;
        }
        let found = cursor.copy_next(table, row);
        cursor.step();
        if found {
            return true;
        }
    }
    cursor.finish();
    false
}
