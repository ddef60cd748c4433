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
//! A *predecessor* is named by its place. Whether it counts is not seen at its place, but depends on its own
//! predecessors. So the cut has a list of the *dead*: those that are there and do not count
//! (`recovery::dead`).
//!
//! Changes of rows are replayed key by key, in the order of their times, whatever the protocol
//! (`recovery::by_key`): its logs need control records with times. [`Order`] says how calls are replayed.

#[cfg(all(test, not(loom)))]
mod tests;

use std::fmt;
use std::sync::Arc;

use crate::log::manifest::{Incarnation, UpToEnd};
use crate::log::record::{Control, Malformed};
use crate::lsn::{Lsn, LsnVector};

/// What must be known of a protocol to read the logs of one incarnation.
pub trait Recovery: Send + Sync {
    fn order(&self) -> Order;

    /// Whether stamps say which records count.
    fn has_stamps(&self) -> bool {
        false
    }

    /// Whether records name those that they follow, so that the cut must know the dead.
    fn has_ids(&self) -> bool {
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
    /// The transactions that it names (dependency graph).
    Predecessors(&'r Predecessors),
}

/// What a transaction follows that is judged later, in logs that have lost nothing: without what anchors say,
/// which is durable.
#[derive(Clone, Debug)]
pub enum KeptFollows {
    AllBefore,
    Positions(Box<Positions>),
    Stamp(u64),
    Predecessors(Box<Predecessors>),
}

/// A transaction as others name it: its log, and where its (last) record ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(u64);

impl RecordId {
    /// One log has fewer positions than so many bits count, in units of [`Lsn::ALIGNMENT`].
    const LOG_BITS: u32 = crate::log::record::MAX_LOGS.ilog2();

    #[inline]
    pub fn new(log: usize, end: Lsn) -> RecordId {
        RecordId((end.0 / Lsn::ALIGNMENT) << RecordId::LOG_BITS | log as u64)
    }

    /// As one word. 0 is that of no transaction. In the order of ends.
    #[inline]
    pub fn word(self) -> u64 {
        self.0
    }

    #[inline]
    pub fn of_word(word: u64) -> Option<RecordId> {
        (word != 0).then_some(RecordId(word))
    }

    #[inline]
    pub fn log(self) -> usize {
        (self.0 & ((1 << RecordId::LOG_BITS) - 1)) as usize
    }

    #[inline]
    pub fn end(self) -> Lsn {
        Lsn((self.0 >> RecordId::LOG_BITS) * Lsn::ALIGNMENT)
    }
}

/// As `hyades log dump` prints it: `log:position`.
impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.log(), self.end())
    }
}

/// See [`Follows::Predecessors`].
#[derive(Clone, Debug)]
pub struct Predecessors {
    /// All that lies before these, too. What the anchor names counts for certain.
    pub(super) positions: Positions,
    /// In ascending order.
    ids: Vec<RecordId>,
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
    /// In ascending order: what does not count although it lies before the limit, and is named by id.
    pub dead: Arc<[RecordId]>,
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
        let UpToEnd { stamp, dead, .. } = &incarnation.up_to_end;
        let cut = Cut::at(&incarnation.frozen_end()?, stamp.unwrap_or(EVERY_STAMP));
        Some(cut.without(dead.iter().map(|(log, end)| RecordId::new(*log, Lsn(*end)))))
    }

    /// The ends of all logs are known, and the last stamp that counts.
    pub fn at(ends: &LsnVector, stamp: u64) -> Cut {
        Cut {
            limit: ends.clone(),
            known: ends.clone(),
            has_lost: false,
            stamp_limit: stamp,
            stamp_known: stamp,
            dead: Arc::default(),
        }
    }

    /// The same, but these are dead.
    #[must_use]
    pub fn without(self, dead: impl IntoIterator<Item = RecordId>) -> Cut {
        let mut dead: Vec<RecordId> = dead.into_iter().collect();
        dead.sort_unstable();
        Cut { dead: dead.into(), ..self }
    }

    /// The logs have been read up to here, or are durable up to here, where all are complete up to this
    /// stamp. They go on. With ids: what lies before these positions counts for certain.
    pub fn not_before(reached: LsnVector, stamp: u64) -> Cut {
        let known = LsnVector::from_slice(&vec![u64::MAX; reached.len()]);
        Cut { known, stamp_known: EVERY_STAMP, ..Cut::at(&reached, stamp) }
    }

    /// What the manifest keeps of it, beside the ends.
    pub fn up_to_end(&self) -> UpToEnd {
        UpToEnd {
            stamp: (self.stamp_known != EVERY_STAMP).then_some(self.stamp_known),
            dead: self.dead.iter().map(|id| (id.log(), id.end().0)).collect(),
            is_unknown: false,
        }
    }
}

