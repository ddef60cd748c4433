//! The environment of attacks: servers of their own, and how an attack becomes a verdict.

use std::cell::Cell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::client::Client;
use super::ping::Bounds;
use super::report::{Observed, Outcome, Verdict};
use crate::server::{Hyades, Instance, RunningServer, System};

/// How long a server may take to start, however busy the machine is.
const START_LIMIT: Duration = Duration::from_secs(120);
/// How long a server may take to end.
pub(super) const END_LIMIT: Duration = Duration::from_secs(60);

/// An attack that is one statement.
pub(super) struct Statement {
    pub(super) name: &'static str,
    /// Whether the shortened run includes it.
    pub(super) brief: bool,
    pub(super) sql: fn() -> String,
}

pub(super) const fn statement(name: &'static str, brief: bool, sql: fn() -> String) -> Statement {
    Statement { name, brief, sql }
}

/// One row of a group's table.
pub(super) struct Attack {
    /// The action, and what must hold.
    pub(super) name: &'static str,
    /// Whether the shortened run includes it.
    pub(super) brief: bool,
    pub(super) work: fn(&Ground) -> Result<Observed>,
}

/// What all attacks share.
pub(super) struct Ground {
    pub(super) binary: PathBuf,
    pub(super) directory: PathBuf,
    /// The output of `hyades serve --help`.
    pub(super) help: String,
    /// The shortened run: no attack lasts long, and the only requirement on time is that there is an end.
    pub(super) brief: bool,
    pub(super) seed: u64,
    /// The number of single faults on log directories.
    pub(super) faults: u32,
    pub(super) next: Cell<u32>,
}

/// Why an attack fails other than by an ordinary error.
#[derive(Debug)]
enum Special {
    Skip(String),
    Aborted(String),
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Special::Skip(why) => f.write_str(why),
            Special::Aborted(last) => write!(f, "the server ended by itself: {last}"),
        }
    }
}

impl std::error::Error for Special {}

impl Ground {
    /// A new server with a new database.
    pub(super) fn host(&self, arguments: &[&str]) -> Result<Host> {
        self.host_with_prefix(&[], arguments)
    }

    /// The same, with a prefix before the command line.
    pub(super) fn host_with_prefix(&self, prefix: &[&str], arguments: &[&str]) -> Result<Host> {
        self.next.set(self.next.get() + 1);
        let directory = self.directory.join(self.next.get().to_string());
        self.host_in(directory, prefix, arguments)
    }

    /// The same, in a directory that the attack chooses.
    pub(super) fn host_in(&self, directory: PathBuf, prefix: &[&str], arguments: &[&str]) -> Result<Host> {
        let system = System::Hyades(Hyades::usual(self.binary.clone()));
        let prefix = prefix.iter().map(|word| (*word).to_owned()).collect();
        let mut instance = Instance::create(system, directory, prefix)?;
        instance.arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        if !arguments.contains(&"--segment-mib") {
            // Preparing segments of the default size would take most of the time.
            instance.arguments.extend(["--segment-mib", "4"].map(str::to_owned));
        }
        let (server, _) = instance.start_ready(START_LIMIT)?;
        Ok(Host { instance, server })
    }

    /// The attack is about an option. Without that option there is nothing to attack.
    pub(super) fn needs(&self, option: &str) -> Result<()> {
        if self.help.split_whitespace().any(|word| word == option) {
            return Ok(());
        }
        skip(format!("needs {option}"))
    }

    pub(super) fn bounds(&self) -> Bounds {
        if self.brief { Bounds::ALIVE } else { Bounds::STRICT }
    }

    /// A limit on time: strict in the full run, generous in the shortened one.
    pub(super) fn within(&self, strict: Duration) -> Duration {
        if self.brief { strict.max(Duration::from_secs(15)) } else { strict }
    }

    /// A number of tries: all, or few in the shortened run.
    pub(super) fn tries(&self, all: u32, brief: u32) -> u32 {
        if self.brief { brief } else { all }
    }

    pub(super) fn judge(
        &self,
        group: &'static str,
        name: &str,
        work: impl FnOnce() -> Result<Observed>,
    ) -> Verdict {
        let start = Instant::now();
        let (outcome, observed, aborted) = match work() {
            Ok(observed) => (Outcome::Passed, observed, false),
            Err(error) => {
                let special = error.downcast_ref::<Special>();
                let aborted = matches!(special, Some(Special::Aborted(_)));
                match special {
                    Some(Special::Skip(why)) => (Outcome::Skipped(why.clone()), Observed::default(), false),
                    _ => (Outcome::Failed(one_line(&error)), Observed::default(), aborted),
                }
            }
        };
        Verdict { group, name: name.to_owned(), outcome, observed, aborted, took: start.elapsed() }
    }

