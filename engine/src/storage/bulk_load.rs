//! Loading all rows of a table at once, on several threads, before the table is in use.
//!
//! ```text
//!   rows of a range, in the order of the index --> RangeLoad: a run of the primary index; entries of the others, sorted
//!   all ranges are there --> TableLoad::divide: pieces of the entries --> a run each --> TableLoad::conclude: every index
//!                                                                                       takes its runs over
//! ```
//!
//! So no row costs a descent in any index, and no two threads meet in one. A hash index has room for all rows
//! from the beginning and gets each as it comes, because it has no order to build from.
//!
//! The table's ordered indexes are empty until [`TableLoad::conclude`], and complete after it. But the rows
//! of a range that a session waits for can be found before, if there are no secondary indexes
//! ([`RangeLoad::publish`], `early_runs`).

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::error::{Error, Result};
use parking_lot::Mutex;

use super::history::Handle;
use super::key_run::KeyRun;
use super::primary_index::UnsortedKeys;
use super::record::OwnedRecord;
use super::table::TableState;

/// The approximate number of entries of a secondary index in one piece.
const PIECE_ENTRIES: usize = 256 << 10;

/// A table that is being loaded; see the module head.
pub(crate) struct TableLoad {
    state: Arc<TableState>,
    parts: Mutex<Parts>,
}

/// The parts made so far.
struct Parts {
    /// By range; `None` for a hash index.
    rows: Vec<Option<KeyRun>>,
    /// By range, how many rows have been counted.
    counted: Vec<u64>,
    /// For each secondary index, the entries of all ranges.
    entries: Vec<Vec<UnsortedKeys>>,
    /// For each secondary index, by piece.
    pieces: Vec<Vec<Option<KeyRun>>>,
}

/// One range of a table that is being loaded.
pub(crate) struct RangeLoad<'t> {
    load: &'t TableLoad,
    place: usize,
    run: Option<KeyRun>,
    entries: Vec<UnsortedKeys>,
    entry: Vec<u8>,
    rows: u64,
}

/// Some entries of a secondary index, still to be sorted.
pub(crate) struct EntryPiece {
    index: usize,
    place: usize,
    keys: Vec<UnsortedKeys>,
}

impl TableLoad {
    /// For a table without rows, which are going to come in this many ranges.
    pub(crate) fn new(state: Arc<TableState>, ranges: usize, rows: u64) -> TableLoad {
        state.index().reserve(rows as usize);
        let parts = Parts {
            rows: (0..ranges).map(|_| None).collect(),
            counted: vec![0; ranges],
            entries: state.indexes().iter().map(|_| Vec::new()).collect(),
            pieces: state.indexes().iter().map(|_| Vec::new()).collect(),
        };
        TableLoad { state, parts: Mutex::new(parts) }
    }

