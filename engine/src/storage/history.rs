//! Histories: earlier versions of rows, and the transactions that wrote the current ones.
//!
//! The newest version of a row is in its record and is changed in place. What a write replaced goes into the
//! *history* of the worker that wrote it, and the record keeps one word, a [`Handle`], which leads there:
//!
//! ```text
//! Record { writer, row } --writer--> | transaction ... | version | version | transaction ... |  history of a worker
//!                                      ^                |  \-- before: the row it replaced
//!                                      |                \----- previous: the handle of its writer
//!                                      \-- state: running, committed at time t; mark: what a reader must follow
//! ```
//!
//! So one word leads to the time at which the row was committed, to the dependencies that a reader of the row
//! takes over (the *mark*: for Taurus an LSN vector, kept once for each transaction), and to every older
//! version with the same information about its writer. A [`Snapshot`] is a time: a reader at that time takes
//! the newest version committed by then (`storage::versions`). It takes no locks, writes nothing that other
//! threads read, and blocks no writer.
//!
//! **Forgetting.** A handle is a history and a position. Positions of a worker only grow, and what lies below
//! [`History::forgotten`] is *old*: committed before every snapshot in use and, as its protocol says,
//! implicitly followed by every transaction. Transactions are forgotten in their order, by raising that one
//! number. No record is touched again. Positions are never reused, so an old handle never means something
//! else.
//!
//! **Memory.** A history is a list of chunks in a directory by position. It starts empty, grows with what is
//! written, and gives chunks back as they are forgotten. It outlives its worker until all of it is forgotten,
//! and then serves the next worker.
//!
//! Files:
//! * `writer`: appending to a history and forgetting; `chunks`: its memory;
//! * `snapshots`: which times are still read; `commit_slot`: which worker is committing.
//!
//! Invariants:
//! 1. A record names its new writer before its row changes: a reader that finds the same writer before and
//!    after copying the row has a consistent copy (`storage::record`). The content of a version does not
//!    change, except that its row may go back into the record. Such a version is marked first.
//! 2. A commit time is drawn after the transaction is marked as committing and while it holds all its locks:
//!    of two transactions that conflict, the later one has the later time. A reader that finds it running has
//!    a snapshot from before that. A reader that finds it committing, at a time that is not after its own, or
//!    not known yet, waits those few instructions, or until it has looked at what it has read without locks
//!    (`txn::writes::look`).
//! 3. Taking a write back leaves a new handle, never the one from before: a reader that was interrupted must
//!    see that something happened. That version changes nothing and leads to the one before. A rolled back
//!    transaction gets a time and a mark as a committed one does, so it is not forgotten before the versions
//!    that it had replaced.
//! 4. The number `forgotten` is raised before a row or a chunk is retired, and readers are pinned and look at
//!    it after they have read the chunk's address. The worker uses a slot of the directory again only when
//!    its chunk has been given back, so the thread that forgets finds the right chunk.
//! 5. A row that a version keeps is freed when its transaction is forgotten, unless the row went back into
//!    its record.
//! 6. After each read, also one that found no row, a reader at a snapshot asks whether the snapshot is still
//!    served ([`Snapshot::check`]).
//!
//! 7. A transaction has the place of its log record before it draws its time, and announces its commit before
//!    that (`commit_slot`). So a checkpoint can cut at a time (`txn::writes::capture`).
//!
//! Reference: Neumann, Mühlbauer, Kemper: "Fast Serializable Multi-Version Concurrency Control for
//! Main-Memory Database Systems", SIGMOD 2015 (versions in place, before-images in undo buffers); Larson et
//! al.: "High-Performance Concurrency Control Mechanisms for Main-Memory Databases", VLDB 2011 (waiting for
//! a transaction that is committing).
#![allow(unsafe_code)] // Chunks are reclaimed through the epoch.

mod chunks;
mod commit_slot;
mod snapshots;
#[cfg(all(test, not(loom)))]
mod tests;
mod writer;

use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, OnceLock};

use crossbeam_epoch::Guard;
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use smallvec::SmallVec;

