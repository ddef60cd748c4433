//! `hyades bench`: its options, one measurement, and what it prints.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use hyades::engine::protocol::list::why_no_commands;
use hyades::{ControlKind, ProtocolKind};
use serde_json::json;

use crate::compare;
use crate::device::{DeviceKind, Written};
use crate::drive::{self, NewCaller, Plan};
use crate::instance::{
    self, Figures, Instance, Logging, ProgressLine, Recovered, Replay, SILOS_RULE, Setting, Side, Variant,
    headline, verdict,
};
use crate::ledger;
use crate::report;
use crate::target::over_wire::WireConnection;
use crate::target::{Caller, Connection};
use crate::workload::bank::Bank;
use crate::workload::smallbank::SmallBank;
use crate::workload::tpcc::{Mix, Scale, Tpcc};
use crate::workload::transfer::Transfer;
use crate::workload::ycsb::Ycsb;
use crate::workload::{Violation, Workload, load};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkloadKind {
    Ycsb,
    /// All five transactions of TPC-C, without think times.
    Tpcc,
    Smallbank,
    /// Money between two accounts.
    Transfer,
    /// The bank of the PACMAN paper: transfers to a spouse, and deposits.
    Bank,
}

/// Protocols by name, for the command line.
pub fn protocol_names() -> impl TypedValueParser<Value = ProtocolKind> {
    let name = |kind: ProtocolKind| PossibleValue::new(kind.name()).help(kind.about());
    PossibleValuesParser::new(ProtocolKind::ALL.map(name))
        .map(|name| ProtocolKind::named(&name).unwrap_or_default())
}

/// Concurrency controls by name, for the command line.
pub fn control_names() -> impl TypedValueParser<Value = ControlKind> {
    let name = |kind: ControlKind| PossibleValue::new(kind.name()).help(kind.about());
    PossibleValuesParser::new(ControlKind::ALL.map(name))
        .map(|name| ControlKind::named(&name).unwrap_or_default())
}

