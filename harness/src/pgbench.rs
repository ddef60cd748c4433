//! The real pgbench: its command lines and its output.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::server::{Instance, find_tool, with_prefix};
use crate::tools;

/// The parameters of a run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) clients: u32,
    pub(crate) threads: u32,
    pub(crate) seconds: u64,
    /// `-b` with a built-in script, or `-f` with a file.
    pub(crate) script: Vec<String>,
    /// More options.
    pub(crate) more: Vec<String>,
}

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    pub(crate) transactions: u64,
    pub(crate) failed: u64,
    /// Not counting the time of connecting.
    pub(crate) per_second: f64,
}

/// `pgbench -i`.
pub(crate) fn initialize(instance: &Instance, scale: u32) -> Result<()> {
    let mut command = Command::new(find_tool("pgbench")?);
    command.args(["-i", "-q", "-s", &scale.to_string()]).args(instance.client_arguments());
    command.arg(instance.system.database());
    tools::output_of(&mut command).context("pgbench -i")?;
    Ok(())
}

fn command(instance: &Instance, run: &Run) -> Result<Command> {
    let mut command = Command::new(find_tool("pgbench")?);
    command.args(["-n", "-M", "prepared"]);
    command.args([
        "-c",
        &run.clients.to_string(),
        "-j",
        &run.threads.to_string(),
        "-T",
        &run.seconds.to_string(),
    ]);
    command
        .args(&run.script)
        .args(&run.more)
        .args(instance.client_arguments())
        .arg(instance.system.database());
    Ok(with_prefix(&instance.prefix, &command))
}

/// Runs to the end and reads the report.
pub(crate) fn run(instance: &Instance, run: &Run, directory: &Path) -> Result<Report> {
    let printed = tools::output_of(command(instance, run)?.current_dir(directory))?;
    parse_report(&printed).with_context(|| format!("pgbench printed no report:\n{printed}"))
}

fn parse_report(printed: &str) -> Option<Report> {
    let value = |prefix: &str| {
        let line = printed.lines().find_map(|line| line.strip_prefix(prefix))?;
        line.trim().split([' ', '/']).next().map(str::to_owned)
    };
    Some(Report {
        transactions: value("number of transactions actually processed:")?.parse().ok()?,
        failed: value("number of failed transactions:").and_then(|text| text.parse().ok()).unwrap_or(0),
        per_second: value("tps =")?.parse().ok()?,
    })
}

/// A pgbench that runs in the background.
pub(crate) struct Background {
    child: Child,
    log: std::path::PathBuf,
}

impl Background {
    pub(crate) fn start(instance: &Instance, run: &Run) -> Result<Background> {
        let log = instance.directory.join("pgbench.log");
        let file = File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let mut command = command(instance, run)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().context("cannot start pgbench")?;
        Ok(Background { child, log })
    }

    /// An error if it has ended: it must run until the server dies.
    pub(crate) fn expect_running(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            let printed = std::fs::read_to_string(&self.log).unwrap_or_default();
            bail!("pgbench ended early, {status}:\n{}", printed.trim_end());
        }
        Ok(())
    }

    /// Waits until it has noticed that the server is gone, and kills it if it does not.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                self.child.kill()?;
                self.child.wait()?;
                bail!("pgbench did not notice that the server was killed");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // It may end by itself at this moment.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let printed = "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 1\nquery mode: prepared\n\
            number of clients: 8\nnumber of transactions actually processed: 6912\n\
            number of failed transactions: 3 (0.043%)\nlatency average = 1.158 ms\n\
            initial connection time = 9.101 ms\ntps = 6907.425000 (without initial connection time)\n";
        let report = parse_report(printed).expect("a report");
        assert_eq!(report, Report { transactions: 6912, failed: 3, per_second: 6907.425 });
        let fixed = "number of transactions actually processed: 10/10\ntps = 5.5 (including)\n";
        assert_eq!(parse_report(fixed).expect("a report").transactions, 10);
        assert_eq!(parse_report("pgbench: error: connection refused"), None);
    }
}
