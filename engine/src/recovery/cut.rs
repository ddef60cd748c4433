//! The cut: how far each log of the crashed incarnation counts (the paper's ELV).
//!
//! | found | verdict |
//! |---|---|
//! | the log ends in zeroes, a torn block or a torn record, not before what any anchor calls durable | ELV = end of the last whole record |
//! | the same, but before a position that an anchor of any log, or the digest, calls durable | corruption: acknowledged bytes are gone |
//! | an invalid block with valid ones after it | corruption: blocks are written in order (`log::store::reader` knows how many stripes may be under way) |
//! | a segment that is missing, blank or too short, although others show that it was used | corruption (`log::store::reader`) |
//!
//! The logs are synced before they are read (pitfall 16). After the death of a mere process, the page cache
//! still shows bytes that a later power cut would remove. They must not be counted, used for answers, and
//! then lost.
//!
//! With a protocol that has stamps, the cut has one as well: the smallest of those up to which the logs are
//! complete (`protocol::FieldReader::complete`). With one that has ids, it has the dead (`dead`).
//!
//! A durable position may lie inside a record that continues in the next block, so an anchor may exceed the
//! ELV by a part of one record. `replay_source` therefore lowers anchors to the ELV: a vector entry that was
//! left out because of the anchor is the end of a record, hence at most the ELV.

use std::fmt;

use hyades_types::error::{Error, Result, sqlstate};
use parking_lot::Mutex;

use super::dead::{MayBeDead, find_dead};
use super::each_log::for_each_log;
use super::log_summary::LogSummary;
use super::records::{Damaged, Walk, What};
use crate::config::Config;
use crate::log::manifest::{Incarnation, Manifest, UpToEnd};
use crate::log::places::log_set;
use crate::log::record::Control;
use crate::log::set::{Chunk, LogEnd, LogSet, Tail};
use crate::lsn::LsnVector;
use crate::mutant::{self, Mutant};
use crate::protocol::list::recovery;
use crate::protocol::{Cut, EVERY_STAMP, Order};

/// What was found in one log.
struct Scanned {
    end: LogEnd,
    /// The largest positions that its anchors, or its digest, call durable.
    durable: LsnVector,
    /// The stamp up to which it is complete, and the one up to which all were, as it says.
    complete: u64,
    durable_stamp: u64,
    /// With a protocol that has ids.
    may_be_dead: Option<MayBeDead>,
    /// Covers all its records, if it was asked for.
    summary: Option<LogSummary>,
}

/// The cut of the manifest's incarnation at `place`, which has not ended, and how each of its logs ends.
/// There is one summary for each log, which takes all its records, or none at all.
pub(super) fn find_end(
    config: &Config,
    manifest: &Manifest,
    place: usize,
    workers: usize,
    summaries: Vec<LogSummary>,
) -> Result<(Cut, Vec<LogTail>, Vec<LogSummary>)> {
    let incarnation = &manifest.incarnations[place];
    let set = log_set(config, manifest, incarnation);
    let from = manifest.replay_from(incarnation);
    let has_ids = has_ids(incarnation)?;
    let mut eyes = summaries.into_iter().map(|summary| Eye::Summary(Box::new(summary))).collect::<Vec<_>>();
    if eyes.is_empty() {
        for log in 0..incarnation.logs {
            let walk = Walk::new(incarnation, log)?.from(from.get(log));
            eyes.push(Eye::Walk(Box::new(walk), has_ids.then(|| MayBeDead::new(log))));
        }
    }
    let eyes = Mutex::new(eyes.into_iter().map(Some).collect::<Vec<_>>());
    let scan = move |log: usize| {
        let eye = eyes.lock()[log].take();
        eye.map(|eye| scan(set.as_ref(), log, eye)).transpose()
    };
    let scanned: Vec<Scanned> =
        for_each_log(incarnation.logs, workers, scan)?.into_iter().flatten().collect();
    // What anchors name. All before the replay begins is in the checkpoint, which counts.
    let mut named = from;
    scanned.iter().for_each(|one| named.raise(one.durable.entries()));
    // A checkpoint counts only once the logs are durable up to what had a place then. Some of that may follow
    // what had none.
    let mut durable = named.clone();
    if let Some(checkpoint) = manifest.checkpoint_of(incarnation) {
        durable.raise(&checkpoint.settled);
    }
    let stamp = match has_stamps(incarnation)? {
        true => find_last_stamp(manifest, incarnation, &scanned)?,
        false => EVERY_STAMP,
    };
    let mut end = LsnVector::zero(incarnation.logs);
    let (mut tails, mut summaries, mut may_be_dead) = (Vec::new(), Vec::new(), Vec::new());
    for (log, one) in scanned.into_iter().enumerate() {
        one.end.check(durable.get(log))?;
        end.raise_entry(log, one.end.whole_records);
        tails.push(LogTail { incarnation: incarnation.number, log, end: one.end });
        summaries.extend(one.summary);
        may_be_dead.extend(one.may_be_dead);
    }
    let dead = find_dead(may_be_dead, &end, &named);
    Ok((Cut::at(&end, stamp).without(dead), tails, summaries))
}

