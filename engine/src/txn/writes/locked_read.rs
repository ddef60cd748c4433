//! Reading the newest version of a row, locked: under two-phase locking whatever a serializable transaction
//! reads; at the other levels parents and children of rows with foreign keys, and what is in the way of an
//! insert.

use std::sync::Arc;

use crossbeam_epoch::Guard;

use super::Body;
use super::modes::row_mode;
use super::resource::Resource;
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::table::Table;
use crate::txn::cursor::find_record;
use crate::txn::{Flow, Found, FoundAhead, Intent};

impl<P: Protocol> Body<P> {
    /// Locks the row under `key`, present or absent, and returns its newest version.
    #[inline(always)]
    pub(in crate::txn) fn read_locked<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        ahead: Option<FoundAhead<'g>>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        let is_skipped = intent == Intent::READ && mutant::is_active(Mutant::SkipRowLock);
        if is_skipped || !self.locks_rows(table, intent) {
            return Ok(self.find_newest(find_record(table, key, guard), intent, guard).into());
        }
        let resource = Resource::row(table.id(), key);
        let state = table.state(guard);
        let early = ahead.and_then(|found| found.in_state(state)).or_else(|| {
            // The lock's bucket is fetched from memory while the index is searched, and the row while the
            // lock is taken.
            self.shared.locks.prefetch(resource);
            state.index().get(key, guard).inspect(|record| record.prefetch())
        });
        if intent.impatience.is_some() {
            let record = self.read_impatiently(table, key, intent, guard)?;
            return Ok(self.find_newest(record, intent, guard).into());
        }
        self.lock(resource, row_mode(intent))?;
        // A record that holds a row has not left its index. Without one, another record may have taken its
        // place meanwhile.
        let record = early.filter(|record| record.has_row());
        let record = record.or_else(|| find_record(table, key, guard));
        Ok(self.find_newest(record, intent, guard).into())
    }

    /// Prefetches the memory of the lock that [`Body::read_locked`] takes.
    #[inline]
    pub(in crate::txn) fn prefetch_row_lock(&self, table: &Table, key: &[u8]) {
        self.shared.locks.prefetch(Resource::row(table.id(), key));
    }
}
