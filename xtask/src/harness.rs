//! The door to the harness: builds it, and starts it with the words of a command line.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, bail};
use xtask::tools;

/// The program of the crate `harness/`.
const PROGRAM: &str = "hyades-harness";

/// Replaces this process with the harness, which so receives the signals meant for the command, and whose
/// exit status is that of the command. Returns only an error.
pub(crate) fn become_it(words: &[OsString]) -> Result<()> {
    let error = built()?.args(words).exec();
    Err(error).context("cannot start the harness")
}

/// Runs one command of the harness to its end.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let status = built()?.args(words).status().context("cannot start the harness")?;
    if !status.success() {
        bail!("`cargo xtask {}` failed: {status}", words.join(" "));
    }
    Ok(())
}

/// The harness, built with the features that the tests of the workspace give to its dependencies
/// (docs/decisions/2026-11-27-one-variant.md). It uses no crate of the product, so none is compiled.
fn built() -> Result<Command> {
    tools::run(tools::cargo().args(["build", "--quiet", "--workspace", "--bin", PROGRAM]))?;
    Ok(Command::new(tools::target_directory().join("debug").join(PROGRAM)))
}
