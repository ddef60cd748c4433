//! The time at which a checkpoint cuts.
//!
//! Commit times are a serial order: they are drawn while all locks are held. So the transactions up to a
//! time are closed under dependencies, and those of a checkpoint are the ones up to its time *C*, in the logs
//! as in memory:
//!
//! ```text
//!   raised                        C            settled
//!   --+---------------------------+--------------+-------------> real time
//!     all that had announced      clock read,    reserved ends of the logs
//!     their commits are done      catalog seen
//! ```
//!
//! * A record that ends at or before `raised` is of a transaction that had announced its commit by then, and
//!   has drawn its time before C.
//! * A transaction with a time up to C had its place before it drew that, so its record ends at or before
//!   `settled`.
//!
//! Rows have versions, definitions have none. So transactions that change the catalog do not begin to commit
//! from before `raised` to C: *capturing* is set first. Such a transaction announces itself and then checks
//! *capturing*; if it is set, it withdraws the announcement and tries again later. Those that went on are
//! waited for with all others, so the committed catalog is that of C.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Body, Transactions, linger};
use crate::log::record::Commit;
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::history::HistoryWriter;
use crate::txn::Captured;

impl<P: Protocol> Body<P> {
    /// Announces that the transaction commits, once it may.
    pub(super) fn begin_commit(&mut self, is_barrier: bool) -> Commit {
        loop {
            // Looked at before, too, so that a change that is kept away does not keep others away.
            let waits = is_barrier && self.shared.is_capturing.load(Ordering::SeqCst);
            if !waits && self.close_commits() {
                self.history.begin_commit();
                let is_kept_away = (is_barrier && self.shared.is_capturing.load(Ordering::SeqCst))
                    || (!self.has_closed_commits && self.shared.unlocked.is_closed());
                if !is_kept_away {
                    self.order_commit();
                    return Commit { is_barrier, time: Some(0), is_phase_odd: false };
                }
                self.history.leave_commit();
                self.open_commits();
            }
            crate::sync::yield_now();
        }
    }
}

impl<P: Protocol> Transactions<P> {
    /// Takes a time. Calls `raised`, `cut` and `settled` at the moments of the module head.
    pub(super) fn capture_time(
        &self,
        raised: &mut dyn FnMut(),
        cut: &mut dyn FnMut(),
        settled: &mut dyn FnMut(),
    ) -> Captured {
        let own = HistoryWriter::new(&self.histories);
        let ended = self.histories.ended();
        self.is_capturing.store(true, Ordering::SeqCst);
        raised();
        if mutant::is_active(Mutant::SettledEarly) {
            settled();
            linger();
        }
        if !mutant::is_active(Mutant::StragglersForgotten) {
            own.wait_for_others();
        }
        let at = own.snapshot();
        cut();
        self.is_capturing.store(false, Ordering::SeqCst);
        if !mutant::is_active(Mutant::SettledEarly) {
            settled();
        }
        Captured { histories: Arc::clone(&self.histories), at, ended, _own: own }
    }
}
