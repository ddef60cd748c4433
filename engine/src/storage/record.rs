//! A record: the stable place of one row in a table's index.
//!
//! The index finds a [`Record`] by key; the record holds one atomic pointer to the row's bytes. An update is
//! either
//! * copy-on-write ([`Record::replace`]): a new byte string, one swap of the pointer, and the old bytes stay
//!   readable for whoever is pinned; or
//! * in place ([`Record::patch`]), for a concurrency control whose readers are kept away by a lock. It costs
//!   neither an allocation nor the cache misses of another place, but nobody may read the row without a lock.
//!
//! ```text
//! index slot -> Record { row } | length | bytes of the row that the record was made with |
//!                        |      \--- most rows stay here: found with the record, at one cache miss
//!                        \-----------> | length | row bytes |     after an update of another length
//!                        null     no row: not yet inserted, or deleted (tombstone)
//!                        REMOVED  the index has let go of this record; it will never hold a row again
//! ```
//!
//! Invariants:
//! 1. Whoever takes a pointer out of `row` by a swap owns those bytes and gives them to the epoch exactly
//!    once.
//! 2. `REMOVED` is reached only from null and never left, so no row can be lost in a record that nobody can
//!    find.
//! 3. Bytes are published with Release and read with Acquire.
//! 4. Bytes that are published change only through [`Record::patch`], while nobody else reads them.
//! 5. The bytes behind a record live and go with it. A row there that was taken out may go back there;
//!    nothing else is ever put there.
//!
//! Which transaction may write a record is the business of `txn`; memory stays safe whatever it decides.
#![allow(unsafe_code)] // Owns row bytes behind an atomic pointer that readers race with.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use crossbeam_epoch::Guard;
use hyades_types::memory::in_database;

use super::heap_bytes::HeapBytes;
use super::prefetch::prefetch;
use super::row::exchange;

/// Marks a record that has left its index; no allocation has this address, they are aligned to 4.
const REMOVED: *mut u32 = std::ptr::without_provenance_mut(1);

/// What a prefetch asks for of a record. More than most reads look at; a processor goes on by itself with
/// what is read in order.
const PREFETCHED_BYTES: usize = 256;

/// See the module head. Made and owned by [`OwnedRecord`], whose allocation goes on behind it.
pub struct Record {
    row: AtomicPtr<u32>,
}

/// A record that no index has yet, or has no more.
pub struct OwnedRecord(NonNull<Record>);

/// The record has left its index: look the key up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed;

impl OwnedRecord {
    /// A record without a row.
    pub fn empty() -> OwnedRecord {
        OwnedRecord::allocate(&[], false)
    }

    /// A record with a row, which stands behind it.
    pub fn with_row(row: &[u8]) -> OwnedRecord {
        OwnedRecord::allocate(row, true)
    }

    /// A record with or without a row.
    pub(super) fn new(row: Option<&[u8]>) -> OwnedRecord {
        row.map_or_else(OwnedRecord::empty, OwnedRecord::with_row)
    }

    fn allocate(row: &[u8], has_row: bool) -> OwnedRecord {
        let layout = Self::layout(row.len());
        // SAFETY: the layout is never of size zero.
        let Some(record) = NonNull::new(unsafe { alloc(layout) }.cast::<Record>()) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the allocation is fresh and has room for a record and for the bytes behind it, which are
        // aligned as they must be.
        unsafe {
            let behind = HeapBytes::write(record.add(1).cast(), row);
            let pointer = if has_row { behind.as_pointer() } else { null_mut() };
            record.write(Record { row: AtomicPtr::new(pointer) });
        }
        OwnedRecord(record)
    }

    fn layout(row_bytes: usize) -> Layout {
        let (layout, _) = Layout::new::<Record>()
            .extend(HeapBytes::layout(row_bytes))
            .expect("the length of a row is bounded");
        layout
    }

    pub(super) fn leak(self) -> NonNull<Record> {
        ManuallyDrop::new(self).0
    }

    pub(super) fn into_raw(self) -> *mut Record {
        self.leak().as_ptr()
    }

    /// # Safety
    /// The pointer came from [`OwnedRecord::into_raw`], and this takes it over.
    pub(super) unsafe fn from_raw(record: *mut Record) -> OwnedRecord {
        // SAFETY: never null, as it came from here.
        OwnedRecord(unsafe { NonNull::new_unchecked(record) })
    }

    /// Frees a record when every thread pinned now has moved on.
    ///
    /// # Safety
    /// As for [`OwnedRecord::from_raw`], and the record has been unlinked from its index.
    pub(super) unsafe fn retire(record: *mut Record, guard: &Guard) {
        // SAFETY: as promised.
        let record = unsafe { OwnedRecord::from_raw(record) };
        // SAFETY: unlinked, so only threads pinned now can still read it; they are waited for.
        unsafe { guard.defer_unchecked(move || in_database(|| drop(record))) };
    }
}

// SAFETY: a record and its bytes may be used and freed on any thread.
unsafe impl Send for OwnedRecord {}
// SAFETY: shared access is that to a record.
unsafe impl Sync for OwnedRecord {}

impl Deref for OwnedRecord {
    type Target = Record;

