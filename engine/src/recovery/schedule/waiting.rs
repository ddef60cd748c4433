//! Records that wait: at a watermark, or for a single record of some log.

#[cfg(all(test, not(loom)))]
mod tests;

use super::needs::{Blocking, Needs};
use super::{Parked, Pass, Replay, Schedule, Source, Waiter, Worker};
use crate::protocol::RecordId;

impl<S: Source, R: Replay> Schedule<S, R> {
    /// What keeps a record waiting, if anything does.
    pub(super) fn blocking(
        &self,
        worker: &mut Worker<R>,
        needs: Needs<'_>,
        pass: Option<&Pass<'_>>,
    ) -> Option<Blocking> {
        if let Some(log) = self.blocking_log(worker, needs.vector, pass) {
            return Some(Blocking::Log(log));
        }
        let mut ids = needs.ids.iter().copied();
        ids.find(|id| !self.is_replayed(worker, *id, pass)).map(Blocking::Record)
    }

    /// Whether this record has been replayed, or needs no replay.
    fn is_replayed(&self, worker: &mut Worker<R>, id: RecordId, pass: Option<&Pass<'_>>) -> bool {
        let (log, end) = (id.log(), id.end().0);
        if end <= worker.seen[log] {
            return true;
        }
        worker.seen[log] = self.logs[log].watermark.position();
        if end <= worker.seen[log] {
            return true;
        }
        match pass {
            // The window does not know these yet.
            Some(pass) if pass.log == log && pass.published < end && end <= pass.position => {
                let mut blocked = worker.blocked.iter();
                blocked.all(|(number, _)| pass.batch.entries[*number].end != end)
            }
            _ => self.logs[log].front.lock().window.is_finished(end),
        }
    }

    /// Parks the record at what blocks it, one after another, until something keeps it, or it is ready.
    pub(super) fn wait_at(&self, worker: &mut Worker<R>, blocking: Blocking, parked: Box<Parked>) {
        let mut next = (blocking, parked);
        loop {
            let (blocking, parked) = next;
            let returned = match blocking {
                Blocking::Log(log) => {
                    let needed = parked.vector[log];
                    match self.logs[log].watermark.park(needed, Waiter::Record(parked)) {
                        Some(Waiter::Record(returned)) => Some(returned),
                        _ => None,
                    }
                }
                Blocking::Record(id) => self.logs[id.log()].front.lock().wait_for(id.end().0, parked),
            };
            let Some(parked) = returned else { return };
            match self.blocking(worker, parked.needs(), None) {
                None => return self.offer(worker, parked),
                Some(blocking) => next = (blocking, parked),
            }
        }
    }
}
