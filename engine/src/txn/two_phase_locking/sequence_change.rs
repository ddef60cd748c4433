//! Sequences in a transaction: what it has drawn, and what it has changed.
//!
//! A draw locks nothing. It follows the transaction that made the sequence what it is, by the mark that the
//! sequence carries, so that it is never replayed, nor kept, without that one. When the transaction commits,
//! its log record says for each sequence how far it had come with the transaction's last draw. A transaction
//! that is rolled back logs nothing: what it drew is drawn again only after a crash (`db::unlogged_draws`).
//!
//! What was drawn from private counters (`hyades_types::sequence`) is logged after the change that made them,
//! if that is still there at the end.

use std::sync::Arc;

use hyades_types::definition::{CatalogChange, SequenceDefinition, SequenceId, SequenceState, TableName};
use hyades_types::error::{Abort, Error};
use hyades_types::sequence::{Draw, OwnSequence, Sequence, SequenceCatalog, note_draw};

use super::resource::Resource;
use super::{LockingTransaction, NameChange, UndoAction};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::txn::lock_mode::LockMode;
use crate::txn::{Flow, Interrupt};

fn stale() -> Interrupt {
    Interrupt::Failed(Error::Abort(Abort::StalePlan))
}

impl<P: Protocol> LockingTransaction<P> {
    pub(super) fn add_draws(&mut self, draws: Vec<Draw>) {
        self.give_up_command();
        if mutant::is_active(Mutant::DrawsUnlogged) {
            return;
        }
        for draw in draws.into_iter().filter(|draw| !draw.sequence.id.is_temporary()) {
            if P::LEAVES_MARKS && !draw.sequence.mark.is_empty() {
                self.shared.protocol.follow(&draw.sequence.mark, &mut self.dependencies);
            }
            note_draw(&mut self.draws, draw);
        }
    }

    /// Puts the draws after everything else in the payload; again, if they are there already.
    pub(super) fn append_draws(&mut self) {
        if !P::WRITES_LOG {
            return;
        }
        if self.draws_in_payload.end == self.payload.len() {
            self.payload.truncate(self.draws_in_payload.start);
        }
        let from = self.payload.len();
        let is_logged = |one: &&Arc<Sequence>| one.is_private() && !one.id.is_temporary();
        for sequence in self.names.iter().filter_map(NameChange::sequence).filter(is_logged) {
            if let Some(state) = sequence.unlogged() {
                self.payload.sequence(sequence.id, state);
            }
        }
        for draw in &self.draws {
            self.payload.sequence(draw.sequence.id, draw.state);
        }
        self.draws_in_payload = from..self.payload.len();
    }

    /// The record that has the draws has been appended.
    pub(super) fn note_draws_logged(&mut self) {
        for Draw { sequence, state } in self.draws.drain(..) {
            sequence.note_logged(state);
        }
    }

    /// What the transaction has done to sequences and names, for its own functions.
    pub(super) fn own_sequences(&self) -> Vec<OwnSequence> {
        let mut own = Vec::new();
        for change in &self.names {
            match change {
                NameChange::CreatedTable(name, _) => own.push(OwnSequence::Table(name.clone(), true)),
                NameChange::DroppedTable(name) => own.push(OwnSequence::Table(name.clone(), false)),
                NameChange::RenamedTable { from, to, .. } => {
                    own.push(OwnSequence::Table(from.clone(), false));
                    own.push(OwnSequence::Table(to.clone(), true));
                }
                NameChange::PutSequence(sequence) => own.push(OwnSequence::Changed(Arc::clone(sequence))),
                NameChange::DroppedSequence(id, name) => own.push(OwnSequence::Dropped(*id, name.clone())),
                NameChange::PutSchema(_, name) => own.push(OwnSequence::Schema(name.clone())),
                NameChange::CreatedRoutine { .. }
                | NameChange::DroppedRoutine(_)
                | NameChange::DroppedSchema(_)
                | NameChange::RetypedRoutine(_)
                | NameChange::PutType(_)
                | NameChange::DroppedType(_)
                | NameChange::Access(_)
                | NameChange::FinishedIndex(_)
                | NameChange::Comment(..) => {}
            }
        }
        own
    }

