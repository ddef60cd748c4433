//! Where in a log the records lie that change a table: *extents*, with the least and the greatest key in
//! each. A restart that wants one table, or some keys of it, reads those alone.
//!
//! ```text
//!   log:      | hot | kept       | hot | kept       | other            | hot | fragment | hot | last fragment |
//!   hot:      [----]              [----]                                [----------------]   and so on
//!   kept:            [----------]        [----------]                        [-- a large transaction --------]
//! ```
//!
//! An extent begins where a record begins, and says in which block of the files that is. Records that lie
//! close together share one, whatever lies between them. A large transaction, one in fragments, has an extent
//! of its own, from its first fragment to its last one; all others have whole records only.
//!
//! They are collected while the log is read for other reasons (`log_summary`), by a running server, too,
//! whose digest keeps them. Calls are not in them: what a call changes is known only when it has been
//! replayed.
//!
//! What must be known of each transaction besides is whether it counts. Nearly all do; the others are listed.
//!
//! Invariants:
//! 1. Each record that changes a table and ends at or before `read_to` is in one extent of that table.
//! 2. The extents of a table do not overlap, except those of large transactions.
//! 3. There are at most [`MOST_EXTENTS`]: if there were more, those of records that are further apart are
//!    joined.

use std::collections::{BTreeSet, HashMap};

use hyades_types::definition::TableId;
use smallvec::SmallVec;

use crate::log::set::BlockPlace;
use crate::lsn::Lsn;
use crate::protocol::{Counts, Cut, Follows, KeptFollows};

/// Records that are not further apart share an extent, unless it would become longer than this.
const FIRST_GAP_BYTES: u64 = 32 << 10;
const FIRST_LENGTH_BYTES: u64 = 512 << 10;
/// Of one log: some megabytes of memory.
const MOST_EXTENTS: usize = 16 << 10;
/// So much of a key is kept.
pub(super) const KEY_BYTES: usize = 24;
/// At most this many transactions may wait to be judged: some hundred bytes each.
const MOST_UNSETTLED: usize = 1 << 18;

type KeyPrefix = SmallVec<[u8; KEY_BYTES]>;

/// The least and the greatest of some keys, of which the beginnings are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyBounds {
    pub(super) least: KeyPrefix,
    pub(super) greatest: KeyPrefix,
}

/// See the module head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The block in which it begins.
    pub(super) block: BlockPlace,
    /// All records of the log from its start on have later commit times than this; 0 if nothing is known.
    pub(super) bound: u64,
    pub(super) keys: KeyBounds,
    /// Whether it is one transaction in fragments.
    pub(super) is_large: bool,
}

/// Those of one log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extents {
    /// In the order of the log, but large ones where they end.
    pub(super) tables: HashMap<TableId, Vec<Extent>>,
    /// Up to where the log has been read.
    pub(super) read_to: u64,
    /// The ends of records of transactions that do not count.
    pub(super) excluded: BTreeSet<u64>,
}

/// Where something begins, as [`Extent`] has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning {
    pub(super) start: u64,
    pub(super) block: BlockPlace,
    pub(super) bound: u64,
}

/// Collects the extents of a log that is being read.
pub(super) struct Collector {
    extents: Extents,
    count: usize,
    gap_bytes: u64,
    length_bytes: u64,
    /// The large transactions that have begun and not ended.
    begun: HashMap<u64, Beginning>,
    /// Transactions of which it is not known whether they count: where their records begin and end.
    unsettled: Vec<(Lsn, u64, KeptFollows)>,
}

impl KeyBounds {
    pub(super) fn of(key: &[u8]) -> KeyBounds {
        KeyBounds { least: prefix(key).into(), greatest: prefix(key).into() }
    }

    #[inline]
    pub(super) fn add(&mut self, key: &[u8]) {
        let key = prefix(key);
        // Keys mostly ascend.
        if key > self.greatest.as_slice() {
            self.greatest = key.into();
        } else if key < self.least.as_slice() {
            self.least = key.into();
        }
    }

    fn join(&mut self, other: &KeyBounds) {
        self.add(&other.least);
        self.add(&other.greatest);
    }

    /// Whether a key from here on, and before there, may be among them.
    pub(super) fn may_have(&self, from: &[u8], until: Option<&[u8]>) -> bool {
        let begins_before = until.is_none_or(|until| self.least.as_slice() < until);
        begins_before && (self.greatest.as_slice() >= from || from.starts_with(&self.greatest))
    }
}

