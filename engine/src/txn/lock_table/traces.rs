//! Traces: what transactions leave at a resource that they give up, for later ones that conflict with them.
//!
//! Algorithm 1 of Taurus (VLDB 2020), lines 3 to 5 and 13 to 16, keeps an LSN vector for each tuple. Here it
//! is a [`Handle`]: it leads to the transaction in the history of its worker, and to the *mark* that the
//! transaction has left there once for everything it has touched (`storage::history`). The protocol defines
//! what a mark means.
//!
//! **A row that was written names its writer itself** (`storage::record`), so a transaction that is logged as
//! data leaves nothing at rows and gaps: a later transaction finds the record, with a row or without, and
//! follows its writer. Without a record there is nothing to follow: a record disappears only when all
//! transactions follow the one that emptied it. Traces are needed for what no record says:
//!
//! ```text
//! trace of     left by                                                    followed by
//! Write        Write, NoKeyWrite: of tables; of rows, gaps by a command   all
//! Read         Read by a command                                          IntentWrite, NoKeyWrite, Write
//! Intent       IntentWrite: of tables; IntentRead by a command            Read, NoKeyWrite, Write
//! Key          KeyRead by a command                                       Write
//!
//! given up     traces that its own replaces
//! Write        all: it has followed them, and none could be left while it was held
//! NoKeyWrite   all but Key: those that leave it may hold the row at the same time, so the writer has not followed it, and a later Write must
//! others       none
//! ```
//!
//! A command's Write of a row says that it has read the row, or found none: it may have written nothing. A
//! KeyRead need not follow a NoKeyWrite, which changes nothing that it reads. It does follow it, because it
//! must follow the Write before, and one trace is kept for both.
//!
//! One trace is a handle. Several are joined into one mark for each kind.

use std::sync::atomic::AtomicU64;

use super::identity::Resource;
use crate::mutant::{self, Mutant};
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

/// What a transaction that gives up its locks has left in a log. Decides which traces it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trace {
    /// Nothing: it only read, or was rolled back. No other needs to follow it, because it cannot be lost.
    None,
    /// What it wrote. What it read does not matter to replay.
    Data,
    /// The call that it was: replay reads again what it read, so a transaction that overwrites that must
    /// follow (pitfall 22).
    Command,
}

/// A transaction that gives up a resource.
#[derive(Clone, Copy)]
pub(crate) struct Leaver {
    pub(crate) trace: Trace,
    /// Where its mark is found.
    pub(crate) handle: Handle,
}

impl Leaver {
    pub(crate) const NOTHING: Leaver = Leaver { trace: Trace::None, handle: Handle::NONE };
}

/// Accesses that leave traces of their own: what conflicts with one conflicts with all of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Write,
    Read,
    Intent,
    Key,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Write, Kind::Read, Kind::Intent, Kind::Key];

    #[inline]
    fn conflicts_with(self, mode: LockMode) -> bool {
        use LockMode::{IntentWrite, NoKeyWrite, Read, Write};
        match self {
            Kind::Write => true,
            Kind::Read => matches!(mode, IntentWrite | NoKeyWrite | Write),
            Kind::Intent => matches!(mode, Read | NoKeyWrite | Write),
            Kind::Key => mode == Write,
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
    #[inline]
    pub(super) fn leave<T: Trail>(
        &mut self,
        mode: LockMode,
        resource: Resource,
        leaver: Leaver,
        trail: &T,
    ) -> bool {
        if T::IS_EMPTY || leaver.trace == Trace::None {
            return false;
        }
        let reads_again = leaver.trace == Trace::Command && !mutant::is_active(Mutant::NoReadLv);
        // A row or a gap that was written names its writer.
        let tells = !resource.is_of_records() || reads_again;
        match mode {
            LockMode::IntentRead if reads_again => self.add(Kind::Intent, leaver, trail),
            LockMode::Read if reads_again => self.add(Kind::Read, leaver, trail),
            LockMode::KeyRead if reads_again => self.add(Kind::Key, leaver, trail),
            LockMode::IntentWrite if !resource.is_of_records() => self.add(Kind::Intent, leaver, trail),
            LockMode::NoKeyWrite if tells && !mutant::is_active(Mutant::NoKeyWriteForgetsKeyReaders) => {
                let key = self.take_key(trail);
                self.replace(leaver.handle);
                if let Some(key) = key {
                    self.joined.get_or_insert_default()[Kind::Key as usize] = key;
                }
            }
            LockMode::NoKeyWrite | LockMode::Write if tells => self.replace(leaver.handle),
            _ => return false,
        }
        true
    }

    fn add<T: Trail>(&mut self, kind: Kind, leaver: Leaver, trail: &T) {
        if self.joined.is_none() {
            let is_free = self
                .first
                .is_none_or(|first| trail.mark(first, |mark| trail.is_forgettable(mark)).unwrap_or(true));
            if is_free {
                self.first = Some(leaver.handle);
                self.first_kind = kind;
                return;
            }
        }
        // What comes more than once will come again: from here on, everything is joined.
        if let Some(first) = self.first.take() {
            let kind = self.first_kind;
            trail.mark(first, |mark| self.join(kind, mark, trail));
        }
        trail.mark(leaver.handle, |mark| self.join(kind, mark, trail));
    }

    fn join<T: Trail>(&mut self, kind: Kind, mark: &[AtomicU64], trail: &T) {
        let joined = &mut self.joined.get_or_insert_default()[kind as usize];
        if joined.is_empty() {
            *joined = mark.iter().map(|_| AtomicU64::new(0)).collect();
        }
        trail.join(mark, joined);
    }

    /// The trace of those that have read the key, unless there is none.
    #[inline]
    fn take_key<T: Trail>(&mut self, trail: &T) -> Option<Joined> {
        if self.first_kind == Kind::Key
            && let Some(first) = self.first.take()
        {
            trail.mark(first, |mark| self.join(Kind::Key, mark, trail));
        }
        let key = std::mem::take(&mut self.joined.as_mut()?[Kind::Key as usize]);
        (!key.is_empty()).then_some(key)
    }

    /// Leaves the trace of a writer, which has followed all others.
    #[inline]
    fn replace(&mut self, handle: Handle) {
        self.first = Some(handle);
        self.first_kind = Kind::Write;
        self.joined = None;
    }

    /// What both parts of a divided gap need: readers of the whole relied on both being empty, and so did a
    /// writer of the gap, which has read it and inserted. `None` if there is nothing that a new gap would not
    /// have.
    pub(super) fn divided<T: Trail>(&self, trail: &T) -> Option<Traces> {
        let mut part = Traces::default();
        if let Some(first) = self.first.filter(|_| matches!(self.first_kind, Kind::Write | Kind::Read)) {
            trail.mark(first, |mark| part.join(Kind::Read, mark, trail));
        }
        for kind in [Kind::Write, Kind::Read] {
            if let Some(joined) = &self.joined
                && !joined[kind as usize].is_empty()
            {
                part.join(Kind::Read, &joined[kind as usize], trail);
            }
        }
        (!part.are_forgettable(trail)).then_some(part)
    }

    /// Gives a part what [`Traces::divided`] found in the whole.
    pub(super) fn inherit<T: Trail>(&mut self, from: &Traces, trail: &T) {
        let Some(joined) = &from.joined else { return };
        self.join(Kind::Read, &joined[Kind::Read as usize], trail);
    }
}
