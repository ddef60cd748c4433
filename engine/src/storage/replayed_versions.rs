//! Rows as a replay of calls changes them: what a change replaces goes into the history of the worker that
//! makes it, for calls that are replayed later and ran earlier (`txn::replay_versions`).
//!
//! Changes of one key follow each other. Readers may be there at any time.
//!
//! An entry of a secondary index that a row no longer needs stays, as does the key of a row that is gone:
//! earlier readers find their versions by them. They are passed to `leave`, and removed later
//! ([`TableState::remove_left`]), when no reader and no writer is there.
#![allow(unsafe_code)] // Rows are patched in place; see `storage::record`.

use crossbeam_epoch::Guard;
use hyades_types::definition::TableId;
use hyades_types::error::{Error, Result};

use super::history::{Handle, Histories, HistoryWriter};
use super::primary_index::{Finger, Located};
use super::record::{NotAlone, Record};
use super::row::{leads_to, overwrite};
use super::secondary_index::SecondaryIndex;
use super::table::TableState;

/// Gets what is not needed any more: an entry of an index, or a key of the table.
pub(crate) type Leave<'l> = &'l mut dyn FnMut(Option<TableId>, &[u8]);

impl TableState {
    /// Puts a row under a key, or takes the row away. Returns the version by which that can be taken back;
    /// `None` if there was no row to take away.
    ///
    /// # Errors
    /// The key or the row is none of this table: the log is damaged.
    pub(crate) fn install_version(
        &self,
        key: &[u8],
        row: Option<&[u8]>,
        history: &mut HistoryWriter,
        leave: Leave<'_>,
        guard: &Guard,
    ) -> Result<Option<Handle>> {
        self.check_logged(key, row)?;
        self.set_version(key, row, history, leave, guard)
    }

    /// The same for a key and a row that a procedure has made for this table.
    ///
    /// # Errors
    /// Another worker changes the row at the same time: what log records say of their order is wrong.
    pub(crate) fn set_version(
        &self,
        key: &[u8],
        row: Option<&[u8]>,
        history: &mut HistoryWriter,
        leave: Leave<'_>,
        guard: &Guard,
    ) -> Result<Option<Handle>> {
        self.change_version(key, (row, false), history, leave, guard)
    }

    /// The same where there is no row yet.
    ///
    /// # Errors
    /// As those of [`TableState::set_version`]; there is a row: the replay has diverged.
    pub(crate) fn insert_version(
        &self,
        key: &[u8],
        row: &[u8],
        history: &mut HistoryWriter,
        leave: Leave<'_>,
        guard: &Guard,
    ) -> Result<Option<Handle>> {
        self.change_version(key, (Some(row), true), history, leave, guard)
    }

    fn change_version(
        &self,
        key: &[u8],
        (row, is_new): (Option<&[u8]>, bool),
        history: &mut HistoryWriter,
        leave: Leave<'_>,
        guard: &Guard,
    ) -> Result<Option<Handle>> {
        self.note_row_number(key);
        let mut new = None;
        loop {
            match (self.index().locate(key, &Finger::default(), guard), row) {
                (Located::Present(record), None) if !record.has_row() => return Ok(None),
                (Located::Absent(_), None) => return Ok(None),
                (Located::Present(record), _) if is_new && record.has_row() => {
                    let name = &self.definition().name.name;
                    return Err(Error::corrupt(format!(
                        "there is a row already where table \"{name}\" gets one"
                    )));
                }
                (Located::Present(record), row) => {
                    // What is replaced stays readable while this thread is pinned.
                    let old = record.row(guard);
                    match record.write_alone(row, history, guard) {
                        Ok((version, _)) => {
                            self.follow_change(key, (old, row), leave, guard);
                            return Ok(Some(version));
                        }
                        Err(NotAlone::Removed) => {}
                        Err(NotAlone::Written) => {
                            return Err(Error::corrupt(format!(
                                "two log records change the same row of table \"{}\", and neither follows the other",
                                self.definition().name.name
                            )));
                        }
                    }
                }
                (Located::Absent(vacancy), Some(row)) => {
                    let version = *new.get_or_insert_with(|| history.note_new());
                    if self.index().fill(&vacancy, key, (row, version), &mut Finger::default(), guard) {
                        self.follow_change(key, (None, Some(row)), leave, guard);
                        return Ok(Some(version));
                    }
                }
            }
        }
    }

    /// Makes the row under a key another one by a patch in place; `None` if that is not possible.
    pub(crate) fn set_version_by_patch(
        &self,
        key: &[u8],
        (row, patch): (&[u8], &[u8]),
        history: &mut HistoryWriter,
        guard: &Guard,
    ) -> Option<Handle> {
        let record = self.index().get(key, guard)?;
        let old = record.row(guard)?;
        if !leads_to(old, patch, row) || !self.leaves_entries(old, patch) {
            return None;
        }
        // SAFETY: changes of one key follow each other, and no other thread reads a row in place.
        unsafe { record.patch(patch, history, guard) }
    }

