//! The thread that writes one log.
//!
//! Group commit adapts by itself: while a block is being written, the buffer fills, and the next block takes
//! all of it. A lone transaction is written at once. An idle logger sleeps; a worker wakes it only if it does
//! (`sync::Bell`). While records keep coming but nobody waits for them (clients with many transactions in
//! flight, or that do not want to wait), the logger *lingers* before the next block: a block costs the same
//! processor time however little is in it.
//!
//! The logger also appends the log's anchors (paper, algorithm 5, FlushPLV; pitfall 18): one after a
//! segment's first block, then when enough log or enough time has passed; the start of a stream counts as an
//! anchor of zeroes. They are appended just before a block that is due anyway; only a log whose anchor lies
//! far behind the others gets a block for its anchor alone, because its records store what that does not
//! cover. So does one that has been idle for a while, once: when everything has come to rest, the floor
//! covers all that a vector can name, and whoever waits to forget something (a tombstone, say) can. What an
//! anchor itself adds to a log is named by no vector and asks for no further anchor.
//!
//! Invariants:
//! 1. One write at a time, each only after its predecessor was durable: a block behind a hole never comes
//!    from here.
//! 2. The durable position advances only after a successful write (pitfall 9). A failed one is not retried:
//!    the database is poisoned, and nothing is acknowledged afterwards.
//! 3. An anchor holds positions that were durable before it was appended, and is published after that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyades_types::error::{Error, FatalError, Result, sqlstate};

use super::Logs;
use super::buffer::LogBufferReader;
use super::record::{encode_anchor, record_length};
use super::store::writer::{BlockBuffer, LogStore};
use crate::lsn::Lsn;
use crate::mutant::{self, Mutant};
use crate::sync::{Ordering, now};

/// An anchor is due after this much of the own log ...
const ANCHOR_LOG_BYTES: u64 = 16 << 10;
/// ... or after this time, if some log has become durable by this much.
const ANCHOR_INTERVAL: Duration = Duration::from_millis(1);
const ANCHOR_PROGRESS_BYTES: u64 = 4 << 10;
/// A log without traffic of its own follows the others at this distance.
const IDLE_ANCHOR_BYTES: u64 = 256 << 10;
/// A log without traffic brings the floor up to what is there after this time.
const LAST_ANCHOR_DELAY: Duration = Duration::from_secs(1);

/// A block that nobody waits for begins at least this long after the one before ...
const LINGER: Duration = Duration::from_millis(1);
/// ... unless this much is ready.
const LINGER_BYTES: u64 = 256 << 10;

/// See the file head.
pub(crate) struct Logger {
    logs: Arc<Logs>,
    log: usize,
    reader: LogBufferReader,
    store: Box<dyn LogStore>,
    block: BlockBuffer,
    anchor: LastAnchor,
    /// The place of an anchor that was appended to an empty buffer.
    lone_anchor: Option<(Lsn, Lsn)>,
    /// Since when there has been nothing to write.
    idle_since: Option<Instant>,
    /// When the last block was begun; `None` after having slept.
    last_write: Option<Instant>,
    boundary: RecordBoundary,
    scratch: Vec<u8>,
}

/// Where the records of a log end, found in its blocks.
#[derive(Debug, Default)]
struct RecordBoundary {
    /// The end of the last record whose header has been seen.
    end: u64,
}

impl RecordBoundary {
    /// The end of the last record that is whole up to the end of these bytes, which stand at `position`. A
    /// header is never cut: both are as aligned as records are.
    fn pass(&mut self, position: Lsn, bytes: &[u8]) -> Lsn {
        let to = position.0 + bytes.len() as u64;
        let mut whole = Lsn::ZERO;
        while self.end <= to {
            whole = Lsn(self.end);
            let header = bytes.get((self.end.saturating_sub(position.0)) as usize..).unwrap_or_default();
            let Some(Ok(length)) = record_length(header) else { break };
            self.end += length as u64;
        }
        whole
    }
}

