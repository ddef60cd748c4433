//! What is run: tables and procedures in SQL (`bench/workloads/*.sql`), initial rows, and an endless stream
//! of calls.
//!
//! Files:
//! * `tpcc`: the five transactions of an order-entry business;
//! * `smallbank`: six short transactions on the two accounts of each customer;
//! * `bank`: transfers and deposits, as PACMAN measures recovery;
//! * `transfer`: one short transaction on two rows;
//! * `ycsb`: reads and writes of single rows, a few of which get most of them.
//!
//! A workload does not know how it is reached: it is loaded and checked through a [`Connection`], a
//! [`crate::target::Caller`] makes its calls, and both exist for a database in this process and for a server
//! that speaks PostgreSQL's protocol.

pub mod bank;
pub mod smallbank;
pub mod tpcc;
pub mod transfer;
pub mod ycsb;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Result, anyhow};
use hyades_engine::db::Engine;

pub use crate::target::{Argument, Call, Caller, Connection, Parameter, Request};

/// How to find a call's effect in the tables.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    /// The index in [`Workload::calls`].
    pub call: usize,
    /// A query of whole numbers, with one row for each call ever made.
    pub found: &'static str,
    /// The row that a call leaves.
    pub expected: fn(&[Argument]) -> Vec<i64>,
}

/// The calls of one worker.
pub trait Calls: Send {
    /// Fills in the next call, reusing the request's memory.
    fn next(&mut self, request: &mut Request);
}

/// A condition that does not hold, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub condition: String,
    pub detail: String,
}

/// A benchmark's tables, rows and calls, and the conditions that hold at any time.
pub trait Workload: Send + Sync {
    fn name(&self) -> &'static str;
    /// Creates tables and procedures.
    fn schema(&self) -> Vec<&'static str>;
    /// Into how many parts its rows are divided for loading.
    fn parts(&self) -> u64 {
        1
    }
    /// Copies one part of the rows into the tables. Parts may be copied at the same time.
    fn load(&self, part: u64, connection: &mut dyn Connection) -> Result<()>;
    fn calls(&self) -> &'static [Call];
    /// The stream of one worker out of `workers`.
    fn stream(&self, worker: u64, workers: u64, seed: u64) -> Box<dyn Calls>;
    /// Returns the violated conditions.
    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Violation>>;
    /// Calls whose effect can be distinguished from that of every other call. See [`crate::ledger`].
    fn traces(&self) -> &'static [Trace] {
        &[]
    }
    /// A caller that bypasses SQL, for workloads that were asked for one.
    fn native_caller(&self, _engine: &Arc<dyn Engine>) -> Result<Option<Box<dyn Caller>>> {
        Ok(None)
    }
    /// The values of the parameters, for reports.
    fn describe(&self) -> String;
}

/// Fills the tables of a workload, through as many connections at the same time as there are workers and
/// parts to copy.
///
/// # Errors
/// The first error of a connection.
pub fn load<C: Connection>(
    workload: &dyn Workload,
    workers: u64,
    connect: impl Fn() -> Result<C> + Sync,
) -> Result<()> {
    let next = AtomicU64::new(0);
    let copy = || -> Result<()> {
        let mut connection = connect()?;
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= workload.parts() {
                return Ok(());
            }
            if let Err(error) = workload.load(part, &mut connection) {
                // The others need not go on.
                next.store(workload.parts(), Ordering::Relaxed);
                return Err(error.context(format!("loading {}", workload.name())));
            }
        }
    };
    let connections = workload.parts().min(workers.max(1));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..connections).map(|_| scope.spawn(copy)).collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a thread that loads {} panicked", workload.name())))
        });
        joined.collect::<Vec<Result<()>>>().into_iter().collect()
    })
}

/// Copies a part of rows in, of which `number` are divided into parts of about [`ROWS_OF_PART`].
pub fn copy_part(
    connection: &mut dyn Connection,
    table: &str,
    (part, number): (u64, u64),
    mut row: impl FnMut(u64, &mut String),
) -> Result<()> {
    let first = part * ROWS_OF_PART;
    copy_rows(connection, table, number.min(first + ROWS_OF_PART) - first, |at, line| row(first + at, line))
}

/// The number of parts of this many rows.
pub fn parts_of(rows: u64) -> u64 {
    rows.div_ceil(ROWS_OF_PART).max(1)
}

/// The rows of a part that one connection copies.
const ROWS_OF_PART: u64 = 50_000;
/// The rows of one COPY. It bounds the size of a transaction.
const ROWS_AT_ONCE: u64 = 10_000;

/// Copies rows in. `row` writes each as a line of COPY's text format, without the line end.
pub fn copy_rows(
    connection: &mut dyn Connection,
    table: &str,
    rows: u64,
    mut row: impl FnMut(u64, &mut String),
) -> Result<()> {
    for first in (0..rows).step_by(ROWS_AT_ONCE as usize) {
        let mut next = first;
        let end = rows.min(first + ROWS_AT_ONCE);
        connection.copy(table, &mut |chunk| {
            if next == end {
                return false;
            }
            row(next, chunk);
            chunk.push('\n');
            next += 1;
            true
        })?;
    }
    Ok(())
}

/// Adds a violation unless the condition holds.
pub fn require(
    violations: &mut Vec<Violation>,
    condition: &str,
    holds: bool,
    detail: impl FnOnce() -> String,
) {
    // One example of each is enough.
    if !holds && !violations.iter().any(|violation| violation.condition == condition) {
        violations.push(Violation { condition: condition.to_owned(), detail: detail() });
    }
}

/// Adds a violation unless the table has this many rows.
pub fn require_rows(
    connection: &mut dyn Connection,
    violations: &mut Vec<Violation>,
    table: &str,
    rows: u64,
) -> Result<()> {
    let found = connection.number(&format!("SELECT count(*) FROM {table}"))?;
    require(violations, &format!("rows of {table}"), found == rows as i64, || {
        format!("{found} rows instead of {rows}")
    });
    Ok(())
}
