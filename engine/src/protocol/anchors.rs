//! What protocols share whose records are read against anchors: control records in which a log says up to
//! where it and the others count for certain, so that later records need not.
//!
//! What an anchor names is up to the protocol ([`Names`]): Taurus names durable positions.
//!
//! Invariants:
//! 1. Positions only grow. What an anchor names was so before the anchor was appended.
//! 2. An anchor is published for the records of its log after it has its place (pitfall 18).
//! 3. The *floor* is the element-wise minimum of the published anchors of the logs at work. What lies below
//!    it may be forgotten, and is what a record follows in any case: a record in a log whose anchor is below
//!    the floor says so itself (pitfall 19).
//!
//! The logger of a log appends its anchors (Taurus, VLDB 2020, algorithm 5, FlushPLV): one after a segment's
//! first block, then when enough log or enough time has passed. The start of a stream counts as an anchor of
//! zeroes. Anchors are appended just before a block that is due anyway. Only a log whose anchor lags far
//! behind the others gets a block for its anchor alone, because its records must store what the anchor does
//! not cover. A log that has been idle for a while gets such a block as well, once: when everything has come
//! to rest, the floor then covers all that a record can follow, and whatever waits to be forgotten (a
//! tombstone, say) can be. What an anchor itself adds to a log is followed by nothing and requires no further
//! anchor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::log::record::{MAX_LOGS, encode_anchor};
use crate::log::{DurableBlock, LoggerDuty, Logs};
use crate::lsn::Lsn;
use crate::mutant::{self, Mutant};
use crate::sync::now;

/// An anchor is due after this much of the own log ...
const ANCHOR_LOG_BYTES: u64 = 16 << 10;
/// ... or after this time, if some log has grown by this much.
const ANCHOR_INTERVAL: Duration = Duration::from_millis(1);
const ANCHOR_PROGRESS_BYTES: u64 = 4 << 10;
/// A log without traffic of its own follows the others at this distance.
const IDLE_ANCHOR_BYTES: u64 = 256 << 10;
/// A log without traffic raises the floor to the current positions after this time.
const LAST_ANCHOR_DELAY: Duration = Duration::from_secs(1);

/// What the anchors of a protocol name.
pub(super) trait Names: Send + Sync + 'static {
    /// A position of this log up to which it counts for certain.
    fn position(&self, logs: &Logs, log: usize) -> u64;

    /// Called when a log has become durable further, and before the positions of all logs are asked for, to
    /// name them.
    fn renew(&self, _logs: &Logs) {}
}

/// An LSN vector that one thread writes and every committing one reads, on cache lines of its own.
type SharedVector = CachePadded<[AtomicU64; MAX_LOGS]>;

/// The state of the logs' anchors. Entries are raised one by one, which is safe because each only grows.
pub(super) struct Anchors {
    /// The last published anchor of each log.
    published: Box<[SharedVector]>,
    /// Element-wise minimum of the published anchors of the logs that were at work.
    floor: SharedVector,
    /// For each log, one bit for each entry in which the floor exceeds the log's published anchor, did, or is
    /// about to.
    lagging: Box<[CachePadded<AtomicU64>]>,
    /// Held while bits are set and the floor rises, and while a log clears its own: the floor does not rise
    /// between its look at the floor and that.
    raising: Mutex<()>,
    /// Up to where LSN vectors may name positions of each log: the ends of blocks that hold more than an
    /// anchor.
    named: Box<[CachePadded<AtomicU64>]>,
}

impl Anchors {
    pub(super) fn new(logs: usize) -> Anchors {
        let zeroes = || CachePadded::new([const { AtomicU64::new(0) }; MAX_LOGS]);
        Anchors {
            published: (0..logs).map(|_| zeroes()).collect(),
            floor: zeroes(),
            lagging: (0..logs).map(|_| CachePadded::default()).collect(),
            raising: Mutex::new(()),
            named: (0..logs).map(|_| CachePadded::default()).collect(),
        }
    }

    /// The last anchor published by `log`.
    #[inline]
    pub(super) fn published(&self, log: usize) -> &[AtomicU64] {
        &self.published[log][..self.published.len()]
    }

