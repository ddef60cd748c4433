//! Writing a history, and forgetting it.
#![allow(unsafe_code)] // Versions own rows that readers may still look at.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::memory::in_database;

use super::chunks::{self, CHUNK_WORDS, Chunk};
use super::snapshots::Snapshot;
use super::{
    COMMITTED, COMMITTING, END, Forgettable, GIVEN_BACK, Handle, Histories, History, INLINE_ROW, KEPT, KIND,
    KIND_BITS, LARGE_PATCH, LAST_POSITION, MARK, NO_ROW, OWN_ROW, PADDING, PATCH, PREVIOUS, ROLLED_BACK,
    RUNNING, STATE, TIME_SHIFT, TRANSACTION, UNCHANGED, VALUE, Version, WORD_BYTES,
};
use crate::storage::heap_bytes::HeapBytes;
use crate::storage::row::{invert, overwrite};

/// A longer patch gets an allocation of its own.
const MOST_PATCH_BYTES: usize = 1024;

/// Fewer words than this are not worth another attempt.
const WORTHWHILE: u64 = CHUNK_WORDS;
/// After every so many words a worker itself looks for the oldest snapshot.
const BETWEEN_LOOKS: u64 = 4 * CHUNK_WORDS;

/// What a write replaces.
#[derive(Clone, Copy)]
pub(in crate::storage) enum Before<'b> {
    NoRow,
    /// Nothing: this version takes another write back.
    Unchanged,
    Row {
        row: HeapBytes,
        /// The row is in the allocation of its record and is freed with it.
        is_inline: bool,
    },
    /// The bytes of the row that the patch replaces.
    Patch {
        row: &'b [u8],
        patch: &'b [u8],
    },
}

/// The state before the write, as its version says, for its own transaction.
pub(in crate::storage) enum Kept {
    NoRow,
    Row(HeapBytes),
    Patch(Vec<u8>),
}

/// The row or the patch that a version keeps.
///
/// # Safety
/// The word is the value of a version of such a kind, and the row or patch it points to has not been freed.
pub(super) unsafe fn kept_row(value: &AtomicU64) -> HeapBytes {
    let address = value.load(Ordering::Relaxed) as usize;
    // SAFETY: written by `note_version` from such a pointer.
    unsafe { HeapBytes::from_pointer(std::ptr::with_exposed_provenance_mut(address)) }
        .expect("a version of this kind keeps bytes")
}

/// What cannot be forgotten yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// Bytes of versions.
    pub(crate) bytes: u64,
    /// Some of it is kept only because of a snapshot.
    pub(crate) is_for_snapshots: bool,
}

/// Writes the history of one worker.
pub(crate) struct HistoryWriter {
    histories: Arc<Histories>,
    history: Arc<History>,
    slot: u32,
    /// Where the next words go. At the beginning of a chunk that is still to be made, `chunk` is null.
    next: u64,
    chunk: *const Chunk,
    /// Where the open transaction begins, if it has written anything.
    transaction: Option<u64>,
    /// The chunk that it begins in, which is not forgotten before it has ended.
    first_chunk: *const Chunk,
    kept_bytes: u64,
    /// With this much to forget it makes an attempt.
    next_forgetting: u64,
    /// With this much it looks for the oldest snapshot again.
    next_look: u64,
}

// SAFETY: the chunks are allocations of the history's, used only by the owner of the writer.
unsafe impl Send for HistoryWriter {}
// SAFETY: shared access only reads.
unsafe impl Sync for HistoryWriter {}

impl HistoryWriter {
    pub(crate) fn new(histories: &Arc<Histories>) -> HistoryWriter {
        let (slot, history) = histories.take_slot();
        // The previous user of the slot has forgotten everything and given its chunks back.
        let next = history.ended.load(Ordering::Acquire);
        HistoryWriter {
            histories: Arc::clone(histories),
            history,
            slot,
            next,
            chunk: std::ptr::null(),
            transaction: None,
            first_chunk: std::ptr::null(),
            kept_bytes: 0,
            next_forgetting: WORTHWHILE,
            next_look: BETWEEN_LOOKS,
        }
    }

    /// Switches to another history when the positions of this one run out. To be called between transactions.
    pub(crate) fn renew(&mut self) {
        debug_assert!(self.history.commit.entered().is_none(), "an ended transaction commits no more");
        if self.next > LAST_POSITION / 2 {
            *self = HistoryWriter::new(&Arc::clone(&self.histories));
        }
    }

