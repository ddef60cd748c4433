//! Phases: points in time that are the same for all threads, in the logs as in memory.
//!
//! A *phase* is a number that a transaction reads before it reserves the place of its log record, while it
//! still holds all its locks. A transaction that depends on it reserves later, so its phase is not lower: the
//! transactions of the phases up to `k` are closed under dependencies, without a barrier and without stopping
//! any transaction. A checkpoint is such a set (`checkpoint`): it raises the phase, waits for the
//! transactions that are committing in the old one at this moment, and then reads at a [`PhaseSnapshot`],
//! regardless of later writes.
//!
//! Commit times do not give such a cut: they are drawn after the place of the log record is reserved, so of
//! two transactions the one of the later phase may have the earlier time. The log records the phase by its
//! parity, in the flags of a log record. One bit is enough because all stragglers have finished before the
//! phase is raised again.
//!
//! ```text
//!   phase k     | raised to k + 1                    | all commits in phase k are done
//!   ------------+------------------------------------+---------------------------------> time
//!    all are k    k (stragglers) and k + 1              all are k + 1
//! ```
//!
//! Invariants:
//! 1. A transaction announces its commit before it reads the phase (`storage::history::phase`). The thread
//!    that raises the phase looks at the announcements afterwards. So each transaction of phase `k` is seen,
//!    or reads `k + 1`.
//! 2. An announcement ends after the transaction's state is `COMMITTED`: after the wait, all transactions of
//!    phase `k` are committed.
//! 3. The snapshot is older than the phase: what is committed at its time belongs to phase `k` or before, and
//!    nothing later is forgotten while it lives.
//!
//! Reference: Ren, Diamond, Abadi, Thomson: "Low-Overhead Asynchronous Checkpointing in Main-Memory Database
//! Systems" (CALC), SIGMOD 2016, from which the phases are taken.

use std::sync::atomic::Ordering;

use crossbeam_epoch::Guard;
use hyades_types::error::Result;

use super::history::{Handle, Histories, HistoryWriter, Phase, Snapshot, Verdict};
use super::record::Record;
use crate::mutant::{self, Mutant};

/// Everything committed in a phase and before it. It and all later versions stay readable while this lives.
pub(crate) struct PhaseSnapshot {
    /// Taken before the next phase began.
    snapshot: Snapshot,
    phase: Phase,
}

/// The state of a record in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtPhase {
    Row,
    /// There is no row, but there was one before, or may have been.
    Gone,
    /// The record was created later.
    NotYet,
}

impl PhaseSnapshot {
    /// Whether the data read at it so far are valid.
    ///
    /// # Errors
    /// 72000: the snapshot was held for too long.
    pub(crate) fn check(&self) -> Result<()> {
        self.snapshot.check()
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }
}

impl Histories {
    /// Ends a phase, and calls `before` while no transaction is in the next one yet. `own` is a history that
    /// has no snapshot. [`Histories::wait_for_stragglers`] must return before anything is read at the
    /// snapshot.
    pub(crate) fn end_phase(&self, own: &HistoryWriter, before: impl FnOnce()) -> PhaseSnapshot {
        let snapshot = own.snapshot();
        before();
        let phase = Phase::new(self.phase.fetch_add(1, Ordering::SeqCst));
        PhaseSnapshot { snapshot, phase }
    }

    /// Waits until no transaction is committing any more in a phase that has ended: a few microseconds, or as
    /// long as the operating system keeps a thread off its processor.
    pub(crate) fn wait_for_stragglers(&self) {
        let phase = self.phase.load(Ordering::SeqCst);
        let stragglers = self.all().filter(|_| !mutant::is_active(Mutant::StragglersForgotten));
        for history in stragglers {
            while history.commit.is_before(phase) {
                crate::sync::yield_now();
            }
        }
    }

    /// The position up to which the transactions of each history have ended. What later transactions write
    /// has a handle from there on.
    pub(crate) fn ended(&self) -> Vec<u64> {
        self.all().map(|history| history.ended.load(Ordering::Acquire)).collect()
    }

    /// Reads a record into `row` as it was at the end of the phase.
    pub(crate) fn read_at_phase(
        &self,
        record: &Record,
        at: &PhaseSnapshot,
        row: &mut Vec<u8>,
        guard: &Guard,
    ) -> Result<AtPhase> {
        let time = at.snapshot.time();
        let sees = |committed, phase| committed <= time || phase == at.phase;
        'anew: loop {
            let (mut handle, mut is_there) = record.copy_newest(row, guard);
            while let Verdict::Unseen(version) = self.judge_by(handle, sees, guard) {
                let Some(was_there) = version.apply(row, is_there) else { continue 'anew };
                is_there = was_there;
                handle = version.previous();
            }
            at.check()?;
            return Ok(match is_there {
                true => AtPhase::Row,
                // No transaction had written it before.
                false if handle == Handle::NONE => AtPhase::NotYet,
                false => AtPhase::Gone,
            });
        }
    }
}
