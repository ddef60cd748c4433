//! The tables that a session sees, and binding over them.

use std::sync::Arc;

use hyades_engine::db::Worker;
use hyades_engine::procedure::compiled_routine::{Compilation, Schemas};
use hyades_engine::procedure::ir::Procedure;
use hyades_engine::storage::catalog::Catalog;
use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::stored_type::StoredType;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{SchemaId, TableId, TableName};
use hyades_types::error::{Error, Result};
use hyades_types::search_path::is_system;
use hyades_types::sequence::Sequence;
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{ArrayElement, SqlType};
use parking_lot::Mutex;

use super::Viewpoint;
use crate::bind::{BindContext, Binder, SchemaGate, Tables};
use crate::statement::deep_text::with_deep_stack;

/// The tables as the session's transaction sees them.
pub(crate) struct VisibleTables<'a> {
    catalog: &'a Catalog,
    worker: &'a dyn Worker,
    /// Where to note a table that another transaction has changed.
    unsettled: Option<&'a Mutex<Option<Arc<Table>>>>,
    /// Keeps tables unchanged while something is compiled.
    _compilation: Option<Compilation<'a>>,
}

impl Tables for VisibleTables<'_> {
    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        let in_transaction = self.worker.in_transaction();
        let found = if in_transaction { self.worker.table(name) } else { self.catalog.by_name(name) };
        if let (Some(table), Some(unsettled)) = (&found, self.unsettled)
            && self.worker.is_changed_by_others(table)
        {
            *unsettled.lock() = Some(Arc::clone(table));
        }
        found
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        self.worker.routines_named(name)
    }

    fn sequence(&self, name: &TableName) -> Option<Arc<Sequence>> {
        self.worker.catalog_view().sequence_named(name)
    }

    fn procedure(&self, routine: &Routine) -> Result<Arc<Procedure>> {
        self.worker.procedure(routine)
    }

    fn type_named(&self, name: &TableName) -> Option<Arc<StoredType>> {
        self.worker.catalog_view().type_named(name)
    }

    fn type_by_id(&self, id: u32) -> Option<Arc<StoredType>> {
        self.worker.catalog_view().type_by_id(id)
    }

    fn schema(&self, name: &str) -> Option<SchemaId> {
        self.worker.catalog_view().schemas().get(name)
    }

    fn temporary_schema(&self) -> Option<String> {
        self.worker.catalog_view().temporary_schema().map(str::to_owned)
    }

    fn old_snapshot(&self) -> Option<u64> {
        self.worker.catalog_view().old_snapshot()
    }

    fn by_id(&self, id: TableId) -> Option<Arc<Table>> {
        let tables = if self.worker.in_transaction() { self.worker.tables() } else { self.catalog.tables() };
        tables.into_iter().find(|table| table.id() == id)
    }
}

/// An index found by its name: its table, and its number unless it is the primary key's.
pub(crate) struct FoundIndex {
    pub(crate) table: Arc<Table>,
    pub(crate) index: Option<TableId>,
}

impl Viewpoint {
    fn visible(&self) -> VisibleTables<'_> {
        let (catalog, worker) = (self.catalog.as_ref(), self.worker.as_ref());
        VisibleTables { catalog, worker, unsettled: None, _compilation: None }
    }

    pub(crate) fn compiling(&self) -> VisibleTables<'_> {
        let compilation = self.worker.catalog_view().compilations().begin();
        let unsettled = Some(&self.meaning.unsettled);
        VisibleTables { unsettled, _compilation: Some(compilation), ..self.visible() }
    }

    pub(crate) fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.visible().table(name)
    }

    pub(crate) fn table_by_id(&self, id: TableId) -> Option<Arc<Table>> {
        self.visible().by_id(id)
    }

    pub(crate) fn visible_tables(&self) -> Vec<Arc<Table>> {
        match self.worker.in_transaction() {
            true => self.worker.tables(),
            false => self.catalog.tables(),
        }
    }

    /// Compiles something that is not a client's statement.
    pub(crate) fn with_context<T>(&self, compile: impl FnOnce(BindContext<'_>) -> Result<T>) -> Result<T> {
        let (tables, gate) = (self.compiling(), self.gate());
        let compiled = compile(BindContext { gate: gate.as_ref(), ..self.context(&tables) });
        match gate {
            Some(gate) => gate.outcome(compiled),
            None => compiled,
        }
    }

    /// What checks the schemas that a statement of the session names.
    fn gate(&self) -> Option<SchemaGate> {
        (!self.is_superuser()).then(|| SchemaGate::of(self.caller()))
    }

    pub(crate) fn context<'a>(&'a self, tables: &'a VisibleTables<'a>) -> BindContext<'a> {
        BindContext {
            tables,
            time_zone: self.settings.time_zone(),
            styles: self.settings.styles(),
            database: &self.environment.database,
            path: self.search_path(),
            shown_parameters: &[],
            gate: None,
        }
    }

    /// Binds something that is not part of a statement's text, so that its errors carry no position.
    pub(crate) fn with_binder<T>(&self, bind: impl FnOnce(&mut Binder<'_>) -> Result<T>) -> Result<T> {
        let bound = with_deep_stack(|| {
            self.with_context(|context: BindContext<'_>| bind(&mut Binder::new("", context, &[], 0)?))
        });
        bound.map_err(Error::without_position)
    }

    pub(crate) fn schemas(&self) -> Arc<Schemas> {
        self.worker.catalog_view().schemas()
    }

    /// The type with this `pg_type.oid`, if it is not built in.
    pub(crate) fn type_of_number(&self, oid: u32) -> Option<SqlType> {
        let view = self.worker.catalog_view();
        let own = || self.worker.types().into_iter().find(|stored| stored.definition.array_id == oid);
        if let Some(stored) = view.type_by_id(oid) {
            return stored.sql_type;
        }
        if let Some(stored) = own() {
            return Some(SqlType::Array(ArrayElement::of(stored.sql_type?)?));
        }
        let relation = CompositeType::relation_with(oid).map(TableId)?;
        let table = self.table_by_id(relation)?;
        let row_type = SqlType::Composite(table.definition().row_type(relation));
        match row_type.oid() == oid {
            true => Some(row_type),
            false => ArrayElement::of(row_type).map(SqlType::Array),
        }
    }

    /// Whether the session sees a schema of this name.
    pub(crate) fn has_schema(&self, name: &str) -> bool {
        let own = self.search_path().schema(name);
        is_system(own) || self.schemas().get(own).is_some() || self.search_path().temporary() == Some(own)
    }

    /// Whether a relation of this name exists.
    pub(crate) fn is_relation(&self, name: &TableName) -> bool {
        self.table(name).is_some() || self.sequence(name).is_some() || self.is_index(name)
    }

    pub(crate) fn index_named(&self, name: &TableName) -> Option<FoundIndex> {
        self.visible_tables().into_iter().find_map(|table| {
            let definition = table.definition();
            if definition.name.schema != name.schema {
                return None;
            }
            let index = definition.index_named(&name.name).map(|index| Some(index.id));
            let of_key =
                || definition.primary_key.as_ref().is_some_and(|key| key.name == name.name).then_some(None);
            let index = index.or_else(of_key)?;
            Some(FoundIndex { table, index })
        })
    }

    /// Whether an index of this name exists.
    pub(crate) fn is_index(&self, name: &TableName) -> bool {
        self.index_named(name).is_some()
    }

    pub(crate) fn sequence(&self, name: &TableName) -> Option<Arc<Sequence>> {
        self.worker.catalog_view().sequence_named(name)
    }
}
