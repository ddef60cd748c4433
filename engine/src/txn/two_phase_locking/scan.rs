//! Scans under two-phase locking: whole tables under one lock, ranges key by key.
//!
//! A range scan steps from its position to the next key, locks the key's row and the gap before it, and then looks again: if
//! the same key still comes next, nothing slipped in between before the gap was locked, and nothing can any more. The
//! first key beyond the range has only its gap locked; behind the last key that gap is the end of the table.
//! A backward scan locks the gap at its upper end first.
//!
//! Looking again is cheap: the batch of keys that the index handed out knows whether a key has come or gone since in the interval
//! it covers. If so, the batch is fetched anew from the position.

use std::ops::Bound;
use std::sync::Arc;

use crossbeam_epoch as epoch;

use super::resource::Resource;
use super::{LockingTransaction, row_mode};
use crate::mutant::{self, Mutant};
use crate::protocol::{AccessMode, Protocol};
use crate::storage::scan_batch::{ScanBatch, ScanDirection};
use crate::storage::table::Table;
use crate::txn::{Cursor, Direction, Flow, Intent, KeyRange, RowBuffer};

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
    fn has_next(&mut self, table: &Table) -> bool {
        if !self.is_fetched || (self.next >= self.batch.len() && !self.batch.reaches_end()) {
            fetch(table, self);
        }
        self.next < self.batch.len()
    }

    fn next_key(&self) -> &[u8] {
        self.batch.key(self.next)
    }

    fn step(&mut self) {
        self.position.clear();
        self.position.extend_from_slice(self.batch.key(self.next));
        self.has_position = true;
        self.next += 1;
    }

    fn is_beyond(&self, key: &[u8]) -> bool {
        match self.direction {
            Direction::Forward => self.range.upper.as_deref().is_some_and(|upper| key >= upper),
            Direction::Backward => self.range.lower.as_deref().is_some_and(|lower| key < lower),
        }
    }

    /// Whether the keys of the batch are still all there are. If not, the batch is forgotten.
    fn is_still_valid(&mut self, table: &Table) -> bool {
        let guard = epoch::pin();
        self.is_fetched = table.state(&guard).index().validate(&self.batch, &guard);
        self.is_fetched
    }

    /// Copies the next row of the batch, found under an earlier guard perhaps.
    fn copy_next(&self, table: &Table, row: &mut RowBuffer) -> bool {
        let guard = epoch::pin();
        let Some(page) = table.state(&guard).index().resume(&self.batch, &guard) else {
            return copy_row(table, self.next_key(), row);
        };
        let Some(bytes) = page.record(self.next).row(&guard) else { return false };
        fill(row, page.key(self.next), bytes);
        true
    }
}

impl<P: Protocol> LockingTransaction<P> {
    pub(super) fn start_scan(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()> {
        let is_ordered = {
            let guard = epoch::pin();
            let state = table.state(&guard);
            !state.has_hidden_key() && state.index().is_ordered()
        };
        if !is_ordered {
            // The keys come in no order, so no bound ends the scan; the procedure filters.
            cursor.range = KeyRange::default();
        }
        if cursor.range.is_whole() {
            self.lock_table_in(table, row_mode(cursor.intent))?;
        }
        cursor.is_table_locked = self.covers_rows(table, cursor.intent);
        Ok(())
    }

    pub(super) fn continue_scan(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        row: &mut RowBuffer,
    ) -> Flow<bool> {
        if cursor.is_finished {
            return Ok(false);
        }
        if cursor.is_table_locked {
            return Ok(next_under_table_lock(table, cursor, row));
        }
        if cursor.direction == Direction::Backward && !cursor.is_end_protected {
            self.protect_upper_end(table, cursor)?;
        }
        self.next_by_key(table, cursor, row)
    }

    fn next_by_key(&mut self, table: &Arc<Table>, cursor: &mut Cursor, row: &mut RowBuffer) -> Flow<bool> {
        loop {
            let key = cursor.has_next(table).then(|| cursor.next_key());
            let in_range = key.filter(|key| !cursor.is_beyond(key));
            if cursor.direction == Direction::Forward || in_range.is_some() {
                self.lock_scanned_gap(table, key)?;
            }
            if let Some(key) = in_range {
                self.lock_scanned_row(table, key, cursor.intent)?;
            }
            let is_end = in_range.is_none();
            if !cursor.is_still_valid(table) {
                continue;
            }
            if is_end {
                cursor.finish();
                return Ok(false);
            }
            let found = cursor.copy_next(table, row);
            cursor.step();
            if found {
                return Ok(true);
            }
        }
    }

    fn lock_scanned_gap(&mut self, table: &Table, key: Option<&[u8]>) -> Flow<()> {
        if mutant::is_active(Mutant::SkipGapLock) {
            return Ok(());
        }
        self.lock(Resource::gap(table.id(), key), AccessMode::Read).map(drop)
    }

    fn lock_scanned_row(&mut self, table: &Table, key: &[u8], intent: Intent) -> Flow<()> {
        self.lock(Resource::row(table.id(), key), row_mode(intent)).map(drop)
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
            self.lock_scanned_gap(table, beyond.as_deref())?;
            locked = Some(beyond);
        }
    }
}

/// The smallest key that is at least `key`.
fn first_key_from(table: &Table, key: &[u8]) -> Option<Vec<u8>> {
    let guard = epoch::pin();
    let mut batch = ScanBatch::new();
    let index = table.state(&guard).index();
    let page = index.scan(Bound::Included(key), ScanDirection::Forward, &mut batch, &guard);
    (!page.is_empty()).then(|| page.key(0).to_vec())
}

/// The next row of a table that is locked as a whole: no key needs a lock, and records stay where they are.
fn next_under_table_lock(table: &Table, cursor: &mut Cursor, row: &mut RowBuffer) -> bool {
    while cursor.has_next(table) && !cursor.is_beyond(cursor.next_key()) {
        let found = cursor.copy_next(table, row);
        cursor.step();
        if found {
            return true;
        }
    }
    cursor.finish();
    false
}
