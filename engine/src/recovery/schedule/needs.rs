//! What a record waits for, and what waits for a single record.
//!
//! Positions are waited for at watermarks (`watermark`). Under the dependency graph a record also names
//! others by id ("Taurus: A Parallel Transaction Recovery Method Based on Fine-Granularity Dependency
//! Tracking", 2016, algorithms 3 to 5): it waits until those have been replayed, whatever else lies before
//! them in their logs. The paper's lists of successors are here: what waits for a record is kept with its
//! log, under the lock of the log's window, and taken out by the worker that has replayed the record or
//! passed it (`waiting`).

use std::collections::BTreeMap;

use super::window::Window;
use crate::protocol::RecordId;

/// See the module head.
#[derive(Clone, Copy)]
pub(crate) struct Needs<'a> {
    /// Every log must have been replayed up to its entry.
    pub(crate) vector: &'a [u64],
    /// These must have been replayed.
    pub(crate) ids: &'a [RecordId],
}

/// What a record waits for now.
#[derive(Clone, Copy)]
pub(super) enum Blocking {
    /// The watermark of this log.
    Log(usize),
    Record(RecordId),
}

impl Blocking {
    /// The log that must go on.
    pub(super) fn log(self) -> usize {
        match self {
            Blocking::Log(log) => log,
            Blocking::Record(id) => id.log(),
        }
    }
}

/// How far one log has been replayed, and the records that wait for single ones of it, by the ends of those.
pub(super) struct Front<T> {
    pub(super) window: Window,
    waiting: BTreeMap<u64, Vec<T>>,
}

impl<T> Front<T> {
    pub(super) fn beginning_at(position: u64) -> Front<T> {
        Front { window: Window::beginning_at(position), waiting: BTreeMap::new() }
    }

    /// Keeps the record until the one that ends here has been replayed; returns it if that has happened.
    pub(super) fn wait_for(&mut self, end: u64, parked: T) -> Option<T> {
        if self.window.is_finished(end) {
            return Some(parked);
        }
        self.waiting.entry(end).or_default().push(parked);
        None
    }

    /// Takes out what waits for records that end after `from` and not after `to`, and are finished.
    pub(super) fn take_woken(&mut self, from: u64, to: u64, mut wake: impl FnMut(T)) {
        if self.waiting.is_empty() {
            return;
        }
        let Front { window, waiting } = self;
        let finished = waiting.extract_if(from + 1..=to, |end, _| window.is_finished(*end));
        finished.flat_map(|(_, parked)| parked).for_each(&mut wake);
    }
}
