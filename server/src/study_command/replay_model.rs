//! `hyades study replay-model`: the speed-up of a replay with more workers than the machine has processors.
//!
//! The engine replays the last incarnation of the logs in memory again and again
//! ([`hyades_engine::recovery::study`]). Here the runs become figures. Of several runs of one kind the
//! fastest counts, because other programs only make them slower. Every figure that is not measured is called
//! simulated, and for each number of workers that was measured as well it is said how far the two are apart.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use hyades::Config;
use hyades_engine::inspect::Inspection;
use hyades_engine::inspect::graph::Orders;
use hyades_engine::recovery::study::{Doing, Measured, Plan, Simulated, Studied, Study, Way, study};
use serde_json::json;

use crate::log_command::Failure;
use crate::log_command::graph_command::orders;

/// Of so many transactions at most the order is looked at.
const MOST_TRANSACTIONS: u64 = 1_000_000;
const MOST_WORKERS: usize = 256;

#[derive(Args)]
pub struct ReplayModelArguments {
    /// Data directory of a database that no server has open.
    directory: PathBuf,
    /// Numbers of workers, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,32", value_parser = workers)]
    workers: Vec<usize>,
    /// How often everything is repeated, for a spread.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn workers(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(workers) if (1..=MOST_WORKERS).contains(&workers) => Ok(workers),
        _ => Err(format!("must be a number from 1 to {MOST_WORKERS}")),
    }
}

impl ReplayModelArguments {
    fn plan(&self) -> Plan {
        let mut simulated = self.workers.clone();
        // What the others are compared with.
        simulated.push(1);
        simulated.sort_unstable();
        simulated.dedup();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let measured = simulated.iter().copied().filter(|workers| *workers <= processors);
        // Bounded: by the command line.
        let measured = measured.collect();
        Plan { simulated, measured, rounds: usize::from(self.rounds) }
    }
}

pub(super) fn run(arguments: &ReplayModelArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let inspection = Inspection::open(&arguments.directory)?;
    if inspection.is_in_use() == Some(true) {
        return Err(Failure::Sentence("a server has this directory open".to_owned()));
    }
    let plan = arguments.plan();
    let config = Config::new(&arguments.directory);
    let study = study(&config, &hyades::routine_compiler(), &plan, |what| eprintln!("{what}"))?;
    let incarnation = inspection.incarnation(Some(study.incarnation))?;
    let orders = orders(&inspection, incarnation, MOST_TRANSACTIONS)?;
    match arguments.json {
        true => writeln!(out, "{:#}", as_json(&study, &plan, &orders))?,
        false => print(&study, &plan, &orders, out)?,
    }
    Ok(())
}

/// All runs with one number of workers.
struct Row<'s> {
    workers: usize,
    fastest: &'s Simulated,
    slowest: &'s Simulated,
    /// The fastest and the slowest.
    measured: Option<(&'s Measured, &'s Measured)>,
}

impl Row<'_> {
    /// What the simulation is off, as a share of what was measured.
    fn error(&self) -> Option<f64> {
        self.measured.map(|(fastest, _)| seconds(self.fastest) / fastest.seconds - 1.0)
    }

    /// The share of all workers' time.
    fn share(&self, doing: Doing) -> f64 {
        self.fastest.spent.on(doing) as f64 / self.fastest.spent.total().max(1) as f64
    }
}

fn seconds(simulated: &Simulated) -> f64 {
    simulated.nanoseconds as f64 / 1e9
}

/// One row for each number of workers, beginning with one.
fn rows<'s>(studied: &'s Studied, plan: &Plan) -> Vec<Row<'s>> {
    let row = |workers: &usize| {
        let simulated = || studied.simulated.iter().filter(|run| run.workers == *workers);
        let measured = || studied.measured.iter().filter(|run| run.workers == *workers);
        let order = |one: &&Measured, other: &&Measured| one.seconds.total_cmp(&other.seconds);
        Some(Row {
            workers: *workers,
            fastest: simulated().min_by_key(|run| run.nanoseconds)?,
            slowest: simulated().max_by_key(|run| run.nanoseconds)?,
            measured: measured().min_by(order).zip(measured().max_by(order)),
        })
    };
    // Bounded: by the command line.
    plan.simulated.iter().filter_map(row).collect()
}

fn speed_up(rows: &[Row<'_>], row: &Row<'_>) -> f64 {
    rows.first().map_or(f64::NAN, |one| seconds(one.fastest) / seconds(row.fastest))
}

fn print(study: &Study, plan: &Plan, orders: &Orders, out: &mut dyn Write) -> Result<(), Failure> {
    let Study { incarnation, protocol, logs, transactions, log_bytes, costs, .. } = study;
    writeln!(
        out,
        "incarnation {incarnation} ({protocol}, {logs} logs): {transactions} transactions in {log_bytes} bytes of logs"
    )?;
    writeln!(
        out,
        "bounds of any speed-up, work / span in transactions: {:.1} in the order by keys, {:.1} by LSN vectors",
        orders.conflicts.parallelism(),
        orders.vectors.parallelism()
    )?;
    writeln!(
        out,
        "between processors, measured: what another one has written comes after {} ns, a thread that sleeps runs {:.1} us after it is \
         woken, waking it takes {:.1} us",
        costs.handover,
        costs.wake as f64 / 1e3,
        costs.unpark as f64 / 1e3
    )?;
    for studied in &study.studied {
        writeln!(out)?;
        let name = order(studied);
        let is_part = studied.by_key > 0 && studied.by_key < *transactions;
        match is_part {
            false => writeln!(out, "{name}: simulated")?,
            true => {
                writeln!(out, "{name} ({} transactions; the rest by positions): simulated", studied.by_key)?
            }
        }
        print_simulated(&rows(studied, plan), out)?;
        print_measured(&rows(studied, plan), name, out)?;
    }
    Ok(())
}

/// What was tried may not have been possible: logs of calls are replayed by positions.
fn order(studied: &Studied) -> &'static str {
    if studied.by_key == 0 { Way::ByPosition.name() } else { studied.way.name() }
}

