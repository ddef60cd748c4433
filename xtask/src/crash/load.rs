//! The load of a round: eight ledger clients, one reader, one that alters the ledger's table, and the real
//! pgbench with eight clients, until the server dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use postgres::error::SqlState;
use postgres::types::Type;
use postgres::{Client, Statement};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::aside::Aside;
use super::ledger::{CLIENTS, Ledger, Marker, Outcome};
use super::schema::Alterer;
use crate::pgbench;
use crate::server::{Instance, RunningServer};

/// How many transactions of a hundred end in ROLLBACK on purpose.
const ROLLBACK_PERCENT: u32 = 5;
/// How many of a hundred update branch and teller in the other order, so that deadlocks happen and
/// transactions begin again.
const OTHER_ORDER_PERCENT: u32 = 10;
/// Clients notice a killed server at once; one that does not has a server process left over.
const END_LIMIT: Duration = Duration::from_secs(10);

/// Who is at work beside those who always are.
#[derive(Clone, Copy)]
pub(super) struct Others {
    /// Somebody alters the ledger's table.
    pub(super) alters: bool,
    /// Somebody writes where nobody else does.
    pub(super) writes_aside: bool,
}

pub(super) struct Load {
    threads: Vec<JoinHandle<Result<Outcome>>>,
    pgbench: pgbench::Background,
    /// Set when the server is about to be killed: from then on a lost connection is no mistake.
    killing: Arc<AtomicBool>,
}

impl Load {
    /// Connects all clients and starts them.
    pub(super) fn start(instance: &Instance, ledger: &Ledger, seed: u64, others: Others) -> Result<Load> {
        let killing = Arc::new(AtomicBool::new(false));
        let mut random = StdRng::seed_from_u64(seed);
        let mut threads = Vec::new();
        if others.writes_aside {
            // Before the others: they take a while to connect.
            let aside = Aside::new(instance.connect()?, Arc::clone(&killing), &ledger.aside);
            threads.push(std::thread::spawn(move || aside.run()));
        }
        for number in 0..CLIENTS {
            let first = ledger.next_sequence[number].max(1);
            let teller =
                Teller::new(instance.connect()?, number, first, random.random(), Arc::clone(&killing))?;
            threads.push(std::thread::spawn(move || teller.run()));
        }
        let reader = Reader::new(instance.connect()?, Arc::clone(&killing))?;
        threads.push(std::thread::spawn(move || reader.run()));
        if others.alters {
            let alterer = Alterer::new(instance.connect()?, Arc::clone(&killing), ledger.generation);
            threads.push(std::thread::spawn(move || alterer.run()));
        }
        let run = pgbench::Run {
            clients: CLIENTS as u32,
            threads: 2,
            seconds: 3600,
            script: ["-b", "tpcb-like"].map(str::to_owned).to_vec(),
            more: vec!["--max-tries=100".to_owned()],
        };
        Ok(Load { threads, pgbench: pgbench::Background::start(instance, &run)?, killing })
    }

    /// Everything must still be at work; announces the kill.
    pub(super) fn expect_running(mut self, server: &mut RunningServer) -> Result<Load> {
        if !server.is_running() {
            bail!("the server ended by itself under load\n{}", server.log_tail());
        }
        self.pgbench.expect_running()?;
        if let Some(ended) = self.threads.iter().position(JoinHandle::is_finished) {
            return match self.threads.swap_remove(ended).join() {
                Ok(Err(error)) => Err(error.context("a client failed while the server was running")),
                _ => bail!("a client ended while the server was running"),
            };
        }
        self.killing.store(true, Ordering::SeqCst);
        Ok(self)
    }

