//! Committing a change of a table that nobody was locked out for.
//!
//! Replay takes a change of the catalog for a barrier: all that was appended before comes first. What is
//! appended later follows it because it follows the change's lock on the table. Who was in the table all the
//! while has no such lock to follow, and replay must not put his rows there while it makes the index. So all
//! who commit later follow such a change, whatever they have written:
//!
//! 1. Commits are *closed*. Who commits announces himself (`storage::history::phase`) and then looks: if they
//!    are closed he takes that back and tries again later.
//! 2. Whoever had announced himself before is waited for, some microseconds. Now nobody stands between his
//!    dependencies and his place in a log.
//! 3. The change is appended. Its mark is left here, commits are opened, and who finds the mark follows it,
//!    until it is forgettable.
//!
//! A log of a total order needs nothing of this.

use std::sync::atomic::Ordering;

use super::LockingTransaction;
use crate::protocol::Protocol;

impl<P: Protocol> LockingTransaction<P> {
    /// Keeps others from committing if this transaction must be alone with that; false if others do the same.
    pub(super) fn close_commits(&mut self) -> bool {
        if self.is_unlocked_change && P::LEAVES_MARKS && !self.has_closed_commits {
            self.has_closed_commits = !self.shared.unlocked.is_closed.swap(true, Ordering::SeqCst);
            return self.has_closed_commits;
        }
        true
    }

    /// It has announced that it commits, and goes on.
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

    /// It does not commit, or not yet.
    pub(super) fn open_commits(&mut self) {
        if std::mem::take(&mut self.has_closed_commits) {
            self.shared.unlocked.open();
        }
    }

    /// Its log record has its place.
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