fn print_simulated(rows: &[Row<'_>], out: &mut dyn Write) -> Result<(), Failure> {
    write!(
        out,
        "{:>7} {:>19} {:>18} {:>14}",
        "workers", "simulated seconds", "simulated speed-up", "simulated busy"
    )?;
    for doing in Doing::ALL {
        write!(out, " {:>11}", doing.name())?;
    }
    writeln!(out, "  (shares of simulated time)")?;
    for row in rows {
        let range = format!("{:.3} .. {:.3}", seconds(row.fastest), seconds(row.slowest));
        let (speed_up, busy) = (speed_up(rows, row), row.fastest.busy() * 100.0);
        write!(out, "{:>7} {range:>19} {speed_up:>18.2} {busy:>12.1} %", row.workers)?;
        for doing in Doing::ALL {
            write!(out, " {:>9.1} %", row.share(doing) * 100.0)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn print_measured(rows: &[Row<'_>], name: &str, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "{name}: measured")?;
    for row in rows {
        let (Some((fastest, slowest)), Some(error)) = (row.measured, row.error()) else { continue };
        writeln!(
            out,
            "{:>7} workers: {:.3} .. {:.3} s, {:.3} s of processor time; the simulated {:.3} s are off by {:+.1} %",
            row.workers,
            fastest.seconds,
            slowest.seconds,
            fastest.processor_seconds,
            seconds(row.fastest),
            error * 100.0
        )?;
    }
    Ok(())
}

fn as_json(study: &Study, plan: &Plan, orders: &Orders) -> serde_json::Value {
    let way = |studied: &Studied| {
        let rows = rows(studied, plan);
        let row = |row: &Row<'_>| {
            let shares =
                Doing::ALL.into_iter().map(|doing| (doing.name().to_owned(), json!(row.share(doing))));
            json!({
                "workers": row.workers,
                "simulated_seconds": [seconds(row.fastest), seconds(row.slowest)],
                "simulated_speed_up": speed_up(&rows, row),
                "simulated_busy": row.fastest.busy(),
                "simulated_shares": shares.collect::<serde_json::Map<_, _>>(),
                "measured_seconds": row.measured.map(|(fastest, slowest)| [fastest.seconds, slowest.seconds]),
                "measured_processor_seconds": row.measured.map(|(fastest, _)| fastest.processor_seconds),
                "error": row.error(),
            })
        };
        // Bounded: by the command line.
        let all: Vec<_> = rows.iter().map(row).collect();
        json!({ "order": order(studied), "transactions_by_key": studied.by_key, "workers": all })
    };
    json!({
        "incarnation": study.incarnation,
        "protocol": study.protocol,
        "logs": study.logs,
        "transactions": study.transactions,
        "log_bytes": study.log_bytes,
        "state_hash": format!("{:016x}", study.state_hash),
        "handover_ns": study.costs.handover,
        "wake_ns": study.costs.wake,
        "unpark_ns": study.costs.unpark,
        "parallelism_by_keys": orders.conflicts.parallelism(),
        "parallelism_by_vectors": orders.vectors.parallelism(),
        "studied": study.studied.iter().map(way).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use hyades_engine::recovery::study::Spent;

    use super::*;

    fn simulated(workers: usize, nanoseconds: u64) -> Simulated {
        Simulated { workers, nanoseconds, spent: Spent::default() }
    }

    fn measured(workers: usize, seconds: f64) -> Measured {
        Measured { workers, seconds, processor_seconds: seconds * workers as f64 }
    }

    #[test]
    fn the_fastest_runs_are_compared() {
        let studied = Studied {
            way: Way::ByKey,
            by_key: 0,
            simulated: vec![
                simulated(1, 2_000_000_000),
                simulated(4, 600_000_000),
                simulated(1, 2_200_000_000),
                simulated(4, 500_000_000),
            ],
            measured: vec![measured(1, 4.0), measured(1, 2.5)],
        };
        let plan = Plan { simulated: vec![1, 4], measured: vec![1], rounds: 2 };
        let rows = rows(&studied, &plan);
        assert_eq!(rows.iter().map(|row| speed_up(&rows, row)).collect::<Vec<_>>(), [1.0, 4.0]);
        let errors: Vec<_> =
            rows.iter().map(|row| row.error().map(|error| (error * 100.0).round())).collect();
        assert_eq!(errors, [Some(-20.0), None]);
    }
}
