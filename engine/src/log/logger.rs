//! The writer of one log.
//!
//! It is a role: a log's own thread has it while it is awake, and a session takes it while that thread sleeps
//! ([`write_here`]). A session that is the only one that waits for a transaction writes the block
//! itself, which costs no change of threads. Whatever it leaves, it leaves to the thread.
//!
//! Group commit adapts by itself: while a block is being written, the buffer fills, and the next block takes
//! all of it. A lone transaction is written at once. Workers wake the thread only when it is idle and sleeps
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
//! 3. One thread has the role at a time. A thread that publishes a record and finds the role taken rings the
//!    bell of the log's thread, which looks once more after it has given up the role: for records, and for
//!    blocks under way.

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
use crate::sync::{LongLock, Ordering, now};

/// See [`LoggerDuty::linger`].
const LINGER: Duration = Duration::from_millis(1);
/// If this much is ready, a block begins.
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

    /// Whether a block is due at once: answers wait for it.
    fn is_urgent(&self, logs: &Logs) -> bool {
        logs.watch.has_waiters()
    }

    /// Otherwise, a block begins at least this long after the one before, unless much is ready.
    fn linger(&self) -> Duration {
        LINGER
    }

    /// The longest time for which an idle logger may sleep.
    fn rest(&self, _logs: &Logs) -> Option<Duration> {
        None
    }
}

/// A logger that only writes.
impl LoggerDuty for () {}

/// Whether a session may write itself depends on the device: this is how long a block may take.
const PROMPT: Duration = Duration::from_millis(1);

/// The role of writing a log. `None` when there is nothing more to write.
pub(crate) type WriterRole = LongLock<Option<Logger>>;

/// What the writer of a log needs: see the module documentation.
pub(crate) struct Logger {
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
    /// The log's thread sleeps until it is woken, although the duty may have something to do later.
    sleeps_soundly: bool,
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

/// Poisons the database if the writer of a log panics.
struct PanicGuard<'a> {
    logs: &'a Logs,
    log: usize,
    is_over: bool,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let message = format!("the logger of log {} has stopped unexpectedly", self.log);
            fail(self.logs, Arc::new(FatalError { state: sqlstate::INTERNAL_ERROR, message }));
        }
    }
}

fn fail(logs: &Logs, failure: Arc<FatalError>) {
    tracing::error!(state = %failure.state, "{}", failure.message);
    logs.poison(failure);
}

/// Has the role of a log's writer do this. An error, or a panic, poisons the database.
fn guarded<T>(logs: &Logs, log: usize, work: impl FnOnce() -> Result<T>) -> Option<T> {
    let mut guard = PanicGuard { logs, log, is_over: false };
    let outcome = work();
    guard.is_over = true;
    match outcome {
        Ok(done) => Some(done),
        Err(Error::Fatal(failure)) => {
            fail(logs, failure);
            None
        }
        Err(other) => {
            fail(logs, Arc::new(FatalError { state: other.sqlstate(), message: other.to_string() }));
            None
        }
    }
}

/// The life of a log's own thread: it writes until the logs are shut down and everything is durable, or until
/// something fails.
pub(crate) fn run(logs: &Logs, log: usize) {
    guarded(logs, log, || {
        while let Some(rest) = write_until_idle(logs, log)? {
            sleep(logs, log, rest);
        }
        Ok(())
    });
}

/// Returns how long the thread may sleep (`None`: until it is woken), or `None` at the end. Then, as after an
/// error or a panic, no other thread gets the role.
fn write_until_idle(logs: &Logs, log: usize) -> Result<Option<Option<Duration>>> {
    let mut role = logs.writers[log].lock();
    let Some(mut logger) = role.take() else { return Ok(None) };
    let rest = logger.work(logs)?;
    if rest.is_some() {
        *role = Some(logger);
    }
    Ok(rest)
}

/// Sleeps for so long, or until the bell rings, unless there is work.
fn sleep(logs: &Logs, log: usize, limit: Option<Duration>) {
    let buffer = logs.buffer(log);
    let has_work = || {
        let is_wanted = || match logs.writers[log].try_lock() {
            // A session may have left a block under way, or work for later, before this thread could hear its
            // bell.
            Some(role) => role.as_ref().is_none_or(|logger| {
                let has_later_work = limit.is_none() && !logger.sleeps_soundly;
                !logger.under_way.is_empty() || has_later_work || logger.duty.is_due(logs)
            }),
            // What the session leaves is not known yet.
            None => true,
        };
        buffer.has_filled()
            || logs.is_stopping.load(Ordering::SeqCst)
            || logs.watch.failure().is_some()
            || is_wanted()
    };
    match limit {
        None => buffer.bell().sleep_unless(has_work),
        Some(limit) => buffer.bell().sleep_for_unless(limit, has_work),
    }
}

