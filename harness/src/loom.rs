//! `cargo xtask loom`: runs the loom models of the engine under every interleaving within a bound.
//!
//! The models are ordinary tests that exist only under `--cfg loom`; see docs/testing.md for what they prove.
//! They are built in a target directory of their own, because the flag would otherwise rebuild everything.

use anyhow::Result;

use crate::tools;

/// Deeper searches find little more and take much longer.
const PREEMPTIONS: u32 = 3;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only models whose name contains this.
    filter: Option<String>,
    /// How many times a model may switch threads where it need not; 0 means without bound.
    #[arg(long, default_value_t = PREEMPTIONS)]
    preemptions: u32,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut command = tools::cargo();
    command
        .args(["test", "--package", "hyades-engine", "--quiet", "--lib", "--"])
        .arg(options.filter.as_deref().unwrap_or("loom"))
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_TARGET_DIR", tools::target_directory().join("loom"));
    if options.preemptions > 0 {
        command.env("LOOM_MAX_PREEMPTIONS", options.preemptions.to_string());
    }
    tools::run(&mut command)
}
