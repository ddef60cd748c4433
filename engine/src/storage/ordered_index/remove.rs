//! Removing a key whose record has no row.
//!
//! When the last key of a leaf goes, the leaf is unlinked, and with it the chain of ancestors that have no
//! other child; the lowest ancestor with two children or more loses the chain's top. If that ancestor is the
//! root and is left with one child, the child becomes the root. When no ancestor has two children the tree is
//! about to become empty, and the empty leaf stays.

use std::sync::atomic::Ordering;

use crossbeam_epoch::Guard;
use smallvec::SmallVec;

use super::key::IndexKey;
use super::node::{Node, retire};
use super::version_lock::{Restart, WriteGuard};
use super::{OrderedIndex, Place, retry};
use crate::storage::record::{OwnedRecord, Record};

/// An inner node on the way down, and the position of the child that was taken.
struct Step<'g, K: IndexKey, const CAPACITY: usize> {
    place: Place<'g, K, CAPACITY>,
    index: usize,
}

/// Deeper trees spill to the heap; a tree of 63^8 keys does not.
type Path<'g, K, const CAPACITY: usize> = SmallVec<[Step<'g, K, CAPACITY>; 8]>;

/// Locks, from the top of the tree down.
type Locks<'g> = SmallVec<[WriteGuard<'g>; 8]>;

impl<K: IndexKey, const CAPACITY: usize> OrderedIndex<K, CAPACITY> {
    /// Removes a key and closes its record, unless the record has a row; returns whether it did.
    pub(in crate::storage) fn remove(&self, probe: K::Probe<'_>, guard: &Guard) -> bool {
        retry(|| self.try_remove(probe, guard))
    }

    fn try_remove(&self, probe: K::Probe<'_>, guard: &Guard) -> Result<bool, Restart> {
        let (mut place, root_version) = self.root_place(guard)?;
        let mut path = Path::new();
        while !place.node.is_leaf {
            // SAFETY: reached by this descent, under the guard.
            let index = unsafe { place.node.child_of(probe, place.version) }?;
            let child = self.child_place(place, index, guard)?;
            path.push(Step { place, index });
            place = child;
        }
        let Place { node: leaf, version } = place;
        // SAFETY: as above.
        let position = unsafe {
            let position = leaf.lower_bound(probe, version)?;
            if !leaf.holds(position, probe, version)? {
                leaf.lock.check(version)?;
                return Ok(false);
            }
            // Checked before anything is locked: most refusals cost no lock.
            if leaf.record(position, version)?.has_row() {
                return Ok(false);
            }
            position
        };
        if leaf.count() == 1
            && let Some(top) = path.iter().rposition(|step| step.place.node.count() > 1)
        {
            return self.unlink_leaf(&path[top..], top == 0, root_version, place, guard);
        }
        let lock = leaf.lock.upgrade(version)?;
        let record = leaf.pointer_locked(position).cast::<Record>();
        // SAFETY: linked in the locked leaf.
        if !unsafe { &*record }.try_close() {
            lock.unlock_unchanged();
            return Ok(false);
        }
        self.removals.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the leaf is locked; the record leaves it here.
        unsafe {
            leaf.remove_locked(position, guard);
            OwnedRecord::retire(record, guard);
        }
        Ok(true)
    }

    /// Unlinks a leaf with one key, and the ancestors that have no other child. `path` begins with the lowest
    /// ancestor that has another, which is the root if `is_root`.
    fn unlink_leaf(
        &self,
        path: &[Step<'_, K, CAPACITY>],
        is_root: bool,
        root_version: u64,
        leaf: Place<'_, K, CAPACITY>,
        guard: &Guard,
    ) -> Result<bool, Restart> {
        let Some((ancestor, chain)) = path.split_first() else { return Err(Restart) };
        let ancestor_node = ancestor.place.node;
        let shrinks = is_root && ancestor_node.count() == 2;
        let root_lock = if shrinks { Some(self.root_lock.upgrade(root_version)?) } else { None };
        // From here on a failed `?` unlocks with new versions although nothing was changed. Readers retry,
        // which does no harm.
        let ancestor_lock = ancestor_node.lock.upgrade(ancestor.place.version)?;
        let mut locks = Locks::new();
        for place in chain.iter().map(|step| step.place).chain([leaf]) {
            locks.push(place.node.lock.upgrade(place.version)?);
        }
        let record = leaf.node.pointer_locked(0).cast::<Record>();
        // SAFETY: linked in the locked leaf, whose only record it is.
        if !unsafe { &*record }.try_close() {
            return Ok(false);
        }
        self.removals.fetch_add(1, Ordering::SeqCst);
        // SAFETY: every node named here is locked by this call and leaves the tree by the removal from the
        // ancestor; the pointers came from `Box::into_raw`.
        unsafe {
            let mut unlinked = ancestor_node.pointer_locked(ancestor.index).cast::<Node<K, CAPACITY>>();
            ancestor_node.remove_locked(ancestor.index, guard);
            leaf.node.remove_locked(0, guard);
            OwnedRecord::retire(record, guard);
            for lock in locks {
                let below = (*unlinked).pointer_locked(0).cast::<Node<K, CAPACITY>>();
                lock.unlock_obsolete();
                retire(unlinked, guard);
                unlinked = below;
            }
            if shrinks {
                let only_child = ancestor_node.pointer_locked(0).cast();
                let old_root = self.root.swap(only_child, Ordering::Relaxed);
                self.levels.fetch_sub(1, Ordering::Relaxed);
                ancestor_lock.unlock_obsolete();
                retire(old_root, guard);
            }
        }
        drop(root_lock);
        Ok(true)
    }
}
