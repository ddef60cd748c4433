//! Counters of sessions, and the statistics of a database for its operator.
//!
//! Each session counts for itself, in memory that only it writes. A reader adds the counts of the open
//! sessions to those left by closed ones.

use std::sync::atomic::{AtomicU64, Ordering};

use hyades_engine::db::LogStatistics;

/// The counts of one session.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: Counter,
    pub(super) rollbacks: Counter,
    pub(super) statements: Counter,
    pub(super) waits: Counter,
    pub(super) deadlocks: Counter,
}

/// A counter that is incremented by one thread at a time.
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

/// The counts of all sessions since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub commits: u64,
    pub rollbacks: u64,
    pub statements: u64,
    /// The number of times that a statement had to wait.
    pub waits: u64,
    pub deadlocks: u64,
}

impl Counts {
    pub(super) fn join(&mut self, other: &Counts) {
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.statements += other.statements;
        self.waits += other.waits;
        self.deadlocks += other.deadlocks;
    }

    pub(super) fn add(&mut self, of: &Counters) {
        self.commits += of.commits.get();
        self.rollbacks += of.rollbacks.get();
        self.statements += of.statements.get();
        self.waits += of.waits.get();
        self.deadlocks += of.deadlocks.get();
    }
}

/// The number of sessions in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    pub active: u64,
    pub waiting: u64,
    pub idle: u64,
    pub idle_in_transaction: u64,
    pub idle_in_failed_transaction: u64,
}

/// Bytes by use. Those of rows and indexes are estimates.
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
    /// Log buffers.
    pub logs: u64,
    /// All memory of the process.
    pub total: u64,
    /// The limit for the process.
    pub limit: u64,
}

/// The statistics for an operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    pub sessions: SessionCounts,
    pub counts: Counts,
    pub logs: Vec<LogStatistics>,
    pub memory: Memory,
}