    /// As [`TableState::set_version_by_patch`] for a patch of the row that the running call has read; `None`
    /// also if the call has written the row since, perhaps.
    pub(crate) fn patch_read(
        &self,
        key: &[u8],
        patch: &[u8],
        history: &mut HistoryWriter,
        guard: &Guard,
    ) -> Option<Handle> {
        let record = self.index().get(key, guard)?;
        let old = record.row(guard)?;
        if history.is_own(record.writer()) || !self.leaves_entries(old, patch) {
            return None;
        }
        // SAFETY: changes of one key follow each other, and no other thread reads a row in place.
        unsafe { record.patch(patch, history, guard) }
    }

    /// Puts the pieces of a patch from a log into the row under a key.
    ///
    /// # Errors
    /// There is no row, or the result is none of this table: the log is damaged.
    pub(crate) fn patch_version(
        &self,
        key: &[u8],
        patch: &[u8],
        history: &mut HistoryWriter,
        leave: Leave<'_>,
        guard: &Guard,
    ) -> Result<Option<Handle>> {
        let (record, old) = self.patched_row(None, key, patch, guard)?;
        if self.leaves_entries(old, patch) {
            // SAFETY: changes of one key follow each other, and no other thread reads a row in place.
            return Ok(unsafe { record.patch(patch, history, guard) });
        }
        let mut new = old.to_vec();
        overwrite(&mut new, patch);
        self.install_version(key, Some(&new), history, leave, guard)
    }

    /// Takes the latest write of the row under a key back.
    pub(crate) fn take_version_back(
        &self,
        key: &[u8],
        version: Handle,
        history: &mut HistoryWriter,
        leave: Leave<'_>,
        guard: &Guard,
    ) {
        let Some(record) = self.index().get(key, guard) else { return };
        let before = record.row(guard).map(<[u8]>::to_vec);
        // SAFETY: the transaction has not ended, and reads no row in place.
        unsafe { record.take_back(version, history, guard) };
        self.follow_change(key, (before.as_deref(), record.row(guard)), leave, guard);
    }

    /// What follows from a row that has become another one.
    fn follow_change(
        &self,
        key: &[u8],
        (old, new): (Option<&[u8]>, Option<&[u8]>),
        leave: Leave<'_>,
        guard: &Guard,
    ) {
        match (old, new) {
            (None, Some(_)) => self.count_added(1),
            (Some(_), None) => self.count_removed(1),
            _ => {}
        }
        for index in self.indexes() {
            let entry = |row: &[u8]| {
                let mut entry = Vec::new();
                index.encode(self.layout(), row, key, &mut entry);
                entry
            };
            if let (Some(old), Some(new)) = (old, new)
                && index.is_untouched(self.layout(), old, new)
            {
                continue;
            }
            let (old, new) = (old.map(entry), new.map(entry));
            if old == new {
                continue;
            }
            if let Some(new) = new {
                index.entries().get_or_insert(&new, None, guard);
            }
            if let Some(old) = old {
                leave(Some(index.definition().id), &old);
            }
        }
        if new.is_none() {
            leave(None, key);
        }
    }

    /// Removes what was left, unless it is needed again. False if a version may still need it. No other
    /// thread changes the row meanwhile, or reads it. `histories` of `None`: there are no readers any more.
    pub(crate) fn remove_left(
        &self,
        index: Option<TableId>,
        key: &[u8],
        histories: Option<&Histories>,
        guard: &Guard,
    ) -> bool {
        let is_settled =
            |record: &Record| histories.is_none_or(|histories| histories.is_old(record.writer()));
        let Some(id) = index else {
            let record = self.index().get(key, guard).filter(|record| !record.has_row());
            let can_go = record.is_none_or(is_settled);
            if can_go && record.is_some() {
                self.index().remove(key, guard);
            }
            return can_go;
        };
        let Some(index) = self.indexes().iter().find(|index| index.definition().id == id) else {
            return true;
        };
        let row_key = &key[index.key_start(key)..];
        let record = self.index().get(row_key, guard);
        if record.is_some_and(|record| !is_settled(record)) {
            return false;
        }
        let row = record.and_then(|record| record.row(guard));
        let is_needed = |row| index.is_entry_of(key, self.layout(), (row_key, row), &mut Vec::new());
        if !row.is_some_and(is_needed) {
            index.entries().remove(key, guard);
        }
        true
    }
}

impl TableState {
    /// Whether a patch of a row of this table can be made in place.
    pub(super) fn leaves_entries(&self, old: &[u8], patch: &[u8]) -> bool {
        let leaves_entry = |index: &SecondaryIndex| index.is_unpatched(self.layout(), old, patch);
        self.layout().admits_patch(old, patch) && self.indexes().iter().all(leaves_entry)
    }
}
