//! Recovery: from what a crash left on disk to the state that was acknowledged.
//!
//! ```text
//!   manifest -> last checkpoint -> its incarnation -> ... -> last incarnation -> (new incarnation)
//!               or nothing         each: cut -> schedule -> replay  |
//!                                  frozen ELV from          ELV from the manifest if it was closed,
//!                                  the manifest             else from the files
//! ```
//!
//! **Load**: loads what the last checkpoint holds (`checkpoint::load`); replay skips that (pitfall 27). If no
//! transaction is let in before everything is done, it is loaded while the cut is found (`early_load`).
//!
//! **Cut** (`cut`): the logs are synced first (pitfall 16). The ELV is, per log, the end of the last whole
//! record before the first hole. A hole below what an anchor calls durable is corruption (pitfall 14). The
//! records that are recovered are those whose LV is covered by the ELV, each judged by itself and not as a
//! prefix of its log (pitfall 8). For an incarnation that has ended, the ELV is the one frozen in the
//! manifest: what lies beyond it never counts again (zombies, pitfall 15).
//!
//! **Replay** (`by_key`, `schedule`, `replay_source`, `replay`): all logs at once, by several workers.
//! Changes of rows are replayed key by key, in the order of their commit times. If the logs hold many calls,
//! or have no times, each record is replayed after what it follows. Zombies are passed as no-ops. The records
//! of a log are read in one way for all of this (`records`).
//!
//! **Verify**: all logs have been replayed to their end, and every row fits its table.
//!
//! Files:
//! * `records`: one walk through the records of a log, for all that follows;
//! * before replay: `cut`, `dead`, `tail` (what the logs say of each table), from `each_log` a `log_summary`
//!   and its `last_positions`; `extents` (where in the logs records of a table lie); `digest` and `digester`
//!   (the same, kept by a running server); `early_load`;
//! * replay: `incarnation` (all logs of one), `scope` (which records count), `replay_source` (one log),
//!   `extent_source` (parts of one), `by_key`, `schedule`, their `workers`, `replay` (a transaction),
//!   `command` (a call), `pieces` (a large transaction), `logged_patch`;
//! * with transactions let in: `on_demand`, `restart_status`, `passes`, `range_reader` (the changes of a
//!   range of keys);
//! * `salvage`: logs that are refused; `verify`: one number for a state;
//! * `study`: a replay that is measured, or runs in `simulated_time`.
//!
//! Recovery writes nothing (pitfall 17), except that it removes digests that are of no use any more. Its
//! result holds the manifest with the last ELV frozen. The code that opens the database adds the new
//! incarnation, creates its files and stores the manifest *before* the first new log record or answer to a
//! client ([`crate::log::Logs::start`]). A crash before that leaves everything as it was.
//!
//! A restart may let transactions in as soon as manifest, cut and catalog are known (`on_demand`, `tail`). In
//! that case, the manifest is stored in the middle of all this, and new log records go into the new
//! incarnation. Before that, such a restart reads only the last part of the logs, if the server that wrote
//! them has kept a digest of the rest (`digest`, `digester`). After that, the logs may be replayed several
//! times, for some tables each time (`passes`).
//!
//! Reference: Taurus (VLDB 2020), section 3.3.

mod by_key;
mod command;
mod cut;
pub(crate) mod dead;
mod digest;
mod digester;
mod each_log;
mod early_load;
mod extent_source;
mod extents;
mod incarnation;
mod last_positions;
mod log_summary;
mod logged_patch;
mod on_demand;
mod passes;
mod pieces;
mod range_reader;
pub(crate) mod records;
mod replay;
mod replay_source;
mod restart_status;
pub mod salvage;
mod schedule;
mod scope;
mod simulated_time;
pub mod study;
mod tail;
mod verify;
mod workers;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyades_types::error::{Error, Result, sqlstate};

