//! Tables: a stable [`Table`] to which plans and locks refer, and the [`TableState`] that TRUNCATE and ALTER
//! TABLE exchange.
//!
//! A state is a definition, the layouts that follow from it, the primary index with all rows, and the
//! secondary ones. Schema changes never alter a state: they build a new one as a pure function of the old
//! (`TableState::truncated`, `TableState::with_primary_key`, `TableState::with_index`) and exchange the two
//! under the table's write lock; the old one stays in the undo list and goes back on rollback.
//!
//! Invariants:
//! 1. A state reached under a guard stays readable while the guard lives, even if the table goes: the table's
//!    own reference to a state is dropped through the epoch.
//! 2. `version` grows with every exchange for another definition and never takes a value twice, so a plan
//!    compiled inside a transaction that was rolled back is not taken for a current one.
//! 3. `row_count` counts records with a row, including those of uncommitted transactions. A thread that turns
//!    null into a row or back counts it.
#![allow(unsafe_code)] // Reads the current state through an atomic pointer under an epoch guard; writes rows in recovery.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crossbeam_epoch::Guard;
use hyades_types::definition::{IndexDefinition, IndexKind, TableDefinition, TableId};
use hyades_types::error::{Error, Result};
use hyades_types::key::KeyLayout;
use hyades_types::memory::{Charge, Keeper};
use hyades_types::value::SqlType;

use super::opening::{Opening, RangeOpenings};
use super::primary_index::PrimaryIndex;
use super::record::{OldRow, Record};
use super::row::{RowLayout, is_inside, overwrite};
use super::row_count::RowCount;
use super::scan_batch::{ScanBatch, ScanDirection};
use super::secondary_index::SecondaryIndex;

/// The hidden key of a table without a primary key is a row number of 8 bytes, big-endian.
pub const ROW_NUMBER_BYTES: usize = 8;

/// What a table takes in addition to its definition: its layouts, the roots of its indexes, its names in the
/// catalog.
const STATE_BYTES: usize = 4 << 10;

/// The value of `next_row_number` before the first one is requested.
const NOT_YET_KNOWN: u64 = 0;

/// Everything about a table that a schema change can exchange.
pub struct TableState {
    definition: Arc<TableDefinition>,
    layout: RowLayout,
    key_layout: KeyLayout,
    key_columns: Box<[u16]>,
    // Shared by states that differ only in what their definitions say about constraints.
    index: Arc<PrimaryIndex>,
    /// In the order of the definition, followed by the one that is being built.
    indexes: Box<[SecondaryIndex]>,
    next_row_number: Arc<AtomicU64>,
    row_count: Arc<RowCount>,
    /// The session's charge for the definition of a temporary table. Its indexes charge for the rows.
    charge: Option<Charge>,
}

fn definition_charge(keeper: &Keeper, definition: &TableDefinition) -> Charge {
    Charge::for_value(keeper, definition, STATE_BYTES)
}

/// How the rows of a table are laid out.
fn row_layout(definition: &TableDefinition) -> RowLayout {
    // A view keeps no rows, and its columns may have types that a stored row cannot have.
    let stored = if definition.view.is_some() { &[] } else { definition.columns.as_slice() };
    RowLayout::new(&stored.iter().map(|column| column.sql_type).collect::<Vec<SqlType>>())
}

