//! One log as the schedule sees it: batches of transactions that count, with the positions they come after.
//!
//! What a transaction follows is up to the protocol ([`crate::protocol::Follows`]); here it becomes positions
//! to wait for. Transactions are judged here, record by record (pitfall 8): a transaction is recovered if the
//! ELV covers its end and what it follows. All others are zombies, which are counted and skipped. A salvage
//! drops more (`Scope`).
//!
//! Chunks are handed out in small batches, so that several workers find work near the front of one log. An
//! anchor ends a batch: most records after it wait for what it names and for nothing else, so the next batch
//! can wait as a whole.
//!
//! Memory: the chunks that batches still point into, and the unfinished large transactions.

use std::sync::Arc;

use hyades_types::error::{Error, Result};

use super::records::{Assembled, Body, Damaged, Last, ReplayedUpTo, Walk, What};
use super::schedule::{Batch, BatchBytes, BatchEntry, Grain, Source};
use super::scope::{Scope, Verdict};
use crate::log::manifest::Checkpoint;
use crate::log::record::Commit;
use crate::log::set::{Chunk, LogSource};
use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};
use crate::protocol::{Counts, Follows};

/// What a batch holds: it ends with the record that reaches one of the bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLimits {
    pub(super) bytes: u64,
    pub(super) transactions: usize,
    /// It also ends with an anchor, and says where its records come after.
    pub(super) is_for_schedule: bool,
}

impl BatchLimits {
    /// Between two anchors of a busy log come some 800 logged calls, and the next log waits for them: that
    /// must be work for several workers (docs/benchmarks.md, on 16 processors).
    pub(super) fn for_schedule(grain: Grain) -> BatchLimits {
        BatchLimits { bytes: 16 << 10, transactions: grain.batched, is_for_schedule: true }
    }

    pub(super) fn for_by_key() -> BatchLimits {
        BatchLimits { bytes: 64 << 10, transactions: usize::MAX, is_for_schedule: false }
    }
}

pub(super) struct SourceOptions {
    pub(super) log: usize,
    pub(super) scope: Arc<Scope>,
    pub(super) limits: BatchLimits,
    /// Where its first log record begins.
    pub(super) start: Lsn,
    /// The checkpoint that was loaded before, if it was taken in this incarnation.
    pub(super) checkpoint: Option<Arc<Checkpoint>>,
    /// What has been replayed in another way.
    pub(super) replayed: Option<ReplayedUpTo>,
    /// Whether an earlier recovery has judged this incarnation.
    pub(super) was_judged: bool,
}

struct SharedChunk {
    start: Lsn,
    bytes: Arc<Vec<u8>>,
}

impl SharedChunk {
    fn end(&self) -> Lsn {
        Lsn(self.start.0 + self.bytes.len() as u64)
    }
}

pub(super) struct ReplaySource {
    reader: Box<dyn LogSource>,
    options: SourceOptions,
    walk: Walk<Assembled>,
    /// The chunk in which the walk is.
    chunk: Option<SharedChunk>,
    /// What all transactions here follow, lowered to the ELV.
    base: LsnVector,
    /// Whether a transaction that names nothing itself is kept.
    is_base_kept: bool,
    /// Where in the batch's vectors the base is, once a record needed it.
    base_place: Option<usize>,
    /// Where the last anchor begins. What a record follows is known to a reader that begins there, if its log
    /// has anchors at all.
    anchor_start: Lsn,
    /// Whether an anchor had no time.
    is_undated: bool,
    /// Only with a mutant: whether a zombie was seen.
    is_cut_off: bool,
}

impl ReplaySource {
    pub(super) fn new(
        reader: Box<dyn LogSource>,
        walk: Walk<Assembled>,
        options: SourceOptions,
    ) -> ReplaySource {
        let logs = options.scope.end.len();
        let walk = walk
            .from(options.start)
            .up_to(options.scope.end.get(options.log))
            .after(options.checkpoint.clone())
            .after_replayed(options.replayed);
        ReplaySource {
            reader,
            walk,
            chunk: None,
            base: LsnVector::zero(logs),
            is_base_kept: true,
            base_place: None,
            anchor_start: options.start,
            is_undated: false,
            is_cut_off: false,
            options,
        }
    }

    /// Takes the next records of the chunk, up to the ELV.
    fn take_records(&mut self, chunk: &SharedChunk, batch: &mut Batch) -> Result<()> {
        let first = self.walk.position();
        batch.since = self.walk.bound();
        self.base_place = None;
        batch.floor.extend_from_slice(self.base.entries());
        if !self.is_base_kept {
            // None of these records is kept, so there is nothing to wait for.
            batch.floor.fill(0);
        }
        loop {
            let seen = match self.walk.next(chunk.start, &chunk.bytes) {
                Ok(Some(seen)) => seen,
                Ok(None) => {
                    self.walk.check_limit(chunk.end()).map_err(|damaged| self.damaged(damaged))?;
                    break;
                }
                Err(damaged) => return Err(self.damaged(damaged)),
            };
            match seen.what {
                What::Transaction(last) => {
                    self.take_transaction((seen.start, seen.end), &last, chunk, batch)?
                }
                What::Anchor(anchor) => {
                    self.is_undated |= anchor.time.is_none();
                    self.anchor_start = seen.start;
                    self.take_base();
                    if self.options.limits.is_for_schedule {
                        break;
                    }
                }
                What::Checkpointed | What::Fragment { .. } | What::Filler => {}
            }
            let BatchLimits { bytes, transactions, .. } = self.options.limits;
            if seen.end.0 - first.0 >= bytes || batch.entries.len() >= transactions {
                break;
            }
        }
        batch.end = self.walk.position().0;
        (batch.bound, batch.is_undated) = (self.walk.bound(), self.is_undated);
        let unfinished = self.walk.unfinished().map(|begun| begun.start);
        batch.go_on_from = unfinished.fold(self.known_from(self.walk.position()), Lsn::min).0;
        batch.bytes = Arc::clone(&chunk.bytes);
        Ok(())
    }

