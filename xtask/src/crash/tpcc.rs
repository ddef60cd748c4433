//! `cargo xtask crash --tpcc`: kills a server that runs TPC-C's five procedures, and checks what it recovers.
//!
//! The load and the checks are `hyades bench tpcc --connect`, with its ledger. A round: the clients run; at a random moment the server
//! gets SIGKILL; in half of the rounds it is started and killed again at a random moment of its recovery; then it is started for good
//! and must satisfy:
//! 1. the twelve consistency conditions of TPC-C, and that its index tables agree;
//! 2. every acknowledged order and payment is there, and none that nobody asked for;
//! 3. nothing that an earlier recovery has shown is gone;
//! 4. a recovery by one worker and one by two bring back the same tables, byte for byte.
//!
//! That a replayed command writes what it wrote forward is checked by the database itself: a command record carries the hash of its
//! write set, and a difference is an error of the recovery.
//!
//! Databases follow each other with every pair of protocol and logging: serial and taurus, command, data and auto.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Options, Peer, RECOVERY_LIMIT, verify};
use crate::server::{Hyades, Instance, PostgreSql, RunningServer, System};
use crate::tools;

const COMBINATIONS: &[(&str, &str)] = &[
    ("taurus", "command"),
    ("serial", "command"),
    ("taurus", "data"),
    ("serial", "data"),
    ("taurus", "auto"),
];
const CLIENTS: &str = "4";
const WAREHOUSES: &str = "2";
/// Longer than any round: the kill ends it.
const LOAD_SECONDS: &str = "60";

struct Rounds<'o> {
    options: &'o Options,
    binary: std::path::PathBuf,
    random: StdRng,
    recoveries: Vec<Duration>,
}

