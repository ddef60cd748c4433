//! `cargo xtask crash`: kills a real server under load, again and again, and checks that nothing acknowledged
//! is lost.
//!
//! A round: eight ledger clients ([`ledger`]) and the real pgbench with eight more run TPC-B; at a random
//! moment the server gets SIGKILL; in half of the rounds it is started and killed again at a random moment of
//! its recovery; then it is started for good and everything is compared with what the clients know
//! ([`verify`]). Each round draws whether the server restarts completely or on demand ([`restart`]). On
//! demand the clients work as soon as they are let in. In most of these rounds the server is killed in the
//! middle of that, once or twice, and the comparison reads while the last restart goes on. After some rounds
//! the database is replaced by a fresh one, so that recovery from many incarnations and from few are both
//! covered. Before that, a kill of an idle server must change nothing at all. The servers alternate between
//! spreading all transactions over the logs and sharing a log while there is little to write.
//!
//! What a round proves:
//! 1. every acknowledged transaction is there, exactly once, with the values it was sent with;
//! 2. nothing is there that was rolled back or never committed;
//! 3. an outcome that the client did not learn is decided once: what a recovery has shown stays, what it has
//!    not shown never appears;
//! 4. what an answered read has shown is there (architecture invariant 1 holds for reads too);
//! 5. TPC-B's four sums agree, including those of pgbench's own transactions, so every transaction is there
//!    wholly or not at all;
//! 6. an alteration of the ledger's table ([`schema`]) is there wholly or not at all, indexes find what a
//!    scan finds, a sequence returns no number twice, and foreign keys and checks still refuse.
//!
//! SIGKILL leaves the page cache alone. What a power cut would lose is tested on the simulated disk
//! (docs/testing.md), on which the power is cut at every single operation before the first round.

mod aside;
pub(crate) mod cuts;
mod end;
mod ledger;
mod load;
mod restart;
mod schema;
mod summary;
pub(crate) mod tpcc;
mod verify;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::server::{Control, Hyades, Instance, PostgreSql, System, hyades_binary};
use crate::{pgbench, tools};
use ledger::Ledger;
use load::Others;
use restart::{Middle, MiddleKill, RECOVERY_LIMIT, Restart, Watcher};
use summary::{RoundReport, Summary};

#[derive(clap::Args, Clone)]
pub(crate) struct Options {
    #[arg(long, default_value_t = 200)]
    rounds: u32,
    /// The same seed draws the same moments; the machine's own timing still differs.
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long, value_enum, default_value_t = Protocol::Taurus)]
    protocol: Protocol,
    /// Number of logs (all but serial); the server's default if left out.
    #[arg(long)]
    logs: Option<usize>,
    /// A hyades binary; built in the test profile if left out.
    #[arg(long)]
    server: Option<PathBuf>,
    /// Run against another database, to check the harness itself.
    #[arg(long, value_enum)]
    peer: Option<Peer>,
    /// `name=value` for the peer. `synchronous_commit=off` makes PostgreSQL acknowledge early: the harness
    /// must then fail.
    #[arg(long)]
    peer_setting: Vec<String>,
    /// How the server is started again; each round draws it if left out.
    #[arg(long, value_enum)]
    restart: Option<Restart>,
    /// Rounds until the database is replaced by a fresh one.
    #[arg(long, default_value_t = 20)]
    rounds_per_database: u32,
    /// The longest time under load, in milliseconds.
    #[arg(long, default_value_t = 1500)]
    longest_load_ms: u64,
    /// Where to put the databases; a temporary directory if left out.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// TPC-C instead of the ledger: all five transactions as procedures, command-logged and data-logged in
    /// turns, under serial and taurus; see docs/testing.md.
    #[arg(long)]
    tpcc: bool,
    /// Leave out the simulated power cuts, which come first.
    #[arg(long)]
    no_power_cuts: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Protocol {
    Taurus,
    Serial,
    Silor,
    Plover,
    #[value(name = "taurus_graph")]
    TaurusGraph,
}

#[derive(Clone, Copy, ValueEnum)]
enum Peer {
    Postgres,
}

impl Options {
    /// How the next round restarts. Only Hyades has both ways.
    fn draw_restart(&self, random: &mut StdRng) -> Restart {
        let drawn = self.restart.unwrap_or_else(|| Restart::draw(random));
        if self.peer.is_some() { Restart::Complete } else { drawn }
    }

