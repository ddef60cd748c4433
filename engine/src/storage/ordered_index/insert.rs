//! Finding a key or the place where it would be inserted, inserting it, and splits.
//!
//! An insert has two steps, so that a transaction can take its locks in between. [`OrderedIndex::locate`]
//! finds the record, or else a [`Vacancy`]: the key's place in its leaf, and the next key above it, with the
//! versions at which both were true. [`OrderedIndex::fill`] puts the record there, under the lock of the
//! leaf, if these versions are unchanged. So a lock that was taken because this key comes next is still the
//! right one at the moment at which the new key appears. If a version has changed, the caller locates again.
//!
//! The next key is in the same leaf, or else it is the first one of the next leaf, which is to the right of
//! the last turn of the way down. Both leaves are unchanged at one moment when each is checked after the
//! other was read. No leaf can then be between them, since leaves appear only by splits of their left
//! neighbours. This is why `fill` locks the first leaf before it checks the second: a thread that finds a key
//! newly inserted into the second leaf also finds the first one locked, or changed
//! ([`VersionLock`](super::version_lock::VersionLock) says why).
//!
//! A full inner node is split as soon as a descent meets it, whether or not the leaf below will need it, and
//! the descent begins again. A full leaf is split and receives the key in one step, under the locks of both.
//! The right half becomes a new node, so the left one keeps its identity and only its version changes.

use std::sync::atomic::Ordering;

use crossbeam_epoch::Guard;

use super::key::IndexKey;
use super::node::Node;
use super::scan::Ahead;
use super::version_lock::{Restart, WriteGuard};
use super::{NODE_CAPACITY, OrderedIndex, Place, Turn, retry};
use crate::storage::record::{OwnedRecord, Record};

/// The way down to a node: its parent and its position there.
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

/// A key's record, or the place where it would be inserted.
pub(in crate::storage) enum Located<'g, K: IndexKey, const CAPACITY: usize = NODE_CAPACITY> {
    Present(&'g Record),
    Absent(Vacancy<'g, K, CAPACITY>),
}

/// See the module head.
pub(in crate::storage) struct Vacancy<'g, K: IndexKey, const CAPACITY: usize = NODE_CAPACITY> {
    pub(super) place: Place<'g, K, CAPACITY>,
    pub(super) position: usize,
    pub(super) ahead: Ahead<'g, K, CAPACITY>,
}

/// A locked parent with room for one more child.
enum Parent<'g, K: IndexKey, const CAPACITY: usize> {
    Root(WriteGuard<'g>),
    Node(&'g Node<K, CAPACITY>, WriteGuard<'g>),
}

impl<'g, K: IndexKey, const CAPACITY: usize> Vacancy<'g, K, CAPACITY> {
    /// The smallest key above the one that was looked for.
    pub(in crate::storage) fn next(&self) -> Option<K::Probe<'g>> {
        self.ahead.next
    }

    /// Whether the next key is still the next one. The caller has locked the leaf into which another key
    /// would have come.
    fn check_beyond(&self) -> Result<(), Restart> {
        self.ahead.beyond.map_or(Ok(()), |beyond| beyond.node.lock.check(beyond.version))
    }
}

