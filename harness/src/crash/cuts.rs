//! `cargo xtask cuts`: cuts the power of a real server's real file systems, again and again, and checks that
//! nothing acknowledged is lost.
//!
//! The rounds are those of `cargo xtask crash` ([`super`]): the same clients, the same ledger, the same
//! comparison. But the files of the server are on file systems of their own ([`disks`]), and these are shut
//! down before the server is: what it has not made durable is gone. A round:
//! 1. clients work, and by a draw a checkpoint or a backup is made, or the server is told to stop; at a
//!    random moment of that the power is cut, or one of two file systems alone is shut down ([`Moment`]);
//! 2. the server is killed at once, or it is checked that it acknowledges nothing any more: it refuses all
//!    clients or, if it was told to, ends itself ([`Aftermath`]);
//! 3. the file systems are mounted again. In half of the rounds the server is started and cut off once more:
//!    at a random moment of its start or, on demand, under load in the middle of the restart;
//! 4. now and then `hyades check` reads the files as they are; a backup that was once complete must be
//!    intact;
//! 5. the server is started for good and compared with what the clients know.
//!
//! Databases follow each other with options that are drawn ([`Setup`]): protocol, number of logs, logs on a
//! disk of their own, calls that are logged as commands, ext4 and xfs. Half of their first starts are cut
//! off, too.
//!
//! Its limits: a power cut made by the kernel loses the whole end of what has reached the disk, and all that
//! was not synced. A real disk may lose some of that and keep the rest, in any order, or tear a sector. That
//! is tested on the simulated disk (docs/testing.md).

mod disks;
mod moment;
mod namespace;
mod totals;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::process::Signal;

use super::ledger::Ledger;
use super::load::{Load, Others};
use super::restart::{Middle, RECOVERY_LIMIT, Restart, Watcher};
use super::{schema, verify};
use crate::server::{Hyades, Instance, RunningServer, System, free_port, hyades_binary};
use crate::{pgbench, tools};
use disks::{Cut, Disks, FileSystem};
use moment::{Aftermath, Moment};
use totals::{Done, RoundReport, Totals};

/// Rows that a restart on demand loads last: few, so that rounds are short.
const BALLAST: i64 = 50_000;
/// A server that has lost its logs notices it with the next commit.
const REFUSAL_LIMIT: Duration = Duration::from_secs(10);
/// The exit code of a server that ends itself because it is poisoned.
const POISONED: i32 = 3;

#[derive(clap::Args, Clone)]
pub(crate) struct Options {
    /// Rounds of one or two cuts each.
    #[arg(long, default_value_t = 350)]
    rounds: u32,
    /// The same seed draws the same moments; the machine's own timing still differs.
    #[arg(long)]
    seed: Option<u64>,
    /// A hyades binary; built in the test profile if left out.
    #[arg(long)]
    server: Option<PathBuf>,
    /// The file system of the disks; if left out, each database draws one of those that can be made here.
    #[arg(long, value_enum)]
    file_system: Option<FileSystem>,
    /// Rounds until the database is replaced by a fresh one with other options.
    #[arg(long, default_value_t = 10)]
    rounds_per_database: u32,
    /// Longest time under load, in milliseconds.
    #[arg(long, default_value_t = 600)]
    longest_load_ms: u64,
    /// Where to put the file below the file systems, up to 1.3 GiB; a temporary directory if left out.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// For the process inside the namespaces: its scratch directory.
    #[arg(long, hide = true, requires = "port")]
    inside: Option<PathBuf>,
    /// Where its servers listen: free ports are searched for from the number of the process on, and in a
    /// namespace that is always the same.
    #[arg(long, hide = true)]
    port: Option<u16>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(directory) = &options.inside {
        return run_inside(options, directory);
    }
    namespace::check_machine(options.file_system)?;
    let seed = options.seed.unwrap_or_else(rand::random);
    let mut more = vec!["--port".to_owned(), free_port()?.to_string()];
    if options.server.is_none() {
        let binary = hyades_binary(None, false)?;
        more.extend(["--server".to_owned(), binary.display().to_string()]);
    }
    if options.seed.is_none() {
        more.extend(["--seed".to_owned(), seed.to_string()]);
    }
    match namespace::run_inside(options.directory.as_deref(), &more)? {
        Ok(()) => Ok(()),
        Err(kept) => {
            bail!("cuts: failed (--seed {seed}); files and the server's log are kept in {}", kept.display())
        }
    }
}

