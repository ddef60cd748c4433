//! A record: the stable place of one row in a table's index.
//!
//! The index finds a [`Record`] by key. The record holds the newest version of the row and the [`Handle`] of
//! its writer, which leads to earlier versions (`storage::history`). A write is either
//! * copy-on-write ([`Record::write`]): a new byte string, one exchange of the pointer, and the old bytes
//!   stay readable for pinned threads; or
//! * in place ([`Record::patch`]), which costs neither an allocation nor the cache misses of another place.
//!
//! ```text
//! index slot -> Record { writer, row } | length | bytes of the row that the record was made with |
//!                                |      \--- most rows stay here: found with the record, at one cache miss
//!                                \-----------> | length | row bytes |     after an update of another length
//!                                null     no row: not yet inserted, or deleted (tombstone)
//!                                REMOVED  unlinked from the index; will never hold a row again
//! ```
//!
//! **Reading.** A reader that holds a lock which excludes writers reads the row in place ([`Record::row`]).
//! Every other reader copies it ([`Record::copy_row`]) between two looks at the writer ([`Record::writer`],
//! [`Record::is_of`]): a writer stores its handle there before it touches the row, and never the same one
//! twice. While a write is being taken back there is no such handle, and readers wait those few instructions.
//!
//! Invariants:
//! 1. A thread that exchanges the pointer in `row` owns the old bytes, or their version does, and gives them
//!    to the epoch exactly once.
//! 2. `REMOVED` is reached only from null and never left, so no row can be lost in a record that cannot be
//!    found any more.
//! 3. Bytes are published with Release and read with Acquire.
//! 4. Published bytes change only through [`Record::patch`], while no thread reads them in place.
//! 5. The row bytes in a record's own allocation live and go with it. A row there that was taken out may go
//!    back there. Nothing else is ever put there.
//!
//! Which transaction may write a record is decided by `txn`. Memory stays safe whatever it decides.
#![allow(unsafe_code)] // Owns row bytes behind an atomic pointer that readers race with.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};

use crossbeam_epoch::Guard;
use hyades_types::memory::in_database;

use super::heap_bytes::HeapBytes;
use super::history::{Before, Handle, HistoryWriter, Kept};
use super::prefetch::prefetch;
use super::row::{Leading, pieces};

/// Marks a record that has left its index; no allocation has this address, they are aligned to 4.
const REMOVED: *mut u32 = std::ptr::without_provenance_mut(1);
/// Stands for the writer while a write is being taken back. No handle has this value.
const TAKING_BACK: u64 = u64::MAX;

/// How much of a record a prefetch requests. More than most reads look at; the processor itself continues
/// with sequential reads.
const PREFETCHED_BYTES: usize = 256;

/// See the module head. Made and owned by [`OwnedRecord`], whose allocation extends past it.
#[repr(C)]
pub struct Record {
    /// See `storage::history`.
    writer: AtomicU64,
    row: AtomicPtr<u32>,
}

/// A record that no index holds yet, or any more.
pub struct OwnedRecord(NonNull<Record>);

/// What the row of a record takes.
#[derive(Clone, Copy, Default)]
pub(super) struct RowBytes {
    /// In the record's own allocation, whether or not the row is there now.
    pub(super) inline: usize,
    /// In one of its own.
    pub(super) separate: usize,
}

/// What taking a write back has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TakenBack {
    /// Whether there is a row now.
    pub(crate) has_row: bool,
    /// The bytes of the version, if the write was done in place.
    pub(super) patch_bytes: Option<usize>,
}

impl RowBytes {
    pub(super) fn total(self) -> usize {
        self.inline + self.separate
    }
}

/// Why a record was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAlone {
    /// It has left its index: look the key up again.
    Removed,
    /// Another thread has written it at the same time.
    Written,
}

/// The record has left its index: look the key up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed;

impl OwnedRecord {
    /// A record without a row.
    pub fn empty() -> OwnedRecord {
        OwnedRecord::allocate(&[], false, Handle::NONE)
    }

    /// A record with a row, in the same allocation.
    pub fn with_row(row: &[u8]) -> OwnedRecord {
        OwnedRecord::allocate(row, true, Handle::NONE)
    }

    /// A record with a row and this handle as its writer.
    pub(crate) fn written(row: &[u8], writer: Handle) -> OwnedRecord {
        OwnedRecord::allocate(row, true, writer)
    }

