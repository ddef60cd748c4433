//! Reading at snapshots: READ COMMITTED, REPEATABLE READ, and serializable transactions that check what they
//! have read (`look`).
//!
//! A read takes no lock on rows or gaps and waits for nothing. It finds the record by key and goes back to
//! the version that its snapshot sees (`storage::history`). That version's mark says what it depends on. Of a
//! table only the definition is locked: against schema changes, which have no versions.
//!
//! **Writing.** A row that is to be written, or that SELECT locks, is chosen by its version at the snapshot
//! and then locked ([`Access::lock_row`](crate::txn::Access::lock_row)). From there on the newest version
//! counts. If another transaction has changed the row meanwhile,
//! * READ COMMITTED checks again whether it is one of the wanted rows: PostgreSQL's EvalPlanQual;
//! * REPEATABLE READ fails (40001): the first of two writers wins. What is written need not have been chosen
//!   like this: ON CONFLICT and the actions of foreign keys find the newest rows at once. So the check is
//!   made when a row is written, too ([`Access::admit_write`](crate::txn::Access::admit_write)), and nothing
//!   else gives a procedure the means to write one;
//! * a serializable transaction fails likewise (40001). One that reads the newest versions fails because its
//!   condition has seen another row than the one that it would write.
//!
//! Whether it has changed is judged by its bytes: a row that looks the same needs no second check.
//!
//! Differs from PostgreSQL: an UPDATE that changes a primary key is a delete and an insert, so READ COMMITTED
//! treats a row that was moved like this as deleted.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::guest;

use super::index_entries::has_same_columns;
use super::modes::row_mode;
use super::resource::{Resource, TABLE_STRIPES};
use super::{Body, UNITS_PER_LOCK};
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::history::{HistoryWriter, LATEST, Snapshot};
use crate::storage::record::Record;
use crate::storage::row::RowCopy;
use crate::storage::table::Table;
use crate::storage::versions::SeenVersion;
use crate::txn::cursor::{find_record, next_record, note_passed, show};
use crate::txn::lock_mode::LockMode;
use crate::txn::reads::Reads;
use crate::txn::{Chosen, Cursor, Flow, Found, FoundAhead, Impatience, Intent, RowInPlace, Sight, Strength};

/// What a transaction that reads like this sees from here on. One that reads the newest versions sees them
/// all, and keeps what is newer than its beginning from being forgotten.
fn take_snapshot(history: &HistoryWriter, reads: Reads) -> Snapshot {
    let mut snapshot = history.snapshot();
    if reads == Reads::CheckedNewest {
        snapshot.set_time(LATEST);
    }
    snapshot
}

/// What is read was left by the writer of this mark.
#[inline]
fn follow<P: Protocol>(protocol: &P, mark: &[AtomicU64], dependencies: &mut P::Dependencies) {
    if !mutant::is_active(Mutant::NoVersionMark) {
        protocol.follow(mark, dependencies);
    }
}

impl<P: Protocol> Body<P> {
    /// Whether a read with this intent reads at the snapshot.
    #[inline(always)]
    pub(super) fn reads_snapshot(&self, intent: Intent) -> bool {
        self.reads.without_lock(intent)
    }

    /// Another statement may see more. The snapshot of a finished statement holds nothing back.
    #[inline]
    pub(super) fn renew_snapshot(&mut self) {
        if self.reads == Reads::EachStatement {
            self.snapshot = None;
        }
    }

    #[inline]
    pub(super) fn snapshot(&mut self) -> &Snapshot {
        self.snapshot.get_or_insert_with(|| take_snapshot(&self.history, self.reads))
    }

    /// Whether what was read so far is valid. A transaction that checks its reads has failed if not, like one
    /// whose reads are outdated.
    fn check_snapshot(&mut self) -> Result<()> {
        let is_checked = self.reads.is_checked();
        let checked = self.snapshot().check();
        if is_checked { checked.map_err(|_| Error::Abort(Abort::Serialization)) } else { checked }
    }

