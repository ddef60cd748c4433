//! What the rows and entries of a temporary table cost the session that has it.
//!
//! ```text
//! key is inserted            + KEY_BYTES + key        removed by the janitor   - the same
//! record gets its first row  + row                    has none any more        - row
//! row is replaced            + new - old              old version: until the transaction ends
//! ```
//! A row in its record's own allocation is freed with the record, so it counts as long as the record has any
//! row ([`Record::row_bytes`]).

use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::memory::{Charge, Keeper};

use super::PrimaryIndex;
use crate::storage::record::{Record, RowBytes, TakenBack};

/// What a key costs in addition to its bytes: its record, and its place in the index.
const KEY_BYTES: usize = 80;

fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

impl PrimaryIndex {
    /// From now on the content is at the keeper's expense. There is none yet.
    pub(in crate::storage) fn charge_to(self: &mut Arc<Self>, keeper: &Keeper) {
        Arc::get_mut(self).expect("an index of no table yet is not shared").charge =
            Some(Charge::none(keeper));
    }

    /// No table has this index any more: it is freed soon.
    pub(in crate::storage) fn give_up_charge(&self) {
        self.charge.iter().for_each(Charge::clear);
    }

    /// A key has come, with or without a row.
    pub(super) fn charge_key(&self, key: &[u8], row: Option<&[u8]>) {
        if let Some(charge) = &self.charge {
            charge.add(signed(KEY_BYTES + key.len() + row.map_or(0, <[u8]>::len)));
        }
    }

    /// A key has gone.
    pub(super) fn charge_removal(&self, key: &[u8]) {
        if let Some(charge) = &self.charge {
            charge.add(-signed(KEY_BYTES + key.len()));
        }
    }

    /// Runs `write`, which puts a row, or none, in the place of that of a record of this index, which becomes
    /// a version.
    #[inline]
    pub(crate) fn charging_write<T>(&self, record: &Record, guard: &Guard, write: impl FnOnce() -> T) -> T {
        let Some(charge) = &self.charge else { return write() };
        let old = record.row_bytes(guard);
        let done = write();
        exchange(charge, (old, record.row_bytes(guard)), |_, new| signed(new.separate));
        done
    }

    /// This many bytes of a row have become a version, because others are written in their place.
    #[inline]
    pub(crate) fn charge_patch(&self, bytes: usize) {
        if let Some(charge) = &self.charge {
            charge.keeper().charge_transaction(signed(bytes));
        }
    }

    /// Runs `take_back`, which undoes one of these.
    #[inline]
    pub(crate) fn charging_undo(
        &self,
        record: &Record,
        guard: &Guard,
        take_back: impl FnOnce() -> TakenBack,
    ) -> TakenBack {
        let Some(charge) = &self.charge else { return take_back() };
        let old = record.row_bytes(guard);
        let taken = take_back();
        match taken.patch_bytes {
            Some(bytes) => charge.keeper().charge_transaction(-signed(bytes)),
            None => exchange(charge, (old, record.row_bytes(guard)), |old, _| -signed(old.separate)),
        }
        taken
    }
}

/// A record has another row. What it has allocated (or freed, if negative) counts until the transaction ends,
/// less what the row itself counts from now on.
#[cold]
fn exchange(charge: &Charge, (old, new): (RowBytes, RowBytes), allocated: fn(RowBytes, RowBytes) -> isize) {
    let more = signed(new.total()) - signed(old.total());
    charge.add(more);
    charge.keeper().charge_transaction(allocated(old, new) - more);
}