impl TableState {
    /// A table without rows. Panics if the primary key names a column that does not exist (`storage::catalog`
    /// checks definitions that come from outside).
    pub fn new(definition: Arc<TableDefinition>) -> TableState {
        let (key_columns, kind) = match &definition.primary_key {
            Some(key) => (key.columns.clone(), key.index),
            None => (Vec::new(), IndexKind::Ordered),
        };
        let key_type = |column: &u16| definition.columns[usize::from(*column)].sql_type;
        let key_types: Vec<SqlType> = key_columns.iter().map(key_type).collect();
        let key_layout = KeyLayout::new(&key_types);
        let width = match definition.primary_key {
            Some(_) => key_layout.fixed_width(),
            None => Some(ROW_NUMBER_BYTES),
        };
        let layout = row_layout(&definition);
        let indexes = definition.indexes.iter();
        TableState {
            indexes: indexes.map(|index| SecondaryIndex::new(index, &layout, width)).collect(),
            layout,
            index: Arc::new(PrimaryIndex::new(kind, width)),
            definition,
            key_layout,
            key_columns: key_columns.into(),
            next_row_number: Arc::new(AtomicU64::new(NOT_YET_KNOWN)),
            row_count: Arc::default(),
            charge: None,
        }
    }

    /// The same rows, not copied, under a definition with the same columns and primary key. Indexes that are
    /// new in it have no entries yet, except one that was being built. An index that is not in it is dropped
    /// from the state.
    #[must_use]
    pub fn with_definition(&self, definition: TableDefinition) -> TableState {
        let index = |wanted: &IndexDefinition| {
            let known = self.indexes.iter().find(|index| index.definition().id == wanted.id);
            known.map_or_else(|| self.new_index(wanted), |known| known.with_definition(wanted))
        };
        TableState {
            indexes: definition.indexes.iter().map(index).collect(),
            charge: self.keeper().map(|keeper| definition_charge(keeper, &definition)),
            definition: Arc::new(definition),
            layout: self.layout.clone(),
            key_layout: self.key_layout.clone(),
            key_columns: self.key_columns.clone(),
            index: Arc::clone(&self.index),
            next_row_number: Arc::clone(&self.next_row_number),
            row_count: Arc::clone(&self.row_count),
        }
    }

    /// A further index without entries.
    fn new_index(&self, definition: &IndexDefinition) -> SecondaryIndex {
        let mut index = SecondaryIndex::new(definition, &self.layout, self.key_width());
        self.keeper().into_iter().for_each(|keeper| index.charge_to(keeper));
        index
    }

    /// The same with an index, without entries, that writers maintain and no query uses yet: the definition
    /// does not list it.
    #[must_use]
    pub(crate) fn with_unfinished_index(&self, index: &IndexDefinition) -> TableState {
        let state = self.with_definition(TableDefinition::clone(&self.definition));
        let made = self.new_index(index).unfinished_one();
        TableState { indexes: state.indexes.into_iter().chain([made]).collect(), ..state }
    }

    /// An index of rows that have versions guarantees unique values from this time on.
    pub(crate) fn note_unique_since(&mut self, index: TableId, time: u64) {
        let made = self.indexes.iter_mut().find(|made| made.definition().id == index);
        made.into_iter().for_each(|made| made.note_unique_since(time));
    }

    /// The index that is being built.
    pub(crate) fn unfinished_index(&self) -> Option<&SecondaryIndex> {
        self.indexes.get(self.definition.indexes.len())
    }

    /// The same under a definition whose enum types have other labels, or other names.
    #[must_use]
    pub fn with_types(&self, definition: TableDefinition) -> TableState {
        let layout = row_layout(&definition);
        TableState { layout, ..self.with_definition(definition) }
    }

    pub fn definition(&self) -> &Arc<TableDefinition> {
        &self.definition
    }

    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The layout of the primary key; without columns in a table without one.
    pub fn key_layout(&self) -> &KeyLayout {
        &self.key_layout
    }

    /// The primary key's columns, in key order; none in a table without one.
    pub fn key_columns(&self) -> &[u16] {
        &self.key_columns
    }

    /// Whether rows are kept under row numbers because the table has no primary key.
    pub fn has_hidden_key(&self) -> bool {
        self.definition.primary_key.is_none()
    }

    /// The primary index.
    pub fn index(&self) -> &PrimaryIndex {
        &self.index
    }

    /// Whether both have the same rows, with all their versions.
    pub(crate) fn shares_rows(&self, other: &TableState) -> bool {
        Arc::ptr_eq(&self.index, &other.index)
    }

