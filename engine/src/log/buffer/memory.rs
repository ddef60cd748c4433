//! The ring's bytes: one cell for the whole ring normally, a checked cell for every byte under loom, so that
//! the model checker sees overlapping accesses.
#![allow(unsafe_code)] // Raw copies in and out of memory that several threads use at disjoint places.

use crate::sync::UnsafeCell;

pub(super) struct RingMemory {
    cells: Box<[UnsafeCell<u8>]>,
}

// SAFETY: the cells are only reached through the unsafe methods below, whose callers keep accesses disjoint.
unsafe impl Send for RingMemory {}
// SAFETY: as above.
unsafe impl Sync for RingMemory {}

impl RingMemory {
    /// `capacity` is a power of two.
    pub(super) fn new(capacity: usize) -> RingMemory {
        RingMemory { cells: zeroed_cells(capacity) }
    }

    /// The two pieces of the ring occupied by `length` bytes from `position` on: (start, length of the first
    /// piece).
    #[inline]
    fn split(&self, position: u64, length: usize) -> (usize, usize) {
        assert!(length <= self.cells.len(), "more bytes than the ring holds");
        let start = (position as usize) & (self.cells.len() - 1);
        (start, length.min(self.cells.len() - start))
    }

    /// Copies `bytes` to `position`, modulo the ring's size.
    ///
    /// # Safety
    /// No other thread accesses these places at the same time.
    #[inline]
    pub(super) unsafe fn write(&self, position: u64, bytes: &[u8]) {
        let (start, first) = self.split(position, bytes.len());
        // SAFETY: `split` keeps both pieces inside the ring; the caller keeps others out.
        unsafe {
            copy_in(&self.cells[start..start + first], &bytes[..first]);
            if first < bytes.len() {
                copy_in(&self.cells[..bytes.len() - first], &bytes[first..]);
            }
        }
    }

    /// Copies from `position` into `into`, modulo the ring's size.
    ///
    /// # Safety
    /// No other thread writes these places at the same time.
    pub(super) unsafe fn read(&self, position: u64, into: &mut [u8]) {
        let (start, first) = self.split(position, into.len());
        let (front, back) = into.split_at_mut(first);
        // SAFETY: as for `write`.
        unsafe {
            copy_out(&self.cells[start..start + first], front);
            copy_out(&self.cells[..back.len()], back);
        }
    }
}

#[cfg(not(loom))]
fn zeroed_cells(capacity: usize) -> Box<[UnsafeCell<u8>]> {
    // Zeroed by the allocator: pages the log never reaches cost nothing.
    let bytes = Box::into_raw(vec![0_u8; capacity].into_boxed_slice());
    // SAFETY: `UnsafeCell<u8>` has the layout of `u8`, and the box is handed over whole.
    unsafe { Box::from_raw(bytes as *mut [UnsafeCell<u8>]) }
}

#[cfg(not(loom))]
unsafe fn copy_in(cells: &[UnsafeCell<u8>], bytes: &[u8]) {
    debug_assert_eq!(cells.len(), bytes.len());
    // SAFETY: same length, the caller has the cells to itself, and `bytes` is not part of the ring.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), cells.as_ptr() as *mut u8, bytes.len()) };
}

#[cfg(not(loom))]
unsafe fn copy_out(cells: &[UnsafeCell<u8>], into: &mut [u8]) {
    debug_assert_eq!(cells.len(), into.len());
    // SAFETY: as for `copy_in`.
    unsafe { std::ptr::copy_nonoverlapping(cells.as_ptr() as *const u8, into.as_mut_ptr(), into.len()) };
}

#[cfg(loom)]
fn zeroed_cells(capacity: usize) -> Box<[UnsafeCell<u8>]> {
    (0..capacity).map(|_| UnsafeCell::new(0)).collect()
}

#[cfg(loom)]
unsafe fn copy_in(cells: &[UnsafeCell<u8>], bytes: &[u8]) {
    for (cell, byte) in cells.iter().zip(bytes) {
        // SAFETY: the caller has the cell to itself; loom checks that.
        cell.with_mut(|place| unsafe { *place = *byte });
    }
}

#[cfg(loom)]
unsafe fn copy_out(cells: &[UnsafeCell<u8>], into: &mut [u8]) {
    for (cell, byte) in cells.iter().zip(into) {
        // SAFETY: as for `copy_in`.
        cell.with(|place| *byte = unsafe { *place });
    }
}
