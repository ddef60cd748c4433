//! The command line of `hyades`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hyades::engine::config::RestartMode;
use hyades::engine::protocol::list::why_no_commands;
use hyades::{Config, ControlKind, ProtocolKind};
use hyades_bench::command_line::{BenchArguments, control_names, protocol_names};
use hyades_bench::instance::Replay;
use hyades_server::analyze_command::AnalyzeArguments;
use hyades_server::backup_command::{BackupArguments, CheckArguments, RestoreArguments};
use hyades_server::connection::Limits;
use hyades_server::log_command::LogCommand;
use hyades_server::logging::LogFormat;
use hyades_server::recover_command::RecoverArguments;
use hyades_server::scram::Verifier;
use hyades_server::serve::{AuthenticationKind, Options, Sentence};
use hyades_server::study_command::StudyArguments;
use hyades_server::tls::Tls;
use hyades_server::top_command::TopArguments;
use hyades_server::users::{DEFAULT_USER, PASSWORD_VARIABLE, Users};
use tracing_subscriber::filter::LevelFilter;

use crate::machine_memory;

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("HYADES_COMMIT"), ")");

/// Hyades, an in-memory transactional SQL database with parallel logs.
#[derive(Parser)]
#[command(name = "hyades", version = VERSION)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve a database to PostgreSQL clients.
    Serve(Box<ServeArguments>),
    /// Measure a workload, in this process or over the wire; compare protocols in one run.
    Bench(Box<BenchArguments>),
    /// Look at the logs of a database, running or not.
    #[command(subcommand)]
    Log(LogCommand),
    /// Measure figures of the papers, and learn from the logs of a database.
    Study(StudyArguments),
    /// Show how the calls of procedures are replayed, line by line, and what keeps them together.
    Analyze(AnalyzeArguments),
    /// Make a new database of what the logs of another one hold, damaged ones too.
    Recover(RecoverArguments),
    /// Copy a database, running or not, into a backup directory; again into the same one for what is new.
    Backup(BackupArguments),
    /// Make a database of a backup, as it was at some time.
    Restore(RestoreArguments),
    /// Read a backup or a stopped database whole, and compare checksums, rows and indexes.
    Check(CheckArguments),
    /// Watch a running server in a terminal: sessions, rates, logs, memory.
    Top(TopArguments),
    /// Read a password from standard input and print a line for --user-file.
    Password {
        /// The user whose password it is.
        #[arg(long)]
        user: String,
        /// Make the user the superuser, rather than give a role its password.
        #[arg(long)]
        superuser: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Clone, Copy, ValueEnum)]
enum Logging {
    /// As commands wherever that is sound.
    Auto,
    Command,
    /// As the rows that they write.
    Data,
}

#[derive(Clone, Copy, ValueEnum)]
enum Restart {
    /// When the database is completely restored.
    Complete,
    /// When the catalog is known: each table opens on its own, and the rest goes on in the background.
    OnDemand,
}

