//! The schemas of the catalog, each with a name and a number. The schema of an object is part of the object's
//! own name, and nothing leads from a schema to its objects.
//!
//! `public` exists from the beginning, without a log record that says so, and can be dropped like any other.
//! The schemas of temporary relations are not here: they come and go with their sessions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyades_types::definition::{CatalogChange, SchemaId};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::search_path::PUBLIC;

use super::{Catalog, CatalogView, corrupt};

/// The schemas by their names.
#[derive(Clone, Debug)]
pub struct Schemas(BTreeMap<String, SchemaId>);

impl Default for Schemas {
    fn default() -> Schemas {
        Schemas(BTreeMap::from([(PUBLIC.to_owned(), SchemaId::PUBLIC)]))
    }
}

impl Schemas {
    /// The schema of this name.
    pub fn get(&self, name: &str) -> Option<SchemaId> {
        self.0.get(name).copied()
    }

    /// Names and numbers, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, SchemaId)> {
        self.0.iter().map(|(name, id)| (name.as_str(), *id))
    }

    /// The name of the schema with this number.
    pub fn name(&self, id: SchemaId) -> Option<&str> {
        self.iter().find(|(_, own)| *own == id).map(|(name, _)| name)
    }

    /// The changes that lead from the initial schemas to these.
    pub fn changes(&self) -> Vec<CatalogChange> {
        let first = Schemas::default();
        let gone = first.iter().filter(|(_, id)| self.name(*id).is_none());
        let mut changes: Vec<CatalogChange> = gone.map(|(_, id)| CatalogChange::DropSchema { id }).collect();
        for (name, id) in self.iter() {
            let name = name.to_owned();
            match first.name(id) {
                Some(first) if first == name => {}
                Some(_) => changes.push(CatalogChange::RenameSchema { id, name }),
                None => changes.push(CatalogChange::CreateSchema { id, name }),
            }
        }
        // A name may have belonged to another schema first.
        changes.sort_by_key(|change| matches!(change, CatalogChange::CreateSchema { .. }));
        changes
    }

    /// Adds a schema, or gives it another name.
    pub(crate) fn put(&mut self, id: SchemaId, name: &str) {
        self.remove(id);
        self.0.insert(name.to_owned(), id);
    }

    pub(crate) fn remove(&mut self, id: SchemaId) {
        self.0.retain(|_, own| *own != id);
    }
}

impl Catalog {
    /// Grows with every committed change of the schemas.
    pub fn schema_version(&self) -> u64 {
        self.schema_version.load(Ordering::Acquire)
    }

    /// Publishes a new schema, or a new name for an existing one. 42P06 if the name is taken.
    pub fn put_schema(&self, id: SchemaId, name: &str) -> Result<()> {
        let mut snapshot = self.change_names();
        if snapshot.schemas.get(name).is_some_and(|other| other != id) {
            return Err(duplicate_schema(name));
        }
        self.reserve_id(id.0);
        let snapshot = Arc::make_mut(&mut snapshot);
        Arc::make_mut(&mut snapshot.schemas).put(id, name);
        self.count_schema_change();
        Ok(())
    }

    /// Takes a schema out.
    pub fn remove_schema(&self, id: SchemaId) {
        let mut snapshot = self.change_names();
        let snapshot = Arc::make_mut(&mut snapshot);
        Arc::make_mut(&mut snapshot.schemas).remove(id);
        snapshot.forget_comments(id.0);
        self.count_schema_change();
    }

    fn count_schema_change(&self) {
        self.schema_version.fetch_add(1, Ordering::AcqRel);
        self.count_change();
    }

    pub(super) fn apply_create_schema(&self, id: SchemaId, name: &str) -> Result<()> {
        if self.schemas().name(id).is_some() {
            return Err(Error::corrupt(format!("schema id {} is used twice", id.0)));
        }
        self.put_schema(id, name).map_err(corrupt)
    }

    pub(super) fn apply_rename_schema(&self, id: SchemaId, name: &str) -> Result<()> {
        self.existing_schema(id)?;
        self.put_schema(id, name).map_err(corrupt)
    }

    pub(super) fn apply_drop_schema(&self, id: SchemaId) -> Result<()> {
        self.existing_schema(id)?;
        self.remove_schema(id);
        Ok(())
    }

    fn existing_schema(&self, id: SchemaId) -> Result<()> {
        match self.schemas().name(id) {
            Some(_) => Ok(()),
            None => Err(Error::corrupt(format!("the log changes schema {}, which does not exist", id.0))),
        }
    }
}

/// `schema "s" already exists`.
pub fn duplicate_schema(name: &str) -> Error {
    Error::input(sqlstate::DUPLICATE_SCHEMA, format!("schema \"{name}\" already exists"))
}
