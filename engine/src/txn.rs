//! Transactions: what every concurrency control offers, and nothing of how it does it.
//!
//! [`Access`], [`Transaction`] and [`Control`] are the seam. A procedure reads and writes through the first;
//! the worker (`db`) drives the second from `begin` to the end; the third makes them. Whatever must wait for
//! another transaction returns [`Interrupt::Wait`]; the caller repeats the same call once the ticket fires,
//! and the call then happens wholly. Two-phase locking (`two_phase_locking`, over `lock_table`), with
//! snapshots for those who want to see less of others ([`Isolation`]), is the first control; nothing outside
//! this folder knows which one runs.
//!
//! Life of a transaction (docs/glossary.md has the words):
//!
//! ```text
//! begin -> operations -> [append log record] -> precommitted: locks released -> durable -> acknowledged
//!                 \-> undo -> locks released
//! ```

use std::sync::Arc;

use crossbeam_epoch::Guard;
use hyades_types::access::RoleId;
use hyades_types::definition::{
    CatalogChange, IndexDefinition, RoutineId, SequenceId, TableDefinition, TableId,
};
use hyades_types::sequence::{Draw, OwnSequence, Sequence};

use crate::config::Config;
use crate::protocol::Protocol;
use crate::storage::catalog::{Catalog, CatalogView};
use crate::storage::history::{Histories, HistoryWriter};
use crate::storage::phase_snapshot::PhaseSnapshot;
use crate::storage::record::Record;
use crate::storage::scan_batch::ScanBatch;
use crate::storage::stored_routine::Routine;
use crate::storage::stored_type::StoredType;
use crate::storage::table::{Table, TableState};
use crate::ticket::Ticket;

mod cursor;
mod lock_mode;
pub(crate) mod lock_table;
pub(crate) mod replay_access;
mod row_changes;
pub mod two_phase_locking;

/// Why a row is read: decides which version of it is read, and its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intent {
    pub strength: Strength,
    pub impatience: Option<Impatience>,
    pub sight: Sight,
}

/// How strong the lock of a row is: PostgreSQL's FOR KEY SHARE, FOR SHARE, FOR NO KEY UPDATE and FOR UPDATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Strength {
    /// Only to know whether it is there; nothing else of it is looked at. A child asks so for its parent.
    KeyRead,
    Read,
    /// It will be updated, but not its primary key; or is SELECTed FOR NO KEY UPDATE.
    NoKeyWrite,
    /// It will be deleted, or its key changed; or is SELECTed FOR UPDATE.
    Write,
}

/// What becomes of a read that would have to wait for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impatience {
    /// It goes on as if the row were not there. Nothing says that it will not be there at the end of the
    /// transaction: who reads so is not serializable, and never logged as a command.
    SkipLocked,
    /// It fails (55P03).
    NoWait,
}

/// Which version of a row is read. What holds for snapshots holds for transactions that read at one
/// ([`Isolation::reads_at_snapshot`]); all others read and lock the newest version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// That of the snapshot, without a lock.
    Snapshot,
    /// The same, and if the row is chosen [`Access::lock_row`] follows.
    Chosen,
    /// If the snapshot sees one, the newest, locked at once: it is wanted whatever it holds.
    Decided,
    /// The newest, locked at once.
    Newest,
}

impl Intent {
    /// To look at it.
    pub const READ: Intent = Intent { strength: Strength::Read, impatience: None, sight: Sight::Snapshot };

    /// How strong its lock is if the row is locked in order to be read: whoever looks at more than the key
    /// must keep the rest from changing.
    #[inline(always)]
    pub fn read_strength(self) -> Strength {
        match (self.strength, self.sight) {
            (Strength::KeyRead, Sight::Chosen) => Strength::Read,
            (strength, _) => strength,
        }
    }

    /// To lock the newest version at once.
    pub const fn newest(strength: Strength) -> Intent {
        Intent { strength, impatience: None, sight: Sight::Newest }
    }

    /// To find out whether it is one of those to lock.
    pub const fn chosen(strength: Strength, impatience: Option<Impatience>) -> Intent {
        Intent { strength, impatience, sight: Sight::Chosen }
    }

