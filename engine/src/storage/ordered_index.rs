//! The ordered index: a B+-tree from keys to records, synchronised by optimistic lock coupling.
//!
//! Why our own tree: serializable range scans need to know whether keys have come or gone in what they read,
//! so scans hand out the versions of the leaves they saw ([`ScanBatch`]). No published crate exposes them.
//!
//! Algorithm. Every node carries a [`VersionLock`]. A descent writes nothing: at each node it notes the
//! version, finds the child, notes the child's version, and checks its own once more; when a check fails it
//! begins again at the root. Writers descend the same way and lock only what they change, by turning a noted
//! version into the lock, which fails if the node has changed:
//! * insert: the leaf; a full leaf also its parent, to split. Full inner nodes are split on the way down, so
//!   a parent always has room;
//! * remove: the leaf; when its last key goes, also the chain of only children above it, which is unlinked as
//!   a whole.
//!
//! Locks are taken from the root downwards, and never waited for while holding another (taking one is a try),
//! so there is no deadlock. Nodes have no sibling pointers: the neighbour of a leaf is reached from the last
//! turn of the way down to it.
//! Invariants:
//! 1. The keys below child i of an inner node are in [s_i, s_i+1); every key is in exactly one leaf.
//! 2. Only the leaf of an empty tree is empty, so queue-like use (insert right, delete left) leaves no empty
//!    leaves behind. Otherwise leaves are not merged.
//! 3. Keys and nodes are freed through the epoch, and a pointer is followed only after a check that it was
//!    linked while this thread has been pinned.
//! 4. `removals` grows before a record or leaf is unlinked: while it does not change, every record and leaf
//!    found earlier is alive.
//!
//! Files:
//! * `version_lock`: latch and version in one word; `node`: one node; `key`: what a node's slot holds of a
//!   key;
//! * operations from the root: `insert`, `remove`, `scan`;
//! * shorter ways: `finger` (to the place after the last insert), `near` (to a key beside the last one),
//!   `bulk` (a whole tree from sorted keys).
//!
//! Memory: a leaf entry takes a key slot (8, 16 or 16 bytes) and a pointer (8); a leaf holds 63 entries and
//! is between half and completely full after inserts, completely full after ascending ones.
//!
//! Reference: Leis, Haubenschild, Neumann, "Optimistic Lock Coupling", IEEE Data Engineering Bulletin 42(1),
//! 2019; Leis, Scheibner, Kemper, Neumann, "The ART of Practical Synchronization", DaMoN 2016.
#![allow(unsafe_code)] // Reads nodes that writers change at the same time and that are reclaimed through the epoch.

mod bulk;
mod finger;
mod insert;
pub(super) mod key;
mod near;
pub(super) mod node;
mod remove;
mod scan;
pub(super) mod version_lock;

use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crossbeam_epoch::Guard;
use crossbeam_utils::Backoff;
use hyades_types::memory::in_database;

use self::key::IndexKey;
use self::node::Node;
use self::version_lock::{Restart, VersionLock};
use super::record::Record;
use super::scan_batch::{ScanDirection, new_index_id};

pub(super) use self::bulk::SortedRun;
pub(super) use self::finger::Finger;
pub(super) use self::insert::{Located, Vacancy};
pub(super) use self::near::Nearby;

/// Keys of one leaf, and children of one inner node: with narrow keys a node is exactly 1 KiB.
pub(super) const NODE_CAPACITY: usize = 63;

/// See the module head. `CAPACITY` is small in tests, so that few keys make a deep tree.
pub(super) struct OrderedIndex<K: IndexKey, const CAPACITY: usize = NODE_CAPACITY> {
    /// Guards `root` as a node's lock guards its pointers.
    root_lock: VersionLock,
    root: AtomicPtr<Node<K, CAPACITY>>,
    /// Levels of inner nodes above every leaf. Changed under `root_lock`; without the lock it is a hint.
    levels: AtomicUsize,
    /// Bytes of a packed key.
    width: usize,
    id: u64,
    removals: AtomicU64,
}

/// A node reached by a descent, and the version at which it was the right one.
struct Place<'g, K: IndexKey, const CAPACITY: usize> {
    node: &'g Node<K, CAPACITY>,
    version: u64,
}

impl<K: IndexKey, const CAPACITY: usize> Clone for Place<'_, K, CAPACITY> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: IndexKey, const CAPACITY: usize> Copy for Place<'_, K, CAPACITY> {}

/// The lowest node on a way down that has a child beyond the one taken, in the direction of interest, and
/// that child's position: the next leaf is below it.
struct Turn<'g, K: IndexKey, const CAPACITY: usize> {
    place: Place<'g, K, CAPACITY>,
    index: usize,
}

impl<K: IndexKey, const CAPACITY: usize> Clone for Turn<'_, K, CAPACITY> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: IndexKey, const CAPACITY: usize> Copy for Turn<'_, K, CAPACITY> {}

impl<K: IndexKey, const CAPACITY: usize> OrderedIndex<K, CAPACITY> {
    /// An empty index. `width` is the length in bytes of packed keys; byte strings ignore it.
    pub(super) fn new(width: usize) -> OrderedIndex<K, CAPACITY> {
        OrderedIndex {
            root_lock: VersionLock::default(),
            root: AtomicPtr::new(Box::into_raw(Node::new(true))),
            levels: AtomicUsize::new(0),
            width,
            id: new_index_id(),
            removals: AtomicU64::new(0),
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Grows before anything is unlinked (invariant 4).
    pub(super) fn removals(&self) -> u64 {
        self.removals.load(Ordering::SeqCst)
    }

    /// The record under a key.
    pub(super) fn get<'g>(&'g self, probe: K::Probe<'_>, guard: &'g Guard) -> Option<&'g Record> {
        retry(|| self.try_get(probe, guard))
    }

