//! Taurus: parallel logs ordered by LSN vectors.
//!
//! # Paper
//! Xia, Yu, Pavlo, Devadas: "Taurus: Lightweight Parallel Logging for In-Memory Database Management Systems",
//! VLDB 2020, algorithms 1, 2 and 5. Data and command logging, mixed at will.
//!
//! # Idea
//! Each log counts its own positions (LSNs). A transaction collects an LSN vector (LV): for each log the
//! position up to which it may depend on what stands there. The vectors travel through tuples: whoever has
//! written a tuple has left its LV, whoever comes after it in a conflicting way raises its own by that. The
//! log record carries the LV. A transaction is durable when every log is durable up to its entry, and it is
//! replayed after everything its LV covers.
//!
//! # Log record
//! ```text
//!   | header | LSN vector: bitmap, entries above the log's last anchor (pre-append LV) | operations |
//!   | header | anchor: durable position of every log |                      (appended by the loggers)
//! ```
//!
//! # Invariants
//! 1. The record holds the pre-append LV; the token and the tuples get the LV with the own end raised
//!    (pitfall 1).
//! 2. The LV is final before the place is reserved, and the place reserved before a lock is released: every
//!    entry lies before the own record in real time, so dependencies have no cycles (pitfall 2).
//! 3. A transaction has left its LV before its locks are visibly free (pitfall 3).
//! 4. An LV that was forgotten is at most the floor, and every LV is at least the floor when it is frozen.
//!    The floor is the element-wise minimum of the published anchors of the logs at work, for forgetting and
//!    for defaulting alike (pitfall 19).
//! 5. The anchor that a record is compressed against was published before the record's place was reserved:
//!    the record lands behind it and decompresses upwards (pitfall 18).
//!
//! # Commit
//! Raise by the floor (a barrier also by the reserved ends of all logs, pitfall 29), compress, reserve, fill,
//! publish. The log is the worker's own (its number modulo the number of logs) while that has enough to
//! write, else the first that has little. A large transaction appends fragments first (pitfall 11). A
//! transaction that wrote nothing appends nothing; its token is its LV (pitfall 7).
//!
//! # Durability
//! Every log is durable up to the token's entry; nothing else counts, not the order inside a log (pitfall 8).
//!
//! # Recovery
//! ELV = the end of the last whole record of each log. A record's LV is what its field names, raised by the
//! last anchor before it (`VectorOrder`, algorithm 5); the record counts if its LV <= ELV, and is replayed
//! when RLV covers its LV (algorithms 3 and 4: `recovery::schedule`).
//!
//! # Where we differ from the paper and why
//! * Acknowledged and recovered by LV alone. Algorithm 1's "all transactions with smaller LSNs have
//!   committed" and algorithm 3's "and transactions after it are ignored" would lose acknowledged
//!   transactions (pitfall 8).
//! * An LV is kept once for each transaction and not for each tuple: the record of a row names its last
//!   writer, and what readers and whole tables need stands in the lock table, by handle
//!   (`txn::lock_table::traces`).
//! * Only command-logged readers leave a trace (readLV), every writer follows it (pitfall 22): after-images
//!   replay right in either order of a reader and a later writer (section 2.2), a call would read the later
//!   write.
//! * A command-logged reader of a row leaves the trace of an intent on its table's stripe: only whole-table
//!   accesses conflict with it. They follow readers a little more often than they must (a scan of the whole
//!   table follows them too).
//! * The traces of a gap are copied to its new part before an insert divides it (pitfall 23); the paper's
//!   index protocol (section 3.4) scans twice instead and says nothing of the readers of what is absent.
//! * Defaulting happens once, when the LV is frozen, not for each absent tuple: the floor only grows, so one
//!   raise by its latest value covers every default of the transaction.
//! * A worker's transactions go to its own log only while that has enough to write; else to the first log
//!   that has little, so that few transactions share a block (`Logs::choose`). LVs order them all the same.
//! * Anchors are appended by the logger just before a block, not by a timer; the paper's delta (evict later
//!   than PLV) is the distance between the floor and the durable positions.

#[cfg(all(test, not(loom)))]
mod tests;
mod wrong_order;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyades_types::error::{Error, Result, sqlstate};

