//! Holds transactions back while a restart is still running: an [`Opening`] is either open, or closed until
//! the restart opens it.
//!
//! A table has one for its rows, the catalog one for its changes. If the rows of some keys can be restored
//! before the others, the table has one for each of these ranges, too ([`RangeOpenings`]): a transaction that
//! wants a row by its key waits for its range only. Both are open in a database whose restart
//! is complete. While a restart on demand runs in the background (`recovery::on_demand`), a table stays
//! closed until its rows are restored, and the catalog until all rows are.
//!
//! An opening opens once and stays open, so a thread that has passed it need not check again. Everything done
//! before the opening is visible to every thread that passes. A failure closes it for good and keeps the
//! error.

use std::sync::atomic::{AtomicBool, Ordering};

use hyades_types::error::{Error, Result};
use parking_lot::Mutex;

use crate::ticket::{Signal, Ticket, ticket};

/// See the module head.
#[derive(Default)]
pub(crate) struct Opening {
    is_closed: AtomicBool,
    is_waited_for: AtomicBool,
    is_wanted: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    signals: Vec<Signal>,
    failure: Option<Error>,
}

impl Opening {
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Whether a caller has found it closed and waits.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.is_waited_for.load(Ordering::Relaxed)
    }

    /// Whether it should open before those for which no caller has asked.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_waited_for() || self.is_wanted.load(Ordering::Relaxed)
    }

    /// A caller waits for another opening that opens together with this one.
    pub(crate) fn want(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    /// A caller waits for another opening, and this one must open for that.
    pub(crate) fn note_wait(&self) {
        self.is_waited_for.store(true, Ordering::Relaxed);
    }

    /// `None` if it is open, else a ticket that fires when it opens or fails. The caller then asks again.
    ///
    /// # Errors
    /// The error because of which it will never open.
    pub(crate) fn wait(&self) -> Result<Option<Ticket>> {
        if !self.is_closed() {
            return Ok(None);
        }
        let mut waiting = self.waiting.lock();
        if !self.is_closed() {
            return Ok(None);
        }
        if let Some(failure) = &waiting.failure {
            return Err(failure.clone());
        }
        let (ticket, signal) = ticket();
        waiting.signals.push(signal);
        self.is_waited_for.store(true, Ordering::Relaxed);
        Ok(Some(ticket))
    }

    /// Whether it is open.
    ///
    /// # Errors
    /// The error because of which it will never open.
    pub(crate) fn look(&self) -> Result<bool> {
        if !self.is_closed() {
            return Ok(true);
        }
        self.waiting.lock().failure.clone().map_or(Ok(false), Err)
    }

    /// To be called before any other thread knows of it.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    pub(crate) fn open(&self) {
        let mut waiting = self.waiting.lock();
        if waiting.failure.is_some() {
            return;
        }
        self.is_closed.store(false, Ordering::Release);
        let signals = std::mem::take(&mut waiting.signals);
        drop(waiting);
        drop(signals);
    }

    /// Marks it as never to open, if it is closed.
    pub(crate) fn fail(&self, error: &Error) {
        let mut waiting = self.waiting.lock();
        if !self.is_closed() {
            return;
        }
        waiting.failure.get_or_insert_with(|| error.clone());
        let signals = std::mem::take(&mut waiting.signals);
        drop(waiting);
        drop(signals);
    }
}

/// The openings of the ranges of keys of a table, which are closed at first.
pub(crate) struct RangeOpenings {
    /// The smallest key of each range, or a smaller one, in order. The first range has all smaller keys, too.
    starts: Box<[Box<[u8]>]>,
    openings: Box<[Opening]>,
    /// Whether a caller waits for one, or has waited.
    is_any_waited_for: AtomicBool,
}

impl RangeOpenings {
    pub(crate) fn new(starts: impl Iterator<Item = Box<[u8]>>) -> RangeOpenings {
        // Bounded: a checkpoint has that many ranges of the table, and memory for all of their rows.
        let starts: Box<[Box<[u8]>]> = starts.collect();
        let openings = starts.iter().map(|_| Opening::default()).inspect(Opening::close).collect();
        RangeOpenings { starts, openings, is_any_waited_for: AtomicBool::new(false) }
    }

