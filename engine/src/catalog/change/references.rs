//! Foreign keys: added, dropped, validated.
//!
//! Both tables are locked against all others, and what the caller found out about them is checked again. The
//! table at the other end changes together with the one that has the key, or not at all.

use crossbeam_epoch as epoch;
use hyades_types::definition::{ForeignKey, TableId};

use super::{Applying, stale};
use crate::txn::{Flow, ObjectAccess};

impl<T: ObjectAccess> Applying<'_, T> {
    pub(super) fn add_foreign_key(&mut self, id: TableId, foreign_key: &ForeignKey) -> Flow<()> {
        let (child, parent) = (self.existing(id)?, self.existing(foreign_key.parent)?);
        self.lock_alone(&child)?;
        self.lock_alone(&parent)?;
        let definition = child.definition();
        let is_stale = child.is_dropped()
            || parent.is_dropped()
            || definition.foreign_key(&foreign_key.name).is_some()
            || foreign_key.parent_key(&parent.definition()).is_none();
        if is_stale {
            return Err(stale());
        }
        if !foreign_key.is_not_valid {
            let guard = epoch::pin();
            child.state(&guard).check_foreign_key(foreign_key, parent.state(&guard), &guard)?;
        }
        self.replace_definition(&child, definition.with_foreign_key(id, foreign_key))?;
        if foreign_key.parent != id {
            let definition = parent.definition().with_child(id);
            self.follow_definition(&parent, definition);
        }
        Ok(())
    }

    pub(super) fn drop_foreign_key(&mut self, id: TableId, name: &str) -> Flow<()> {
        let child = self.existing(id)?;
        self.lock_alone(&child)?;
        let definition = child.definition();
        let parent = definition.foreign_key(name).ok_or_else(stale)?.parent;
        let parent = self.existing(parent)?;
        self.lock_alone(&parent)?;
        if child.is_dropped() {
            return Err(stale());
        }
        self.replace_definition(&child, definition.without_foreign_key(id, name))?;
        if parent.id() != id {
            let number = definition.number_among(parent.id(), name);
            let definition = parent.definition().without_child(id, number);
            self.follow_definition(&parent, definition);
        }
        Ok(())
    }

    pub(super) fn validate_foreign_key(&mut self, id: TableId, name: &str) -> Flow<()> {
        let child = self.existing(id)?;
        self.lock_alone(&child)?;
        let definition = child.definition();
        let foreign_key = definition.foreign_key(name).ok_or_else(stale)?;
        let parent = self.existing(foreign_key.parent)?;
        self.lock_alone(&parent)?;
        if child.is_dropped() {
            return Err(stale());
        }
        {
            let guard = epoch::pin();
            child.state(&guard).check_foreign_key(foreign_key, parent.state(&guard), &guard)?;
        }
        self.replace_definition(&child, definition.with_valid_foreign_key(name))
    }
}
