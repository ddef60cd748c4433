//! A node of the ordered index, and the operations on a single node.
//!
//! Leaves and inner nodes have the same shape, an array of keys next to an array of pointers:
//!
//! ```text
//!              position    0        1        2      ... count-1
//! leaf         keys        k0       k1       k2             (k0 < k1 < ...)
//!              pointers    record   record   record
//! inner node   keys        unused   s1       s2
//!              pointers    child    child    child          (child i holds keys in [s_i, s_i+1))
//! ```
//!
//! Invariants: `is_leaf` never changes; `count` is at most `CAPACITY`; an inner node has at least one child;
//! positions at or beyond `count` (and key 0 of an inner node) hold leftovers that must not be followed.
//!
//! Methods named `..._locked` require that the node is locked by the caller or not yet linked. The others
//! race with writers, and their results are trusted only after the snapshot's check.
#![allow(unsafe_code)] // Nodes are shared through raw pointers and reclaimed through the epoch.

use std::array::from_fn;
use std::cmp::Ordering as Order;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU16, Ordering};

use crossbeam_epoch::Guard;
use hyades_types::memory::in_database;

use super::key::{IndexKey, Snapshot};
use super::version_lock::{Restart, VersionLock};
use crate::storage::prefetch::prefetch;
use crate::storage::record::{OwnedRecord, Record};

/// See the module head.
pub(super) struct Node<K: IndexKey, const CAPACITY: usize> {
    pub(super) lock: VersionLock,
    count: AtomicU16,
    /// The position after the last insert into this leaf; recognises ascending runs.
    run: AtomicU16,
    pub(super) is_leaf: bool,
    keys: [K::Slot; CAPACITY],
    pointers: [AtomicPtr<()>; CAPACITY],
}

impl<K: IndexKey, const CAPACITY: usize> Node<K, CAPACITY> {
    pub(super) fn new(is_leaf: bool) -> Box<Node<K, CAPACITY>> {
        const { assert!(CAPACITY >= 4 && CAPACITY <= u16::MAX as usize, "splits leave both halves in use") };
        Box::new(Node {
            lock: VersionLock::default(),
            count: AtomicU16::new(0),
            run: AtomicU16::new(0),
            is_leaf,
            keys: from_fn(|_| K::Slot::default()),
            pointers: from_fn(|_| AtomicPtr::new(null_mut())),
        })
    }

