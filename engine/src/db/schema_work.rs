//! A worker's operations on tables and routines: it forwards them to its transaction.

use std::sync::Arc;

use hyades_types::access::RoleId;
use hyades_types::definition::{
    CatalogChange, IndexDefinition, RoutineId, SequenceId, TableDefinition, TableId, TableName,
};
use hyades_types::error::Result;
use hyades_types::memory::Keeper;
use hyades_types::sequence::Sequence;

use super::call::choose;
use super::{DatabaseWorker, Flow, Logging, LoggingChoice, Schema, TableLock};
use crate::procedure::ir::Procedure;
use crate::protocol::Protocol;
use crate::storage::catalog::CatalogView;
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::storage::table::Table;
use crate::txn::Transaction;

impl<P: Protocol, T: Transaction<P>> Schema for DatabaseWorker<P, T> {
    fn change_catalog(&mut self, change: CatalogChange) -> Flow<()> {
        self.log_as_data();
        self.transaction.change_catalog(change)
    }

    fn build_index(
        &mut self,
        table: &Arc<Table>,
        planned: &Arc<TableDefinition>,
        index: &IndexDefinition,
    ) -> Flow<()> {
        self.log_as_data();
        self.transaction.build_index(table, planned, index)
    }

    fn lock_table(&mut self, table: &Arc<Table>) -> Flow<()> {
        self.log_as_data();
        self.transaction.lock_table(table)
    }

    fn lock_table_patiently(&mut self, table: &Arc<Table>) -> Flow<()> {
        self.log_as_data();
        self.transaction.lock_table_patiently(table)
    }

    fn lock_table_by_command(&mut self, table: &Arc<Table>, lock: TableLock, waits: bool) -> Flow<()> {
        self.log_as_data();
        self.transaction.lock_table_by_command(table, lock, waits)
    }

    fn lock_access(&mut self) -> Flow<()> {
        self.log_as_data();
        self.transaction.lock_access()
    }

    fn new_role_id(&self) -> RoleId {
        self.transaction.new_role_id()
    }

    fn lock_schema(&mut self, name: &str) -> Flow<()> {
        self.transaction.lock_schema(name)
    }

    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.transaction.table(name)
    }

    fn tables(&self) -> Vec<Arc<Table>> {
        self.transaction.tables()
    }

    fn routine(&self, id: RoutineId) -> Option<Arc<Routine>> {
        self.transaction.routine(id)
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        self.transaction.routines_named(name)
    }

    fn routines(&self) -> Vec<Arc<Routine>> {
        self.transaction.routines()
    }

    fn procedure(&self, routine: &Routine) -> Result<Arc<Procedure>> {
        routine.procedure(self.compiler.as_deref(), &self.transaction)
    }

    fn would_run(&self, routine: &Routine, procedure: &Procedure) -> bool {
        routine.would_run(procedure, &self.transaction)
    }

    fn logging_choice(&self, routine: &Routine, logging: Logging) -> LoggingChoice {
        match self.procedure(routine) {
            Ok(procedure) => choose(logging, P::LOGS_COMMANDS, &procedure),
            Err(error) => LoggingChoice::Data(error.to_string().into()),
        }
    }

    fn catalog_view(&self) -> &dyn CatalogView {
        &self.transaction
    }

    fn new_table_id(&self) -> TableId {
        self.transaction.new_table_id()
    }

    fn new_temporary_table_id(&self) -> TableId {
        self.transaction.new_temporary_table_id()
    }

    fn new_temporary_sequence_id(&self) -> SequenceId {
        self.transaction.new_temporary_sequence_id()
    }

    fn set_temporary_schema(&mut self, schema: &str, keeper: Keeper) {
        self.transaction.set_temporary_schema(schema, keeper);
    }

    fn forget_temporaries(&mut self) {
        assert!(!self.is_open, "temporary relations outlive every transaction");
        self.transaction.forget_temporaries();
    }

    fn new_routine_id(&self) -> RoutineId {
        self.transaction.new_routine_id()
    }

    fn sequences(&self) -> Vec<Arc<Sequence>> {
        self.transaction.sequences()
    }

    fn new_sequence_id(&self) -> SequenceId {
        self.transaction.new_sequence_id()
    }

    fn types(&self) -> Vec<Arc<StoredType>> {
        self.transaction.types()
    }

    fn new_type_ids(&self) -> (u32, u32) {
        self.transaction.new_type_ids()
    }
}
