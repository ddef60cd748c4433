//! What a transaction has changed in the catalog: the list of changes, and how it ends.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hyades_types::definition::{DatabaseId, SequenceId, SequenceState};
use hyades_types::memory::Keeper;
use hyades_types::sequence::{Draw, note_draw};

use super::effect::Effect;
use super::own::OwnObjects;
use crate::mutant::{self, Mutant};
use crate::storage::catalog::Catalog;
use crate::storage::databases::Databases;
use crate::storage::table::Table;
use crate::txn::{ObjectAccess, Savepoint};

/// The changes of the open transaction of a worker; what the worker's session has beside them.
pub(crate) struct Overlay {
    pub(super) databases: Arc<Databases>,
    /// The database of the worker,
    pub(super) database: DatabaseId,
    /// and its committed catalog.
    pub(super) catalog: Arc<Catalog>,
    pub(super) changes: Vec<Change>,
    /// The objects that the changes have left, for look-ups.
    pub(super) own: OwnObjects,
    /// Whether more than temporary relations have been changed, even if that was taken back.
    pub(super) is_shared: bool,
    /// The last draw of each sequence that the transaction has drawn from.
    pub(super) draws: Vec<Draw>,
    /// See `CatalogView::temporary_schema`.
    pub(super) temporary_schema: Option<Box<str>>,
    /// Who pays for the rows of temporary tables.
    pub(super) keeper: Option<Keeper>,
}

/// One effect of a change.
pub(super) struct Change {
    /// The place of the transaction before the change.
    pub(super) before: Savepoint,
    pub(super) effect: Effect,
}

impl Overlay {
    pub(crate) fn new(databases: Arc<Databases>, database: DatabaseId, catalog: Arc<Catalog>) -> Overlay {
        Overlay {
            databases,
            database,
            catalog,
            changes: Vec::new(),
            own: OwnObjects::default(),
            is_shared: false,
            draws: Vec::new(),
            temporary_schema: None,
            keeper: None,
        }
    }

    /// The database of the worker.
    pub(crate) fn database(&self) -> DatabaseId {
        self.database
    }

    /// The committed catalog.
    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether the transaction has changed what other sessions see, even if it has taken that back.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Whether another transaction has changed the definition of a table, or all its rows, and is open.
    pub(crate) fn is_changed_by_others(&self, table: &Table) -> bool {
        let is_own = |change: &Change| match &change.effect {
            Effect::State { table: own, .. } => own.id() == table.id(),
            _ => false,
        };
        table.is_replaced() && !self.changes.iter().any(is_own)
    }

    /// The transaction has drawn these numbers, and its log record must say so. A draw follows the
    /// transaction that made the sequence what it is, by the mark that the sequence carries.
    pub(crate) fn note_draws<T: ObjectAccess>(&mut self, draws: Vec<Draw>, transaction: &mut T) {
        if mutant::is_active(Mutant::DrawsUnlogged) {
            return;
        }
        for draw in draws.into_iter().filter(|draw| !draw.sequence.id.is_temporary()) {
            if !draw.sequence.mark.is_empty() {
                transaction.follow(&draw.sequence.mark);
            }
            note_draw(&mut self.draws, draw);
        }
    }

    /// How far sequences have come with the transaction, for the end of its log record: those with private
    /// counters, then those that it has drawn from.
    pub(crate) fn sequence_states(&self) -> Vec<(SequenceId, SequenceState)> {
        let of_own = self.changes.iter().filter_map(|change| change.effect.private_sequence());
        let own = of_own.filter_map(|sequence| Some((sequence.id, sequence.unlogged()?)));
        own.chain(self.draws.iter().map(|draw| (draw.sequence.id, draw.state))).collect()
    }

    /// The record that has the draws has been appended.
    pub(crate) fn note_draws_logged(&mut self) {
        for Draw { sequence, state } in self.draws.drain(..) {
            sequence.note_logged(state);
        }
    }

    /// Takes back everything since the savepoint: changes of the catalog and rows, each in its order.
    pub(crate) fn undo_to<T: ObjectAccess>(&mut self, savepoint: Savepoint, transaction: &mut T) {
        let length = self.changes.partition_point(|change| change.before.changes < savepoint.changes);
        if length < self.changes.len() {
            self.undo_changes(length, transaction);
        }
        transaction.rollback_to(savepoint);
    }

    /// Takes back all changes; the transaction is about to be rolled back.
    pub(crate) fn undo<T: ObjectAccess>(&mut self, transaction: &mut T) {
        if !self.changes.is_empty() {
            self.undo_changes(0, transaction);
        }
    }

    #[cold]
    fn undo_changes<T: ObjectAccess>(&mut self, length: usize, transaction: &mut T) {
        while self.changes.len() > length {
            let Some(Change { before, effect }) = self.changes.pop() else { break };
            // Rows that were written later were written to what the change has made.
            transaction.rollback_to(before);
            effect.undo(&self.catalog, transaction);
        }
        self.own = OwnObjects::of(self.changes.iter().map(|change| &change.effect));
    }

    /// Publishes the changes. The rows of the transaction are committed, and its locks are still held. `mark`
    /// makes its mark.
    #[inline]
    pub(crate) fn publish<T: ObjectAccess>(
        &mut self,
        transaction: &mut T,
        mark: impl Fn() -> Box<[AtomicU64]>,
    ) {
        if !self.changes.is_empty() {
            self.publish_changes(transaction, &mark);
        }
    }

    #[cold]
    fn publish_changes<T: ObjectAccess>(&mut self, transaction: &mut T, mark: &dyn Fn() -> Box<[AtomicU64]>) {
        let (states, names): (Vec<Effect>, Vec<Effect>) =
            self.changes.drain(..).map(|change| change.effect).partition(Effect::is_state);
        // States first: a table that has been dropped since leaves its own.
        for effect in states.into_iter().chain(names) {
            if let Err(error) = effect.publish((&self.databases, &self.catalog), transaction, mark) {
                tracing::error!(%error, "a change of the catalog could not be published");
            }
        }
        // Definitions may have changed under their names.
        if self.is_shared {
            self.catalog.count_change();
        }
    }

    /// The transaction has ended.
    #[inline(always)]
    pub(crate) fn end(&mut self) {
        if self.is_shared || !self.own.is_empty() {
            self.is_shared = false;
            self.changes.clear();
            self.own = OwnObjects::default();
        }
        self.draws.clear();
        self.keeper.iter().for_each(Keeper::end_transaction);
    }

    /// The session has temporary relations from now on, in this schema. The keeper pays for their rows.
    pub(crate) fn set_temporary_schema(&mut self, schema: &str, keeper: Keeper) {
        (self.temporary_schema, self.keeper) = (Some(schema.into()), Some(keeper));
    }

    /// Takes the temporary relations of the session out of the catalog. No transaction is open, and no other
    /// session can see them.
    pub(crate) fn forget_temporaries<T: ObjectAccess>(&mut self, transaction: &mut T) {
        let Some(schema) = self.temporary_schema.take() else { return };
        for table in self.catalog.tables() {
            if table.id().is_temporary() && table.definition().name.schema == *schema {
                self.catalog.remove(table.id());
                transaction.discard_rows(&table);
            }
        }
        for sequence in self.catalog.sequences() {
            if sequence.id.is_temporary() && sequence.definition.name.schema == *schema {
                self.catalog.remove_sequence(sequence.id);
            }
        }
    }
}