fn prefix(key: &[u8]) -> &[u8] {
    &key[..key.len().min(KEY_BYTES)]
}

impl Extents {
    /// Forgets what ends at this position or before it.
    pub(super) fn forget(&mut self, position: u64) {
        self.tables.values_mut().for_each(|extents| extents.retain(|extent| extent.end > position));
        self.tables.retain(|_, extents| !extents.is_empty());
        self.excluded.retain(|end| *end > position);
    }

    /// Whether all of them begin at this position or after it.
    pub(super) fn begin_after(&self, position: u64) -> bool {
        self.tables.values().flatten().all(|extent| extent.start >= position)
    }

    /// Those of some tables, in the order of their starts.
    pub(super) fn of_tables(&self, takes: impl Fn(TableId) -> bool) -> Vec<Extent> {
        let taken = self.tables.iter().filter(|(table, _)| takes(**table)).map(|(_, extents)| extents);
        // Bounded: there are at most so many extents.
        let mut taken: Vec<&Extent> = taken.flatten().collect();
        taken.sort_by_key(|extent| (extent.is_large, extent.start));
        join(&taken)
    }

    /// Those of a table that may have keys from here on, and before there, in the order of their starts.
    pub(super) fn of_keys(&self, table: TableId, (from, until): (&[u8], Option<&[u8]>)) -> Vec<Extent> {
        let extents = self.tables.get(&table).into_iter().flatten();
        // Bounded: there are at most so many extents.
        let mut found: Vec<Extent> =
            extents.filter(|extent| extent.keys.may_have(from, until)).cloned().collect();
        found.sort_by_key(|extent| extent.start);
        found
    }

    /// Bytes of the log in the extents of a table.
    pub(super) fn bytes_of(&self, table: TableId) -> u64 {
        let extents = self.tables.get(&table).into_iter().flatten();
        extents.map(|extent| extent.end - extent.start).sum()
    }
}

/// Extents in the order of their starts, with those that overlap as one: what is in two of them is replayed
/// once. `sorted`: first all that are not large.
fn join(sorted: &[&Extent]) -> Vec<Extent> {
    let mut joined: Vec<Extent> = Vec::with_capacity(sorted.len());
    for extent in sorted {
        match joined.last_mut() {
            Some(last) if !extent.is_large && extent.start < last.end => last.end = last.end.max(extent.end),
            // One large transaction, of several tables.
            Some(last) if extent.is_large && last.is_large && extent.start == last.start => {}
            _ => joined.push(Extent::clone(extent)),
        }
    }
    joined.sort_by_key(|extent| extent.start);
    joined
}

impl Collector {
    /// Goes on after these.
    pub(super) fn after(extents: Extents) -> Collector {
        Collector {
            count: extents.tables.values().map(Vec::len).sum(),
            extents,
            gap_bytes: FIRST_GAP_BYTES,
            length_bytes: FIRST_LENGTH_BYTES,
            begun: HashMap::new(),
            unsettled: Vec::new(),
        }
    }

    /// A fragment of a large transaction was seen.
    pub(super) fn note_fragment(&mut self, transaction: u64, beginning: impl FnOnce() -> Beginning) {
        self.begun.entry(transaction).or_insert_with(beginning);
    }

    /// The last fragment of a large transaction was seen. Returns where the first one begins.
    pub(super) fn end_large(&mut self, transaction: u64) -> Option<Beginning> {
        self.begun.remove(&transaction)
    }

    /// A transaction was seen that changes rows, and whose (last) record ends here. False if it was known.
    pub(super) fn takes(&self, end: u64) -> bool {
        end > self.extents.read_to
    }

    /// The transaction whose (last) record begins and ends here counts if what it follows does. False if too
    /// many of them would have to be remembered.
    pub(super) fn note_follows(
        &mut self,
        (log, start, end): (usize, Lsn, u64),
        follows: Follows<'_>,
        cut: &Cut,
    ) -> bool {
        match follows.counts((log, start), cut) {
            Counts::Yes => {}
            Counts::No => drop(self.extents.excluded.insert(end)),
            Counts::Unsettled { .. } => self.unsettled.push((start, end, follows.keep())),
        }
        self.unsettled.len() <= MOST_UNSETTLED
    }

