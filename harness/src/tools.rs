//! Code that several commands share: building and running programs, scratch directories, deadlines, order
//! statistics.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

pub(crate) use xtask::tools::*;

/// `cargo test` of one target of the workspace, such as `--test replay`.
///
/// Cargo unites the features of all that one command builds, those of dev-dependencies only if that includes
/// a test or an example. Packages named one by one, and programs without tests, would each compile types,
/// engine and SQL once more. So all commands build the same: the whole workspace, as its tests need it
/// (docs/decisions/2026-11-27-one-variant.md).
pub(crate) fn test_of_workspace(target: &[&str]) -> Command {
    let mut command = cargo();
    command.args(["test", "--quiet", "--workspace"]).args(target);
    command
}

/// Builds a program as the tests of the workspace do ([`test_of_workspace`]), and returns its path.
pub(crate) fn build_program(name: &str) -> Result<PathBuf> {
    // The example makes this a build with the features of tests.
    let targets = ["--bin", name, "--example", "cost"];
    run(cargo().args(["build", "--quiet", "--workspace"]).args(targets))?;
    Ok(target_directory().join("debug").join(name))
}

/// Builds programs as they are shipped, and returns the folder in which they are.
pub(crate) fn build_shipped(what: &[&str]) -> Result<PathBuf> {
    run(cargo().args(["build", "--quiet", "--profile", "dist"]).args(what))?;
    Ok(shipped())
}

/// Where [`build_shipped`] has put the programs.
pub(crate) fn shipped() -> PathBuf {
    target_directory().join("dist")
}

/// A cargo command of another toolchain, through rustup.
pub(crate) fn cargo_of(toolchain: &str) -> Command {
    let mut command = Command::new("cargo");
    command.arg(format!("+{toolchain}")).current_dir(repository_root());
    // Set by the cargo that started this program. They would tie the new one to the old toolchain.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN", "RUSTFLAGS"] {
        command.env_remove(variable);
    }
    command
}

/// Runs a command and returns its standard output. On failure the error carries its standard error.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let line = display(command);
    let output = command.output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A new directory, below `parent` if that is given, which is removed when the result is dropped. A server
/// that runs as another user can reach its own directory in there.
pub(crate) fn scratch_directory(parent: Option<&Path>) -> Result<TempDir> {
    use std::os::unix::fs::PermissionsExt;
    let directory = match parent {
        Some(parent) => {
            std::fs::create_dir_all(parent)?;
            tempfile::tempdir_in(parent)?
        }
        None => tempfile::tempdir()?,
    };
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot open up {}", directory.path().display()))?;
    Ok(directory)
}

/// Runs `work` on a thread of its own and stops waiting after `limit`: a hung server must fail a check, not
/// hang it.
pub(crate) fn with_deadline<T: Send + 'static>(
    what: &str,
    limit: Duration,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // The receiver is gone when the deadline has passed. Then the result is not needed.
        let _ = sender.send(work());
    });
    match receiver.recv_timeout(limit) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => bail!("{what}: no end after {} s", limit.as_secs()),
        Err(mpsc::RecvTimeoutError::Disconnected) => bail!("{what}: panicked"),
    }
}

/// Median, minimum and maximum of a set of measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) minimum: f64,
    pub(crate) maximum: f64,
}

impl Spread {
    /// `None` for an empty set.
    pub(crate) fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (minimum, maximum) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Spread { median, minimum, maximum })
    }
}

/// The smallest value that at least `fraction` of the sorted values do not exceed.
pub(crate) fn quantile(sorted: &[u64], fraction: f64) -> Option<u64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = (sorted.len() as f64 * fraction).ceil() as usize;
    Some(sorted[rank.saturating_sub(1).min(last)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_odd_and_even_sets() {
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, minimum: 1.0, maximum: 3.0 }));
        assert_eq!(Spread::of(&[4.0, 1.0]), Some(Spread { median: 2.5, minimum: 1.0, maximum: 4.0 }));
    }

    #[test]
    fn quantiles_never_leave_the_set() {
        let values: Vec<u64> = (1..=100).collect();
        assert_eq!(quantile(&values, 0.0), Some(1));
        assert_eq!(quantile(&values, 0.5), Some(50));
        assert_eq!(quantile(&values, 0.99), Some(99));
        assert_eq!(quantile(&values, 1.0), Some(100));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn a_deadline_ends_the_wait() {
        let slow = with_deadline("slow", Duration::from_millis(5), || {
            std::thread::sleep(Duration::from_millis(200));
            Ok(())
        });
        assert!(slow.is_err());
        assert_eq!(with_deadline("quick", Duration::from_secs(5), || Ok(7)).expect("in time"), 7);
    }
}
