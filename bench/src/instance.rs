//! One database of one variant: opened, loaded, measured as often as asked, crashed, recovered, compared.
//!
//! The load is an incarnation of its own: after it the database is closed and opened again. Incarnations are
//! replayed one after the other, so the recovery of what was measured can be separated from that of the load.
//! A protocol without logs keeps its first run.
//!
//! The crash cuts the power of the simulated machine ([`crate::device`]): the engine's own shutdown, which
//! happens when its last user drops it, reaches no file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hyades::{Config, ControlKind, Database, ProtocolKind};
use hyades_engine::inspect::graph::{Graph, Node, Orders, Weight};
use hyades_engine::inspect::{EntryBody, Inspection};
use hyades_engine::recovery::{RecoveryReport, ReplayedIncarnation, recover, tables_hash};
use hyades_engine::storage::databases::Databases;
use serde::Serialize;

use crate::device::{DeviceKind, Machine, Written};
use crate::drive::{self, NewCaller, OnProgress, Plan};
use crate::spread::Spread;
use crate::target::embedded::EmbeddedConnection;
use crate::target::{Caller, Connection, Ended};
use crate::workload::{Request, Violation, Workload, load};

/// Of so many transactions at most the order is looked at.
const MOST_ORDERED: u64 = 400_000;

/// How transactions are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Logging {
    /// The database chooses for each transaction.
    Auto,
    /// Procedure and arguments wherever that can be replayed.
    Command,
    /// The rows.
    Data,
    /// Sessions alternate: one session's calls are logged as commands, the next one's as data.
    Mixed,
}

impl Logging {
    pub fn name(self) -> &'static str {
        match self {
            Logging::Auto => "auto",
            Logging::Command => "command",
            Logging::Data => "data",
            Logging::Mixed => "mixed",
        }
    }

    /// The statement that the session of this number sends. `None` where the database may choose.
    pub fn statement(self, session: usize) -> Option<&'static str> {
        match self {
            Logging::Auto => None,
            Logging::Mixed if session.is_multiple_of(2) => Logging::Command.statement(session),
            Logging::Command => Some("SET hyades.logging = 'command'"),
            Logging::Data | Logging::Mixed => Some("SET hyades.logging = 'data'"),
        }
    }
}

/// How the changes of rows in the logs are replayed (`--replay`). Calls are replayed after what they follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Replay {
    /// Key by key, in the order of commit times.
    Keys,
    /// Each log record after what it follows, as in the papers. Records of silor and plover do not say what
    /// that is: theirs are replayed key by key.
    Paper,
}

/// What differs between the sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    pub protocol: ProtocolKind,
    pub logging: Logging,
    pub control: ControlKind,
    /// `Config::fails_beside_writers`: the rule of Silo.
    pub fails_beside_writers: bool,
}

/// Stands for [`Variant::fails_beside_writers`] in names.
pub const SILOS_RULE: &str = "silo";

impl Variant {
    /// Under two-phase locking.
    pub fn new(protocol: ProtocolKind, logging: Logging) -> Variant {
        let control = ControlKind::TwoPhaseLocking;
        Variant { protocol, logging, control, fails_beside_writers: false }
    }

    pub fn protocol_name(self) -> &'static str {
        self.protocol.name()
    }

    /// `taurus:command:occ`. The logging of a protocol without logs is not mentioned, nor is two-phase
    /// locking. `taurus:command:occ:silo` fails beside writers.
    pub fn name(self) -> String {
        let mut name = self.protocol_name().to_owned();
        if self.protocol != ProtocolKind::None && self.logging != Logging::Auto {
            name = format!("{name}:{}", self.logging.name());
        }
        if self.control != ControlKind::TwoPhaseLocking {
            name = format!("{name}:{}", self.control.name());
        }
        if self.fails_beside_writers {
            name = format!("{name}:{SILOS_RULE}");
        }
        name
    }

    pub fn is_durable(self) -> bool {
        self.protocol != ProtocolKind::None
    }
}

/// What all variants of a run share.
#[derive(Clone, Debug)]
pub struct Setting {
    pub workers: u64,
    pub logs: usize,
    pub device: DeviceKind,
    pub in_flight: usize,
    pub seed: u64,
    /// An empty directory of this instance; only used by the real device.
    pub directory: PathBuf,
    pub recovery_workers: usize,
    pub replay: Replay,
    /// How often the logs are recovered after the crash.
    pub recoveries: u64,
    /// Whether it is found out how parallel a replay can be.
    pub orders: bool,
}