    fn system(&self) -> Result<System> {
        if let Some(Peer::Postgres) = self.peer {
            return Ok(System::PostgreSql(PostgreSql { settings: self.peer_setting.clone() }));
        }
        let binary = hyades_binary(self.server.as_deref(), false)?;
        let protocol = match self.protocol {
            Protocol::Taurus => "taurus",
            Protocol::Serial => "serial",
            Protocol::Silor => "silor",
            Protocol::Plover => "plover",
            Protocol::TaurusGraph => "taurus_graph",
        };
        let protocol = protocol.to_owned();
        Ok(System::Hyades(Hyades { protocol, logs: self.logs, ..Hyades::usual(binary) }))
    }
}

/// The options of the servers of a round, whatever its load.
fn usual_arguments(round: u32) -> impl Iterator<Item = &'static str> {
    // With the default, most of a light load would go to one log.
    let shared_block_kib = if round.is_multiple_of(2) { "0" } else { "8" };
    // Two out of three rounds take checkpoints.
    let checkpoint_log_mib = if round.is_multiple_of(3) { "0" } else { "1" };
    // In most rounds some segments become full, so that there is a digest of the logs.
    let segment_mib = if round.is_multiple_of(4) { "64" } else { "1" };
    // Statements outside of blocks, and calls, are serializable.
    let control = Control::ALL[round as usize % 3].name();
    let arguments = [
        ["--control", control],
        ["--shared-block-kib", shared_block_kib],
        ["--checkpoint-log-mib", checkpoint_log_mib],
        ["--segment-mib", segment_mib],
    ];
    arguments.into_iter().flatten()
}

/// Cuts the simulated power at every operation, where the tests only try every few.
fn cut_everywhere() -> Result<()> {
    println!("crash: power cuts at every operation");
    let mut test = tools::test_of_workspace(&["--test", "crash_points", "--", "--nocapture"]);
    tools::run(test.env("HYADES_CRASH_POINTS", "all"))
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.tpcc {
        return tpcc::run(options);
    }
    if options.peer.is_none() && !options.no_power_cuts {
        cut_everywhere()?;
    }
    let system = options.system()?;
    let seed = options.seed.unwrap_or_else(rand::random);
    println!("crash: {} rounds against {}, seed {seed}", options.rounds, system.name());
    let directory = tools::scratch_directory(options.directory.as_deref())?;
    let mut harness = Harness {
        options: options.clone(),
        system,
        directory: directory.path().to_path_buf(),
        random: StdRng::seed_from_u64(seed),
        last_recovery: Duration::from_millis(200),
        summary: Summary::default(),
    };
    let outcome = harness.all_rounds();
    println!("{}", harness.summary);
    if let Err(error) = outcome {
        let kept = directory.keep();
        let again = format!("--seed {seed}");
        return Err(
            error.context(format!("crash: failed ({again}); data and logs are kept in {}", kept.display()))
        );
    }
    Ok(())
}

struct Harness {
    options: Options,
    system: System,
    directory: PathBuf,
    random: StdRng,
    /// The duration of the last recovery, which determines when the next one is killed.
    last_recovery: Duration,
    summary: Summary,
}

impl Harness {
    fn all_rounds(&mut self) -> Result<()> {
        let mut done = 0;
        for number in 0.. {
            let rounds = (self.options.rounds - done).min(self.options.rounds_per_database.max(1));
            if rounds == 0 {
                break;
            }
            let directory = self.directory.join(format!("database-{number}"));
            let mut instance = Instance::create(self.system.clone(), directory.clone(), Vec::new())?;
            self.rounds_of_one_database(&mut instance, done, rounds)?;
            std::fs::remove_dir_all(&directory)
                .with_context(|| format!("cannot remove {}", directory.display()))?;
            done += rounds;
        }
        Ok(())
    }

    fn rounds_of_one_database(&mut self, instance: &mut Instance, first: u32, rounds: u32) -> Result<()> {
        let (mut server, _) = instance.start_ready(RECOVERY_LIMIT)?;
        pgbench::initialize(instance, 1)?;
        let mut ledger = Ledger { ballast: schema::BALLAST, ..Ledger::default() };
        schema::create_tables(&mut instance.connect()?, ledger.ballast)?;
        for round in first..first + rounds {
            let restart = self.options.draw_restart(&mut self.random);
            if let System::Hyades(_) = &instance.system {
                instance.arguments =
                    usual_arguments(round).chain(restart.arguments()).map(str::to_owned).collect();
            }
            let outcome = self.round(instance, &mut server, &mut ledger, restart);
            let report = outcome
                .map_err(|error| server.with_log(&error))
                .with_context(|| format!("round {}", round + 1))?;
            println!("round {:>4}/{}  {report}", round + 1, self.options.rounds);
            self.summary.add(&report);
        }
        self.idle_kill(instance, &mut server).context("an idle kill")
    }

