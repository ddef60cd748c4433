//! For tests: the transactions of one database together with what they change in its catalog, as a worker has
//! them.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::definition::{CatalogChange, DatabaseId, IndexDefinition, TableDefinition, TableId};

use super::super::Body;
use crate::catalog::{self, Overlay};
use crate::config::Config;
use crate::protocol::AppendProgress;
use crate::protocol::none::NoLog;
use crate::storage::catalog::{Catalog, NewId};
use crate::storage::databases::Databases;
use crate::storage::row::RowCopy;
use crate::storage::table::Table;
use crate::txn::writes::Transactions;
use crate::txn::{
    Access, CommitStep, Control, Ending, Flow, Found, Intent, Publisher, Savepoint, Transaction,
};

/// A database without logs.
#[derive(Clone)]
pub(in crate::txn::writes) struct World {
    pub(in crate::txn::writes) shared: Arc<Transactions<NoLog>>,
    databases: Arc<Databases>,
    pub(in crate::txn::writes) catalog: Arc<Catalog>,
}

impl World {
    pub(in crate::txn::writes) fn new(config: &Config) -> World {
        let shared = Arc::new(Transactions::new(Arc::new(NoLog), config));
        let databases = Arc::new(Databases::new());
        World { shared, catalog: Arc::clone(databases.first()), databases }
    }

    pub(in crate::txn::writes) fn transaction(&self) -> Worker {
        let (databases, catalog) = (Arc::clone(&self.databases), Arc::clone(&self.catalog));
        let overlay = Overlay::new(databases, DatabaseId::FIRST, catalog);
        Worker { transaction: self.shared.transaction(), overlay }
    }
}

impl Deref for World {
    type Target = Arc<Transactions<NoLog>>;

    fn deref(&self) -> &Arc<Transactions<NoLog>> {
        &self.shared
    }
}

/// One transaction after another.
pub(in crate::txn::writes) struct Worker {
    transaction: Body<NoLog>,
    overlay: Overlay,
}

impl Worker {
    /// Whether there is a row under a key, without its copy.
    pub(in crate::txn::writes) fn read_row<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        self.read_point(table, key, intent, None, RowCopy::whole(&mut Vec::new()), guard)
    }

    pub(in crate::txn::writes) fn new_table_id(&self) -> TableId {
        TableId(self.overlay.catalog().new_id(NewId::Object))
    }

    pub(in crate::txn::writes) fn change_catalog(&mut self, change: CatalogChange) -> Flow<()> {
        catalog::apply(&mut self.overlay, &change, &mut self.transaction)
    }

    pub(in crate::txn::writes) fn build_step(
        &mut self,
        table: &Arc<Table>,
        planned: &Arc<TableDefinition>,
        index: &IndexDefinition,
        most: usize,
    ) -> Flow<bool> {
        catalog::build_index(&mut self.overlay, (table, planned), index, &mut self.transaction, most)
    }

    pub(in crate::txn::writes) fn rollback_to(&mut self, savepoint: Savepoint) {
        self.overlay.undo_to(savepoint, &mut self.transaction);
    }

    pub(in crate::txn::writes) fn commit(&mut self) {
        let Self { transaction, overlay } = self;
        let ending = Ending { sequences: &[], is_barrier: overlay.is_shared() };
        let step = CommitStep { worker: 0, ending, progress: &mut AppendProgress::default() };
        assert!(transaction.commit(step, &mut Names(overlay)).is_ok(), "nothing is appended");
        overlay.end();
    }

    pub(in crate::txn::writes) fn rollback(&mut self) {
        self.overlay.undo(&mut self.transaction);
        self.transaction.rollback();
        self.overlay.end();
    }
}

/// Publishes what the transaction has changed in the catalog.
struct Names<'a>(&'a mut Overlay);

impl Publisher<NoLog, Body<NoLog>> for Names<'_> {
    fn note_place(&mut self, (): &(), _has_written: bool) {}

    fn publish(&mut self, transaction: &mut Body<NoLog>) {
        self.0.publish(transaction, Box::default);
    }
}

impl Deref for Worker {
    type Target = Body<NoLog>;

    fn deref(&self) -> &Body<NoLog> {
        &self.transaction
    }
}

impl DerefMut for Worker {
    fn deref_mut(&mut self) -> &mut Body<NoLog> {
        &mut self.transaction
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.overlay.undo(&mut self.transaction);
    }
}
