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
//! What the positions mean is the protocols' business. One that appends records of its own, beside those of
//! transactions, gives each logger a [`LoggerDuty`].

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
pub use logger::{DurableBlock, LoggerDuty};
use manifest::Manifest;
use parking_lot::Mutex;
use preparer::Preparer;
use record::MAX_LOGS;
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
}

/// The logs of the running incarnation.
pub struct Logs {
    logs: Box<[Log]>,
    watch: Arc<DurableWatch>,
    /// The end of the last whole record of each log that is durable: blocks may end inside a record, and
    /// nothing may name such a position, because a crash may leave nothing of that record.
    whole: CachePadded<Box<[AtomicU64]>>,
    next_fragmented: AtomicU64,
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
    /// Starts a new incarnation with so many logs, whose loggers have these duties: freezes the ends that
    /// recovery entered in the manifest, gives back the space of what ended, creates the first segments,
    /// makes the manifest durable with the new incarnation, then starts the loggers (pitfall 15). Nothing is
    /// written before it is known that nothing stands in the way.
    pub fn start(
        config: &Config,
        count: usize,
        manifest: &mut Manifest,
        duty: impl Fn(usize) -> Box<dyn LoggerDuty>,
    ) -> Result<RunningLogs> {
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
            logs.push(Log { buffer, supply: Arc::new(supply) });
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
        Logs::launch(logs, readers, config, manifest, duty)
    }

    fn launch(
        logs: Vec<Log>,
        readers: Vec<LogBufferReader>,
        config: &Config,
        manifest: &Manifest,
        duty: impl Fn(usize) -> Box<dyn LoggerDuty>,
    ) -> Result<RunningLogs> {
        let supplies = logs.iter().map(|log| Arc::clone(&log.supply)).collect();
        let running = RunningLogs(Arc::new(Logs {
            watch: DurableWatch::new(logs.iter().map(|log| Arc::clone(log.buffer.bell())).collect()),
            whole: CachePadded::new(logs.iter().map(|_| AtomicU64::new(0)).collect()),
            logs: logs.into_boxed_slice(),
            next_fragmented: AtomicU64::new(0),
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
            let logger = Logger::new(Arc::clone(&running), log, reader, Box::new(store), duty(log));
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

    /// How far a log is filled, if much of that is not durable yet.
    #[inline]
    pub fn backlog(&self, log: usize) -> Option<Lsn> {
        let filled = self.reserved(log);
        (filled.0.saturating_sub(self.watch.durable(log).0) >= BACKLOG_BYTES).then_some(filled)
    }

    /// Up to where the log is durable in whole records.
    #[inline]
    pub fn whole(&self, log: usize) -> Lsn {
        Lsn(self.whole[log].load(Ordering::Acquire))
    }

    /// The log is durable up to the end of this record. Zero: of none that was not noted before.
    fn note_whole(&self, log: usize, end: Lsn) {
        self.whole[log].fetch_max(end.0, Ordering::AcqRel);
    }

    /// Wakes the logger of a log: its duty may have work.
    pub fn ring(&self, log: usize) {
        self.logs[log].buffer.ring();
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