use self::chunks::{CHUNK_WORDS, Chunk, Chunks};
use self::commit_slot::CommitSlot;
use super::row::overwrite;
use crate::commit_clock::CommitClock;

pub(crate) use self::snapshots::Snapshot;
pub(crate) use self::writer::HistoryWriter;
pub(super) use self::writer::{Before, Kept};

/// Positions of a history fit into this many bits.
const POSITION_BITS: u32 = 44;
/// The last of them.
const LAST_POSITION: u64 = (1 << POSITION_BITS) - 1;
/// The most histories at once, in pages: 2^20, including those that are still needed and have no worker. Half
/// of them are for replays.
const PAGES: usize = 1 << 10;
const PAGE_SLOTS: usize = 1 << (64 - POSITION_BITS) >> 10;
const WORD_BYTES: usize = size_of::<AtomicU64>();

/// What the last writer of a record left: a history and a position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(pub(crate) u64);

impl Handle {
    /// For rows that recovery has put there, and for records that no transaction has written: older than
    /// everything.
    pub(crate) const NONE: Handle = Handle(0);

    /// For rows that are still as in the checkpoint they were loaded from: as old as [`Handle::NONE`].
    pub(crate) const CHECKPOINTED: Handle = Handle(1);

    /// Whether it was written by a transaction that had ended when the histories had reached these positions
    /// ([`Histories::ended`]), or was loaded from a checkpoint.
    pub(crate) fn is_before(self, ended: &[u64]) -> bool {
        self == Handle::CHECKPOINTED || ended.get(self.slot()).is_some_and(|ended| self.position() < *ended)
    }

    fn new(slot: u32, position: u64) -> Handle {
        Handle(u64::from(slot) << POSITION_BITS | position)
    }

    fn slot(self) -> usize {
        (self.0 >> POSITION_BITS) as usize
    }

    fn position(self) -> u64 {
        self.0 & LAST_POSITION
    }
}

/// The words of a transaction in its history: its state.
const STATE: usize = 0;
/// The position after its last version.
const END: usize = 1;
/// The bytes of rows that its versions keep.
const KEPT: usize = 2;
/// Its mark.
const MARK: usize = 3;

/// The states of a transaction. All but the first have the time in the upper bits; one that is committing
/// has 0 there until it has drawn it.
const RUNNING: u64 = 0;
const COMMITTING: u64 = 1;
const COMMITTED: u64 = 2;
const ROLLED_BACK: u64 = 3;
const TIME_SHIFT: u32 = 2;
const STATE_MASK: u64 = (1 << TIME_SHIFT) - 1;
/// Later than every commit.
pub(crate) const LATEST: u64 = u64::MAX;

/// The words of a version: the kind of its predecessor, and its length in bytes if it is a patch.
const KIND: usize = 0;
/// The handle that its record had before.
const PREVIOUS: usize = 1;
/// The position of its transaction.
const TRANSACTION: usize = 2;
/// The row or the patch.
const VALUE: usize = 3;

/// There was no row.
const NO_ROW: u64 = 0;
/// A row that the version owns.
const OWN_ROW: u64 = 1;
/// A row in the allocation of its record, freed with it.
const INLINE_ROW: u64 = 2;
/// Pieces of the row, in the version itself.
const PATCH: u64 = 3;
/// Pieces of the row, on the heap.
const LARGE_PATCH: u64 = 4;
/// The row is unchanged: a write was taken back.
const UNCHANGED: u64 = 5;
/// A row that went back into its record, because the write was taken back.
const GIVEN_BACK: u64 = 6;
const KIND_BITS: u32 = 3;

/// Fills the rest of a chunk.
const PADDING: u64 = u64::MAX;

/// The history of one worker, as other threads see it.
pub(crate) struct History {
    chunks: Chunks,
    /// Everything below is old.
    forgotten: CachePadded<AtomicU64>,
    /// The chunks below have been given back, so their places in the directory may be used again.
    given_back: AtomicU64,
    /// The transactions below this position have ended.
    pub(super) ended: AtomicU64,
    /// Bytes of rows that versions keep.
    kept_bytes: AtomicU64,
    /// Held by the thread that raises `forgotten`.
    forgetting: Mutex<()>,
    mark_words: usize,
    snapshot: CachePadded<snapshots::Slot>,
    commit: CachePadded<CommitSlot>,
}

