//! Large transactions in pieces, so that no worker replays one alone while all others wait for it.
//!
//! A transaction of many rows has one record, and most records after it in its log depend on it, by the next
//! anchor if by nothing else. So the worker that replays it divides it ([`Replay::divide`]) and lays the
//! pieces out. Workers that find nothing else to do take some of them. The record counts as replayed when all
//! pieces are, so that a part of it is never seen: watermarks, tables on demand and dependent records wait as
//! ever.
//!
//! The worker that has laid a transaction out takes pieces itself until none is left, and then waits for
//! those that others have taken. Those wait for nothing, so this wait is short.

use std::ops::{Deref, Range};
use std::sync::Arc;

use hyades_types::error::Result;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::{
    Batch, BatchBytes, BatchEntry, Parked, RecordPlace, Replay, Schedule, Shared, Source, Worker, workers,
};
use crate::sync::{AtomicBool, AtomicUsize, Condvar, Ordering};

/// A smaller transaction is replayed as a whole.
const LARGE_BYTES: usize = 256 << 10;
/// This many pieces for each worker, unless they become too small: no worker waits long for the last one.
const PIECES_PER_WORKER: usize = 8;
const LEAST_PIECE_BYTES: usize = 32 << 10;
/// Operations that are set aside are copied unless they are larger than this: shared memory is that of a
/// whole chunk.
const COPIED_BYTES: usize = 64 << 10;

/// Which of a transaction's operations. Those of one row are never in two pieces, and keep their order.
pub(crate) type Piece = SmallVec<[Range<usize>; 1]>;

/// The operations of a record.
pub(super) enum RecordBytes {
    /// In memory that is also used by others.
    Shared(Arc<Vec<u8>>, Range<usize>),
    Copied(Box<[u8]>),
}

impl RecordBytes {
    pub(super) fn of(batch: &Batch, entry: &BatchEntry) -> RecordBytes {
        match &entry.operations {
            BatchBytes::InBatch(range) => RecordBytes::Shared(Arc::clone(&batch.bytes), range.clone()),
            BatchBytes::Assembled(bytes) => RecordBytes::Shared(Arc::clone(bytes), 0..bytes.len()),
        }
    }

    /// The same, to be kept for long.
    pub(super) fn kept(self) -> RecordBytes {
        match self {
            RecordBytes::Shared(bytes, range) if range.len() < COPIED_BYTES && range.len() < bytes.len() => {
                RecordBytes::Copied(bytes[range].into())
            }
            kept => kept,
        }
    }
}

impl Deref for RecordBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            RecordBytes::Shared(bytes, range) => &bytes[range.clone()],
            RecordBytes::Copied(bytes) => bytes,
        }
    }
}

/// A transaction that is being replayed in pieces.
struct Divided {
    place: RecordPlace,
    operations: RecordBytes,
    pieces: Vec<Piece>,
    /// The first piece that no worker has taken.
    next: AtomicUsize,
    unfinished: Mutex<usize>,
    is_finished: Condvar,
}

impl Divided {
    fn has_some(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.pieces.len()
    }

    fn finish_one(&self) {
        let mut unfinished = self.unfinished.lock();
        *unfinished -= 1;
        if *unfinished == 0 {
            self.is_finished.notify_all();
        }
    }
}

/// The transactions that are being replayed in pieces.
pub(super) struct InPieces {
    workers: usize,
    divided: Mutex<Vec<Arc<Divided>>>,
    count: AtomicUsize,
}

impl InPieces {
    pub(super) fn new(workers: usize) -> InPieces {
        InPieces { workers, divided: Mutex::new(Vec::new()), count: AtomicUsize::new(0) }
    }

    /// Whether there is a piece that no worker has taken.
    pub(super) fn has_some(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0 && self.divided.lock().iter().any(|one| one.has_some())
    }