fn run_inside(options: &Options, directory: &Path) -> Result<()> {
    let file_systems = match options.file_system {
        Some(file_system) => vec![file_system],
        None => namespace::file_systems(),
    };
    let names: Vec<&str> = file_systems.iter().map(|kind| kind.name()).collect();
    let seed = options.seed.unwrap_or_default();
    println!("cuts: {} rounds on {}, seed {seed}", options.rounds, names.join(" and "));
    let mut harness = Harness {
        options,
        binary: hyades_binary(options.server.as_deref(), false)?,
        file_systems,
        directory: directory.to_path_buf(),
        disks: Disks::attach(directory)?,
        random: StdRng::seed_from_u64(seed),
        last_recovery: Duration::from_millis(200),
        checkpoint: Duration::from_millis(100),
        totals: Totals::default(),
    };
    let outcome = harness.all_rounds();
    println!("{}", harness.totals);
    if outcome.is_err()
        && let Err(error) = harness.disks.keep()
    {
        eprintln!("the files cannot be kept: {error:#}");
    }
    outcome
}

/// The options of one database.
#[derive(Clone, Copy, Debug)]
struct Setup {
    file_system: FileSystem,
    /// `None`: serial, in one log.
    logs: Option<usize>,
    /// The number of log directories on the other disk; 0: the logs are in the data directory.
    log_directories: usize,
    segment_mib: u32,
    /// Half of the ledger's transactions are calls, which the server logs as commands.
    calls: bool,
}

impl Setup {
    fn draw(random: &mut StdRng, file_systems: &[FileSystem]) -> Setup {
        Setup {
            file_system: file_systems[random.random_range(0..file_systems.len())],
            logs: [None, Some(1), Some(2), Some(2), Some(4)][random.random_range(0..5)],
            log_directories: [0, 0, 1, 2][random.random_range(0..4)],
            segment_mib: [1, 4, 16][random.random_range(0..3)],
            calls: random.random_bool(0.5),
        }
    }

    fn protocol(self) -> &'static str {
        if self.logs.is_some() { "taurus" } else { "serial" }
    }

    fn arguments(self, log_disk: &Path) -> Vec<String> {
        let logging = if self.calls { "command" } else { "data" };
        let mut arguments = vec!["--segment-mib".to_owned(), self.segment_mib.to_string()];
        arguments.extend(["--logging", logging, "--drain-seconds", "1"].map(str::to_owned));
        for number in 0..self.log_directories {
            let directory = log_disk.join(format!("logs-{number}"));
            arguments.extend(["--log-dir".to_owned(), directory.display().to_string()]);
        }
        arguments
    }

    /// What loses power: usually everything.
    fn draw_cut(self, random: &mut StdRng) -> Cut {
        match random.random_range(0..10) {
            0..6 => Cut::Power,
            6..8 if self.log_directories > 0 => Cut::LogDisk,
            _ => Cut::DataDisk,
        }
    }

    fn is_cut_of_logs(self, cut: Cut) -> bool {
        match cut {
            Cut::Power | Cut::LogDisk => true,
            Cut::DataDisk => self.log_directories == 0,
        }
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.file_system.name(), self.protocol())?;
        if let Some(logs) = self.logs {
            write!(f, " with {logs} logs")?;
        }
        write!(f, ", segments of {} MiB", self.segment_mib)?;
        match self.log_directories {
            0 => write!(f, " beside the data")?,
            directories => write!(f, " in {directories} directories on the other disk")?,
        }
        write!(f, "{}", if self.calls { ", calls" } else { "" })
    }
}

/// A database, and what is known about it.
struct Database {
    setup: Setup,
    instance: Instance,
    ledger: Ledger,
    /// The running server ends itself when it is poisoned.
    exits: bool,
    /// A backup of it was complete once.
    has_backup: bool,
}

