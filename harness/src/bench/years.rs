//! Requirements of a database that is kept for years: throughput and latency while checkpoints are taken, how
//! much a checkpoint of few changes writes, and how soon a large database is back after a kill.
//!
//! Only Hyades is measured. Throughput: pgbench's TPC-B with 8 clients on five million accounts, of which
//! some ten thousand change each second, with a checkpoint for every few megabytes of logs. Transactions that
//! ended while a checkpoint was taken are compared with the others. Restarts: a table of 4 GB and small ones,
//! a gigabyte of logs after their checkpoint, SIGKILL, an empty page cache (where the machine allows that),
//! `--restart on-demand`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use postgres::Client;

use super::options::Options;
use super::table::{Line, Target};
use super::wire::parse_transactions;
use crate::pgbench::{self, Run};
use crate::server::{Hyades, Instance, RunningServer, System};
use crate::tools::{self, Spread, quantile};

const THROUGHPUT_NAME: &str = "checkpoints: TPC-B beside them, 8 clients";
const LATENCY_NAME: &str = "checkpoints: p99.9 beside them, 8 clients";
/// pgbench's scale factor: a checkpoint of its changes takes a while.
const SCALE: u32 = 50;
/// A checkpoint is taken for this much of logs.
const LOG_MIB: u32 = 16;
/// A fraction of the throughput between checkpoints.
const THROUGHPUT_FACTOR: f64 = 0.9;
/// A multiple of the latency between checkpoints.
const LATENCY_FACTOR: f64 = 5.0;

const WRITTEN_NAME: &str = "checkpoints: bytes written after 1 % of the rows changed";
/// A fraction of the bytes of the whole checkpoint.
const WRITTEN_SHARE: f64 = 0.03;
const CHANGED_EACH: u64 = 100;

const FIRST_NAME: &str = "restart of 4 GB: first transaction, in a table without log records";
const HOT_NAME: &str = "restart of 4 GB: first transaction in a small table with log records";
const TOUCHED_NAME: &str = "restart of 4 GB: first transaction in the table of 4 GB";
const FIRST_SECONDS: f64 = 1.0;
const COMPLETE_NAME: &str = "restart of 4 GB: bytes loaded and replayed";
/// A fraction of the rate at which the same files are only read, or applied without a disk, whichever is
/// lower: the limit of the machine.
const COMPLETE_SHARE: f64 = 0.8;
/// A restart takes so long that only few are measured.
const RESTARTS: usize = 3;

const ROW_BYTES: i64 = 4_000_000_000;
const LOG_BYTES: i64 = 1_000_000_000;
const BATCH_ROWS: u64 = 500_000;
const START_LIMIT: Duration = Duration::from_secs(120);

pub(super) fn measure(options: &Options, directory: &Path) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    if options.wants(THROUGHPUT_NAME) || options.wants(LATENCY_NAME) {
        lines.extend(beside_checkpoints(options, &directory.join("checkpoints"))?);
    }
    let large = [WRITTEN_NAME, FIRST_NAME, HOT_NAME, TOUCHED_NAME, COMPLETE_NAME];
    if large.iter().any(|name| options.wants(name)) {
        lines.extend(large_database(options, directory.join("large"))?);
    }
    lines.retain(|line| options.wants(line.name));
    Ok(lines)
}

/// `log_mib`: a checkpoint is taken for this much of logs; 0 for those on request only.
fn instance(options: &Options, directory: PathBuf, log_mib: u32) -> Result<Instance> {
    let system = System::Hyades(Hyades::usual(tools::shipped().join("hyades")));
    let mut instance = Instance::create(system, directory, options.prefix())?;
    instance.arguments = ["--checkpoint-log-mib".to_owned(), log_mib.to_string()].into();
    Ok(instance)
}

fn checkpoint(client: &mut Client) -> Result<()> {
    client.batch_execute("checkpoint").context("CHECKPOINT")
}

// ---- throughput

/// When transactions ended, and how long they took, in microseconds.
type Transactions = Vec<(u64, u64)>;

