//! Look-ups through the overlay: what the transaction has made of the catalog, over what is committed.

use std::sync::Arc;

use hyades_types::access::Access;
use hyades_types::definition::{DatabaseDefinition, DatabaseId, RoutineId, SequenceId, TableId, TableName};
use hyades_types::sequence::{OwnSequence, Sequence, SequenceCatalog};

use super::effect::Effect;
use super::overlay::Overlay;
use crate::storage::catalog::{AccessChange, CatalogView, Comments, Schemas, hand_on_rights, put_comment};
use crate::storage::compilations::Compilations;
use crate::storage::databases::StoredDatabase;
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::storage::table::Table;

/// A database as a transaction sees it.
pub struct SeenDatabase {
    pub id: DatabaseId,
    pub definition: Arc<DatabaseDefinition>,
    /// The roles, and the rights in it.
    pub access: Arc<Access>,
}

impl Overlay {
    pub(crate) fn tables(&self) -> Vec<Arc<Table>> {
        self.own.tables.over(self.catalog.tables())
    }

    /// Whether some table is like this.
    pub(super) fn any_table(&self, is_wanted: impl Fn(&Table) -> bool) -> bool {
        self.own.tables.present().any(|table| is_wanted(table))
            || self.catalog.any_table(|table| self.own.tables.leaves(table) && is_wanted(table))
    }

    pub(crate) fn routines(&self) -> Vec<Arc<Routine>> {
        self.own.routines.over(self.catalog.routines())
    }

    pub(super) fn sequence(&self, id: SequenceId) -> Option<Arc<Sequence>> {
        match self.own.sequences.get(id) {
            Some(own) => own.map(Arc::clone),
            None => SequenceCatalog::sequence(&*self.catalog, id),
        }
    }

    pub(crate) fn sequences(&self) -> Vec<Arc<Sequence>> {
        self.own.sequences.over(self.catalog.sequences())
    }

    pub(crate) fn types(&self) -> Vec<Arc<StoredType>> {
        self.own.types.over(self.catalog.types())
    }

    /// What the transaction has done to sequences, and to the names that they share, for its own functions;
    /// usually nothing.
    #[inline]
    pub(crate) fn own_sequences(&self) -> Vec<OwnSequence> {
        if self.changes.is_empty() { Vec::new() } else { self.changed_sequences() }
    }

    #[cold]
    fn changed_sequences(&self) -> Vec<OwnSequence> {
        let mut own = Vec::new();
        for change in &self.changes {
            match &change.effect {
                Effect::CreatedTable(name, _) => own.push(OwnSequence::Table(name.clone(), true)),
                Effect::DroppedTable(name, _) => own.push(OwnSequence::Table(name.clone(), false)),
                Effect::RenamedTable { from, to, .. } => {
                    own.push(OwnSequence::Table(from.clone(), false));
                    own.push(OwnSequence::Table(to.clone(), true));
                }
                Effect::Sequence(sequence) => own.push(OwnSequence::Changed(Arc::clone(sequence))),
                Effect::DroppedSequence(id, name) => own.push(OwnSequence::Dropped(*id, name.clone())),
                Effect::Schema(_, name) => own.push(OwnSequence::Schema(name.clone())),
                Effect::State { .. }
                | Effect::UnfinishedIndex(_)
                | Effect::FinishedIndex(_)
                | Effect::CreatedRoutine { .. }
                | Effect::RetypedRoutine(_)
                | Effect::DroppedRoutine(_)
                | Effect::Type(_)
                | Effect::DroppedType(_)
                | Effect::DroppedSchema(_)
                | Effect::Comment(..)
                | Effect::Access(..)
                | Effect::Database(..)
                | Effect::DroppedDatabase(_) => {}
            }
        }
        own
    }

    /// The roles, and the rights in a database of which this is committed.
    fn access_in(&self, database: DatabaseId, mut access: Arc<Access>) -> Arc<Access> {
        for change in &self.changes {
            match &change.effect {
                Effect::Access(_, change @ AccessChange::Role(..)) => {
                    change.put(Arc::make_mut(&mut access));
                }
                Effect::Access(other, change) if *other == database => {
                    change.put(Arc::make_mut(&mut access));
                }
                Effect::CreatedRoutine { routine, replaces: Some(replaced) } if database == self.database => {
                    hand_on_rights(&mut access, replaced.0, routine.id.0);
                }
                _ => {}
            }
        }
        access
    }