    /// The secondary indexes, in the order of the definition, followed by the one that is being built.
    pub fn indexes(&self) -> &[SecondaryIndex] {
        &self.indexes
    }

    /// Length of every row's key, where all have the same.
    fn key_width(&self) -> Option<usize> {
        if self.has_hidden_key() { Some(ROW_NUMBER_BYTES) } else { self.key_layout.fixed_width() }
    }

    /// Replaces the content of `key` by the primary key of a row. Only for tables that have one.
    pub fn encode_key(&self, row: &[u8], key: &mut Vec<u8>) {
        key.clear();
        self.layout.encode_key(row, &self.key_columns, key);
    }

    /// A row number never used before in this state, above all that recovery installed.
    pub fn new_row_number(&self) -> u64 {
        if self.next_row_number.load(Ordering::Acquire) == NOT_YET_KNOWN {
            self.continue_row_numbers();
        }
        self.next_row_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Looks for the largest number only when the first new one is requested, so that replay need not keep
    /// count.
    #[cold]
    fn continue_row_numbers(&self) {
        let guard = crossbeam_epoch::pin();
        let mut batch = ScanBatch::new();
        let page =
            self.index.scan(std::ops::Bound::Unbounded, ScanDirection::Backward, 1, &mut batch, &guard);
        let largest = page.iter().next().map_or(0, |(key, _)| row_number(key));
        // The first thread decides; no row is inserted under a number before that.
        let first = largest.saturating_add(1);
        let _ =
            self.next_row_number.compare_exchange(NOT_YET_KNOWN, first, Ordering::Release, Ordering::Relaxed);
    }

    /// Sets the row under a key to its state after a logged change, `None` for a deletion: what replay does,
    /// for every protocol. The last of several calls for one key wins, so the caller orders them; calls for
    /// different keys may run at once.
    ///
    /// Fails on a key or row that this table cannot hold, which means a corrupt log.
    pub fn install(&self, key: &[u8], row: Option<&[u8]>, guard: &Guard) -> Result<()> {
        self.check_logged(key, row)?;
        self.set(key, row, guard);
        Ok(())
    }

    /// As [`TableState::install`], for rows in their order, of one key or of several, each with the record
    /// that was found under its key, if there was one. Rows that keep their length stay in place.
    ///
    /// # Safety
    /// No other thread reads or writes these rows: the restart still keeps every transaction out.
    pub(crate) unsafe fn install_over(
        &self,
        record: Option<&Record>,
        key: &[u8],
        row: &[u8],
        guard: &Guard,
    ) -> Result<()> {
        self.check_logged(key, Some(row))?;
        let old = record.and_then(|record| Some((record, record.row(guard)?)));
        let stays = |old: &[u8]| {
            old.len() == row.len()
                && self.indexes.iter().all(|index| index.is_untouched(&self.layout, old, row))
        };
        match old {
            // SAFETY: as promised; a record that has left its index has no row.
            Some((record, old)) if stays(old) => unsafe { record.replay_over(row, guard) },
            _ => self.set(key, Some(row), guard),
        }
        Ok(())
    }

    /// As [`TableState::install_over`], for a row that gets the pieces of this patch from a log.
    ///
    /// # Errors
    /// There is no row, or the result is none of this table: the log is damaged.
    ///
    /// # Safety
    /// As for [`TableState::install_over`].
    pub(crate) unsafe fn patch_over(
        &self,
        record: Option<&Record>,
        key: &[u8],
        patch: &[u8],
        guard: &Guard,
    ) -> Result<()> {
        let (record, old) = self.patched_row(record, key, patch, guard)?;
        if self.leaves_entries(old, patch) {
            // SAFETY: as promised.
            unsafe { record.replay_patch(patch, guard) };
            return Ok(());
        }
        let mut new = old.to_vec();
        overwrite(&mut new, patch);
        // SAFETY: as promised.
        unsafe { self.install_over(Some(record), key, &new, guard) }
    }

    /// The row under a key, which a patch fits; `found` is the record that was found before, if there was
    /// one.
    ///
    /// # Errors
    /// There is no row, or the patch does not fit it: the log is damaged.
    pub(super) fn patched_row<'g>(
        &'g self,
        found: Option<&'g Record>,
        key: &[u8],
        patch: &[u8],
        guard: &'g Guard,
    ) -> Result<(&'g Record, &'g [u8])> {
        let damaged = |what: &str| {
            let name = &self.definition.name.name;
            Error::corrupt(format!("a logged change of a row of table \"{name}\" {what}"))
        };
        // An earlier change of the same group may have brought the row.
        let record = found.filter(|record| record.has_row()).or_else(|| self.index.get(key, guard));
        let found = record.and_then(|record| Some((record, record.row(guard)?)));
        let (record, old) = found.ok_or_else(|| damaged("finds no row"))?;
        if is_inside(old, patch) { Ok((record, old)) } else { Err(damaged("does not fit the row")) }
    }