pub(super) fn run(options: &Options) -> Result<()> {
    let binary = match &options.server {
        Some(binary) => std::path::absolute(binary)?,
        None => {
            tools::run(tools::cargo().args(["build", "--quiet", "--package", "hyades-server"]))?;
            tools::target_directory().join("debug").join("hyades")
        }
    };
    let seed = options.seed.unwrap_or_else(rand::random);
    println!("crash: {} rounds of TPC-C, seed {seed}", options.rounds);
    let directory = match &options.directory {
        Some(directory) => {
            std::fs::create_dir_all(directory)?;
            tempfile::tempdir_in(directory)?
        }
        None => tempfile::tempdir()?,
    };
    tools::open_to_all(directory.path())?;
    let mut rounds = Rounds { options, binary, random: StdRng::seed_from_u64(seed), recoveries: Vec::new() };
    if let Err(error) = rounds.all(directory.path()) {
        let kept = directory.keep();
        return Err(error.context(format!(
            "crash --tpcc: failed (--seed {seed}); data and logs are kept in {}",
            kept.display()
        )));
    }
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
        // All pairs are met even in few rounds.
        let share = self.options.rounds.div_ceil(COMBINATIONS.len() as u32);
        let each = self.options.rounds_per_database.clamp(1, share.max(1));
        let mut done = 0;
        for number in 0.. {
            let rounds = (self.options.rounds - done).min(each);
            if rounds == 0 {
                break;
            }
            let (protocol, logging) = COMBINATIONS[number % COMBINATIONS.len()];
            let path = directory.join(format!("tpcc-{number}"));
            self.database(&path, protocol, logging, done, rounds)
                .with_context(|| format!("{protocol}, logging {logging}"))?;
            std::fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            done += rounds;
        }
        Ok(())
    }

    fn system(&self, protocol: &str) -> System {
        match self.options.peer {
            Some(Peer::Postgres) => {
                System::PostgreSql(PostgreSql { settings: self.options.peer_setting.clone() })
            }
            None => System::Hyades(Hyades {
                binary: self.binary.clone(),
                protocol: protocol.to_owned(),
                logs: self.options.logs,
            }),
        }
    }

    fn bench(&self, instance: &Instance) -> Command {
        let mut command = Command::new(&self.binary);
        let url = format!("postgres://hyades@127.0.0.1:{}/{}", instance.port, instance.system.database());
        command.args(["bench", "tpcc", "--small", "--warehouses", WAREHOUSES, "--connect", &url]);
        command
    }

    fn database(
        &mut self,
        path: &Path,
        protocol: &str,
        logging: &str,
        first: u32,
        rounds: u32,
    ) -> Result<()> {
        let instance = Instance::create(self.system(protocol), path.to_path_buf(), Vec::new())?;
        let (mut server, _) = instance.start_ready(RECOVERY_LIMIT)?;
        let ledger = path.join("ledger.json");
        for round in 0..rounds {
            let outcome = self.round(&instance, &mut server, &ledger, logging, round == 0);
            let said = outcome.map_err(|error| {
                anyhow::anyhow!(
                    "round {}: {error:#}\nthe server's last lines:\n{}",
                    first + round + 1,
                    server.log_tail()
                )
            })?;
            println!("round {:>4}/{}  {protocol} {logging}: {said}", first + round + 1, self.options.rounds);
        }
        server.kill()?;
        if self.options.peer.is_none() {
            same_state_whoever_replays(&instance, &self.binary)?;
        }
        Ok(())
    }

    fn round(
        &mut self,
        instance: &Instance,
        server: &mut RunningServer,
        ledger: &Path,
        logging: &str,
        is_first: bool,
    ) -> Result<String> {
        let mut command = self.bench(instance);
        command.args(["--workers", CLIENTS, "--seconds", LOAD_SECONDS, "--ledger"]).arg(ledger);
        command.args(["--seed", &self.random.random::<u32>().to_string()]);
        if !is_first {
            command.arg("--no-load");
        }
        if self.options.peer.is_none() {
            command.args(["--logging", logging]);
        }
        let mut load = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        // It says when the tables are there and its clients begin.
        let mut lines = BufReader::new(load.stdout.take().context("no output of the load")?).lines();
        if lines.next().transpose()?.as_deref() != Some("running") {
            let output = load.wait_with_output()?;
            bail!("the load did not begin: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        // Short times are as likely as long ones.
        let fraction: f64 = self.random.random::<f64>().powi(2);
        let load_ms = 20 + (fraction * self.options.longest_load_ms as f64) as u64;
        std::thread::sleep(Duration::from_millis(load_ms));
        server.kill()?;
        let output = load.wait_with_output()?;
        if !output.status.success() {
            bail!("the load failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let second = if self.random.random_bool(0.5) { self.kill_during_recovery(instance)? } else { "" };
        let (next, took) = instance.start_ready(RECOVERY_LIMIT)?;
        *server = next;
        self.recoveries.push(took);
        let said = tools::output_of(self.bench(instance).arg("--verify").arg(ledger))?;
        Ok(format!("{load_ms} ms of load{second}, back in {:.2} s, {}", took.as_secs_f64(), said.trim()))
    }

    fn kill_during_recovery(&mut self, instance: &Instance) -> Result<&'static str> {
        let usual = self.recoveries.last().copied().unwrap_or(Duration::from_millis(100));
        let limit = usual.mul_f64(self.random.random_range(0.0..1.2));
        let mut server = instance.start()?;
        let ready = instance.wait_ready(&mut server, limit)?;
        server.kill()?;
        Ok(if ready.is_none() { ", killed again in recovery" } else { ", killed again" })
    }
}

/// Recovers the same logs twice, by one worker and by two, and compares the tables.
fn same_state_whoever_replays(instance: &Instance, binary: &Path) -> Result<()> {
    let mut hashes = Vec::new();
    for workers in ["1", "2"] {
        let mut command = Command::new(binary);
        command.arg("serve").arg("--data").arg(instance.directory.join("data"));
        command.args(["--listen", &format!("127.0.0.1:{}", instance.port), "--recovery-workers", workers]);
        let mut server = instance.start_command(&command)?;
        if instance.wait_ready(&mut server, RECOVERY_LIMIT)?.is_none() {
            bail!("a recovery by {workers} workers took too long");
        }
        hashes.push(verify::hash_of_all_tables(instance, TABLES)?);
        server.kill()?;
    }
    if hashes[0] != hashes[1] {
        bail!("one worker and two recover different tables: {hashes:016x?}");
    }
    println!("one worker and two recover the same tables");
    Ok(())
}

const TABLES: &[&str] = &[
    "warehouse",
    "district",
    "customer",
    "customer_by_name",
    "history",
    "orders",
    "orders_by_customer",
    "new_order",
    "order_line",
    "item",
    "stock",
];