impl<'r> Follows<'r> {
    /// Whether the transaction counts that follows this and whose (last) record begins here.
    #[inline]
    pub fn counts(&self, (log, start): (usize, Lsn), cut: &Cut) -> Counts {
        match self {
            Follows::AllBefore if start > cut.known.get(log) => Counts::No,
            Follows::AllBefore if start > cut.limit.get(log) => Counts::Unsettled { on_log: log },
            Follows::AllBefore => Counts::Yes,
            Follows::Stamp(stamp) if *stamp > cut.stamp_known => Counts::No,
            Follows::Stamp(stamp) if *stamp > cut.stamp_limit => Counts::Unsettled { on_log: log },
            Follows::Stamp(_) => Counts::Yes,
            Follows::Positions(positions) => positions.counts(cut),
            Follows::Predecessors(predecessors) => predecessors.counts(cut),
        }
    }

    /// Refuses what a transaction of this log cannot follow: what was appended after it.
    #[inline]
    pub fn check(&self, log: usize, start: Lsn) -> Result<(), Malformed> {
        let is_after = |positions: &Positions| positions.names_any && positions.named.get(log) > start;
        let is_wrong = match self {
            Follows::Positions(positions) => is_after(positions),
            Follows::Predecessors(Predecessors { positions, ids }) => {
                is_after(positions) || ids.iter().any(|id| id.log() == log && id.end() > start)
            }
            Follows::AllBefore | Follows::Stamp(_) => false,
        };
        match is_wrong {
            true => {
                Err(Malformed { offset: 0, reason: "a transaction depends on what was appended after it" })
            }
            false => Ok(()),
        }
    }

    /// The transactions that it names.
    #[inline]
    pub fn ids(&self) -> &[RecordId] {
        match self {
            Follows::Predecessors(predecessors) => &predecessors.ids,
            Follows::AllBefore | Follows::Positions(_) | Follows::Stamp(_) => &[],
        }
    }

    /// Whether it follows other positions than all transactions at its place do.
    #[inline]
    pub fn has_own_positions(&self) -> bool {
        match self {
            Follows::AllBefore | Follows::Stamp(_) => true,
            Follows::Positions(positions) => positions.names_any,
            Follows::Predecessors(Predecessors { positions, .. }) => positions.names_any,
        }
    }

    /// Appends up to where each log must have been replayed before a transaction that follows this and whose
    /// (last) record begins here, beside those that it names. The logs count up to the positions `known`: an
    /// anchor can name a part of a record whose end never came, whereas a transaction always names the end of
    /// a record.
    #[inline]
    pub fn extend_positions(&self, start: Lsn, known: &LsnVector, into: &mut Vec<u64>) {
        match self {
            Follows::AllBefore => into.push(start.0),
            // No positions are known.
            Follows::Stamp(_) => into.extend(known.entries().iter().map(|_| 0)),
            Follows::Positions(positions) => into.extend(positions.up_to(known.entries(), true)),
            Follows::Predecessors(predecessors) => {
                into.extend(predecessors.positions.up_to(known.entries(), true));
            }
        }
    }