    /// No row without a key of its own gets the number of this key again.
    pub(super) fn note_row_number(&self, key: &[u8]) {
        if self.has_hidden_key() && self.next_row_number.load(Ordering::Relaxed) != NOT_YET_KNOWN {
            self.next_row_number.fetch_max(row_number(key).saturating_add(1), Ordering::Relaxed);
        }
    }

    /// Whether a key and a row from a log or a checkpoint are valid for this table.
    pub(super) fn check_logged(&self, key: &[u8], row: Option<&[u8]>) -> Result<()> {
        if !self.index.accepts_key(key) {
            return Err(Error::corrupt(format!(
                "a logged key of {} bytes does not fit table \"{}\"",
                key.len(),
                self.definition.name.name
            )));
        }
        row.map_or(Ok(()), |row| self.layout.check(row))
    }

    /// As [`TableState::install`], for a key and a row that a procedure has made for this table.
    pub fn set(&self, key: &[u8], row: Option<&[u8]>, guard: &Guard) {
        let Some(row) = row else {
            if let Some(record) = self.index.get(key, guard)
                && let Ok(Some(old)) = record.try_replace(None, guard)
            {
                self.exchange_entries(key, (Some(old.bytes()), None), guard);
                old.retire(guard);
                self.count_removed(1);
            }
            self.index.remove(key, guard);
            return;
        };
        debug_assert!(self.layout.check(row).is_ok());
        self.note_row_number(key);
        loop {
            let (record, is_new) = self.index.get_or_insert(key, Some(row), guard);
            if is_new {
                self.count_added(1);
                self.exchange_entries(key, (None, Some(row)), guard);
                return;
            }
            // Fails only when the record has just been removed: find or make the next one.
            if let Ok(old) = record.try_replace(Some(row), guard) {
                self.exchange_entries(key, (old.as_ref().map(OldRow::bytes), Some(row)), guard);
                match old {
                    Some(old) => old.retire(guard),
                    None => self.count_added(1),
                }
                return;
            }
        }
    }

    /// Gives a row its index entries, in the place of those of the old row. For recovery, where there are no
    /// versions.
    pub(crate) fn exchange_entries(&self, key: &[u8], rows: (Option<&[u8]>, Option<&[u8]>), guard: &Guard) {
        for index in &self.indexes {
            index.exchange(&self.layout, key, rows, guard);
        }
    }

    /// Frees some of the rows of a state that no table uses any more; true when nothing is left to free. Rows
    /// that another state shares stay.
    pub fn free_some(&mut self) -> bool {
        Arc::get_mut(&mut self.index).is_none_or(PrimaryIndex::free_some)
            && self.indexes.iter_mut().all(SecondaryIndex::free_some)
    }

    /// Rows stored, uncommitted ones included.
    pub fn row_count(&self) -> u64 {
        self.row_count.sum()
    }

