//! Which log records of an incarnation count.
//!
//! Recovery knows one bound, the ELV: a transaction whose LV it does not cover never became durable. A
//! salvage (`salvage`) adds what was lost of the logs and what depends on that, so there are three bounds for
//! each log. Where nothing is damaged, they are the same position:
//!
//! ```text
//!      records that are read          | damaged, or unknown             |
//!   0 ----------------- limit ------ end ------------------------------ known
//!        named without harm | named: perhaps what was lost or dropped     | named: a zombie
//! ```

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lsn::{Lsn, LsnVector};

/// See the module head.
#[derive(Debug)]
pub(super) struct Scope {
    /// How far each log is read.
    pub(super) end: LsnVector,
    /// The ELV; beyond every position for a log whose end is not known because of damage.
    pub(super) known: LsnVector,
    /// The highest position of each log that the LV of a kept transaction may name.
    pub(super) limit: LsnVector,
    /// The ends of log records that must not be replayed, with their logs.
    pub(super) condemned: BTreeSet<(usize, u64)>,
    /// Transactions that had not become durable with all they depend on.
    pub(super) zombies: AtomicU64,
    /// For each log, where the first transaction ends that is condemned or may depend on what was lost.
    first_dropped: Vec<AtomicU64>,
}

/// The verdict on a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Kept,
    /// It had not become durable with everything it depends on: no recovery would keep it.
    Zombie,
    /// Its own log record cannot be replayed.
    Condemned,
    /// Its LV names a position of this log beyond the beginning of a loss.
    MayDepend {
        on_log: usize,
    },
}

impl Scope {
    /// The scope of an ordinary recovery.
    pub(super) fn whole(end: &LsnVector) -> Scope {
        Scope::new(end.clone(), end.clone(), BTreeSet::new())
    }

    pub(super) fn new(end: LsnVector, known: LsnVector, condemned: BTreeSet<(usize, u64)>) -> Scope {
        let first_dropped = (0..end.len()).map(|_| AtomicU64::new(u64::MAX)).collect();
        let limit = end.clone();
        Scope { end, known, limit, condemned, zombies: AtomicU64::new(0), first_dropped }
    }

    /// The verdict on the transaction of this log whose (last) log record ends here.
    pub(super) fn judge(&self, log: usize, end: Lsn, vector: &[u64]) -> Verdict {
        let first_above =
            |bound: &LsnVector| vector.iter().enumerate().position(|(log, entry)| *entry > bound.get(log).0);
        if self.is_condemned(log, end) {
            return Verdict::Condemned;
        }
        // The limit is never above what is known.
        let Some(on_log) = first_above(&self.limit) else { return Verdict::Kept };
        if first_above(&self.known).is_some() { Verdict::Zombie } else { Verdict::MayDepend { on_log } }
    }

    pub(super) fn is_condemned(&self, log: usize, end: Lsn) -> bool {
        self.condemned.contains(&(log, end.0))
    }

    /// Counts a transaction that is not kept.
    pub(super) fn count(&self, log: usize, end: Lsn, verdict: Verdict) {
        match verdict {
            Verdict::Kept => {}
            Verdict::Zombie => {
                self.zombies.fetch_add(1, Ordering::Relaxed);
            }
            Verdict::Condemned | Verdict::MayDepend { .. } => {
                self.first_dropped[log].fetch_min(end.0, Ordering::Relaxed);
            }
        }
    }

    /// The same with nothing counted, and with limits below what was dropped while this one counted; `None`
    /// if the limits are below that already.
    ///
    /// A zombie lowers nothing: an LV that covers its position need not depend on it, and one that does is
    /// above `known` itself. That does not hold for what a salvage drops: a transaction may be dropped
    /// because of the anchor that its LV was compressed against, and one that depends on it may have been
    /// compressed against an older anchor.
    pub(super) fn tightened(&self) -> Option<Scope> {
        // The highest position that does not cover the record's end.
        let below = self.first_dropped.iter().map(|first| first.load(Ordering::Relaxed) - Lsn::ALIGNMENT);
        let mut limit = self.limit.clone();
        limit.lower(&below.collect::<Vec<u64>>());
        (limit != self.limit).then(|| self.with_limit(limit))
    }

    /// The same with nothing counted.
    pub(super) fn anew(&self) -> Scope {
        self.with_limit(self.limit.clone())
    }

    fn with_limit(&self, limit: LsnVector) -> Scope {
        Scope { limit, ..Scope::new(self.end.clone(), self.known.clone(), self.condemned.clone()) }
    }
}
