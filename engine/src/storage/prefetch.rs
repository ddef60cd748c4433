//! A hint to the processor.
#![allow(unsafe_code)] // The instruction has no safe name.

const CACHE_LINE_BYTES: usize = 64;

/// Prefetches this many bytes from an address on; does nothing else, wherever it points.
#[inline]
pub(crate) fn prefetch<T>(address: *const T, bytes: usize) {
    for offset in (0..bytes).step_by(CACHE_LINE_BYTES) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch of any address neither faults nor changes anything.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>().wrapping_add(offset));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (address, offset);
    }
}