    /// To lock a row that is wanted whatever it holds.
    #[must_use]
    pub const fn decided(self) -> Intent {
        Intent { sight: Sight::Decided, ..self }
    }

    /// The same, of the newest version.
    #[must_use]
    pub const fn at_once(self) -> Intent {
        Intent { sight: Sight::Newest, ..self }
    }

    /// Whether the row may be written afterwards.
    pub fn writes(self) -> bool {
        self.strength >= Strength::NoKeyWrite
    }
}

impl Default for Intent {
    fn default() -> Intent {
        Intent::READ
    }
}

/// How much a transaction sees of others: the SQL standard's levels, each with PostgreSQL's guarantees or
/// stronger ones (docs/sql.md). PostgreSQL has no weaker one than READ COMMITTED either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Each statement reads at a snapshot of its own. A row that it writes is the newest, locked; if somebody
    /// has changed it since the snapshot, the statement looks at it once more.
    ReadCommitted,
    /// All statements read at one snapshot. Writing a row that somebody has changed since then fails (40001).
    RepeatableRead,
    /// As if transactions ran one after the other: what is read is locked, what is not there included.
    #[default]
    Serializable,
}

impl Isolation {
    /// Whether reads take no locks.
    #[inline]
    pub fn reads_at_snapshot(self) -> bool {
        self != Isolation::Serializable
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    #[default]
    Forward,
    Backward,
}

/// Why a call came back before it was done.
pub enum Interrupt {
    /// Await the ticket, then make the same call again.
    Wait(Ticket),
    /// The transaction must be rolled back (or to a savepoint).
    Failed(hyades_types::Error),
}

impl From<hyades_types::Error> for Interrupt {
    fn from(error: hyades_types::Error) -> Interrupt {
        Interrupt::Failed(error)
    }
}

/// The result of a call that may have to wait.
pub type Flow<T> = Result<T, Interrupt>;

/// A position in a transaction to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint {
    /// Changes before it,
    pub(crate) changes: usize,
    /// and locks.
    pub(crate) locks: usize,
}

/// The keys of a scan in index order: at least `lower`, below `upper`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
}

impl KeyRange {
    pub fn is_whole(&self) -> bool {
        self.lower.is_none() && self.upper.is_none()
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_ref().is_none_or(|lower| key >= lower.as_slice())
            && self.upper.as_ref().is_none_or(|upper| key < upper.as_slice())
    }
}

/// Where a scan stands. It outlives waits; the concurrency control keeps what it needs in it.
#[derive(Default)]
pub struct Cursor {
    pub(crate) index: IndexNumber,
    pub(crate) range: KeyRange,
    pub(crate) direction: Direction,
    pub(crate) intent: Intent,
    /// The index's key of the row handed out last, if `has_position` and it is none of the batch any more
    /// ([`Cursor::last_key`]),
    pub(crate) position: Vec<u8>,
    /// and where the row's own key begins in it.
    pub(crate) row_key_start: usize,
    /// Memory for the entry that it is compared with.
    pub(crate) entry: Vec<u8>,
    pub(crate) has_position: bool,
    pub(crate) is_finished: bool,
    /// Rows are covered by a lock on the whole table.
    pub(crate) is_table_locked: bool,
    /// The far end of a backward scan is protected.
    pub(crate) is_end_protected: bool,
    /// It looks for the only row with some values in a unique index, which are locked instead of gaps.
    pub(crate) is_value_locked: bool,
    pub(crate) is_fetched: bool,
    /// Keys that the last batch might have.
    pub(crate) ahead: usize,
    pub(crate) batch: ScanBatch,
    /// The next entry of the batch.
    pub(crate) next: usize,
    /// The lock of the row handed out last, if the scan skips locked rows and took it for that.
    pub(crate) unkept: Option<lock_table::Resource>,
}

impl Cursor {
    pub(crate) fn open(
        &mut self,
        index: IndexNumber,
        range: KeyRange,
        (direction, intent): (Direction, Intent),
    ) {
        self.index = index;
        self.range = range;
        self.direction = direction;
        self.intent = intent;
        self.position.clear();
        self.row_key_start = 0;
        self.has_position = false;
        self.is_finished = false;
        self.is_table_locked = false;
        self.is_end_protected = false;
        self.is_value_locked = false;
        self.is_fetched = false;
        self.ahead = 0;
        self.batch.clear();
        self.next = 0;
        self.unkept = None;
    }

