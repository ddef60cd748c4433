//! `cargo xtask procedures`: procedures made from seeds, run by Hyades and by a PostgreSQL that is started
//! for it.
//!
//! The comparison is a test of the crate `hyades` (`sql/src/tests/golden.rs`), which learns from its
//! environment how psql reaches PostgreSQL. Neither scripts nor answers are kept. `--record` also records the
//! answers to the scripts about routines in `sql/tests/scripts` again. Without it nothing in the repository
//! changes.
//!
//! `cargo xtask ci` does it for a few seeds, and fails where PostgreSQL's server programs are missing.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::server::{Instance, PostgreSql, System, find_tool};
use crate::tools;

/// The seeds of `cargo xtask ci`.
const CI_SEEDS: &str = "1..50";
/// How long PostgreSQL may take to start.
const START_LIMIT: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Seeds of the scripts, first..last; each makes twelve functions, each called three times.
    #[arg(long, default_value = CI_SEEDS)]
    seeds: String,
    /// Also records the answers to the scripts about routines in sql/tests/scripts (files named plpgsql_*).
    #[arg(long)]
    record: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    for program in ["initdb", "postgres", "psql"] {
        find_tool(program).context("generated procedures are compared with a PostgreSQL of its own")?;
    }
    let directory = tools::scratch_directory(None)?;
    let system = System::PostgreSql(PostgreSql { settings: vec!["fsync=off".to_owned()] });
    let instance = Instance::create(system, directory.path().join("postgresql"), Vec::new())?;
    let (server, _) = instance.start_ready(START_LIMIT).context("PostgreSQL")?;
    let mut test = tools::test_of_workspace(&["--lib", "generated_procedures"]);
    if options.record {
        test.args(["--", "scripts_answer"]).env("HYADES_SCRIPT", "plpgsql_");
    }
    let arguments = format!("-h 127.0.0.1 -p {} -U hyades -d {}", instance.port, instance.system.database());
    test.env("HYADES_SEEDS", &options.seeds).env("HYADES_RECORD_PSQL", arguments);
    let outcome = tools::run(&mut test);
    drop(server);
    outcome.context("Hyades and PostgreSQL differ")
}
