//! Silo-R: parallel logs ordered by epochs.
//!
//! # Paper
//! Zheng, Tu, Kohler, Liskov: "Fast Databases with Fast Durability and Recovery Through Multicore
//! Parallelism", OSDI 2014; a baseline of Taurus (VLDB 2020), section 5. Only data logging: within an epoch
//! nothing says which of two transactions came first, so calls could not be replayed.
//!
//! # Idea
//! Time is divided into epochs, of 40 ms by default. A transaction belongs to the epoch in which its record
//! gets its place in a log, any log. A whole epoch becomes durable at once, when all logs have everything of
//! it. So nothing is kept of which transaction depends on which: the later one is in the same epoch or in a
//! later one.
//!
//! # Log record
//! ```text
//!   | header | epoch | operations |
//!   | header | milestone: time, epoch |      (appended by the loggers)
//! ```
//!
//! # Invariants
//! 1. A transaction reads its epoch while it holds its locks, and is *inside* that epoch until its record has
//!    its place. So one that sees its work, or overwrites it, is in no earlier epoch.
//! 2. An epoch is closed when it is not the current one and no transaction is inside it. Two epochs may have
//!    transactions inside at once, not three: the next one begins only when the one before is closed.
//! 3. A milestone names an epoch that was closed before the milestone's place was reserved: all records of
//!    that epoch, and of those before, lie before it in their logs.
//! 4. The durable epoch is the smallest of those that the last durable milestones of the logs name
//!    (`milestones`).
//!
//! # Commit
//! Enter the epoch, reserve, leave the epoch, fill, publish. The log is the worker's own: its number modulo
//! the number of logs. A transaction that wrote nothing appends nothing. Its answer waits for the latest
//! epoch of what it has seen (pitfall 7).
//!
//! # Durability
//! The durable epoch is the transaction's, or a later one. Answers leave epoch by epoch.
//!
//! # Recovery
//! A record counts if its epoch is at most D, the smallest of those that the last milestones found in the
//! logs name. What lies in the logs of later epochs is never counted: D is frozen in the manifest, and the
//! next incarnation has logs of its own, whose epochs begin anew. Changes of rows are replayed key by key, in
//! the order of their commit times (`recovery::by_key`).
//!
//! # Where we differ from the paper and why
//! * Transactions lock rows, as under every protocol here, in place of Silo's optimistic concurrency control.
//! * The order of versions is that of commit times, in place of transaction ids (TIDs), which hold the epoch.
//! * No epoch ends as long as nothing is in it: an idle database writes nothing.
//! * A transaction does not wait for an epoch of which it has seen nothing. In the paper, a read-only one
//!   waits for its own epoch.
//! * The paper's `pepoch` file, which holds D, is not needed: the milestones say it.
//! * Checkpoints are those of `checkpoint`, cut at a commit time. One counts when the epochs of all that it
//!   holds are durable.

mod epochs;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyades_types::error::{Error, Result, sqlstate};

use self::epochs::{Epochs, Inside, Ticker};
use super::{
    Append, AppendProgress, CommitPayload, DurableStamps, Milestones, Protocol, Recovery, Reserved,
    StampOrder, check_logs, parallel_logs,
};
use crate::config::{Config, ProtocolKind};
use crate::local_arc::LocalArc;
use crate::log::durable::{Durability, DurableWatch};
use crate::log::manifest::{LogShape, Manifest};
use crate::log::record::varint::write_varint;
use crate::log::{DurableBlock, LoggerDuty, Logs, RunningLogs};
use crate::mutant::{self, Mutant};

/// Silo-R: parallel logs ordered by epochs.
pub struct SiloR {
    // Stopped first.
    ticker: Ticker,
    logs: RunningLogs,
    epochs: Arc<Epochs>,
    durable: Arc<DurableStamps>,
}

impl Protocol for SiloR {
    const KIND: ProtocolKind = ProtocolKind::SiloR;
    const WRITES_LOG: bool = true;
    const LOGS_COMMANDS: bool = false;
    const REPLAYS_IN_LOG_ORDER: bool = false;
    const LEAVES_MARKS: bool = true;

    /// The latest epoch of what was seen, or written. 0: of nothing.
    type Dependencies = u64;

