//! Key kinds of the ordered index: how a key is represented in a node's slot and compared there.
//!
//! Keys arrive as memcomparable byte strings (`value::key`). Those of a fixed width up to 8 or 16 bytes are
//! packed into `u64` or `u128`, loaded big-endian so that the order of the numbers is the order of the bytes;
//! a comparison is then one or two instructions and touches no other memory. All others live on the heap,
//! with their first eight bytes repeated in the slot, so that most comparisons are decided without following
//! the pointer ("poor man's normalized keys", Graefe, "Modern B-Tree Techniques", 2011, section 2.4).
//!
//! Slots are read while a writer may be changing them. A torn number is harmless: the caller checks the
//! node's version before it trusts anything. A pointer is different: following a stale one would touch freed
//! memory, so [`IndexKey::read`] checks the version between loading and following it.
#![allow(unsafe_code)] // Follows pointers to heap keys that are reclaimed through the epoch.

use std::cmp::Ordering as Order;
use std::mem::ManuallyDrop;
use std::ops::{Bound, Deref};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crossbeam_epoch::Guard;

use super::version_lock::{Restart, VersionLock};
use crate::storage::heap_bytes::HeapBytes;

/// A node's lock and the version a reader has noted.
#[derive(Clone, Copy)]
pub(in crate::storage) struct Snapshot<'g> {
    pub(super) lock: &'g VersionLock,
    pub(super) version: u64,
}

impl Snapshot<'_> {
    #[inline]
    pub(super) fn check(&self) -> Result<(), Restart> {
        self.lock.check(self.version)
    }
}

/// See the module head.
pub(in crate::storage) trait IndexKey: Copy + 'static {
    /// A key to compare with: a number, or bytes that live as long as the guard or the caller's buffer.
    type Probe<'a>: Copy;
    /// Whether a comparison looks at nothing but the slot.
    const IS_PACKED: bool;
    /// A key's place in a node.
    type Slot: Default + Send + Sync;
    /// A key that is on its way into a node, in the order of the keys.
    type Owned: Ord + Send + Sync;

    /// Makes a key from its bytes, which for packed keys are `width` many.
    fn probe(bytes: &[u8]) -> Self::Probe<'_>;

    /// The lower bound of a scan, for bytes of any length.
    fn lower(bound: Bound<&[u8]>, width: usize) -> Bound<Self::Probe<'_>>;

    /// The upper bound of a scan, for bytes of any length.
    fn upper(bound: Bound<&[u8]>, width: usize) -> Bound<Self::Probe<'_>>;

    /// The key's bytes.
    fn bytes<'a>(probe: Self::Probe<'a>, width: usize) -> KeyBytes<'a>;

    /// Appends the key's bytes.
    fn append(probe: Self::Probe<'_>, width: usize, into: &mut Vec<u8>);

    /// How the key in the slot compares to `probe`.
    ///
    /// # Safety
    /// The slot belongs to the node of `snapshot`, which was reached while the calling thread has been
    /// pinned.
    unsafe fn compare(
        slot: &Self::Slot,
        probe: Self::Probe<'_>,
        snapshot: Snapshot<'_>,
    ) -> Result<Order, Restart>;

    /// The key in the slot.
    ///
    /// # Safety
    /// As for [`IndexKey::compare`]; `guard` pins the thread.
    unsafe fn read<'g>(
        slot: &Self::Slot,
        snapshot: Snapshot<'_>,
        guard: &'g Guard,
    ) -> Result<Self::Probe<'g>, Restart>;

    /// Fills a slot with a copy of the key. The slot's node is locked or private, and its old content has
    /// been moved away.
    fn store(slot: &Self::Slot, probe: Self::Probe<'_>);

    /// A copy of the key.
    fn own(probe: Self::Probe<'_>) -> Self::Owned;

    fn borrow(key: &Self::Owned) -> Self::Probe<'_>;

    /// Fills a slot as [`IndexKey::store`], with the key itself.
    fn store_owned(slot: &Self::Slot, key: Self::Owned);

    /// Copies the words of a slot; the content then belongs to `to`.
    fn relocate(from: &Self::Slot, to: &Self::Slot);

    /// Fills `slot` with a key that is above `left` and not above `right`.
    ///
    /// # Safety
    /// `left` and `right` hold keys, with `left` below `right`, in nodes the caller has locked.
    unsafe fn store_separator(slot: &Self::Slot, left: &Self::Slot, right: &Self::Slot);

    /// Gives the content to the epoch.
    ///
    /// # Safety
    /// The slot holds a key and is not reachable any more, or is overwritten before its node is unlocked.
    unsafe fn retire(slot: &Self::Slot, guard: &Guard);

    /// Frees the content at once.
    ///
    /// # Safety
    /// As for [`IndexKey::retire`], and no reader is left.
    unsafe fn free(slot: &Self::Slot);
}

/// The bytes of a key that an index holds; dereference it. They stay readable as long as the guard under
/// which they were found.
#[derive(Clone, Copy, Debug)]
pub struct KeyBytes<'g>(Bytes<'g>);

