//! The thread that takes checkpoints, requests for a checkpoint, and the status that others see.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use parking_lot::Mutex;

use super::contents;
use super::load::Loaded;
use super::pace::Urgency;
use super::take::{Capture, Taken, Taker, is_shut_down};
use crate::config::Config;
use crate::log::Logs;
use crate::storage::databases::Databases;
use crate::sync::{Condvar, JoinHandle};
use crate::ticket::{Signal, Ticket, ticket};

/// How often the thread checks whether a checkpoint is due.
const LOOK: Duration = Duration::from_millis(200);
/// After a failure, the next checkpoint that was not requested is tried after this time.
const AFTER_FAILURE: Duration = Duration::from_secs(30);
/// A checkpoint that was not requested is taken at leisure until the logs take this many times the disk space
/// that made it due.
const URGENT_LOG: f64 = 1.5;
/// A checkpoint is no longer taken at leisure when there is this many times as much to replay as made it due.
/// A recovery target leaves room for twice as much ([`Bounds`]), but from then on the walk still takes its
/// time.
const URGENT_REPLAY: f64 = 1.1;

/// The last checkpoint of a running database, and the one that is being taken.
#[derive(Clone, Debug, Default)]
pub struct CheckpointStatus {
    /// The number of the last checkpoint; 0 if there is none.
    pub number: u64,
    /// Microseconds since 1970 when its time was taken.
    pub taken_at_us: u64,
    /// How long it took.
    pub seconds: f64,
    pub rows: u64,
    /// Bytes of everything that it is made of, and of what was written for it.
    pub bytes: u64,
    pub written_bytes: u64,
    /// Whether one is being taken.
    pub is_running: bool,
    /// Since the start of the process.
    pub taken: u64,
    pub failed: u64,
    /// Why the last attempt failed, unless one has succeeded since.
    pub failure: Option<String>,
    /// Bytes of log records that a restart would have to replay.
    pub bytes_to_replay: u64,
    /// Bytes that the logs since the last one take on the disk, with all padding.
    pub log_bytes: u64,
}

/// A request for a checkpoint.
pub struct CheckpointRequest {
    ticket: Ticket,
    outcome: Arc<Mutex<Option<Result<()>>>>,
}

impl CheckpointRequest {
    /// Fires when the checkpoint has been taken, or has failed.
    pub fn ticket(&self) -> Ticket {
        self.ticket.clone()
    }

    /// What became of it; `None` until the ticket has fired.
    pub fn outcome(&self) -> Option<Result<()>> {
        self.outcome.lock().clone()
    }
}

/// Work of a guest in a second.
const UNITS_PER_SECOND: f64 = guest::QUANTUM_UNITS as f64 * 1e9 / guest::QUANTUM.as_nanos() as f64;

/// A request that waits for the next checkpoint that begins.
struct Waiting {
    outcome: Arc<Mutex<Option<Result<()>>>>,
    signal: Signal,
}

#[derive(Default)]
struct Requests {
    waiting: Vec<Waiting>,
    is_stopping: bool,
}

struct Shared {
    requests: Mutex<Requests>,
    bell: Condvar,
    status: Mutex<CheckpointStatus>,
    logs: Arc<Logs>,
    counted: Mutex<Counted>,
}

/// Which of the logs' blocks count for the next checkpoint.
#[derive(Clone, Copy, Default)]
struct Counted {
    /// Bytes of the files of ended logs that the last one does not hold.
    ended: u64,
    /// Bytes of blocks that had been written since the start when the last checkpoint began.
    before: u64,
}

/// How fast log records are replayed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplaySpeed {
    /// Bytes per second.
    pub(crate) rate: f64,
    /// How much longer the last replay took: its calls compute for long.
    pub(crate) excess_seconds: f64,
}

/// How long a replay may take.
#[derive(Clone, Copy)]
struct ReplayBound {
    seconds: f64,
    /// Bytes of log records that are replayed per second.
    rate: f64,
}

/// When a checkpoint is taken that was not requested.
struct Bounds {
    /// When the logs since the last one take this much of the disk.
    log_bytes: Option<u64>,
    /// When a replay would take so long.
    replay: Option<ReplayBound>,
}

/// The thread that takes checkpoints: when asked, and when a restart would take too long.
pub(crate) struct Checkpointer {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle>>,
}

