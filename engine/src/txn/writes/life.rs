//! What a worker drives: a transaction from its beginning, through its statements, to its end.

use super::Body;
use crate::protocol::Protocol;
use crate::txn::lock_table::TransactionId;
use crate::txn::reads::Reads;
use crate::txn::{CommitStep, Flow, Isolation, Publisher, Transaction};

/// A worker remembers this many tables before it forgets those it does not use.
const REMEMBERED_TABLES: usize = 64;
/// Locks and changes of a transaction that commits within some ten microseconds, and bytes of its log record.
const FEW_STEPS: usize = 256;
const FEW_BYTES: usize = 64 << 10;

impl<P: Protocol> Body<P> {
    /// The number of the next transaction. Numbers are never shared: a worker that has used up its own
    /// continues as a new worker.
    fn next_id(&mut self) {
        if self.id.0 as u32 == u32::MAX {
            self.worker = self.shared.new_worker();
            self.id = TransactionId(self.worker << 32 | self.id.0 & TransactionId::BRIEF);
        }
        self.id.0 += 1;
    }
}

impl<P: Protocol> Transaction<P> for Body<P> {
    fn begin(&mut self) {
        self.next_id();
        self.reads = Reads::Locked;
        self.has_begun_unlocked = false;
        self.history.renew();
        self.history.forget_some(&*self.shared);
        self.divided_gap = None;
        self.shared.protocol.begin(&mut self.dependencies);
        if self.tables.len() > REMEMBERED_TABLES || self.tables.iter().any(|used| used.table.is_dropped()) {
            self.tables.clear();
        }
    }

    fn isolate(&mut self, isolation: Isolation) {
        let reads = Reads::of(isolation, self.shared.control);
        debug_assert!(self.held.is_empty() || reads == self.reads, "it has begun under another level");
        self.reads = reads;
    }

    fn lock_reads(&mut self) -> Flow<()> {
        self.begin_to_lock()
    }

    fn is_serializable(&self) -> bool {
        self.reads.is_serializable()
    }

    fn is_checked(&self) -> bool {
        self.reads.is_checked()
    }

    fn check_reads(&mut self) -> hyades_types::Result<()> {
        self.check_reads_now()
    }

    fn resume_statement(&mut self) {
        if self.reads == Reads::OneSnapshot {
            self.snapshot();
        }
    }

    fn end_statement(&mut self) {
        self.has_begun_unlocked = false;
        self.renew_snapshot();
    }

    fn begin_command(
        &mut self,
        check: impl FnOnce() -> Result<(), &'static str>,
        head: &[u8],
    ) -> Result<(), &'static str> {
        self.try_command(check, head)
    }

    fn log_as_data(&mut self) {
        self.give_up_command();
    }

    fn old_snapshot(&self) -> Option<u64> {
        let time = self.snapshot.as_ref()?.time();
        self.shared.histories.has_newer_key(time).then_some(time)
    }

    fn worker(&self) -> u64 {
        self.worker
    }

    fn is_waited_for(&self) -> bool {
        self.reads == Reads::Locked && self.shared.locks.is_waited_for(self.id)
    }

    fn commits_soon(&self) -> bool {
        let makes_images = self.shared.logs_images && self.command.is_some();
        let looks = if self.reads.is_checked() { self.read_set.records() } else { 0 };
        self.held.len() + self.undo.len() + looks <= FEW_STEPS
            && self.payload.len() <= FEW_BYTES
            && !makes_images
    }

    fn dependencies(&self) -> &P::Dependencies {
        &self.dependencies
    }

    fn seen(&mut self) -> &P::Dependencies {
        self.shared.protocol.read_only_commit(&mut self.dependencies);
        &self.dependencies
    }

    fn commit(&mut self, step: CommitStep<'_>, publisher: &mut impl Publisher<P, Self>) -> Flow<()> {
        if self.reads.is_checked() {
            self.prepare(!(self.undo.is_empty() && step.ending.sequences.is_empty()))?;
        }
        let time = self.append(step, publisher)?;
        self.precommit(time, publisher);
        Ok(())
    }

    fn rollback(&mut self) {
        self.withdraw_wait();
        self.undo_to(0);
        let Self { shared, dependencies, history, .. } = self;
        shared.protocol.read_only_commit(dependencies);
        history.roll_back(|mark| shared.protocol.write_mark(dependencies, mark));
        self.history.leave_commit();
        self.end(None);
    }
}
