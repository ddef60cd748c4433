//! Where a session stands in its transaction; the head of `session` shows the ways between.

use hyades_engine::db::Savepoint;
use hyades_types::environment::Gathered;

use crate::settings::Snapshot;

/// The states of the diagram there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Implicit,
    Block,
    /// A statement of the block failed. Without savepoints the worker has rolled back already.
    Failed,
}

/// A savepoint of the block.
pub(super) struct NamedSavepoint {
    pub(super) name: String,
    pub(super) savepoint: Savepoint,
    pub(super) settings: Snapshot,
    pub(super) gathered: Gathered,
    /// How many LISTEN and UNLISTEN there were.
    pub(super) listens: usize,
}
