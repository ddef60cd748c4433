//! The thread of an open database that keeps the digest of its logs (`digest`). When the logs have grown, it
//! reads what is new as a restart would (`log_summary`), and replaces the file.
//!
//! ```text
//!   ends of the full segments --> read each log up to there --> summaries --> all of it counts --> file
//!                                                                 ^
//!                         a checkpoint counts: forget what it holds
//! ```
//!
//! **What is read.** Segments that are full. The one that is being written is left alone: reading it would
//! bring its pages into the system's cache, which the logger bypasses. So nothing is concluded from how a log
//! ends. Striped logs, which write several segments at a time, have no digest, nor have
//! logs whose records count by stamps.
//!
//! **Large transactions.** A restart that begins at a position needs all pieces of the transactions that are
//! complete only after it. So the position in the file is at most the beginning of the first piece of every
//! transaction that is not complete yet. The pieces of a COMMIT that was given up never become complete; they
//! hold the position back until the next checkpoint.
//!
//! **What counts.** A transaction that draws from a sequence or changes the catalog counts when all positions
//! that it names are durable. As long as that is not known of each of them, the old file stays.
//!
//! **Segments that are given up.** A reading begins where the replay would begin, or later, and a checkpoint
//! gives up only segments that the previous checkpoint does not need. But two checkpoints may be taken while
//! a log is read. Then a file is missing, or has become another segment, in which no block of the wanted
//! position is found. This error, like any other, does no harm: what was read is forgotten, and the logs are
//! read again later from where a replay would begin.
//!
//! Memory: what the reader of one log takes, 15 MiB, and for each log one position for each table, call and
//! sequence.

#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyades_types::error::{Error, Result};
use parking_lot::Mutex;

use super::digest::{Digest, timeline};
use super::log_summary::LogSummary;
use crate::config::{Config, RestartMode};
use crate::log::Logs;
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::places::log_set;
use crate::log::set::LogSet;
use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};
use crate::protocol::list;
use crate::sync::{Condvar, JoinHandle, Priority};

/// How long after a failure the next attempt is made.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Shared {
    is_stopping: Mutex<bool>,
    bell: Condvar,
}

/// The thread. It ends when this is dropped.
pub(crate) struct Digester {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle>>,
}

impl Digester {
    /// `None` if the configuration asks for no digests.
    pub(crate) fn start(config: &Config, logs: &Arc<Logs>) -> Result<Option<Digester>> {
        let is_striped = config.log_directories.len() > 1;
        // That a log is durable does not say which stamps count, or which transactions that others name.
        let counts_by_place = logs.newest_stamp().is_none() && !list::has_ids(config.protocol);
        if config.restart != RestartMode::OnDemand || is_striped || !counts_by_place {
            return Ok(None);
        }
        let shared: Arc<Shared> = Arc::default();
        let (waiting, mut work) = (Arc::clone(&shared), Work::new(config, logs));
        let pause = config.digest_pause;
        let run = move || {
            while waiting.pause(pause) {
                work.look(&|| *waiting.is_stopping.lock());
            }
        };
        let thread = crate::sync::spawn("hyades-digest".to_owned(), run)
            .map_err(|error| Error::io("could not start the thread for digests of the logs", &error))?;
        Ok(Some(Digester { shared, thread: Mutex::new(Some(thread)) }))
    }

    /// Gives up what is being read, and ends the thread.
    pub(crate) fn stop(&self) {
        *self.shared.is_stopping.lock() = true;
        self.shared.bell.notify_one();
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the thread for digests of the logs panicked");
        }
    }
}

impl Drop for Digester {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Waits this long; false if the thread is to end.
    fn pause(&self, pause: Duration) -> bool {
        let mut is_stopping = self.is_stopping.lock();
        if !*is_stopping {
            self.bell.wait_until(&mut is_stopping, crate::sync::now() + pause);
        }
        !*is_stopping
    }
}

/// What the thread does.
struct Work {
    config: Config,
    logs: Arc<Logs>,
    /// What has been read so far.
    reading: Option<Reading>,
    not_before: Option<Instant>,
    has_warned: bool,
}

impl Work {
    fn new(config: &Config, logs: &Arc<Logs>) -> Work {
        Work {
            config: config.clone(),
            logs: Arc::clone(logs),
            reading: None,
            not_before: None,
            has_warned: false,
        }
    }

    /// Reads and writes what is due.
    fn look(&mut self, is_stopping: &dyn Fn() -> bool) {
        if self.not_before.is_some_and(|time| crate::sync::now() < time) {
            return;
        }
        self.not_before = None;
        let end = self.settled();
        let has_work = |reading: &Reading| !reading.is_stored || reading.is_due(&end);
        if !self.reading.as_ref().is_none_or(has_work) {
            return;
        }
        let manifest = self.logs.manifest();
        let Err(error) = self.read_and_store(&manifest, &end, is_stopping) else { return };
        if self.logs.manifest() != manifest {
            tracing::debug!(%error, "the logs are read again: segments have been given up meanwhile");
            return;
        }
        self.not_before = Some(crate::sync::now() + AFTER_FAILURE);
        match std::mem::replace(&mut self.has_warned, true) {
            false => {
                tracing::warn!(%error, "the logs have no new digest: a restart has more of them to read");
            }
            true => tracing::debug!(%error, "the logs have no new digest"),
        }
    }

