//! Recovery: from what a crash left on disk to the state that was acknowledged.
//!
//! ```text
//!   manifest -> incarnation 1 -> incarnation 2 -> ... -> last incarnation -> (new incarnation)
//!               each: cut -> schedule -> replay              |
//!               frozen ELV from the manifest       ELV from the manifest if it was closed, else from the files
//! ```
//!
//! **Cut** (`cut`): the logs are synced first (pitfall 16); the ELV is, per log, the end of the last whole
//! record before the first hole. A hole below what an anchor calls durable is corruption (pitfall 14).
//! Recovered are the records whose LV is covered by the ELV, each judged by itself and not as a prefix of its
//! log (pitfall 8). For an incarnation that has ended, the ELV is the frozen one of the manifest: what lies
//! beyond it never counts again (zombies, pitfall 15).
//!
//! **Schedule, replay** (`schedule`, `replay_source`, `replay`): all logs at once, by several workers, each
//! record after what it depends on. Zombies are passed as no-ops.
//!
//! **Verify**: all logs have been replayed to their end, every row fits its table.
//!
//! Recovery writes nothing (pitfall 17). Its result holds the manifest with the last ELV frozen; whoever
//! opens the database adds the new incarnation, creates its files and stores the manifest *before* the first
//! new log record or answer ([`crate::log::Logs::start`]). A crash before that leaves everything as it was.
//!
//! Reference: Taurus (VLDB 2020), section 3.3.

mod command;
mod cut;
mod replay;
mod replay_source;
pub mod salvage;
mod schedule;
mod scope;
mod verify;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hyades_types::error::Result;

use self::replay::Installer;
use self::replay_source::{ReplaySource, SourceOptions};
use self::schedule::{Replay, Replayed, ScheduleOptions};
use self::scope::Scope;
use crate::config::{Config, RecoveryProgress};
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::places::{log_set, manifest_store};
use crate::lsn::{Lsn, LsnVector};
use crate::procedure::compiled_routine::RoutineCompiler;
use crate::protocol::list::replay_order;
use crate::storage::catalog::Catalog;

pub use self::cut::LogTail;
pub use self::verify::{state_hash, tables_hash};

/// What recovery found, for the operator.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport {
    /// Logs of the last incarnation that was replayed.
    pub logs: usize,
    /// Incarnations that were replayed.
    pub incarnations: u64,
    pub transactions: u64,
    /// Bytes of log records that count.
    pub log_bytes: u64,
    pub tables: usize,
    pub rows: u64,
    pub seconds: f64,
    /// One worker replayed the last incarnation, or the rest of it, because its records waited for each other
    /// or it was asked for.
    pub was_serial: bool,
    /// Part of `seconds`: finding the ends of the logs of the incarnation that crashed.
    pub cut_seconds: f64,
    /// The incarnations one by one, in their order.
    pub replayed: Vec<ReplayedIncarnation>,
    /// Transactions found in a log that had not become durable with all they depend on.
    pub discarded: u64,
    /// The logs that were not closed, and how each of them ends. None after a clean stop.
    pub tails: Vec<LogTail>,
}

/// What the replay of one incarnation did.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayedIncarnation {
    pub number: u64,
    pub transactions: u64,
    pub log_bytes: u64,
    pub seconds: f64,
}

/// The outcome of [`recover`].
pub struct Recovered {
    /// With the ELV of the last incarnation frozen, not yet stored.
    pub manifest: Manifest,
    pub report: RecoveryReport,
}

/// Replays all logs into an empty catalog. Logged calls need the compiler of their routines. The caller holds
/// the lock on the data directory. Nothing is written.
///
/// Fails with `Fatal`: a missing or foreign file, another version, an I/O error, or bytes that no crash
/// explains; the message names the file, the offset and the reason where there is one. What the catalog then
/// holds is worth nothing.
pub fn recover(
    config: &Config,
    compiler: Option<Arc<dyn RoutineCompiler>>,
    catalog: &Arc<Catalog>,
) -> Result<Recovered> {
    let started = crate::sync::now();
    let mut manifest = manifest_store(config).load()?.unwrap_or_else(Manifest::create);
    let workers = workers(config);
    for incarnation in &manifest.incarnations {
        // Before anything else looks at them.
        log_set(config, &manifest, incarnation).check(manifest.next_number())?;
    }
    let tails = freeze_ends(config, &mut manifest, workers)?;

    let cut_seconds = crate::sync::now().duration_since(started).as_secs_f64();
    let mut report = RecoveryReport { cut_seconds, tails, ..RecoveryReport::default() };
    let bytes_total = bytes_total(&manifest);
    for incarnation in manifest.incarnations.iter().filter(|incarnation| incarnation.logs > 0) {
        let installer =
            installer(config, compiler.as_ref(), catalog, incarnation, &report, bytes_total, started);
        let end = incarnation.frozen_end().unwrap_or_else(|| LsnVector::zero(incarnation.logs));
        let scope = Arc::new(Scope::whole(&end));
        let incarnation = ToReplay { manifest: &manifest, incarnation, scope, workers, is_salvage: false };
        replay_incarnation(config, &incarnation, Arc::new(installer), &mut report)?;
    }
    let tables = catalog.tables();
    report.tables = tables.len();
    report.rows = tables.iter().map(|table| table.row_count()).sum();
    report.seconds = crate::sync::now().duration_since(started).as_secs_f64();
    Ok(Recovered { manifest, report })
}