struct Harness<'o> {
    options: &'o Options,
    binary: PathBuf,
    file_systems: Vec<FileSystem>,
    directory: PathBuf,
    disks: Disks,
    random: StdRng,
    /// The durations of the last recovery and checkpoint, which determine when the next one is cut off.
    last_recovery: Duration,
    checkpoint: Duration,
    totals: Totals,
}

impl Harness<'_> {
    fn all_rounds(&mut self) -> Result<()> {
        let mut done = 0;
        for number in 0.. {
            let rounds = (self.options.rounds - done).min(self.options.rounds_per_database.max(1));
            if rounds == 0 {
                break;
            }
            let setup = Setup::draw(&mut self.random, &self.file_systems);
            self.disks.make(setup.file_system, setup.log_directories > 0)?;
            let system = System::Hyades(Hyades {
                protocol: setup.protocol().to_owned(),
                logs: setup.logs,
                ..Hyades::usual(self.binary.clone())
            });
            let directory = self.directory.join(format!("database-{number}"));
            let mut instance = Instance::create(system, directory.clone(), Vec::new())?;
            instance.data = self.disks.data_disk().join("data");
            instance.port = self.options.port.unwrap_or(instance.port);
            let ledger = Ledger { ballast: BALLAST, ..Ledger::default() };
            let database = Database { setup, instance, ledger, exits: false, has_backup: false };
            println!("database {}: {setup}", number + 1);
            self.rounds_of_one_database(database, done, rounds)?;
            std::fs::remove_dir_all(&directory)?;
            done += rounds;
        }
        Ok(())
    }

    fn rounds_of_one_database(&mut self, mut database: Database, first: u32, rounds: u32) -> Result<()> {
        self.draw_arguments(&mut database, first, Restart::Complete);
        if self.random.random_bool(0.5) {
            let limit = Duration::from_millis(200).mul_f64(self.random.random_range(0.0..1.0));
            let done = self.cut_during_start(&database, Moment::Creation, limit)?;
            println!("{done}");
            self.totals.add_cut(&done);
        }
        let (mut server, _) = database.instance.start_ready(RECOVERY_LIMIT)?;
        self.fill(&database).map_err(|error| server.with_log(&error))?;
        for round in first..first + rounds {
            let outcome = self.round(&mut database, &mut server, round);
            let report = outcome
                .map_err(|error| server.with_log(&error))
                .with_context(|| format!("round {}", round + 1))?;
            println!("round {:>4}/{}  {report}", round + 1, self.options.rounds);
            self.totals.add(&report);
        }
        // Remove what earlier databases have left there.
        let said = tools::output_of(&mut self.backup(&database)).context("the last backup")?;
        self.check(&self.disks.data_disk().join("backup")).with_context(|| said.trim().to_owned())?;
        self.totals.backups += 1;
        server.kill()
    }

    fn fill(&mut self, database: &Database) -> Result<()> {
        pgbench::initialize(&database.instance, 1)?;
        let mut client = database.instance.connect()?;
        schema::create_tables(&mut client, BALLAST)?;
        if database.setup.calls {
            schema::create_procedure(&mut client)?;
        }
        let begun = Instant::now();
        client.batch_execute("checkpoint").context("checkpoint")?;
        self.checkpoint = begun.elapsed();
        Ok(())
    }

    /// Draws the options of the servers that are started from now on.
    fn draw_arguments(&mut self, database: &mut Database, round: u32, restart: Restart) {
        let random = &mut self.random;
        database.exits = random.random_bool(0.5);
        // The load is light: with the default, most of it would go to one log.
        let kib = if random.random_bool(0.5) { "0" } else { "8" };
        // Two out of three rounds take checkpoints.
        let mib = if round.is_multiple_of(3) { "0" } else { "1" };
        let workers = if random.random_bool(0.5) { "1" } else { "3" };
        let usual = ["--shared-block-kib", kib, "--checkpoint-log-mib", mib, "--checkpoint-workers", workers];
        let exits = database.exits.then_some("--exit-when-poisoned");
        let sectors: &[&str] = match random.random_range(0..3) {
            0 => &["--log-sector-bytes", "512"],
            1 => &["--log-sector-bytes", "4096"],
            _ => &[],
        };
        let how = restart.arguments();
        let drawn = usual.iter().chain(&how).chain(sectors).chain(&exits).copied();
        database.instance.arguments = database.setup.arguments(&self.disks.log_disk());
        database.instance.arguments.extend(drawn.map(str::to_owned));
    }

    /// Runs one round. `server` is the running one before and after.
    fn round(
        &mut self,
        database: &mut Database,
        server: &mut RunningServer,
        round: u32,
    ) -> Result<RoundReport> {
        let restart = Restart::draw(&mut self.random);
        let mut report = RoundReport { restart, ..RoundReport::default() };
        let exits = database.exits;
        self.draw_arguments(database, round, restart);
        if restart == Restart::OnDemand {
            // No client is let in before all changes of the catalog have been replayed. The checkpoint leaves
            // few.
            database.instance.connect()?.batch_execute("checkpoint").context("checkpoint")?;
        }
        let moment = Moment::draw_first(&mut self.random);
        report.cuts.push(self.cut_under_load(database, server, moment, restart, exits)?);
        self.look_at_backup(database, moment)?;
        if self.random.random_bool(0.5) {
            report.cuts.push(match restart {
                Restart::Complete => {
                    let limit = self.last_recovery.mul_f64(self.random.random_range(0.0..1.2));
                    self.cut_during_start(database, Moment::Start, limit)?
                }
                Restart::OnDemand => self.cut_in_the_middle(database)?,
            });
        }
        if self.random.random_bool(0.3) {
            self.check(&database.instance.data)?;
            report.is_checked = true;
        }
        let (next, took) = database.instance.start_ready(RECOVERY_LIMIT)?;
        *server = next;
        (self.last_recovery, report.recovery) = (took, took);
        report.verified = verify::compare(&database.instance, &mut database.ledger)?;
        if restart == Restart::OnDemand {
            Watcher::connect(&database.instance)?.wait_for(1.0, RECOVERY_LIMIT)?;
        }
        Ok(report)
    }

    fn others(&mut self, database: &Database, restart: Restart, writes_aside: bool) -> Others {
        let alters = self.random.random_bool(if restart == Restart::Complete { 0.75 } else { 0.25 });
        Others { alters, writes_aside, calls: database.setup.calls, loses_disk: true }
    }

    /// The first cut of a round.
    fn cut_under_load(
        &mut self,
        database: &mut Database,
        server: &mut RunningServer,
        moment: Moment,
        restart: Restart,
        exits: bool,
    ) -> Result<Done> {
        let others = self.others(database, restart, false);
        let seed = self.random.random();
        let load = Load::start(&database.instance, &database.ledger, seed, others)?;
        let begun = Instant::now();
        // Short times are as likely as long ones: the first transactions after a start are the interesting
        // ones.
        let fraction: f64 = self.random.random::<f64>().powi(2);
        let longest_ms = self.options.longest_load_ms as f64;
        std::thread::sleep(Duration::from_millis(20 + (fraction * longest_ms) as u64));
        let mut backup = None;
        let within = self.checkpoint.mul_f64(self.random.random_range(0.0..1.2));
        match moment {
            Moment::Checkpoint => {
                let mut client = database.instance.connect()?;
                // Usually it ends with an error.
                std::thread::spawn(move || client.batch_execute("checkpoint"));
                std::thread::sleep(within);
            }
            Moment::Backup => {
                let mut command = self.backup(database);
                backup = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
                std::thread::sleep(within);
            }
            _ => {}
        }
        let load = load.expect_running(server)?;
        if moment == Moment::Stop {
            server.signal(Signal::TERM)?;
            std::thread::sleep(within);
        }
        let cut = database.setup.draw_cut(&mut self.random);
        self.disks.cut(cut)?;
        let after = begun.elapsed();
        let aftermath = if moment == Moment::Stop || self.random.random_bool(0.5) {
            Aftermath::Killed
        } else if database.setup.is_cut_of_logs(cut) {
            expect_refusal(&database.instance, server, &load, exits)?
        } else {
            std::thread::sleep(Duration::from_millis(self.random.random_range(0..200)));
            Aftermath::WentOn
        };
        server.kill()?;
        let acknowledged = database.ledger.add(&load.finish()?);
        if let Some(backup) = backup {
            database.has_backup |= end_of(backup)?;
        }
        self.disks.remount()?;
        Ok(Done { moment, cut, after, aftermath, acknowledged })
    }

    /// Starts the server, and cuts it off after this time.
    fn cut_during_start(&mut self, database: &Database, moment: Moment, limit: Duration) -> Result<Done> {
        let mut server = database.instance.start()?;
        database.instance.wait_ready(&mut server, limit)?;
        std::thread::sleep(limit.saturating_sub(server.started().elapsed()));
        let cut = database.setup.draw_cut(&mut self.random);
        self.disks.cut(cut)?;
        let after = server.started().elapsed();
        if self.random.random_bool(0.5) {
            // Let it go on as far as it gets.
            std::thread::sleep(Duration::from_millis(50));
        }
        server.kill()?;
        self.disks.remount()?;
        Ok(Done { moment, cut, after, aftermath: Aftermath::Killed, acknowledged: 0 })
    }

    /// Starts the server, has all clients work while the restart goes on, and cuts it off when a random part
    /// of the restart is done.
    fn cut_in_the_middle(&mut self, database: &mut Database) -> Result<Done> {
        let others = self.others(database, Restart::OnDemand, true);
        let middle = Middle::reach(&database.instance, &mut database.ledger, &mut self.random, others)?;
        let Middle { mut server, load, .. } = middle;
        let cut = database.setup.draw_cut(&mut self.random);
        self.disks.cut(cut)?;
        let after = server.started().elapsed();
        let aftermath = if database.setup.is_cut_of_logs(cut) && self.random.random_bool(0.5) {
            expect_refusal(&database.instance, &mut server, &load, database.exits)?
        } else {
            Aftermath::Killed
        };
        server.kill()?;
        let aside = database.ledger.aside.acknowledged.len();
        let acknowledged = database.ledger.add(&load.finish()?);
        let aside = database.ledger.aside.acknowledged.len().saturating_sub(aside) as u64;
        self.disks.remount()?;
        Ok(Done { moment: Moment::Middle, cut, after, aftermath, acknowledged: acknowledged + aside })
    }

    fn backup(&self, database: &Database) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("backup").arg("--data").arg(&database.instance.data);
        command.arg("--into").arg(self.disks.data_disk().join("backup"));
        command
    }

    /// A backup that was complete once stays intact, even if a later one was cut off.
    fn look_at_backup(&mut self, database: &Database, moment: Moment) -> Result<()> {
        if moment == Moment::Backup && database.has_backup {
            self.check(&self.disks.data_disk().join("backup"))?;
            self.totals.backups += 1;
        }
        Ok(())
    }

    /// Reads the whole database or backup in this directory.
    fn check(&self, data: &Path) -> Result<()> {
        let mut command = Command::new(&self.binary);
        tools::output_of(command.args(["check", "--data"]).arg(data)).map(|_| ())
    }
}

