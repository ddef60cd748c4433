//! Looking again at what was read without a lock: how a serializable transaction under an optimistic control
//! finds out whether it may commit (`txn::reads`, `txn::read_set`).
//!
//! ```text
//!  prepare   look at the present; lock the tables of which very much was read
//!  append    announce the commit, reserve the place in the log, draw the time t
//!            look at t: is everything as a reader at t sees it?
//!            yes: publish, commit at t           no: give the time and the place up, fail
//! ```
//!
//! **Why that is serializable.** Let T have read a row that W overwrites, or a range into which W inserts.
//! At T's look W either
//! * has not drawn its time. T drew before it looked, and W marks itself as committing before it draws. So W
//!   draws a later time than T, and comes after T;
//! * has drawn a later time: it comes after T;
//! * has drawn an earlier one, and is waited for: then its outcome is known;
//! * has committed at an earlier time: then T sees that it has not seen W's row, and fails.
//!
//! So everything that T has read is the state of all commits before t. What T has locked, it holds beyond its
//! draw. Looks wait for earlier times only, so they never wait in a circle. A transaction that begins after
//! T's answer draws, or takes its snapshot, after t.
//!
//! An older rule fails a transaction when what it has read is locked by another one, or has been changed at
//! whatever time (Silo, section 4.4). Without times, that is the only way to know who comes first. It also
//! fails all readers of a row that an idle client has updated. `Config::fails_beside_writers` chooses it, to
//! compare.
//!
//! **What is locked meanwhile.** From the draw to the end of the look, readers of T's rows wait for its
//! outcome. So T looks at the present first, which finds most conflicts at no cost for others. If it has read
//! more than [`MOST_RECORDS`] records, it locks the tables with the most of them, waits for writers as for
//! any lock, and looks at these before it commits.
//!
//! **DDL.** A transaction that changes the catalog, or locks a table against all others, locks what it reads
//! from then on, and the tables it has read until then ([`Body::begin_to_lock`]): a rollback to a savepoint
//! brings back definitions and rows that have no versions.
//!
//! **Errors.** Without versions (`occ`), or if it has read newest rows under locks beside its snapshot, a
//! transaction may have read rows of different times, and an error may come of that: a sum that does not add
//! up, a loop without end. So an error leaves the transaction only if everything is still as it was read
//! ([`Body::check_reads_now`]); otherwise the transaction is outdated, and that is the error. One that reads
//! very much is asked now and then. (A loop that reads nothing ends with `statement_timeout`.) A handler that
//! catches such an error changes nothing: the reads stay noted, also when their savepoint is rolled back, and
//! fail at the commit.
//!
//! Differs from Taurus, section 4.4 (algorithm 6): there, readers leave a vector for later writers, so that
//! these follow them. Here replay knows by the times which of them comes first.

#![allow(unsafe_code)] // Reads records by their addresses.

use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::error::{Abort, Error, Result};

use super::table_use::TableUse;
use super::{Body, Transactions};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::history::{HistoryWriter, LATEST, Snapshot};
use crate::storage::record::Record;
use crate::storage::table::Table;
use crate::storage::versions::{Look, SeenVersion};
use crate::txn::cursor::{find_record, next_record};
use crate::txn::lock_mode::LockMode;
use crate::txn::read_set::{Passed, ReadSet, Scanned};
use crate::txn::reads::Reads;
use crate::txn::{Cursor, Flow, Intent};

/// The most records that are looked at while others wait.
const MOST_RECORDS: usize = 4096;
/// After this many reads a transaction asks for the first time whether it may go on for ever.
const FIRST_DOUBT: u64 = 1 << 14;

/// Everything that a look needs of a transaction.
pub(super) struct Looker<'t, P: Protocol> {
    pub(super) shared: &'t Transactions<P>,
    pub(super) tables: &'t [TableUse],
    pub(super) history: &'t HistoryWriter,
    pub(super) snapshot: &'t Option<Snapshot>,
}