    /// A snapshot of everything committed so far.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::take(&self.histories, &self.history)
    }

    /// The time that was drawn last.
    pub(crate) fn now(&self) -> u64 {
        self.histories.clock.now()
    }

    /// A view of everything committed up to a time, for a replay, which knows by other means that it is kept.
    pub(crate) fn replayed_up_to(&self, time: u64) -> Snapshot {
        Snapshot::of_replay(&self.history, time)
    }

    /// Whether the open transaction left this handle.
    #[inline]
    pub(in crate::storage) fn is_own(&self, handle: Handle) -> bool {
        self.transaction
            .is_some_and(|begin| handle.slot() == self.slot as usize && handle.position() >= begin)
    }

    /// Whether the open transaction left this handle, and not by taking another write back.
    #[inline]
    pub(crate) fn is_written(&self, handle: Handle) -> bool {
        self.is_own(handle) && self.words_of(handle)[KIND].load(Ordering::Relaxed) != UNCHANGED
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the current chunk, in which nothing of `next` on can be forgotten.
        unsafe { chunks::words(self.chunk, self.next) }
    }

    /// Makes room for this many consecutive words; returns where they begin.
    fn reserve(&mut self, count: usize) -> u64 {
        debug_assert!(count <= CHUNK_WORDS as usize, "longer content has an allocation of its own");
        let used = self.next % CHUNK_WORDS;
        if used != 0 && used + count as u64 > CHUNK_WORDS {
            self.words()[0].store(PADDING, Ordering::Relaxed);
            self.next += CHUNK_WORDS - used;
        }
        if self.next.is_multiple_of(CHUNK_WORDS) {
            let oldest = self.history.given_back.load(Ordering::Acquire);
            self.chunk = self.history.chunks.add(self.next, oldest);
        }
        self.next
    }

    /// Where the open transaction begins.
    fn begin(&mut self) -> u64 {
        if let Some(transaction) = self.transaction {
            return transaction;
        }
        let words = MARK + self.histories.mark_words;
        let begin = self.reserve(words);
        self.words()[STATE].store(RUNNING, Ordering::Relaxed);
        self.next += words as u64;
        self.transaction = Some(begin);
        self.first_chunk = self.chunk;
        begin
    }

    /// Leads to the mark of the open transaction once it has ended. This is no handle of a record.
    pub(crate) fn handle(&mut self) -> Handle {
        Handle::new(self.slot, self.begin())
    }

    /// Keeps the content of a record with this handle before it is written; returns its new handle.
    #[inline]
    pub(in crate::storage) fn note_version(&mut self, previous: Handle, before: Before<'_>) -> Handle {
        let transaction = self.begin();
        let length = match before {
            Before::NoRow | Before::Unchanged => 0,
            Before::Patch { patch, .. } if patch.len() <= MOST_PATCH_BYTES => {
                patch.len().div_ceil(WORD_BYTES)
            }
            Before::Row { .. } | Before::Patch { .. } => 1,
        };
        let begin = self.reserve(VALUE + length);
        let words = &self.words()[..VALUE + length];
        let put = |word: usize, value: u64| words[word].store(value, Ordering::Relaxed);
        put(PREVIOUS, previous.0);
        put(TRANSACTION, transaction);
        let mut kept = 0;
        match before {
            Before::NoRow => put(KIND, NO_ROW),
            Before::Unchanged => put(KIND, UNCHANGED),
            Before::Row { row, is_inline } => {
                put(KIND, if is_inline { INLINE_ROW } else { OWN_ROW });
                put(VALUE, row.as_pointer().expose_provenance() as u64);
                // Nor does its memory become free before the record can go.
                // SAFETY: it is still in its record.
                kept = unsafe { row.length() };
            }
            Before::Patch { row, patch } if patch.len() <= MOST_PATCH_BYTES => {
                put(KIND, (patch.len() as u64) << KIND_BITS | PATCH);
                // SAFETY: no other thread knows these words yet, and they are as long as the patch.
                let bytes = unsafe {
                    std::slice::from_raw_parts_mut(
                        words[VALUE..].as_ptr().cast_mut().cast::<u8>(),
                        patch.len(),
                    )
                };
                bytes.copy_from_slice(patch);
                invert(row, bytes);
            }
            Before::Patch { row, patch } => {
                let mut inverse = patch.to_vec();
                invert(row, &mut inverse);
                put(KIND, LARGE_PATCH);
                let bytes = in_database(|| HeapBytes::new(&inverse));
                put(VALUE, bytes.as_pointer().expose_provenance() as u64);
                kept = patch.len();
            }
        }
        self.kept_bytes += kept as u64;
        self.next = begin + (VALUE + length) as u64;
        Handle::new(self.slot, begin)
    }

    /// Notes that there was no record; returns the handle of the new one.
    pub(crate) fn note_new(&mut self) -> Handle {
        self.note_version(Handle::NONE, Before::NoRow)
    }

    /// Notes that the write of this version is about to be taken back; returns the handle to leave.
    pub(in crate::storage) fn note_taken_back(&mut self, version: Handle) -> Handle {
        let words = self.words_of(version);
        let previous = Handle(words[PREVIOUS].load(Ordering::Relaxed));
        if matches!(words[KIND].load(Ordering::Relaxed), OWN_ROW | INLINE_ROW) {
            words[KIND].store(GIVEN_BACK, Ordering::Relaxed);
            // Before any thread can change it.
            fence(Ordering::Release);
        }
        self.note_version(previous, Before::Unchanged)
    }

    /// The words of a version of the open transaction.
    fn words_of(&self, handle: Handle) -> &[AtomicU64] {
        debug_assert!(self.is_own(handle), "versions of others are read through the epoch");
        let guard = epoch::pin();
        let chunk = self.history.chunks.at(handle.position(), &guard);
        // SAFETY: the transaction has not ended, so its chunks are not forgotten.
        unsafe { chunks::words(chunk, handle.position()) }
    }

    /// The version of a write of the open transaction.
    pub(in crate::storage) fn version(&self, handle: Handle) -> Version<'_> {
        Version { words: self.words_of(handle) }
    }

    /// The content of a version of the open transaction.
    pub(in crate::storage) fn kept(&self, handle: Handle) -> Kept {
        let words = self.words_of(handle);
        let kind = words[KIND].load(Ordering::Relaxed);
        match kind & ((1 << KIND_BITS) - 1) {
            NO_ROW | UNCHANGED => Kept::NoRow,
            PATCH => {
                let length = (kind >> KIND_BITS) as usize;
                let words = words[VALUE..].iter().take(length.div_ceil(WORD_BYTES));
                let mut bytes: Vec<u8> =
                    words.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
                bytes.truncate(length);
                Kept::Patch(bytes)
            }
            LARGE_PATCH => {
                let mut patch = Vec::new();
                // SAFETY: freed when the transaction is forgotten.
                unsafe { kept_row(&words[VALUE]).copy_into(&mut patch) };
                Kept::Patch(patch)
            }
            // SAFETY: as above.
            _ => Kept::Row(unsafe { kept_row(&words[VALUE]) }),
        }
    }

    /// Turns the row that the write of this version left into the row before it.
    pub(crate) fn back(&self, version: Handle, row: &mut Option<Vec<u8>>) {
        match self.kept(version) {
            Kept::NoRow => *row = None,
            // SAFETY: the transaction has not ended.
            Kept::Row(kept) => unsafe { kept.copy_into(row.get_or_insert_default()) },
            Kept::Patch(patch) => row.iter_mut().for_each(|row| overwrite(row, &patch)),
        }
    }

    /// Whether the open transaction has left anything here, whose commit needs a time.
    pub(crate) fn has_versions(&self) -> bool {
        self.transaction.is_some()
    }

    /// Draws the commit time of the open transaction, also of one that has changed no row. From here on a
    /// snapshot that is not before this time waits for its versions, so [`HistoryWriter::commit`] comes soon.
    /// All its locks are still held, and its log record has its place.
    #[inline]
    pub(crate) fn draw_time(&self) -> u64 {
        let clock = &self.histories.clock;
        let Some(begin) = self.transaction else { return clock.draw() };
        // SAFETY: forgotten only after it has ended.
        let state = unsafe { &chunks::words(self.first_chunk, begin)[STATE] };
        // Invariant 2: a thread that reads the clock later finds at least this.
        state.store(COMMITTING, Ordering::Relaxed);
        let time = clock.draw();
        state.store(time << TIME_SHIFT | COMMITTING, Ordering::Release);
        time
    }

    /// The open transaction does not commit at the time that it has drawn.
    pub(crate) fn give_up_time(&self) {
        let Some(begin) = self.transaction else { return };
        // SAFETY: forgotten only after it has ended.
        let state = unsafe { &chunks::words(self.first_chunk, begin)[STATE] };
        state.store(RUNNING, Ordering::Release);
    }

    /// From here on everything the open transaction has written is committed at this time, which it has
    /// drawn, for every snapshot taken later. `write_mark` writes the dependencies that its readers take
    /// over. All its locks are still held.
    pub(crate) fn commit(&mut self, time: u64, write_mark: impl FnOnce(&[AtomicU64])) {
        self.end((time, COMMITTED), write_mark);
    }

    /// The records of the open transaction are as they were before it. Its mark covers all transactions that
    /// have written them.
    pub(crate) fn roll_back(&mut self, write_mark: impl FnOnce(&[AtomicU64])) {
        if self.has_versions() {
            let time = self.draw_time();
            self.end((time, ROLLED_BACK), write_mark);
        }
    }

    fn end(&mut self, (time, state): (u64, u64), write_mark: impl FnOnce(&[AtomicU64])) {
        let Some(begin) = self.transaction.take() else { return };
        // SAFETY: forgotten only after it has ended.
        let words = unsafe { chunks::words(self.first_chunk, begin) };
        write_mark(&words[MARK..MARK + self.histories.mark_words]);
        words[END].store(self.next, Ordering::Relaxed);
        words[KEPT].store(self.kept_bytes, Ordering::Relaxed);
        words[STATE].store(time << TIME_SHIFT | state, Ordering::Release);
        if self.kept_bytes > 0 {
            self.history.kept_bytes.fetch_add(std::mem::take(&mut self.kept_bytes), Ordering::Relaxed);
        }
        self.history.ended.store(self.next, Ordering::Release);
    }

    /// Announces that the transaction is about to reserve the place of its log record. Until
    /// [`HistoryWriter::leave_commit`] it does not wait.
    #[inline]
    pub(crate) fn begin_commit(&mut self) {
        self.history.commit.enter();
    }

    /// Waits until every transaction of another worker that was committing at the time of the call has left
    /// its commit. A transaction that has announced its commit goes on without waiting, so this takes some
    /// microseconds, or as long as the operating system keeps a thread off its processor.
    pub(crate) fn wait_for_others(&self) {
        let others = self.histories.all().filter(|history| !std::ptr::eq(*history, &raw const *self.history));
        for history in others {
            let entered = history.commit.entered();
            while entered.is_some() && history.commit.entered() == entered {
                crate::sync::yield_now();
            }
        }
    }

    /// The transaction has committed, visibly to all; or it does not commit, or not yet.
    #[inline]
    pub(crate) fn leave_commit(&mut self) {
        self.history.commit.leave();
    }

    /// Forgets the part of this worker's history that is not needed any more, if that is worthwhile. To be
    /// called between transactions.
    #[inline]
    pub(crate) fn forget_some(&mut self, may: &impl Forgettable) {
        if self.backlog() >= self.next_forgetting {
            self.forget(may);
            self.next_forgetting = self.backlog() + WORTHWHILE;
        }
    }

    #[cold]
    fn forget(&mut self, may: &impl Forgettable) {
        self.history.forget(self.histories.horizon.load(Ordering::Acquire), may);
        if self.backlog() < self.next_look {
            return;
        }
        // Perhaps no thread has looked for long.
        self.history.forget(self.histories.find_horizon(), may);
        self.next_look = self.backlog() + BETWEEN_LOOKS;
    }

    /// What has ended and is not forgotten yet, in words.
    fn backlog(&self) -> u64 {
        self.history.ended.load(Ordering::Relaxed) - self.history.forgotten.load(Ordering::Relaxed)
    }
}

