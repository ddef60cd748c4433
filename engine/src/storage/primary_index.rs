//! A table's primary index, and the container for the entries of secondary ones: memcomparable key bytes in
//! and out, for every structure and key packing.
//!
//! Keys of a fixed width up to 8 or 16 bytes are packed into numbers, the others are kept as byte strings.
//! Bounds of scans may be byte strings of any length (a prefix of the key's columns, say), compared byte by
//! byte with the keys.
//!
//! The same operations mean the same on every kind, except that a hash index ([`PrimaryIndex::is_ordered`] is
//! false) scans in an order of its own and knows no next key.
//!
//! References to records live as long as both the guard and the index; the guard must come from
//! [`crossbeam_epoch::pin`].
#![allow(unsafe_code)] // Turns a batch into a page of records under the conditions of `scan_batch`.

mod bulk;
mod charged;

use std::ops::Bound;
use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::definition::IndexKind;
use hyades_types::memory::{Charge, in_database};
use parking_lot::RwLock;

use super::early_runs::{Early, EarlyRuns};
use super::hash_index::HashIndex;
use super::history::Handle;
use super::ordered_index::key::{ByteString, IndexKey};
use super::ordered_index::{
    Finger as OrderedFinger, Located as OrderedLocated, Nearby as OrderedNearby, OrderedIndex,
    Vacancy as OrderedVacancy,
};
use super::range_notes::RangeNotes;
use super::record::{OwnedRecord, Record};
use super::scan_batch::{ScanBatch, ScanDirection, ScanPage};

pub(super) use self::bulk::UnsortedKeys;
pub use super::ordered_index::key::KeyBytes;

/// Leaves that are freed in one step: some thousands of records, some hundred microseconds.
const FREED_LEAVES: usize = 64;

/// The primary index of a table, ordered or hashed: from the bytes of a key to the record of its row.
pub struct PrimaryIndex {
    kind: Kind,
    /// Length of every key, where all have the same.
    fixed_width: Option<usize>,
    /// Where the removal of a key is noted.
    notes: RwLock<Option<Arc<RangeNotes>>>,
    /// What can be found before the index has it.
    early: EarlyRuns,
    /// Set for a temporary table.
    charge: Option<Charge>,
}

enum Kind {
    OrderedNarrow(OrderedIndex<u64>),
    OrderedWide(OrderedIndex<u128>),
    OrderedBytes(OrderedIndex<ByteString>),
    HashNarrow(HashIndex<u64>),
    HashWide(HashIndex<u128>),
    HashBytes(HashIndex<Box<[u8]>>),
}

/// A key's record, or the place where it would be inserted.
pub enum Located<'g> {
    Present(&'g Record),
    Absent(Vacancy<'g>),
}

/// The place of a key that does not exist, valid for [`PrimaryIndex::fill`] as long as nothing changes around
/// it.
pub struct Vacancy<'g>(VacancyKind<'g>);

