//! Records that wait for nothing any more, and how workers find work.
//!
//! A worker that has raised a watermark takes the records that waited for it into a queue of its own, and
//! replays them one after another. All but the first can be stolen from there by workers that have nothing
//! else to do. One of those is woken for each record, and wakes the next if it finds more.

use hyades_types::error::Result;

use super::{
    Moved, Parked, ReadyRecord, Replay, Schedule, SlotNumber, Source, WINDOW_BYTES, WINDOW_RECORDS, Waiter,
    Worker,
};
use crate::sync::Ordering;

/// A worker looks for work this many times before it sleeps, with pauses that make some 50 us in all: waking
/// it would take longer than most waits.
pub(super) const LOOKS_BEFORE_SLEEP: usize = 100;
const PAUSES_BETWEEN_LOOKS: usize = 16;

/// The time between two looks.
pub(super) fn pause() {
    (0..PAUSES_BETWEEN_LOOKS).for_each(|_| std::hint::spin_loop());
}

impl<S: Source, R: Replay> Schedule<S, R> {
    /// Looks for work for a while. False if there was none.
    pub(super) fn looks_for_work(&self) -> bool {
        for _ in 0..LOOKS_BEFORE_SLEEP {
            if self.has_work() {
                return true;
            }
            if self.idle.is_over() {
                return false;
            }
            pause();
        }
        false
    }

    /// Called by a worker that has taken some work: wakes another one if there is more.
    pub(super) fn wake_another(&self) {
        if self.idle.has_sleepers() && self.has_work() {
            self.idle.announce();
        }
    }

    /// Puts a record into the worker's queue. Where it is not the first, another worker is woken for it.
    pub(super) fn offer(&self, worker: &Worker<R>, parked: Box<Parked>) {
        let has_others = !worker.ready.is_empty();
        worker.ready.push(ReadyRecord(parked));
        if has_others {
            self.idle.announce();
        }
    }

    /// Replays the ready records, and those that become ready in turn.
    pub(super) fn run_ready(&self, worker: &mut Worker<R>) -> Result<()> {
        while let Some(record) = worker.ready.pop() {
            self.replay_ready_record(worker, record)?;
        }
        Ok(())
    }

    pub(super) fn replay_ready_record(
        &self,
        worker: &mut Worker<R>,
        ReadyRecord(parked): ReadyRecord,
    ) -> Result<()> {
        let (log, slot, place) = (parked.place.log, parked.slot, (parked.start, parked.place.end));
        self.replay_parked(worker, *parked)?;
        worker.transactions += 1;
        let moved = self.note_finished(worker, log, slot, place);
        self.tell_moved(worker, log, moved);
        self.examine_woken(worker);
        Ok(())
    }

    /// A record that was parked has been replayed.
    pub(super) fn note_finished(
        &self,
        worker: &mut Worker<R>,
        log: usize,
        slot: SlotNumber,
        (start, end): (u64, u64),
    ) -> Moved {
        let log = &self.logs[log];
        let mut front = log.front.lock();
        let window = &mut front.window;
        window.finish(slot, start);
        let is_full =
            window.parked_records() >= WINDOW_RECORDS / 2 || window.parked_bytes() >= WINDOW_BYTES / 2;
        let is_open_again = !is_full && log.is_full.load(Ordering::Relaxed);
        if is_open_again {
            log.is_full.store(false, Ordering::Relaxed);
        }
        let watermark = window.advance();
        front.take_woken(end - 1, end, |parked| worker.woken.push(Waiter::Record(parked)));
        Moved { watermark, is_open_again }
    }

    /// Takes a record from the queue of another worker, those that follow this one first.
    pub(super) fn steal(&self, worker: &Worker<R>) -> Option<ReadyRecord> {
        let (before, from) = self.ready.split_at(worker.number);
        from.iter().skip(1).chain(before).find_map(|queue| {
            std::iter::repeat_with(|| queue.steal()).find(|stolen| !stolen.is_retry())?.success()
        })
    }
}
