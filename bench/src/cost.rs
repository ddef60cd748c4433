//! The cost of one call: the same calls again and again in one session, without other sessions, and without
//! logging or with logs in memory.
//!
//! `cargo xtask cost --breakdown` takes numbers of accesses, and the mix of TPC-C, from the papers on Taurus.
//!
//! `text_select` sends each SELECT as a text of its own with a number in it, like a client that prepares
//! nothing. The others are prepared once. Each call of `read_only` is the next of the sixteen statements of
//! sysbench's transaction.
//!
//! The arguments are made beforehand, so that only the database's own work is counted between two points:
//! preparing the frame, running the procedure, locking, committing. `bench/tests/cost.rs` counts allocations
//! and enforces ceilings on them. `cargo xtask cost` counts instructions (callgrind) through
//! `bench/examples/cost.rs`.

mod statements;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use hyades::session::{Prepared, Session, SessionOptions};
use hyades::{Database, Error, Value};
use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::disk::MemoryDisk;
use hyades_engine::recovery::recover;
use hyades_engine::storage::databases::Databases;

use self::statements::Statements;
use crate::target::embedded::{Answer, EmbeddedConnection, value, wait};
use crate::workload::tpcc::{Mix, Scale, Tpcc};
use crate::workload::ycsb::Ycsb;
use crate::workload::{Call, Connection, Request, Workload};

/// What can be measured. `ycsb` has two accesses and a small table. `ycsb:20` has twenty, in a table that
/// is large enough for 2,000. `tpcc` is half New-Order, half Payment.
pub const NAMES: [&str; 11] = [
    "ycsb",
    "ycsb:ACCESSES",
    "tpcc",
    "payment",
    "new_order",
    "point_select",
    "point_update",
    "tpcb",
    "text_select",
    "read_only",
    "join",
];

fn workload(name: &str) -> Result<Box<dyn Workload>> {
    let tpcc = |mix| Box::new(Tpcc { warehouses: 1, scale: Scale::SMALL, mix });
    let ycsb = |rows, accesses| Box::new(Ycsb { rows, accesses, read_share: 0.5, theta: 0.6 });
    if let Some(accesses) = name.strip_prefix("ycsb:") {
        return Ok(ycsb(5_000, accesses.parse().context("a number of accesses")?));
    }
    Ok(match name {
        "ycsb" => ycsb(2_000, 2),
        "tpcc" => tpcc(Mix::Half),
        "payment" => tpcc(Mix::Payment),
        "new_order" => tpcc(Mix::NewOrder),
        "point_select" | "text_select" => Box::new(Statements::POINT_SELECT),
        "point_update" => Box::new(Statements::POINT_UPDATE),
        "tpcb" => Box::new(Statements::TPCB),
        "read_only" => Box::new(Statements::READ_ONLY),
        "join" => Box::new(Statements::JOIN),
        other => bail!("there is no workload {other}: one of {}", NAMES.join(", ")),
    })
}

/// How calls are logged while they are counted.
#[derive(Clone, Copy, Debug)]
pub struct Logged<'a> {
    pub protocol: ProtocolKind,
    /// `command` or `data`.
    pub logging: &'a str,
    pub logs: usize,
}

impl Logged<'static> {
    /// Not at all.
    pub const NOT: Logged<'static> = Logged { protocol: ProtocolKind::None, logging: "auto", logs: 1 };
}

impl<'a> Logged<'a> {
    /// Parses `taurus:command:8`, `silor:data:8`, `serial:data:1` or `none`.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &'a str) -> Result<Logged<'a>> {
        let mut parts = text.split(':');
        let protocol = match parts.next() {
            Some("none") => return Ok(Logged::NOT),
            Some(name) => ProtocolKind::named(name).with_context(|| format!("`{name}` is no protocol"))?,
            None => bail!("`{text}` is not none or PROTOCOL:KIND:LOGS"),
        };
        let logging = parts.next().filter(|kind| matches!(*kind, "command" | "data"));
        let logging = logging.with_context(|| format!("`{text}` says neither command nor data"))?;
        let logs = parts.next().map_or(Ok(1), |logs| logs.parse().context("a number of logs"))?;
        Ok(Logged { protocol, logging, logs })
    }
}

/// A loaded database and the calls to make.
pub struct Calls {
    session: Session,
    prepared: Vec<Arc<Prepared>>,
    calls: Vec<(usize, Vec<Value>)>,
    /// The text to send in place of each call.
    texts: Vec<String>,
    next: usize,
    answer: Answer,
    directory: PathBuf,
    config: Config,
    /// Closed last.
    database: Database,
}