    /// The index's key of the row handed out last. It stays in its batch as long as that is there: few keys
    /// are asked for.
    #[inline]
    pub(crate) fn last_key(&self) -> &[u8] {
        self.next.checked_sub(1).map_or(&self.position, |last| self.batch.key(last))
    }

    /// The key of the row handed out last.
    #[inline]
    pub(crate) fn row_key(&self) -> &[u8] {
        &self.last_key()[self.row_key_start..]
    }

    /// Makes the scan empty from here on.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
    }
}

/// A row where it stands in its table.
#[derive(Clone, Copy)]
pub struct RowInPlace<'g> {
    pub bytes: &'g [u8],
    pub(crate) record: &'g Record,
}

impl<'g> RowInPlace<'g> {
    pub(crate) fn of(record: &'g Record, guard: &'g Guard) -> Option<RowInPlace<'g>> {
        record.row(guard).map(|bytes| RowInPlace { bytes, record })
    }

    /// Whether this is still the record's row, at the same place.
    pub(crate) fn is_current(self, guard: &Guard) -> bool {
        self.record.row(guard).is_some_and(|row| std::ptr::eq(row, self.bytes))
    }
}

/// The record that a table had under a key some time ago.
#[derive(Clone, Copy)]
pub struct FoundAhead<'g> {
    state: &'g TableState,
    record: &'g Record,
}

impl<'g> FoundAhead<'g> {
    /// Looks for the key's record and asks for its memory; the key may be of any row or none.
    pub(crate) fn of(table: &Table, key: &[u8], guard: &'g Guard) -> Option<FoundAhead<'g>> {
        let state = table.state(guard);
        let record = state.index().get(key, guard)?;
        record.prefetch();
        Some(FoundAhead { state, record })
    }

    /// The record, unless the table has been emptied since. It may have left its index: then it has no row.
    fn in_state(self, state: &TableState) -> Option<&'g Record> {
        std::ptr::eq(self.state, state).then_some(self.record)
    }
}

/// What a read has found.
#[derive(Clone, Copy)]
pub enum Found<'g> {
    Nothing,
    /// The newest version, locked, or kept from changing by other means. Without any bytes where only the key
    /// is asked for ([`Strength::KeyRead`]).
    InPlace(RowInPlace<'g>),
    /// The version of a snapshot, in the buffer that the reader gave.
    Copied,
}

impl<'g> From<Option<RowInPlace<'g>>> for Found<'g> {
    fn from(row: Option<RowInPlace<'g>>) -> Found<'g> {
        row.map_or(Found::Nothing, Found::InPlace)
    }
}

/// What has become of a row that was read at a snapshot and is now locked.
#[derive(Clone, Copy)]
pub enum Chosen<'g> {
    /// It is as it was read; in place, if its bytes may be looked at.
    Unchanged(Option<RowInPlace<'g>>),
    /// Somebody has changed it: look again whether it is one of those that are wanted.
    Changed(RowInPlace<'g>),
    /// It is not there any more, or skipped.
    Gone,
}

/// What became of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    Done,
    /// Another row stands in the way; nothing was changed.
    Duplicate(Duplicate),
}

/// Why a row cannot be what it was to be: another one has the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The index that both would stand in.
    pub index: IndexNumber,
    /// Whether the transaction's snapshot sees that row, if it has one.
    pub is_seen: bool,
}

/// An index of a table: `None` for that of the primary key, else the place among the definition's `indexes`.
pub type IndexNumber = Option<u16>;

/// A row that is to be inserted.
#[derive(Clone, Copy)]
pub struct NewRow<'r> {
    pub key: &'r [u8],
    pub row: &'r [u8],
    /// The key that the row had until now, and which is deleted next: an update that changes its key.
    pub moved_from: Option<&'r [u8]>,
    /// The unique index that is asked first whether another row stands in the way.
    pub arbiter: IndexNumber,
}