    /// As [`Opening::wait`], for the range that has this key.
    pub(crate) fn wait(&self, key: &[u8]) -> Result<Option<Ticket>> {
        let after = self.starts.partition_point(|start| **start <= *key);
        let Some(opening) = self.openings.get(after.saturating_sub(1)) else { return Ok(None) };
        let ticket = opening.wait();
        if opening.is_waited_for() {
            self.is_any_waited_for.store(true, Ordering::Relaxed);
        }
        ticket
    }

    /// The ranges that are closed and for which a caller waits.
    pub(crate) fn waited_for(&self) -> impl Iterator<Item = usize> {
        let all = if self.is_any_waited_for.load(Ordering::Relaxed) { &*self.openings } else { &[] };
        let is_waited_for = |opening: &Opening| opening.is_closed() && opening.is_waited_for();
        all.iter().enumerate().filter(move |(_, opening)| is_waited_for(opening)).map(|(range, _)| range)
    }

    /// The bounds of a range: from a key on, and before another one.
    pub(crate) fn bounds(&self, range: usize) -> (&[u8], Option<&[u8]>) {
        let from = if range == 0 { &[] } else { self.starts.get(range).map_or(&[][..], |start| start) };
        (from, self.starts.get(range + 1).map(|next| &**next))
    }

    pub(crate) fn open(&self, range: usize) {
        self.openings.get(range).into_iter().for_each(Opening::open);
    }

    pub(crate) fn open_all(&self) {
        self.openings.iter().for_each(Opening::open);
    }

    /// Marks those that are closed as never to open.
    pub(crate) fn fail(&self, error: &Error) {
        self.openings.iter().for_each(|opening| opening.fail(error));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use hyades_types::error::{Error, sqlstate};

    use super::{Opening, RangeOpenings};

    #[test]
    fn whoever_wants_a_key_waits_for_its_range() {
        let starts: [&[u8]; 3] = [b"c", b"g", b"p"];
        let ranges = RangeOpenings::new(starts.iter().map(|start| Box::from(*start)));
        assert_eq!(ranges.waited_for().count(), 0);
        let low = ranges.wait(b"a").unwrap().expect("it is closed");
        let high = ranges.wait(b"z").unwrap().expect("it is closed");
        assert_eq!(ranges.waited_for().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(ranges.bounds(0), (&b""[..], Some(&b"g"[..])));
        assert_eq!(ranges.bounds(2), (&b"p"[..], None));
        ranges.open(0);
        assert!(low.is_ready() && !high.is_ready());
        assert!(ranges.wait(b"f").unwrap().is_none() && ranges.wait(b"g").unwrap().is_some());
        ranges.fail(&Error::fatal(sqlstate::DATA_CORRUPTED, "broken"));
        assert!(high.is_ready() && ranges.wait(b"p").is_err() && ranges.wait(b"c").unwrap().is_none());
    }

    #[test]
    fn those_who_wait_go_on_when_it_opens_and_others_pass() {
        let opening = Opening::default();
        assert!(opening.wait().unwrap().is_none(), "it is open unless it was closed");
        opening.close();
        let ticket = opening.wait().unwrap().unwrap();
        assert!(!ticket.is_ready() && opening.is_waited_for() && opening.is_wanted());
        opening.open();
        assert!(ticket.is_ready() && opening.wait().unwrap().is_none());
    }

    #[test]
    fn a_failure_ends_all_waits_and_fails_later_ones() {
        let opening = Opening::default();
        opening.close();
        let ticket = opening.wait().unwrap().unwrap();
        opening.fail(&Error::fatal(sqlstate::DATA_CORRUPTED, "broken"));
        assert!(ticket.is_ready());
        opening.open();
        assert_eq!(opening.wait().err().map(|error| error.to_string()).as_deref(), Some("broken"));
        assert!(opening.look().is_err());
    }
}
