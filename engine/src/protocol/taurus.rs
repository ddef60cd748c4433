//! Taurus: parallel logs ordered by LSN vectors.
//!
//! # Paper
//! Xia, Yu, Pavlo, Devadas: "Taurus: Lightweight Parallel Logging for In-Memory Database Management Systems",
//! VLDB 2020, algorithms 1, 2 and 5. Data and command logging, freely mixed.
//!
//! # Idea
//! Each log counts its own positions (LSNs). A transaction collects an LSN vector (LV): for each log the
//! position up to which it may depend on the log's content. The vectors travel through tuples: the writer of
//! a tuple has left its LV there, and a transaction that comes after it in a conflicting way raises its own
//! LV by that. The log record carries the LV. A transaction is durable when every log is durable up to its
//! entry, and it is replayed after everything that its LV covers.
//!
//! # Log record
//! ```text
//!   | header | LSN vector: bitmap, entries above the log's last anchor (pre-append LV) | operations |
//!   | header | anchor: time, durable position of every log |                (appended by the loggers)
//! ```
//!
//! # Invariants
//! 1. The record holds the pre-append LV. The answer and the tuples get the LV raised by the record's own end
//!    (pitfall 1).
//! 2. The LV is final before the place is reserved, and the place is reserved before a lock is released:
//!    every entry lies before the own record in real time, so dependencies have no cycles (pitfall 2).
//! 3. A transaction has left its LV before its locks are visibly free (pitfall 3).
//! 4. An LV that was forgotten is at most the floor, and a frozen LV stands for at least the floor. The floor
//!    is the element-wise minimum of the published anchors of the logs at work, for forgetting and for
//!    defaulting alike (pitfall 19).
//! 5. The anchor against which a record is compressed was published before the record's place was reserved:
//!    the record lands after the anchor and decompresses upwards (pitfall 18).
//! 6. An anchor (paper: LPLV) holds positions that were durable before it was appended, each the end of a
//!    whole record. It is published for compression after its append (pitfall 18).
//!
//! # Commit
//! Forget what is at most the floor (a barrier raises by the reserved ends of all logs, pitfall 29),
//! compress, reserve, fill, publish. The log is the worker's own (its number modulo the number of logs) while
//! that has enough to write, else the first that has little. A large transaction appends fragments first
//! (pitfall 11). A transaction that wrote nothing appends nothing. Its answer waits for its LV (pitfall 7).
//!
//! # Durability
//! Every log is durable up to the LV's entry. Nothing else counts, not the order inside a log (pitfall 8).
//!
//! # Anchors
//! The paper's LPLV. The logger of a log also appends its anchors (`anchors`). The *floor*, the element-wise
//! minimum of the published anchors of all logs that are at work, is what an absent tuple reads as (pitfall
//! 19). It is at most the anchor before a record, so it costs no bytes there. In a log that was idle it costs
//! a few.
//!
//! # Recovery
//! ELV = the end of the last whole record of each log. A record's LV is what its field names, raised by the
//! last anchor before it (`vectors`, algorithm 5). The record counts if its LV <= ELV, and is replayed
//! when RLV covers its LV (algorithms 3 and 4: `recovery::schedule`).
//!
//! # Where we differ from the paper and why
//! * Transactions are acknowledged and recovered by LV alone. Algorithm 1's "all transactions with smaller
//!   LSNs have committed" and algorithm 3's "and transactions after it are ignored" would lose acknowledged
//!   transactions (pitfall 8).
//! * An LV is kept once for each transaction and not for each tuple: the record of a row names its last
//!   writer, and what whole tables need is in the lock table, by handle (`txn::lock_table::traces`). Only
//!   entries above the floor are kept: a later transaction is raised to the floor in any case.
//! * Readers leave nothing: there is no readLV (pitfalls 22, 23). Records have commit times, and a call is
//!   replayed on the rows of its own time (`txn::replay_versions`), so it need not come before those that
//!   have overwritten what it read. The paper's index protocol (section 3.4) scans twice, and says nothing of
//!   readers of absent keys.
//! * Data is not replayed in the order of LVs at all: a change of a row needs only those of the same row
//!   before it (`recovery::by_key`).
//! * Defaulting happens once, after the LV is frozen, not for each absent tuple: the floor only grows, so its
//!   latest value covers every default of the transaction. A vector holds only the entries above the floor.
//!   Nothing else is raised either, unless the anchor of the record's log lags behind the floor
//!   (`Anchors::lagging`). So the work grows with the entries that are named, not with the number of logs,
//!   and there is little for a vector unit to do (section 4.2).
//! * A worker's transactions go to its own log only while that is written in blocks of some length. Otherwise
//!   workers share logs, so that blocks become longer (`log_choice`). LVs order transactions all the same.
//! * Anchors are appended by the logger just before a block, not by a timer. The paper's delta (evict later
//!   than PLV) is the distance between the floor and the durable positions.

