//! What a client sees: the real pgbench against both servers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::options::Options;
use super::sync_probe;
use super::table::{Line, Target};
use super::turns::{ProcessorTarget, Side, Turn, by_turns_with_processor};
use super::{applications, call};
use crate::pgbench::{self, Run};
use crate::server::{Instance, System, with_prefix};
use crate::tools::{self, Spread, quantile};

const START_LIMIT: Duration = Duration::from_secs(60);
/// Seconds of warm-up load that are not counted, to fill caches and plans.
const WARM_UP_SECONDS: u64 = 2;

/// A throughput to compare: Hyades must reach `factor` times PostgreSQL's.
struct Comparison {
    name: &'static str,
    script: &'static str,
    clients: u32,
    factor: f64,
    processor: Option<ProcessorTarget>,
}

const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "select-only, 8 clients",
        script: "select-only",
        clients: 8,
        factor: 1.5,
        processor: Some(("processor time of a select, 8 clients", 0.35)),
    },
    Comparison {
        name: "TPC-B durable, 8 clients",
        script: "tpcb-like",
        clients: 8,
        factor: 2.0,
        processor: None,
    },
    Comparison {
        name: "TPC-B durable, 64 clients",
        script: "tpcb-like",
        clients: 64,
        factor: 2.0,
        processor: None,
    },
];

const LATENCY_NAME: &str = "p99 of a durable commit, 1 client";
/// A durable commit may take this many times as long as the device's own write.
const LATENCY_FACTOR: f64 = 2.0;

pub(super) fn measure(options: &Options, directory: &Path) -> Result<Vec<Line>> {
    let chosen: Vec<&Comparison> =
        COMPARISONS.iter().filter(|comparison| options.wants(comparison.name)).collect();
    let wants_latency = options.wants(LATENCY_NAME);
    let wants_call = call::is_wanted(options);
    let wants_applications = applications::is_wanted(options);
    if chosen.is_empty() && !wants_latency && !wants_call && !wants_applications {
        return Ok(Vec::new());
    }
    let peer = System::PostgreSql(options.serializability.postgresql("shared_buffers=1GB"));
    let hyades = System::Hyades(options.serializability.hyades(tools::shipped().join("hyades")));
    let ours = if options.self_check { peer.clone() } else { hyades };
    let sides = [start(options, ours, &directory.join("a"))?, start(options, peer, &directory.join("b"))?];
    let mut lines = Vec::new();
    for comparison in chosen {
        lines.extend(compare(options, comparison, &sides)?);
    }
    if wants_latency {
        lines.push(latency(options, &sides, directory)?);
    }
    if wants_call {
        let [ours, theirs] = &sides;
        lines.extend(call::measure(options, &ours.instance, &theirs.instance, directory)?);
    }
    if wants_applications {
        lines.extend(applications::measure(options, &sides)?);
    }
    for mut side in sides {
        side.server.kill()?;
    }
    Ok(lines)
}

fn start(options: &Options, system: System, directory: &Path) -> Result<Side> {
    let name = system.name();
    eprintln!("{name}: loading scale {}", options.scale);
    let instance = Instance::create(system, directory.to_path_buf(), options.prefix())?;
    let (server, _) = instance.start_ready(START_LIMIT)?;
    pgbench::initialize(&instance, options.scale).with_context(|| name.clone())?;
    let warm_up = run_of("select-only", 8, WARM_UP_SECONDS);
    pgbench::run(&instance, &warm_up, directory).with_context(|| name)?;
    Ok(Side { instance, server })
}

fn run_of(script: &str, clients: u32, seconds: u64) -> Run {
    Run {
        clients,
        threads: clients.min(2),
        seconds,
        script: vec!["-b".to_owned(), script.to_owned()],
        more: vec!["--max-tries=100".to_owned()],
    }
}

fn compare(options: &Options, comparison: &Comparison, sides: &[Side; 2]) -> Result<Vec<Line>> {
    let run = run_of(comparison.script, comparison.clients, options.seconds);
    let turn = |instance: &Instance| {
        let report = pgbench::run(instance, &run, &instance.directory)?;
        if report.failed > 0 {
            bail!("{} transactions failed", report.failed);
        }
        Ok(Turn { per_second: report.per_second, transactions: report.transactions as f64 })
    };
    let rate = (comparison.name, Target::AtLeast(comparison.factor));
    by_turns_with_processor(rate, comparison.processor, options.rounds, sides, turn)
}

