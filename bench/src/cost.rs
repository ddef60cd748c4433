//! What one call costs: the same calls again and again in one session, without logging and without company.
//!
//! The arguments are made before, so that what is counted between two points is the database's alone:
//! preparing the frame, running the procedure, locking, committing. `bench/tests/cost.rs` counts allocations
//! and holds them to ceilings; `cargo xtask cost` counts instructions (callgrind) through
//! `bench/examples/cost.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use hyades::session::{Prepared, Session, SessionOptions};
use hyades::{Database, Error, Value};
use hyades_engine::config::{Config, ProtocolKind};

use crate::target::embedded::{Answer, EmbeddedConnection, value, wait};
use crate::workload::tpcc::{Mix, Scale, Tpcc};
use crate::workload::ycsb::Ycsb;
use crate::workload::{Connection, Request, Workload};

/// What can be measured.
pub const NAMES: [&str; 3] = ["ycsb", "payment", "new_order"];

fn workload(name: &str) -> Result<Box<dyn Workload>> {
    let tpcc = |mix| Box::new(Tpcc { warehouses: 1, scale: Scale::SMALL, mix });
    Ok(match name {
        "ycsb" => Box::new(Ycsb { rows: 2_000, accesses: 2, read_share: 0.5, theta: 0.6 }),
        "payment" => tpcc(Mix::Payment),
        "new_order" => tpcc(Mix::NewOrder),
        other => bail!("there is no workload {other}: one of {}", NAMES.join(", ")),
    })
}

/// A loaded database and calls to be made.
pub struct Calls {
    session: Session,
    prepared: Vec<Arc<Prepared>>,
    calls: Vec<(usize, Vec<Value>)>,
    next: usize,
    answer: Answer,
    directory: PathBuf,
    /// Closed last.
    _database: Database,
}

impl Calls {
    /// Loads the workload and makes the arguments of so many calls.
    ///
    /// # Errors
    /// An unknown name, a disk that is full.
    pub fn new(name: &str, count: usize) -> Result<Calls> {
        let workload = workload(name)?;
        let directory = std::env::temp_dir().join(format!("hyades-cost-{name}-{}", std::process::id()));
        let database = Database::open(Config { protocol: ProtocolKind::None, ..Config::new(&directory) })?;
        let mut connection = EmbeddedConnection::new(&database)?;
        for script in workload.schema() {
            connection.script(script)?;
        }
        workload.load(&mut connection)?;
        let options = SessionOptions {
            user: "hyades".to_owned(),
            database: "hyades".to_owned(),
            parameters: Vec::new(),
        };
        let mut session = database.session(options)?;
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
        let calls = calls.collect();
        Ok(Calls {
            session,
            prepared,
            calls,
            next: 0,
            answer: Answer::default(),
            directory,
            _database: database,
        })
    }

    /// Makes the next calls; returns how many were refused, as some of New-Order are.
    ///
    /// # Errors
    /// More calls than there are arguments for; a call that fails.
    pub fn make(&mut self, count: usize) -> Result<usize> {
        let mut refused = 0;
        for _ in 0..count {
            let (call, values) = self.calls.get(self.next).context("no more calls")?;
            self.next += 1;
            let (session, prepared, answer) = (&mut self.session, &self.prepared[*call], &mut self.answer);
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

impl Drop for Calls {
    fn drop(&mut self) {
        // A directory in the system's place for such things: nothing is lost if it stays.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