/// Whether the backup was complete. Without a disk it fails, and does not wait.
fn end_of(mut backup: Child) -> Result<bool> {
    let deadline = Instant::now() + REFUSAL_LIMIT;
    loop {
        if let Some(status) = backup.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() > deadline {
            backup.kill()?;
            backup.wait()?;
            bail!("a backup still waits {} s after the disk was lost", REFUSAL_LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A server whose logs are on a lost disk serves no client, and ends if it was told to.
fn expect_refusal(
    instance: &Instance,
    server: &mut RunningServer,
    load: &Load,
    exits: bool,
) -> Result<Aftermath> {
    if !load.wait_refused(REFUSAL_LIMIT) {
        bail!("clients are still served {} s after the disk was lost", REFUSAL_LIMIT.as_secs());
    }
    if exits {
        return match server.wait(REFUSAL_LIMIT)? {
            Some(status) if status.code() == Some(POISONED) => Ok(Aftermath::Exited),
            status => bail!("the server was told to end when it is poisoned, and did not: {status:?}"),
        };
    }
    if !server.is_running() {
        bail!("the server ended by itself after the disk was lost");
    }
    match instance.connection_options().connect(postgres::NoTls) {
        Ok(_) => bail!("a new client is let in after the disk was lost"),
        Err(error) if error.code() == Some(&postgres::error::SqlState::IO_ERROR) => Ok(Aftermath::Refused),
        Err(error) => Err(error).context("a new client after the disk was lost"),
    }
}
