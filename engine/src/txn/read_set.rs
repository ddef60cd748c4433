//! What a transaction has read without a lock, to be looked at again when it commits (`writes::look`).
//!
//! * A **point** is a row that was found: the address of its record, and which version it was.
//! * An **absent** key had no row. The record under it, if there is one, may leave its index, so the key is
//!   kept and not an address.
//! * A **range** is a scan: its bounds, how many keys it has noted and a hash of them with the times of their
//!   versions. So it takes the same memory however long it was, and the same scan again, up to as many keys,
//!   says whether anything in it has changed, appeared or gone.
//!
//! Absence has a time, like a row: a key that another transaction has inserted and a third one deleted since
//! is absent again, but a transaction that has not seen the first of them cannot come after it.
#![allow(unsafe_code)] // Keeps addresses of records across pins.

use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr::NonNull;

use crossbeam_epoch::Guard;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::storage::history::Handle;
use crate::storage::record::Record;
use crate::storage::versions::SeenVersion;
use crate::txn::{Cursor, Direction, IndexNumber, KeyRange};

/// The flags of a locked scan are below the number of a range: a scan may begin without locks and go on with
/// them.
const FLAG_BITS: u32 = 8;
/// The place of a table of which nothing is looked at any more.
const PROTECTED: usize = usize::MAX;
/// Buffers beyond this many entries are given back when the transaction ends.
const KEPT_ENTRIES: usize = 4096;

/// See the module head. Tables are given by their places among those of the transaction.
#[derive(Default)]
pub(super) struct ReadSet {
    pub(super) points: Vec<Point>,
    pub(super) absent: Vec<Absent>,
    /// The absent keys, one after another.
    keys: Vec<u8>,
    pub(super) ranges: Vec<Scanned>,
    /// How often something was noted.
    pub(super) reads: u64,
    /// Memory for scans that look again.
    pub(super) cursor: Cursor,
    pub(super) row: Vec<u8>,
}

/// A row that was read.
pub(super) struct Point {
    record: NonNull<Record>,
    pub(super) handle: Handle,
    pub(super) time: u64,
    pub(super) table: usize,
}

// SAFETY: the record is an allocation of the index, which any thread may read; see `Point::record`.
unsafe impl Send for Point {}

/// A key under which no row was found.
pub(super) struct Absent {
    pub(super) key: Range<usize>,
    /// The version that had no row, if there was a record.
    pub(super) seen: Option<(Handle, u64)>,
    pub(super) table: usize,
}

/// The part of an index that a scan has passed.
pub(super) struct Scanned {
    pub(super) table: usize,
    pub(super) index: IndexNumber,
    pub(super) range: KeyRange,
    pub(super) direction: Direction,
    pub(super) passed: Passed,
    /// The key at which the scan has stopped, if its row was written by the transaction itself, so that it
    /// was not noted. Otherwise it has stopped at a key that was noted, or at the end. Empty: the latter.
    pub(super) stopped_at: Vec<u8>,
    /// Whether the scan has come to the end of its range.
    pub(super) is_finished: bool,
    /// How many records there were.
    pub(super) records: usize,
}

/// The keys that a scan has noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) count: u64,
    hash: u64,
}

impl Passed {
    #[inline]
    pub(super) fn note(&mut self, key: &[u8], (time, is_there): (u64, bool)) {
        let seed =
            self.hash.rotate_left(1) ^ (time << 1 | u64::from(is_there)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.hash = xxh3_64_with_seed(key, seed);
        self.count += 1;
    }
}

impl Scanned {
    /// Whether it is still to be looked at.
    pub(super) fn is_open(&self) -> bool {
        self.table != PROTECTED
    }
}

impl Point {
    /// The record.
    ///
    /// # Safety
    /// The snapshot under which the row was read has not expired since the thread was pinned. So no version
    /// of the row that was deleted since is forgotten, and a record leaves its index only when its last one
    /// is.
    pub(super) unsafe fn record<'g>(&self, _guard: &'g Guard) -> &'g Record {
        // SAFETY: as promised.
        unsafe { self.record.as_ref() }
    }
}

impl ReadSet {
    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty() && self.absent.is_empty() && self.ranges.is_empty()
    }

    /// How many records a look passes.
    pub(super) fn records(&self) -> usize {
        // A range costs a search, even if it is empty.
        let open = self.ranges.iter().filter(|range| range.is_open());
        let of_ranges = open.map(|range| 1 + range.records).sum::<usize>();
        self.points.len() + self.absent.len() + of_ranges
    }

    /// A row was found. Only a repetition of the last note is left out.
    #[inline]
    pub(super) fn note_row(&mut self, table: usize, record: &Record, seen: SeenVersion) {
        let record = NonNull::from(record);
        let is_last = |last: &Point| last.record == record && last.handle == seen.handle;
        if !self.points.last().is_some_and(is_last) {
            self.points.push(Point { record, handle: seen.handle, time: seen.time, table });
        }
    }

    /// No row was found under this key.
    pub(super) fn note_absent(&mut self, table: usize, key: &[u8], seen: Option<SeenVersion>) {
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        let seen = seen.map(|seen| (seen.handle, seen.time));
        self.absent.push(Absent { key: start..self.keys.len(), seen, table });
    }

    pub(super) fn key(&self, absent: &Absent) -> &[u8] {
        &self.keys[absent.key.clone()]
    }

    /// The range of a scan: its first one, with which it goes on.
    #[inline]
    pub(super) fn range_of(&mut self, table: usize, cursor: &mut Cursor) -> &mut Scanned {
        if cursor.own[0] >> FLAG_BITS == 0 {
            self.ranges.push(Scanned {
                table,
                index: cursor.index,
                range: cursor.range.clone(),
                direction: cursor.direction,
                passed: Passed::default(),
                stopped_at: Vec::new(),
                is_finished: false,
                records: 0,
            });
            cursor.own[0] = (self.ranges.len() as u64) << FLAG_BITS;
        }
        let number = (cursor.own[0] >> FLAG_BITS) as usize - 1;
        &mut self.ranges[number]
    }

    /// The table of which most was read.
    pub(super) fn largest(&self) -> Option<usize> {
        let mut records = BTreeMap::<usize, usize>::new();
        self.points.iter().for_each(|point| *records.entry(point.table).or_default() += 1);
        self.absent.iter().for_each(|absent| *records.entry(absent.table).or_default() += 1);
        self.ranges.iter().for_each(|range| *records.entry(range.table).or_default() += 1 + range.records);
        let tables = records.into_iter().filter(|(table, _)| *table != PROTECTED);
        tables.max_by_key(|(_, records)| *records).map(|(table, _)| table)
    }

    /// What was read of a table is protected by a lock on it from here on.
    pub(super) fn forget_table(&mut self, table: usize) {
        self.points.retain(|point| point.table != table);
        self.absent.retain(|absent| absent.table != table);
        // Cursors know the numbers of their ranges.
        for range in self.ranges.iter_mut().filter(|range| range.table == table) {
            range.table = PROTECTED;
        }
    }

    /// Forgets all, when the transaction has ended.
    pub(super) fn clear(&mut self) {
        if self.points.capacity() + self.ranges.capacity() + self.keys.capacity() > KEPT_ENTRIES {
            *self = ReadSet::default();
            return;
        }
        self.points.clear();
        self.absent.clear();
        self.keys.clear();
        self.ranges.clear();
        self.reads = 0;
    }
}
