//! The meaning of names: the current search path, and temporary relations.
//!
//! A statement is compiled under one meaning of names, which has a *stamp*. It is compiled again when the
//! session has another meaning. If a name without a schema can resolve to one schema only, no catalog
//! change gives it another meaning. If there are several, any catalog change may, and so may any change by
//! the session itself.
//!
//! While the session reads at a snapshot older than a unique index, statements are compiled without relying
//! on that index, and under a stamp of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyades_engine::storage::catalog::NewId;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{RoutineDefinition, SequenceId, TableDefinition, TableId, TableName};
use hyades_types::search_path::{self, SearchPath, TEMPORARY, is_system};
use parking_lot::Mutex;

use super::Viewpoint;
use crate::statement::kept_names::full_name;
use crate::statement::names::quoted;
use crate::statement::{OnCommit, QualifiedName};

/// The stamp of the default path, with which sessions begin.
const DEFAULT_STAMP: u64 = 0;
/// Stamps are never reused, so statements of different sessions can be told apart.
static NEXT_STAMP: AtomicU64 = AtomicU64::new(DEFAULT_STAMP + 1);

/// The time of a snapshot, the version of the catalog, and the stamp of the path.
type OldSnapshot = (u64, u64, u64);

fn next_stamp() -> u64 {
    NEXT_STAMP.fetch_add(1, Ordering::Relaxed)
}

/// The meaning of names without a schema in a session.
pub(crate) struct Meaning {
    pub(crate) path: Arc<SearchPath>,
    stamp: u64,
    /// The current snapshot, if some unique index is newer, and the stamp of what is compiled meanwhile.
    old_snapshot: Option<(OldSnapshot, u64)>,
    /// The version of the catalog and the number of own changes that the stamp is for, where it depends on
    /// them.
    seen: (u64, u64),
    own_changes: u64,
    /// The version of the schemas and the number of own changes that the path is for.
    schemas: (u64, u64),
    /// Whether the transaction has changed the schema.
    has_changed: bool,
    /// A table that a compilation has found while another transaction had changed it.
    pub(crate) unsettled: Mutex<Option<Arc<Table>>>,
    /// The schema of the session's temporary relations, if it has had any.
    pub(crate) temporary: Option<String>,
    /// Whether the path has changed since the session last asked.
    pub(crate) has_new_path: bool,
    /// Temporary tables that a commit empties or drops.
    pub(crate) at_commit: Vec<(TableId, OnCommit)>,
}

impl Default for Meaning {
    fn default() -> Meaning {
        Meaning {
            path: Arc::default(),
            stamp: DEFAULT_STAMP,
            old_snapshot: None,
            seen: (0, 0),
            own_changes: 0,
            schemas: (0, 0),
            has_changed: false,
            unsettled: Mutex::default(),
            temporary: None,
            has_new_path: false,
            at_commit: Vec::new(),
        }
    }
}

impl Viewpoint {
    pub(crate) fn search_path(&self) -> &SearchPath {
        &self.meaning.path
    }

    /// Brings the meaning of names up to date.
    #[inline]
    pub(crate) fn settle_names(&mut self) {
        let schemas = (self.catalog.schema_version(), self.meaning.own_changes);
        if self.meaning.schemas != schemas {
            self.meaning.schemas = schemas;
            self.refresh_path();
        }
        if !self.meaning.path.is_plain() {
            self.settle_open_names();
        }
        let old_snapshot = self.worker.catalog_view().old_snapshot();
        if old_snapshot.is_some() || self.meaning.old_snapshot.is_some() {
            self.settle_old_snapshot(old_snapshot);
        }
    }

    #[cold]
    fn settle_old_snapshot(&mut self, time: Option<u64>) {
        let old = time.map(|time| (time, self.catalog.version(), self.meaning.stamp));
        if self.meaning.old_snapshot.map(|(known, _)| known) != old {
            self.meaning.old_snapshot = old.map(|old| (old, next_stamp()));
        }
    }

    /// The stamp for whatever is compiled now.
    #[inline]
    pub(crate) fn stamp(&self) -> u64 {
        self.meaning.old_snapshot.map_or(self.meaning.stamp, |(_, stamp)| stamp)
    }

    /// The stamp for what was compiled again in the middle of a statement. If the statement's snapshot has
    /// become older than a unique index, the plan is valid for this snapshot only.
    pub(crate) fn stamp_of_recompiled(&self) -> u64 {
        let has_become_old =
            self.meaning.old_snapshot.is_none() && self.worker.catalog_view().old_snapshot().is_some();
        if has_become_old { next_stamp() } else { self.stamp() }
    }

    #[cold]
    fn settle_open_names(&mut self) {
        let seen = (self.catalog.version(), self.meaning.own_changes);
        if std::mem::replace(&mut self.meaning.seen, seen) != seen {
            self.meaning.stamp = next_stamp();
        }
    }