enum VacancyKind<'g> {
    Narrow(OrderedVacancy<'g, u64>),
    Wide(OrderedVacancy<'g, u128>),
    Bytes(OrderedVacancy<'g, ByteString>),
    Hash,
}

/// Remembers where the last key went, in an index of any kind: rows that come in ascending order find their
/// place without a descent.
#[derive(Clone, Copy, Default)]
pub struct Finger {
    narrow: Option<OrderedFinger<u64, u64>>,
    wide: Option<OrderedFinger<u128, u128>>,
}

/// Where the last key was that was looked up in an index; see [`PrimaryIndex::get_near`].
#[derive(Default)]
pub(crate) struct Nearby<'g> {
    narrow: Option<OrderedNearby<'g, u64>>,
    wide: Option<OrderedNearby<'g, u128>>,
    bytes: Option<OrderedNearby<'g, ByteString>>,
}

/// Runs one expression on any ordered index, another on any hash index.
macro_rules! on_index {
    ($index:expr, ordered $ordered:ident => $on_ordered:expr, hash $hash:ident => $on_hash:expr) => {
        match &$index.kind {
            Kind::OrderedNarrow($ordered) => $on_ordered,
            Kind::OrderedWide($ordered) => $on_ordered,
            Kind::OrderedBytes($ordered) => $on_ordered,
            Kind::HashNarrow($hash) => $on_hash,
            Kind::HashWide($hash) => $on_hash,
            Kind::HashBytes($hash) => $on_hash,
        }
    };
}

impl PrimaryIndex {
    /// An empty index for keys of `fixed_width` bytes, or of any length.
    pub fn new(kind: IndexKind, fixed_width: Option<usize>) -> PrimaryIndex {
        let kind = match (kind, fixed_width) {
            (IndexKind::Ordered, Some(width @ 0..=8)) => Kind::OrderedNarrow(OrderedIndex::new(width)),
            (IndexKind::Ordered, Some(width @ 9..=16)) => Kind::OrderedWide(OrderedIndex::new(width)),
            (IndexKind::Ordered, _) => Kind::OrderedBytes(OrderedIndex::new(0)),
            (IndexKind::Hash, Some(width @ 0..=8)) => Kind::HashNarrow(HashIndex::new(width)),
            (IndexKind::Hash, Some(width @ 9..=16)) => Kind::HashWide(HashIndex::new(width)),
            (IndexKind::Hash, _) => Kind::HashBytes(HashIndex::new(0)),
        };
        PrimaryIndex {
            kind,
            fixed_width,
            notes: RwLock::default(),
            early: EarlyRuns::default(),
            charge: None,
        }
    }

    /// A number that no other index has or had.
    pub(crate) fn id(&self) -> u64 {
        on_index!(self, ordered index => index.id(), hash index => index.id())
    }

    /// From now on the removal of a key is noted there.
    pub(crate) fn note_removals(&self, notes: Option<Arc<RangeNotes>>) {
        *self.notes.write() = notes;
    }

    /// Frees some records; true when the index is empty.
    pub(super) fn free_some(&mut self) -> bool {
        match &mut self.kind {
            Kind::OrderedNarrow(index) => index.free_some(FREED_LEAVES),
            Kind::OrderedWide(index) => index.free_some(FREED_LEAVES),
            Kind::OrderedBytes(index) => index.free_some(FREED_LEAVES),
            Kind::HashNarrow(index) => index.free_some(),
            Kind::HashWide(index) => index.free_some(),
            Kind::HashBytes(index) => index.free_some(),
        }
    }

    /// Whether scans follow the order of the keys and can be bounded.
    pub fn is_ordered(&self) -> bool {
        on_index!(self, ordered _index => true, hash _index => false)
    }

    /// Whether the index can hold keys of this length; to be asked of keys that come from a log.
    pub fn accepts_key(&self, key: &[u8]) -> bool {
        self.fixed_width.is_none_or(|width| key.len() == width)
    }

    fn assert_accepts(&self, key: &[u8]) {
        assert!(self.accepts_key(key), "a key of {} bytes does not fit this index", key.len());
    }

    /// The record under a key; it may have no row.
    pub fn get<'g>(&'g self, key: &[u8], guard: &'g Guard) -> Option<&'g Record> {
        if !self.accepts_key(key) {
            return None;
        }
        match self.get_here(key, guard) {
            None if self.early.is_consulted() => self.get_early(key, guard),
            found => found,
        }
    }

    #[inline(always)]
    fn get_here<'g>(&'g self, key: &[u8], guard: &'g Guard) -> Option<&'g Record> {
        on_index!(
            self,
            ordered index => index.get(probe(index, key), guard),
            hash index => index.get(key, guard)
        )
    }

    /// The same of a key that the index does not have, or did not have a moment ago.
    #[cold]
    #[inline(never)]
    fn get_early<'g>(&'g self, key: &[u8], guard: &'g Guard) -> Option<&'g Record> {
        match self.early.find(key, guard) {
            Early::Found(found) => found,
            Early::HandedOver => self.get_here(key, guard),
        }
    }

    /// Whether some keys may be found that the index does not have yet.
    pub(crate) fn is_being_loaded(&self) -> bool {
        self.early.is_consulted()
    }

    /// Notes that a key of the checkpoint is not in the index.
    pub(super) fn note_removal(&self, key: &[u8]) {
        if let Some(notes) = &*self.notes.read() {
            notes.note_removal(key);
        }
    }

    /// As [`PrimaryIndex::get`], for sequences of keys in which each is often near the one before. Also
    /// returns whether this one was near.
    pub(crate) fn get_near<'g>(
        &'g self,
        near: &mut Nearby<'g>,
        key: &[u8],
        guard: &'g Guard,
    ) -> (Option<&'g Record>, bool) {
        if !self.accepts_key(key) {
            return (None, false);
        }
        match &self.kind {
            Kind::OrderedNarrow(index) => index.get_near(&mut near.narrow, u64::probe(key), guard),
            Kind::OrderedWide(index) => index.get_near(&mut near.wide, u128::probe(key), guard),
            Kind::OrderedBytes(index) => index.get_near(&mut near.bytes, ByteString::probe(key), guard),
            Kind::HashNarrow(_) | Kind::HashWide(_) | Kind::HashBytes(_) => (self.get(key, guard), false),
        }
    }

    /// Prefetches the memory that [`PrimaryIndex::get`] will look at last. Does nothing on a hash index.
    pub fn prefetch(&self, key: &[u8], guard: &Guard) {
        if self.accepts_key(key) {
            on_index!(self, ordered index => index.prefetch_leaf(probe(index, key), guard), hash _index => ());
        }
    }

    /// The record under a key, and whether it was made by this call, with `row` if that is given. Panics
    /// unless the index accepts the key.
    ///
    /// A concurrent [`PrimaryIndex::remove`] may close the record before the caller has put a row into it
    /// (in that case [`Record::try_replace`] fails). Callers that hold the row's write lock are safe: only
    /// unlocked rows are purged.
    pub fn get_or_insert<'g>(
        &'g self,
        key: &[u8],
        row: Option<&[u8]>,
        guard: &'g Guard,
    ) -> (&'g Record, bool) {
        self.assert_accepts(key);
        let (record, is_new) = in_database(|| {
            on_index!(
                self,
                ordered index => index.get_or_insert(probe(index, key), row, guard),
                hash index => index.get_or_insert(key, row, guard)
            )
        });
        if is_new {
            self.charge_key(key, row);
        }
        (record, is_new)
    }

    /// The record under a key, which may have no row, or else the place where it would be inserted. Panics
    /// unless the index accepts the key.
    pub fn locate<'g>(&'g self, key: &[u8], finger: &Finger, guard: &'g Guard) -> Located<'g> {
        self.assert_accepts(key);
        fn wrap<'g, K: IndexKey>(
            located: OrderedLocated<'g, K>,
            kind: impl FnOnce(OrderedVacancy<'g, K>) -> VacancyKind<'g>,
        ) -> Located<'g> {
            match located {
                OrderedLocated::Present(record) => Located::Present(record),
                OrderedLocated::Absent(vacancy) => Located::Absent(Vacancy(kind(vacancy))),
            }
        }
        match &self.kind {
            Kind::OrderedNarrow(index) => {
                let key = u64::probe(key);
                let near = finger.narrow.as_ref().and_then(|finger| index.vacancy_at(finger, key, guard));
                wrap(
                    near.map_or_else(|| index.locate(key, guard), OrderedLocated::Absent),
                    VacancyKind::Narrow,
                )
            }
            Kind::OrderedWide(index) => {
                let key = u128::probe(key);
                let near = finger.wide.as_ref().and_then(|finger| index.vacancy_at(finger, key, guard));
                wrap(near.map_or_else(|| index.locate(key, guard), OrderedLocated::Absent), VacancyKind::Wide)
            }
            Kind::OrderedBytes(index) => {
                wrap(index.locate(ByteString::probe(key), guard), VacancyKind::Bytes)
            }
            Kind::HashNarrow(_) | Kind::HashWide(_) | Kind::HashBytes(_) => match self.get(key, guard) {
                Some(record) => Located::Present(record),
                None => Located::Absent(Vacancy(VacancyKind::Hash)),
            },
        }
    }

    /// The smallest key above that of a vacancy, at the time it was located. Unless [`PrimaryIndex::fill`]
    /// refuses, it still was when the new key appeared. `None` at the end, and on a hash index.
    pub fn next_key<'g>(&self, vacancy: &Vacancy<'g>) -> Option<KeyBytes<'g>> {
        let width = self.fixed_width.unwrap_or(0);
        match &vacancy.0 {
            VacancyKind::Narrow(vacancy) => vacancy.next().map(|key| u64::bytes(key, width)),
            VacancyKind::Wide(vacancy) => vacancy.next().map(|key| u128::bytes(key, width)),
            VacancyKind::Bytes(vacancy) => vacancy.next().map(|key| ByteString::bytes(key, width)),
            VacancyKind::Hash => None,
        }
    }

    /// Puts a row, which this writer has written, under the key for which this index has given out the
    /// vacancy. False if the key has come meanwhile, or if the surroundings have changed so that another key
    /// might be the next one: locate again.
    pub(crate) fn fill<'g>(
        &'g self,
        vacancy: &Vacancy<'g>,
        key: &[u8],
        (row, writer): (&[u8], Handle),
        finger: &mut Finger,
        guard: &'g Guard,
    ) -> bool {
        let is_filled =
            in_database(|| self.fill_with(vacancy, key, OwnedRecord::written(row, writer), finger, guard));
        if is_filled {
            self.charge_key(key, Some(row));
        }
        is_filled
    }

    /// The same with a record that has no row: an entry of a secondary index.
    pub(crate) fn fill_empty<'g>(&'g self, vacancy: &Vacancy<'g>, key: &[u8], guard: &'g Guard) -> bool {
        let finger = &mut Finger::default();
        let is_filled = in_database(|| self.fill_with(vacancy, key, OwnedRecord::empty(), finger, guard));
        if is_filled {
            self.charge_key(key, None);
        }
        is_filled
    }

    fn fill_with<'g>(
        &'g self,
        vacancy: &Vacancy<'g>,
        key: &[u8],
        record: OwnedRecord,
        finger: &mut Finger,
        guard: &'g Guard,
    ) -> bool {
        match (&self.kind, &vacancy.0) {
            (Kind::OrderedNarrow(index), VacancyKind::Narrow(vacancy)) => {
                index.fill_and_point(vacancy, u64::probe(key), record, &mut finger.narrow, guard)
            }
            (Kind::OrderedWide(index), VacancyKind::Wide(vacancy)) => {
                index.fill_and_point(vacancy, u128::probe(key), record, &mut finger.wide, guard)
            }
            (Kind::OrderedBytes(index), VacancyKind::Bytes(vacancy)) => {
                index.fill(vacancy, ByteString::probe(key), record, guard).is_some()
            }
            (Kind::HashNarrow(index), VacancyKind::Hash) => index.insert(key, record, guard).is_some(),
            (Kind::HashWide(index), VacancyKind::Hash) => index.insert(key, record, guard).is_some(),
            (Kind::HashBytes(index), VacancyKind::Hash) => index.insert(key, record, guard).is_some(),
            _ => unreachable!("the vacancy belongs to another index"),
        }
    }

    /// Removes a key whose record has no row. False if there is no such key or its record has a row.
    pub fn remove(&self, key: &[u8], guard: &Guard) -> bool {
        if !self.accepts_key(key) {
            return false;
        }
        self.note_removal(key);
        let is_removed = in_database(|| {
            on_index!(
                self,
                ordered index => index.remove(probe(index, key), guard),
                hash index => index.remove(key, guard)
            )
        });
        if is_removed {
            self.charge_removal(key);
        }
        is_removed
    }

    /// Refills `batch` with the keys that follow `from` in the direction of the scan: at most `most` and
    /// those of one leaf, at least one unless the index ends. To go on, call again from the last key
    /// (excluded). A hash index ignores direction and `most`: it gives those of one shard.
    ///
    /// The result is a consistent picture of the covered interval at one moment during the call.
    pub fn scan<'g>(
        &'g self,
        from: Bound<&[u8]>,
        direction: ScanDirection,
        most: usize,
        batch: &'g mut ScanBatch,
        guard: &'g Guard,
    ) -> ScanPage<'g> {
        on_index!(
            self,
            ordered index => index.scan(bound(index, from, direction), direction, most, batch, guard),
            hash index => index.scan(from, batch)
        );
        // SAFETY: filled just now under this guard.
        unsafe { batch.page(guard) }
    }

    /// The records of a batch filled under an earlier guard; `None` when something has been removed from the
    /// index since (or the batch is of another index): scan again from the last key used.
    pub fn resume_record<'g>(
        &'g self,
        batch: &ScanBatch,
        position: usize,
        guard: &'g Guard,
    ) -> Option<&'g Record> {
        // SAFETY: alive, checked under this guard.
        self.is_alive(batch).then(|| unsafe { batch.record(position, guard) })
    }

    /// Whether the keys in the interval that the batch covers are still the same. May return a false negative
    /// when keys have been removed elsewhere in the index.
    pub fn validate(&self, batch: &ScanBatch, _guard: &Guard) -> bool {
        // SAFETY: alive, checked under the guard.
        self.is_alive(batch) && unsafe { batch.is_unchanged() }
    }

    fn is_alive(&self, batch: &ScanBatch) -> bool {
        on_index!(
            self,
            ordered index => batch.is_alive(index.id(), index.removals()),
            hash index => batch.is_alive(index.id(), index.removals())
        )
    }

    /// The smallest key from `from` on (of any length). `None` at the end, and on a hash index.
    pub fn first_key<'g>(&'g self, from: Bound<&[u8]>, guard: &'g Guard) -> Option<KeyBytes<'g>> {
        on_index!(
            self,
            ordered index => {
                let key = index.first_key(bound(index, from, ScanDirection::Forward), guard);
                key.map(|key| bytes(index, key))
            },
            hash _index => None
        )
    }

    /// Bytes per row beyond the row's own, as a planning figure: 16 for the record, 4 for the row's length,
    /// and the index entry (16 bytes with narrow keys, 24 otherwise) in nodes or hash tables that are three
    /// quarters full. To this add the allocator's overhead for two allocations (8 to 24 bytes each; three
    /// with keys that are not packed) and the bytes of such keys.
    pub fn overhead_bytes_per_row(&self) -> usize {
        const RECORD_BYTES: usize = 16;
        const LENGTH_BYTES: usize = 4;
        RECORD_BYTES
            + LENGTH_BYTES
            + match &self.kind {
                Kind::OrderedNarrow(_) => 22,
                Kind::OrderedWide(_) => 33,
                Kind::OrderedBytes(_) => 33 + LENGTH_BYTES,
                Kind::HashNarrow(_) => 26,
                Kind::HashWide(_) => 50,
                Kind::HashBytes(_) => 38,
            }
    }
}

/// The key in the index's own form.
fn probe<'a, K: IndexKey>(_: &OrderedIndex<K>, key: &'a [u8]) -> K::Probe<'a> {
    K::probe(key)
}

fn bytes<'g, K: IndexKey>(index: &OrderedIndex<K>, key: K::Probe<'g>) -> KeyBytes<'g> {
    K::bytes(key, index.width())
}

fn bound<'a, K: IndexKey>(
    index: &OrderedIndex<K>,
    from: Bound<&'a [u8]>,
    direction: ScanDirection,
) -> Bound<K::Probe<'a>> {
    match direction {
        ScanDirection::Forward => K::lower(from, index.width()),
        ScanDirection::Backward => K::upper(from, index.width()),
    }
}

#[cfg(test)]
mod tests;
