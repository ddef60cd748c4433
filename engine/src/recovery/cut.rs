//! The cut: up to where each log of the incarnation that crashed counts (the paper's ELV).
//!
//! | found | verdict |
//! |---|---|
//! | the log ends in zeroes, a torn block or a torn record, not before what any anchor calls durable | ELV = end of the last whole record |
//! | the same, but before a position that an anchor of any log calls durable | corruption: acknowledged bytes are gone |
//! | an invalid block with valid ones behind it | corruption: blocks are written in order |
//! | a segment that is missing, blank or too short, although others show that it was used | corruption (`log::store::reader`) |
//!
//! The logs are synced before they are read (pitfall 16): after the death of a mere process the page cache
//! still shows bytes that a later power cut would remove, and they must not be counted, answered from, and
//! then lost.
//!
//! A durable position may lie inside a record that continues in the next block, so an anchor may exceed the
//! ELV by a part of one record. `log_source` therefore lowers anchors to the ELV: a vector entry that was
//! left out because of the anchor is the end of a record, hence at most the ELV.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use hyades_types::error::{Error, Result, sqlstate};
use parking_lot::Mutex;

use crate::config::Config;
use crate::disk::Disk;
use crate::log::manifest::Manifest;
use crate::log::record::RecordBody;
use crate::log::store::reader::sync_log;
use crate::log::store::{LogEnd, LogIdentity, LogReader, Tail};
use crate::lsn::LsnVector;
use crate::mutant::{self, Mutant};

/// One log to look through.
struct Task {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    identity: LogIdentity,
    first_segment: u64,
    segments_ahead: Option<u64>,
    logs: usize,
}

/// What stands in one log.
struct Scanned {
    end: LogEnd,
    /// The largest positions that its anchors call durable.
    durable: LsnVector,
}

/// The ELV of the manifest's incarnation at `place`, and how each of its logs ends.
pub(super) fn find_end(
    config: &Config,
    manifest: &Manifest,
    place: usize,
    workers: usize,
) -> Result<(LsnVector, Vec<LogTail>)> {
    let incarnation = &manifest.incarnations[place];
    let tasks = (0..incarnation.logs).map(|log| Task {
        disk: Arc::clone(&config.disk),
        directory: incarnation.log_directory(&config.data_directory, log),
        identity: manifest.identity(incarnation.number, log),
        first_segment: incarnation.first_segments[log],
        segments_ahead: incarnation.segments_ahead,
        logs: incarnation.logs,
    });
    let scanned = scan_all(tasks.collect(), workers)?;
    let mut durable = LsnVector::zero(incarnation.logs);
    for one in &scanned {
        durable.raise(one.durable.entries());
    }
    let mut end = LsnVector::zero(incarnation.logs);
    let mut tails = Vec::new();
    for (log, one) in scanned.into_iter().enumerate() {
        one.end.check(durable.get(log))?;
        end.raise_entry(log, one.end.whole_records);
        tails.push(LogTail { incarnation: incarnation.number, log, end: one.end });
    }
    Ok((end, tails))
}

/// How one log of an incarnation ends that was not closed.
#[derive(Clone, Debug)]
pub struct LogTail {
    pub incarnation: u64,
    pub log: usize,
    pub end: LogEnd,
}

impl LogTail {
    /// Whether something was being written when it ended. A block of which nothing has arrived leaves no
    /// trace.
    pub fn is_torn(&self) -> bool {
        matches!(self.end.tail, Tail::Torn(_)) || self.end.unfinished_bytes() > 0
    }
}

impl fmt::Display for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogTail { incarnation, log, end } = self;
        let (path, offset) = (end.path.display(), end.offset);
        write!(f, "log {log} of incarnation {incarnation} ends in \"{path}\" at byte {offset}")?;
        if let Tail::Torn(reason) = end.tail {
            let bytes = end.torn_bytes;
            write!(f, " with a torn block ({reason}): {bytes} bytes behind that place are not used")?;
        }
        if end.unfinished_bytes() > 0 {
            let bytes = end.unfinished_bytes();
            write!(f, "; the {bytes} bytes before it belong to a log record whose end is missing")?;
        }
        Ok(())
    }
}

/// Logs scanned at the same time, however few the workers are: each may be on a device of its own, and waits
/// for that.
const LOGS_AT_ONCE: usize = 32;

/// Scans the logs, several at a time.
fn scan_all(tasks: Vec<Task>, workers: usize) -> Result<Vec<Scanned>> {
    let count = tasks.len();
    let queue = Arc::new(Mutex::new(tasks.into_iter().enumerate().collect::<Vec<_>>()));
    let results = Arc::new(Mutex::new((0..count).map(|_| None).collect::<Vec<_>>()));
    let work = {
        let (queue, results) = (Arc::clone(&queue), Arc::clone(&results));
        move || {
            loop {
                // Not in the loop's head: the lock would be held while the log is read.
                let Some((log, task)) = queue.lock().pop() else { break };
                let scanned = scan(&task);
                results.lock()[log] = Some(scanned);
            }
        }
    };
    let mut threads = Vec::new();
    for number in 1..count.min(workers.max(LOGS_AT_ONCE)) {
        let started = crate::sync::spawn(format!("hyades-cut-{number}"), work.clone());
        threads.push(started.map_err(|error| Error::io("could not start a recovery thread", &error))?);
    }
    work();
    for thread in threads {
        // A panic leaves its log without a result.
        drop(thread.join());
    }
    let results = std::mem::take(&mut *results.lock());
    let panicked = || Error::fatal(sqlstate::INTERNAL_ERROR, "a recovery thread panicked");
    results.into_iter().map(|result| result.unwrap_or_else(|| Err(panicked()))).collect()
}

fn scan(task: &Task) -> Result<Scanned> {
    if !mutant::is_active(Mutant::NoSyncBeforeCut) {
        sync_log(task.disk.as_ref(), &task.directory, task.identity.incarnation, task.first_segment)?;
    }
    let reader = LogReader::open(&task.disk, &task.directory, task.identity, task.first_segment)?;
    let mut reader = reader.expect_prepared(task.segments_ahead);
    let mut durable = LsnVector::zero(task.logs);
    while let Some(chunk) = reader.next_chunk()? {
        for record in chunk.records() {
            let record = record.map_err(|malformed| damaged(task, chunk.start.0, &malformed))?;
            if let RecordBody::Anchor(anchor) = record.body {
                check_anchor(task, &anchor)?;
                durable.raise(anchor.entries());
            }
        }
    }
    match reader.end() {
        Some(end) => Ok(Scanned { end: end.clone(), durable }),
        None => Err(Error::fatal(sqlstate::INTERNAL_ERROR, "a log reader stopped before the end of its log")),
    }
}

fn check_anchor(task: &Task, anchor: &LsnVector) -> Result<()> {
    if anchor.len() == task.logs {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "log {} in \"{}\" was written with {} logs, but the manifest says {}",
        task.identity.log,
        task.directory.display(),
        anchor.len(),
        task.logs
    )))
}

fn damaged(task: &Task, start: u64, malformed: &crate::log::record::Malformed) -> Error {
    let position = start + malformed.offset as u64;
    Error::corrupt(format!(
        "log {} in \"{}\" is damaged: {} (position {position})",
        task.identity.log,
        task.directory.display(),
        malformed.reason
    ))
}
