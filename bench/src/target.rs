//! What a workload runs on: a database in this process ([`embedded`]) or a server at a URL ([`over_wire`]).

pub mod embedded;
pub mod over_wire;

use anyhow::{Context, Result, bail};
use compact_str::CompactString;
use hyades_engine::log::durable::Durability;

/// A value for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    Null,
    Integer(i32),
    BigInt(i64),
    Text(CompactString),
    Integers(Vec<i32>),
    SmallInts(Vec<i16>),
}

/// One call of a procedure.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The index in [`Workload::calls`](crate::workload::Workload::calls).
    pub call: usize,
    pub arguments: Vec<Argument>,
    /// It writes nothing, so durability costs it no log record.
    pub is_read_only: bool,
}

/// A procedure, and the statement that calls it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub name: &'static str,
    /// With `$1` and so on.
    pub sql: &'static str,
    pub parameters: &'static [Parameter],
    /// SQLSTATEs with which it may refuse. Such a transaction is rolled back on purpose and counted
    /// separately.
    pub refusals: &'static [&'static str],
}

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    Integer,
    BigInt,
    Text,
    Integers,
    SmallInts,
}

/// For loading and checking.
pub trait Connection {
    /// Runs statements that return nothing, one after the other.
    fn script(&mut self, sql: &str) -> Result<()>;
    /// COPY into a table, in one transaction. `next` appends a line to the chunk, or returns false if there
    /// are no more.
    fn copy(&mut self, table: &str, next: &mut dyn FnMut(&mut String) -> bool) -> Result<()>;
    /// The rows of a query. All columns are whole numbers.
    fn numbers(&mut self, sql: &str) -> Result<Vec<Vec<i64>>>;

    /// The single number that a query returns.
    fn number(&mut self, sql: &str) -> Result<i64> {
        let rows = self.numbers(sql)?;
        match rows.first().and_then(|row| row.first()) {
            Some(number) => Ok(*number),
            None => bail!("no row for: {sql}"),
        }
    }
}

/// Chunks of a COPY are about this long.
const CHUNK_BYTES: usize = 64 << 10;

/// Fills a chunk with lines. Returns `false` when there are no more.
fn fill_chunk(chunk: &mut String, next: &mut dyn FnMut(&mut String) -> bool) -> bool {
    chunk.clear();
    while chunk.len() < CHUNK_BYTES {
        if !next(chunk) {
            return false;
        }
    }
    true
}

fn parse_number(text: &str, sql: &str) -> Result<i64> {
    text.parse().with_context(|| format!("{text:?} is no whole number, in the result of: {sql}"))
}

/// How a call ended.
pub struct Ended {
    /// What its answer must wait for.
    pub durability: Durability,
    /// The number of times it was begun again after a conflict.
    pub retries: u64,
    /// It refused with one of its [`Call::refusals`].
    pub is_refused: bool,
}

/// Makes the calls of one worker.
pub trait Caller {
    /// Runs one call until it is precommitted or refused.
    fn call(&mut self, request: &Request) -> Result<Ended>;
}