type Page = Box<[AtomicPtr<History>]>;

/// The histories of one database, and its clock.
pub(crate) struct Histories {
    pages: Box<[OnceLock<Page>]>,
    /// Slots that have been used: those below this number.
    used: AtomicUsize,
    workers: Mutex<Workers>,
    clock: CommitClock,
    /// No snapshot before this time is in use, or will be.
    horizon: CachePadded<AtomicU64>,
    /// The time since which all rows comply with the newest unique index.
    newest_key: AtomicU64,
    /// Words of a mark.
    mark_words: usize,
    /// The slots of its workers: those of a replay are others than those of transactions, to which all that a
    /// replay has written is old.
    slots: Range<usize>,
}

/// The slots and the workers that use them.
#[derive(Default)]
struct Workers {
    /// Slots whose history is not needed any more.
    free: Vec<u32>,
    /// Slots of workers that have gone and left versions behind.
    left: Vec<u32>,
}

/// Says, for its protocol, what may be forgotten: whether every transaction follows this mark anyway.
pub(crate) trait Forgettable {
    fn is_forgettable(&self, mark: &[AtomicU64]) -> bool;
}

/// A version that a snapshot does not see.
pub(super) struct Version<'g> {
    words: &'g [AtomicU64],
}

/// The result of judging a handle for a reader.
pub(super) enum Verdict<'g> {
    Old,
    Seen {
        mark: &'g [AtomicU64],
        /// When it was committed.
        time: u64,
        version: Version<'g>,
    },
    Unseen(Version<'g>),
}

impl Histories {
    /// `mark_words`: the length of a mark, the same for all transactions.
    pub(crate) fn new(mark_words: usize, clock: CommitClock) -> Histories {
        Histories::with_slots(0..PAGES * PAGE_SLOTS / 2, mark_words, clock)
    }

    /// Those of a replay, which use other slots than replays before it: records that these have written lead
    /// there. Its clock shows the time of which nothing earlier will be read any more.
    pub(crate) fn of_replay(slots_before: usize, clock: CommitClock) -> Histories {
        let first = (PAGES * PAGE_SLOTS / 2 + slots_before).min(PAGES * PAGE_SLOTS);
        Histories::with_slots(first..PAGES * PAGE_SLOTS, 0, clock)
    }

    /// How many slots have been used.
    pub(crate) fn used_slots(&self) -> usize {
        self.used.load(Ordering::SeqCst) - self.slots.start
    }

    fn with_slots(slots: Range<usize>, mark_words: usize, clock: CommitClock) -> Histories {
        Histories {
            pages: (0..PAGES).map(|_| OnceLock::new()).collect(),
            used: AtomicUsize::new(slots.start),
            workers: Mutex::default(),
            clock,
            horizon: CachePadded::new(AtomicU64::new(0)),
            newest_key: AtomicU64::new(0),
            mark_words,
            slots,
        }
    }

    /// A history for a new worker. Panics when there are half a million.
    fn take_slot(&self) -> (u32, Arc<History>) {
        let mut workers = self.workers.lock();
        if let Some(slot) = workers.free.pop() {
            let history = self.place(slot as usize).load(Ordering::Acquire);
            // SAFETY: the slots' own reference keeps it alive.
            let history = unsafe {
                Arc::increment_strong_count(history);
                Arc::from_raw(history)
            };
            return (slot, history);
        }
        let used = self.used.load(Ordering::SeqCst);
        assert!(used < self.slots.end, "the histories of workers have run out");
        let history = Arc::new(History::new(self.mark_words));
        self.place(used).store(Arc::into_raw(Arc::clone(&history)).cast_mut(), Ordering::Release);
        self.used.store(used + 1, Ordering::SeqCst);
        (used as u32, history)
    }

