//! `cargo xtask bench`: measures Hyades next to PostgreSQL, in one run and one scheduling mode.
//!
//! Both servers run side by side, on the same device, durable, reached over TCP on this machine. The real
//! pgbench loads one at a time, alternating A B A B, so that a slow minute of the machine affects both. A
//! comparison is the median of the ratios of neighbouring runs, and every figure comes with its smallest and
//! largest value. Procedures without a wire are measured by `hyades bench`, protocols alternating in the same
//! way. `applications` measures sysbench, a load by COPY and a join, `years` checkpoints and restarts of a
//! large database.
//!
//! Scheduling: on a machine without kernel preemption a thread that waits for a sync is woken late while
//! others compute. `--realtime` runs all of servers, clients and probe under `chrt -r 10`. Figures of
//! different modes cannot be compared.

mod applications;
mod call;
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

/// The conditions of the measurement, which a report must state.
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
        tools::build_shipped(&["--package", "hyades-server"])?;
    }
    // Before anything runs: on a machine that is already busy, figures mean little.
    let setting = Setting::now(options);
    let directory = tools::scratch_directory(options.directory.as_deref())?;
    let mut lines = wire::measure(options, directory.path()).context("over the wire")?;
    if !options.self_check && options.serializability.is_usual() {
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
