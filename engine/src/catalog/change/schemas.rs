//! Schemas: created, dropped, renamed.
//!
//! A transaction that makes, moves or drops something in a schema locks the schema in `Extend` until its end,
//! and checks that the schema is there. A transaction that drops or renames a schema locks it in `Change`
//! before it checks what is in it, and then checks again that it is empty. So nothing is ever left in a
//! dropped schema.

use hyades_types::definition::SchemaId;
use hyades_types::search_path;

use super::{Applying, stale};
use crate::catalog::effect::Effect;
use crate::storage::catalog::{CatalogView, duplicate_schema};
use crate::txn::{Flow, Object, ObjectAccess, ObjectMode};

impl<T: ObjectAccess> Applying<'_, T> {
    /// Locks the schema that something leaves. This transaction may already have renamed it.
    pub(super) fn lock_schema_of(&mut self, name: &str) -> Flow<()> {
        match search_path::is_temporary(name) {
            true => Ok(()),
            false => self.lock(Object::Schema(name), ObjectMode::Extend),
        }
    }

    /// Locks the schema in which something is made. It must be there.
    pub(super) fn lock_schema_for(&mut self, name: &str) -> Flow<()> {
        self.lock_schema_of(name)?;
        let is_there = search_path::is_temporary(name) || self.overlay.schemas().get(name).is_some();
        if is_there { Ok(()) } else { Err(stale()) }
    }

    pub(super) fn create_schema(&mut self, id: SchemaId, name: &str) -> Flow<()> {
        self.lock_new_schema(name)?;
        self.put_schema(id, name)
    }

    pub(super) fn rename_schema(&mut self, id: SchemaId, name: &str) -> Flow<()> {
        self.lock_old_schema(id)?;
        self.lock_new_schema(name)?;
        self.put_schema(id, name)
    }

    pub(super) fn drop_schema(&mut self, id: SchemaId) -> Flow<()> {
        let name = self.lock_old_schema(id)?;
        if self.has_anything_in(&name) {
            // The caller drops that first; this was created after it looked.
            return Err(stale());
        }
        self.note()?;
        self.push(Effect::DroppedSchema(id));
        Ok(())
    }

    fn put_schema(&mut self, id: SchemaId, name: &str) -> Flow<()> {
        self.note()?;
        self.push(Effect::Schema(id, name.to_owned()));
        Ok(())
    }

    fn lock_new_schema(&mut self, name: &str) -> Flow<()> {
        self.lock(Object::Schema(name), ObjectMode::Change)?;
        match self.overlay.schemas().get(name) {
            Some(_) => Err(duplicate_schema(name).into()),
            None => Ok(()),
        }
    }

    /// Locks a schema that is to be dropped or renamed, and returns its name.
    fn lock_old_schema(&mut self, id: SchemaId) -> Flow<String> {
        let name = self.overlay.schemas().name(id).ok_or_else(stale)?.to_owned();
        self.lock(Object::Schema(&name), ObjectMode::Change)?;
        if self.overlay.schemas().get(&name) == Some(id) { Ok(name) } else { Err(stale()) }
    }

    fn has_anything_in(&self, schema: &str) -> bool {
        let overlay = &self.overlay;
        overlay.any_table(|table| table.definition().name.schema == schema)
            || overlay.sequences().iter().any(|sequence| sequence.definition.name.schema == schema)
            || overlay.routines().iter().any(|routine| routine.definition.name.schema == schema)
            || overlay.types().iter().any(|stored| stored.name().schema == schema)
    }
}
