//! Transactions: what every concurrency control offers, and nothing of how it does it.
//!
//! [`Access`], [`ObjectAccess`], [`Transaction`] and [`Control`] are the seam. A procedure reads and writes
//! through the first, changes of the catalog (`crate::catalog`) go through the second, the worker (`db`)
//! drives the third from `begin` to the end, and the fourth makes them. A call that must wait for another
//! transaction returns [`Interrupt::Wait`]. The caller repeats the same call once the ticket fires, and the
//! call then runs as a whole. Concurrency controls differ only in how serializable transactions read
//! (`reads`). Nothing outside this folder knows which one runs.
//!
//! Files:
//! * the controls: `reads`; what a transaction has read without a lock: `read_set`;
//! * a transaction: `writes`, with `lock_table` and `lock_mode`;
//! * `cursor`: stepping through an index; `row_changes`: changing rows, and taking that back;
//! * `replay_access`: access without locks, for calls that recovery repeats, on rows of their time;
//!   `replay_versions`: what a replay keeps for that;
//! * `restart_gate`: where transactions wait for a restart on demand.
//!
//! Life of a transaction (docs/glossary.md has the words):
//!
//! ```text
//! begin -> operations -> [append log record] -> precommitted: locks released -> durable -> acknowledged
//!                 \-> undo -> locks released
//! ```

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossbeam_epoch::Guard;
use hyades_types::definition::{DatabaseId, IndexDefinition, SequenceId, SequenceState, TableId, TableName};

use crate::config::Config;
use crate::log::record::OperationsWriter;
use crate::protocol::{AppendProgress, Protocol};
use crate::storage::history::{Histories, HistoryWriter, Snapshot};
use crate::storage::record::Record;
use crate::storage::row::RowCopy;
use crate::storage::scan_batch::ScanBatch;
use crate::storage::secondary_index::SecondaryIndex;
use crate::storage::table::{Table, TableState};
use crate::ticket::Ticket;

mod cursor;
mod lock_mode;
pub(crate) mod lock_table;
mod read_set;
pub(crate) mod reads;
pub(crate) mod replay_access;
pub(crate) mod replay_versions;
pub(crate) mod restart_gate;
mod row_changes;
mod writes;

pub use self::cursor::KeyRange;
pub use self::reads::Isolation;
pub use self::writes::Transactions;

/// Why a row is read. Decides which version of it is read, and how it is locked.
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
    /// Only to know whether it is there; nothing else of it is looked at. A foreign key locks its parent row
    /// like this.
    KeyRead,
    Read,
    /// It will be updated, but not its primary key, or it is SELECTed FOR NO KEY UPDATE.
    NoKeyWrite,
    /// It will be deleted, or its key changed, or it is SELECTed FOR UPDATE.
    Write,
}

/// What happens with a read that would have to wait for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impatience {
    /// It goes on as if the row were not there. Nothing says that the row will not be there at the end of the
    /// transaction: a transaction that reads like this is not serializable, and never logged as a command.
    SkipLocked,
    /// It fails (55P03).
    NoWait,
}

/// Which version of a row is read. What holds for snapshots applies to transactions that read at one
/// (READ COMMITTED, REPEATABLE READ, and serializable ones that are checked). All others read and lock the
/// newest version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// The version of the snapshot, without a lock.
    Snapshot,
    /// The version of the snapshot. If the row is chosen, [`Access::lock_row`] follows.
    Chosen,
    /// The newest version, locked at once, if the snapshot sees the row: it is wanted whatever it holds.
    Decided,
    /// The newest version, locked at once.
    Newest,
    /// The newest version, locked at once, of the row that is in the way of an insert and is to be updated
    /// instead, whatever it holds. REPEATABLE READ fails unless its snapshot sees the row.
    InTheWay,
}

impl Intent {
    /// To read the row.
    pub const READ: Intent = Intent { strength: Strength::Read, impatience: None, sight: Sight::Snapshot };

    /// How strong the lock is if the row is locked in order to be read: a reader of more than the key must
    /// keep the rest from changing.
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

    /// To update the row that is in the way of an insert.
    pub const IN_THE_WAY: Intent =
        Intent { strength: Strength::Write, impatience: None, sight: Sight::InTheWay };

