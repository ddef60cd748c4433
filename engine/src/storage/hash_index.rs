//! The hash index: point access only, for tables that are never read by range.
//!
//! 256 shards, each a hash table under a reader-writer lock held for the length of one probe. Records are
//! reclaimed through the epoch, so a reference found under the lock outlives it.
//!
//! Iteration has an order of its own, (hash, key). It does not depend on the history of the tables, so a scan
//! that continues "after key k" sees every key that was present throughout exactly once, whatever other keys
//! come and go. A step copies the rest of one shard under the read lock (at a million rows about 4,000 keys)
//! and sorts it after releasing the lock.
//!
//! The hash has a fixed seed: iteration order must be the same in every run of the simulator and in every
//! replay.
//!
//! Invariants: as invariants 3 and 4 of `ordered_index`; a shard's `changes` counts every insert into and
//! removal from it.
#![allow(unsafe_code)] // Hands out references to records that are reclaimed through the epoch.

use std::cmp::Ordering as Order;
use std::hash::{BuildHasher, Hasher};
use std::ops::Bound;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_epoch::Guard;
use crossbeam_utils::CachePadded;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as TableEntry;
use hyades_types::memory::in_database;
use parking_lot::RwLock;

use super::ordered_index::key::padded;
use super::ordered_index::version_lock::VersionLock;
use super::record::{OwnedRecord, Record};
use super::scan_batch::{ScanBatch, new_index_id};

const SHARDS: usize = 256;

/// How a key of one kind is stored in a hash table.
pub(super) trait HashKey: Send + Sync + 'static {
    fn new(bytes: &[u8]) -> Self;
    fn compare(&self, bytes: &[u8]) -> Order;
    /// Passes the key's bytes to `see`.
    fn visit<T>(&self, width: usize, see: impl FnOnce(&[u8]) -> T) -> T;
}

macro_rules! packed_key {
    ($number:ty) => {
        impl HashKey for $number {
            fn new(bytes: &[u8]) -> $number {
                <$number>::from_be_bytes(padded(bytes))
            }

            fn compare(&self, bytes: &[u8]) -> Order {
                self.cmp(&<$number>::from_be_bytes(padded(bytes)))
            }

            fn visit<T>(&self, width: usize, see: impl FnOnce(&[u8]) -> T) -> T {
                see(&self.to_be_bytes()[..width])
            }
        }
    };
}

packed_key!(u64);
packed_key!(u128);

impl HashKey for Box<[u8]> {
    fn new(bytes: &[u8]) -> Box<[u8]> {
        bytes.into()
    }

    fn compare(&self, bytes: &[u8]) -> Order {
        (**self).cmp(bytes)
    }

    fn visit<T>(&self, _width: usize, see: impl FnOnce(&[u8]) -> T) -> T {
        see(self)
    }
}

struct Entry<K> {
    key: K,
    record: NonNull<Record>,
}

// SAFETY: the entry is one owner of the record, which is Send and Sync.
unsafe impl<K: Send> Send for Entry<K> {}
// SAFETY: as above.
unsafe impl<K: Sync> Sync for Entry<K> {}

struct Shard<K> {
    table: RwLock<HashTable<Entry<K>>>,
    /// Changed under the write lock.
    changes: VersionLock,
}

/// See the module head. Keys of a packed kind must all have `width` bytes, which the caller ensures.
pub(super) struct HashIndex<K> {
    shards: Box<[CachePadded<Shard<K>>]>,
    width: usize,
    id: u64,
    removals: AtomicU64,
}

fn hash(key: &[u8]) -> u64 {
    let mut hasher = FixedState::with_seed(0x4879_6164_6573).build_hasher();
    hasher.write(key);
    hasher.finish()
}

/// The shard comes from the top of the hash, so that shards follow each other in iteration order.
fn shard_number(hash: u64) -> usize {
    (hash >> 56) as usize
}

/// The tables take their bucket from the bottom bits and their tag from the top ones. Neither may be the bits
/// that select the shard.
fn table_hash(hash: u64) -> u64 {
    hash.rotate_left(32)
}