/// Writes what is ready in the calling thread, unless another one is at it. Returns false if that is left to
/// the log's own thread.
pub(crate) fn write_here(logs: &Logs, log: usize) -> bool {
    let Some(mut role) = logs.writers[log].try_lock() else { return false };
    let Some(mut logger) = role.take() else { return false };
    let outcome = guarded(logs, log, || logger.write_ready(logs));
    if outcome.is_some() {
        *role = Some(logger);
    }
    outcome.unwrap_or(false)
}

impl Logger {
    pub(crate) fn new(
        log: usize,
        reader: LogBufferReader,
        store: Box<dyn LogStore>,
        duty: Box<dyn LoggerDuty>,
    ) -> Logger {
        Logger {
            log,
            reader,
            store,
            block: BlockBuffer::default(),
            duty,
            last_write: None,
            boundary: RecordBoundary::default(),
            under_way: VecDeque::new(),
            sleeps_soundly: false,
        }
    }

    /// What the log's own thread does: writes until there is nothing to write.
    fn work(&mut self, logs: &Logs) -> Result<Option<Option<Duration>>> {
        loop {
            if logs.watch.failure().is_some() {
                return Ok(None);
            }
            while let Some(durable) = self.store.next_durable()? {
                self.note_durable(logs, &durable);
            }
            if self.reader.ready() > self.reader.position() {
                match self.store.room()? {
                    Some(room) => {
                        self.linger(logs);
                        self.duty.before_block(logs);
                        self.write_block(logs, room)?;
                    }
                    None => {
                        let durable = self.store.wait_for_durable()?;
                        self.note_durable(logs, &durable);
                    }
                }
                continue;
            }
            let is_stopping = logs.is_stopping.load(Ordering::SeqCst);
            if !self.under_way.is_empty() {
                let store = &self.store;
                self.reader.sleep_unless(|| {
                    store.has_durable()
                        || logs.watch.failure().is_some()
                        || (!is_stopping && logs.is_stopping.load(Ordering::SeqCst))
                });
                continue;
            }
            if self.duty.when_idle(logs) {
                continue;
            }
            if is_stopping && logs.reserved(self.log) == self.reader.position() {
                self.store.close();
                return Ok(None);
            }
            if is_stopping {
                // A worker is still filling the last records.
                crate::sync::yield_now();
                continue;
            }
            self.last_write = None;
            let rest = self.duty.rest(logs);
            self.sleeps_soundly = rest.is_none();
            return Ok(Some(rest));
        }
    }

    /// What a session does in place of the log's thread, which sleeps: writes what is ready now. Returns
    /// false if something is left to the thread.
    fn write_ready(&mut self, logs: &Logs) -> Result<bool> {
        let until = self.reader.ready();
        while self.reader.position() < until {
            if logs.watch.failure().is_some() {
                return Ok(false);
            }
            let Some(room) = self.store.room()? else { return Ok(false) };
            self.duty.before_block(logs);
            self.write_block(logs, room)?;
            while let Some(durable) = self.store.next_durable()? {
                self.note_durable(logs, &durable);
            }
        }
        if self.sleeps_soundly && self.duty.rest(logs).is_some() {
            self.sleeps_soundly = false;
            logs.ring(self.log);
        }
        Ok(self.under_way.is_empty() && self.reader.ready() == self.reader.position())
    }

    /// Lets more records accumulate, unless an answer waits.
    fn linger(&mut self, logs: &Logs) {
        let Some(last) = self.last_write else { return };
        let rest = self.duty.linger().saturating_sub(now().duration_since(last));
        let is_enough = self.reader.ready().0 - self.reader.position().0 >= LINGER_BYTES;
        if rest.is_zero() || is_enough {
            return;
        }
        let duty = &self.duty;
        self.reader.doze_unless(rest, || {
            duty.is_urgent(logs) || logs.is_stopping.load(Ordering::SeqCst) || logs.watch.failure().is_some()
        });
    }

    /// Writes what is ready, or as much as fits into a block with this room.
    fn write_block(&mut self, logs: &Logs, room: usize) -> Result<()> {
        let position = self.reader.position();
        let begun = now();
        self.last_write = Some(begun);
        let ready = self.reader.ready().0 - position.0;
        let payload = self.block.payload_mut(ready.min(room as u64) as usize);
        self.reader.take(payload);
        self.under_way.push_back(self.boundary.pass(position, payload));
        if mutant::is_active(Mutant::DurableBeforeSync) {
            logs.watch.advance(self.log, self.reader.position());
        }
        self.store.submit(&mut self.block, position)?;
        logs.are_prompt[self.log].store(now().duration_since(begun) <= PROMPT, Ordering::Relaxed);
        Ok(())
    }

    /// The oldest block under way is durable.
    fn note_durable(&mut self, logs: &Logs, block: &DurableBlock) {
        logs.watch.advance(self.log, block.end);
        if block.is_first_in_segment {
            logs.note_settled(self.log);
        }
        if let Some(whole) = self.under_way.pop_front() {
            logs.note_whole(self.log, whole);
        }
        self.duty.after_block(logs, block);
    }
}
