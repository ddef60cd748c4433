//! The pace of a checkpoint for which no client waits.
//!
//! At any priority, a walk through the rows takes processors, caches and the disk away from transactions. So
//! each walker rests after every piece of work, nine times as long as the piece took: the checkpoint takes
//! ten times as long, and costs a tenth at any moment. It does not rest when a client waits for the
//! checkpoint, when the logs have grown too long meanwhile, or when the versions kept for it take too much
//! memory ([`Urgency`]). Its priority stays lowered. PostgreSQL spreads its checkpoints, too
//! (`checkpoint_completion_target`).

use std::time::{Duration, Instant};

/// The least length of a piece of work.
const PIECE: Duration = Duration::from_millis(1);
/// A piece that took longer than this has waited for other threads, which had the processors.
const LONGEST_PIECE: Duration = Duration::from_millis(2);
const RESTS_PER_PIECE: u32 = 9;

/// Tells whether there is no time to rest. If it is `None`, there never is.
pub(super) type Urgency<'u> = Option<&'u (dyn Fn() -> bool + Sync)>;

/// The pace of one walker.
pub(super) struct Pace<'u> {
    urgency: Urgency<'u>,
    piece_begun: Instant,
}

impl<'u> Pace<'u> {
    pub(super) fn new(urgency: Urgency<'u>) -> Pace<'u> {
        Pace { urgency, piece_begun: crate::sync::now() }
    }

    /// Rests if a piece of work is done. The caller holds nothing that others wait for.
    pub(super) fn rest(&mut self) {
        let Some(is_urgent) = self.urgency else { return };
        let worked = crate::sync::now().duration_since(self.piece_begun);
        if worked < PIECE {
            return;
        }
        if !is_urgent() {
            crate::sync::sleep(rest_after(worked));
        }
        self.piece_begun = crate::sync::now();
    }
}

fn rest_after(worked: Duration) -> Duration {
    worked.min(LONGEST_PIECE) * RESTS_PER_PIECE
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_piece_that_waited_for_others_asks_for_no_longer_rest_than_the_longest() {
        assert_eq!(rest_after(PIECE), PIECE * RESTS_PER_PIECE);
        assert_eq!(rest_after(Duration::from_secs(1)), LONGEST_PIECE * RESTS_PER_PIECE);
    }

    #[test]
    fn the_urgency_is_asked_after_each_piece_and_not_before() {
        let asked = AtomicU32::new(0);
        let is_urgent = || asked.fetch_add(1, Ordering::Relaxed) == 0;
        let mut pace = Pace::new(Some(&is_urgent));
        pace.piece_begun = crate::sync::now() + PIECE;
        pace.rest();
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        let a_piece_ago = |pace: &mut Pace<'_>| pace.piece_begun = crate::sync::now() - PIECE;
        a_piece_ago(&mut pace);
        pace.rest();
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        // No longer urgent: it rests, and the next piece begins afterwards.
        a_piece_ago(&mut pace);
        let before = crate::sync::now();
        pace.rest();
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        assert!(pace.piece_begun >= before + rest_after(PIECE));
    }
}
