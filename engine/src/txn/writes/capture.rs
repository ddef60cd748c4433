//! The end of a phase, for a checkpoint.
//!
//! Rows have versions, definitions have none. So transactions that change the catalog do not begin to commit
//! at the moment of a capture, and the committed catalog can be looked at in between (`crate::catalog`):
//!
//! 1. *capturing* is set, then the phase is raised. A transaction that commits a change of the catalog
//!    announces itself, reads the phase, and checks *capturing*: if it is set, it withdraws the announcement
//!    and tries again later. So transactions in the old phase are waited for, and none is in the new one yet.
//! 2. When the stragglers are gone, the committed catalog is that of the phase that has ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Body, Reading, Shared};
use crate::log::record::Commit;
use crate::protocol::Protocol;
use crate::storage::history::HistoryWriter;
use crate::txn::Captured;

impl<P: Protocol, R: Reading<P>> Body<P, R> {
    /// Enters the phase in which the transaction commits (`storage::history::phase`).
    pub(super) fn begin_commit(&mut self, is_barrier: bool) -> Commit {
        loop {
            // Looked at before, too, so that a change that is kept away does not keep others away.
            let waits = is_barrier && self.shared.is_capturing.load(Ordering::SeqCst);
            if !waits && self.close_commits() {
                let phase = self.history.begin_commit();
                let is_kept_away = (is_barrier && self.shared.is_capturing.load(Ordering::SeqCst))
                    || (!self.has_closed_commits && self.shared.unlocked.is_closed());
                if !is_kept_away {
                    self.order_commit();
                    return Commit { is_barrier, is_phase_odd: phase.is_odd() };
                }
                self.history.leave_commit();
                self.open_commits();
            }
            crate::sync::yield_now();
        }
    }
}

impl<P: Protocol, R: Reading<P>> Shared<P, R> {
    /// Ends a phase (module head). Calls `before` when no transaction is in the next one; `see`, and then
    /// `after`, when none is in this one.
    pub(super) fn capture_phase(
        &self,
        before: &mut dyn FnMut(),
        see: &mut dyn FnMut(),
        after: &mut dyn FnMut(),
    ) -> Captured {
        let own = HistoryWriter::new(&self.histories);
        let ended = self.histories.ended();
        self.is_capturing.store(true, Ordering::SeqCst);
        let at = self.histories.end_phase(&own, before);
        self.histories.wait_for_stragglers();
        see();
        self.is_capturing.store(false, Ordering::SeqCst);
        after();
        Captured { histories: Arc::clone(&self.histories), at, ended, _own: own }
    }
}
