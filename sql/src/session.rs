//! Databases and sessions: what the server, the embedded API and the benchmarks program against.
//!
//! A session never blocks: whatever must wait returns `Interrupt::Wait(ticket)`; await the ticket, then repeat the same call with
//! the same arguments. It also never decides when an answer goes out: before sending anything to a client the caller awaits
//! [`Session::pending_durability`] (architecture invariant 1).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hyades_engine::config::Config;
use hyades_engine::db::Flow;
use hyades_engine::error::{Error, Result};
use hyades_engine::log::durable::Durability;
use hyades_engine::recovery::RecoveryReport;
use hyades_engine::value::{SqlType, Value};

/// An open database; clones share it.
#[derive(Clone)]
pub struct Database {}

/// What a client says about itself when it connects.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    pub user: String,
    pub database: String,
    /// Startup parameters (application_name, DateStyle, TimeZone ...), applied as by SET; unknown ones are kept.
    pub parameters: Vec<(String, String)>,
}

/// A column of a result.
#[derive(Clone, Debug)]
pub struct ResultColumn {
    pub name: String,
    pub sql_type: SqlType,
    /// Table id and 1-based attribute number of the column it is a plain copy of.
    pub source: Option<(u32, i16)>,
}

/// What executing a statement will answer.
#[derive(Clone, Debug)]
pub enum Response {
    /// An empty statement.
    Empty,
    /// Only a command tag.
    NoData,
    Rows(Vec<ResultColumn>),
    CopyIn {
        columns: usize,
    },
    CopyOut {
        columns: usize,
    },
}

/// A compiled statement; recompiles itself when a table changed.
pub struct Prepared {}

impl Prepared {
    pub fn parameter_types(&self) -> &[SqlType] {
        &[]
    }
    pub fn response(&self) -> &Response {
        &Response::Empty
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The statement is done; this is its command tag (`UPDATE 1`); empty for an empty statement.
    Tag(String),
    /// Feed the data with [`Session::copy_feed`], then [`Session::copy_finish`].
    CopyIn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    Idle,
    InTransaction,
    Failed,
}

/// A message beside the result.
#[derive(Clone, Debug)]
pub struct Notice {
    /// NOTICE, WARNING ...
    pub severity: &'static str,
    pub state: &'static str,
    pub message: String,
}

/// Receives what a statement answers. Must not wait for a client: locks are held. Everything is kept back until
/// the durability of the answer is known.
pub trait Output {
    fn row(&mut self, values: &mut [Value]) -> Result<()>;
    /// One chunk of COPY TO data.
    fn copy_data(&mut self, bytes: &[u8]) -> Result<()>;
    fn notice(&mut self, notice: Notice);
    /// Forget the rows of the statement that is running: it is being retried unseen.
    fn restart(&mut self);
}

/// One client's conversation with a database.
pub struct Session {}

impl Database {
    pub fn open(_config: Config) -> Result<Database> {
        Ok(Database {})
    }
    pub fn session(&self, _options: SessionOptions) -> Result<Session> {
        Ok(Session {})
    }
    pub fn recovery_report(&self) -> RecoveryReport {
        RecoveryReport::default()
    }
    /// Writes out what is buffered and closes the database.
    pub fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}

#[allow(clippy::unused_self)]
impl Session {
    /// Splits the text of a simple query at its semicolons; comments and quotes are understood. Statements that are empty are left
    /// out. Each comes with the 0-based character offset at which it starts, to be added to error positions.
    pub fn split(&self, sql: &str) -> Result<Vec<(usize, String)>> {
        Ok(vec![(0, sql.to_owned())])
    }
    /// Compiles one statement. `parameter_types` may name the types of the first parameters.
    pub fn prepare(&mut self, _sql: &str, _parameter_types: &[Option<SqlType>]) -> Flow<Arc<Prepared>> {
        Ok(Arc::new(Prepared {}))
    }
    /// Runs a statement. Outside BEGIN it runs in an implicit transaction, which lasts until [`Session::end_implicit`]. A
    /// conflict of a statement that stands alone is retried unseen. A failure has already rolled back what it must.
    pub fn execute(
        &mut self,
        _statement: &Arc<Prepared>,
        _parameters: &[Value],
        _output: &mut dyn Output,
    ) -> Flow<Completion> {
        Ok(Completion::Tag(String::new()))
    }
    /// Data of COPY FROM STDIN, in chunks of any size.
    pub fn copy_feed(&mut self, _bytes: &[u8]) -> Flow<()> {
        Ok(())
    }
    pub fn copy_finish(&mut self) -> Flow<Completion> {
        Ok(Completion::Tag(String::new()))
    }
    /// The client gave up its COPY.
    pub fn copy_fail(&mut self, message: &str) -> Error {
        Error::input(hyades_engine::error::sqlstate::QUERY_CANCELED, message)
    }
    /// Commits the implicit transaction, if one is open: at Sync and at the end of a simple query.
    pub fn end_implicit(&mut self) -> Flow<()> {
        Ok(())
    }
    /// Gives up a call that returned `Wait` (cancel, timeout, disconnect): withdraws the wait, fails the transaction with this
    /// error and hands it back.
    pub fn abandon(&mut self, error: Error) -> Error {
        error
    }
    /// The client is skipping messages until Sync after an error: rolls back an implicit transaction.
    pub fn transaction_status(&self) -> TransactionStatus {
        TransactionStatus::Idle
    }
    /// What must be durable before the answers produced since the last call go out. Immediate under synchronous_commit=off.
    pub fn pending_durability(&mut self) -> Durability {
        Durability::immediate()
    }
    /// Set to make a running statement fail with 57014.
    pub fn interrupt_flag(&self) -> Arc<AtomicBool> {
        Arc::default()
    }
    /// A setting's value as SHOW prints it.
    pub fn setting(&self, _name: &str) -> Option<String> {
        None
    }
    /// Reportable settings changed since the last call (for ParameterStatus).
    pub fn take_changed_settings(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// The session's time zone, for text forms of timestamptz.
    pub fn time_zone(&self) -> jiff::tz::TimeZone {
        jiff::tz::TimeZone::UTC
    }
}