#[derive(Clone, Copy, Debug)]
enum Bytes<'g> {
    /// Of a packed key, and how many of the bytes count.
    Packed([u8; 16], usize),
    Whole(&'g [u8]),
}

impl Deref for KeyBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Packed(bytes, width) => &bytes[..*width],
            Bytes::Whole(bytes) => bytes,
        }
    }
}

/// The first `SIZE` bytes, padded with zeroes: as a big-endian number they compare as the bytes do, except
/// that equal numbers need a further comparison.
pub(in crate::storage) fn padded<const SIZE: usize>(bytes: &[u8]) -> [u8; SIZE] {
    let mut padded = [0; SIZE];
    let length = bytes.len().min(SIZE);
    padded[..length].copy_from_slice(&bytes[..length]);
    padded
}

/// A byte string of any length as a bound on strings of exactly `width` bytes: its prefix, and how its length
/// compares.
fn fit(bytes: &[u8], width: usize) -> (&[u8], Order) {
    (&bytes[..bytes.len().min(width)], bytes.len().cmp(&width))
}

/// Up to eight bytes as a number. Keys of integers have four bytes for each, for which there is a path that
/// is quicker than copying any number of bytes.
#[inline]
fn narrow(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])) << 32,
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => u64::from_be_bytes(padded(bytes)),
    }
}

/// The same for up to sixteen bytes.
#[inline]
fn wide(bytes: &[u8]) -> u128 {
    match bytes.split_first_chunk() {
        Some((first, rest)) => u128::from(u64::from_be_bytes(*first)) << 64 | u128::from(narrow(rest)),
        None => u128::from(narrow(bytes)) << 64,
    }
}

macro_rules! packed_key {
    ($number:ty, $slot:ty, $pack:expr, $load:expr, $store:expr) => {
        impl IndexKey for $number {
            const IS_PACKED: bool = true;
            type Probe<'a> = $number;
            type Slot = $slot;
            type Owned = $number;

            #[inline]
            fn probe(bytes: &[u8]) -> $number {
                $pack(bytes)
            }

            fn lower(bound: Bound<&[u8]>, width: usize) -> Bound<$number> {
                let (Bound::Included(bytes) | Bound::Excluded(bytes)) = bound else {
                    return Bound::Unbounded;
                };
                let (cut, length) = fit(bytes, width);
                let number = $pack(cut);
                match (length, bound) {
                    // A shorter string sorts just before all strings that begin with it, a longer one just
                    // after its prefix.
                    (Order::Less, _) | (Order::Equal, Bound::Included(_)) => Bound::Included(number),
                    _ => Bound::Excluded(number),
                }
            }

            fn upper(bound: Bound<&[u8]>, width: usize) -> Bound<$number> {
                let (Bound::Included(bytes) | Bound::Excluded(bytes)) = bound else {
                    return Bound::Unbounded;
                };
                let (cut, length) = fit(bytes, width);
                let number = $pack(cut);
                match (length, bound) {
                    (Order::Greater, _) | (Order::Equal, Bound::Included(_)) => Bound::Included(number),
                    _ => Bound::Excluded(number),
                }
            }

            fn bytes<'a>(probe: Self::Probe<'a>, width: usize) -> KeyBytes<'a> {
                KeyBytes(Bytes::Packed(padded(&probe.to_be_bytes()), width))
            }

            fn append(probe: $number, width: usize, into: &mut Vec<u8>) {
                into.extend_from_slice(&probe.to_be_bytes()[..width]);
            }

            #[inline]
            unsafe fn compare(slot: &$slot, probe: $number, _: Snapshot<'_>) -> Result<Order, Restart> {
                Ok($load(slot).cmp(&probe))
            }

            #[inline]
            unsafe fn read(slot: &$slot, _: Snapshot<'_>, _: &Guard) -> Result<$number, Restart> {
                Ok($load(slot))
            }

            #[inline]
            fn store(slot: &$slot, probe: $number) {
                $store(slot, probe);
            }

            #[inline]
            fn own(probe: $number) -> $number {
                probe
            }

            #[inline]
            fn borrow(key: &$number) -> $number {
                *key
            }

            #[inline]
            fn store_owned(slot: &$slot, key: $number) {
                $store(slot, key);
            }

            #[inline]
            fn relocate(from: &$slot, to: &$slot) {
                $store(to, $load(from));
            }

            unsafe fn store_separator(slot: &$slot, _left: &$slot, right: &$slot) {
                $store(slot, $load(right));
            }

            unsafe fn retire(_: &$slot, _: &Guard) {}

            unsafe fn free(_: &$slot) {}
        }
    };
}

