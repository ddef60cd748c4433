//! The sequences of the catalog, and changes to them, as `storage::catalog` does it for tables, with which
//! they share their names.
//!
//! A sequence that a transaction has created or restarted draws from a private counter until the transaction
//! commits (`hyades_types::sequence`). Replay has no such counters: the latest state counts, whichever
//! transaction logged it.

use std::fmt;
use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::definition::{
    SchemaId, SequenceDefinition, SequenceId, SequenceState, TableDefinition, TableId, TableName,
};
use hyades_types::error::{Error, Result};
use hyades_types::sequence::{Relation, Sequence, SequenceCatalog};

use super::{Catalog, corrupt, duplicate_table};

impl Catalog {
    fn reserve_sequence_id(&self, id: SequenceId) {
        if id.is_temporary() {
            return;
        }
        self.reserve_id(id.0);
    }

    /// All committed sequences, ordered by schema and name.
    pub fn sequences(&self) -> Vec<Arc<Sequence>> {
        let snapshot = self.snapshot();
        let mut sequences: Vec<Arc<Sequence>> = snapshot.sequences.values().map(Arc::clone).collect();
        sequences.sort_unstable_by(|one, other| one.definition.name.cmp(&other.definition.name));
        sequences
    }

    pub fn sequence_named(&self, name: &TableName) -> Option<Arc<Sequence>> {
        self.tables.read().sequences_by_name.get(name).map(Arc::clone)
    }

    /// Publishes a new sequence, or the new state of one. 42P07 if another relation has its name.
    pub fn put_sequence(&self, sequence: Arc<Sequence>) -> Result<()> {
        let name = sequence.definition.name.clone();
        let mut snapshot = self.change_names();
        let named = snapshot.sequences_by_name.get(&name);
        if snapshot.by_name.contains_key(&name) || named.is_some_and(|other| other.id != sequence.id) {
            return Err(duplicate_table(&name));
        }
        self.reserve_sequence_id(sequence.id);
        let snapshot = Arc::make_mut(&mut snapshot);
        let is_temporary = sequence.id.is_temporary();
        let old = snapshot.sequences.insert(sequence.id, Arc::clone(&sequence));
        let old_name = old.map(|old| old.definition.name.clone()).filter(|old| *old != name);
        if let Some(old_name) = old_name
            && snapshot.sequences_by_name.get(&old_name).is_some_and(|named| named.id == sequence.id)
        {
            snapshot.sequences_by_name.remove(&old_name);
        }
        snapshot.sequences_by_name.insert(name, sequence);
        self.count_shared_change(is_temporary);
        Ok(())
    }

    pub fn remove_sequence(&self, id: SequenceId) -> Option<Arc<Sequence>> {
        let mut snapshot = self.change_names();
        if !snapshot.sequences.contains_key(&id) {
            return None;
        }
        let snapshot = Arc::make_mut(&mut snapshot);
        let sequence = snapshot.sequences.remove(&id)?;
        snapshot.sequences_by_name.remove(&sequence.definition.name);
        snapshot.forget_comments(id.0);
        self.count_shared_change(id.is_temporary());
        Some(sequence)
    }

    /// A log record says that a sequence has reached this state. A missing sequence has been dropped: a draw
    /// locks nothing, so its record may come after the drop's, but never before the creation's, which it
    /// depends on.
    pub fn raise_sequence(&self, id: SequenceId, state: SequenceState) {
        if let Some(sequence) = self.tables.read().sequences.get(&id) {
            sequence.raise(state);
        }
    }

    pub(super) fn apply_create_sequence(
        &self,
        id: SequenceId,
        definition: &SequenceDefinition,
    ) -> Result<()> {
        check_sequence(definition)?;
        if self.sequence(id).is_some() {
            return Err(Error::corrupt(format!("sequence id {} is used twice", id.0)));
        }
        self.put_sequence(Arc::new(Sequence::new(id, definition.clone()))).map_err(corrupt)
    }

    pub(super) fn apply_alter_sequence(
        &self,
        id: SequenceId,
        definition: &SequenceDefinition,
        restart: Option<SequenceState>,
    ) -> Result<()> {
        check_sequence(definition)?;
        let altered = self.existing_sequence(id)?.altered(definition.clone(), restart);
        self.put_sequence(Arc::new(altered.published(Box::default()))).map_err(corrupt)
    }

    pub(super) fn apply_drop_sequence(&self, id: SequenceId) -> Result<()> {
        self.existing_sequence(id)?;
        self.remove_sequence(id);
        Ok(())
    }

    fn existing_sequence(&self, id: SequenceId) -> Result<Arc<Sequence>> {
        self.sequence(id)
            .ok_or_else(|| Error::corrupt(format!("the log changes sequence {}, which does not exist", id.0)))
    }

    pub(super) fn apply_drop_default(&self, id: TableId, column: u16, guard: &Guard) -> Result<()> {
        let table = self.existing(id)?;
        let definition: TableDefinition = table.definition().without_default(column);
        let state = table.state(guard).with_definition(definition);
        self.exchange(&table, Arc::new(state), guard);
        Ok(())
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl SequenceCatalog for Catalog {
    fn sequence(&self, id: SequenceId) -> Option<Arc<Sequence>> {
        self.tables.read().sequences.get(&id).map(Arc::clone)
    }

    fn relation(&self, name: &TableName) -> Option<Relation> {
        let tables = self.tables.read();
        let sequence = tables.sequences_by_name.get(name).map(Arc::clone).map(Relation::Sequence);
        sequence.or_else(|| tables.by_name.contains_key(name).then_some(Relation::Table))
    }

    fn schema(&self, name: &str) -> Option<SchemaId> {
        self.tables.read().schemas.get(name)
    }
}

/// Checks that a definition from a log makes sense.
fn check_sequence(definition: &SequenceDefinition) -> Result<()> {
    if definition.increment == 0 || definition.least > definition.greatest {
        let name = &definition.name.name;
        return Err(Error::corrupt(format!("the logged definition of \"{name}\" is inconsistent")));
    }
    Ok(())
}
