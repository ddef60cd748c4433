//! `cargo xtask crash --tpcc`: kills a server that runs TPC-C's five procedures, and checks what it recovers.
//!
//! The load and the checks are `hyades bench tpcc --connect`, with its ledger. A round: four clients run the
//! full mix; at a random moment the server gets SIGKILL; then its logs are recovered in memory (`replays`,
//! `hyades log verify`) in several ways; in half of the rounds the server is started and killed again at a
//! random moment of its recovery; then it is started for good. Each round draws whether the starts are
//! complete or on demand ([`super::restart`]). On demand, the clients work on until the second kill, and the
//! last comparison begins while the restart goes on. What must hold:
//! 1. the twelve consistency conditions of TPC-C, and its indexes agree with their tables;
//! 2. every acknowledged order and payment is there, and none that was never requested;
//! 3. nothing that an earlier recovery has shown is gone;
//! 4. all ways of recovery lead to the same state, byte for byte: one worker and two, and, where the server
//!    was told to log the after-images of every call too (`--command-images`), running calls again and
//!    applying images.
//!
//! The last point compares command with data logging of the very same run, whatever its clients did at the
//! same time: the record of a call and its after-images become durable together. In addition, every replayed
//! call is checked against the hash of what it wrote.
//!
//! Databases follow each other with every pair of protocol and logging ([`COMBINATIONS`]).

use std::fmt;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::restart::{MiddleKill, RECOVERY_LIMIT, Restart, Watcher};
use super::{Options, Peer, schema, usual_arguments};
use crate::server::{Hyades, Instance, PostgreSql, RunningServer, System, hyades_binary};
use crate::tools;

/// The options of one database.
#[derive(Clone, Copy)]
struct Combination {
    protocol: &'static str,
    logging: &'static str,
    /// Calls also log their after-images.
    has_images: bool,
}

const fn combination(protocol: &'static str, logging: &'static str, has_images: bool) -> Combination {
    Combination { protocol, logging, has_images }
}

/// With few rounds, only the first ones are used.
const COMBINATIONS: &[Combination] = &[
    combination("taurus", "command", true),
    combination("serial", "command", true),
    combination("taurus", "mixed", true),
    combination("taurus", "data", false),
    combination("serial", "data", false),
    combination("taurus", "command", false),
    combination("serial", "mixed", true),
    combination("taurus", "auto", false),
    combination("silor", "data", false),
    combination("plover", "data", false),
    combination("taurus_graph", "auto", true),
];
const WRITING_CALLS: [&str; 3] = ["tpcc_new_order", "tpcc_payment", "tpcc_delivery"];
const CLIENTS: &str = "4";
const WAREHOUSES: &str = "2";
/// The number of rows in the table that prolongs a restart.
const BALLAST: i64 = 300_000;
/// Longer than any round: the kill ends it.
const LOAD_SECONDS: &str = "60";

struct Rounds<'o> {
    options: &'o Options,
    binary: std::path::PathBuf,
    random: StdRng,
    recoveries: Vec<Duration>,
    /// How the round restarts.
    restart: Restart,
    middle_kills: Vec<MiddleKill>,
    /// Rounds that were restarted on demand, and those of them that were compared while the restart went on.
    on_demand: [u32; 2],
    /// For each of [`WRITING_CALLS`].
    rounds_with_calls: [u32; 3],
}

