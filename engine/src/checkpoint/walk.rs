//! Walks through the tables while others write, to find what goes into the next checkpoint.
//!
//! A walker is a reader at the checkpoint's time. It goes through the ranges of keys of the
//! previous checkpoint, and finds what has changed since by the handles in the records:
//!
//! | a record | since the previous checkpoint |
//! |---|---|
//! | its handle belongs to a transaction that had ended by then, or it was loaded from there | unchanged |
//! | another handle | perhaps changed: its row at the time is read |
//! | the key has left the index | a note says so for the range (`storage::range_notes`) |
//!
//! So writers pay nothing for it. A range without changes keeps its sections. One with few changes gets
//! another section. One with many changes, or with many sections, is rewritten, in pieces if it has grown.
//!
//! Invariants:
//! 1. What is skipped as unchanged is as it was at the time of the previous checkpoint: its writer had ended
//!    before that time was taken.
//! 2. Notes are read after the range has been walked through, and made before a key leaves its index.
//! 3. A key with a row at the time does not leave its index while the snapshot lives.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::definition::TableId;
use hyades_types::error::{Error, Result, sqlstate};

use super::contents::{KeyRange, TableContents};
use super::merge::Sections;
use super::pace::{Pace, Urgency};
use super::part::{PartNumber, PartReader, PartWriter};
use crate::catalog::Committed;
use crate::storage::primary_index::PrimaryIndex;
use crate::storage::range_notes::RangeNotes;
use crate::storage::read_at_time::AtTime;
use crate::storage::record::Record;
use crate::storage::scan_batch::{ScanBatch, ScanDirection};
use crate::storage::table::TableState;
use crate::txn::Captured;

/// A range is closed when its base has at least this many bytes.
pub(super) const RANGE_BYTES: u64 = 4 << 20;
/// A base is rewritten when it has more changes than this, in sections or in bytes (as a fraction of the
/// base).
const MOST_SECTIONS: usize = 16;
const BASE_BYTES_PER_CHANGE_BYTE: u64 = 2;

/// The rows of a table as the previous checkpoint has them.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) index: u64,
    pub(super) ranges: Vec<KeyRange>,
    pub(super) notes: Arc<RangeNotes>,
}

/// What all walkers of a checkpoint share.
pub(super) struct Walk<'w> {
    pub(super) captured: &'w Committed,
    /// How far the histories had come with transactions that had ended before the time of the previous
    /// checkpoint did.
    pub(super) ended_before: &'w [u64],
    pub(super) reader: &'w PartReader,
    /// Files of which so little is used that their content is rewritten.
    pub(super) sparse: &'w BTreeSet<PartNumber>,
    pub(super) is_stopping: &'w AtomicBool,
    pub(super) range_bytes: u64,
    pub(super) urgency: Urgency<'w>,
}

/// A walker with the file that it writes.
pub(super) struct Walker<'w> {
    walk: &'w Walk<'w>,
    writer: PartWriter,
    pages: Pages<'w>,
    row: Vec<u8>,
}

/// What it takes to go through an index, page by page.
struct Pages<'w> {
    batch: ScanBatch,
    pace: Pace<'w>,
}

/// A key and its row; `None` if it no longer has one.
type Change = (Box<[u8]>, Option<Box<[u8]>>);

/// What has changed in a range.
#[derive(Default)]
struct Changes {
    /// In the order of the index.
    entries: Vec<Change>,
    bytes: u64,
    /// Rows of the range at the time.
    rows: u64,
}

/// From a key (inclusive) to another.
#[derive(Clone, Copy)]
struct Interval<'k> {
    from: &'k [u8],
    until: Option<&'k [u8]>,
}

