//! Logs: how transactions become durable.
//!
//! Submodules, in reading order: `record` (the bytes of log records), `buffer` (one log in memory: reserve,
//! fill, publish), `store` (blocks and segment files), `manifest` (which logs count), `durable` (who waits
//! for what), `logger` (the thread that writes one log), `preparer` (files ahead of need).
//!
//! [`Logs`] is all of them at work for one incarnation: a buffer and a logger thread for each log, one
//! [`DurableWatch`]. The protocols append through it.
//!
//! ```text
//!   worker --append--> buffer --logger: block, durable write--> segment file
//!                         \--advance--> DurableWatch --wakes--> answers
//! ```
//!
//! An anchor (paper: LPLV) is a log record with durable positions of all logs, ends of records each. A logger
//! publishes it to those who compress LSN vectors only after its append (pitfall 18). The *floor*, the
//! element-wise minimum of the published anchors of all logs that are at work, is what an absent tuple reads
//! as (pitfall 19): it is at most the anchor before a record, so it costs no bytes there. In a log that was
//! idle it costs a few.

pub mod append;
pub mod buffer;
pub mod durable;
mod logger;
pub mod manifest;
mod preparer;
pub mod record;
pub mod store;

#[cfg(all(test, not(loom)))]
mod tests;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use buffer::{LogBuffer, LogBufferReader};
use crossbeam_utils::CachePadded;
use durable::DurableWatch;
use hyades_types::error::{Error, FatalError, Result, sqlstate};
use logger::Logger;
use manifest::Manifest;
use parking_lot::Mutex;
use preparer::Preparer;
use record::MAX_LOGS;
use smallvec::SmallVec;
use store::segment::SegmentSupply;
use store::trim::trim_log;
use store::writer::FileLogStore;

use crate::config::{Config, OnFailure};
use crate::disk::Disk;
use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};
use crate::sync::{AtomicBool, AtomicU64, Ordering};

pub use append::{Append, AppendProgress};

/// From this much on a worker lets its logger run.
pub(crate) const BACKLOG_BYTES: u64 = 32 << 10;

/// One log while the database runs.
pub(crate) struct Log {
    pub(crate) buffer: Arc<LogBuffer>,
    supply: Arc<SegmentSupply>,
    /// The last published anchor; entries are raised one by one, which is safe because each only grows.
    anchor: CachePadded<Box<[AtomicU64]>>,
}

/// The logs of the running incarnation.
pub struct Logs {
    logs: Box<[Log]>,
    watch: Arc<DurableWatch>,
    /// Element-wise minimum of the published anchors of the logs that were at work.
    floor: CachePadded<Box<[AtomicU64]>>,
    /// The end of the last whole record of each log that is durable: blocks may end inside a record, and
    /// nothing may name such a position, because a crash may leave nothing of that record.
    whole: CachePadded<Box<[AtomicU64]>>,
    /// Up to where LSN vectors may name positions of each log: the ends of blocks that hold more than an
    /// anchor.
    named: CachePadded<Box<[AtomicU64]>>,
    next_fragmented: AtomicU64,
    shared_block_bytes: u64,
    is_stopping: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    preparer: Arc<Preparer>,
    on_failure: Option<OnFailure>,
    home: Home,
}

/// Where the manifest is, and what stands in it while this incarnation runs.
struct Home {
    disk: Arc<dyn Disk>,
    data_directory: PathBuf,
    manifest: Manifest,
}

/// Keeps the logger threads running; stops them when dropped.
pub struct RunningLogs(Arc<Logs>);

impl Deref for RunningLogs {
    type Target = Arc<Logs>;

    fn deref(&self) -> &Arc<Logs> {
        &self.0
    }
}

impl Drop for RunningLogs {
    fn drop(&mut self) {
        // A failure has been reported to everybody who waited.
        let _ = self.0.shutdown();
    }
}

impl Logs {
    /// Starts a new incarnation with so many logs: freezes the ends that recovery entered
    /// in the manifest, gives back the space of what ended, creates the first segments, makes the manifest
    /// durable with the new incarnation, then starts the loggers (pitfall 15). Nothing is written before it
    /// is known that nothing stands in the way.
    pub fn start(config: &Config, count: usize, manifest: &mut Manifest) -> Result<RunningLogs> {
        assert!((1..=MAX_LOGS).contains(&count), "a protocol with logs has some, and not too many");
        let mut incarnation = manifest.plan_incarnation(config, count);
        let disk = &config.disk;
        let mut logs = Vec::new();
        let mut readers = Vec::new();
        let mut leftovers = Vec::new();
        for log in 0..incarnation.logs {
            let directory = incarnation.log_directory(&config.data_directory, log);
            let identity = manifest.identity(incarnation.number, log);
            let (buffer, reader) = LogBuffer::new(config.log_buffer_bytes);
            let supply = SegmentSupply::new(disk, directory, identity, config.segment_bytes, &buffer);
            leftovers.push(supply.examine()?);
            incarnation.segments_ahead = Some(supply.ahead());
            let anchor = CachePadded::new((0..incarnation.logs).map(|_| AtomicU64::new(0)).collect());
            logs.push(Log { buffer, supply: Arc::new(supply), anchor });
            readers.push(reader);
        }
        disk.create_directory(&config.data_directory)
            .map_err(|error| Error::io("could not create the data directory", &error))?;
        for (log, leftovers) in logs.iter().zip(&leftovers) {
            log.supply.create_directory(leftovers)?;
        }
        if Manifest::load(disk.as_ref(), &config.data_directory)?.as_ref() != Some(manifest) {
            // Of a new database, its name: it must outlive a crash before its first files carry it, only so
            // can the next start tell that the remains of this one are its own. Of others, the ends that were
            // just found.
            manifest.store(disk.as_ref(), &config.data_directory)?;
        }
        trim_ended(config, manifest);
        for log in &logs {
            log.supply.prepare_first()?;
        }
        manifest.incarnations.push(incarnation);
        manifest.store(disk.as_ref(), &config.data_directory)?;
        Logs::launch(logs, readers, config, manifest)
    }

