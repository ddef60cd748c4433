//! The decisions of a logging protocol, as one trait, and a second one for the recovery half (`recovery`).
//!
//! A protocol decides what a transaction collects while it runs, what it leaves for later transactions, what
//! its log record looks like, when it is durable, and how its logs are replayed. Execution knows none of
//! that. It calls the methods below in this order:
//!
//! ```text
//! begin -> follow* -> reserve, write, publish (or read_only_commit) -> write_mark -> durability
//! ```
//!
//! The trait is bound once, at `open`, and erased once per transaction, never per row. A protocol never
//! imports another protocol.
//!
//! Files:
//! * `none`: no logs, as the baseline; `serial`: one log; `taurus`: parallel logs; `taurus_graph`, `silor`,
//!   `plover`: parallel logs, for comparison;
//! * `milestones`: what protocols share whose records have stamps; `anchors`, `vectors`: those whose records
//!   are read against anchors;
//! * `list`: which name means which of them;
//! * `recovery`: the recovery half, and how protocols to come fit into it.

mod anchors;
pub mod list;
mod milestones;
pub mod none;
pub mod plover;
mod recovery;
pub mod serial;
pub mod silor;
pub mod taurus;
pub mod taurus_graph;
mod vectors;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hyades_types::error::{Error, Result, sqlstate};

use crate::commit_clock::CommitClock;
use crate::config::{Config, ProtocolKind};
use crate::local_arc::LocalArc;
use crate::log::durable::{Durability, DurableWatch};
use crate::log::manifest::{LogShape, Manifest};
use crate::log::record::{Commit, MAX_LOGS};
use crate::lsn::Lsn;

use self::anchors::{AnchorDuty, Anchors, Names};
use self::milestones::{DurableStamps, Milestones, StampOrder};
pub use self::recovery::{
    Counts, Cut, EVERY_STAMP, FieldReader, Follows, KeptFollows, Order, Positions, Predecessors, RecordId,
    Recovery,
};
pub use self::vectors::compress_all;
use self::vectors::{compress, decompress, skip_vector};
use crate::log::Logs;
use crate::log::append::CommitPlace;
pub use crate::log::{Append, AppendProgress};

/// The transaction's changes, encoded by `log::record`, ready to be copied into a log buffer.
pub struct CommitPayload<'a> {
    /// Encoded operations (see `log::record`).
    pub operations: &'a [u8],
    /// The content of the header of its (last) log record. Schema changes are barriers: ordered after
    /// everything appended to any log so far (pitfall 29). Its time is any, and is written when it is known.
    pub commit: Commit,
}

/// The places of a transaction's record, or of its parts, in the logs. If they are dropped, nothing has been
/// appended.
#[must_use]
pub struct Reserved<'a> {
    place: Option<CommitPlace<'a>>,
    /// Those of several parts, which have been filled.
    filled: Vec<CommitPlace<'a>>,
}

impl<'a> Reserved<'a> {
    #[inline]
    pub fn new(place: CommitPlace<'a>) -> Reserved<'a> {
        Reserved { place: Some(place), filled: Vec::new() }
    }

    /// The places of several parts, which have been filled.
    pub fn filled(places: Vec<CommitPlace<'a>>) -> Reserved<'a> {
        Reserved { place: None, filled: places }
    }

    /// There is nothing to fill.
    pub fn without_place() -> Reserved<'a> {
        Reserved { place: None, filled: Vec::new() }
    }

    /// Fills the place with the payload that it was reserved for.
    #[inline]
    pub fn write(&mut self, payload: &CommitPayload<'_>) {
        if let Some(place) = &mut self.place {
            place.write(payload.operations);
        }
    }

    /// Publishes the places, which are filled. `time`: the commit time, for a payload that has one.
    #[inline]
    pub fn publish(self, time: Option<u64>) {
        let publish = |mut place: CommitPlace<'_>| {
            time.into_iter().for_each(|time| place.date(time));
            place.publish();
        };
        self.place.into_iter().for_each(publish);
        if !self.filled.is_empty() {
            self.filled.into_iter().for_each(publish);
        }
    }
}

/// Refuses a number of parallel logs that makes no sense.
fn check_logs(config: &Config) -> Result<()> {
    if (1..=MAX_LOGS).contains(&config.logs) {
        return Ok(());
    }
    let message = format!("the number of logs must be between 1 and {MAX_LOGS}, not {}", config.logs);
    Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message))
}

/// As many logs as are configured.
fn parallel_logs(config: &Config) -> LogShape {
    LogShape { logs: config.logs.clamp(1, MAX_LOGS), stripes: 1 }
}