    fn place(&self, slot: usize) -> &AtomicPtr<History> {
        let page = self.pages[slot / PAGE_SLOTS]
            .get_or_init(|| (0..PAGE_SLOTS).map(|_| AtomicPtr::default()).collect());
        &page[slot % PAGE_SLOTS]
    }

    #[inline]
    fn history(&self, slot: usize) -> Option<&History> {
        let place = &self.pages[slot / PAGE_SLOTS].get()?[slot % PAGE_SLOTS];
        // SAFETY: null, or a reference of the slots' own, which lasts as long as they do.
        unsafe { place.load(Ordering::Acquire).as_ref() }
    }

    /// All histories that have been used.
    pub(super) fn all(&self) -> impl Iterator<Item = &History> {
        (self.slots.start..self.used.load(Ordering::SeqCst)).filter_map(|slot| self.history(slot))
    }

    /// Whether a record with this handle looks the same to every reader, now and later.
    pub(crate) fn is_old(&self, handle: Handle) -> bool {
        handle == Handle::NONE
            || self
                .history(handle.slot())
                .is_none_or(|history| handle.position() < history.forgotten.load(Ordering::Acquire))
    }

    /// The mark of the transaction that a [`HistoryWriter::handle`] leads to; `None` if it is forgotten.
    #[inline]
    pub(crate) fn mark<'g>(&'g self, handle: Handle, guard: &'g Guard) -> Option<&'g [AtomicU64]> {
        let words = self.history(handle.slot())?.words(handle.position(), guard)?;
        Some(&words[MARK..MARK + self.mark_words])
    }

    /// Whether one transaction has left both handles; false if it is forgotten.
    pub(super) fn is_of_one_transaction(&self, one: Handle, other: Handle, guard: &Guard) -> bool {
        let begin = |handle: Handle| {
            let (version, _) = self.history(handle.slot())?.version(handle.position(), guard)?;
            Some(version[TRANSACTION].load(Ordering::Relaxed))
        };
        one.slot() == other.slot() && begin(one).is_some_and(|first| begin(other) == Some(first))
    }

    /// Whether a reader at this time sees the result of the write with this handle.
    #[inline]
    pub(super) fn judge<'g>(&'g self, handle: Handle, time: u64, guard: &'g Guard) -> Verdict<'g> {
        if handle == Handle::NONE {
            return Verdict::Old;
        }
        let Some(history) = self.history(handle.slot()) else { return Verdict::Old };
        let Some((version, transaction)) = history.version(handle.position(), guard) else {
            return Verdict::Old;
        };
        let mut state = transaction[STATE].load(Ordering::Acquire);
        let mut rounds = 0u32;
        while state & STATE_MASK == COMMITTING && state >> TIME_SHIFT <= time {
            // A few instructions, unless its thread has lost the processor.
            rounds += 1;
            if rounds.is_multiple_of(64) {
                crate::sync::yield_now();
            }
            std::hint::spin_loop();
            state = transaction[STATE].load(Ordering::Acquire);
        }
        if state & STATE_MASK == COMMITTED && state >> TIME_SHIFT <= time {
            let mark = &transaction[MARK..MARK + self.mark_words];
            return Verdict::Seen { mark, time: state >> TIME_SHIFT, version: Version { words: version } };
        }
        Verdict::Unseen(Version { words: version })
    }
}

impl Drop for Histories {
    fn drop(&mut self) {
        for slot in self.pages.iter().filter_map(OnceLock::get).flatten() {
            let history = slot.load(Ordering::Acquire);
            if !history.is_null() {
                // SAFETY: the slots' own reference, given up once.
                drop(unsafe { Arc::from_raw(history) });
            }
        }
    }
}

impl History {
    fn new(mark_words: usize) -> History {
        History {
            chunks: Chunks::default(),
            forgotten: CachePadded::new(AtomicU64::new(chunks::FIRST_POSITION)),
            given_back: AtomicU64::new(chunks::FIRST_POSITION),
            ended: AtomicU64::new(chunks::FIRST_POSITION),
            kept_bytes: AtomicU64::new(0),
            forgetting: Mutex::default(),
            mark_words,
            snapshot: CachePadded::default(),
            commit: CachePadded::default(),
        }
    }

