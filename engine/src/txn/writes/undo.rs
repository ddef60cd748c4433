//! The undo list of a transaction: what it has written, in order, and how to take each change back.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::guest;

use super::purge_queue::Purgeable;
use super::table_use::TableUse;
use super::{Body, Undo, UndoAction};
use crate::log::record::command::WriteChain;
use crate::protocol::Protocol;
use crate::storage::history::Handle;
use crate::storage::row::pieces;
use crate::storage::table::Table;
use crate::txn::row_changes::take_back;

/// The cost of restoring a row, as work of a guest.
const UNITS_PER_UNDONE_ROW: u32 = 30;

/// What a write has done to a row, as the log is to say it.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowChange<'a> {
    /// It is this one now.
    Put(&'a [u8]),
    /// It has these pieces ([`crate::storage::row::RowPatch`]).
    Patch(&'a [u8]),
    Delete,
}

impl<'a> RowChange<'a> {
    /// The patch that has led to this row, or the row if that is shorter.
    #[inline]
    pub(super) fn shorter(row: &'a [u8], patch: &'a [u8]) -> RowChange<'a> {
        if patch.len() < row.len() { RowChange::Patch(patch) } else { RowChange::Put(row) }
    }

    fn bytes(self) -> Option<&'a [u8]> {
        match self {
            RowChange::Put(bytes) | RowChange::Patch(bytes) => Some(bytes),
            RowChange::Delete => None,
        }
    }
}

impl<P: Protocol> Body<P> {
    /// Adds a write to the write-set hash of a call.
    fn hash_write(&mut self, place: usize, key: &[u8], change: RowChange<'_>) -> WriteChain {
        let TableUse { table, write_chain, .. } = &mut self.tables[place];
        let before = *write_chain;
        if self.command.is_some() {
            write_chain.add(table.id(), key, change.bytes());
            self.write_set.exchange(before, *write_chain);
        }
        before
    }

    /// Whether the log is to say what rows become: not for a call, unless it is given up.
    #[inline]
    pub(super) fn logs_rows(&self) -> bool {
        P::WRITES_LOG && self.command.is_none()
    }

    /// Notes what to undo under `key` and, unless the table is temporary, what to write to the log, after the
    /// row was written: the change, or of a call a hash of what `hashed` says.
    pub(super) fn note_write(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        (change, hashed): (RowChange<'_>, RowChange<'_>),
        version: Handle,
    ) {
        let place = self.table_place(table);
        let write_chain = self.hash_write(place, key, hashed);
        let (payload_bytes, key_bytes) = (self.payload.len(), self.keys.len());
        self.keys.extend_from_slice(key);
        if self.logs_rows() && !table.id().is_temporary() {
            match change {
                RowChange::Put(row) => self.payload.put(table.id(), key, row),
                RowChange::Patch(patch) => self.payload.patch(table.id(), key, pieces(patch)),
                RowChange::Delete => self.payload.delete(table.id(), key),
            }
        }
        let action = UndoAction::Row { table: place, key_end: self.keys.len(), version };
        self.undo.push(Undo { payload_bytes, write_chain, key_bytes, action });
    }

    pub(super) fn undo_to(&mut self, length: usize) {
        let guard = epoch::pin();
        self.give_up_new_entries();
        self.number_in_hand = None;
        while self.undo.len() > length {
            let Some(undo) = self.undo.pop() else { return };
            guest::pass(UNITS_PER_UNDONE_ROW);
            match undo.action {
                UndoAction::Row { table, key_end, version } => {
                    let TableUse { table, write_chain, .. } = &mut self.tables[table];
                    self.write_set.exchange(*write_chain, undo.write_chain);
                    *write_chain = undo.write_chain;
                    let key = &self.keys[undo.key_bytes..key_end];
                    let has_row = take_back(table, key, version, &mut self.history, &guard);
                    let is_noted = |last: &Purgeable| last.is_row(table, key);
                    if !has_row && !self.purgeable.last().is_some_and(is_noted) {
                        self.purgeable.push(Purgeable::row(table, key));
                    }
                }
                // The catalog takes its own changes back. An index that was being built is gone.
                UndoAction::Object => self.build = None,
            }
            self.payload.truncate(undo.payload_bytes);
            self.keys.truncate(undo.key_bytes);
        }
        if self.payload.len() < self.states_in_payload.end {
            self.states_in_payload = 0..0;
        }
    }
}