mod log_choice;
#[cfg(all(test, not(loom)))]
mod tests;
mod wrong_order;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyades_types::error::Result;

use self::log_choice::LogChoice;
use super::{
    AnchorDuty, Anchors, Append, AppendProgress, CommitPayload, FieldReader, Follows, Names, Order,
    Positions, Protocol, Recovery, Reserved, check_logs, compress, decompress, parallel_logs, skip_vector,
};
use crate::config::{Config, ProtocolKind};
use crate::local_arc::LocalArc;
use crate::log::durable::{Durability, DurableWatch};
use crate::log::manifest::{LogShape, Manifest};
use crate::log::record::{Control, Malformed};
use crate::log::{LoggerDuty, Logs, RunningLogs};
use crate::lsn::{Lsn, LsnVector, logs_in, word_of};
use crate::mutant::{self, Mutant};

/// Taurus: parallel logs ordered by LSN vectors.
pub struct Taurus {
    logs: RunningLogs,
    anchors: Arc<Anchors>,
    /// Workers share logs that are written in shorter blocks than this.
    shared_block_bytes: u64,
}

/// T.LV: before the place of the record is reserved without it, afterwards with it.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// The entries that are named. The others are zero, and stand for the floor.
    vector: LsnVector,
    /// One bit for each log whose entry is named: it may be above the floor.
    above: u64,
    /// One bit for each log of which the entry may not be durable. What a record leaves out of its vector,
    /// because an anchor has it, is durable.
    open: u64,
    choice: LogChoice,
}

impl Dependencies {
    /// T.LV as collected so far, as far as it is above the floor.
    pub fn vector(&self) -> &LsnVector {
        &self.vector
    }
}

impl Taurus {
    /// Makes the LV final (invariants 2 and 4).
    #[inline]
    fn freeze(&self, dependencies: &mut Dependencies, is_barrier: bool) {
        if !mutant::is_active(Mutant::ZeroTupleLv) {
            let floor = self.anchors.floor();
            let entries = dependencies.vector.entries();
            let is_below = |log: &usize| entries[*log] <= floor[*log].load(Ordering::Acquire);
            let below = word_of(logs_in(dependencies.above).filter(is_below));
            dependencies.vector.clear_named(below);
            dependencies.above &= !below;
        }
        if is_barrier {
            self.follow_all(dependencies);
        }
    }

    /// Writes the LV into the field of a record for this log. Returns its bitmap.
    #[inline]
    fn write_field(&self, log: usize, dependencies: &Dependencies, into: &mut Vec<u8>) -> u64 {
        // Asked after the floor was compared with, and before the anchor is read.
        let lagging = if mutant::is_active(Mutant::ZeroTupleLv) { 0 } else { self.anchors.lagging(log) };
        let (floor, anchor) = (self.anchors.floor(), self.anchors.published(log));
        let (above, entries) = (dependencies.above, dependencies.vector.entries());
        let entry = |of: usize| match above >> of & 1 {
            1 => entries[of],
            _ => floor[of].load(Ordering::Acquire),
        };
        compress(above | lagging, entry, |of| anchor[of].load(Ordering::Acquire), into)
    }

    /// The log for a worker's next record.
    #[inline]
    fn choose(&self, worker: usize, dependencies: &mut Dependencies) -> usize {
        dependencies.choice.next(&self.logs, worker % self.logs.count(), self.shared_block_bytes)
    }
}

