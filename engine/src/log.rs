//! Logs: how transactions become durable.
//!
//! Files, in reading order:
//! * `record`: the bytes of log records;
//! * `buffer`: one log in memory: reserve, fill, publish; `append`: a transaction into a buffer, in one piece
//!   or in fragments;
//! * `set`: where logs live, as an interface; `store`: in files, as blocks and segments; `places`: which of
//!   them a configuration means;
//! * `manifest`: which logs count;
//! * `durable`: waiting for durability; `logger`: the writer of one log, a thread or a session.
//!
//! [`Logs`] is all of them at work for one incarnation: a buffer and a writer for each log, one
//! [`DurableWatch`]. The protocols append through it.
//!
//! ```text
//!   worker --append--> buffer --logger: block, durable write--> segment file
//!                         \--advance--> DurableWatch --wakes--> answers
//! ```
//!
//! The meaning of positions is up to the protocols. A protocol that appends records of its own, besides those
//! of transactions, gives each logger a [`LoggerDuty`].

pub mod append;
pub mod buffer;
pub mod durable;
mod logger;
pub mod manifest;
pub mod places;
pub mod record;
pub mod set;
pub mod store;

#[cfg(all(test, not(loom)))]
mod tests;

use std::ops::Deref;
use std::sync::Arc;

use buffer::{LogBuffer, LogBufferReader};
use crossbeam_utils::CachePadded;
use durable::DurableWatch;
use hyades_types::error::{Error, FatalError, Result, sqlstate};
pub use logger::LoggerDuty;
use logger::{Logger, WriterRole};
use manifest::{Checkpoint, Incarnation, LogShape, Manifest, ManifestStore, UpToEnd};
use places::{log_set, manifest_store, new_log_set};
use record::MAX_LOGS;
pub use set::DurableBlock;
use set::NewLogSet;

use crate::commit_clock::CommitClock;
use crate::config::{Config, OnFailure, RestartMode};
use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};
use crate::sync::{AtomicBool, AtomicU64, JoinHandle, LongLock, Ordering};

pub use append::{Append, AppendProgress};

/// From this many bytes on a worker lets its logger run.
pub(crate) const BACKLOG_BYTES: u64 = 32 << 10;

/// The logs of the running incarnation.
pub struct Logs {
    buffers: Box<[Arc<LogBuffer>]>,
    set: Arc<dyn NewLogSet>,
    watch: Arc<DurableWatch>,
    clock: CommitClock,
    /// The end of the last durable whole record of each log. Blocks may end inside a record, but nothing may
    /// name such a position, because a crash may leave nothing of that record.
    whole: Box<[CachePadded<AtomicU64>]>,
    /// As `whole`, but only up to the segment that is being written.
    settled: Box<[CachePadded<AtomicU64>]>,
    next_fragmented: AtomicU64,
    writers: Box<[CachePadded<WriterRole>]>,
    /// Whether the last block of each log has been written within a moment.
    are_prompt: Box<[AtomicBool]>,
    is_stopping: AtomicBool,
    threads: LongLock<Vec<JoinHandle>>,
    on_failure: Option<OnFailure>,
    /// Large transactions of which the first pieces, but not the last one, are in a log.
    series: Arc<append::SeriesList>,
    manifests: Box<dyn ManifestStore>,
    /// The content of the manifest.
    manifest: LongLock<Manifest>,
    /// See [`Logs::work_to_replay`].
    work: AtomicU64,
    /// With a protocol that has them.
    stamps: Option<Arc<dyn Stamps>>,
    config: Config,
}

/// The stamps of the records of all logs (`protocol::FieldReader`).
pub trait Stamps: Send + Sync {
    /// The largest that a record has whose place is reserved, or a larger one, up to which the logs will be
    /// complete soon.
    fn newest(&self) -> u64;

    /// Whether they become durable as soon as blocks are written, and not at times of their own: then a block
    /// is due when an answer waits for a stamp.
    fn comes_with_blocks(&self) -> bool;
}

/// Where a checkpoint begins, in all logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// The reserved end of each log.
    pub(crate) reserved: Vec<u64>,
    /// Where a large transaction that goes on after that has its first piece. Without one, the same.
    pub(crate) from: Vec<u64>,
}