    /// After the kill: what every client knows.
    pub(super) fn finish(mut self) -> Result<Vec<Outcome>> {
        self.pgbench.finish()?;
        let deadline = Instant::now() + END_LIMIT;
        let mut outcomes = Vec::new();
        for thread in self.threads {
            while !thread.is_finished() {
                if Instant::now() > deadline {
                    bail!("a client still waits {} s after the server was killed", END_LIMIT.as_secs());
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            match thread.join() {
                Ok(outcome) => outcomes.push(outcome?),
                Err(_) => bail!("a client panicked"),
            }
        }
        Ok(outcomes)
    }
}

/// Why a step of a transaction did not succeed.
pub(super) enum Stopped {
    /// The server is gone.
    Disconnected,
    /// A conflict: begin again.
    Retry,
}

/// A ledger client: TPC-B as pgbench does it, plus a marker.
struct Teller {
    client: Client,
    statements: Statements,
    random: StdRng,
    killing: Arc<AtomicBool>,
    outcome: Outcome,
}

struct Statements {
    account: Statement,
    balance: Statement,
    teller: Statement,
    branch: Statement,
    history: Statement,
    ledger: Statement,
    counter: Statement,
}

impl Statements {
    fn prepare(client: &mut Client) -> Result<Statements> {
        const INT: Type = Type::INT4;
        let mut prepare = |sql: &str, types: &[Type]| {
            client.prepare_typed(sql, types).with_context(|| format!("cannot prepare: {sql}"))
        };
        Ok(Statements {
            account: prepare(
                "update pgbench_accounts set abalance = abalance + $1 where aid = $2",
                &[INT, INT],
            )?,
            balance: prepare("select abalance from pgbench_accounts where aid = $1", &[INT])?,
            teller: prepare(
                "update pgbench_tellers set tbalance = tbalance + $1 where tid = $2",
                &[INT, INT],
            )?,
            branch: prepare(
                "update pgbench_branches set bbalance = bbalance + $1 where bid = $2",
                &[INT, INT],
            )?,
            history: prepare(
                "insert into pgbench_history (tid, bid, aid, delta, mtime) values ($1, $2, $3, $4, current_timestamp)",
                &[INT, INT, INT, INT],
            )?,
            ledger: prepare(
                "insert into crash_ledger (client, sequence, delta) values ($1, $2, $3)",
                &[INT, Type::INT8, INT],
            )?,
            counter: prepare("update crash_counter set sequence = $1 where client = $2", &[Type::INT8, INT])?,
        })
    }
}

impl Teller {
    fn new(
        mut client: Client,
        number: usize,
        first: i64,
        seed: u64,
        killing: Arc<AtomicBool>,
    ) -> Result<Teller> {
        let statements = Statements::prepare(&mut client)?;
        let outcome = Outcome { client: number, next_sequence: first, ..Outcome::default() };
        Ok(Teller { client, statements, random: StdRng::seed_from_u64(seed), killing, outcome })
    }

    fn run(mut self) -> Result<Outcome> {
        loop {
            let sequence = self.outcome.next_sequence;
            self.outcome.next_sequence += 1;
            match self.transaction((self.outcome.client as i32, sequence))? {
                Ok(()) => {}
                Err(Stopped::Retry) => {
                    self.outcome.retries += 1;
                    // The transaction has failed; if the server is gone, the next BEGIN says so.
                    let _ = self.client.batch_execute("rollback");
                }
                Err(Stopped::Disconnected) => return Ok(self.outcome),
            }
        }
    }

    fn transaction(&mut self, marker: Marker) -> Result<std::result::Result<(), Stopped>> {
        let delta: i32 = self.random.random_range(-5000..=5000);
        if let Err(error) = self.before_commit(marker, delta) {
            return self.classify(&error).map(Err);
        }
        if self.random.random_range(0..100) < ROLLBACK_PERCENT {
            return match self.client.batch_execute("rollback") {
                Ok(()) => Ok(Ok(())),
                Err(error) => self.classify(&error).map(Err),
            };
        }
        match self.client.batch_execute("commit") {
            Ok(()) => {
                self.outcome.acknowledged.push((marker, delta));
                Ok(Ok(()))
            }
            Err(error) => {
                let stopped = self.classify(&error)?;
                if matches!(stopped, Stopped::Disconnected) {
                    self.outcome.undecided = Some((marker, delta));
                }
                Ok(Err(stopped))
            }
        }
    }

    fn before_commit(
        &mut self,
        (number, sequence): Marker,
        delta: i32,
    ) -> std::result::Result<(), postgres::Error> {
        let account: i32 = self.random.random_range(1..=100_000);
        let teller: i32 = self.random.random_range(1..=10);
        let branch = 1_i32;
        let (client, statements) = (&mut self.client, &self.statements);
        client.batch_execute("begin")?;
        client.execute(&statements.account, &[&delta, &account])?;
        client.query_one(&statements.balance, &[&account])?;
        let mut updates = [(&statements.teller, teller), (&statements.branch, branch)];
        if self.random.random_range(0..100) < OTHER_ORDER_PERCENT {
            updates.reverse();
        }
        for (update, id) in updates {
            client.execute(update, &[&delta, &id])?;
        }
        client.execute(&statements.history, &[&teller, &branch, &account, &delta])?;
        client.execute(&statements.ledger, &[&number, &sequence, &delta])?;
        client.execute(&statements.counter, &[&sequence, &number])?;
        Ok(())
    }

    fn classify(&self, error: &postgres::Error) -> Result<Stopped> {
        classify(error, &self.client, &self.killing)
    }
}

/// A conflict may be retried; a lost connection is right only when the server is being killed; anything else
/// is a mistake.
pub(super) fn classify(error: &postgres::Error, client: &Client, killing: &AtomicBool) -> Result<Stopped> {
    match error.code() {
        Some(code)
            if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED =>
        {
            Ok(Stopped::Retry)
        }
        // What PostgreSQL's processes still say when the one they belong to has been killed.
        Some(code) if *code == SqlState::ADMIN_SHUTDOWN && killing.load(Ordering::SeqCst) => {
            Ok(Stopped::Disconnected)
        }
        Some(code) => bail!("the server refused a transaction: {} ({})", error_text(error), code.code()),
        None if error.is_closed() || client.is_closed() => {
            // The kill is announced before it happens, so this cannot be early.
            if !killing.load(Ordering::SeqCst) {
                bail!("the server closed a connection: {}", error_text(error));
            }
            Ok(Stopped::Disconnected)
        }
        None if killing.load(Ordering::SeqCst) => Ok(Stopped::Disconnected),
        None => bail!("a client failed: {}", error_text(error)),
    }
}

fn error_text(error: &postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |database| database.message().to_owned())
}

/// Reads the counters one at a time, each in a transaction of its own: what an answer has shown must survive.
struct Reader {
    client: Client,
    statement: Statement,
    killing: Arc<AtomicBool>,
}

impl Reader {
    fn new(mut client: Client, killing: Arc<AtomicBool>) -> Result<Reader> {
        let sql = "select sequence from crash_counter where client = $1";
        let statement =
            client.prepare_typed(sql, &[Type::INT4]).with_context(|| format!("cannot prepare: {sql}"))?;
        Ok(Reader { client, statement, killing })
    }

    fn run(mut self) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        for number in (0..CLIENTS).cycle() {
            let row = self.client.query_one(&self.statement, &[&(number as i32)]);
            match row.and_then(|row| row.try_get(0)) {
                Ok(sequence) => outcome.seen[number] = outcome.seen[number].max(sequence),
                Err(error) => match classify(&error, &self.client, &self.killing)? {
                    Stopped::Retry => outcome.retries += 1,
                    Stopped::Disconnected => break,
                },
            }
        }
        Ok(outcome)
    }
}