impl<'w> Walker<'w> {
    pub(super) fn new(walk: &'w Walk<'w>, writer: PartWriter) -> Walker<'w> {
        let pages = Pages { batch: ScanBatch::new(), pace: Pace::new(walk.urgency) };
        Walker { walk, writer, pages, row: Vec::new() }
    }

    pub(super) fn finish(self) -> Result<u64> {
        self.writer.finish()
    }

    /// Walks through one table, of which the previous checkpoint has `known`.
    pub(super) fn table(
        &mut self,
        id: TableId,
        state: &TableState,
        known: Option<&Known>,
    ) -> Result<TableContents> {
        let index = state.index();
        // A table with another index has all its rows rewritten.
        let known = known.filter(|known| known.index == index.id());
        let Some(known) = known else {
            let ranges = self.write_base(index, &[], None)?;
            self.pages.pace.rest();
            return Ok(TableContents { id, ranges });
        };
        let mut ranges = Vec::new();
        for (place, range) in known.ranges.iter().enumerate() {
            let until = known.ranges.get(place + 1).map(|next| &*next.from);
            let interval = Interval { from: &range.from, until };
            self.range(index, range, interval, || known.notes.has_removal(place), &mut ranges)?;
            self.pages.pace.rest();
        }
        Ok(TableContents { id, ranges })
    }

    /// Adds the new state of a range to `ranges`.
    fn range(
        &mut self,
        index: &PrimaryIndex,
        range: &KeyRange,
        interval: Interval<'_>,
        has_removal: impl Fn() -> bool,
        ranges: &mut Vec<KeyRange>,
    ) -> Result<()> {
        let is_sparse = range.sections.iter().any(|section| self.walk.sparse.contains(&section.file));
        let most_bytes = range.base_bytes() / BASE_BYTES_PER_CHANGE_BYTE;
        let has_room = range.change_bytes() <= most_bytes && range.sections.len() < MOST_SECTIONS;
        let mut changes = match is_sparse {
            true => None,
            false => self.changes(index, interval, most_bytes.saturating_sub(range.change_bytes()))?,
        };
        if let Some(changes) = &mut changes
            && has_removal()
        {
            self.add_removed(index, range, interval, changes)?;
        }
        match changes {
            Some(changes) if changes.entries.is_empty() && changes.rows == range.rows => {
                ranges.push(range.clone());
            }
            // A scan of a hash index has no order into which changes could be put.
            Some(changes)
                if has_room
                    && !changes.entries.is_empty()
                    && !range.sections.is_empty()
                    && index.is_ordered() =>
            {
                for (key, row) in &changes.entries {
                    self.writer.add(key, row.as_deref())?;
                }
                let mut range = KeyRange { rows: changes.rows, ..range.clone() };
                range.sections.extend(self.writer.end_section()?);
                ranges.push(range);
            }
            _ => {
                let pieces = self.write_base(index, interval.from, interval.until)?;
                let is_first = ranges.is_empty();
                // An empty piece belongs to the range before it.
                ranges.extend(pieces.into_iter().filter(|piece| is_first || piece.rows > 0));
            }
        }
        Ok(())
    }

    /// The changes in an interval; `None` if they take more than this many bytes.
    fn changes(
        &mut self,
        index: &PrimaryIndex,
        interval: Interval<'_>,
        most_bytes: u64,
    ) -> Result<Option<Changes>> {
        let walk = self.walk;
        let Captured { histories, at, .. } = &walk.captured.rows;
        let mut row = std::mem::take(&mut self.row);
        let mut changes = Changes::default();
        let walked = for_each_record(walk, &mut self.pages, index, interval, |key, record, guard| {
            if let Some(has_row) = unchanged(record, walk.ended_before) {
                changes.rows += u64::from(has_row);
                return Ok(());
            }
            let found = match histories.read_at_time(record, at, &mut row, guard)? {
                AtTime::NotYet => return Ok(()),
                AtTime::Gone => None,
                AtTime::Row => Some(row.as_slice()),
            };
            changes.rows += u64::from(found.is_some());
            changes.bytes += (key.len() + found.map_or(0, <[u8]>::len)) as u64;
            if changes.bytes <= most_bytes {
                changes.entries.push((key.into(), found.map(Into::into)));
            }
            Ok(())
        });
        self.row = row;
        walked?;
        Ok(Some(changes).filter(|changes| changes.bytes <= most_bytes))
    }

    /// Adds the keys that the range had and that have left the index.
    fn add_removed(
        &mut self,
        index: &PrimaryIndex,
        range: &KeyRange,
        interval: Interval<'_>,
        changes: &mut Changes,
    ) -> Result<()> {
        let mut missing: BTreeSet<Box<[u8]>> = BTreeSet::new();
        Sections::read(self.walk.reader, range, &mut Vec::new())?.for_each(|key, _| {
            missing.insert(key.into());
            Ok(())
        })?;
        let Walker { walk, pages, row, .. } = self;
        let Captured { histories, at, .. } = &walk.captured.rows;
        for_each_record(walk, pages, index, interval, |key, record, guard| {
            // A later record may have taken the place of the missing one.
            let is_known = unchanged(record, walk.ended_before).is_some()
                || histories.read_at_time(record, at, row, guard)? != AtTime::NotYet;
            if is_known {
                missing.remove(key);
            }
            Ok(())
        })?;
        if !missing.is_empty() {
            changes.entries.extend(missing.into_iter().map(|key| (key, None)));
            changes.entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        Ok(())
    }

    /// Writes all rows of an interval. Returns the resulting ranges, at least one.
    fn write_base(
        &mut self,
        index: &PrimaryIndex,
        from: &[u8],
        until: Option<&[u8]>,
    ) -> Result<Vec<KeyRange>> {
        let Walker { walk, writer, pages, row } = self;
        let Captured { histories, at, .. } = &walk.captured.rows;
        let mut ranges = vec![KeyRange { from: from.into(), rows: 0, sections: Vec::new() }];
        for_each_record(walk, pages, index, Interval { from, until }, |key, record, guard| {
            if histories.read_at_time(record, at, row, guard)? != AtTime::Row {
                return Ok(());
            }
            if writer.section_bytes() >= walk.range_bytes && index.is_ordered() {
                end_range(writer, &mut ranges)?;
                ranges.push(KeyRange { from: key.into(), rows: 0, sections: Vec::new() });
            }
            writer.add(key, Some(row))?;
            if let Some(range) = ranges.last_mut() {
                range.rows += 1;
            }
            Ok(())
        })?;
        end_range(writer, &mut ranges)?;
        Ok(ranges)
    }
}