/// Options of `hyades bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArguments {
    #[arg(value_enum, default_value_t = WorkloadKind::Ycsb)]
    workload: WorkloadKind,
    #[arg(long, value_parser = protocol_names(), default_value = ProtocolKind::default().name())]
    protocol: ProtocolKind,
    /// Concurrency control.
    #[arg(long, value_parser = control_names(), default_value = ControlKind::default().name(), conflicts_with = "connect")]
    control: ControlKind,
    /// How transactions are logged [default: auto; with --compare, command and data].
    #[arg(long, value_enum)]
    logging: Option<Logging>,
    /// Threads that call procedures; with --connect, connections.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1024))]
    workers: u64,
    /// Logs of taurus, each on a device of its own [default: 2; with --device hdd 8, as many as the paper's
    /// machine has disks].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    logs: Option<u16>,
    #[arg(long, value_enum, default_value_t = DeviceKind::Real)]
    device: DeviceKind,
    /// Skew of the keys; 0 is uniform.
    #[arg(long, default_value_t = 0.6, value_parser = theta)]
    theta: f64,
    /// TPC-C: warehouses.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    warehouses: u64,
    /// TPC-C: transaction mix.
    #[arg(long, value_enum, default_value_t = Mix::Full)]
    mix: Mix,
    /// TPC-C with a hundredth of the population: for trying out, not for figures.
    #[arg(long)]
    small: bool,
    /// Rows, accounts or customers [default: 262144 for ycsb, 100000 for others].
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..=1_000_000_000))]
    rows: Option<u64>,
    /// YCSB: rows that a transaction touches.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=2000))]
    accesses: u64,
    /// YCSB: share of accesses that only read.
    #[arg(long, default_value_t = 0.5, value_parser = share)]
    read_share: f64,
    /// Transfer: the procedure in the engine's own language instead of SQL (always logged as data).
    #[arg(long, conflicts_with = "connect")]
    native: bool,
    /// Length of one measurement.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Length of the warm-up with the same work, which is not counted.
    #[arg(long, default_value_t = 2)]
    warm_up_seconds: u64,
    /// Precommitted transactions of a worker that may wait for durability.
    #[arg(long, default_value_t = 32768, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    in_flight: u64,
    /// Variants to compare, separated by commas and measured in turns: PROTOCOL, with :LOGGING, :CONTROL or
    /// both. :silo: under occ and mvcc, fail beside writers of what was read.
    #[arg(long, value_delimiter = ',')]
    compare: Vec<String>,
    /// Turns of a comparison.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// Threads that replay.
    #[arg(long, default_value_t = 0)]
    recovery_workers: usize,
    /// How changes of rows are replayed.
    #[arg(long, value_enum, default_value_t = Replay::Keys)]
    replay: Replay,
    /// A running server to drive instead, e.g. postgres://hyades@127.0.0.1:5433/hyades; it must not hold the
    /// workload's tables.
    #[arg(long, value_name = "URL", conflicts_with = "compare")]
    connect: Option<String>,
    /// With --connect: the tables and procedures already exist.
    #[arg(long, requires = "connect")]
    no_load: bool,
    /// With --connect: run until the time is over or the server goes away, and write to this file what the
    /// clients know to have happened, for --verify. Calls are made as fast as they are answered; there are no
    /// figures.
    #[arg(long, value_name = "FILE", requires = "connect")]
    ledger: Option<PathBuf>,
    /// With --connect: run nothing; check the workload's conditions, and that the database has every call
    /// that this ledger lists as acknowledged and none that was not made. The ledger is then made ready for
    /// the next run.
    #[arg(long, value_name = "FILE", requires = "connect", conflicts_with = "ledger")]
    verify: Option<PathBuf>,
    /// How often the logs are recovered after the crash, for a spread. A throttled device is read only the
    /// first time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    recoveries: u64,
    /// Memory to take from the operating system beforehand, so that page faults on fresh memory are not
    /// measured when a workload adds data.
    #[arg(long, value_name = "MIB", default_value_t = 0)]
    pub reserve_memory_mib: usize,
    /// Do not crash and recover at the end.
    #[arg(long)]
    no_crash: bool,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the database is created, and removed again (device real) [default: the system's temporary
    /// directory].
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Write a page with plots and all figures to this file [default: hyades-bench.html in the working
    /// directory].
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "hyades-bench.html")]
    report: Option<PathBuf>,
}

fn theta(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(theta) if (0.0..=10.0).contains(&theta) => Ok(theta),
        _ => Err("must be a number from 0 to 10".to_owned()),
    }
}

fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("must be a number from 0 to 1".to_owned()),
    }
}

impl BenchArguments {
    fn workload(&self) -> Box<dyn Workload> {
        let rows = self.rows.unwrap_or(match self.workload {
            WorkloadKind::Ycsb => 262_144,
            _ => 100_000,
        });
        let theta = self.theta;
        match self.workload {
            WorkloadKind::Ycsb => {
                Box::new(Ycsb { rows, accesses: self.accesses, read_share: self.read_share, theta })
            }
            WorkloadKind::Tpcc => {
                let scale = if self.small { Scale::SMALL } else { Scale::SPEC };
                Box::new(Tpcc { warehouses: self.warehouses, scale, mix: self.mix })
            }
            WorkloadKind::Smallbank => Box::new(SmallBank { customers: rows, theta }),
            WorkloadKind::Transfer => Box::new(Transfer { accounts: rows, theta, is_native: self.native }),
            WorkloadKind::Bank => Box::new(Bank { customers: rows, theta }),
        }
    }

    fn logs(&self) -> usize {
        let default = if self.device == DeviceKind::Hdd { 8 } else { 2 };
        usize::from(self.logs.unwrap_or(default))
    }

