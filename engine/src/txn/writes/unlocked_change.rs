//! Commits a change of a table from which no transaction was locked out.
//!
//! Replay treats a change of the catalog as a barrier: everything appended before comes first. What is
//! appended later follows it because it follows the change's lock on the table. A transaction that was in the
//! table all the while has no such lock to follow, and replay must not add its rows while it makes the index.
//! So all transactions that commit later follow such a change, whatever they have written:
//!
//! 1. Commits are *closed*. A committing transaction announces itself (`storage::history::phase`) and then
//!    checks: if they are closed, it withdraws the announcement and tries again later.
//! 2. Transactions that had announced themselves before are waited for, some microseconds. Now no transaction
//!    is between its dependencies and its place in a log.
//! 3. The change is appended. Its mark is left here, commits are opened, and a transaction that finds the
//!    mark follows it, until the mark is forgettable.
//!
//! A log with a total order needs none of this.

use std::sync::atomic::Ordering;

use super::{Body, Reading};
use crate::protocol::Protocol;

impl<P: Protocol, R: Reading<P>> Body<P, R> {
    /// Keeps others from committing if this transaction must commit alone; false if others do the same.
    pub(super) fn close_commits(&mut self) -> bool {
        if self.is_unlocked_change && P::LEAVES_MARKS && !self.has_closed_commits {
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
        } else if P::LEAVES_MARKS && self.shared.unlocked.is_marked.load(Ordering::SeqCst) {
            self.follow_unlocked_changes();
        }
    }

    #[cold]
    fn follow_unlocked_changes(&mut self) {
        let unlocked = &self.shared.unlocked;
        let is_forgettable = {
            let mark = unlocked.mark.read();
            self.shared.protocol.follow(&mark, &mut self.dependencies);
            self.shared.protocol.is_forgettable(&mark)
        };
        if is_forgettable {
            let mark = unlocked.mark.write();
            if self.shared.protocol.is_forgettable(&mark) {
                unlocked.is_marked.store(false, Ordering::SeqCst);
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
    pub(super) fn leave_unlocked_change(&mut self, token: &P::CommitToken) {
        if !self.has_closed_commits {
            return;
        }
        let (unlocked, protocol) = (&self.shared.unlocked, &self.shared.protocol);
        let own = protocol.new_mark();
        protocol.write_mark(token, &own);
        {
            let mut mark = unlocked.mark.write();
            if mark.is_empty() {
                *mark = own;
            } else {
                protocol.join(&own, &mark);
            }
            unlocked.is_marked.store(true, Ordering::SeqCst);
        }
        self.open_commits();
    }
}
