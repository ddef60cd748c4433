//! Who has to wait because a restart still goes on: an [`Opening`] is open, or closed until somebody opens
//! it.
//!
//! A table has one for its rows, the catalog one for its changes. Both are open in a database whose restart
//! is complete. While one goes on behind those who work already (`recovery::on_demand`), a table stays closed
//! until its rows are what they were, and the catalog until all are.
//!
//! Opening happens once and for good, so whoever has passed need not look again. What was done before it is
//! seen by everybody who passes. A failure closes for good, and tells why.

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

    /// Whether somebody has come to it while it was closed.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.is_waited_for.load(Ordering::Relaxed)
    }

    /// Whether it is to open before those that nobody wants.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_waited_for() || self.is_wanted.load(Ordering::Relaxed)
    }

    /// Somebody waits for another one that opens together with this one.
    pub(crate) fn want(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    /// Nothing if it is open, else a ticket that fires when it opens or fails: then ask again.
    ///
    /// # Errors
    /// Why it will never open.
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
    /// Why it will never open.
    pub(crate) fn look(&self) -> Result<bool> {
        if !self.is_closed() {
            return Ok(true);
        }
        self.waiting.lock().failure.clone().map_or(Ok(false), Err)
    }

    /// Nobody else knows of it yet.
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

    /// It will never open, if it is closed.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use hyades_types::error::{Error, sqlstate};

    use super::Opening;

    #[test]
    fn those_who_wait_go_on_when_it_opens_and_others_pass() {
        let opening = Opening::default();
        assert!(opening.wait().unwrap().is_none(), "it is open if nobody has closed it");
        opening.close();
        let ticket = opening.wait().unwrap().unwrap();
        assert!(!ticket.is_ready() && opening.is_waited_for() && opening.is_wanted());
        opening.open();
        assert!(ticket.is_ready() && opening.wait().unwrap().is_none());
    }

    #[test]
    fn a_failure_ends_all_waits_and_is_told_to_whoever_comes() {
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
