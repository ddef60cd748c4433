//! `cargo xtask bench`: measures Hyades next to PostgreSQL, in one run and one scheduling mode.
//!
//! Both servers stand side by side, on the same device, durable, reached over TCP on this machine; the real
//! pgbench loads one at a time, alternating A B A B, so that a slow minute of the machine hits both. A
//! comparison is the median of the ratios of neighbouring runs; every figure comes with its smallest and
//! largest value. What needs no wire is measured by the program `hyades-bench` in its own process, taurus and
//! none alternating in the same way; procedures in SQL by `hyades bench`. sysbench, a load by COPY and a join
//! stand in `applications`,
//! checkpoints and restarts of a large database in `years`.
//!
//! Scheduling: on a machine without kernel preemption a thread that waits for a sync is woken late while
//! others compute. `--realtime` runs servers, clients and probe under `chrt -r 10`, all of them, or none.
//! Figures of different modes do not compare.

mod applications;
mod call;
mod in_process;
mod options;
mod procedures;
pub(crate) mod sync_probe;
mod table;
mod turns;
mod wire;
mod years;

use anyhow::{Context, Result};
use serde_json::json;

use crate::tools;
use table::Line;

pub(crate) use options::Options;

/// What a report must say about where it was measured.
struct Setting {
    commit: String,
    cores: usize,
    load_average: String,
    scheduling: &'static str,
}

impl Setting {
    fn now(options: &Options) -> Setting {
        let mut git = std::process::Command::new("git");
        git.args(["describe", "--always", "--dirty"]).current_dir(tools::repository_root());
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Setting {
            commit: tools::output_of(&mut git)
                .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned()),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            load_average: load.split(' ').next().unwrap_or("unknown").to_owned(),
            scheduling: if options.realtime { "realtime (chrt -r 10)" } else { "plain" },
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if !options.self_check {
        let packages = ["--package", "hyades-server", "--package", "hyades-bench"];
        tools::run(tools::cargo().args(["build", "--quiet", "--release"]).args(packages))?;
    }
    // Before anything runs: a machine that is busy already gives figures that mean little.
    let setting = Setting::now(options);
    let directory = tools::scratch_directory(options.directory.as_deref())?;
    let mut lines = wire::measure(options, directory.path()).context("over the wire")?;
    if !options.self_check {
        lines.extend(in_process::measure(options, directory.path()).context("in process")?);
        lines.extend(procedures::measure(options, directory.path()).context("procedures in process")?);
        lines.extend(years::measure(options, directory.path()).context("checkpoints and restarts")?);
    }
    print(options, &setting, &lines);
    Ok(())
}

fn print(options: &Options, setting: &Setting, lines: &[Line]) {
    let Setting { commit, cores, load_average, scheduling } = setting;
    if options.json {
        let figures: Vec<serde_json::Value> = lines.iter().map(Line::to_json).collect();
        let report = json!({
            "commit": commit,
            "cores": cores,
            "load_average_at_start": load_average,
            "scheduling": scheduling,
            "rounds": options.rounds,
            "seconds": options.seconds,
            "scale": options.scale,
            "figures": figures,
        });
        println!("{report:#}");
        return;
    }
    println!(
        "commit {commit}, {cores} cores, load average {load_average} at the start, scheduling {scheduling}"
    );
    println!(
        "median [min .. max] of {} measurements of {} s each; pgbench scale {}",
        options.rounds, options.seconds, options.scale
    );
    if options.self_check {
        println!("self-check: both sides are PostgreSQL");
    }
    println!("{}", table::render(lines));
}