pub(super) fn run(options: &Options) -> Result<()> {
    let binary = hyades_binary(options.server.as_deref(), false)?;
    let seed = options.seed.unwrap_or_else(rand::random);
    println!("crash: {} rounds of TPC-C, seed {seed}", options.rounds);
    let directory = tools::scratch_directory(options.directory.as_deref())?;
    let mut rounds = Rounds {
        options,
        binary,
        random: StdRng::seed_from_u64(seed),
        recoveries: Vec::new(),
        restart: Restart::Complete,
        middle_kills: Vec::new(),
        on_demand: [0; 2],
        rounds_with_calls: [0; 3],
    };
    if let Err(error) = rounds.all(directory.path()) {
        let kept = directory.keep();
        return Err(error.context(format!(
            "crash --tpcc: failed (--seed {seed}); data and logs are kept in {}",
            kept.display()
        )));
    }
    let calls = WRITING_CALLS.iter().zip(rounds.rounds_with_calls);
    let calls: Vec<String> = calls.map(|(name, rounds)| format!("{name} in {rounds}")).collect();
    println!("rounds whose logs hold commands: {}", calls.join(", "));
    if options.peer.is_none() && rounds.rounds_with_calls[0] == 0 {
        bail!("no order was logged as a command in any round");
    }
    let [on_demand, compared] = rounds.on_demand;
    println!(
        "rounds restarted on demand: {on_demand}, of which {compared} were compared while that went on; killed again {} times, \
         of which {} while it went on",
        rounds.middle_kills.len(),
        rounds.middle_kills.iter().filter(|kill| kill.went_on).count()
    );
    rounds.recoveries.sort_unstable();
    let median = rounds.recoveries.get(rounds.recoveries.len() / 2).copied().unwrap_or_default();
    println!(
        "crash --tpcc: {} rounds passed; median time to the first answer after a kill {:.2} s",
        options.rounds,
        median.as_secs_f64()
    );
    Ok(())
}