    fn setting(&self, directory: &Path) -> Setting {
        Setting {
            workers: self.workers,
            logs: self.logs(),
            device: self.device,
            in_flight: self.in_flight as usize,
            seed: self.seed,
            directory: directory.to_owned(),
            recovery_workers: self.recovery_workers,
            replay: self.replay,
            recoveries: self.recoveries,
            orders: false,
        }
    }

    /// The variants to compare. A durable protocol without a logging stands for both kinds unless --logging
    /// says which.
    fn variants(&self) -> Result<Vec<Variant>> {
        let mut variants = Vec::new();
        for name in &self.compare {
            let mut parts = name.split(':');
            let protocol = parts.next().unwrap_or_default();
            let (mut logging, mut control, mut fails_beside_writers) = (self.logging, self.control, false);
            for part in parts {
                match (ControlKind::named(part), Logging::from_str(part, true)) {
                    (Some(named), _) => control = named,
                    (None, Ok(named)) => logging = Some(named),
                    (None, Err(_)) if part == SILOS_RULE => fails_beside_writers = true,
                    (None, Err(_)) => bail!("unknown logging or control in \"{name}\""),
                }
            }
            if fails_beside_writers && control == ControlKind::TwoPhaseLocking {
                bail!("\"{name}\": under two-phase locking nothing is looked at again; use occ or mvcc");
            }
            let known = ProtocolKind::named(protocol);
            let protocol = known.with_context(|| {
                let names = ProtocolKind::ALL.map(ProtocolKind::name).join(", ");
                format!("unknown protocol \"{protocol}\": one of {names}")
            })?;
            let both = [Logging::Command, Logging::Data];
            let no_commands = why_no_commands(protocol);
            if let Some(reason) = no_commands.as_ref().filter(|_| logging == Some(Logging::Command)) {
                bail!("{reason}");
            }
            let chosen = match (protocol, &logging) {
                (ProtocolKind::None, _) => &[Logging::Auto][..],
                (_, None) if no_commands.is_some() => &[Logging::Data][..],
                (_, Some(logging)) => std::slice::from_ref(logging),
                (_, None) => &both[..],
            };
            variants.extend(chosen.iter().map(|logging| Variant {
                control,
                fails_beside_writers,
                ..Variant::new(protocol, *logging)
            }));
        }
        match variants.len() {
            0 | 1 => bail!("--compare needs at least two variants, e.g. none,serial,taurus"),
            _ => Ok(variants),
        }
    }