    /// Prefetches the whole node. A search needs its lock, some of its keys and one of its pointers, each
    /// only after the one before: for a cold node these would be three waits for memory.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&raw const *self, size_of::<Self>());
    }

    pub(super) fn count(&self) -> usize {
        usize::from(self.count.load(Ordering::Relaxed)).min(CAPACITY)
    }

    fn set_count(&self, count: usize) {
        self.count.store(count as u16, Ordering::Relaxed);
    }

    pub(super) fn is_full(&self) -> bool {
        self.count() == CAPACITY
    }

    pub(super) fn snapshot(&self, version: u64) -> Snapshot<'_> {
        Snapshot { lock: &self.lock, version }
    }

    /// The first position in `from..count` whose key is not below `probe` (`OR_EQUAL`: is above `probe`).
    ///
    /// Packed keys are searched by quarters: three independent comparisons without branches choose one, so
    /// that a full node takes nine.
    ///
    /// # Safety
    /// The node was reached while the calling thread has been pinned, and `version` read since.
    #[inline(always)]
    unsafe fn search<const OR_EQUAL: bool>(
        &self,
        from: usize,
        probe: K::Probe<'_>,
        version: u64,
    ) -> Result<usize, Restart> {
        let snapshot = self.snapshot(version);
        let goes_right = |position: usize| {
            debug_assert!(position < CAPACITY);
            // SAFETY: positions are below `count`, which is at most the capacity; the rest is passed on to
            // the caller.
            let order = unsafe { K::compare(self.keys.get_unchecked(position), probe, snapshot) }?;
            Ok(if OR_EQUAL { order != Order::Greater } else { order == Order::Less })
        };
        let (mut low, mut left) = (from, self.count().saturating_sub(from));
        if K::IS_PACKED {
            while left > 3 {
                let quarter = (left + 1) / 4;
                let passed = usize::from(goes_right(low + quarter - 1)?)
                    + usize::from(goes_right(low + 2 * quarter - 1)?)
                    + usize::from(goes_right(low + 3 * quarter - 1)?);
                low += passed * quarter;
                // Nothing is known of the last quarter, except that the last key of the others is not passed.
                left = if passed == 3 { left - 3 * quarter } else { quarter - 1 };
            }
            let mut position = low;
            for in_rest in low..low + left {
                position += usize::from(goes_right(in_rest)?);
            }
            return Ok(position);
        }
        while left > 0 {
            let half = left / 2;
            if goes_right(low + half)? {
                low += half + 1;
                left -= half + 1;
            } else {
                left = half;
            }
        }
        Ok(low)
    }

    /// In a leaf: the first position whose key is at least `probe`.
    ///
    /// # Safety
    /// As for [`Node::search`].
    #[inline]
    pub(super) unsafe fn lower_bound(&self, probe: K::Probe<'_>, version: u64) -> Result<usize, Restart> {
        // SAFETY: passed on to the caller.
        unsafe { self.search::<false>(0, probe, version) }
    }

    /// In a leaf: the first position whose key is above `probe`.
    ///
    /// # Safety
    /// As for [`Node::search`].
    #[inline]
    pub(super) unsafe fn upper_bound(&self, probe: K::Probe<'_>, version: u64) -> Result<usize, Restart> {
        // SAFETY: passed on to the caller.
        unsafe { self.search::<true>(0, probe, version) }
    }

    /// In an inner node: the child that holds `probe`.
    ///
    /// # Safety
    /// As for [`Node::search`].
    #[inline]
    pub(super) unsafe fn child_of(&self, probe: K::Probe<'_>, version: u64) -> Result<usize, Restart> {
        // SAFETY: passed on to the caller.
        Ok(unsafe { self.search::<true>(1, probe, version) }? - 1)
    }

    /// In an inner node: the child that holds the largest keys below `probe`.
    ///
    /// # Safety
    /// As for [`Node::search`].
    #[inline]
    pub(super) unsafe fn child_below(&self, probe: K::Probe<'_>, version: u64) -> Result<usize, Restart> {
        // SAFETY: passed on to the caller.
        Ok(unsafe { self.search::<false>(1, probe, version) }? - 1)
    }

    /// In a leaf: whether the key at `position` is `probe`.
    ///
    /// # Safety
    /// As for [`Node::search`].
    #[inline]
    pub(super) unsafe fn holds(
        &self,
        position: usize,
        probe: K::Probe<'_>,
        version: u64,
    ) -> Result<bool, Restart> {
        if position >= self.count() {
            return Ok(false);
        }
        // SAFETY: passed on to the caller.
        let order = unsafe { K::compare(&self.keys[position], probe, self.snapshot(version)) }?;
        Ok(order == Order::Equal)
    }

    /// The key at `position`.
    ///
    /// # Safety
    /// As for [`Node::search`]; `guard` is the pin.
    pub(super) unsafe fn key<'g>(
        &self,
        position: usize,
        version: u64,
        guard: &'g Guard,
    ) -> Result<K::Probe<'g>, Restart> {
        let slot = self.keys.get(position).ok_or(Restart)?;
        // SAFETY: passed on to the caller.
        unsafe { K::read(slot, self.snapshot(version), guard) }
    }

    /// The child at `position`.
    ///
    /// # Safety
    /// As for [`Node::search`], and this is an inner node; the result lives while the calling thread stays
    /// pinned.
    #[inline]
    pub(super) unsafe fn child<'g>(
        &self,
        position: usize,
        version: u64,
    ) -> Result<&'g Node<K, CAPACITY>, Restart> {
        let pointer = self.pointers.get(position).ok_or(Restart)?.load(Ordering::Relaxed);
        // Followed only after the check that it was linked while this thread was pinned.
        self.lock.check(version)?;
        // SAFETY: linked at that version, so initialised (its writer's unlock was a Release) and not yet
        // freed; children of inner nodes are nodes.
        NonNull::new(pointer.cast()).map(|child| unsafe { child.as_ref() }).ok_or(Restart)
    }

    /// The record at `position`.
    ///
    /// # Safety
    /// As for [`Node::search`], and this is a leaf; the result lives while the calling thread stays pinned.
    #[inline]
    pub(super) unsafe fn record<'g>(&self, position: usize, version: u64) -> Result<&'g Record, Restart> {
        let pointer = self.pointers.get(position).ok_or(Restart)?.load(Ordering::Relaxed);
        self.lock.check(version)?;
        // SAFETY: as for `child`; pointers of leaves are records.
        NonNull::new(pointer.cast()).map(|record| unsafe { record.as_ref() }).ok_or(Restart)
    }

    /// Where to cut a full leaf that is about to take a key at `position`: the first position that moves to
    /// the right.
    ///
    /// Ascending inserts, at the right edge of the tree or just after the previous insert into this leaf,
    /// leave everything to their left in place and so produce full leaves. Others cut in the middle.
    pub(super) fn cut_locked(&self, position: usize, is_right_edge: bool) -> usize {
        let continues_run = usize::from(self.run.load(Ordering::Relaxed)) == position && position > 0;
        if continues_run || (is_right_edge && position == CAPACITY) { position } else { CAPACITY / 2 }
    }

    /// Makes room at `position` and fills it. The node is not full.
    pub(super) fn insert_locked(&self, position: usize, key: K::Probe<'_>, pointer: *mut ()) {
        self.open_locked(position);
        K::store(&self.keys[position], key);
        self.pointers[position].store(pointer, Ordering::Relaxed);
        self.run.store(position as u16 + 1, Ordering::Relaxed);
    }

    /// Appends a pair to a leaf, as [`Node::insert_locked`] would at the last position.
    pub(super) fn append_locked(&self, key: K::Owned, pointer: *mut ()) {
        let count = self.count();
        assert!(count < CAPACITY, "there is room for one more");
        K::store_owned(&self.keys[count], key);
        self.pointers[count].store(pointer, Ordering::Relaxed);
        self.set_count(count + 1);
        self.run.store(count as u16 + 1, Ordering::Relaxed);
    }

    /// As [`Node::insert_locked`], taking ownership of the content of `separator`.
    pub(super) fn adopt_locked(&self, position: usize, separator: &K::Slot, child: *mut Node<K, CAPACITY>) {
        self.open_locked(position);
        K::relocate(separator, &self.keys[position]);
        self.pointers[position].store(child.cast(), Ordering::Relaxed);
    }

    fn open_locked(&self, position: usize) {
        let count = self.count();
        assert!(count < CAPACITY && position <= count, "there is room for one more");
        for to in (position + 1..=count).rev() {
            self.copy_pair_locked(to - 1, self, to);
        }
        self.set_count(count + 1);
    }

    fn copy_pair_locked(&self, from: usize, into: &Node<K, CAPACITY>, to: usize) {
        K::relocate(&self.keys[from], &into.keys[to]);
        into.pointers[to].store(self.pointers[from].load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Moves everything from `cut` on into `right`, which is new and empty.
    pub(super) fn move_tail_locked(&self, cut: usize, right: &Node<K, CAPACITY>) {
        let count = self.count();
        for from in cut..count {
            self.copy_pair_locked(from, right, from - cut);
        }
        right.set_count(count - cut);
        self.set_count(cut);
        self.run.store(0, Ordering::Relaxed);
    }

    /// The key slot at `position`, whatever it holds.
    pub(super) fn slot_locked(&self, position: usize) -> &K::Slot {
        &self.keys[position]
    }

    pub(super) fn pointer_locked(&self, position: usize) -> *mut () {
        self.pointers[position].load(Ordering::Relaxed)
    }

    /// Takes the pair at `position` out and gives its key to the epoch. In an inner node the range of the
    /// child goes to its left neighbour, or to the right one if it was the first.
    ///
    /// # Safety
    /// The node is locked by the caller.
    pub(super) unsafe fn remove_locked(&self, position: usize, guard: &Guard) {
        let count = self.count();
        // The first child of an inner node has no key of its own: its right neighbour's becomes the unused
        // key 0.
        let key = if self.is_leaf { position } else { position.max(1) };
        if key < count {
            // SAFETY: in use until now; overwritten or put out of use before the lock is released.
            unsafe { K::retire(&self.keys[key], guard) };
        }
        for to in position..count - 1 {
            self.copy_pair_locked(to + 1, self, to);
        }
        self.set_count(count - 1);
        self.run.store(0, Ordering::Relaxed);
    }

    /// Frees this node and everything below it.
    ///
    /// # Safety
    /// `node` came from `Box::into_raw`, and no other thread can reach it or anything below it.
    pub(super) unsafe fn free_tree(node: *mut Node<K, CAPACITY>) {
        // SAFETY: owned by the caller's promise; likewise all keys in use, records and children.
        unsafe {
            let node = Box::from_raw(node);
            let first_key = usize::from(!node.is_leaf);
            for position in 0..node.count() {
                if position >= first_key {
                    K::free(&node.keys[position]);
                }
                let pointer = node.pointer_locked(position);
                if node.is_leaf {
                    drop(OwnedRecord::from_raw(pointer.cast::<Record>()));
                } else {
                    Node::free_tree(pointer.cast::<Node<K, CAPACITY>>());
                }
            }
        }
    }

    /// Frees leaves below this node, from the right, as long as `leaves` lasts; true if the node itself was
    /// freed too. The rest is a tree whose inner nodes may have no child.
    ///
    /// # Safety
    /// As for [`Node::free_tree`]; after `true` the node must not be used any more.
    pub(super) unsafe fn free_from_right(node: *mut Node<K, CAPACITY>, leaves: &mut usize) -> bool {
        // SAFETY: owned by the caller's promise; freed children leave `count`, so none is met again.
        unsafe {
            if (*node).is_leaf {
                let is_freed = *leaves > 0;
                if is_freed {
                    *leaves -= 1;
                    Node::free_tree(node);
                }
                return is_freed;
            }
            while let Some(last) = (*node).count().checked_sub(1) {
                if !Node::free_from_right((*node).pointer_locked(last).cast::<Node<K, CAPACITY>>(), leaves) {
                    return false;
                }
                if last > 0 {
                    K::free(&(*node).keys[last]);
                }
                (*node).set_count(last);
            }
            Node::free_tree(node);
            true
        }
    }
}

/// Frees a node (not its content) when every thread pinned now has unpinned.
///
/// # Safety
/// The pointer came from `Box::into_raw` and has been unlinked by the caller.
pub(in crate::storage) unsafe fn retire<T: Send + 'static>(unlinked: *mut T, guard: &Guard) {
    let unlinked = Unlinked(unlinked);
    // SAFETY: unlinked, so only threads pinned now can still read it; the epoch waits for them.
    unsafe { guard.defer_unchecked(move || in_database(|| unlinked.free())) };
}

/// Lets the pointer move to the thread that runs the deferred free.
struct Unlinked<T>(*mut T);

// SAFETY: nodes own nothing that is tied to a thread.
unsafe impl<T: Send> Send for Unlinked<T> {}

impl<T> Unlinked<T> {
    fn free(self) {
        // SAFETY: made only by `retire`, whose deferral guarantees that no reader is left.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