packed_key!(
    u64,
    AtomicU64,
    narrow,
    |slot: &AtomicU64| slot.load(Ordering::Relaxed),
    |slot: &AtomicU64, key: u64| { slot.store(key, Ordering::Relaxed) }
);

packed_key!(
    u128,
    [AtomicU64; 2],
    wide,
    |slot: &[AtomicU64; 2]| {
        u128::from(slot[0].load(Ordering::Relaxed)) << 64 | u128::from(slot[1].load(Ordering::Relaxed))
    },
    |slot: &[AtomicU64; 2], key: u128| {
        slot[0].store((key >> 64) as u64, Ordering::Relaxed);
        slot[1].store(key as u64, Ordering::Relaxed);
    }
);

/// Marks an index whose keys are byte strings of any length.
#[derive(Clone, Copy)]
pub(in crate::storage) struct ByteString;

/// A byte string and its first eight bytes.
#[derive(Clone, Copy)]
pub(in crate::storage) struct ByteProbe<'a> {
    head: u64,
    bytes: &'a [u8],
}

impl<'a> ByteProbe<'a> {
    fn new(bytes: &'a [u8]) -> ByteProbe<'a> {
        ByteProbe { head: u64::from_be_bytes(padded(bytes)), bytes }
    }
}

/// The first eight bytes and a pointer to all of them.
#[derive(Default)]
pub(in crate::storage) struct ByteSlot {
    head: AtomicU64,
    bytes: AtomicPtr<u32>,
}

/// A byte string on the heap that no node holds yet.
pub(in crate::storage) struct OwnedBytes {
    head: u64,
    bytes: HeapBytes,
}

// SAFETY: owned by this value alone; bytes that do not change may be read and freed on any thread.
unsafe impl Send for OwnedBytes {}
// SAFETY: as above.
unsafe impl Sync for OwnedBytes {}

impl OwnedBytes {
    fn bytes(&self) -> &[u8] {
        // SAFETY: owned, and freed only by `drop`.
        unsafe { self.bytes.bytes() }
    }
}

impl Drop for OwnedBytes {
    fn drop(&mut self) {
        // SAFETY: owned; a string that goes into a slot is not dropped.
        unsafe { self.bytes.free() };
    }
}

impl PartialEq for OwnedBytes {
    fn eq(&self, other: &OwnedBytes) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for OwnedBytes {}

impl PartialOrd for OwnedBytes {
    fn partial_cmp(&self, other: &OwnedBytes) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for OwnedBytes {
    fn cmp(&self, other: &OwnedBytes) -> Order {
        self.head.cmp(&other.head).then_with(|| self.bytes().cmp(other.bytes()))
    }
}

impl ByteSlot {
    fn handle(&self) -> Option<HeapBytes> {
        // SAFETY: slots store only null and pointers of `HeapBytes`.
        unsafe { HeapBytes::from_pointer(self.bytes.load(Ordering::Relaxed)) }
    }

