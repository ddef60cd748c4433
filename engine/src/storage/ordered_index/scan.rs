//! Scans, leaf by leaf, in both directions.
//!
//! A step descends to the leaf at its bound, remembering the last turn: the place where the next leaf is
//! found. If the leaf has no key beyond the bound, the step goes on to the leaf after that turn and rests on
//! both, so that the batch as a whole covers its interval without a gap (`insert` says why nothing is between
//! them).

use std::ops::{Bound, Range};

use crossbeam_epoch::Guard;

use super::key::IndexKey;
use super::version_lock::Restart;
use super::{OrderedIndex, Place, Turn, retry};
use crate::storage::scan_batch::{ScanBatch, ScanDirection};

/// The part of one leaf that lies beyond a bound.
struct Slice<'g, K: IndexKey, const CAPACITY: usize> {
    place: Place<'g, K, CAPACITY>,
    positions: Range<usize>,
    /// `None` if no leaf comes after this one.
    turn: Option<Turn<'g, K, CAPACITY>>,
}

/// The surroundings to the right of a place in a leaf.
pub(super) struct Ahead<'g, K: IndexKey, const CAPACITY: usize> {
    /// The next key, if there is one.
    pub(super) next: Option<K::Probe<'g>>,
    /// Its leaf, if that is a different leaf.
    pub(super) beyond: Option<Place<'g, K, CAPACITY>>,
    /// The next key, or where the leaf's range ends: keys below it go to the same place. `None` for all keys.
    pub(super) limit: Option<K::Probe<'g>>,
}

