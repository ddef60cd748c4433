//! A transaction: how it reads, writes and locks, what it holds, and how it is logged.
//!
//! READ COMMITTED and REPEATABLE READ read at snapshots without locks (`snapshot`); and so do serializable
//! transactions under an optimistic control, which look again when they commit (`look`). Where they must see
//! the newest version ([`Sight`](crate::txn::Sight)), they lock what they read: `locked_read`, `locked_scan`.
//! Under two-phase locking a serializable transaction does so for everything. Whatever a transaction locks,
//! and whichever level it has, it meets the same locks:
//!
//! ```text
//! resource          modes                      taken by
//! row (table, key)  KeyRead, Read,             checks of parents; point reads, scans;
//!                   NoKeyWrite, Write          updates; deletes, inserts, updates of the key (`row_lock`)
//! gap (table, key)  Read, IntentWrite          scans; inserts below `key`
//! gap (table, end)  Read, IntentWrite          scans that reach the end; inserts after the last key
//! value (index,     Read, Write                searches for all columns of a unique index; writers that give
//!        columns)                              a row these (`index_entries`)
//! table stripe      KeyRead, IntentRead,       all that lock rows, on the stripe of their worker
//!                   IntentWrite
//!                   Read, NoKeyWrite, Write    whole-table scans, bulk loads, DDL: on all stripes
//! name              Write                      CREATE and DROP of tables and routines
//! schema            IntentWrite, Write         CREATE and DROP in it; of it (`catalog`)
//! index build       Write                      CREATE INDEX beside writers (`index_build`)
//! definition stripe Read, Write                readers at snapshots, on the stripe of their worker; DDL: on all
//! ```
//!
//! LOCK TABLE takes the same: `table_lock`.
//! A script shows each row: `sql/tests/sessions/strengths_of_statements.sql`, `gaps.own.sql`,
//! `lock_modes.own.sql`, `schema_changes.sql` and `names.own.sql` in the same folder.
//!
//! Locks are held until the log record has been appended (early lock release: not until it is durable). What
//! a transaction writes it locks under every level, including the gaps it inserts into, so that the
//! guarantees of serializable transactions beside it hold. A transaction that has locked thousands of rows of
//! a table locks the table instead, if no other transaction is in it (`escalation`).
//!
//! **Writes are installed at once**, and what was there before is kept as a version (`storage::history`),
//! which is also used to undo the write; locks and versions hide them. Where a row keeps its length, only the
//! bytes that differ are written, in place. A delete leaves a record without a row (a tombstone), so its key
//! still separates gaps and leads to older versions; `purge` removes it later.
//!
//! Files:
//! * locks: `resource` (what is locked), `modes` (which mode a reader takes), `acquisition` (getting one,
//!   waiting), `row_lock`, `table_lock`, `escalation`, `table_use` (what is known of a table in use);
//! * reading: `locked_read`, `locked_scan`, `snapshot`, `look` (once more, at the commit), `rewritten`
//!   (snapshots older than a table's rows);
//! * writing: `locked_insert`, `index_entries` (secondary indexes, unique values), `undo`;
//! * the seam: `row_access` (what procedures do to rows), `object_access` (what changes of the catalog need),
//!   `life` (what a worker drives), `common_control` (makes transactions);
//! * how they end: `commit`, `logged_call` (a transaction that is one call), `capture` (the time of a
//!   checkpoint);
//! * tombstones: `purge`, `purge_queue`;
//! * without locking others out: `change_beside_others` (the state), `index_build`, `patient_lock`,
//!   `unlocked_change`.
//!
//! **Invariants.**
//! 1. Nothing is written, and nothing relied on as the newest version, without a lock that lasts to the end
//!    of the transaction. What a serializable transaction has read without one is looked at again at its end.
//! 2. A record leaves its index only through `purge`, when its row and gap are neither held nor awaited and
//!    no snapshot sees a row there.
//! 3. A call that returns `Wait` has changed nothing that another transaction could see.
//!
//! Reference: Gray and Reuter, "Transaction Processing" (1993), 7.8 and 8; Mohan, "ARIES/KVL" (1990).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hyades_types::definition::TableId;
use parking_lot::Mutex;

use crate::config::ControlKind;
use crate::log::record::OperationsWriter;
use crate::log::record::command::{WriteChain, WriteSetHash};
use crate::protocol::Protocol;
use crate::storage::history::{Handle, Histories, HistoryWriter, Snapshot};
use crate::storage::primary_index::Finger;
use crate::txn::lock_table::{LockTable, TransactionId};
use crate::txn::read_set::ReadSet;
use crate::txn::reads::Reads;

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
mod life;
mod locked_insert;
mod locked_read;
mod locked_scan;
mod logged_call;
mod look;
mod modes;
mod object_access;
mod patient_lock;
mod purge;
mod purge_queue;
mod resource;
mod rewritten;
mod row_access;
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
use purge_queue::Purgeable;
use resource::Resource;
use table_use::TableUse;

/// Buckets of the lock table. A bucket with two resources in use costs another wait for memory.
const LOCK_BUCKETS: usize = 1 << 16;
/// Tables whose ids are the same modulo this are looked for.
const PLACE_NOTES: usize = 32;

/// The cost of releasing a lock, as work of a guest.
const UNITS_PER_LOCK: u32 = 10;
/// Buffers beyond this size are given back when the transaction that needed them ends.
const KEPT_BYTES: usize = 1 << 20;

/// For mutants: long enough for the next owner of a lock to be woken, or for a checkpoint to take its time.
#[cold]
fn linger() {
    crate::sync::sleep(std::time::Duration::from_micros(200));
}

/// What all transactions of one database share.
pub struct Transactions<P: Protocol> {
    protocol: Arc<P>,
    locks: LockTable<Transactions<P>>,
    purge: purge_queue::Queue,
    /// See `capture`.
    is_capturing: AtomicBool,
    unlocked: UnlockedChanges,
    histories: Arc<Histories>,
    next_worker: AtomicU64,
    /// Whether calls are logged with their after-images (`Config::command_images`).
    logs_images: bool,
    /// Of one table, in one transaction (`Config::row_locks_before_table`).
    row_locks_before_table: u32,
    /// See `Config::version_bytes`.
    version_bytes: u64,
    control: ControlKind,
    /// See `Config::fails_beside_writers`.
    fails_beside_writers: bool,
    /// Held while a place and a time are drawn, where both must have one order; see `commit`.
    order: Mutex<()>,
}

impl<P: Protocol> Transactions<P> {
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
    /// Of the table.
    write_chain: WriteChain,
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
    /// The number of the meaning of names when it began.
    meaning: u64,
}

/// One transaction: what it holds, what it has read and written, and as what it is logged.
pub struct Body<P: Protocol> {
    shared: Arc<Transactions<P>>,
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
    /// What was there before its writes.
    history: HistoryWriter,
    reads: Reads,
    /// The running statement has begun without locks, and locks what it reads only since it has changed the
    /// catalog. So a row that it has chosen may not be locked yet.
    has_begun_unlocked: bool,
    /// The snapshot of the statement, or of the transaction, after the first read at it.
    snapshot: Option<Snapshot>,
    /// What is to be looked at again; see `look`.
    read_set: ReadSet,
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
    /// Whether it changes what names mean; as above.
    changes_meaning: bool,
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
