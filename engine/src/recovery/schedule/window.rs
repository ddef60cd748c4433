//! The in-order completion ring of one log: which positions all replay has passed.
//!
//! ```text
//!                 slot 7 (passing)        slot 8 (closed)        slot 9 (passing)
//!   ... replayed | . . . P . . . . > . . | . . . . . . P P . . | . . > . . . . . | not handed out
//!                        ^ first unfinished record: the watermark stands at its start
//! ```
//!
//! A *slot* is a batch of consecutive log records that one worker passes through in order. A record that is
//! blocked is left behind as *parked* and finished later, by any worker. The log's watermark (RLV) stands at
//! the start of the first record that is not finished: the first parked one, or the position that the pass of
//! the first open slot has reached.
//!
//! Each log has its own window (pitfall 21): one pool for all would fill up with the blocked records of one
//! log and keep out the very records they wait for. A log whose window is full hands out no more batches;
//! since the window is contiguous from the first unfinished record on, the record that is next in the
//! dependency order is always inside some window.
//!
//! An empty window contributes what was handed out so far, never infinity (pitfall 21): what is still in the
//! file is unfinished.

use std::collections::VecDeque;

use crate::mutant::{self, Mutant};

/// Names a slot; ascending in log order, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlotNumber(u64);

/// A slot that was just opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenSlot {
    pub(crate) number: SlotNumber,
    pub(crate) start: u64,
}

#[derive(Debug)]
struct ParkedPlace {
    start: u64,
    end: u64,
    bytes: usize,
    is_finished: bool,
}

#[derive(Debug)]
struct Slot {
    end: u64,
    /// All records before it are finished or parked.
    passed: u64,
    parked: VecDeque<ParkedPlace>,
}

/// See the module head. Not synchronized: the owner keeps it behind a lock.
#[derive(Debug, Default)]
pub(crate) struct Window {
    slots: VecDeque<Slot>,
    first: u64,
    /// The end of the last slot that is finished.
    finished_to: u64,
    parked_records: usize,
    parked_bytes: usize,
}

impl Window {
    /// Of a log that is replayed from here on.
    pub(crate) fn beginning_at(position: u64) -> Window {
        Window { finished_to: position, ..Window::default() }
    }

    /// Opens a slot for the records from where the last slot ends up to `end`.
    pub(crate) fn open(&mut self, end: u64) -> OpenSlot {
        let start = self.slots.back().map_or(self.finished_to, |last| last.end);
        debug_assert!(start <= end);
        self.slots.push_back(Slot { end, passed: start, parked: VecDeque::new() });
        OpenSlot { number: SlotNumber(self.first + self.slots.len() as u64 - 1), start }
    }

    fn slot(&mut self, number: SlotNumber) -> Option<&mut Slot> {
        self.slots.get_mut(number.0.checked_sub(self.first)? as usize)
    }

    /// Leaves a record behind. Only the worker that passes through the slot may call it, in log order, before
    /// it passes the record, which begins and ends here.
    pub(crate) fn park(&mut self, number: SlotNumber, (start, end): (u64, u64), bytes: usize) {
        if let Some(slot) = self.slot(number) {
            debug_assert!(start >= slot.passed);
            slot.parked.push_back(ParkedPlace { start, end, bytes, is_finished: false });
            self.parked_records += 1;
            self.parked_bytes += bytes;
        }
    }

    /// All records of the slot before `to` are finished or parked.
    pub(crate) fn pass(&mut self, number: SlotNumber, to: u64) {
        if let Some(slot) = self.slot(number) {
            debug_assert!(slot.passed <= to && to <= slot.end);
            slot.passed = to;
        }
    }

    /// A parked record was replayed.
    pub(crate) fn finish(&mut self, number: SlotNumber, start: u64) {
        let Some(slot) = self.slot(number) else { return };
        if let Ok(place) = slot.parked.binary_search_by_key(&start, |parked| parked.start) {
            let parked = &mut slot.parked[place];
            debug_assert!(!parked.is_finished);
            parked.is_finished = true;
            let bytes = parked.bytes;
            self.parked_records -= 1;
            self.parked_bytes -= bytes;
        }
    }

    /// Whether the record that ends here is finished, or there is nothing to finish. Not before it has been
    /// handed out.
    pub(crate) fn is_finished(&self, end: u64) -> bool {
        if end <= self.finished_to {
            return true;
        }
        let slot = self.slots.partition_point(|slot| slot.end < end);
        self.slots.get(slot).is_some_and(|slot| {
            let parked = slot.parked.binary_search_by_key(&end, |parked| parked.end);
            end <= slot.passed && parked.map_or(true, |place| slot.parked[place].is_finished)
        })
    }

    /// Drops what is finished at the front and returns the watermark.
    pub(crate) fn advance(&mut self) -> u64 {
        while let Some(slot) = self.slots.front_mut() {
            while slot.parked.front().is_some_and(|parked| parked.is_finished) {
                slot.parked.pop_front();
            }
            if let Some(parked) = slot.parked.front() {
                return parked.start;
            }
            if slot.passed < slot.end {
                return slot.passed;
            }
            self.finished_to = slot.end;
            self.slots.pop_front();
            self.first += 1;
        }
        if mutant::is_active(Mutant::IdleWorkerInfinity) {
            return u64::MAX;
        }
        self.finished_to
    }

    pub(crate) fn parked_records(&self) -> usize {
        self.parked_records
    }

    pub(crate) fn parked_bytes(&self) -> usize {
        self.parked_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn the_watermark_stands_at_the_first_unfinished_record() {
        let mut window = Window::default();
        let first = window.open(100).number;
        let second = window.open(200).number;
        assert_eq!(window.advance(), 0);
        window.pass(second, 200);
        assert_eq!(window.advance(), 0);
        window.park(first, (40, 48), 8);
        window.park(first, (60, 68), 8);
        window.pass(first, 80);
        assert_eq!(window.advance(), 40);
        window.finish(first, 60);
        assert_eq!(window.advance(), 40);
        assert!(window.is_finished(40) && window.is_finished(68) && window.is_finished(80));
        assert!(!window.is_finished(48), "it is parked");
        assert!(!window.is_finished(88) && window.is_finished(120), "slots are passed each by itself");
        assert!(!window.is_finished(208), "it has not been handed out");
        window.finish(first, 40);
        assert_eq!(window.advance(), 80);
        assert!(window.is_finished(48));
        window.pass(first, 100);
        assert_eq!(window.advance(), 200);
        assert_eq!((window.parked_records(), window.parked_bytes()), (0, 0));
    }

    #[test]
    fn a_later_slot_may_finish_its_parked_records_first() {
        let mut window = Window::default();
        let first = window.open(10).number;
        let second = window.open(20).number;
        window.park(second, (10, 18), 1);
        window.pass(second, 20);
        window.park(first, (0, 8), 1);
        window.pass(first, 10);
        assert_eq!(window.advance(), 0);
        window.finish(second, 10);
        assert_eq!(window.advance(), 0);
        window.finish(first, 0);
        assert_eq!(window.advance(), 20);
        let third = window.open(30).number;
        window.pass(third, 30);
        assert_eq!(window.advance(), 30);
    }

    #[test]
    fn an_empty_window_contributes_what_was_handed_out_not_infinity() {
        let mut window = Window::default();
        assert_eq!(window.advance(), 0);
        let slot = window.open(50).number;
        window.pass(slot, 50);
        assert_eq!(window.advance(), 50);
    }
}
