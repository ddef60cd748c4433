//! Strict two-phase locking for everything written, and for everything that a serializable transaction reads;
//! snapshots for what the others read.
//!
//! **What is locked.** A serializable transaction takes an intent lock on every table it enters and a row
//! lock on every key it reads or writes, present or absent. Range scans also lock the *gap before* each key
//! they pass and the gap before the first key beyond the range (next-key locking), so that nothing can appear
//! in a range that was read; inserts ask for the gap they land in. Scans without bounds, and scans of tables
//! that have no order, lock the table instead. All locks are held until the log record has been appended
//! (early lock release: not until it is durable). A transaction that has locked thousands of rows of a table
//! locks the table instead, if no other transaction is in it (`escalation`).
//!
//! ```text
//! resource          modes                      taken by
//! row (table, key)  KeyRead, Read,             checks of parents; point reads, scans;
//!                   NoKeyWrite, Write          updates; deletes, inserts, updates of the key (`row_lock`)
//! gap (table, key)  Read, IntentWrite          scans; inserts below `key`
//! gap (table, end)  Read, IntentWrite          scans that reach the end; inserts after the last key
//! value (index,     Read, Write                searches for all columns of a unique index; writers that give
//!        columns)                              a row these (`index_entries`)
//! table stripe      KeyRead, IntentRead,       all transactions, on the stripe of their worker
//!                   IntentWrite
//!                   Read, NoKeyWrite, Write    whole-table scans, bulk loads, DDL: on all stripes
//! name              Write                      CREATE and DROP of tables and routines
//! schema            IntentWrite, Write         CREATE and DROP in it; of it (`catalog`)
//! index build       Write                      CREATE INDEX beside writers (`index_build`)
//! definition stripe Read, Write                readers at snapshots, on the stripe of their worker; DDL: on all
//! catalog stripe    Read                       calls logged as commands, on the stripe of their worker
//!                   IntentWrite                schema changes other than TRUNCATE: on all stripes
//! ```
//!
//! LOCK TABLE takes the same: `table_lock`.
//! A script shows each row: `sql/tests/sessions/strengths_of_statements.sql`, `gaps.own.sql`,
//! `lock_modes.own.sql`, `schema_changes.sql` and `names.own.sql` in the same folder.
//!
//! READ COMMITTED and REPEATABLE READ read at snapshots without locks (`snapshot`), and lock what they write,
//! including the gaps they insert into, so that serializable transactions beside them keep their guarantees.
//!
//! **Writes are installed at once**, and what was there before is kept as a version (`storage::history`),
//! which is also used to undo the write; locks and versions hide them. Where a row keeps its length, only the
//! bytes that differ are written, in place. A delete leaves a record without a row (a tombstone), so its key
//! still separates gaps and leads to older versions; `purge` removes it later.
//!
//! Files:
//! * locks: `resource` (what is locked), `modes` (which mode a reader takes), `acquisition` (getting one,
//!   waiting), `row_lock`, `table_lock`, `escalation`, `table_use` (what is known of a table in use);
//! * rows: `locked_scan`, `locked_insert`, `index_entries` (secondary indexes, unique values), `snapshot`,
//!   `rewritten` (snapshots older than a table's rows), `undo`;
//! * life: `common_control` (makes transactions), `logged_call` (a transaction that is one call), `commit`,
//!   `capture` (the end of a phase, for a checkpoint);
//! * tombstones: `purge`, `purge_queue`;
//! * for changes of the catalog: `object_access` (locks of objects, places among the changes);
//! * without locking others out: `change_beside_others` (the state), `index_build`, `patient_lock`,
//!   `unlocked_change`.
//!
//! **Invariants.**
//! 1. Nothing is written, and nothing read or found absent by a serializable transaction, without a lock that
//!    lasts to the end of the transaction.
//! 2. A record leaves its index only through `purge`, when its row and gap are neither held nor awaited and
//!    no snapshot sees a row there.
//! 3. A call that returns `Wait` has changed nothing that another transaction could see.
//!
//! Reference: Gray and Reuter, "Transaction Processing" (1993), 7.8 and 8; Mohan, "ARIES/KVL" (1990).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_epoch::{self as epoch, Guard};
use hyades_types::definition::TableId;
use hyades_types::guest;