    /// # Safety
    /// As for [`IndexKey::compare`]: the result lives while the calling thread stays pinned.
    unsafe fn follow<'g>(&self, snapshot: Snapshot<'_>) -> Result<&'g [u8], Restart> {
        let handle = self.handle();
        // Only a pointer that was in the node at the noted version may be followed: it was linked while this
        // thread was pinned, so its target cannot have been freed.
        snapshot.check()?;
        // A slot in use holds a pointer; null is seen only by a read beyond the positions that were checked.
        let handle = handle.ok_or(Restart)?;
        // SAFETY: as argued above.
        Ok(unsafe { handle.bytes() })
    }
}

impl IndexKey for ByteString {
    const IS_PACKED: bool = false;
    type Probe<'a> = ByteProbe<'a>;
    type Slot = ByteSlot;
    type Owned = OwnedBytes;

    fn probe(bytes: &[u8]) -> ByteProbe<'_> {
        ByteProbe::new(bytes)
    }

    fn lower(bound: Bound<&[u8]>, _width: usize) -> Bound<ByteProbe<'_>> {
        bound.map(ByteProbe::new)
    }

    fn upper(bound: Bound<&[u8]>, _width: usize) -> Bound<ByteProbe<'_>> {
        bound.map(ByteProbe::new)
    }

    fn bytes<'a>(probe: Self::Probe<'a>, _width: usize) -> KeyBytes<'a> {
        KeyBytes(Bytes::Whole(probe.bytes))
    }

    fn append(probe: ByteProbe<'_>, _width: usize, into: &mut Vec<u8>) {
        into.extend_from_slice(probe.bytes);
    }

    #[inline]
    unsafe fn compare(
        slot: &ByteSlot,
        probe: ByteProbe<'_>,
        snapshot: Snapshot<'_>,
    ) -> Result<Order, Restart> {
        match slot.head.load(Ordering::Relaxed).cmp(&probe.head) {
            // SAFETY: passed on to the caller.
            Order::Equal => Ok(unsafe { slot.follow(snapshot) }?.cmp(probe.bytes)),
            decided => Ok(decided),
        }
    }

    unsafe fn read<'g>(
        slot: &ByteSlot,
        snapshot: Snapshot<'_>,
        _guard: &'g Guard,
    ) -> Result<ByteProbe<'g>, Restart> {
        // SAFETY: passed on to the caller; `_guard` is the pin.
        Ok(ByteProbe::new(unsafe { slot.follow(snapshot) }?))
    }

    fn store(slot: &ByteSlot, probe: ByteProbe<'_>) {
        slot.head.store(probe.head, Ordering::Relaxed);
        slot.bytes.store(HeapBytes::new(probe.bytes).as_pointer(), Ordering::Relaxed);
    }

    fn own(probe: ByteProbe<'_>) -> OwnedBytes {
        OwnedBytes { head: probe.head, bytes: HeapBytes::new(probe.bytes) }
    }

    fn borrow(key: &OwnedBytes) -> ByteProbe<'_> {
        ByteProbe { head: key.head, bytes: key.bytes() }
    }

    fn store_owned(slot: &ByteSlot, key: OwnedBytes) {
        let key = ManuallyDrop::new(key);
        slot.head.store(key.head, Ordering::Relaxed);
        slot.bytes.store(key.bytes.as_pointer(), Ordering::Relaxed);
    }

    fn relocate(from: &ByteSlot, to: &ByteSlot) {
        to.head.store(from.head.load(Ordering::Relaxed), Ordering::Relaxed);
        to.bytes.store(from.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The shortest such key, which keeps inner nodes small (suffix truncation).
    unsafe fn store_separator(slot: &ByteSlot, left: &ByteSlot, right: &ByteSlot) {
        let (Some(left), Some(right)) = (left.handle(), right.handle()) else {
            unreachable!("slots in use hold keys");
        };
        // SAFETY: both nodes are locked by the caller, so their keys cannot be retired now.
        let (left, right) = unsafe { (left.bytes(), right.bytes()) };
        let common = left.iter().zip(right).take_while(|(a, b)| a == b).count();
        ByteString::store(slot, ByteProbe::new(&right[..right.len().min(common + 1)]));
    }

    unsafe fn retire(slot: &ByteSlot, guard: &Guard) {
        if let Some(bytes) = slot.handle() {
            // SAFETY: passed on to the caller.
            unsafe { bytes.retire(guard) };
        }
    }

    unsafe fn free(slot: &ByteSlot) {
        if let Some(bytes) = slot.handle() {
            slot.bytes.store(null_mut(), Ordering::Relaxed);
            // SAFETY: passed on to the caller.
            unsafe { bytes.free() };
        }
    }
}
