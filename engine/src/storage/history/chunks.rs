//! The memory of one history: chunks of words, found by position.
//!
//! Position `p` is word `p % CHUNK_WORDS` of chunk `p / CHUNK_WORDS`. The directory is a ring of as many
//! chunk addresses as are in use at once, and grows like a vector. Only the worker adds chunks. The thread
//! that forgets retires them, and leaves their addresses in place: no thread follows the address of a
//! forgotten position.
#![allow(unsafe_code)] // Chunks are reclaimed through the epoch.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crossbeam_epoch::{self as epoch, Atomic, Guard, Owned};
use hyades_types::memory::in_database;

/// 4 KiB: a few dozen small transactions.
pub(super) const CHUNK_WORDS: u64 = 512;
/// No position is 0, which with worker 0 would be the handle that stands for no writer.
pub(super) const FIRST_POSITION: u64 = CHUNK_WORDS;

pub(super) type Chunk = [AtomicU64; CHUNK_WORDS as usize];

/// See the module head.
#[derive(Default)]
pub(super) struct Chunks {
    directory: Atomic<Directory>,
}

struct Directory {
    /// Their number is a power of two.
    chunks: Box<[AtomicPtr<Chunk>]>,
}

impl Directory {
    fn place(&self, position: u64) -> &AtomicPtr<Chunk> {
        let mask = self.chunks.len() - 1;
        &self.chunks[(position / CHUNK_WORDS) as usize & mask]
    }
}

/// The words from a position to the end of its chunk.
///
/// # Safety
/// The chunk is alive for `'g`.
pub(super) unsafe fn words<'g>(chunk: *const Chunk, position: u64) -> &'g [AtomicU64] {
    // SAFETY: as promised.
    words_of(unsafe { &*chunk }, position)
}

/// The words from a position to the end of its chunk.
#[inline]
pub(super) fn words_of(chunk: &Chunk, position: u64) -> &[AtomicU64] {
    &chunk[(position % CHUNK_WORDS) as usize..]
}

impl Chunks {
    /// The address of a position's chunk, or of any other chunk, alive or not, if the position is forgotten.
    /// Null before the first chunk.
    #[inline]
    pub(super) fn at(&self, position: u64, guard: &Guard) -> *const Chunk {
        // SAFETY: directories are retired through the epoch.
        match unsafe { self.directory.load(Ordering::Acquire, guard).as_ref() } {
            Some(directory) => directory.place(position).load(Ordering::Acquire),
            None => std::ptr::null(),
        }
    }

    /// Makes a new chunk for a position at which one begins. Those from `oldest` on are still in use. Only
    /// the worker calls it.
    pub(super) fn add(&self, position: u64, oldest: u64) -> *const Chunk {
        in_database(|| {
            let guard = epoch::pin();
            let chunk = Box::into_raw(Box::new([const { AtomicU64::new(0) }; CHUNK_WORDS as usize]));
            let current = self.directory.load(Ordering::Relaxed, &guard);
            // SAFETY: as above.
            let known = unsafe { current.as_ref() };
            let needed = (position / CHUNK_WORDS - oldest / CHUNK_WORDS + 1) as usize;
            match known {
                Some(directory) if directory.chunks.len() >= needed => {
                    directory.place(position).store(chunk, Ordering::Release);
                }
                _ => {
                    let size = needed.next_power_of_two();
                    let larger = Directory { chunks: (0..size).map(|_| AtomicPtr::default()).collect() };
                    if let Some(directory) = known {
                        let mut old = oldest / CHUNK_WORDS * CHUNK_WORDS;
                        while old < position {
                            let address = directory.place(old).load(Ordering::Relaxed);
                            larger.place(old).store(address, Ordering::Relaxed);
                            old += CHUNK_WORDS;
                        }
                    }
                    larger.place(position).store(chunk, Ordering::Relaxed);
                    self.directory.store(Owned::new(larger), Ordering::Release);
                    if !current.is_null() {
                        // SAFETY: unlinked just now, by the only thread that exchanges directories.
                        unsafe { guard.defer_unchecked(move || in_database(|| drop(current.into_owned()))) };
                    }
                }
            }
            chunk.cast_const()
        })
    }

    /// Gives back the chunks, starting at `from`, that end at or before `to`.
    ///
    /// # Safety
    /// Everything below `to` has been forgotten, and no other thread gives these back.
    pub(super) unsafe fn retire(&self, from: u64, to: u64, guard: &Guard) {
        let mut position = from / CHUNK_WORDS * CHUNK_WORDS;
        while position + CHUNK_WORDS <= to {
            let chunk = Address(self.at(position, guard).cast_mut());
            // SAFETY: made by `add`; no new reader finds it (invariant 4 of `history`).
            unsafe { guard.defer_unchecked(move || in_database(|| chunk.free())) };
            position += CHUNK_WORDS;
        }
    }
}

struct Address(*mut Chunk);

// SAFETY: a plain allocation, which may be freed on any thread.
unsafe impl Send for Address {}

impl Address {
    /// # Safety
    /// Made by `add`, and not used any more.
    unsafe fn free(self) {
        // SAFETY: as promised.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        let directory = std::mem::replace(&mut self.directory, Atomic::null());
        // SAFETY: not reachable from elsewhere; the chunks have been given back.
        drop(unsafe { directory.try_into_owned() });
    }
}
