//! Makes the transactions of a database, and who tidies up behind them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::purge_queue::Queue;
use super::{LOCK_BUCKETS, LockingTransaction, PLACE_NOTES, Purger, TwoPhaseLocking};
use crate::config::Config;
use crate::log::record::OperationsWriter;
use crate::log::record::command::WriteSetHash;
use crate::protocol::Protocol;
use crate::storage::catalog::Catalog;
use crate::storage::history::{Histories, HistoryWriter};
use crate::storage::primary_index::Finger;
use crate::txn::lock_table::{LockTable, TransactionId};
use crate::txn::{Control, Isolation};

impl<P: Protocol> Control<P> for TwoPhaseLocking<P> {
    type Transaction = LockingTransaction<P>;
    type Caretaker = Purger<P>;

    fn new(protocol: Arc<P>, catalog: Arc<Catalog>, config: &Config) -> TwoPhaseLocking<P> {
        TwoPhaseLocking {
            histories: Arc::new(Histories::new(protocol.mark_words())),
            protocol,
            catalog,
            locks: LockTable::new(LOCK_BUCKETS),
            purge: Queue::default(),
            next_worker: AtomicU64::new(1),
            has_commands: AtomicBool::new(false),
            logs_images: config.command_images,
            row_locks_before_table: config.row_locks_before_table.max(1),
            version_bytes: config.version_bytes,
        }
    }

    fn transaction(self: &Arc<Self>) -> LockingTransaction<P> {
        let worker = self.new_worker();
        LockingTransaction {
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
            mark: self.protocol.new_mark(),
            history: HistoryWriter::new(&self.histories),
            isolation: Isolation::default(),
            snapshot: None,
            undo: Vec::new(),
            keys: Vec::new(),
            payload: OperationsWriter::default(),
            command: None,
            write_set: WriteSetHash::default(),
            row_numbers: Vec::new(),
            changes_catalog: false,
            names: Vec::new(),
            draws: Vec::new(),
            draws_in_payload: 0..0,
            purgeable: Vec::new(),
        }
    }

    fn caretaker(self: &Arc<Self>) -> Purger<P> {
        Purger::new(self)
    }

    fn tombstones(&self) -> usize {
        self.purge.len()
    }
}
