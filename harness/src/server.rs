//! Database servers as child processes: Hyades, and PostgreSQL as the peer to compare with and to check the
//! harness itself.
//!
//! A server is started on a port of its own, awaited by connecting to it, and ended with SIGKILL. PostgreSQL
//! refuses to run as root, so under root it runs as the user that Debian's package creates for it.
//!
//! Invariant: a [`RunningServer`] that goes out of scope leaves no process behind.

mod postgresql;

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use postgres::{Client, NoTls};

use crate::tools;

pub(crate) use postgresql::{PostgreSql, find_tool};

/// The user, and for Hyades the database, of every connection.
const USER: &str = "hyades";
/// Its password, where a server asks for one.
pub(crate) const PASSWORD: &str = "secret";
/// The pause between two attempts to connect to a server that is starting.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// The systems that can be started.
#[derive(Clone, Debug)]
pub(crate) enum System {
    Hyades(Hyades),
    PostgreSql(PostgreSql),
}

/// A Hyades binary and how to start it.
#[derive(Clone, Debug)]
pub(crate) struct Hyades {
    pub(crate) binary: PathBuf,
    pub(crate) protocol: String,
    /// `None`: the server's default.
    pub(crate) logs: Option<usize>,
    /// `None`: the server's default.
    pub(crate) control: Option<Control>,
    /// Whether blocks are serializable unless they choose another level.
    pub(crate) is_serializable: bool,
}

/// The concurrency controls, by their names on the server's command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Control {
    #[value(name = "2pl")]
    TwoPhaseLocking,
    #[value(name = "occ")]
    Optimistic,
    #[value(name = "mvcc")]
    MultiVersion,
}

impl Control {
    pub(crate) const ALL: [Control; 3] =
        [Control::TwoPhaseLocking, Control::Optimistic, Control::MultiVersion];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Control::TwoPhaseLocking => "2pl",
            Control::Optimistic => "occ",
            Control::MultiVersion => "mvcc",
        }
    }
}

/// What a program that is not ours sees of concurrency. Options of commands that run such programs.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Serializability {
    /// The concurrency control of serializable transactions.
    #[arg(long, value_enum)]
    pub(crate) control: Option<Control>,
    /// Transactions that do not choose a level are serializable, also in blocks. Without this, only calls and
    /// statements outside of blocks are, so the control says little about other programs.
    #[arg(long)]
    pub(crate) serializable: bool,
}

impl Serializability {
    pub(crate) fn is_usual(self) -> bool {
        self.control.is_none() && !self.serializable
    }

    /// Hyades like this.
    pub(crate) fn hyades(self, binary: PathBuf) -> Hyades {
        Hyades { control: self.control, is_serializable: self.serializable, ..Hyades::usual(binary) }
    }

    /// PostgreSQL with these settings, like this.
    pub(crate) fn postgresql(self, setting: &str) -> PostgreSql {
        let level = self.serializable.then_some("default_transaction_isolation=serializable");
        let settings = [setting].into_iter().chain(level).map(str::to_owned).collect();
        PostgreSql { settings }
    }
}

/// The place of a server, which outlives its processes.
pub(crate) struct Instance {
    pub(crate) system: System,
    /// Holds `server.log` and, unless it is told otherwise, `data`.
    pub(crate) directory: PathBuf,
    /// The data directory of Hyades.
    pub(crate) data: PathBuf,
    pub(crate) port: u16,
    /// Prepended to every command line, for scheduling (`chrt -r 10`).
    pub(crate) prefix: Vec<String>,
    /// Appended to the command line of the next processes.
    pub(crate) arguments: Vec<String>,
}

impl System {
    pub(crate) fn name(&self) -> String {
        match self {
            System::Hyades(Hyades { protocol, control: Some(control), .. }) => {
                format!("hyades ({protocol}, {})", control.name())
            }
            System::Hyades(hyades) => format!("hyades ({})", hyades.protocol),
            System::PostgreSql(_) => "postgresql".to_owned(),
        }
    }

    pub(crate) fn database(&self) -> &'static str {
        match self {
            System::Hyades(_) => "hyades",
            System::PostgreSql(_) => "postgres",
        }
    }
}

impl Hyades {
    /// As users start it: the server's own defaults.
    pub(crate) fn usual(binary: PathBuf) -> Hyades {
        Hyades { binary, protocol: "taurus".to_owned(), logs: None, control: None, is_serializable: false }
    }

    fn command(&self, data: &Path, port: u16) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("serve").arg("--data").arg(data);
        command.args(["--listen", &format!("127.0.0.1:{port}"), "--protocol", &self.protocol]);
        if let Some(logs) = self.logs {
            command.args(["--logs", &logs.to_string()]);
        }
        if let Some(control) = self.control {
            command.args(["--control", control.name()]);
        }
        if self.is_serializable {
            command.args(["--isolation", "serializable"]);
        }
        command
    }
}

