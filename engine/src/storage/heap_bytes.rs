//! Byte strings of fixed length on the heap, reached through one thin pointer.
//!
//! Rows and long index keys are read through racing atomic pointers, so they must be one word wide: the
//! length lives in the allocation, not in the pointer (a `Box<[u8]>` is two words).
//!
//! ```text
//! pointer -> | length: u32 | bytes ... | zeros |        one allocation, in words of 4 bytes
//! ```
//!
//! Invariants: between [`HeapBytes::new`] and [`HeapBytes::free`] the bytes change only through
//! [`HeapBytes::overwrite`], whose caller ensures that no thread uses [`HeapBytes::bytes`]. Otherwise any
//! number of threads may read them. [`HeapBytes::copy_into`] may race with a change: it copies words, each of
//! which is old or new, and its caller finds out whether to discard the copy. The thread that unlinks a
//! pointer from shared memory owns it, frees it once, and not before every thread that could have loaded it
//! has left its epoch.
#![allow(unsafe_code)] // A thin pointer to an unsized allocation cannot be expressed safely.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam_epoch::Guard;

use hyades_types::memory::in_database;

use super::row::Leading;

const WORD_BYTES: usize = size_of::<u32>();
/// Shorter rows are copied as a whole: to find out where a part ends costs as much.
const COPIED_WHOLE: usize = 128;
/// What [`copy_chunk`] copies at once.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const CHUNK_WORDS: usize = 64 / WORD_BYTES;

