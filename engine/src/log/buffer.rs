//! One log's buffer in memory: reserve by one atomic add, fill, publish (paper, section 3.2, algorithms 1 and
//! 2).
//!
//! ```text
//!        released                ready            reserved          released + capacity
//!            |--- filled: logger ---|--- being filled ---|--- free ---|        (all modulo the ring's size)
//! ```
//!
//! A worker claims a *slot*, checks that there is room, takes its place with one `fetch_add` on `reserved`,
//! copies its record there, and gives the slot back. The slot holds a lower bound of the place being filled,
//! or [`IDLE`]: the paper's pair allocatedLSN/filledLSN folded into one word, so that the logger reads both
//! "together atomically". The logger may take everything below the smallest slot
//! ([`LogBufferReader::ready`]).
//!
//! No worker ever blocks while it holds a reservation. Room is checked *before* reserving, so several workers
//! may pass the check at once. [`LogBuffer::slack_bytes`] keeps room for all of them: one small record for
//! each slot, and one large one, because large records check and reserve under a mutex. A worker that finds
//! no room gets a [`Ticket`].
//!
//! Two bounds limit reservations: the ring, and the *ceiling*, the position up to which disk space is
//! prepared. Padding lowers the ceiling while the log is written. [`SPARE_SECTORS`] absorbs that.
//!
//! Invariants:
//! 1. `released <= ready <= reserved <= released + capacity`. The last one is asserted before a byte is
//!    written.
//! 2. A reservation that the logger counts in `reserved` shows in a slot until it is filled: the slot is
//!    written before the `fetch_add` (AcqRel) that the logger's load (Acquire) reads.
//! 3. Every reservation is filled: a guard that is dropped unpublished writes a filler (pitfall 6).
#![allow(unsafe_code)] // The ring is written by many threads at disjoint places; see `memory` and the assertions here.

mod memory;

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod loom_tests;

use std::sync::Arc;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use memory::RingMemory;

use super::record::{MAX_RECORD_BYTES, filler_header};
use crate::disk::SECTOR_BYTES;
use crate::lsn::Lsn;
use crate::sync::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Bell, Mutex, Ordering, fence};
use crate::ticket::{Signal, Ticket, ticket};

/// A slot in which nothing is being filled.
const IDLE: u64 = u64::MAX;
/// Reservations that can be in progress at once. This bounds threads inside [`LogBuffer::reserve`], not
/// sessions.
const SLOTS: usize = 64;
/// The smallest ring.
pub const MIN_BUFFER_BYTES: usize = 64 << 10;
/// Records up to this length need no mutex.
const MAX_SMALL_BYTES: usize = 4096;
/// Longer transactions are fragmented.
const MAX_LARGE_BYTES: usize = 1 << 20;
/// Records of transactions leave this room in the ring for control records.
const CONTROL_BYTES: usize = 4096;
/// Blocks with nothing but a control record that fit on the disk when it is full: what has been appended may
/// need one of them to become durable (Silo-R: a milestone).
const CONTROL_BLOCKS: usize = 8;
/// Blocks in which a whole ring is flushed if nothing is being filled, one for each `MAX_BLOCK_BYTES`, or
/// crossed segment.
const RING_BLOCKS: usize = 64;
/// Prepared sectors that reservations never count on. Once the ceiling refuses, the rest is flushed in at
/// most one block for each slot that was still being filled, those of the ring, and those of control records.
/// Each of them wastes less than a sector.
pub const SPARE_SECTORS: usize = SLOTS + RING_BLOCKS + CONTROL_BLOCKS;

/// Why nothing was reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The ring is full until the logger has written some of it.
    RingFull,
    /// The prepared disk space is used up.
    NoDiskSpace,
    /// All slots are in use. A slot is held while a record is filled, and while it is decided whether to fill
    /// one.
    Busy,
}

/// The sizes that follow from that of the ring.
#[derive(Clone, Copy, Debug)]
struct Shape {
    capacity: usize,
    slots: usize,
    small_bytes: usize,
    large_bytes: usize,
    control_bytes: usize,
}

/// One log in memory: many workers reserve and fill places in a ring, one logger takes out the filled part up
/// to the first gap.
pub struct LogBuffer {
    memory: RingMemory,
    shape: Shape,
    /// The paper's logLSN.
    reserved: CachePadded<AtomicU64>,
    slots: Box<[CachePadded<AtomicU64>]>,
    /// Slots from here on have never been used.
    used_slots: CachePadded<AtomicUsize>,
    limits: CachePadded<Limits>,
    large: Mutex<()>,
    waiters: Mutex<Vec<Signal>>,
    bell: Arc<CachePadded<Bell>>,
}

/// Written by the logger once for each block, read by every reservation.
struct Limits {
    released: AtomicU64,
    ceiling: AtomicI64,
    has_waiters: AtomicBool,
    closed: AtomicBool,
}

