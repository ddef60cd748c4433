//! The result of one step of a scan, in buffers that the next step uses again.
//!
//! A scan of a table lives longer than one visit to its index: between two rows the transaction may have to
//! wait, and nothing may stay pinned while it waits. So a [`ScanBatch`] owns copies of the keys, and keeps
//! record addresses that are given out only through a [`ScanPage`] right after the step, or later through
//! `PrimaryIndex::resume_record`, which first checks that nothing has been unlinked from the index since.
//!
//! For phantom protection the batch also remembers the version of every leaf (or shard) it rests on.
//! `PrimaryIndex::validate` returns whether the set of keys in the interval it covers is still the same;
//! exchanges of rows do not count.
//!
//! The interval runs from the bound of the step to the batch's last key, or to the end of the index if
//! [`ScanBatch::reaches_end`].
#![allow(unsafe_code)] // Keeps addresses of records and locks across pins; see invariant 4 of `ordered_index`.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_epoch::Guard;
use smallvec::SmallVec;

use super::ordered_index::version_lock::VersionLock;
use super::record::Record;

/// The direction of a scan of an ordered index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanDirection {
    Forward,
    Backward,
}

/// A number for every index ever made, so that a batch is never taken for one of another index.
pub(super) fn new_index_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Some keys of an index in order, with the information to detect later whether other keys have come between
/// them.
#[derive(Default)]
pub struct ScanBatch {
    /// The index that filled the batch; 0 for none.
    index_id: u64,
    /// Its `removals` before the step began.
    removals: u64,
    /// What the batch rests on, with the versions seen.
    sources: SmallVec<[(*const VersionLock, u64); 2]>,
    keys: Vec<u8>,
    entries: Vec<Entry>,
    reaches_end: bool,
}

struct Entry {
    /// The range of the key in `keys`.
    key: Range<usize>,
    /// The hash, by which a hash index orders before the key.
    hash: u64,
    record: *const Record,
}

// SAFETY: the addresses are followed only by `page` and `validate`, under their conditions, on any thread.
unsafe impl Send for ScanBatch {}
// SAFETY: as above; shared access changes nothing.
unsafe impl Sync for ScanBatch {}

impl ScanBatch {
    pub fn new() -> ScanBatch {
        ScanBatch::default()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True only at the end of the index: a step goes on until it finds a key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The key at `position`, in the order of the scan. Panics from `len` on.
    pub fn key(&self, position: usize) -> &[u8] {
        &self.keys[self.entries[position].key.clone()]
    }

    /// Where the next step begins (excluded).
    pub fn last_key(&self) -> Option<&[u8]> {
        self.len().checked_sub(1).map(|last| self.key(last))
    }

    /// Whether the index has no key after the last one.
    pub fn reaches_end(&self) -> bool {
        self.reaches_end
    }

    /// Clears everything but keeps the buffers.
    pub fn clear(&mut self) {
        self.start(0, 0);
    }

    pub(super) fn start(&mut self, index_id: u64, removals: u64) {
        self.index_id = index_id;
        self.removals = removals;
        self.sources.clear();
        self.reaches_end = false;
        self.clear_entries();
    }

    pub(super) fn clear_entries(&mut self) {
        self.keys.clear();
        self.entries.clear();
    }

    /// Adds a key, appended to the buffer by `append`, and its record.
    pub(super) fn push(&mut self, append: impl FnOnce(&mut Vec<u8>), hash: u64, record: *const Record) {
        let start = self.keys.len();
        append(&mut self.keys);
        self.entries.push(Entry { key: start..self.keys.len(), hash, record });
    }

    /// Sorts the entries into the order of a hash index.
    pub(super) fn sort_by_hash(&mut self) {
        let keys = &self.keys;
        let key = |entry: &Entry| &keys[entry.key.clone()];
        self.entries.sort_unstable_by(|a, b| a.hash.cmp(&b.hash).then_with(|| key(a).cmp(key(b))));
    }

    pub(super) fn rest_on(&mut self, lock: &VersionLock, version: u64) {
        self.sources.push((lock, version));
    }

    pub(super) fn set_reaches_end(&mut self, reaches_end: bool) {
        self.reaches_end = reaches_end;
    }

    /// Whether every record and lock found by the batch is still linked, and stays readable while the caller
    /// is pinned.
    ///
    /// A pin orders like the sequentially consistent fence it contains: if `removals` still reads as before,
    /// anything that is unlinked is retired after this pin, and is not freed before it ends.
    pub(super) fn is_alive(&self, index_id: u64, removals: u64) -> bool {
        self.index_id == index_id && self.removals == removals
    }

    /// # Safety
    /// `is_alive` held while `guard` was pinned, or `guard` has been pinned since the batch was filled; and
    /// the index lives for `'g`.
    pub(super) unsafe fn page<'g>(&'g self, _guard: &'g Guard) -> ScanPage<'g> {
        ScanPage { batch: self }
    }

    /// The record at `position`. Panics from `len` on.
    ///
    /// # Safety
    /// As for [`ScanBatch::page`].
    pub(super) unsafe fn record<'g>(&self, position: usize, _guard: &'g Guard) -> &'g Record {
        // SAFETY: alive by the caller's promise.
        unsafe { &*self.entries[position].record }
    }

    /// Whether no key has been inserted or removed.
    ///
    /// # Safety
    /// As for [`ScanBatch::page`].
    pub(super) unsafe fn is_unchanged(&self) -> bool {
        // SAFETY: the locks live in leaves that are still linked, or in shards of a living index.
        self.sources.iter().all(|&(lock, version)| unsafe { &*lock }.check(version).is_ok())
    }
}

/// A batch whose records may be read.
#[derive(Clone, Copy)]
pub struct ScanPage<'g> {
    batch: &'g ScanBatch,
}

impl<'g> ScanPage<'g> {
    pub fn len(self) -> usize {
        self.batch.len()
    }

    pub fn is_empty(self) -> bool {
        self.batch.is_empty()
    }

    /// The key at `position`. Panics from `len` on.
    pub fn key(self, position: usize) -> &'g [u8] {
        self.batch.key(position)
    }

    /// The record at `position`. Panics from `len` on.
    pub fn record(self, position: usize) -> &'g Record {
        // SAFETY: a page is made only for batches whose records live as long as it does.
        unsafe { &*self.batch.entries[position].record }
    }

    pub fn reaches_end(self) -> bool {
        self.batch.reaches_end
    }

    /// Keys and records, in the order of the scan.
    pub fn iter(self) -> impl Iterator<Item = (&'g [u8], &'g Record)> {
        (0..self.len()).map(move |position| (self.key(position), self.record(position)))
    }
}
