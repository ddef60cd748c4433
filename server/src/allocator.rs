//! The program's allocator: mimalloc, which is faster than the system allocator where rows come and go on
//! many threads.
//!
//! Small alignments are not requested explicitly. Every block is aligned to 16 bytes anyway, or to its size
//! if that is less, as C requires. With an explicit alignment mimalloc takes a block that is longer by that
//! alignment, unless a fitting one happens to be free, so that a row of 48 bytes would take 64.
#![allow(unsafe_code)] // An allocator cannot be written otherwise.

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};

/// The natural alignment of all blocks of at least this size.
const NATURAL_ALIGNMENT: usize = 16;

/// See the module head.
pub(crate) struct Mimalloc;

/// Whether any block of this size has at least this alignment.
#[inline(always)]
fn is_natural(size: usize, alignment: usize) -> bool {
    alignment <= NATURAL_ALIGNMENT && alignment <= size
}

// SAFETY: blocks have at least the requested size and alignment (see the module head), and stay until they
// are freed. mimalloc does not unwind.
unsafe impl GlobalAlloc for Mimalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, alignment) = (layout.size(), layout.align());
        // SAFETY: the alignment is a power of two.
        let block = unsafe {
            match is_natural(size, alignment) {
                true => mi_malloc(size),
                false => mi_malloc_aligned(size, alignment),
            }
        };
        block.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, alignment) = (layout.size(), layout.align());
        // SAFETY: as above.
        let block = unsafe {
            match is_natural(size, alignment) {
                true => mi_zalloc(size),
                false => mi_zalloc_aligned(size, alignment),
            }
        };
        block.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, _layout: Layout) {
        // SAFETY: by this function's contract the block was allocated here.
        unsafe { mi_free(pointer.cast()) };
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe {
            match is_natural(size, layout.align()) {
                true => mi_realloc(pointer.cast(), size),
                false => mi_realloc_aligned(pointer.cast(), size, layout.align()),
            }
        };
        block.cast()
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::{GlobalAlloc, Layout};

    use super::Mimalloc;

    #[test]
    fn blocks_are_aligned_and_no_longer_than_they_must_be() {
        let is_aligned = |block: *mut u8, alignment| block.addr().is_multiple_of(alignment);
        for alignment in (0..13).map(|shift| 1 << shift) {
            for size in (1..300).chain([1024, 1025, 5000, 70_000, 3 << 20]) {
                let layout = Layout::from_size_align(size, alignment).unwrap();
                // SAFETY: the layout is not empty; each block is used within its size and freed once.
                unsafe {
                    let block = Mimalloc.alloc(layout);
                    let zeroed = Mimalloc.alloc_zeroed(layout);
                    assert!(is_aligned(block, alignment) && is_aligned(zeroed, alignment));
                    assert!((0..size).all(|at| zeroed.add(at).read() == 0));
                    zeroed.write_bytes(7, size);
                    if alignment <= 16 && (16..=1024).contains(&size) {
                        let longest = size.next_multiple_of(16).max(size + size / 4);
                        assert!(libmimalloc_sys::mi_usable_size(block.cast()) <= longest, "{layout:?}");
                    }
                    let grown = Mimalloc.realloc(zeroed, layout, size + 40);
                    assert!(is_aligned(grown, alignment));
                    assert!((0..size).all(|at| grown.add(at).read() == 7));
                    Mimalloc.dealloc(block, layout);
                    Mimalloc.dealloc(grown, Layout::from_size_align(size + 40, alignment).unwrap());
                }
            }
        }
    }
}
