//! Victims of deadlocks begin again one after the other.
//!
//! A client whose transaction was ended by a deadlock begins again at once, and runs into other victims that
//! have done the same. If every transaction changes rows that all others read, none of them ever commits. So
//! there is one *turn* for all connections. The answer to a deadlock is sent once the session has the turn,
//! at once if there are no other victims, and the session keeps the turn until its next transaction is over.
//! It has given up its locks before that. No session waits for the turn longer than PostgreSQL takes to
//! notice a deadlock, and a client that has it and stays silent loses it.

use std::time::Duration;

use hyades::session::TransactionStatus;
use tokio::sync::OwnedSemaphorePermit;

/// The longest time for which an answer is held back.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// The longest time for which a client with the turn may be silent.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct Turn {
    permit: Option<OwnedSemaphorePermit>,
    /// The transaction that the deadlock has failed is still open.
    has_failed: bool,
}

impl Turn {
    /// Notes that a deadlock has ended the transaction. Returns whether the session must wait for the turn.
    pub(super) fn must_wait(&mut self) -> bool {
        self.has_failed = true;
        self.permit.is_none()
    }

    /// The session takes its turn, or gives up waiting for it.
    pub(super) fn take(&mut self, permit: Option<OwnedSemaphorePermit>) {
        self.permit = permit;
    }

    pub(super) fn is_held(&self) -> bool {
        self.permit.is_some()
    }

    pub(super) fn give_up(&mut self) {
        self.permit = None;
    }

    /// The session is ready for the next statement.
    pub(super) fn note(&mut self, status: TransactionStatus) {
        if status == TransactionStatus::Idle && !std::mem::take(&mut self.has_failed) {
            self.permit = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn a_turn_lasts_until_a_transaction_gets_through() {
        use TransactionStatus::{Failed, Idle, InTransaction};
        let turns = Arc::new(Semaphore::new(1));
        let mut turn = Turn::default();
        turn.note(InTransaction);
        assert!(turn.must_wait());
        turn.take(Arc::clone(&turns).try_acquire_owned().ok());
        // A ROLLBACK, then another deadlock.
        for _ in 0..2 {
            turn.note(Failed);
            turn.note(Idle);
            turn.note(InTransaction);
            assert!(turn.is_held() && !turn.must_wait());
            assert_eq!(turns.available_permits(), 0);
        }
        turn.note(Idle);
        turn.note(InTransaction);
        turn.note(Idle);
        assert!(!turn.is_held() && turns.available_permits() == 1);
    }
}
