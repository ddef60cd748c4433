//! A tree that is built bottom-up from keys in ascending order: no descents, no locks, no splits.
//!
//! ```text
//!   keys, ascending --> SortedRun: full leaves, and the separator of each from the one before
//!   runs, one above the other --adopt--> inner nodes, level by level --> the root of an empty index
//! ```
//!
//! A caller with keys in several ranges fills a run for each, on as many threads as it likes, and hands all
//! of them over at once. No other thread has seen them before: the index changes by one exchange of its root,
//! under the locks of the root pointer and of the empty leaf that is replaced. The nodes are those that
//! ordinary inserts in ascending order would have left: full leaves, except the last of each run.
#![allow(unsafe_code)] // Builds nodes out of raw pointers.

use std::sync::atomic::Ordering;

use crossbeam_epoch::Guard;

use super::key::IndexKey;
use super::node::{Node, retire};
use super::version_lock::Restart;
use super::{NODE_CAPACITY, OrderedIndex, retry};
use crate::storage::record::{OwnedRecord, Record};

/// See the module head.
pub(in crate::storage) struct SortedRun<K: IndexKey, const CAPACITY: usize = NODE_CAPACITY> {
    leaves: Vec<Child<K, CAPACITY>>,
}

/// A node that has no parent yet, and the key that separates it from its left neighbour; unset for the first.
struct Child<K: IndexKey, const CAPACITY: usize> {
    separator: K::Slot,
    node: *mut Node<K, CAPACITY>,
}

// SAFETY: the node and the separator are owned by this value; no other thread can reach them.
unsafe impl<K: IndexKey, const CAPACITY: usize> Send for Child<K, CAPACITY> {}
// SAFETY: shared access changes nothing.
unsafe impl<K: IndexKey, const CAPACITY: usize> Sync for Child<K, CAPACITY> {}

impl<K: IndexKey, const CAPACITY: usize> Child<K, CAPACITY> {
    fn node(&self) -> &Node<K, CAPACITY> {
        // SAFETY: alive as long as this owns it.
        unsafe { &*self.node }
    }
}

impl<K: IndexKey, const CAPACITY: usize> Default for SortedRun<K, CAPACITY> {
    fn default() -> SortedRun<K, CAPACITY> {
        SortedRun { leaves: Vec::new() }
    }
}

impl<K: IndexKey, const CAPACITY: usize> SortedRun<K, CAPACITY> {
    /// Appends a key; false, and nothing is inserted, unless it is above all others.
    pub(in crate::storage) fn push(&mut self, key: K::Owned, record: OwnedRecord) -> bool {
        if let Some(last) = self.leaves.last() {
            let leaf = last.node();
            if !is_below(leaf, leaf.count() - 1, K::borrow(&key)) {
                return false;
            }
            if !leaf.is_full() {
                leaf.append_locked(key, record.into_raw().cast());
                return true;
            }
        }
        let leaf = Node::<K, CAPACITY>::new(true);
        leaf.append_locked(key, record.into_raw().cast());
        let separator =
            self.leaves.last().map_or_else(K::Slot::default, |left| separator(left.node(), &leaf));
        self.leaves.push(Child { separator, node: Box::into_raw(leaf) });
        true
    }

    /// The record under a key. The run may be handed to an index while no thread is in here: the record then
    /// stays where it is.
    #[allow(clippy::needless_lifetimes)] // The guard keeps the record alive, not the run.
    pub(in crate::storage) fn find<'g>(&self, probe: K::Probe<'_>, _guard: &'g Guard) -> Option<&'g Record> {
        let is_above = |child: &Child<K, CAPACITY>| !is_first_at_most(child.node(), probe);
        let leaf = self.leaves.partition_point(|child| !is_above(child)).checked_sub(1)?;
        let leaf = self.leaves[leaf].node();
        let version = leaf.lock.current();
        // SAFETY: no thread changes the leaf, so its content is alive and fixed. Its records are freed
        // through the epoch once an index has the leaf, and a run that is dropped instead is retired in the
        // same way.
        unsafe {
            let position = leaf.lower_bound(probe, version).ok()?;
            match leaf.holds(position, probe, version) {
                Ok(true) => leaf.record(position, version).ok(),
                _ => None,
            }
        }
    }

    /// Appends the keys of another run and leaves it empty; false, and nothing is moved, unless they are
    /// above those of this one.
    fn append(&mut self, above: &mut SortedRun<K, CAPACITY>, guard: &Guard) -> bool {
        if let (Some(last), Some(first)) = (self.leaves.last(), above.leaves.first_mut()) {
            let (left, right) = (last.node(), first.node());
            // SAFETY: no other thread can reach the leaf, so its content is alive and fixed.
            let lowest = unsafe { right.key(0, right.lock.current(), guard) };
            if !lowest.is_ok_and(|lowest| is_below(left, left.count() - 1, lowest)) {
                return false;
            }
            first.separator = separator(left, right);
        }
        self.leaves.append(&mut above.leaves);
        true
    }
}

