//! Rows as transactions change them in place: found by key, exchanged, put back, with the table's count kept.
#![allow(unsafe_code)] // Takes back what was written into rows in place; see `storage::record`.

use crossbeam_epoch::Guard;

use crate::storage::record::OldRow;
use crate::storage::table::Table;

/// Exchanges the row under `key`, which the caller has read under its lock, and keeps the table's count.
pub(super) fn replace_row(table: &Table, key: &[u8], row: Option<&[u8]>, guard: &Guard) -> Option<OldRow> {
    let state = table.state(guard);
    let old = state.index().get(key, guard)?.replace(row, guard);
    match (&old, row) {
        (None, Some(_)) => state.count_added(1),
        (Some(_), None) => state.count_removed(1),
        _ => {}
    }
    old
}

/// Puts a row back that [`replace_row`] took out.
pub(super) fn restore_row(table: &Table, key: &[u8], old: Option<OldRow>, guard: &Guard) {
    let state = table.state(guard);
    let Some(record) = state.index().get(key, guard) else { return };
    match (&old, record.has_row()) {
        (Some(_), false) => state.count_added(1),
        (None, true) => state.count_removed(1),
        _ => {}
    }
    record.restore(old, guard);
}

/// Takes back what a patch did to the row under `key`: the patch holds what stood there. For a transaction
/// that still has the row locked, and no procedure of it under way.
pub(super) fn patch_back(table: &Table, key: &[u8], patch: &mut [u8], guard: &Guard) {
    if let Some(record) = table.state(guard).index().get(key, guard) {
        // SAFETY: the write lock is held until the end of the transaction; whoever rolls back has given up
        // what it read in place (`Access::rollback_to`).
        unsafe { record.patch(patch, guard) };
    }
}