    /// To find out whether the row is one of those to lock.
    pub const fn chosen(strength: Strength, impatience: Option<Impatience>) -> Intent {
        Intent { strength, impatience, sight: Sight::Chosen }
    }

    /// To lock a row that is wanted whatever it holds.
    #[must_use]
    pub const fn decided(self) -> Intent {
        Intent { sight: Sight::Decided, ..self }
    }

    /// This intent, for the newest version.
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    #[default]
    Forward,
    Backward,
}

/// Why a call returned before it was done.
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
    /// The number of changes before it.
    pub(crate) changes: usize,
    /// A word that only the concurrency control reads: the number of locks before it, if locks are given up
    /// with what was done under them.
    pub(in crate::txn) own: usize,
}

/// The position of a scan. It outlives waits; the concurrency control keeps what it needs in it.
#[derive(Default)]
pub struct Cursor {
    pub(crate) index: IndexNumber,
    pub(crate) range: KeyRange,
    pub(crate) direction: Direction,
    pub(crate) intent: Intent,
    /// The index's key of the row returned last, if `has_position` and it is no longer in the batch
    /// ([`Cursor::last_key`]).
    pub(crate) position: Vec<u8>,
    /// Where the row's own key begins in `position`.
    pub(crate) row_key_start: usize,
    /// Memory for the entry that it is compared with.
    pub(crate) entry: Vec<u8>,
    pub(crate) has_position: bool,
    pub(crate) is_finished: bool,
    pub(crate) is_fetched: bool,
    /// Keys that the last batch might have.
    pub(crate) ahead: usize,
    pub(crate) batch: ScanBatch,
    /// The next entry of the batch.
    pub(crate) next: usize,
    /// Words that only the code that scans reads, zeros at first. A scan that locks keeps flags and a lock in
    /// them (`writes::locked_scan`); one that is checked keeps the number of its range (`read_set`).
    pub(in crate::txn) own: [u64; 2],
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
        self.is_fetched = false;
        self.ahead = 0;
        self.batch.clear();
        self.next = 0;
        self.own = [0; 2];
    }

    /// The index's key of the row returned last. It stays in its batch as long as the batch is there, because
    /// keys are rarely asked for.
    #[inline]
    pub(crate) fn last_key(&self) -> &[u8] {
        self.next.checked_sub(1).map_or(&self.position, |last| self.batch.key(last))
    }

    /// The key of the row returned last.
    #[inline]
    pub(crate) fn row_key(&self) -> &[u8] {
        &self.last_key()[self.row_key_start..]
    }

    /// Makes the scan empty from here on.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
    }
}

/// A row at its place in its table.
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
    /// Looks for the key's record and prefetches its memory; the key may be of any row or none.
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
    /// The newest version, locked, or kept from changing by other means. It has no bytes if only the key is
    /// asked for ([`Strength::KeyRead`]).
    InPlace(RowInPlace<'g>),
    /// The version of a snapshot, in the reader's buffer.
    Copied,
}

impl<'g> From<Option<RowInPlace<'g>>> for Found<'g> {
    fn from(row: Option<RowInPlace<'g>>) -> Found<'g> {
        row.map_or(Found::Nothing, Found::InPlace)
    }
}

/// What has happened to a row that was read at a snapshot and is now locked.
#[derive(Clone, Copy)]
pub enum Chosen<'g> {
    /// It is as it was read. In place, if its bytes may be looked at.
    Unchanged(Option<RowInPlace<'g>>),
    /// Another transaction has changed it: check again whether it is one of the wanted rows.
    Changed(RowInPlace<'g>),
    /// It is no longer there, or it is skipped.
    Gone,
}

/// The outcome of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    Done,
    /// Another row is in the way; nothing was changed.
    Duplicate(Duplicate),
}

/// Why a row cannot be as requested: another one has the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The index in which both would have the same key.
    pub index: IndexNumber,
    /// Whether the transaction's snapshot sees that row, if it has one.
    pub is_seen: bool,
}

/// An index of a table: `None` for the primary key's, else the place in the definition's `indexes`.
pub type IndexNumber = Option<u16>;

