//! Single prepared statements: a read and a change of one row by its key, the seven statements of pgbench's
//! transaction (TPC-B's), those of sysbench's oltp_read_only, and a join of three tables with grouping.

use anyhow::Result;
use rand::RngExt;
use rand::rngs::SmallRng;

use crate::generator::random_for;
use crate::workload::{Argument, Call, Calls, Connection, Parameter, Request, Violation, Workload};

/// Accounts in the table.
const ROWS: u64 = 2_000;

const SCHEMA: &str = "
    CREATE TABLE accounts (id integer PRIMARY KEY, branch integer, balance integer, filler text);
    CREATE TABLE tellers (id integer PRIMARY KEY, branch integer, balance integer);
    CREATE TABLE branches (id integer PRIMARY KEY, balance integer);
    CREATE TABLE history (teller integer, branch integer, account integer, delta integer, moment timestamp);
    INSERT INTO tellers VALUES (1, 1, 0);
    INSERT INTO branches VALUES (1, 0);";

/// sysbench's table, and the number of its rows in a range.
const SYSBENCH: &str = "
    CREATE TABLE sbtest (
        id integer PRIMARY KEY, k integer NOT NULL, c char(120) NOT NULL, pad char(60) NOT NULL);
    CREATE INDEX ON sbtest (k);
    INSERT INTO sbtest
        SELECT i, i % 997, left(repeat(md5(i::text), 4), 120), md5(i::text) FROM generate_series(1, 2000) i;";
const RANGE: i32 = 100;

/// The tables of the join in `cargo xtask bench`, with fewer rows.
const JOINED: &str = "
    CREATE TABLE j1 AS SELECT i AS id, i % 1000 AS g, i % 2000 AS k FROM generate_series(1, 20000) i;
    CREATE TABLE j2 AS SELECT i AS k, i % 100 AS m FROM generate_series(0, 1999) i;
    CREATE TABLE j3 AS SELECT i AS m, 'n' || i AS name FROM generate_series(0, 99) i;
    ALTER TABLE j2 ADD PRIMARY KEY (k);
    ALTER TABLE j3 ADD PRIMARY KEY (m);";

const fn call(name: &'static str, sql: &'static str, parameters: &'static [Parameter]) -> Call {
    Call { name, sql, parameters, refusals: &[] }
}

const ONE: &[Parameter] = &[Parameter::Integer];
const TWO: &[Parameter] = &[Parameter::Integer, Parameter::Integer];

const SELECT: &[Call] = &[call("point_select", "SELECT balance FROM accounts WHERE id = $1", ONE)];
const UPDATE: &[Call] =
    &[call("point_update", "UPDATE accounts SET balance = balance + $2 WHERE id = $1", TWO)];
const TPCB: &[Call] = &[
    call("begin", "BEGIN", &[]),
    call("account", "UPDATE accounts SET balance = balance + $2 WHERE id = $1", TWO),
    call("read", "SELECT balance FROM accounts WHERE id = $1", ONE),
    call("teller", "UPDATE tellers SET balance = balance + $2 WHERE id = $1", TWO),
    call("branch", "UPDATE branches SET balance = balance + $2 WHERE id = $1", TWO),
    call("history", "INSERT INTO history VALUES (1, 1, $1, $2, CURRENT_TIMESTAMP)", TWO),
    call("end", "END", &[]),
];

const POINT: Call = call("point", "SELECT c FROM sbtest WHERE id = $1", ONE);
const READ_ONLY: &[Call] = &[
    call("begin", "BEGIN", &[]),
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    POINT,
    call("range", "SELECT c FROM sbtest WHERE id BETWEEN $1 AND $2", TWO),
    call("range", "SELECT sum(k) FROM sbtest WHERE id BETWEEN $1 AND $2", TWO),
    call("range", "SELECT c FROM sbtest WHERE id BETWEEN $1 AND $2 ORDER BY c", TWO),
    call("range", "SELECT DISTINCT c FROM sbtest WHERE id BETWEEN $1 AND $2 ORDER BY c", TWO),
    call("end", "COMMIT", &[]),
];
const JOIN: &[Call] = &[call(
    "join",
    "SELECT j3.name, sum(j1.g), count(*) FROM j1 JOIN j2 USING (k) JOIN j3 USING (m) GROUP BY j3.name",
    &[],
)];

/// Runs the statements in turn.
pub(super) struct Statements {
    schema: &'static str,
    calls: &'static [Call],
}

impl Statements {
    pub(super) const POINT_SELECT: Statements = Statements { schema: SCHEMA, calls: SELECT };
    pub(super) const POINT_UPDATE: Statements = Statements { schema: SCHEMA, calls: UPDATE };
    pub(super) const TPCB: Statements = Statements { schema: SCHEMA, calls: TPCB };
    pub(super) const READ_ONLY: Statements = Statements { schema: SYSBENCH, calls: READ_ONLY };
    pub(super) const JOIN: Statements = Statements { schema: JOINED, calls: JOIN };

    fn has_accounts(&self) -> bool {
        self.schema.contains("accounts")
    }
}

impl Workload for Statements {
    fn name(&self) -> &'static str {
        "statements"
    }

    fn schema(&self) -> Vec<&'static str> {
        vec![self.schema]
    }

    fn load(&self, _part: u64, connection: &mut dyn Connection) -> Result<()> {
        if !self.has_accounts() {
            return Ok(());
        }
        crate::workload::copy_rows(connection, "accounts", ROWS, |row, line| {
            line.push_str(&format!("{}\t1\t0\tfiller", row + 1));
        })
    }

    fn calls(&self) -> &'static [Call] {
        self.calls
    }

    fn stream(&self, worker: u64, _workers: u64, seed: u64) -> Box<dyn Calls> {
        Box::new(Stream { random: random_for(&[seed, worker]), calls: self.calls, next: 0 })
    }

    fn check(&self, _connection: &mut dyn Connection) -> Result<Vec<Violation>> {
        Ok(Vec::new())
    }

    fn describe(&self) -> String {
        if self.has_accounts() { format!("{ROWS} accounts") } else { "tables of statements".to_owned() }
    }
}

struct Stream {
    random: SmallRng,
    calls: &'static [Call],
    next: usize,
}

impl Calls for Stream {
    fn next(&mut self, request: &mut Request) {
        let call = &self.calls[self.next];
        request.call = self.next;
        self.next = (self.next + 1) % self.calls.len();
        request.arguments.clear();
        // Tellers and branches have one row.
        let rows = if matches!(call.name, "teller" | "branch") { 1 } else { ROWS as i32 };
        for place in 0..call.parameters.len() {
            let number = self.random.random_range(1..=if place == 0 { rows } else { 5_000 });
            request.arguments.push(Argument::Integer(number));
        }
        if call.name == "range" {
            let first = self.random.random_range(1..=ROWS as i32 - RANGE);
            request.arguments = vec![Argument::Integer(first), Argument::Integer(first + RANGE - 1)];
        }
    }
}