use self::early_load::EarlyLoad;
use self::extents::Extents;
use self::incarnation::{ToReplay, replay_extents, replay_incarnation};
use self::last_positions::Called;
use self::log_summary::{LogSummary, Said};
use self::on_demand::OnDemand;
use self::passes::Selection;
use self::range_reader::RangeReader;
use self::replay::Installer;
use self::schedule::Replayed;
use self::scope::Scope;
use self::tail::Tail;
use crate::checkpoint::ReplaySpeed;
use crate::checkpoint::load::{self, Loaded, Loading, Nobody, Watching};
use crate::config::{Config, RecoveryProgress, RestartMode};
use crate::log::give_back_space;
use crate::log::manifest::{Incarnation, Manifest};
use crate::log::places::{log_set, manifest_store};
use crate::lsn::LsnVector;
use crate::procedure::compiled_routine::RoutineCompiler;
use crate::storage::databases::Databases;
use crate::storage::opening::Opening;
use crate::txn::replay_versions::ReplayVersions;

pub use self::cut::LogTail;
pub(crate) use self::cut::find_unknown;
pub(crate) use self::digest::remove_foreign as remove_foreign_digests;
pub(crate) use self::digester::Digester;
pub(crate) use self::on_demand::{Followers, Restarted};
pub use self::restart_status::RestartStatus;
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
    /// Whether one worker replayed the last incarnation, or the rest of it, because its records waited for
    /// each other or because it was asked for.
    pub was_serial: bool,
    /// Part of `seconds`: finding the ends of the logs of the incarnation that crashed.
    pub cut_seconds: f64,
    /// When transactions were let in.
    pub open_seconds: f64,
    /// The number of the checkpoint that was loaded, if there is one.
    pub checkpoint: Option<u64>,
    /// Rows and bytes of its parts, and the part of `seconds` that loading them took.
    pub checkpoint_rows: u64,
    pub checkpoint_bytes: u64,
    pub checkpoint_seconds: f64,
    /// The incarnations one by one, in their order.
    pub replayed: Vec<ReplayedIncarnation>,
    /// How often the logs were replayed for tables that a session waited for, before the rest of the tables.
    pub early_passes: u64,
    /// Bytes of log records that those have read.
    pub early_bytes: u64,
    /// Transactions found in a log that had not become durable with all they depend on.
    pub discarded: u64,
    /// The logs that were not closed, and how each of them ends. Empty after a clean stop.
    pub tails: Vec<LogTail>,
}

/// The assumed bytes per second of a recovery that has replayed too little to measure its speed.
const USUAL_REPLAY_RATE: f64 = 50e6;
/// Less is too little to measure it.
const TELLING_BYTES: u64 = 16 << 20;

impl RecoveryReport {
    /// Whether a restart takes longer than this even without any logs.
    pub(crate) fn misses(&self, target: Duration) -> bool {
        self.checkpoint_seconds > target.as_secs_f64()
    }

    /// How fast log records are replayed on this machine.
    pub(crate) fn replay_speed(&self) -> ReplaySpeed {
        let replayed = self.replayed.iter().map(|one| (one.log_bytes, one.seconds));
        let (bytes, seconds) = replayed.fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if bytes >= TELLING_BYTES && seconds > 0.0 {
            return ReplaySpeed { rate: bytes as f64 / seconds, excess_seconds: 0.0 };
        }
        let excess_seconds = (seconds - bytes as f64 / USUAL_REPLAY_RATE).max(0.0);
        ReplaySpeed { rate: USUAL_REPLAY_RATE, excess_seconds }
    }
}

/// What the replay of one incarnation did.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplayedIncarnation {
    pub number: u64,
    pub transactions: u64,
    pub log_bytes: u64,
    /// In all passes over its logs.
    pub seconds: f64,
}

/// The outcome of [`recover`].
pub struct Recovered {
    /// With the ELV of the last incarnation frozen. Not yet stored.
    pub manifest: Manifest,
    pub report: RecoveryReport,
}

/// Replays all logs into an empty catalog. Logged calls need the compiler of their routines. The caller holds
/// the lock on the data directory. Nothing is written.
///
/// Fails with `Fatal`: a missing or foreign file, another version, an I/O error, or bytes that no crash
/// explains. The message names the file, the offset and the reason where there is one. The catalog is then of
/// no use.
pub fn recover(
    config: &Config,
    compiler: Option<Arc<dyn RoutineCompiler>>,
    databases: &Arc<Databases>,
) -> Result<Recovered> {
    let begun = Restart::begin(config, compiler, databases, Attempt::WithEverything);
    let mut restart = begun.map_err(Failure::into_error)?;
    restart.finish_load().map_err(Failure::into_error)?;
    restart.replay(None)?;
    let report = restart.concluded_report();
    Ok(Recovered { manifest: restart.manifest, report })
}