impl<P: Protocol> Looker<'_, P> {
    /// Whether everything that was read, of one table or of all, is at this time as it was read.
    ///
    /// # Errors
    /// [`Abort::Serialization`] if not, or if that can no longer be said.
    pub(super) fn look(&self, set: &mut ReadSet, at: u64, only: Option<usize>) -> Result<()> {
        let Some(snapshot) = self.snapshot else { return Ok(()) };
        let guard = epoch::pin();
        // Once pinned: what expires from here on is not freed.
        let outdated = || Error::Abort(Abort::Serialization);
        snapshot.check().map_err(|_| outdated())?;
        let Transactions { fails_beside_writers, .. } = *self.shared;
        let look = Look { at, since: snapshot.kept_from(), own: self.history, fails_beside_writers };
        let is_meant = |table: usize| only.is_none_or(|only| only == table);
        let (mut cursor, mut row) = (std::mem::take(&mut set.cursor), std::mem::take(&mut set.row));
        let mut is_right = set.points.iter().filter(|point| is_meant(point.table)).all(|point| {
            // SAFETY: the snapshot has not expired.
            let record = unsafe { point.record(&guard) };
            let seen = (Some(point.handle), point.time, true);
            self.shared.histories.is_still_seen(record, seen, look, &guard)
        });
        is_right = is_right
            && set.absent.iter().filter(|absent| is_meant(absent.table)).all(|absent| {
                let record = find_record(&self.tables[absent.table].table, set.key(absent), &guard);
                let (handle, time) = absent.seen.map_or((None, 0), |(handle, time)| (Some(handle), time));
                record.is_none_or(|record| {
                    self.shared.histories.is_still_seen(record, (handle, time, false), look, &guard)
                })
            });
        let skips = mutant::is_active(Mutant::RangesNotLookedAt);
        let is_open = |range: &&Scanned| !skips && range.is_open() && is_meant(range.table);
        let mut ranges = set.ranges.iter().filter(is_open);
        while let Some(range) = ranges.next().filter(|_| is_right) {
            is_right = self.is_range_right(range, look, (&mut cursor, &mut row), &guard)?;
        }
        (set.cursor, set.row) = (cursor, row);
        // What was forgotten meanwhile may have looked like what was read.
        let is_right = is_right && snapshot.check().is_ok();
        if is_right { Ok(()) } else { Err(outdated()) }
    }

    fn is_range_right(
        &self,
        scanned: &Scanned,
        look: Look<'_>,
        (cursor, row): (&mut Cursor, &mut Vec<u8>),
        guard: &Guard,
    ) -> Result<bool> {
        let table = &self.tables[scanned.table].table;
        cursor.open(scanned.index, scanned.range.clone(), (scanned.direction, Intent::READ));
        let mut passed = Passed::default();
        let is_partial = !scanned.is_finished && !scanned.stopped_at.is_empty();
        while scanned.is_finished || is_partial || passed.count < scanned.passed.count {
            let Some(record) = next_record(table, cursor, guard)? else { break };
            self.pass(table, record, (cursor, row), look, &mut passed, guard);
            if passed.count > scanned.passed.count {
                return Ok(false);
            }
            if is_partial && cursor.last_key() == scanned.stopped_at {
                break;
            }
        }
        Ok(passed == scanned.passed)
    }

    /// Notes what is seen of the record to which the cursor has come.
    fn pass(
        &self,
        table: &Table,
        record: &Record,
        (cursor, row): (&mut Cursor, &mut Vec<u8>),
        look: Look<'_>,
        passed: &mut Passed,
        guard: &Guard,
    ) {
        let row = cursor.index.is_some().then_some(row);
        let is_meant = |row: &[u8]| cursor.finds(table, row, guard);
        if let Some(noted) = self.shared.histories.pass(record, look, row, is_meant, guard) {
            passed.note(cursor.last_key(), noted);
        }
    }
}

impl<P: Protocol> Body<P> {
    fn looker(&mut self) -> (Looker<'_, P>, &mut ReadSet) {
        let Self { shared, tables, history, snapshot, read_set, .. } = self;
        (Looker { shared, tables, history, snapshot }, read_set)
    }

    /// A row under this key, or none, was read without a lock.
    #[inline]
    pub(super) fn note_read(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        found: Option<(&Record, SeenVersion)>,
    ) -> Result<()> {
        if table.id().is_temporary() {
            return Ok(());
        }
        let place = self.table_place(table);
        let since = self.snapshot.as_ref().map_or(0, Snapshot::kept_from);
        let counted = |seen: SeenVersion| match seen.time {
            time if time <= since => SeenVersion { time: 0, ..seen },
            _ => seen,
        };
        match found {
            // Its row is locked.
            Some((_, seen)) if seen.time == LATEST => {}
            Some((record, seen)) if seen.is_there => self.read_set.note_row(place, record, counted(seen)),
            Some((_, seen)) => self.read_set.note_absent(place, key, Some(counted(seen))),
            None => self.read_set.note_absent(place, key, None),
        }
        self.count_read()
    }