impl Drop for HistoryWriter {
    fn drop(&mut self) {
        self.leave_commit();
        if self.transaction.is_some() {
            // Its thread panics: what it has written stays invisible.
            return;
        }
        // The next one begins a chunk of its own.
        let next = self.next.next_multiple_of(CHUNK_WORDS);
        if next > self.next {
            self.words()[0].store(PADDING, Ordering::Relaxed);
        }
        self.history.ended.store(next, Ordering::Release);
        self.histories.workers.lock().left.push(self.slot);
    }
}

impl History {
    /// Forgets transactions in their order, up to the first that may still be needed; returns whether that
    /// one is kept because of a snapshot.
    fn forget(&self, horizon: u64, may: &impl Forgettable) -> bool {
        let Some(_forgetting) = self.forgetting.try_lock() else { return false };
        let guard = epoch::pin();
        let from = self.forgotten.load(Ordering::Relaxed);
        let ended = self.ended.load(Ordering::Acquire);
        let mut position = from;
        let mut waits_for_snapshot = false;
        loop {
            let Some((_, words)) = self.transaction_from(position, ended, &guard) else {
                // The rest of a chunk after the last transaction.
                position = ended;
                break;
            };
            let is_followed = may.is_forgettable(&words[MARK..MARK + self.mark_words]);
            let is_past = words[STATE].load(Ordering::Acquire) >> TIME_SHIFT <= horizon;
            if !is_followed || !is_past {
                waits_for_snapshot = is_followed;
                break;
            }
            position = words[END].load(Ordering::Relaxed);
        }
        if position > from {
            // Invariant 4.
            self.forgotten.store(position, Ordering::Release);
            self.give_back(from, position, &guard);
            self.given_back.store(position, Ordering::Release);
        }
        waits_for_snapshot
    }

