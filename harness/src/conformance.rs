//! `cargo xtask conformance`: every protocol, with each number of logs, each kind of logging and each
//! concurrency control, under one set of checks.
//!
//! The checks are those of the crate `hyades-sim` (`sim/src/conformance.rs`).

use std::process::Command;

use anyhow::{Context, Result};

use crate::tools;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// A little of each check: some minutes.
    #[arg(long)]
    short: bool,
    /// Only the protocols whose names begin like this.
    #[arg(long, value_name = "PROTOCOL")]
    only: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut conformance = Command::new(tools::build_program("hyades-conformance")?);
    if options.short {
        conformance.arg("--short");
    }
    conformance.args(options.only.iter().flat_map(|only| ["--only", only]));
    tools::run(&mut conformance).context("a protocol does not conform")
}