    /// Rows of this table with these keys are changed by a record, or by the fragments, from here to there.
    pub(super) fn note(
        &mut self,
        table: TableId,
        from: Beginning,
        end: u64,
        keys: KeyBounds,
        is_large: bool,
    ) {
        let extents = self.extents.tables.entry(table).or_default();
        let (gap, length) = (self.gap_bytes, self.length_bytes);
        if let Some(last) = extents.iter_mut().rev().find(|extent| !extent.is_large)
            && !is_large
            && (from.start < last.end || from.start <= last.end + gap && end <= last.start + length)
        {
            // A record may change the table again after another one.
            last.end = end;
            last.keys.join(&keys);
            return;
        }
        let Beginning { start, block, bound } = from;
        extents.push(Extent { start, end, block, bound, keys, is_large });
        self.count += 1;
        if self.count > MOST_EXTENTS {
            self.coarsen();
        }
    }

    /// Joins extents until half of their number is left, or none can be joined any more.
    fn coarsen(&mut self) {
        while self.count > MOST_EXTENTS / 2 && self.length_bytes < u64::MAX / 2 {
            (self.gap_bytes, self.length_bytes) = (2 * self.gap_bytes, 2 * self.length_bytes);
            for extents in self.extents.tables.values_mut() {
                let mut joined: Vec<Extent> = Vec::with_capacity(extents.len());
                let mut last: Option<usize> = None;
                for extent in extents.drain(..) {
                    let into = last.filter(|_| !extent.is_large).map(|last| &mut joined[last]);
                    let into = into.filter(|into| {
                        extent.start <= into.end + self.gap_bytes
                            && extent.end <= into.start + self.length_bytes
                    });
                    if let Some(into) = into {
                        into.end = extent.end;
                        into.keys.join(&extent.keys);
                        continue;
                    }
                    if !extent.is_large {
                        last = Some(joined.len());
                    }
                    joined.push(extent);
                }
                *extents = joined;
            }
            self.count = self.extents.tables.values().map(Vec::len).sum();
        }
    }

    /// Judges the transactions that have not been judged yet. The log is the one that is read.
    pub(super) fn judge(&mut self, log: usize, cut: &Cut) {
        let excluded = &mut self.extents.excluded;
        self.unsettled.retain(|(start, end, follows)| match follows.follows().counts((log, *start), cut) {
            Counts::Yes => false,
            Counts::No => {
                excluded.insert(*end);
                false
            }
            Counts::Unsettled { .. } => true,
        });
    }

    /// Of how many transactions it is not known whether they count.
    pub(super) fn unsettled(&self) -> usize {
        self.unsettled.len()
    }

    /// Whether it is known of each transaction whether it counts.
    pub(super) fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// Forgets what ends at this position or before it, and large transactions that begin before `from`.
    pub(super) fn forget(&mut self, position: u64, from: u64) {
        self.extents.forget(position);
        self.count = self.extents.tables.values().map(Vec::len).sum();
        self.begun.retain(|_, beginning| beginning.start >= from);
        self.unsettled.retain(|(_, end, _)| *end > position);
    }