    /// Frees the rows that the versions between two positions keep, and the chunks that end there.
    fn give_back(&self, from: u64, to: u64, guard: &Guard) {
        let mut position = from;
        let mut freed = 0;
        while let Some((begin, words)) = self.transaction_from(position, to, guard) {
            position = words[END].load(Ordering::Relaxed);
            let kept = words[KEPT].load(Ordering::Relaxed);
            if kept > 0 {
                self.free_rows(begin, position, guard);
                freed += kept;
            }
        }
        if freed > 0 {
            self.kept_bytes.fetch_sub(freed, Ordering::Relaxed);
        }
        // SAFETY: no other thread gives these back, and no new reader follows their positions.
        unsafe { self.chunks.retire(from, to, guard) };
    }

    /// The next transaction that has ended: where its versions begin, and its words.
    fn transaction_from(&self, position: u64, ended: u64, guard: &Guard) -> Option<(u64, &[AtomicU64])> {
        let mut position = position;
        while position < ended {
            // SAFETY: from `forgotten` on nothing is given back.
            let words = unsafe { chunks::words(self.chunks.at(position, guard), position) };
            if words[STATE].load(Ordering::Acquire) != PADDING {
                return Some((position + (MARK + self.mark_words) as u64, words));
            }
            position = (position + 1).next_multiple_of(CHUNK_WORDS);
        }
        None
    }

