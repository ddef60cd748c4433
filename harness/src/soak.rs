//! `cargo xtask soak`: full TPC-C for an hour, a kill each minute, and a check of what has grown.
//!
//! A round: clients of `hyades bench tpcc --connect` run the full mix on a database of full size, beside
//! checkpoints that are taken when the logs have reached the given size. At the end of the minute memory and
//! disk are measured, and the server gets SIGKILL. It is started again, alternately completely and on demand,
//! and then
//! 1. the twelve consistency conditions of TPC-C hold, and its indexes agree with their tables;
//! 2. every acknowledged order and payment is there, and none that was never requested (the clients' ledger);
//! 3. logs take no more of the disk than what checkpoints leave of them, and checkpoints no more than a
//!    multiple of the rows, at any age of the database;
//! 4. the process's memory is a multiple of what rows and indexes take, at any age.
//!
//! TPC-C only ever adds orders. When its rows have reached `--largest-mib`, the next minute begins with an
//! empty database.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::crash::tpcc::Load;
use crate::server::{Hyades, Instance, RunningServer, System, hyades_binary};
use crate::tools;

const MINUTE: Duration = Duration::from_secs(60);
const START_LIMIT: Duration = Duration::from_secs(300);
/// The logs since the checkpoint before the last one are kept, plus what is written while one is taken.
const LOGS_OF_CHECKPOINT: u64 = 4;
/// Segments that are prepared and empty.
const PREPARED_MIB: u64 = 512;
/// Checkpoint files and memory, as multiples of the rows with their indexes.
const CHECKPOINTS_OF_ROWS: u64 = 3;
const MEMORY_OF_ROWS: u64 = 2;
/// A small database may take this much in addition.
const LEAST_MIB: u64 = 1024;
const MIB: u64 = 1 << 20;

#[derive(clap::Args, Clone)]
pub(crate) struct Options {
    /// How long to run; there is a kill each minute.
    #[arg(long, default_value_t = 60)]
    minutes: u32,
    #[arg(long, default_value_t = 4)]
    warehouses: u32,
    #[arg(long, default_value_t = 8)]
    clients: u32,
    /// The server's option: a checkpoint is taken for this much of logs.
    #[arg(long, default_value_t = 256)]
    checkpoint_log_mib: u64,
    /// Bytes of rows and indexes at which the database is replaced by an empty one.
    #[arg(long, default_value_t = 6144)]
    largest_mib: u64,
    /// A hyades binary; built in the release profile if left out.
    #[arg(long)]
    server: Option<PathBuf>,
    /// Where to put the databases; a temporary directory if left out.
    #[arg(long)]
    directory: Option<PathBuf>,
}

/// The values measured before the kill, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    rows: u64,
    memory: u64,
    logs: u64,
    checkpoints: u64,
    checkpoints_taken: u64,
}

struct Soak<'o> {
    options: &'o Options,
    binary: PathBuf,
    /// The number of kills so far.
    minute: u32,
    acknowledged: u64,
    slowest_start: Duration,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let binary = hyades_binary(options.server.as_deref(), true)?;
    let directory = tools::scratch_directory(options.directory.as_deref())?;
    let mut soak = Soak { options, binary, minute: 0, acknowledged: 0, slowest_start: Duration::ZERO };
    for number in 0.. {
        if soak.minute == options.minutes {
            break;
        }
        let path = directory.path().join(format!("soak-{number}"));
        if let Err(error) = soak.database(&path) {
            let kept = directory.keep();
            return Err(error.context(format!("soak: failed; data and logs are kept in {}", kept.display())));
        }
        std::fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    println!(
        "soak: {} minutes and kills passed: {} transactions acknowledged, lost 0; longest start {:.2} s",
        options.minutes,
        soak.acknowledged,
        soak.slowest_start.as_secs_f64()
    );
    Ok(())
}

