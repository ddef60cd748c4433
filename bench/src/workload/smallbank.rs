//! SmallBank: six short transactions (`bench/workloads/smallbank.sql`), in the shares of OLTP-Bench.

use std::fmt::Write;

use anyhow::Result;
use compact_str::{CompactString, format_compact};
use rand::RngExt;
use rand::rngs::SmallRng;

use super::{Argument, Call, Calls, Connection, Parameter, Request, Violation, Workload};
use crate::generator::{Zipf, random_for};

#[derive(Clone, Copy, Debug)]
pub struct SmallBank {
    pub customers: u64,
    pub theta: f64,
}

/// In cents.
const FIRST_BALANCE: i64 = 1_000_000;
const NEGATIVE: &[&str] = &["23514"];

const CALLS: &[Call] = &[
    Call {
        name: "balance",
        sql: "CALL smallbank_balance($1, NULL)",
        parameters: &[Parameter::Text],
        refusals: &[],
    },
    Call {
        name: "deposit_checking",
        sql: "CALL smallbank_deposit_checking($1, $2)",
        parameters: &[Parameter::Text, Parameter::BigInt],
        refusals: &[],
    },
    Call {
        name: "transact_savings",
        sql: "CALL smallbank_transact_savings($1, $2)",
        parameters: &[Parameter::Text, Parameter::BigInt],
        refusals: NEGATIVE,
    },
    Call {
        name: "amalgamate",
        sql: "CALL smallbank_amalgamate($1, $2)",
        parameters: &[Parameter::Text, Parameter::Text],
        refusals: &[],
    },
    Call {
        name: "write_check",
        sql: "CALL smallbank_write_check($1, $2)",
        parameters: &[Parameter::Text, Parameter::BigInt],
        refusals: &[],
    },
    Call {
        name: "send_payment",
        sql: "CALL smallbank_send_payment($1, $2, $3)",
        parameters: &[Parameter::Text, Parameter::Text, Parameter::BigInt],
        refusals: NEGATIVE,
    },
];

/// Shares of the calls, in per cent.
const SHARES: [u32; 6] = [15, 15, 15, 15, 15, 25];

struct Stream {
    random: SmallRng,
    zipf: Zipf,
}

fn name(customer: u64) -> CompactString {
    format_compact!("c{customer:07}")
}

impl Workload for SmallBank {
    fn name(&self) -> &'static str {
        "smallbank"
    }

    fn schema(&self) -> Vec<&'static str> {
        vec![include_str!("../../workloads/smallbank.sql")]
    }

    fn load(&self, _part: u64, connection: &mut dyn Connection) -> Result<()> {
        // Writing into a String cannot fail.
        super::copy_rows(connection, "account", self.customers, |row, line| {
            let _ = write!(line, "{}\t{row}", name(row));
        })?;
        for table in ["savings", "checking"] {
            super::copy_rows(connection, table, self.customers, |row, line| {
                let _ = write!(line, "{row}\t{FIRST_BALANCE}");
            })?;
        }
        Ok(())
    }

    fn calls(&self) -> &'static [Call] {
        CALLS
    }

    fn stream(&self, worker: u64, _workers: u64, seed: u64) -> Box<dyn Calls> {
        Box::new(Stream { random: random_for(&[seed, worker]), zipf: Zipf::new(self.customers, self.theta) })
    }

    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Violation>> {
        let mut violations = Vec::new();
        for table in ["account", "savings", "checking"] {
            super::require_rows(connection, &mut violations, table, self.customers)?;
        }
        let negative = connection.number("SELECT count(*) FROM savings WHERE balance < 0")?;
        super::require(&mut violations, "savings are never negative", negative == 0, || {
            format!("{negative} are")
        });
        Ok(violations)
    }

    fn describe(&self) -> String {
        format!("{} customers, theta {}", self.customers, self.theta)
    }
}

impl Calls for Stream {
    fn next(&mut self, request: &mut Request) {
        let mut draw = self.random.random_range(0..100_u32);
        request.call = SHARES
            .iter()
            .position(|share| {
                let is_here = draw < *share;
                draw = draw.saturating_sub(*share);
                is_here
            })
            .unwrap_or(0);
        request.is_read_only = request.call == 0;
        request.arguments.clear();
        for parameter in CALLS[request.call].parameters {
            let argument = match parameter {
                Parameter::Text => loop {
                    let name = Argument::Text(name(self.zipf.key(&mut self.random)));
                    if request.arguments.first() != Some(&name) {
                        break name;
                    }
                },
                _ => Argument::BigInt(self.random.random_range(-500..=5_000_i64)),
            };
            request.arguments.push(argument);
        }
        // Only transact_savings also draws negative amounts, which take money away.
        if request.call != 2
            && let Some(Argument::BigInt(amount)) = request.arguments.last_mut()
        {
            *amount = amount.abs() + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_in_their_shares_and_fit_their_parameters() {
        let bank = SmallBank { customers: 100, theta: 0.0 };
        let mut stream = bank.stream(0, 1, 1);
        let (mut counts, mut request) = ([0_u32; 6], Request::default());
        for _ in 0..10_000 {
            stream.next(&mut request);
            counts[request.call] += 1;
            assert_eq!(request.arguments.len(), CALLS[request.call].parameters.len());
            if CALLS[request.call].parameters.get(1) == Some(&Parameter::Text) {
                assert_ne!(request.arguments[0], request.arguments[1]);
            }
        }
        for (count, share) in counts.iter().zip(SHARES) {
            assert!(count.abs_diff(share * 100) < 200, "{counts:?}");
        }
    }
}