    /// Frees the rows that the versions between two positions keep.
    fn free_rows(&self, from: u64, to: u64, guard: &Guard) {
        let mut position = from;
        while position < to {
            // SAFETY: as in `forget`.
            let words = unsafe { chunks::words(self.chunks.at(position, guard), position) };
            let kind = words[KIND].load(Ordering::Relaxed);
            if kind == PADDING {
                position = (position + 1).next_multiple_of(CHUNK_WORDS);
                continue;
            }
            let length = match kind & ((1 << KIND_BITS) - 1) {
                NO_ROW | UNCHANGED => 0,
                PATCH => (kind >> KIND_BITS).div_ceil(WORD_BYTES as u64),
                OWN_ROW | LARGE_PATCH => {
                    // SAFETY: owned by the version (invariant 5); its readers are pinned.
                    unsafe { kept_row(&words[VALUE]).retire(guard) };
                    1
                }
                _ => 1,
            };
            position += VALUE as u64 + length;
        }
    }
}

impl Histories {
    /// The bytes that all histories keep.
    pub(crate) fn bytes(&self) -> u64 {
        self.all().map(History::bytes).sum()
    }

    /// Forgets as much as possible of all histories, and frees the slots of workers that have gone. For the
    /// janitor.
    pub(crate) fn forget_all(&self, may: &impl Forgettable) -> Left {
        let horizon = self.find_horizon();
        let mut left = Left::default();
        for history in self.all() {
            left.is_for_snapshots |= history.forget(horizon, may);
            left.bytes += history.bytes();
        }
        let mut workers = self.workers.lock();
        let is_done = |slot: &u32| {
            self.history(*slot as usize).is_some_and(|history| {
                history.forgotten.load(Ordering::Acquire) == history.ended.load(Ordering::Acquire)
            })
        };
        let (done, others): (Vec<u32>, Vec<u32>) = workers.left.drain(..).partition(is_done);
        workers.left = others;
        let is_used_up = |slot: &u32| {
            self.history(*slot as usize)
                .is_none_or(|history| history.ended.load(Ordering::Acquire) > LAST_POSITION / 2)
        };
        workers.free.extend(done.into_iter().filter(|slot| !is_used_up(slot)));
        drop(workers);
        left
    }
}

impl Drop for History {
    fn drop(&mut self) {
        let guard = epoch::pin();
        let (forgotten, ended) = (*self.forgotten.get_mut(), *self.ended.get_mut());
        self.give_back(forgotten, ended, &guard);
    }
}
