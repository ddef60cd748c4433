//! How a transaction reads: what its isolation level and the concurrency control of its database decide.
//!
//! | level | `2pl` | `mvcc` | `occ` |
//! |---|---|---|---|
//! | READ COMMITTED | each statement at a snapshot | the same | the same |
//! | REPEATABLE READ | all at one snapshot | the same | the same |
//! | SERIALIZABLE | locks what it reads | one snapshot, checked | the newest versions, checked |
//!
//! Whatever a transaction writes it locks, under every control. So controls differ in one decision: how
//! serializable transactions read.
//!
//! * **Two-phase locking.** A transaction locks what it reads, present or absent, and the gaps between the
//!   keys of a range, to its end (`writes`). So at its end everything is as it was read.
//! * **Optimistic.** A transaction reads without locks and notes what it has read (`read_set`). When it
//!   commits, it looks at all that once more (`writes::look`), at its commit time: it must be what a reader
//!   at that time sees. Otherwise the transaction fails (40001). With multi-version concurrency control it
//!   has read at one snapshot, so even a transaction that fails has seen one state, and one that has written
//!   nothing has nothing to check. Without versions it has read the newest ones, which are less often
//!   outdated, and may have seen rows of different times until the check says so.
//!
//! This is decided for each transaction, not once for the database: one that must not fail, because it cannot
//! be repeated, locks what it reads under every control ([`Reads::Locked`]). Times order them all: what is
//! locked does not change before the commit time is drawn, and what is checked is right at that time.
//!
//! Reference: Kung, Robinson: "On Optimistic Methods for Concurrency Control", TODS 1981; Tu et al.: "Speedy
//! Transactions in Multicore In-Memory Databases" (Silo), SOSP 2013; Neumann, Mühlbauer, Kemper: "Fast
//! Serializable Multi-Version Concurrency Control", SIGMOD 2015; Taurus, sections 4.3 and 4.4.

use crate::config::ControlKind;
use crate::txn::{Impatience, Intent, Sight};

/// How much a transaction sees of others: the SQL standard's levels, each with PostgreSQL's guarantees or
/// stronger ones (docs/sql.md). PostgreSQL has no weaker one than READ COMMITTED either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Each statement reads at a snapshot of its own. Of a row that it writes it takes the newest version,
    /// locked. If another transaction has changed the row since the snapshot, the statement checks it once
    /// more.
    ReadCommitted,
    /// All statements read at one snapshot. Writing a row that another transaction has changed since then
    /// fails (40001).
    RepeatableRead,
    /// As if transactions ran one after another. Each concurrency control has its own way to see to that.
    #[default]
    Serializable,
}

/// See the module head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// READ COMMITTED.
    EachStatement,
    /// REPEATABLE READ.
    OneSnapshot,
    /// Serializable, by locks.
    Locked,
    /// Serializable, at one snapshot and checked.
    CheckedSnapshot,
    /// Serializable, the newest versions and checked.
    CheckedNewest,
}

impl Reads {
    pub(crate) fn of(isolation: Isolation, control: ControlKind) -> Reads {
        match (isolation, control) {
            (Isolation::ReadCommitted, _) => Reads::EachStatement,
            (Isolation::RepeatableRead, _) => Reads::OneSnapshot,
            (Isolation::Serializable, ControlKind::TwoPhaseLocking) => Reads::Locked,
            (Isolation::Serializable, ControlKind::MultiVersion) => Reads::CheckedSnapshot,
            (Isolation::Serializable, ControlKind::Optimistic) => Reads::CheckedNewest,
        }
    }

    /// Whether a read takes no lock unless it wants the newest version ([`Sight`]).
    #[inline(always)]
    pub(crate) fn without_locks(self) -> bool {
        self != Reads::Locked
    }

    /// Whether a read with this intent takes no lock. One that skips locked rows is not checked, so a
    /// serializable transaction locks what it finds.
    #[inline(always)]
    pub(crate) fn without_lock(self, intent: Intent) -> bool {
        self.without_locks()
            && matches!(intent.sight, Sight::Snapshot | Sight::Chosen)
            && !(self.is_checked() && intent.impatience == Some(Impatience::SkipLocked))
    }

    /// Whether all statements see the same state, so that a row which is newer must not be written.
    #[inline(always)]
    pub(crate) fn has_one_snapshot(self) -> bool {
        matches!(self, Reads::OneSnapshot | Reads::CheckedSnapshot)
    }

    /// Whether what was read is looked at again.
    #[inline(always)]
    pub(crate) fn is_checked(self) -> bool {
        matches!(self, Reads::CheckedSnapshot | Reads::CheckedNewest)
    }

    /// Whether transactions are as if they ran one after another. What such a transaction has learned under a
    /// lock it relies on to its end.
    #[inline(always)]
    pub(crate) fn is_serializable(self) -> bool {
        !matches!(self, Reads::EachStatement | Reads::OneSnapshot)
    }
}
