//! What a logging protocol decides, behind one trait.
//!
//! A protocol says what is remembered for a tuple that is in use, what a transaction collects while it runs,
//! what its log record looks like, when it is durable, and how its logs are replayed. Execution knows none of
//! that; it calls the methods below in this order:
//!
//! ```text
//! begin -> acquired* -> log_commit (or read_only_commit) -> released* -> durability
//! ```
//!
//! The trait is bound once, at `open`, and erased once per transaction, never per row. A protocol never
//! imports another protocol.

pub mod none;
pub mod serial;
pub mod taurus;

use std::sync::atomic::AtomicU64;

use hyades_types::error::Result;

use crate::local_arc::LocalArc;
use crate::log::durable::{Durability, DurableWatch};
use crate::lsn::Lsn;

pub use crate::log::{Append, AppendProgress};

/// The strength of an access. Two accesses conflict, and therefore order each other, unless
/// [`AccessMode::is_compatible`].
///
/// ```text
/// resource  modes
/// table     KeyRead, IntentRead, IntentWrite of its rows; Read, NoKeyWrite, Write of all of them
/// gap       Read, IntentWrite
/// row       KeyRead, Read, NoKeyWrite, Write: PostgreSQL's FOR KEY SHARE, FOR SHARE, FOR NO KEY UPDATE, FOR UPDATE
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AccessMode {
    /// Looks at the key of the row, or at its absence, and at nothing else: a child's check of its parent.
    KeyRead,
    IntentRead,
    IntentWrite,
    Read,
    /// Writes the row and leaves its key: there is a row before and a row after.
    NoKeyWrite,
    /// Anything, insert and delete included.
    Write,
}

impl AccessMode {
    pub const COUNT: usize = 6;

    /// Gray's matrix of multi-granularity locking, without SIX, and table 13.3 of PostgreSQL's manual.
    ///
    /// ```text
    ///              KeyRead  IntentRead  IntentWrite  Read  NoKeyWrite  Write
    /// KeyRead                                                            x
    /// IntentRead                                               x         x
    /// IntentWrite                                     x        x         x
    /// Read                                   x                 x         x
    /// NoKeyWrite                x            x        x        x         x
    /// Write           x         x            x        x        x         x
    /// ```
    ///
    /// `sql/tests/sessions/lock_modes.own.sql` shows it on a table, `strengths.sql` beside it on a row.
    #[inline]
    pub fn is_compatible(self, other: AccessMode) -> bool {
        self.is_compatible_with_all(1 << other as u8)
    }

    /// The same for several modes, one bit each.
    pub fn is_compatible_with_all(self, others: u8) -> bool {
        const CONFLICTS: [u8; AccessMode::COUNT] =
            [0b10_0000, 0b11_0000, 0b11_1000, 0b11_0100, 0b11_1110, 0b11_1111];
        CONFLICTS[self as usize] & others == 0
    }

    /// The weakest mode at least as strong as both: each is stronger than those before it, but for
    /// IntentWrite and Read.
    #[must_use]
    #[inline]
    pub fn join(self, other: AccessMode) -> AccessMode {
        use AccessMode::{IntentWrite, NoKeyWrite, Read};
        match (self, other) {
            (IntentWrite, Read) | (Read, IntentWrite) => NoKeyWrite,
            _ if (self as u8) < other as u8 => other,
            _ => self,
        }
    }

    /// Whether holding `self` makes asking for `other` redundant.
    #[inline]
    pub fn covers(self, other: AccessMode) -> bool {
        const COVERED: [u8; AccessMode::COUNT] =
            [0b00_0001, 0b00_0011, 0b00_0111, 0b00_1011, 0b01_1111, 0b11_1111];
        COVERED[self as usize] & (1 << other as u8) != 0
    }
}

/// What a transaction that gives up its locks has left in a log: decides which traces it leaves in the lock
/// table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Nothing: it only read, or was rolled back. Nobody needs to follow it, for it cannot be lost.
    None,
    /// What it wrote. What it read does not matter to replay.
    Data,
    /// The call that it was: replay reads again what it read, so whoever overwrites that must follow (pitfall
    /// 22).
    Command,
}

/// The transaction's changes, encoded by `log::record`, ready to be copied into a log buffer.
pub struct CommitPayload<'a> {
    /// Encoded operations (see `log::record`).
    pub operations: &'a [u8],
    /// Schema changes are barriers: ordered after everything appended to any log so far (pitfall 29).
    pub is_barrier: bool,
}

