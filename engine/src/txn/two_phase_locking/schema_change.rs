//! Schemas that are created, dropped and renamed inside a transaction: names that stay private to it until it
//! commits.
//!
//! A transaction that makes, moves or drops something in a schema locks the schema by `IntentWrite` until the
//! end of the transaction, and checks that it is there. A transaction that drops or renames a schema locks it
//! by `Write` before it checks what is in it, and then checks again that it is empty. So nothing is ever left
//! in a dropped schema.

use std::sync::Arc;

use hyades_types::definition::{CatalogChange, SchemaId};
use hyades_types::error::{Abort, Error};
use hyades_types::search_path;

use super::resource::Resource;
use super::{LockingTransaction, NameChange, UndoAction};
use crate::protocol::Protocol;
use crate::storage::catalog::{CatalogView, Schemas, duplicate_schema};
use crate::txn::lock_mode::LockMode;
use crate::txn::{Flow, Interrupt};

fn stale() -> Interrupt {
    Interrupt::Failed(Error::Abort(Abort::StalePlan))
}

impl<P: Protocol> LockingTransaction<P> {
    /// Locks the schema that something leaves. This transaction may already have renamed it.
    pub(super) fn lock_schema_of(&mut self, name: &str) -> Flow<()> {
        match search_path::is_temporary(name) {
            true => Ok(()),
            false => self.lock(Resource::schema(name), LockMode::IntentWrite).map(|_| ()),
        }
    }

    /// Locks the schema in which something is made. It must be there.
    pub(super) fn lock_schema_for(&mut self, name: &str) -> Flow<()> {
        self.lock_schema_of(name)?;
        let is_there = search_path::is_temporary(name) || self.visible_schemas().get(name).is_some();
        if is_there { Ok(()) } else { Err(stale()) }
    }

    /// Keeps all of those transactions away.
    pub(super) fn lock_schema_alone(&mut self, name: &str) -> Flow<()> {
        self.lock(Resource::schema(name), LockMode::Write).map(|_| ())
    }

    pub(super) fn create_schema(&mut self, id: SchemaId, name: &str, change: &CatalogChange) -> Flow<()> {
        self.lock_new_schema(name)?;
        self.put_schema(id, name, change)
    }

    pub(super) fn rename_schema(&mut self, id: SchemaId, name: &str, change: &CatalogChange) -> Flow<()> {
        self.lock_old_schema(id)?;
        self.lock_new_schema(name)?;
        self.put_schema(id, name, change)
    }

    pub(super) fn drop_schema(&mut self, id: SchemaId, change: &CatalogChange) -> Flow<()> {
        let name = self.lock_old_schema(id)?;
        if self.has_anything_in(&name) {
            // The caller drops that first; this was created after it looked.
            return Err(stale());
        }
        self.note_change(UndoAction::Name, change)?;
        self.names.push(NameChange::DroppedSchema(id));
        Ok(())
    }

    fn put_schema(&mut self, id: SchemaId, name: &str, change: &CatalogChange) -> Flow<()> {
        self.note_change(UndoAction::Name, change)?;
        self.names.push(NameChange::PutSchema(id, name.to_owned()));
        Ok(())
    }

    fn lock_new_schema(&mut self, name: &str) -> Flow<()> {
        self.lock_schema_alone(name)?;
        match self.visible_schemas().get(name) {
            Some(_) => Err(duplicate_schema(name).into()),
            None => Ok(()),
        }
    }

    /// Locks a schema that is to be dropped or renamed, and returns its name.
    fn lock_old_schema(&mut self, id: SchemaId) -> Flow<String> {
        let name = self.visible_schemas().name(id).ok_or_else(stale)?.to_owned();
        self.lock_schema_alone(&name)?;
        if self.visible_schemas().get(&name) == Some(id) { Ok(name) } else { Err(stale()) }
    }

    fn has_anything_in(&self, schema: &str) -> bool {
        self.visible_tables().iter().any(|table| table.definition().name.schema == schema)
            || self.visible_sequences().iter().any(|sequence| sequence.definition.name.schema == schema)
            || self.visible_routines().iter().any(|routine| routine.definition.name.schema == schema)
            || self.visible_types().iter().any(|stored| stored.name().schema == schema)
    }

    pub(super) fn visible_schemas(&self) -> Arc<Schemas> {
        let mut schemas = self.shared.catalog.schemas();
        for change in &self.names {
            match change {
                NameChange::PutSchema(id, name) => Arc::make_mut(&mut schemas).put(*id, name),
                NameChange::DroppedSchema(id) => Arc::make_mut(&mut schemas).remove(*id),
                _ => {}
            }
        }
        schemas
    }
}
