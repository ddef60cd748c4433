//! The recovery half of a protocol: which of its log records count after a crash, and what each of them
//! follows.
//!
//! ```text
//!   control records, fields --FieldReader--> Follows --+-- counts(Cut) --> does it count?
//!   (one reader for each log, in log order)            +-- positions ----> what the schedule waits for
//!   a protocol's records --Recovery::order----------------------------> is there anything to schedule?
//! ```
//!
//! A transaction is judged by itself, not as a part of a prefix of its log (pitfall 8), and perhaps long
//! after it was read, when more is known of the ends of the logs. So whatever decides is in [`Follows`],
//! which can be kept, and only what is needed to read the next field stays in the reader.
//!
//! A *stamp* is a number that a record has in place of positions: it follows everything with a smaller one,
//! in whatever log. A log is *complete* up to a stamp if all that comes after in it has a larger one. The cut
//! is then the smallest of the stamps up to which the logs that were found are complete. Silo-R's stamps are
//! its epochs, and milestones (control records) say up to which of them a log is complete.
//!
//! How other protocols fit:
//!
//! * Plover: a GSN is a stamp, the field plus the log's last GSN. A log is complete up to the last one in it,
//!   or to that of a heartbeat, which is a milestone; so a search for the cut reads every field.
//! * Dependency graph, with a variant of `Follows`: ids (a log and a position each), without those at or
//!   below the log's anchor. The cut gains the ids that were read and do not count. A node counts if its ids
//!   do, and is unsettled until they are settled: what is kept of it is judged again, as
//!   `recovery::log_summary` does.
//! * Changes of rows are replayed key by key, in the order of their times, whatever the protocol
//!   (`recovery::by_key`): its logs need anchors with times. `Order` says how calls are replayed, and gains a
//!   variant for the graph.

#[cfg(all(test, not(loom)))]
mod tests;

use crate::log::manifest::Incarnation;
use crate::log::record::{Control, Malformed};
use crate::lsn::{Lsn, LsnVector};

/// What must be known of a protocol to read the logs of one incarnation.
pub trait Recovery: Send + Sync {
    fn order(&self) -> Order;

    /// Whether stamps say which records count.
    fn has_stamps(&self) -> bool {
        false
    }

    /// The reader of one log, which begins before its first record.
    fn reader(&self) -> Box<dyn FieldReader>;
}

/// The order in which calls are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each record follows all before it: there is one log, and several workers gain nothing.
    Total,
    /// Each record follows what lies below a position of each log.
    Positions,
    /// There are none: all is replayed in the order of commit times.
    Times,
}

/// Reads the fields in one log. It sees control records and fields in log order.
pub trait FieldReader: Send {
    /// A control record. From here on [`FieldReader::follows`] is what all transactions at this place follow.
    fn control(&mut self, control: &Control);

    /// The stamp up to which the log is complete, as far as it has been read. 0 without stamps.
    fn complete(&self) -> u64 {
        0
    }

    /// The largest stamp up to which all logs were durable and complete, as far as this log says so. 0
    /// without stamps.
    fn durable_stamp(&self) -> u64 {
        0
    }

    /// The length of the field at the beginning of a transaction's content.
    ///
    /// # Errors
    /// It has no end.
    fn field_bytes(&self, content: &[u8]) -> Result<usize, Malformed>;

    /// Reads the field of a transaction: [`FieldReader::follows`] is what that one follows.
    ///
    /// # Errors
    /// It makes no sense. The transaction then seems to follow only what all at this place do.
    fn read(&mut self, field: &[u8]) -> Result<(), Malformed>;

    fn follows(&self) -> Follows<'_>;

    /// Another reader at the same place.
    fn fork(&self) -> Box<dyn FieldReader>;
}

/// What a transaction follows, as its reader lends it.
#[derive(Clone, Copy, Debug)]
pub enum Follows<'r> {
    /// All that was appended to its log before it.
    AllBefore,
    /// In each log, everything below a position (Taurus: its pre-append LV).
    Positions(&'r Positions),
    /// Everything with a smaller stamp.
    Stamp(u64),
}