impl Checkpointer {
    /// `loaded`: what the database was recovered from. `replay_speed`: as measured in the last recovery or as
    /// may be expected. It is asked for when the catalog says that the restart is complete. No checkpoint is
    /// taken before that.
    pub(crate) fn start(
        config: &Config,
        logs: &Arc<Logs>,
        capture: Capture,
        loaded: Option<Loaded>,
        (databases, replay_speed): (Arc<Databases>, Box<dyn FnOnce() -> ReplaySpeed + Send>),
    ) -> Result<Checkpointer> {
        let mut status = CheckpointStatus::default();
        if let Some(loaded) = &loaded {
            status.number = loaded.contents.number;
            status.taken_at_us = loaded.contents.taken_at_us;
            (status.rows, status.bytes) = (loaded.rows(), loaded.bytes());
        }
        let shared = Arc::new(Shared {
            requests: Mutex::default(),
            bell: Condvar::new(),
            status: Mutex::new(status),
            logs: Arc::clone(logs),
            counted: Mutex::default(),
        });
        let stop = Arc::default();
        let taker = Taker::new(config, logs, capture, loaded, Arc::clone(&stop));
        let (working, config) = (Arc::clone(&shared), config.clone());
        let work = move || {
            if working.wait_for_restart(&databases) {
                working.count_ended();
                let speed = replay_speed();
                working.logs.note_work((speed.excess_seconds * UNITS_PER_SECOND) as u64);
                working.work(taker, &Bounds::new(&config, speed.rate), &config);
            }
        };
        let thread = crate::sync::spawn("hyades-checkpoint".to_owned(), work)
            .map_err(|error| Error::io("could not start the thread for checkpoints", &error))?;
        Ok(Checkpointer { shared, stop, thread: Mutex::new(Some(thread)) })
    }

    /// Asks for a checkpoint of what is committed now.
    pub(crate) fn request(&self) -> CheckpointRequest {
        let (ticket, signal) = ticket();
        let outcome = Arc::default();
        let mut requests = self.shared.requests.lock();
        if requests.is_stopping {
            *Mutex::lock(&outcome) = Some(Err(is_shut_down()));
        } else {
            requests.waiting.push(Waiting { outcome: Arc::clone(&outcome), signal });
            self.shared.bell.notify_one();
        }
        CheckpointRequest { ticket, outcome }
    }

    pub(crate) fn status(&self) -> CheckpointStatus {
        let (bytes_to_replay, log_bytes) = (self.shared.logs.bytes_to_replay(), self.shared.log_bytes());
        CheckpointStatus { bytes_to_replay, log_bytes, ..self.shared.status.lock().clone() }
    }

