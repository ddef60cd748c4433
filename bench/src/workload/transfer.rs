//! Transfer: money moves between two random accounts (`bench/workloads/transfer.sql`).
//!
//! There is a second version in the engine's own language ([`crate::accounts`]). The difference is the cost
//! of SQL and sessions.

use std::fmt::Write;
use std::sync::Arc;

use anyhow::Result;
use hyades_engine::db::Engine;
use hyades_engine::procedure::frame::Frame;
use hyades_types::value::Value;
use rand::RngExt;
use rand::rngs::SmallRng;

use super::{Argument, Call, Caller, Calls, Connection, Parameter, Request, Violation, Workload};
use crate::accounts::{self, FIRST_BALANCE};
use crate::generator::{Zipf, random_for};
use crate::pipelined_client::Client;
use crate::target::Ended;

#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub accounts: u64,
    pub theta: f64,
    /// Run the procedure of [`crate::accounts`] instead of the one in SQL.
    pub is_native: bool,
}

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

    fn load(&self, connection: &mut dyn Connection) -> Result<()> {
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
        let procedure = accounts::transfer(&accounts::find(engine)?);
        let frame = Frame::new(Arc::new(procedure));
        Ok(Some(Box::new(NativeCaller { client: Client::new(engine), frame })))
    }

    fn describe(&self) -> String {
        let language = if self.is_native { "IR" } else { "SQL" };
        format!("{} accounts, theta {}, procedure in {language}", self.accounts, self.theta)
    }
}

struct NativeCaller {
    client: Client,
    frame: Frame,
}

impl Caller for NativeCaller {
    fn call(&mut self, request: &Request) -> Result<Ended> {
        for (register, argument) in self.frame.registers.iter_mut().zip(&request.arguments) {
            if let Argument::BigInt(number) = argument {
                *register = Value::BigInt(*number);
            }
        }
        let before = self.client.retries;
        let durability = self.client.call(&mut self.frame)?;
        Ok(Ended { durability, retries: self.client.retries - before, is_refused: false })
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
