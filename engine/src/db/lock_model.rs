//! A model of the logs for tests of the lock table with Taurus' vectors. Here, because only `db` knows both.
//!
//! A place is reserved by one atomic add and counts as filled and durable at once; [`ModelLogs::raise_floor`]
//! is a logger that raises the floor to what is durable. So entries of the lock table are evicted and
//! defaulted wherever that may happen. A record that depends on what had not been reserved before it is
//! refused (pitfall 2).

use hyades_types::error::Result;

use crate::local_arc::LocalArc;
use crate::log::durable::{Durability, DurableWatch};
use crate::lsn::{Lsn, LsnVector};
use crate::protocol::taurus::TupleVectors;
use crate::protocol::{AccessMode, Append, AppendProgress, CommitPayload, Protocol, Trace};
use crate::sync::{AtomicU64, Ordering};

pub(super) const LOGS: usize = 3;
const RECORD: u64 = 8;

/// Only what the lock table asks for.
#[derive(Default)]
pub(super) struct ModelLogs {
    reserved: [AtomicU64; LOGS],
    floor: [AtomicU64; LOGS],
}

impl ModelLogs {
    fn is_below_floor(&self, vector: &[u64]) -> bool {
        vector.iter().zip(&self.floor).all(|(entry, floor)| *entry <= floor.load(Ordering::Acquire))
    }

    /// The logger: what is reserved is durable, and an anchor says so.
    pub(super) fn raise_floor(&self) {
        for (floor, reserved) in self.floor.iter().zip(&self.reserved) {
            floor.fetch_max(reserved.load(Ordering::Acquire), Ordering::AcqRel);
        }
    }

    /// Appends a record to `log`; returns what it leaves.
    pub(super) fn commit(&self, log: usize, vector: &mut LsnVector) -> LsnVector {
        let payload = CommitPayload { operations: &[], is_barrier: false };
        match self.log_commit(log, vector, &payload, &mut AppendProgress::default()) {
            Ok(Append::Done(token)) => token,
            _ => unreachable!("a model's log has room"),
        }
    }
}

impl Protocol for ModelLogs {
    const WRITES_LOG: bool = true;
    const LOGS_COMMANDS: bool = true;
    type TupleMeta = TupleVectors;
    type Dependencies = LsnVector;
    type CommitToken = LsnVector;

    fn new_tuple_meta(&self) -> TupleVectors {
        TupleVectors::default()
    }
    fn can_evict(&self, meta: &TupleVectors) -> bool {
        meta.are_covered(|vector| self.is_below_floor(vector))
    }
    fn new_dependencies(&self) -> LsnVector {
        LsnVector::zero(LOGS)
    }
    fn begin(&self, dependencies: &mut LsnVector) {
        dependencies.reset(LOGS);
    }
    fn acquired(&self, mode: AccessMode, meta: &TupleVectors, dependencies: &mut LsnVector) {
        meta.collect(mode, dependencies);
    }
    fn released(&self, mode: AccessMode, meta: &mut TupleVectors, token: &LsnVector, trace: Trace) {
        meta.leave(mode, token, trace);
    }
    fn divided(&self, gap: &TupleVectors) -> Option<TupleVectors> {
        gap.divided(|vector| self.is_below_floor(vector))
    }
    fn inherit(&self, gap: &mut TupleVectors, from: &TupleVectors) {
        gap.inherit(from);
    }
    fn log_commit(
        &self,
        log: usize,
        vector: &mut LsnVector,
        _: &CommitPayload<'_>,
        _: &mut AppendProgress,
    ) -> Result<Append<LsnVector>> {
        for (of, floor) in self.floor.iter().enumerate() {
            vector.raise_entry(of, Lsn(floor.load(Ordering::Acquire)));
        }
        for (of, reserved) in self.reserved.iter().enumerate() {
            assert!(vector.get(of).0 <= reserved.load(Ordering::Acquire), "it depends on what comes later");
        }
        let mut token = vector.clone();
        token.raise_entry(log, Lsn(self.reserved[log].fetch_add(RECORD, Ordering::AcqRel) + RECORD));
        Ok(Append::Done(token))
    }
    fn read_only_commit(&self, dependencies: &LsnVector) -> LsnVector {
        dependencies.clone()
    }
    fn watch(&self) -> LocalArc<DurableWatch> {
        DurableWatch::new(Box::default()).into()
    }
    fn durability(&self, _: &LocalArc<DurableWatch>, _: &LsnVector) -> Durability {
        unreachable!("nobody waits in a model")
    }
    fn name(&self) -> &'static str {
        "model"
    }
    fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}