/// A row to be inserted.
#[derive(Clone, Copy)]
pub struct NewRow<'r> {
    pub key: &'r [u8],
    pub row: &'r [u8],
    /// The row's previous key, which is deleted next: an update that changes the key.
    pub moved_from: Option<&'r [u8]>,
    /// The unique index that is checked first for another row that is in the way.
    pub arbiter: IndexNumber,
    /// In the replay of a run that has inserted it: that is known to be possible, so nothing is looked for.
    pub is_blind: bool,
}

impl<'r> NewRow<'r> {
    pub fn new(key: &'r [u8], row: &'r [u8]) -> NewRow<'r> {
        NewRow { key, row, moved_from: None, arbiter: None, is_blind: false }
    }

    /// Whether a row under this key is the row itself as it was. While the arbiter is checked there is none:
    /// a row under the same key is in the way there, too.
    pub fn was_under(&self, key: &[u8]) -> bool {
        self.arbiter.is_none() && key == self.key || Some(key) == self.moved_from
    }
}

/// A row that its transaction may write: the functions of [`Access`] that overwrite or delete a row take
/// nothing else, and [`Access::admit_write`] alone returns one.
pub struct Writable<'a> {
    table: &'a Arc<Table>,
    key: &'a [u8],
}

/// What a procedure may do to data: the interpreter needs nothing else. Implemented by transactions and by
/// replay, which runs procedures again without locks and logs.
pub trait Access: Send {
    /// Enters a table before its rows are touched: fails with `StalePlan` unless its definition still has
    /// this version. False if all its rows are to be skipped ([`Impatience::SkipLocked`]).
    fn enter(&mut self, table: &Arc<Table>, version: u64, intent: Intent) -> Flow<bool>;

    /// The same before the row under this key is touched, and no others: the table may still be closed to
    /// those.
    fn enter_for_key(&mut self, table: &Arc<Table>, version: u64, intent: Intent, _key: &[u8]) -> Flow<bool> {
        self.enter(table, version, intent)
    }

