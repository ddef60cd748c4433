//! One word that is both a node's write latch and its version: optimistic lock coupling.
//!
//! ```text
//! bit 63 ........ 2 | 1      | 0
//! number of changes | LOCKED | OBSOLETE
//! ```
//!
//! Readers write nothing: they note the word, read, and look at the word again. If it differs, what they read
//! is void. This is a sequence lock, so every racing read goes through an atomic (Relaxed), and the two
//! fences below order them: a reader that saw any store of a writer also sees that writer's LOCKED bit when
//! it checks (C++20 [atomics.fences]).
//!
//! Words are locked and looked at in one order that all threads agree on (SeqCst, which on x86 costs nothing
//! extra). So when a writer locks one node and then finds another one unchanged, a thread that has seen a
//! later change of the other one finds the first one locked, or changed.
//!
//! Reference: Leis, Haubenschild, Neumann, "Optimistic Lock Coupling", IEEE Data Engineering Bulletin 42(1),
//! 2019.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use crossbeam_utils::Backoff;

const OBSOLETE: u64 = 1;
const LOCKED: u64 = 2;
const CHANGE: u64 = 4;

/// The data read are void; begin again at the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::storage) struct Restart;

/// See the module head.
#[derive(Debug, Default)]
pub(in crate::storage) struct VersionLock(AtomicU64);

impl VersionLock {
    /// The current version, after waiting for a writer. Fails when the node has left the tree.
    #[inline]
    pub(super) fn read(&self) -> Result<u64, Restart> {
        let word = self.0.load(Ordering::SeqCst);
        if word & (LOCKED | OBSOLETE) == 0 { Ok(word) } else { self.read_slowly() }
    }

    #[cold]
    fn read_slowly(&self) -> Result<u64, Restart> {
        let backoff = Backoff::new();
        loop {
            let word = self.0.load(Ordering::SeqCst);
            if word & OBSOLETE != 0 {
                return Err(Restart);
            }
            if word & LOCKED == 0 {
                return Ok(word);
            }
            // Yields after a few rounds: the writer may have lost its core.
            backoff.snooze();
        }
    }

    /// Whether everything read since `version` was noted is consistent.
    #[inline]
    pub(in crate::storage) fn check(&self, version: u64) -> Result<(), Restart> {
        fence(Ordering::Acquire);
        if self.0.load(Ordering::SeqCst) == version { Ok(()) } else { Err(Restart) }
    }

    /// Locks if nothing has changed since `version`.
    #[inline]
    pub(super) fn upgrade(&self, version: u64) -> Result<WriteGuard<'_>, Restart> {
        match self.0.compare_exchange(version, version + LOCKED, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => {
                // Orders the LOCKED bit before the Relaxed stores that follow.
                fence(Ordering::Release);
                Ok(WriteGuard { lock: self, version })
            }
            Err(_) => Err(Restart),
        }
    }

    /// The raw word, for structures with a latch of their own that only count changes.
    pub(in crate::storage) fn current(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Counts a change made under the caller's own latch.
    pub(in crate::storage) fn count_change(&self) {
        self.0.fetch_add(CHANGE, Ordering::AcqRel);
    }
}

/// The exclusive right to change a node; unlocks with a new version when dropped.
pub(super) struct WriteGuard<'a> {
    lock: &'a VersionLock,
    version: u64,
}

impl WriteGuard<'_> {
    /// Unlocks under the old version: nothing was stored, so readers need not notice.
    pub(super) fn unlock_unchanged(self) {
        self.lock.0.store(self.version, Ordering::Release);
        std::mem::forget(self);
    }

    /// Unlocks under a new version, and returns it.
    pub(super) fn unlock(self) -> u64 {
        self.version + CHANGE
    }

    /// Unlocks for ever: the node has left the tree.
    pub(super) fn unlock_obsolete(self) {
        self.lock.0.store(self.version + CHANGE + OBSOLETE, Ordering::Release);
        std::mem::forget(self);
    }
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        self.lock.0.store(self.version + CHANGE, Ordering::Release);
    }
}