/// A database whose restart has come far enough to let transactions in.
pub(crate) struct Restarting {
    pub(crate) databases: Arc<Databases>,
    pub(crate) manifest: Manifest,
    pub(crate) loaded: Option<Loaded>,
    pub(crate) restarted: Restarted,
}

/// Like [`recover`], but returns as soon as it is known what there is, if the configuration says so. The rest
/// continues in the background.
///
/// A damaged checkpoint is not the end: the logs are kept from the one before it on, and hold everything that
/// came after it. So if its damage is found before transactions are let in, the restart begins there. If the
/// one before shares the damaged file, a restart on demand still opens what can be read.
pub(crate) fn restart(config: &Config, compiler: Option<&Arc<dyn RoutineCompiler>>) -> Result<Restarting> {
    // An older checkpoint is requested because something is damaged.
    let opens = match config.restart {
        RestartMode::OnDemand if !config.previous_checkpoint => Attempt::OnDemand,
        _ => Attempt::WithEverything,
    };
    let error = match attempt(config, compiler, opens) {
        Ok(restarting) => return Ok(restarting),
        Err(Failure::Checkpoint(error))
            if error.sqlstate() == sqlstate::DATA_CORRUPTED && !config.previous_checkpoint =>
        {
            error
        }
        Err(failure) => return Err(failure.into_error()),
    };
    let found = manifest_store(config).load()?;
    if !found.is_some_and(|manifest| manifest.has_beginning_before_last_checkpoint()) {
        return Err(error);
    }
    tracing::warn!("the restart begins before the last checkpoint, and replays the logs since then: {error}");
    // What the attempt has loaded.
    crate::storage::free_dropped();
    let earlier = Config { previous_checkpoint: true, ..config.clone() };
    let earlier = match attempt(&earlier, compiler, Attempt::WithEverything) {
        Ok(restarting) => return Ok(restarting),
        Err(failure) => failure.into_error(),
    };
    let error = Error::fatal(error.sqlstate(), format!("{error}; {FAILS_TOO}: {earlier}"));
    if opens == Attempt::WithEverything {
        return Err(error);
    }
    tracing::warn!("the restart opens the tables that can be read: {error}");
    crate::storage::free_dropped();
    attempt(config, compiler, Attempt::WithoutLostTables).map_err(|_| error)
}

/// When a restart lets transactions in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// When everything has been loaded and replayed.
    WithEverything,
    /// As soon as it is known what there is, unless the checkpoint has been found damaged before.
    OnDemand,
    /// As soon as it is known what there is. Tables that a damaged checkpoint has lost stay closed.
    WithoutLostTables,
}

/// Stands in the error of a restart that neither the last checkpoint nor the one before it can serve.
pub const FAILS_TOO: &str = "without this checkpoint it fails, too";

/// Why a restart was not possible.
enum Failure {
    /// The checkpoint cannot be read. Another one may serve.
    Checkpoint(Error),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Other(error)
    }
}

impl Failure {
    // No `From`: with one, errors could not be inferred elsewhere.
    fn into_error(self) -> Error {
        match self {
            Failure::Checkpoint(error) | Failure::Other(error) => error,
        }
    }
}

fn attempt(
    config: &Config,
    compiler: Option<&Arc<dyn RoutineCompiler>>,
    opens: Attempt,
) -> std::result::Result<Restarting, Failure> {
    let databases = Arc::new(Databases::new());
    let mut restart = Restart::begin(config, compiler.cloned(), &databases, opens)?;
    if restart.is_on_demand && restart.has_work() {
        return restart.leave_the_rest();
    }
    restart.finish_load()?;
    restart.manifest.suspect_checkpoint = None;
    restart.replay(None)?;
    let report = restart.concluded_report();
    let (manifest, loaded) = (restart.manifest.clone(), restart.loaded());
    let restarted = Restarted::complete(restart.on_demand(), report);
    Ok(Restarting { databases, manifest, loaded, restarted })
}

/// What each log of an incarnation says of each table, by the incarnation's number.
type SaidOfEach = HashMap<u64, Vec<Said>>;