impl Soak<'_> {
    /// Runs one database, until it is large or the time is over. Each kill is followed by a start and the
    /// checks.
    fn database(&mut self, path: &Path) -> Result<()> {
        let system = System::Hyades(Hyades::usual(self.binary.clone()));
        let mut instance = Instance::create(system, path.to_path_buf(), Vec::new())?;
        let ledger = path.join("ledger.json");
        instance.arguments = self.arguments("complete");
        let (mut server, _) = instance.start_ready(START_LIMIT)?;
        for is_first in std::iter::once(true).chain(std::iter::repeat(false)) {
            let sizes = self.minute_of_load(&instance, &mut server, is_first, &ledger)?;
            self.minute += 1;
            print!("minute {:>3}/{}: {sizes}; ", self.minute, self.options.minutes);
            sizes.check(self.options)?;
            let restart = if self.minute.is_multiple_of(2) { "complete" } else { "on-demand" };
            instance.arguments = self.arguments(restart);
            let (next, took) = instance.start_ready(START_LIMIT)?;
            server = next;
            let said = tools::output_of(self.bench(&instance).arg("--verify").arg(&ledger))
                .map_err(|error| server.with_log(&error))?;
            println!("{restart} start in {:.2} s, {}", took.as_secs_f64(), said.trim());
            self.slowest_start = self.slowest_start.max(took);
            if self.minute == self.options.minutes || sizes.rows > self.options.largest_mib * MIB {
                break;
            }
        }
        server.kill()
    }

    fn arguments(&self, restart: &str) -> Vec<String> {
        let mib = self.options.checkpoint_log_mib.to_string();
        ["--checkpoint-log-mib", &mib, "--restart", restart].map(str::to_owned).into()
    }

    fn bench(&self, instance: &Instance) -> Command {
        let mut command = Command::new(&self.binary);
        let url = format!("postgres://hyades@127.0.0.1:{}/{}", instance.port, instance.system.database());
        command.args(["bench", "tpcc", "--connect", &url]);
        command.args(["--warehouses", &self.options.warehouses.to_string()]);
        command
    }

    fn minute_of_load(
        &mut self,
        instance: &Instance,
        server: &mut RunningServer,
        is_first: bool,
        ledger: &Path,
    ) -> Result<Sizes> {
        let mut command = self.bench(instance);
        command.args(["--workers", &self.options.clients.to_string(), "--seconds", "3600", "--ledger"]);
        command.arg(ledger).args(["--seed", &self.minute.to_string()]);
        if !is_first {
            command.arg("--no-load");
        }
        let load = Load::begin(command).map_err(|error| server.with_log(&error))?;
        std::thread::sleep(MINUTE);
        let sizes = Sizes::of(instance, server)?;
        server.kill()?;
        self.acknowledged += load.finish()?;
        Ok(sizes)
    }
}

impl Sizes {
    fn of(instance: &Instance, server: &RunningServer) -> Result<Sizes> {
        let mut client = instance.connect()?;
        let rows: i64 = client
            .query_one("select sum(bytes)::bigint from hyades_memory where kind in ('table', 'index')", &[])?
            .get(0);
        let taken: i64 = client.query_one("select taken from hyades_checkpoint", &[])?.get(0);
        let mut sizes = Sizes {
            rows: rows as u64,
            memory: resident_bytes(server.process_id())?,
            checkpoints_taken: taken as u64,
            ..Sizes::default()
        };
        sizes.add_files(&instance.directory.join("data"))?;
        Ok(sizes)
    }

    fn add_files(&mut self, directory: &Path) -> Result<()> {
        use std::os::unix::fs::MetadataExt;

        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            // The file may be removed at this moment.
            let Ok(metadata) = std::fs::metadata(&path) else { continue };
            if metadata.is_dir() {
                self.add_files(&path)?;
            } else if path.extension().is_some_and(|extension| extension == "segment") {
                self.logs += metadata.blocks() * 512;
            } else {
                self.checkpoints += metadata.blocks() * 512;
            }
        }
        Ok(())
    }

    fn check(&self, options: &Options) -> Result<()> {
        let limits = [
            ("logs", self.logs, (LOGS_OF_CHECKPOINT * options.checkpoint_log_mib + PREPARED_MIB) * MIB),
            ("checkpoints", self.checkpoints, CHECKPOINTS_OF_ROWS * self.rows + LEAST_MIB * MIB),
            ("memory", self.memory, MEMORY_OF_ROWS * self.rows + LEAST_MIB * MIB),
        ];
        for (what, bytes, limit) in limits {
            if bytes > limit {
                bail!("{what}: {bytes} bytes, more than {limit}");
            }
        }
        Ok(())
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sizes { rows, memory, logs, checkpoints, checkpoints_taken } = self;
        write!(
            f,
            "MiB of rows {}, process {}, logs {}, checkpoints {} ({checkpoints_taken} taken)",
            rows / MIB,
            memory / MIB,
            logs / MIB,
            checkpoints / MIB,
        )
    }
}

/// The memory of a process that is in use now.
fn resident_bytes(process: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kib.context("no VmRSS")? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory() {
        assert!(resident_bytes(std::process::id()).unwrap() > MIB);
    }
}
