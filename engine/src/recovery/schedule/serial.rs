//! One worker that replays all logs, or what the others have left (Taurus, section 3.5).
//!
//! It goes through one log until its next record depends on another log, continues with that one, and so on:
//! a merge. Nothing is copied out, parked or woken, and a record is replayed right after the one it waited
//! for. What workers had parked before they left is replayed when the watermarks pass it, as ever.
//!
//! It cannot get stuck: among the next records of all logs and the parked ones, the one that was reserved
//! first depends on nothing unfinished (see the module above). If every log has been tried in vain, all is
//! done, or the records wait for each other in a circle.

use hyades_types::error::Result;

use super::{Batch, Blocking, Log, OpenSlot, Pass, Replay, Schedule, Shared, Source, Worker};
use crate::sync::Ordering;

/// Where the worker is in one log.
struct Head {
    batch: Batch,
    slot: OpenSlot,
    /// The next entry of the batch.
    next: usize,
    /// Everything before it is finished.
    position: u64,
}

impl Head {
    fn new(mut batch: Batch, slot: OpenSlot) -> Result<Head> {
        batch.decode()?;
        Ok(Head { batch, slot, next: 0, position: slot.start })
    }
}

/// Reads the next batch of the log, into the memory of an earlier one.
fn read_on<S: Source>(log: &Log<S>, mut batch: Batch) -> Result<Option<Head>> {
    if log.is_exhausted.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let slot = log.read_on(&mut *log.source.lock(), &mut batch)?;
    slot.map(|slot| Head::new(batch, slot)).transpose()
}

impl<S: Source, R: Replay> Schedule<S, R> {
    /// Replays the rest when no other worker is left.
    pub(super) fn replay_serially(&self, worker: &mut Worker<R>) {
        if let Err(error) = self.merge(worker) {
            self.fail(error);
        }
        self.count_transactions(worker);
    }

    fn merge(&self, worker: &mut Worker<R>) -> Result<()> {
        while let Some(record) = self.steal(worker) {
            self.replay_ready_record(worker, record)?;
            self.run_ready(worker)?;
        }
        let taken = self.logs.iter().map(|log| log.held.lock().take());
        let mut heads = taken
            .map(|held| held.map(|held| Head::new(held.batch, held.slot)).transpose())
            .collect::<Result<Vec<Option<Head>>>>()?;
        let (mut log, mut in_vain) = (0, 0);
        while in_vain < self.logs.len() && !self.has_failed.load(Ordering::Acquire) {
            let (is_further, blocking) = self.go_on(worker, log, &mut heads[log])?;
            in_vain = if is_further { 0 } else { in_vain + 1 };
            // One log after another, once the blocking one does not help.
            let next = (log + 1) % self.logs.len();
            log = if is_further { blocking.unwrap_or(next) } else { next };
        }
        Ok(())
    }

    /// Replays one log up to a record that depends on something else. Returns whether it came further, and
    /// which log blocks it.
    fn go_on(
        &self,
        worker: &mut Worker<R>,
        number: usize,
        head: &mut Option<Head>,
    ) -> Result<(bool, Option<usize>)> {
        let mut is_further = false;
        let mut finished = None;
        loop {
            if head.is_none() {
                *head = read_on(&self.logs[number], finished.take().unwrap_or_default())?;
            }
            let Some(current) = head else {
                self.raise_low(number);
                return Ok((is_further, None));
            };
            let before = current.position;
            let blocking = self.replay_ready(worker, number, current)?;
            is_further |= current.position > before;
            if blocking.is_some() {
                return Ok((is_further, blocking));
            }
            finished = head.take().map(|head| head.batch);
            self.report_progress(worker);
        }
    }

    /// Replays the batch up to its end or up to a record that is blocked. Returns the log that blocks it.
    fn replay_ready(&self, worker: &mut Worker<R>, log: usize, head: &mut Head) -> Result<Option<usize>> {
        let (batch, logs) = (&head.batch, self.logs.len());
        let is_contiguous = self.logs[log].watermark.position() >= head.position;
        let (slot, position) = (head.slot.number, head.position);
        let mut pass = Pass { log, slot, batch, position, published: position, is_contiguous };
        let mut blocking = None;
        for entry in &batch.entries[head.next..] {
            pass.position = entry.start;
            let needs = batch.needs(head.next, logs);
            blocking = self.blocking(worker, needs, Some(&pass)).map(Blocking::log);
            if blocking.is_some() {
                break;
            }
            self.replay_entry(worker, log, batch, entry)?;
            worker.transactions += 1;
            pass.position = entry.end;
            head.next += 1;
        }
        if blocking.is_none() {
            pass.position = batch.end;
        }
        head.position = pass.position;
        self.publish(worker, &mut pass)?;
        Ok(blocking)
    }
}
