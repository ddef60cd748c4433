//! Victims of deadlocks begin again one after the other.
//!
//! A client whose transaction was ended by a deadlock begins again at once, and runs into those who have
//! begun again beside it: where all change what all read, nobody gets through. So there is one *turn* for all
//! connections. The answer to a deadlock goes out when the session has the turn, and it keeps it until its
//! next transaction is over; without other victims that is at once. Its locks have been given up before.
//! Nobody waits for the turn longer than PostgreSQL takes to notice a deadlock, and a client that has it and
//! says nothing loses it.

use std::time::Duration;

use hyades::session::TransactionStatus;
use tokio::sync::OwnedSemaphorePermit;

/// An answer is held back so long at most.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// A client with the turn may be silent so long.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_millis(100);

#[derive(Default)]
pub(super) struct Turn {
    permit: Option<OwnedSemaphorePermit>,
    /// The transaction that the deadlock has ended is open still.
    has_failed: bool,
}

impl Turn {
    /// A deadlock has ended the transaction; whether the session must wait for the turn.
    pub(super) fn must_wait(&mut self) -> bool {
        self.has_failed = true;
        self.permit.is_none()
    }

    /// It is the session's turn, or it has waited long enough.
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
        // ROLLBACK, and again a deadlock.
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
