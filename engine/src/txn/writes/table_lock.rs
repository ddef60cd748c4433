//! The tables that a transaction is in, and their locks.
//!
//! LOCK TABLE takes the locks that statements take. Where they are fewer than PostgreSQL's eight modes, it
//! takes the next stronger one:
//!
//! ```text
//! command                                     definition    rows
//! ACCESS SHARE                                Read          -
//! ROW SHARE                                   Read          IntentRead
//! ROW EXCLUSIVE                               Read          IntentWrite
//! SHARE                                       Read          Read
//! SHARE UPDATE EXCLUSIVE, SHARE ROW EXCLUSIVE Read          NoKeyWrite
//! EXCLUSIVE                                   Read          Write
//! ACCESS EXCLUSIVE                            Write         Write
//! ```

use std::sync::Arc;

use hyades_types::error::{Abort, Error, sqlstate};

use super::modes::{is_of_one_stripe, row_mode, table_mode};
use super::resource::{Resource, TABLE_STRIPES};
use super::table_use::TableUse;
use super::{AtOnce, Body, PLACE_NOTES};
use crate::protocol::Protocol;
use crate::storage::table::Table;
use crate::txn::lock_mode::LockMode;
use crate::txn::{Flow, Intent, Interrupt, TableLock};

impl<P: Protocol> Body<P> {
    /// The place of a table among `tables`, and where to note that.
    #[inline]
    pub(super) fn noted_place(&self, table: &Arc<Table>) -> (usize, Option<usize>) {
        let note = table.id().0 as usize % PLACE_NOTES;
        let place = usize::from(self.table_places[note]);
        let is_there = self.tables.get(place).is_some_and(|used| Arc::ptr_eq(&used.table, table));
        (note, is_there.then_some(place))
    }

    #[inline]
    pub(super) fn table_place(&mut self, table: &Arc<Table>) -> usize {
        let (note, place) = self.noted_place(table);
        place.unwrap_or_else(|| self.find_table(table, note))
    }

    #[cold]
    fn find_table(&mut self, table: &Arc<Table>, note: usize) -> usize {
        let place =
            self.tables.iter().position(|used| Arc::ptr_eq(&used.table, table)).unwrap_or_else(|| {
                self.tables.push(TableUse::new(table, self.shared.row_locks_before_table));
                self.tables.len() - 1
            });
        self.table_places[note] = u8::try_from(place).unwrap_or(0);
        place
    }

    pub(super) fn table_mode(&self, table: &Arc<Table>) -> Option<LockMode> {
        let noted = self.noted_place(table).1;
        let place = noted.or_else(|| self.tables.iter().position(|used| Arc::ptr_eq(&used.table, table)));
        place.and_then(|place| self.tables[place].mode)
    }

    /// Whether the lock on the whole table makes row locks redundant.
    pub(super) fn covers_rows(&self, table: &Arc<Table>, intent: Intent) -> bool {
        self.table_mode(table).is_some_and(|mode| !is_of_one_stripe(mode) && mode.covers(row_mode(intent)))
    }

    /// Locks the table in at least this mode: an intent on the worker's stripe, a whole-table mode on all.
    pub(super) fn lock_table_in(&mut self, table: &Arc<Table>, mode: LockMode) -> Flow<()> {
        let place = self.table_place(table);
        let wanted = self.tables[place].mode.map_or(mode, |held| held.join(mode));
        if self.tables[place].mode == Some(wanted) {
            return Ok(());
        }
        if is_of_one_stripe(wanted) {
            self.lock(Resource::table_stripe(table.id(), self.worker), wanted)?;
        } else {
            for stripe in 0..TABLE_STRIPES {
                self.lock(Resource::table_stripe(table.id(), stripe), wanted)?;
            }
        }
        self.tables[place].mode = Some(wanted);
        self.tables[place].note_entered();
        Ok(())
    }