/// A recovery, once it is known what there is.
struct Restart {
    config: Config,
    compiler: Option<Arc<dyn RoutineCompiler>>,
    databases: Arc<Databases>,
    started: Instant,
    workers: usize,
    /// With the ends of all logs.
    manifest: Manifest,
    /// As it was on disk.
    found: Manifest,
    loading: Option<Arc<Loading>>,
    /// The loading of the checkpoint, if it has begun early.
    early: Option<EarlyLoad>,
    /// What the logs of the crashed incarnation say, if that is wanted.
    said: SaidOfEach,
    /// Where the records lie that change rows, for each log of each incarnation, if it is known.
    extents: Option<Arc<Vec<Vec<Extents>>>>,
    is_on_demand: bool,
    report: RecoveryReport,
}

impl Restart {
    /// While the cut is found, loads the checkpoint or, on demand, notes what the logs say of each table.
    fn begin(
        config: &Config,
        compiler: Option<Arc<dyn RoutineCompiler>>,
        databases: &Arc<Databases>,
        opens: Attempt,
    ) -> std::result::Result<Restart, Failure> {
        let started = crate::sync::now();
        let found = match config.reads_backups {
            true => Manifest::read(config.disk.as_ref(), &config.data_directory)?,
            false => manifest_store(config).load()?,
        };
        let mut manifest = found.unwrap_or_else(Manifest::create);
        if config.previous_checkpoint {
            manifest.give_up_last_checkpoint()?;
        }
        let is_on_demand = match opens {
            Attempt::WithEverything => false,
            // A checkpoint that was found damaged is read first, so that another one can take its place.
            Attempt::OnDemand => manifest.suspect_checkpoint.is_none(),
            Attempt::WithoutLostTables => true,
        };
        let workers = workers(config);
        // A backup may hold files of a later one that was cut short. They do not count.
        if manifest.backup.is_none() {
            for incarnation in &manifest.incarnations {
                // Before anything else reads them.
                log_set(config, &manifest, incarnation).check(manifest.next_number())?;
            }
        }
        let found = manifest.clone();
        let mut report = RecoveryReport::default();
        let begun = crate::sync::now();
        // Damage in the logs is reported first.
        let loading = begin_checkpoint(config, &manifest, databases, &mut report);
        report.checkpoint_seconds = crate::sync::seconds_since(begun);
        let early = match &loading {
            Ok(Some(loading)) if !is_on_demand => Some(EarlyLoad::begin(loading, workers)?),
            _ => None,
        };
        let begun = crate::sync::now();
        let summarised = is_on_demand.then_some(databases);
        let (tails, said) = freeze_ends(config, &mut manifest, workers, summarised)?;
        report.tails = tails;
        report.cut_seconds = crate::sync::seconds_since(begun);
        Ok(Restart {
            config: config.clone(),
            compiler,
            databases: Arc::clone(databases),
            started,
            workers,
            manifest,
            found,
            loading: loading.map_err(Failure::Checkpoint)?,
            early,
            said,
            extents: None,
            is_on_demand,
            report,
        })
    }

    /// Whether there is anything to load or to replay.
    fn has_work(&self) -> bool {
        self.loading.is_some() || bytes_total(&self.manifest) > 0
    }

    /// What the next checkpoint builds on.
    fn loaded(&self) -> Option<Loaded> {
        self.loading.as_ref().map(|loading| loading.loaded.clone())
    }

    fn load(&mut self, watching: &Arc<dyn Watching>) -> Result<()> {
        let begun = crate::sync::now();
        if let Some(loading) = &self.loading {
            loading.run(self.workers, watching)?;
            self.report.checkpoint_seconds += crate::sync::seconds_since(begun);
        }
        Ok(())
    }

    /// Waits until the checkpoint has been loaded.
    fn finish_load(&mut self) -> std::result::Result<(), Failure> {
        let loaded = match self.early.take() {
            Some(early) => early.finish().map(|seconds| self.report.checkpoint_seconds += seconds),
            None => self.load(&(Arc::new(Nobody) as Arc<dyn Watching>)),
        };
        loaded.map_err(Failure::Checkpoint)
    }