    fn launch(
        logs: Vec<Log>,
        readers: Vec<LogBufferReader>,
        config: &Config,
        manifest: &Manifest,
    ) -> Result<RunningLogs> {
        let supplies = logs.iter().map(|log| Arc::clone(&log.supply)).collect();
        let running = RunningLogs(Arc::new(Logs {
            watch: DurableWatch::new(logs.iter().map(|log| Arc::clone(log.buffer.bell())).collect()),
            floor: CachePadded::new(logs.iter().map(|_| AtomicU64::new(0)).collect()),
            whole: CachePadded::new(logs.iter().map(|_| AtomicU64::new(0)).collect()),
            named: CachePadded::new(logs.iter().map(|_| AtomicU64::new(0)).collect()),
            logs: logs.into_boxed_slice(),
            next_fragmented: AtomicU64::new(0),
            shared_block_bytes: config.shared_block_bytes,
            is_stopping: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
            preparer: Arc::new(Preparer::new(supplies)),
            on_failure: config.on_failure.clone(),
            home: Home {
                disk: Arc::clone(&config.disk),
                data_directory: config.data_directory.clone(),
                manifest: manifest.clone(),
            },
        }));
        let spawn = |name: String, run: Box<dyn FnOnce() + Send>| {
            let thread = crate::sync::spawn(name, run)
                .map_err(|error| Error::io("could not start a thread for the log", &error))?;
            running.threads.lock().push(thread);
            Ok::<(), Error>(())
        };
        for (log, reader) in readers.into_iter().enumerate() {
            let store = FileLogStore::new(&running.logs[log].supply, &running.preparer);
            let logger = Logger::new(Arc::clone(&running), log, reader, Box::new(store));
            spawn(format!("log-{log}"), Box::new(move || logger.run()))?;
        }
        let preparer = Arc::clone(&running.preparer);
        spawn("log-preparer".to_owned(), Box::new(move || preparer.run()))?;
        Ok(running)
    }

    /// Number of logs.
    pub fn count(&self) -> usize {
        self.logs.len()
    }

    pub fn watch(&self) -> &Arc<DurableWatch> {
        &self.watch
    }

    pub(crate) fn log(&self, log: usize) -> &Log {
        &self.logs[log]
    }

    /// The end of everything reserved in a log so far.
    #[inline]
    pub fn reserved(&self, log: usize) -> Lsn {
        self.logs[log].buffer.reserved()
    }

    /// The log for a worker's next record: its own if that has work already, else the first that has little.
    /// So few transactions share blocks and wake-ups instead of having one each, and many use all logs.
    #[inline]
    pub fn choose(&self, worker: usize) -> usize {
        let own = worker % self.count();
        let has_little = |log: &usize| {
            self.reserved(*log).0.saturating_sub(self.watch.durable(*log).0) < self.shared_block_bytes
        };
        if has_little(&own) { (0..self.count()).find(has_little).unwrap_or(own) } else { own }
    }

    /// How far the worker's own log is filled, if much of that is not durable yet.
    #[inline]
    pub fn backlog(&self, worker: usize) -> Option<Lsn> {
        let own = worker % self.count();
        let filled = self.reserved(own);
        (filled.0.saturating_sub(self.watch.durable(own).0) >= BACKLOG_BYTES).then_some(filled)
    }

    /// What an absent tuple's LSN vector reads as, and what may be forgotten (pitfall 19). Monotone.
    #[inline]
    pub fn floor(&self, log: usize) -> Lsn {
        Lsn(self.floor[log].load(Ordering::Acquire))
    }

    /// Entry `of` of the last anchor published by `log`.
    #[inline]
    pub fn anchor(&self, log: usize, of: usize) -> Lsn {
        Lsn(self.logs[log].anchor[of].load(Ordering::Acquire))
    }

