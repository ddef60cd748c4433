//! The end of a server as its clients see it: which errors are right then, and which never are.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use postgres::Client;
use postgres::error::SqlState;

/// The end of the server, as its clients must interpret it.
pub(super) struct End {
    /// Announced before it happens: from then on a lost connection is not an error.
    is_near: AtomicBool,
    /// Neither is the answer that nothing can be written or read any more.
    is_of_disk: bool,
}

impl End {
    pub(super) fn new(is_of_disk: bool) -> End {
        End { is_near: AtomicBool::new(false), is_of_disk }
    }

    /// The server is about to be killed.
    pub(super) fn announce(&self) {
        self.is_near.store(true, Ordering::SeqCst);
    }

    fn is_near(&self) -> bool {
        self.is_near.load(Ordering::SeqCst)
    }

    /// The errors of servers that are about to end: PostgreSQL's processes when their parent has been killed,
    /// any server that is told to stop, and one that has lost its disk.
    fn is_said_by(&self, code: &SqlState) -> bool {
        let is_said = *code == SqlState::ADMIN_SHUTDOWN || (self.is_of_disk && *code == SqlState::IO_ERROR);
        is_said && self.is_near()
    }
}

/// Why a step of a transaction did not succeed.
pub(super) enum Stopped {
    /// The server is gone.
    Disconnected,
    /// A conflict: begin again.
    Retry,
}

/// A conflict may be retried. A lost connection is right only when the server is being killed. Anything else
/// is an error.
pub(super) fn classify(error: &postgres::Error, client: &Client, end: &End) -> Result<Stopped> {
    match error.code() {
        Some(code)
            if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED =>
        {
            Ok(Stopped::Retry)
        }
        Some(code) if end.is_said_by(code) => Ok(Stopped::Disconnected),
        Some(code) => bail!("the server refused a transaction: {} ({})", error_text(error), code.code()),
        None if error.is_closed() || client.is_closed() => {
            // The kill is announced before it happens, so this check cannot come too early.
            if !end.is_near() {
                bail!("the server closed a connection: {}", error_text(error));
            }
            Ok(Stopped::Disconnected)
        }
        None if end.is_near() => Ok(Stopped::Disconnected),
        None => bail!("a client failed: {}", error_text(error)),
    }
}

fn error_text(error: &postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |database| database.message().to_owned())
}