    /// What an absent tuple's LSN vector reads as, and what may be forgotten (pitfall 19). Entries only grow.
    #[inline]
    pub(super) fn floor(&self) -> &[AtomicU64] {
        &self.floor[..self.published.len()]
    }

    /// One bit for each entry in which the floor exceeds the last anchor published by `log`, and for some in
    /// which it does not. Mostly none is set. To be asked after all has been followed and compared with the
    /// floor.
    ///
    /// A record that is raised by the floor in these entries alone follows all that has been forgotten: a
    /// mark is forgotten by a thread that has seen the floor above it, the bit was set before the floor rose,
    /// and a transaction that finds no mark there comes after that thread, so it finds the bit. If the bit
    /// was cleared meanwhile, an anchor that covers the floor was published before, and has its place before
    /// the record.
    #[inline]
    pub(super) fn lagging(&self, log: usize) -> u64 {
        self.lagging[log].load(Ordering::Acquire)
    }

    /// Vectors may name this position of the log from now on.
    pub(super) fn note_named(&self, log: usize, position: Lsn) {
        if self.named[log].load(Ordering::Acquire) < position.0 {
            self.named[log].fetch_max(position.0, Ordering::AcqRel);
        }
    }

    /// Whether vectors may name positions that this anchor of a log does not cover.
    fn is_named_above(&self, anchor: &[u64]) -> bool {
        anchor.iter().zip(self.named.iter()).any(|(anchor, named)| *anchor < named.load(Ordering::Acquire))
    }

    /// The anchor is in the buffer: compression may use it, and the floor may follow.
    fn publish(&self, logs: &Logs, log: usize, named: &[u64]) {
        let is_busy = |other: &usize| *other == log || logs.reserved(*other) > logs.watch().durable(*other);
        let (busy, idle): (SmallVec<[usize; 8]>, SmallVec<[usize; 8]>) = (0..logs.count()).partition(is_busy);
        self.publish_among(log, named, &busy, &idle);
    }

    /// The floor follows the anchors of the busy logs, this one among them.
    pub(super) fn publish_among(&self, log: usize, named: &[u64], busy: &[usize], idle: &[usize]) {
        for (entry, position) in self.published(log).iter().zip(named) {
            entry.store(*position, Ordering::Release);
        }
        let entry = |log: usize, of: usize| self.published[log][of].load(Ordering::Acquire);
        let lowest = |of: usize| busy.iter().map(|log| entry(*log, of)).min().unwrap_or(0);
        // Anchors only grow: what was the lowest is at most what each of them is now.
        let lowest: SmallVec<[u64; 16]> = (0..named.len()).map(lowest).collect();
        let mut lagging = 0;
        let _alone = self.raising.lock();
        for (of, (floor, lowest)) in self.floor().iter().zip(lowest).enumerate() {
            if floor.load(Ordering::Acquire) < lowest {
                for idle in idle.iter().filter(|idle| entry(**idle, of) < lowest) {
                    self.lagging[*idle].fetch_or(1 << of, Ordering::Release);
                }
                floor.store(lowest, Ordering::Release);
            }
            lagging |= u64::from(floor.load(Ordering::Acquire) > named[of]) << of;
        }
        self.lagging[log].store(lagging, Ordering::Release);
    }
}

/// Appends the anchors of one log.
pub(super) struct AnchorDuty<N> {
    anchors: Arc<Anchors>,
    names: Arc<N>,
    log: usize,
    /// What the last anchor names.
    named: Vec<u64>,
    /// Where the last anchor ends. `None` when one is overdue.
    last: Option<Lsn>,
    last_time: Instant,
    /// The end of the last block.
    written: Lsn,
    /// The place of an anchor that was appended to an empty buffer.
    lone: Option<(Lsn, Lsn)>,
    /// Since when there has been nothing to write.
    idle_since: Option<Instant>,
    /// There was no room for an anchor.
    is_refused: bool,
    scratch: Vec<u8>,
}

