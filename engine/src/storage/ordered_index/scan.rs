//! Scans, leaf by leaf, in both directions.
//!
//! A step descends to the leaf at its bound, remembering the fence, the separator that bounds the leaf's range on the far side. If
//! the leaf has no key beyond the bound, the step goes on to the leaf behind the fence and rests on both, so that the batch as
//! a whole covers its interval without a gap.

use std::ops::{Bound, Range};

use crossbeam_epoch::Guard;
use smallvec::SmallVec;

use super::key::IndexKey;
use super::version_lock::Restart;
use super::{OrderedIndex, Place, retry};
use crate::storage::scan_batch::{ScanBatch, ScanDirection};

/// The part of one leaf that lies beyond a bound.
struct Slice<'g, K: IndexKey, const CAPACITY: usize> {
    place: Place<'g, K, CAPACITY>,
    positions: Range<usize>,
    /// What separates the leaf from the next one in the direction of the scan.
    fence: Option<K::Probe<'g>>,
}

impl<K: IndexKey, const CAPACITY: usize> OrderedIndex<K, CAPACITY> {
    /// Fills `batch` with the next keys from `from` on, those of one leaf at most.
    pub(in crate::storage) fn scan<'a>(
        &'a self,
        from: Bound<K::Probe<'a>>,
        direction: ScanDirection,
        batch: &mut ScanBatch,
        guard: &'a Guard,
    ) {
        retry(|| {
            batch.start(self.id(), self.removals());
            let mut from = from;
            loop {
                let slice = self.slice(from, direction, guard)?;
                batch.rest_on(&slice.place.node.lock, slice.place.version);
                self.copy_slice(&slice, direction, batch, guard)?;
                match slice.fence {
                    Some(fence) if batch.is_empty() => from = behind(fence, direction),
                    fence => {
                        batch.set_reaches_end(fence.is_none());
                        // SAFETY: filled under this guard. All leaves together are now one picture.
                        return if unsafe { batch.is_unchanged() } { Ok(()) } else { Err(Restart) };
                    }
                }
            }
        });
    }

    fn copy_slice(
        &self,
        slice: &Slice<'_, K, CAPACITY>,
        direction: ScanDirection,
        batch: &mut ScanBatch,
        guard: &Guard,
    ) -> Result<(), Restart> {
        let Place { node: leaf, version } = slice.place;
        let Range { start, end } = slice.positions;
        for step in 0..end - start {
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

    /// Appends the smallest key from `after` on to `into`, if there is one.
    pub(in crate::storage) fn next_key_after<'a>(
        &'a self,
        after: Bound<K::Probe<'a>>,
        into: &mut Vec<u8>,
        guard: &'a Guard,
    ) -> bool {
        let next = retry(|| {
            let mut from = after;
            let mut passed = SmallVec::<[Place<'_, K, CAPACITY>; 2]>::new();
            let next = loop {
                let slice = self.slice(from, ScanDirection::Forward, guard)?;
                passed.push(slice.place);
                if !slice.positions.is_empty() {
                    // SAFETY: the leaf was reached under the guard.
                    let key =
                        unsafe { slice.place.node.key(slice.positions.start, slice.place.version, guard) }?;
                    break Some(key);
                }
                let Some(fence) = slice.fence else { break None };
                from = behind(fence, ScanDirection::Forward);
            };
            // All leaves together are one picture: nothing has come into those that had no such key.
            passed.iter().try_for_each(|place| place.node.lock.check(place.version))?;
            Ok(next)
        });
        if let Some(key) = next {
            K::append(key, self.width(), into);
        }
        next.is_some()
    }

    /// Descends to the leaf at `from`; consistent at the version in the slice.
    fn slice<'g>(
        &'g self,
        from: Bound<K::Probe<'_>>,
        direction: ScanDirection,
        guard: &'g Guard,
    ) -> Result<Slice<'g, K, CAPACITY>, Restart> {
        let (mut place, _) = self.root_place(guard)?;
        let mut fence = None;
        while !place.node.is_leaf {
            let Place { node, version } = place;
            let count = node.count();
            // SAFETY: reached by this descent, under the guard, as everything below.
            let index = unsafe {
                match (from, direction) {
                    (Bound::Unbounded, ScanDirection::Forward) => 0,
                    (Bound::Unbounded, ScanDirection::Backward) => count.saturating_sub(1),
                    // The largest key below a separator is to the left of it.
                    (Bound::Excluded(probe), ScanDirection::Backward) => node.child_below(probe, version)?,
                    (Bound::Included(probe) | Bound::Excluded(probe), _) => node.child_of(probe, version)?,
                }
            };
            let separator = match direction {
                ScanDirection::Forward => index + 1,
                ScanDirection::Backward => index,
            };
            if separator > 0 && separator < count {
                // SAFETY: as above.
                fence = Some(unsafe { node.key(separator, version, guard) }?);
            }
            // Checks the parent, and with it all that was just read from it.
            place = self.child_place(place, index, guard)?;
        }
        let positions = self.positions_beyond(place, from, direction)?;
        place.node.lock.check(place.version)?;
        Ok(Slice { place, positions, fence })
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

/// The bound from which a scan goes on beyond a fence; a separator belongs to the range on its right.
fn behind<P>(fence: P, direction: ScanDirection) -> Bound<P> {
    match direction {
        ScanDirection::Forward => Bound::Included(fence),
        ScanDirection::Backward => Bound::Excluded(fence),
    }
}
