//! What a change of the catalog does: how it is taken back, and how it is published.
//!
//! | effect | inside the transaction | taken back | published |
//! |---|---|---|---|
//! | `State` | the new state is the table's | the former state is | the former state is given up |
//! | `UnfinishedIndex` | writers keep an index that is in no definition | it is taken out of the state | nothing |
//! | `FinishedIndex` | nothing | nothing | the definition has the index |
//! | created, renamed, dropped objects | look-ups find them, or no longer | what no other transaction can have seen is dropped | the committed catalog follows |
//! | a created database | its catalog is filled, and no session finds it | its tables are dropped | it is among the databases |
//! | `Schema`, `Comment`, `Access`, a database altered or dropped | look-ups go through the list | nothing | the same |

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossbeam_epoch as epoch;
use hyades_types::definition::{
    CommentTarget, DatabaseDefinition, DatabaseId, IndexDefinition, RoutineId, SchemaId, SequenceId,
    TableDefinition, TableName,
};
use hyades_types::error::Result;
use hyades_types::sequence::Sequence;

use crate::storage::catalog::{AccessChange, Catalog, Comment};
use crate::storage::databases::Databases;
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::storage::table::{Table, TableState};
use crate::txn::ObjectAccess;

/// See the module head.
pub(super) enum Effect {
    /// The table's state has been replaced; this is the former one.
    State {
        table: Arc<Table>,
        old: Arc<TableState>,
    },
    /// An index is being built beside writers.
    UnfinishedIndex(Arc<Table>),
    /// It has been built.
    FinishedIndex(Arc<Table>),
    CreatedTable(TableName, Arc<Table>),
    DroppedTable(TableName, Arc<Table>),
    RenamedTable {
        from: TableName,
        to: TableName,
        table: Arc<Table>,
    },
    CreatedRoutine {
        routine: Arc<Routine>,
        replaces: Option<RoutineId>,
    },
    /// Of the same id, with other definitions of its types.
    RetypedRoutine(Arc<Routine>),
    DroppedRoutine(RoutineId),
    /// Created or altered.
    Sequence(Arc<Sequence>),
    DroppedSequence(SequenceId, TableName),
    /// Created or altered.
    Type(Arc<StoredType>),
    DroppedType(u32),
    /// Created or renamed.
    Schema(SchemaId, String),
    DroppedSchema(SchemaId),
    Comment(CommentTarget, Option<Comment>),
    /// Of roles, or of rights in this database.
    Access(DatabaseId, AccessChange),
    /// Created, with its catalog, or altered.
    Database(DatabaseId, DatabaseDefinition, Option<Arc<Catalog>>),
    DroppedDatabase(DatabaseId),
}

impl Effect {
    pub(super) fn is_state(&self) -> bool {
        matches!(self, Effect::State { .. })
    }

    /// The sequence that the change has made, if it has counters of its own until it is published.
    pub(super) fn private_sequence(&self) -> Option<&Arc<Sequence>> {
        match self {
            Effect::Sequence(sequence) if sequence.is_private() && !sequence.id.is_temporary() => {
                Some(sequence)
            }
            _ => None,
        }
    }

    /// Takes the change back. Rows that were written after it have been taken back.
    pub(super) fn undo<T: ObjectAccess>(self, catalog: &Catalog, transaction: &mut T) {
        match self {
            Effect::State { table, old } => {
                let undone = catalog.put_back_state(&table, old);
                transaction.discard(&table, undone);
                transaction.note_changed(&table);
            }
            Effect::UnfinishedIndex(table) => {
                exchange_beside_others(catalog, transaction, &table, renewed(&table));
            }
            // Cached plans may still refer to what was never published.
            Effect::CreatedTable(_, table) => {
                table.mark_dropped();
                transaction.discard_rows(&table);
            }
            Effect::CreatedRoutine { routine, .. } | Effect::RetypedRoutine(routine) => {
                routine.mark_dropped();
            }
            Effect::Type(stored) => stored.mark_void(),
            Effect::FinishedIndex(_)
            | Effect::DroppedTable(..)
            | Effect::RenamedTable { .. }
            | Effect::DroppedRoutine(_)
            | Effect::Sequence(_)
            | Effect::DroppedSequence(..)
            | Effect::DroppedType(_)
            | Effect::Schema(..)
            | Effect::DroppedSchema(_)
            | Effect::Comment(..)
            | Effect::Access(..)
            | Effect::Database(_, _, None)
            | Effect::DroppedDatabase(_) => {}
            Effect::Database(_, _, Some(catalog)) => drop_contents(&catalog, transaction),
        }
    }