use crate::log::record::OperationsWriter;
use crate::log::record::command::WriteSetHash;
use crate::mutant::{self, Mutant};
use crate::protocol::Protocol;
use crate::storage::history::{Handle, Histories, HistoryWriter, Snapshot};
use crate::storage::primary_index::Finger;
use crate::storage::record::Record;
use crate::storage::table::Table;
use crate::txn::cursor;
use crate::txn::lock_table::{Leaver, LockTable, Trace, TransactionId};
use crate::txn::restart_gate::wait_for;
use crate::txn::row_changes::write_row;
use crate::txn::{
    Access, Chosen, CommitStep, Cursor, Duplicate, Flow, Found, FoundAhead, Insertion, Intent, Isolation,
    NewRow, Publisher, Savepoint, Sight, Transaction, Writable,
};

mod acquisition;
mod capture;
mod change_beside_others;
mod commit;
mod common_control;
mod escalation;
mod index_build;
#[cfg(all(test, not(loom)))]
mod index_build_tests;
mod index_entries;
#[cfg(all(test, not(loom)))]
mod index_tests;
mod locked_insert;
mod locked_scan;
mod logged_call;
mod modes;
mod object_access;
mod patient_lock;
mod purge;
mod purge_queue;
mod resource;
mod rewritten;
mod row_lock;
mod snapshot;
mod table_lock;
mod table_use;
#[cfg(all(test, not(loom)))]
mod tests;
mod undo;
mod unlocked_change;

use change_beside_others::{IndexBuild, Patience, UnlockedChanges};
use index_entries::{EntryBuffers, NewEntries};
use modes::row_mode;
pub use purge::Purger;
use purge_queue::Purgeable;
use resource::Resource;
use table_use::TableUse;

/// Buckets of the lock table. Traces stay until the floor covers them; a bucket with two of them costs
/// another wait for memory.
const LOCK_BUCKETS: usize = 1 << 16;
/// A worker remembers this many tables before it forgets those it does not use.
const REMEMBERED_TABLES: usize = 64;
/// Tables whose ids are the same modulo this are looked for.
const PLACE_NOTES: usize = 32;

/// The cost of releasing a lock, as work of a guest.
const UNITS_PER_LOCK: u32 = 10;
/// Locks and changes of a transaction that commits within some ten microseconds, and bytes of its log record.
const FEW_STEPS: usize = 256;
const FEW_BYTES: usize = 64 << 10;
/// Buffers beyond this size are given back when the transaction that needed them ends.
const KEPT_BYTES: usize = 1 << 20;

/// What all transactions of one database share.
pub struct TwoPhaseLocking<P: Protocol> {
    protocol: Arc<P>,
    locks: LockTable<TwoPhaseLocking<P>>,
    purge: purge_queue::Queue,
    /// See `capture`.
    is_capturing: AtomicBool,
    unlocked: UnlockedChanges,
    histories: Arc<Histories>,
    next_worker: AtomicU64,
    /// Whether a call was logged as a command: gaps may have traces of readers. Never taken back.
    has_commands: AtomicBool,
    /// Whether calls are logged with their after-images (`Config::command_images`).
    logs_images: bool,
    /// Of one table, in one transaction (`Config::row_locks_before_table`).
    row_locks_before_table: u32,
    /// See `Config::version_bytes`.
    version_bytes: u64,
}

impl<P: Protocol> TwoPhaseLocking<P> {
    /// A worker number never used before: the upper half of the numbers of its transactions.
    fn new_worker(&self) -> u64 {
        let worker = self.next_worker.fetch_add(1, Ordering::Relaxed);
        assert!(worker < TransactionId::BRIEF >> 32, "worker numbers have run out");
        worker
    }
}

/// One change to undo, with the lengths that the transaction's lists had before it.
struct Undo {
    payload_bytes: usize,
    write_set: WriteSetHash,
    key_bytes: usize,
    action: UndoAction,
}

enum UndoAction {
    /// Undo the write of this version under the key that starts at `key_bytes` and ends at `key_end`.
    Row { table: usize, key_end: usize, version: Handle },
    /// The catalog was changed: nothing to undo here.
    Object,
}

/// The outcome of a lock request that does not wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtOnce {
    New,
    Held,
    Refused,
}

/// The transaction's payload begins with this many bytes of a call.
struct CommandHead {
    bytes: usize,
}