/// The results of one measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    pub seconds: f64,
    /// Durable acknowledgements, read-only ones included.
    pub acknowledged: u64,
    pub read_only: u64,
    /// Rolled back on purpose, and in none of the other figures.
    pub refused: u64,
    pub retries: u64,
    pub per_second: f64,
    pub read_only_per_second: f64,
    pub by_call: Vec<(&'static str, u64)>,
    /// Of all calls: 50, 90, 99, 99.9 per cent and the longest.
    pub latency_us: [u64; 5],
    /// Bytes written durably, headers and padding included, for each transaction that was not read-only.
    pub bytes_per_transaction: f64,
    pub syncs_per_transaction: f64,
    pub written_bytes: u64,
    /// What a transaction, read-only or not, has cost the workers' processors, in nanoseconds. Zero where
    /// that is not counted.
    pub worker_ns: f64,
    /// The same of the threads that write logs.
    pub logger_ns: f64,
}

/// The results of the recovery after the crash.
#[derive(Clone, Debug, Serialize)]
pub struct Recovered {
    /// The transactions of the measured incarnation.
    pub transactions: u64,
    pub log_bytes: u64,
    /// The time of the last recovery.
    pub seconds: f64,
    /// The median of all recoveries.
    pub per_second: f64,
    /// Of each recovery.
    pub rates: Vec<f64>,
    pub discarded: u64,
    /// The time to find the ends of the logs, part of `seconds`.
    pub cut_seconds: f64,
    /// Including the load's incarnation.
    pub total_seconds: f64,
    pub state_matches: bool,
    pub violations: Vec<String>,
    pub records: Records,
}

/// The log records of the measured incarnation.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Records {
    pub transactions: u64,
    pub record_bytes: f64,
    /// Those that say what a transaction follows.
    pub vector_bytes: f64,
    /// If asked for: work / span of a replay that waits for positions, for the records that are named (with a
    /// protocol whose records name others), and for the last writers of what is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<Parallelism>,
}

/// See [`Records::parallelism`]. Each transaction costs the same.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Parallelism {
    pub positions: f64,
    pub named: Option<f64>,
    pub conflicts: f64,
}

/// An open database of a variant.
pub struct Instance {
    pub variant: Variant,
    setting: Setting,
    machine: Machine,
    config: Config,
    database: Option<Database>,
    rounds: u64,
}

impl Instance {
    /// Creates the database and loads the workload.
    ///
    /// # Errors
    /// Errors of the database, or of the workload's SQL.
    pub fn create(variant: Variant, setting: &Setting, workload: &dyn Workload) -> Result<Instance> {
        let logs = if variant.protocol.has_parallel_logs() { setting.logs } else { 1 };
        let directories: Vec<PathBuf> =
            (0..logs).map(|log| setting.directory.join(format!("device-{log}"))).collect();
        let machine = Machine::new(setting.device, &directories, setting.workers);
        let mut config = Config::new(setting.directory.join("data"));
        config.protocol = variant.protocol;
        config.control = variant.control;
        config.fails_beside_writers = variant.fails_beside_writers;
        config.logs = setting.logs;
        config.log_directories = directories;
        config.log_buffer_bytes = buffer_bytes(setting.device, setting.workers);
        config.segment_bytes = segment_bytes(setting);
        config.recovery_workers = setting.recovery_workers;
        config.replays_by_position = setting.replay == Replay::Paper;
        // No checkpoints: logs and their replay are compared.
        config.checkpoint_log_bytes = 0;
        let mut instance =
            Instance { variant, setting: setting.clone(), machine, config, database: None, rounds: 0 };
        instance.open()?;
        let mut connection = instance.connection()?;
        for script in workload.schema() {
            connection.script(script).with_context(|| format!("the procedures of {}", workload.name()))?;
        }
        drop(connection);
        load(workload, setting.workers, || instance.connection())?;
        if variant.is_durable() {
            instance.database()?.shutdown()?;
            instance.database = None;
            instance.open()?;
        }
        instance.machine.throttle(true);
        Ok(instance)
    }

