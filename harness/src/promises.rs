//! `cargo xtask promises`: calls made from a seed, with every function in every clause. Recovery must
//! reproduce what they left.
//!
//! The search is a test of the crate `hyades` (`sql/tests/replay`), which learns from its environment how far
//! to go.

use anyhow::{Context, Result};

use crate::tools;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Calls that succeed. About 20,000 cover all pairs of function and clause.
    #[arg(long, default_value_t = 20_000)]
    calls: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut test =
        tools::test_of_workspace(&["--test", "replay", "--", "--nocapture", "what_explain_promises"]);
    test.env("HYADES_CALLS", options.calls.to_string()).env("HYADES_SEED", options.seed.to_string());
    tools::run(&mut test).context("what EXPLAIN promises is not what replay gives")
}
