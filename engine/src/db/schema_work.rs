//! A worker's operations on tables, routines and the other objects of the catalog ([`Schema`]): through its
//! overlay.

use std::sync::Arc;

use hyades_types::access::Access;
use hyades_types::definition::{
    CatalogChange, DatabaseId, IndexDefinition, RoutineId, TableDefinition, TableId, TableName,
};
use hyades_types::error::Result;
use hyades_types::memory::Keeper;
use hyades_types::sequence::Sequence;

use super::call::choose;
use super::{DatabaseWorker, Flow, Logging, LoggingChoice, TableLock};
use crate::catalog;
use crate::catalog::SeenDatabase;
use crate::procedure::ir::Procedure;
use crate::protocol::Protocol;
use crate::storage::catalog::{CatalogView, Comments, NewId, Schemas};
use crate::storage::compilations::Compilations;
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::storage::table::Table;
use crate::txn::{Object, ObjectMode, Transaction, Waiting};

/// Tables and routines as the open transaction sees them, its own uncommitted changes included.
pub trait Schema {
    /// Changes the schema inside the transaction.
    fn change_catalog(&mut self, change: CatalogChange) -> Flow<()>;
    /// CREATE INDEX while other transactions write the table. The table's definition must still be the one
    /// that the caller has looked at. The transaction must do nothing else, and commit.
    fn build_index(
        &mut self,
        table: &Arc<Table>,
        planned: &Arc<TableDefinition>,
        index: &IndexDefinition,
    ) -> Flow<()>;
    /// Locks a table as LOCK TABLE does. Under [`TableLock::AccessExclusive`] row locks are skipped, for bulk
    /// loads. [`Waiting::BesideOthers`] is for the first action of a transaction.
    fn lock_table(&mut self, table: &Arc<Table>, lock: TableLock, waiting: Waiting) -> Flow<()>;
    /// Whether another transaction, which is open, has changed the definition of a table or all its rows.
    /// What is found in such a definition may never be true.
    fn is_changed_by_others(&self, table: &Table) -> bool;
    /// Waits until no other transaction has locked the definition of a table in order to change it. Takes no
    /// lock.
    fn outlast_change(&mut self, table: &Table) -> Flow<()>;
    /// Keeps other transactions from creating, moving or dropping anything in a schema.
    fn lock_schema(&mut self, name: &str) -> Flow<()>;
    /// Keeps other transactions from changing, dropping or copying a database of this name, and from making
    /// one.
    fn lock_database(&mut self, name: &str) -> Flow<()>;
    /// Fills a database that the transaction has made with what another one holds: the same names, other
    /// numbers, the committed rows. If it has to wait, nothing was copied.
    fn copy_database(&mut self, from: DatabaseId, to: DatabaseId) -> Flow<()>;
    /// The databases as this transaction sees them, ordered by their numbers.
    fn databases(&self) -> Vec<SeenDatabase>;
    /// Keeps others from changing roles and rights until the end of the transaction.
    fn lock_access(&mut self) -> Flow<()>;
    /// A number never used before, for a new object.
    fn new_id(&self, of: NewId) -> u32;
    /// The table of this name as this transaction sees it (its own uncommitted schema changes included).
    fn table(&self, name: &TableName) -> Option<Arc<Table>>;
    fn tables(&self) -> Vec<Arc<Table>>;
    /// The routine with this id as this transaction sees it.
    fn routine(&self, id: RoutineId) -> Option<Arc<Routine>>;
    /// The routines of this name as this transaction sees them.
    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>>;
    fn routines(&self) -> Vec<Arc<Routine>>;
    /// The routine compiled for what this transaction sees. Compiled again only after the catalog has
    /// changed.
    fn procedure(&self, routine: &Routine) -> Result<Arc<Procedure>>;
    /// Whether [`Schema::procedure`] would return this one.
    fn would_run(&self, routine: &Routine, procedure: &Procedure) -> bool;
    /// How a call of this routine would be logged if it were a transaction of its own.
    fn logging_choice(&self, routine: &Routine, logging: Logging) -> LoggingChoice;
    /// Tables and routines as this transaction sees them, for a compiler.
    fn catalog_view(&self) -> &dyn CatalogView;
    /// Declares that the session has temporary relations from now on, in this schema, which no other session
    /// uses. Their rows are charged to the keeper.
    fn set_temporary_schema(&mut self, schema: &str, keeper: Keeper);
    /// Drops the session's temporary relations at its end. No transaction may be open.
    fn forget_temporaries(&mut self);
    /// All sequences as this transaction sees them.
    fn sequences(&self) -> Vec<Arc<Sequence>>;
    /// All types as this transaction sees them.
    fn types(&self) -> Vec<Arc<StoredType>>;
}

impl<P: Protocol, T: Transaction<P>> Schema for DatabaseWorker<P, T> {
    fn change_catalog(&mut self, change: CatalogChange) -> Flow<()> {
        self.log_as_data();
        catalog::apply(&mut self.overlay, &change, &mut self.transaction)
    }

