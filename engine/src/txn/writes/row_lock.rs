//! The locks of rows, and of tables, for readers that do not wait.
//!
//! **Impatient readers** take each lock at once or not at all. A table that another transaction has locked as
//! a whole counts as one whose rows are all locked. A reader that skips locked rows gets no promise about
//! what it has not seen: gaps stay unlocked, absent rows too, and a scan gives up the lock of each row that
//! its procedure did not [keep](crate::txn::Access::keep_row), unless the transaction has requested it again
//! meanwhile. So consumers of one queue do not disturb its other rows, nor the producers of new ones. A call
//! with such a reader is logged as data.

use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::error::{Error, sqlstate};

use super::modes::{is_of_one_stripe, row_mode, table_mode};
use super::resource::{Resource, TABLE_STRIPES};
use super::{AtOnce, Body};
use crate::protocol::Protocol;
use crate::storage::record::Record;
use crate::storage::table::Table;
use crate::txn::cursor::find_record;
use crate::txn::lock_mode::LockMode;
use crate::txn::{Flow, Impatience, Intent};

/// Worded as in PostgreSQL.
pub(super) fn not_available(table: &Table) -> Error {
    let name = &table.definition().name.name;
    Error::input(sqlstate::LOCK_NOT_AVAILABLE, format!("could not obtain lock on row in relation \"{name}\""))
}

impl<P: Protocol> Body<P> {
    /// Whether the table is locked for this already.
    #[inline(always)]
    pub(super) fn has_entered(&mut self, table: &Arc<Table>, intent: Intent) -> bool {
        let place = self.table_place(table);
        let held = self.tables[place].mode;
        intent.impatience.is_none() && held.is_some_and(|held| held.covers(table_mode(intent)))
    }

    /// Locks the table in at least this mode; false if its rows are to be skipped because another transaction
    /// has locked it.
    pub(super) fn lock_table_for(
        &mut self,
        table: &Arc<Table>,
        mode: LockMode,
        intent: Intent,
    ) -> Flow<bool> {
        let Some(impatience) = intent.impatience else {
            self.lock_table_in(table, mode)?;
            return Ok(true);
        };
        self.give_up_command();
        let before = self.held.len();
        let place = self.table_place(table);
        let wanted = self.tables[place].mode.map_or(mode, |held| held.join(mode));
        let stripes = if is_of_one_stripe(wanted) { self.worker..self.worker + 1 } else { 0..TABLE_STRIPES };
        let mut is_locked = Ok(true);
        for stripe in stripes {
            is_locked = self
                .lock_at_once(Resource::table_stripe(table.id(), stripe), wanted)
                .map(|lock| lock != AtOnce::Refused);
            if !matches!(is_locked, Ok(true)) {
                break;
            }
        }
        if matches!(is_locked, Ok(true)) {
            self.tables[place].mode = Some(wanted);
            self.tables[place].note_entered();
            return Ok(true);
        }
        // Nothing relies on them yet.
        while self.held.len() > before {
            self.let_go(self.held[self.held.len() - 1]);
        }
        is_locked?;
        refuse(impatience, table)
    }

    /// Locks the row; false if it is to be skipped. Returns the resource if the lock is a new one.
    pub(super) fn lock_row_at_once(
        &mut self,
        table: &Table,
        resource: Resource,
        intent: Intent,
        impatience: Impatience,
    ) -> Flow<(bool, Option<Resource>)> {
        match self.lock_at_once(resource, row_mode(intent))? {
            AtOnce::New => Ok((true, Some(resource))),
            AtOnce::Held => Ok((true, None)),
            AtOnce::Refused => refuse(impatience, table).map(|is_locked| (is_locked, None)),
        }
    }

    pub(super) fn read_impatiently<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        guard: &'g Guard,
    ) -> Flow<Option<&'g Record>> {
        let Some(impatience) = intent.impatience else { return Ok(find_record(table, key, guard)) };
        let (is_locked, new) =
            self.lock_row_at_once(table, Resource::row(table.id(), key), intent, impatience)?;
        if !is_locked {
            return Ok(None);
        }
        let record = find_record(table, key, guard);
        if let (Some(resource), Impatience::SkipLocked) = (new, impatience)
            && !record.is_some_and(Record::has_row)
        {
            self.let_go(resource);
        }
        Ok(record)
    }

    /// Gives up a lock that nothing relies on.
    pub(super) fn let_go(&mut self, resource: Resource) {
        let Some(place) = self.held.iter().rposition(|held| *held == resource) else { return };
        self.held.swap_remove(place);
        self.shared.locks.release(&*self.shared, self.id, resource, None);
    }
}

fn refuse(impatience: Impatience, table: &Table) -> Flow<bool> {
    match impatience {
        Impatience::SkipLocked => Ok(false),
        Impatience::NoWait => Err(not_available(table).into()),
    }
}