/// Whether anchors of one log say what is durable in others.
fn has_positions(incarnation: &Incarnation) -> Result<bool> {
    Ok(incarnation.logs > 1 && recovery(&incarnation.protocol, incarnation.logs)?.order() == Order::Positions)
}

fn has_ids(incarnation: &Incarnation) -> Result<bool> {
    Ok(incarnation.logs > 0 && recovery(&incarnation.protocol, incarnation.logs)?.has_ids())
}

fn has_stamps(incarnation: &Incarnation) -> Result<bool> {
    Ok(incarnation.logs > 0 && recovery(&incarnation.protocol, incarnation.logs)?.has_stamps())
}

/// The last stamp that counts, given up to which one each log is complete.
fn last_stamp(logs: impl Iterator<Item = u64>) -> u64 {
    let found = match mutant::is_active(Mutant::StampOfTheFurthest) {
        true => logs.max(),
        false => logs.min(),
    };
    found.unwrap_or(0)
}

/// The last stamp that counts of logs that a crash has left, where all was complete that a checkpoint holds.
///
/// # Errors
/// A log has lost something that was durable.
fn find_last_stamp(manifest: &Manifest, incarnation: &Incarnation, scanned: &[Scanned]) -> Result<u64> {
    let known = manifest.checkpoint_of(incarnation).and_then(|checkpoint| checkpoint.stamp).unwrap_or(0);
    let durable = scanned.iter().map(|one| one.durable_stamp).max().unwrap_or(0);
    scanned.iter().try_for_each(|one| one.end.check_stamp(one.complete.max(known), durable))?;
    Ok(last_stamp(scanned.iter().map(|one| one.complete)).max(known))
}

/// The cut of an incarnation that has ended, if the manifest does not say all of it: the logs say it up to
/// their ends, or to lower ones. `None` if it does. The stamp of a checkpoint does not matter: in a copy of
/// the logs, what came after the checkpoint may be missing in one of them. Whatever counts after it is in an
/// epoch, or has a GSN, that a later milestone of each log names.
pub(crate) fn find_unknown(
    config: &Config,
    manifest: &Manifest,
    incarnation: &Incarnation,
) -> Result<Option<Cut>> {
    let UpToEnd { stamp, is_unknown, .. } = &incarnation.up_to_end;
    let needs_stamp = has_stamps(incarnation)? && stamp.is_none();
    let needs_dead = has_ids(incarnation)? && *is_unknown;
    let needs_ends = has_positions(incarnation)? && *is_unknown;
    if !needs_stamp && !needs_dead && !needs_ends {
        return Ok(None);
    }
    let set = log_set(config, manifest, incarnation);
    let (from, mut end) = (manifest.replay_from(incarnation), incarnation.frozen_end().unwrap_or_default());
    if needs_ends {
        end = lower_to_anchors(set.as_ref(), incarnation, &from, &end)?;
    }
    if !needs_stamp && !needs_dead {
        return Ok(Some(Cut::at(&end, EVERY_STAMP)));
    }
    let (mut complete, mut settled, mut may_be_dead) = (Vec::new(), from.clone(), Vec::new());
    for log in 0..incarnation.logs {
        let mut walk: Walk<()> = Walk::new(incarnation, log)?.from(from.get(log)).up_to(end.get(log));
        let mut of_log = needs_dead.then(|| MayBeDead::new(log));
        let mut source = set.source(log, from.get(log))?;
        source.stop_at(end.get(log));
        while let Some(chunk) = source.next_chunk()? {
            pass(&mut walk, of_log.as_mut(), log, &chunk)
                .map_err(|found| found.in_log_of(set.as_ref(), log))?;
        }
        complete.push(walk.complete());
        settled.raise(walk.durable().entries());
        may_be_dead.extend(of_log);
    }
    let stamp = if needs_stamp { last_stamp(complete.into_iter()) } else { EVERY_STAMP };
    Ok(Some(Cut::at(&end, stamp).without(find_dead(may_be_dead, &end, &settled))))
}

