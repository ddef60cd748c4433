//! One log as the schedule sees it: batches of transactions that count, with the positions they come after.
//!
//! The positions are up to the protocol ([`ReplayOrder`]). Transactions are judged here, record by record
//! (pitfall 8): a transaction is recovered if its end and its positions are covered by the ELV. All others
//! are zombies, which are counted and skipped. A salvage drops more (`Scope`). Fragments are put together
//! until the last one, which carries the protocol's field (pitfall 11).
//!
//! Chunks are handed out in small batches, so that several workers find work near the front of one log. An
//! anchor begins a batch: most records after it wait for what it names and for nothing else, so the batch can
//! wait as a whole.
//!
//! Memory: the chunks that batches still point into, and the unfinished large transactions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyades_types::error::{Error, Result};

use super::schedule::{Batch, BatchBytes, BatchEntry, Source};
use super::scope::{Scope, Verdict};
use crate::log::manifest::Checkpoint;
use crate::log::record::{Commit, Malformed, RecordBody, Records};
use crate::log::set::{Chunk, LogSource};
use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};
use crate::protocol::ReplayOrder;

/// A batch ends with the record that reaches this many bytes,
const BATCH_BYTES: u64 = 32 << 10;
/// or with this transaction. Between two anchors of a busy log come some 800 logged calls, and the next log
/// waits for them: that must be work for several workers (docs/benchmarks.md, on 16 processors).
const BATCH_TRANSACTIONS: usize = 128;

pub(super) const NAMES_THE_FUTURE: &str = "a transaction depends on what was appended after it";

pub(super) struct SourceOptions {
    pub(super) log: usize,
    pub(super) scope: Arc<Scope>,
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
    order: Box<dyn ReplayOrder>,
    options: SourceOptions,
    /// The current chunk and the position of its next record.
    chunk: Option<SharedChunk>,
    position: Lsn,
    /// What the order says for all transactions, lowered to the ELV.
    base: LsnVector,
    /// Whether a transaction that names nothing itself is kept.
    is_base_kept: bool,
    /// Where in the batch's vectors the base is, once a record needed it.
    base_place: Option<usize>,
    vector: LsnVector,
    fragments: HashMap<u64, Vec<u8>>,
    /// Only with a mutant: whether a zombie was seen.
    is_cut_off: bool,
}

impl ReplaySource {
    pub(super) fn new(
        reader: Box<dyn LogSource>,
        order: Box<dyn ReplayOrder>,
        options: SourceOptions,
    ) -> ReplaySource {
        ReplaySource {
            reader,
            chunk: None,
            position: options.start,
            order,
            base: LsnVector::zero(options.scope.end.len()),
            is_base_kept: true,
            base_place: None,
            vector: LsnVector::zero(options.scope.end.len()),
            fragments: HashMap::new(),
            is_cut_off: false,
            options,
        }
    }

    /// Takes the next records of the chunk, up to the ELV.
    fn take_records(&mut self, chunk: &SharedChunk, batch: &mut Batch) -> Result<()> {
        let limit = self.options.scope.end.get(self.options.log);
        let first = self.position;
        let Some(offset) = first.0.checked_sub(chunk.start.0) else {
            let reason = "it begins after the position from which it is needed";
            return Err(self.damaged(first, &Malformed { offset: 0, reason }));
        };
        let offset = offset as usize;
        let origin = chunk.bytes.as_ptr() as usize;
        self.base_place = None;
        for record in Records::new(first, &chunk.bytes[offset..]) {
            let record = record.map_err(|malformed| self.damaged(first, &malformed))?;
            if record.end > limit {
                let reason = "the position up to which the manifest lets it count is inside a log record";
                return Err(self.damaged(record.start, &Malformed { offset: 0, reason }));
            }
            if matches!(record.body, RecordBody::Anchor(_)) && record.start > first {
                // What follows waits for more than what comes before it, perhaps for that itself. It is held
                // separately.
                break;
            }
            self.position = record.end;
            match record.body {
                RecordBody::Transaction { commit, .. } if self.is_checkpointed(record.end, commit) => {}
                RecordBody::Transaction { content, .. } => {
                    let (field, operations) = self.split(record.start, content)?;
                    let first = operations.as_ptr() as usize - origin;
                    let operations = BatchBytes::InBatch(first..first + operations.len());
                    self.add_transaction(record.start, record.end, field, operations, batch)?;
                }
                RecordBody::Fragment { transaction, commit: None, content } => {
                    self.fragments.entry(transaction).or_default().extend_from_slice(content);
                }
                RecordBody::Fragment { transaction, commit: Some(commit), .. }
                    if self.is_checkpointed(record.end, commit) =>
                {
                    self.fragments.remove(&transaction);
                }
                RecordBody::Fragment { transaction, commit: Some(_), content } => {
                    let (field, operations) = self.split(record.start, content)?;
                    let mut whole = self.fragments.remove(&transaction).unwrap_or_default();
                    whole.extend_from_slice(operations);
                    let operations = BatchBytes::Assembled(Arc::new(whole));
                    self.add_transaction(record.start, record.end, field, operations, batch)?;
                }
                RecordBody::Anchor(anchor) => {
                    self.order.anchor(&anchor);
                    self.base.copy_from(self.order.base().entries());
                    self.base.lower(self.options.scope.known.entries());
                    self.is_base_kept = self.base.is_covered_by(self.options.scope.limit.entries());
                    self.base_place = None;
                }
                RecordBody::Filler => {}
            }
            let is_full = record.end.0 - first.0 >= BATCH_BYTES || batch.entries.len() >= BATCH_TRANSACTIONS;
            if is_full || record.end == limit {
                break;
            }
        }
        batch.floor.extend_from_slice(self.base.entries());
        if !self.is_base_kept {
            // None of these records is kept, so there is nothing to wait for.
            batch.floor.fill(0);
        }
        batch.end = self.position.0;
        batch.bytes = Arc::clone(&chunk.bytes);
        Ok(())
    }