/// Whether a record that has not been written since has a row; `None` if it has been written, perhaps just
/// now.
fn unchanged(record: &Record, ended_before: &[u64]) -> Option<bool> {
    let writer = record.writer();
    let has_row = record.has_row();
    (writer.is_before(ended_before) && record.is_of(writer)).then_some(has_row)
}

/// Adds what was written to the last range.
fn end_range(writer: &mut PartWriter, ranges: &mut [KeyRange]) -> Result<()> {
    if let Some(range) = ranges.last_mut() {
        range.sections.extend(writer.end_section()?);
    }
    Ok(())
}

/// Passes every record of an interval to `see`, in the order of the index.
fn for_each_record(
    walk: &Walk<'_>,
    Pages { batch, pace }: &mut Pages<'_>,
    index: &PrimaryIndex,
    Interval { from, until }: Interval<'_>,
    mut see: impl FnMut(&[u8], &Record, &Guard) -> Result<()>,
) -> Result<()> {
    let mut last: Option<Vec<u8>> = None;
    let is_beyond = |key: &[u8]| until.is_some_and(|until| key >= until);
    loop {
        if walk.is_stopping.load(Ordering::Relaxed) {
            return Err(Error::input(sqlstate::ADMIN_SHUTDOWN, "the database is being shut down"));
        }
        let bound = match &last {
            Some(last) => Bound::Excluded(last.as_slice()),
            None if from.is_empty() => Bound::Unbounded,
            None => Bound::Included(from),
        };
        // The epoch is pinned for no longer than one page takes.
        let guard = epoch::pin();
        let page = index.scan(bound, ScanDirection::Forward, usize::MAX, batch, &guard);
        let reaches_beyond = page.len().checked_sub(1).is_some_and(|last| is_beyond(page.key(last)));
        for (key, record) in page.iter() {
            if reaches_beyond && is_beyond(key) {
                return Ok(());
            }
            see(key, record, &guard)?;
        }
        if batch.reaches_end() {
            return Ok(());
        }
        let key = last.get_or_insert_default();
        key.clear();
        key.extend_from_slice(batch.last_key().unwrap_or_default());
        drop(guard);
        pace.rest();
    }
}