use super::{Append, AppendProgress, CommitPayload, Protocol, ReplayOrder};
use crate::config::{Config, ProtocolKind};
use crate::local_arc::LocalArc;
use crate::log::durable::{Durability, DurableWatch};
use crate::log::manifest::Manifest;
use crate::log::record::varint::{read_varint, write_varint};
use crate::log::record::{MAX_LOGS, Malformed, read_position, write_position};
use crate::log::{Logs, RunningLogs};
use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};

/// Taurus: parallel logs ordered by LSN vectors.
pub struct Taurus {
    logs: RunningLogs,
}

/// T.LV.
#[derive(Debug, Default)]
pub struct Dependencies {
    vector: LsnVector,
}

impl Dependencies {
    /// T.LV as collected so far.
    pub fn vector(&self) -> &LsnVector {
        &self.vector
    }
}

impl Taurus {
    pub fn logs(&self) -> &Arc<Logs> {
        &self.logs
    }

    /// What everybody follows.
    #[inline]
    fn bound(&self, log: usize) -> Lsn {
        if mutant::is_active(Mutant::ZeroTupleLv) {
            self.logs.watch().durable(log)
        } else {
            self.logs.floor(log)
        }
    }

    /// Makes the LV final (invariants 2 and 4).
    #[inline]
    fn freeze(&self, dependencies: &mut Dependencies, is_barrier: bool) {
        for log in 0..self.logs.count() {
            if !mutant::is_active(Mutant::ZeroTupleLv) {
                dependencies.vector.raise_entry(log, self.logs.floor(log));
            }
            if is_barrier && !mutant::is_active(Mutant::NoBarrier) {
                let reserved = self.logs.reserved(log);
                dependencies.vector.raise_entry(log, reserved);
                self.logs.note_named(log, reserved);
            }
        }
    }
}

impl Protocol for Taurus {
    const KIND: ProtocolKind = ProtocolKind::Taurus;
    const WRITES_LOG: bool = true;
    const LOGS_COMMANDS: bool = true;
    const LEAVES_MARKS: bool = true;

    type Dependencies = Dependencies;
    type CommitToken = LsnVector;

    fn check(config: &Config) -> Result<()> {
        if (1..=MAX_LOGS).contains(&config.logs) {
            return Ok(());
        }
        let message = format!("the number of logs must be between 1 and {MAX_LOGS}, not {}", config.logs);
        Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message))
    }

    fn log_count(config: &Config) -> usize {
        config.logs.clamp(1, MAX_LOGS)
    }

    fn start(config: &Config, manifest: &mut Manifest) -> Result<Taurus> {
        Ok(Taurus { logs: Logs::start(config, Taurus::log_count(config), manifest)? })
    }

    fn new_dependencies(&self) -> Dependencies {
        Dependencies::default()
    }

    #[inline]
    fn begin(&self, dependencies: &mut Dependencies) {
        dependencies.vector.reset(self.logs.count());
    }

    fn mark_words(&self) -> usize {
        self.logs.count()
    }

    fn write_mark(&self, token: &LsnVector, mark: &[AtomicU64]) {
        for (word, entry) in mark.iter().zip(token.entries().iter().chain(std::iter::repeat(&0))) {
            word.store(*entry, Ordering::Relaxed);
        }
    }

    fn follow(&self, mark: &[AtomicU64], dependencies: &mut Dependencies) {
        for (log, word) in mark.iter().enumerate() {
            dependencies.vector.raise_entry(log, Lsn(word.load(Ordering::Relaxed)));
        }
    }

    fn is_forgettable(&self, mark: &[AtomicU64]) -> bool {
        mark.iter().enumerate().all(|(log, word)| word.load(Ordering::Relaxed) <= self.bound(log).0)
    }

    fn log_commit(
        &self,
        worker: usize,
        dependencies: &mut Dependencies,
        payload: &CommitPayload<'_>,
        progress: &mut AppendProgress,
    ) -> Result<Append<LsnVector>> {
        let log = progress.log(self.logs.choose(worker));
        // The bug is shown by records of usual size; it knows no fragments.
        if mutant::is_active(Mutant::ReserveBeforeFreeze) && payload.operations.len() <= 4096 {
            return wrong_order::append(self, log, worker, dependencies, payload);
        }
        let fragments = self.logs.append_fragments(log, worker, progress, payload.operations)?;
        if let Append::Wait(ticket) = fragments {
            return Ok(Append::Wait(ticket));
        }
        self.freeze(dependencies, payload.is_barrier);
        if mutant::is_active(Mutant::OwnEndInStoredLv) {
            // A place inside the record, which is not reserved yet.
            let inside = self.logs.reserved(log).0 + Lsn::ALIGNMENT;
            dependencies.vector.raise_entry(log, Lsn(inside));
        }
        // The anchor is read before the place is reserved (invariant 5).
        let anchor = |of| self.logs.anchor(log, of).0;
        let vector = dependencies.vector.entries();
        let write_field = |header: &mut Vec<u8>| compress(vector, anchor, header);
        let (is_barrier, operations) = (payload.is_barrier, payload.operations);
        match self.logs.append_commit(log, worker, progress, is_barrier, write_field, operations)? {
            Append::Wait(ticket) => Ok(Append::Wait(ticket)),
            Append::Done(end) => {
                // Invariant 1.
                let mut token = dependencies.vector.clone();
                token.raise_entry(log, end);
                Ok(Append::Done(token))
            }
        }
    }

    #[inline]
    fn read_only_commit(&self, dependencies: &Dependencies) -> LsnVector {
        if mutant::is_active(Mutant::ReadOnlyNoWait) {
            return LsnVector::default();
        }
        dependencies.vector.clone()
    }

    #[inline]
    fn backlog(&self, worker: usize) -> Option<Lsn> {
        self.logs.backlog(worker)
    }

    fn watch(&self) -> LocalArc<DurableWatch> {
        Arc::clone(self.logs.watch()).into()
    }

    #[inline]
    fn durability(&self, watch: &LocalArc<DurableWatch>, token: &LsnVector) -> Durability {
        Durability::new(watch, token)
    }

    fn shutdown(&self) -> Result<()> {
        self.logs.shutdown()
    }

    fn replay_order(logs: usize) -> Option<Box<dyn ReplayOrder>> {
        Some(Box::new(VectorOrder { anchor: LsnVector::zero(logs) }))
    }
}