impl<K: IndexKey, const CAPACITY: usize> OrderedIndex<K, CAPACITY> {
    /// Fills `batch` with the next keys from `from` on, `most` of them and those of one leaf at most.
    pub(in crate::storage) fn scan<'a>(
        &'a self,
        from: Bound<K::Probe<'a>>,
        direction: ScanDirection,
        most: usize,
        batch: &mut ScanBatch,
        guard: &'a Guard,
    ) {
        retry(|| {
            batch.start(self.id(), self.removals());
            let slice = self.slice(from, direction, guard)?;
            batch.rest_on(&slice.place.node.lock, slice.place.version);
            self.copy_slice(&slice, direction, most, batch, guard)?;
            batch.set_reaches_end(slice.turn.is_none() && batch.len() == slice.positions.len());
            if batch.is_empty()
                && let Some(turn) = slice.turn
            {
                let place = self.next_leaf(turn, direction, guard)?;
                // The next step finds out whether anything comes after that leaf.
                let slice = Slice { place, positions: 0..place.node.count(), turn: None };
                batch.rest_on(&place.node.lock, place.version);
                self.copy_slice(&slice, direction, most, batch, guard)?;
            }
            // SAFETY: filled under this guard. Both leaves together are now one picture.
            if unsafe { batch.is_unchanged() } { Ok(()) } else { Err(Restart) }
        });
    }

    fn copy_slice(
        &self,
        slice: &Slice<'_, K, CAPACITY>,
        direction: ScanDirection,
        most: usize,
        batch: &mut ScanBatch,
        guard: &Guard,
    ) -> Result<(), Restart> {
        let Place { node: leaf, version } = slice.place;
        let Range { start, end } = slice.positions;
        for step in 0..(end - start).min(most) {
            let position = match direction {
                ScanDirection::Forward => start + step,
                ScanDirection::Backward => end - 1 - step,
            };
            // SAFETY: the leaf was reached under the guard.
            let (key, record) =
                unsafe { (leaf.key(position, version, guard)?, leaf.record(position, version)?) };
            batch.push(|keys| K::append(key, self.width(), keys), 0, record);
        }
        Ok(())
    }

    /// The smallest key from `from` on.
    pub(in crate::storage) fn first_key<'a>(
        &'a self,
        from: Bound<K::Probe<'_>>,
        guard: &'a Guard,
    ) -> Option<K::Probe<'a>> {
        retry(|| {
            let slice = self.slice(from, ScanDirection::Forward, guard)?;
            Ok(self.key_from(slice.place, slice.positions.start, slice.turn, guard)?.next)
        })
    }

    /// The key at a position of a leaf, or the first of the next leaf, consistent at one moment.
    pub(super) fn key_from<'g>(
        &'g self,
        here: Place<'g, K, CAPACITY>,
        position: usize,
        turn: Option<Turn<'g, K, CAPACITY>>,
        guard: &'g Guard,
    ) -> Result<Ahead<'g, K, CAPACITY>, Restart> {
        if position < here.node.count() {
            // SAFETY: reached under the guard, here and below.
            let key = unsafe { here.node.key(position, here.version, guard) }?;
            here.node.lock.check(here.version)?;
            return Ok(Ahead { next: Some(key), beyond: None, limit: Some(key) });
        }
        let Some(turn) = turn else {
            here.node.lock.check(here.version)?;
            return Ok(Ahead { next: None, beyond: None, limit: None });
        };
        // SAFETY: as above. `next_leaf` checks the node.
        let fence = unsafe { turn.place.node.key(turn.index, turn.place.version, guard) }?;
        let beyond = self.next_leaf(turn, ScanDirection::Forward, guard)?;
        // SAFETY: as above.
        let key = unsafe { beyond.node.key(0, beyond.version, guard) }?;
        here.node.lock.check(here.version)?;
        beyond.node.lock.check(beyond.version)?;
        Ok(Ahead { next: Some(key), beyond: Some(beyond), limit: Some(fence) })
    }

    /// Descends to the leaf at `from`; consistent at the version in the slice.
    fn slice<'g>(
        &'g self,
        from: Bound<K::Probe<'_>>,
        direction: ScanDirection,
        guard: &'g Guard,
    ) -> Result<Slice<'g, K, CAPACITY>, Restart> {
        let (mut place, _) = self.root_place(guard)?;
        let mut turn = None;
        while !place.node.is_leaf {
            let Place { node, version } = place;
            let count = node.count();
            // SAFETY: reached by this descent, under the guard.
            let index = unsafe {
                match (from, direction) {
                    (Bound::Unbounded, ScanDirection::Forward) => 0,
                    (Bound::Unbounded, ScanDirection::Backward) => count.saturating_sub(1),
                    // The largest key below a separator is to the left of it.
                    (Bound::Excluded(probe), ScanDirection::Backward) => node.child_below(probe, version)?,
                    (Bound::Included(probe) | Bound::Excluded(probe), _) => node.child_of(probe, version)?,
                }
            };
            // Checks the parent, and with it everything that was just read from it.
            let child = self.child_place(place, index, guard)?;
            match direction {
                ScanDirection::Forward if index + 1 < count => turn = Some(Turn { place, index: index + 1 }),
                ScanDirection::Backward if index > 0 => turn = Some(Turn { place, index: index - 1 }),
                _ => {}
            }
            place = child;
        }
        let positions = self.positions_beyond(place, from, direction)?;
        place.node.lock.check(place.version)?;
        Ok(Slice { place, positions, turn })
    }

    fn positions_beyond(
        &self,
        place: Place<'_, K, CAPACITY>,
        from: Bound<K::Probe<'_>>,
        direction: ScanDirection,
    ) -> Result<Range<usize>, Restart> {
        let Place { node: leaf, version } = place;
        let count = leaf.count();
        // SAFETY: `place` was reached under the guard of the caller.
        let cut = unsafe {
            match (from, direction) {
                (Bound::Unbounded, ScanDirection::Forward) => 0,
                (Bound::Unbounded, ScanDirection::Backward) => count,
                (Bound::Included(probe), ScanDirection::Forward)
                | (Bound::Excluded(probe), ScanDirection::Backward) => leaf.lower_bound(probe, version)?,
                (Bound::Excluded(probe), ScanDirection::Forward)
                | (Bound::Included(probe), ScanDirection::Backward) => leaf.upper_bound(probe, version)?,
            }
        };
        Ok(match direction {
            ScanDirection::Forward => cut..count.max(cut),
            ScanDirection::Backward => 0..cut,
        })
    }
}