#[derive(Clone, Copy, ValueEnum)]
enum Authentication {
    /// Let in all clients.
    Trust,
    /// Passwords, by SCRAM-SHA-256.
    Scram,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Encryption {
    /// Only for clients that ask for it.
    Allowed,
    /// For all clients that connect over TCP.
    Required,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// As PostgreSQL's superuser_reserved_connections.
const RESERVED_CONNECTIONS: u32 = 3;

#[derive(Args)]
pub(crate) struct ServeArguments {
    /// Data directory; created if it does not exist.
    #[arg(long, default_value = "./data")]
    data: PathBuf,
    /// Address to listen on (host:port, port 0 takes a free one); may be repeated.
    #[arg(long, default_value = "127.0.0.1:5433")]
    listen: Vec<String>,
    /// Also listen on a Unix socket in this directory.
    #[arg(long, value_name = "DIR")]
    socket: Option<PathBuf>,
    /// Logging protocol.
    #[arg(long, value_parser = protocol_names(), default_value = ProtocolKind::default().name())]
    protocol: ProtocolKind,
    /// Concurrency control of serializable transactions, which statements outside of blocks are, too.
    #[arg(long, value_parser = control_names(), default_value = ControlKind::default().name())]
    control: ControlKind,
    /// How calls of procedures are logged; a session may change it (SET hyades.logging).
    #[arg(long, value_enum, default_value = "auto")]
    logging: Logging,
    /// How much a transaction block sees of others; a client may ask for another level.
    #[arg(long, value_enum, default_value = "read-committed")]
    isolation: Isolation,
    /// Number of parallel logs (all protocols but none and serial).
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    logs: u16,
    /// How long an epoch lasts, and an answer waits at most, beside the device (silor).
    #[arg(long, value_name = "TIME", default_value = "40ms", value_parser = epoch)]
    epoch: Duration,
    /// A log record names at most this many transactions that it follows, and beyond that positions
    /// (taurus_graph).
    #[arg(long, value_name = "NUMBER", default_value_t = 16)]
    predecessors: usize,
    /// Directory for logs; may be repeated: the logs take turns, the one log of serial logging is striped
    /// over all [default: logs in the data directory].
    #[arg(long, value_name = "DIR")]
    log_dir: Vec<PathBuf>,
    /// Size of a log segment file.
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    segment_mib: u32,
    /// What a block of a log is padded to: 512, 1024, 2048 or 4096 [default: a sector of the device, or 4096
    /// if that cannot be determined].
    #[arg(long, value_name = "BYTES", value_parser = sector)]
    log_sector_bytes: Option<usize>,
    /// Memory buffer of each log, a power of two.
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = power_of_two)]
    log_buffer_mib: usize,
    /// Sessions share logs that are written in shorter blocks than this; 0: each always writes to its own.
    #[arg(long, value_name = "KIB", default_value_t = 8)]
    shared_block_kib: u32,
    /// Take a checkpoint when the logs since the last one take this much of the disk; 0: only on request
    /// (CHECKPOINT).
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    checkpoint_log_mib: u64,
    /// Take checkpoints often enough that the logs are replayed in this time (30s, 2min), at the speed of the
    /// last restart.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    recovery_target: Option<Duration>,
    /// Begin with the checkpoint before the last one, as a start does by itself that finds files of the last
    /// one damaged. Nothing is lost; the logs from there on are replayed.
    #[arg(long)]
    previous_checkpoint: bool,
    /// When a start lets clients in.
    #[arg(long, value_name = "WHEN", default_value = "complete")]
    restart: Restart,
    /// Threads that write a checkpoint.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    checkpoint_workers: u16,
    /// Threads that load the checkpoint and replay the logs at start; 0 means one for each core.
    #[arg(long, default_value_t = 0)]
    recovery_workers: usize,
    /// How changes of rows in the logs are replayed at start.
    #[arg(long, value_enum, default_value_t = Replay::Keys)]
    replay: Replay,
    /// Log every call with its after-images too, so that `hyades log verify --images` can compare both ways
    /// of replay.
    #[arg(long, hide = true)]
    command_images: bool,
    /// Threads that run sessions; 0 means one for each core.
    #[arg(long, default_value_t = 0)]
    workers: usize,
    /// Memory to take from the operating system at start, so that transactions do not wait for it; more is
    /// taken as needed.
    #[arg(long, value_name = "MIB", default_value_t = 0)]
    pub(crate) reserve_memory_mib: usize,
    /// How clients prove who they are [default: scram if there are users; else trust, on loopback addresses
    /// only].
    #[arg(long, value_enum)]
    auth: Option<Authentication>,
    /// File of lines as `hyades password` prints them: `user:verifier` for roles, `user:verifier:superuser`
    /// for superusers. The environment variable HYADES_PASSWORD sets the password of the superuser hyades.
    #[arg(long, value_name = "FILE")]
    user_file: Option<PathBuf>,
    /// Certificate for TLS, followed by those that lead to its root (PEM); SIGHUP reads it again.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Private key of the certificate (PEM, without a passphrase); no other user may read it.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Which connections are encrypted.
    #[arg(long, value_enum, default_value = "allowed", requires = "tls_certificate")]
    tls: Encryption,
    /// Address (host:port) for HTTP: /metrics for Prometheus, /health, and a page for people. There is no
    /// authentication there.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// Clients served at the same time.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_connections: u32,
    /// How many of these places are reserved for superusers [default: 3].
    #[arg(long, value_name = "N", alias = "reserved-connections")]
    superuser_reserved_connections: Option<u32>,
    /// How many of these places a role may take that has no CONNECTION LIMIT of its own and is no superuser
    /// [default: all that are not reserved].
    #[arg(long, value_name = "N")]
    connections_per_role: Option<u32>,
    /// How long a client may take to prove who it is.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    authentication_timeout: u64,
    /// How long a client with a wrong password waits for the answer (500ms, 2s; 0: not at all).
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = delay)]
    failed_login_delay: Duration,
    /// End the process, with exit code 3, when the database is poisoned (a log cannot be written), so that a
    /// supervisor can start it again; otherwise it stays and refuses every statement with the reason.
    #[arg(long)]
    exit_when_poisoned: bool,
    /// How long open transactions may take to finish at shutdown.
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    drain_seconds: u64,
    /// End statements that take longer than this (500ms, 30s, 5min; 0: never); a session may change it (SET
    /// statement_timeout).
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = timeout)]
    statement_timeout: String,
    /// End sessions that leave a transaction open for longer than this; a session may change it (SET
    /// idle_in_transaction_session_timeout).
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = timeout)]
    idle_in_transaction_timeout: String,
    /// End sessions that are idle in a SERIALIZABLE transaction for longer than this while others wait for
    /// its locks (0: never); a superuser may change it (SET hyades.idle_blocker_timeout).
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = timeout)]
    idle_blocker_timeout: String,
    /// End sessions that are idle for longer than this; a session may change it (SET idle_session_timeout).
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = timeout)]
    idle_session_timeout: String,
    /// Log statements that take at least this many milliseconds (0: all; -1: none); a superuser may change it
    /// (SET log_min_duration_statement).
    #[arg(long, value_name = "MS", default_value_t = -1, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-1..))]
    log_slow_statements: i32,
    /// The largest message accepted from a client.
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    message_limit_mib: u32,
    /// Memory that the whole server may use [default: three quarters of what the machine, or its control
    /// group, has].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(64..=1 << 30))]
    memory_limit: Option<u64>,
    /// Memory that the statements, results and transaction of one connection may use [default: a quarter of
    /// --memory-limit].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(4..=1 << 30))]
    memory_per_connection: Option<u64>,
    /// Form of the log on standard error.
    #[arg(long, value_enum, default_value = "text")]
    log_format: Format,
    /// error, warn, info or debug.
    #[arg(long, default_value = "info")]
    log_level: LevelFilter,
}

