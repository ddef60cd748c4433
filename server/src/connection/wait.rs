//! Waiting for a ticket, and everything that may end the wait before the ticket fires.
//!
//! | what happens                         | what the statement gets                        |
//! |--------------------------------------|------------------------------------------------|
//! | the ticket fires                     | its call is repeated                           |
//! | a cancel request, statement_timeout  | 57014                                          |
//! | lock_timeout                         | 55P03                                          |
//! | the client closes its side           | rolled back, the connection ends               |
//! | pg_terminate_backend                 | 57P01, the connection ends                     |
//! | shutdown after the time for draining | 57P01, the connection ends                     |
//! | the database is poisoned             | the reason, the connection ends                |
//!
//! Before it reports a deadlock, the session waits for its turn in the same way (`turn`). A statement that
//! computes learns of the same events through its session's request to stop. This module then says where the
//! request came from.
//!
//! A ticket that has fired already means "let others run": the task goes to the end of its worker's queue.
//!
//! To notice that the client is gone, the wait reads: what a client pipelines meanwhile goes to the input
//! buffer. When that is full, the socket is polled for a hang-up now and then instead.

use std::sync::Arc;
use std::time::Duration;

use hyades::engine::db::{Flow, Interrupt};
use hyades::engine::ticket::{Ticket, ticket};
use hyades::types::error::Abort;
use hyades::types::guest::Stop;
use hyades::{Error, Session, sqlstate};
use parking_lot::Mutex;
use tokio::io::AsyncReadExt;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::turn::LONGEST_WAIT;
use super::{Connection, READ_BYTES, settings};
use crate::registry::{Control, Phase};

/// The most input that is read ahead while a statement waits.
const READ_AHEAD_LIMIT_BYTES: usize = 1 << 20;
/// How often a socket that is not read is checked for a client that has left.
const HANG_UP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Cancels the statement when its time is up, unless dropped before. Dropping it also leaves no mark that
/// could hit the next statement.
pub(super) struct StatementTimer {
    task: AbortHandle,
    control: Arc<Control>,
    is_over: Arc<Mutex<bool>>,
}

impl Drop for StatementTimer {
    fn drop(&mut self) {
        self.task.abort();
        *self.is_over.lock() = true;
        self.control.withdraw_time_out();
    }
}

impl Connection<'_> {
    /// Repeats a call of the session until it is done or has failed.
    pub(super) async fn complete<T>(
        &mut self,
        mut call: impl FnMut(&mut Session) -> Flow<T>,
    ) -> hyades::Result<T> {
        loop {
            match call(&mut self.session) {
                Ok(value) => return Ok(value),
                Err(interrupt) => Box::pin(self.settle(interrupt)).await?,
            }
        }
    }

    /// Waits for what interrupted the call. `Ok` asks for the call to be repeated.
    pub(super) async fn settle(&mut self, interrupt: Interrupt) -> hyades::Result<()> {
        match interrupt {
            Interrupt::Wait(ticket) => match self.wait(ticket).await {
                Ok(()) => Ok(()),
                Err(error) => Err(self.session.abandon(error)),
            },
            Interrupt::Failed(error) => {
                if matches!(error, Error::Abort(Abort::Deadlock)) {
                    self.wait_for_turn().await;
                }
                Err(self.explain(error))
            }
        }
    }

    /// Waits for the turn after a deadlock, unless others wait for what this session still holds.
    async fn wait_for_turn(&mut self) {
        if !self.turn.must_wait() || self.session.is_in_transaction() {
            return;
        }
        let (ticket, signal) = ticket();
        let turns = self.registration.registry().turns();
        let waiter = self.timers.spawn(async move {
            let permit = tokio::time::timeout(LONGEST_WAIT, turns.acquire_owned()).await;
            signal.fire();
            permit.ok().and_then(Result::ok)
        });
        // Whatever ends the wait early, the answer is the deadlock.
        if self.wait(ticket).await.is_err() {
            waiter.abort();
            self.registration.control().withdraw_cancel();
        }
        self.turn.take(waiter.await.ok().flatten());
    }

    /// Replaces the error of a stopped statement: it does not know all that may end its session.
    fn explain(&mut self, error: Error) -> Error {
        match error.sqlstate() {
            sqlstate::QUERY_CANCELED | sqlstate::ADMIN_SHUTDOWN => self.ending_reason().unwrap_or(error),
            _ => error,
        }
    }

    /// Why the session must end, if it must.
    fn ending_reason(&mut self) -> Option<Error> {
        if self.is_to_end() {
            self.closing = true;
            return Some(self.registration.registry().ending_error());
        }
        self.registration.control().is_gone().then(|| self.vanished())
    }

    /// Why the statement must stop, if it must. The request stays until the session has given the statement
    /// up.
    pub(super) fn stop_reason(&mut self) -> Option<Error> {
        self.ending_reason().or_else(|| self.registration.control().stop().map(Stop::refusal))
    }

    async fn wait(&mut self, mut ticket: Ticket) -> hyades::Result<()> {
        if ticket.is_ready() {
            // A long statement stepped back to let others run.
            tokio::task::yield_now().await;
        }
        let deadline = self.timeouts.lock.map(|patience| Instant::now() + patience);
        loop {
            if let Some(error) = self.stop_reason() {
                return Err(error);
            }
            let reads = self.input.len() < READ_AHEAD_LIMIT_BYTES;
            if reads {
                self.input.reserve(READ_BYTES / 4);
            }
            tokio::select! {
                biased;
                // The session that released the resource may have been ended by the same shutdown.
                () = &mut ticket => return self.stop_reason().map_or(Ok(()), Err),
                () = self.registration.control().wake.notified() => {}
                count = self.stream.read_buf(&mut self.input), if reads => {
                    if !matches!(count, Ok(1..)) {
                        return Err(self.vanished());
                    }
                }
                () = tokio::time::sleep(HANG_UP_CHECK_INTERVAL), if !reads => {
                    if self.stream.hung_up() {
                        return Err(self.vanished());
                    }
                }
                () = settings::until(deadline), if deadline.is_some() => {
                    let message = "canceling statement due to lock timeout";
                    return Err(Error::input(sqlstate::LOCK_NOT_AVAILABLE, message));
                }
            }
        }
    }

    /// Whether something other than the client ends this connection, whatever it does.
    pub(super) fn is_to_end(&self) -> bool {
        self.registration.registry().phase() >= Phase::Terminating
            || self.registration.control().is_terminated()
    }

    fn vanished(&mut self) -> Error {
        self.closing = true;
        Error::input(sqlstate::QUERY_CANCELED, "connection to client lost")
    }

    /// Starts the clock of statement_timeout, if it is set.
    pub(super) fn start_timer(&self) -> Option<StatementTimer> {
        let patience = self.timeouts.statement?;
        let control = Arc::clone(self.registration.control());
        let is_over = Arc::new(Mutex::new(false));
        let task = self.timers.spawn(expire(patience, Arc::clone(&control), Arc::clone(&is_over)));
        Some(StatementTimer { task: task.abort_handle(), control, is_over })
    }
}

async fn expire(patience: Duration, control: Arc<Control>, is_over: Arc<Mutex<bool>>) {
    tokio::time::sleep(patience).await;
    let is_over = is_over.lock();
    if !*is_over {
        control.time_out();
    }
}
