//! The routines of the catalog, and changes to them, as `storage::catalog` does it for tables.

use std::sync::Arc;

use hyades_types::definition::{RoutineDefinition, RoutineId, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::SqlType;

use super::{Catalog, CatalogView, corrupt};
use crate::storage::stored_routine::Routine;

impl Catalog {
    /// Keeps ids up to this one from being given out; for ids read from logs and checkpoints.
    pub fn reserve_routine_id(&self, id: RoutineId) {
        self.reserve_id(id.0);
    }

    /// All committed routines, ordered by schema, name and id.
    pub fn routines(&self) -> Vec<Arc<Routine>> {
        let snapshot = self.snapshot();
        let mut routines: Vec<Arc<Routine>> = snapshot.routines.values().map(Arc::clone).collect();
        routines.sort_unstable_by(|one, other| {
            (&one.definition.name, one.id).cmp(&(&other.definition.name, other.id))
        });
        routines
    }

    /// Publishes a new routine in place of the one it replaces. 42723 if another routine has its name and
    /// input types.
    pub fn add_routine(&self, routine: Arc<Routine>, replaces: Option<RoutineId>) -> Result<()> {
        let mut snapshot = self.change_names();
        let named = snapshot.routines_by_name.get(&routine.definition.name);
        let existing = named.into_iter().flatten().find(|other| {
            Some(other.id) != replaces && other.definition.is_same_routine(&routine.definition)
        });
        if existing.is_some() {
            return Err(duplicate_routine(&routine.definition));
        }
        if snapshot.routines.contains_key(&routine.id) {
            return Err(Error::corrupt(format!("routine id {} is used twice", routine.id.0)));
        }
        self.reserve_routine_id(routine.id);
        let snapshot = Arc::make_mut(&mut snapshot);
        if let Some(replaced) = replaces {
            snapshot.remove_routine(replaced);
            snapshot.hand_on_comments(replaced.0, routine.id.0);
        }
        snapshot
            .routines_by_name
            .entry(routine.definition.name.clone())
            .or_default()
            .push(Arc::clone(&routine));
        snapshot.routines.insert(routine.id, routine);
        self.count_change();
        Ok(())
    }

    /// Publishes a routine in place of that of the same id: only its types have changed.
    pub fn retype_routine(&self, routine: Arc<Routine>) {
        let mut snapshot = self.change_names();
        if !snapshot.routines.contains_key(&routine.id) {
            return;
        }
        let snapshot = Arc::make_mut(&mut snapshot);
        snapshot.remove_routine(routine.id);
        snapshot.former_routines.remove(&routine.id);
        let named = snapshot.routines_by_name.entry(routine.definition.name.clone()).or_default();
        named.push(Arc::clone(&routine));
        snapshot.routines.insert(routine.id, routine);
        self.count_change();
    }

    /// Takes a routine out and marks it dropped. Sessions that are running it may go on.
    pub fn remove_routine(&self, id: RoutineId) -> Option<Arc<Routine>> {
        let mut snapshot = self.change_names();
        if !snapshot.routines.contains_key(&id) {
            return None;
        }
        let snapshot = Arc::make_mut(&mut snapshot);
        let removed = snapshot.remove_routine(id);
        snapshot.forget_comments(id.0);
        self.count_change();
        removed
    }

    /// The name of a routine that was dropped or replaced since the database was opened.
    pub fn former_routine(&self, id: RoutineId) -> Option<String> {
        self.tables.read().former_routines.get(&id).cloned()
    }

    pub(super) fn apply_create_routine(
        &self,
        id: RoutineId,
        definition: &RoutineDefinition,
        replaces: Option<RoutineId>,
    ) -> Result<()> {
        if let Some(replaced) = replaces {
            self.existing_routine(replaced)?;
        }
        self.add_routine(Arc::new(Routine::new(id, definition.clone())), replaces).map_err(corrupt)
    }

    pub(super) fn apply_drop_routine(&self, id: RoutineId) -> Result<()> {
        self.existing_routine(id)?;
        self.remove_routine(id);
        Ok(())
    }

    fn existing_routine(&self, id: RoutineId) -> Result<Arc<Routine>> {
        CatalogView::routine(self, id)
            .ok_or_else(|| Error::corrupt(format!("the log changes routine {}, which does not exist", id.0)))
    }
}

impl super::Snapshot {
    fn remove_routine(&mut self, id: RoutineId) -> Option<Arc<Routine>> {
        let routine = self.routines.remove(&id)?;
        let definition = &routine.definition;
        self.former_routines.insert(id, format!("{} {}", definition.kind.word(), definition.signature()));
        routine.mark_dropped();
        let name: &TableName = &routine.definition.name;
        if let Some(named) = self.routines_by_name.get_mut(name) {
            named.retain(|other| other.id != id);
            if named.is_empty() {
                self.routines_by_name.remove(name);
            }
        }
        Some(routine)
    }
}

/// `function "f" already exists with same argument types`, which PostgreSQL says of procedures too.
pub fn duplicate_routine(definition: &RoutineDefinition) -> Error {
    if let Some((source, target)) = definition.cast_types() {
        return duplicate_cast(source, target);
    }
    let message = format!("function \"{}\" already exists with same argument types", definition.name.name);
    Error::input(sqlstate::DUPLICATE_FUNCTION, message)
}

/// 42710: there is a cast between these types.
pub fn duplicate_cast(source: SqlType, target: SqlType) -> Error {
    let (source, target) = (source.base_name(), target.base_name());
    let message = format!("cast from type {source} to type {target} already exists");
    Error::input(sqlstate::DUPLICATE_OBJECT, message)
}
