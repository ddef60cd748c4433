//! Plover: parallel logs, each of a part of the data, ordered by global sequence numbers.
//!
//! # Paper
//! Plover, a baseline of Taurus (VLDB 2020), section 5: parallel data logging that partitions log records by
//! the data that is accessed, with a sequence number for each log and a total order of transactions.
//!
//! # Idea
//! Data is divided into as many partitions as there are logs, and a change goes to the log of its row. So
//! whatever orders two changes of a row is in one log. A transaction that changes rows of several partitions
//! has a part of its record in each of their logs. All of them carry the same global sequence number (GSN),
//! which is larger than that of anything that the transaction follows.
//!
//! # Log record
//! ```text
//!   | header | GSN | operations of one partition |
//!   | header | milestone: time, GSN |               (appended by the loggers)
//! ```
//!
//! # Invariants
//! 1. A log has the order of its GSNs: the GSN is drawn and the places are reserved under the latches of all
//!    logs that the transaction writes to. Latches are taken in the order of the logs.
//! 2. A GSN is larger than those in the marks of what the transaction has read or overwritten, whatever logs
//!    they are in. A mark may be forgotten when its GSN is durable: then that transaction counts whatever
//!    happens.
//! 3. A milestone is appended under its log's latch, and raises the log's GSN to what it names. So a log
//!    without traffic does not hold the others up.
//!
//! # Commit
//! Divide the operations by log, take the latches, draw the GSN, reserve a place in each log, give the
//! latches back, fill, publish. A change of the catalog goes to the first log as a whole, with all that its
//! transaction has done. A transaction that wrote nothing appends nothing. Its answer waits for the largest
//! GSN of what it has seen (pitfall 7).
//!
//! # Durability
//! Every log is durable up to a GSN that is at least the transaction's: then all its parts are, and all of
//! what it follows.
//!
//! # Recovery
//! A record counts if its GSN is at most the smallest of those that the last milestones found in the logs
//! name. So either all parts of a transaction count, or none: they need not be counted. Changes of rows are
//! replayed key by key, in the order of their commit times (`recovery::by_key`).
//!
//! # Where we differ from the paper and why
//! * A log's last record would say as well up to which GSN it is complete. Its last milestone, which every
//!   block has, says it without a look at each record.
//! * The paper replays each log on its own, in its order. Here all protocols' changes of rows are replayed in
//!   one way, so that what is compared is logging.
//! * A partition is a hash of the table and the first bytes of the key: those of the first columns, so that
//!   rows which belong together are in one partition in a schema whose keys begin alike.

mod division;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use hyades_types::error::Result;
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use self::division::Division;
use super::{
    Append, AppendProgress, CommitPayload, DurableStamps, Milestones, Protocol, Recovery, Reserved,
    StampOrder, check_logs, parallel_logs,
};
use crate::config::{Config, ProtocolKind};
use crate::local_arc::LocalArc;
use crate::log::durable::{Durability, DurableWatch};
use crate::log::manifest::{LogShape, Manifest};
use crate::log::record::varint::write_varint;
use crate::log::{DurableBlock, LoggerDuty, Logs, RunningLogs, Stamps};
use crate::mutant::{self, Mutant};

/// Plover: parallel logs, each of a part of the data, ordered by global sequence numbers.
pub struct Plover {
    logs: RunningLogs,
    sequences: Arc<Sequences>,
    durable: Arc<DurableStamps>,
}

/// What a transaction has collected.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// The largest GSN of what was seen, or written. 0: of nothing.
    gsn: u64,
    /// Its operations, log by log.
    division: Division,
}

/// The GSN of each log.
struct Sequences(Box<[CachePadded<Sequence>]>);

#[derive(Default)]
struct Sequence {
    /// Held while places are reserved in the log.
    latch: Mutex<()>,
    /// That of the last place. Only the owner of the latch writes it.
    gsn: AtomicU64,
}

impl Sequences {
    fn new(logs: usize) -> Sequences {
        Sequences((0..logs).map(|_| CachePadded::default()).collect())
    }

    fn last(&self, log: usize) -> u64 {
        self.0[log].gsn.load(Ordering::Acquire)
    }

