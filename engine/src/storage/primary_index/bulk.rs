//! Many keys at once, for an index that is not in use yet, with one type for all kinds of index.
//!
//! Rows of a table come in the order of their keys: a [`KeyRun`] takes them as they come. Entries of other
//! indexes come in any order: [`UnsortedKeys`] collects them. Together with those of other threads they are
//! divided into pieces, each above the one before, and each piece becomes a run ([`UnsortedKeys::into_run`]).

use crossbeam_epoch::Guard;

use super::{Kind, PrimaryIndex};
use crate::storage::key_run::KeyRun;
use crate::storage::ordered_index::key::{ByteString, IndexKey};
use crate::storage::ordered_index::{NODE_CAPACITY, SortedRun};
use crate::storage::record::OwnedRecord;

/// Keys without rows, in any order.
pub(in crate::storage) enum UnsortedKeys {
    Narrow(Vec<<u64 as IndexKey>::Owned>),
    Wide(Vec<<u128 as IndexKey>::Owned>),
    Bytes(Vec<<ByteString as IndexKey>::Owned>),
}

impl PrimaryIndex {
    /// A run of keys that [`PrimaryIndex::adopt`] takes; `None` for a hash index, which has no order.
    pub(in crate::storage) fn new_run(&self) -> Option<KeyRun> {
        match &self.kind {
            Kind::OrderedNarrow(_) => Some(KeyRun::Narrow(SortedRun::default())),
            Kind::OrderedWide(_) => Some(KeyRun::Wide(SortedRun::default())),
            Kind::OrderedBytes(_) => Some(KeyRun::Bytes(SortedRun::default())),
            Kind::HashNarrow(_) | Kind::HashWide(_) | Kind::HashBytes(_) => None,
        }
    }

    /// Room for this many keys that make runs for [`PrimaryIndex::adopt`]; `None` for a hash index.
    pub(in crate::storage) fn new_unsorted(&self, keys: usize) -> Option<UnsortedKeys> {
        match &self.kind {
            Kind::OrderedNarrow(_) => Some(UnsortedKeys::Narrow(Vec::with_capacity(keys))),
            Kind::OrderedWide(_) => Some(UnsortedKeys::Wide(Vec::with_capacity(keys))),
            Kind::OrderedBytes(_) => Some(UnsortedKeys::Bytes(Vec::with_capacity(keys))),
            Kind::HashNarrow(_) | Kind::HashWide(_) | Kind::HashBytes(_) => None,
        }
    }

    /// Takes over the keys of runs that were made for it. False, and all of them are dropped, unless each run
    /// is above the one before and the index is empty and ordered.
    pub(in crate::storage) fn adopt(&self, runs: Vec<KeyRun>, guard: &Guard) -> bool {
        fn of_kind<T>(runs: Vec<KeyRun>, take: impl Fn(KeyRun) -> Option<T>) -> Option<Vec<T>> {
            runs.into_iter().map(take).collect()
        }
        match &self.kind {
            Kind::OrderedNarrow(index) => of_kind(runs, |run| match run {
                KeyRun::Narrow(run) => Some(run),
                _ => None,
            })
            .is_some_and(|runs| index.adopt(runs, guard)),
            Kind::OrderedWide(index) => of_kind(runs, |run| match run {
                KeyRun::Wide(run) => Some(run),
                _ => None,
            })
            .is_some_and(|runs| index.adopt(runs, guard)),
            Kind::OrderedBytes(index) => of_kind(runs, |run| match run {
                KeyRun::Bytes(run) => Some(run),
                _ => None,
            })
            .is_some_and(|runs| index.adopt(runs, guard)),
            Kind::HashNarrow(_) | Kind::HashWide(_) | Kind::HashBytes(_) => false,
        }
    }

    /// Lets the keys of a range, which begins with this key or a larger one, be found before the index has
    /// the others. What is published must be given to [`PrimaryIndex::adopt_published`].
    pub(in crate::storage) fn publish(&self, range: usize, from: &[u8], run: KeyRun) {
        self.early.publish(range, from, run);
    }

    /// As [`PrimaryIndex::adopt`], of these ranges and those that were published.
    pub(in crate::storage) fn adopt_published(&self, ranges: Vec<Option<KeyRun>>, guard: &Guard) -> bool {
        let adopt = |published: Vec<(usize, KeyRun)>| {
            let mut ranges = ranges;
            for (range, run) in published {
                if let Some(place) = ranges.get_mut(range) {
                    *place = Some(run);
                }
            }
            self.adopt(ranges.into_iter().flatten().collect(), guard)
        };
        self.early.hand_over(adopt, guard)
    }

    /// Makes room in a hash index, in which growing would move all entries. Does nothing in an ordered one.
    pub(in crate::storage) fn reserve(&self, keys: usize) {
        match &self.kind {
            Kind::HashNarrow(index) => index.reserve(keys),
            Kind::HashWide(index) => index.reserve(keys),
            Kind::HashBytes(index) => index.reserve(keys),
            Kind::OrderedNarrow(_) | Kind::OrderedWide(_) | Kind::OrderedBytes(_) => {}
        }
    }

