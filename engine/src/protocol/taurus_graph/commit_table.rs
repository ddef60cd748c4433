//! The commit dependency table (the paper's sections 4.1.3 and 4.2): for each transaction up to where each
//! log must be durable before its answer may leave.
//!
//! The paper removes an entry when the transaction's answer leaves. Here it goes when the transaction is
//! settled, or earlier if there are many: as soon as all logs are durable as far as it says. Where there is
//! no entry, the transaction counts.

use std::collections::BTreeMap;
use std::collections::btree_map::OccupiedEntry;

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use crate::log::durable::DurableWatch;
use crate::lsn::{Lsn, LsnVector};
use crate::protocol::RecordId;

/// Each log has this many parts, so that its transactions seldom meet.
const PARTS: usize = 8;

/// While a log stands still, nothing is settled, and the others go on. A part with this many entries is
/// looked through for those that have become durable, and again when it has twice as many as were left.
const MANY: usize = 1024;

#[derive(Default)]
struct Part {
    /// Predecessor vectors by the end of the record.
    vectors: BTreeMap<Lsn, LsnVector>,
    /// How many were left when it was looked through.
    left: usize,
}

pub(super) struct CommitTable {
    /// Those of each log.
    parts: Box<[[CachePadded<Mutex<Part>>; PARTS]]>,
}

impl CommitTable {
    pub(super) fn new(logs: usize) -> CommitTable {
        CommitTable { parts: (0..logs).map(|_| Default::default()).collect() }
    }

    fn part(&self, id: RecordId) -> &Mutex<Part> {
        &self.parts[id.log()][(id.end().0 / Lsn::ALIGNMENT) as usize % PARTS]
    }

    pub(super) fn insert(&self, id: RecordId, vector: &LsnVector, watch: &DurableWatch) {
        let mut part = self.part(id).lock();
        if part.vectors.len() >= MANY.max(2 * part.left) {
            part.vectors.retain(|_, vector| !watch.covers(vector));
            part.left = part.vectors.len();
        }
        part.vectors.insert(id.end(), vector.clone());
    }

    /// Passes on the predecessor vector of a transaction, if it is not settled.
    pub(super) fn raise(&self, id: RecordId, take: impl FnOnce(&[u64])) {
        if let Some(vector) = self.part(id).lock().vectors.get(&id.end()) {
            take(vector.entries());
        }
    }

    /// All transactions of this log up to here are settled.
    pub(super) fn remove_up_to(&self, log: usize, settled: Lsn) {
        for part in &self.parts[log] {
            let mut part = part.lock();
            let mut is_settled = |first: &OccupiedEntry<'_, Lsn, LsnVector>| *first.key() <= settled;
            while let Some(first) = part.vectors.first_entry().filter(&mut is_settled) {
                first.remove();
            }
        }
    }

    /// How many transactions are in it.
    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        self.parts.iter().flatten().map(|part| part.lock().vectors.len()).sum()
    }
}