    /// The row under `key`, if there is one. Unless it is read at a snapshot, it is locked, present or
    /// absent, until this transaction ends. A row that is skipped counts as absent. `ahead` is what was found
    /// under the same key earlier; `copy` takes the version of a snapshot, if no more is done with it than
    /// read its leading columns only that part.
    fn read_point<'g>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        intent: Intent,
        ahead: Option<FoundAhead<'g>>,
        copy: RowCopy<'_>,
        guard: &'g Guard,
    ) -> Flow<Found<'g>>;

    /// Prefetches the memory of the lock that [`Access::read_point`] will take.
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

    /// The row that a scan which skips locked rows has returned last has been chosen. The scan gives up the
    /// locks of the others.
    fn keep_row(&mut self, _cursor: &mut Cursor) {}

    /// Whether rows are read without a lock, so that [`Access::lock_row`] is called for those that are
    /// chosen.
    fn reads_at_snapshot(&self) -> bool {
        false
    }

    /// Locks a row of an entered table that was read with [`Sight::Chosen`] as `seen`.
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
    /// the routine was called by another routine or by a statement, which will go on.
    fn begin_statement(&mut self, _is_inner: bool) {}

    /// The time of the snapshot that is read at, if there is one.
    fn snapshot_time(&self) -> Option<u64> {
        None
    }

    /// A called routine has returned: reads at the snapshot that its caller had, `None` if it had none.
    fn read_at(&mut self, _time: Option<u64>) {}

    fn insert(&mut self, table: &Arc<Table>, new: NewRow<'_>) -> Flow<Insertion>;

    /// The row under `key`, which was read with intent to write, is about to become this one by
    /// [`Access::update`]. Prepares its places in the secondary indexes, or returns what is in the way.
    /// Needed where columns of such indexes change. In an index that is checked later, nothing is in the way.
    fn index_row(&mut self, table: &Arc<Table>, key: &[u8], row: &[u8]) -> Flow<Option<Duplicate>>;

    /// Whether another row may have the values of this one, which the transaction has written, in a unique
    /// index whose constraint is checked later. Does not wait, so `true` is not certain.
    fn may_have_twin(&mut self, table: &Arc<Table>, index: u16, row: NewRow<'_>) -> bool;

    /// The same with a final result: no other transaction can make it untrue, or true, until this one ends.
    fn find_twin(&mut self, table: &Arc<Table>, index: u16, row: NewRow<'_>) -> Flow<Option<Duplicate>>;

    /// Checks whether the row under `key`, which was read with intent to write and locked in this
    /// transaction, may be written: REPEATABLE READ writes no row that another transaction has changed since
    /// its snapshot. `record` is where the row was found, if that is known.
    fn admit_write<'a>(
        &mut self,
        table: &'a Arc<Table>,
        key: &'a [u8],
        record: Option<&Record>,
    ) -> Flow<Writable<'a>>;

    /// Replaces a row. `patch` is the [`crate::storage::row::RowPatch`] that makes the same change, if the
    /// length stays. The write-set hash covers the patch, or else the row; that rows may be read in place
    /// makes no difference to the hash.
    fn update(&mut self, written: Writable<'_>, row: &[u8], patch: Option<&[u8]>);

    /// Whether [`Access::patch_read`] can be of use.
    const PATCHES_COPIES: bool = false;

    /// Updates a row that was copied when it was read, by replacing pieces of it. False if that is not
    /// possible, or the row may have changed since.
    fn patch_read(&mut self, _table: &Arc<Table>, _key: &[u8], _patch: &[u8]) -> bool {
        false
    }

    /// Updates a row, which is in `record`, by replacing pieces of it, none of them in a secondary index.
    /// `patch` is that of a [`crate::storage::row::RowPatch`] made for it.
    ///
    /// # Safety
    /// The bytes of the row that reads have returned to this transaction are no longer in use.
    #[allow(unsafe_code)] // The row is read in place; see `storage::record`.
    unsafe fn patch(&mut self, written: Writable<'_>, record: &Record, patch: &[u8], guard: &Guard);

    /// Deletes a row, which was read with [`Strength::Write`].
    fn delete(&mut self, deleted: Writable<'_>);

    /// The key of a new row in a table without a primary key.
    fn new_row_number(&mut self, table: &Arc<Table>) -> Flow<u64>;

    /// From here on, the run depends on something that no log knows: it must be logged as data.
    fn cannot_be_repeated(&mut self);

    fn savepoint(&mut self) -> Savepoint;

    /// Undoes everything since the savepoint; a serializable transaction keeps its locks. Also withdraws a
    /// pending wait. The bytes of rows that reads have returned to this transaction must no longer be in use:
    /// what was written in place is undone in place.
    fn rollback_to(&mut self, savepoint: Savepoint);
}

/// The modes of LOCK TABLE, with PostgreSQL's names.
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

    fn new(protocol: Arc<P>, config: &Config) -> Self;

    /// For one worker; any number may exist.
    fn transaction(self: &Arc<Self>) -> Self::Transaction;

    /// For the one thread that cleans up.
    fn caretaker(self: &Arc<Self>) -> Self::Caretaker;

    /// Number of keys whose row is gone and that have not left their index yet.
    fn tombstones(&self) -> usize;

    /// The workers whose transactions that of this worker waits for; see [`Transaction::worker`].
    fn blockers(&self, worker: u64) -> Vec<u64>;

    /// Bytes that are kept for older versions of rows.
    fn version_bytes(&self) -> u64;

    /// Takes a time, without holding up any transaction for longer than a commit takes. Calls `raised`: what
    /// has its place in a log now is of that time, or will not commit; `cut`, while the committed catalog is
    /// that of the time; and `settled`: what gets its place in a log from now on is later.
    fn capture(&self, raised: &mut dyn FnMut(), cut: &mut dyn FnMut(), settled: &mut dyn FnMut())
    -> Captured;
}

/// The rows that are committed at a time. Readable as long as this lives, unless that keeps too many versions
/// ([`Snapshot::check`]).
pub struct Captured {
    pub(crate) histories: Arc<Histories>,
    pub(crate) at: Snapshot,
    /// How far the histories had come with transactions that had ended some time before.
    pub(crate) ended: Vec<u64>,
    /// The writer whose place the snapshot takes; it is dropped after the snapshot.
    pub(crate) _own: HistoryWriter,
}

/// Cleans up after transactions: versions, tombstones, what tables have left behind.
pub trait Caretaker: Send {
    /// Does some of the pending work.
    fn tend(&mut self) -> Rest;
}

/// When a [`Caretaker`] should go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// At once: there is more to do.
    None,
    /// Soon: something was done, or can be done when other transactions have come further.
    Short,
    /// There is nothing that could be done now.
    Long,
}

/// An object of the catalog, as something to be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object<'a> {
    /// The name of a table, view, index or sequence.
    Relation(&'a TableName),
    RoutineName(&'a TableName),
    TypeName(&'a TableName),
    /// The type of this number.
    Type(u32),
    Schema(&'a str),
    /// The comments on the object of this id, and on its parts.
    Comments(u32),
    /// All roles and rights, in all databases.
    Access,
    /// The name of a database.
    DatabaseName(&'a str),
    /// A database with all that is in it. Transactions that change its catalog use it.
    Database(DatabaseId),
    /// The index of this table that is built beside writers.
    IndexBuild(TableId),
}

/// How an object is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectMode {
    /// It stays as it is. Others may do the same.
    Use,
    /// Something is made in it, or of it. Others may do the same.
    Extend,
    /// It is made, changed or dropped.
    Change,
}

/// How a transaction waits for the lock on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// In the queue: all that come later wait for it.
    InQueue,
    /// Others may use the table meanwhile.
    BesideOthers,
    /// Not at all: the lock is refused (55P03).
    Never,
}

/// What a change of the catalog needs of a transaction (`crate::catalog`). Objects are locked under every
/// concurrency control.
pub trait ObjectAccess: Access {
    /// Locks an object of this database until the end of the transaction.
    fn lock_object(&mut self, database: DatabaseId, object: Object<'_>, mode: ObjectMode) -> Flow<()>;

    /// Locks a table as LOCK TABLE does.
    fn lock_table(&mut self, table: &Arc<Table>, lock: TableLock, waiting: Waiting) -> Flow<()>;

    /// Waits until no other transaction has locked the definition of a table in order to change it. Takes no
    /// lock.
    fn outlast_change(&mut self, table: &Table) -> Flow<()>;

    /// A change of the catalog happens: it gets a place among the changes of the transaction
    /// ([`Savepoint`]), and `write` adds its operation to the log record.
    ///
    /// # Errors
    /// Those of `write`. The place has been given all the same.
    fn note_change(&mut self, write: Option<WriteOperation<'_>>) -> hyades_types::Result<()>;

    /// The transaction has changed the definition of a table, or taken such a change back: earlier plans do
    /// not fit the table.
    fn note_changed(&mut self, table: &Arc<Table>);

    /// The rows of a table are about to be rewritten, each from its newest version. The table is locked.
    fn check_before_rewriting(&mut self, table: &Arc<Table>) -> Flow<()>;

    /// Rows of a table have been rewritten, or removed; returns the time.
    fn note_rewriting(&self) -> u64;

    /// Rows keep to a new unique index; returns the time.
    fn note_new_key(&self) -> u64;

    /// Adds the entries of older versions, which snapshots may see, to an index that was made just now. The
    /// table is locked against all others.
    fn add_older_entries(&mut self, table: &Arc<Table>, index: &SecondaryIndex, guard: &Guard);

    /// The table has got an unfinished index, beside transactions that use the table.
    fn begin_index_build(&mut self, table: &Arc<Table>);

    /// One step of filling the unfinished index of a table beside others, through at most this many records
    /// or entries; true if it is complete.
    fn build_index(&mut self, index: &IndexDefinition, most: usize) -> Flow<bool>;

    /// The transaction has changed a table from which no other was locked out: those that commit later must
    /// follow it.
    fn commit_alone(&mut self);

    /// The transaction changes what names mean: no call that has run under the old names is logged as a
    /// command from its commit on.
    fn change_meaning(&mut self);

    /// The transaction depends on the one that has left this mark.
    fn follow(&mut self, mark: &[AtomicU64]);

    /// A table no longer has this state. It is freed when it is no longer used.
    fn discard(&self, table: &Table, state: Arc<TableState>);

    /// The table is gone, and what still refers to it needs no rows. No other transaction uses it.
    fn discard_rows(&self, table: &Table);
}

/// Writes an operation into a log record.
pub type WriteOperation<'a> = &'a mut dyn FnMut(&mut OperationsWriter) -> hyades_types::Result<()>;

/// What the log record of a transaction says in addition to its operations.
#[derive(Clone, Copy, Default)]
pub struct Ending<'a> {
    /// How far sequences have come with it.
    pub sequences: &'a [(SequenceId, SequenceState)],
    /// Whether it changes the catalog.
    pub is_barrier: bool,
}

/// One attempt to commit, as the worker makes it.
pub struct CommitStep<'a> {
    /// The number of the worker, which selects the log.
    pub worker: usize,
    pub ending: Ending<'a>,
    /// How far the append has come; kept until the next attempt of the same transaction.
    pub progress: &'a mut AppendProgress,
}

/// What a transaction makes known beside its rows when it commits.
pub trait Publisher<P: Protocol, T> {
    /// The log record of the transaction has a place, if it has written anything. No other transaction can
    /// see any of that yet.
    fn note_place(&mut self, dependencies: &P::Dependencies, has_written: bool);

    /// The rows of the transaction are committed, and all its locks are still held.
    fn publish(&mut self, transaction: &mut T);
}

/// One transaction under some concurrency control; reused for the next one after its end.
pub trait Transaction<P: Protocol>: ObjectAccess + Sized {
    fn begin(&mut self);

    /// Sets how much it sees of others, before it has read or written anything. Until then it is serializable
    /// and locks what it reads.
    fn isolate(&mut self, isolation: Isolation);

    /// From here on it locks what it reads if it is serializable, under every control, because it must not
    /// fail where it cannot be repeated. Fails if what it has read is outdated.
    fn lock_reads(&mut self) -> Flow<()>;

    /// Whether it is serializable.
    fn is_serializable(&self) -> bool;

    /// Whether what it has read is looked at again when it commits.
    fn is_checked(&self) -> bool;

    /// An error is about to leave the transaction: fails if that may be so because what it has read is of
    /// different times.
    ///
    /// # Errors
    /// [`Abort::Serialization`](hyades_types::error::Abort): it is outdated.
    fn check_reads(&mut self) -> hyades_types::Result<()>;

    /// A statement begins, or goes on after a wait. The first one takes the snapshot of a transaction that
    /// has one snapshot for all statements.
    fn resume_statement(&mut self);

    /// A statement is over. A waiting statement is not.
    fn end_statement(&mut self);

    /// Declares that the transaction will be one run of a procedure and is to be logged as the call whose
    /// head (see `log::record::command`) this is. `check` says whether the procedure is what its name means
    /// now. If that changes before the commit, the transaction is logged as data after all. The error says
    /// why it will be logged as data from the beginning.
    fn begin_command(
        &mut self,
        check: impl FnOnce() -> Result<(), &'static str>,
        head: &[u8],
    ) -> Result<(), &'static str>;

    /// Takes that back, because something else happens in the transaction. Does nothing to one that is logged
    /// as data.
    fn log_as_data(&mut self);

    /// The time of the snapshot that is read at, if there is one and some unique index is newer.
    fn old_snapshot(&self) -> Option<u64>;

    /// Whether there is only little to log and to release.
    fn commits_soon(&self) -> bool;

    /// The number under which its locks are known.
    fn worker(&self) -> u64;

    /// Whether it is serializable and another transaction waits for one of its locks.
    fn is_waited_for(&self) -> bool;

    /// Those of the transaction that has ended last.
    fn dependencies(&self) -> &P::Dependencies;

    /// What an answer must wait for that shows what the open transaction has seen.
    fn seen(&mut self) -> &P::Dependencies;

    /// Commits: appends the log record of a transaction that has written, makes its rows and what the
    /// publisher has visible, and releases everything. After `Wait` nothing can be seen of it, and the same
    /// commit is to be tried again; after `Failed` the transaction is still open and must be rolled back.
    fn commit(&mut self, step: CommitStep<'_>, publisher: &mut impl Publisher<P, Self>) -> Flow<()>;

    /// Withdraws a pending wait, undoes everything, releases everything.
    fn rollback(&mut self);
}