    fn length(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// The conditions of the measurement, for the report.
    pub(crate) fn conditions(&self, workload: &dyn Workload) -> serde_json::Value {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        json!({
            "workload": workload.name(),
            "parameters": workload.describe(),
            "workers": self.workers,
            "logs": self.logs(),
            "device": self.device.name(),
            "device_bytes_per_second": self.device.bandwidth(self.workers),
            "seconds": self.seconds,
            "in_flight": if self.connect.is_some() { 1 } else { self.in_flight },
            "target": self.connect.as_deref().map_or("in process", |_| "over the wire"),
            "seed": self.seed,
            "cores": std::thread::available_parallelism().map_or(0, usize::from),
            "load_average_at_start": load.split(' ').next().unwrap_or("unknown"),
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}

/// A directory that is removed when it goes out of scope.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// Below this one, or below the system's temporary directory.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn new(parent: Option<&Path>) -> Result<Scratch> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let path = parent.join(format!("hyades-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("could not create {}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The directory is the benchmark's own. If it stays, it only takes space.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the command and prints its result.
///
/// # Errors
/// Anything that makes the figures worthless, including a different state after the recovery.
pub fn run(arguments: &BenchArguments) -> Result<()> {
    if arguments.native && arguments.workload != WorkloadKind::Transfer {
        bail!("only transfer has a procedure in the engine's own language");
    }
    let workload = arguments.workload();
    if let Some(url) = &arguments.connect {
        return run_connected(arguments, workload.as_ref(), url);
    }
    let scratch = Scratch::new(arguments.directory.as_deref())?;
    if !arguments.compare.is_empty() {
        let variants = arguments.variants()?;
        let plan = compare::Plan {
            setting: arguments.setting(&scratch.0),
            rounds: arguments.rounds,
            length: arguments.length(),
            warm_up: Duration::from_secs(arguments.warm_up_seconds),
            crashes: !arguments.no_crash,
        };
        let compared = compare::run(&variants, &plan, workload.as_ref())?;
        let conditions = arguments.conditions(workload.as_ref());
        if arguments.json {
            println!("{:#}", compared.json(&conditions));
        } else {
            print!("{}", compared.text(&conditions));
        }
        if let Some(path) = &arguments.report {
            write_report(path, &report::page(&conditions, &compared.sides(), Some(&compared)))?;
        }
        return compared.verdict();
    }
    let logging = arguments.logging.unwrap_or(Logging::Auto);
    let variant = Variant { control: arguments.control, ..Variant::new(arguments.protocol, logging) };
    let (figures, recovered, violations) = run_one(arguments, workload.as_ref(), variant, &scratch.0)?;
    let conditions = arguments.conditions(workload.as_ref());
    if arguments.json {
        println!(
            "{:#}",
            json!({
                "variant": variant.name(),
                "conditions": conditions,
                "figures": figures,
                "recovery": recovered,
                "violations": names(&violations),
            })
        );
    } else {
        print!("{}", text_of(&variant.name(), &conditions, &figures, recovered.as_ref()));
    }
    if let Some(path) = &arguments.report {
        let side = Side { name: variant.name(), figures: vec![figures], recovered: recovered.clone() };
        write_report(path, &report::page(&conditions, &[side], None))?;
    }
    verdict(&violations, recovered.as_ref())
}

fn run_one(
    arguments: &BenchArguments,
    workload: &dyn Workload,
    variant: Variant,
    directory: &Path,
) -> Result<(Figures, Option<Recovered>, Vec<Violation>)> {
    let mut progress = ProgressLine::new(format!("{} {}", workload.name(), variant.name()));
    progress.say("loading");
    let mut instance = Instance::create(variant, &arguments.setting(directory), workload)?;
    if arguments.warm_up_seconds > 0 {
        let warm_up = Duration::from_secs(arguments.warm_up_seconds);
        instance.measure(workload, warm_up, &mut |_, _| progress.say("warming up"))?;
    }
    let figures = instance.measure(workload, arguments.length(), &mut |count, seconds| {
        progress.show(count, seconds);
    })?;
    if variant.is_durable() && instance.buffers(&figures) < 10.0 {
        eprintln!(
            "note: only {:.1} log buffers were written; a steady state needs ten, so measure longer",
            instance.buffers(&figures)
        );
    }
    progress.say("checking");
    let violations = instance.check(workload)?;
    let mut recovered = None;
    if variant.is_durable() && !arguments.no_crash {
        progress.say("crashing and recovering");
        recovered = Some(instance.crash_and_recover(workload)?);
    }
    Ok((figures, recovered, violations))
}

fn run_connected(arguments: &BenchArguments, workload: &dyn Workload, url: &str) -> Result<()> {
    if let Some(path) = &arguments.verify {
        return ledger::verify(workload, url, path);
    }
    let mut progress = ProgressLine::new(format!("{} over the wire", workload.name()));
    let mut connection = WireConnection::new(url)?;
    if !arguments.no_load {
        progress.say("loading");
        for script in workload.schema() {
            connection.script(script).with_context(|| format!("the procedures of {}", workload.name()))?;
        }
        load(workload, arguments.workers, || WireConnection::new(url))?;
    }
    let (target, calls, logging) =
        (url.to_owned(), workload.calls(), arguments.logging.unwrap_or(Logging::Auto));
    let number = AtomicUsize::new(0);
    let new_wire_caller = move || {
        let mut connection = WireConnection::new(&target)?;
        if let Some(statement) = logging.statement(number.fetch_add(1, Ordering::Relaxed)) {
            connection.script(statement)?;
        }
        connection.into_caller(calls)
    };
    if let Some(path) = &arguments.ledger {
        let plan =
            ledger::Plan { workers: arguments.workers, length: arguments.length(), seed: arguments.seed };
        return ledger::run(workload, connection, &new_wire_caller, plan, path);
    }
    let new_caller: NewCaller<'_> = Box::new(move || Ok(Box::new(new_wire_caller()?) as Box<dyn Caller>));
    let plan = |length, seed| Plan { workers: arguments.workers, in_flight: 1, length, seed };
    let warm_up = plan(Duration::from_secs(arguments.warm_up_seconds), arguments.seed + 1);
    if arguments.warm_up_seconds > 0 {
        drive::run(workload, &new_caller, warm_up, &mut |_, _| progress.say("warming up"))?;
    }
    let measured = plan(arguments.length(), arguments.seed);
    let driven = drive::run(workload, &new_caller, measured, &mut |count, seconds| {
        progress.show(count, seconds);
    })?;
    let figures = instance::figures(workload, &driven, Written::default());
    progress.say("checking");
    let violations = workload.check(&mut connection)?;
    let conditions = arguments.conditions(workload);
    if arguments.json {
        println!(
            "{:#}",
            json!({ "conditions": conditions, "figures": figures, "violations": names(&violations) })
        );
    } else {
        print!("{}", text_of("over the wire", &conditions, &figures, None));
    }
    if let Some(path) = &arguments.report {
        let side = Side { name: "over the wire".to_owned(), figures: vec![figures], recovered: None };
        write_report(path, &report::page(&conditions, &[side], None))?;
    }
    verdict(&violations, None)
}

fn names(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(|one| format!("{}: {}", one.condition, one.detail)).collect()
}

fn write_report(path: &Path, page: &str) -> Result<()> {
    std::fs::write(path, page).with_context(|| format!("could not write {}", path.display()))
}

fn text_of(
    name: &str,
    conditions: &serde_json::Value,
    figures: &Figures,
    recovered: Option<&Recovered>,
) -> String {
    use std::fmt::Write;
    let mut text = headline(conditions) + "\n";
    let calls: Vec<String> = figures.by_call.iter().map(|(call, count)| format!("{call} {count}")).collect();
    let [p50, p90, p99, p999, longest] = figures.latency_us;
    // Writing into a String cannot fail.
    let _ = writeln!(
        text,
        "{name}: {:.0} durable acknowledgements/s ({:.0}/s of them read-only) in {:.2} s",
        figures.per_second, figures.read_only_per_second, figures.seconds
    );
    let _ = writeln!(text, "  calls: {}", calls.join(", "));
    let _ = writeln!(
        text,
        "  latency: 50 % {p50} us, 90 % {p90} us, 99 % {p99} us, 99.9 % {p999} us, longest {longest} us"
    );
    let _ = writeln!(
        text,
        "  begun again after conflicts: {}; rolled back on purpose: {}",
        figures.retries, figures.refused
    );
    if figures.written_bytes > 0 {
        let _ = writeln!(
            text,
            "  written for each transaction that wrote: {:.1} bytes, {:.5} syncs",
            figures.bytes_per_transaction, figures.syncs_per_transaction
        );
    }
    if let Some(recovered) = recovered {
        let _ = writeln!(
            text,
            "  log records: {:.1} bytes a transaction, {:.2} of them its LSN vector",
            recovered.records.record_bytes, recovered.records.vector_bytes
        );
        let state = if recovered.state_matches { "the same state as before" } else { "ANOTHER STATE" };
        let _ = writeln!(
            text,
            "  crashed and recovered: {} transactions in {:.2} s, {:.0}/s (finding the ends of the logs {:.2} s of it), {state}",
            recovered.transactions, recovered.seconds, recovered.per_second, recovered.cut_seconds
        );
        for violation in &recovered.violations {
            let _ = writeln!(text, "  VIOLATED after the recovery: {violation}");
        }
    }
    text
}