impl Instance {
    /// Prepares an empty directory for the system.
    pub(crate) fn create(system: System, directory: PathBuf, prefix: Vec<String>) -> Result<Instance> {
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        let (data, port) = (directory.join("data"), free_port()?);
        let instance = Instance { system, directory, data, port, prefix, arguments: Vec::new() };
        if let System::PostgreSql(postgresql) = &instance.system {
            postgresql.initialize(&instance.directory)?;
        }
        Ok(instance)
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.directory.join("server.log")
    }

    /// Starts a process; it may not accept connections yet.
    pub(crate) fn start(&self) -> Result<RunningServer> {
        let inner = match &self.system {
            System::Hyades(hyades) => hyades.command(&self.data, self.port),
            System::PostgreSql(postgresql) => postgresql.command(&self.directory, self.port),
        };
        self.start_command(&inner)
    }

    /// As [`Instance::start`], with another command line.
    pub(crate) fn start_command(&self, inner: &Command) -> Result<RunningServer> {
        let mut command = with_prefix(&self.prefix, inner);
        command.args(&self.arguments);
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path())
            .with_context(|| format!("cannot open {}", self.log_path().display()))?;
        command.current_dir(&self.directory).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let line = tools::display(&command);
        let child = command.spawn().with_context(|| format!("cannot start `{line}`"))?;
        Ok(RunningServer { child, started: Instant::now(), log: self.log_path() })
    }

    /// Starts a process and waits until it answers a query.
    pub(crate) fn start_ready(&self, limit: Duration) -> Result<(RunningServer, Duration)> {
        let mut server = self.start()?;
        match self.wait_ready(&mut server, limit)? {
            Some(took) => Ok((server, took)),
            None => bail!("not ready after {} s\n{}", limit.as_secs(), server.log_tail()),
        }
    }

    /// Time from the start of the process to its first answer, or `None` when it has not answered within
    /// `limit` of the start.
    pub(crate) fn wait_ready(&self, server: &mut RunningServer, limit: Duration) -> Result<Option<Duration>> {
        let stop = Arc::new(AtomicBool::new(false));
        let ready = Arc::new(AtomicBool::new(false));
        // On a thread of its own: a server that accepts and then sends nothing must not hang the harness.
        let prober = std::thread::spawn({
            let (stop, ready, options) = (Arc::clone(&stop), Arc::clone(&ready), self.connection_options());
            move || {
                while !stop.load(Ordering::Relaxed) {
                    if options.connect(NoTls).is_ok_and(|mut client| client.simple_query("select 1").is_ok())
                    {
                        ready.store(true, Ordering::Release);
                        return;
                    }
                    std::thread::sleep(RETRY_PAUSE);
                }
            }
        });
        let result = loop {
            if ready.load(Ordering::Acquire) {
                break Ok(Some(server.started.elapsed()));
            }
            if let Some(status) = server.child.try_wait()? {
                break Err(anyhow::anyhow!("the server ended by itself: {status}\n{}", server.log_tail()));
            }
            if server.started.elapsed() >= limit {
                break Ok(None);
            }
            std::thread::sleep(Duration::from_micros(500));
        };
        stop.store(true, Ordering::Relaxed);
        // It ends when it sees the flag, or when the caller kills a server that hangs. It is not needed any
        // more.
        drop(prober);
        result
    }

    pub(crate) fn connection_options(&self) -> postgres::Config {
        let mut options = postgres::Config::new();
        options.host("127.0.0.1").port(self.port).user(USER).dbname(self.system.database());
        options.connect_timeout(Duration::from_secs(5)).password(PASSWORD);
        options
    }

    pub(crate) fn connect(&self) -> Result<Client> {
        self.connection_options().connect(NoTls).context("cannot connect to the server")
    }

    /// The connection options of PostgreSQL's own programs.
    pub(crate) fn client_arguments(&self) -> Vec<String> {
        let port = self.port.to_string();
        ["-h", "127.0.0.1", "-p", &port, "-U", USER].map(str::to_owned).to_vec()
    }
}

/// A server's process.
pub(crate) struct RunningServer {
    child: Child,
    started: Instant,
    log: PathBuf,
}