/// Keeps the logger threads running, and stops them when dropped.
pub struct RunningLogs(Arc<Logs>);

impl Deref for RunningLogs {
    type Target = Arc<Logs>;

    fn deref(&self) -> &Arc<Logs> {
        &self.0
    }
}

impl Drop for RunningLogs {
    fn drop(&mut self) {
        // Every waiter has been told of a failure already.
        let _ = self.0.shutdown();
    }
}

/// Gives back the space that ended logs do not need. The manifest that says where they end must be durable,
/// and nothing may be reading them.
pub(crate) fn give_back_space(config: &Config, manifest: &Manifest) {
    for ended in manifest.incarnations.iter().filter(|incarnation| incarnation.end.is_some()) {
        let ended = log_set(config, manifest, ended);
        ended.remove_given_up();
        ended.trim();
    }
}

impl Logs {
    /// Starts a new incarnation with this many logs, whose loggers have these duties. It freezes the ends
    /// that recovery entered in the manifest, gives back the space of ended logs unless a restart still reads
    /// them (then the restart does that), creates the first segments, makes the manifest durable with the new
    /// incarnation, then starts the loggers (pitfall 15). Nothing is written before it is known that the
    /// names of the new files are free.
    pub fn start(
        config: &Config,
        shape: LogShape,
        manifest: &mut Manifest,
        duty: impl Fn(usize) -> Box<dyn LoggerDuty>,
    ) -> Result<RunningLogs> {
        Logs::start_with(config, shape, manifest, duty, None)
    }

    /// The same for a protocol that has stamps.
    pub fn start_with_stamps(
        config: &Config,
        shape: LogShape,
        manifest: &mut Manifest,
        duty: impl Fn(usize) -> Box<dyn LoggerDuty>,
        stamps: Arc<dyn Stamps>,
    ) -> Result<RunningLogs> {
        Logs::start_with(config, shape, manifest, duty, Some(stamps))
    }

    fn start_with(
        config: &Config,
        shape: LogShape,
        manifest: &mut Manifest,
        duty: impl Fn(usize) -> Box<dyn LoggerDuty>,
        stamps: Option<Arc<dyn Stamps>>,
    ) -> Result<RunningLogs> {
        assert!((1..=MAX_LOGS).contains(&shape.logs), "a protocol with logs has some, and not too many");
        let mut incarnation = manifest.plan_incarnation(config, shape);
        let manifests = manifest_store(config);
        let (buffers, readers): (Vec<_>, Vec<_>) =
            (0..shape.logs).map(|_| LogBuffer::new(config.log_buffer_bytes)).unzip();
        let set = new_log_set(config, manifest, &mut incarnation, &buffers)?;
        manifests.create()?;
        set.create_places()?;
        if mutant::is_active(Mutant::TrimmedBeforeManifest) {
            give_back_space(config, manifest);
        }
        if manifests.load()?.as_ref() != Some(manifest) {
            // For a new database this stores its name, which must survive a crash before its first files
            // carry it. Only then can the next start tell that the remains of this one are its own. For
            // others it stores the ends that were just found.
            manifests.store(manifest)?;
        }
        if config.restart == RestartMode::Complete {
            give_back_space(config, manifest);
        }
        set.create_logs()?;
        manifest.incarnations.push(incarnation);
        manifests.store(manifest)?;
        Logs::launch(set, buffers, readers, config, (manifests, manifest.clone()), (duty, stamps))
    }