    /// The same state, still without rows, at the keeper's expense: that of a temporary table.
    #[must_use]
    pub(crate) fn charged_to(self, keeper: Option<&Keeper>) -> TableState {
        let Some(keeper) = keeper else { return self };
        let mut state = TableState { charge: Some(definition_charge(keeper, &self.definition)), ..self };
        state.index.charge_to(keeper);
        state.indexes.iter_mut().for_each(|index| index.charge_to(keeper));
        state
    }

    /// The same state, still without rows, charged to the same account as the other one.
    #[must_use]
    pub(crate) fn charged_like(self, other: &TableState) -> TableState {
        self.charged_to(other.keeper())
    }

    fn keeper(&self) -> Option<&Keeper> {
        self.charge.as_ref().map(Charge::keeper)
    }

    /// The table has another state now: what that does not share is freed soon.
    pub(crate) fn give_up_charge(&self, current: &TableState) {
        self.charge.iter().for_each(Charge::clear);
        if !self.shares_rows(current) {
            self.index.give_up_charge();
        }
        for index in &self.indexes {
            if !current.indexes.iter().any(|kept| kept.shares_entries(index)) {
                index.entries().give_up_charge();
            }
        }
    }

    /// Counts records that had no row and now have one.
    pub fn count_added(&self, rows: u64) {
        self.row_count.add(rows as i64);
    }

    /// Counts records that had a row and now have none.
    pub fn count_removed(&self, rows: u64) {
        self.row_count.add(-(rows as i64));
    }
}

