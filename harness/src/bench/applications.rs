//! What applications do besides short transactions: sysbench with its defaults, a load by COPY, a join with
//! grouping over a million rows.
//!
//! sysbench is a program of its own (Debian's package `sysbench`). Without it, its lines are left out with a
//! note. Joins run with the servers' defaults: PostgreSQL may use several processes for one query, Hyades
//! uses one thread.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use postgres::Client;

use super::options::Options;
use super::table::{Line, Target};
use super::turns::{ProcessorTarget, Side, Turn, by_turns, by_turns_with_processor};
use crate::server::{Instance, PASSWORD, with_prefix};
use crate::tools;

/// sysbench's tests: their lines and names. Each must reach [`SYSBENCH_FACTOR`] times PostgreSQL's rate.
const SYSBENCH: &[(&str, &str, Option<ProcessorTarget>)] = &[
    (
        "sysbench oltp_point_select, 8 threads",
        "oltp_point_select",
        Some(("processor time of a point select of sysbench", 0.55)),
    ),
    (
        "sysbench oltp_read_only, 8 threads",
        "oltp_read_only",
        Some(("processor time of a read_only of sysbench", 0.45)),
    ),
    ("sysbench oltp_read_write, 8 threads", "oltp_read_write", None),
    ("sysbench oltp_write_only, 8 threads", "oltp_write_only", None),
];
const SYSBENCH_FACTOR: f64 = 1.5;

const COPY_NAME: &str = "COPY of 10 million rows of pgbench";
const COPY_ROWS: u32 = 10_000_000;
/// The number of rows that are sent at once.
const COPY_BATCH: u32 = 1000;
/// A load takes so long that only few are measured.
const COPY_ROUNDS: usize = 3;

const JOIN_NAME: &str = "join of three tables with grouping, 1 million rows";
const JOIN_TABLES: &str = "
    create table j1 as select i as id, i % 1000 as g, i % 50000 as k from generate_series(1, 1000000) i;
    create table j2 as select i as k, i % 500 as m from generate_series(0, 49999) i;
    create table j3 as select i as m, 'n' || i as name from generate_series(0, 499) i;
    alter table j2 add primary key (k);
    alter table j3 add primary key (m);
    analyze;";
const JOIN: &str =
    "select j3.name, sum(j1.g), count(*) from j1 join j2 using (k) join j3 using (m) group by j3.name";

pub(super) fn is_wanted(options: &Options) -> bool {
    SYSBENCH.iter().any(|(name, ..)| options.wants(name))
        || options.wants(COPY_NAME)
        || options.wants(JOIN_NAME)
}

/// Hyades first, then its peer.
pub(super) fn measure(options: &Options, sides: &[Side; 2]) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let tests: Vec<_> = SYSBENCH.iter().filter(|(name, ..)| options.wants(name)).collect();
    if !tests.is_empty() && Command::new("sysbench").arg("--version").output().is_err() {
        eprintln!("sysbench is not installed: its lines are left out");
    } else if !tests.is_empty() {
        for Side { instance: side, .. } in sides {
            tools::output_of(&mut sysbench(side, "oltp_read_write", &[], "prepare"))?;
        }
        for (name, test, processor) in tests {
            let limit = format!("--time={}", options.seconds);
            let turn = |side: &Instance| {
                let mut command = sysbench(side, test, &[&limit], "run");
                turn_of(&tools::output_of(&mut command)?)
            };
            let rate = (*name, Target::AtLeast(SYSBENCH_FACTOR));
            lines.extend(by_turns_with_processor(rate, *processor, options.rounds, sides, turn)?);
        }
    }
    if options.wants(JOIN_NAME) {
        for Side { instance, .. } in sides {
            instance.connect()?.batch_execute(JOIN_TABLES).context("the tables of the join")?;
        }
        lines.push(by_turns(JOIN_NAME, "joins/s", options.rounds, Target::AtLeast(1.0), sides, joins)?);
    }
    if options.wants(COPY_NAME) {
        let rounds = options.rounds.min(COPY_ROUNDS);
        lines.push(by_turns(COPY_NAME, "rows/s", rounds, Target::AtLeast(1.0), sides, copy)?);
    }
    Ok(lines)
}

fn sysbench(side: &Instance, test: &str, more: &[&str], step: &str) -> Command {
    let mut command = Command::new("sysbench");
    command.args([test, "--db-driver=pgsql", "--pgsql-host=127.0.0.1", "--threads=8", "--rand-seed=7"]);
    command.arg(format!("--pgsql-port={}", side.port));
    command.arg(format!("--pgsql-user={}", side.connection_options().get_user().unwrap_or_default()));
    command.arg(format!("--pgsql-password={PASSWORD}"));
    command.arg(format!("--pgsql-db={}", side.system.database()));
    command.args(more).arg(step);
    with_prefix(&side.prefix, &command)
}

/// Parses the line `transactions: 402557 (67063.47 per sec.)`.
fn turn_of(report: &str) -> Result<Turn> {
    let line = report.lines().find_map(|line| line.trim().strip_prefix("transactions:"));
    let turn = line.and_then(|line| {
        let (transactions, rate) = line.split_once('(')?;
        let per_second = rate.split(' ').next()?.parse().ok()?;
        Some(Turn { per_second, transactions: transactions.trim().parse().ok()? })
    });
    turn.with_context(|| format!("sysbench printed no rate:\n{report}"))
}

/// Runs the join once unmeasured, then for some seconds.
fn joins(side: &Instance) -> Result<f64> {
    const JOINS: u32 = 5;
    let mut client = side.connect()?;
    client.query(JOIN, &[])?;
    let started = Instant::now();
    for _ in 0..JOINS {
        client.query(JOIN, &[])?;
    }
    Ok(f64::from(JOINS) / started.elapsed().as_secs_f64())
}

/// Loads the rows in one transaction, and drops them.
fn copy(side: &Instance) -> Result<f64> {
    let mut client = side.connect()?;
    client.batch_execute(
        "drop table if exists loaded;
         create table loaded (aid int not null primary key, bid int, abalance int, filler char(84))",
    )?;
    let started = Instant::now();
    send_rows(&mut client)?;
    let elapsed = started.elapsed();
    client.batch_execute("drop table loaded")?;
    Ok(f64::from(COPY_ROWS) / elapsed.as_secs_f64())
}

fn send_rows(client: &mut Client) -> Result<()> {
    let mut writer = client.copy_in("copy loaded from stdin")?;
    let mut batch = String::new();
    for first in (0..COPY_ROWS).step_by(COPY_BATCH as usize) {
        batch.clear();
        for row in first..first + COPY_BATCH {
            writeln!(batch, "{}\t{}\t0\t", row + 1, row / 100_000 + 1)?;
        }
        writer.write_all(batch.as_bytes())?;
    }
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        let report = "SQL statistics:\n    transactions:                        402557 (67063.47 per sec.)\n";
        let turn = turn_of(report).unwrap();
        assert_eq!((turn.per_second, turn.transactions), (67063.47, 402557.0));
        assert!(turn_of("FATAL: no connection").is_err());
    }
}