    /// Loads and replays, in as many passes as the waiting sessions make worthwhile.
    fn load_and_replay(&mut self, shared: &Arc<OnDemand>) -> Result<()> {
        let watching: Arc<dyn Watching> = Arc::clone(shared) as _;
        let mut early: Vec<ReplayedIncarnation> = Vec::new();
        loop {
            self.load(&watching).inspect_err(|_| shared.note_failed_load())?;
            shared.check_wanted()?;
            let selection = shared.begin_pass();
            let before = selection.is_early().then(|| self.report.clone());
            self.replay(Some((shared, &selection)))?;
            let Some(before) = before else { break };
            early.extend(std::mem::replace(&mut self.report, before).replayed);
            self.report.early_passes += 1;
            self.report.early_bytes += selection.selective_bytes().unwrap_or(bytes_total(&self.manifest));
        }
        for one in &mut self.report.replayed {
            let same = early.iter().filter(|early| early.number == one.number);
            one.seconds += same.map(|early| early.seconds).sum::<f64>();
        }
        Ok(())
    }

    /// Replays the logs once: completely, or what is selected.
    fn replay(&mut self, on_demand: Option<(&Arc<OnDemand>, &Arc<Selection>)>) -> Result<()> {
        let Restart { config, compiler, databases, manifest, report, started, workers, extents, .. } = self;
        let bytes_total = bytes_total(manifest);
        for (place, incarnation) in manifest.to_replay().enumerate() {
            let mut installer =
                installer(config, compiler.as_ref(), databases, incarnation, report, bytes_total, *started);
            if let Some((on_demand, selection)) = on_demand {
                installer.on_demand = Some(Arc::clone(on_demand));
                installer.selection = (!selection.is_everything()).then(|| Arc::clone(selection));
                let from = manifest.replay_from(incarnation);
                on_demand.begin_incarnation(place, from.entries(), Some(&installer.versions));
            }
            let scope = Arc::new(Scope::of_ended(incarnation));
            let workers = *workers;
            let incarnation = ToReplay { manifest, incarnation, scope, workers, is_salvage: false };
            let begun = crate::sync::now();
            let versions = Arc::clone(&installer.versions);
            let selective =
                on_demand.map(|(_, selection)| selection).filter(|it| it.selective_bytes().is_some());
            let replayed = match (selective, &*extents) {
                (Some(selection), Some(extents)) => {
                    let takes = |table| selection.takes_table(table);
                    replay_extents(config, &incarnation, (extents, place), takes, Arc::new(installer))?
                }
                _ => replay_incarnation(config, &incarnation, Arc::new(installer))?,
            };
            versions.finish();
            note_replayed(report, &incarnation, replayed, begun);
        }
        if let Some((on_demand, _)) = on_demand {
            on_demand.begin_incarnation(manifest.to_replay().count(), &[], None);
        }
        Ok(())
    }

    /// The report, when everything has been replayed.
    fn concluded_report(&mut self) -> RecoveryReport {
        let tables = self.databases.tables();
        self.report.tables = tables.len();
        self.report.rows = tables.iter().map(|table| table.row_count()).sum();
        self.report.seconds = crate::sync::seconds_since(self.started);
        self.report.open_seconds = self.report.seconds;
        std::mem::take(&mut self.report)
    }

    fn on_demand(&self) -> OnDemand {
        let logs = self.manifest.to_replay().map(|incarnation| incarnation.logs).max().unwrap_or(0);
        let extent = (logs, bytes_total(&self.manifest));
        let finally = (self.config.restart == RestartMode::OnDemand).then(|| {
            let (config, manifest) = (self.config.clone(), self.manifest.clone());
            Box::new(move || give_back_space(&config, &manifest)) as Box<dyn FnOnce() + Send + Sync>
        });
        let mut shared = OnDemand::new(&self.databases, self.loading.as_ref(), self.started, extent, finally);
        shared.has_earlier_beginning = self.manifest.has_beginning_before_last_checkpoint();
        shared
    }

    /// What the logs say of each table. Reads those of incarnations that had ended before the start.
    fn read_tail(&mut self) -> Result<Tail> {
        let mut tail = Tail::default();
        let Restart { config, manifest, workers, databases, said, .. } = self;
        for (place, incarnation) in manifest.to_replay().enumerate() {
            let said = match said.remove(&incarnation.number) {
                Some(said) => said,
                None => tail::read_ended(config, manifest, incarnation, *workers, databases)?,
            };
            tail.add(place, said);
        }
        Ok(tail)
    }