    fn open(&mut self) -> Result<()> {
        let mut config = self.config.clone();
        config.disk = self.machine.disk();
        self.database = Some(Database::open(config)?);
        Ok(())
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().context("the database is not open")
    }

    fn connection(&self) -> Result<EmbeddedConnection> {
        EmbeddedConnection::new(self.database()?)
    }

    /// Runs the workload for a while.
    ///
    /// # Errors
    /// Errors of the workload's transactions.
    pub fn measure(
        &mut self,
        workload: &dyn Workload,
        length: Duration,
        on_progress: OnProgress<'_>,
    ) -> Result<Figures> {
        self.rounds += 1;
        let plan = Plan {
            workers: self.setting.workers,
            in_flight: self.setting.in_flight,
            length,
            seed: self.setting.seed.wrapping_mul(1_000_003).wrapping_add(self.rounds),
        };
        let database = self.database()?.clone();
        let (calls, logging, number) = (workload.calls(), self.variant.logging, AtomicUsize::new(0));
        let new_session = || {
            if let Some(native) = workload.native_caller(database.engine())? {
                return Ok(native);
            }
            let mut connection = EmbeddedConnection::new(&database)?;
            if let Some(statement) = logging.statement(number.fetch_add(1, Ordering::Relaxed)) {
                connection.script(statement)?;
            }
            Ok(Box::new(connection.into_caller(calls)?) as Box<dyn Caller>)
        };
        let sessions = self.sessions_of_a_worker();
        let new_caller: NewCaller<'_> = Box::new(|| {
            let callers = (0..sessions).map(|_| new_session()).collect::<Result<Vec<_>>>()?;
            Ok(Box::new(InTurn { callers, next: 0 }))
        });
        let before = self.machine.written();
        let driven = drive::run(workload, &new_caller, plan, on_progress)?;
        Ok(figures(workload, &driven, self.machine.written().since(before)))
    }

    /// A session writes to one log. To use all logs, a worker has several sessions if there are more logs
    /// than workers.
    fn sessions_of_a_worker(&self) -> usize {
        match self.variant.protocol.has_parallel_logs() {
            true => self.setting.logs.div_ceil(self.setting.workers as usize),
            false => 1,
        }
    }

    /// Returns the conditions that do not hold.
    ///
    /// # Errors
    /// Errors of the queries.
    pub fn check(&self, workload: &dyn Workload) -> Result<Vec<Violation>> {
        workload.check(&mut self.connection()?)
    }

    fn state_hash(&self) -> Result<u64> {
        Ok(tables_hash(&self.database()?.engine().tables())?)
    }

    /// Crashes the database, recovers it and compares it with what it held before.
    ///
    /// # Errors
    /// A recovery that fails, or a protocol that survives no crash.
    pub fn crash_and_recover(&mut self, workload: &dyn Workload) -> Result<Recovered> {
        if !self.variant.is_durable() {
            bail!("the protocol none survives no crash");
        }
        let before = self.state_hash()?;
        self.machine.crash();
        // Its last writes do not arrive.
        self.database = None;
        let records = self.records()?;
        let mut rates = Vec::new();
        for _ in 1..self.setting.recoveries {
            rates.push(self.recover_in_memory()?);
        }
        self.open()?;
        let report = self.database()?.engine().recovery_report().clone();
        let (measured, seconds) = last_of(&report)?;
        rates.push(measured.transactions as f64 / seconds);
        let state_matches = self.state_hash()? == before;
        let violations = self.check(workload)?;
        Ok(Recovered {
            transactions: measured.transactions,
            log_bytes: measured.log_bytes,
            seconds,
            per_second: Spread::of(rates.iter().copied()).median,
            rates,
            discarded: report.discarded,
            cut_seconds: report.cut_seconds,
            total_seconds: report.seconds,
            state_matches,
            violations: violations.iter().map(|one| format!("{}: {}", one.condition, one.detail)).collect(),
            records,
        })
    }

    /// Recovers without opening. Returns the rate.
    fn recover_in_memory(&self) -> Result<f64> {
        let mut config = self.config.clone();
        config.disk = self.machine.disk();
        let report = recover(&config, Some(hyades::routine_compiler()), &Arc::new(Databases::new()))?.report;
        let (measured, seconds) = last_of(&report)?;
        Ok(measured.transactions as f64 / seconds)
    }

    /// Reads the logs of the incarnation that has just crashed.
    fn records(&self) -> Result<Records> {
        let inspection = Inspection::open_on(Arc::clone(self.machine.files()), self.data_directory())?;
        let incarnation = inspection.incarnation(None)?;
        let (mut transactions, mut bytes, mut vectors) = (0_u64, 0_u64, 0_u64);
        let mut graph = Graph::new(incarnation.logs, inspection.is_serial(incarnation));
        let wants_orders = self.setting.orders && !inspection.has_stamps(incarnation);
        // It takes a look at all logs.
        let cut = if wants_orders { Some(inspection.cut(incarnation)?) } else { None };
        for log in 0..incarnation.logs {
            let mut left = MOST_ORDERED / incarnation.logs as u64;
            inspection.read(incarnation, log, |entry| {
                if let EntryBody::Transaction(transaction) = &entry.body {
                    if left > 0
                        && let Some(cut) = &cut
                        && transaction.counts(log, entry.end, cut)
                    {
                        left -= 1;
                        let place = (entry.start, entry.end);
                        graph.push(log, Node::new(place, transaction, &cut.limit, Weight::Transactions));
                    }
                    transactions += 1;
                    bytes += entry.end.0 - entry.start.0;
                    vectors += transaction.field_bytes as u64;
                }
                Ok(std::ops::ControlFlow::Continue(()))
            })?;
        }
        let each = |sum: u64| if transactions == 0 { 0.0 } else { sum as f64 / transactions as f64 };
        let parallelism = if wants_orders { Some(parallelism(&graph)?) } else { None };
        Ok(Records { transactions, record_bytes: each(bytes), vector_bytes: each(vectors), parallelism })
    }

    fn data_directory(&self) -> &Path {
        &self.config.data_directory
    }

    /// The number of log buffers that one measurement of this length fills: a steady state needs several.
    pub fn buffers(&self, figures: &Figures) -> f64 {
        figures.written_bytes as f64 / self.config.log_buffer_bytes as f64
    }
}