impl LogBuffer {
    /// A ring of `capacity_bytes`, rounded up to a power of two, and its only reader.
    pub fn new(capacity_bytes: usize) -> (Arc<LogBuffer>, LogBufferReader) {
        let capacity = capacity_bytes.max(MIN_BUFFER_BYTES).next_power_of_two();
        let large_bytes = MAX_LARGE_BYTES.min(capacity / 8);
        let small_bytes = MAX_SMALL_BYTES.min(capacity / 8 / SLOTS);
        let control_bytes = CONTROL_BYTES;
        LogBuffer::with_shape(Shape { capacity, slots: SLOTS, small_bytes, large_bytes, control_bytes })
    }

    fn with_shape(shape: Shape) -> (Arc<LogBuffer>, LogBufferReader) {
        assert!(shape.capacity.is_power_of_two() && shape.large_bytes <= MAX_RECORD_BYTES);
        let buffer = Arc::new(LogBuffer {
            memory: RingMemory::new(shape.capacity),
            shape,
            reserved: CachePadded::new(AtomicU64::new(0)),
            slots: (0..shape.slots).map(|_| CachePadded::new(AtomicU64::new(IDLE))).collect(),
            used_slots: CachePadded::new(AtomicUsize::new(0)),
            limits: CachePadded::new(Limits {
                released: AtomicU64::new(0),
                ceiling: AtomicI64::new(-((SPARE_SECTORS * SECTOR_BYTES) as i64)),
                has_waiters: AtomicBool::new(false),
                closed: AtomicBool::new(false),
            }),
            large: Mutex::new(()),
            waiters: Mutex::new(Vec::new()),
            bell: Arc::default(),
        });
        let reader = LogBufferReader { buffer: Arc::clone(&buffer), position: 0, ready: 0 };
        (buffer, reader)
    }

    /// The longest record that can be appended, a multiple of 8.
    pub fn max_record_bytes(&self) -> usize {
        self.shape.large_bytes
    }

    /// Room kept free for reservations that passed the check together, and for control records.
    pub fn slack_bytes(&self) -> usize {
        self.together_bytes() + self.shape.control_bytes
    }

    fn together_bytes(&self) -> usize {
        self.shape.slots * self.shape.small_bytes + self.shape.large_bytes
    }

    pub fn capacity_bytes(&self) -> usize {
        self.shape.capacity
    }

    /// The end of all reservations so far. Whatever a transaction can see was reserved below this (pitfall
    /// 2).
    #[inline]
    pub fn reserved(&self) -> Lsn {
        Lsn(self.reserved.load(Ordering::Acquire))
    }