    /// The chunk with a position; `None` if that is forgotten.
    #[inline]
    fn chunk<'g>(&'g self, position: u64, guard: &'g Guard) -> Option<&'g Chunk> {
        let chunk = self.chunks.at(position, guard);
        // Invariant 4.
        if position < self.forgotten.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: not forgotten when the address had been taken, so not retired before this thread was
        // pinned.
        Some(unsafe { &*chunk })
    }

    /// The words from a position to the end of its chunk; `None` if they are forgotten.
    #[inline]
    fn words<'g>(&'g self, position: u64, guard: &'g Guard) -> Option<&'g [AtomicU64]> {
        self.chunk(position, guard).map(|chunk| chunks::words_of(chunk, position))
    }

    /// The words of the version at a position, and those of its transaction; `None` if they are forgotten,
    /// which both are at the same time.
    #[inline]
    fn version<'g>(&'g self, position: u64, guard: &'g Guard) -> Option<(&'g [AtomicU64], &'g [AtomicU64])> {
        let chunk = self.chunk(position, guard)?;
        let version = chunks::words_of(chunk, position);
        let begin = version[TRANSACTION].load(Ordering::Relaxed);
        let transaction = match begin / CHUNK_WORDS == position / CHUNK_WORDS {
            true => chunks::words_of(chunk, begin),
            false => self.words(begin, guard)?,
        };
        Some((version, transaction))
    }

    /// Bytes of memory that it holds.
    fn bytes(&self) -> u64 {
        let ended = self.ended.load(Ordering::Relaxed).saturating_sub(self.forgotten.load(Ordering::Relaxed));
        ended * size_of::<AtomicU64>() as u64 + self.kept_bytes.load(Ordering::Relaxed)
    }
}

impl Version<'_> {
    pub(super) fn is_unchanged(&self) -> bool {
        self.words[KIND].load(Ordering::Relaxed) == UNCHANGED
    }

    /// Whether there was a row before the write; `is_there` says whether there is one after it.
    pub(super) fn was_there(&self, is_there: bool) -> bool {
        match self.words[KIND].load(Ordering::Relaxed) {
            NO_ROW => false,
            UNCHANGED => is_there,
            _ => true,
        }
    }

    pub(super) fn previous(&self) -> Handle {
        Handle(self.words[PREVIOUS].load(Ordering::Relaxed))
    }

    /// Turns the row that the write left into the row before it; returns whether there was one. `None`: the
    /// write has been taken back meanwhile, and the row that it had replaced may be changing.
    pub(super) fn apply(&self, row: &mut Vec<u8>, is_there: bool) -> Option<bool> {
        let kind = self.words[KIND].load(Ordering::Acquire);
        match kind & ((1 << KIND_BITS) - 1) {
            NO_ROW => {
                row.clear();
                Some(false)
            }
            UNCHANGED => Some(is_there),
            OWN_ROW | INLINE_ROW => {
                // SAFETY: kept by the version until it is forgotten, or by its record; readers are pinned.
                unsafe { writer::kept_row(&self.words[VALUE]).copy_into(row) };
                // A reader of a word that was changed later now finds that the row was given back before.
                fence(Ordering::Acquire);
                (self.words[KIND].load(Ordering::Relaxed) == kind).then_some(true)
            }
            PATCH => {
                let length = (kind >> KIND_BITS) as usize;
                let bytes: SmallVec<[u8; 256]> = self.words[VALUE..VALUE + length.div_ceil(WORD_BYTES)]
                    .iter()
                    .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
                    .collect();
                overwrite(row, &bytes[..length]);
                Some(is_there)
            }
            LARGE_PATCH => {
                let mut patch = Vec::new();
                // SAFETY: as above.
                unsafe { writer::kept_row(&self.words[VALUE]).copy_into(&mut patch) };
                overwrite(row, &patch);
                Some(is_there)
            }
            _ => None,
        }
    }
}
