//! Byte strings of fixed length on the heap behind one thin pointer.
//!
//! Rows and long index keys are read through racing atomic pointers, so they must be one word wide: the
//! length lives in the allocation, not in the pointer (a `Box<[u8]>` is two words).
//!
//! ```text
//! pointer -> | length: u32 | bytes ... |        one allocation, aligned to 4
//! ```
//!
//! Invariants: between [`HeapBytes::new`] and [`HeapBytes::free`] the bytes change only through
//! [`HeapBytes::bytes_mut`], whose caller sees to it that nobody reads; so any number of threads may read
//! them otherwise. Whoever unlinks a pointer from shared memory owns it, frees it once, and not before every
//! thread that could have loaded it has left its epoch.
#![allow(unsafe_code)] // A thin pointer to an unsized allocation cannot be expressed safely.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crossbeam_epoch::Guard;

use hyades_types::memory::in_database;

const HEADER_BYTES: usize = size_of::<u32>();

/// A handle, as copyable and as dangerous as the pointer it is; see the module head for who may free it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeapBytes(NonNull<u32>);

impl HeapBytes {
    /// Copies `bytes` to the heap. Panics above 4 GiB, which no row or key format can express.
    pub(super) fn new(bytes: &[u8]) -> HeapBytes {
        let layout = Self::layout(bytes.len());
        // SAFETY: the layout is never of size zero, it holds the header.
        let Some(pointer) = NonNull::new(unsafe { alloc(layout) }.cast::<u32>()) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the allocation is fresh, aligned to 4, and HEADER_BYTES + bytes.len() long.
        unsafe { HeapBytes::write(pointer, bytes) }
    }

    /// Writes length and bytes into memory of which somebody else takes care.
    ///
    /// # Safety
    /// There is room as [`HeapBytes::layout`] says, and nobody else uses it.
    pub(super) unsafe fn write(pointer: NonNull<u32>, bytes: &[u8]) -> HeapBytes {
        let length = u32::try_from(bytes.len()).expect("a stored byte string is shorter than 4 GiB");
        // SAFETY: as promised.
        unsafe {
            pointer.write(length);
            pointer.add(1).cast::<u8>().copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
        HeapBytes(pointer)
    }

    /// # Safety
    /// [`HeapBytes::write`] has written there.
    pub(super) unsafe fn at(pointer: NonNull<u32>) -> HeapBytes {
        HeapBytes(pointer)
    }

    pub(super) fn layout(length: usize) -> Layout {
        // `new` has bounded the length, so the sum cannot exceed isize::MAX on a 64-bit machine.
        Layout::from_size_align(HEADER_BYTES + length, align_of::<u32>()).expect("the length is bounded")
    }

    /// # Safety
    /// Nobody frees these bytes during `'a`: the caller owns the handle, or has pinned the epoch since before
    /// the handle was unlinked.
    pub(super) unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: alive by the caller's promise and initialised by `new`.
        unsafe {
            let length = self.0.read() as usize;
            std::slice::from_raw_parts(self.0.add(1).cast::<u8>().as_ptr(), length)
        }
    }

    /// # Safety
    /// As for [`HeapBytes::bytes`], and no other reference to these bytes is in use during `'a`, on any
    /// thread.
    pub(super) unsafe fn bytes_mut<'a>(self) -> &'a mut [u8] {
        // SAFETY: alive and unshared by the caller's promise, initialised by `new`.
        unsafe {
            let length = self.0.read() as usize;
            std::slice::from_raw_parts_mut(self.0.add(1).cast::<u8>().as_ptr(), length)
        }
    }

    pub(super) fn as_pointer(self) -> *mut u32 {
        self.0.as_ptr()
    }

    /// # Safety
    /// `pointer` is null or came from [`HeapBytes::as_pointer`].
    pub(super) unsafe fn from_pointer(pointer: *mut u32) -> Option<HeapBytes> {
        NonNull::new(pointer).map(HeapBytes)
    }

    /// # Safety
    /// The caller owns the handle and no reader can reach it any more.
    pub(super) unsafe fn free(self) {
        // SAFETY: allocated by `new` with exactly this layout; owned by the caller's promise.
        unsafe {
            let layout = Self::layout(self.0.read() as usize);
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }

    /// Frees the bytes once every thread pinned now has moved on.
    ///
    /// # Safety
    /// The caller owns the handle and has unlinked it from everything shared.
    pub(super) unsafe fn retire(self, guard: &Guard) {
        // The address travels as an integer-free closure of one word, which the epoch's bag stores without
        // allocating.
        let bytes = Owned(self);
        // SAFETY: unlinked, so only threads pinned now can still read it; they are waited for.
        unsafe { guard.defer_unchecked(move || in_database(|| bytes.free())) };
    }
}

/// Lets the handle cross to whichever thread runs the deferred free.
struct Owned(HeapBytes);

// SAFETY: a plain allocation may be freed on any thread.
unsafe impl Send for Owned {}

impl Owned {
    fn free(self) {
        // SAFETY: made only by `retire`, whose deferral guarantees that no reader is left.
        unsafe { self.0.free() };
    }
}
