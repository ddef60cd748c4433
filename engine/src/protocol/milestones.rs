//! What protocols have in common whose records have stamps: the milestones of each log, the stamp up to which
//! all logs are durable, and how the stamps are read.
//!
//! ```text
//!   log 0:  records, milestone 7 ----- block durable --\
//!   log 1:  milestone 7 -------------- block durable ---+--> all logs are durable up to stamp 7
//! ```
//!
//! Invariants:
//! 1. A milestone names a stamp that no record has which gets its place in this log after it. What it may
//!    name is up to the protocol.
//! 2. A milestone also names the durable stamp of the moment: if the cut after a crash is lower, something
//!    has been lost that was acknowledged (pitfall 14).
//! 3. The durable stamp is the smallest of those that the last durable milestones of all logs name. A log
//!    without traffic has milestones, too.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyades_types::error::Result;
use parking_lot::Mutex;

use super::{FieldReader, Follows, Order, Recovery};
use crate::log::record::varint::read_varint;
use crate::log::record::{Control, Malformed, Milestone, encode_milestone};
use crate::log::{DurableBlock, Logs};
use crate::lsn::{Lsn, logs_in};

/// After this much of its log a logger appends a milestone even if it has nothing new to name: its time
/// bounds those of all records after it, for a replay in the order of times.
const MILESTONE_LOG_BYTES: u64 = 64 << 10;
/// A milestone for which there was no room is tried again after this time.
const AFTER_REFUSAL: Duration = Duration::from_millis(10);

/// What the milestones of all logs have come to.
pub(super) struct DurableStamps {
    /// What the last durable one of each log names.
    durable: Mutex<Vec<u64>>,
    /// One bit for each log whose disk was full when it had its last one.
    full: AtomicU64,
}

impl DurableStamps {
    pub(super) fn new(logs: usize) -> DurableStamps {
        DurableStamps { durable: Mutex::new(vec![0; logs]), full: AtomicU64::new(0) }
    }

    /// Refuses what could not become durable, because the disk of some log is full: what was accepted before
    /// needs the milestones for which there is still room.
    ///
    /// # Errors
    /// `DISK_FULL`.
    #[inline]
    pub(super) fn check(&self, logs: &Logs) -> Result<()> {
        let mut full = logs_in(self.full.load(Ordering::Relaxed));
        full.find_map(|log| logs.disk_failure(log)).map_or(Ok(()), Err)
    }

    fn note_room(&self, log: usize, is_full: bool) {
        let (bit, full) = (1 << log, self.full.load(Ordering::Relaxed));
        match is_full {
            true if full & bit == 0 => drop(self.full.fetch_or(bit, Ordering::Relaxed)),
            false if full & bit != 0 => drop(self.full.fetch_and(!bit, Ordering::Relaxed)),
            _ => {}
        }
    }

    /// A milestone of this log that names this stamp is durable.
    fn note(&self, logs: &Logs, log: usize, stamp: u64) {
        let mut durable = self.durable.lock();
        durable[log] = stamp;
        let all = durable.iter().copied().min().unwrap_or(0);
        if all > logs.watch().durable_stamp() {
            logs.watch().advance_stamp(all);
        }
    }
}

/// The milestones of one log: what its logger knows of them.
pub(super) struct Milestones {
    log: usize,
    durable: Arc<DurableStamps>,
    /// What the last one names, and where it ends.
    named: u64,
    end: Lsn,
    /// The end of the last block.
    written: Lsn,
    /// Those that are not durable: their ends, and what they name.
    under_way: VecDeque<(Lsn, u64)>,
    /// There was no room for the last one.
    is_refused: bool,
    scratch: Vec<u8>,
}

impl Milestones {
    pub(super) fn new(log: usize, durable: &Arc<DurableStamps>) -> Milestones {
        Milestones {
            log,
            durable: Arc::clone(durable),
            named: 0,
            end: Lsn::ZERO,
            written: Lsn::ZERO,
            under_way: VecDeque::new(),
            is_refused: false,
            scratch: Vec::new(),
        }
    }

    /// What the last one names.
    pub(super) fn named(&self) -> u64 {
        self.named
    }

    /// Whether the next one is due although it may have nothing new to name.
    pub(super) fn is_long_ago(&self) -> bool {
        self.written.0.saturating_sub(self.end.0) >= MILESTONE_LOG_BYTES
    }

    /// Whether there was no room for the last one.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// How long a logger may sleep that has nothing else to do.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.is_refused.then_some(AFTER_REFUSAL)
    }

    /// Appends one that names this stamp, unless there is no room for it at the moment. Returns whether there
    /// was.
    pub(super) fn append(&mut self, logs: &Logs, stamp: u64) -> bool {
        // Looked at before the place is reserved.
        let time = logs.clock().now();
        let durable = logs.watch().durable_stamp();
        encode_milestone(&mut self.scratch, Milestone { stamp, durable, time });
        let appended = logs.append_control(self.log, &self.scratch);
        self.is_refused = appended.is_none();
        self.durable.note_room(self.log, self.is_refused || logs.disk_failure(self.log).is_some());
        if let Some(end) = appended {
            (self.named, self.end) = (stamp, end);
            self.under_way.push_back((end, stamp));
        }
        !self.is_refused
    }

    /// A block of the log has become durable.
    pub(super) fn after_block(&mut self, logs: &Logs, block: &DurableBlock) {
        self.written = block.end;
        let mut durable = None;
        while let Some((_, stamp)) = self.under_way.pop_front_if(|(end, _)| *end <= block.end) {
            durable = Some(stamp);
        }
        if let Some(stamp) = durable {
            self.durable.note(logs, self.log, stamp);
        }
    }
}

/// A record comes after everything with a smaller stamp, which is its whole field.
pub(super) struct StampOrder;

impl Recovery for StampOrder {
    fn order(&self) -> Order {
        Order::Times
    }

    fn has_stamps(&self) -> bool {
        true
    }

    fn reader(&self) -> Box<dyn FieldReader> {
        Box::new(StampReader { stamp: 0, complete: 0, durable: 0 })
    }
}

#[derive(Clone)]
struct StampReader {
    /// Of the transaction that was read last.
    stamp: u64,
    /// What the last milestone names.
    complete: u64,
    durable: u64,
}

impl FieldReader for StampReader {
    fn control(&mut self, control: &Control) {
        if let Control::Milestone(milestone) = control {
            self.complete = self.complete.max(milestone.stamp);
            self.durable = self.durable.max(milestone.durable);
            self.stamp = self.complete;
        }
    }

    fn durable_stamp(&self) -> u64 {
        self.durable
    }

    fn complete(&self) -> u64 {
        self.complete
    }

    fn field_bytes(&self, content: &[u8]) -> std::result::Result<usize, Malformed> {
        let mut offset = 0;
        read_varint(content, &mut offset)?;
        Ok(offset)
    }

    fn read(&mut self, field: &[u8]) -> std::result::Result<(), Malformed> {
        self.stamp = read_varint(field, &mut 0)?;
        match self.stamp > self.complete {
            true => Ok(()),
            false => {
                let reason =
                    "a transaction has a stamp up to which a milestone before it calls the log complete";
                Err(Malformed { offset: 0, reason })
            }
        }
    }

    fn follows(&self) -> Follows<'_> {
        Follows::Stamp(self.stamp)
    }

    fn fork(&self) -> Box<dyn FieldReader> {
        Box::new(self.clone())
    }
}