/// One transaction under two-phase locking and snapshots: what it holds, what it has written, and as what it
/// is logged.
pub struct LockingTransaction<P: Protocol> {
    shared: Arc<TwoPhaseLocking<P>>,
    worker: u64,
    id: TransactionId,
    dependencies: P::Dependencies,
    tables: Vec<TableUse>,
    /// By the id of a table: its likely place in `tables`.
    table_places: [u8; PLACE_NOTES],
    held: Vec<Resource>,
    /// The gap in `held` that inserts have last divided, unless the transaction may have read it.
    divided_gap: Option<Resource>,
    /// Where the last insert went.
    finger: Finger,
    /// The resource it waits for.
    pending: Option<Resource>,
    has_waited: bool,
    /// What it leaves for others when it ends.
    mark: Box<[AtomicU64]>,
    /// What was there before its writes.
    history: HistoryWriter,
    isolation: Isolation,
    /// The snapshot of the statement, or of the transaction, after the first read at it.
    snapshot: Option<Snapshot>,
    undo: Vec<Undo>,
    /// Keys of the undo list, one after another.
    keys: Vec<u8>,
    payload: OperationsWriter,
    /// What it is logged as; see `logged_call`.
    command: Option<CommandHead>,
    /// Covers everything written, while it is to be logged as a command.
    write_set: WriteSetHash,
    /// Row numbers drawn, as above.
    row_numbers: Vec<u64>,
    /// The number of an insert that is not complete.
    number_in_hand: Option<(TableId, u64)>,
    /// Whether the transaction has changed the catalog, even if that was taken back.
    changes_objects: bool,
    /// The index that the transaction is building beside writers.
    build: Option<Box<IndexBuild>>,
    /// Whether the transaction is to commit `build`; see `unlocked_change`.
    is_unlocked_change: bool,
    has_closed_commits: bool,
    /// How long it has waited for all others to leave a table.
    patience: Patience,
    /// Where the states of sequences stand in the payload.
    states_in_payload: Range<usize>,
    /// Records it has left empty.
    purgeable: Vec<Purgeable>,
    /// Entries that it has put into secondary indexes.
    new_entries: NewEntries,
    entry_buffers: EntryBuffers,
}

impl<P: Protocol> LockingTransaction<P> {
    /// The number of the next transaction. Numbers are never shared: a worker that has used up its own
    /// continues as a new worker.
    fn next_id(&mut self) {
        if self.id.0 as u32 == u32::MAX {
            self.worker = self.shared.new_worker();
            self.id = TransactionId(self.worker << 32 | self.id.0 & TransactionId::BRIEF);
        }
        self.id.0 += 1;
    }

    /// Adds a write to the write-set hash of a call; returns the previous hash.
    fn hash_write(&mut self, table: &Table, key: &[u8], change: Option<&[u8]>) -> WriteSetHash {
        let before = self.write_set;
        if self.command.is_some() {
            self.write_set.add(table.id(), key, change);
        }
        before
    }

    /// Releases everything and forgets the transaction. `handle` leads to its mark.
    fn end(&mut self, handle: Handle, trace: Trace) {
        // Also when it has panicked before its log record had a place.
        self.open_commits();
        let shared = &*self.shared;
        let leaver = Leaver { trace, handle, mark: &self.mark };
        for resource in self.held.drain(..) {
            guest::pass(UNITS_PER_LOCK);
            shared.locks.release(shared, self.id, resource, &leaver);
        }
        if std::mem::take(&mut self.has_waited) {
            shared.locks.forget_waits(self.id);
        }
        shared.purge.push_all(&mut self.purgeable);
        self.new_entries.clear();
        self.snapshot = None;
        for used in &mut self.tables {
            used.leave(shared.row_locks_before_table);
        }
        self.changes_objects = false;
        self.build = None;
        self.is_unlocked_change = false;
        self.patience = Patience::default();
        if self.payload.len() + self.keys.len() > KEPT_BYTES {
            self.payload = OperationsWriter::default();
            self.keys = Vec::new();
            self.undo = Vec::new();
            self.held = Vec::new();
        }
        self.payload.clear();
        self.states_in_payload = 0..0;
        self.keys.clear();
        self.command = None;
        self.write_set = WriteSetHash::default();
        self.row_numbers.clear();
    }
}

impl<P: Protocol> Access for LockingTransaction<P> {
    #[inline(always)]
    fn enter(&mut self, table: &Arc<Table>, version: u64, intent: Intent) -> Flow<bool> {
        wait_for(table.opening())?;
        if self.reads_snapshot(intent) {
            return self.enter_at_snapshot(table, version);
        }
        if self.isolation.reads_at_snapshot() {
            self.define(table, intent)?;
        }
        // Most accesses are to tables that have been entered before.
        if self.has_entered(table, intent) && self.is_as_planned(table, version) {
            return Ok(true);
        }
        self.enter_first(table, version, intent)
    }

