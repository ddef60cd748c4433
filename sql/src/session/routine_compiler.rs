//! The compiler of routines, as the engine uses it.

use std::sync::Arc;

use hyades_engine::procedure::compiled_routine::{CatalogView, RoutineCompiler};
use hyades_engine::procedure::ir::Procedure;
use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::stored_type::StoredType;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{RoutineDefinition, SchemaId, TableId, TableName};
use hyades_types::error::Result;
use hyades_types::sequence::Sequence;

use crate::bind::Tables;
use crate::plpgsql::routine_body::{When, compile};

/// Compiles routines for sessions and for replay.
#[derive(Debug, Default)]
pub(super) struct PlpgsqlCompiler;

impl RoutineCompiler for PlpgsqlCompiler {
    fn compile(&self, routine: &RoutineDefinition, catalog: &dyn CatalogView) -> Result<Procedure> {
        let _compilation = catalog.compilations().begin();
        compile(routine, &CatalogTables { view: catalog, compiler: self }, When::Called)
    }
}

/// The tables and other objects that a catalog shows.
struct CatalogTables<'a> {
    view: &'a dyn CatalogView,
    compiler: &'a dyn RoutineCompiler,
}

impl Tables for CatalogTables<'_> {
    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.view.table(name)
    }

    fn by_id(&self, id: TableId) -> Option<Arc<Table>> {
        self.view.table_by_id(id)
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        self.view.routines_named(name)
    }

    fn sequence(&self, name: &TableName) -> Option<Arc<Sequence>> {
        self.view.sequence_named(name)
    }

    fn type_named(&self, name: &TableName) -> Option<Arc<StoredType>> {
        self.view.type_named(name)
    }

    fn type_by_id(&self, id: u32) -> Option<Arc<StoredType>> {
        self.view.type_by_id(id)
    }

    fn schema(&self, name: &str) -> Option<SchemaId> {
        self.view.schemas().get(name)
    }

    fn temporary_schema(&self) -> Option<String> {
        self.view.temporary_schema().map(str::to_owned)
    }

    fn old_snapshot(&self) -> Option<u64> {
        self.view.old_snapshot()
    }

    fn procedure(&self, routine: &Routine) -> Result<Arc<Procedure>> {
        routine.procedure(Some(self.compiler), self.view)
    }
}