fn parallelism(graph: &Graph) -> Result<Parallelism> {
    let Orders { vectors, named, conflicts, .. } = graph.orders()?;
    let named = named.map(|named| named.parallelism());
    Ok(Parallelism { positions: vectors.parallelism(), named, conflicts: conflicts.parallelism() })
}

/// The incarnation that has just crashed, and how long its recovery took.
fn last_of(report: &RecoveryReport) -> Result<(ReplayedIncarnation, f64)> {
    let (last, before) = report.replayed.split_last().context("nothing was replayed")?;
    let load_seconds: f64 = before.iter().map(|one| one.seconds).sum();
    Ok((*last, report.seconds - load_seconds))
}

/// The sessions of one worker, used in turn.
struct InTurn {
    callers: Vec<Box<dyn Caller>>,
    next: usize,
}

impl Caller for InTurn {
    fn call(&mut self, request: &Request) -> Result<Ended> {
        self.next = (self.next + 1) % self.callers.len();
        self.callers[self.next].call(request)
    }
}

/// With a slow device and a large buffer only the buffer would be measured, so it holds at most a quarter of
/// a second's bandwidth.
pub fn buffer_bytes(device: DeviceKind, workers: u64) -> usize {
    const LARGEST: usize = 16 << 20;
    match device.bandwidth(workers) {
        None => LARGEST,
        Some(bandwidth) => ((bandwidth / 4.0) as usize).next_power_of_two().clamp(1 << 18, LARGEST),
    }
}

/// The unused rest of a segment is read at recovery, which must not take longer than a second.
fn segment_bytes(setting: &Setting) -> u64 {
    const LARGEST: u64 = 64 << 20;
    match setting.device.bandwidth(setting.workers) {
        None => LARGEST,
        Some(bandwidth) => (bandwidth as u64).next_power_of_two().clamp(4 << 20, LARGEST),
    }
}

