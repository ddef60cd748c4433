//! What changes of the catalog need of a transaction: locks on objects and tables, a place in the undo list
//! and in the log record, and the former states of tables.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossbeam_epoch::Guard;
use hyades_types::definition::{DatabaseId, IndexDefinition, SequenceId, SequenceState};
use hyades_types::error::Result;

use super::resource::Resource;
use super::{Body, Undo, UndoAction};
use crate::log::record::command::WriteChain;
use crate::protocol::Protocol;
use crate::storage::secondary_index::SecondaryIndex;
use crate::storage::table::{Table, TableState};
use crate::txn::lock_mode::LockMode;
use crate::txn::{Flow, Object, ObjectAccess, ObjectMode, TableLock, Waiting, WriteOperation};

impl<P: Protocol> Body<P> {
    /// Puts the states of sequences after everything else in the payload; again, if some are there already.
    pub(super) fn append_states(&mut self, states: &[(SequenceId, SequenceState)]) {
        if self.states_in_payload.end == self.payload.len() {
            self.payload.truncate(self.states_in_payload.start);
        }
        let from = self.payload.len();
        for (sequence, state) in states {
            self.payload.sequence(*sequence, *state);
        }
        self.states_in_payload = from..self.payload.len();
    }
}

impl<P: Protocol> ObjectAccess for Body<P> {
    fn lock_object(&mut self, database: DatabaseId, object: Object<'_>, mode: ObjectMode) -> Flow<()> {
        self.begin_to_lock()?;
        let mode = match mode {
            ObjectMode::Use => LockMode::Read,
            ObjectMode::Extend => LockMode::IntentWrite,
            ObjectMode::Change => LockMode::Write,
        };
        let resource = match object {
            Object::Relation(name) => Resource::name(database, name),
            Object::RoutineName(name) => Resource::routine_name(database, name),
            Object::TypeName(name) => Resource::type_name(database, name),
            Object::Type(id) => Resource::type_itself(id),
            Object::Schema(name) => Resource::schema(database, name),
            Object::Comments(id) => Resource::comments(database, id),
            Object::Access => Resource::access(),
            Object::DatabaseName(name) => Resource::database_name(name),
            Object::Database(id) => Resource::database(id),
            Object::IndexBuild(table) => Resource::index_build(table),
        };
        self.lock(resource, mode).map(drop)
    }

    fn lock_table(&mut self, table: &Arc<Table>, lock: TableLock, waiting: Waiting) -> Flow<()> {
        let may_follow = lock == TableLock::AccessExclusive && waiting != Waiting::Never;
        if may_follow && !table.id().is_temporary() {
            // A change of all rows, or of the definition.
            self.begin_to_lock()?;
        }
        match (lock, waiting) {
            (TableLock::AccessExclusive, Waiting::InQueue) => self.lock_everybody_out(table),
            (TableLock::AccessExclusive, Waiting::BesideOthers) => self.lock_everybody_out_patiently(table),
            (_, Waiting::Never) => self.lock_by_command(table, lock, false),
            _ => self.lock_by_command(table, lock, true),
        }
    }

    fn outlast_change(&mut self, table: &Table) -> Flow<()> {
        // Who changes a definition has locked all stripes.
        let stripe = Resource::definition_stripe(table.id(), self.worker);
        let changing = self.others_at(stripe, |mode| mode == LockMode::Write);
        self.outlast(stripe, &changing)
    }

    fn note_change(&mut self, write: Option<WriteOperation<'_>>) -> Result<()> {
        self.changes_objects = true;
        self.undo.push(Undo {
            payload_bytes: self.payload.len(),
            write_chain: WriteChain::default(),
            key_bytes: self.keys.len(),
            action: UndoAction::Object,
        });
        match write {
            Some(write) if P::WRITES_LOG => write(&mut self.payload),
            _ => Ok(()),
        }
    }

    fn note_changed(&mut self, table: &Arc<Table>) {
        let place = self.table_place(table);
        self.tables[place].note_own_change();
    }

    fn check_before_rewriting(&mut self, table: &Arc<Table>) -> Flow<()> {
        self.check_versions_before_rewriting(table)
    }

    fn note_rewriting(&self) -> u64 {
        self.shared.histories.note_rewriting()
    }

    fn note_new_key(&self) -> u64 {
        self.shared.histories.note_new_key()
    }

    fn add_older_entries(&mut self, table: &Arc<Table>, index: &SecondaryIndex, guard: &Guard) {
        self.add_entries_of_older_versions(table, index, guard);
    }

    fn begin_index_build(&mut self, table: &Arc<Table>) {
        self.build = Some(self.begin_build(table));
    }

    fn build_index(&mut self, index: &IndexDefinition, most: usize) -> Flow<bool> {
        self.continue_build(index, most)
    }

    fn commit_alone(&mut self) {
        self.is_unlocked_change = true;
    }

    fn change_meaning(&mut self) {
        self.changes_meaning = true;
    }

    fn follow(&mut self, mark: &[AtomicU64]) {
        if P::LEAVES_MARKS {
            self.shared.protocol.follow(mark, &mut self.dependencies);
        }
    }

    fn discard(&self, table: &Table, state: Arc<TableState>) {
        self.shared.purge.discard(table, state);
    }

    fn discard_rows(&self, table: &Table) {
        self.shared.purge.discard_rows(table);
    }
}
