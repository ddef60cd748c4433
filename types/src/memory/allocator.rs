//! An allocator that counts the requests of each thread, and delegates the work to another.
//!
//! ```no_run
//! # use std::alloc::System;
//! #[global_allocator]
//! static ALLOCATOR: hyades_types::memory::Counted<System> = hyades_types::memory::Counted(System);
//! ```
//! A size counts as the size class of an allocator with four classes between powers of two (mimalloc: up to a
//! quarter more), because that is what rows, by far the most numerous allocations, really take. Of
//! allocations above the page size, the unused rest is never touched.
#![allow(unsafe_code)] // An allocator cannot be written otherwise.

use std::alloc::{GlobalAlloc, Layout};

use crate::memory::BOOK;

/// An allocator that counts, per thread, what is requested from another one.
pub struct Counted<A>(pub A);

/// The multiple of 16 bytes, or the quarter between powers of two, or the page, that holds this many bytes.
#[inline(always)]
fn class_bytes(size: usize) -> usize {
    const LARGEST_SHIFT: u32 = 12;
    let shift = ((size.wrapping_sub(1) | 64).ilog2() - 2).min(LARGEST_SHIFT);
    (size + (1 << shift) - 1) >> shift << shift
}

#[inline(always)]
fn took(bytes: usize) {
    // A thread that is ending need not count any more.
    let _ = BOOK.try_with(|book| book.took(bytes));
}

#[inline(always)]
fn gave(bytes: usize) {
    // As above.
    let _ = BOOK.try_with(|book| book.gave(bytes));
}

// SAFETY: everything is passed on unchanged; counting neither allocates nor unwinds (plain numbers of the
// thread, without a destructor).
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(class_bytes(layout.size()));
        // SAFETY: as this function's contract.
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(class_bytes(layout.size()));
        // SAFETY: as this function's contract.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave(class_bytes(layout.size()));
        // SAFETY: as this function's contract.
        unsafe { self.0.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old bytes are freed only after the new ones have been allocated.
        took(class_bytes(size));
        // SAFETY: as this function's contract.
        let moved = unsafe { self.0.realloc(pointer, layout, size) };
        gave(class_bytes(layout.size()));
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::class_bytes;

    #[test]
    fn sizes_count_as_their_classes() {
        for (size, class) in
            [(1, 16), (16, 16), (17, 32), (64, 64), (65, 80), (128, 128), (129, 160), (231, 256)]
        {
            assert_eq!(class_bytes(size), class, "{size}");
        }
        assert_eq!(class_bytes(1025), 1280);
        assert_eq!(class_bytes((1 << 30) + 1), (1 << 30) + 4096);
    }
}