    fn launch(
        set: Arc<dyn NewLogSet>,
        buffers: Vec<Arc<LogBuffer>>,
        readers: Vec<LogBufferReader>,
        config: &Config,
        (manifests, manifest): (Box<dyn ManifestStore>, Manifest),
        (duty, stamps): (impl Fn(usize) -> Box<dyn LoggerDuty>, Option<Arc<dyn Stamps>>),
    ) -> Result<RunningLogs> {
        let bells = buffers.iter().map(|buffer| Arc::clone(buffer.bell())).collect();
        let mut writers = Vec::with_capacity(readers.len());
        for (log, reader) in readers.into_iter().enumerate() {
            let logger = Logger::new(log, reader, set.store(log)?, duty(log));
            writers.push(CachePadded::new(WriterRole::new(Some(logger))));
        }
        let running = RunningLogs(Arc::new(Logs {
            writers: writers.into_boxed_slice(),
            are_prompt: buffers.iter().map(|_| AtomicBool::new(true)).collect(),
            watch: DurableWatch::new(bells, stamps.as_ref().map(|stamps| stamps.comes_with_blocks())),
            whole: buffers.iter().map(|_| CachePadded::default()).collect(),
            settled: buffers.iter().map(|_| CachePadded::default()).collect(),
            buffers: buffers.into_boxed_slice(),
            clock: CommitClock::new(),
            set,
            next_fragmented: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            threads: LongLock::new(Vec::new()),
            on_failure: config.on_failure.clone(),
            series: Arc::default(),
            work: AtomicU64::new(0),
            stamps,
            manifests,
            manifest: LongLock::new(manifest),
            config: config.clone(),
        }));
        let spawn = |name: String, run: Box<dyn FnOnce() + Send>| {
            let thread = crate::sync::spawn(name, run)
                .map_err(|error| Error::io("could not start a thread for the log", &error))?;
            running.threads.lock().push(thread);
            Ok::<(), Error>(())
        };
        for log in 0..running.count() {
            let logs = Arc::clone(&running);
            spawn(format!("log-{log}"), Box::new(move || logger::run(&logs, log)))?;
        }
        let set = Arc::clone(&running.set);
        spawn("log-preparer".to_owned(), Box::new(move || set.prepare()))?;
        Ok(running)
    }

    /// Number of logs.
    pub fn count(&self) -> usize {
        self.buffers.len()
    }

    pub fn watch(&self) -> &Arc<DurableWatch> {
        &self.watch
    }

    /// The clock of the transactions that are logged here.
    pub(crate) fn clock(&self) -> &CommitClock {
        &self.clock
    }

    pub(crate) fn buffer(&self, log: usize) -> &LogBuffer {
        &self.buffers[log]
    }

    /// The end of everything reserved in a log so far.
    #[inline]
    pub fn reserved(&self, log: usize) -> Lsn {
        self.buffers[log].reserved()
    }

    /// The memory of a log's buffer.
    pub fn buffer_bytes(&self, log: usize) -> u64 {
        self.buffers[log].capacity_bytes() as u64
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

    /// The end of the last whole record of a log, not striped, before the segment that is being written.
    /// Nothing is written up to there any more, so reading it disturbs no writer.
    pub(crate) fn settled(&self, log: usize) -> Lsn {
        Lsn(self.settled[log].load(Ordering::Acquire))
    }

    /// All whole records so far are in segments that are no longer written.
    pub(crate) fn note_settled(&self, log: usize) {
        self.settled[log].store(self.whole(log).0, Ordering::Release);
    }

    /// The log is durable up to the end of this record. Zero: no record since the last call.
    fn note_whole(&self, log: usize, end: Lsn) {
        self.whole[log].fetch_max(end.0, Ordering::AcqRel);
    }

    /// Writes a log in the calling thread, if that is prompt, no other session waits for anything and the
    /// log's own thread sleeps. Returns false if what the log holds is left to that thread, which may have to
    /// be woken.
    pub(crate) fn write_if_alone(&self, log: usize) -> bool {
        self.are_prompt[log].load(Ordering::Relaxed)
            && !self.watch.has_waiters()
            && logger::write_here(self, log)
    }

    /// Wakes the logger of a log, because its duty may have work.
    pub fn ring(&self, log: usize) {
        self.buffers[log].ring();
    }

    /// The same, even if it lets records accumulate.
    pub fn ring_urgently(&self, log: usize) {
        self.buffers[log].bell().ring_urgently();
    }

    /// Why the log gets no more room on its disk at the moment.
    pub(crate) fn disk_failure(&self, log: usize) -> Option<Error> {
        self.set.failure(log)
    }

    /// With a protocol that has stamps, one at least as large as those of all records that have been
    /// reserved.
    pub(crate) fn newest_stamp(&self) -> Option<u64> {
        self.stamps.as_ref().map(|stamps| stamps.newest())
    }

    /// Makes everything appended so far durable, stops the threads, enters the ends of the logs in the
    /// manifest, and gives unused disk space back. Later appends get a fatal error. Returns the failure that
    /// had poisoned the database before, if any.
    pub fn shutdown(&self) -> Result<()> {
        let mut threads = self.threads.lock();
        let is_first = !self.is_stopping.swap(true, Ordering::SeqCst);
        if is_first && mutant::is_active(Mutant::EndsBeforeDurable) {
            drop(self.record_ends(|log| self.reserved(log)));
        }
        self.set.stop();
        for buffer in &self.buffers {
            buffer.bell().ring_urgently();
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
                outcome = self.check_files().and_then(|()| self.record_ends(|log| self.watch.durable(log)));
            }
            if outcome.is_ok() {
                self.set.seal();
            }
        }
        outcome
    }