    /// Publishes the change, in the order in which they were made. `mark` makes the transaction's mark.
    pub(super) fn publish<T: ObjectAccess>(
        self,
        (databases, catalog): (&Databases, &Catalog),
        transaction: &mut T,
        mark: &dyn Fn() -> Box<[AtomicU64]>,
    ) -> Result<()> {
        match self {
            Effect::State { table, old } => {
                if !table.state(&epoch::pin()).shares_rows(&old) {
                    table.note_rewritten(transaction.note_rewriting());
                }
                catalog.settle_state(&table);
                transaction.discard(&table, old);
            }
            Effect::UnfinishedIndex(_) => {}
            Effect::FinishedIndex(table) => publish_finished(catalog, transaction, &table),
            // It may have been renamed since, to a name that is free only after other effects.
            Effect::CreatedTable(name, table) => catalog.add_as(name, table)?,
            Effect::RenamedTable { from, to, table } => {
                catalog.rename(&from, to, &table)?;
                // Another session may have found the table under its former name, with the new definition,
                // and wait for it. Its plan must be stale.
                let old = catalog.exchange(&table, renewed(&table), &epoch::pin());
                transaction.discard(&table, old);
            }
            Effect::DroppedTable(_, table) => {
                if catalog.remove(table.id()).is_some() {
                    transaction.discard_rows(&table);
                }
            }
            Effect::CreatedRoutine { routine, replaces } => catalog.add_routine(routine, replaces)?,
            Effect::RetypedRoutine(routine) => catalog.retype_routine(routine),
            Effect::DroppedRoutine(id) => drop(catalog.remove_routine(id)),
            Effect::Sequence(sequence) => {
                if sequence.is_private() {
                    sequence.note_logged(sequence.state());
                }
                catalog.put_sequence(Arc::new(sequence.published(mark())))?;
            }
            Effect::DroppedSequence(id, _) => drop(catalog.remove_sequence(id)),
            Effect::Type(stored) => catalog.put_type(stored)?,
            Effect::DroppedType(id) => drop(catalog.remove_type(id)),
            Effect::Schema(id, name) => catalog.put_schema(id, &name)?,
            Effect::DroppedSchema(id) => catalog.remove_schema(id),
            Effect::Comment(on, comment) => catalog.put_comment(&on, comment.as_ref()),
            Effect::Access(database, change) => databases.change_access(database, &change),
            Effect::Database(id, definition, catalog) => {
                // Draws must depend on this transaction.
                for (new, sequence) in
                    catalog.iter().flat_map(|new| new.sequences().into_iter().map(move |one| (new, one)))
                {
                    new.put_sequence(Arc::new(sequence.published(mark())))?;
                }
                databases.put(id, definition, catalog)?;
            }
            Effect::DroppedDatabase(id) => {
                databases.remove(id).iter().for_each(|catalog| drop_contents(catalog, transaction));
            }
        }
        Ok(())
    }
}

/// No session will look at this catalog again.
fn drop_contents<T: ObjectAccess>(catalog: &Catalog, transaction: &mut T) {
    for table in catalog.tables() {
        if catalog.remove(table.id()).is_some() {
            transaction.discard_rows(&table);
        }
    }
    catalog.routines().iter().for_each(|routine| drop(catalog.remove_routine(routine.id)));
}

/// The state of a table as its definition says, of a version that no plan was made for.
fn renewed(table: &Table) -> Arc<TableState> {
    let guard = epoch::pin();
    let state = table.state(&guard);
    Arc::new(state.with_definition(TableDefinition::clone(state.definition())))
}

/// Exchanges the state of a table beside transactions that use it. Plans compiled from here on are for the
/// new one.
pub(super) fn exchange_beside_others<T: ObjectAccess>(
    catalog: &Catalog,
    transaction: &mut T,
    table: &Table,
    state: Arc<TableState>,
) {
    let old = catalog.exchange(table, state, &epoch::pin());
    transaction.discard(table, old);
    catalog.count_change();
}

/// The index is committed: the table's definition gets it.
fn publish_finished<T: ObjectAccess>(catalog: &Catalog, transaction: &mut T, table: &Table) {
    let state = {
        let guard = epoch::pin();
        let state = table.state(&guard);
        let Some(index) = state.unfinished_index() else { return };
        let mut finished = state.with_definition(state.definition().with_index(index.definition()));
        note_new_key(transaction, &mut finished, index.definition());
        finished
    };
    exchange_beside_others(catalog, transaction, table, Arc::new(state));
}

/// Rows keep to an index that is about to be published. Older snapshots may see some that do not.
pub(super) fn note_new_key<T: ObjectAccess>(
    transaction: &T,
    state: &mut TableState,
    index: &IndexDefinition,
) {
    if index.is_unique {
        state.note_unique_since(index.id, transaction.note_new_key());
    }
}