    /// Reads the logs up to these positions. If that fails, everything that has been read is forgotten.
    fn read_and_store(
        &mut self,
        manifest: &Manifest,
        end: &LsnVector,
        is_stopping: &dyn Fn() -> bool,
    ) -> Result<()> {
        let mut reading = match self.reading.take() {
            Some(reading) => reading,
            None => Reading::begin(manifest)?,
        };
        if reading.is_due(end) {
            let _priority = Priority::lowered(true);
            reading.follow(manifest);
            reading.read(&self.config, manifest, (end, &self.durable()), is_stopping)?;
        }
        let is_due = !reading.is_stored && !is_stopping();
        let stored = if is_due { reading.store(&self.config, manifest, &self.durable()) } else { Ok(()) };
        self.reading = Some(reading);
        stored
    }

    /// Up to where nothing is written any more.
    fn settled(&self) -> LsnVector {
        let settled: Vec<u64> = (0..self.logs.count()).map(|log| self.logs.settled(log).0).collect();
        LsnVector::from_slice(&settled)
    }

    /// Up to where the logs are durable in whole records.
    fn durable(&self) -> LsnVector {
        let whole: Vec<u64> = (0..self.logs.count()).map(|log| self.logs.whole(log).0).collect();
        LsnVector::from_slice(&whole)
    }
}

/// What has been read of the logs of the running incarnation.
struct Reading {
    incarnation: Incarnation,
    /// The last checkpoint whose content has been forgotten, and where the replay after it begins.
    checkpoint: u64,
    from: LsnVector,
    summaries: Vec<LogSummary>,
    /// All of it is in the file.
    is_stored: bool,
}

impl Reading {
    fn begin(manifest: &Manifest) -> Result<Reading> {
        let Some(incarnation) = manifest.incarnations.last().cloned() else {
            return Err(Error::corrupt("the manifest names no incarnation that runs"));
        };
        Ok(Reading {
            checkpoint: manifest.checkpoint_of(&incarnation).map_or(0, |checkpoint| checkpoint.number),
            from: manifest.replay_from(&incarnation),
            summaries: LogSummary::of_each_running(manifest, &incarnation)?,
            is_stored: true,
            incarnation,
        })
    }

    fn is_due(&self, end: &LsnVector) -> bool {
        (0..self.summaries.len()).any(|log| self.has_more(end, log))
    }

    fn has_more(&self, end: &LsnVector, log: usize) -> bool {
        end.get(log) > self.summaries[log].position()
    }

    /// Forgets what the last checkpoint holds.
    fn follow(&mut self, manifest: &Manifest) {
        let newest = manifest.checkpoint_of(&self.incarnation);
        if let Some(checkpoint) = newest.filter(|newest| newest.number > self.checkpoint) {
            self.checkpoint = checkpoint.number;
            self.from = LsnVector::from_slice(&checkpoint.from);
            let checkpoint = Arc::new(checkpoint.clone());
            self.summaries.iter_mut().for_each(|summary| summary.follow(&checkpoint));
        }
    }

    /// Reads the logs from where they have been read up to here. Nearly all of that counts, because the logs
    /// are durable beyond it.
    fn read(
        &mut self,
        config: &Config,
        manifest: &Manifest,
        (end, durable): (&LsnVector, &LsnVector),
        is_stopping: &dyn Fn() -> bool,
    ) -> Result<()> {
        let incarnation = manifest.incarnations.last().unwrap_or(&self.incarnation);
        let set = log_set(config, manifest, incarnation);
        for log in 0..self.summaries.len() {
            if self.has_more(end, log) {
                self.is_stored = false;
                let summary = &mut self.summaries[log];
                summary.judge_by_durable(durable);
                read_log(set.as_ref(), log, summary, end.get(log), is_stopping)?;
            }
        }
        Ok(())
    }

    /// Replaces the file, unless it is not yet known whether all transactions in it count.
    fn store(&mut self, config: &Config, manifest: &Manifest, durable: &LsnVector) -> Result<()> {
        self.summaries.iter_mut().for_each(|summary| summary.judge_by_durable(durable));
        let digests = self.summaries.iter().enumerate();
        let logs: Option<Vec<_>> = digests.map(|(log, summary)| summary.digest(self.from.get(log))).collect();
        let Some(mut logs) = logs else { return Ok(()) };
        if mutant::is_active(Mutant::DigestAhead) {
            logs.iter_mut().enumerate().for_each(|(log, one)| one.position = durable.get(log).0);
        }
        let digest = Digest {
            database: manifest.database(),
            timeline: timeline(manifest).to_owned(),
            incarnation: self.incarnation.number,
            protocol: self.incarnation.protocol.clone(),
            checkpoint: self.checkpoint,
            durable: durable.clone(),
            logs,
        };
        let needed: Vec<u64> = manifest.to_replay().map(|incarnation| incarnation.number).collect();
        digest.store(config, |number| needed.contains(&number))?;
        self.is_stored = true;
        Ok(())
    }
}

/// Takes the records of a log up to this end of a record. Breaks off when the thread is to end.
fn read_log(
    set: &dyn LogSet,
    log: usize,
    summary: &mut LogSummary,
    end: Lsn,
    is_stopping: &dyn Fn() -> bool,
) -> Result<()> {
    let mut source = set.source(log, summary.position())?;
    source.stop_at(end);
    summary.set_limit(end);
    while summary.position() < end && !is_stopping() {
        let Some(chunk) = source.next_chunk()? else {
            let (place, found) = (set.place(log), source.whole_records());
            let message =
                format!("log {log} in {place} can be read up to position {found} only, not to {end}");
            return Err(Error::corrupt(message));
        };
        summary.take(set, &chunk)?;
        if summary.is_given_up() {
            return Err(Error::corrupt(format!("log {log} has too many transactions that are not complete")));
        }
    }
    Ok(())
}
