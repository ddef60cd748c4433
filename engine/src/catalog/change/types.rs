//! Types: created, changed, dropped.
//!
//! A transaction that makes something that uses a type locks the type, so that it stays until that is there,
//! and is as it was when the statement was compiled. ALTER TYPE and DROP TYPE lock it against them. ALTER
//! TYPE changes every table that has columns of the type, which it locks against all others, and every
//! routine that has parameters of it.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::definition::{ColumnDefinition, TableDefinition, TableName, TypeDefinition};
use hyades_types::refusal::{Missing, refused};
use hyades_types::value::CreatedType;

use super::{Applying, stale};
use crate::catalog::effect::Effect;
use crate::storage::catalog::{CatalogView, duplicate_type};
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::txn::{Flow, Object, ObjectAccess, ObjectMode};

impl<T: ObjectAccess> Applying<'_, T> {
    pub(super) fn create_type(&mut self, definition: &TypeDefinition) -> Flow<()> {
        let stored = Arc::new(StoredType::new(definition.clone()));
        self.lock_new_type_name(&stored.name())?;
        let parent = definition.domain().and_then(|domain| domain.parent);
        self.lock_used_types(definition.created_types(), parent)?;
        self.note()?;
        self.push(Effect::Type(stored));
        Ok(())
    }

    pub(super) fn alter_type(&mut self, definition: &TypeDefinition) -> Flow<()> {
        let old = self.lock_changed_type(definition.id)?;
        if old.definition.version != definition.previous {
            return Err(stale());
        }
        let stored = Arc::new(StoredType::new(definition.clone()));
        if stored.name() != old.name() {
            self.lock_new_type_name(&stored.name())?;
        }
        let mut made_of_it = self.overlay.types();
        made_of_it.retain(|stored| stored.definition.uses_type(definition.id));
        for stored in &made_of_it {
            self.lock(Object::Type(stored.id()), ObjectMode::Change)?;
        }
        let mut users = self.overlay.tables();
        users.retain(|table| table.definition().uses_type(definition.id));
        for table in &users {
            self.lock_alone(table)?;
        }
        let has_values = users.iter().any(|table| table.definition().view().is_none());
        if definition.is_narrower_than(&old.definition) && (has_values || !made_of_it.is_empty()) {
            // They were made while this waited. The caller refuses what they may not satisfy.
            return Err(stale());
        }
        let mut routines = Vec::new();
        for routine in self.overlay.routines() {
            if routine.definition.uses_type(definition.id) {
                self.lock(Object::RoutineName(&routine.definition.name), ObjectMode::Change)?;
                // It may have been dropped while the lock was waited for.
                routines.extend(self.overlay.routine(routine.id));
            }
        }
        self.note()?;
        for table in users {
            let definition = table.definition().with_type(definition);
            let state = table.state(&epoch::pin()).with_types(definition);
            self.follow_state(&table, state);
        }
        for routine in routines {
            let definition = routine.definition.with_type(definition);
            self.push(Effect::RetypedRoutine(Arc::new(Routine::new(routine.id, definition))));
        }
        self.push(Effect::Type(stored));
        for stored in made_of_it {
            self.push(Effect::Type(Arc::new(StoredType::new(stored.definition.with_type(definition)))));
        }
        Ok(())
    }

    pub(super) fn drop_type(&mut self, id: u32) -> Flow<()> {
        self.lock_changed_type(id)?;
        if self.is_type_used(id) {
            // The caller drops what uses it first; this was created after it looked.
            return Err(stale());
        }
        self.note()?;
        self.push(Effect::DroppedType(id));
        Ok(())
    }

    fn lock_new_type_name(&mut self, name: &TableName) -> Flow<()> {
        self.lock_schema_for(&name.schema)?;
        self.lock(Object::TypeName(name), ObjectMode::Change)?;
        match self.overlay.type_named(name) {
            Some(_) => Err(duplicate_type(name).into()),
            None => Ok(()),
        }
    }

    /// The type, under a lock that no other transaction has.
    fn lock_changed_type(&mut self, id: u32) -> Flow<Arc<StoredType>> {
        let name = self.overlay.type_by_id(id).ok_or_else(stale)?.name();
        self.lock_schema_of(&name.schema)?;
        self.lock(Object::TypeName(&name), ObjectMode::Change)?;
        self.lock(Object::Type(id), ObjectMode::Change)?;
        self.overlay.type_by_id(id).filter(|stored| stored.name() == name).ok_or_else(stale)
    }

    /// Locks the types of a new definition's columns, which are as they were when it was made, and stay until
    /// it is there.
    pub(super) fn lock_types(&mut self, definition: &TableDefinition) -> Flow<()> {
        let has_rows = |column: &ColumnDefinition| column.sql_type.has_rows_of_relation();
        if let Some(column) = definition.columns.iter().find(|column| has_rows(column))
            && definition.view.is_none()
        {
            let what = format!("column \"{}\" of the type of a table's rows is", column.name);
            return Err(refused(Missing::RowsOfTables, &what).into());
        }
        self.lock_used_types(definition.types(), definition.domains())
    }

    /// Only the number of a domain is kept, so it need not be as it was.
    pub(super) fn lock_used_types(
        &mut self,
        types: impl IntoIterator<Item = CreatedType>,
        domains: impl IntoIterator<Item = u32>,
    ) -> Flow<()> {
        for used in types {
            self.lock_type(used)?;
        }
        for used in domains {
            self.lock(Object::Type(used), ObjectMode::Use)?;
            self.overlay.type_by_id(used).ok_or_else(stale)?;
        }
        Ok(())
    }

    fn lock_type(&mut self, used: CreatedType) -> Flow<()> {
        self.lock(Object::Type(used.id), ObjectMode::Use)?;
        let current = self.overlay.type_by_id(used.id).ok_or_else(stale)?;
        let is_as_it_was = used.version.is_none_or(|version| version == current.definition.version);
        if is_as_it_was { Ok(()) } else { Err(stale()) }
    }

    fn is_type_used(&self, id: u32) -> bool {
        self.overlay.any_table(|table| table.definition().uses_type(id))
            || self.overlay.routines().iter().any(|routine| routine.definition.uses_type(id))
            || self.overlay.types().iter().any(|stored| stored.definition.uses_type(id))
    }
}