impl Protocol for Taurus {
    const KIND: ProtocolKind = ProtocolKind::Taurus;
    const WRITES_LOG: bool = true;
    const LOGS_COMMANDS: bool = true;
    const REPLAYS_IN_LOG_ORDER: bool = false;
    const LEAVES_MARKS: bool = true;

    type Dependencies = Dependencies;

    fn check(config: &Config) -> Result<()> {
        check_logs(config)
    }

    fn log_shape(config: &Config) -> LogShape {
        parallel_logs(config)
    }

    fn start(config: &Config, manifest: &mut Manifest) -> Result<Taurus> {
        let shape = Taurus::log_shape(config);
        let (anchors, durable) = (Arc::new(Anchors::new(shape.logs)), Arc::new(Durable));
        let duty = |log| Box::new(AnchorDuty::new(&anchors, &durable, log)) as Box<dyn LoggerDuty>;
        let logs = Logs::start(config, shape, manifest, duty)?;
        Ok(Taurus { logs, anchors, shared_block_bytes: config.shared_block_bytes })
    }

    fn new_dependencies(&self) -> Dependencies {
        Dependencies::default()
    }

    #[inline]
    fn begin(&self, dependencies: &mut Dependencies) {
        dependencies.vector.clear_named(dependencies.above);
        dependencies.above = 0;
        dependencies.open = 0;
    }

    fn mark_words(&self) -> usize {
        1 + self.logs.count()
    }

    /// One bit for each log that is named, then the entries, of which only those named count: the others are
    /// at most the floor, which every vector stands for.
    fn write_mark(&self, dependencies: &Dependencies, mark: &[AtomicU64]) {
        let Some((names, words)) = mark.split_first() else { return };
        names.store(dependencies.above, Ordering::Relaxed);
        let entries = dependencies.vector.entries();
        for log in logs_in(dependencies.above) {
            words[log].store(entries[log], Ordering::Relaxed);
        }
    }

    fn follow(&self, mark: &[AtomicU64], dependencies: &mut Dependencies) {
        let Some((names, words)) = mark.split_first() else { return };
        let names = names.load(Ordering::Relaxed);
        dependencies.vector.raise_named(names, |log| words[log].load(Ordering::Relaxed));
        dependencies.above |= names;
        dependencies.open |= names;
    }

    fn join(&self, mark: &[AtomicU64], into: &[AtomicU64]) {
        let (Some((names, words)), Some((all_names, all))) = (mark.split_first(), into.split_first()) else {
            return;
        };
        let (names, before) = (names.load(Ordering::Relaxed), all_names.load(Ordering::Relaxed));
        for log in logs_in(names) {
            let entry = words[log].load(Ordering::Relaxed);
            let other = if before >> log & 1 == 1 { all[log].load(Ordering::Relaxed) } else { 0 };
            all[log].store(entry.max(other), Ordering::Relaxed);
        }
        all_names.store(before | names, Ordering::Relaxed);
    }

    #[cold]
    fn follow_all(&self, dependencies: &mut Dependencies) {
        if mutant::is_active(Mutant::NoBarrier) {
            return;
        }
        for log in 0..self.logs.count() {
            let reserved = self.logs.reserved(log);
            dependencies.vector.raise_entry(log, reserved);
            dependencies.above |= 1 << log;
            dependencies.open |= 1 << log;
            self.anchors.note_named(log, reserved);
        }
    }

    fn is_forgettable(&self, mark: &[AtomicU64]) -> bool {
        let Some((names, words)) = mark.split_first() else { return true };
        let floor = self.anchors.floor();
        let bound = |log: usize| match mutant::is_active(Mutant::ZeroTupleLv) {
            true => self.logs.watch().durable(log).0,
            false => floor[log].load(Ordering::Acquire),
        };
        logs_in(names.load(Ordering::Relaxed)).all(|log| words[log].load(Ordering::Relaxed) <= bound(log))
    }

