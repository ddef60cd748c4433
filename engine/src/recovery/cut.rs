//! The cut: up to where each log of the incarnation that crashed counts (the paper's ELV).
//!
//! | found | verdict |
//! |---|---|
//! | the log ends in zeroes, a torn block or a torn record, not before what any anchor calls durable | ELV = end of the last whole record |
//! | the same, but before a position that an anchor of any log calls durable | corruption: acknowledged bytes are gone |
//! | an invalid block with valid ones behind it | corruption: blocks are written in order (`log::store::reader` knows how many stripes may be under way) |
//! | a segment that is missing, blank or too short, although others show that it was used | corruption (`log::store::reader`) |
//!
//! The logs are synced before they are read (pitfall 16): after the death of a mere process the page cache
//! still shows bytes that a later power cut would remove, and they must not be counted, answered from, and
//! then lost.
//!
//! A durable position may lie inside a record that continues in the next block, so an anchor may exceed the
//! ELV by a part of one record. `replay_source` therefore lowers anchors to the ELV: a vector entry that was
//! left out because of the anchor is the end of a record, hence at most the ELV.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyades_types::error::{Error, Result, sqlstate};
use parking_lot::Mutex;

use crate::config::Config;
use crate::log::manifest::Manifest;
use crate::log::places::log_set;
use crate::log::record::{Malformed, RecordBody};
use crate::log::set::{LogEnd, LogSet, Tail};
use crate::lsn::LsnVector;
use crate::mutant::{self, Mutant};

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
    let set: Arc<dyn LogSet> = log_set(config, manifest, incarnation).into();
    let from = manifest.replay_from(incarnation);
    let scanned = scan_all(&set, &from, workers)?;
    // A checkpoint counts only when the logs are durable up to what it holds.
    let mut durable = match manifest.checkpoint_of(incarnation) {
        Some(checkpoint) => LsnVector::from_slice(&checkpoint.settled),
        None => LsnVector::zero(incarnation.logs),
    };
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
            write!(f, " with a torn block ({reason})")?;
            if end.torn_bytes > 0 {
                write!(f, ": {} bytes behind that place are not used", end.torn_bytes)?;
            }
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
fn scan_all(set: &Arc<dyn LogSet>, from: &LsnVector, workers: usize) -> Result<Vec<Scanned>> {
    let count = from.len();
    let next = Arc::new(AtomicUsize::new(0));
    let results = Arc::new(Mutex::new((0..count).map(|_| None).collect::<Vec<_>>()));
    let work = {
        let (set, next, results) = (Arc::clone(set), Arc::clone(&next), Arc::clone(&results));
        let from = from.clone();
        move || {
            loop {
                let log = next.fetch_add(1, Ordering::Relaxed);
                if log >= count {
                    break;
                }
                let scanned = scan(set.as_ref(), log, &from);
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

fn scan(set: &dyn LogSet, log: usize, from: &LsnVector) -> Result<Scanned> {
    let logs = from.len();
    if !mutant::is_active(Mutant::NoSyncBeforeCut) {
        set.sync(log)?;
    }
    let mut source = set.source(log, from.get(log))?;
    let mut durable = LsnVector::zero(logs);
    while let Some(chunk) = source.next_chunk()? {
        for record in chunk.records() {
            let record = record.map_err(|malformed| damaged(set, log, chunk.start.0, &malformed))?;
            if let RecordBody::Anchor(anchor) = record.body {
                check_anchor(set, log, logs, &anchor)?;
                durable.raise(anchor.entries());
            }
        }
    }
    match source.end() {
        Some(end) => Ok(Scanned { end: end.clone(), durable }),
        None => Err(Error::fatal(sqlstate::INTERNAL_ERROR, "a log source stopped before the end of its log")),
    }
}

fn check_anchor(set: &dyn LogSet, log: usize, logs: usize, anchor: &LsnVector) -> Result<()> {
    if anchor.len() == logs {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "log {log} in {} was written with {} logs, but the manifest says {logs}",
        set.place(log),
        anchor.len(),
    )))
}

fn damaged(set: &dyn LogSet, log: usize, start: u64, malformed: &Malformed) -> Error {
    let position = start + malformed.offset as u64;
    let place = set.place(log);
    Error::corrupt(format!("log {log} in {place} is damaged: {} (position {position})", malformed.reason))
}
