//! Traces: what transactions leave at a resource that they give up, for later ones that conflict with them.
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
//! So traces are left at tables and names, by those that have written there:
//!
//! ```text
//! trace of     left by             followed by
//! Write        Write, NoKeyWrite   all
//! Intent       IntentWrite         Read, NoKeyWrite, Write
//! ```
//!
//! The trace of a writer replaces all others: it has followed them, and none could be left while it was
//! there. One trace is a handle. Several are joined into one mark for each kind.

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

    /// A transaction that follows `into` from now on follows `mark`, too. Marks of zeroes follow nothing.
    fn join(&self, mark: &[AtomicU64], into: &[AtomicU64]);
}

/// Accesses that leave traces of their own: what conflicts with one conflicts with all of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Write,
    Intent,
}

impl Kind {
    const ALL: [Kind; 2] = [Kind::Write, Kind::Intent];

    #[inline]
    fn conflicts_with(self, mode: LockMode) -> bool {
        use LockMode::{NoKeyWrite, Read, Write};
        match self {
            Kind::Write => true,
            Kind::Intent => matches!(mode, Read | NoKeyWrite | Write),
        }
    }
}

/// Empty if nothing was joined.
type Joined = Box<[AtomicU64]>;

/// See the module head. Nearly all resources have one trace at most.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    first: Option<Handle>,
    first_kind: Kind,
    /// By kind.
    joined: Option<Box<[Joined; Kind::ALL.len()]>>,
}

impl Traces {
    #[inline]
    pub(super) fn are_forgettable<T: Trail>(&self, trail: &T) -> bool {
        if T::IS_EMPTY {
            return true;
        }
        let is_forgettable = |handle| trail.mark(handle, |mark| trail.is_forgettable(mark)).unwrap_or(true);
        self.first.is_none_or(is_forgettable)
            && self.joined.as_ref().is_none_or(|joined| joined.iter().all(|mark| trail.is_forgettable(mark)))
    }

    /// Follows everything with which an access in this mode conflicts.
    #[inline]
    pub(super) fn collect<T: Trail>(&self, mode: LockMode, trail: &T, dependencies: &mut T::Dependencies) {
        if T::IS_EMPTY {
            return;
        }
        if let Some(handle) = self.first
            && self.first_kind.conflicts_with(mode)
        {
            trail.mark(handle, |mark| trail.follow(mark, dependencies));
        }
        let Some(joined) = &self.joined else { return };
        for (kind, mark) in Kind::ALL.into_iter().zip(&**joined) {
            if kind.conflicts_with(mode) {
                trail.follow(mark, dependencies);
            }
        }
    }

    /// Leaves what a transaction that had the resource in this mode must leave; false if that is nothing.
    /// `mark`: where the mark of a transaction that has written something is found.
    #[inline]
    pub(super) fn leave<T: Trail>(
        &mut self,
        mode: LockMode,
        resource: Resource,
        mark: Option<Handle>,
        trail: &T,
    ) -> bool {
        let Some(handle) = mark.filter(|_| !T::IS_EMPTY && !resource.is_of_records()) else { return false };
        match mode {
            LockMode::IntentWrite => self.add(Kind::Intent, handle, trail),
            LockMode::NoKeyWrite | LockMode::Write => self.replace(handle),
            LockMode::IntentRead | LockMode::KeyRead | LockMode::Read => return false,
        }
        true
    }

    fn add<T: Trail>(&mut self, kind: Kind, handle: Handle, trail: &T) {
        if self.joined.is_none() {
            let is_free = self
                .first
                .is_none_or(|first| trail.mark(first, |mark| trail.is_forgettable(mark)).unwrap_or(true));
            if is_free {
                self.first = Some(handle);
                self.first_kind = kind;
                return;
            }
        }
        // What comes more than once will come again: from here on, everything is joined.
        if let Some(first) = self.first.take() {
            let kind = self.first_kind;
            trail.mark(first, |mark| self.join(kind, mark, trail));
        }
        trail.mark(handle, |mark| self.join(kind, mark, trail));
    }

    fn join<T: Trail>(&mut self, kind: Kind, mark: &[AtomicU64], trail: &T) {
        let joined = &mut self.joined.get_or_insert_default()[kind as usize];
        if joined.is_empty() {
            *joined = mark.iter().map(|_| AtomicU64::new(0)).collect();
        }
        trail.join(mark, joined);
    }

    /// Leaves the trace of a writer, which has followed all others.
    #[inline]
    fn replace(&mut self, handle: Handle) {
        self.first = Some(handle);
        self.first_kind = Kind::Write;
        self.joined = None;
    }
}