impl<K: HashKey> HashIndex<K> {
    pub(super) fn new(width: usize) -> HashIndex<K> {
        let shard = || Shard { table: RwLock::new(HashTable::new()), changes: VersionLock::default() };
        HashIndex {
            shards: (0..SHARDS).map(|_| CachePadded::new(shard())).collect(),
            width,
            id: new_index_id(),
            removals: AtomicU64::new(0),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn removals(&self) -> u64 {
        self.removals.load(Ordering::SeqCst)
    }

    pub(super) fn get<'g>(&'g self, key: &[u8], _guard: &'g Guard) -> Option<&'g Record> {
        let hash = hash(key);
        let table = self.shards[shard_number(hash)].table.read();
        let entry = table.find(table_hash(hash), |entry| entry.key.compare(key).is_eq())?;
        // SAFETY: linked while the guard is pinned; a record leaves only through the epoch.
        Some(unsafe { entry.record.as_ref() })
    }

    /// The record under a key, and whether this call made it.
    pub(super) fn get_or_insert<'g>(
        &'g self,
        key: &[u8],
        row: Option<&[u8]>,
        guard: &'g Guard,
    ) -> (&'g Record, bool) {
        loop {
            if let Some(record) = self.get(key, guard) {
                return (record, false);
            }
            if let Some(record) = self.insert(key, OwnedRecord::new(row), guard) {
                return (record, true);
            }
        }
    }

    /// Puts a record under a key; drops it if there is one.
    pub(super) fn insert<'g>(
        &'g self,
        key: &[u8],
        record: OwnedRecord,
        _guard: &'g Guard,
    ) -> Option<&'g Record> {
        let hash = hash(key);
        let shard = &self.shards[shard_number(hash)];
        let mut table = shard.table.write();
        let entry =
            table.entry(table_hash(hash), |entry| entry.key.compare(key).is_eq(), |entry| self.rehash(entry));
        let TableEntry::Vacant(entry) = entry else { return None };
        let record = record.leak();
        entry.insert(Entry { key: K::new(key), record });
        shard.changes.count_change();
        // SAFETY: as in `get`.
        Some(unsafe { record.as_ref() })
    }

    /// Makes room for this many more keys, which may be the only ones.
    pub(super) fn reserve(&self, keys: usize) {
        // Shard sizes differ by a few times the square root of their mean.
        let each = keys / SHARDS;
        let each = each + 3 * each.isqrt();
        for shard in &self.shards {
            shard.table.write().reserve(each, |entry| self.rehash(entry));
        }
    }

    fn rehash(&self, entry: &Entry<K>) -> u64 {
        table_hash(entry.key.visit(self.width, hash))
    }

    /// Removes a key and closes its record, unless the record has a row; returns whether it did.
    pub(super) fn remove(&self, key: &[u8], guard: &Guard) -> bool {
        let hash = hash(key);
        let shard = &self.shards[shard_number(hash)];
        let mut table = shard.table.write();
        let Ok(entry) = table.find_entry(table_hash(hash), |entry| entry.key.compare(key).is_eq()) else {
            return false;
        };
        let record = entry.get().record;
        // SAFETY: linked, under the shard's lock.
        if !unsafe { record.as_ref() }.try_close() {
            return false;
        }
        self.removals.fetch_add(1, Ordering::SeqCst);
        entry.remove();
        shard.changes.count_change();
        drop(table);
        // SAFETY: it was an owned record, and has just been unlinked.
        unsafe { OwnedRecord::retire(record.as_ptr(), guard) };
        true
    }

    /// Fills `batch` with the next keys from `from` on in the order (hash, key), those of one shard at most.
    pub(super) fn scan(&self, from: Bound<&[u8]>, batch: &mut ScanBatch) {
        batch.start(self.id, self.removals());
        let (first, bound) = match from {
            Bound::Included(key) | Bound::Excluded(key) => (shard_number(hash(key)), Some((hash(key), key))),
            Bound::Unbounded => (0, None),
        };
        let is_beyond = |entry_hash: u64, key: &K| {
            bound.is_none_or(|(bound_hash, bound_key)| {
                match entry_hash.cmp(&bound_hash).then_with(|| key.compare(bound_key)) {
                    Order::Less => false,
                    Order::Equal => matches!(from, Bound::Included(_)),
                    Order::Greater => true,
                }
            })
        };
        for (number, shard) in self.shards.iter().enumerate().skip(first) {
            let table = shard.table.read();
            for entry in table.iter() {
                let entry_hash = entry.key.visit(self.width, hash);
                if is_beyond(entry_hash, &entry.key) {
                    let append = |keys: &mut Vec<u8>| {
                        entry.key.visit(self.width, |bytes| keys.extend_from_slice(bytes));
                    };
                    batch.push(append, entry_hash, entry.record.as_ptr());
                }
            }
            batch.rest_on(&shard.changes, shard.changes.current());
            drop(table);
            batch.set_reaches_end(number + 1 == SHARDS);
            if !batch.is_empty() {
                break;
            }
        }
        batch.sort_by_hash();
    }
}

impl<K> HashIndex<K> {
    /// Frees the records of one shard; true when the index is empty.
    pub(super) fn free_some(&mut self) -> bool {
        let mut tables = self.shards.iter_mut().map(|shard| shard.table.get_mut());
        let Some(table) = tables.find(|table| !table.is_empty()) else { return true };
        for entry in std::mem::take(table) {
            // SAFETY: as for `drop`.
            drop(unsafe { OwnedRecord::from_raw(entry.record.as_ptr()) });
        }
        false
    }
}

impl<K> Drop for HashIndex<K> {
    fn drop(&mut self) {
        in_database(|| self.free());
    }
}

impl<K> HashIndex<K> {
    fn free(&mut self) {
        for shard in &mut std::mem::take(&mut self.shards) {
            for entry in shard.table.get_mut().iter() {
                // SAFETY: `&mut self`, and references to records borrow the index; linked records are owned
                // by it.
                drop(unsafe { OwnedRecord::from_raw(entry.record.as_ptr()) });
            }
        }
    }
}

#[cfg(test)]
mod tests;