    /// Enters in the manifest that this incarnation has ended, and where: a log that is found shorter or
    /// damaged from now on has lost something. The start of another incarnation makes that durable before its
    /// first log record, so there is nothing to take back.
    fn record_ends(&self, end: impl Fn(usize) -> Lsn) -> Result<()> {
        let mut manifest = self.manifest.lock();
        let ends: Vec<u64> = (0..self.count()).map(|log| end(log).0).collect();
        if let Some(incarnation) = manifest.incarnations.last_mut() {
            // What a session has appended meanwhile may be in one log, and what it follows not in another
            // one.
            let stamp = self.stamps.as_ref().map(|_| self.watch.durable_stamp());
            let is_unknown = (0..self.count()).any(|log| self.reserved(log).0 > ends[log]);
            let up_to_end = UpToEnd { stamp, is_unknown, ..UpToEnd::default() };
            incarnation.freeze(&LsnVector::from_slice(&ends), up_to_end);
        }
        self.manifests.store(&manifest)
    }

    /// Up to where all logs are reserved, together with the large transactions that begin before it and go on
    /// after it, as of the same moment.
    pub(crate) fn beginning(&self) -> Beginning {
        self.series.beginning(|| (0..self.count()).map(|log| self.reserved(log).0).collect())
    }

    /// The content of the manifest.
    pub(crate) fn manifest(&self) -> Manifest {
        self.manifest.lock().clone()
    }

    /// Bytes of log records that a start would have to replay if the process ended now.
    pub(crate) fn bytes_to_replay(&self) -> u64 {
        let manifest = self.manifest.lock();
        let bytes = |incarnation: &Incarnation| {
            let from = manifest.replay_from(incarnation);
            let frozen = incarnation.frozen_end();
            // The running one has no end.
            let end = |log| frozen.as_ref().map_or_else(|| self.reserved(log), |end| end.get(log));
            (0..incarnation.logs).map(|log| end(log).0.saturating_sub(from.get(log).0)).sum::<u64>()
        };
        manifest.to_replay().map(bytes).sum()
    }

