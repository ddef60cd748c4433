//! The types of the catalog, and changes to them, as `storage::catalog` does it for tables.
//!
//! A table keeps the definitions of the types of its columns with its own. So ALTER TYPE gives the new
//! definition to every table that has such columns and to every routine that has such parameters. Rows stay
//! as they are (`hyades_types::enumeration`).

use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::definition::{TableName, TypeDefinition};
use hyades_types::enumeration::EnumLabels;
use hyades_types::error::{Error, Result, sqlstate};

use super::{Catalog, CatalogView, corrupt};
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;

impl Catalog {
    /// All committed types, ordered by schema and name.
    pub fn types(&self) -> Vec<Arc<StoredType>> {
        let snapshot = self.snapshot();
        let mut types: Vec<Arc<StoredType>> = snapshot.types.values().map(Arc::clone).collect();
        types.sort_by_cached_key(|stored| stored.name());
        types
    }

    /// Publishes a new type, or the new version of one. 42710 if another type has its name.
    pub fn put_type(&self, stored: Arc<StoredType>) -> Result<()> {
        let (id, name) = (stored.id(), stored.name());
        let mut snapshot = self.change_names();
        if snapshot.types_by_name.get(&name).is_some_and(|other| other.id() != id) {
            return Err(duplicate_type(&name));
        }
        let array_id = stored.definition.array_id;
        self.reserve_id(array_id.max(id));
        let snapshot = Arc::make_mut(&mut snapshot);
        if let Some(old) = snapshot.types.insert(id, Arc::clone(&stored)) {
            old.mark_superseded();
            snapshot.types_by_name.remove(&old.name());
        }
        snapshot.types_by_name.insert(name, stored);
        self.count_change();
        Ok(())
    }

    pub fn remove_type(&self, id: u32) -> Option<Arc<StoredType>> {
        let mut snapshot = self.change_names();
        if !snapshot.types.contains_key(&id) {
            return None;
        }
        let snapshot = Arc::make_mut(&mut snapshot);
        let stored = snapshot.types.remove(&id)?;
        stored.mark_superseded();
        snapshot.types_by_name.remove(&stored.name());
        snapshot.forget_comments(id);
        self.count_change();
        Some(stored)
    }

    pub(super) fn apply_create_type(&self, definition: &TypeDefinition) -> Result<()> {
        check_type(definition)?;
        if self.type_by_id(definition.id).is_some() {
            return Err(Error::corrupt(format!("type id {} is used twice", definition.id)));
        }
        self.put_type(Arc::new(StoredType::new(definition.clone()))).map_err(corrupt)
    }

    pub(super) fn apply_alter_type(&self, definition: &TypeDefinition, guard: &Guard) -> Result<()> {
        check_type(definition)?;
        self.existing_type(definition.id)?;
        for stored in self.types() {
            if stored.definition.uses_type(definition.id) {
                let made_of_it = stored.definition.with_type(definition);
                self.put_type(Arc::new(StoredType::new(made_of_it))).map_err(corrupt)?;
            }
        }
        for table in self.tables() {
            let old = table.definition();
            if old.uses_type(definition.id) {
                let state = table.state(guard).with_types(old.with_type(definition));
                self.exchange(&table, Arc::new(state), guard);
            }
        }
        for routine in self.routines() {
            if routine.definition.uses_type(definition.id) {
                let definition = routine.definition.with_type(definition);
                self.retype_routine(Arc::new(Routine::new(routine.id, definition)));
            }
        }
        self.put_type(Arc::new(StoredType::new(definition.clone()))).map_err(corrupt)
    }

    pub(super) fn apply_drop_type(&self, id: u32) -> Result<()> {
        self.existing_type(id)?;
        self.remove_type(id);
        Ok(())
    }

    fn existing_type(&self, id: u32) -> Result<Arc<StoredType>> {
        self.type_by_id(id)
            .ok_or_else(|| Error::corrupt(format!("the log changes type {id}, which does not exist")))
    }
}

/// Labels are searched by their positions, so these must ascend.
fn check_type(definition: &TypeDefinition) -> Result<()> {
    if definition.labels().is_none_or(EnumLabels::are_in_order) {
        return Ok(());
    }
    Err(Error::corrupt(format!("the labels of type {} are not in order", definition.id)))
}

/// `type "mood" already exists`.
pub fn duplicate_type(name: &TableName) -> Error {
    Error::input(sqlstate::DUPLICATE_OBJECT, format!("type \"{}\" already exists", name.name))
}
