//! Transfer: money moves between two random accounts (`bench/workloads/transfer.sql`).
//!
//! There is a second version in the engine's own language (`native`). The difference is the cost of SQL and
//! sessions.

mod native;

use std::fmt::Write;
use std::sync::Arc;

use anyhow::Result;
use hyades_engine::db::Engine;
use rand::RngExt;
use rand::rngs::SmallRng;

use super::{Argument, Call, Caller, Calls, Connection, Parameter, Request, Violation, Workload};
use crate::generator::{Zipf, random_for};

#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub accounts: u64,
    pub theta: f64,
    /// Run the procedure of `native` instead of the one in SQL.
    pub is_native: bool,
}

/// The initial balance of every account.
const FIRST_BALANCE: i64 = 1_000;

const SQL: &str = include_str!("../../workloads/transfer.sql");

const CALLS: &[Call] = &[Call {
    name: "transfer",
    sql: "CALL transfer($1, $2, $3)",
    parameters: &[Parameter::BigInt, Parameter::BigInt, Parameter::BigInt],
    refusals: &[],
}];

struct Stream {
    random: SmallRng,
    zipf: Zipf,
}

impl Workload for Transfer {
    fn name(&self) -> &'static str {
        "transfer"
    }

    fn schema(&self) -> Vec<&'static str> {
        let tables = SQL.split_once("CREATE PROCEDURE").map_or(SQL, |(tables, _)| tables);
        vec![if self.is_native { tables } else { SQL }]
    }

    fn load(&self, _part: u64, connection: &mut dyn Connection) -> Result<()> {
        super::copy_rows(connection, "account", self.accounts, |row, line| {
            // Writing into a String cannot fail.
            let _ = write!(line, "{row}\t{FIRST_BALANCE}");
        })
    }

    fn calls(&self) -> &'static [Call] {
        CALLS
    }

    fn stream(&self, worker: u64, _workers: u64, seed: u64) -> Box<dyn Calls> {
        Box::new(Stream { random: random_for(&[seed, worker]), zipf: Zipf::new(self.accounts, self.theta) })
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Violation>> {
        let mut violations = Vec::new();
        super::require_rows(connection, &mut violations, "account", self.accounts)?;
        let total = connection.number("SELECT sum(balance) FROM account")?;
        let expected = self.accounts as i64 * FIRST_BALANCE;
        super::require(&mut violations, "no money is lost or made", total == expected, || {
            format!("{total} instead of {expected}")
        });
        Ok(violations)
    }

    fn native_caller(&self, engine: &Arc<dyn Engine>) -> Result<Option<Box<dyn Caller>>> {
        if !self.is_native {
            return Ok(None);
        }
        Ok(Some(Box::new(native::NativeCaller::new(engine)?)))
    }

    fn describe(&self) -> String {
        let language = if self.is_native { "IR" } else { "SQL" };
        format!("{} accounts, theta {}, procedure in {language}", self.accounts, self.theta)
    }
}

impl Calls for Stream {
    fn next(&mut self, request: &mut Request) {
        let one = self.zipf.key(&mut self.random) as i64;
        let other = loop {
            let other = self.zipf.key(&mut self.random) as i64;
            if other != one {
                break other;
            }
        };
        let amount = self.random.random_range(-100..=100);
        request.arguments.clear();
        request.arguments.extend([one.min(other), one.max(other), amount].map(Argument::BigInt));
    }
}