    /// Locks the definition of a table, unless that is done. Transactions that read at snapshots do so before
    /// they touch anything else of the table, also in order to write. So a transaction that changes the
    /// definition waits for them and holds nothing yet that they might want. Returns the place of the table
    /// among `tables`.
    #[inline]
    pub(super) fn lock_definition(&mut self, table: &Arc<Table>) -> Flow<usize> {
        let place = self.table_place(table);
        // A transaction that checks its reads may have locked rows first. That keeps the definition, too.
        let is_kept = self.reads.is_checked() && self.tables[place].mode.is_some();
        if !self.tables[place].is_defined && !is_kept {
            self.lock(Resource::definition_stripe(table.id(), self.worker), LockMode::Read)?;
            self.tables[place].is_defined = true;
            self.tables[place].note_entered();
        }
        Ok(place)
    }

    /// Enters a table in order to read at the snapshot or to change what it sees.
    #[inline]
    pub(super) fn come_to_rows(&mut self, table: &Arc<Table>) -> Flow<()> {
        let place = self.lock_definition(table)?;
        if self.tables[place].rewritten_at > 0 { self.check_rewritten(place) } else { Ok(()) }
    }

    /// The same with this intent, which does not read at the snapshot. A foreign key that looks for its
    /// parent's key does not need to know what was there before.
    #[inline]
    pub(super) fn define(&mut self, table: &Arc<Table>, intent: Intent) -> Flow<()> {
        match (intent.sight, intent.strength) {
            (Sight::Newest, Strength::KeyRead) => self.lock_definition(table).map(drop),
            _ => self.come_to_rows(table),
        }
    }

    /// Enters a table at the snapshot. Fails with `StalePlan` unless the table has this version.
    #[inline]
    pub(super) fn enter_at_snapshot(&mut self, table: &Arc<Table>, version: u64) -> Flow<bool> {
        self.come_to_rows(table)?;
        if self.is_as_planned(table, version) { Ok(true) } else { Err(Error::Abort(Abort::StalePlan).into()) }
    }

    /// Locks a table against all others, for changes that have no versions.
    pub(super) fn lock_everybody_out(&mut self, table: &Arc<Table>) -> Flow<()> {
        let place = self.table_place(table);
        self.tables[place].give_up_plans();
        for stripe in 0..TABLE_STRIPES {
            self.lock(Resource::definition_stripe(table.id(), stripe), LockMode::Write)?;
        }
        self.lock_table_in(table, LockMode::Write)?;
        self.tables[place].note_entered();
        Ok(())
    }