    /// Up to where the log is durable in whole records: what anchors hold.
    #[inline]
    pub(crate) fn whole(&self, log: usize) -> Lsn {
        if mutant::is_active(Mutant::AnchorsInsideRecords) {
            return self.watch.durable(log);
        }
        Lsn(self.whole[log].load(Ordering::Acquire))
    }

    /// The log is durable up to the end of this record. Zero: of none that was not noted before.
    fn note_whole(&self, log: usize, end: Lsn) {
        self.whole[log].fetch_max(end.0, Ordering::AcqRel);
    }

    /// A vector may name this position of the log.
    pub(crate) fn note_named(&self, log: usize, position: Lsn) {
        self.named[log].fetch_max(position.0, Ordering::AcqRel);
    }

    /// Whether vectors may name positions that this anchor of a log does not cover.
    fn is_named_above(&self, anchor: &[u64]) -> bool {
        anchor.iter().zip(self.named.iter()).any(|(anchor, named)| *anchor < named.load(Ordering::Acquire))
    }

    /// The anchor stands in the buffer: compressors may use it, and the floor may follow.
    fn publish_anchor(&self, log: usize, durable: &[u64]) {
        for (entry, position) in self.logs[log].anchor.iter().zip(durable) {
            entry.store(*position, Ordering::Release);
        }
        let is_busy = |other: &usize| *other == log || self.reserved(*other) > self.watch.durable(*other);
        let busy: SmallVec<[&Log; 8]> =
            (0..self.count()).filter(is_busy).map(|log| &self.logs[log]).collect();
        for (of, floor) in self.floor.iter().enumerate() {
            let lowest = busy.iter().map(|log| log.anchor[of].load(Ordering::Acquire)).min();
            floor.fetch_max(lowest.unwrap_or(0), Ordering::AcqRel);
        }
    }

    /// Makes everything appended so far durable, stops the threads, enters the ends of the logs in the
    /// manifest, gives unused disk space back. Whoever appends afterwards gets a fatal error. Returns the
    /// failure that had poisoned the database before, if any.
    pub fn shutdown(&self) -> Result<()> {
        let mut threads = self.threads.lock();
        let is_first = !self.is_stopping.swap(true, Ordering::SeqCst);
        if is_first && mutant::is_active(Mutant::EndsBeforeDurable) {
            drop(self.record_ends(|log| self.reserved(log)));
        }
        self.preparer.stop();
        for log in &self.logs {
            log.buffer.bell().ring_urgently();
        }
        for thread in threads.drain(..) {
            // A logger that panicked has poisoned the database on its way out.
            let _ = thread.join();
        }
        drop(threads);
        let mut outcome = match self.watch.failure() {
            Some(failure) if failure.state != sqlstate::ADMIN_SHUTDOWN => {
                Err(Error::Fatal(Arc::clone(failure)))
            }
            _ => Ok(()),
        };
        if is_first {
            let message = "the database has been shut down".to_owned();
            self.poison(Arc::new(FatalError { state: sqlstate::ADMIN_SHUTDOWN, message }));
            if outcome.is_ok() {
                outcome = self.record_ends(|log| self.watch.durable(log));
            }
            if outcome.is_ok() {
                for log in &self.logs {
                    log.supply.give_back_unused();
                }
            }
        }
        outcome
    }

    /// Enters in the manifest that this incarnation has ended, and where: a log that is found shorter or
    /// damaged from now on has lost something. Who begins another incarnation makes that durable before its
    /// first log record, so there is nothing to take back.
    fn record_ends(&self, end: impl Fn(usize) -> Lsn) -> Result<()> {
        let Home { disk, data_directory, manifest } = &self.home;
        let mut manifest = manifest.clone();
        let ends: Vec<u64> = (0..self.count()).map(|log| end(log).0).collect();
        if let Some(incarnation) = manifest.incarnations.last_mut() {
            incarnation.freeze(&LsnVector::from_slice(&ends));
        }
        manifest.store(disk.as_ref(), data_directory)
    }

    /// Nothing is acknowledged any more; whoever waits learns it.
    fn poison(&self, error: Arc<FatalError>) {
        let is_first = self.watch.failure().is_none();
        if let Some(on_failure) =
            self.on_failure.as_ref().filter(|_| is_first && error.state != sqlstate::ADMIN_SHUTDOWN)
        {
            on_failure(&error);
        }
        self.watch.poison(error);
        for log in &self.logs {
            log.buffer.close();
            log.buffer.bell().ring_urgently();
        }
    }
}

/// Gives back the space that ended incarnations do not need. Only space is at stake: the next start tries
/// again.
fn trim_ended(config: &Config, manifest: &Manifest) {
    for incarnation in manifest.incarnations.iter().filter(|incarnation| incarnation.end.is_some()) {
        for log in 0..incarnation.logs {
            let directory = incarnation.log_directory(&config.data_directory, log);
            let identity = manifest.identity(incarnation.number, log);
            let first_segment = incarnation.first_segments[log];
            if let Err(error) = trim_log(&config.disk, &directory, identity, first_segment) {
                tracing::warn!("{error}");
            }
        }
    }
}