    fn deref(&self) -> &Record {
        // SAFETY: owned and alive.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for OwnedRecord {
    fn drop(&mut self) {
        // SAFETY: owned, so nobody else can reach the record; indexes drop records only through the epoch.
        // The layout is that of `allocate`: the length behind the record has never changed.
        unsafe {
            let behind = HeapBytes::at(self.0.add(1).cast());
            let layout = Self::layout(behind.bytes().len());
            if let Some(row) = handle(self.row.load(Ordering::Relaxed)).filter(|row| *row != behind) {
                row.free();
            }
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }
}

impl Record {
    /// Whether these are the bytes behind the record, which are freed with it.
    fn is_behind(&self, row: HeapBytes) -> bool {
        row.as_pointer().addr() == std::ptr::from_ref(self).addr() + size_of::<Record>()
    }

    /// The row's bytes, or `None` where there is no row.
    pub fn row<'g>(&self, _guard: &'g Guard) -> Option<&'g [u8]> {
        // SAFETY: the pointer came from `as_pointer` or is null; REMOVED is mapped to `None` by `handle`.
        let row = handle(self.row.load(Ordering::Acquire))?;
        // SAFETY: loaded while the guard pins the epoch; whoever unlinks it later retires it through the
        // epoch (invariant 1).
        Some(unsafe { row.bytes() })
    }

    /// Asks for the memory of the record and of the row, which stands behind it unless it was replaced by one
    /// of another length.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&raw const *self, PREFETCHED_BYTES);
    }

    /// Whether the record holds a row.
    pub fn has_row(&self) -> bool {
        handle(self.row.load(Ordering::Acquire)).is_some()
    }

    /// Puts `new` in the place of the current row, which the caller then owns (an undo list keeps it).
    ///
    /// Panics when the record has left its index, because the row would be lost: callers hold the row's write
    /// lock, and records leave only when nobody holds it.
    pub fn replace(&self, new: Option<&[u8]>, guard: &Guard) -> Option<OldRow> {
        self.try_replace(new, guard).expect("a locked record stays in its index")
    }

    /// As [`Record::replace`], for callers without a lock.
    pub fn try_replace(&self, new: Option<&[u8]>, _guard: &Guard) -> Result<Option<OldRow>, Removed> {
        let new = new.map(|row| in_database(|| HeapBytes::new(row)));
        self.swap(new).inspect_err(|Removed| {
            if let Some(new) = new {
                // SAFETY: never published, so still ours alone.
                in_database(|| unsafe { new.free() });
            }
        })
    }

    /// Exchanges pieces of the row in place ([`crate::storage::row::RowPatch`]); the patch then takes the
    /// change back. Nothing happens where there is no row.
    ///
    /// # Safety
    /// The caller holds a lock that keeps everybody else away who reads or writes the row's bytes (not who
    /// asks [`Record::has_row`]), and uses no bytes any more that it got from [`Record::row`] before.
    pub(crate) unsafe fn patch(&self, patch: &mut [u8], _guard: &Guard) {
        let Some(row) = handle(self.row.load(Ordering::Acquire)) else { return };
        // SAFETY: alive as in `row`; unshared by the caller's promise.
        exchange(unsafe { row.bytes_mut() }, patch);
    }

    /// Puts back what [`Record::replace`] took out and retires the current row.
    pub fn restore(&self, old: Option<OldRow>, guard: &Guard) {
        let old = old.map(|old| ManuallyDrop::new(old).bytes);
        if let Some(current) = self.swap(old).expect("a locked record stays in its index") {
            current.retire(guard);
        }
    }

    fn swap(&self, new: Option<HeapBytes>) -> Result<Option<OldRow>, Removed> {
        let new = new.map_or(null_mut(), HeapBytes::as_pointer);
        let mut current = self.row.load(Ordering::Relaxed);
        loop {
            if current == REMOVED {
                return Err(Removed);
            }
            // Release publishes the new bytes; Acquire lets the owner of the old ones read them.
            match self.row.compare_exchange_weak(current, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(old) => {
                    let old_row = |bytes| OldRow { bytes, is_behind_record: self.is_behind(bytes) };
                    return Ok(handle(old).map(old_row));
                }
                Err(actual) => current = actual,
            }
        }
    }

    /// Closes the record for ever if it has no row; the index then unlinks it.
    pub(super) fn try_close(&self) -> bool {
        self.row.compare_exchange(null_mut(), REMOVED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Whether the record has left its index.
    pub fn is_removed(&self) -> bool {
        self.row.load(Ordering::Acquire) == REMOVED
    }
}

/// The row behind a record's pointer, if it is one.
fn handle(pointer: *mut u32) -> Option<HeapBytes> {
    if pointer == REMOVED {
        return None;
    }
    // SAFETY: a record stores only null, REMOVED, and pointers of `HeapBytes`.
    unsafe { HeapBytes::from_pointer(pointer) }
}

/// A row that has left its record but may still be read by others; it is given to the epoch when dropped. It
/// must not outlive its record: whoever keeps it has the row locked, or is pinned.
#[derive(Debug)]
pub struct OldRow {
    bytes: HeapBytes,
    is_behind_record: bool,
}

// SAFETY: bytes owned by this handle alone; freeing on another thread is allowed.
unsafe impl Send for OldRow {}
// SAFETY: shared access only reads immutable bytes.
unsafe impl Sync for OldRow {}

impl OldRow {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: owned by this handle, which outlives the borrow.
        unsafe { self.bytes.bytes() }
    }

    /// Frees the bytes when no pinned thread can read them any more. Cheaper than dropping, which pins by
    /// itself.
    pub fn retire(self, guard: &Guard) {
        ManuallyDrop::new(self).give_to(guard);
    }

    fn give_to(&self, guard: &Guard) {
        if !self.is_behind_record {
            // SAFETY: taken out of its record by a swap, so owned and unlinked; called once, by `retire` or
            // by `drop`.
            unsafe { self.bytes.retire(guard) };
        }
    }
}

impl Drop for OldRow {
    fn drop(&mut self) {
        self.give_to(&crossbeam_epoch::pin());
    }
}

#[cfg(test)]
mod tests;
