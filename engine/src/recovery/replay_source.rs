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
use std::sync::atomic::Ordering;

use hyades_types::error::{Error, Result};

use super::records::{Assembled, Body, Damaged, Last, Walk, What};
use super::schedule::{Batch, BatchBytes, BatchEntry, Grain, Source};
use super::scope::{Scope, Verdict};
use crate::log::manifest::Checkpoint;
use crate::log::set::{Chunk, LogSource};
use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};
use crate::protocol::Counts;

/// A batch ends with the record that reaches this many bytes, or with the number of transactions that
/// [`Grain`] says. Between two anchors of a busy log come some 800 logged calls, and the next log waits for
/// them: that must be work for several workers (docs/benchmarks.md, on 16 processors).
const BATCH_BYTES: u64 = 16 << 10;

pub(super) struct SourceOptions {
    pub(super) log: usize,
    pub(super) scope: Arc<Scope>,
    pub(super) grain: Grain,
    /// Where its first log record begins.
    pub(super) start: Lsn,
    /// The checkpoint that was loaded before, if it was taken in this incarnation.
    pub(super) checkpoint: Option<Arc<Checkpoint>>,
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
            .after(options.checkpoint.clone());
        ReplaySource {
            reader,
            walk,
            chunk: None,
            base: LsnVector::zero(logs),
            is_base_kept: true,
            base_place: None,
            is_cut_off: false,
            options,
        }
    }

    /// Takes the next records of the chunk, up to the ELV.
    fn take_records(&mut self, chunk: &SharedChunk, batch: &mut Batch) -> Result<()> {
        let first = self.walk.position();
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
                What::Anchor(_) => {
                    self.take_base();
                    break;
                }
                What::Checkpointed | What::Fragment { .. } | What::Filler => {}
            }
            if seen.end.0 - first.0 >= BATCH_BYTES || batch.entries.len() >= self.options.grain.batched {
                break;
            }
        }
        batch.end = self.walk.position().0;
        batch.bytes = Arc::clone(&chunk.bytes);
        Ok(())
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
        let operations = match said.body {
            Body::InRecord(operations) => {
                let first = operations.as_ptr() as usize - chunk.bytes.as_ptr() as usize;
                BatchBytes::InBatch(first..first + operations.len())
            }
            Body::Gathered(whole) => BatchBytes::Assembled(Arc::new(whole.operations)),
        };
        let first = batch.vectors.len();
        let vector = match self.base_place {
            Some(place) if !follows.is_own() => place,
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
        batch.entries.push(BatchEntry { start: start.0, end: end.0, vector, operations });
        Ok(())
    }

    fn next_chunk(&mut self) -> Result<SharedChunk> {
        if let Some(Chunk { start, bytes }) = self.reader.next_chunk()? {
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
            let unfinished = self.walk.give_up_unfinished() as u64;
            self.options.scope.zombies.fetch_add(unfinished, Ordering::Relaxed);
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