/// How many workers replay.
fn workers(config: &Config) -> usize {
    match config.recovery_workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    }
}

/// Bytes of log records up to the ends of all incarnations.
fn bytes_total(manifest: &Manifest) -> u64 {
    let ends = manifest.incarnations.iter().filter_map(Incarnation::frozen_end);
    ends.map(|end| end.entries().iter().sum::<u64>()).sum()
}

/// What replays the log records of the incarnation, when the earlier ones of the report have been replayed.
fn installer(
    config: &Config,
    compiler: Option<&Arc<dyn RoutineCompiler>>,
    catalog: &Arc<Catalog>,
    incarnation: &Incarnation,
    report: &RecoveryReport,
    bytes_total: u64,
    started: Instant,
) -> Installer {
    Installer {
        catalog: Arc::clone(catalog),
        compiler: compiler.cloned(),
        foundations: incarnation.foundations.clone(),
        replays_images: config.replay_images,
        on_progress: config.on_recovery_progress.clone(),
        started,
        before: RecoveryProgress {
            bytes_done: report.log_bytes,
            bytes_total,
            transactions: report.transactions,
            seconds: 0.0,
        },
    }
}

/// Computes the ELV of every incarnation that has none yet: the one that was running when the crash came.
fn freeze_ends(config: &Config, manifest: &mut Manifest, workers: usize) -> Result<Vec<LogTail>> {
    let mut tails = Vec::new();
    for place in 0..manifest.incarnations.len() {
        if manifest.incarnations[place].end.is_none() {
            let (end, found) = cut::find_end(config, manifest, place, workers)?;
            manifest.incarnations[place].freeze(&end);
            tails.extend(found);
        }
    }
    Ok(tails)
}

/// An incarnation of the manifest, and which of its log records count.
struct ToReplay<'a> {
    manifest: &'a Manifest,
    incarnation: &'a Incarnation,
    scope: Arc<Scope>,
    workers: usize,
    /// What stands behind the ends of the logs may be damaged, and is not looked at.
    is_salvage: bool,
}

impl ToReplay<'_> {
    /// Reads one of the logs up to its end; `None` if that is its beginning.
    fn source(&self, config: &Config, log: usize) -> Result<Option<ReplaySource>> {
        let ToReplay { manifest, incarnation, scope, .. } = self;
        if self.is_salvage && scope.end.get(log) == Lsn::ZERO {
            return Ok(None);
        }
        let mut reader = log_set(config, manifest, incarnation).source(log)?;
        if self.is_salvage {
            reader.stop_at(scope.end.get(log));
        }
        let order = replay_order(&incarnation.protocol, incarnation.logs)?;
        let options = SourceOptions {
            log,
            scope: Arc::clone(scope),
            was_judged: manifest
                .incarnations
                .last()
                .is_some_and(|newest| newest.number != incarnation.number),
        };
        Ok(Some(ReplaySource::new(reader, order, options)))
    }
}

fn replay_incarnation<R: Replay>(
    config: &Config,
    to_replay: &ToReplay<'_>,
    replay: Arc<R>,
    report: &mut RecoveryReport,
) -> Result<()> {
    let begun = crate::sync::now();
    let ToReplay { incarnation, scope, .. } = to_replay;
    let mut sources = Vec::new();
    for log in 0..incarnation.logs {
        let end = scope.end.get(log);
        sources.push((to_replay.source(config, log)?, end.0));
    }
    let is_total = replay_order(&incarnation.protocol, incarnation.logs)?.is_total();
    let options = ScheduleOptions { workers: to_replay.workers, mode: config.recovery_mode, is_total };
    let Replayed { transactions, was_serial } = schedule::run(sources, replay, options)?;
    let log_bytes = (0..incarnation.logs).map(|log| scope.end.get(log)).map(|Lsn(bytes)| bytes).sum::<u64>();
    report.transactions += transactions;
    report.was_serial = was_serial;
    report.discarded += scope.zombies.load(Ordering::Relaxed);
    report.logs = incarnation.logs;
    report.incarnations += 1;
    report.log_bytes += log_bytes;
    let seconds = crate::sync::now().duration_since(begun).as_secs_f64();
    report.replayed.push(ReplayedIncarnation {
        number: incarnation.number,
        transactions,
        log_bytes,
        seconds,
    });
    Ok(())
}