fn beside_checkpoints(options: &Options, directory: &Path) -> Result<[Line; 2]> {
    let instance = instance(options, directory.to_path_buf(), LOG_MIB)?;
    let (mut server, _) = instance.start_ready(START_LIMIT)?;
    pgbench::initialize(&instance, SCALE)?;
    checkpoint(&mut instance.connect()?)?;
    let (mut rates, mut tails) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 0..options.rounds {
        let (transactions, checkpoints) = while_checkpoints_are_taken(&instance, options.seconds)?;
        let (first, last) = (&transactions[0], &transactions[transactions.len() - 1]);
        let is_beside = |ended: u64| checkpoints.iter().any(|(begin, end)| (*begin..*end).contains(&ended));
        let beside_us: u64 = checkpoints.iter().map(|(begin, end)| end - begin).sum();
        let alone_us = last.0 - first.0 - beside_us;
        for (at, us) in [beside_us, alone_us].into_iter().enumerate() {
            let those = transactions.iter().filter(|(ended, _)| is_beside(*ended) == (at == 0));
            let mut times_us: Vec<u64> = those.map(|(_, took)| *took).collect();
            times_us.sort_unstable();
            rates[at].push(times_us.len() as f64 / us as f64 * 1e6);
            tails[at].push(quantile(&times_us, 0.999).context("no transaction beside a checkpoint")? as f64);
        }
        eprintln!(
            "checkpoints, round {}: {:.0}/s, p99.9 {:.0} us alone; {:.0}/s, {:.0} us beside {} checkpoints of {:.2} s",
            round + 1,
            rates[1][round],
            tails[1][round],
            rates[0][round],
            tails[0][round],
            checkpoints.len(),
            beside_us as f64 / 1e6 / checkpoints.len() as f64,
        );
    }
    server.kill()?;
    let target = Target::AtLeast(THROUGHPUT_FACTOR);
    let throughput = Line::compared(THROUGHPUT_NAME, "/s", &rates[0], ("without", &rates[1]), target)?;
    let target = Target::AtMost(LATENCY_FACTOR);
    Ok([throughput, Line::compared(LATENCY_NAME, "us", &tails[0], ("without", &tails[1]), target)?])
}

fn transactions(instance: &Instance, seconds: u64) -> Result<Transactions> {
    let logs = tempfile::tempdir_in(&instance.directory)?;
    let prefix = format!("--log-prefix={}", logs.path().join("latency").display());
    let run = Run {
        clients: 8,
        threads: 2,
        seconds,
        script: ["-b", "tpcb-like"].map(str::to_owned).into(),
        more: vec!["--max-tries=100".to_owned(), "-l".to_owned(), prefix],
    };
    let report = pgbench::run(instance, &run, logs.path())?;
    ensure!(report.failed == 0, "{} transactions failed", report.failed);
    let mut transactions = Vec::new();
    for entry in std::fs::read_dir(logs.path())? {
        transactions.extend(parse_transactions(&std::fs::read_to_string(entry?.path())?));
    }
    transactions.sort_unstable();
    ensure!(transactions.len() > 1, "pgbench logged no transactions");
    Ok(transactions)
}

/// Runs transactions beside checkpoints. Also returns when each checkpoint began and ended, in microseconds
/// since 1970.
fn while_checkpoints_are_taken(instance: &Instance, seconds: u64) -> Result<(Transactions, Vec<(u64, u64)>)> {
    let is_over = AtomicBool::new(false);
    let watch = || {
        let mut client = instance.connect()?;
        let mut taken = BTreeMap::new();
        while !is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
            let row = client.query_one(
                "select number, (extract(epoch from taken_at) * 1000000)::bigint, (seconds * 1000000)::bigint
                 from hyades_checkpoint",
                &[],
            )?;
            let [number, begin, took] = [0, 1, 2].map(|at| row.get::<_, i64>(at) as u64);
            taken.insert(number, (begin, begin + took));
        }
        Ok::<_, anyhow::Error>(taken)
    };
    std::thread::scope(|scope| {
        let watcher = scope.spawn(watch);
        let transactions = transactions(instance, seconds);
        is_over.store(true, Ordering::Relaxed);
        let taken = watcher.join().map_err(|_| anyhow::anyhow!("the client that watches panicked"))??;
        let transactions = transactions?;
        let (begin, end) = (transactions[0].0, transactions[transactions.len() - 1].0);
        let taken: Vec<_> = taken.into_values().filter(|taken| begin < taken.0 && taken.1 < end).collect();
        ensure!(!taken.is_empty(), "no checkpoint was taken: --seconds is too little");
        Ok((transactions, taken))
    })
}

// ---- a large database

