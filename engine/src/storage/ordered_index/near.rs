//! Looking up many keys, each of which is often near the one before.
//!
//! A [`Nearby`] remembers the leaf of the last key and the position in it. A key is in one leaf only, so as
//! long as that leaf has not changed, a key that is found there needs no descent. In ascending order it is
//! the next one. A [`Nearby`] lives no longer than the guard under which the leaf was reached.
#![allow(unsafe_code)] // Reads leaves as the descents do.

use crossbeam_epoch::Guard;

use super::key::IndexKey;
use super::version_lock::Restart;
use super::{NODE_CAPACITY, OrderedIndex, Place, retry};
use crate::storage::record::Record;

/// See the module head. Belongs to one index.
pub(in crate::storage) struct Nearby<'g, K: IndexKey, const CAPACITY: usize = NODE_CAPACITY> {
    leaf: Place<'g, K, CAPACITY>,
    position: usize,
}

impl<K: IndexKey, const CAPACITY: usize> OrderedIndex<K, CAPACITY> {
    /// The record under a key, and whether it was found without a descent.
    pub(in crate::storage) fn get_near<'g>(
        &'g self,
        near: &mut Option<Nearby<'g, K, CAPACITY>>,
        probe: K::Probe<'_>,
        guard: &'g Guard,
    ) -> (Option<&'g Record>, bool) {
        if let Some(near) = near
            && let Ok(Some(record)) = near.find(probe)
        {
            return (Some(record), true);
        }
        let (leaf, position, record) = retry(|| self.try_find(probe, guard));
        *near = Some(Nearby { leaf, position });
        (record, false)
    }
}

impl<'g, K: IndexKey, const CAPACITY: usize> Nearby<'g, K, CAPACITY> {
    /// The record under a key, if that is in this leaf; moves to its position.
    fn find(&mut self, probe: K::Probe<'_>) -> Result<Option<&'g Record>, Restart> {
        let Place { node: leaf, version } = self.leaf;
        leaf.lock.check(version)?;
        // SAFETY: the leaf was reached under the guard of lifetime `'g`, for which everything lives that was
        // linked then, and the version is from then.
        unsafe {
            let mut position = self.position + 1;
            if !leaf.holds(position, probe, version)? {
                position = leaf.lower_bound(probe, version)?;
                // Past the last key it may be in another leaf, as any key that is not found.
                if !leaf.holds(position, probe, version)? {
                    return Ok(None);
                }
            }
            let record = leaf.record(position, version)?;
            self.position = position;
            Ok(Some(record))
        }
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_epoch::pin;

    use super::super::key::{ByteString, IndexKey};
    use super::OrderedIndex;

    fn check<K: IndexKey>(width: usize, bytes_of: impl Fn(u16) -> Vec<u8>) {
        let (index, guard) = (OrderedIndex::<K, 4>::new(width), pin());
        for key in (0..200).step_by(2).map(&bytes_of) {
            index.get_or_insert(K::probe(&key), Some(&key), &guard);
        }
        let (mut near, mut found_near) = (None, 0);
        let mut get = |key: u16| {
            let key = bytes_of(key);
            let (record, was_near) = index.get_near(&mut near, K::probe(&key), &guard);
            assert_eq!(
                record.and_then(|record| record.row(&guard)),
                index.get(K::probe(&key), &guard).map(|_| &key[..])
            );
            found_near += u32::from(was_near);
            record.is_some()
        };
        let ascending = (0..200).filter(|key| get(*key)).count();
        let descending = (0..200).rev().filter(|key| get(*key)).count();
        let scattered = (0..200).filter(|key| get(key * 79 % 211)).count();
        assert_eq!((ascending, descending), (100, 100));
        assert!(scattered > 90);
        // A changed leaf is not trusted.
        for key in 0..200 {
            get(key);
            let other = bytes_of(key | 1);
            index.get_or_insert(K::probe(&other), Some(&other), &guard);
            assert!(get(key | 1) && get(key));
            let record = index.get(K::probe(&other), &guard).expect("nothing is wrong");
            drop(record.try_replace(None, &guard).expect("nothing is wrong"));
            assert!(index.remove(K::probe(&other), &guard) && !get(key | 1));
        }
        assert!(found_near > 100, "{found_near} of some hundred keys");
    }

    #[test]
    fn keys_are_found_near_each_other_or_not() {
        check::<u64>(2, |key| key.to_be_bytes().to_vec());
        check::<u128>(12, |key| [&[7; 10][..], &key.to_be_bytes()].concat());
        check::<ByteString>(0, |key| format!("some key {key:04}").into_bytes());
    }
}
