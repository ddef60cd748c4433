//! Serial logging: one log, one LSN. The order of the log is the order of everything.
//!
//! # Paper
//! The single-stream baselines of Taurus (section 2.1), on one device and on several ("serial with RAID-0"),
//! with early lock release: the write-ahead log of most systems, and with command logging the calls
//! themselves.
//!
//! # Idea
//! A transaction appends its log record before it releases a lock. A transaction that sees its writes appends
//! later. So a prefix of the log is closed under dependencies, and a position is all that durability needs.
//!
//! # Log record
//! ```text
//!   | header | 0 (1 byte) | operations |
//! ```
//!
//! The log's blocks go to all log directories in turn (RAID-0): with several devices one log is as fast as
//! all of them together, and there is still only one order.
//!
//! # Invariants
//! 1. A transaction reserves its place before it releases any lock (pitfall 2): the order of the log extends
//!    the order of conflicts.
//! 2. Every answer waits for a position at or after the last log record that its transaction could have seen
//!    (pitfall 7).
//!
//! # Commit
//! Reserve, fill, publish. The answer waits for the record's LSN. A transaction that wrote nothing takes the
//! log's reserved end at its commit instead. This is correct because everything that it saw was reserved
//! before the writer's locks were released (invariant 1), hence before the reader got its own: the reserved
//! end that it loads is after all of it. Nothing has to be remembered for tuples. The price is that a reader
//! may wait for log records it never saw, at most one block more.
//!
//! # Durability
//! The log is durable up to that LSN.
//!
//! # Recovery
//! The log is cut after its last whole record and replayed in log order. Calls replay in that order too: it
//! extends the order of conflicts, including those of a reader with a later writer: readers hold their locks
//! until they have appended, and where they read without locks, places are taken in the order of commit times
//! (`txn::writes::commit`).
//!
//! # Where we differ from the paper and why
//! * Early lock release, group commit and parallel replay are not in the paper's serial baseline. A baseline
//!   should be tuned as well as what it is compared with.

use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};

use super::{
    Append, AppendProgress, CommitPayload, FieldReader, Follows, Order, Protocol, Recovery, Reserved,
};
use crate::config::{Config, ProtocolKind};
use crate::local_arc::LocalArc;
use crate::log::durable::{Durability, DurableWatch};
use crate::log::manifest::{LogShape, MAX_STRIPES, Manifest};
use crate::log::record::{Control, Malformed};
use crate::log::{Logs, RunningLogs};
use crate::lsn::Lsn;
use crate::mutant::{self, Mutant};

/// The only log.
const LOG: usize = 0;
/// An empty bitmap: what Taurus writes for an LSN vector that names nothing.
const NO_FIELD: u8 = 0;

/// Serial logging: one log whose order is the order of everything.
pub struct Serial {
    logs: RunningLogs,
}

impl Protocol for Serial {
    const KIND: ProtocolKind = ProtocolKind::Serial;
    const WRITES_LOG: bool = true;
    const LOGS_COMMANDS: bool = true;
    const REPLAYS_IN_LOG_ORDER: bool = true;
    const LEAVES_MARKS: bool = false;

    /// Only for the answer: the log has an order of its own.
    type Dependencies = Lsn;

    fn check(config: &Config) -> Result<()> {
        if config.log_directories.len() <= MAX_STRIPES {
            return Ok(());
        }
        let message = format!("serial logging writes to at most {MAX_STRIPES} directories");
        Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message))
    }

    /// Striped over all configured directories.
    fn log_shape(config: &Config) -> LogShape {
        LogShape { logs: 1, stripes: config.log_directories.len().max(1) }
    }

    fn start(config: &Config, manifest: &mut Manifest) -> Result<Serial> {
        Ok(Serial { logs: Logs::start(config, Serial::log_shape(config), manifest, |_| Box::new(()))? })
    }

    fn new_dependencies(&self) -> Lsn {
        Lsn::ZERO
    }

    fn begin(&self, _dependencies: &mut Lsn) {}

    fn reserve<'a>(
        &'a self,
        worker: usize,
        dependencies: &mut Lsn,
        payload: &CommitPayload<'_>,
        progress: &'a mut AppendProgress,
    ) -> Result<Append<Reserved<'a>>> {
        let CommitPayload { operations, commit } = *payload;
        let fragments = self.logs.append_fragments(LOG, worker, progress, operations)?;
        if let Append::Wait(ticket) = fragments {
            return Ok(Append::Wait(ticket));
        }
        // A barrier needs nothing: the log's order is total.
        let write_field = |header: &mut Vec<u8>| header.push(NO_FIELD);
        match self.logs.reserve_commit(LOG, worker, progress, commit, write_field, operations)? {
            Append::Wait(ticket) => Ok(Append::Wait(ticket)),
            Append::Done(place) => {
                *dependencies = place.end();
                Ok(Append::Done(Reserved::new(place)))
            }
        }
    }

    fn read_only_commit(&self, dependencies: &mut Lsn) {
        let is_wrong = mutant::is_active(Mutant::ReadOnlyNoWait);
        *dependencies = if is_wrong { Lsn::ZERO } else { self.logs.reserved(LOG) };
    }

    fn logs(&self) -> Option<&Arc<Logs>> {
        Some(&self.logs)
    }

    fn durability(&self, watch: &LocalArc<DurableWatch>, dependencies: &Lsn) -> Durability {
        Durability::in_log(watch, LOG, *dependencies)
    }

    fn recovery(_logs: usize) -> Option<Box<dyn Recovery>> {
        Some(Box::new(LogOrder))
    }
}

/// Each record comes after all records before it.
struct LogOrder;

impl Recovery for LogOrder {
    fn order(&self) -> Order {
        Order::Total
    }

    fn reader(&self) -> Box<dyn FieldReader> {
        Box::new(LogOrder)
    }
}

impl FieldReader for LogOrder {
    /// Logs from before 2026-11-23 have anchors. They say nothing that a record's own place does not.
    fn control(&mut self, _control: &Control) {}

    fn field_bytes(&self, content: &[u8]) -> std::result::Result<usize, Malformed> {
        match content.first() {
            Some(&NO_FIELD) => Ok(1),
            _ => Err(Malformed { offset: 0, reason: "a record of serial logging names another log" }),
        }
    }

    fn read(&mut self, _field: &[u8]) -> std::result::Result<(), Malformed> {
        Ok(())
    }

    fn follows(&self) -> Follows<'_> {
        Follows::AllBefore
    }

    fn fork(&self) -> Box<dyn FieldReader> {
        Box::new(LogOrder)
    }
}