    /// Where a reader must begin to know what the record follows that begins here.
    fn known_from(&self, start: Lsn) -> Lsn {
        match self.walk.follows() {
            Follows::AllBefore => start,
            Follows::Positions(_) => start.min(self.anchor_start),
        }
    }

    /// Another anchor holds for what comes next.
    fn take_base(&mut self) {
        let (cut, follows) = (&self.options.scope.cut, self.walk.follows());
        self.base = follows.positions(Lsn::ZERO, &cut.known);
        self.is_base_kept = follows.counts((self.options.log, Lsn::ZERO), cut) == Counts::Yes;
    }

    fn take_transaction(
        &mut self,
        (start, end): (Lsn, Lsn),
        last: &Last<'_>,
        chunk: &SharedChunk,
        batch: &mut Batch,
    ) -> Result<()> {
        let SourceOptions { log, scope, .. } = &self.options;
        let log = *log;
        let said = match self.walk.read(last) {
            Ok(said) => said,
            Err(damaged) => return Err(damaged.in_log(log)),
        };
        let damaged = |malformed| Damaged::at(start, &malformed).in_log(log);
        let (verdict, follows) = match said.follows {
            Ok(follows) => (scope.judge(log, (start, end), follows), follows),
            Err(_) if scope.is_condemned(log, end) => {
                scope.count(log, end, Verdict::Condemned);
                return Ok(());
            }
            Err(malformed) => return Err(damaged(malformed)),
        };
        if verdict == Verdict::Zombie && mutant::is_active(Mutant::CommitInLogOrder) {
            self.is_cut_off = true;
        }
        let is_revived = self.options.was_judged && mutant::is_active(Mutant::ZombiesRevived);
        if self.is_cut_off || verdict != Verdict::Kept && !(is_revived && verdict == Verdict::Zombie) {
            let verdict = if self.is_cut_off { Verdict::Zombie } else { verdict };
            scope.count(log, end, verdict);
            return Ok(());
        }
        follows.check(log, start).map_err(damaged)?;
        let (from, operations) = match said.body {
            Body::InRecord(operations) => {
                let first = operations.as_ptr() as usize - chunk.bytes.as_ptr() as usize;
                (start, BatchBytes::InBatch(first..first + operations.len()))
            }
            Body::Gathered(whole) => (whole.start, BatchBytes::Assembled(Arc::new(whole.operations))),
        };
        let first = batch.vectors.len();
        let vector = match self.base_place {
            Some(place) if !follows.is_own() => place,
            _ if !self.options.limits.is_for_schedule => first,
            _ => {
                follows.extend_positions(start, &scope.cut.known, &mut batch.vectors);
                first
            }
        };
        if !follows.is_own() {
            self.base_place = Some(vector);
        }
        if is_revived {
            // The bug of pitfall 15: as if the records appended after the first recovery had made every log
            // long enough.
            let ends = scope.end.entries();
            batch.vectors[first..].iter_mut().zip(ends).for_each(|(entry, end)| *entry = (*entry).min(*end));
        }
        let Commit { time, is_barrier, .. } = last.commit;
        let (from, start, end) = (self.known_from(from).0, start.0, end.0);
        batch.entries.push(BatchEntry { from, start, end, time, is_barrier, vector, operations });
        Ok(())
    }

    fn next_chunk(&mut self) -> Result<SharedChunk> {
        if let Some(Chunk { start, bytes, .. }) = self.reader.next_chunk()? {
            return Ok(SharedChunk { start, bytes: Arc::new(bytes) });
        }
        // The files were longer when the ELV was frozen.
        if let Some(end) = self.reader.end() {
            end.check(self.options.scope.end.get(self.options.log))?;
        }
        let reason = "it is shorter than the manifest says";
        Err(self.damaged(Damaged::new(self.reader.position(), reason)))
    }

    fn damaged(&self, damaged: Damaged) -> Error {
        damaged.in_log(self.options.log)
    }
}

impl Source for ReplaySource {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let position = self.walk.position();
        if position >= self.options.scope.end.get(self.options.log) {
            let SourceOptions { log, scope, .. } = &self.options;
            let unfinished = self.walk.unfinished().map(|begun| begun.start);
            unfinished.for_each(|start| scope.count(*log, start, Verdict::Zombie));
            self.walk.give_up_unfinished();
            return Ok(false);
        }
        let chunk = match self.chunk.take().filter(|chunk| chunk.end() > position) {
            Some(chunk) => chunk,
            None => self.next_chunk()?,
        };
        self.take_records(&chunk, batch)?;
        self.chunk = Some(chunk);
        Ok(true)
    }
}