    fn find(&self) -> Option<Arc<Divided>> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.divided.lock().iter().find(|one| one.has_some()).cloned()
    }

    fn lay_out(&self, divided: &Arc<Divided>) {
        let mut all = self.divided.lock();
        all.push(Arc::clone(divided));
        self.count.store(all.len(), Ordering::Relaxed);
    }

    fn remove(&self, divided: &Arc<Divided>) {
        let mut all = self.divided.lock();
        all.retain(|one| !Arc::ptr_eq(one, divided));
        self.count.store(all.len(), Ordering::Relaxed);
    }
}

impl<S: Source, R: Replay> Schedule<S, R> {
    /// Replays an entry of a batch, a large one with the help of others.
    pub(super) fn replay_entry(
        &self,
        worker: &mut Worker<R>,
        log: usize,
        batch: &Batch,
        entry: &BatchEntry,
    ) -> Result<()> {
        let operations = batch.operations(entry);
        let pieces = self.divide(operations);
        if pieces.len() > 1 {
            return self.replay_divided(worker, entry.place(log), RecordBytes::of(batch, entry), pieces);
        }
        self.replay.replay(&mut worker.scratch, entry.place(log), operations)
    }

    /// Like [`Schedule::replay_entry`], for a record that was set aside.
    pub(super) fn replay_parked(&self, worker: &mut Worker<R>, parked: Parked) -> Result<()> {
        let Parked { place, operations, .. } = parked;
        let pieces = self.divide(&operations);
        if pieces.len() > 1 {
            return self.replay_divided(worker, place, operations, pieces);
        }
        self.replay.replay(&mut worker.scratch, place, &operations)
    }

    fn divide(&self, operations: &[u8]) -> Vec<Piece> {
        let InPieces { workers, .. } = self.in_pieces;
        if workers < 2 || operations.len() < LARGE_BYTES {
            return Vec::new();
        }
        let piece_bytes = operations.len() / (workers * PIECES_PER_WORKER);
        self.replay.divide(operations, piece_bytes.max(LEAST_PIECE_BYTES))
    }

    fn replay_divided(
        &self,
        worker: &mut Worker<R>,
        place: RecordPlace,
        operations: RecordBytes,
        pieces: Vec<Piece>,
    ) -> Result<()> {
        let divided = Arc::new(Divided {
            place,
            operations,
            next: AtomicUsize::new(0),
            unfinished: Mutex::new(pieces.len()),
            is_finished: Condvar::new(),
            pieces,
        });
        self.in_pieces.lay_out(&divided);
        self.idle.announce();
        let own = self.take_pieces(worker, &divided);
        self.in_pieces.remove(&divided);
        let mut unfinished = divided.unfinished.lock();
        while *unfinished > 0 {
            divided.is_finished.wait(&mut unfinished);
        }
        drop(unfinished);
        own?;
        if self.has_failed.load(Ordering::Acquire) {
            return Err(self.error.lock().clone().unwrap_or_else(workers::panicked));
        }
        Ok(())
    }

    /// Takes pieces of a transaction that another worker replays; false if there is none.
    pub(super) fn help(&self, worker: &mut Worker<R>) -> Result<bool> {
        let Some(divided) = self.in_pieces.find() else { return Ok(false) };
        self.take_pieces(worker, &divided)?;
        Ok(true)
    }

    /// Takes pieces as long as there are some. After an error the rest is not replayed.
    fn take_pieces(&self, worker: &mut Worker<R>, divided: &Divided) -> Result<()> {
        /// A piece is finished however its replay ends: a worker waits for it.
        struct Taken<'d>(&'d Divided, &'d AtomicBool);
        impl Drop for Taken<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.1.store(true, Ordering::Release);
                }
                self.0.finish_one();
            }
        }
        let mut outcome = Ok(());
        loop {
            let number = divided.next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = divided.pieces.get(number) else { return outcome };
            let _taken = Taken(divided, &self.has_failed);
            if outcome.is_ok() && !self.has_failed.load(Ordering::Acquire) {
                let (place, operations) = (divided.place, &*divided.operations);
                outcome = self.replay.replay_piece(&mut worker.scratch, place, operations, piece);
                if let Err(error) = &outcome {
                    self.fail(error.clone());
                }
            }
        }
    }
}