/// See the module documentation. `Sync`, because every worker calls it at once.
pub trait Protocol: Send + Sync + Sized + 'static {
    /// Which one of the list it is.
    const KIND: ProtocolKind;
    /// Whether a transaction's changes go to a log at all.
    const WRITES_LOG: bool;
    /// Whether a log record may hold a call in place of changes.
    const LOGS_COMMANDS: bool;
    /// Whether calls are replayed in the order of their log.
    const REPLAYS_IN_LOG_ORDER: bool;
    /// Whether transactions leave marks for later transactions.
    const LEAVES_MARKS: bool;

    /// What a running transaction has collected (Taurus: T.LV), and, when its record has a place, what its
    /// durability waits for (an LSN, an LSN vector, an epoch ...).
    type Dependencies: Send + 'static;

    /// Refuses settings that make no sense, before anything is touched.
    fn check(_config: &Config) -> Result<()> {
        Ok(())
    }

    /// Which logs an incarnation has with this configuration.
    fn log_shape(config: &Config) -> LogShape;

    /// Begins an incarnation as configured, with logs of its own if it has any.
    fn start(config: &Config, manifest: &mut Manifest) -> Result<Self>;

    fn new_dependencies(&self) -> Self::Dependencies;

    /// Makes `dependencies` those of a transaction that has not touched anything.
    fn begin(&self, dependencies: &mut Self::Dependencies);

    /// How many words a [mark](Protocol::write_mark) takes. 0 for a protocol without marks.
    fn mark_words(&self) -> usize {
        0
    }

    /// A mark that follows nothing.
    fn new_mark(&self) -> Box<[AtomicU64]> {
        (0..self.mark_words()).map(|_| AtomicU64::new(0)).collect()
    }

    /// Writes into `mark` what a transaction must follow that sees the work of a transaction with these
    /// dependencies, which has its place: once for all its rows (`storage::history`). All its locks are still
    /// held (pitfall 3).
    fn write_mark(&self, _dependencies: &Self::Dependencies, _mark: &[AtomicU64]) {}

    /// The transaction comes after a conflicting one that left this mark: collect what it now depends on.
    fn follow(&self, _mark: &[AtomicU64], _dependencies: &mut Self::Dependencies) {}

    /// Collects all that has its place in a log by now, for a transaction that comes after what left no mark.
    fn follow_all(&self, _dependencies: &mut Self::Dependencies) {}

    /// Whether forgetting a mark loses no dependency (pitfall 19). Once true, this stays true.
    fn is_forgettable(&self, _mark: &[AtomicU64]) -> bool {
        true
    }

    /// Makes everything that follows `into` follow `mark`, too. `into` begins as one that follows nothing,
    /// and is visible only to the caller.
    fn join(&self, _mark: &[AtomicU64], _into: &[AtomicU64]) {}

    /// Freezes the transaction's dependencies and reserves the place of its log record (pitfall 2), which
    /// the dependencies include afterwards. Between this and [`Reserved::publish`] its fate may still be
    /// decided. All locks are still held. `worker` is the number of the calling worker (0-based, below
    /// `MAX_WORKERS`), which selects the log. An error means that nothing was reserved (out of log space:
    /// `DISK_FULL`) or that the database is poisoned. A large transaction is appended piece by piece: after
    /// `Wait` call again with the same payload and the same `progress`, which belongs only to this attempt
    /// to commit. A caller that gives the attempt up resets it.
    fn reserve<'a>(
        &'a self,
        worker: usize,
        dependencies: &mut Self::Dependencies,
        payload: &CommitPayload<'_>,
        progress: &'a mut AppendProgress,
    ) -> Result<Append<Reserved<'a>>>;

    /// Appends a log record without a time, of no transaction: reserves, fills and publishes at once.
    #[inline]
    fn log_commit(
        &self,
        worker: usize,
        dependencies: &mut Self::Dependencies,
        payload: &CommitPayload<'_>,
        progress: &mut AppendProgress,
    ) -> Result<Append<()>> {
        match self.reserve(worker, dependencies, payload, progress)? {
            Append::Done(mut reserved) => {
                reserved.write(payload);
                reserved.publish(None);
            }
            Append::Wait(ticket) => return Ok(Append::Wait(ticket)),
        }
        Ok(Append::Done(()))
    }

    /// Makes the dependencies of a transaction that wrote nothing or was rolled back what its answer waits
    /// for: all that it has seen (pitfall 7).
    fn read_only_commit(&self, _dependencies: &mut Self::Dependencies) {}

    /// The logs that it writes, if any.
    fn logs(&self) -> Option<&Arc<Logs>> {
        None
    }

    /// The clock from which transactions draw their commit times.
    fn clock(&self) -> CommitClock {
        self.logs().map_or_else(CommitClock::new, |logs| logs.clock().clone())
    }

    /// The log to which the worker's records go by preference.
    fn own_log(&self, _worker: usize) -> usize {
        0
    }

    /// How far the worker's own log is filled, if its logger or its device lags far behind.
    #[inline]
    fn backlog(&self, worker: usize) -> Option<Lsn> {
        self.logs()?.backlog(self.own_log(worker))
    }

    /// The durable positions. Each worker asks for its own reference.
    fn watch(&self) -> LocalArc<DurableWatch> {
        match self.logs() {
            Some(logs) => Arc::clone(logs.watch()).into(),
            None => DurableWatch::new(Box::default(), None).into(),
        }
    }

    /// A handle to wait for the durability of a transaction.
    fn durability(&self, watch: &LocalArc<DurableWatch>, dependencies: &Self::Dependencies) -> Durability;

    /// Makes everything appended so far durable and stops the loggers. Later appends get a fatal error.
    /// Reports the failure that had poisoned the database before, if any.
    fn shutdown(&self) -> Result<()> {
        self.logs().map_or(Ok(()), |logs| logs.shutdown())
    }

    /// How its records in this many logs are read after a crash. `None` for a protocol without log records.
    fn recovery(logs: usize) -> Option<Box<dyn Recovery>>;
}