fn large_database(options: &Options, directory: PathBuf) -> Result<Vec<Line>> {
    let mut instance = instance(options, directory, 0)?;
    // The server that writes the logs keeps a digest of them only if its own restarts are on demand.
    instance.arguments.extend(["--restart", "on-demand"].map(str::to_owned));
    let (mut server, _) = instance.start_ready(START_LIMIT)?;
    let mut client = instance.connect()?;
    let rows = load(&mut client)?;
    checkpoint(&mut client)?;
    let [whole, _] = last_checkpoint(&mut client)?;
    let mut shares = Vec::new();
    for round in 0..options.rounds.min(RESTARTS) as u64 {
        // Rows that are far apart: the worst case for a checkpoint by ranges.
        let change = format!("update kept set number = number + 1 where id % {CHANGED_EACH} = {round}");
        client.batch_execute(&change)?;
        checkpoint(&mut client)?;
        let [bytes, written] = last_checkpoint(&mut client)?;
        eprintln!("checkpoints: {written:.0} bytes were written of {bytes:.0}");
        shares.push(written / bytes);
    }
    let written = Spread::of(&shares).context("no rounds")?;
    let mut lines = vec![Line {
        name: WRITTEN_NAME,
        measured: written,
        unit: "of the whole",
        beside: None,
        judged: written,
        target: Target::AtMost(WRITTEN_SHARE),
    }];
    fill_log(&mut client, rows)?;
    drop(client);
    lines.extend(restarts(options, &instance, &mut server, whole)?);
    server.kill()?;
    Ok(lines)
}

/// Creates a table of [`ROW_BYTES`], and small ones. Returns the number of rows of the large one.
fn load(client: &mut Client) -> Result<u64> {
    client.batch_execute(
        "create table kept (id int primary key, number int, filler char(84));
         create table hot (id int primary key, number int);
         insert into hot select i, 0 from generate_series(1, 10000) i",
    )?;
    for round in 0..RESTARTS {
        // The rows that one restart changes have log records in the next.
        client.batch_execute(&format!(
            "create table small_{round} (id int primary key, number int);
             insert into small_{round} select i, 0 from generate_series(1, 1000) i"
        ))?;
    }
    let mut rows = 0;
    loop {
        let (first, last) = (rows + 1, rows + BATCH_ROWS);
        client.batch_execute(&format!(
            "insert into kept select i, 0, 'row ' || i from generate_series({first}, {last}) i"
        ))?;
        rows = last;
        let bytes: i64 = client.query_one("select pg_total_relation_size('kept')", &[])?.get(0);
        if bytes >= ROW_BYTES {
            eprintln!("restart: {rows} rows, {bytes} bytes in memory");
            return Ok(rows);
        }
    }
}

/// The bytes of the last checkpoint, and how many of them it has written.
fn last_checkpoint(client: &mut Client) -> Result<[f64; 2]> {
    let row = client.query_one("select bytes, written_bytes from hyades_checkpoint", &[])?;
    Ok([row.get::<_, i64>(0) as f64, row.get::<_, i64>(1) as f64])
}

/// Writes [`LOG_BYTES`] of logs after the checkpoint.
fn fill_log(client: &mut Client, rows: u64) -> Result<()> {
    for first in (1..rows).step_by(BATCH_ROWS as usize / 10).cycle() {
        let last = first + BATCH_ROWS / 10;
        client.batch_execute(&format!(
            "update kept set number = number + 1 where id >= {first} and id < {last};
             update hot set number = number + 1 where id % 10 = 0"
        ))?;
        let bytes: i64 = client.query_one("select bytes_to_replay from hyades_checkpoint", &[])?.get(0);
        if bytes >= LOG_BYTES {
            eprintln!("restart: {bytes} bytes of logs after the checkpoint");
            return Ok(());
        }
    }
    bail!("the logs do not grow")
}

/// Starts the server with an empty page cache, and connects when it is ready.
fn restart(instance: &Instance, server: &mut RunningServer) -> Result<Client> {
    empty_page_cache();
    (*server, _) = instance.start_ready(START_LIMIT)?;
    instance.connect()
}