    fn read_point<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        ahead: Option<FoundAhead<'g>>,
        buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        if self.reads_snapshot(intent) {
            let early = ahead.and_then(|found| found.in_state(table.state(guard)));
            return self.read_at_snapshot(table, key, early, buffer, guard);
        }
        if matches!(intent.sight, Sight::Decided | Sight::InTheWay) && self.isolation.reads_at_snapshot() {
            return self.read_wanted(table, key, intent, buffer, guard);
        }
        let is_skipped = intent == Intent::READ && mutant::is_active(Mutant::SkipRowLock);
        if is_skipped || !self.locks_rows(table, intent) {
            let record = cursor::find_record(table, key, guard);
            return Ok(self.find_newest(record, intent, guard).into());
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
        let record = record.or_else(|| cursor::find_record(table, key, guard));
        Ok(self.find_newest(record, intent, guard).into())
    }

    fn prefetch_lock(&self, table: &Table, key: &[u8]) {
        self.shared.locks.prefetch(Resource::row(table.id(), key));
    }

    fn open_scan(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()> {
        if self.reads_snapshot(cursor.intent) {
            return Ok(());
        }
        self.start_scan(table, cursor)
    }

    fn next_row<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>> {
        if self.isolation.reads_at_snapshot() {
            return self.next_row_beside_writers(table, cursor, buffer, guard);
        }
        self.continue_scan(table, cursor, guard).map(Found::from)
    }

    fn keep_row(&mut self, cursor: &mut Cursor) {
        cursor.keep_last();
    }

    #[inline(always)]
    fn reads_at_snapshot(&self) -> bool {
        self.isolation.reads_at_snapshot()
    }

    fn lock_row<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        seen: &[u8],
        guard: &'g Guard,
    ) -> Flow<Chosen<'g>> {
        self.lock_chosen(table, key, intent, seen, guard)
    }

    #[inline]
    fn begin_statement(&mut self, is_inner: bool) {
        if is_inner {
            self.read_at(None);
        } else {
            self.renew_snapshot();
        }
    }

    fn snapshot_time(&self) -> Option<u64> {
        self.snapshot.as_ref().map(Snapshot::time)
    }

    fn read_at(&mut self, time: Option<u64>) {
        if let (Isolation::ReadCommitted, Some(snapshot)) = (self.isolation, &mut self.snapshot) {
            snapshot.read_at(time, &self.shared.histories);
        }
    }

    fn insert(&mut self, table: &Arc<Table>, new: NewRow<'_>) -> Flow<Insertion> {
        let inserted = self.insert_row(table, new)?;
        self.number_in_hand = None;
        Ok(inserted)
    }

    fn index_row(&mut self, table: &Arc<Table>, key: &[u8], row: &[u8]) -> Flow<Option<Duplicate>> {
        self.index_changed_row(table, key, row)
    }

    fn may_have_twin(&mut self, table: &Arc<Table>, index: u16, row: NewRow<'_>) -> bool {
        self.is_perhaps_a_twin(table, index, row, &epoch::pin())
    }

    fn find_twin(&mut self, table: &Arc<Table>, index: u16, row: NewRow<'_>) -> Flow<Option<Duplicate>> {
        self.find_duplicate(table, Some(index), row, &epoch::pin())
    }

    #[inline(always)]
    fn admit_write<'a>(
        &mut self,
        table: &'a Arc<Table>,
        key: &'a [u8],
        record: Option<&Record>,
    ) -> Flow<Writable<'a>> {
        if self.isolation == Isolation::RepeatableRead {
            self.check_overwriting(table, key, record)?;
        }
        Ok(Writable { table, key })
    }

    fn update(&mut self, Writable { table, key }: Writable<'_>, row: &[u8], change: &[u8]) {
        let Some(version) = write_row(table, key, Some(row), &mut self.history, &epoch::pin()) else {
            return;
        };
        let write_set = self.hash_write(table, key, Some(change));
        self.note_write(table, key, Some(row), (write_set, version));
    }

    #[allow(unsafe_code)] // As declared.
    unsafe fn patch(&mut self, written: Writable<'_>, record: &Record, patch: &[u8], guard: &Guard) {
        let Writable { table, key } = written;
        // SAFETY: the row was read for writing, so its write lock is held; the rest is this function's
        // contract.
        let version = unsafe { record.patch(patch, &mut self.history, guard) };
        let Some(version) = version else { return };
        if table.id().is_temporary() {
            table.state(guard).index().charge_patch(patch.len());
        }
        let write_set = self.hash_write(table, key, Some(patch));
        let row = if self.command.is_some() { None } else { record.row(guard) };
        self.note_write(table, key, row, (write_set, version));
    }

    fn delete(&mut self, Writable { table, key }: Writable<'_>) {
        let guard = epoch::pin();
        self.give_up_entries(table, key, None, &guard);
        let Some(version) = write_row(table, key, None, &mut self.history, &guard) else { return };
        self.purgeable.push(Purgeable::row(table, key));
        let write_set = self.hash_write(table, key, None);
        self.note_write(table, key, None, (write_set, version));
    }

    fn new_row_number(&mut self, table: &Arc<Table>) -> Flow<u64> {
        // An insert that waits and is started again has its number.
        if let Some((_, number)) = self.number_in_hand.filter(|(id, _)| *id == table.id()) {
            return Ok(number);
        }
        let number = table.new_row_number();
        self.number_in_hand = Some((table.id(), number));
        if self.command.is_some() {
            self.row_numbers.push(number);
        }
        Ok(number)
    }

    fn cannot_be_repeated(&mut self) {
        self.give_up_command();
    }

    fn savepoint(&mut self) -> Savepoint {
        Savepoint { changes: self.undo.len(), own: self.held.len() }
    }

    fn rollback_to(&mut self, savepoint: Savepoint) {
        self.withdraw_wait();
        self.undo_to(savepoint.changes);
        if self.isolation.reads_at_snapshot() && !self.changes_objects {
            self.release_since(savepoint.own);
        }
    }
}