    /// Gives up the one that is being taken, and ends the thread.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.shared.requests.lock().is_stopping = true;
        self.shared.bell.notify_one();
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the thread for checkpoints panicked");
        }
        for waiting in std::mem::take(&mut self.shared.requests.lock().waiting) {
            waiting.answer(&Err(is_shut_down()));
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Bounds {
    /// `replay_rate`: bytes of log records per second.
    fn new(config: &Config, replay_rate: f64) -> Bounds {
        let log_bytes = Some(config.checkpoint_log_bytes).filter(|bytes| *bytes > 0);
        // The log grows while the checkpoint is taken.
        let replay = config
            .recovery_target
            .map(|target| ReplayBound { seconds: target.as_secs_f64() / 2.0, rate: replay_rate });
        Bounds { log_bytes, replay }
    }

    fn are_reached(&self, shared: &Shared) -> bool {
        self.are_reached_by([1.0, 1.0], shared)
    }

    fn are_urgent(&self, shared: &Shared) -> bool {
        self.are_reached_by([URGENT_LOG, URGENT_REPLAY], shared)
    }

    /// Whether this many times as much has been reached.
    fn are_reached_by(&self, [log, replay]: [f64; 2], shared: &Shared) -> bool {
        let reaches = |bytes: u64, most: u64, factor: f64| bytes as f64 >= most.max(1) as f64 * factor;
        self.log_bytes.is_some_and(|most| reaches(shared.log_bytes(), most, log))
            || self.replay.is_some_and(|bound| {
                let seconds = bound.seconds_of(shared.logs.bytes_to_replay(), shared.logs.work_to_replay());
                seconds > 0.0 && seconds >= bound.seconds * replay
            })
    }
}

impl ReplayBound {
    /// How long replaying these bytes takes, and repeating this much work of logged calls. They may depend on
    /// each other, so it is not divided by the number of processors.
    fn seconds_of(self, bytes: u64, work: u64) -> f64 {
        bytes as f64 / self.rate + work as f64 / UNITS_PER_SECOND
    }
}

impl Waiting {
    fn answer(self, outcome: &Result<()>) {
        *self.outcome.lock() = Some(outcome.clone());
        self.signal.fire();
    }
}

impl Shared {
    /// Waits until the restart is complete; false if it never will be, or the database is closed. Requests
    /// for a checkpoint wait meanwhile.
    fn wait_for_restart(&self, databases: &Databases) -> bool {
        loop {
            let outcome = databases.changes().look();
            let mut requests = self.requests.lock();
            match outcome {
                _ if requests.is_stopping => return false,
                Ok(true) => return true,
                Ok(false) => {}
                Err(error) => {
                    let outcome = Err(error);
                    requests.waiting.drain(..).for_each(|waiting| waiting.answer(&outcome));
                }
            }
            self.bell.wait_until(&mut requests, crate::sync::now() + LOOK);
        }
    }

    /// Bytes of blocks that have been written since the start.
    fn stored_bytes(&self) -> u64 {
        (0..self.logs.count()).map(|log| self.logs.stored_bytes(log)).sum()
    }

    /// Bytes that the logs since the last checkpoint take on the disk.
    fn log_bytes(&self) -> u64 {
        let Counted { ended, before } = *self.counted.lock();
        ended + self.stored_bytes().saturating_sub(before)
    }

    /// Logs that have ended take space, too: a process that restarts again and again must not fill the disk.
    fn count_ended(&self) {
        match self.logs.ended_bytes() {
            Ok(bytes) => self.counted.lock().ended = bytes,
            Err(error) => tracing::warn!(%error, "the size of ended logs is not known"),
        }
    }

    /// Whether a request waits for the next checkpoint, or for the end of this one.
    fn is_waited_for(&self) -> bool {
        let requests = self.requests.lock();
        requests.is_stopping || !requests.waiting.is_empty()
    }

    fn work(&self, mut taker: Taker, bounds: &Bounds, config: &Config) {
        let mut not_before: Option<Instant> = None;
        loop {
            let asked = {
                let mut requests = self.requests.lock();
                if requests.waiting.is_empty() && !requests.is_stopping {
                    self.bell.wait_until(&mut requests, crate::sync::now() + LOOK);
                }
                if requests.is_stopping {
                    return;
                }
                std::mem::take(&mut requests.waiting)
            };
            let may_begin = not_before.is_none_or(|time| crate::sync::now() >= time);
            let is_due = may_begin && bounds.are_reached(self);
            if asked.is_empty() && !is_due {
                continue;
            }
            self.status.lock().is_running = true;
            let (before, work) = (self.stored_bytes(), self.logs.work_to_replay());
            let is_urgent = || bounds.are_urgent(self) || self.is_waited_for();
            let urgency: Urgency<'_> = if asked.is_empty() { Some(&is_urgent) } else { None };
            let taken = AssertUnwindSafe(|| taker.take(urgency));
            // Waiting requests get this error, and the next checkpoint is tried: what is loaded does not
            // depend on it.
            let outcome = catch_unwind(taken).unwrap_or_else(|_| {
                Err(Error::input(sqlstate::INTERNAL_ERROR, "the checkpoint broke off unexpectedly"))
            });
            not_before = outcome.is_err().then(|| crate::sync::now() + AFTER_FAILURE);
            if outcome.is_ok() {
                *self.counted.lock() = Counted { ended: 0, before };
                self.logs.forget_work(work);
            }
            self.note(&outcome, config);
            let outcome = outcome.map(drop);
            asked.into_iter().for_each(|waiting| waiting.answer(&outcome));
        }
    }

    fn note(&self, outcome: &Result<Taken>, config: &Config) {
        let mut status = self.status.lock();
        status.is_running = false;
        match outcome {
            Ok(taken) => {
                status.number = taken.number;
                status.taken_at_us = taken.taken_at_us;
                status.seconds = taken.seconds;
                (status.rows, status.bytes) = (taken.rows, taken.bytes);
                status.written_bytes = taken.written_bytes;
                status.taken += 1;
                status.failure = None;
                let (number, rows, seconds) = (taken.number, taken.rows, taken.seconds);
                let (bytes, written) = (taken.bytes, taken.written_bytes);
                tracing::info!(number, rows, bytes, written, seconds, "a checkpoint was taken");
            }
            Err(error) if error.sqlstate() == sqlstate::ADMIN_SHUTDOWN => {}
            Err(error) => {
                status.failed += 1;
                status.failure = Some(error.to_string());
                let directory = contents::directory(&config.data_directory);
                tracing::error!(%error, "a checkpoint in \"{}\" failed; the previous one counts", directory.display());
            }
        }
    }
}
