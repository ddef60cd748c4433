//! Snapshots that are older than the rows of a table.
//!
//! TRUNCATE, ADD PRIMARY KEY and every change that gives the rows of a table other columns (ALTER TABLE,
//! indexes on expressions or with WHERE) exchange all rows at once, and the new ones have no versions: an
//! older snapshot would see the newest rows, or none. So a table remembers when that was committed
//! ([`Table::rewritten_at`]), and a transaction that enters it with an older snapshot
//! * takes another snapshot, if the table is the first of a REPEATABLE READ transaction, which has not read
//!   anything at the old one;
//! * gets 40001 under REPEATABLE READ;
//! * begins the statement again, at a new snapshot, under READ COMMITTED.
//!
//! A transaction that is in a table at a snapshot has locked its definition, so nothing is rewritten under a
//! reader; and after a restart there are no older snapshots. A transaction that rewrites a table itself has
//! written each of its rows: REPEATABLE READ refuses that if another transaction has changed one since its
//! snapshot, as it does for updates.
//!
//! Differs from PostgreSQL, where the table is empty for older snapshots after some of these changes, and the
//! others keep the versions.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use hyades_types::error::{Abort, Error, sqlstate};
use hyades_types::guest;

use super::Body;
use super::table_use::TableUse;
use crate::protocol::Protocol;
use crate::storage::catalog::for_each_record;
use crate::storage::history::Snapshot;
use crate::storage::table::Table;
use crate::txn::Flow;
use crate::txn::reads::Reads;

/// The cost of reading the version of a row, as work of a guest.
const UNITS_PER_RECORD: usize = 1;

impl<P: Protocol> Body<P> {
    /// Whether the snapshot may be used for a table that was rewritten since the start.
    #[cold]
    pub(super) fn check_rewritten(&mut self, place: usize) -> Flow<()> {
        let rewritten_at = self.tables[place].rewritten_at;
        if self.snapshot.as_ref().map(Snapshot::time).is_none_or(|time| time >= rewritten_at) {
            return Ok(());
        }
        if self.reads == Reads::EachStatement {
            return Err(Error::Abort(Abort::StalePlan).into());
        }
        let has_read = |(other, used): (usize, &TableUse)| other != place && used.is_entered();
        if self.tables.iter().enumerate().any(has_read) {
            return Err(match self.reads.is_checked() {
                true => Error::Abort(Abort::Serialization),
                false => older_than_rows(&self.tables[place].table),
            }
            .into());
        }
        self.snapshot = None;
        self.snapshot();
        Ok(())
    }

    /// The rows of a table are about to be rewritten, each from its newest version. The table is locked.
    pub(super) fn check_versions_before_rewriting(&mut self, table: &Arc<Table>) -> Flow<()> {
        if !self.reads.has_one_snapshot() || self.snapshot.is_none() {
            return Ok(());
        }
        let place = self.table_place(table);
        self.check_rewritten(place)?;
        let guard = epoch::pin();
        for_each_record(table.state(&guard).index(), &guard, |_, record| {
            guest::spend_for(UNITS_PER_RECORD)?;
            if self.sees(record, &guard)? {
                return Ok(());
            }
            if self.reads.is_checked() {
                return Err(Error::Abort(Abort::Serialization));
            }
            let message = "could not serialize access due to concurrent update";
            Err(Error::input(sqlstate::SERIALIZATION_FAILURE, message))
        })?;
        Ok(())
    }
}

fn older_than_rows(table: &Table) -> Error {
    let message = "could not serialize access due to concurrent update";
    let detail = format!(
        "The rows of table \"{}\" were rewritten, or removed, by TRUNCATE or a change of its definition after \
         the snapshot of this transaction was taken.",
        table.definition().name.name
    );
    Error::input(sqlstate::SERIALIZATION_FAILURE, message).with_detail(detail)
}