/// What a transaction follows that is judged later, in logs that have lost nothing: without what anchors say,
/// which is durable.
#[derive(Clone, Debug)]
pub enum KeptFollows {
    AllBefore,
    Positions(Box<Positions>),
    Stamp(u64),
}

/// See [`Follows::Positions`].
#[derive(Clone, Debug)]
pub struct Positions {
    /// What all transactions at this place follow: the last anchor.
    base: LsnVector,
    /// What the transaction's own field names; only if `names_any`.
    named: LsnVector,
    names_any: bool,
}

/// How far logs count. Both bounds are the same, the ELV, once all is known and nothing is lost; and so are
/// the two of stamps.
#[derive(Clone, Debug)]
pub struct Cut {
    /// A record that follows nothing beyond these positions counts.
    pub limit: LsnVector,
    /// A record that follows anything beyond these, which are never lower, does not: that has never become
    /// durable.
    pub known: LsnVector,
    /// Something that was durable is lost, so that an anchor may name it.
    pub has_lost: bool,
    /// As `limit`: a record with a stamp up to this counts.
    pub stamp_limit: u64,
    /// As `known`: one with a larger stamp than this does not.
    pub stamp_known: u64,
}

/// Whether a transaction counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    Yes,
    /// It had not become durable with all that it follows.
    No,
    /// The cut does not say: what it follows of this log lies between the two bounds.
    Unsettled {
        on_log: usize,
    },
}

/// Up to which stamp records count, where no stamp is too large: there are none, or all count.
pub const EVERY_STAMP: u64 = u64::MAX;

impl Cut {
    /// That of an incarnation that has ended.
    pub fn of(incarnation: &Incarnation) -> Option<Cut> {
        Some(Cut::at(&incarnation.frozen_end()?, incarnation.stamp.unwrap_or(EVERY_STAMP)))
    }

    /// The ends of all logs are known, and the last stamp that counts.
    pub fn at(ends: &LsnVector, stamp: u64) -> Cut {
        Cut {
            limit: ends.clone(),
            known: ends.clone(),
            has_lost: false,
            stamp_limit: stamp,
            stamp_known: stamp,
        }
    }

    /// The logs have been read up to here, or are durable up to here, where all are complete up to this
    /// stamp. They go on.
    pub fn not_before(reached: LsnVector, stamp: u64) -> Cut {
        let known = LsnVector::from_slice(&vec![u64::MAX; reached.len()]);
        Cut { limit: reached, known, has_lost: false, stamp_limit: stamp, stamp_known: EVERY_STAMP }
    }
}

impl<'r> Follows<'r> {
    /// Whether the transaction counts that follows this and whose (last) record begins here.
    #[inline]
    pub fn counts(&self, (log, start): (usize, Lsn), cut: &Cut) -> Counts {
        let positions = match self {
            Follows::AllBefore if start > cut.known.get(log) => return Counts::No,
            Follows::AllBefore if start > cut.limit.get(log) => return Counts::Unsettled { on_log: log },
            Follows::AllBefore => return Counts::Yes,
            Follows::Stamp(stamp) if *stamp > cut.stamp_known => return Counts::No,
            Follows::Stamp(stamp) if *stamp > cut.stamp_limit => return Counts::Unsettled { on_log: log },
            Follows::Stamp(_) => return Counts::Yes,
            Follows::Positions(positions) => positions,
        };
        // What anchors name is durable.
        let is_named_covered = || positions.named.is_covered_by(cut.limit.entries());
        if !cut.has_lost && (!positions.names_any || is_named_covered()) {
            return Counts::Yes;
        }
        let first_above = |bound: &LsnVector| {
            let mut entries = positions.up_to(cut.known.entries(), cut.has_lost).enumerate();
            entries.find(|(log, entry)| *entry > bound.get(*log).0).map(|(log, _)| log)
        };
        // The limit is never above what is known.
        match first_above(&cut.limit) {
            None => Counts::Yes,
            Some(_) if first_above(&cut.known).is_some() => Counts::No,
            Some(on_log) => Counts::Unsettled { on_log },
        }
    }