    /// As [`Follows::extend_positions`], with those that it names.
    pub fn positions(&self, start: Lsn, known: &LsnVector) -> LsnVector {
        let mut positions = Vec::new();
        self.extend_positions(start, known, &mut positions);
        let mut positions = LsnVector::from_slice(&positions);
        self.ids().iter().for_each(|id| positions.raise_entry(id.log(), id.end()));
        positions
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
        match self {
            Follows::AllBefore => KeptFollows::AllBefore,
            Follows::Stamp(stamp) => KeptFollows::Stamp(*stamp),
            Follows::Positions(positions) => KeptFollows::Positions(Box::new(positions.without_base())),
            Follows::Predecessors(Predecessors { positions, ids }) => {
                let (positions, ids) = (positions.without_base(), ids.clone());
                KeptFollows::Predecessors(Box::new(Predecessors { positions, ids }))
            }
        }
    }
}

impl KeptFollows {
    pub fn follows(&self) -> Follows<'_> {
        match self {
            KeptFollows::AllBefore => Follows::AllBefore,
            KeptFollows::Positions(positions) => Follows::Positions(positions),
            KeptFollows::Stamp(stamp) => Follows::Stamp(*stamp),
            KeptFollows::Predecessors(predecessors) => Follows::Predecessors(predecessors),
        }
    }
}

impl Predecessors {
    /// Before the first anchor.
    pub fn zero(logs: usize) -> Predecessors {
        Predecessors { positions: Positions::zero(logs), ids: Vec::new() }
    }

    /// What all transactions follow from here on.
    pub fn rebase(&mut self, anchor: &LsnVector) {
        self.positions.rebase(anchor);
        self.ids.clear();
    }

    /// The next transaction names nothing so far.
    pub fn begin(&mut self) {
        self.positions.begin();
        self.ids.clear();
    }

    /// Names a transaction. In ascending order.
    pub fn name(&mut self, id: RecordId) {
        self.ids.push(id);
    }

    /// The transactions that are named.
    pub fn ids(&self) -> &[RecordId] {
        &self.ids
    }

    /// The logs that have a position, with it.
    pub fn positions(&self) -> impl Iterator<Item = (usize, Lsn)> + '_ {
        self.positions.named()
    }

    fn counts(&self, cut: &Cut) -> Counts {
        let mut counts = self.positions.counts(cut);
        for id in &self.ids {
            let (log, end) = (id.log(), id.end());
            if counts == Counts::No || end > cut.known.get(log) || cut.dead.binary_search(id).is_ok() {
                return Counts::No;
            }
            if end > cut.limit.get(log) {
                counts = Counts::Unsettled { on_log: log };
            }
        }
        counts
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

    /// The logs of which a position is named, with it.
    fn named(&self) -> impl Iterator<Item = (usize, Lsn)> + '_ {
        let named = if self.names_any { self.named.entries() } else { &[] };
        named.iter().enumerate().filter(|(_, named)| **named > 0).map(|(log, named)| (log, Lsn(*named)))
    }

    /// See [`KeptFollows`].
    fn without_base(&self) -> Positions {
        let named = if self.names_any { self.named.clone() } else { LsnVector::default() };
        Positions { base: LsnVector::default(), named, names_any: self.names_any }
    }

    #[inline]
    fn counts(&self, cut: &Cut) -> Counts {
        // What anchors name is durable.
        let is_named_covered = || self.named.is_covered_by(cut.limit.entries());
        if !cut.has_lost && (!self.names_any || is_named_covered()) {
            return Counts::Yes;
        }
        let first_above = |bound: &LsnVector| {
            let mut entries = self.up_to(cut.known.entries(), cut.has_lost).enumerate();
            entries.find(|(log, entry)| *entry > bound.get(*log).0).map(|(log, _)| log)
        };
        // The limit is never above what is known.
        match first_above(&cut.limit) {
            None => Counts::Yes,
            Some(_) if first_above(&cut.known).is_some() => Counts::No,
            Some(on_log) => Counts::Unsettled { on_log },
        }
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