impl Calls {
    /// Loads the workload and makes the arguments of this many calls.
    ///
    /// # Errors
    /// An unknown name, or a full disk.
    pub fn new(name: &str, logged: Logged<'_>, count: usize) -> Result<Calls> {
        let workload = workload(name)?;
        let directory = std::env::temp_dir().join(format!("hyades-cost-{name}-{}", std::process::id()));
        let Logged { protocol, logs, logging } = logged;
        let mut config = Config { protocol, logs, ..Config::new(&directory) };
        if protocol != ProtocolKind::None {
            config.disk = Arc::new(MemoryDisk::default());
        }
        let database = Database::open(config.clone())?;
        let mut connection = EmbeddedConnection::new(&database)?;
        for script in workload.schema() {
            connection.script(script)?;
        }
        (0..workload.parts()).try_for_each(|part| workload.load(part, &mut connection))?;
        let options = SessionOptions {
            user: "hyades".to_owned(),
            database: "hyades".to_owned(),
            ..SessionOptions::default()
        };
        let mut session = database.session(options)?;
        let setting = wait(|| session.prepare(&format!("SET hyades.logging = {logging}"), &[]))?;
        wait(|| session.execute(&setting, &[], &mut Answer::default()))?;
        let mut prepared = Vec::new();
        for call in workload.calls() {
            prepared.push(wait(|| session.prepare(call.sql, &[])).context(call.sql)?);
        }
        wait(|| session.end_implicit())?;
        let mut stream = workload.stream(0, 1, 1);
        let mut request = Request::default();
        let calls = (0..count).map(|_| {
            stream.next(&mut request);
            (request.call, request.arguments.iter().map(value).collect())
        });
        let calls: Vec<(usize, Vec<Value>)> = calls.collect();
        let texts = if name == "text_select" { texts_of(workload.calls(), &calls) } else { Vec::new() };
        Ok(Calls {
            session,
            prepared,
            calls,
            texts,
            next: 0,
            answer: Answer::default(),
            directory,
            config,
            database,
        })
    }

    /// Makes the next calls. Returns how many were refused, as some New-Orders are.
    ///
    /// # Errors
    /// More calls than there are arguments for, or a call that fails.
    // `cargo xtask cost` counts instructions in the function of this name.
    #[inline(never)]
    pub fn make(&mut self, count: usize) -> Result<usize> {
        let mut refused = 0;
        for _ in 0..count {
            let (call, values) = self.calls.get(self.next).context("no more calls")?;
            let (session, answer) = (&mut self.session, &mut self.answer);
            let lifted;
            let (prepared, values) = match self.texts.get(self.next) {
                Some(text) => {
                    lifted = wait(|| session.prepare_text(text))?;
                    (&lifted.0, lifted.1.as_slice())
                }
                None => (&self.prepared[*call], values.as_slice()),
            };
            self.next += 1;
            let ran = wait(|| session.execute(prepared, values, answer))
                .and_then(|_| wait(|| session.end_implicit()));
            match ran {
                Ok(()) => {}
                Err(Error::Input(error)) if error.state.0 == "P0002" => refused += 1,
                Err(error) => return Err(error.into()),
            }
            drop(session.pending_durability());
        }
        Ok(refused)
    }
}

impl Calls {
    /// Ends the database and replays its logs, with one thread. Returns how many transactions these hold: the
    /// calls that were logged, and what has set the workload up.
    ///
    /// # Errors
    /// What the replay meets.
    // `cargo xtask cost` counts instructions in the replay of calls.
    pub fn replay(&self) -> Result<u64> {
        self.database.shutdown()?;
        let config = Config { recovery_workers: 1, ..self.config.clone() };
        let databases = Arc::new(Databases::new());
        Ok(recover(&config, Some(hyades::routine_compiler()), &databases)?.report.transactions)
    }
}

/// The statements with values in place of their parameters.
fn texts_of(statements: &[Call], calls: &[(usize, Vec<Value>)]) -> Vec<String> {
    let text = |(call, values): &(usize, Vec<Value>)| {
        let mut text = statements[*call].sql.to_owned();
        for (place, value) in values.iter().enumerate() {
            if let Value::Integer(number) = value {
                text = text.replace(&format!("${}", place + 1), &number.to_string());
            }
        }
        text
    };
    calls.iter().map(text).collect()
}

impl Drop for Calls {
    fn drop(&mut self) {
        // A directory in the system's temporary directory: no harm is done if it stays.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
