//! What sessions count, and what an operator is told of a database.
//!
//! Each session counts for itself, in memory that only it writes; whoever asks adds up what is there and what
//! was left by those that are gone.

use std::sync::atomic::{AtomicU64, Ordering};

use hyades_engine::db::LogStatistics;

/// What one session has done.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: Counter,
    pub(super) rollbacks: Counter,
    pub(super) statements: Counter,
    pub(super) waits: Counter,
    pub(super) deadlocks: Counter,
}

/// A number that one thread at a time counts up.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(super) fn count(&self) {
        self.0.store(self.get() + 1, Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What sessions have done since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub commits: u64,
    pub rollbacks: u64,
    pub statements: u64,
    /// Times that a statement had to wait for somebody.
    pub waits: u64,
    pub deadlocks: u64,
}

impl Counts {
    pub(super) fn add(&mut self, of: &Counters) {
        self.commits += of.commits.get();
        self.rollbacks += of.rollbacks.get();
        self.statements += of.statements.get();
        self.waits += of.waits.get();
        self.deadlocks += of.deadlocks.get();
    }
}

/// How many sessions do what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    pub active: u64,
    pub waiting: u64,
    pub idle: u64,
    pub idle_in_transaction: u64,
    pub idle_in_failed_transaction: u64,
}

/// Bytes by what they are for; rows and indexes are estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Rows with their primary indexes.
    pub tables: u64,
    /// Secondary indexes.
    pub indexes: u64,
    /// Older versions of rows.
    pub versions: u64,
    /// Statements, results and transactions of sessions.
    pub sessions: u64,
    /// Buffers of logs.
    pub logs: u64,
    /// All that the process has.
    pub total: u64,
    /// What it may have.
    pub limit: u64,
}

/// What an operator is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    pub sessions: SessionCounts,
    pub counts: Counts,
    pub logs: Vec<LogStatistics>,
    pub memory: Memory,
}