    /// Begins the range at this position, of about this many rows.
    pub(crate) fn range(&self, place: usize, rows: usize) -> RangeLoad<'_> {
        let entries = self.state.indexes().iter().filter_map(|index| index.entries().new_unsorted(rows));
        RangeLoad {
            load: self,
            place,
            run: self.state.index().new_run(),
            entries: entries.collect(),
            entry: Vec::new(),
            rows: 0,
        }
    }

    /// Divides the entries of the secondary indexes, when all ranges have been loaded.
    pub(crate) fn divide(&self) -> Vec<EntryPiece> {
        let mut parts = self.parts.lock();
        let Parts { entries, pieces, .. } = &mut *parts;
        let mut divided = Vec::new();
        for (index, (entries, runs)) in entries.iter_mut().zip(pieces).enumerate() {
            let count: usize = entries.iter().map(UnsortedKeys::len).sum();
            let keys = UnsortedKeys::divide(std::mem::take(entries), count.div_ceil(PIECE_ENTRIES));
            runs.resize_with(keys.len(), || None);
            divided.extend(keys.into_iter().enumerate().map(|(place, keys)| EntryPiece {
                index,
                place,
                keys,
            }));
        }
        divided
    }

    /// Sorts the entries of a piece.
    pub(crate) fn build(&self, piece: EntryPiece) -> Result<()> {
        let EntryPiece { index, place, keys } = piece;
        let run = UnsortedKeys::into_run(keys).ok_or_else(|| self.damaged("has a row twice"))?;
        self.parts.lock().pieces[index][place] = Some(run);
        Ok(())
    }

    /// Hands every index its parts, when all of them are complete.
    pub(crate) fn conclude(&self, guard: &Guard) -> Result<()> {
        let mut parts = self.parts.lock();
        let rows = std::mem::take(&mut parts.rows);
        if self.state.index().is_ordered() && !self.state.index().adopt_published(rows, guard) {
            return Err(self.damaged("has ranges of keys that overlap"));
        }
        for (index, runs) in self.state.indexes().iter().zip(std::mem::take(&mut parts.pieces)) {
            if !index.entries().adopt(runs.into_iter().flatten().collect(), guard) {
                return Err(self.damaged("has a row twice"));
            }
        }
        Ok(())
    }

    fn damaged(&self, reason: &str) -> Error {
        let name = &self.state.definition().name.name;
        Error::corrupt(format!("the checkpoint is damaged: table \"{name}\" {reason} in it"))
    }
}

impl RangeLoad<'_> {
    /// Adds a row of the checkpoint, whose key is above those before it. Fails as [`TableState::install`].
    pub(crate) fn add(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        self.add_written(key, row, Handle::CHECKPOINTED)
    }

    /// The same for a row that the checkpoint does not have like this.
    pub(crate) fn add_changed(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        self.add_written(key, row, Handle::NONE)
    }

    /// A row of the checkpoint is not added, because it is gone.
    pub(crate) fn leave_out(&mut self, key: &[u8]) {
        self.load.state.index().note_removal(key);
    }

    fn add_written(&mut self, key: &[u8], row: &[u8], writer: Handle) -> Result<()> {
        let state = &*self.load.state;
        state.check_logged(key, Some(row))?;
        let record = OwnedRecord::written(row, writer);
        let is_new = match &mut self.run {
            Some(run) => run.push(key, record),
            None => state.index().insert_hashed(key, record, &epoch::pin()),
        };
        if !is_new {
            return Err(self.load.damaged("has two rows of one key, or keys out of their order"));
        }
        for (index, entries) in state.indexes().iter().zip(&mut self.entries) {
            index.encode(state.layout(), row, key, &mut self.entry);
            entries.push(&self.entry);
        }
        self.rows += 1;
        Ok(())
    }

    /// Ends the range, all rows of which have been added; takes the place of what was loaded for it before.
    pub(crate) fn finish(mut self) {
        self.count();
        self.entries.iter_mut().for_each(UnsortedKeys::sort);
        let mut parts = self.load.parts.lock();
        if let Some(place) = parts.rows.get_mut(self.place) {
            *place = self.run;
        }
        for (index, entries) in self.entries.into_iter().enumerate() {
            parts.entries[index].push(entries);
        }
    }

    /// The same, and from now on its rows can be found. The range begins with this key or a larger one. The
    /// table has no secondary indexes and an ordered primary one.
    pub(crate) fn publish(mut self, from: &[u8]) {
        self.count();
        if let Some(place) = self.load.parts.lock().rows.get_mut(self.place) {
            *place = None;
        }
        if let Some(run) = self.run.take() {
            self.load.state.index().publish(self.place, from, run);
        }
    }

    fn count(&self) {
        let mut parts = self.load.parts.lock();
        if let Some(counted) = parts.counted.get_mut(self.place) {
            let before = std::mem::replace(counted, self.rows);
            self.load.state.count_removed(before);
            self.load.state.count_added(self.rows);
        }
    }
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests;