    fn reserve<'a>(
        &'a self,
        worker: usize,
        dependencies: &mut Dependencies,
        payload: &CommitPayload<'_>,
        progress: &'a mut AppendProgress,
    ) -> Result<Append<Reserved<'a>>> {
        let log = progress.log(self.choose(worker, dependencies));
        // The bug is shown by records of usual size. This path supports no fragments.
        if mutant::is_active(Mutant::ReserveBeforeFreeze) && payload.operations.len() <= 4096 {
            return wrong_order::append(self, log, worker, dependencies, payload, progress);
        }
        let fragments = self.logs.append_fragments(log, worker, progress, payload.operations)?;
        if let Append::Wait(ticket) = fragments {
            return Ok(Append::Wait(ticket));
        }
        self.freeze(dependencies, payload.commit.is_barrier);
        if mutant::is_active(Mutant::OwnEndInStoredLv) {
            // A place inside the record, which is not reserved yet.
            let inside = self.logs.reserved(log).0 + Lsn::ALIGNMENT;
            dependencies.vector.raise_entry(log, Lsn(inside));
            dependencies.above |= 1 << log;
        }
        // The anchor is read before the place is reserved (invariant 5).
        let mut named = !0;
        let write_field = |header: &mut Vec<u8>| named = self.write_field(log, dependencies, header);
        let CommitPayload { operations, commit } = *payload;
        match self.logs.reserve_commit(log, worker, progress, commit, write_field, operations)? {
            Append::Wait(ticket) => Ok(Append::Wait(ticket)),
            Append::Done(place) => {
                // Invariant 1.
                dependencies.vector.raise_entry(log, place.end());
                // The floor is durable.
                dependencies.open = named & dependencies.above | 1 << log;
                dependencies.above |= 1 << log;
                Ok(Append::Done(Reserved::new(place)))
            }
        }
    }

    #[inline]
    fn read_only_commit(&self, dependencies: &mut Dependencies) {
        if mutant::is_active(Mutant::ReadOnlyNoWait) {
            self.begin(dependencies);
        }
    }

    fn logs(&self) -> Option<&Arc<Logs>> {
        Some(&self.logs)
    }

    #[inline]
    fn own_log(&self, worker: usize) -> usize {
        worker % self.logs.count()
    }

    #[inline]
    fn durability(&self, watch: &LocalArc<DurableWatch>, dependencies: &Dependencies) -> Durability {
        Durability::new(watch, &dependencies.vector, dependencies.open)
    }

    fn recovery(logs: usize) -> Option<Box<dyn Recovery>> {
        Some(Box::new(VectorOrder { logs }))
    }
}

/// Anchors name durable positions (invariant 6).
struct Durable;

impl Names for Durable {
    #[inline]
    fn position(&self, logs: &Logs, log: usize) -> u64 {
        if mutant::is_active(Mutant::AnchorsInsideRecords) {
            return logs.watch().durable(log).0;
        }
        logs.whole(log).0
    }
}

/// A record comes after everything that its LV covers.
struct VectorOrder {
    logs: usize,
}

impl Recovery for VectorOrder {
    fn order(&self) -> Order {
        Order::Positions
    }

    fn reader(&self) -> Box<dyn FieldReader> {
        Box::new(VectorReader { positions: Positions::zero(self.logs) })
    }
}

/// Decompresses LVs.
struct VectorReader {
    positions: Positions,
}

impl FieldReader for VectorReader {
    fn control(&mut self, control: &Control) {
        if let Control::Anchor(anchor) = control {
            self.positions.rebase(&anchor.durable);
        }
    }

    fn field_bytes(&self, content: &[u8]) -> std::result::Result<usize, Malformed> {
        let mut offset = 0;
        skip_vector(content, &mut offset)?;
        Ok(offset)
    }

    fn read(&mut self, field: &[u8]) -> std::result::Result<(), Malformed> {
        self.positions.begin();
        decompress(field, &mut 0, &mut self.positions)
    }

    fn follows(&self) -> Follows<'_> {
        Follows::Positions(&self.positions)
    }

    fn fork(&self) -> Box<dyn FieldReader> {
        Box::new(VectorReader { positions: self.positions.clone() })
    }
}