    /// Refuses what a transaction of this log cannot follow: what was appended after it.
    #[inline]
    pub fn check(&self, log: usize, start: Lsn) -> Result<(), Malformed> {
        match self {
            Follows::Positions(positions) if positions.names_any && positions.named.get(log) > start => {
                Err(Malformed { offset: 0, reason: "a transaction depends on what was appended after it" })
            }
            _ => Ok(()),
        }
    }

    /// Whether it follows more than all transactions at its place do.
    #[inline]
    pub fn is_own(&self) -> bool {
        match self {
            Follows::AllBefore | Follows::Stamp(_) => true,
            Follows::Positions(positions) => positions.names_any,
        }
    }

    /// Appends up to where each log must have been replayed before a transaction that follows this and whose
    /// (last) record begins here. The logs count up to the positions `known`: an anchor can name a part of a
    /// record whose end never came, whereas a transaction always names the end of a record.
    #[inline]
    pub fn extend_positions(&self, start: Lsn, known: &LsnVector, into: &mut Vec<u64>) {
        match self {
            Follows::AllBefore => into.push(start.0),
            // No positions are known.
            Follows::Stamp(_) => into.extend(known.entries().iter().map(|_| 0)),
            Follows::Positions(positions) => into.extend(positions.up_to(known.entries(), true)),
        }
    }

    /// As [`Follows::extend_positions`].
    pub fn positions(&self, start: Lsn, known: &LsnVector) -> LsnVector {
        let mut positions = Vec::new();
        self.extend_positions(start, known, &mut positions);
        LsnVector::from_slice(&positions)
    }

    /// The LSN vector, if that is what it is.
    pub fn vector(&self) -> Option<LsnVector> {
        let Follows::Positions(Positions { base, named, names_any }) = self else { return None };
        let mut vector = base.clone();
        if *names_any {
            vector.raise(named.entries());
        }
        Some(vector)
    }

    pub fn keep(&self) -> KeptFollows {
        let Positions { named, names_any, .. } = match self {
            Follows::AllBefore => return KeptFollows::AllBefore,
            Follows::Stamp(stamp) => return KeptFollows::Stamp(*stamp),
            Follows::Positions(positions) => positions,
        };
        let named = if *names_any { named.clone() } else { LsnVector::default() };
        let kept = Positions { base: LsnVector::default(), named, names_any: *names_any };
        KeptFollows::Positions(Box::new(kept))
    }
}

impl KeptFollows {
    pub fn follows(&self) -> Follows<'_> {
        match self {
            KeptFollows::AllBefore => Follows::AllBefore,
            KeptFollows::Positions(positions) => Follows::Positions(positions),
            KeptFollows::Stamp(stamp) => Follows::Stamp(*stamp),
        }
    }
}

impl Positions {
    /// Before the first anchor.
    pub fn zero(logs: usize) -> Positions {
        Positions { base: LsnVector::zero(logs), named: LsnVector::zero(logs), names_any: false }
    }

    /// The number of logs.
    pub fn logs(&self) -> usize {
        self.base.len()
    }

    /// What all transactions follow from here on.
    pub fn rebase(&mut self, anchor: &LsnVector) {
        self.base.copy_from(anchor.entries());
        self.names_any = false;
    }

    /// The next transaction names nothing so far.
    #[inline]
    pub fn begin(&mut self) {
        self.names_any = false;
    }

    #[inline]
    pub fn name(&mut self, log: usize, position: Lsn) {
        if !self.names_any {
            self.named.reset(self.base.len());
            self.names_any = true;
        }
        self.named.raise_entry(log, position);
    }

    /// The position of each log: what is named, and what the base names of logs that count up to `known`.
    #[inline]
    fn up_to<'a>(&'a self, known: &'a [u64], with_base: bool) -> impl Iterator<Item = u64> + 'a {
        let base = if with_base { self.base.entries() } else { &[] };
        let named = if self.names_any { self.named.entries() } else { &[] };
        let entry = |entries: &[u64], log: usize| entries.get(log).copied().unwrap_or(0);
        (0..base.len().max(named.len()))
            .map(move |log| entry(base, log).min(entry(known, log)).max(entry(named, log)))
    }
}
