//! Types that are created, changed and dropped inside a transaction.
//!
//! A transaction that makes something that uses a type locks the type, so that it stays until that is there,
//! and is as it was when the statement was compiled. ALTER TYPE and DROP TYPE lock it against them. ALTER
//! TYPE changes every table that has columns of the type, which it locks against all others, and every
//! routine that has parameters of it.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::{CatalogChange, TableDefinition, TableName};
use hyades_types::enumeration::{EnumDefinition, EnumType};
use hyades_types::error::{Abort, Error};

use super::resource::Resource;
use super::{LockingTransaction, NameChange, UndoAction};
use crate::protocol::Protocol;
use crate::storage::catalog::{CatalogView, duplicate_type};
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::txn::lock_mode::LockMode;
use crate::txn::{Flow, Interrupt};

fn stale() -> Interrupt {
    Interrupt::Failed(Error::Abort(Abort::StalePlan))
}

impl<P: Protocol> LockingTransaction<P> {
    pub(super) fn create_type(&mut self, definition: &EnumDefinition, change: &CatalogChange) -> Flow<()> {
        let stored = Arc::new(StoredType::new(EnumType::new(definition.clone())));
        self.lock_new_type_name(&stored.name())?;
        self.note_change(UndoAction::Name, change)?;
        self.names.push(NameChange::PutType(stored));
        Ok(())
    }

    pub(super) fn alter_type(&mut self, definition: &EnumDefinition, change: &CatalogChange) -> Flow<()> {
        let enum_type = EnumType::new(definition.clone());
        let old = self.lock_changed_type(definition.id)?;
        if old.enum_type.definition().version != definition.previous {
            return Err(stale());
        }
        let stored = Arc::new(StoredType::new(enum_type));
        if stored.name() != old.name() {
            self.lock_new_type_name(&stored.name())?;
        }
        let users: Vec<_> = self
            .visible_tables()
            .into_iter()
            .filter(|table| table.definition().uses_type(enum_type))
            .collect();
        for table in &users {
            self.lock_everybody_out(table)?;
        }
        let mut routines = Vec::new();
        for routine in self.visible_routines() {
            if routine.definition.uses_type(enum_type) {
                self.lock(Resource::routine_name(&routine.definition.name), LockMode::Write)?;
                // It may have been dropped while the lock was waited for.
                routines.extend(CatalogView::routine(self, routine.id));
            }
        }
        self.note_change(UndoAction::Name, change)?;
        for table in users {
            let definition = table.definition().with_type(enum_type);
            let state = table.state(&epoch::pin()).with_types(definition);
            self.follow_state(table, state);
        }
        for routine in routines {
            let definition = routine.definition.with_type(enum_type);
            self.names.push(NameChange::RetypedRoutine(Arc::new(Routine::new(routine.id, definition))));
        }
        self.names.push(NameChange::PutType(stored));
        Ok(())
    }

    pub(super) fn drop_type(&mut self, id: u32, change: &CatalogChange) -> Flow<()> {
        let stored = self.lock_changed_type(id)?;
        if self.is_type_used(stored.enum_type) {
            // The caller drops what uses it first; this was created after it looked.
            return Err(stale());
        }
        self.note_change(UndoAction::Name, change)?;
        self.names.push(NameChange::DroppedType(id));
        Ok(())
    }

    fn lock_new_type_name(&mut self, name: &TableName) -> Flow<()> {
        self.lock_schema_for(&name.schema)?;
        self.lock(Resource::type_name(name), LockMode::Write)?;
        if self.type_named(name).is_some() {
            return Err(duplicate_type(name).into());
        }
        Ok(())
    }

    /// The type, under a lock that no other transaction has.
    fn lock_changed_type(&mut self, id: u32) -> Flow<Arc<StoredType>> {
        let name = self.type_by_id(id).ok_or_else(stale)?.name();
        self.lock_schema_of(&name.schema)?;
        self.lock(Resource::type_name(&name), LockMode::Write)?;
        self.lock(Resource::type_itself(id), LockMode::Write)?;
        self.type_by_id(id).filter(|stored| stored.name() == name).ok_or_else(stale)
    }

    /// Locks the types of a new definition's columns, which are as they were when it was made, and stay until
    /// it is there.
    pub(super) fn lock_types(&mut self, definition: &TableDefinition) -> Flow<()> {
        for enum_type in definition.types() {
            self.lock_type(enum_type)?;
        }
        Ok(())
    }

    pub(super) fn lock_type(&mut self, enum_type: EnumType) -> Flow<()> {
        let used = enum_type.definition();
        self.lock(Resource::type_itself(used.id), LockMode::Read)?;
        let current = self.type_by_id(used.id).ok_or_else(stale)?;
        if current.enum_type.definition().version == used.version { Ok(()) } else { Err(stale()) }
    }

    fn is_type_used(&self, enum_type: EnumType) -> bool {
        self.visible_tables().iter().any(|table| table.definition().uses_type(enum_type))
            || self.visible_routines().iter().any(|routine| routine.definition.uses_type(enum_type))
    }

    pub(super) fn visible_types(&self) -> Vec<Arc<StoredType>> {
        let mut types = self.shared.catalog.types();
        for change in &self.names {
            match change {
                NameChange::PutType(stored) => {
                    types.retain(|other| other.id() != stored.id());
                    types.push(Arc::clone(stored));
                }
                NameChange::DroppedType(id) => types.retain(|other| other.id() != *id),
                _ => {}
            }
        }
        types
    }

    pub(super) fn find_type(&self, name: &TableName) -> Option<Arc<StoredType>> {
        if !self.changes_shared_catalog {
            return self.shared.catalog.type_named(name);
        }
        self.visible_types().into_iter().find(|stored| stored.name() == *name)
    }
}
