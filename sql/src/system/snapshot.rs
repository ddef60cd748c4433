//! The state of the catalog when a statement that reads it begins.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use hyades_engine::db::{Engine, SeenDatabase};
use hyades_engine::procedure::compiled_routine::Schemas;
use hyades_engine::storage::catalog::Comments;
use hyades_engine::storage::stored_routine::Routine;
use hyades_engine::storage::stored_type::StoredType;
use hyades_engine::storage::table::Table;
use hyades_types::access::{Access, RoleId};
use hyades_types::advisory::AdvisoryKey;
use hyades_types::definition::{DatabaseId, TableDefinition};
use hyades_types::search_path::SearchPath;
use hyades_types::sequence::Sequence;
use hyades_types::value::SqlType;

use super::class::{self, Class};
use super::object_id;
use super::row::NamedRow;
use crate::settings::Shown;

/// Totals of what the sessions of the database have done and use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionTotals {
    pub(crate) sessions: u64,
    pub(crate) commits: u64,
    pub(crate) rollbacks: u64,
    pub(crate) deadlocks: u64,
    pub(crate) bytes: u64,
}

/// The sessions of the database.
pub(crate) trait SessionRows: Send + Sync {
    /// The rows of `pg_stat_activity`.
    fn rows(&self) -> Vec<NamedRow>;
    /// Totals of what those in one database, or all, have done and use.
    fn counts(&self, database: Option<DatabaseId>) -> SessionTotals;
    /// The rows of `pg_stat_ssl`.
    fn encryption_rows(&self) -> Vec<NamedRow>;
}

/// An advisory lock for `pg_locks`.
pub(crate) struct ShownLock {
    pub(crate) key: AdvisoryKey,
    /// The number of the session that holds it or waits for it.
    pub(crate) session: i32,
    pub(crate) is_shared: bool,
    pub(crate) is_granted: bool,
}

/// A cursor for `pg_cursors`.
pub(crate) struct ShownCursor {
    pub(crate) name: String,
    pub(crate) statement: String,
    pub(crate) is_holdable: bool,
    pub(crate) is_binary: bool,
    pub(crate) is_scrollable: bool,
    /// Microseconds, as in the clock of SQL.
    pub(crate) created: i64,
}

/// A statement of PREPARE for `pg_prepared_statements`.
pub(crate) struct ShownStatement {
    pub(crate) name: String,
    pub(crate) statement: String,
    /// Microseconds, as in the clock of SQL.
    pub(crate) prepared: i64,
    pub(crate) parameter_types: Vec<SqlType>,
}

/// The state that a session provides.
pub(crate) struct Facts {
    pub(crate) tables: Vec<Arc<Table>>,
    pub(crate) sequences: Vec<Arc<Sequence>>,
    /// Without casts.
    pub(crate) routines: Vec<Arc<Routine>>,
    pub(crate) casts: Vec<Arc<Routine>>,
    pub(crate) types: Vec<Arc<StoredType>>,
    pub(crate) comments: Arc<Comments>,
    pub(crate) settings: Vec<Shown>,
    pub(crate) locks: Vec<ShownLock>,
    pub(crate) cursors: Vec<ShownCursor>,
    pub(crate) prepared_statements: Vec<ShownStatement>,
    pub(crate) sessions: Arc<dyn SessionRows>,
    pub(crate) path: Arc<SearchPath>,
    pub(crate) schemas: Arc<Schemas>,
    pub(crate) engine: Arc<dyn Engine>,
    /// The name of the first superuser.
    pub(crate) user: String,
    pub(crate) access: Arc<Access>,
    /// The current role.
    pub(crate) role: RoleId,
    pub(crate) database: String,
    /// All databases.
    pub(crate) databases: Vec<SeenDatabase>,
    /// The number of the session's one.
    pub(crate) own_database: DatabaseId,
}

/// The catalog as one statement sees it.
pub(crate) struct System {
    pub(super) facts: Facts,
    /// The definitions of `facts.tables` when the statement began.
    pub(super) definitions: Vec<Arc<TableDefinition>>,
    pub(super) classes: Vec<Class>,
    /// Number and name.
    pub(super) schemas: Vec<(u32, String)>,
    /// Indexes into `classes`.
    by_oid: HashMap<u32, usize>,
}

impl System {
    pub(crate) fn new(facts: Facts) -> System {
        let definitions: Vec<Arc<TableDefinition>> =
            facts.tables.iter().map(|table| table.definition()).collect();
        let schemas = all_schemas(&facts.path, &facts.schemas);
        let classes = class::all(&facts.tables, &facts.sequences, &definitions, &facts.types, &schemas);
        let by_oid = classes.iter().enumerate().map(|(at, class)| (class.oid, at)).collect();
        System { facts, definitions, classes, schemas, by_oid }
    }

    /// The name of the schema with this number.
    pub(super) fn schema_name(&self, oid: u32) -> &str {
        self.schemas.iter().find(|(own, _)| *own == oid).map_or("", |(_, name)| name)
    }

    /// The number of a schema.
    pub(super) fn schema_oid(&self, name: &str) -> u32 {
        self.schemas.iter().find(|(_, own)| own == name).map_or(0, |(oid, _)| *oid)
    }

    /// The relation with this number.
    pub(super) fn class(&self, oid: u32) -> Option<&Class> {
        self.by_oid.get(&oid).map(|at| &self.classes[*at])
    }

    /// The definition of the table with this number.
    pub(super) fn definition(&self, oid: u32) -> Option<&Arc<TableDefinition>> {
        let at = self.facts.tables.iter().position(|table| table.id().0 == oid)?;
        self.definitions.get(at)
    }

    /// The tables of this database, with their numbers.
    pub(super) fn tables(&self) -> impl Iterator<Item = (u32, &Arc<TableDefinition>)> {
        self.facts.tables.iter().map(|table| table.id().0).zip(&self.definitions)
    }

    pub(super) fn routine(&self, oid: u32) -> Option<&Arc<Routine>> {
        self.facts.routines.iter().find(|routine| object_id::of_routine(routine.id) == oid)
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System").field("classes", &self.classes.len()).finish_non_exhaustive()
    }
}

/// The schemas of the catalog: number and name.
const SCHEMAS: [(u32, &str); 3] = [
    (object_id::PG_TOAST, "pg_toast"),
    (object_id::PG_CATALOG, "pg_catalog"),
    (object_id::INFORMATION_SCHEMA, "information_schema"),
];

/// All schemas: those of the catalog and the created ones, in the order of their numbers, and then the
/// schema of the session's temporary relations.
fn all_schemas(path: &SearchPath, created: &Schemas) -> Vec<(u32, String)> {
    let own = path.temporary().map(|name| (object_id::of_temporary_schema(name), name.to_owned()));
    let of_catalog = SCHEMAS.into_iter().map(|(oid, name)| (oid, name.to_owned()));
    let created = created.iter().map(|(name, id)| (id.0, name.to_owned()));
    let mut all: Vec<(u32, String)> = of_catalog.chain(created).collect();
    all.sort_unstable();
    all.extend(own);
    all
}
