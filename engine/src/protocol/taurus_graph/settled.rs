//! Up to where each log is settled: every transaction up to there counts whatever happens, because it is
//! durable with all that it follows.
//!
//! Positions are looked at in rounds:
//!
//! ```text
//!   candidates := reserved end of each log      what has its place by now ...
//!   needed     := reserved end of each log      ... follows only what has its place by now
//!   when all logs are durable up to `needed`, the candidates are settled
//! ```
//!
//! A transaction has its place after all that it follows. So whatever it follows has its place before the
//! second look begins, in whatever log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use super::commit_table::CommitTable;
use crate::log::Logs;
use crate::lsn::LsnVector;
use crate::mutant::{self, Mutant};
use crate::protocol::Names;

pub(super) struct Settled {
    positions: Box<[CachePadded<AtomicU64>]>,
    round: Mutex<Round>,
    /// Forgets what is settled.
    table: Arc<CommitTable>,
}

struct Round {
    candidates: LsnVector,
    needed: LsnVector,
}

impl Settled {
    pub(super) fn new(logs: usize, table: &Arc<CommitTable>) -> Settled {
        let nothing = || LsnVector::zero(logs);
        Settled {
            positions: (0..logs).map(|_| CachePadded::default()).collect(),
            round: Mutex::new(Round { candidates: nothing(), needed: nothing() }),
            table: Arc::clone(table),
        }
    }

    /// Ends the round if it can, and begins the next one. Returns whether it has ended.
    fn end_round(&self, logs: &Logs, round: &mut Round) -> bool {
        if !logs.watch().covers(&round.needed) {
            return false;
        }
        for (log, position) in self.positions.iter().enumerate() {
            let candidate = round.candidates.get(log);
            if candidate.0 > position.load(Ordering::Relaxed) {
                position.store(candidate.0, Ordering::Release);
                self.table.remove_up_to(log, candidate);
            }
        }
        let reserved = || (0..logs.count()).map(|log| logs.reserved(log).0).collect::<Vec<u64>>();
        round.candidates.copy_from(&reserved());
        round.needed.copy_from(&reserved());
        true
    }
}

impl Names for Settled {
    fn position(&self, logs: &Logs, log: usize) -> u64 {
        match mutant::is_active(Mutant::DurableIsSettled) {
            true => logs.whole(log).0,
            false => self.positions[log].load(Ordering::Acquire),
        }
    }

    fn renew(&self, logs: &Logs) {
        // Another logger is about it.
        let Some(mut round) = self.round.try_lock() else { return };
        // When everything has come to rest, a second round ends at once.
        let _ = self.end_round(logs, &mut round) && self.end_round(logs, &mut round);
    }
}