/// A time in the syntax of settings; milliseconds without a unit.
fn timeout(text: &str) -> Result<String, String> {
    milliseconds(text).map(|_| text.to_owned())
}

/// A time that is not zero.
fn duration(text: &str) -> Result<Duration, String> {
    match milliseconds(text)? {
        0 => Err("must be more than 0".to_owned()),
        milliseconds => Ok(Duration::from_millis(milliseconds.unsigned_abs())),
    }
}

/// A time that a handshake may take.
fn delay(text: &str) -> Result<Duration, String> {
    match milliseconds(text)? {
        milliseconds @ 0..=60_000 => Ok(Duration::from_millis(milliseconds.unsigned_abs())),
        _ => Err("must be at most 1min".to_owned()),
    }
}

/// A time that answers may wait.
fn epoch(text: &str) -> Result<Duration, String> {
    match milliseconds(text)? {
        milliseconds @ 1..=10_000 => Ok(Duration::from_millis(milliseconds.unsigned_abs())),
        _ => Err("must be from 1ms to 10s".to_owned()),
    }
}

fn milliseconds(text: &str) -> Result<i64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit_ms = match unit {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("must be a number and ms, s, min, h or d".to_owned()),
    };
    let milliseconds = number.parse::<i64>().ok().and_then(|number| number.checked_mul(unit_ms));
    match milliseconds {
        Some(milliseconds) if milliseconds <= i64::from(i32::MAX) => Ok(milliseconds),
        _ => Err("must be a time up to 24 days".to_owned()),
    }
}

fn sector(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|bytes| [512, 1024, 2048, 4096].contains(bytes));
    bytes.ok_or_else(|| "not 512, 1024, 2048 or 4096".to_owned())
}

fn power_of_two(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(size) if size.is_power_of_two() && size <= 4096 => Ok(size),
        _ => Err("must be a power of two up to 4096".to_owned()),
    }
}

impl ServeArguments {
    pub(crate) fn log(&self) -> (LogFormat, LevelFilter) {
        let format = match self.log_format {
            Format::Text => LogFormat::Text,
            Format::Json => LogFormat::Json,
        };
        (format, self.log_level)
    }

