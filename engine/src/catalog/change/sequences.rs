//! Sequences: created, altered, dropped.
//!
//! A sequence that a transaction has made or altered has counters of its own until the commit. What was drawn
//! from them is logged after the change that made them, if that is still there at the end
//! (`Overlay::sequence_states`).

use std::sync::Arc;

use hyades_types::definition::{SequenceDefinition, SequenceId, SequenceState};
use hyades_types::sequence::Sequence;

use super::{Applying, stale};
use crate::catalog::effect::Effect;
use crate::txn::{Flow, Object, ObjectAccess, ObjectMode};

impl<T: ObjectAccess> Applying<'_, T> {
    pub(super) fn create_sequence(&mut self, id: SequenceId, definition: &SequenceDefinition) -> Flow<()> {
        self.lock_new_name(&definition.name)?;
        self.note()?;
        let keeper = self.overlay.keeper.as_ref().filter(|_| id.is_temporary());
        let sequence = Sequence::new(id, definition.clone()).charged_to(keeper).into_private();
        self.push(Effect::Sequence(Arc::new(sequence)));
        Ok(())
    }

    pub(super) fn alter_sequence(
        &mut self,
        id: SequenceId,
        definition: &SequenceDefinition,
        restart: Option<SequenceState>,
    ) -> Flow<()> {
        let sequence = self.overlay.sequence(id).ok_or_else(stale)?;
        if sequence.definition.name == definition.name {
            self.lock(Object::Relation(&definition.name), ObjectMode::Change)?;
        } else {
            self.lock_schema_of(&sequence.definition.name.schema)?;
            self.lock(Object::Relation(&sequence.definition.name), ObjectMode::Change)?;
            self.lock_new_name(&definition.name)?;
        }
        let sequence = self.overlay.sequence(id).ok_or_else(stale)?;
        if sequence.definition.version.wrapping_add(1) != definition.version {
            return Err(stale());
        }
        self.note()?;
        self.push(Effect::Sequence(Arc::new(sequence.altered(definition.clone(), restart))));
        Ok(())
    }

    pub(super) fn drop_sequence(&mut self, id: SequenceId) -> Flow<()> {
        let sequence = self.overlay.sequence(id).ok_or_else(stale)?;
        let name = sequence.definition.name.clone();
        self.lock_schema_of(&name.schema)?;
        self.lock(Object::Relation(&name), ObjectMode::Change)?;
        if self.overlay.sequence(id).is_none() {
            return Err(stale());
        }
        self.note()?;
        self.push(Effect::DroppedSequence(id, name));
        Ok(())
    }
}