    /// Returns when transactions can be let in. A thread does the rest.
    fn leave_the_rest(mut self) -> std::result::Result<Restarting, Failure> {
        let mut tail = self.read_tail()?;
        self.extents = tail.take_extents().map(Arc::new);
        let shared = Arc::new(self.on_demand());
        let (manifest, loaded) = (self.manifest.clone(), self.loaded());
        let (databases, compiler) = (Arc::clone(&self.databases), self.compiler.clone());
        let compiler = compiler.as_deref();
        let doubtful = tail.doubtful_calls(&databases, compiler);
        let first = tail.need_of_catalog().or_else(|| tail.need_of_calls(&doubtful));
        let waits_for = first.map(|need| shared.opening_after(need)).transpose()?;
        if waits_for.is_none() {
            let calls = tail.calls(&databases, compiler);
            shared.close_tables(tail.needs_of_tables(&calls))?;
            let extents = self.extents.as_deref();
            shared.plan_passes(&calls, |table| {
                let logs = extents?.iter().flatten();
                Some(logs.map(|extents| extents.bytes_of(table)).sum())
            });
            if let Some(extents) = &self.extents {
                shared.divide_tables(RangeReader {
                    config: self.config.clone(),
                    manifest: self.manifest.clone(),
                    extents: Arc::clone(extents),
                });
            }
            // It may be that no start ever completes, and that each leaves its prepared segments. Those of
            // the last one stay until this one is complete.
            let (config, found) = (self.config.clone(), self.found.clone());
            shared.begin_with(Box::new(move || give_back_space(&config, &found)));
        }
        let working = Arc::clone(&shared);
        let thread = crate::sync::spawn("hyades-restart".to_owned(), move || self.do_the_rest(&working))
            .map_err(|error| Error::io("could not start the thread of the restart", &error))?;
        let restarted = Restarted::going_on(&shared, thread);
        if let Some(opening) = waits_for {
            let waited = wait_for_first(&shared, &tail, opening, doubtful, (&databases, compiler));
            waited.map_err(|error| match shared.has_load_failed() {
                true => Failure::Checkpoint(error),
                false => Failure::Other(error),
            })?;
        }
        Ok(Restarting { databases, manifest, loaded, restarted })
    }

    fn do_the_rest(mut self, shared: &Arc<OnDemand>) {
        let work = AssertUnwindSafe(|| {
            shared.wait_for_beginning()?;
            self.load_and_replay(shared)?;
            Ok(self.concluded_report())
        });
        let outcome = catch_unwind(work).unwrap_or_else(|_| {
            Err(Error::fatal(sqlstate::INTERNAL_ERROR, "the restart broke off unexpectedly"))
        });
        match outcome {
            Ok(report) => {
                if shared.end_without_lost_tables().is_none() {
                    shared.complete(report);
                }
            }
            Err(error) => {
                if error.sqlstate() != sqlstate::ADMIN_SHUTDOWN && shared.is_open() {
                    // The next start reads all of the logs, and refuses damage before it lets transactions
                    // in.
                    digest::remove_all(&self.config);
                }
                shared.fail(&error);
            }
        }
    }
}

/// Waits until everything has been replayed that must be before transactions are let in, and closes the
/// tables that are not recovered by then.
fn wait_for_first(
    shared: &OnDemand,
    tail: &Tail,
    opening: Arc<Opening>,
    mut doubtful: Vec<Called>,
    (databases, compiler): (&Databases, Option<&dyn RoutineCompiler>),
) -> Result<()> {
    let mut waits_for = Some(opening);
    while let Some(opening) = waits_for.take() {
        while let Some(ticket) = opening.wait()? {
            ticket.wait();
        }
        // Their routines may have been created by the changes of the catalog.
        doubtful.retain(|called| !tail::is_there(*called, databases, compiler));
        let need = tail.need_of_calls(&std::mem::take(&mut doubtful));
        waits_for = need.map(|need| shared.opening_after(need)).transpose()?;
    }
    shared.close_tables(tail.needs_of_tables(&tail.calls(databases, compiler)))
}