    /// Runs one round. `server` is the running one before and after.
    fn round(
        &mut self,
        instance: &Instance,
        server: &mut crate::server::RunningServer,
        ledger: &mut Ledger,
        restart: Restart,
    ) -> Result<RoundReport> {
        let mut report = RoundReport { restart, ..RoundReport::default() };
        let generation = ledger.generation;
        let alters = self.draw_alters(restart);
        if restart == Restart::OnDemand && !alters {
            // No client is let in before all changes of the catalog have been replayed. The checkpoint leaves
            // none.
            instance.connect()?.batch_execute("checkpoint").context("checkpoint")?;
        }
        let load = load::Load::start(
            instance,
            ledger,
            self.random.random(),
            Others { alters, ..Others::default() },
        )?;
        // Short times are as likely as long ones: the first transactions after a start are the interesting
        // ones.
        let fraction: f64 = self.random.random::<f64>().powi(2);
        report.load_ms = 20 + (fraction * self.options.longest_load_ms as f64) as u64;
        std::thread::sleep(Duration::from_millis(report.load_ms));
        let load = load.expect_running(server)?;
        server.kill()?;
        let outcomes = load.finish()?;
        report.acknowledged = ledger.add(&outcomes);
        report.retries = outcomes.iter().map(|outcome| outcome.retries).sum();
        match restart {
            Restart::Complete if self.random.random_bool(0.5) => {
                report.second_kill = Some(self.kill_during_recovery(instance)?);
            }
            Restart::Complete => {}
            Restart::OnDemand => {
                for _ in 0..[0, 1, 1, 2][self.random.random_range(0..4)] {
                    report.middle_kills.push(self.kill_in_the_middle(instance, ledger)?);
                }
            }
        }
        let (next, took) = instance.start_ready(RECOVERY_LIMIT)?;
        *server = next;
        self.last_recovery = took;
        report.recovery = took;
        if restart == Restart::OnDemand {
            report.read_at_percent = Some(Watcher::connect(instance)?.look()?.0);
        }
        report.verified = verify::compare(instance, ledger)?;
        if restart == Restart::OnDemand {
            Watcher::connect(instance)?.wait_for(1.0, RECOVERY_LIMIT)?;
        }
        report.alterations = ledger.generation - generation;
        Ok(report)
    }

    /// Whether a client alters the schema. Seldom before a restart on demand, which lets no client in before
    /// all such changes have been replayed.
    fn draw_alters(&mut self, restart: Restart) -> bool {
        restart == Restart::Complete || self.random.random_bool(0.25)
    }

    /// Starts the server, has all clients work while the restart goes on, and kills it when a random part of
    /// the restart is done.
    fn kill_in_the_middle(&mut self, instance: &Instance, ledger: &mut Ledger) -> Result<MiddleKill> {
        let alters = self.draw_alters(Restart::OnDemand);
        let others = Others { alters, writes_aside: true, ..Others::default() };
        let Middle { mut server, load, percent, went_on } =
            Middle::reach(instance, ledger, &mut self.random, others)?;
        server.kill()?;
        let aside = ledger.aside.acknowledged.len();
        let acknowledged = ledger.add(&load.finish()?);
        let aside = ledger.aside.acknowledged.len().saturating_sub(aside) as u64;
        Ok(MiddleKill { percent, went_on, acknowledged: acknowledged + aside })
    }

    /// Starts the server and kills it within the time that recovery takes, or a little later.
    fn kill_during_recovery(&mut self, instance: &Instance) -> Result<summary::SecondKill> {
        let limit = self.last_recovery.mul_f64(self.random.random_range(0.0..1.2));
        let mut server = instance.start()?;
        let ready = instance.wait_ready(&mut server, limit)?;
        let rest = limit.saturating_sub(server.started().elapsed());
        std::thread::sleep(rest);
        let after = server.started().elapsed();
        server.kill()?;
        Ok(summary::SecondKill { after, was_recovering: ready.is_none() })
    }

    /// Recovering twice changes nothing: the contents before and after a kill without load are the same.
    fn idle_kill(&mut self, instance: &Instance, server: &mut crate::server::RunningServer) -> Result<()> {
        let start = Instant::now();
        let before = verify::content_hash(instance)?;
        server.kill()?;
        let (next, _) = instance.start_ready(RECOVERY_LIMIT)?;
        *server = next;
        let after = verify::content_hash(instance)?;
        server.kill()?;
        if before != after {
            bail!("the tables differ before and after a recovery: {before:016x?} and {after:016x?}");
        }
        println!("idle kill: all tables as before ({:.1} s)", start.elapsed().as_secs_f64());
        Ok(())
    }
}
