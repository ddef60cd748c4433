//! `cargo xtask sim`: the whole engine, one thread at a time, one seed on each processor. The seed of a
//! failure reproduces it.
//!
//! The runs are done by the program of the crate `hyades-sim` (`sim/src/simulation.rs`).

use std::num::NonZeroUsize;
use std::process::Command;

use anyhow::{Context, Result};

use crate::tools;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long to run.
    #[arg(long, default_value_t = 1.0, conflicts_with = "runs")]
    hours: f64,
    /// How many seeds to run, however long that takes.
    #[arg(long)]
    runs: Option<u64>,
    /// Bits that are flipped at the end of each run, one at a time.
    #[arg(long, default_value_t = 10)]
    flips: u64,
    /// Seeds at the same time; as many as there are processors if left out.
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut simulation = Command::new(tools::build_program("hyades-sim")?);
    simulation.args(["--seed", &options.seed.to_string(), "--flips", &options.flips.to_string()]);
    if let Some(jobs) = options.jobs {
        simulation.args(["--jobs", &jobs.to_string()]);
    }
    match options.runs {
        Some(runs) => simulation.args(["--runs", &runs.to_string()]),
        None => simulation.args(["--hours", &options.hours.to_string()]),
    };
    tools::run(&mut simulation).context("the simulation has found something")
}