impl RunningServer {
    /// Ends the process and all its children with SIGKILL and returns when they are gone.
    pub(crate) fn kill(&mut self) -> Result<()> {
        let children = children_of(self.child.id());
        // The parent first, so that it cannot clean up after any of its children.
        self.child.kill().context("cannot kill the server")?;
        for child in &children {
            send_kill(*child);
        }
        self.child.wait().context("cannot wait for the server")?;
        let deadline = Instant::now() + Duration::from_secs(10);
        while children.iter().any(|child| is_running(*child)) {
            if Instant::now() > deadline {
                bail!("children of the server survive SIGKILL");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Processor time in user mode and in the kernel, with all threads and children, ended ones included.
    pub(crate) fn processor_seconds(&self) -> f64 {
        let processes = std::iter::once(self.child.id()).chain(children_of(self.child.id()));
        let ticks: u64 = processes.filter_map(processor_ticks).sum();
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    }

    /// Sends a signal. The process may have ended already.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) -> Result<()> {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal)
            .with_context(|| format!("cannot send {signal:?} to the server"))
    }

    /// Waits for the process to end by itself. `None` if it has not within the limit.
    pub(crate) fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        let deadline = Instant::now() + limit;
        loop {
            let status = self.child.try_wait().context("cannot wait for the server")?;
            if status.is_some() || Instant::now() >= deadline {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// The last lines that the server wrote.
    pub(crate) fn log_tail(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    /// The error, with the last lines of the server's log.
    pub(crate) fn with_log(&self, error: &anyhow::Error) -> anyhow::Error {
        anyhow::anyhow!("{error:#}\nthe server's last lines:\n{}", self.log_tail())
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        if self.is_running() {
            // Nothing better can be done about a process that cannot be killed.
            let _ = self.kill();
        }
    }
}

/// The named binary, or one that is built now.
pub(crate) fn hyades_binary(named: Option<&Path>, release: bool) -> Result<PathBuf> {
    if let Some(binary) = named {
        return Ok(std::path::absolute(binary)?);
    }
    if !release {
        return tools::build_program("hyades");
    }
    tools::run(tools::cargo().args(["build", "--quiet", "--release", "--package", "hyades-server"]))?;
    Ok(tools::target_directory().join("release").join("hyades"))
}

/// The same command after a prefix such as `chrt -r 10`.
pub(crate) fn with_prefix(prefix: &[String], command: &Command) -> Command {
    let Some((program, arguments)) = prefix.split_first() else {
        let mut same = Command::new(command.get_program());
        same.args(command.get_args());
        return same;
    };
    let mut prefixed = Command::new(program);
    prefixed.args(arguments).arg(command.get_program()).args(command.get_args());
    prefixed
}

/// A free port outside the range from which the system takes the ports of clients: a client that connects to
/// a port of that range on which nothing listens may end up connected to itself.
pub(crate) fn free_port() -> Result<u16> {
    let first = 15_000 + u16::try_from(std::process::id() % 12_000)?;
    (first..first + 4_000)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .context("no free port between 15000 and 31000")
}

fn children_of(parent: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|process| status_of(*process).is_some_and(|(_, its_parent)| its_parent == parent))
        .collect()
}

/// The state letter and the parent of a process.
fn status_of(process: u32) -> Option<(char, u32)> {
    let fields = fields_of(process)?;
    let mut fields = fields.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Processor time of a process and of its children that have ended.
fn processor_ticks(process: u32) -> Option<u64> {
    /// The first of: in user mode, in the kernel, and the same of children.
    const FIRST: usize = 11;
    fields_of(process)?.split(' ').skip(FIRST).take(4).map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// What /proc says of a process, from its state on.
fn fields_of(process: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may itself contain spaces and parentheses.
    Some(text.rsplit_once(") ")?.1.to_owned())
}

fn is_running(process: u32) -> bool {
    status_of(process).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

fn send_kill(process: u32) {
    let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(process) = process {
        // It may have ended by itself in the meantime.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_the_parent_of_its_children() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep exists");
        assert!(children_of(std::process::id()).contains(&child.id()));
        assert!(is_running(child.id()));
        send_kill(child.id());
        child.wait().expect("it can be waited for");
        assert!(!is_running(child.id()));
    }

    #[test]
    fn processor_time_grows_with_work() {
        let before = processor_ticks(std::process::id()).expect("this process has a state");
        let mut sum = 0_u64;
        while processor_ticks(std::process::id()) == Some(before) {
            sum = (0..1_000_000).fold(sum, |sum, number| std::hint::black_box(sum ^ number));
        }
        assert!(processor_ticks(std::process::id()) > Some(before));
    }

    #[test]
    fn a_prefix_goes_before_the_command() {
        let mut inner = Command::new("server");
        inner.arg("--x");
        let prefix = ["chrt", "-r", "10"].map(str::to_owned);
        assert_eq!(tools::display(&with_prefix(&prefix, &inner)), "chrt -r 10 server --x");
        assert_eq!(tools::display(&with_prefix(&[], &inner)), "server --x");
    }

    #[test]
    fn hyades_is_started_as_the_manual_says() {
        let hyades = Hyades { logs: Some(4), ..Hyades::usual("hyades".into()) };
        assert_eq!(
            tools::display(&hyades.command(Path::new("d"), 5433)),
            "hyades serve --data d --listen 127.0.0.1:5433 --protocol taurus --logs 4"
        );
        for control in Control::ALL {
            let hyades = Hyades { control: Some(control), ..Hyades::usual("hyades".into()) };
            let line = tools::display(&hyades.command(Path::new("d"), 5433));
            assert!(line.ends_with(&format!(" --protocol taurus --control {}", control.name())), "{line}");
            assert_eq!(Control::from_str(control.name(), false), Ok(control));
        }
    }
}
