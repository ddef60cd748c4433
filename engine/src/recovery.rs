//! Recovery: from what a crash left on disk to the state that was acknowledged.
//!
//! ```text
//!   manifest -> last checkpoint -> its incarnation -> ... -> last incarnation -> (new incarnation)
//!               or nothing         each: cut -> schedule -> replay  |
//!                                  frozen ELV from          ELV from the manifest if it was closed,
//!                                  the manifest             else from the files
//! ```
//!
//! **Load**: what the last checkpoint holds (`checkpoint::load`); replay passes it (pitfall 27).
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
use std::time::{Duration, Instant};

use hyades_types::error::Result;

use self::replay::Installer;
use self::replay_source::{ReplaySource, SourceOptions};
use self::schedule::{Replay, Replayed, ScheduleOptions};
use self::scope::Scope;
use crate::checkpoint::load::{self, Loaded};
use crate::config::{Config, RecoveryProgress};
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::places::{log_set, manifest_store};
use crate::lsn::{Lsn, LsnVector};
use crate::procedure::compiled_routine::RoutineCompiler;
use crate::protocol::list::replay_order;
use crate::storage::catalog::Catalog;

pub use self::cut::LogTail;
pub use self::verify::{CheckedIndexes, check_indexes, state_hash, tables_hash};

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
    /// The number of the checkpoint that was loaded, if there is one.
    pub checkpoint: Option<u64>,
    /// Rows and bytes of its parts, and the part of `seconds` that loading them took.
    pub checkpoint_rows: u64,
    pub checkpoint_bytes: u64,
    pub checkpoint_seconds: f64,
    /// The incarnations one by one, in their order.
    pub replayed: Vec<ReplayedIncarnation>,
    /// Transactions found in a log that had not become durable with all they depend on.
    pub discarded: u64,
    /// The logs that were not closed, and how each of them ends. None after a clean stop.
    pub tails: Vec<LogTail>,
}

/// What a recovery that has replayed too little to tell is taken to replay in a second.
const USUAL_REPLAY_RATE: f64 = 50e6;
/// Less is too little to tell.
const TELLING_BYTES: u64 = 16 << 20;

impl RecoveryReport {
    /// Whether a restart takes longer than this whatever becomes of the logs.
    pub(crate) fn misses(&self, target: Duration) -> bool {
        self.checkpoint_seconds > target.as_secs_f64()
    }

    /// Bytes of log records that are replayed in a second on this machine.
    pub fn replay_rate(&self) -> f64 {
        let replayed = self.replayed.iter().map(|one| (one.log_bytes, one.seconds));
        let (bytes, seconds) = replayed.fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if bytes < TELLING_BYTES || seconds <= 0.0 { USUAL_REPLAY_RATE } else { bytes as f64 / seconds }
    }
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
    /// What the next checkpoint can build on.
    pub(crate) checkpoint: Option<Loaded>,
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
    let found = match config.reads_backups {
        true => Manifest::read(config.disk.as_ref(), &config.data_directory)?,
        false => manifest_store(config).load()?,
    };
    let mut manifest = found.unwrap_or_else(Manifest::create);
    if config.previous_checkpoint {
        manifest.give_up_last_checkpoint()?;
    }
    let workers = workers(config);
    for incarnation in &manifest.incarnations {
        // Before anything else looks at them.
        log_set(config, &manifest, incarnation).check(manifest.next_number())?;
    }
    let tails = freeze_ends(config, &mut manifest, workers)?;

    let cut_seconds = crate::sync::now().duration_since(started).as_secs_f64();
    let mut report = RecoveryReport { cut_seconds, tails, ..RecoveryReport::default() };
    let checkpoint = load_checkpoint(config, &manifest, catalog, &mut report)?;
    let bytes_total = bytes_total(&manifest);
    for incarnation in manifest.to_replay() {
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
    Ok(Recovered { manifest, report, checkpoint })
}

/// Loads the last checkpoint, if there is one, into an empty catalog.
fn load_checkpoint(
    config: &Config,
    manifest: &Manifest,
    catalog: &Arc<Catalog>,
    report: &mut RecoveryReport,
) -> Result<Option<Loaded>> {
    let Some(checkpoint) = manifest.last_checkpoint() else { return Ok(None) };
    let begun = crate::sync::now();
    let loaded = load::load(config, manifest, checkpoint, catalog, workers(config))?;
    report.checkpoint = Some(checkpoint.number);
    report.checkpoint_rows = loaded.rows();
    report.checkpoint_bytes = loaded.bytes();
    report.checkpoint_seconds = crate::sync::now().duration_since(begun).as_secs_f64();
    Ok(Some(loaded))
}

/// How many workers replay.
fn workers(config: &Config) -> usize {
    match config.recovery_workers {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        workers => workers,
    }
}

/// Bytes of log records that are to be replayed.
fn bytes_total(manifest: &Manifest) -> u64 {
    let bytes = |incarnation: &Incarnation| {
        let end = incarnation.frozen_end()?;
        Some(log_bytes(&manifest.replay_from(incarnation), &end))
    };
    manifest.to_replay().filter_map(bytes).sum()
}

fn log_bytes(from: &LsnVector, end: &LsnVector) -> u64 {
    (0..from.len()).map(|log| end.get(log).0.saturating_sub(from.get(log).0)).sum()
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
        let start = manifest.replay_from(incarnation).get(log);
        let mut reader = log_set(config, manifest, incarnation).source(log, start)?;
        if self.is_salvage {
            reader.stop_at(scope.end.get(log));
        }
        let order = replay_order(&incarnation.protocol, incarnation.logs)?;
        let options = SourceOptions {
            log,
            scope: Arc::clone(scope),
            start,
            checkpoint: manifest.checkpoint_of(incarnation).cloned().map(Arc::new),
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
    let ToReplay { manifest, incarnation, scope, .. } = to_replay;
    let from = manifest.replay_from(incarnation);
    let mut sources = Vec::new();
    for log in 0..incarnation.logs {
        let (start, end) = (from.get(log), scope.end.get(log));
        sources.push((to_replay.source(config, log)?, start.0..end.0.max(start.0)));
    }
    let is_total = replay_order(&incarnation.protocol, incarnation.logs)?.is_total();
    let options = ScheduleOptions { workers: to_replay.workers, mode: config.recovery_mode, is_total };
    let Replayed { transactions, was_serial } = schedule::run(sources, replay, options)?;
    let log_bytes = log_bytes(&from, &scope.end);
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