impl<K: IndexKey, const CAPACITY: usize> Drop for SortedRun<K, CAPACITY> {
    fn drop(&mut self) {
        for child in self.leaves.drain(..) {
            // SAFETY: owned, and from `Box::into_raw`; a separator that was never set holds nothing.
            unsafe {
                K::free(&child.separator);
                Node::free_tree(child.node);
            }
        }
    }
}

/// Whether the first key of a private leaf is this one or below it.
fn is_first_at_most<K: IndexKey, const CAPACITY: usize>(leaf: &Node<K, CAPACITY>, key: K::Probe<'_>) -> bool {
    let snapshot = leaf.snapshot(leaf.lock.current());
    // SAFETY: as for `is_below`.
    unsafe { K::compare(leaf.slot_locked(0), key, snapshot) }.is_ok_and(std::cmp::Ordering::is_le)
}

/// Whether the key at this position of a private leaf is below another key.
fn is_below<K: IndexKey, const CAPACITY: usize>(
    leaf: &Node<K, CAPACITY>,
    position: usize,
    key: K::Probe<'_>,
) -> bool {
    let snapshot = leaf.snapshot(leaf.lock.current());
    // SAFETY: no other thread can reach the leaf, so its content is alive and fixed.
    unsafe { K::compare(leaf.slot_locked(position), key, snapshot) }.is_ok_and(std::cmp::Ordering::is_lt)
}

/// A key above all of the left leaf and not above any key of the right one. Both are private and hold keys.
fn separator<K: IndexKey, const CAPACITY: usize>(
    left: &Node<K, CAPACITY>,
    right: &Node<K, CAPACITY>,
) -> K::Slot {
    let separator = K::Slot::default();
    // SAFETY: as stated above.
    unsafe { K::store_separator(&separator, left.slot_locked(left.count() - 1), right.slot_locked(0)) };
    separator
}

/// Puts nodes under as few parents as possible, with about equally many children each, and so on up to a
/// root. Returns the root and the number of levels above the given nodes.
fn grow<K: IndexKey, const CAPACITY: usize>(
    mut children: Vec<Child<K, CAPACITY>>,
) -> (*mut Node<K, CAPACITY>, usize) {
    let mut levels = 0;
    while children.len() > 1 {
        let (all, parents) = (children.len(), children.len().div_ceil(CAPACITY));
        let mut above = Vec::with_capacity(parents);
        let mut rest = children.into_iter();
        for parent in 0..parents {
            let size = all * (parent + 1) / parents - all * parent / parents;
            let node = Node::<K, CAPACITY>::new(false);
            let mut separator = K::Slot::default();
            for (position, child) in rest.by_ref().take(size).enumerate() {
                if position == 0 {
                    // It separates the parents.
                    separator = child.separator;
                    node.adopt_locked(position, &K::Slot::default(), child.node);
                } else {
                    node.adopt_locked(position, &child.separator, child.node);
                }
            }
            above.push(Child { separator, node: Box::into_raw(node) });
        }
        children = above;
        levels += 1;
    }
    (children[0].node, levels)
}

impl<K: IndexKey, const CAPACITY: usize> OrderedIndex<K, CAPACITY> {
    /// Takes over the keys of some runs. False, and all of them are retired, unless each run is above the one
    /// before and the index is empty.
    pub(in crate::storage) fn adopt(&self, mut runs: Vec<SortedRun<K, CAPACITY>>, guard: &Guard) -> bool {
        let mut whole = SortedRun::default();
        let is_done = runs.iter_mut().all(|run| whole.append(run, guard))
            && (whole.leaves.is_empty() || retry(|| self.try_adopt(&mut whole, guard)));
        if !is_done {
            // Their records may have been found already ([`SortedRun::find`]).
            guard.defer(move || drop((whole, runs)));
        }
        is_done
    }

    fn try_adopt(&self, whole: &mut SortedRun<K, CAPACITY>, guard: &Guard) -> Result<bool, Restart> {
        let (place, root_version) = self.root_place(guard)?;
        let is_empty = place.node.is_leaf && place.node.count() == 0;
        place.node.lock.check(place.version)?;
        if !is_empty {
            return Ok(false);
        }
        let root_lock = self.root_lock.upgrade(root_version)?;
        let lock = match place.node.lock.upgrade(place.version) {
            Ok(lock) => lock,
            Err(Restart) => {
                root_lock.unlock_unchanged();
                return Err(Restart);
            }
        };
        let (root, levels) = grow(std::mem::take(&mut whole.leaves));
        self.removals.fetch_add(1, Ordering::SeqCst);
        let old = self.root.swap(root, Ordering::Relaxed);
        self.levels.store(levels, Ordering::Relaxed);
        lock.unlock_obsolete();
        // SAFETY: from `Box::into_raw`, unlinked just now, and without keys.
        unsafe { retire(old, guard) };
        drop(root_lock);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
