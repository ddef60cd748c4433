//! Commits a change of the catalog that has locked out fewer transactions than must follow it.
//!
//! Replay treats a change of the catalog as a barrier: everything appended before comes first. What is
//! appended later follows it because it follows the change's locks. There are two changes whose locks do not
//! suffice:
//!
//! * An index that was made beside writers. A transaction that was in the table all the while has no lock of
//!   the change to follow, and replay must not add its rows while it makes the index.
//! * What changes the *meaning* of names, which is nearly every change. A call that is logged as a command
//!   relies on it, and locks nothing for that.
//!
//! So all transactions that commit later follow a change of the first kind, whatever they have written, and
//! all calls that are logged as commands follow one of the second:
//!
//! 1. Commits are *closed*. A committing transaction announces itself (`storage::history`) and then
//!    checks: if they are closed, it withdraws the announcement and tries again later.
//! 2. Transactions that had announced themselves before are waited for, some microseconds. Now no transaction
//!    is between its dependencies and its place in a log.
//! 3. The change is appended and published. The meaning gets its next number, the mark is left here, commits
//!    are opened, and a transaction that finds the mark follows it, until the mark is forgettable. A call
//!    that finds another number than it began with is logged as data (`logged_call`).
//!
//! A log with a total order needs no marks, and closes commits for the sake of calls only.

use std::sync::atomic::Ordering;

use super::{Body, Transactions};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;

impl<P: Protocol> Body<P> {
    /// Keeps others from committing if this transaction must commit alone; false if others do the same.
    pub(super) fn close_commits(&mut self) -> bool {
        let changes_meaning = self.changes_meaning && P::WRITES_LOG && !mutant::is_active(Mutant::NoBarrier);
        let is_alone = changes_meaning || (self.is_unlocked_change && P::LEAVES_MARKS);
        if is_alone && !self.has_closed_commits {
            self.has_closed_commits = !self.shared.unlocked.is_closed.swap(true, Ordering::SeqCst);
            return self.has_closed_commits;
        }
        true
    }

    /// Called when it has announced that it commits, and goes on.
    #[inline]
    pub(super) fn order_commit(&mut self) {
        if self.has_closed_commits {
            self.history.wait_for_others();
        } else if P::LEAVES_MARKS {
            let Transactions { unlocked, protocol, .. } = &*self.shared;
            unlocked.of_tables.follow(&**protocol, &mut self.dependencies);
            if self.command.is_some() {
                unlocked.of_names.follow(&**protocol, &mut self.dependencies);
            }
        }
    }

    /// Called when it does not commit, or not yet.
    pub(super) fn open_commits(&mut self) {
        if std::mem::take(&mut self.has_closed_commits) {
            self.shared.unlocked.open();
        }
    }

    /// Called when its log record has its place.
    pub(super) fn leave_unlocked_change(&mut self) {
        if !self.has_closed_commits {
            return;
        }
        let Transactions { unlocked, protocol, .. } = &*self.shared;
        if self.changes_meaning {
            unlocked.meaning.fetch_add(1, Ordering::SeqCst);
        }
        if P::LEAVES_MARKS && self.changes_meaning {
            unlocked.of_names.leave(&**protocol, &self.dependencies);
        }
        if P::LEAVES_MARKS && self.is_unlocked_change {
            unlocked.of_tables.leave(&**protocol, &self.dependencies);
        }
        self.open_commits();
    }
}