    /// LOCK TABLE; see the module head.
    pub(super) fn lock_by_command(&mut self, table: &Arc<Table>, lock: TableLock, waits: bool) -> Flow<()> {
        let before = self.held.len();
        let locked = self.try_by_command(table, lock, waits);
        if !waits && matches!(locked, Err(Interrupt::Failed(_))) {
            // Nothing relies on them yet.
            while self.held.len() > before {
                self.let_go(self.held[self.held.len() - 1]);
            }
        }
        locked
    }

    fn try_by_command(&mut self, table: &Arc<Table>, lock: TableLock, waits: bool) -> Flow<()> {
        let (id, own) = (table.id(), self.worker..self.worker + 1);
        let place = self.table_place(table);
        let (stripes, mode) = match lock {
            TableLock::AccessExclusive => {
                self.tables[place].give_up_plans();
                (0..TABLE_STRIPES, LockMode::Write)
            }
            _ => (own.clone(), LockMode::Read),
        };
        for stripe in stripes {
            self.take(Resource::definition_stripe(id, stripe), mode, table, waits)?;
        }
        if let Some(mode) = mode_of_rows(lock) {
            let wanted = self.tables[place].mode.map_or(mode, |held| held.join(mode));
            let stripes = if is_of_one_stripe(wanted) { own } else { 0..TABLE_STRIPES };
            for stripe in stripes {
                self.take(Resource::table_stripe(id, stripe), wanted, table, waits)?;
            }
            self.tables[place].mode = Some(wanted);
        }
        self.tables[place].is_defined = true;
        self.tables[place].note_entered();
        Ok(())
    }

    fn take(&mut self, resource: Resource, mode: LockMode, table: &Table, waits: bool) -> Flow<()> {
        if waits {
            return self.lock(resource, mode).map(drop);
        }
        match self.lock_at_once(resource, mode)? {
            AtOnce::New | AtOnce::Held => Ok(()),
            AtOnce::Refused => {
                let message =
                    format!("could not obtain lock on relation \"{}\"", table.definition().name.name);
                Err(Error::input(sqlstate::LOCK_NOT_AVAILABLE, message).into())
            }
        }
    }

    /// Enters a table whose rows are to be locked. Fails with `StalePlan` unless the table has this version;
    /// false if its rows are to be skipped.
    #[inline(always)]
    pub(in crate::txn) fn enter_to_lock(
        &mut self,
        table: &Arc<Table>,
        version: u64,
        intent: Intent,
    ) -> Flow<bool> {
        // Most accesses are to tables that have been entered before.
        if self.has_entered(table, intent) && self.is_as_planned(table, version) {
            return Ok(true);
        }
        self.enter_first(table, version, intent)
    }

    #[inline(never)]
    fn enter_first(&mut self, table: &Arc<Table>, version: u64, intent: Intent) -> Flow<bool> {
        if !self.lock_table_for(table, table_mode(intent), intent)? {
            return Ok(false);
        }
        if self.is_as_planned(table, version) { Ok(true) } else { Err(Error::Abort(Abort::StalePlan).into()) }
    }

    #[inline]
    pub(super) fn is_as_planned(&self, table: &Arc<Table>, version: u64) -> bool {
        (table.version() == version || self.is_waited_for(table, version)) && !table.is_dropped()
    }

    /// Whether a plan is as old as what the transaction found when it entered the table. Then all that has
    /// changed since are indexes that are built beside it, and their builders wait for it (`index_build`).
    #[cold]
    fn is_waited_for(&self, table: &Arc<Table>, version: u64) -> bool {
        let found = self.tables.iter().find(|used| Arc::ptr_eq(&used.table, table));
        found.is_some_and(|used| (used.entered..=table.version()).contains(&version))
    }
}

/// See the module head.
fn mode_of_rows(lock: TableLock) -> Option<LockMode> {
    Some(match lock {
        TableLock::AccessShare => return None,
        TableLock::RowShare => LockMode::IntentRead,
        TableLock::RowExclusive => LockMode::IntentWrite,
        TableLock::Share => LockMode::Read,
        TableLock::ShareUpdateExclusive | TableLock::ShareRowExclusive => LockMode::NoKeyWrite,
        TableLock::Exclusive | TableLock::AccessExclusive => LockMode::Write,
    })
}
