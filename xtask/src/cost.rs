//! `cargo xtask cost`: instructions and allocations of one call of YCSB, Payment and New-Order.
//!
//! Instructions are counted by callgrind (Debian's package valgrind), so they do not depend on what else the
//! machine does: the example `cost` of hyades-bench runs twice with different numbers of calls, and the
//! difference is divided. Each workload has a ceiling, which whoever makes it cheaper lowers. Allocations are
//! a test of hyades-bench, which runs with all others too.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tools;

/// Instructions of one call, at most.
const CEILINGS: [(&str, u64); 3] = [("ycsb", 8_100), ("payment", 31_600), ("new_order", 132_000)];
/// Numbers of calls, fewer and more.
const CALLS: [u64; 2] = [200, 1_200];
const WARM_UP: u64 = 200;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only workloads whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    tools::run(tools::cargo().args([
        "test",
        "--quiet",
        "--package",
        "hyades-bench",
        "--test",
        "cost",
        "--",
        "--nocapture",
    ]))?;
    let example = ["--package", "hyades-bench", "--example", "cost"];
    tools::run(tools::cargo().args(["build", "--quiet", "--release"]).args(example))?;
    let mut beyond = Vec::new();
    for (name, ceiling) in CEILINGS.iter().filter(|(name, _)| name.contains(&options.only)) {
        let [fewer, more] = CALLS.map(|calls| instructions(name, calls));
        let each = more?.saturating_sub(fewer?) / (CALLS[1] - CALLS[0]);
        println!("{name}: {each} instructions for each call, at most {ceiling}");
        if each > *ceiling {
            beyond.push(*name);
        }
    }
    if beyond.is_empty() { Ok(()) } else { bail!("more instructions than there were: {}", beyond.join(", ")) }
}

/// Instructions of the whole program.
fn instructions(name: &str, calls: u64) -> Result<u64> {
    let directory = tempfile::tempdir()?;
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=callgrind.out"])
        .arg(tools::target_directory().join("release/examples/cost"))
        .args([name, &calls.to_string(), &WARM_UP.to_string(), &(CALLS[1] + WARM_UP).to_string()])
        .current_dir(directory.path());
    let output = command.output().context("valgrind is not installed: apt-get install valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{}: {said}", tools::display(&command));
    }
    collected(&said).with_context(|| format!("callgrind says no count: {said}"))
}

/// The count in what callgrind prints: `==1== Collected : 286322895`.
fn collected(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains("Collected"))?;
    line.rsplit_once(':')?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found() {
        assert_eq!(
            collected("==1== Events    : Ir\n==1== Collected : 286322895\n==1==\n"),
            Some(286_322_895)
        );
        assert_eq!(collected("==1== error"), None);
    }
}
