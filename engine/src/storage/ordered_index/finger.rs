//! The place after the last insert. Rows often come in the order of their keys, and then it is the place of
//! the next one.
//!
//! A [`Finger`] remembers the leaf that received a record, the version in which the insert left it, and which
//! keys belong to the place after the record: those below the next key and within the range of the leaf. It
//! outlives a pin, so its pointers are followed only while nothing has been removed from the index (invariant
//! 4 of `ordered_index`). It is a guess that saves a descent: it yields a [`Vacancy`], and `fill` refuses
//! that as any other when a version has changed.
#![allow(unsafe_code)] // Keeps addresses of leaves across pins.

use crossbeam_epoch::Guard;

use super::key::IndexKey;
use super::node::Node;
use super::scan::Ahead;
use super::{NODE_CAPACITY, OrderedIndex, Place, Vacancy};
use crate::storage::record::OwnedRecord;

/// See the module head. Only for keys that are numbers.
#[derive(Clone, Copy)]
pub(in crate::storage) struct Finger<K: IndexKey, N, const CAPACITY: usize = NODE_CAPACITY> {
    index_id: u64,
    /// The `removals` of the index, read before both leaves were known to be linked.
    removals: u64,
    leaf: Pointer<K, CAPACITY>,
    /// The position after the last insert.
    position: usize,
    last: N,
    next: Option<N>,
    /// The leaf of the next key, if that is a different leaf.
    beyond: Option<Pointer<K, CAPACITY>>,
    /// Keys from here on go elsewhere.
    limit: Option<N>,
}

/// A leaf, and its version when the pointer was valid.
#[derive(Clone, Copy)]
struct Pointer<K: IndexKey, const CAPACITY: usize> {
    node: *const Node<K, CAPACITY>,
    version: u64,
}

// SAFETY: followed only by `vacancy_at`, under its conditions, on any thread.
unsafe impl<K: IndexKey, const CAPACITY: usize> Send for Pointer<K, CAPACITY> {}
// SAFETY: as above; shared access changes nothing.
unsafe impl<K: IndexKey, const CAPACITY: usize> Sync for Pointer<K, CAPACITY> {}

impl<K: IndexKey, const CAPACITY: usize> Pointer<K, CAPACITY> {
    fn new(place: Place<'_, K, CAPACITY>) -> Pointer<K, CAPACITY> {
        Pointer { node: place.node, version: place.version }
    }

    /// # Safety
    /// The leaf was not unlinked before `_guard` was pinned.
    unsafe fn follow<'g>(self, _guard: &'g Guard) -> Place<'g, K, CAPACITY> {
        // SAFETY: a leaf that is unlinked later is freed only after the guard is gone.
        Place { node: unsafe { &*self.node }, version: self.version }
    }
}

impl<N, K, const CAPACITY: usize> OrderedIndex<K, CAPACITY>
where
    N: Copy + Ord,
    K: for<'a> IndexKey<Probe<'a> = N>,
{
    /// The place of a key, if it is the one after the finger.
    pub(in crate::storage) fn vacancy_at<'g>(
        &'g self,
        finger: &Finger<K, N, CAPACITY>,
        key: N,
        guard: &'g Guard,
    ) -> Option<Vacancy<'g, K, CAPACITY>> {
        let is_alive = finger.index_id == self.id && finger.removals == self.removals();
        if !is_alive || key <= finger.last || finger.limit.is_some_and(|limit| limit <= key) {
            return None;
        }
        // SAFETY: linked when `removals` was noted, and it has not changed under this guard.
        let (place, beyond) =
            unsafe { (finger.leaf.follow(guard), finger.beyond.map(|beyond| beyond.follow(guard))) };
        // A vacancy that `fill` would refuse is not worth the locks.
        place.node.lock.check(place.version).ok()?;
        beyond.map_or(Ok(()), |beyond| beyond.node.lock.check(beyond.version)).ok()?;
        let ahead = Ahead { next: finger.next, beyond, limit: finger.limit };
        Some(Vacancy { place, position: finger.position, ahead })
    }

    /// As [`OrderedIndex::fill`], and points the finger after the new key. Returns whether it was inserted.
    pub(in crate::storage) fn fill_and_point<'g>(
        &'g self,
        vacancy: &Vacancy<'g, K, CAPACITY>,
        key: N,
        record: OwnedRecord,
        finger: &mut Option<Finger<K, N, CAPACITY>>,
        guard: &'g Guard,
    ) -> bool {
        let removals = self.removals();
        let Some((_, version)) = self.fill(vacancy, key, record, guard) else { return false };
        *finger = version.map(|version| Finger {
            index_id: self.id,
            removals,
            leaf: Pointer::new(Place { version, ..vacancy.place }),
            position: vacancy.position + 1,
            last: key,
            next: vacancy.ahead.next,
            beyond: vacancy.ahead.beyond.map(Pointer::new),
            limit: vacancy.ahead.limit,
        });
        true
    }
}