    /// Takes a place of `length` bytes, a multiple of 8 and at most [`LogBuffer::max_record_bytes`]. `hint`
    /// chooses the slot: threads with different hints do not contend.
    #[inline]
    pub fn reserve(&self, hint: usize, length: usize) -> Result<Reservation<'_>, Refusal> {
        assert!(
            length.is_multiple_of(Lsn::ALIGNMENT as usize) && (8..=self.shape.large_bytes).contains(&length)
        );
        let slot = self.claim_slot(hint)?;
        let one_at_a_time = (length > self.shape.small_bytes).then(|| self.large.lock());
        if let Err(refusal) = self.check_room(length) {
            return Err(self.refuse(slot, refusal));
        }
        let reservation = self.take_place(slot, length);
        drop(one_at_a_time);
        Ok(reservation)
    }

    /// The same for a control record of less than a sector, which may take the room that others leave. Only
    /// the logger calls this.
    pub fn reserve_control(&self, length: usize) -> Result<Reservation<'_>, Refusal> {
        let slot = self.claim_slot(0)?;
        let start = self.reserved.load(Ordering::Relaxed);
        let (released, capacity) = (self.limits.released.load(Ordering::Acquire), self.shape.capacity as u64);
        let wanted = start + (length + self.together_bytes()) as u64;
        // What is not flushed yet wastes so many sectors at most.
        let filling = self.slots.iter().filter(|slot| slot.load(Ordering::Relaxed) != IDLE).count() as u64;
        let blocks = filling + (start - released) * RING_BLOCKS as u64 / capacity + 2;
        let spare = (SPARE_SECTORS as u64 - blocks.min(SPARE_SECTORS as u64)) * SECTOR_BYTES as u64;
        if wanted > released + capacity {
            return Err(self.refuse(slot, Refusal::RingFull));
        }
        if wanted as i64 > self.limits.ceiling.load(Ordering::Relaxed) + spare as i64 {
            return Err(self.refuse(slot, Refusal::NoDiskSpace));
        }
        Ok(self.take_place(slot, length))
    }

    fn refuse(&self, slot: usize, refusal: Refusal) -> Refusal {
        self.give_back(slot);
        self.bell.ring();
        refusal
    }

    #[inline]
    fn take_place(&self, slot: usize, length: usize) -> Reservation<'_> {
        let start = self.reserved.fetch_add(length as u64, Ordering::AcqRel);
        // Invariant 1. The Acquire load also orders our writes after the logger's reads of the same bytes.
        let released = self.limits.released.load(Ordering::Acquire);
        assert!(start + length as u64 <= released + self.shape.capacity as u64, "the log buffer overflows");
        Reservation { buffer: self, slot, start, length, written: 0 }
    }

    /// Marks a slot with a lower bound of the place that is about to be reserved.
    #[inline]
    fn claim_slot(&self, hint: usize) -> Result<usize, Refusal> {
        let slots = self.slots.len();
        for step in 0..slots {
            let slot = (hint + step) % slots;
            if slot >= self.used_slots.load(Ordering::Relaxed) {
                self.used_slots.fetch_max(slot + 1, Ordering::Relaxed);
            }
            let bound = self.reserved.load(Ordering::Relaxed);
            // A logger that reads this mark instead of the IDLE before it still sees what the last user of
            // the slot filled.
            if self.slots[slot].compare_exchange(IDLE, bound, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Ok(slot);
            }
        }
        Err(Refusal::Busy)
    }

    #[inline]
    fn give_back(&self, slot: usize) {
        self.slots[slot].store(IDLE, Ordering::Release);
    }

    /// Up to where the stream is filled.
    #[inline]
    fn filled(&self) -> u64 {
        let mut filled = self.reserved.load(Ordering::Acquire);
        let used = self.used_slots.load(Ordering::Relaxed);
        for slot in &self.slots[..used] {
            filled = filled.min(slot.load(Ordering::Acquire));
        }
        filled
    }

    /// Whether there is something that its reader has not taken.
    pub(super) fn has_filled(&self) -> bool {
        self.filled() > self.limits.released.load(Ordering::Acquire)
    }

    #[inline]
    fn check_room(&self, length: usize) -> Result<(), Refusal> {
        let wanted = self.reserved.load(Ordering::Relaxed) + (length + self.slack_bytes()) as u64;
        if wanted > self.limits.released.load(Ordering::Acquire) + self.shape.capacity as u64 {
            Err(Refusal::RingFull)
        } else if wanted as i64 > self.limits.ceiling.load(Ordering::Relaxed) {
            Err(Refusal::NoDiskSpace)
        } else {
            Ok(())
        }
    }

    /// A ticket that fires when another attempt is worthwhile: there is room for `length` bytes, the buffer
    /// is closed, or `is_decided` holds (asked once the ticket is registered).
    pub fn wait_for_room(&self, length: usize, is_decided: impl Fn() -> bool) -> Ticket {
        let (ticket, signal) = ticket();
        self.waiters.lock().push(signal);
        self.limits.has_waiters.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.check_room(length).is_ok() || self.is_closed() || is_decided() {
            self.wake_waiters();
        }
        self.bell.ring_urgently();
        ticket
    }

    /// A ticket that fires when a slot is free, or has been. A slot is given back before the logger can take
    /// what was filled under it, and that fires all tickets. Retrying at once would take the processors from
    /// the threads that hold the slots.
    pub fn wait_for_slot(&self) -> Ticket {
        let (ticket, signal) = ticket();
        self.waiters.lock().push(signal);
        self.limits.has_waiters.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.slots.iter().any(|slot| slot.load(Ordering::Acquire) == IDLE) || self.is_closed() {
            self.wake_waiters();
        }
        self.bell.ring_urgently();
        ticket
    }

    /// Fires all tickets: their owners try again.
    pub fn wake_waiters(&self) {
        let signals = {
            let mut waiters = self.waiters.lock();
            self.limits.has_waiters.store(false, Ordering::Relaxed);
            std::mem::take(&mut *waiters)
        };
        drop(signals);
    }

    fn has_waiters(&self) -> bool {
        self.limits.has_waiters.load(Ordering::Relaxed)
    }

    #[inline]
    fn wake_waiters_if_any(&self) {
        fence(Ordering::SeqCst);
        if self.has_waiters() {
            self.wake_waiters();
        }
    }

    /// The disk has room for this many more bytes (negative: fewer, because of padding).
    pub fn move_ceiling(&self, bytes: i64) {
        self.limits.ceiling.fetch_add(bytes, Ordering::Relaxed);
        if bytes > 0 {
            self.wake_waiters_if_any();
        }
    }

    /// The logger has stopped reading the buffer, so no caller needs to wait for it.
    pub fn close(&self) {
        self.limits.closed.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        self.wake_waiters();
    }

    pub fn is_closed(&self) -> bool {
        self.limits.closed.load(Ordering::Acquire)
    }

    /// Wakes a sleeping logger for something other than a new record.
    pub fn ring(&self) {
        self.bell.ring();
    }

    /// What wakes the logger.
    pub(super) fn bell(&self) -> &Arc<CachePadded<Bell>> {
        &self.bell
    }
}