/// Kills and starts repeatedly. `checkpointed`: bytes of the checkpoint.
fn restarts(
    options: &Options,
    instance: &Instance,
    server: &mut RunningServer,
    checkpointed: f64,
) -> Result<[Line; 4]> {
    let [mut firsts, mut hots, mut touched, mut rates, mut allowed] = [const { Vec::new() }; 5];
    for round in 0..options.rounds.min(RESTARTS) {
        server.kill()?;
        empty_page_cache();
        let applying = apply_rate(&instance.data)?;
        empty_page_cache();
        let reading = read_all(&instance.data)?;
        allowed.push(reading.min(applying));
        let mut client = restart(instance, server)?;
        let bytes = bytes_to_restore(&mut client)?;
        client.batch_execute(&format!("update small_{round} set number = number + 1 where id = 7"))?;
        firsts.push(server.started().elapsed().as_secs_f64());
        client.batch_execute("update kept set number = number + 1 where id = 7")?;
        touched.push(server.started().elapsed().as_secs_f64());
        let seconds = complete(&mut client)?;
        ensure!(bytes >= checkpointed, "only {bytes} bytes were loaded and replayed");
        rates.push(bytes / seconds);
        server.kill()?;
        let mut client = restart(instance, server)?;
        client.batch_execute("update hot set number = number + 1 where id = 7")?;
        hots.push(server.started().elapsed().as_secs_f64());
        complete(&mut client)?;
        eprintln!(
            "restart, round {}: first transaction {:.2} s, in the hot table {:.2} s, in the large one {:.2} s, \
             complete {seconds:.2} s; read at {:.0} MB/s, applied in memory at {:.0} MB/s",
            round + 1,
            firsts[round],
            hots[round],
            touched[round],
            reading / 1e6,
            applying / 1e6,
        );
    }
    let seconds = |name, values: &[f64]| {
        let spread = Spread::of(values).context("no rounds")?;
        let target = Target::AtMost(FIRST_SECONDS);
        Ok::<Line, anyhow::Error>(Line {
            name,
            measured: spread,
            unit: "s",
            beside: None,
            judged: spread,
            target,
        })
    };
    let target = Target::AtLeast(COMPLETE_SHARE);
    let beside = ("only read, or applied in memory", &*allowed);
    let complete = Line::compared(COMPLETE_NAME, "B/s", &rates, beside, target)?;
    let (first, hot) = (seconds(FIRST_NAME, &firsts)?, seconds(HOT_NAME, &hots)?);
    Ok([first, hot, seconds(TOUCHED_NAME, &touched)?, complete])
}

/// The bytes to load and to replay, before a waiting transaction makes a part of them be replayed first.
fn bytes_to_restore(client: &mut Client) -> Result<f64> {
    let row = client.query_one("select bytes_to_load + bytes_to_replay from hyades_restart", &[])?;
    Ok(row.get::<_, i64>(0) as f64)
}

/// Waits for the end of the restart. Returns the seconds since it began.
fn complete(client: &mut Client) -> Result<f64> {
    let deadline = Instant::now() + START_LIMIT;
    while Instant::now() < deadline {
        let row = client.query_one("select is_complete, seconds from hyades_restart", &[])?;
        if row.get(0) {
            return Ok(row.get(1));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("the restart is not complete after {} s", START_LIMIT.as_secs())
}

/// Empties the cache as far as the machine allows it, and prints a note if it does not.
fn empty_page_cache() {
    let _ = std::process::Command::new("sync").status();
    if let Err(error) = std::fs::write("/proc/sys/vm/drop_caches", "3") {
        eprintln!("restart: files stay in the page cache ({error})");
    }
}

/// Bytes per second at which this machine loads and replays a stopped database, without its disk.
fn apply_rate(data: &Path) -> Result<f64> {
    let binary = tools::shipped().join("hyades");
    let checked = std::process::Command::new(binary)
        .args(["check", "--in-memory", "--data"])
        .arg(data)
        .output()
        .context("hyades check")?;
    let said = String::from_utf8_lossy(&checked.stdout);
    ensure!(checked.status.success(), "hyades check: {said}{}", String::from_utf8_lossy(&checked.stderr));
    let rate =
        said.lines().find_map(|line| line.strip_prefix("apply rate: ")?.split(' ').next()?.parse().ok());
    let megabytes: f64 = rate.with_context(|| format!("hyades check says no rate: {said}"))?;
    Ok(megabytes * 1e6)
}

/// Bytes per second at which the files below a directory can be read.
fn read_all(directory: &Path) -> Result<f64> {
    fn read(directory: &Path, buffer: &mut [u8]) -> std::io::Result<u64> {
        let mut total = 0;
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                total += read(&path, buffer)?;
                continue;
            }
            let mut file = std::fs::File::open(&path)?;
            loop {
                let count = std::io::Read::read(&mut file, buffer)?;
                if count == 0 {
                    break;
                }
                total += count as u64;
            }
        }
        Ok(total)
    }
    let started = Instant::now();
    let bytes = read(directory, &mut vec![0; 1 << 20])?;
    Ok(bytes as f64 / started.elapsed().as_secs_f64())
}