impl<P: Protocol> Transaction<P> for LockingTransaction<P> {
    fn begin(&mut self) {
        self.next_id();
        self.isolation = Isolation::default();
        self.history.renew();
        self.history.forget_some(&*self.shared);
        self.divided_gap = None;
        self.shared.protocol.begin(&mut self.dependencies);
        if self.tables.len() > REMEMBERED_TABLES || self.tables.iter().any(|used| used.table.is_dropped()) {
            self.tables.clear();
        }
    }

    fn isolate(&mut self, isolation: Isolation) {
        debug_assert!(
            self.held.is_empty() || isolation == self.isolation,
            "it has begun under another level"
        );
        self.isolation = isolation;
    }

    fn resume_statement(&mut self) {
        if self.isolation == Isolation::RepeatableRead {
            self.snapshot();
        }
    }

    fn end_statement(&mut self) {
        self.renew_snapshot();
    }

    fn begin_command(
        &mut self,
        check: impl FnOnce() -> Result<(), &'static str>,
        head: &[u8],
    ) -> Result<(), &'static str> {
        self.try_command(check, head)
    }

    fn log_as_data(&mut self) {
        self.give_up_command();
    }

    fn old_snapshot(&self) -> Option<u64> {
        let time = self.snapshot.as_ref()?.time();
        self.shared.histories.has_newer_key(time).then_some(time)
    }

    fn is_waited_for(&self) -> bool {
        self.isolation == Isolation::Serializable && self.shared.locks.is_waited_for(self.id)
    }

    fn commits_soon(&self) -> bool {
        let makes_images = self.shared.logs_images && self.command.is_some();
        self.held.len() + self.undo.len() <= FEW_STEPS && self.payload.len() <= FEW_BYTES && !makes_images
    }

    fn dependencies(&self) -> &P::Dependencies {
        &self.dependencies
    }

    fn commit(
        &mut self,
        step: CommitStep<'_>,
        publisher: &mut impl Publisher<P, Self>,
    ) -> Flow<P::CommitToken> {
        let appended = self.append(step)?;
        let has_written = appended.is_some();
        let token = appended.unwrap_or_else(|| self.shared.protocol.read_only_commit(&self.dependencies));
        publisher.note_place(&token, has_written);
        self.precommit(&token, |transaction| publisher.publish(transaction, &token));
        Ok(token)
    }

    fn rollback(&mut self, token: &P::CommitToken) {
        self.withdraw_wait();
        self.undo_to(0);
        self.history.roll_back(|mark| self.shared.protocol.write_mark(token, mark));
        self.history.leave_commit();
        self.end(Handle::NONE, Trace::None);
    }
}
