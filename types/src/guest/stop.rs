//! Requests to stop, by which other threads end a session's statement or the session.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Result, sqlstate};

/// How a session was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The statement ends with 57014.
    Cancel,
    /// The statement ends with 57014, because its time is up.
    TimedOut,
    /// The session ends; no handler of a routine prevents that.
    End,
}

/// Asks a session to stop, from any thread. Request and reason are in one place: two separate flags would
/// have to be withdrawn together.
#[derive(Debug, Default)]
pub struct StopRequest(AtomicU8);

const NOTHING: u8 = 0;
const CANCEL: u8 = 1;
const TIMED_OUT: u8 = 2;
const END: u8 = 3;

impl StopRequest {
    /// The running statement should stop, or the next one if none is running.
    pub fn cancel(&self) {
        self.0.fetch_max(CANCEL, Ordering::Release);
    }

    /// The statement's time is up.
    pub fn time_out(&self) {
        self.0.fetch_max(TIMED_OUT, Ordering::Release);
    }

    /// The session should stop for good.
    pub fn end(&self) {
        self.0.store(END, Ordering::Release);
    }

    /// Withdraws a request to cancel.
    pub fn withdraw(&self) {
        self.withdraw_one(CANCEL);
        self.withdraw_one(TIMED_OUT);
    }

    /// Withdraws the request that was made because the statement's time was up.
    pub fn withdraw_time_out(&self) {
        self.withdraw_one(TIMED_OUT);
    }

    fn withdraw_one(&self, request: u8) {
        // The common case must not write to a shared cache line. The exchange fails if there is another
        // request by now, or none.
        if self.0.load(Ordering::Relaxed) == request {
            let _ = self.0.compare_exchange(request, NOTHING, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    #[inline]
    pub fn get(&self) -> Option<Stop> {
        match self.0.load(Ordering::Relaxed) {
            NOTHING => None,
            CANCEL => Some(Stop::Cancel),
            TIMED_OUT => Some(Stop::TimedOut),
            _ => Some(Stop::End),
        }
    }

    pub fn is_end(&self) -> bool {
        self.get() == Some(Stop::End)
    }

    /// Fails if there is a request, and again until it is withdrawn.
    ///
    /// # Errors
    /// 57014 or 57P01.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.get() {
            None => Ok(()),
            Some(stop) => Err(stop.refusal()),
        }
    }
}

impl Stop {
    /// The error that the statement fails with.
    #[cold]
    pub fn refusal(self) -> Error {
        let (state, message) = match self {
            Stop::Cancel => (sqlstate::QUERY_CANCELED, "canceling statement due to user request"),
            Stop::TimedOut => (sqlstate::QUERY_CANCELED, "canceling statement due to statement timeout"),
            Stop::End => (sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command"),
        };
        Error::input(state, message)
    }
}

/// The sessions of a database, for functions by which one acts on another.
pub trait Sessions: Send + Sync + std::fmt::Debug {
    /// Cancels what the session of this process number runs, or ends it. False if there is none.
    ///
    /// # Errors
    /// An error that keeps this session from doing so.
    fn stop(&self, process: i32, stop: Stop) -> Result<bool>;

    /// The process numbers of the sessions for which the one of this number waits, ascending.
    fn blocking(&self, process: i32) -> Vec<i32>;
}
