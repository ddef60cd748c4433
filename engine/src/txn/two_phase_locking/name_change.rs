//! What a transaction has done to names: a list that its own look-ups read from the end, that a rollback to a
//! savepoint cuts off, and that a commit publishes, in order.

use std::sync::Arc;

use hyades_types::definition::{CommentTarget, RoutineId, SchemaId, SequenceId, TableName};
use hyades_types::sequence::Sequence;

use super::purge_queue::Queue;
use crate::storage::catalog::{AccessChange, Comment};
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::storage::table::Table;

/// A change of names that others see once the transaction commits.
pub(super) enum NameChange {
    CreatedTable(TableName, Arc<Table>),
    DroppedTable(TableName),
    RenamedTable {
        from: TableName,
        to: TableName,
        table: Arc<Table>,
    },
    CreatedRoutine {
        routine: Arc<Routine>,
        replaces: Option<RoutineId>,
    },
    DroppedRoutine(RoutineId),
    /// The routine with other definitions of its types, and with the same id.
    RetypedRoutine(Arc<Routine>),
    /// Created or altered.
    PutSequence(Arc<Sequence>),
    DroppedSequence(SequenceId, TableName),
    /// Created or altered.
    PutType(Arc<StoredType>),
    DroppedType(u32),
    /// Created or renamed.
    PutSchema(SchemaId, String),
    DroppedSchema(SchemaId),
    Comment(CommentTarget, Option<Comment>),
    /// The index that was built beside writers of this table.
    FinishedIndex(Arc<Table>),
    Access(AccessChange),
}

impl NameChange {
    /// What has happened to the table of this name: `Some(None)` if it was dropped.
    pub(super) fn of_table(&self, name: &TableName) -> Option<Option<&Arc<Table>>> {
        match self {
            NameChange::CreatedTable(created, table) if created == name => Some(Some(table)),
            NameChange::DroppedTable(dropped) if dropped == name => Some(None),
            NameChange::RenamedTable { to, table, .. } if to == name => Some(Some(table)),
            NameChange::RenamedTable { from, .. } if from == name => Some(None),
            _ => None,
        }
    }

    /// Called when the change was rolled back.
    pub(super) fn forget(self, purge: &Queue) {
        match self {
            NameChange::CreatedTable(_, table) => {
                table.mark_dropped();
                purge.discard_rows(&table);
            }
            NameChange::CreatedRoutine { routine, .. } | NameChange::RetypedRoutine(routine) => {
                routine.mark_dropped();
            }
            NameChange::PutType(stored) => {
                stored.mark_superseded();
                stored.enum_type.mark_void();
            }
            NameChange::DroppedTable(_)
            | NameChange::RenamedTable { .. }
            | NameChange::DroppedRoutine(_)
            | NameChange::PutSequence(_)
            | NameChange::DroppedSequence(..)
            | NameChange::DroppedType(_)
            | NameChange::PutSchema(..)
            | NameChange::DroppedSchema(_)
            | NameChange::Access(_)
            | NameChange::FinishedIndex(_)
            | NameChange::Comment(..) => {}
        }
    }

    pub(super) fn sequence(&self) -> Option<&Arc<Sequence>> {
        match self {
            NameChange::PutSequence(sequence) => Some(sequence),
            _ => None,
        }
    }
}
