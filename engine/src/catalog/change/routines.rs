//! Routines: created, replaced, dropped.

use std::sync::Arc;

use hyades_types::definition::{RoutineDefinition, RoutineId};
use hyades_types::value::SqlType;

use super::{Applying, stale};
use crate::catalog::effect::Effect;
use crate::storage::catalog::{CatalogView, duplicate_routine};
use crate::storage::stored_routine::Routine;
use crate::txn::{Flow, Object, ObjectAccess, ObjectMode};

impl<T: ObjectAccess> Applying<'_, T> {
    pub(super) fn create_routine(
        &mut self,
        id: RoutineId,
        definition: &RoutineDefinition,
        replaces: Option<RoutineId>,
    ) -> Flow<()> {
        if definition.cast.is_none() {
            self.lock_schema_for(&definition.name.schema)?;
        }
        self.lock(Object::RoutineName(&definition.name), ObjectMode::Change)?;
        self.lock_used_types(definition.types().flat_map(SqlType::created_types), None)?;
        // It may have had another name.
        let replaced = replaces.and_then(|id| self.overlay.routine(id));
        if let Some(old) = replaced.as_ref().filter(|old| old.definition.name != definition.name) {
            self.lock_schema_of(&old.definition.name.schema)?;
            self.lock(Object::RoutineName(&old.definition.name), ObjectMode::Change)?;
        }
        let is_renamed = |id| {
            let old = self.overlay.routine(id);
            old.is_some_and(|old| !old.definition.is_same_routine(definition))
        };
        let named = self.overlay.routines_named(&definition.name);
        let existing = named.iter().find(|other| other.definition.is_same_routine(definition));
        match (existing, replaces) {
            (None, Some(replaced)) if is_renamed(replaced) => {}
            (None, None) => {}
            (Some(existing), Some(replaced)) if existing.id == replaced => {}
            (Some(_), None) => return Err(duplicate_routine(definition).into()),
            // What the caller wanted to replace is no longer there, or no longer the same.
            (_, Some(_)) => return Err(stale()),
        }
        self.note()?;
        let routine = Arc::new(Routine::new(id, definition.clone()));
        self.push(Effect::CreatedRoutine { routine, replaces });
        Ok(())
    }

    pub(super) fn drop_routine(&mut self, id: RoutineId) -> Flow<()> {
        let routine = self.overlay.routine(id).ok_or_else(stale)?;
        if routine.definition.cast.is_none() {
            self.lock_schema_of(&routine.definition.name.schema)?;
        }
        self.lock(Object::RoutineName(&routine.definition.name), ObjectMode::Change)?;
        if self.overlay.routine(id).is_none() {
            return Err(stale());
        }
        self.note()?;
        self.push(Effect::DroppedRoutine(id));
        Ok(())
    }
}
