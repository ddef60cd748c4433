//! `cargo xtask test`: the tests of the workspace, then crash rounds of both kinds against a real server
//! process, and attacks on one.
//!
//! Tests, server and harness share one profile (dev: our crates and all dependencies at opt-level 1,
//! assertions on), so that a cold machine compiles every crate once and the server under test still checks
//! its own invariants.

use anyhow::Result;
use xtask::tools;

use crate::harness;

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Only the tests of the workspace, no crash rounds, no attacks.
    #[arg(long)]
    no_crash: bool,
}

/// Crash rounds of every test run. `cargo xtask crash` runs more.
const CRASH_ROUNDS: &str = "5";
/// The same with `--tpcc`.
const TPCC_CRASH_ROUNDS: &str = "4";

pub(crate) fn run(options: &Options) -> Result<()> {
    tools::run(tools::cargo().args(["test", "--workspace", "--quiet"]))?;
    if options.no_crash {
        return Ok(());
    }
    println!("== crash rounds");
    // The tests have made the simulated power cuts already.
    harness::run(&["crash", "--rounds", CRASH_ROUNDS, "--no-power-cuts"])?;
    harness::run(&["crash", "--tpcc", "--rounds", TPCC_CRASH_ROUNDS, "--no-power-cuts"])?;
    println!("== attacks");
    harness::run(&["hostile", "--brief"])
}