    /// A record with or without a row.
    pub(super) fn new(row: Option<&[u8]>) -> OwnedRecord {
        row.map_or_else(OwnedRecord::empty, OwnedRecord::with_row)
    }

    fn allocate(row: &[u8], has_row: bool, writer: Handle) -> OwnedRecord {
        let layout = Self::layout(row.len());
        // SAFETY: the layout is never of size zero.
        let Some(record) = NonNull::new(unsafe { alloc(layout) }.cast::<Record>()) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the allocation is fresh and has room for a record and for the bytes after it, aligned as
        // they must be.
        unsafe {
            let inline = HeapBytes::write(record.add(1).cast(), row);
            record.as_ptr().expose_provenance();
            let pointer = if has_row { inline.as_pointer() } else { null_mut() };
            record.write(Record { writer: AtomicU64::new(writer.0), row: AtomicPtr::new(pointer) });
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
    /// The pointer came from [`OwnedRecord::into_raw`], and this takes ownership of it.
    pub(super) unsafe fn from_raw(record: *mut Record) -> OwnedRecord {
        // SAFETY: never null, as it came from `into_raw`.
        OwnedRecord(unsafe { NonNull::new_unchecked(record) })
    }

    /// Frees a record when every thread pinned now has unpinned.
    ///
    /// # Safety
    /// As for [`OwnedRecord::from_raw`], and the record has been unlinked from its index.
    pub(super) unsafe fn retire(record: *mut Record, guard: &Guard) {
        // SAFETY: as promised.
        let record = unsafe { OwnedRecord::from_raw(record) };
        // SAFETY: unlinked, so only threads pinned now can still read it; the epoch waits for them.
        unsafe { guard.defer_unchecked(move || in_database(|| drop(record))) };
    }
}

// SAFETY: a record and its bytes may be used and freed on any thread.
unsafe impl Send for OwnedRecord {}
// SAFETY: shared access is as to a record.
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
        // SAFETY: owned, so no other thread can reach the record; indexes drop records only through the
        // epoch. The layout is that of `allocate`: the length after the record has never changed.
        unsafe {
            let inline = HeapBytes::at(self.0.add(1).cast());
            let layout = Self::layout(inline.bytes().len());
            if let Some(row) = handle(self.row.load(Ordering::Relaxed)).filter(|row| *row != inline) {
                row.free();
            }
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }
}

impl Record {
    /// Whether these are the bytes in the record's own allocation, which are freed with it.
    fn is_inline(&self, row: HeapBytes) -> bool {
        row.as_pointer().addr() == std::ptr::from_ref(self).addr() + size_of::<Record>()
    }

