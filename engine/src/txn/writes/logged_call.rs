//! A transaction that is one call of a routine, to be logged as that call.
//!
//! While it runs, no after-images are collected: each row written goes into a hash (the replay of the call
//! must come to the same) and, as ever, into the undo list. If anything else happens in the transaction, it
//! is to be logged as data after all. The after-images are then made from the undo list, which knows what was
//! written, in order, and what was there before each write.
//!
//! Schema changes are ordered with calls (pitfall 29): names in the source of a routine mean the same when a
//! call is replayed. A call takes no lock for that. It notes the number of changes before it looks up
//! anything, and looks again once it has announced that it commits, when the number cannot change any more
//! (`unlocked_change`). If it is another, the call is logged as data.

use std::collections::HashMap;
use std::sync::Arc;

use crossbeam_epoch as epoch;

use super::{Body, CommandHead, UndoAction};
use crate::log::record::OperationsWriter;
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::table::Table;
use crate::txn::cursor::find_row;

impl<P: Protocol> Body<P> {
    pub(super) fn try_command(
        &mut self,
        check: impl FnOnce() -> Result<(), &'static str>,
        head: &[u8],
    ) -> Result<(), &'static str> {
        if !self.held.is_empty() || !self.undo.is_empty() || self.pending.is_some() {
            return Err("something else has happened in the transaction before");
        }
        let meaning = self.shared.unlocked.meaning();
        check()?;
        self.payload.begin_command(head);
        self.command = Some(CommandHead { bytes: head.len(), meaning });
        Ok(())
    }

    /// Whether the transaction, which has announced that it commits, was a call that may have run under other
    /// names than it would be replayed under.
    #[inline]
    pub(super) fn has_lost_meaning(&self) -> bool {
        let is_stale = |command: &CommandHead| command.meaning != self.shared.unlocked.meaning();
        self.command.as_ref().is_some_and(is_stale) && !mutant::is_active(Mutant::CallsOfOldNames)
    }

    /// Logs the transaction as data, from its beginning.
    pub(super) fn give_up_command(&mut self) {
        if self.command.take().is_none() {
            return;
        }
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        for (number, bytes) in self.write_images(&mut payload).into_iter().enumerate() {
            self.undo[number].payload_bytes = bytes;
        }
        self.payload = payload;
    }

    /// Appends the after-images of a completed call to it.
    pub(super) fn append_images(&mut self) {
        let mut payload = std::mem::take(&mut self.payload);
        payload.announce_images();
        self.write_images(&mut payload);
        self.payload = payload;
    }

    /// Makes the after-images from the undo list; returns how long the payload was before each of its
    /// entries.
    fn write_images(&self, payload: &mut OperationsWriter) -> Vec<usize> {
        let mut places = Vec::with_capacity(self.undo.len());
        for (number, row) in self.images().into_iter().enumerate() {
            places.push(payload.len());
            let Some((table, key)) = self.row_written(number) else { continue };
            if table.id().is_temporary() {
                continue;
            }
            match &row {
                Some(row) => payload.put(table.id(), key, row),
                None => payload.delete(table.id(), key),
            }
        }
        places
    }

    fn row_written(&self, number: usize) -> Option<(&Arc<Table>, &[u8])> {
        let undo = &self.undo[number];
        match &undo.action {
            UndoAction::Row { table, key_end, .. } => {
                Some((&self.tables[*table].table, &self.keys[undo.key_bytes..*key_end]))
            }
            UndoAction::Object => None,
        }
    }

    /// For each entry of the undo list, the row that its write left. Computed backwards: what a write left is
    /// what the next write of the same row found, or what is there now.
    fn images(&self) -> Vec<Option<Vec<u8>>> {
        let guard = epoch::pin();
        let mut found = HashMap::new();
        let mut images = vec![None; self.undo.len()];
        for (number, undo) in self.undo.iter().enumerate().rev() {
            let Some((table, key)) = self.row_written(number) else { continue };
            let row = found
                .entry((table.id(), key))
                .or_insert_with(|| find_row(table, key, &guard).map(|row| row.bytes.to_vec()));
            images[number] = row.clone();
            if let UndoAction::Row { version, .. } = undo.action {
                self.history.back(version, row);
            }
        }
        images
    }
}
