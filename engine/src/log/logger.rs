//! The thread that writes one log.
//!
//! Group commit adapts by itself: while a block is being written, the buffer fills, and the next block takes
//! all of it. A lone transaction is written at once. Workers wake the logger only when it is idle and sleeps
//! (`sync::Bell`). While records keep coming but no answer waits for them (clients with many transactions in
//! flight, or that do not want to wait), the logger *lingers* before the next block: a block costs the same
//! processor time however little is in it.
//!
//! A protocol may have its loggers do more, at the right moments of this loop ([`LoggerDuty`]).
//!
//! Invariants:
//! 1. Blocks are submitted in the order of the stream. How many are under way at once, and hence what a crash
//!    may leave of them, is up to the store. Usually it is one.
//! 2. The durable position advances only after all blocks up to there were written (pitfall 9). A failed one
//!    is not retried: the database is poisoned, and nothing is acknowledged afterwards.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyades_types::error::{Error, FatalError, Result, sqlstate};

use super::Logs;
use super::buffer::LogBufferReader;
use super::record::record_length;
use super::set::{DurableBlock, LogStore};
use super::store::block_buffer::BlockBuffer;
use crate::lsn::Lsn;
use crate::mutant::{self, Mutant};
use crate::sync::{Ordering, now};

/// Without waiters, a block begins at least this long after the one before ...
const LINGER: Duration = Duration::from_millis(1);
/// ... unless this much is ready.
const LINGER_BYTES: u64 = 256 << 10;

/// What a protocol has the logger of one log do in addition to writing what others append.
pub trait LoggerDuty: Send {
    /// Records are about to be written. What is appended now goes into the same block, or a later one.
    fn before_block(&mut self, _logs: &Logs) {}

    /// A block has become durable, and everything in `logs` reflects it.
    fn after_block(&mut self, _logs: &Logs, _block: &DurableBlock) {}

    /// There is nothing to write. Returns whether something has been appended now.
    fn when_idle(&mut self, _logs: &Logs) -> bool {
        false
    }

    /// Whether an idle logger should not go to sleep. [`Logs::ring`] makes it check again.
    fn is_due(&self, _logs: &Logs) -> bool {
        false
    }

    /// The longest time for which an idle logger may sleep.
    fn rest(&self, _logs: &Logs) -> Option<Duration> {
        None
    }
}

/// A logger that only writes.
impl LoggerDuty for () {}

/// See the module documentation.
pub(crate) struct Logger {
    logs: Arc<Logs>,
    log: usize,
    reader: LogBufferReader,
    store: Box<dyn LogStore>,
    block: BlockBuffer,
    duty: Box<dyn LoggerDuty>,
    /// When the last block was begun. `None` after having slept.
    last_write: Option<Instant>,
    boundary: RecordBoundary,
    /// The blocks that have been submitted and are not durable: the end of the last whole record in each,
    /// oldest first.
    under_way: VecDeque<Lsn>,
}

/// Where the records of a log end, found in its blocks.
#[derive(Debug, Default)]
struct RecordBoundary {
    /// The end of the last record whose header has been seen.
    end: u64,
}

impl RecordBoundary {
    /// The end of the last record that is complete in the stream up to the end of these bytes, which begin at
    /// `position`. A header is never split between calls, because both are as aligned as records are.
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
        duty: Box<dyn LoggerDuty>,
    ) -> Logger {
        let (block, boundary) = (BlockBuffer::default(), RecordBoundary::default());
        let under_way = VecDeque::new();
        Logger { logs, log, reader, store, block, duty, last_write: None, boundary, under_way }
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
            while let Some(durable) = self.store.next_durable()? {
                self.note_durable(&durable);
            }
            if self.reader.ready() > self.reader.position() {
                match self.store.room()? {
                    Some(room) => {
                        self.linger();
                        self.duty.before_block(&logs);
                        self.write_block(room)?;
                    }
                    None => {
                        let durable = self.store.wait_for_durable()?;
                        self.note_durable(&durable);
                    }
                }
                continue;
            }
            let is_stopping = logs.is_stopping.load(Ordering::SeqCst);
            if !self.under_way.is_empty() {
                let store = &self.store;
                self.reader.sleep_unless(None, || {
                    store.has_durable()
                        || logs.watch.failure().is_some()
                        || (!is_stopping && logs.is_stopping.load(Ordering::SeqCst))
                });
                continue;
            }
            if self.duty.when_idle(&logs) {
                continue;
            }
            if is_stopping && logs.reserved(self.log) == self.reader.position() {
                self.store.close();
                return Ok(());
            }
            if is_stopping {
                // A worker is still filling the last records.
                crate::sync::yield_now();
                continue;
            }
            self.last_write = None;
            let Logger { reader, duty, .. } = self;
            reader.sleep_unless(duty.rest(&logs), || {
                logs.is_stopping.load(Ordering::SeqCst)
                    || logs.watch.failure().is_some()
                    || duty.is_due(&logs)
            });
        }
    }

    /// Lets more records accumulate, unless an answer waits.
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

    /// Writes what is ready, or as much as fits into a block with this room.
    fn write_block(&mut self, room: usize) -> Result<()> {
        let position = self.reader.position();
        self.last_write = Some(now());
        let ready = self.reader.ready().0 - position.0;
        let payload = self.block.payload_mut(ready.min(room as u64) as usize);
        self.reader.take(payload);
        self.under_way.push_back(self.boundary.pass(position, payload));
        if mutant::is_active(Mutant::DurableBeforeSync) {
            self.logs.watch.advance(self.log, self.reader.position());
        }
        self.store.submit(&mut self.block, position)
    }

    /// The oldest block under way is durable.
    fn note_durable(&mut self, block: &DurableBlock) {
        self.logs.watch.advance(self.log, block.end);
        if block.is_first_in_segment {
            self.logs.note_settled(self.log);
        }
        if let Some(whole) = self.under_way.pop_front() {
            self.logs.note_whole(self.log, whole);
        }
        self.duty.after_block(&self.logs, block);
    }
}
