//! The commit dependency table (the paper's sections 4.1.3 and 4.2): for each transaction that is not settled
//! up to where each log must be durable before its answer may leave.
//!
//! The paper removes an entry when the transaction's answer leaves. Here it goes when the transaction is
//! settled: where there is no entry, the transaction counts.

use std::collections::BTreeMap;

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use crate::lsn::{Lsn, LsnVector};
use crate::protocol::RecordId;

/// Each log has this many parts, so that its transactions seldom meet.
const PARTS: usize = 8;

/// Predecessor vectors by the end of the record.
type Part = CachePadded<Mutex<BTreeMap<Lsn, LsnVector>>>;

pub(super) struct CommitTable {
    /// Those of each log.
    parts: Box<[[Part; PARTS]]>,
}

impl CommitTable {
    pub(super) fn new(logs: usize) -> CommitTable {
        CommitTable { parts: (0..logs).map(|_| Default::default()).collect() }
    }

    fn part(&self, id: RecordId) -> &Part {
        &self.parts[id.log()][(id.end().0 / Lsn::ALIGNMENT) as usize % PARTS]
    }

    pub(super) fn insert(&self, id: RecordId, vector: &LsnVector) {
        self.part(id).lock().insert(id.end(), vector.clone());
    }

    /// Passes on the predecessor vector of a transaction, if it is not settled.
    pub(super) fn raise(&self, id: RecordId, take: impl FnOnce(&[u64])) {
        if let Some(vector) = self.part(id).lock().get(&id.end()) {
            take(vector.entries());
        }
    }

    /// All transactions of this log up to here are settled.
    pub(super) fn remove_up_to(&self, log: usize, settled: Lsn) {
        for part in &self.parts[log] {
            let mut part = part.lock();
            while part
                .first_entry()
                .filter(|first| *first.key() <= settled)
                .map(|first| first.remove())
                .is_some()
            {}
        }
    }

    /// How many transactions are in it.
    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        self.parts.iter().flatten().map(|part| part.lock().len()).sum()
    }
}
