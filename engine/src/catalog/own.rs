//! The objects that a transaction has made, changed or dropped, for its look-ups.
//!
//! One rule for all kinds: an object is what the transaction has made of it; if it has made nothing of it, it
//! is what is committed. A name belongs to the transaction's own object that has it now; else to the
//! committed object of that name, unless the transaction has dropped or renamed that.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use hyades_types::definition::{RoutineId, SequenceId, TableId, TableName};
use hyades_types::sequence::Sequence;

use super::effect::Effect;
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::storage::table::Table;

/// A kind of object with ids and names.
pub(super) trait Named {
    type Id: Copy + Eq + Hash;

    fn id(&self) -> Self::Id;

    fn is_named(&self, name: &TableName) -> bool;

    fn name(&self) -> TableName;
}

/// The objects of one kind that the transaction has made something of.
pub(super) struct Own<T: Named> {
    /// As they are now, `None` if they are gone, each at the place where it came first,
    objects: Vec<(T::Id, Option<Arc<T>>)>,
    /// and their places.
    places: HashMap<T::Id, usize>,
    /// The places of the objects that have had a name; they may have lost it.
    named: HashMap<TableName, Vec<usize>>,
}

impl<T: Named> Default for Own<T> {
    fn default() -> Own<T> {
        Own { objects: Vec::new(), places: HashMap::new(), named: HashMap::new() }
    }
}

impl<T: Named> Own<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    fn put(&mut self, id: T::Id, now: Option<Arc<T>>) {
        let place = *self.places.entry(id).or_insert(self.objects.len());
        if let Some(object) = &now {
            let places = self.named.entry(object.name()).or_default();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        match self.objects.get_mut(place) {
            Some(object) => object.1 = now,
            None => self.objects.push((id, now)),
        }
    }

    /// What the transaction has made of an object: `Some(None)` if it has dropped it.
    pub(super) fn get(&self, id: T::Id) -> Option<Option<&Arc<T>>> {
        Some(self.objects[*self.places.get(&id)?].1.as_ref())
    }

    /// Whether the transaction has made nothing of a committed object.
    pub(super) fn leaves(&self, object: &T) -> bool {
        self.objects.is_empty() || !self.places.contains_key(&object.id())
    }

    /// The objects that are there, in the order in which the transaction met them.
    pub(super) fn present(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.iter().filter_map(|(_, object)| object.as_ref())
    }

    /// Those of this name.
    pub(super) fn named(&self, name: &TableName) -> impl Iterator<Item = &Arc<T>> {
        let places = self.named.get(name).map(Vec::as_slice).unwrap_or_default();
        let objects = places.iter().filter_map(|place| self.objects[*place].1.as_ref());
        objects.filter(|object| object.is_named(name))
    }

    /// The object of this name, if names of the kind are unique.
    pub(super) fn find(&self, name: &TableName, committed: Option<Arc<T>>) -> Option<Arc<T>> {
        let own = self.named(name).next().map(Arc::clone);
        own.or_else(|| committed.filter(|object| self.leaves(object)))
    }

    /// All objects as the transaction sees them.
    pub(super) fn over(&self, mut committed: Vec<Arc<T>>) -> Vec<Arc<T>> {
        if !self.objects.is_empty() {
            committed.retain(|object| self.leaves(object));
            committed.extend(self.present().map(Arc::clone));
        }
        committed
    }
}

/// The objects of all kinds that have ids and names.
#[derive(Default)]
pub(super) struct OwnObjects {
    pub(super) tables: Own<Table>,
    pub(super) routines: Own<Routine>,
    pub(super) sequences: Own<Sequence>,
    pub(super) types: Own<StoredType>,
    /// Whether any change was made, of whatever kind.
    is_changed: bool,
}

impl OwnObjects {
    /// What these changes, in their order, have left.
    pub(super) fn of<'e>(effects: impl Iterator<Item = &'e Effect>) -> OwnObjects {
        let mut own = OwnObjects { is_changed: true, ..OwnObjects::default() };
        effects.for_each(|effect| own.note(effect));
        own
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.is_changed
    }

    pub(super) fn note(&mut self, effect: &Effect) {
        self.is_changed = true;
        match effect {
            Effect::CreatedTable(_, table) | Effect::RenamedTable { table, .. } => {
                self.tables.put(table.id(), Some(Arc::clone(table)));
            }
            Effect::DroppedTable(_, table) => self.tables.put(table.id(), None),
            Effect::CreatedRoutine { routine, replaces } => {
                if let Some(replaced) = replaces {
                    self.routines.put(*replaced, None);
                }
                self.routines.put(routine.id, Some(Arc::clone(routine)));
            }
            Effect::RetypedRoutine(routine) => self.routines.put(routine.id, Some(Arc::clone(routine))),
            Effect::DroppedRoutine(id) => self.routines.put(*id, None),
            Effect::Sequence(sequence) => self.sequences.put(sequence.id, Some(Arc::clone(sequence))),
            Effect::DroppedSequence(id, _) => self.sequences.put(*id, None),
            Effect::Type(stored) => self.types.put(stored.id(), Some(Arc::clone(stored))),
            Effect::DroppedType(id) => self.types.put(*id, None),
            Effect::State { .. }
            | Effect::UnfinishedIndex(_)
            | Effect::FinishedIndex(_)
            | Effect::Schema(..)
            | Effect::DroppedSchema(_)
            | Effect::Comment(..)
            | Effect::Access(..)
            | Effect::Database(..)
            | Effect::DroppedDatabase(_) => {}
        }
    }
}

impl Named for Table {
    type Id = TableId;

    fn id(&self) -> TableId {
        Table::id(self)
    }

    fn is_named(&self, name: &TableName) -> bool {
        self.definition().name == *name
    }

    fn name(&self) -> TableName {
        self.definition().name.clone()
    }
}

impl Named for Routine {
    type Id = RoutineId;

    fn id(&self) -> RoutineId {
        self.id
    }

    fn is_named(&self, name: &TableName) -> bool {
        self.definition.name == *name
    }

    fn name(&self) -> TableName {
        self.definition.name.clone()
    }
}

impl Named for Sequence {
    type Id = SequenceId;

    fn id(&self) -> SequenceId {
        self.id
    }

    fn is_named(&self, name: &TableName) -> bool {
        self.definition.name == *name
    }

    fn name(&self) -> TableName {
        self.definition.name.clone()
    }
}

impl Named for StoredType {
    type Id = u32;

    fn id(&self) -> u32 {
        StoredType::id(self)
    }

    fn is_named(&self, name: &TableName) -> bool {
        StoredType::name(self) == *name
    }

    fn name(&self) -> TableName {
        StoredType::name(self)
    }
}