    /// The databases as the transaction sees them, each with its rights.
    pub(crate) fn databases(&self) -> Vec<SeenDatabase> {
        let mut seen = self.databases.all();
        for change in &self.changes {
            match &change.effect {
                Effect::Database(id, definition, catalog) => {
                    let definition = Arc::new(definition.clone());
                    match seen.iter_mut().find(|(other, _)| other == id) {
                        Some((_, stored)) => stored.definition = definition,
                        None => seen.extend(
                            catalog.clone().map(|catalog| (*id, StoredDatabase { definition, catalog })),
                        ),
                    }
                }
                Effect::DroppedDatabase(id) => seen.retain(|(other, _)| other != id),
                _ => {}
            }
        }
        let shown = seen.into_iter().map(|(id, StoredDatabase { definition, catalog })| SeenDatabase {
            id,
            definition,
            access: self.access_in(id, catalog.access()),
        });
        shown.collect()
    }

    /// The names that views, indexes and constraints share with tables and sequences: whether one is taken.
    pub(super) fn has_relation(&self, name: &TableName) -> bool {
        let has_part = |table: &Table| {
            let definition = table.definition();
            definition.name.schema == name.schema && definition.has_relation(&name.name)
        };
        self.table(name).is_some() || self.sequence_named(name).is_some() || self.any_table(has_part)
    }
}

impl CatalogView for Overlay {
    fn table(&self, name: &TableName) -> Option<Arc<Table>> {
        self.own.tables.find(name, self.catalog.by_name(name))
    }

    fn table_by_id(&self, id: TableId) -> Option<Arc<Table>> {
        let table = match self.own.tables.get(id) {
            Some(own) => own.map(Arc::clone),
            None => self.catalog.by_id(id),
        };
        table.filter(|table| !table.is_dropped())
    }

    fn routine(&self, id: RoutineId) -> Option<Arc<Routine>> {
        match self.own.routines.get(id) {
            Some(own) => own.map(Arc::clone),
            None => self.catalog.routine(id),
        }
    }

    fn routines_named(&self, name: &TableName) -> Vec<Arc<Routine>> {
        let mut routines = self.catalog.routines_named(name);
        if !self.own.routines.is_empty() {
            routines.retain(|routine| self.own.routines.leaves(routine));
            routines.extend(self.own.routines.named(name).map(Arc::clone));
        }
        routines
    }

    fn sequence_named(&self, name: &TableName) -> Option<Arc<Sequence>> {
        self.own.sequences.find(name, self.catalog.sequence_named(name))
    }

    fn type_named(&self, name: &TableName) -> Option<Arc<StoredType>> {
        self.own.types.find(name, self.catalog.type_named(name))
    }

    fn type_by_id(&self, id: u32) -> Option<Arc<StoredType>> {
        match self.own.types.get(id) {
            Some(own) => own.map(Arc::clone),
            None => self.catalog.type_by_id(id),
        }
    }

    fn schemas(&self) -> Arc<Schemas> {
        let mut schemas = self.catalog.schemas();
        for change in &self.changes {
            match &change.effect {
                Effect::Schema(id, name) => Arc::make_mut(&mut schemas).put(*id, name),
                Effect::DroppedSchema(id) => Arc::make_mut(&mut schemas).remove(*id),
                _ => {}
            }
        }
        schemas
    }

    fn comments(&self) -> Arc<Comments> {
        let mut comments = self.catalog.comments();
        for change in &self.changes {
            if let Effect::Comment(on, comment) = &change.effect {
                put_comment(Arc::make_mut(&mut comments), on, comment.as_ref());
            }
        }
        comments
    }

    fn access(&self) -> Arc<Access> {
        self.access_in(self.database, self.catalog.access())
    }

    fn catalog_version(&self) -> Option<u64> {
        (!self.is_shared).then(|| self.catalog.version())
    }

    fn temporary_schema(&self) -> Option<&str> {
        self.temporary_schema.as_deref()
    }

    fn compilations(&self) -> &Compilations {
        CatalogView::compilations(&*self.catalog)
    }
}