    /// Raises that of a log whose latch is held.
    fn raise(&self, log: usize, gsn: u64) {
        self.0[log].gsn.fetch_max(gsn, Ordering::AcqRel);
    }

    fn latch(&self, log: usize) -> MutexGuard<'_, ()> {
        self.0[log].latch.lock()
    }
}

impl Stamps for Sequences {
    fn newest(&self) -> u64 {
        (0..self.0.len()).map(|log| self.last(log)).max().unwrap_or(0)
    }

    fn comes_with_blocks(&self) -> bool {
        true
    }
}

impl Protocol for Plover {
    const KIND: ProtocolKind = ProtocolKind::Plover;
    const WRITES_LOG: bool = true;
    const LOGS_COMMANDS: bool = false;
    const REPLAYS_IN_LOG_ORDER: bool = false;
    const LEAVES_MARKS: bool = true;

    type Dependencies = Dependencies;

    fn check(config: &Config) -> Result<()> {
        check_logs(config)
    }

    fn log_shape(config: &Config) -> LogShape {
        parallel_logs(config)
    }

    fn start(config: &Config, manifest: &mut Manifest) -> Result<Plover> {
        let shape = Plover::log_shape(config);
        let sequences = Arc::new(Sequences::new(shape.logs));
        let durable = Arc::new(DurableStamps::new(shape.logs));
        let duty = |log| {
            let milestones = Milestones::new(log, &durable);
            Box::new(MilestoneDuty { sequences: Arc::clone(&sequences), log, milestones })
                as Box<dyn LoggerDuty>
        };
        let logs = Logs::start_with_stamps(config, shape, manifest, duty, Arc::clone(&sequences) as _)?;
        Ok(Plover { logs, sequences, durable })
    }

    fn new_dependencies(&self) -> Dependencies {
        Dependencies::default()
    }

    fn begin(&self, dependencies: &mut Dependencies) {
        dependencies.gsn = 0;
        dependencies.division.forget();
    }

    /// The GSN.
    fn mark_words(&self) -> usize {
        1
    }

    fn write_mark(&self, dependencies: &Dependencies, mark: &[AtomicU64]) {
        mark.iter().for_each(|gsn| gsn.store(dependencies.gsn, Ordering::Relaxed));
    }

    fn follow(&self, mark: &[AtomicU64], dependencies: &mut Dependencies) {
        dependencies.gsn = dependencies.gsn.max(gsn_of(mark));
    }

    fn follow_all(&self, dependencies: &mut Dependencies) {
        dependencies.gsn = dependencies.gsn.max(self.sequences.newest());
    }

    fn is_forgettable(&self, mark: &[AtomicU64]) -> bool {
        gsn_of(mark) <= self.logs.watch().durable_stamp()
    }

    fn join(&self, mark: &[AtomicU64], into: &[AtomicU64]) {
        let gsn = gsn_of(mark).max(gsn_of(into));
        into.iter().for_each(|word| word.store(gsn, Ordering::Relaxed));
    }

