//! The command line of `cargo xtask bench`.

use std::path::PathBuf;

use crate::server::Serializability;

/// What is measured, for how long, and where.
#[derive(clap::Args, Clone)]
pub(crate) struct Options {
    /// Measurements of each figure, for each system.
    #[arg(long, default_value_t = 5)]
    pub(super) rounds: usize,
    /// Length of one measurement.
    #[arg(long, default_value_t = 10)]
    pub(super) seconds: u64,
    /// pgbench's scale factor. 10 makes the figures comparable with earlier ones; with 64 clients on its 10
    /// branches, both systems have the same waits for rows.
    #[arg(long, default_value_t = 10)]
    pub(super) scale: u32,
    /// Runs everything that is measured under `chrt -r 10` (needs permission to do so).
    #[arg(long)]
    pub(super) realtime: bool,
    /// Only figures whose name contains this; may repeat.
    #[arg(long)]
    pub(super) only: Vec<String>,
    /// Measures PostgreSQL against itself: how far from 1 are the ratios of two equal systems?
    #[arg(long)]
    pub(super) self_check: bool,
    /// With one of these, only what runs over the wire is measured.
    #[command(flatten)]
    pub(super) serializability: Serializability,
    /// Prints JSON instead of the table.
    #[arg(long)]
    pub(super) json: bool,
    /// Where to put the databases, on the device to measure; a temporary directory if left out.
    #[arg(long)]
    pub(super) directory: Option<PathBuf>,
}

impl Options {
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }

    /// Prepended to every command that is measured.
    pub(super) fn prefix(&self) -> Vec<String> {
        if self.realtime { ["chrt", "-r", "10"].map(str::to_owned).to_vec() } else { Vec::new() }
    }
}