/// Ends each log before its first anchor that names what lies beyond the end of another log, and returns
/// these ends.
///
/// Logs that are copied one after another while they grow have such anchors, and records after them leave out
/// what the anchors name. What was acknowledged before the first log was copied comes before all of these.
///
/// Once is enough: an anchor that names what lies beyond a lower end was appended after the anchor at that
/// end, so it names what that one names, and its own log ends before it.
fn lower_to_anchors(
    set: &dyn LogSet,
    incarnation: &Incarnation,
    from: &LsnVector,
    end: &LsnVector,
) -> Result<LsnVector> {
    let mut lower = end.entries().to_vec();
    for (log, lower) in lower.iter_mut().enumerate() {
        let limit = end.get(log);
        let mut walk: Walk<()> = Walk::new(incarnation, log)?.from(from.get(log)).up_to(limit);
        let mut source = set.source(log, from.get(log))?;
        source.stop_at(limit);
        'log: while let Some(chunk) = source.next_chunk()? {
            while let Some(seen) =
                walk.next(chunk.start, &chunk.bytes).map_err(|found| found.in_log_of(set, log))?
            {
                if let What::Control(Control::Anchor(anchor)) = &seen.what
                    && !anchor.durable.is_covered_by(end.entries())
                {
                    *lower = seen.start.0;
                    break 'log;
                }
            }
        }
    }
    Ok(LsnVector::from_slice(&lower))
}

/// Sees the rest of a chunk, for its control records and for what may be dead.
fn pass(
    walk: &mut Walk<()>,
    may_be_dead: Option<&mut MayBeDead>,
    log: usize,
    chunk: &Chunk,
) -> std::result::Result<(), Damaged> {
    let Some(may_be_dead) = may_be_dead else { return walk.pass(chunk.start, &chunk.bytes) };
    while let Some(seen) = walk.next(chunk.start, &chunk.bytes)? {
        match &seen.what {
            What::Transaction(last) => {
                // What makes no sense is reported by the replay.
                if let Ok(follows) = walk.read(last)?.follows {
                    may_be_dead.note(seen.end, follows);
                }
            }
            What::Control(_) => may_be_dead.settle(walk.durable().get(log)),
            What::Checkpointed | What::Fragment { .. } | What::Filler => {}
        }
    }
    Ok(())
}

/// How a log ends that was not closed.
#[derive(Clone, Debug)]
pub struct LogTail {
    pub incarnation: u64,
    pub log: usize,
    pub end: LogEnd,
}

impl LogTail {
    /// Whether something was being written when it ended. A block of which nothing arrived leaves no trace.
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
                write!(f, ": {} bytes after that place are not used", end.torn_bytes)?;
            }
        }
        if end.unfinished_bytes() > 0 {
            let bytes = end.unfinished_bytes();
            write!(f, "; the {bytes} bytes before it belong to a log record whose end is missing")?;
        }
        Ok(())
    }
}

/// What sees the records of a log while its end is looked for.
enum Eye {
    /// The control records alone are of interest, and what may be dead.
    Walk(Box<Walk<()>>, Option<MayBeDead>),
    Summary(Box<LogSummary>),
}

fn scan(set: &dyn LogSet, log: usize, mut eye: Eye) -> Result<Scanned> {
    if !mutant::is_active(Mutant::NoSyncBeforeCut) {
        set.sync(log)?;
    }
    // What a digest says need not be read again.
    let start = match &eye {
        Eye::Walk(walk, _) => walk.position(),
        Eye::Summary(summary) => summary.position(),
    };
    let mut source = set.source(log, start)?;
    while let Some(chunk) = source.next_chunk()? {
        match &mut eye {
            Eye::Walk(walk, may_be_dead) => {
                pass(walk, may_be_dead.as_mut(), log, &chunk).map_err(|found| found.in_log_of(set, log))?;
            }
            Eye::Summary(summary) => summary.take(set, &chunk)?,
        }
    }
    let Some(end) = source.end().cloned() else {
        let message = "a log source stopped before the end of its log";
        return Err(Error::fatal(sqlstate::INTERNAL_ERROR, message));
    };
    Ok(match eye {
        Eye::Walk(walk, may_be_dead) => Scanned {
            end,
            durable: walk.durable().clone(),
            complete: walk.complete(),
            durable_stamp: walk.durable_stamp(),
            may_be_dead,
            summary: None,
        },
        Eye::Summary(mut summary) => Scanned {
            end,
            durable: summary.durable().clone(),
            complete: summary.complete(),
            durable_stamp: summary.durable_stamp(),
            may_be_dead: summary.take_dead(),
            summary: Some(*summary),
        },
    })
}