    fn reserve<'a>(
        &'a self,
        worker: usize,
        dependencies: &mut Dependencies,
        payload: &CommitPayload<'_>,
        progress: &'a mut AppendProgress,
    ) -> Result<Append<Reserved<'a>>> {
        self.durable.check(&self.logs)?;
        let commit = payload.commit;
        let Dependencies { gsn, division } = dependencies;
        // Once for each attempt: a large transaction comes here again for each of its pieces.
        if !progress.has_begun() {
            division.divide(payload.operations, self.logs.count(), commit.is_barrier);
        }
        if commit.is_barrier {
            *gsn = (*gsn).max(self.sequences.newest());
        }
        let parts = division.parts(payload.operations);
        // Each worker goes to all logs, so that no two of them share a slot.
        let hint = worker * self.logs.count();
        let progresses = progress.of_parts(parts.len());
        for ((log, operations), progress) in parts.iter().zip(progresses.iter_mut()) {
            if let Append::Wait(ticket) = self.logs.append_fragments(*log, hint, progress, operations)? {
                return Ok(Append::Wait(ticket));
            }
        }
        // Invariant 1: in the order of the logs.
        let mut latches: SmallVec<[MutexGuard<'_, ()>; 4]> =
            parts.iter().map(|(log, _)| self.sequences.latch(*log)).collect();
        let last = parts.iter().map(|(log, _)| self.sequences.last(*log)).max().unwrap_or(0);
        let follows = if mutant::is_active(Mutant::GsnOfOwnLogs) { 0 } else { *gsn };
        let own = last.max(follows) + 1;
        if mutant::is_active(Mutant::PartWithoutLatch) {
            parts.iter().for_each(|(log, _)| self.sequences.raise(*log, own));
            latches.clear();
            // As if it were descheduled now, while others go on.
            crate::sync::sleep(Duration::from_millis(2));
        }
        let write_field = |header: &mut Vec<u8>| write_varint(header, own);
        let mut places = Vec::with_capacity(parts.len());
        for ((log, operations), progress) in parts.iter().zip(progresses) {
            match self.logs.reserve_commit(*log, hint, progress, commit, write_field, operations)? {
                // The places that were reserved become fillers.
                Append::Wait(ticket) => return Ok(Append::Wait(ticket)),
                Append::Done(place) => places.push(place),
            }
        }
        parts.iter().for_each(|(log, _)| self.sequences.raise(*log, own));
        drop(latches);
        for (place, (_, operations)) in places.iter_mut().zip(&parts) {
            place.write(operations);
        }
        *gsn = own.max(*gsn);
        Ok(Append::Done(Reserved::filled(places)))
    }

    fn read_only_commit(&self, dependencies: &mut Dependencies) {
        if mutant::is_active(Mutant::ReadOnlyNoWait) {
            dependencies.gsn = 0;
        }
    }

    fn logs(&self) -> Option<&Arc<Logs>> {
        Some(&self.logs)
    }

    fn own_log(&self, worker: usize) -> usize {
        worker % self.logs.count()
    }

    fn durability(&self, watch: &LocalArc<DurableWatch>, dependencies: &Dependencies) -> Durability {
        Durability::of_stamp(watch, dependencies.gsn)
    }

    fn recovery(_logs: usize) -> Option<Box<dyn Recovery>> {
        Some(Box::new(StampOrder))
    }
}

fn gsn_of(mark: &[AtomicU64]) -> u64 {
    mark.first().map_or(0, |gsn| gsn.load(Ordering::Relaxed))
}

/// Has the logger of one log append milestones.
struct MilestoneDuty {
    sequences: Arc<Sequences>,
    log: usize,
    milestones: Milestones,
}

impl MilestoneDuty {
    /// Whether there are larger GSNs than the last milestone names, in whatever log.
    fn has_news(&self) -> bool {
        self.sequences.newest() > self.milestones.named()
    }

    /// Returns whether there was room (invariant 3).
    fn append(&mut self, logs: &Logs) -> bool {
        let newest = self.sequences.newest();
        if mutant::is_active(Mutant::HeartbeatBesideLatch) {
            return self.milestones.append(logs, newest);
        }
        let _latch = self.sequences.latch(self.log);
        let stamp = newest.max(self.sequences.last(self.log));
        let has_room = self.milestones.append(logs, stamp);
        if has_room {
            self.sequences.raise(self.log, stamp);
        }
        has_room
    }
}

impl LoggerDuty for MilestoneDuty {
    fn before_block(&mut self, logs: &Logs) {
        if self.has_news() || self.milestones.is_long_ago() {
            self.append(logs);
        }
    }

    /// The logs without traffic are behind now.
    fn after_block(&mut self, logs: &Logs, block: &DurableBlock) {
        self.milestones.after_block(logs, block);
        let named = self.milestones.named();
        for log in (0..logs.count()).filter(|log| *log != self.log) {
            if self.sequences.last(log) < named {
                logs.ring_urgently(log);
            }
        }
    }

    fn when_idle(&mut self, logs: &Logs) -> bool {
        self.has_news() && self.append(logs)
    }

    fn is_due(&self, _logs: &Logs) -> bool {
        self.has_news() && !self.milestones.is_refused()
    }

    fn rest(&self, _logs: &Logs) -> Option<Duration> {
        self.milestones.rest().filter(|_| self.has_news())
    }
}