impl<K: IndexKey, const CAPACITY: usize> OrderedIndex<K, CAPACITY> {
    /// The record under a key, or where it would be inserted and which key would come next.
    pub(in crate::storage) fn locate<'g>(
        &'g self,
        probe: K::Probe<'_>,
        guard: &'g Guard,
    ) -> Located<'g, K, CAPACITY> {
        retry(|| {
            let (mut located, turn) = self.try_locate(probe, guard)?;
            if let Located::Absent(vacancy) = &mut located {
                vacancy.ahead = self.key_from(vacancy.place, vacancy.position, turn, guard)?;
            }
            Ok(located)
        })
    }

    /// The record under a key, and whether this call made it.
    pub(in crate::storage) fn get_or_insert<'g>(
        &'g self,
        probe: K::Probe<'_>,
        row: Option<&[u8]>,
        guard: &'g Guard,
    ) -> (&'g Record, bool) {
        retry(|| match self.try_locate(probe, guard)?.0 {
            Located::Present(record) => Ok((record, false)),
            Located::Absent(vacancy) => {
                let (record, _) = self.fill(&vacancy, probe, OwnedRecord::new(row), guard).ok_or(Restart)?;
                Ok((record, true))
            }
        })
    }

    /// Puts a record under a key that was not there, if nothing has changed since; otherwise drops it. Also
    /// returns the version that this gave the leaf, unless it was split.
    pub(in crate::storage) fn fill<'g>(
        &'g self,
        vacancy: &Vacancy<'g, K, CAPACITY>,
        probe: K::Probe<'_>,
        record: OwnedRecord,
        guard: &'g Guard,
    ) -> Option<(&'g Record, Option<u64>)> {
        let record = record.into_raw();
        match self.try_fill(vacancy, probe, record, guard) {
            // SAFETY: just linked; it leaves only through the epoch, which the guard holds up.
            Ok(version) => Some((unsafe { &*record }, version)),
            Err(Restart) => {
                // SAFETY: not linked, so still owned by this call.
                drop(unsafe { OwnedRecord::from_raw(record) });
                None
            }
        }
    }

    fn try_fill(
        &self,
        vacancy: &Vacancy<'_, K, CAPACITY>,
        probe: K::Probe<'_>,
        record: *mut Record,
        guard: &Guard,
    ) -> Result<Option<u64>, Restart> {
        let Place { node: leaf, version } = vacancy.place;
        if leaf.is_full() {
            return self.split_leaf(vacancy, probe, record, guard).map(|()| None);
        }
        let lock = leaf.lock.upgrade(version)?;
        if vacancy.check_beyond().is_err() {
            lock.unlock_unchanged();
            return Err(Restart);
        }
        leaf.insert_locked(vacancy.position, probe, record.cast());
        Ok(Some(lock.unlock()))
    }

    /// Does not look for the next key, but returns where it is found if it is not in the same leaf.
    fn try_locate<'g>(
        &'g self,
        probe: K::Probe<'_>,
        guard: &'g Guard,
    ) -> Result<(Located<'g, K, CAPACITY>, Option<Turn<'g, K, CAPACITY>>), Restart> {
        let (mut place, _) = self.root_place(guard)?;
        let mut turn = None;
        while !place.node.is_leaf {
            // SAFETY: reached by this descent, under the guard.
            let index = unsafe { place.node.child_of(probe, place.version) }?;
            let is_last = index + 1 == place.node.count();
            let child = self.child_place(place, index, guard)?;
            if !is_last {
                turn = Some(Turn { place, index: index + 1 });
            }
            place = child;
        }
        let Place { node: leaf, version } = place;
        // SAFETY: reached by this descent, under the guard; the record is returned only while the guard
        // lives.
        unsafe {
            let position = leaf.lower_bound(probe, version)?;
            if leaf.holds(position, probe, version)? {
                return Ok((Located::Present(leaf.record(position, version)?), None));
            }
            leaf.lock.check(version)?;
            let ahead = Ahead { next: None, beyond: None, limit: None };
            Ok((Located::Absent(Vacancy { place, position, ahead }), turn))
        }
    }

    /// Descends to the leaf for `probe`, which is full; splits the first full inner node it meets and asks
    /// for a restart.
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

    /// Splits a full leaf and inserts the key into the half where it belongs.
    fn split_leaf(
        &self,
        vacancy: &Vacancy<'_, K, CAPACITY>,
        probe: K::Probe<'_>,
        record: *mut Record,
        guard: &Guard,
    ) -> Result<(), Restart> {
        let Vacancy { place: Place { node: left, version }, position, .. } = *vacancy;
        let descent = self.descend_for_insert(probe, guard)?;
        if !std::ptr::eq(descent.place.node, left) {
            return Err(Restart);
        }
        let parent = self.lock_parent(&descent)?;
        let lock = match left.lock.upgrade(version) {
            Ok(lock) => lock,
            Err(Restart) => return Err(parent.unlock_unchanged()),
        };
        if vacancy.check_beyond().is_err() {
            lock.unlock_unchanged();
            return Err(parent.unlock_unchanged());
        }
        let cut = left.cut_locked(position, descent.is_right_edge);
        let right = Node::<K, CAPACITY>::new(true);
        left.move_tail_locked(cut, &right);
        // At the cut itself the key may go either way: left if that half has room.
        if position < cut || (position == cut && cut < CAPACITY) {
            left.insert_locked(position, probe, record.cast());
        } else {
            right.insert_locked(position - cut, probe, record.cast());
        }
        let separator = K::Slot::default();
        // SAFETY: both halves hold keys (the cut is neither at 0 nor leaves the right half empty) and are
        // locked or private.
        unsafe {
            K::store_separator(&separator, left.slot_locked(left.count() - 1), right.slot_locked(0));
        }
        self.attach(&parent, &descent, &separator, Box::into_raw(right));
        Ok(())
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
                self.levels.fetch_add(1, Ordering::Relaxed);
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