/// Computes figures from the counts of workers and the writes of a device.
pub fn figures(workload: &dyn Workload, driven: &drive::Driven, written: Written) -> Figures {
    let counts = &driven.counts;
    let writing = (counts.acknowledged - counts.read_only).max(1) as f64;
    let quantile = |share| counts.latency_us.value_at_quantile(share);
    let names = workload.calls().iter().map(|call| call.name);
    let nanoseconds = |time: Duration| time.as_nanos() as f64 / counts.acknowledged.max(1) as f64;
    Figures {
        seconds: driven.seconds,
        acknowledged: counts.acknowledged,
        read_only: counts.read_only,
        refused: counts.refused,
        retries: counts.retries,
        per_second: counts.acknowledged as f64 / driven.seconds,
        read_only_per_second: counts.read_only as f64 / driven.seconds,
        by_call: names.zip(counts.by_call.iter().copied()).filter(|(_, count)| *count > 0).collect(),
        latency_us: [quantile(0.5), quantile(0.9), quantile(0.99), quantile(0.999), counts.latency_us.max()],
        bytes_per_transaction: written.bytes as f64 / writing,
        syncs_per_transaction: written.syncs as f64 / writing,
        written_bytes: written.bytes,
        worker_ns: nanoseconds(counts.processor_time),
        logger_ns: nanoseconds(driven.loggers_time),
    }
}

/// A progress line on standard error, if that is a terminal. Erased when dropped.
pub struct ProgressLine {
    label: String,
    is_terminal: bool,
    last: Option<(Instant, u64)>,
}

impl ProgressLine {
    pub fn new(label: impl Into<String>) -> ProgressLine {
        use std::io::IsTerminal;
        ProgressLine { label: label.into(), is_terminal: std::io::stderr().is_terminal(), last: None }
    }

    pub fn show(&mut self, acknowledged: u64, seconds: f64) {
        let now = Instant::now();
        let (before, count) = *self.last.get_or_insert((now, acknowledged));
        let passed = now.duration_since(before).as_secs_f64();
        if !self.is_terminal || passed < 0.5 {
            return;
        }
        self.last = Some((now, acknowledged));
        let rate = acknowledged.saturating_sub(count) as f64 / passed;
        eprint!("\r\x1b[2K{}: {seconds:.0} s, {rate:.0}/s", self.label);
    }

    pub fn say(&self, text: &str) {
        if self.is_terminal {
            eprint!("\r\x1b[2K{}: {text}", self.label);
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_terminal {
            eprint!("\r\x1b[2K");
        }
    }
}

/// One variant's figures.
pub struct Side {
    pub name: String,
    pub figures: Vec<Figures>,
    pub recovered: Option<Recovered>,
}

/// An error if the run is not a valid measurement.
pub(crate) fn verdict(violations: &[Violation], recovered: Option<&Recovered>) -> Result<()> {
    if let Some(first) = violations.first() {
        bail!("after the run a condition does not hold: {}: {}", first.condition, first.detail);
    }
    if let Some(recovered) = recovered {
        if !recovered.state_matches {
            bail!("the state after the recovery is not the state before the crash");
        }
        if let Some(first) = recovered.violations.first() {
            bail!("after the recovery a condition does not hold: {first}");
        }
    }
    Ok(())
}

/// One line about the setting.
pub(crate) fn headline(conditions: &serde_json::Value) -> String {
    let text = |name: &str| conditions[name].as_str().unwrap_or_default().to_owned();
    let target = match text("target").as_str() {
        "in process" => format!("{} logs, device {}, in process", conditions["logs"], text("device")),
        other => other.to_owned(),
    };
    format!(
        "{} ({}), {} workers, {target}; {} cores, load average {} at the start",
        text("workload"),
        text("parameters"),
        conditions["workers"],
        conditions["cores"],
        text("load_average_at_start")
    )
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    pub(crate) fn side(name: &str, rate: f64) -> Side {
        let figures = Figures {
            seconds: 1.0,
            acknowledged: rate as u64,
            read_only: 1,
            refused: 0,
            retries: 0,
            per_second: rate,
            read_only_per_second: 1.0,
            by_call: vec![("transfer", rate as u64)],
            latency_us: [10, 20, 30, 40, 50],
            bytes_per_transaction: 64.0,
            syncs_per_transaction: 0.01,
            written_bytes: 64,
            worker_ns: 2_000.0,
            logger_ns: 100.0,
        };
        let recovered = Recovered {
            transactions: 5,
            log_bytes: 320,
            seconds: 0.5,
            per_second: 10.0,
            rates: vec![10.0],
            discarded: 0,
            cut_seconds: 0.1,
            total_seconds: 0.6,
            state_matches: true,
            violations: Vec::new(),
            records: Records::default(),
        };
        Side { name: name.to_owned(), figures: vec![figures], recovered: Some(recovered) }
    }
}