    pub(super) fn run(&self, group: &'static str, attacks: &[Attack], report: &mut dyn FnMut(Verdict)) {
        for attack in attacks.iter().filter(|attack| attack.brief || !self.brief) {
            report(self.judge(group, attack.name, || (attack.work)(self)));
        }
    }
}

/// Ends an attack that is not applicable.
pub(super) fn skip<T>(why: impl Into<String>) -> Result<T> {
    bail!(Special::Skip(why.into()))
}

fn one_line(error: &anyhow::Error) -> String {
    format!("{error:#}").lines().map(str::trim).collect::<Vec<_>>().join(" | ")
}

/// A server and its database.
pub(super) struct Host {
    pub(super) instance: Instance,
    pub(super) server: RunningServer,
}

impl Host {
    pub(super) fn port(&self) -> u16 {
        self.instance.port
    }

    pub(super) fn connect(&self) -> Result<Client> {
        Client::connect(self.port())
    }

    pub(super) fn data(&self) -> PathBuf {
        self.instance.directory.join("data")
    }

    pub(super) fn log(&self) -> String {
        let bytes = std::fs::read(self.instance.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits for a line in the server's log, which is written a little later than the event that it reports.
    pub(super) fn wait_for_line(&self, words: &str) -> Result<()> {
        let found = until(Duration::from_secs(20), || Ok(self.log().contains(words)))?;
        found.map(drop).with_context(|| format!("the log does not say \"{words}\""))
    }

    /// Checks that the process lives, has not panicked, and answers a new client.
    pub(super) fn expect_alive(&mut self) -> Result<()> {
        if !self.server.is_running() {
            bail!(Special::Aborted(last_line(&self.log())));
        }
        if let Some(panic) = self.log().lines().find(|line| line.contains("panic: ")) {
            bail!("the server panicked: {panic}");
        }
        let answer = self.connect().and_then(|mut client| client.value("select 1"));
        match answer.context("a new connection") {
            Ok(_) => Ok(()),
            Err(error) if self.server.is_running() => Err(error),
            Err(_) => bail!(Special::Aborted(last_line(&self.log()))),
        }
    }

    /// The largest resident memory since the start or the last reset.
    pub(super) fn peak_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(self.proc("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    }

    /// Not every system supports this.
    pub(super) fn reset_peak(&self) {
        let _ = std::fs::write(self.proc("clear_refs"), "5");
    }

    /// The CPU time of the process.
    pub(super) fn cpu(&self) -> Option<Duration> {
        let stat = std::fs::read_to_string(self.proc("stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
        let mut ticks = || fields.next()?.parse::<u64>().ok();
        let ticks = ticks()? + ticks()?;
        Some(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()))
    }

    fn proc(&self, file: &str) -> PathBuf {
        Path::new("/proc").join(self.server.process_id().to_string()).join(file)
    }

    /// Sends a signal and waits for the end. Returns the exit code.
    pub(super) fn end_with(&mut self, signal: Signal) -> Result<Option<i32>> {
        self.server.signal(signal)?;
        self.wait_end()
    }

    /// The exit code of a server that ends by itself.
    pub(super) fn wait_end(&mut self) -> Result<Option<i32>> {
        let status = self.server.wait(END_LIMIT)?.context("the server does not end")?;
        Ok(status.code())
    }

    /// SIGKILL and a new process on the same data, with the current arguments.
    pub(super) fn restart(&mut self) -> Result<()> {
        if self.server.is_running() {
            self.server.kill()?;
        }
        (self.server, _) = self.instance.start_ready(START_LIMIT)?;
        Ok(())
    }
}

fn last_line(log: &str) -> String {
    log.lines().last().unwrap_or_default().to_owned()
}

/// Repeats until it succeeds or the time is over. Returns how long that took.
pub(super) fn until(limit: Duration, mut attempt: impl FnMut() -> Result<bool>) -> Result<Option<Duration>> {
    let start = Instant::now();
    loop {
        if attempt()? {
            return Ok(Some(start.elapsed()));
        }
        if start.elapsed() > limit {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