impl<'r> NewRow<'r> {
    pub fn new(key: &'r [u8], row: &'r [u8]) -> NewRow<'r> {
        NewRow { key, row, moved_from: None, arbiter: None }
    }

    /// Whether a row under this key is the row itself as it was. While the arbiter is asked there is none: a
    /// row under the same key stands in the way there, too.
    pub fn was_under(&self, key: &[u8]) -> bool {
        self.arbiter.is_none() && key == self.key || Some(key) == self.moved_from
    }
}

/// What a procedure may do to data: the interpreter needs nothing else. A transaction offers it, and so does
/// replay, which runs procedures again without locks and logs.
pub trait Access: Send {
    /// Enters a table before its rows are touched: fails with `StalePlan` unless its definition still has
    /// this version. False if all its rows are to be skipped ([`Impatience::SkipLocked`]).
    fn enter(&mut self, table: &Arc<Table>, version: u64, intent: Intent) -> Flow<bool>;

    /// The row under `key`, if there is one. Unless it is read at a snapshot, it is locked, present or
    /// absent, until this transaction ends. A row that is skipped counts as absent. `ahead` is what was found
    /// under the same key before; `buffer` takes the version of a snapshot.
    fn read_point<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        ahead: Option<FoundAhead<'g>>,
        buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>>;

    /// Asks for the memory of the lock that [`Access::read_point`] will take.
    fn prefetch_lock(&self, _table: &Table, _key: &[u8]) {}

    fn open_scan(&mut self, table: &Arc<Table>, cursor: &mut Cursor) -> Flow<()>;

    /// The next row; its key is then the cursor's [`Cursor::row_key`]. `Nothing` at the end. Unless it is
    /// read at a snapshot, nothing can appear in the range passed until this transaction ends.
    fn next_row<'g>(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut Cursor,
        buffer: &mut Vec<u8>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>>;

    /// The row that the scan handed out last has been chosen: a scan that skips locked rows gives the others
    /// up.
    fn keep_row(&mut self, cursor: &mut Cursor) {
        cursor.unkept = None;
    }

    /// Whether rows are read without a lock, so that [`Access::lock_row`] is called for those that are
    /// chosen.
    fn reads_at_snapshot(&self) -> bool {
        false
    }