    /// Puts a record under a key of a hash index; false, and the record is dropped, if the key already
    /// exists. Panics unless the index accepts the key.
    pub(in crate::storage) fn insert_hashed(&self, key: &[u8], record: OwnedRecord, guard: &Guard) -> bool {
        self.assert_accepts(key);
        match &self.kind {
            Kind::HashNarrow(index) => index.insert(key, record, guard).is_some(),
            Kind::HashWide(index) => index.insert(key, record, guard).is_some(),
            Kind::HashBytes(index) => index.insert(key, record, guard).is_some(),
            Kind::OrderedNarrow(_) | Kind::OrderedWide(_) | Kind::OrderedBytes(_) => false,
        }
    }
}

impl UnsortedKeys {
    /// Adds a key that the index accepts.
    pub(in crate::storage) fn push(&mut self, key: &[u8]) {
        match self {
            UnsortedKeys::Narrow(keys) => keys.push(u64::probe(key)),
            UnsortedKeys::Wide(keys) => keys.push(u128::probe(key)),
            UnsortedKeys::Bytes(keys) => keys.push(ByteString::own(ByteString::probe(key))),
        }
    }

    pub(in crate::storage) fn len(&self) -> usize {
        match self {
            UnsortedKeys::Narrow(keys) => keys.len(),
            UnsortedKeys::Wide(keys) => keys.len(),
            UnsortedKeys::Bytes(keys) => keys.len(),
        }
    }

    pub(in crate::storage) fn sort(&mut self) {
        match self {
            UnsortedKeys::Narrow(keys) => keys.sort_unstable(),
            UnsortedKeys::Wide(keys) => keys.sort_unstable(),
            UnsortedKeys::Bytes(keys) => keys.sort_unstable(),
        }
    }

    /// Divides the keys of all parts, each of which is sorted, into about this many pieces. All keys of a
    /// piece are above those of the piece before.
    pub(in crate::storage) fn divide(parts: Vec<UnsortedKeys>, pieces: usize) -> Vec<Vec<UnsortedKeys>> {
        let (mut narrow, mut wide, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            match part {
                UnsortedKeys::Narrow(keys) => narrow.push(keys),
                UnsortedKeys::Wide(keys) => wide.push(keys),
                UnsortedKeys::Bytes(keys) => bytes.push(keys),
            }
        }
        // All are of one index: two of these three are empty.
        let mut divided = wrap(divide(narrow, pieces), UnsortedKeys::Narrow);
        divided.extend(wrap(divide(wide, pieces), UnsortedKeys::Wide));
        divided.extend(wrap(divide(bytes, pieces), UnsortedKeys::Bytes));
        divided
    }

    /// The keys of one piece as a run; `None` if two are equal.
    pub(in crate::storage) fn into_run(parts: Vec<UnsortedKeys>) -> Option<KeyRun> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for part in parts {
            match (&mut whole, part) {
                (UnsortedKeys::Narrow(keys), UnsortedKeys::Narrow(more)) => keys.extend(more),
                (UnsortedKeys::Wide(keys), UnsortedKeys::Wide(more)) => keys.extend(more),
                (UnsortedKeys::Bytes(keys), UnsortedKeys::Bytes(more)) => keys.extend(more),
                _ => unreachable!("all keys are of one index"),
            }
        }
        match whole {
            UnsortedKeys::Narrow(keys) => run(keys).map(KeyRun::Narrow),
            UnsortedKeys::Wide(keys) => run(keys).map(KeyRun::Wide),
            UnsortedKeys::Bytes(keys) => run(keys).map(KeyRun::Bytes),
        }
    }
}

fn wrap<T>(pieces: Vec<Vec<Vec<T>>>, kind: impl Fn(Vec<T>) -> UnsortedKeys) -> Vec<Vec<UnsortedKeys>> {
    pieces.into_iter().map(|piece| piece.into_iter().map(&kind).collect()).collect()
}

/// Samples of each piece, by which its bounds are chosen.
const SAMPLES: usize = 16;

/// See [`UnsortedKeys::divide`].
fn divide<T: Ord>(mut parts: Vec<Vec<T>>, pieces: usize) -> Vec<Vec<Vec<T>>> {
    let all: usize = parts.iter().map(Vec::len).sum();
    if all == 0 || pieces <= 1 {
        return if all == 0 { Vec::new() } else { vec![parts] };
    }
    let step = (all / (pieces * SAMPLES)).max(1);
    let mut samples: Vec<&T> =
        parts.iter().flat_map(|part| part.iter().skip(step / 2).step_by(step)).collect();
    samples.sort_unstable();
    let bounds: Vec<&T> =
        (1..pieces).filter_map(|piece| samples.get(samples.len() * piece / pieces).copied()).collect();
    // Where each part is cut, decided before anything is moved.
    let cuts: Vec<Vec<usize>> = parts
        .iter()
        .map(|part| bounds.iter().map(|bound| part.partition_point(|key| key < *bound)).collect())
        .collect();
    let mut divided: Vec<Vec<Vec<T>>> = (0..=bounds.len()).map(|_| Vec::new()).collect();
    for (part, cuts) in parts.iter_mut().zip(cuts) {
        for (piece, cut) in cuts.into_iter().enumerate().rev() {
            let above = part.split_off(cut);
            if !above.is_empty() {
                divided[piece + 1].push(above);
            }
        }
    }
    divided[0] = parts;
    divided
}

fn run<K: IndexKey>(mut keys: Vec<K::Owned>) -> Option<SortedRun<K>> {
    // A sequence of ascending runs, which this sort merges.
    keys.sort();
    let mut run = SortedRun::<K, NODE_CAPACITY>::default();
    keys.into_iter().all(|key| run.push(key, OwnedRecord::empty())).then_some(run)
}

#[cfg(test)]
mod tests;