    /// Now and then, and less and less often, a transaction that goes on reading looks at what it has read:
    /// it may go on for ever because that is of different times.
    #[inline]
    fn count_read(&mut self) -> Result<()> {
        self.read_set.reads += 1;
        match self.read_set.reads {
            reads if reads >= FIRST_DOUBT && reads.is_power_of_two() => self.check_reads_now(),
            _ => Ok(()),
        }
    }

    /// A scan has come to this record, where it has seen this version, which is or is not one of those that
    /// it looks for.
    pub(super) fn note_passed_record(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        (record, seen, is_found): (&Record, SeenVersion, bool),
        guard: &Guard,
    ) -> Result<()> {
        if table.id().is_temporary() {
            return Ok(());
        }
        let place = self.table_place(table);
        let Some((since, at)) = self.snapshot.as_ref().map(|all| (all.kept_from(), all.time())) else {
            return Ok(());
        };
        let is_own = seen.time == LATEST;
        let range = self.read_set.range_of(place, cursor);
        range.records += 1;
        let mut passed = range.passed;
        if is_found && !is_own {
            let time = if seen.time <= since { 0 } else { seen.time };
            passed.note(cursor.last_key(), (time, true));
        } else if is_own || seen.time > since {
            // Whatever has happened since the version was found is none of its reader's business.
            let at = if is_own { at } else { seen.time };
            let (looker, _) = self.looker();
            let look = Look { at, since, own: looker.history, fails_beside_writers: false };
            looker.pass(table, record, (&mut *cursor, &mut Vec::new()), look, &mut passed, guard);
        }
        let range = self.read_set.range_of(place, cursor);
        let is_noted = passed != range.passed;
        if is_found || is_noted {
            range.stopped_at.clear();
        }
        if !is_noted && is_found {
            range.stopped_at.extend_from_slice(cursor.last_key());
        }
        range.passed = passed;
        self.count_read()
    }

    /// A scan has come to its end.
    pub(super) fn note_scan_end(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Result<()> {
        if table.id().is_temporary() {
            return Ok(());
        }
        let place = self.table_place(table);
        self.read_set.range_of(place, cursor).is_finished = true;
        self.count_read()
    }

    /// The transaction is about to commit. `has_written`: others may come to see something of it.
    pub(super) fn prepare(&mut self, has_written: bool) -> Flow<()> {
        if self.read_set.is_empty() || (!has_written && self.has_seen_one_snapshot()) {
            return Ok(());
        }
        self.look_now(None)?;
        if has_written { self.lock_down_to(MOST_RECORDS) } else { Ok(()) }
    }

    /// Whether all that it has read is of one snapshot: nothing was read as the newest version, under a lock.
    fn has_seen_one_snapshot(&self) -> bool {
        self.reads == Reads::CheckedSnapshot && self.tables.iter().all(|used| used.mode.is_none())
    }

    /// Locks the tables of which most was read, until a look passes no more than this many records.
    fn lock_down_to(&mut self, most: usize) -> Flow<()> {
        while self.read_set.records() > most {
            let Some(place) = self.read_set.largest() else { break };
            let table = Arc::clone(&self.tables[place].table);
            self.lock_table_in(&table, LockMode::Read)?;
            self.look_now(Some(place))?;
            self.read_set.forget_table(place);
        }
        Ok(())
    }

    /// From here on the transaction locks what it reads. What it has read without a lock, it locks by tables.
    pub(super) fn begin_to_lock(&mut self) -> Flow<()> {
        if !self.reads.is_checked() {
            return Ok(());
        }
        self.look_now(None)?;
        self.lock_down_to(0)?;
        self.read_set.clear();
        self.has_begun_unlocked = true;
        self.reads = Reads::Locked;
        self.snapshot = None;
        Ok(())
    }

    fn look_now(&mut self, only: Option<usize>) -> Result<()> {
        let at = self.history.now();
        let (looker, set) = self.looker();
        looker.look(set, at, only)
    }

    /// See [`crate::txn::Transaction::check_reads`].
    pub(super) fn check_reads_now(&mut self) -> Result<()> {
        match self.reads {
            _ if mutant::is_active(Mutant::ErrorOfOutdatedReads) => Ok(()),
            Reads::CheckedNewest => self.look_now(None),
            Reads::CheckedSnapshot if !self.has_seen_one_snapshot() => self.look_now(None),
            _ => Ok(()),
        }
    }
}