impl Rounds<'_> {
    fn all(&mut self, directory: &Path) -> Result<()> {
        // All pairs are used even in few rounds.
        let share = self.options.rounds.div_ceil(COMBINATIONS.len() as u32);
        let each = self.options.rounds_per_database.clamp(1, share.max(1));
        let mut done = 0;
        for number in 0.. {
            let rounds = (self.options.rounds - done).min(each);
            if rounds == 0 {
                break;
            }
            let combination = COMBINATIONS[number % COMBINATIONS.len()];
            let path = directory.join(format!("tpcc-{number}"));
            self.database(&path, combination, done, rounds).with_context(|| combination.to_string())?;
            std::fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            done += rounds;
        }
        Ok(())
    }

    fn system(&self, combination: Combination) -> System {
        match self.options.peer {
            Some(Peer::Postgres) => {
                System::PostgreSql(PostgreSql { settings: self.options.peer_setting.clone() })
            }
            None => System::Hyades(Hyades {
                protocol: combination.protocol.to_owned(),
                logs: self.options.logs,
                ..Hyades::usual(self.binary.clone())
            }),
        }
    }

    /// The options of the servers of a round. Draws how they restart.
    fn arguments(&mut self, combination: Combination, next_round: u32) -> Vec<String> {
        self.restart = self.options.draw_restart(&mut self.random);
        if self.options.peer.is_some() {
            return Vec::new();
        }
        let images = combination.has_images.then_some("--command-images");
        let drawn = self.restart.arguments().into_iter().chain(images);
        usual_arguments(next_round).chain(drawn).map(str::to_owned).collect()
    }

    fn bench(&self, instance: &Instance) -> Command {
        let mut command = Command::new(&self.binary);
        let url = format!("postgres://hyades@127.0.0.1:{}/{}", instance.port, instance.system.database());
        command.args(["bench", "tpcc", "--small", "--warehouses", WAREHOUSES, "--connect", &url]);
        command
    }

    fn database(&mut self, path: &Path, combination: Combination, first: u32, rounds: u32) -> Result<()> {
        let mut instance = Instance::create(self.system(combination), path.to_path_buf(), Vec::new())?;
        instance.arguments = self.arguments(combination, first);
        let (mut server, _) = instance.start_ready(RECOVERY_LIMIT)?;
        let mut client = instance.connect()?;
        schema::create_ballast(&mut client, BALLAST)?;
        client.batch_execute("checkpoint").context("checkpoint")?;
        drop(client);
        let mut last = None;
        for round in 0..rounds {
            instance.arguments = self.arguments(combination, first + round + 1);
            let outcome = self.round(&instance, &mut server, combination, round == 0);
            let (said, hash) = outcome
                .map_err(|error| server.with_log(&error))
                .with_context(|| format!("round {}", first + round + 1))?;
            println!(
                "round {:>4}/{}  {:<9}  {combination}: {said}",
                first + round + 1,
                self.options.rounds,
                self.restart
            );
            last = hash;
        }
        server.kill()?;
        if let Some(last) = last
            && self.replays(&instance, combination)? != last
        {
            bail!("a recovery by the server and a kill without load have changed the state");
        }
        Ok(())
    }

    /// Runs a round. Returns what it did, and the hash of the recovered state (of Hyades only).
    fn round(
        &mut self,
        instance: &Instance,
        server: &mut RunningServer,
        combination: Combination,
        is_first: bool,
    ) -> Result<(String, Option<String>)> {
        let ledger = instance.directory.join("ledger.json");
        let load_ms = self.load_and_kill(instance, server, combination, is_first, &ledger)?;
        let mut hash = self.judge_logs(instance, combination)?;
        let mut second = String::new();
        match self.restart {
            Restart::Complete if self.random.random_bool(0.5) => {
                second = format!(", {}", self.kill_during_recovery(instance)?);
            }
            Restart::OnDemand if self.random.random_bool(0.75) => {
                let kill = self.kill_in_the_middle(instance, combination, &ledger)?;
                self.middle_kills.push(kill);
                second = format!(", {kill}");
                hash = self.judge_logs(instance, combination)?;
            }
            _ => {}
        }
        let (next, took) = instance.start_ready(RECOVERY_LIMIT)?;
        *server = next;
        self.recoveries.push(took);
        if self.restart == Restart::OnDemand {
            let (percent, goes_on) = Watcher::connect(instance)?.look()?;
            second.push_str(&format!(", compared at {percent:.0} %"));
            self.on_demand[0] += 1;
            self.on_demand[1] += u32::from(goes_on);
        }
        let said = tools::output_of(self.bench(instance).arg("--verify").arg(&ledger))?;
        schema::check_ballast(&mut instance.connect()?, BALLAST)?;
        if self.restart == Restart::OnDemand {
            Watcher::connect(instance)?.wait_for(1.0, RECOVERY_LIMIT)?;
        }
        let said =
            format!("{load_ms} ms of load{second}, back in {:.2} s, {}", took.as_secs_f64(), said.trim());
        Ok((said, hash))
    }

    /// Checks the logs that a kill has left. Returns the hash of their state (of Hyades only).
    fn judge_logs(&mut self, instance: &Instance, combination: Combination) -> Result<Option<String>> {
        if self.options.peer.is_some() {
            return Ok(None);
        }
        self.look_at_calls(instance, combination)?;
        Ok(Some(self.replays(instance, combination)?))
    }

    /// Has the clients work for a random time, and kills the server. Returns how long they worked.
    fn load_and_kill(
        &mut self,
        instance: &Instance,
        server: &mut RunningServer,
        combination: Combination,
        is_first: bool,
        ledger: &Path,
    ) -> Result<u64> {
        // Short times are as likely as long ones.
        let fraction: f64 = self.random.random::<f64>().powi(2);
        let load_ms = 20 + (fraction * self.options.longest_load_ms as f64) as u64;
        // No client is let in before all changes of the catalog have been replayed. The checkpoint leaves
        // none.
        let takes_checkpoint = self.restart == Restart::OnDemand;
        self.load_until(instance, server, combination, is_first, ledger, || {
            if takes_checkpoint {
                instance.connect()?.batch_execute("checkpoint").context("checkpoint")?;
            }
            std::thread::sleep(Duration::from_millis(load_ms));
            Ok(load_ms)
        })
    }

    /// Has the clients work until `until` returns, and kills the server. Returns when they have noticed
    /// that, and written their ledger.
    fn load_until<T>(
        &mut self,
        instance: &Instance,
        server: &mut RunningServer,
        combination: Combination,
        is_first: bool,
        ledger: &Path,
        until: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let mut command = self.bench(instance);
        command.args(["--workers", CLIENTS, "--seconds", LOAD_SECONDS, "--ledger"]).arg(ledger);
        command.args(["--seed", &self.random.random::<u32>().to_string()]);
        if !is_first {
            command.arg("--no-load");
        }
        if self.options.peer.is_none() {
            command.args(["--logging", combination.logging]);
        }
        let load = Load::begin(command)?;
        let until = until()?;
        server.kill()?;
        load.finish()?;
        Ok(until)
    }

    /// Starts the server, has the clients work while the restart goes on, and kills it when a random part of
    /// that is done. Their ledger continues.
    fn kill_in_the_middle(
        &mut self,
        instance: &Instance,
        combination: Combination,
        ledger: &Path,
    ) -> Result<MiddleKill> {
        let (mut server, _) = instance.start_ready(RECOVERY_LIMIT)?;
        let mut watcher = Watcher::connect(instance)?;
        let share = self.random.random_range(0.0..1.1);
        let until = || watcher.wait_for(share, RECOVERY_LIMIT);
        let (percent, went_on) = self.load_until(instance, &mut server, combination, false, ledger, until)?;
        // The ledger counts them.
        Ok(MiddleKill { percent, went_on, acknowledged: 0 })
    }

    /// Counts the rounds whose log contains calls: comparing data with data would prove nothing.
    fn look_at_calls(&mut self, instance: &Instance, combination: Combination) -> Result<()> {
        let mut command = Command::new(&self.binary);
        let said =
            tools::output_of(command.args(["log", "stat", "--data"]).arg(instance.directory.join("data")))?;
        let has_calls = |name: &str| said.contains(&format!("public.{name} "));
        if combination.logging == "data" && said.contains("command ") {
            bail!("calls are logged as commands although the clients asked for data");
        }
        for (name, rounds) in WRITING_CALLS.iter().zip(&mut self.rounds_with_calls) {
            *rounds += u32::from(has_calls(name));
        }
        Ok(())
    }

    /// Recovers the logs in memory in several ways, which must lead to the same state. Returns its hash.
    fn replays(&self, instance: &Instance, combination: Combination) -> Result<String> {
        let replay = |options: &[&str]| {
            let mut command = Command::new(&self.binary);
            command.args(["log", "verify", "--data"]).arg(instance.directory.join("data")).args(options);
            let said = tools::output_of(&mut command)?;
            let hash = said.lines().find_map(|line| line.rsplit_once("; state "));
            Ok::<_, anyhow::Error>(hash.with_context(|| format!("no state in: {said}"))?.1.to_owned())
        };
        let one = replay(&["--recovery-workers", "1"])?;
        let two = replay(&["--recovery-workers", "2"])?;
        if one != two {
            bail!("one worker and two recover different states: {one} and {two}");
        }
        if combination.has_images {
            let images = replay(&["--recovery-workers", "2", "--images"])?;
            if images != one {
                bail!("the replay of calls gives state {one}, that of their after-images {images}");
            }
        }
        Ok(one)
    }

    fn kill_during_recovery(&mut self, instance: &Instance) -> Result<&'static str> {
        let usual = self.recoveries.last().copied().unwrap_or(Duration::from_millis(100));
        let limit = usual.mul_f64(self.random.random_range(0.0..1.2));
        let mut server = instance.start()?;
        let ready = instance.wait_ready(&mut server, limit)?;
        server.kill()?;
        Ok(if ready.is_none() { "killed again in recovery" } else { "killed again" })
    }
}

/// Clients of `hyades bench --ledger` that work until the server goes away.
pub(crate) struct Load {
    child: Child,
    /// The lines that it prints.
    lines: Lines<BufReader<ChildStdout>>,
}

impl Load {
    /// Returns when the tables exist and the clients work.
    pub(crate) fn begin(mut command: Command) -> Result<Load> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("no output of the load")?).lines();
        if lines.next().transpose()?.as_deref() != Some("running") {
            let output = child.wait_with_output()?;
            bail!("the load did not begin: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(Load { child, lines })
    }

    /// Returns when the clients have noticed that the server is gone, and written their ledger. The result is
    /// the number of acknowledged transactions.
    pub(crate) fn finish(mut self) -> Result<u64> {
        let last = self.lines.next().transpose()?;
        let output = self.child.wait_with_output()?;
        if !output.status.success() {
            bail!("the load failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let count = last.as_deref().and_then(|line| line.split(' ').next()?.parse().ok());
        count.with_context(|| format!("the load does not say what it did: {last:?}"))
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let images = if self.has_images { " with images" } else { "" };
        write!(f, "{} {}{images}", self.protocol, self.logging)
    }
}