    pub(crate) fn options(self) -> Result<Options, Sentence> {
        let users = self.users()?;
        let superuser_reserved_connections = self.reserved()?;
        self.check_logging()?;
        let settings = self.settings();
        let tls = match (&self.tls_certificate, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::read(certificate, key)?),
            _ => None,
        };
        let mut config = Config::new(self.data);
        config.log_directories = self.log_dir;
        config.protocol = self.protocol;
        config.control = self.control;
        config.logs = usize::from(self.logs);
        config.epoch = self.epoch;
        config.predecessors = self.predecessors;
        config.segment_bytes = u64::from(self.segment_mib) << 20;
        config.log_sector_bytes = self.log_sector_bytes;
        config.log_buffer_bytes = self.log_buffer_mib << 20;
        config.shared_block_bytes = u64::from(self.shared_block_kib) << 10;
        config.checkpoint_log_bytes = self.checkpoint_log_mib.saturating_mul(1 << 20);
        config.recovery_target = self.recovery_target;
        config.previous_checkpoint = self.previous_checkpoint;
        config.restart = match self.restart {
            Restart::Complete => RestartMode::Complete,
            Restart::OnDemand => RestartMode::OnDemand,
        };
        config.checkpoint_workers = usize::from(self.checkpoint_workers);
        config.recovery_workers = self.recovery_workers;
        config.replays_by_position = self.replay == Replay::Paper;
        config.command_images = self.command_images;
        config.memory = machine_memory::limits(self.memory_limit, self.memory_per_connection);
        if let Some(bytes) = machine_memory::version_bytes(config.memory) {
            config.version_bytes = bytes;
        }
        Ok(Options {
            config,
            settings,
            listen: self.listen,
            socket_directory: self.socket,
            authentication: self.auth.map(|authentication| match authentication {
                Authentication::Trust => AuthenticationKind::Trust,
                Authentication::Scram => AuthenticationKind::Scram,
            }),
            users,
            tls,
            requires_tls: self.tls == Encryption::Required,
            http: self.http,
            max_connections: self.max_connections as usize,
            superuser_reserved_connections,
            connections_per_role: self.connections_per_role.map(|limit| limit as usize),
            failed_login_delay: self.failed_login_delay,
            handshake_patience: Duration::from_secs(self.authentication_timeout),
            exit_when_poisoned: self.exit_when_poisoned,
            drain: Duration::from_secs(self.drain_seconds),
            limits: Limits { message_bytes: (self.message_limit_mib as usize) << 20 },
            workers: self.workers,
        })
    }

    fn reserved(&self) -> Result<usize, Sentence> {
        match self.superuser_reserved_connections {
            None => Ok(RESERVED_CONNECTIONS.min(self.max_connections - 1) as usize),
            Some(reserved) if reserved < self.max_connections => Ok(reserved as usize),
            Some(reserved) => Err(format!(
                "--superuser-reserved-connections ({reserved}) must be less than --max-connections ({})",
                self.max_connections
            )),
        }
    }

    /// Refuses to log calls where only data is logged.
    fn check_logging(&self) -> Result<(), Sentence> {
        match why_no_commands(self.protocol).filter(|_| matches!(self.logging, Logging::Command)) {
            None => Ok(()),
            Some(reason) => Err(format!("--logging command is not possible: {reason}")),
        }
    }

    /// The settings that sessions begin with.
    fn settings(&self) -> Vec<(String, String)> {
        let logging = match self.logging {
            Logging::Auto => "auto",
            Logging::Command => "command",
            Logging::Data => "data",
        };
        let isolation = match self.isolation {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        };
        [
            ("hyades.logging", logging),
            ("default_transaction_isolation", isolation),
            ("statement_timeout", &self.statement_timeout),
            ("idle_in_transaction_session_timeout", &self.idle_in_transaction_timeout),
            ("hyades.idle_blocker_timeout", &self.idle_blocker_timeout),
            ("idle_session_timeout", &self.idle_session_timeout),
            ("log_min_duration_statement", &self.log_slow_statements.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    fn users(&self) -> Result<Users, Sentence> {
        let mut users = match &self.user_file {
            Some(path) => Users::read(path)?,
            None => Users::default(),
        };
        if let Some(password) = std::env::var_os(PASSWORD_VARIABLE) {
            let password = password
                .to_str()
                .filter(|password| !password.is_empty())
                .ok_or(format!("{PASSWORD_VARIABLE} is empty or not UTF-8"))?;
            users.insert(DEFAULT_USER, Verifier::of_password(password), true);
        }
        Ok(users)
    }
}