    fn build_index(
        &mut self,
        table: &Arc<Table>,
        planned: &Arc<TableDefinition>,
        index: &IndexDefinition,
    ) -> Flow<()> {
        self.log_as_data();
        let Self { overlay, transaction, .. } = self;
        while !catalog::build_index(overlay, (table, planned), index, transaction, usize::MAX)? {}
        Ok(())
    }

    fn lock_table(&mut self, table: &Arc<Table>, lock: TableLock, waiting: Waiting) -> Flow<()> {
        self.log_as_data();
        self.transaction.lock_table(table, lock, waiting)
    }

    fn is_changed_by_others(&self, table: &Table) -> bool {
        self.overlay.is_changed_by_others(table)
    }

    fn outlast_change(&mut self, table: &Table) -> Flow<()> {
        self.transaction.outlast_change(table)
    }

    fn lock_access(&mut self) -> Flow<()> {
        self.log_as_data();
        self.transaction.lock_object(self.overlay.database(), Object::Access, ObjectMode::Change)
    }

    fn lock_schema(&mut self, name: &str) -> Flow<()> {
        self.transaction.lock_object(self.overlay.database(), Object::Schema(name), ObjectMode::Change)
    }

    fn lock_database(&mut self, name: &str) -> Flow<()> {
        self.log_as_data();
        self.transaction.lock_object(self.overlay.database(), Object::DatabaseName(name), ObjectMode::Change)
    }

    fn copy_database(&mut self, from: DatabaseId, to: DatabaseId) -> Flow<()> {
        self.log_as_data();
        catalog::copy_database(&mut self.overlay, (from, to), &mut self.transaction)
    }

    fn databases(&self) -> Vec<SeenDatabase> {
        self.overlay.databases()
    }

    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.overlay.table(name)
    }

    fn tables(&self) -> Vec<Arc<Table>> {
        self.overlay.tables()
    }

    fn routine(&self, id: RoutineId) -> Option<Arc<Routine>> {
        self.overlay.routine(id)
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        self.overlay.routines_named(name)
    }

    fn routines(&self) -> Vec<Arc<Routine>> {
        self.overlay.routines()
    }

    fn procedure(&self, routine: &Routine) -> Result<Arc<Procedure>> {
        routine.procedure(self.compiler.as_deref(), self)
    }

    fn would_run(&self, routine: &Routine, procedure: &Procedure) -> bool {
        routine.would_run(procedure, self)
    }

    fn logging_choice(&self, routine: &Routine, logging: Logging) -> LoggingChoice {
        match self.procedure(routine) {
            Ok(procedure) => choose::<P>(logging, &procedure),
            Err(error) => LoggingChoice::Data(error.to_string().into()),
        }
    }

    fn catalog_view(&self) -> &dyn CatalogView {
        self
    }

    fn new_id(&self, of: NewId) -> u32 {
        self.overlay.catalog().new_id(of)
    }

    fn set_temporary_schema(&mut self, schema: &str, keeper: Keeper) {
        self.overlay.set_temporary_schema(schema, keeper);
    }

    fn forget_temporaries(&mut self) {
        assert!(!self.is_open, "temporary relations outlive every transaction");
        self.overlay.forget_temporaries(&mut self.transaction);
    }

    fn sequences(&self) -> Vec<Arc<Sequence>> {
        self.overlay.sequences()
    }

    fn types(&self) -> Vec<Arc<StoredType>> {
        self.overlay.types()
    }
}

/// What the open transaction sees: its overlay, at its snapshot.
impl<P: Protocol, T: Transaction<P>> CatalogView for DatabaseWorker<P, T> {
    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.overlay.table(name)
    }

    fn table_by_id(&self, id: TableId) -> Option<Arc<Table>> {
        self.overlay.table_by_id(id)
    }

    fn routine(&self, id: RoutineId) -> Option<Arc<Routine>> {
        self.overlay.routine(id)
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        self.overlay.routines_named(name)
    }

    fn sequence_named(&self, name: &TableName) -> Option<Arc<Sequence>> {
        self.overlay.sequence_named(name)
    }

    fn type_named(&self, name: &TableName) -> Option<Arc<StoredType>> {
        self.overlay.type_named(name)
    }

    fn type_by_id(&self, id: u32) -> Option<Arc<StoredType>> {
        self.overlay.type_by_id(id)
    }

    fn schemas(&self) -> Arc<Schemas> {
        self.overlay.schemas()
    }

    fn comments(&self) -> Arc<Comments> {
        self.overlay.comments()
    }

    fn access(&self) -> Arc<Access> {
        self.overlay.access()
    }

    fn catalog_version(&self) -> Option<u64> {
        let is_old = self.transaction.old_snapshot().is_some();
        self.overlay.catalog_version().filter(|_| !is_old)
    }

    fn old_snapshot(&self) -> Option<u64> {
        self.transaction.old_snapshot()
    }

    fn temporary_schema(&self) -> Option<&str> {
        self.overlay.temporary_schema()
    }

    fn compilations(&self) -> &Compilations {
        self.overlay.compilations()
    }
}
