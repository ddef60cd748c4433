//! Single statements, prepared: a read and a change of one row by its key, and the seven statements of
//! pgbench's transaction (TPC-B's).

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

/// Statements over accounts, in turn.
pub(super) struct Statements {
    calls: &'static [Call],
}

impl Statements {
    pub(super) const POINT_SELECT: Statements = Statements { calls: SELECT };
    pub(super) const POINT_UPDATE: Statements = Statements { calls: UPDATE };
    pub(super) const TPCB: Statements = Statements { calls: TPCB };
}

impl Workload for Statements {
    fn name(&self) -> &'static str {
        "statements"
    }

    fn schema(&self) -> Vec<&'static str> {
        vec![SCHEMA]
    }

    fn load(&self, connection: &mut dyn Connection) -> Result<()> {
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
        format!("{ROWS} accounts")
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
    }
}