/// The number in a hidden key.
fn row_number(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

impl fmt::Debug for TableState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableState").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// A table: its number, and a definition with rows that schema changes exchange as a whole.
pub struct Table {
    id: TableId,
    /// From `Arc::into_raw`; one reference is the table's.
    state: AtomicPtr<TableState>,
    version: AtomicU64,
    is_dropped: AtomicBool,
    /// See [`Table::is_replaced`].
    is_replaced: AtomicBool,
    rewritten_at: AtomicU64,
    opening: Opening,
    ranges: OnceLock<RangeOpenings>,
}

impl Table {
    /// A table without rows; panics as [`TableState::new`].
    pub fn new(id: TableId, definition: TableDefinition) -> Table {
        Table::with_state(id, TableState::new(Arc::new(definition)))
    }

    /// The same for a table whose rows the keeper pays for.
    pub(crate) fn charged_to(id: TableId, definition: TableDefinition, keeper: Option<&Keeper>) -> Table {
        Table::with_state(id, TableState::new(Arc::new(definition)).charged_to(keeper))
    }

    fn with_state(id: TableId, state: TableState) -> Table {
        let state = Arc::new(state);
        Table {
            id,
            state: AtomicPtr::new(Arc::into_raw(state).cast_mut()),
            version: AtomicU64::new(0),
            is_dropped: AtomicBool::new(false),
            is_replaced: AtomicBool::new(false),
            rewritten_at: AtomicU64::new(0),
            opening: Opening::default(),
            ranges: OnceLock::new(),
        }
    }

    pub fn id(&self) -> TableId {
        self.id
    }

    /// Whether an open transaction has replaced the state of the table (`storage::catalog::replaced`). True
    /// already while it does that.
    pub(crate) fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::Acquire)
    }

    pub(super) fn set_replaced(&self, is_replaced: bool) {
        self.is_replaced.store(is_replaced, Ordering::Release);
    }

    /// Changes with every change of the definition (not with TRUNCATE).
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(self.state(&crossbeam_epoch::pin()).definition())
    }

    /// Whether no two rows that a snapshot of this time sees have the same values in a unique index.
    pub fn is_unique_at(&self, index: TableId, time: u64) -> bool {
        let guard = crossbeam_epoch::pin();
        let mut indexes = self.state(&guard).indexes().iter();
        indexes.any(|known| known.definition().id == index && known.unique_since() <= time)
    }

    /// The current state.
    pub fn state<'g>(&self, _guard: &'g Guard) -> &'g TableState {
        // SAFETY: never null; the table's reference to the state read here is dropped only through the epoch
        // (invariant 1).
        unsafe { &*self.state.load(Ordering::Acquire) }
    }

    /// A reference to the current state that outlives a guard.
    pub fn shared_state(&self) -> Arc<TableState> {
        let _guard = crossbeam_epoch::pin();
        let state = self.state.load(Ordering::Acquire);
        // SAFETY: from `Arc::into_raw`, with at least the table's reference left while the guard lives.
        unsafe {
            Arc::increment_strong_count(state);
            Arc::from_raw(state)
        }
    }

    /// Exchanges the state and returns the old one, for the undo list. The caller holds the table's write
    /// lock.
    pub fn replace_state(&self, new: Arc<TableState>, guard: &Guard) -> Arc<TableState> {
        let definition = Arc::clone(&new.definition);
        let old = self.state.swap(Arc::into_raw(new).cast_mut(), Ordering::AcqRel);
        // SAFETY: from `Arc::into_raw`; this takes over the table's own reference.
        let old = unsafe { Arc::from_raw(old) };
        if !Arc::ptr_eq(&old.definition, &definition) {
            self.version.fetch_add(1, Ordering::AcqRel);
        }
        let for_caller = Arc::clone(&old);
        guard.defer(move || drop(old));
        for_caller
    }

    /// Rows stored, uncommitted ones included.
    pub fn row_count(&self) -> u64 {
        self.state(&crossbeam_epoch::pin()).row_count()
    }

    /// As [`TableState::new_row_number`].
    pub fn new_row_number(&self) -> u64 {
        self.state(&crossbeam_epoch::pin()).new_row_number()
    }

    /// As [`TableState::install`].
    pub fn install(&self, key: &[u8], row: Option<&[u8]>, guard: &Guard) -> Result<()> {
        self.state(guard).install(key, row, guard)
    }

    /// Set when a DROP TABLE commits or a CREATE TABLE is rolled back (under the table's write lock), so that
    /// plans that still refer to the table are compiled again. Never reset.
    pub fn mark_dropped(&self) {
        self.is_dropped.store(true, Ordering::Release);
    }

    pub fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Acquire)
    }

    /// Its rows were exchanged at this time of the histories' clock, without leaving versions. The caller
    /// holds the table's write lock, and the change is committed.
    pub(crate) fn note_rewritten(&self, time: u64) {
        self.rewritten_at.store(time, Ordering::Release);
    }

    /// The time since which its rows have versions; 0 since the last restart, which no snapshot survives.
    #[inline]
    pub(crate) fn rewritten_at(&self) -> u64 {
        self.rewritten_at.load(Ordering::Acquire)
    }

    /// Closed while its rows are not yet restored after a restart.
    #[inline]
    pub(crate) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// The openings of ranges of keys, if these may be entered before the table is open.
    pub(crate) fn ranges(&self) -> Option<&RangeOpenings> {
        self.ranges.get()
    }

    /// Lets ranges of keys be entered one by one. The table is closed.
    pub(crate) fn divide(&self, starts: impl Iterator<Item = Box<[u8]>>) {
        drop(self.ranges.set(RangeOpenings::new(starts)));
    }

    /// Lets every transaction in.
    pub(crate) fn open(&self) {
        self.opening.open();
        self.ranges().into_iter().for_each(RangeOpenings::open_all);
    }

    /// No transaction gets in that has not been let in.
    pub(crate) fn refuse(&self, error: &Error) {
        self.opening.fail(error);
        self.ranges().into_iter().for_each(|ranges| ranges.fail(error));
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: from `Arc::into_raw`, and this is the table's own reference.
        let state = unsafe { Arc::from_raw(*self.state.get_mut()) };
        crossbeam_epoch::pin().defer(move || drop(state));
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("id", &self.id).field("name", &self.definition().name).finish()
    }
}

#[cfg(test)]
pub(crate) mod tests;
