//! What is run: tables and procedures in SQL (`bench/workloads/*.sql`), rows to begin with, and an endless
//! stream of calls.
//!
//! A workload knows nothing of how it is reached: it is loaded and checked through a [`Connection`], its
//! calls are made by a [`crate::target::Caller`], and both exist for a database in this process and for a
//! server that speaks PostgreSQL's protocol.

pub mod bank;
pub mod smallbank;
pub mod tpcc;
pub mod transfer;
pub mod ycsb;

use std::sync::Arc;

use anyhow::Result;
use hyades_engine::db::Engine;

pub use crate::target::{Argument, Call, Caller, Connection, Parameter, Request};

/// How to find a call's effect in the tables.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    /// Place in [`Workload::calls`].
    pub call: usize,
    /// A query of whole numbers, with one row for each call there has ever been.
    pub found: &'static str,
    /// The row of a call.
    pub expected: fn(&[Argument]) -> Vec<i64>,
}

/// The calls of one worker.
pub trait Calls: Send {
    /// Fills in the next call; keeps the request's memory.
    fn next(&mut self, request: &mut Request);
}

/// A condition that must hold, and why it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub condition: String,
    pub detail: String,
}

/// A benchmark's tables, rows and calls, and the conditions that hold whatever has run.
pub trait Workload: Send + Sync {
    fn name(&self) -> &'static str;
    /// Creates tables and procedures.
    fn schema(&self) -> Vec<&'static str>;
    /// Fills the tables.
    fn load(&self, connection: &mut dyn Connection) -> Result<()>;
    fn calls(&self) -> &'static [Call];
    /// The stream of one worker out of `workers`.
    fn stream(&self, worker: u64, workers: u64, seed: u64) -> Box<dyn Calls>;
    /// Looks for what must not be.
    fn check(&self, connection: &mut dyn Connection) -> Result<Vec<Violation>>;
    /// Calls whose effect can be told from that of every other call; see [`crate::ledger`].
    fn traces(&self) -> &'static [Trace] {
        &[]
    }
    /// A caller that passes by SQL, for workloads that were asked for one.
    fn native_caller(&self, _engine: &Arc<dyn Engine>) -> Result<Option<Box<dyn Caller>>> {
        Ok(None)
    }
    /// What the parameters were, for reports.
    fn describe(&self) -> String;
}

/// Rows of one COPY: bounds the size of a transaction.
const ROWS_AT_ONCE: u64 = 10_000;

/// Copies rows in, each written by `row` as a line of COPY's text format without its end.
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

/// A violation unless the table has so many rows.
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