/// Appends the field of a record (algorithm 5, Compress): a bitmap of the logs whose entry exceeds the
/// anchor, then those entries, absolute and not relative to the anchor, so that a record that lands behind a
/// newer anchor still decompresses upwards.
pub fn compress(vector: &[u64], anchor: impl Fn(usize) -> u64, into: &mut Vec<u8>) {
    debug_assert!(vector.len() <= MAX_LOGS);
    let mut bitmap = 0_u64;
    for (log, entry) in vector.iter().enumerate() {
        bitmap |= u64::from(*entry > anchor(log)) << log;
    }
    write_varint(into, bitmap);
    while bitmap != 0 {
        let log = bitmap.trailing_zeros() as usize;
        bitmap &= bitmap - 1;
        write_position(into, vector[log]);
    }
}

/// A record comes after everything that its LV covers.
struct VectorOrder {
    /// The last anchor, zeroes before the first.
    anchor: LsnVector,
}

impl ReplayOrder for VectorOrder {
    /// Records in one log need not wait for each other.
    fn is_total(&self) -> bool {
        false
    }

    fn anchor(&mut self, durable: &LsnVector) {
        self.anchor.copy_from(durable.entries());
    }

    /// What `compress` has left out is at most the last anchor.
    fn base(&self) -> &LsnVector {
        &self.anchor
    }

    fn field_bytes(&self, content: &[u8]) -> std::result::Result<usize, Malformed> {
        let mut offset = 0;
        let bitmap = read_varint(content, &mut offset)?;
        for _ in 0..bitmap.count_ones() {
            read_position(content, &mut offset)?;
        }
        Ok(offset)
    }

    /// Algorithm 5, Decompress; raised by the base it is the whole LV.
    fn read_field(
        &self,
        _start: Lsn,
        field: &[u8],
        named: &mut LsnVector,
    ) -> std::result::Result<bool, Malformed> {
        let mut offset = 0;
        let mut bitmap = read_varint(field, &mut offset)?;
        if bitmap == 0 {
            return Ok(false);
        }
        if bitmap.ilog2() as usize >= self.anchor.len() {
            return Err(Malformed { offset: 0, reason: "an LSN vector names a log that does not exist" });
        }
        named.reset(self.anchor.len());
        while bitmap != 0 {
            let log = bitmap.trailing_zeros() as usize;
            bitmap &= bitmap - 1;
            named.raise_entry(log, read_position(field, &mut offset)?);
        }
        Ok(true)
    }
}