/// A place in the log that must be filled.
#[must_use]
pub struct Reservation<'a> {
    buffer: &'a LogBuffer,
    slot: usize,
    start: u64,
    length: usize,
    written: usize,
}

impl Reservation<'_> {
    pub fn start(&self) -> Lsn {
        Lsn(self.start)
    }

    /// The LSN of the record that fills the place.
    pub fn end(&self) -> Lsn {
        Lsn(self.start + self.length as u64)
    }

    /// Appends bytes to those written so far.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        assert!(self.written + bytes.len() <= self.length, "more bytes than were reserved");
        let position = self.start + self.written as u64;
        // SAFETY: [start, start + length) was reserved by this guard alone (`fetch_add` hands out disjoint
        // places) and does not overlap unreleased bytes (asserted in `reserve`); the logger reads it only
        // after `give_back`.
        unsafe { self.buffer.memory.write(position, bytes) };
        self.written += bytes.len();
    }

    /// Writes over bytes that were written, or will be.
    #[inline]
    pub fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.length, "more bytes than were reserved");
        // SAFETY: as in `write`.
        unsafe { self.buffer.memory.write(self.start + offset as u64, bytes) };
    }

    /// How many bytes have been appended.
    pub fn written(&self) -> usize {
        self.written
    }

    /// Makes the record visible to the logger, and wakes it. Unwritten bytes at its end (padding) become
    /// zeroes.
    #[inline]
    pub fn publish(self) -> Lsn {
        let buffer = self.buffer;
        let end = self.fill_up();
        buffer.bell.ring();
        end
    }

    /// As [`Reservation::publish`], but wakes no logger, unless another record comes after this one, whose
    /// bell may have rung in vain: the caller sees to it that this one is written.
    #[inline]
    pub fn publish_quietly(self) -> Lsn {
        let buffer = self.buffer;
        let end = self.fill_up();
        fence(Ordering::SeqCst);
        if buffer.reserved.load(Ordering::Relaxed) != end.0 {
            buffer.bell.ring();
        }
        end
    }

    #[inline]
    fn fill_up(mut self) -> Lsn {
        while self.written < self.length {
            const ZEROES: [u8; 8] = [0; 8];
            let missing = self.length - self.written;
            self.write(&ZEROES[..missing.min(ZEROES.len())]);
        }
        let end = self.end();
        self.buffer.give_back(self.slot);
        std::mem::forget(self);
        end
    }
}

impl Drop for Reservation<'_> {
    /// Pitfall 6: whatever was written becomes a filler.
    fn drop(&mut self) {
        self.written = 0;
        self.write(&filler_header(self.length as u32));
        self.buffer.give_back(self.slot);
        self.buffer.bell.ring();
    }
}

/// The logger's side. There is exactly one for each buffer.
pub struct LogBufferReader {
    buffer: Arc<LogBuffer>,
    position: u64,
    ready: u64,
}

impl LogBufferReader {
    /// Up to where the stream is filled and can be taken (algorithm 2's readyLSN).
    pub fn ready(&mut self) -> Lsn {
        let ready = self.buffer.filled();
        // A slot may hold a bound from before our position, if its owner has not reserved yet.
        self.ready = self.ready.max(ready);
        Lsn(self.ready)
    }

    /// Up to where the stream has been taken.
    pub fn position(&self) -> Lsn {
        Lsn(self.position)
    }

    /// Takes the next `into.len()` bytes, which must be ready, and gives their room back.
    pub fn take(&mut self, into: &mut [u8]) {
        let end = self.position + into.len() as u64;
        assert!(end <= self.ready, "only ready bytes can be taken");
        // SAFETY: everything below `ready` was filled before its slot was given back (invariant 2), and the
        // room is not reserved again before `released` allows it.
        unsafe { self.buffer.memory.read(self.position, into) };
        self.position = end;
        self.buffer.limits.released.store(end, Ordering::Release);
        self.buffer.wake_waiters_if_any();
    }

    /// Sleeps for `limit`, unless or until something is urgent.
    pub fn doze_unless(&self, limit: Duration, is_urgent: impl Fn() -> bool) {
        self.buffer.bell.doze_unless(limit, || self.buffer.has_waiters() || is_urgent());
    }

    /// Sleeps until the bell rings. Does not sleep if something is ready or `has_work`.
    pub fn sleep_unless(&self, has_work: impl Fn() -> bool) {
        self.buffer.bell.sleep_unless(|| self.buffer.has_filled() || has_work());
    }
}
