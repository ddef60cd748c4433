//! Rows as transactions change them: found by key, written, taken back, with the table's count kept.
#![allow(unsafe_code)] // Takes back what was written into rows in place; see `storage::record`.

use crossbeam_epoch::Guard;

use crate::storage::history::{Handle, HistoryWriter};
use crate::storage::record::TakenBack;
use crate::storage::table::Table;

/// Writes the row under `key`, which the caller has read under its lock, and keeps the table's count. Returns
/// the version that undoes the write. Nothing happens if there is no record. `before` sees the row that is
/// replaced, if there is one.
pub(super) fn write_row(
    table: &Table,
    key: &[u8],
    row: Option<&[u8]>,
    history: &mut HistoryWriter,
    before: impl FnOnce(&[u8]),
    guard: &Guard,
) -> Option<Handle> {
    let state = table.state(guard);
    let index = state.index();
    let record = index.get(key, guard)?;
    if let Some(old) = record.row(guard) {
        before(old);
    }
    let written = index.charging_write(record, guard, || record.write(row, history, guard));
    let (version, had_row) = written.expect("a locked record stays in its index");
    match (had_row, row) {
        (false, Some(_)) => state.count_added(1),
        (true, None) => state.count_removed(1),
        _ => {}
    }
    Some(version)
}

/// Undoes the latest write of the row under `key`. Returns whether there is a row now. For a transaction that
/// still has the row locked, while none of its procedures is running.
pub(super) fn take_back(
    table: &Table,
    key: &[u8],
    version: Handle,
    history: &mut HistoryWriter,
    guard: &Guard,
) -> bool {
    let state = table.state(guard);
    let index = state.index();
    let Some(record) = index.get(key, guard) else { return false };
    let had_row = record.has_row();
    let TakenBack { has_row, .. } = index.charging_undo(record, guard, || {
        // SAFETY: the write lock is held until the end of the transaction, and a transaction that rolls back
        // no longer uses what it read in place (`Access::rollback_to`).
        unsafe { record.take_back(version, history, guard) }
    });
    match (had_row, has_row) {
        (false, true) => state.count_added(1),
        (true, false) => state.count_removed(1),
        _ => {}
    }
    has_row
}