    /// The row's bytes, or `None` where there is no row.
    pub fn row<'g>(&self, _guard: &'g Guard) -> Option<&'g [u8]> {
        // SAFETY: the pointer came from `as_pointer` or is null; REMOVED is mapped to `None` by `handle`.
        let row = handle(self.row.load(Ordering::Acquire))?;
        // SAFETY: loaded while the guard pins the epoch; a thread that unlinks it later retires it through
        // the epoch (invariant 1).
        Some(unsafe { row.bytes() })
    }

    /// What the row takes.
    pub(super) fn row_bytes(&self, _guard: &Guard) -> RowBytes {
        let Some(row) = handle(self.row.load(Ordering::Acquire)) else { return RowBytes::default() };
        // SAFETY: as in `row`.
        let bytes = unsafe { row.bytes() }.len();
        if self.is_inline(row) {
            return RowBytes { inline: bytes, separate: 0 };
        }
        let inline = std::ptr::from_ref(self).addr() + size_of::<Record>();
        let inline = NonNull::new(std::ptr::with_exposed_provenance_mut(inline));
        // SAFETY: the allocation of the record was exposed and goes on after it; what is there was written
        // when the record was made, and is freed with it.
        let inline = inline.map_or(0, |inline| unsafe { HeapBytes::at(inline).bytes() }.len());
        RowBytes { inline, separate: bytes }
    }

    /// Prefetches the record and the row, which follows it in memory unless it was replaced by one of another
    /// length.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&raw const *self, PREFETCHED_BYTES);
    }

    /// Whether the record holds a row.
    pub fn has_row(&self) -> bool {
        handle(self.row.load(Ordering::Acquire)).is_some()
    }

    /// Puts `new` in the place of the current row, which the caller then owns. For recovery, where there are
    /// no versions.
    pub fn try_replace(&self, new: Option<&[u8]>, _guard: &Guard) -> Result<Option<OldRow>, Removed> {
        self.note_replayed();
        let new = new.map(|row| in_database(|| HeapBytes::new(row)));
        self.swap(new).inspect_err(|Removed| {
            if let Some(new) = new {
                // SAFETY: never published, so owned by this call.
                in_database(|| unsafe { new.free() });
            }
        })
    }

    /// The row is not as in a checkpoint, or not any more, because recovery changes it.
    fn note_replayed(&self) {
        self.writer.store(Handle::NONE.0, Ordering::Relaxed);
    }

    /// The handle of the writer whose row is to be read next.
    #[inline]
    pub(crate) fn writer(&self) -> Handle {
        loop {
            let writer = self.writer.load(Ordering::Acquire);
            if writer != TAKING_BACK {
                return Handle(writer);
            }
            crate::sync::yield_now();
        }
    }

    /// Whether what has been copied since is from that writer: no other transaction has begun to write.
    #[inline]
    pub(crate) fn is_of(&self, writer: Handle) -> bool {
        // A reader of a word of a later writer now finds that writer's handle.
        fence(Ordering::Acquire);
        self.writer.load(Ordering::Relaxed) == writer.0
    }

    /// Copies the row, which a writer may be changing; false if there is none.
    #[inline]
    pub(super) fn copy_row(&self, out: &mut Vec<u8>, _guard: &Guard) -> bool {
        let Some(row) = handle(self.row.load(Ordering::Acquire)) else {
            out.clear();
            return false;
        };
        // SAFETY: as in `row`.
        unsafe { row.copy_into(out) };
        true
    }

    /// As [`Record::copy_row`], of a part of the row.
    #[inline]
    pub(super) fn copy_leading(&self, leading: Leading, out: &mut Vec<u8>, _guard: &Guard) -> bool {
        let Some(row) = handle(self.row.load(Ordering::Acquire)) else {
            out.clear();
            return false;
        };
        // SAFETY: as in `row`.
        unsafe { row.copy_leading_into(leading, out) };
        true
    }

    /// Copies the newest version, committed or not; returns its writer and whether there is a row.
    pub(crate) fn copy_newest(&self, out: &mut Vec<u8>, guard: &Guard) -> (Handle, bool) {
        loop {
            let writer = self.writer();
            let is_there = self.copy_row(out, guard);
            if self.is_of(writer) {
                return (writer, is_there);
            }
        }
    }

    fn announce(&self, writer: Handle) {
        self.writer.store(writer.0, Ordering::Release);
        // A reader of a word written from here on finds this writer afterwards.
        fence(Ordering::Release);
    }

    /// Puts `new` in the place of the row, and the old row into the history of the writer, who holds the
    /// row's write lock. Returns the version by which the write can be taken back and whether there was a
    /// row. The error means that the record had left its index before it was locked.
    pub(crate) fn write(
        &self,
        new: Option<&[u8]>,
        history: &mut HistoryWriter,
        guard: &Guard,
    ) -> Result<(Handle, bool), Removed> {
        match self.write_alone(new, history, guard) {
            Ok(written) => Ok(written),
            Err(NotAlone::Removed) => Err(Removed),
            Err(NotAlone::Written) => panic!("the writer of a record has it locked"),
        }
    }

    /// The same for a writer who is alone for other reasons than a lock.
    pub(crate) fn write_alone(
        &self,
        new: Option<&[u8]>,
        history: &mut HistoryWriter,
        _guard: &Guard,
    ) -> Result<(Handle, bool), NotAlone> {
        let current = self.row.load(Ordering::Acquire);
        if current == REMOVED {
            return Err(NotAlone::Removed);
        }
        let row = handle(current);
        let before = match row {
            Some(row) => Before::Row { row, is_inline: self.is_inline(row) },
            None => Before::NoRow,
        };
        let new = new.map(|row| in_database(|| HeapBytes::new(row)));
        let version = history.note_version(Handle(self.writer.load(Ordering::Relaxed)), before);
        self.announce(version);
        let new = new.map_or(null_mut(), HeapBytes::as_pointer);
        if self.row.compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // The version must not free a row that another one keeps.
            history.note_taken_back(version);
            return Err(NotAlone::Written);
        }
        Ok((version, row.is_some()))
    }

    /// Puts pieces of the row in place ([`crate::storage::row::RowPatch`]), and the old bytes into the
    /// history. Does nothing if there is no row.
    ///
    /// # Safety
    /// The caller holds the row's write lock, and no longer uses any bytes that it got from [`Record::row`]
    /// before.
    pub(crate) unsafe fn patch(
        &self,
        patch: &[u8],
        history: &mut HistoryWriter,
        guard: &Guard,
    ) -> Option<Handle> {
        let row = self.row(guard)?;
        let version =
            history.note_version(Handle(self.writer.load(Ordering::Relaxed)), Before::Patch { row, patch });
        self.announce(version);
        // SAFETY: as promised.
        unsafe { self.overwrite(patch, guard) };
        Some(version)
    }

    /// Puts pieces of the row in place, in recovery.
    ///
    /// # Safety
    /// No other thread is there.
    pub(crate) unsafe fn replay_patch(&self, patch: &[u8], guard: &Guard) {
        self.note_replayed();
        // SAFETY: as promised.
        unsafe { self.overwrite(patch, guard) };
    }

    /// Puts a row of the same length in the place of another one, in recovery.
    ///
    /// # Safety
    /// No other thread is there, and the row has this length.
    pub(super) unsafe fn replay_over(&self, new: &[u8], _guard: &Guard) {
        self.note_replayed();
        if let Some(row) = handle(self.row.load(Ordering::Acquire)) {
            // SAFETY: alive as in `row`; as promised.
            unsafe { row.overwrite(0, new) };
        }
    }

    /// Puts pieces of the row in place.
    ///
    /// # Safety
    /// As for [`Record::patch`], or no other thread is there at all.
    unsafe fn overwrite(&self, patch: &[u8], _guard: &Guard) {
        let Some(row) = handle(self.row.load(Ordering::Acquire)) else { return };
        for (offset, piece) in pieces(patch) {
            // SAFETY: alive as in `row`; not read in place, by the caller's promise.
            unsafe { row.overwrite(offset, piece) };
        }
    }

    /// Takes back the latest write, of which this is the version. To be called by the transaction that wrote
    /// it, which still has the row locked and no longer uses any bytes that it got from [`Record::row`].
    ///
    /// # Safety
    /// As promised above.
    pub(crate) unsafe fn take_back(
        &self,
        version: Handle,
        history: &mut HistoryWriter,
        guard: &Guard,
    ) -> TakenBack {
        let back = history.note_taken_back(version);
        self.writer.store(TAKING_BACK, Ordering::Relaxed);
        fence(Ordering::Release);
        let mut patch_bytes = None;
        match history.kept(version) {
            Kept::Patch(patch) => {
                patch_bytes = Some(patch.len());
                // SAFETY: as promised.
                unsafe { self.overwrite(&patch, guard) };
            }
            Kept::NoRow => self.exchange(None, guard),
            Kept::Row(row) => self.exchange(Some(row), guard),
        }
        self.writer.store(back.0, Ordering::Release);
        TakenBack { has_row: self.has_row(), patch_bytes }
    }

    /// Puts a row there again; the current one is given to the epoch.
    fn exchange(&self, row: Option<HeapBytes>, guard: &Guard) {
        let row = row.map_or(null_mut(), HeapBytes::as_pointer);
        if let Some(current) = handle(self.row.swap(row, Ordering::AcqRel))
            && !self.is_inline(current)
        {
            // SAFETY: taken out just now; its readers are pinned.
            unsafe { current.retire(guard) };
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
                    let old_row = |bytes| OldRow { bytes, is_inline: self.is_inline(bytes) };
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

/// The row that a record's pointer leads to, if it is a row.
fn handle(pointer: *mut u32) -> Option<HeapBytes> {
    if pointer == REMOVED {
        return None;
    }
    // SAFETY: a record stores only null, REMOVED, and pointers of `HeapBytes`.
    unsafe { HeapBytes::from_pointer(pointer) }
}

/// A row that has left its record but may still be read by other threads. It is given to the epoch when
/// dropped. It must not outlive its record: its owner has the row locked, or is pinned.
#[derive(Debug)]
pub struct OldRow {
    bytes: HeapBytes,
    is_inline: bool,
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

    /// Frees the bytes when no pinned thread can read them any more. Cheaper than dropping, which needs a pin
    /// of its own.
    pub fn retire(self, guard: &Guard) {
        ManuallyDrop::new(self).give_to(guard);
    }

    fn give_to(&self, guard: &Guard) {
        if !self.is_inline {
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