    /// Work that a start would have to do again, beside reading its log records and storing rows: that of
    /// logged calls that compute for long, in units of a guest.
    pub(crate) fn work_to_replay(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    pub(crate) fn note_work(&self, units: u64) {
        self.work.fetch_add(units, Ordering::Relaxed);
    }

    /// A checkpoint holds what so much of the work has done.
    pub(crate) fn forget_work(&self, units: u64) {
        self.work.fetch_sub(units, Ordering::Relaxed);
    }

    /// Bytes of the blocks that have been written to a log since the start, with their padding.
    pub fn stored_bytes(&self, log: usize) -> u64 {
        self.set.stored_bytes(log)
    }

    /// Bytes of the files of ended logs that a start would have to replay if the process ended now.
    pub(crate) fn ended_bytes(&self) -> Result<u64> {
        let manifest = self.manifest();
        let mut bytes = 0;
        for ended in manifest.to_replay().filter(|incarnation| incarnation.end.is_some()) {
            let (set, from) = (log_set(&self.config, &manifest, ended), manifest.replay_from(ended));
            for log in 0..ended.logs {
                bytes += set.stored_bytes_from(log, from.get(log))?;
            }
        }
        Ok(bytes)
    }

    /// Looks whether the files are there that the manifest names. If one is gone, nothing that is logged will
    /// ever be found again, so the database is poisoned.
    pub(crate) fn check_files(&self) -> Result<()> {
        let manifest = self.manifest();
        let mut logged = manifest.incarnations.iter().filter(|incarnation| incarnation.logs > 0);
        let missing = logged.find_map(|incarnation| match incarnation.end {
            None => self.set.missing(&incarnation.first_segments),
            Some(_) => log_set(&self.config, &manifest, incarnation).missing(),
        });
        let Some(path) = missing else { return Ok(()) };
        let path = path.display();
        let error = Error::fatal(
            sqlstate::UNDEFINED_FILE,
            format!(
                "log file \"{path}\" has gone while the server runs: what is written would not be found again"
            ),
        );
        self.fail(&error);
        Err(error)
    }

    /// The files of this checkpoint are durable: makes it count, and gives up what none of the kept
    /// checkpoints needs (pitfall 28). An error leaves things as they were, or as they should become.
    pub(crate) fn publish(&self, checkpoint: Checkpoint) -> Result<()> {
        let mut manifest = self.manifest.lock();
        let mut next = manifest.clone();
        next.add_checkpoint(checkpoint);
        let gone = next.give_up_incarnations();
        self.give_up_segments(&mut next)?;
        self.manifests.store(&next)?;
        let before = std::mem::replace(&mut *manifest, next);
        for incarnation in &gone {
            log_set(&self.config, &before, incarnation).remove();
        }
        if let [oldest, _] = manifest.checkpoints.as_slice()
            && let Some(incarnation) =
                manifest.incarnations.iter().find(|incarnation| incarnation.number == oldest.incarnation)
        {
            match incarnation.end {
                Some(_) => log_set(&self.config, &manifest, incarnation).remove_given_up(),
                None => self.set.give_up_before(&incarnation.first_segments),
            }
        }
        Ok(())
    }

    /// Notes in the manifest that the last checkpoint was found damaged, so that the next start reads all of
    /// it before it lets transactions in.
    pub(crate) fn suspect_last_checkpoint(&self) -> Result<()> {
        let mut manifest = self.manifest.lock();
        let mut next = manifest.clone();
        next.suspect_checkpoint = next.last_checkpoint().map(|last| last.number);
        self.manifests.store(&next)?;
        *manifest = next;
        Ok(())
    }

    /// In the incarnation of the oldest checkpoint, gives up the segments before the one where its replay
    /// would begin.
    fn give_up_segments(&self, manifest: &mut Manifest) -> Result<()> {
        let needed = match manifest.checkpoints.as_slice() {
            [_, newest] if mutant::is_active(Mutant::SegmentsGoTooEarly) => newest.clone(),
            [oldest, _] => oldest.clone(),
            _ => return Ok(()),
        };
        let named = |incarnation: &Incarnation| incarnation.number == needed.incarnation;
        let Some(place) = manifest.incarnations.iter().position(named) else { return Ok(()) };
        let set = log_set(&self.config, manifest, &manifest.incarnations[place]);
        let mut first_segments = Vec::new();
        for (log, from) in needed.from.iter().enumerate() {
            first_segments.extend(set.segments_from(log, Lsn(*from))?);
        }
        let incarnation = &mut manifest.incarnations[place];
        incarnation.first_segments = first_segments;
        incarnation.starts = needed.from;
        Ok(())
    }

    /// Poisons the database: something was found that makes it unsafe to continue.
    pub(crate) fn fail(&self, error: &Error) {
        let failure = match error {
            Error::Fatal(failure) => Arc::clone(failure),
            other => Arc::new(FatalError { state: other.sqlstate(), message: other.to_string() }),
        };
        self.poison(failure);
    }

    /// Nothing is acknowledged any more, and every waiter gets the error.
    fn poison(&self, error: Arc<FatalError>) {
        let is_first = self.watch.failure().is_none();
        if let Some(on_failure) =
            self.on_failure.as_ref().filter(|_| is_first && error.state != sqlstate::ADMIN_SHUTDOWN)
        {
            on_failure(&error);
        }
        self.watch.poison(error);
        for buffer in &self.buffers {
            buffer.close();
            buffer.bell().ring_urgently();
        }
    }
}
