//! TPC-B as one durable CALL: the real pgbench with 16 clients calls the same plpgsql procedure on both
//! servers.
//!
//! PostgreSQL is measured twice in each round: durable, and with `synchronous_commit=off`, which may lose
//! acknowledged transactions.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::options::Options;
use super::table::{Line, Target};
use crate::pgbench::{self, Run};
use crate::server::Instance;
use crate::tools;

const DURABLE_NAME: &str = "TPC-B as one durable CALL, 16 clients";
const RELAXED_NAME: &str = "TPC-B as one durable CALL, next to synchronous_commit=off";
const CLIENTS: u32 = 16;
/// A multiple of PostgreSQL's durable rate.
const DURABLE_FACTOR: f64 = 3.0;
const RELAXED_FACTOR: f64 = 1.0;

pub(super) fn is_wanted(options: &Options) -> bool {
    options.wants(DURABLE_NAME) || options.wants(RELAXED_NAME)
}

pub(super) fn measure(
    options: &Options,
    ours: &Instance,
    theirs: &Instance,
    directory: &Path,
) -> Result<Vec<Line>> {
    let path = tools::repository_root().join("bench/workloads/tpcb.sql");
    let procedure = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    for instance in [ours, theirs] {
        instance.connect()?.batch_execute(&procedure).context("create procedure tpcb")?;
    }
    let script = directory.join("call.sql");
    std::fs::write(&script, script_text(options.scale))?;
    let run = Run {
        clients: CLIENTS,
        threads: 2,
        seconds: options.seconds,
        script: vec!["-f".to_owned(), script.display().to_string()],
        more: vec!["--max-tries=100".to_owned()],
    };
    let mut rates = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..options.rounds {
        let mut one = |place: usize, instance: &Instance, name: &str| {
            let report = pgbench::run(instance, &run, &instance.directory).context(DURABLE_NAME)?;
            if report.failed > 0 {
                bail!("{DURABLE_NAME}: {name}: {} transactions failed", report.failed);
            }
            eprintln!("{DURABLE_NAME} round {}: {name} {:.0}/s", round + 1, report.per_second);
            rates[place].push(report.per_second);
            Ok(())
        };
        one(0, ours, "hyades")?;
        one(1, theirs, "postgresql")?;
        theirs.connect()?.batch_execute("alter role current_user set synchronous_commit = off")?;
        one(2, theirs, "postgresql with synchronous_commit=off")?;
        theirs.connect()?.batch_execute("alter role current_user reset synchronous_commit")?;
    }
    let [ours, durable, relaxed] = &rates;
    let line = |name, beside, factor| Line::compared(name, "/s", ours, beside, Target::AtLeast(factor));
    Ok(vec![
        line(DURABLE_NAME, ("PostgreSQL, durable", durable), DURABLE_FACTOR)?,
        line(RELAXED_NAME, ("PostgreSQL, synchronous_commit=off", relaxed), RELAXED_FACTOR)?,
    ])
}

/// Draws the same random numbers as pgbench's own TPC-B.
fn script_text(scale: u32) -> String {
    let (accounts, tellers) = (100_000 * u64::from(scale), 10 * u64::from(scale));
    format!(
        "\\set aid random(1, {accounts})\n\\set bid random(1, {scale})\n\\set tid random(1, {tellers})\n\
         \\set delta random(-5000, 5000)\nCALL tpcb(:aid, :bid, :tid, :delta, NULL);\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_draws_from_the_whole_scale() {
        let text = script_text(10);
        assert!(text.contains("aid random(1, 1000000)\n") && text.contains("tid random(1, 100)\n"));
        assert!(text.ends_with("CALL tpcb(:aid, :bid, :tid, :delta, NULL);\n"));
    }
}
