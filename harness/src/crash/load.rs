//! The load of a round: eight ledger clients, one reader, one client that alters the ledger's table, and the
//! real pgbench with eight clients, until the server or its disk fails.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use postgres::types::Type;
use postgres::{Client, Statement};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::aside::Aside;
use super::end::{End, Stopped, classify};
use super::ledger::{CLIENTS, Ledger, Marker, Outcome};
use super::schema::{self, Alterer};
use crate::pgbench;
use crate::server::{Instance, RunningServer};

/// How many of a hundred transactions end in ROLLBACK on purpose.
const ROLLBACK_PERCENT: u32 = 5;
/// How many of a hundred update branch and teller in the opposite order, so that deadlocks happen and
/// transactions begin again.
const OTHER_ORDER_PERCENT: u32 = 10;
/// Clients notice a killed server at once. If one does not, a server process is left over.
const END_LIMIT: Duration = Duration::from_secs(10);

/// The clients that do not always run, and options of all.
#[derive(Clone, Copy, Default)]
pub(super) struct Others {
    /// A client alters the ledger's table.
    pub(super) alters: bool,
    /// A client writes to a table of its own.
    pub(super) writes_aside: bool,
    /// Half of the ledger's transactions are calls of one procedure.
    pub(super) calls: bool,
    /// The server's disk ends before the server does.
    pub(super) loses_disk: bool,
}

pub(super) struct Load {
    threads: Vec<JoinHandle<Result<Outcome>>>,
    pgbench: pgbench::Background,
    end: Arc<End>,
}

impl Load {
    /// Connects all clients and starts them.
    pub(super) fn start(instance: &Instance, ledger: &Ledger, seed: u64, others: Others) -> Result<Load> {
        let end = Arc::new(End::new(others.loses_disk));
        let mut random = StdRng::seed_from_u64(seed);
        let mut threads = Vec::new();
        if others.writes_aside {
            // Connected before the others, which take a while to connect.
            let aside = Aside::new(instance.connect()?, Arc::clone(&end), &ledger.aside);
            threads.push(std::thread::spawn(move || aside.run()));
        }
        for number in 0..CLIENTS {
            let first = ledger.next_sequence[number].max(1);
            let mut teller =
                Teller::new(instance.connect()?, number, first, random.random(), Arc::clone(&end))?;
            if others.calls {
                teller.prepare_call()?;
            }
            threads.push(std::thread::spawn(move || teller.run()));
        }
        let reader = Reader::new(instance.connect()?, Arc::clone(&end))?;
        threads.push(std::thread::spawn(move || reader.run()));
        if others.alters {
            let alterer = Alterer::new(instance.connect()?, Arc::clone(&end), ledger.generation);
            threads.push(std::thread::spawn(move || alterer.run()));
        }
        let run = pgbench::Run {
            clients: CLIENTS as u32,
            threads: 2,
            seconds: 3600,
            script: ["-b", "tpcb-like"].map(str::to_owned).to_vec(),
            more: vec!["--max-tries=100".to_owned()],
        };
        Ok(Load { threads, pgbench: pgbench::Background::start(instance, &run)?, end })
    }

    /// Checks that everything is still running, and announces the kill.
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
        self.end.announce();
        Ok(self)
    }

    /// Waits until every client has been refused or has lost its connection. Returns whether that happened in
    /// time.
    pub(super) fn wait_refused(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while !self.threads.iter().all(JoinHandle::is_finished) {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// After the kill: returns what every client knows.
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

/// A ledger client: TPC-B as pgbench does it, plus a marker.
struct Teller {
    client: Client,
    statements: Statements,
    random: StdRng,
    end: Arc<End>,
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
    /// The statement that does all of it in one call, if there are calls.
    call: Option<Statement>,
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
            call: None,
        })
    }
}

impl Teller {
    fn new(mut client: Client, number: usize, first: i64, seed: u64, end: Arc<End>) -> Result<Teller> {
        let statements = Statements::prepare(&mut client)?;
        let outcome = Outcome { client: number, next_sequence: first, ..Outcome::default() };
        Ok(Teller { client, statements, random: StdRng::seed_from_u64(seed), end, outcome })
    }

    fn run(mut self) -> Result<Outcome> {
        loop {
            let sequence = self.outcome.next_sequence;
            self.outcome.next_sequence += 1;
            match self.transaction((self.outcome.client as i32, sequence))? {
                Ok(()) => {}
                Err(Stopped::Retry) => {
                    self.outcome.retries += 1;
                    // The transaction has failed. If the server is gone, the next BEGIN reports it.
                    let _ = self.client.batch_execute("rollback");
                }
                Err(Stopped::Disconnected) => return Ok(self.outcome),
            }
        }
    }

    fn prepare_call(&mut self) -> Result<()> {
        let types = [Type::INT4, Type::INT8, Type::INT4, Type::INT4, Type::INT4];
        let statement = self.client.prepare_typed(schema::CALL, &types).context(schema::CALL)?;
        self.statements.call = Some(statement);
        Ok(())
    }

    fn transaction(&mut self, marker: Marker) -> Result<std::result::Result<(), Stopped>> {
        let delta: i32 = self.random.random_range(-5000..=5000);
        if self.statements.call.is_some() && self.random.random_bool(0.5) {
            let called = self.call(marker, delta);
            return self.learn(marker, delta, called);
        }
        if let Err(error) = self.before_commit(marker, delta) {
            return self.classify(&error).map(Err);
        }
        if self.random.random_range(0..100) < ROLLBACK_PERCENT {
            return match self.client.batch_execute("rollback") {
                Ok(()) => Ok(Ok(())),
                Err(error) => self.classify(&error).map(Err),
            };
        }
        let committed = self.client.batch_execute("commit");
        self.learn(marker, delta, committed)
    }

    /// Records the outcome of a transaction that was to be committed.
    fn learn(
        &mut self,
        marker: Marker,
        delta: i32,
        committed: std::result::Result<(), postgres::Error>,
    ) -> Result<std::result::Result<(), Stopped>> {
        match committed {
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

    fn call(&mut self, (number, sequence): Marker, delta: i32) -> std::result::Result<(), postgres::Error> {
        let account: i32 = self.random.random_range(1..=100_000);
        let teller: i32 = self.random.random_range(1..=10);
        match &self.statements.call {
            Some(call) => {
                self.client.execute(call, &[&number, &sequence, &delta, &account, &teller]).map(|_| ())
            }
            None => Ok(()),
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
        classify(error, &self.client, &self.end)
    }
}

/// Reads the counters one at a time, each in its own transaction: what an answer has shown must survive.
struct Reader {
    client: Client,
    statement: Statement,
    end: Arc<End>,
}

impl Reader {
    fn new(mut client: Client, end: Arc<End>) -> Result<Reader> {
        let sql = "select sequence from crash_counter where client = $1";
        let statement =
            client.prepare_typed(sql, &[Type::INT4]).with_context(|| format!("cannot prepare: {sql}"))?;
        Ok(Reader { client, statement, end })
    }

    fn run(mut self) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        for number in (0..CLIENTS).cycle() {
            let row = self.client.query_one(&self.statement, &[&(number as i32)]);
            match row.and_then(|row| row.try_get(0)) {
                Ok(sequence) => outcome.seen[number] = outcome.seen[number].max(sequence),
                Err(error) => match classify(&error, &self.client, &self.end)? {
                    Stopped::Retry => outcome.retries += 1,
                    Stopped::Disconnected => break,
                },
            }
        }
        Ok(outcome)
    }
}