    /// Computes the path from the setting and the existing schemas.
    pub(crate) fn refresh_path(&mut self) {
        let known = self.schemas();
        // As in PostgreSQL: objects in a schema that the session may not use are found by their full name
        // only.
        let is_there = |schema: &String| {
            schema == TEMPORARY
                || is_system(schema)
                || known.get(schema).is_some_and(|id| self.uses_schema(id.0))
        };
        let mut schemas: Vec<String> = Vec::new();
        for schema in self.settings.search_path().into_iter().filter(is_there) {
            if !schemas.contains(&schema) {
                schemas.push(schema);
            }
        }
        let path = SearchPath::new(schemas, self.meaning.temporary.clone());
        if path == *self.meaning.path {
            return;
        }
        let is_default = path == SearchPath::default() && !self.meaning.has_changed;
        self.meaning.stamp = if is_default { DEFAULT_STAMP } else { next_stamp() };
        self.meaning.path = Arc::new(path);
        self.environment.sequences.get_mut().path = Arc::clone(&self.meaning.path);
        self.meaning.has_new_path = true;
    }

    /// Grows with every schema change of the session's transaction, when such changes are rolled back, and
    /// when a transaction with such changes ends.
    pub(crate) fn own_changes(&self) -> u64 {
        self.meaning.own_changes
    }

    /// Records that the transaction has changed the schema. Plans compiled earlier do not know of this: for
    /// other transactions, and for their plans, a table that this transaction has dropped is unchanged.
    pub(crate) fn note_own_change(&mut self) {
        self.meaning.own_changes += 1;
        self.meaning.stamp = next_stamp();
        self.meaning.has_changed = true;
    }

    /// Records that such a change has been rolled back, possibly in part.
    pub(crate) fn note_taken_back(&mut self) {
        if self.meaning.has_changed {
            self.meaning.own_changes += 1;
            self.meaning.stamp = next_stamp();
        }
    }

    /// Records that the transaction is over.
    pub(crate) fn settle_own_changes(&mut self) {
        self.note_taken_back();
        self.meaning.has_changed = false;
    }

    /// Whether the catalog shows this name. It does not show temporary relations of other sessions.
    pub(crate) fn shows(&self, name: &TableName) -> bool {
        !search_path::is_temporary(&name.schema) || self.meaning.temporary.as_ref() == Some(&name.schema)
    }

    /// The relation that a name means. If there is none, the name to use in messages.
    pub(crate) fn meant(&self, name: &QualifiedName) -> TableName {
        self.search_path().find(name.schema.as_deref(), &name.name, |name| self.is_relation(name))
    }

    /// The name of a relation for messages, with its schema if it is not found without.
    pub(crate) fn shown(&self, name: &TableName) -> String {
        let is_found = self.search_path().find(None, &name.name, |name| self.is_relation(name)) == *name;
        if is_found { quoted(&name.name) } else { full_name(name) }
    }

    /// The same for a routine, with its argument types.
    pub(crate) fn shown_signature(&self, definition: &RoutineDefinition) -> String {
        let name = &definition.name;
        let types = definition.identity();
        let hides = |schema: &&str| {
            let other = TableName { schema: (*schema).to_owned(), name: name.name.clone() };
            self.worker.routines_named(&other).iter().any(|one| one.definition.identity() == types)
        };
        let is_found = self.search_path().searched_for_routines().find(hides) == Some(&name.schema);
        let types: Vec<String> = types.iter().map(|sql_type| sql_type.name().into_owned()).collect();
        let shown = if is_found { quoted(&name.name) } else { full_name(name) };
        format!("{shown}({})", types.join(","))
    }

    /// The name of a new relation, with the real name of the schema of temporary relations.
    pub(crate) fn own_name(&mut self, name: &TableName) -> TableName {
        if name.schema != TEMPORARY {
            return name.clone();
        }
        let number = self.number;
        let schema = self.meaning.temporary.get_or_insert_with(|| format!("pg_temp_{number}")).clone();
        if self.meaning.path.temporary().is_none() {
            self.worker.set_temporary_schema(&schema, self.account.keeper());
            self.refresh_path();
        }
        TableName { schema, name: name.name.clone() }
    }

    /// The same for a definition.
    pub(crate) fn own_definition(&mut self, definition: &TableDefinition) -> TableDefinition {
        TableDefinition { name: self.own_name(&definition.name), ..definition.clone() }
    }

    /// The number of a new table or index in this schema.
    pub(crate) fn new_table_id(&self, schema: &str) -> TableId {
        match search_path::is_temporary(schema) {
            true => TableId(self.worker.new_id(NewId::TemporaryTable)),
            false => TableId(self.worker.new_id(NewId::Object)),
        }
    }

    /// The number of a new sequence in this schema.
    pub(crate) fn new_sequence_id(&self, schema: &str) -> SequenceId {
        match search_path::is_temporary(schema) {
            true => SequenceId(self.worker.new_id(NewId::TemporarySequence)),
            false => SequenceId(self.worker.new_id(NewId::Object)),
        }
    }

    /// Drops the temporary relations at the end of the session. No transaction is open.
    pub(crate) fn forget_temporaries(&mut self) {
        if self.meaning.temporary.take().is_some() {
            self.worker.forget_temporaries();
            self.meaning.at_commit.clear();
            self.refresh_path();
        }
    }
}
