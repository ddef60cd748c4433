//! A key kind for tests that gives up its core now and then in the middle of every operation.
//!
//! Races between a few loads are too narrow to be hit by chance, above all on a machine with few cores.
//! Comparing, copying and storing keys happens inside all of them, so a key that yields there holds every
//! window open, including those under locks.
#![allow(unsafe_code)] // Implements an unsafe interface, by delegating to `u64`.

use std::cell::Cell;
use std::cmp::Ordering as Order;
use std::ops::Bound;
use std::sync::atomic::AtomicU64;

use crossbeam_epoch::Guard;

use super::key::{IndexKey, KeyBytes, Snapshot};
use super::version_lock::Restart;

/// Stored as `u64`.
#[derive(Clone, Copy)]
pub(super) struct Hesitant;

/// Yields once in a while, at intervals with a long period.
fn hesitate() {
    thread_local! {
        static CALLS: Cell<u32> = const { Cell::new(0) };
    }
    let calls = CALLS.get().wrapping_add(1);
    CALLS.set(calls);
    if calls.wrapping_mul(0x9E37_79B9) >> 27 == 0 {
        crate::sync::yield_now();
    }
}

impl IndexKey for Hesitant {
    const IS_PACKED: bool = false;
    type Probe<'a> = u64;
    type Slot = AtomicU64;
    type Owned = u64;

    fn probe(bytes: &[u8]) -> u64 {
        u64::probe(bytes)
    }

    fn lower(bound: Bound<&[u8]>, width: usize) -> Bound<u64> {
        u64::lower(bound, width)
    }

    fn upper(bound: Bound<&[u8]>, width: usize) -> Bound<u64> {
        u64::upper(bound, width)
    }

    fn bytes<'a>(probe: Self::Probe<'a>, width: usize) -> KeyBytes<'a> {
        u64::bytes(probe, width)
    }

    fn append(probe: u64, width: usize, into: &mut Vec<u8>) {
        u64::append(probe, width, into);
    }

    unsafe fn compare(slot: &AtomicU64, probe: u64, snapshot: Snapshot<'_>) -> Result<Order, Restart> {
        hesitate();
        // SAFETY: passed on to the caller.
        unsafe { u64::compare(slot, probe, snapshot) }
    }

    unsafe fn read(slot: &AtomicU64, snapshot: Snapshot<'_>, guard: &Guard) -> Result<u64, Restart> {
        hesitate();
        // SAFETY: passed on to the caller.
        unsafe { u64::read(slot, snapshot, guard) }
    }

    fn store(slot: &AtomicU64, probe: u64) {
        hesitate();
        u64::store(slot, probe);
    }

    fn own(probe: u64) -> u64 {
        probe
    }

    fn borrow(key: &u64) -> u64 {
        *key
    }

    fn store_owned(slot: &AtomicU64, key: u64) {
        u64::store(slot, key);
    }

    fn relocate(from: &AtomicU64, to: &AtomicU64) {
        u64::relocate(from, to);
        hesitate();
    }

    unsafe fn store_separator(slot: &AtomicU64, left: &AtomicU64, right: &AtomicU64) {
        // SAFETY: passed on to the caller.
        unsafe { u64::store_separator(slot, left, right) }
    }

    unsafe fn retire(_: &AtomicU64, _: &Guard) {
        hesitate();
    }

    unsafe fn free(_: &AtomicU64) {}
}