    /// Locks a row of a table that was entered, and that was read with [`Sight::Chosen`] as `seen`.
    fn lock_row<'g>(
        &mut self,
        _table: &Arc<Table>,
        _key: &[u8],
        _intent: Intent,
        _seen: &[u8],
        _guard: &'g Guard,
    ) -> Flow<Chosen<'g>> {
        Ok(Chosen::Unchanged(None))
    }

    /// A statement of a routine begins: under READ COMMITTED it reads at a snapshot of its own. `is_inner`:
    /// the routine was called by another, or by a statement, which will go on.
    fn begin_statement(&mut self, _is_inner: bool) {}

    /// The time of the snapshot that is read at, if there is one.
    fn snapshot_time(&self) -> Option<u64> {
        None
    }

    /// A called routine has returned: reads at the snapshot that its caller had, `None` if it had none.
    fn read_at(&mut self, _time: Option<u64>) {}

    fn insert(&mut self, table: &Arc<Table>, new: NewRow<'_>) -> Flow<Insertion>;

    /// The row under `key`, which was read with intent to write, is about to become this one by
    /// [`Access::update`]: readies its places in the secondary indexes, or tells what stands in the way.
    /// Needed where columns of such indexes change. Nothing stands in the way in one that is checked later.
    fn index_row(&mut self, table: &Arc<Table>, key: &[u8], row: &[u8]) -> Flow<Option<Duplicate>>;

    /// Whether another row may have the values of this one, which the transaction has written, in a unique
    /// index whose constraint is checked later. Waits for nobody, so yes is not certain.
    fn may_have_twin(&mut self, table: &Arc<Table>, index: u16, row: NewRow<'_>) -> bool;

    /// The same for good: nobody else can make it untrue, or true, until this transaction ends.
    fn find_twin(&mut self, table: &Arc<Table>, index: u16, row: NewRow<'_>) -> Flow<Option<Duplicate>>;

    /// Replaces the row under `key`, which was read with intent to write and locked in this transaction.
    /// `change` says what the update did: the patch if the length stays, else the new row. It goes into the
    /// write-set hash, and whether rows are read in place does not.
    fn update(&mut self, table: &Arc<Table>, key: &[u8], row: &[u8], change: &[u8]);

    /// Updates the row under `key`, which stands in `record` and was read with intent to write in this
    /// transaction, by exchanging pieces of it, none of them in a secondary index; `patch` is that of a
    /// [`crate::storage::row::RowPatch`] made for it.
    ///
    /// # Safety
    /// The bytes of the row that reads have handed out to this transaction are not in use any more.
    #[allow(unsafe_code)] // The row is read in place; see `storage::record`.
    unsafe fn patch(&mut self, table: &Arc<Table>, key: &[u8], record: &Record, patch: &[u8], guard: &Guard);

    /// Deletes the row under `key`, which was read with [`Strength::Write`] and locked in this transaction.
    fn delete(&mut self, table: &Arc<Table>, key: &[u8]);

    /// The key of a new row in a table without a primary key.
    fn new_row_number(&mut self, table: &Arc<Table>) -> Flow<u64>;

    /// What the run does from here on depends on what no log knows: it must be logged as data.
    fn cannot_be_repeated(&mut self);

    fn savepoint(&mut self) -> Savepoint;

    /// Undoes everything since the savepoint; a serializable transaction keeps its locks. Also withdraws a
    /// pending wait. The bytes of rows that reads have handed out to this transaction are not in use any
    /// more: what was written in place goes back in place.
    fn rollback_to(&mut self, savepoint: Savepoint);
}

/// The modes of LOCK TABLE, by PostgreSQL's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLock {
    AccessShare,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
}

/// A concurrency control: makes the transactions of one database.
pub trait Control<P: Protocol>: Send + Sync + Sized + 'static {
    type Transaction: Transaction<P> + 'static;
    type Caretaker: Caretaker + 'static;

    fn new(protocol: Arc<P>, catalog: Arc<Catalog>, config: &Config) -> Self;

    /// For one worker; any number may exist.
    fn transaction(self: &Arc<Self>) -> Self::Transaction;

    /// For the one thread that cleans up.
    fn caretaker(self: &Arc<Self>) -> Self::Caretaker;

    /// Keys whose row is gone and that have not left their index yet.
    fn tombstones(&self) -> usize;

    /// What is kept of rows as they were.
    fn version_bytes(&self) -> u64;

    /// Ends a phase, without keeping anybody from anything for longer than a commit takes. Calls `before`
    /// when nobody commits in the next one yet, and `after` when nobody does in this one any more.
    fn capture(&self, before: &mut dyn FnMut(), after: &mut dyn FnMut()) -> Captured;
}

/// What is committed in a phase and before it; readable as long as this lives, unless that keeps too many
/// versions ([`PhaseSnapshot::check`]).
pub struct Captured {
    pub(crate) histories: Arc<Histories>,
    pub(crate) at: PhaseSnapshot,
    /// Where the histories had come with transactions that had ended before the phase did.
    pub(crate) ended: Vec<u64>,
    pub(crate) catalog: Catalog,
    /// With the states that were committed.
    pub(crate) tables: Vec<(Arc<Table>, Arc<TableState>)>,
    /// Whose place the snapshot has; it goes after that.
    pub(crate) _own: HistoryWriter,
}

/// Cleans up after transactions: versions, tombstones, what tables have left behind.
pub trait Caretaker: Send {
    /// Does some of what there is to do.
    fn tend(&mut self) -> Rest;
}

/// When a [`Caretaker`] should go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// At once: there is more to do.
    None,
    /// Soon: something was done, or will be when others have come further.
    Short,
    /// There is nothing to do that could be done now.
    Long,
}

/// One transaction under some concurrency control; reused for the next one after its end.
pub trait Transaction<P: Protocol>: Access + CatalogView {
    fn begin(&mut self);

    /// How much it sees of others, before it has read or written anything.
    fn isolate(&mut self, isolation: Isolation);

