//! The cut: up to where each log of the incarnation that crashed counts (the paper's ELV).
//!
//! | found | verdict |
//! |---|---|
//! | the log ends in zeroes, a torn block or a torn record, not before what any anchor calls durable | ELV = end of the last whole record |
//! | the same, but before a position that an anchor of any log calls durable | corruption: acknowledged bytes are gone |
//! | an invalid block with valid ones behind it | corruption: blocks are written in order |
//!
//! The logs are synced before they are read (pitfall 16): after the death of a mere process the page cache still shows bytes that a later
//! power cut would remove, and they must not be counted, answered from, and then lost.
//!
//! A durable position may lie inside a record that continues in the next block, so an anchor may exceed the ELV by a part of one record.
//! `log_source` therefore lowers anchors to the ELV: a vector entry that was left out because of the anchor is the end
//! of a record, hence at most the ELV.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::Config;
use crate::disk::Disk;
use crate::error::{Error, Result, sqlstate};
use crate::log::manifest::Manifest;
use crate::log::record::RecordBody;
use crate::log::store::reader::sync_log;
use crate::log::store::{LogEnd, LogIdentity, LogReader};
use crate::lsn::LsnVector;
use crate::mutant::{self, Mutant};

/// One log to look through.
struct Task {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    identity: LogIdentity,
    first_segment: u64,
    logs: usize,
}

/// What stands in one log.
struct Scanned {
    end: LogEnd,
    /// The largest positions that its anchors call durable.
    durable: LsnVector,
}

/// The ELV of the manifest's incarnation at `place`.
pub(super) fn find_end(
    config: &Config,
    manifest: &Manifest,
    place: usize,
    workers: usize,
) -> Result<LsnVector> {
    let incarnation = &manifest.incarnations[place];
    let tasks = (0..incarnation.logs).map(|log| Task {
        disk: Arc::clone(&config.disk),
        directory: incarnation.log_directory(&config.data_directory, log),
        identity: manifest.identity(incarnation.number, log),
        first_segment: incarnation.first_segments[log],
        logs: incarnation.logs,
    });
    let scanned = scan_all(tasks.collect(), workers)?;
    let mut durable = LsnVector::zero(incarnation.logs);
    for one in &scanned {
        durable.raise(one.durable.entries());
    }
    let mut end = LsnVector::zero(incarnation.logs);
    for (log, one) in scanned.iter().enumerate() {
        one.end.check(durable.get(log))?;
        end.raise_entry(log, one.end.whole_records);
    }
    Ok(end)
}

/// Logs scanned at the same time, however few the workers are: each may be on a device of its own, and waits for that.
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
    let mut reader = LogReader::open(&task.disk, &task.directory, task.identity, task.first_segment)?;
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
