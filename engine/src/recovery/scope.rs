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

use parking_lot::Mutex;

use crate::log::manifest::Incarnation;
use crate::lsn::{Lsn, LsnVector};
use crate::protocol::{Counts, Cut, EVERY_STAMP, Follows, RecordId};

/// See the module head.
#[derive(Debug)]
pub(super) struct Scope {
    /// How far each log is read.
    pub(super) end: LsnVector,
    /// `known`: the ELV; beyond every position for a log whose end is not known because of damage. `limit`:
    /// the highest position of each log that a kept transaction may follow.
    pub(super) cut: Cut,
    /// The ends of log records that must not be replayed, with their logs.
    pub(super) condemned: BTreeSet<(usize, u64)>,
    /// Transactions that had not become durable with all they depend on: their logs, and where their (last)
    /// records end, or the first ones begin if there is no last one. A log may be read twice.
    zombies: Mutex<BTreeSet<(usize, Lsn)>>,
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
    /// It may follow something of this log that lies beyond the beginning of a loss.
    MayDepend {
        on_log: usize,
    },
}

impl Scope {
    /// The scope of an ordinary recovery.
    pub(super) fn whole(cut: Cut) -> Scope {
        Scope::new(cut.limit.clone(), cut, BTreeSet::new())
    }

    /// Everything that counts of an incarnation that has ended.
    pub(super) fn of_ended(incarnation: &Incarnation) -> Scope {
        Scope::whole(Cut::of(incarnation).unwrap_or_else(|| Cut::at(&LsnVector::zero(incarnation.logs), 0)))
    }

    /// The scope of a salvage that has lost nothing so far but what lies beyond these ends.
    pub(super) fn salvaged(
        end: LsnVector,
        known: LsnVector,
        dead: Vec<RecordId>,
        condemned: BTreeSet<(usize, u64)>,
    ) -> Scope {
        let cut = Cut { known, has_lost: true, ..Cut::at(&end, EVERY_STAMP) }.without(dead);
        Scope::new(end, cut, condemned)
    }

    fn new(end: LsnVector, cut: Cut, condemned: BTreeSet<(usize, u64)>) -> Scope {
        let first_dropped = (0..end.len()).map(|_| AtomicU64::new(u64::MAX)).collect();
        Scope { end, cut, condemned, zombies: Mutex::default(), first_dropped }
    }

    /// The verdict on the transaction of this log whose (last) log record begins and ends here.
    #[inline]
    pub(super) fn judge(&self, log: usize, (start, end): (Lsn, Lsn), follows: Follows<'_>) -> Verdict {
        if self.is_condemned(log, end) {
            return Verdict::Condemned;
        }
        match follows.counts((log, start), &self.cut) {
            Counts::Yes => Verdict::Kept,
            Counts::No => Verdict::Zombie,
            Counts::Unsettled { on_log } => Verdict::MayDepend { on_log },
        }
    }

    pub(super) fn is_condemned(&self, log: usize, end: Lsn) -> bool {
        !self.condemned.is_empty() && self.condemned.contains(&(log, end.0))
    }

    /// Counts a transaction that is not kept.
    pub(super) fn count(&self, log: usize, end: Lsn, verdict: Verdict) {
        match verdict {
            Verdict::Kept => {}
            Verdict::Zombie => {
                self.zombies.lock().insert((log, end));
            }
            Verdict::Condemned | Verdict::MayDepend { .. } => {
                self.first_dropped[log].fetch_min(end.0, Ordering::Relaxed);
            }
        }
    }

    /// How many zombies have been counted.
    pub(super) fn zombies(&self) -> u64 {
        self.zombies.lock().len() as u64
    }

    /// The same with nothing counted, and with limits below what was dropped while this one counted; `None`
    /// if the limits are below that already.
    ///
    /// A zombie lowers nothing: an LV that covers its position need not depend on it, and one that does is
    /// above `known` itself. What names it by id is dead as well. That does not hold for what a salvage
    /// drops: a transaction may be dropped because of the anchor that its LV was compressed against, and one
    /// that depends on it may have been compressed against an older anchor.
    pub(super) fn tightened(&self) -> Option<Scope> {
        // The highest position that does not cover the record's end.
        let below = self.first_dropped.iter().map(|first| first.load(Ordering::Relaxed) - Lsn::ALIGNMENT);
        let mut limit = self.cut.limit.clone();
        limit.lower(&below.collect::<Vec<u64>>());
        (limit != self.cut.limit).then(|| self.with_limit(limit))
    }

    /// The same with nothing counted.
    pub(super) fn anew(&self) -> Scope {
        self.with_limit(self.cut.limit.clone())
    }

    fn with_limit(&self, limit: LsnVector) -> Scope {
        let cut = Cut { limit, ..self.cut.clone() };
        Scope::new(self.end.clone(), cut, self.condemned.clone())
    }
}