/// The 99th percentile of single-row updates, one at a time, beside the device's own and PostgreSQL's.
fn latency(options: &Options, sides: &[Side; 2], directory: &Path) -> Result<Line> {
    let script = directory.join("update.sql");
    let text = format!(
        "\\set aid random(1, {})\n\\set delta random(-5000, 5000)\n\
         update pgbench_accounts set abalance = abalance + :delta where aid = :aid;\n",
        100_000 * u64::from(options.scale)
    );
    std::fs::write(&script, text)?;
    let mut p99_us = [Vec::new(), Vec::new()];
    let (mut device_p99_us, mut ratios) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        let device = probe_device(options, directory)?;
        for (side, p99) in sides.iter().zip(&mut p99_us) {
            p99.push(commit_p99_us(options, &side.instance, &script)?);
        }
        let (ours, theirs) = (p99_us[0][round], p99_us[1][round]);
        eprintln!(
            "{LATENCY_NAME} round {}: hyades {ours:.0} us, postgresql {theirs:.0} us, device median {:.0} us, p99 {:.0} us",
            round + 1,
            device.median_us,
            device.p99_us
        );
        device_p99_us.push(device.p99_us);
        ratios.push(ours / device.p99_us);
    }
    let peer = Spread::of(&p99_us[1]).context("no rounds")?;
    let device = format!("PostgreSQL {:.0} us, device's own p99", peer.median);
    Ok(Line {
        name: LATENCY_NAME,
        measured: Spread::of(&p99_us[0]).context("no rounds")?,
        unit: "us",
        beside: Some((device, Spread::of(&device_p99_us).context("no rounds")?)),
        judged: Spread::of(&ratios).context("no rounds")?,
        target: Target::AtMost(LATENCY_FACTOR),
    })
}

/// Runs the probe in a process of its own, so that it uses the chosen scheduling mode.
fn probe_device(options: &Options, directory: &Path) -> Result<sync_probe::SyncTimes> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("sync-probe").arg("--directory").arg(directory);
    sync_probe::parse(&tools::output_of(&mut with_prefix(&options.prefix(), &command))?)
}

fn commit_p99_us(options: &Options, instance: &Instance, script: &Path) -> Result<f64> {
    let logs = tempfile::tempdir_in(&instance.directory)?;
    let run = Run {
        clients: 1,
        threads: 1,
        seconds: options.seconds.min(5),
        script: vec!["-f".to_owned(), script.display().to_string()],
        more: vec!["-l".to_owned(), format!("--log-prefix={}", logs.path().join("latency").display())],
    };
    pgbench::run(instance, &run, logs.path())?;
    let mut times_us = Vec::new();
    for entry in std::fs::read_dir(logs.path())? {
        let path: PathBuf = entry?.path();
        let transactions = std::fs::read_to_string(path)?;
        times_us.extend(parse_transactions(&transactions).map(|(_, took_us)| took_us));
    }
    times_us.sort_unstable();
    quantile(&times_us, 0.99).map(|us| us as f64).context("pgbench logged no transaction")
}

/// Parses pgbench's log of transactions (client, number, microseconds, script, seconds, microseconds).
/// Returns when each ended, in microseconds since 1970, and how long it took.
pub(super) fn parse_transactions(text: &str) -> impl Iterator<Item = (u64, u64)> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(2);
        let took_us = fields.next()?.parse().ok()?;
        let seconds: u64 = fields.nth(1)?.parse().ok()?;
        Some((seconds * 1_000_000 + fields.next()?.parse::<u64>().ok()?, took_us))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_read() {
        let text = "0 1 234 0 1790000000 5\n0 2 99 0 1790000000 300\n0 3 failed 0 1 2\n";
        let ended = 1_790_000_000_000_000;
        assert_eq!(parse_transactions(text).collect::<Vec<_>>(), vec![(ended + 5, 234), (ended + 300, 99)]);
    }
}
