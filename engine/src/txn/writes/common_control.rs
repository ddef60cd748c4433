//! Makes the transactions of a database and their caretaker, and tells histories and locks about marks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crossbeam_epoch as epoch;
use parking_lot::Mutex;

use super::change_beside_others::{Patience, UnlockedChanges};
use super::index_entries::{EntryBuffers, NewEntries};
use super::purge::Purger;
use super::purge_queue::Queue;
use super::{Body, LOCK_BUCKETS, PLACE_NOTES, Transactions};
use crate::config::Config;
use crate::log::record::OperationsWriter;
use crate::log::record::command::WriteSetHash;
use crate::protocol::Protocol;
use crate::storage::history::{Forgettable, Handle, Histories, HistoryWriter};
use crate::storage::primary_index::Finger;
use crate::txn::lock_table::{LockTable, Trail, TransactionId};
use crate::txn::read_set::ReadSet;
use crate::txn::reads::Reads;
use crate::txn::{Captured, Control, Transaction};

impl<P: Protocol> Control<P> for Transactions<P> {
    type Transaction = Body<P>;
    type Caretaker = Purger<P>;

    fn new(protocol: Arc<P>, config: &Config) -> Transactions<P> {
        Transactions {
            histories: Arc::new(Histories::new(protocol.mark_words(), protocol.clock())),
            protocol,
            is_capturing: AtomicBool::new(false),
            locks: LockTable::new(LOCK_BUCKETS),
            purge: Queue::default(),
            unlocked: UnlockedChanges::default(),
            next_worker: AtomicU64::new(1),
            logs_images: config.command_images,
            row_locks_before_table: config.row_locks_before_table.max(1),
            version_bytes: config.version_bytes,
            control: config.control,
            fails_beside_writers: config.fails_beside_writers,
            order: Mutex::default(),
        }
    }

    fn transaction(self: &Arc<Self>) -> Body<P> {
        let worker = self.new_worker();
        Body {
            dependencies: self.protocol.new_dependencies(),
            shared: Arc::clone(self),
            worker,
            id: TransactionId(worker << 32),
            tables: Vec::new(),
            table_places: [0; PLACE_NOTES],
            held: Vec::new(),
            divided_gap: None,
            finger: Finger::default(),
            pending: None,
            has_waited: false,
            history: HistoryWriter::new(&self.histories),
            reads: Reads::Locked,
            has_begun_unlocked: false,
            snapshot: None,
            read_set: ReadSet::default(),
            undo: Vec::new(),
            keys: Vec::new(),
            payload: OperationsWriter::default(),
            command: None,
            write_set: WriteSetHash::default(),
            row_numbers: Vec::new(),
            number_in_hand: None,
            changes_objects: false,
            build: None,
            is_unlocked_change: false,
            changes_meaning: false,
            has_closed_commits: false,
            patience: Patience::default(),
            states_in_payload: 0..0,
            purgeable: Vec::new(),
            new_entries: NewEntries::default(),
            entry_buffers: EntryBuffers::default(),
        }
    }

    fn caretaker(self: &Arc<Self>) -> Purger<P> {
        Purger::new(self)
    }

    fn version_bytes(&self) -> u64 {
        self.histories.bytes()
    }

    fn tombstones(&self) -> usize {
        self.purge.len()
    }

    fn blockers(&self, worker: u64) -> Vec<u64> {
        self.locks.hindering(worker).into_iter().map(TransactionId::worker).collect()
    }

    fn capture(
        &self,
        raised: &mut dyn FnMut(),
        cut: &mut dyn FnMut(),
        settled: &mut dyn FnMut(),
    ) -> Captured {
        self.capture_time(raised, cut, settled)
    }
}

impl<P: Protocol> Forgettable for Transactions<P> {
    fn is_forgettable(&self, mark: &[AtomicU64]) -> bool {
        self.protocol.is_forgettable(mark)
    }
}

impl<P: Protocol> Trail for Transactions<P> {
    type Dependencies = P::Dependencies;
    const IS_EMPTY: bool = !P::LEAVES_MARKS;

    fn mark<T>(&self, handle: Handle, show: impl FnOnce(&[AtomicU64]) -> T) -> Option<T> {
        self.histories.mark(handle, &epoch::pin()).map(show)
    }

    fn follow(&self, mark: &[AtomicU64], dependencies: &mut P::Dependencies) {
        self.protocol.follow(mark, dependencies);
    }

    fn follow_all(&self, dependencies: &mut P::Dependencies) {
        self.protocol.follow_all(dependencies);
    }
}

impl<P: Protocol> Drop for Body<P> {
    fn drop(&mut self) {
        // Before its history goes, which another worker may get.
        self.snapshot = None;
        if !self.held.is_empty() || self.pending.is_some() || !self.undo.is_empty() {
            self.rollback();
        }
    }
}
