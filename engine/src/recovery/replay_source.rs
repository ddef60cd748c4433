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
//! **Taken, then decoded.** A log is read by one worker at a time, which should not take long: it sees where
//! records begin and end, the anchors, and the fragments of large transactions. What the other records say
//! is decoded later (`decoding`), by the worker that replays them.
//!
//! Memory: the chunks that batches still point into, and the unfinished large transactions.

mod decoding;

use std::collections::VecDeque;
use std::sync::Arc;

use hyades_types::error::{Error, Result};

use self::decoding::{Judge, Taken};
use super::records::{Assembled, Body, Damaged, Last, ReplayedUpTo, Walk, What};
use super::schedule::{Batch, Grain, Source};
use super::scope::{Scope, Verdict};
use crate::log::manifest::Checkpoint;
use crate::log::set::{Chunk, LogSource};
use crate::lsn::{Lsn, LsnVector};
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

/// The memory of so many chunks is used again, if they are replayed by then.
const MOST_IN_USE: usize = 32;

/// Bytes of a log from this position on.
#[derive(Clone)]
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
    judge: Arc<Judge>,
    walk: Walk<Assembled>,
    /// The chunk in which the walk is.
    chunk: Option<SharedChunk>,
    /// The bytes of the last chunks, which may still be in use.
    in_use: VecDeque<Arc<Vec<u8>>>,
    /// What all transactions here follow, lowered to the ELV: what a batch waits for as a whole.
    floor: LsnVector,
    /// Where the last control record begins.
    control_start: Lsn,
    /// Whether a control record had no time.
    is_undated: bool,
    /// How many records the last batch had.
    records: usize,
}

/// Where a reader must begin to know what the record follows that begins here: at the last anchor, if its log
/// has anchors at all. A stamp says it by itself, but the reader must know the bound of the log as well.
fn known_from(follows: Follows<'_>, control_start: Lsn, start: Lsn) -> Lsn {
    match follows {
        Follows::AllBefore => start,
        Follows::Positions(_) | Follows::Predecessors(_) | Follows::Stamp(_) => start.min(control_start),
    }
}

impl ReplaySource {
    pub(super) fn new(
        reader: Box<dyn LogSource>,
        walk: Walk<Assembled>,
        options: SourceOptions,
    ) -> ReplaySource {
        let SourceOptions { log, scope, limits, start, checkpoint, replayed, was_judged } = options;
        let logs = scope.end.len();
        let walk = walk.from(start).up_to(scope.end.get(log)).after(checkpoint).after_replayed(replayed);
        ReplaySource {
            reader,
            walk,
            chunk: None,
            in_use: VecDeque::new(),
            floor: LsnVector::zero(logs),
            control_start: start,
            is_undated: false,
            records: 0,
            judge: Arc::new(Judge::new(log, scope, limits, was_judged)),
        }
    }

    /// Takes the next records of the chunk, up to the ELV.
    fn take_records(&mut self, chunk: &SharedChunk, batch: &mut Batch) -> Result<()> {
        let judge = Arc::clone(&self.judge);
        let first = self.walk.position();
        batch.since = self.walk.bound();
        batch.floor.extend_from_slice(self.floor.entries());
        let fields = self.walk.fields();
        let mut taken = Taken::new(&self.judge, fields, chunk.clone(), self.control_start, self.records);
        loop {
            let seen = match self.walk.next(chunk.start, &chunk.bytes) {
                Ok(Some(seen)) => seen,
                Ok(None) => {
                    self.walk.check_limit(chunk.end()).map_err(|damaged| judge.damaged(damaged))?;
                    break;
                }
                Err(damaged) => return Err(judge.damaged(damaged)),
            };
            match seen.what {
                What::Transaction(last) => {
                    let whole = match last.fragment_of {
                        None => None,
                        Some(_) => Some(self.gather(&last, batch)?),
                    };
                    taken.push((seen.start, seen.end), &last, whole);
                }
                What::Control(control) => {
                    self.is_undated |= control.time().is_none();
                    self.control_start = seen.start;
                    self.take_floor();
                    if judge.limits.is_for_schedule {
                        break;
                    }
                    taken.push_control(seen.start, control);
                }
                What::Checkpointed | What::Fragment { .. } | What::Filler => {}
            }
            let BatchLimits { bytes, transactions, .. } = judge.limits;
            if seen.end.0 - first.0 >= bytes || taken.records() >= transactions {
                break;
            }
        }
        batch.end = self.walk.position().0;
        (batch.bound, batch.is_undated) = (self.walk.bound(), self.is_undated);
        let go_on_from = known_from(self.walk.follows(), self.control_start, self.walk.position());
        let unfinished = self.walk.unfinished().map(|begun| begun.start);
        batch.go_on_from = unfinished.fold(go_on_from, Lsn::min).0;
        batch.bytes = Arc::clone(&chunk.bytes);
        self.records = taken.records();
        batch.undecoded = taken.is_some().then(|| Box::new(taken) as _);
        Ok(())
    }

    /// Puts a large transaction together.
    fn gather(&mut self, last: &Last<'_>, batch: &mut Batch) -> Result<Assembled> {
        let said = self.walk.read(last).map_err(|damaged| self.judge.damaged(damaged))?;
        match said.body {
            Body::Gathered(whole) => {
                batch.assembled_bytes += whole.operations.len();
                Ok(whole)
            }
            Body::InRecord(_) => Err(Error::corrupt("a large transaction has no fragments")),
        }
    }

    /// Another control record holds for what comes next.
    fn take_floor(&mut self) {
        let (Judge { log, scope, .. }, follows) = (self.judge.as_ref(), self.walk.follows());
        self.floor = match follows.counts((*log, Lsn::ZERO), &scope.cut) {
            Counts::Yes => follows.positions(Lsn::ZERO, &scope.cut.known),
            // A transaction that names nothing itself is not kept, so there is nothing to wait for.
            Counts::No | Counts::Unsettled { .. } => LsnVector::zero(scope.end.len()),
        };
    }

    /// Gives the memory of the oldest chunk back to the reader, if all of it has been replayed: fresh memory
    /// would be cleared first.
    fn give_back(&mut self) {
        let Some(oldest) = self.in_use.pop_front() else { return };
        match Arc::try_unwrap(oldest) {
            Ok(bytes) => self.reader.give_back(bytes),
            Err(used) if self.in_use.len() < MOST_IN_USE => self.in_use.push_front(used),
            Err(_) => {}
        }
    }

    fn next_chunk(&mut self) -> Result<SharedChunk> {
        self.give_back();
        if let Some(Chunk { start, bytes, .. }) = self.reader.next_chunk()? {
            let bytes = Arc::new(bytes);
            self.in_use.push_back(Arc::clone(&bytes));
            return Ok(SharedChunk { start, bytes });
        }
        // The files were longer when the ELV was frozen.
        let Judge { log, scope, .. } = self.judge.as_ref();
        if let Some(end) = self.reader.end() {
            end.check(scope.end.get(*log))?;
        }
        let reason = "it is shorter than the manifest says";
        Err(self.judge.damaged(Damaged::new(self.reader.position(), reason)))
    }
}

impl Source for ReplaySource {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let position = self.walk.position();
        let Judge { log, scope, .. } = self.judge.as_ref();
        if position >= scope.end.get(*log) {
            let unfinished = self.walk.unfinished().map(|begun| begun.start);
            unfinished.for_each(|start| scope.count(*log, start, Verdict::Zombie));
            self.walk.give_up_unfinished();
            self.chunk = None;
            self.in_use.clear();
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
