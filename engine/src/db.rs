//! The engine as everything above it sees it: [`Engine`] and [`Worker`], object-safe, and `open`, the only list of protocols.

use std::sync::Arc;

use crate::catalog::{CatalogChange, TableId, TableName};
use crate::error::Result;
use crate::log::durable::Durability;
use crate::procedure::frame::{Environment, Frame, RowSink};
use crate::storage::table::Table;
use crate::ticket::Ticket;

/// Why a call came back before it was done.
pub enum Interrupt {
    /// Await the ticket, then make the same call again.
    Wait(Ticket),
    /// The transaction must be rolled back (or to a savepoint).
    Failed(crate::Error),
}

impl From<crate::Error> for Interrupt {
    fn from(error: crate::Error) -> Interrupt {
        Interrupt::Failed(error)
    }
}

/// The result of a call that may have to wait.
pub type Flow<T> = std::result::Result<T, Interrupt>;

/// A position in a transaction to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint(pub usize);

/// One open database.
pub trait Engine: Send + Sync {
    /// A worker for one session. Cheap; any number may exist, and a worker may move between threads.
    fn worker(&self) -> Box<dyn Worker>;
    /// The committed table of this name.
    fn table(&self, name: &TableName) -> Option<Arc<Table>>;
    /// All committed tables, by name.
    fn tables(&self) -> Vec<Arc<Table>>;
    /// Writes out and syncs what is buffered, stops the loggers. Workers that still run get a fatal error afterwards.
    fn shutdown(&self) -> Result<()>;
    /// What recovery found when the database was opened.
    fn recovery_report(&self) -> &crate::recovery::RecoveryReport;
}

/// Runs one transaction at a time.
pub trait Worker: Send {
    /// Starts a transaction. None may be open.
    fn begin(&mut self);
    fn in_transaction(&self) -> bool;
    /// Runs the frame's procedure until it returns. Emitted rows go to `sink`, which must not wait for a client: locks are held.
    fn run(&mut self, frame: &mut Frame, environment: &mut Environment, sink: &mut dyn RowSink) -> Flow<()>;
    /// Changes the schema inside the transaction.
    fn change_catalog(&mut self, change: CatalogChange) -> Flow<()>;
    /// The table of this name as this transaction sees it (its own uncommitted schema changes included).
    fn table(&self, name: &TableName) -> Option<Arc<Table>>;
    fn tables(&self) -> Vec<Arc<Table>>;
    /// Locks a whole table, for bulk loads: row locks are then skipped.
    fn lock_table(&mut self, table: &Arc<Table>) -> Flow<()>;
    /// A table id never used before, for [`CatalogChange::CreateTable`].
    fn new_table_id(&self) -> TableId;
    fn savepoint(&self) -> Savepoint;
    /// Undoes everything since the savepoint; locks are kept.
    fn rollback_to(&mut self, savepoint: Savepoint);
    /// Precommits: appends the log record and releases the locks. The answer may go out when the returned handle is durable.
    /// On `Failed` the transaction is still open and must be rolled back.
    fn commit(&mut self) -> Flow<Durability>;
    /// Undoes everything. Also withdraws a pending wait. The answer may go out when the returned handle is durable (pitfall 7).
    fn rollback(&mut self) -> Durability;
}
