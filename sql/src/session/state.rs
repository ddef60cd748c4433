//! The state of a session in its transaction. The head of `session` shows the transitions.

use hyades_engine::db::Savepoint;
use hyades_types::environment::Gathered;

use crate::settings::Snapshot;

/// The states in that diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Implicit,
    Block,
    /// A statement of the block failed. If there are no savepoints, the worker has rolled back already.
    Failed,
}

/// A savepoint of the block.
pub(super) struct NamedSavepoint {
    pub(super) name: String,
    pub(super) savepoint: Savepoint,
    pub(super) settings: Snapshot,
    pub(super) gathered: Gathered,
    /// The number of LISTEN and UNLISTEN changes at that time.
    pub(super) listens: usize,
}
