//! Traces: what a transaction leaves at a resource that it gives up, for later ones that conflict with it.
//!
//! Algorithm 1 of Taurus (VLDB 2020), lines 3 to 5 and 13 to 16, keeps an LSN vector for each tuple. Here it
//! is a [`Handle`]: it leads to the transaction in the history of its worker, and to the *mark* that the
//! transaction has left there once for everything it has touched (`storage::history`). The protocol defines
//! what a mark means.
//!
//! **A row that was written names its writer itself** (`storage::record`), so nothing is left at rows and
//! gaps: a later transaction finds the record, with a row or without, and follows its writer. Without a
//! record there is nothing to follow: a record disappears only when all transactions follow the one that
//! emptied it.
//!
//! **What was only read leaves nothing**: there is no readLV. A call is replayed on the rows of its time,
//! whatever has overwritten them (`txn::replay_versions`).
//!
//! **Writers of rows leave nothing at their table**, although a transaction that takes the whole table must
//! follow them. It follows instead all that has a place in a log: a transaction that has given up a lock has
//! its place (pitfall 2). So it depends on more than it must, but tables are seldom taken as a whole, and
//! every writer would have to leave a trace for that.
//!
//! So traces are left at tables and names by those that have changed the whole:
//!
//! ```text
//! access in mode                       leaves    follows
//! Write, NoKeyWrite                    a trace   the trace, and all that has a place
//! Read of a table                      -         the trace, and all that has a place
//! IntentRead, KeyRead, IntentWrite,    -         the trace
//! Read of something else
//! ```
//!
//! A trace replaces the one before it, because the transaction that leaves it has followed that one.

use std::sync::atomic::AtomicU64;

use super::identity::Resource;
use crate::storage::history::{Forgettable, Handle};
use crate::txn::lock_mode::LockMode;

/// What handles lead to, and how it is used.
pub(crate) trait Trail: Forgettable {
    /// What a running transaction has collected.
    type Dependencies;
    /// Whether nothing is ever left.
    const IS_EMPTY: bool;

    /// Calls `show` with the mark of a handle; `None` if all transactions follow the mark anyway.
    fn mark<R>(&self, handle: Handle, show: impl FnOnce(&[AtomicU64]) -> R) -> Option<R>;

    /// Collects a mark.
    fn follow(&self, mark: &[AtomicU64], dependencies: &mut Self::Dependencies);

    /// Collects all that has a place in a log.
    fn follow_all(&self, dependencies: &mut Self::Dependencies);
}

/// The last transaction that has changed the whole of what the entry stands for.
#[derive(Debug, Default)]
pub(crate) struct Trace(Option<Handle>);

impl Trace {
    #[inline]
    pub(super) fn is_forgettable<T: Trail>(&self, trail: &T) -> bool {
        let Some(handle) = self.0 else { return true };
        trail.mark(handle, |mark| trail.is_forgettable(mark)).unwrap_or(true)
    }

    /// Follows everything with which an access in this mode conflicts.
    #[inline(always)]
    pub(super) fn collect<T: Trail>(
        &self,
        resource: Resource,
        mode: LockMode,
        trail: &T,
        dependencies: &mut T::Dependencies,
    ) {
        if !T::IS_EMPTY && !resource.is_of_records() {
            self.collect_of_whole(resource, mode, trail, dependencies);
        }
    }

    fn collect_of_whole<T: Trail>(
        &self,
        resource: Resource,
        mode: LockMode,
        trail: &T,
        dependencies: &mut T::Dependencies,
    ) {
        if let Some(handle) = self.0 {
            trail.mark(handle, |mark| trail.follow(mark, dependencies));
        }
        let follows_all = match mode {
            LockMode::Write | LockMode::NoKeyWrite => true,
            LockMode::Read => resource.is_table(),
            LockMode::IntentRead | LockMode::KeyRead | LockMode::IntentWrite => false,
        };
        if follows_all {
            trail.follow_all(dependencies);
        }
    }

    /// Leaves what a transaction that had the resource in this mode must leave. `mark`: where the mark of a
    /// transaction that has written something is found.
    #[inline]
    pub(super) fn leave<T: Trail>(&mut self, resource: Resource, mode: LockMode, mark: Option<Handle>) {
        let has_changed_all = matches!(mode, LockMode::NoKeyWrite | LockMode::Write);
        if !T::IS_EMPTY && has_changed_all && !resource.is_of_records() && mark.is_some() {
            self.0 = mark;
        }
    }
}