/// A handle, as copyable and as dangerous as a raw pointer. The module head says when it may be freed.
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
        // SAFETY: the allocation is fresh, aligned to 4, and as long as `write` needs.
        unsafe { HeapBytes::write(pointer, bytes) }
    }

    /// Writes length and bytes into memory that the caller manages.
    ///
    /// # Safety
    /// There is room as [`HeapBytes::layout`] says, and no other thread uses it.
    pub(super) unsafe fn write(pointer: NonNull<u32>, bytes: &[u8]) -> HeapBytes {
        let length = u32::try_from(bytes.len()).expect("a stored byte string is shorter than 4 GiB");
        // SAFETY: as promised; the last word lies within that room.
        unsafe {
            pointer.add(bytes.len().div_ceil(WORD_BYTES)).write(0);
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
        let bytes = WORD_BYTES + length.next_multiple_of(WORD_BYTES);
        Layout::from_size_align(bytes, align_of::<u32>()).expect("the length is bounded")
    }

    /// # Safety
    /// These bytes are not freed during `'a`: the caller owns the handle, or has pinned the epoch since
    /// before the handle was unlinked.
    pub(super) unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: alive by the caller's promise and initialised by `new`.
        unsafe {
            let length = self.0.read() as usize;
            std::slice::from_raw_parts(self.0.add(1).cast::<u8>().as_ptr(), length)
        }
    }

    /// The number of bytes.
    ///
    /// # Safety
    /// As for [`HeapBytes::bytes`].
    pub(super) unsafe fn length(self) -> usize {
        // SAFETY: alive by the caller's promise; the length never changes.
        unsafe { self.0.read() as usize }
    }

    /// The words of the bytes; the last one may be padded with zeros.
    ///
    /// # Safety
    /// As for [`HeapBytes::bytes`].
    unsafe fn words<'a>(self) -> &'a [AtomicU32] {
        // SAFETY: alive by the caller's promise, initialised by `write`, aligned to words, whose layout
        // atomics share.
        unsafe {
            let words = self.length().div_ceil(WORD_BYTES);
            std::slice::from_raw_parts(self.0.add(1).cast::<AtomicU32>().as_ptr(), words)
        }
    }

    /// Copies the bytes, which a writer may be changing: see the module head.
    ///
    /// # Safety
    /// As for [`HeapBytes::bytes`].
    #[inline]
    pub(super) unsafe fn copy_into(self, out: &mut Vec<u8>) {
        // SAFETY: as promised.
        let (words, length) = unsafe { (self.words(), self.length()) };
        out.clear();
        out.reserve(words.len() * WORD_BYTES);
        // SAFETY: there is room for all words. Writing them into zeros would cost as much again.
        unsafe { copy_words(words, out.as_mut_ptr()) };
        // SAFETY: at least this many bytes have been written, since they were written in whole words.
        unsafe { out.set_len(length) };
    }

    /// Copies the leading part of a row, which a writer may be changing: see the module head.
    ///
    /// # Safety
    /// As for [`HeapBytes::bytes`].
    #[inline]
    pub(super) unsafe fn copy_leading_into(self, leading: Leading, out: &mut Vec<u8>) {
        // SAFETY: as promised.
        let (words, length) = unsafe { (self.words(), self.length()) };
        if leading.is_whole() || length <= COPIED_WHOLE || leading.header_bytes() > length {
            // SAFETY: as promised.
            return unsafe { self.copy_into(out) };
        }
        out.clear();
        out.reserve(words.len() * WORD_BYTES);
        let (header, rest) = words.split_at(leading.header_bytes().div_ceil(WORD_BYTES));
        let copied = header.len() * WORD_BYTES;
        // SAFETY: there is room for all words; what is in the vector has been written.
        let part = unsafe {
            copy_words(header, out.as_mut_ptr());
            out.set_len(copied.min(length));
            leading.bytes(out).clamp(out.len(), length)
        };
        let rest = &rest[..part.div_ceil(WORD_BYTES) - header.len()];
        // SAFETY: as before; at least `part` bytes have been written.
        unsafe {
            copy_words(rest, out.as_mut_ptr().add(copied));
            out.set_len(part);
        }
    }

    /// Puts bytes in the place of those at `offset`, word by word.
    ///
    /// # Safety
    /// As for [`HeapBytes::bytes`]; no other thread changes them, and no thread uses a slice of them.
    #[inline]
    pub(super) unsafe fn overwrite(self, offset: usize, bytes: &[u8]) {
        // SAFETY: as promised.
        let words = unsafe { self.words() };
        // Most pieces are integers.
        if let Ok(bytes) = <&[u8; 4]>::try_from(bytes) {
            return overwrite_number(words, offset, bytes);
        }
        if let Ok(bytes) = <&[u8; 8]>::try_from(bytes) {
            return overwrite_number(words, offset, bytes);
        }
        let (first, within) = (offset / WORD_BYTES, offset % WORD_BYTES);
        let (head, rest) = bytes.split_at(bytes.len().min((WORD_BYTES - within) % WORD_BYTES));
        let (chunks, tail) = rest.as_chunks::<WORD_BYTES>();
        let begin = first + usize::from(!head.is_empty());
        if !head.is_empty() {
            overwrite_in(&words[first], within, head);
        }
        for (chunk, word) in chunks.iter().zip(&words[begin..]) {
            word.store(u32::from_ne_bytes(*chunk), Ordering::Relaxed);
        }
        if !tail.is_empty() {
            overwrite_in(&words[begin + chunks.len()], 0, tail);
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

    /// Frees the bytes once every thread pinned now has unpinned.
    ///
    /// # Safety
    /// The caller owns the handle and has unlinked it from everything shared.
    pub(super) unsafe fn retire(self, guard: &Guard) {
        // The address travels as a closure of one word without conversion to an integer, which the epoch's
        // bag stores without allocating.
        let bytes = Owned(self);
        // SAFETY: unlinked, so only threads pinned now can still read it; the epoch waits for them.
        unsafe { guard.defer_unchecked(move || in_database(|| bytes.free())) };
    }
}

/// Copies words that a writer may be changing.
///
/// # Safety
/// There is room for them.
#[inline]
unsafe fn copy_words(words: &[AtomicU32], to: *mut u8) {
    let (mut rest, mut to) = (words, to.cast::<u32>());
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    while let Some((chunk, after)) = rest.split_first_chunk() {
        // SAFETY: as promised.
        unsafe {
            copy_chunk(chunk, to);
            to = to.add(CHUNK_WORDS);
        }
        rest = after;
    }
    for word in rest {
        // SAFETY: as promised.
        unsafe {
            to.write_unaligned(word.load(Ordering::Relaxed));
            to = to.add(1);
        }
    }
}

/// Copies several words with a few instructions, which a compiler must not do with atomics. A word is
/// aligned, so each is still old or new, and loads keep their order on this processor.
///
/// # Safety
/// As for [`copy_words`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
unsafe fn copy_chunk(chunk: &[AtomicU32; CHUNK_WORDS], to: *mut u32) {
    // SAFETY: reads the words of the chunk, writes as many bytes at `to`, and touches nothing else.
    unsafe {
        std::arch::asm!(
            "movdqu {a}, [{from}]",
            "movdqu {b}, [{from} + 16]",
            "movdqu {c}, [{from} + 32]",
            "movdqu {d}, [{from} + 48]",
            "movdqu [{to}], {a}",
            "movdqu [{to} + 16], {b}",
            "movdqu [{to} + 32], {c}",
            "movdqu [{to} + 48], {d}",
            from = in(reg) chunk.as_ptr(),
            to = in(reg) to,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// Writes the bytes of a number, at most 8, at an offset within a word.
#[inline]
fn overwrite_number<const BYTES: usize>(words: &[AtomicU32], offset: usize, bytes: &[u8; BYTES]) {
    let (first, within) = (offset / WORD_BYTES, offset % WORD_BYTES);
    let words = &words[first..first + (within + BYTES).div_ceil(WORD_BYTES)];
    let mut whole = [[0; WORD_BYTES]; 3];
    for (whole, word) in whole.iter_mut().zip(words) {
        *whole = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    whole.as_flattened_mut()[within..within + BYTES].copy_from_slice(bytes);
    for (whole, word) in whole.iter().zip(words) {
        word.store(u32::from_ne_bytes(*whole), Ordering::Relaxed);
    }
}

/// Overwrites a part of a word.
fn overwrite_in(word: &AtomicU32, offset: usize, bytes: &[u8]) {
    let mut whole = word.load(Ordering::Relaxed).to_ne_bytes();
    whole[offset..offset + bytes.len()].copy_from_slice(bytes);
    word.store(u32::from_ne_bytes(whole), Ordering::Relaxed);
}

/// Lets the handle move to the thread that runs the deferred free.
struct Owned(HeapBytes);

// SAFETY: a plain allocation may be freed on any thread.
unsafe impl Send for Owned {}

impl Owned {
    fn free(self) {
        // SAFETY: made only by `retire`, whose deferral guarantees that no reader is left.
        unsafe { self.0.free() };
    }
}

#[cfg(test)]
mod tests {
    use hyades_types::value::{SqlType, Value};

    use super::HeapBytes;
    use crate::storage::row::{Leading, RowLayout};

    #[test]
    fn copies_are_right_whatever_their_length() {
        let mut copy = vec![7; 300];
        for length in 0..=260_usize {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + length) as u8).collect();
            let stored = HeapBytes::new(&bytes);
            // SAFETY: it is freed after its last use, and no other thread has it.
            unsafe {
                stored.copy_into(&mut copy);
                stored.free();
            }
            assert_eq!(copy, bytes);
        }
    }

    #[test]
    fn a_part_of_a_row_ends_with_its_last_column() {
        let layout = RowLayout::new(&[SqlType::Integer, SqlType::Text, SqlType::SmallInt, SqlType::Text]);
        let mut copy = vec![7; 300];
        for (first, second) in (0..=130).flat_map(|first| [0, 1, 2, 3, 200].map(|second| (first, second))) {
            let text = |letter: &str, length| Value::text(letter.repeat(length));
            let mut bytes = Vec::new();
            layout.encode(
                &[Value::Integer(5), text("a", first), Value::SmallInt(6), text("b", second)],
                &mut bytes,
            );
            let stored = HeapBytes::new(&bytes);
            let end = layout.header_bytes() + first;
            for (last, needed) in [(0, layout.header_bytes()), (1, end), (2, end), (3, bytes.len())] {
                // SAFETY: it is freed after its last use, and no other thread has it.
                unsafe { stored.copy_leading_into(layout.leading(last), &mut copy) };
                assert!(copy.len() >= needed && bytes.starts_with(&copy), "{last} of {first}, {second}");
                assert!(bytes.len() < 250 || copy.len() <= needed + 3 || last == 3, "{last} of {first}");
            }
            // SAFETY: as before. A number that is torn leads nowhere.
            unsafe {
                let other = RowLayout::new(&[SqlType::Text, SqlType::Text]);
                stored.copy_leading_into(other.leading(0), &mut copy);
                assert!(bytes.starts_with(&copy));
                stored.copy_leading_into(Leading::WHOLE, &mut copy);
                assert_eq!(copy, bytes);
                stored.free();
            }
        }
    }
}
