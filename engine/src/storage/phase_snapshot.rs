//! Phases: points in time that everybody agrees on, in logs as in memory.
//!
//! A *phase* is a number that a transaction takes over before it reserves the place of its log record, while
//! all its locks are held. Whoever depends on it reserves later, so its phase is not lower: the transactions
//! of the phases up to `k` are closed under dependencies, with no barrier and without stopping anybody. A
//! checkpoint is such a set (`checkpoint`): it raises the phase, waits for those who commit in the old one at
//! this moment, and then reads at a [`PhaseSnapshot`], whoever writes meanwhile.
//!
//! Commit times cannot say that: they are drawn behind the log record, so of two transactions the one of the
//! later phase may have the earlier time. The log says it by the parity of the phase, in the flags of a log
//! record, because between two phases that are asked for all stragglers have gone.
//!
//! ```text
//!   phase k     | raised to k + 1                    | those who committed in k are done
//!   ------------+------------------------------------+---------------------------------> time
//!    all are k    k (stragglers) and k + 1              all are k + 1
//! ```
//!
//! Invariants:
//! 1. Who commits announces it before he reads the phase (`storage::history::phase`); who raises the phase
//!    looks at the announcements afterwards. So each of phase `k` is seen, or finds `k + 1`.
//! 2. An announcement ends after the transaction's state is `COMMITTED`: who has waited finds all of phase
//!    `k` committed.
//! 3. The snapshot is older than the phase: what is committed at its time is of phase `k` or before, and
//!    nothing later is forgotten while it lives.
//!
//! Reference: Ren, Diamond, Abadi, Thomson: "Low-Overhead Asynchronous Checkpointing in Main-Memory Database
//! Systems" (CALC), SIGMOD 2016, whose phases these are.

use std::sync::atomic::Ordering;

use crossbeam_epoch::Guard;
use hyades_types::error::Result;

use super::history::{Handle, Histories, HistoryWriter, Phase, Snapshot, Verdict};
use super::record::Record;
use crate::mutant::{self, Mutant};

/// What is committed in a phase and before it. It and all that came later are kept readable while this lives.
pub(crate) struct PhaseSnapshot {
    /// From before the next phase began.
    snapshot: Snapshot,
    phase: Phase,
}

/// What a record was in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtPhase {
    Row,
    /// There was a row before, or may have been.
    Gone,
    /// The record came later.
    NotYet,
}

impl PhaseSnapshot {
    /// Whether what has been read at it is right.
    ///
    /// # Errors
    /// 72000: it was used for too long.
    pub(crate) fn check(&self) -> Result<()> {
        self.snapshot.check()
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }
}

impl Histories {
    /// Ends a phase, and calls `before` when nobody is in the next one yet. `own` is a history that has no
    /// snapshot. [`Histories::wait_for_stragglers`] must return before anything is read at the snapshot.
    pub(crate) fn end_phase(&self, own: &HistoryWriter, before: impl FnOnce()) -> PhaseSnapshot {
        let snapshot = own.snapshot();
        before();
        let phase = Phase::new(self.phase.fetch_add(1, Ordering::SeqCst));
        PhaseSnapshot { snapshot, phase }
    }

    /// Waits until nobody commits any more in a phase that has ended: a few microseconds, or as long as the
    /// operating system keeps a thread from its processor.
    pub(crate) fn wait_for_stragglers(&self) {
        let phase = self.phase.load(Ordering::SeqCst);
        let stragglers = self.all().filter(|_| !mutant::is_active(Mutant::StragglersForgotten));
        for history in stragglers {
            while history.commit.is_before(phase) {
                crate::sync::yield_now();
            }
        }
    }

    /// Where each history has come with transactions that have ended: what is written by those that end later
    /// has a handle from there on.
    pub(crate) fn ended(&self) -> Vec<u64> {
        self.all().map(|history| history.ended.load(Ordering::Acquire)).collect()
    }

    /// Reads a record as the phase left it, into `row`.
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
                // Nobody wrote it before.
                false if handle == Handle::NONE => AtPhase::NotYet,
                false => AtPhase::Gone,
            });
        }
    }
}