/// See the module head. `Sync`, because every worker calls it at once.
pub trait Protocol: Send + Sync + 'static {
    /// Whether a transaction's changes go to a log at all.
    const WRITES_LOG: bool;
    /// Whether a log record may hold a call in place of changes.
    const LOGS_COMMANDS: bool;

    /// Kept in the lock table for a tuple, gap or table stripe that is in use or not yet durable.
    type TupleMeta: Send + 'static;
    /// What a running transaction has collected (Taurus: T.LV).
    type Dependencies: Send + 'static;
    /// What durability waits for (an LSN, an LSN vector, an epoch ...).
    type CommitToken: Clone + Send + 'static;

    /// What an absent tuple reads as (pitfall 19: the same monotone floor that [`Protocol::can_evict`] uses).
    fn new_tuple_meta(&self) -> Self::TupleMeta;

    /// Whether forgetting `meta` loses no dependency. Called under the latch of the tuple's bucket, when
    /// nobody holds the tuple or waits for it.
    fn can_evict(&self, meta: &Self::TupleMeta) -> bool;

    fn new_dependencies(&self) -> Self::Dependencies;

    /// Makes `dependencies` those of a transaction that has touched nothing.
    fn begin(&self, dependencies: &mut Self::Dependencies);

    /// The transaction has obtained the tuple in this mode: collect what it now depends on. Called under the
    /// latch of the tuple's bucket.
    fn acquired(&self, mode: AccessMode, meta: &Self::TupleMeta, dependencies: &mut Self::Dependencies);

    /// The transaction with this token is about to give the tuple up: leave the trace that later conflicting
    /// accesses must follow. Called under the latch of the tuple's bucket, before the lock is visibly free
    /// (pitfall 3).
    fn released(&self, mode: AccessMode, meta: &mut Self::TupleMeta, token: &Self::CommitToken, trace: Trace);

    /// What those who come to one half of a gap must follow after the gap was divided (pitfall 23): the
    /// traces of whoever relied on its emptiness. `None` if there is nothing that a new tuple would not have.
    /// Called under the latch of the gap's bucket.
    fn divided(&self, gap: &Self::TupleMeta) -> Option<Self::TupleMeta>;

    /// Gives a new gap what [`Protocol::divided`] found in the one it was part of. Called under the latch of
    /// its bucket.
    fn inherit(&self, gap: &mut Self::TupleMeta, from: &Self::TupleMeta);

    /// How many words [`Protocol::write_mark`] takes.
    fn mark_words(&self) -> usize {
        0
    }

    /// Writes down what whoever reads a version that the transaction of this token has written must follow:
    /// once for all its versions (`storage::history`).
    fn write_mark(&self, _token: &Self::CommitToken, _mark: &[AtomicU64]) {}

    /// A version was read without a lock: collect its mark.
    fn follow(&self, _mark: &[AtomicU64], _dependencies: &mut Self::Dependencies) {}

    /// Whether forgetting a mark loses no dependency: the counterpart of [`Protocol::can_evict`].
    fn is_forgettable(&self, _mark: &[AtomicU64]) -> bool {
        true
    }

    /// Appends the transaction's log record: freezes its dependencies, reserves, fills, publishes (pitfall
    /// 2). All locks are still held. `worker` numbers the calling worker (0-based, below `MAX_WORKERS`); it
    /// chooses the log. An error means that nothing was reserved (out of log space: `DISK_FULL`) or that the
    /// database is poisoned. A large transaction is appended piece by piece: after `Wait` call again with the
    /// same payload and the same `progress`, which belongs to this attempt to commit and to nothing else;
    /// whoever gives the attempt up resets it.
    fn log_commit(
        &self,
        worker: usize,
        dependencies: &mut Self::Dependencies,
        payload: &CommitPayload<'_>,
        progress: &mut AppendProgress,
    ) -> Result<Append<Self::CommitToken>>;

    /// The token of a transaction that wrote nothing or was rolled back: what it has seen must be durable
    /// before its answer goes out (pitfall 7).
    fn read_only_commit(&self, dependencies: &Self::Dependencies) -> Self::CommitToken;

    /// How far the log that the worker writes to is filled, if its logger or its device is far behind.
    fn backlog(&self, _worker: usize) -> Option<Lsn> {
        None
    }

    /// The durable positions. Each worker asks for a reference of its own.
    fn watch(&self) -> LocalArc<DurableWatch>;

    /// A handle to wait for the token.
    fn durability(&self, watch: &LocalArc<DurableWatch>, token: &Self::CommitToken) -> Durability;

    /// The name in the manifest and on the command line.
    fn name(&self) -> &'static str;

    /// Makes everything appended so far durable and stops the loggers. Later appends get a fatal error.
    /// Reports the failure that had poisoned the database before, if any.
    fn shutdown(&self) -> Result<()>;
}