    /// What there is up to this position, to which the log has been read. `None` as long as it is not known
    /// of each transaction whether it counts, and if there are too many extents.
    pub(super) fn extents(&self, read_to: u64) -> Option<Extents> {
        let is_complete = self.is_settled() && self.count <= MOST_EXTENTS;
        is_complete.then(|| Extents { read_to: read_to.max(self.extents.read_to), ..self.extents.clone() })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use hyades_types::definition::TableId;

    use crate::log::set::BlockPlace;
    use crate::recovery::extents::{
        Beginning, Collector, Extents, FIRST_GAP_BYTES, FIRST_LENGTH_BYTES, KeyBounds, MOST_EXTENTS,
    };

    const TABLE: TableId = TableId(5);
    const OTHER: TableId = TableId(6);

    fn at(start: u64) -> Beginning {
        Beginning { start, block: BlockPlace::default(), bound: start / 2 }
    }

    fn collector() -> Collector {
        Collector::after(Extents::default())
    }

    /// Start, end and whether it is large.
    fn places(collector: &Collector, table: TableId) -> Vec<(u64, u64, bool)> {
        let extents = collector.extents(u64::MAX).expect("they are known").tables;
        extents[&table].iter().map(|extent| (extent.start, extent.end, extent.is_large)).collect()
    }

    #[test]
    fn bounds_hold_all_keys_of_which_they_keep_the_beginning() {
        let mut bounds = KeyBounds::of(b"g");
        [&b"d"[..], b"m", &[b'n'; 100]].iter().for_each(|key| bounds.add(key));
        for (from, until, expected) in [
            (&b""[..], Some(&b"d"[..]), false),
            (b"", Some(b"da"), true),
            (b"e", Some(b"f"), true),
            (&[b'n'; 100], None, true),
            (&[b'n'; 200], None, true),
            (b"o", None, false),
        ] {
            assert_eq!(bounds.may_have(from, until), expected, "{from:?} to {until:?}");
        }
    }

    #[test]
    fn records_that_lie_close_together_share_an_extent() {
        let mut collector = collector();
        let far = 200 + FIRST_GAP_BYTES;
        for (table, start, end) in
            [(TABLE, 0, 100), (OTHER, 100, 200), (TABLE, 200, 208), (TABLE, far + 16, far + 24)]
        {
            collector.note(table, at(start), end, KeyBounds::of(b"k"), false);
        }
        collector.note(TABLE, at(300), far + 40, KeyBounds::of(b"k"), true);
        collector.note(TABLE, at(far + 40), far + 48, KeyBounds::of(b"k"), false);
        let expected = [(0, 208, false), (far + 16, far + 48, false), (300, far + 40, true)];
        assert_eq!(places(&collector, TABLE), expected);
        assert_eq!(places(&collector, OTHER), [(100, 200, false)]);
        let long = FIRST_LENGTH_BYTES + far + 16;
        collector.note(TABLE, at(far + 48), long + 8, KeyBounds::of(b"k"), false);
        assert_eq!(places(&collector, TABLE).len(), 4, "one that would be too long");
        collector.note(TABLE, at(far + 48), long + 8, KeyBounds::of(b"z"), false);
        assert_eq!(places(&collector, TABLE).len(), 4, "the same record");
        let begin_after =
            |position| collector.extents(u64::MAX).expect("they are known").begin_after(position);
        assert!(begin_after(0) && !begin_after(8), "the first one begins at 0");
        collector.forget(far + 40, 0);
        assert_eq!(places(&collector, TABLE).len(), 2, "what ends later is kept");
    }

    #[test]
    fn a_large_transaction_that_goes_on_after_a_checkpoint_keeps_its_beginning() {
        let mut collector = collector();
        for (transaction, start) in [(1, 32), (2, 48)] {
            collector.note_fragment(transaction, || at(start));
        }
        collector.note_fragment(2, || at(80));
        // The checkpoint holds what ends up to 64, and the replay after it begins at 40.
        collector.forget(64, 40);
        assert!(collector.end_large(1).is_none(), "it does not count");
        assert_eq!(collector.end_large(2).map(|beginning| beginning.start), Some(48));
    }

    #[test]
    fn extents_of_several_tables_are_joined_where_they_overlap() {
        let mut collector = collector();
        collector.note(TABLE, at(0), 100, KeyBounds::of(b"k"), false);
        collector.note(OTHER, at(8), 16, KeyBounds::of(b"k"), false);
        for table in [TABLE, OTHER] {
            collector.note(table, at(40), 200, KeyBounds::of(b"k"), true);
        }
        collector.note(OTHER, at(100), 108, KeyBounds::of(b"k"), false);
        let extents = collector.extents(u64::MAX).expect("they are known");
        let joined = extents.of_tables(|_| true);
        let places: Vec<_> = joined.iter().map(|one| (one.start, one.end, one.is_large)).collect();
        assert_eq!(places, [(0, 108, false), (40, 200, true)]);
        assert_eq!(extents.of_tables(|table| table == OTHER).len(), 2);
    }

    #[test]
    fn there_are_never_too_many() {
        let mut collector = collector();
        let apart = 2 * FIRST_GAP_BYTES;
        for number in 0..3 * MOST_EXTENTS as u64 {
            let start = number * apart;
            collector.note(TABLE, at(start), start + 8, KeyBounds::of(&number.to_be_bytes()), false);
        }
        let extents = collector.extents(u64::MAX).expect("they are not too many");
        let found = &extents.tables[&TABLE];
        assert!(found.len() <= MOST_EXTENTS, "{}", found.len());
        assert!(
            found
                .windows(2)
                .all(|pair| pair[0].end < pair[1].start && pair[0].keys.greatest < pair[1].keys.least)
        );
        let ends = (found[0].start, found.last().map(|last| last.end));
        assert_eq!(ends, (0, Some((3 * MOST_EXTENTS as u64 - 1) * apart + 8)));
        assert_eq!(found.last().map(|last| last.bound), found.last().map(|last| last.start / 2));
    }
}