impl<N: Names> AnchorDuty<N> {
    /// The start of every stream counts as an anchor of zeroes.
    pub(super) fn new(anchors: &Arc<Anchors>, names: &Arc<N>, log: usize) -> AnchorDuty<N> {
        AnchorDuty {
            anchors: Arc::clone(anchors),
            names: Arc::clone(names),
            log,
            named: vec![0; anchors.published.len()],
            last: Some(Lsn::ZERO),
            last_time: now(),
            written: Lsn::ZERO,
            lone: None,
            idle_since: None,
            is_refused: false,
            scratch: Vec::new(),
        }
    }

    /// Whether some log has grown by this much since the last anchor.
    fn lags(&self, logs: &Logs, bytes: u64) -> bool {
        self.named.iter().enumerate().any(|(log, named)| self.names.position(logs, log) - named >= bytes)
    }

    /// Appends an anchor and publishes it (invariant 2), unless the buffer has no room.
    fn append(&mut self, logs: &Logs) -> Option<Lsn> {
        self.names.renew(logs);
        for (log, position) in self.named.iter_mut().enumerate() {
            *position = self.names.position(logs, log);
        }
        // Looked at before the place is reserved.
        let mut time = logs.clock().now();
        if mutant::is_active(Mutant::AnchorDatedLate) {
            // As if others had drawn their times meanwhile.
            time += 1;
        }
        encode_anchor(&mut self.scratch, &self.named, Some(time));
        let end = logs.append_control(self.log, &self.scratch)?;
        self.last = Some(end);
        self.last_time = now();
        self.anchors.publish(logs, self.log, &self.named);
        Some(end)
    }

    fn is_due_before_block(&self, logs: &Logs) -> bool {
        let Some(last) = self.last else { return true };
        self.written.0.saturating_sub(last.0) >= ANCHOR_LOG_BYTES
            || (self.lags(logs, ANCHOR_PROGRESS_BYTES)
                && now().duration_since(self.last_time) >= ANCHOR_INTERVAL)
    }
}

impl<N: Names> LoggerDuty for AnchorDuty<N> {
    fn before_block(&mut self, logs: &Logs) {
        self.idle_since = None;
        if self.is_due_before_block(logs) {
            self.append(logs);
        }
    }

    fn after_block(&mut self, logs: &Logs, block: &DurableBlock) {
        self.written = block.end;
        self.names.renew(logs);
        let is_lone = self.lone.take() == Some((block.start, block.end));
        if !is_lone {
            self.anchors.note_named(self.log, block.end);
        }
        if block.is_first_in_segment && block.start > Lsn::ZERO {
            self.last = None;
        }
        // Logs without traffic get an anchor now and then: those whose anchors lag this far behind.
        let bytes = if is_lone { 1 } else { IDLE_ANCHOR_BYTES };
        for other in (0..logs.count()).filter(|other| *other != self.log) {
            if block.end.0 - self.anchors.published[other][self.log].load(Ordering::Acquire) >= bytes {
                logs.ring(other);
            }
        }
    }

    fn when_idle(&mut self, logs: &Logs) -> bool {
        self.is_refused = false;
        let since = *self.idle_since.get_or_insert_with(now);
        let is_last_due =
            self.anchors.is_named_above(&self.named) && now().duration_since(since) >= LAST_ANCHOR_DELAY;
        if !is_last_due && !self.lags(logs, IDLE_ANCHOR_BYTES) {
            return false;
        }
        // Further anchors of the same idle period are as far apart.
        self.idle_since = Some(now());
        // A record that a worker appends at this moment shares the anchor's block, which then is not the
        // anchor's alone.
        self.lone = self.append(logs).map(|end| (Lsn(end.0 - self.scratch.len() as u64), end));
        self.is_refused = self.lone.is_none();
        !self.is_refused
    }

    fn is_due(&self, logs: &Logs) -> bool {
        !self.is_refused && self.lags(logs, IDLE_ANCHOR_BYTES)
    }

    fn rest(&self, _logs: &Logs) -> Option<Duration> {
        self.anchors.is_named_above(&self.named).then_some(LAST_ANCHOR_DELAY)
    }
}