    fn check(config: &Config) -> Result<()> {
        if config.epoch.is_zero() {
            let message = "an epoch must last some time";
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        check_logs(config)
    }

    fn log_shape(config: &Config) -> LogShape {
        parallel_logs(config)
    }

    fn start(config: &Config, manifest: &mut Manifest) -> Result<SiloR> {
        let shape = SiloR::log_shape(config);
        let (epochs, durable) = (Arc::new(Epochs::new()), Arc::new(DurableStamps::new(shape.logs)));
        let duty = |log| {
            let milestones = Milestones::new(log, &durable);
            let (epochs, epoch_time) = (Arc::clone(&epochs), config.epoch);
            Box::new(MilestoneDuty { epochs, epoch_time, milestones }) as Box<dyn LoggerDuty>
        };
        let logs = Logs::start_with_stamps(config, shape, manifest, duty, Arc::clone(&epochs) as _)?;
        let ticker = Ticker::start(config.epoch, &epochs, &logs)?;
        Ok(SiloR { ticker, logs, epochs, durable })
    }

    fn new_dependencies(&self) -> u64 {
        0
    }

    fn begin(&self, dependencies: &mut u64) {
        *dependencies = 0;
    }

    /// The epoch.
    fn mark_words(&self) -> usize {
        1
    }

    fn write_mark(&self, dependencies: &u64, mark: &[AtomicU64]) {
        mark.iter().for_each(|epoch| epoch.store(*dependencies, Ordering::Relaxed));
    }

    fn follow(&self, mark: &[AtomicU64], dependencies: &mut u64) {
        *dependencies = (*dependencies).max(epoch_of(mark));
    }

    fn follow_all(&self, dependencies: &mut u64) {
        *dependencies = (*dependencies).max(self.epochs.last_used());
    }

    fn is_forgettable(&self, mark: &[AtomicU64]) -> bool {
        epoch_of(mark) <= self.logs.watch().durable_stamp()
    }

    fn join(&self, mark: &[AtomicU64], into: &[AtomicU64]) {
        let epoch = epoch_of(mark).max(epoch_of(into));
        into.iter().for_each(|word| word.store(epoch, Ordering::Relaxed));
    }

    fn reserve<'a>(
        &'a self,
        worker: usize,
        dependencies: &mut u64,
        payload: &CommitPayload<'_>,
        progress: &'a mut AppendProgress,
    ) -> Result<Append<Reserved<'a>>> {
        self.durable.check(&self.logs)?;
        let log = progress.log(self.own_log(worker));
        let CommitPayload { operations, commit } = *payload;
        if let Append::Wait(ticket) = self.logs.append_fragments(log, worker, progress, operations)? {
            return Ok(Append::Wait(ticket));
        }
        // Invariant 1. A barrier needs nothing: the order of times is total.
        let mut inside = Some(self.epochs.enter(worker));
        let epoch = inside.as_ref().map_or(0, Inside::epoch);
        if mutant::is_active(Mutant::EpochLeftEarly) {
            inside = None;
            // As if it were descheduled now, while epochs end.
            crate::sync::sleep(Duration::from_millis(2));
        }
        let write_field = |header: &mut Vec<u8>| write_varint(header, epoch);
        match self.logs.reserve_commit(log, worker, progress, commit, write_field, operations)? {
            Append::Wait(ticket) => Ok(Append::Wait(ticket)),
            Append::Done(place) => {
                inside.iter().for_each(Inside::note_place);
                *dependencies = epoch;
                Ok(Append::Done(Reserved::new(place)))
            }
        }
    }

    fn read_only_commit(&self, dependencies: &mut u64) {
        if mutant::is_active(Mutant::ReadOnlyNoWait) {
            *dependencies = 0;
        }
    }

    fn logs(&self) -> Option<&Arc<Logs>> {
        Some(&self.logs)
    }

    fn own_log(&self, worker: usize) -> usize {
        worker % self.logs.count()
    }

    fn durability(&self, watch: &LocalArc<DurableWatch>, dependencies: &u64) -> Durability {
        Durability::of_stamp(watch, *dependencies)
    }

    /// The last epoch is closed first, so that its answers can leave.
    fn shutdown(&self) -> Result<()> {
        self.ticker.stop();
        self.logs.shutdown()
    }

    fn recovery(_logs: usize) -> Option<Box<dyn Recovery>> {
        Some(Box::new(StampOrder))
    }
}

fn epoch_of(mark: &[AtomicU64]) -> u64 {
    mark.first().map_or(0, |epoch| epoch.load(Ordering::Relaxed))
}

/// Has the logger of one log append milestones.
struct MilestoneDuty {
    epochs: Arc<Epochs>,
    epoch_time: Duration,
    milestones: Milestones,
}

impl MilestoneDuty {
    /// The epoch that a milestone may name now (invariant 3).
    fn closed(&self) -> u64 {
        match mutant::is_active(Mutant::MilestoneTooEarly) {
            true => self.epochs.last_used(),
            false => self.epochs.closed(),
        }
    }

    /// Whether an epoch has been closed that no milestone names.
    fn has_news(&self) -> bool {
        self.closed() > self.milestones.named()
    }

    /// Returns whether there was room.
    fn append(&mut self, logs: &Logs) -> bool {
        let closed = self.closed();
        self.milestones.append(logs, closed)
    }
}

impl LoggerDuty for MilestoneDuty {
    fn before_block(&mut self, logs: &Logs) {
        if self.has_news() || self.milestones.is_long_ago() {
            self.append(logs);
        }
    }

    fn after_block(&mut self, logs: &Logs, block: &DurableBlock) {
        self.milestones.after_block(logs, block);
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

    /// Until the epoch ends, no answer is helped by a block.
    fn is_urgent(&self, _logs: &Logs) -> bool {
        self.has_news()
    }

    fn linger(&self) -> Duration {
        self.epoch_time
    }
}