    fn sequence(&self, id: SequenceId) -> Option<Arc<Sequence>> {
        for change in self.names.iter().rev() {
            match change {
                NameChange::PutSequence(sequence) if sequence.id == id => return Some(Arc::clone(sequence)),
                NameChange::DroppedSequence(dropped, _) if *dropped == id => return None,
                _ => {}
            }
        }
        self.shared.catalog.sequence(id)
    }

    pub(super) fn visible_sequences(&self) -> Vec<Arc<Sequence>> {
        let mut sequences = self.shared.catalog.sequences();
        for change in &self.names {
            match change {
                NameChange::PutSequence(sequence) => {
                    sequences.retain(|other| other.id != sequence.id);
                    sequences.push(Arc::clone(sequence));
                }
                NameChange::DroppedSequence(id, _) => sequences.retain(|other| other.id != *id),
                _ => {}
            }
        }
        sequences
    }

    pub(super) fn find_sequence(&self, name: &TableName) -> Option<Arc<Sequence>> {
        let named = self.names.iter().rev().find_map(|change| match change {
            NameChange::PutSequence(sequence) if sequence.definition.name == *name => Some(sequence.id),
            _ => None,
        });
        // Either may have been renamed or dropped since.
        let is_still_named =
            |id: SequenceId| self.sequence(id).filter(|sequence| sequence.definition.name == *name);
        let own = named.and_then(is_still_named);
        own.or_else(|| is_still_named(self.shared.catalog.sequence_named(name)?.id))
    }

    pub(super) fn create_sequence(
        &mut self,
        id: SequenceId,
        definition: &SequenceDefinition,
        change: &CatalogChange,
    ) -> Flow<()> {
        self.lock_new_name(&definition.name)?;
        self.note_change(UndoAction::Name, change)?;
        let keeper = self.keeper.as_ref().filter(|_| id.is_temporary());
        let sequence = Sequence::new(id, definition.clone()).charged_to(keeper).into_private();
        self.names.push(NameChange::PutSequence(Arc::new(sequence)));
        Ok(())
    }

    pub(super) fn alter_sequence(
        &mut self,
        id: SequenceId,
        definition: &SequenceDefinition,
        restart: Option<SequenceState>,
        change: &CatalogChange,
    ) -> Flow<()> {
        let sequence = self.sequence(id).ok_or_else(stale)?;
        if sequence.definition.name == definition.name {
            self.lock(Resource::name(&definition.name), LockMode::Write)?;
        } else {
            self.lock_schema_of(&sequence.definition.name.schema)?;
            self.lock(Resource::name(&sequence.definition.name), LockMode::Write)?;
            self.lock_new_name(&definition.name)?;
        }
        let sequence = self.sequence(id).ok_or_else(stale)?;
        if sequence.definition.version.wrapping_add(1) != definition.version {
            return Err(stale());
        }
        self.note_change(UndoAction::Name, change)?;
        let altered = sequence.altered(definition.clone(), restart);
        self.names.push(NameChange::PutSequence(Arc::new(altered)));
        Ok(())
    }

    pub(super) fn drop_sequence(&mut self, id: SequenceId, change: &CatalogChange) -> Flow<()> {
        let sequence = self.sequence(id).ok_or_else(stale)?;
        let name = sequence.definition.name.clone();
        self.lock_schema_of(&name.schema)?;
        self.lock(Resource::name(&name), LockMode::Write)?;
        if self.sequence(id).is_none() {
            return Err(stale());
        }
        self.note_change(UndoAction::Name, change)?;
        self.names.push(NameChange::DroppedSequence(id, name));
        Ok(())
    }

    /// Publishes a sequence that the transaction of this token has changed.
    pub(super) fn publish_sequence(&self, sequence: &Sequence, token: &P::CommitToken) -> Result<(), Error> {
        let protocol = &self.shared.protocol;
        let mark = protocol.new_mark();
        if P::LEAVES_MARKS {
            protocol.write_mark(token, &mark);
        }
        if sequence.is_private() {
            sequence.note_logged(sequence.state());
        }
        self.shared.catalog.put_sequence(Arc::new(sequence.published(mark)))
    }
}