/// Creates the catalog of the last checkpoint, if there is one, in an empty catalog.
fn begin_checkpoint(
    config: &Config,
    manifest: &Manifest,
    databases: &Arc<Databases>,
    report: &mut RecoveryReport,
) -> Result<Option<Arc<Loading>>> {
    let Some(checkpoint) = manifest.last_checkpoint() else { return Ok(None) };
    let loading = load::begin(config, manifest, checkpoint, databases)?;
    report.checkpoint = Some(checkpoint.number);
    report.checkpoint_rows = loading.loaded.rows();
    report.checkpoint_bytes = loading.bytes();
    Ok(Some(Arc::new(loading)))
}

/// Loads the last checkpoint, if there is one, into an empty catalog.
fn load_checkpoint(
    config: &Config,
    manifest: &Manifest,
    databases: &Arc<Databases>,
    report: &mut RecoveryReport,
) -> Result<()> {
    let begun = crate::sync::now();
    if let Some(loading) = begin_checkpoint(config, manifest, databases, report)? {
        let nobody: Arc<dyn Watching> = Arc::new(Nobody);
        loading.run(workers(config), &nobody)?;
        report.checkpoint_seconds = crate::sync::seconds_since(begun);
    }
    Ok(())
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

/// The replay of the incarnation's log records, after the earlier ones of the report have been replayed.
fn installer(
    config: &Config,
    compiler: Option<&Arc<dyn RoutineCompiler>>,
    databases: &Arc<Databases>,
    incarnation: &Incarnation,
    report: &RecoveryReport,
    bytes_total: u64,
    started: Instant,
) -> Installer {
    Installer {
        databases: Arc::clone(databases),
        compiler: compiler.cloned(),
        foundations: incarnation.foundations.clone(),
        replays_images: config.replay_images,
        slicing: config.replays_slices,
        on_demand: None,
        selection: None,
        versions: ReplayVersions::new(databases, incarnation.has_times),
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

/// Computes the ELV of every incarnation that has none yet: the one that was running at the crash. With a
/// catalog, also notes what the logs say of its tables.
fn freeze_ends(
    config: &Config,
    manifest: &mut Manifest,
    workers: usize,
    databases: Option<&Arc<Databases>>,
) -> Result<(Vec<LogTail>, SaidOfEach)> {
    let (mut tails, mut said) = (Vec::new(), HashMap::new());
    for place in 0..manifest.incarnations.len() {
        let incarnation = &manifest.incarnations[place];
        if incarnation.end.is_some() {
            if let Some(cut) = find_unknown(config, manifest, incarnation)? {
                manifest.incarnations[place].freeze(&cut.limit, cut.up_to_end());
            }
            continue;
        }
        let summaries = match databases {
            Some(databases) if incarnation.logs > 0 => {
                LogSummary::of_each(config, manifest, incarnation, databases)?
            }
            _ => Vec::new(),
        };
        let (cut, found, summaries) = cut::find_end(config, manifest, place, workers, summaries)?;
        // If a summary was given up, the logs are read once more, like those of incarnations that had ended
        // before.
        let concluded: Option<Vec<Said>> =
            summaries.into_iter().map(|summary| summary.conclude(&cut)).collect();
        said.extend(concluded.filter(|_| databases.is_some()).map(|said| (incarnation.number, said)));
        manifest.incarnations[place].freeze(&cut.limit, cut.up_to_end());
        tails.extend(found);
    }
    Ok((tails, said))
}

/// Adds what the replay of an incarnation has done to the report.
fn note_replayed(
    report: &mut RecoveryReport,
    ToReplay { manifest, incarnation, scope, .. }: &ToReplay<'_>,
    Replayed { transactions, was_serial }: Replayed,
    begun: Instant,
) {
    let log_bytes = log_bytes(&manifest.replay_from(incarnation), &scope.end);
    report.transactions += transactions;
    report.was_serial = was_serial;
    report.discarded += scope.zombies();
    report.logs = incarnation.logs;
    report.incarnations += 1;
    report.log_bytes += log_bytes;
    let seconds = crate::sync::seconds_since(begun);
    report.replayed.push(ReplayedIncarnation {
        number: incarnation.number,
        transactions,
        log_bytes,
        seconds,
    });
}
