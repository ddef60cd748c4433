//! `cargo xtask test`: the tests of the workspace, then crash rounds of both kinds against a real server
//! process, and attacks on one.
//!
//! Tests, server and harness share one profile (dev: our crates and all dependencies at opt-level 1,
//! assertions on), so that a cold machine compiles every crate once and the server under test still checks
//! its own invariants.

use anyhow::Result;

use crate::crash;
use crate::hostile;
use crate::tools;

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Only the tests of the workspace, no crash rounds, no attacks.
    #[arg(long)]
    no_crash: bool,
}

/// Crash rounds of every test run. `cargo xtask crash` runs more.
const CRASH_ROUNDS: u32 = 5;
/// The same with `--tpcc`.
const TPCC_CRASH_ROUNDS: u32 = 4;

pub(crate) fn run(options: &Options) -> Result<()> {
    tools::run(tools::cargo().args(["test", "--workspace", "--quiet"]))?;
    if options.no_crash {
        return Ok(());
    }
    println!("== crash rounds");
    crash::run(&crash::Options::for_rounds(CRASH_ROUNDS, false))?;
    crash::run(&crash::Options::for_rounds(TPCC_CRASH_ROUNDS, true))?;
    println!("== attacks");
    hostile::run(&hostile::Options::brief())
}
