//! PostgreSQL as Debian installs it: finding its programs, making a cluster, starting it as a user other than
//! root.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::USER;
use crate::tools;

/// The user that Debian's package creates.
const SYSTEM_USER: &str = "postgres";

/// An installation, and settings that differ from PostgreSQL's defaults.
#[derive(Clone, Debug)]
pub(crate) struct PostgreSql {
    /// `name=value`.
    pub(crate) settings: Vec<String>,
}

impl PostgreSql {
    /// Makes `<directory>/data` a cluster with durable defaults (fsync stays on).
    pub(super) fn initialize(&self, directory: &Path) -> Result<()> {
        if rustix::process::geteuid().is_root() {
            tools::run(Command::new("chown").arg(SYSTEM_USER).arg(directory))?;
        }
        let mut command = Command::new(find_tool("initdb")?);
        command.args([
            "--username",
            USER,
            "--auth",
            "trust",
            "--encoding",
            "UTF8",
            "--locale",
            "C",
            "--pgdata",
        ]);
        command.arg(directory.join("data"));
        tools::output_of(as_system_user(&command).current_dir(directory))?;
        Ok(())
    }

    pub(super) fn command(&self, directory: &Path, port: u16) -> Command {
        let mut command = Command::new(find_tool("postgres").unwrap_or_else(|_| "postgres".into()));
        command.arg("-D").arg(directory.join("data")).args([
            "-p",
            &port.to_string(),
            "-h",
            "127.0.0.1",
            "-k",
        ]);
        command.arg(directory);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        as_system_user(&command)
    }
}

/// PostgreSQL's server refuses to run as root.
fn as_system_user(command: &Command) -> Command {
    if !rustix::process::geteuid().is_root() {
        return super::with_prefix(&[], command);
    }
    let prefix =
        ["setpriv", "--reuid", SYSTEM_USER, "--regid", SYSTEM_USER, "--clear-groups"].map(str::to_owned);
    super::with_prefix(&prefix, command)
}

/// A program of PostgreSQL: the newest of Debian's versions, or else the one on the path.
pub(crate) fn find_tool(name: &str) -> Result<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = entry.file_name().to_str()?.parse().ok()?;
            let program = entry.path().join("bin").join(name);
            program.is_file().then_some((version, program))
        })
        .collect();
    found.sort();
    if let Some((_, program)) = found.pop() {
        return Ok(program);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
        .with_context(|| {
            format!("{name} is not installed: `make test` installs it, or apt-get install postgresql")
        })
}
