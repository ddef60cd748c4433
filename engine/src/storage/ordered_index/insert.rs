//! Finding or inserting a key; splits.
//!
//! A full inner node is split as soon as a descent meets it, whether or not the leaf below will need it; then the descent begins
//! again. A full leaf is split and receives the key in one step, under the locks of both. What moves to the right becomes a
//! new node, so the left one keeps its identity and only its version changes.

use std::sync::atomic::Ordering;

use crossbeam_epoch::Guard;

use super::key::IndexKey;
use super::node::Node;
use super::version_lock::{Restart, WriteGuard};
use super::{OrderedIndex, Place, retry};
use crate::storage::record::Record;

/// The way down to a node: its parent and where it hangs there.
struct Descent<'g, K: IndexKey, const CAPACITY: usize> {
    /// `None` above the root.
    parent: Option<Place<'g, K, CAPACITY>>,
    place: Place<'g, K, CAPACITY>,
    /// The position of `place` in `parent`.
    index: usize,
    /// No key in the tree is above this node's range.
    is_right_edge: bool,
    /// The version of the root pointer, for a split of the root.
    root_version: u64,
}

/// A locked parent with room for one more child.
enum Parent<'g, K: IndexKey, const CAPACITY: usize> {
    Root(WriteGuard<'g>),
    Node(&'g Node<K, CAPACITY>, WriteGuard<'g>),
}

impl<K: IndexKey, const CAPACITY: usize> OrderedIndex<K, CAPACITY> {
    /// The record under a key, and whether it was made by this call.
    pub(in crate::storage) fn get_or_insert<'g>(
        &'g self,
        probe: K::Probe<'_>,
        guard: &'g Guard,
    ) -> (&'g Record, bool) {
        retry(|| self.try_get_or_insert(probe, guard))
    }

    fn try_get_or_insert<'g>(
        &'g self,
        probe: K::Probe<'_>,
        guard: &'g Guard,
    ) -> Result<(&'g Record, bool), Restart> {
        let descent = self.descend_for_insert(probe, guard)?;
        let Place { node: leaf, version } = descent.place;
        // SAFETY: reached by this descent, under the guard; the record is returned only while the guard lives.
        let position = unsafe {
            let position = leaf.lower_bound(probe, version)?;
            if leaf.holds(position, probe, version)? {
                return Ok((leaf.record(position, version)?, false));
            }
            position
        };
        let record = if leaf.is_full() {
            self.split_leaf(&descent, position, probe)?
        } else {
            let _lock = leaf.lock.upgrade(version)?;
            let record = Box::into_raw(Box::new(Record::new()));
            leaf.insert_locked(position, probe, record.cast());
            record
        };
        // SAFETY: just linked; it leaves only through the epoch, which the guard holds up.
        Ok((unsafe { &*record }, true))
    }

    /// Descends to the leaf for `probe`; splits the first full inner node it meets and asks for a restart.
    fn descend_for_insert<'g>(
        &'g self,
        probe: K::Probe<'_>,
        guard: &'g Guard,
    ) -> Result<Descent<'g, K, CAPACITY>, Restart> {
        let (place, root_version) = self.root_place(guard)?;
        let mut descent = Descent { parent: None, place, index: 0, is_right_edge: true, root_version };
        while !descent.place.node.is_leaf {
            let Place { node, version } = descent.place;
            // SAFETY: reached by this descent, under the guard.
            let index = unsafe { node.child_of(probe, version) }?;
            let is_last = index + 1 == node.count();
            if node.is_full() {
                self.split_inner(&descent, is_last)?;
                return Err(Restart);
            }
            let child = self.child_place(descent.place, index, guard)?;
            descent.is_right_edge &= is_last;
            descent.parent = Some(descent.place);
            descent.place = child;
            descent.index = index;
        }
        Ok(descent)
    }

    fn lock_parent<'g>(
        &'g self,
        descent: &Descent<'g, K, CAPACITY>,
    ) -> Result<Parent<'g, K, CAPACITY>, Restart> {
        match descent.parent {
            None => Ok(Parent::Root(self.root_lock.upgrade(descent.root_version)?)),
            // Not full at this version: the descent would have split it.
            Some(Place { node, version }) => Ok(Parent::Node(node, node.lock.upgrade(version)?)),
        }
    }

    /// Splits a full leaf and puts the key where it belongs.
    fn split_leaf<'g>(
        &'g self,
        descent: &Descent<'g, K, CAPACITY>,
        position: usize,
        probe: K::Probe<'_>,
    ) -> Result<*mut Record, Restart> {
        let Place { node: left, version } = descent.place;
        let parent = self.lock_parent(descent)?;
        let _lock = match left.lock.upgrade(version) {
            Ok(lock) => lock,
            Err(Restart) => return Err(parent.unlock_unchanged()),
        };
        let cut = left.cut_locked(position, descent.is_right_edge);
        let right = Node::<K, CAPACITY>::new(true);
        left.move_tail_locked(cut, &right);
        let record = Box::into_raw(Box::new(Record::new()));
        // At the cut itself the key may go either way: left if that half has room.
        if position < cut || (position == cut && cut < CAPACITY) {
            left.insert_locked(position, probe, record.cast());
        } else {
            right.insert_locked(position - cut, probe, record.cast());
        }
        let separator = K::Slot::default();
        // SAFETY: both halves hold keys (the cut is neither at 0 nor leaves the right half without one) and are locked or
        // private.
        unsafe {
            K::store_separator(&separator, left.slot_locked(left.count() - 1), right.slot_locked(0));
        }
        self.attach(&parent, descent, &separator, Box::into_raw(right));
        Ok(record)
    }

    /// Splits a full inner node. `goes_last`: the descent goes on to its last child.
    fn split_inner<'g>(&'g self, descent: &Descent<'g, K, CAPACITY>, goes_last: bool) -> Result<(), Restart> {
        let Place { node: left, version } = descent.place;
        let parent = self.lock_parent(descent)?;
        let _lock = match left.lock.upgrade(version) {
            Ok(lock) => lock,
            Err(Restart) => return Err(parent.unlock_unchanged()),
        };
        let cut = if descent.is_right_edge && goes_last { CAPACITY - 1 } else { CAPACITY / 2 };
        let right = Node::<K, CAPACITY>::new(false);
        left.move_tail_locked(cut, &right);
        // The first key of the right half is unused there: it moves up.
        let separator = K::Slot::default();
        K::relocate(right.slot_locked(0), &separator);
        self.attach(&parent, descent, &separator, Box::into_raw(right));
        Ok(())
    }

    /// Hangs a new right half into the locked parent, or makes a new root above both halves.
    fn attach<'g>(
        &'g self,
        parent: &Parent<'g, K, CAPACITY>,
        descent: &Descent<'g, K, CAPACITY>,
        separator: &K::Slot,
        right: *mut Node<K, CAPACITY>,
    ) {
        match parent {
            Parent::Node(node, _) => node.adopt_locked(descent.index + 1, separator, right),
            Parent::Root(_) => {
                let root = Node::<K, CAPACITY>::new(false);
                root.adopt_locked(0, &K::Slot::default(), self.root.load(Ordering::Relaxed));
                root.adopt_locked(1, separator, right);
                self.root.store(Box::into_raw(root), Ordering::Relaxed);
            }
        }
    }
}

impl<K: IndexKey, const CAPACITY: usize> Parent<'_, K, CAPACITY> {
    fn unlock_unchanged(self) -> Restart {
        let (Parent::Root(lock) | Parent::Node(_, lock)) = self;
        lock.unlock_unchanged();
        Restart
    }
}