    pub(super) fn read_at_snapshot<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        early: Option<&Record>,
        copy: RowCopy<'_>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        // Taken before the index is searched: what is inserted later must not be seen.
        self.snapshot();
        let record = early.filter(|record| !record.is_removed());
        let Some(record) = record.or_else(|| table.state(guard).index().get(key, guard)) else {
            self.check_snapshot()?;
            if self.reads.is_checked() {
                self.note_read(table, key, None)?;
            }
            return Ok(Found::Nothing);
        };
        let is_there = match self.reads.is_checked() {
            false => self.read_version(record, copy, guard)?,
            true => {
                let seen = self.read_to_check(record, copy, guard)?;
                self.note_read(table, key, Some((record, seen)))?;
                seen.is_there
            }
        };
        Ok(if is_there { Found::Copied } else { Found::Nothing })
    }

    /// The version of a record that the snapshot sees, if it sees one.
    fn read_version(&mut self, record: &Record, copy: RowCopy<'_>, guard: &Guard) -> Result<bool> {
        let Self { snapshot, history, shared, dependencies, .. } = self;
        let snapshot = snapshot.get_or_insert_with(|| history.snapshot());
        let follow = |mark: &[_]| follow(&*shared.protocol, mark, dependencies);
        shared.histories.read(record, snapshot, history, copy, follow, guard)
    }

    /// The same for a transaction that checks its reads. If its snapshot has expired, they are outdated.
    fn read_to_check(&mut self, record: &Record, copy: RowCopy<'_>, guard: &Guard) -> Result<SeenVersion> {
        let Self { snapshot, history, shared, dependencies, reads, .. } = self;
        let snapshot = snapshot.get_or_insert_with(|| take_snapshot(history, *reads));
        let follow = |mark: &[_]| follow(&*shared.protocol, mark, dependencies);
        let read = shared.histories.read_to_check(record, snapshot, history, copy, follow, guard);
        read.map_err(|_| Error::Abort(Abort::Serialization))
    }

    /// The next row that the snapshot sees.
    pub(super) fn scan_at_snapshot<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        if cursor.is_finished {
            return Ok(Found::Nothing);
        }
        self.snapshot();
        if !cursor.is_fetched {
            let state = table.state(guard);
            if !cursor.has_bounds(state) {
                // The keys come in no particular order, so no bound ends the scan; the procedure filters.
                cursor.range = Default::default();
            }
        }
        while let Some(record) = next_record(table, cursor, guard)? {
            let is_found = match self.reads.is_checked() {
                false => {
                    self.read_version(record, RowCopy::whole(buffer), guard)?
                        && cursor.finds(table, buffer, guard)
                }
                true => {
                    let seen = self.read_to_check(record, RowCopy::whole(buffer), guard)?;
                    let is_found = seen.is_there && cursor.finds(table, buffer, guard);
                    self.note_passed_record(table, cursor, (record, seen, is_found), guard)?;
                    is_found
                }
            };
            if is_found {
                return Ok(Found::Copied);
            }
            note_passed()?;
        }
        self.check_snapshot()?;
        if self.reads.is_checked() {
            self.note_scan_end(table, cursor)?;
        }
        Ok(Found::Nothing)
    }

    /// The next row of a scan by a transaction that reads at snapshots.
    #[inline]
    pub(super) fn next_row_beside_writers<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        if self.reads_snapshot(cursor.intent) {
            return self.scan_at_snapshot(table, cursor, buffer, guard);
        }
        match (self.next_locked(table, cursor, guard)?, cursor.intent.sight) {
            (Some(row), Sight::InTheWay) => self.admit_in_the_way(Some(row), cursor.intent, guard),
            (found, _) => Ok(found.into()),
        }
    }

    /// Reads and locks a row that is wanted whatever it holds: with [`Sight::Decided`] if the snapshot sees
    /// it, with [`Sight::InTheWay`] in any case.
    pub(super) fn read_wanted<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        if intent.sight == Sight::InTheWay {
            if self.locks_rows(table, intent) {
                self.lock(Resource::row(table.id(), key), row_mode(intent))?;
            }
            let found = self.find_newest(find_record(table, key, guard), intent, guard);
            return self.admit_in_the_way(found, intent, guard);
        }
        if matches!(self.read_at_snapshot(table, key, None, RowCopy::whole(buffer), guard)?, Found::Nothing) {
            return Ok(Found::Nothing);
        }
        Ok(match self.lock_chosen(table, key, intent, buffer, guard)? {
            Chosen::Unchanged(None) => Found::Copied,
            Chosen::Unchanged(Some(row)) | Chosen::Changed(row) => Found::InPlace(row),
            Chosen::Gone => Found::Nothing,
        })
    }

    /// Whether a row that is written must be as the transaction's only snapshot sees it. One that checks its
    /// reads takes its snapshot when it first reads without a lock.
    #[inline]
    pub(super) fn must_see_newest(&self) -> bool {
        match self.reads {
            Reads::OneSnapshot => true,
            Reads::CheckedSnapshot => self.snapshot.is_some(),
            _ => false,
        }
    }

    /// Reads and locks a row that is wanted whatever it holds, for a transaction that checks what it has read
    /// without a lock. One that has no snapshot yet takes it afterwards, so a row that it has waited for is
    /// not too new.
    #[inline]
    pub(super) fn read_decided<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        ahead: Option<FoundAhead<'g>>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        let must_be_seen = self.must_see_newest()
            && intent.strength != Strength::KeyRead
            && intent.impatience != Some(Impatience::SkipLocked);
        let found = self.read_locked(table, key, intent.at_once(), ahead, guard)?;
        if must_be_seen {
            let record = match found {
                Found::InPlace(row) => Some(row.record),
                _ => find_record(table, key, guard),
            };
            record.map_or(Ok(()), |record| self.check_unchanged(record, intent, guard))?;
        }
        Ok(found)
    }

    /// See [`crate::txn::Access::lock_row`].
    pub(super) fn lock_chosen<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        seen: &[u8],
        guard: &'g Guard,
    ) -> Flow<Chosen<'g>> {
        // The condition has seen a copy, so a lock on the key is enough where no more is requested.
        let (sight, intent) = (intent.sight, intent.at_once());
        if self.locks_rows(table, intent) {
            let resource = Resource::row(table.id(), key);
            match intent.impatience {
                None => drop(self.lock(resource, row_mode(intent))?),
                Some(impatience) => {
                    if !self.lock_row_at_once(table, resource, intent, impatience)?.0 {
                        return Ok(Chosen::Gone);
                    }
                }
            }
        }
        let record = find_record(table, key, guard);
        let is_own = record.is_some_and(|record| self.history.is_written(record.writer()));
        let found = self.find_newest(record, intent, guard);
        self.check_chosen(table, key, (intent, seen), guard)?;
        if is_own && found.is_some_and(|row| row.bytes != seen) {
            // A replay goes on with the row that the condition has seen.
            self.give_up_command();
        }
        let chosen = match found {
            None => Chosen::Gone,
            // Its bytes may change beside this lock.
            Some(_) if intent.strength == Strength::KeyRead => Chosen::Unchanged(None),
            Some(row) if row.bytes == seen => Chosen::Unchanged(Some(row)),
            // The condition itself has changed it, and would do so again. (After a trigger, that is asked.)
            Some(row) if is_own && sight != Sight::InTheWay => Chosen::Unchanged(Some(row)),
            Some(row) if is_own => Chosen::Changed(row),
            // A row that has replaced the one that was chosen.
            Some(row) if self.was_deleted(row.record, guard) => Chosen::Gone,
            Some(row) => Chosen::Changed(row),
        };
        match chosen {
            // Other rows may have been chosen for what this one was.
            Chosen::Changed(_) | Chosen::Gone if self.reads.is_checked() && !is_own => {
                Err(Error::Abort(Abort::Serialization).into())
            }
            chosen => Ok(chosen),
        }
    }

    fn was_deleted(&mut self, record: &Record, guard: &Guard) -> bool {
        let Self { snapshot, history, shared, reads, .. } = self;
        let snapshot = snapshot.get_or_insert_with(|| take_snapshot(history, *reads));
        shared.histories.was_deleted(record, snapshot, guard)
    }

    /// Whether a record certainly has a row, as far as can be seen: an insert need not wait to find its key
    /// taken, whichever transaction has locked the row.
    pub(super) fn is_taken(&mut self, record: &Record, guard: &Guard) -> bool {
        let Self { history, shared, dependencies, .. } = self;
        let follow = |mark: &[_]| shared.protocol.follow(mark, dependencies);
        !self.reads.is_serializable() && shared.histories.has_settled_row(record, history, follow, guard)
    }

    /// Gives up the locks of rows and gaps that it has got since it had this many: what was done under them
    /// has been undone. Those of tables stay. (A serializable transaction has learned something under them.)
    pub(super) fn release_since(&mut self, locks: usize) {
        if self.held.len() <= locks {
            return;
        }
        let of_tables: HashSet<u64> = self
            .tables
            .iter()
            .flat_map(|used| {
                let id = used.table.id();
                let stripes = move |stripe| {
                    [Resource::table_stripe(id, stripe), Resource::definition_stripe(id, stripe)]
                };
                (0..TABLE_STRIPES).flat_map(stripes)
            })
            .map(|resource| resource.0)
            .collect();
        let since = self.held.split_off(locks);
        for resource in since {
            guest::pass(UNITS_PER_LOCK);
            if of_tables.contains(&resource.0) {
                self.held.push(resource);
            } else {
                self.shared.locks.release(&*self.shared, self.id, resource, None);
            }
        }
        self.divided_gap = None;
    }

    /// Who reads at one snapshot locks no row that another transaction has changed since its snapshot.
    fn check_chosen(
        &mut self,
        table: &Table,
        key: &[u8],
        (intent, seen): (Intent, &[u8]),
        guard: &Guard,
    ) -> Result<()> {
        if !self.reads.has_one_snapshot() {
            return Ok(());
        }
        match find_record(table, key, guard) {
            Some(record)
                if intent.strength == Strength::KeyRead && self.keeps_keys(table, record, seen, guard) =>
            {
                self.check_snapshot()
            }
            Some(record) => self.check_unchanged(record, intent, guard),
            None => self.check_snapshot(),
        }
    }

    /// Whether a row whose key is locked still has the keys with which the snapshot has seen it, whatever
    /// else has changed.
    fn keeps_keys(&mut self, table: &Table, record: &Record, seen: &[u8], guard: &Guard) -> bool {
        let mut newest = Vec::new();
        let (_, is_there) = record.copy_newest(&mut newest, guard);
        let state = table.state(guard);
        let mut unique = state.indexes().iter().filter(|index| index.definition().is_unique);
        is_there
            && !self.was_deleted(record, guard)
            && unique.all(|index| has_same_columns(index, state, seen, &newest))
    }

    /// It writes no such row either, however it was found.
    #[cold]
    #[inline(never)]
    pub(super) fn check_overwriting(
        &mut self,
        table: &Table,
        key: &[u8],
        record: Option<&Record>,
    ) -> Result<()> {
        let guard = epoch::pin();
        match record.or_else(|| find_record(table, key, &guard)) {
            Some(record) => self.check_unchanged(record, Intent::newest(Strength::Write), &guard),
            None => self.check_snapshot(),
        }
    }

    /// A reader at a snapshot does not look at a row in the way of an insert in order to update it: what its
    /// statement finds there would be newer than the snapshot.
    fn admit_in_the_way<'g>(
        &mut self,
        found: Option<RowInPlace<'g>>,
        intent: Intent,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        if let Some(row) = found.filter(|_| self.must_see_newest()) {
            self.check_unchanged(row.record, intent, guard)?;
        }
        Ok(found.into())
    }

    /// Fails unless the snapshot sees the newest version of a record, which is locked.
    fn check_unchanged(&mut self, record: &Record, intent: Intent, guard: &Guard) -> Result<()> {
        if self.sees(record, guard)? || mutant::is_active(Mutant::NewerRowOverwritten) {
            return Ok(());
        }
        Err(self.changed_since(record, intent, guard))
    }

    /// Worded as in PostgreSQL. If the row was only to be locked, PostgreSQL calls a deletion an update.
    #[cold]
    fn changed_since(&mut self, record: &Record, intent: Intent, guard: &Guard) -> Error {
        if self.reads.is_checked() {
            return Error::Abort(Abort::Serialization);
        }
        let was_deleted = intent.writes() && self.was_deleted(record, guard);
        let what = if was_deleted { "delete" } else { "update" };
        let message = format!("could not serialize access due to concurrent {what}");
        Error::input(sqlstate::SERIALIZATION_FAILURE, message)
    }

    /// Whether the row of a record that is in the way of an insert may be told to the transaction: REPEATABLE
    /// READ sees its newest version. A serializable transaction at a snapshot sees that there is a row, which
    /// it keeps from going; otherwise it is outdated.
    pub(super) fn sees_duplicate(&mut self, record: &Record, guard: &Guard) -> Result<bool> {
        match self.reads {
            Reads::OneSnapshot => self.sees(record, guard),
            Reads::CheckedSnapshot if self.snapshot.is_some() => {
                match self.read_to_check(record, RowCopy::whole(&mut Vec::new()), guard)?.is_there {
                    true => Ok(true),
                    false => Err(Error::Abort(Abort::Serialization)),
                }
            }
            _ => Ok(true),
        }
    }

    /// Whether the snapshot sees the newest version of a record.
    pub(super) fn sees(&mut self, record: &Record, guard: &Guard) -> Result<bool> {
        let Self { snapshot, history, shared, reads, .. } = self;
        let snapshot = snapshot.get_or_insert_with(|| take_snapshot(history, *reads));
        let seen = shared.histories.is_seen(record.writer(), snapshot, history, guard);
        seen.map_err(|error| if reads.is_checked() { Error::Abort(Abort::Serialization) } else { error })
    }

    /// The row of the record under a locked key. This transaction comes after the one that has written or
    /// removed it.
    #[inline(always)]
    pub(super) fn find_newest<'g>(
        &mut self,
        record: Option<&'g Record>,
        intent: Intent,
        guard: &'g Guard,
    ) -> Option<RowInPlace<'g>> {
        let record = record?;
        self.follow_writer(record, guard);
        show(record, intent, guard)
    }

    /// This transaction comes after the one that has written a record whose key it has locked.
    #[inline]
    pub(super) fn follow_writer(&mut self, record: &Record, guard: &Guard) {
        if !P::LEAVES_MARKS || mutant::is_active(Mutant::NoVersionMark) {
            return;
        }
        let Self { history, shared, dependencies, .. } = self;
        let follow = |mark: &[_]| shared.protocol.follow(mark, dependencies);
        shared.histories.follow_writer(record, history, follow, guard);
    }
}
