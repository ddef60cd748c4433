//! The transfer workload: every worker moves money between two random accounts, as fast as it can, durably.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use hyades_engine::db::Engine;
use hyades_engine::procedure::frame::Frame;
use hyades_engine::procedure::ir::Procedure;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::Value;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::accounts::{self, Audit, FIRST_BALANCE};
use crate::pipelined_client::{Client, Pipeline};

/// Unacknowledged transactions of one worker. A client that waits for each would measure its own round trip.
const IN_FLIGHT: usize = 4096;
/// The clock is read once in this many transactions.
const CLOCK_INTERVAL: u64 = 64;

/// When a worker stops.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    Elapsed(Duration),
    /// Transactions of each worker.
    Transactions(u64),
}

/// The results of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Durable transactions of all workers.
    pub transactions: u64,
    pub retries: u64,
    /// From the common start until the last worker had drained.
    pub seconds: f64,
}

impl Outcome {
    pub fn per_second(&self) -> f64 {
        self.transactions as f64 / self.seconds
    }
}

/// Runs `workers` threads to the end. They start at the same time. Runs with the same seed make the same
/// transfers.
pub fn run(
    engine: &Arc<dyn Engine>,
    accounts: u64,
    workers: u64,
    until: Until,
    seed: u64,
) -> Result<Outcome> {
    let procedure = Arc::new(accounts::transfer(&accounts::find(engine)?));
    let barrier = Arc::new(Barrier::new(workers as usize + 1));
    let threads: Vec<_> = (0..workers)
        .map(|worker| {
            let (engine, procedure, barrier) =
                (Arc::clone(engine), Arc::clone(&procedure), Arc::clone(&barrier));
            let random = SmallRng::seed_from_u64(seed.wrapping_mul(1_000).wrapping_add(worker));
            std::thread::spawn(move || {
                barrier.wait();
                work(&engine, procedure, accounts, until, random)
            })
        })
        .collect();
    barrier.wait();
    let start = Instant::now();
    let mut outcome = Outcome::default();
    for thread in threads {
        let (transactions, retries) = thread
            .join()
            .map_err(|_| Error::fatal(sqlstate::INTERNAL_ERROR, "a worker of the benchmark panicked"))??;
        outcome.transactions += transactions;
        outcome.retries += retries;
    }
    outcome.seconds = start.elapsed().as_secs_f64();
    Ok(outcome)
}

fn work(
    engine: &Arc<dyn Engine>,
    procedure: Arc<Procedure>,
    accounts: u64,
    until: Until,
    mut random: SmallRng,
) -> Result<(u64, u64)> {
    let mut client = Client::new(engine);
    let mut frame = Frame::new(procedure);
    let mut pipeline = Pipeline::new(IN_FLIGHT);
    let start = Instant::now();
    for done in 0_u64.. {
        let is_over = match until {
            Until::Elapsed(limit) => done.is_multiple_of(CLOCK_INTERVAL) && start.elapsed() >= limit,
            Until::Transactions(limit) => done == limit,
        };
        if is_over {
            break;
        }
        let (low, high) = two_accounts(&mut random, accounts);
        frame.registers[0] = Value::BigInt(low as i64);
        frame.registers[1] = Value::BigInt(high as i64);
        frame.registers[2] = Value::BigInt(random.random_range(-100..=100));
        pipeline.push(client.call(&mut frame)?)?;
    }
    pipeline.drain()?;
    Ok((pipeline.durable, client.retries))
}

/// Two different accounts, the smaller number first.
fn two_accounts(random: &mut SmallRng, accounts: u64) -> (u64, u64) {
    let one = random.random_range(0..accounts);
    let other = random.random_range(0..accounts - 1);
    let other = if other >= one { other + 1 } else { other };
    (one.min(other), one.max(other))
}

/// An error if money or accounts were lost or made.
pub fn check(audit: &Audit, accounts: u64) -> Result<()> {
    let expected = accounts as i64 * FIRST_BALANCE;
    if audit.accounts != accounts || audit.total != expected {
        return Err(Error::corrupt(format!(
            "{} accounts hold {} instead of {accounts} holding {expected}",
            audit.accounts, audit.total
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_accounts_differ_and_are_in_order() {
        let mut random = SmallRng::seed_from_u64(1);
        for _ in 0..1_000 {
            let (low, high) = two_accounts(&mut random, 3);
            assert!(low < high && high < 3);
        }
    }
}
