//! The databases of an engine. Each has a catalog of its own, with its own schemas, names, rights and
//! versions. Common to all are the numbers of objects, so that logs and checkpoints need not say which
//! database a row belongs to, and the roles, which every catalog has.
//!
//! Some exist from the beginning, without a log record that says so: [`DatabaseDefinition::initial`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crossbeam_epoch::Guard;
use hyades_types::definition::{
    CatalogChange, DatabaseDefinition, DatabaseId, RoutineId, SequenceId, SequenceState, TableId,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::sequence::Sequence;
use parking_lot::{Mutex, RwLock};

use super::catalog::{AccessChange, Catalog, CatalogView, CommittedTables, corrupt};
use super::common::Common;
use super::opening::Opening;
use super::stored_routine::Routine;
use super::table::Table;

/// All databases of an engine.
pub struct Databases {
    common: Arc<Common>,
    /// The catalog of [`DatabaseId::FIRST`], which is never dropped.
    first: Arc<Catalog>,
    known: RwLock<Arc<Known>>,
    /// Held while databases or roles change: every catalog has the same roles.
    changing: Mutex<()>,
    /// How many slots the histories of earlier replays have used ([`Histories::of_replay`]).
    ///
    /// [`Histories::of_replay`]: super::history::Histories::of_replay
    replay_slots: Arc<AtomicUsize>,
}

type Known = BTreeMap<DatabaseId, StoredDatabase>;

/// One database: what is said of it, and what is in it.
#[derive(Clone)]
pub struct StoredDatabase {
    pub definition: Arc<DatabaseDefinition>,
    pub catalog: Arc<Catalog>,
}

impl Default for Databases {
    fn default() -> Databases {
        Databases::new()
    }
}

impl Databases {
    /// Those that exist from the beginning.
    pub fn new() -> Databases {
        let common: Arc<Common> = Arc::default();
        let first = Arc::new(Catalog::sharing(Arc::clone(&common)));
        let initial = DatabaseDefinition::initial().map(|(id, definition)| {
            let catalog = match id {
                DatabaseId::FIRST => Arc::clone(&first),
                _ => Arc::new(Catalog::sharing(Arc::clone(&common))),
            };
            (id, StoredDatabase { definition: Arc::new(definition), catalog })
        });
        let known = RwLock::new(Arc::new(BTreeMap::from(initial)));
        Databases { common, first, known, changing: Mutex::default(), replay_slots: Arc::default() }
    }

    /// The catalog of [`DatabaseId::FIRST`].
    pub fn first(&self) -> &Arc<Catalog> {
        &self.first
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read())
    }

    /// All databases, ordered by their numbers.
    pub fn all(&self) -> Vec<(DatabaseId, StoredDatabase)> {
        self.known().iter().map(|(id, stored)| (*id, stored.clone())).collect()
    }

    /// The database with this number.
    pub fn get(&self, id: DatabaseId) -> Option<StoredDatabase> {
        self.known.read().get(&id).cloned()
    }

    /// The database of this name, with its number.
    pub fn named(&self, name: &str) -> Option<(DatabaseId, StoredDatabase)> {
        let known = self.known();
        let (id, stored) = known.iter().find(|(_, stored)| stored.definition.name == name)?;
        Some((*id, stored.clone()))
    }

    /// The catalog of a database.
    pub fn catalog(&self, id: DatabaseId) -> Option<Arc<Catalog>> {
        self.known.read().get(&id).map(|stored| Arc::clone(&stored.catalog))
    }

    /// A catalog for a new database, without objects and without roles.
    /// See the field.
    pub(crate) fn replay_slots(&self) -> &Arc<AtomicUsize> {
        &self.replay_slots
    }

    pub(crate) fn new_catalog(&self) -> Catalog {
        Catalog::sharing(Arc::clone(&self.common))
    }

    /// Publishes a new database, or another definition of one. A new one gets this catalog, with the roles
    /// that there are now.
    ///
    /// # Errors
    /// 42P04 if another database has the name.
    pub(crate) fn put(
        &self,
        id: DatabaseId,
        definition: DatabaseDefinition,
        catalog: Option<Arc<Catalog>>,
    ) -> Result<()> {
        let _changing = self.changing.lock();
        let mut known = self.known();
        if known.iter().any(|(other, stored)| *other != id && stored.definition.name == definition.name) {
            return Err(duplicate_database(&definition.name));
        }
        self.common.reserve_id(id.0);
        let catalog = match (known.get(&id), catalog) {
            (Some(stored), _) => Arc::clone(&stored.catalog),
            (None, Some(catalog)) => catalog,
            (None, None) => Arc::new(self.new_catalog()),
        };
        if !known.contains_key(&id) {
            catalog.take_roles(&self.first.access());
        }
        Arc::make_mut(&mut known).insert(id, StoredDatabase { definition: Arc::new(definition), catalog });
        *self.known.write() = known;
        Ok(())
    }

    /// Takes a database out; returns its catalog, whose tables are still to be discarded.
    pub(crate) fn remove(&self, id: DatabaseId) -> Option<Arc<Catalog>> {
        if id == DatabaseId::FIRST {
            return None;
        }
        let _changing = self.changing.lock();
        let mut known = self.known();
        let removed = Arc::make_mut(&mut known).remove(&id);
        *self.known.write() = known;
        removed.map(|stored| stored.catalog)
    }

    /// Changes rights in one database, or roles and settings in all of them.
    pub(crate) fn change_access(&self, database: DatabaseId, change: &AccessChange) {
        let _changing = self.changing.lock();
        let known = self.known();
        let is_meant = |id: &DatabaseId| change.is_common() || *id == database;
        let meant = known.iter().filter(|(id, _)| is_meant(id));
        meant.for_each(|(_, stored)| stored.catalog.change_access(change));
    }

    /// Applies a committed change, as [`Catalog::apply`] does.
    ///
    /// # Errors
    /// As [`Catalog::apply`].
    pub fn apply(&self, change: &CatalogChange, guard: &Guard) -> Result<()> {
        match change {
            CatalogChange::InDatabase { database, change } => self.existing(*database)?.apply(change, guard),
            CatalogChange::PutDatabase { id, definition } => {
                self.put(*id, definition.clone(), None).map_err(corrupt)
            }
            CatalogChange::DropDatabase { id } => {
                self.remove(*id).ok_or_else(|| missing(*id))?.mark_tables_dropped();
                Ok(())
            }
            CatalogChange::PutRole { .. }
            | CatalogChange::DropRole { .. }
            | CatalogChange::PutSettings { .. } => {
                let _changing = self.changing.lock();
                self.known().values().try_for_each(|stored| stored.catalog.apply(change, guard))
            }
            _ => self.first.apply(change, guard),
        }
    }

    fn existing(&self, id: DatabaseId) -> Result<Arc<Catalog>> {
        self.catalog(id).ok_or_else(|| missing(id))
    }

    /// The changes that lead from the initial databases to these, their contents left out.
    pub(crate) fn changes_from_initial(&self) -> Vec<CatalogChange> {
        let (first, known) = (DatabaseDefinition::initial(), self.known());
        let gone = first.iter().filter(|(id, _)| !known.contains_key(id));
        let mut changes: Vec<CatalogChange> =
            gone.map(|(id, _)| CatalogChange::DropDatabase { id: *id }).collect();
        let is_initial = |id: &DatabaseId, definition: &DatabaseDefinition| {
            first.iter().any(|(other, initial)| other == id && initial == definition)
        };
        let was_there = |id: &DatabaseId| first.iter().any(|(other, _)| other == id);
        let put: Vec<(DatabaseId, DatabaseDefinition)> = (known.iter())
            .filter(|(id, stored)| !is_initial(id, &stored.definition))
            .map(|(id, stored)| (*id, DatabaseDefinition::clone(&stored.definition)))
            .collect();
        // Two initial ones may have exchanged their names, and a new one may have the name of an initial one.
        for (id, definition) in put.iter().filter(|(id, _)| was_there(id)) {
            let name = format!("{}\0", definition.name);
            let definition = DatabaseDefinition { name, ..definition.clone() };
            changes.push(CatalogChange::PutDatabase { id: *id, definition });
        }
        let put = put.into_iter().map(|(id, definition)| CatalogChange::PutDatabase { id, definition });
        changes.extend(put);
        changes
    }

    /// The committed table with this number, in whatever database.
    pub fn by_id(&self, id: TableId) -> Option<Arc<Table>> {
        self.known.read().values().find_map(|stored| stored.catalog.by_id(id))
    }

    /// The committed tables of all databases.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        self.known().values().flat_map(|stored| stored.catalog.tables()).collect()
    }

    /// The committed routines of all databases.
    pub fn routines(&self) -> Vec<Arc<Routine>> {
        self.known().values().flat_map(|stored| stored.catalog.routines()).collect()
    }

    /// The committed sequences of all databases.
    pub fn sequences(&self) -> Vec<Arc<Sequence>> {
        self.known().values().flat_map(|stored| stored.catalog.sequences()).collect()
    }

    /// The catalog of the database that a routine is in.
    pub fn catalog_of_routine(&self, id: RoutineId) -> Option<Arc<Catalog>> {
        let known = self.known.read();
        let has_it = |stored: &&StoredDatabase| stored.catalog.routine(id).is_some();
        known.values().find(has_it).map(|stored| Arc::clone(&stored.catalog))
    }

    /// The name of a routine that was dropped or replaced, for messages.
    pub(crate) fn former_routine(&self, id: RoutineId) -> Option<String> {
        self.known().values().find_map(|stored| stored.catalog.former_routine(id))
    }

    /// As [`Catalog::raise_sequence`], in whatever database it is.
    pub(crate) fn raise_sequence(&self, id: SequenceId, state: SequenceState) {
        self.known.read().values().for_each(|stored| stored.catalog.raise_sequence(id, state));
    }

    /// All ids below this one have been given out.
    pub(crate) fn next_id(&self) -> u32 {
        self.common.next_id()
    }

    /// Keeps ids below this one from being given out.
    pub(crate) fn reserve_ids_below(&self, id: u32) {
        self.common.reserve_ids_below(id);
    }

    /// See `Common`.
    pub(crate) fn changes(&self) -> &Opening {
        &self.common.changes
    }

    /// What is committed, with the committed states of the tables that outlive a session. No transaction that
    /// has changed a catalog commits meanwhile.
    pub(crate) fn committed(&self) -> (Databases, CommittedTables) {
        let common = Arc::new(Common::default());
        common.reserve_ids_below(self.next_id());
        let mut tables = Vec::new();
        let known = self.known();
        let frozen = known.iter().map(|(id, stored)| {
            let (catalog, own) = stored.catalog.committed(&common);
            tables.extend(own);
            (*id, StoredDatabase { catalog: Arc::new(catalog), ..stored.clone() })
        });
        let known: Known = frozen.collect();
        let first = match known.get(&DatabaseId::FIRST) {
            Some(stored) => Arc::clone(&stored.catalog),
            None => Arc::new(Catalog::sharing(Arc::clone(&common))),
        };
        let known = RwLock::new(Arc::new(known));
        (Databases { common, first, known, changing: Mutex::default(), replay_slots: Arc::default() }, tables)
    }
}

impl Catalog {
    /// Its database is gone.
    fn mark_tables_dropped(&self) {
        self.tables().iter().for_each(|table| drop(self.remove(table.id())));
    }
}

fn missing(id: DatabaseId) -> Error {
    Error::corrupt(format!("the log changes database {}, which does not exist", id.0))
}

/// `database "x" already exists`.
pub fn duplicate_database(name: &str) -> Error {
    Error::input(sqlstate::DUPLICATE_DATABASE, format!("database \"{name}\" already exists"))
}
