//! A record: the stable place of one row in a table's index.
//!
//! The index finds a [`Record`] by key; the record holds one atomic pointer to the row's bytes. An update is either
//! * copy-on-write ([`Record::replace`]): a new byte string, one swap of the pointer, and the old bytes stay readable for whoever is
//!   pinned; or
//! * in place ([`Record::patch`]), for a concurrency control whose readers are kept away by a lock. It costs neither an allocation nor
//!   the cache misses of another place, but nobody may read the row without a lock.
//!
//! ```text
//! index slot -> Record { row } -> | length | row bytes |
//!                        null     no row: not yet inserted, or deleted (tombstone)
//!                        REMOVED  the index has let go of this record; it will never hold a row again
//! ```
//!
//! Invariants:
//! 1. Whoever takes a pointer out of `row` by a swap owns those bytes and gives them to the epoch exactly once.
//! 2. `REMOVED` is reached only from null and never left, so no row can be lost in a record that nobody can find.
//! 3. Bytes are published with Release and read with Acquire.
//! 4. Bytes that are published change only through [`Record::patch`], while nobody else reads them.
//!
//! Which transaction may write a record is the business of `txn`; memory stays safe whatever it decides.
#![allow(unsafe_code)] // Owns row bytes behind an atomic pointer that readers race with.

use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crossbeam_epoch::Guard;

use super::heap_bytes::HeapBytes;
use super::prefetch::prefetch;
use super::row::exchange;

/// Marks a record that has left its index; no allocation has this address, they are aligned to 4.
const REMOVED: *mut u32 = std::ptr::without_provenance_mut(1);

/// See the module head. 8 bytes.
#[derive(Default)]
pub struct Record {
    row: AtomicPtr<u32>,
}

/// The record has left its index: look the key up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed;

impl Record {
    /// A record without a row.
    pub fn new() -> Record {
        Record::default()
    }

    /// A record with a row.
    pub fn with_row(row: &[u8]) -> Record {
        Record { row: AtomicPtr::new(HeapBytes::new(row).as_pointer()) }
    }

    /// The row's bytes, or `None` where there is no row.
    pub fn row<'g>(&self, _guard: &'g Guard) -> Option<&'g [u8]> {
        // SAFETY: the pointer came from `as_pointer` or is null; REMOVED is mapped to `None` by `handle`.
        let row = handle(self.row.load(Ordering::Acquire))?;
        // SAFETY: loaded while the guard pins the epoch; whoever unlinks it later retires it through the epoch (invariant 1).
        Some(unsafe { row.bytes() })
    }

    /// Asks for the memory of the row.
    pub(crate) fn prefetch(&self) {
        prefetch(self.row.load(Ordering::Relaxed));
    }

    /// Whether the record holds a row.
    pub fn has_row(&self) -> bool {
        handle(self.row.load(Ordering::Acquire)).is_some()
    }

    /// Puts `new` in the place of the current row, which the caller then owns (an undo list keeps it).
    ///
    /// Panics when the record has left its index, because the row would be lost: callers hold the row's write lock, and records
    /// leave only when nobody holds it.
    pub fn replace(&self, new: Option<&[u8]>, guard: &Guard) -> Option<OldRow> {
        self.try_replace(new, guard).expect("a locked record stays in its index")
    }

    /// As [`Record::replace`], for callers without a lock.
    pub fn try_replace(&self, new: Option<&[u8]>, _guard: &Guard) -> Result<Option<OldRow>, Removed> {
        let new = new.map(HeapBytes::new);
        self.swap(new).inspect_err(|Removed| {
            if let Some(new) = new {
                // SAFETY: never published, so still ours alone.
                unsafe { new.free() };
            }
        })
    }

    /// Exchanges pieces of the row in place ([`crate::storage::row::RowPatch`]); the patch then takes the change back. Nothing happens
    /// where there is no row.
    ///
    /// # Safety
    /// The caller holds a lock that keeps every other reader and writer of the row away, and uses no bytes any more that it got from
    /// [`Record::row`] before.
    pub(crate) unsafe fn patch(&self, patch: &mut [u8], _guard: &Guard) {
        let Some(row) = handle(self.row.load(Ordering::Acquire)) else { return };
        // SAFETY: alive as in `row`; unshared by the caller's promise.
        exchange(unsafe { row.bytes_mut() }, patch);
    }

    /// Puts back what [`Record::replace`] took out and retires the current row.
    pub fn restore(&self, old: Option<OldRow>, guard: &Guard) {
        let old = old.map(OldRow::into_bytes);
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
                Ok(old) => return Ok(handle(old).map(OldRow)),
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

impl Drop for Record {
    fn drop(&mut self) {
        if let Some(row) = handle(*self.row.get_mut()) {
            // SAFETY: `&mut self`: nobody else can reach the record, and the index drops records only through the epoch.
            unsafe { row.free() };
        }
    }
}

/// A row that has left its record but may still be read by others; it is given to the epoch when dropped.
#[derive(Debug)]
pub struct OldRow(HeapBytes);

// SAFETY: bytes owned by this handle alone; freeing on another thread is allowed.
unsafe impl Send for OldRow {}
// SAFETY: shared access only reads immutable bytes.
unsafe impl Sync for OldRow {}

impl OldRow {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: owned by this handle, which outlives the borrow.
        unsafe { self.0.bytes() }
    }

    fn into_bytes(self) -> HeapBytes {
        ManuallyDrop::new(self).0
    }

    /// Frees the bytes when no pinned thread can read them any more. Cheaper than dropping, which pins by itself.
    pub fn retire(self, guard: &Guard) {
        // SAFETY: taken out of its record by a swap, so owned and unlinked.
        unsafe { self.into_bytes().retire(guard) };
    }
}

impl Drop for OldRow {
    fn drop(&mut self) {
        let guard = crossbeam_epoch::pin();
        // SAFETY: as in `retire`; `into_bytes` never runs this drop.
        unsafe { self.0.retire(&guard) };
    }
}

#[cfg(test)]
mod tests;
