//! Which transactions at the ends of the logs are dead: they are there, but something that they follow is
//! not. Only with a protocol whose records name others by id (`protocol::RecordId`).
//!
//! This is the graph of "Taurus: A Parallel Transaction Recovery Method Based on Fine-Granularity Dependency
//! Tracking" (2016), algorithms 3 to 6, as far as it says what is recoverable, with the state that the paper
//! lacks:
//!
//! ```text
//!   beyond the end of its log ----> dead ----> its successors are dead
//!   before a settled position ----> counts
//!   read, but no predecessor of it is dead ----> counts
//! ```
//!
//! What the last anchors call settled counts for certain, so only the records after that are of interest: as
//! many as were under way, and not those since the last checkpoint.

#[cfg(all(test, not(loom)))]
mod tests;

use std::collections::{HashMap, VecDeque};

use crate::lsn::{Lsn, LsnVector};
use crate::mutant::{self, Mutant};
use crate::protocol::{Counts, Cut, EVERY_STAMP, Follows, KeptFollows, RecordId};

/// The transactions of one log that may be dead, as far as it has been read, in log order.
pub(crate) struct MayBeDead {
    log: usize,
    transactions: VecDeque<(Lsn, KeptFollows)>,
}

impl MayBeDead {
    pub(crate) fn new(log: usize) -> MayBeDead {
        MayBeDead { log, transactions: VecDeque::new() }
    }

    /// The next transaction, whose (last) record ends here.
    pub(crate) fn note(&mut self, end: Lsn, follows: Follows<'_>) {
        // What names nothing counts wherever it is.
        if follows.has_own_positions() || !follows.ids().is_empty() {
            self.transactions.push_back((end, follows.keep()));
        }
    }

    /// The log is settled up to here.
    pub(crate) fn settle(&mut self, settled: Lsn) {
        while self.transactions.pop_front_if(|(end, _)| *end <= settled).is_some() {}
    }
}

/// The dead of logs that have these ends, of which all were settled up to there.
pub(crate) fn find_dead(all: Vec<MayBeDead>, ends: &LsnVector, settled: &LsnVector) -> Vec<RecordId> {
    // What is not here counts, or lies beyond the end of its log.
    let cut = Cut::at(ends, EVERY_STAMP);
    let mut successors: HashMap<RecordId, Vec<RecordId>> = HashMap::new();
    let (mut dead, mut next) = (Vec::new(), 0);
    for MayBeDead { log, transactions } in all {
        for (end, follows) in transactions.iter().filter(|(end, _)| *end <= ends.get(log)) {
            let (id, follows) = (RecordId::new(log, *end), follows.follows());
            if follows.counts((log, *end), &cut) != Counts::Yes {
                dead.push(id);
            } else {
                let named = follows.ids().iter().filter(|id| id.end() > settled.get(id.log()));
                named.for_each(|predecessor| successors.entry(*predecessor).or_default().push(id));
            }
        }
    }
    if mutant::is_active(Mutant::DeadNotPassedOn) {
        return dead;
    }
    while let Some(id) = dead.get(next) {
        // Each once: its successors are taken out.
        let more = successors.remove(id).unwrap_or_default();
        dead.extend(more);
        next += 1;
    }
    dead.sort_unstable();
    dead.dedup();
    dead
}