    /// Whether the checkpoint holds the transaction whose (last) log record ends here, so that it is skipped.
    fn is_checkpointed(&self, end: Lsn, commit: Commit) -> bool {
        let SourceOptions { log, checkpoint, .. } = &self.options;
        checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.holds(*log, end, commit.is_phase_odd))
            && !mutant::is_active(Mutant::CheckpointedReplayed)
    }

    /// The protocol's field, and the operations after it.
    fn split<'a>(&self, start: Lsn, content: &'a [u8]) -> Result<(&'a [u8], &'a [u8])> {
        let length = self.order.field_bytes(content).map_err(|malformed| self.damaged(start, &malformed))?;
        Ok(content.split_at(length))
    }

    fn add_transaction(
        &mut self,
        start: Lsn,
        end: Lsn,
        field: &[u8],
        operations: BatchBytes,
        batch: &mut Batch,
    ) -> Result<()> {
        let mut verdict = Verdict::Kept;
        let names_any = match self.order.read_field(start, field, &mut self.vector) {
            Err(_) if self.options.scope.is_condemned(self.options.log, end) => {
                verdict = Verdict::Condemned;
                false
            }
            named => named.map_err(|malformed| self.damaged(start, &malformed))?,
        };
        if verdict == Verdict::Kept && (names_any || !self.is_base_kept || self.has_condemned()) {
            if names_any {
                self.vector.raise(self.base.entries());
            } else {
                self.vector.copy_from(self.base.entries());
            }
            self.revive_zombies();
            verdict = self.judge(end);
        }
        if self.is_cut_off {
            verdict = Verdict::Zombie;
        }
        if verdict != Verdict::Kept {
            self.options.scope.count(self.options.log, end, verdict);
            return Ok(());
        }
        let vector = if names_any {
            batch.vectors.extend_from_slice(self.vector.entries());
            batch.vectors.len() - self.vector.len()
        } else {
            self.place_base(batch)
        };
        if batch.vectors[vector + self.options.log] > start.0 {
            return Err(self.damaged(start, &Malformed { offset: 0, reason: NAMES_THE_FUTURE }));
        }
        batch.entries.push(BatchEntry { start: start.0, end: end.0, vector, operations });
        Ok(())
    }

    /// Transactions that name nothing themselves share one copy of the base.
    fn place_base(&mut self, batch: &mut Batch) -> usize {
        *self.base_place.get_or_insert_with(|| {
            batch.vectors.extend_from_slice(self.base.entries());
            batch.vectors.len() - self.base.len()
        })
    }

    fn has_condemned(&self) -> bool {
        !self.options.scope.condemned.is_empty()
    }

    /// The verdict on the transaction whose vector has just been read.
    fn judge(&mut self, end: Lsn) -> Verdict {
        let verdict = self.options.scope.judge(self.options.log, end, self.vector.entries());
        if verdict == Verdict::Zombie && mutant::is_active(Mutant::CommitInLogOrder) {
            self.is_cut_off = true;
        }
        verdict
    }

    /// The bug of pitfall 15: as if the records appended after the first recovery had made every log long
    /// enough.
    fn revive_zombies(&mut self) {
        if self.options.was_judged && mutant::is_active(Mutant::ZombiesRevived) {
            self.vector.lower(self.options.scope.end.entries());
        }
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
        Err(self.damaged(self.reader.position(), &Malformed { offset: 0, reason }))
    }

    fn damaged(&self, start: Lsn, malformed: &Malformed) -> Error {
        Error::corrupt(format!(
            "log {} is damaged: {} (position {})",
            self.options.log,
            malformed.reason,
            start.0 + malformed.offset as u64
        ))
    }
}

impl Source for ReplaySource {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        if self.position >= self.options.scope.end.get(self.options.log) {
            let unfinished = std::mem::take(&mut self.fragments).len() as u64;
            self.options.scope.zombies.fetch_add(unfinished, Ordering::Relaxed);
            return Ok(false);
        }
        let chunk = match self.chunk.take().filter(|chunk| chunk.end() > self.position) {
            Some(chunk) => chunk,
            None => self.next_chunk()?,
        };
        self.take_records(&chunk, batch)?;
        self.chunk = Some(chunk);
        Ok(true)
    }
}