    /// A statement begins, or goes on after a wait: the first one takes the snapshot of a transaction that
    /// has one for all.
    fn resume_statement(&mut self);

    /// A statement is over. One that waits is not.
    fn end_statement(&mut self);

    /// Declares that the transaction will be one run of this procedure, compiled from this routine, and is to
    /// be logged as the call whose head (see `log::record::command`) this is. `is_compiled_under` says
    /// whether the procedure is what the routine means under a version of the catalog. The error says why it
    /// will be logged as data instead.
    fn begin_command(
        &mut self,
        routine: &Routine,
        is_compiled_under: impl FnOnce(u64) -> bool,
        head: &[u8],
    ) -> Result<(), &'static str>;

    /// Takes that back: something else happens in the transaction. Does nothing to one that is logged as
    /// data.
    fn log_as_data(&mut self);

    fn lock_table(&mut self, table: &Arc<Table>) -> Flow<()>;

    /// The same; while it waits, others may come to the table.
    fn lock_table_patiently(&mut self, table: &Arc<Table>) -> Flow<()>;

    /// LOCK TABLE; unless it `waits`, it fails (55P03) where it would have to.
    fn lock_table_by_command(&mut self, table: &Arc<Table>, lock: TableLock, waits: bool) -> Flow<()>;

    /// Keeps everybody from making, moving and dropping anything in a schema.
    fn lock_schema(&mut self, name: &str) -> Flow<()>;

    /// Keeps others from changing roles and rights.
    fn lock_access(&mut self) -> Flow<()>;

    fn new_role_id(&self) -> RoleId;

    fn change_catalog(&mut self, change: CatalogChange) -> Flow<()>;

    /// Builds an index while others write the table; its definition must still be the one that the caller
    /// has looked at. Nothing else may have happened in the transaction, which is to commit.
    fn build_index(
        &mut self,
        table: &Arc<Table>,
        planned: &Arc<TableDefinition>,
        index: &IndexDefinition,
    ) -> Flow<()>;

    /// All tables as this transaction sees them.
    fn tables(&self) -> Vec<Arc<Table>>;

    /// All routines as this transaction sees them.
    fn routines(&self) -> Vec<Arc<Routine>>;

    fn new_table_id(&self) -> TableId;

    fn new_temporary_table_id(&self) -> TableId;

    fn new_temporary_sequence_id(&self) -> SequenceId;

    /// The session has temporary relations from now on, in this schema.
    fn set_temporary_schema(&mut self, schema: &str);

    /// Drops all of them. No transaction is open.
    fn forget_temporaries(&mut self);

    fn new_routine_id(&self) -> RoutineId;

    fn new_sequence_id(&self) -> SequenceId;

    /// All sequences as this transaction sees them.
    fn sequences(&self) -> Vec<Arc<Sequence>>;

    /// The number of a type, never used before, and that of the type of its arrays.
    fn new_type_ids(&self) -> (u32, u32);

    /// All types as this transaction sees them.
    fn types(&self) -> Vec<Arc<StoredType>>;

    /// What this transaction has changed of the sequences, and of the names they share; usually nothing.
    fn own_sequences(&self) -> Vec<OwnSequence>;

    /// Numbers were drawn for it: its log record is to tell so, even if it tells nothing else.
    fn note_draws(&mut self, draws: Vec<Draw>);

    /// Whether there is only little to log and to release.
    fn commits_soon(&self) -> bool;

    /// The log payload of a transaction that wrote, with its dependencies; `None` if it wrote nothing. From
    /// here on it is in a phase, and has to go on, without waiting for anything, until
    /// [`Transaction::precommit`] or [`Transaction::give_up_commit`].
    fn commit_payload(&mut self) -> Option<(crate::protocol::CommitPayload<'_>, &mut P::Dependencies)>;

    fn dependencies(&self) -> &P::Dependencies;

    /// It was not appended, or not yet.
    fn give_up_commit(&mut self);

    /// Leaves the traces of `token` and releases everything.
    fn precommit(&mut self, token: &P::CommitToken);

    /// Withdraws a pending wait, undoes everything, releases everything.
    fn rollback(&mut self, token: &P::CommitToken);
}