    fn try_get<'g>(&'g self, probe: K::Probe<'_>, guard: &'g Guard) -> Result<Option<&'g Record>, Restart> {
        self.try_find(probe, guard).map(|(_, _, record)| record)
    }

    /// The leaf that holds a key or would hold it, its position there, and its record.
    #[inline]
    fn try_find<'g>(
        &'g self,
        probe: K::Probe<'_>,
        guard: &'g Guard,
    ) -> Result<(Place<'g, K, CAPACITY>, usize, Option<&'g Record>), Restart> {
        let (mut place, _) = self.root_place(guard)?;
        while !place.node.is_leaf {
            // SAFETY: reached by this descent, under the guard.
            let index = unsafe { place.node.child_of(probe, place.version) }?;
            place = self.child_place(place, index, guard)?;
        }
        let Place { node: leaf, version } = place;
        // SAFETY: as above; the record is returned only while the guard lives.
        unsafe {
            let position = leaf.lower_bound(probe, version)?;
            if leaf.holds(position, probe, version)? {
                return Ok((place, position, Some(leaf.record(position, version)?)));
            }
            leaf.lock.check(version)?;
            Ok((place, position, None))
        }
    }

    /// Prefetches the leaf that holds a key or would hold it, without waiting for it.
    pub(super) fn prefetch_leaf(&self, probe: K::Probe<'_>, guard: &Guard) {
        // One attempt: a late hint is useless.
        let _ = self.try_prefetch_leaf(probe, guard);
    }

    fn try_prefetch_leaf(&self, probe: K::Probe<'_>, guard: &Guard) -> Result<(), Restart> {
        let (mut place, _) = self.root_place(guard)?;
        for level in (0..self.levels.load(Ordering::Relaxed)).rev() {
            if place.node.is_leaf {
                break;
            }
            // SAFETY: reached by this descent, under the guard.
            let index = unsafe { place.node.child_of(probe, place.version) }?;
            if level == 0 {
                // SAFETY: as above.
                unsafe { place.node.child(index, place.version) }?.prefetch();
            } else {
                place = self.child_place(place, index, guard)?;
            }
        }
        Ok(())
    }

    /// The root, where every descent begins, with the version of the root pointer.
    #[inline]
    fn root_place<'g>(&'g self, _guard: &'g Guard) -> Result<(Place<'g, K, CAPACITY>, u64), Restart> {
        let root_version = self.root_lock.read()?;
        let root = self.root.load(Ordering::Relaxed);
        // SAFETY: never null. As for children: followed only after the check that it was linked while the
        // guard has been pinned.
        let node = unsafe {
            self.root_lock.check(root_version)?;
            &*root
        };
        let version = node.lock.read()?;
        // As in `child_place`: if the root had been split in between, it would now be only the left half.
        self.root_lock.check(root_version)?;
        Ok((Place { node, version }, root_version))
    }

    /// One step down.
    #[inline]
    fn child_place<'g>(
        &'g self,
        parent: Place<'g, K, CAPACITY>,
        index: usize,
        _guard: &'g Guard,
    ) -> Result<Place<'g, K, CAPACITY>, Restart> {
        // SAFETY: the parent is an inner node reached under the guard, which outlives the result.
        let node = unsafe { parent.node.child(index, parent.version) }?;
        node.prefetch();
        let version = node.lock.read()?;
        // Only now is it certain that the child was not split between the moment it was found and the moment
        // its version was noted.
        parent.node.lock.check(parent.version)?;
        Ok(Place { node, version })
    }

    /// The leaf next to the one whose descent took the turn.
    fn next_leaf<'g>(
        &'g self,
        turn: Turn<'g, K, CAPACITY>,
        direction: ScanDirection,
        guard: &'g Guard,
    ) -> Result<Place<'g, K, CAPACITY>, Restart> {
        let mut place = self.child_place(turn.place, turn.index, guard)?;
        while !place.node.is_leaf {
            let index = match direction {
                ScanDirection::Forward => 0,
                ScanDirection::Backward => place.node.count().saturating_sub(1),
            };
            place = self.child_place(place, index, guard)?;
        }
        Ok(place)
    }
}

/// Repeats an optimistic operation until no writer comes in between.
fn retry<T>(mut attempt: impl FnMut() -> Result<T, Restart>) -> T {
    if let Ok(done) = attempt() {
        return done;
    }
    let backoff = Backoff::new();
    loop {
        if let Ok(done) = attempt() {
            return done;
        }
        backoff.snooze();
    }
}

impl<K: IndexKey, const CAPACITY: usize> OrderedIndex<K, CAPACITY> {
    /// Frees up to `leaves` leaves with their records, from the right; true when the tree is empty.
    pub(super) fn free_some(&mut self, leaves: usize) -> bool {
        let mut left = leaves;
        let root = self.root.get_mut();
        // SAFETY: as for `drop`; what is freed is unlinked at once.
        if !unsafe { Node::free_from_right(*root, &mut left) } {
            return false;
        }
        *root = Box::into_raw(Node::new(true));
        *self.levels.get_mut() = 0;
        true
    }
}

impl<K: IndexKey, const CAPACITY: usize> Drop for OrderedIndex<K, CAPACITY> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`, and references to records borrow the index, so no thread reads the tree.
        // Unlinked parts of it belong to the epoch and are not reachable from the root.
        in_database(|| unsafe { Node::free_tree(*self.root.get_mut()) });
    }
}

#[cfg(test)]
mod hesitant_key;
#[cfg(test)]
mod stress_tests;
#[cfg(test)]
mod tests;
