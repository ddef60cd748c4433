//! The bank of the PACMAN paper: transfers to a spouse and deposits, half each (`bench/workloads/bank.sql`).
//!
//! Nine out of ten customers are married to their neighbour. The others have no spouse, and their transfers
//! do nothing.

use std::fmt::Write;

use anyhow::Result;
use rand::RngExt;
use rand::rngs::SmallRng;

use super::{Argument, Call, Calls, Connection, Parameter, Request, Violation, Workload};
use crate::generator::{Zipf, random_for};

#[derive(Clone, Copy, Debug)]
pub struct Bank {
    pub customers: u64,
    pub theta: f64,
}

const NATIONS: u64 = 200;
/// In cents, so that some deposits exceed the limit for a bonus of 10,000 dollars.
const FIRST_VALUE: i64 = 900_000;

const CALLS: &[Call] = &[
    Call {
        name: "bank_transfer",
        sql: "CALL bank_transfer($1, $2)",
        parameters: &[Parameter::Integer, Parameter::BigInt],
        refusals: &[],
    },
    Call {
        name: "bank_deposit",
        sql: "CALL bank_deposit($1, $2, $3)",
        parameters: &[Parameter::Integer, Parameter::BigInt, Parameter::Integer],
        refusals: &[],
    },
];

struct Stream {
    customers: u64,
    random: SmallRng,
    zipf: Zipf,
}

/// The neighbour of an even number is the next one.
fn spouse(customer: u64, customers: u64) -> Option<u64> {
    let neighbour = customer ^ 1;
    (neighbour < customers && !(customer / 2).is_multiple_of(10)).then_some(neighbour)
}

impl Workload for Bank {
    fn name(&self) -> &'static str {
        "bank"
    }

    fn schema(&self) -> Vec<&'static str> {
        vec![include_str!("../../workloads/bank.sql")]
    }

    fn load(&self, _part: u64, connection: &mut dyn Connection) -> Result<()> {
        // Writing into a String cannot fail.
        super::copy_rows(connection, "spouse", self.customers, |row, line| {
            let _ = match spouse(row, self.customers) {
                Some(spouse) => write!(line, "{row}\t{spouse}"),
                None => write!(line, "{row}\t\\N"),
            };
        })?;
        for table in ["current_account", "saving_account"] {
            super::copy_rows(connection, table, self.customers, |row, line| {
                let _ = write!(line, "{row}\t{FIRST_VALUE}");
            })?;
        }
        super::copy_rows(connection, "nation_stats", NATIONS, |row, line| {
            let _ = write!(line, "{row}\t0");
        })
    }

    fn calls(&self) -> &'static [Call] {
        CALLS
    }

    fn stream(&self, worker: u64, _workers: u64, seed: u64) -> Box<dyn Calls> {
        Box::new(Stream {
            customers: self.customers,
            random: random_for(&[seed, worker]),
            zipf: Zipf::new(self.customers, self.theta),
        })
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Violation>> {
        let mut violations = Vec::new();
        for (table, rows) in [
            ("spouse", self.customers),
            ("current_account", self.customers),
            ("saving_account", self.customers),
            ("nation_stats", NATIONS),
        ] {
            super::require_rows(connection, &mut violations, table, rows)?;
        }
        Ok(violations)
    }

    fn describe(&self) -> String {
        format!("{} customers, theta {}", self.customers, self.theta)
    }
}

impl Calls for Stream {
    fn next(&mut self, request: &mut Request) {
        let key = self.zipf.key(&mut self.random);
        let customer = key as i32;
        request.arguments.clear();
        request.arguments.push(Argument::Integer(customer));
        request.arguments.push(Argument::BigInt(self.random.random_range(1..=10_000)));
        request.call = usize::from(self.random.random_bool(0.5));
        // A customer without a spouse transfers nothing.
        request.is_read_only = request.call == 0 && spouse(key, self.customers).is_none();
        if request.call == 1 {
            request.arguments.push(Argument::Integer(customer % NATIONS as i32));
        }
    }
}
