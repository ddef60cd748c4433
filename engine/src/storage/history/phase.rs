//! The phase in which a transaction commits (`storage::phase_snapshot` says what phases are for), and how
//! other threads learn which workers are committing.

use std::sync::atomic::{AtomicU64, Ordering};

/// Positions of a history fit into this many bits.
pub(super) const POSITION_BITS: u32 = 44;
/// The last of them.
pub(super) const LAST_POSITION: u64 = (1 << POSITION_BITS) - 1;

/// A phase as transactions keep it: its lower bits, which distinguish phases that are near each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phase(u32);

const PHASE_MASK: u64 = (1 << (64 - POSITION_BITS)) - 1;
/// The first phase. Transactions without a log record are in none, and store 0.
pub(super) const FIRST: u64 = 1;

impl Phase {
    pub(in crate::storage) fn new(number: u64) -> Phase {
        // After a million phases the numbers start over, and still none is 0: parities go on alternating.
        Phase((number.saturating_sub(FIRST) % (PHASE_MASK - 1) + FIRST) as u32)
    }

    /// Of a transaction that has no log record.
    const NONE: Phase = Phase(0);

    /// What a log record says of its phase.
    pub(crate) fn is_odd(self) -> bool {
        self.0 & 1 == 1
    }

    /// The phase and a position in one word.
    pub(super) fn with_position(self, position: u64) -> u64 {
        u64::from(self.0) << POSITION_BITS | position
    }

    pub(super) fn of(word: u64) -> Phase {
        Phase((word >> POSITION_BITS) as u32)
    }

    pub(super) fn position_of(word: u64) -> u64 {
        word & LAST_POSITION
    }
}

/// The worker is not committing.
const NOBODY: u64 = 0;
/// The worker is committing, in a phase that it has not read yet.
const ENTERING: u64 = 1;
/// Otherwise the phase plus this, so that no phase looks like the words above.
const FIRST_PHASE: u64 = 2;

/// What the worker of a history announces while it commits.
pub(in crate::storage) struct CommitSlot(AtomicU64);

impl Default for CommitSlot {
    fn default() -> CommitSlot {
        CommitSlot(AtomicU64::new(NOBODY))
    }
}

impl CommitSlot {
    /// Invariant 1.
    #[inline]
    pub(super) fn enter(&self, current: &AtomicU64) -> Phase {
        self.0.store(ENTERING, Ordering::SeqCst);
        let phase = current.load(Ordering::SeqCst);
        self.0.store(phase + FIRST_PHASE, Ordering::Release);
        Phase::new(phase)
    }

    /// Invariant 2.
    #[inline]
    pub(super) fn leave(&self) {
        self.0.store(NOBODY, Ordering::Release);
    }

    /// Whether the worker is committing.
    pub(super) fn is_entered(&self) -> bool {
        self.0.load(Ordering::SeqCst) != NOBODY
    }

    /// The phase that was read on entering.
    pub(super) fn phase(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            NOBODY | ENTERING => Phase::NONE,
            announced => Phase::new(announced - FIRST_PHASE),
        }
    }

    /// Whether the worker may be committing in a phase before this one.
    pub(in crate::storage) fn is_before(&self, phase: u64) -> bool {
        match self.0.load(Ordering::SeqCst) {
            NOBODY => false,
            ENTERING => true,
            announced => announced - FIRST_PHASE < phase,
        }
    }
}