/// The anchor appended last.
struct LastAnchor {
    /// Its own position; `None` when one is overdue.
    end: Option<Lsn>,
    at: Instant,
    durable: Vec<u64>,
}

/// Poisons the database when the logger's thread ends, in whatever way.
struct EndGuard<'a> {
    logs: &'a Logs,
    failure: Option<Arc<FatalError>>,
}

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        if let Some(failure) = self.failure.take() {
            tracing::error!(state = %failure.state, "{}", failure.message);
            self.logs.poison(failure);
        }
    }
}

impl Logger {
    pub(crate) fn new(
        logs: Arc<Logs>,
        log: usize,
        reader: LogBufferReader,
        store: Box<dyn LogStore>,
    ) -> Logger {
        // The start of every stream counts as an anchor of zeroes.
        let anchor = LastAnchor { end: Some(Lsn::ZERO), at: now(), durable: vec![0; logs.count()] };
        let block = BlockBuffer::default();
        Logger {
            logs,
            log,
            reader,
            store,
            block,
            anchor,
            lone_anchor: None,
            idle_since: None,
            last_write: None,
            boundary: RecordBoundary::default(),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn run(mut self) {
        let logs = Arc::clone(&self.logs);
        let message = format!("the logger of log {} has stopped unexpectedly", self.log);
        let died = Arc::new(FatalError { state: sqlstate::INTERNAL_ERROR, message });
        let mut guard = EndGuard { logs: &logs, failure: Some(died) };
        guard.failure = match self.work() {
            Ok(()) => None,
            Err(Error::Fatal(failure)) => Some(failure),
            Err(other) => Some(Arc::new(FatalError { state: other.sqlstate(), message: other.to_string() })),
        };
    }

    /// Writes until the logs are shut down and everything is durable, or until something fails.
    fn work(&mut self) -> Result<()> {
        let logs = Arc::clone(&self.logs);
        loop {
            if logs.watch.failure().is_some() {
                return Ok(());
            }
            let mut is_anchor_refused = false;
            if self.reader.ready() > self.reader.position() {
                self.linger();
                if self.anchor_is_due() {
                    self.append_anchor();
                }
                self.write_block()?;
                self.idle_since = None;
                continue;
            } else if self.idle_anchor_is_due() || self.last_anchor_is_due() {
                if self.append_lone_anchor() {
                    self.write_block()?;
                    continue;
                }
                is_anchor_refused = true;
            }
            let is_stopping = logs.is_stopping.load(Ordering::SeqCst);
            if is_stopping && logs.reserved(self.log) == self.reader.position() {
                self.store.close();
                return Ok(());
            }
            if is_stopping {
                // Somebody is still filling the last records.
                std::thread::yield_now();
                continue;
            }
            self.last_write = None;
            let durable = &self.anchor.durable;
            let limit = logs.is_named_above(durable).then_some(LAST_ANCHOR_DELAY);
            self.reader.sleep_unless(limit, || {
                logs.is_stopping.load(Ordering::SeqCst)
                    || logs.watch.failure().is_some()
                    || (!is_anchor_refused && lags(&logs, durable, IDLE_ANCHOR_BYTES))
            });
        }
    }

    /// Lets more records come together, unless somebody waits.
    fn linger(&mut self) {
        let Some(last) = self.last_write else { return };
        let rest = LINGER.saturating_sub(now().duration_since(last));
        let is_enough = self.reader.ready().0 - self.reader.position().0 >= LINGER_BYTES;
        if rest.is_zero() || is_enough {
            return;
        }
        let logs = &self.logs;
        self.reader.doze_unless(rest, || {
            logs.watch.has_waiters()
                || logs.is_stopping.load(Ordering::SeqCst)
                || logs.watch.failure().is_some()
        });
    }

    /// Writes what is ready, or as much as fits into a block.
    fn write_block(&mut self) -> Result<()> {
        let position = self.reader.position();
        self.last_write = Some(now());
        let ready = self.reader.ready().0 - position.0;
        if ready == 0 {
            return Ok(());
        }
        let length = ready.min(self.store.next_payload_bytes()? as u64) as usize;
        let payload = self.block.payload_mut(length);
        self.reader.take(payload);
        let whole = self.boundary.pass(position, payload);
        let end = self.reader.position();
        if mutant::is_active(Mutant::DurableBeforeSync) {
            self.logs.watch.advance(self.log, end);
        }
        let appended = self.store.append(&mut self.block, position)?;
        let log = self.logs.log(self.log);
        log.buffer.move_ceiling(-((appended.store_bytes - length as u64) as i64));
        let is_lone_anchor = self.lone_anchor.take() == Some((position, end));
        if !is_lone_anchor {
            self.logs.note_named(self.log, end);
        }
        self.logs.watch.advance(self.log, end);
        self.logs.note_whole(self.log, whole);
        if appended.is_first_in_segment && position > Lsn::ZERO {
            self.anchor.end = None;
        }
        self.wake_idle_loggers(end, if is_lone_anchor { 1 } else { IDLE_ANCHOR_BYTES });
        Ok(())
    }

    /// Whether the next block should begin with an anchor.
    fn anchor_is_due(&self) -> bool {
        let Some(last) = self.anchor.end else {
            return true;
        };
        self.reader.position().0.saturating_sub(last.0) >= ANCHOR_LOG_BYTES
            || (lags(&self.logs, &self.anchor.durable, ANCHOR_PROGRESS_BYTES)
                && now().duration_since(self.anchor.at) >= ANCHOR_INTERVAL)
    }

    /// Whether an anchor is due although there is nothing else to write.
    fn idle_anchor_is_due(&self) -> bool {
        lags(&self.logs, &self.anchor.durable, IDLE_ANCHOR_BYTES)
    }

    /// Whether the log has been idle for a while, and something lies above its last anchor.
    fn last_anchor_is_due(&mut self) -> bool {
        let since = *self.idle_since.get_or_insert_with(now);
        self.logs.is_named_above(&self.anchor.durable) && now().duration_since(since) >= LAST_ANCHOR_DELAY
    }

    /// Appends an anchor although there is nothing else to write.
    fn append_lone_anchor(&mut self) -> bool {
        // Later anchors of the same idleness are as far apart.
        self.idle_since = Some(now());
        let start = self.reader.position();
        let is_appended = self.append_anchor();
        self.lone_anchor = self.anchor.end.filter(|_| is_appended).map(|end| (start, end));
        is_appended
    }

    /// Appends an anchor and publishes it (invariant 3). Skipped (`false`) when the buffer has no room.
    fn append_anchor(&mut self) -> bool {
        let logs = &self.logs;
        for (log, position) in self.anchor.durable.iter_mut().enumerate() {
            *position = logs.whole(log).0;
        }
        encode_anchor(&mut self.scratch, &self.anchor.durable);
        let Ok(mut reservation) = logs.log(self.log).buffer.reserve(0, self.scratch.len()) else {
            return false;
        };
        reservation.write(&self.scratch);
        self.anchor.end = Some(reservation.publish());
        self.anchor.at = now();
        logs.publish_anchor(self.log, &self.anchor.durable);
        true
    }

    /// Logs without traffic get an anchor now and then: those whose anchors are this far behind.
    fn wake_idle_loggers(&self, durable: Lsn, bytes: u64) {
        for other in (0..self.logs.count()).filter(|other| *other != self.log) {
            if durable.0 - self.logs.anchor(other, self.log).0 >= bytes {
                self.logs.log(other).buffer.ring();
            }
        }
    }
}

/// Whether some log has become durable by this much since the anchor.
fn lags(logs: &Logs, anchor: &[u64], bytes: u64) -> bool {
    anchor.iter().enumerate().any(|(log, position)| logs.whole(log).0 - position >= bytes)
}
