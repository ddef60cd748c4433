//! Databases and sessions: the interface used by the server, the embedded API and the benchmarks.
//!
//! A session never blocks. A call that must wait returns `Interrupt::Wait(ticket)`. Await the ticket, then
//! repeat the same call with the same arguments. A session also never decides when an answer is sent:
//! before sending anything to a client the caller awaits [`Session::pending_durability`] (architecture
//! invariant 1).
//!
//! What a session sees of the database is its viewpoint (`crate::viewpoint`).
//!
//! Files:
//! * state: `state` (in its transaction), `running` (what survives waits), `cursors`;
//! * statements: `prepare` and `prepared` (compiled, and their cache), `lifted` (texts with literals), `run`
//!   (execution), `requests` (of a procedure in its run), `call_run` (CALL), `schema`, `alteration_run` and
//!   `truncation_run` (DDL), `copy_in`, `routine_compiler` (for the engine);
//! * the transaction: `transaction` (the state machine), `deferred` (constraints checked at its end);
//! * commands: `utility` (settings, EXPLAIN, PREPARE) with `analysis` (EXPLAIN ANALYZE), `cursor_commands`,
//!   `lock_command`, `checkpoint_command`, `listen_commands`, `vacating` (a database without sessions);
//! * who: `login`, `rights` (what a statement needs);
//! * between sessions: `activity` and `show` (who does what), `listeners` (notifications), `advisory_locks`,
//!   `statistics` and `database_statistics`.
//!
//! The state machine is PostgreSQL's:
//!
//! ```text
//!            statement              BEGIN
//!   Idle ---------------> Implicit ----------> Block ------error-----> Failed
//!    ^  <--end_implicit----  |                   |                       |
//!    |  <-------error--------+                   |                       |
//!    +--------------COMMIT or ROLLBACK-----------+----COMMIT, ROLLBACK---+   (COMMIT returns ROLLBACK)
//!                                                 <--ROLLBACK TO---------
//! ```

pub(crate) mod activity;
mod advisory_locks;
mod alteration_run;
mod analysis;
mod call_run;
mod checkpoint_command;
mod copy_in;
mod cursor_commands;
mod cursors;
mod database_statistics;
mod deferred;
mod lifted;
mod listen_commands;
mod listeners;
mod lock_command;
mod login;
mod prepare;
mod prepared;
mod requests;
mod rights;
mod routine_compiler;
mod run;
mod running;
mod schema;
mod show;
mod state;
pub mod statistics;
mod transaction;
mod truncation_run;
mod utility;
mod vacating;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};

use hyades_engine::config::Config;
use hyades_engine::db::{Engine, Flow, Interrupt, Isolation};
use hyades_engine::log::durable::Durability;
use hyades_engine::procedure::compiled_routine::RoutineCompiler;
use hyades_engine::procedure::frame::Frame;
use hyades_engine::recovery::{RecoveryReport, RestartStatus};
use hyades_engine::storage::databases::Databases;
use hyades_engine::ticket::Ticket;
use hyades_types::access::{RoleId, no_database};
use hyades_types::cursors::SessionCursors;
use hyades_types::definition::DatabaseId;
use hyades_types::environment::{Environment, Gathered};
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::guest::{self, Guest, Host, Sessions, StopRequest, Visit};
use hyades_types::memory::{Account, Charge, Limits};
use hyades_types::random::Random;
use hyades_types::sequence::SequenceCatalog;
use hyades_types::text::{DateStyles, Reading};
use hyades_types::value::{SqlType, Value};
use parking_lot::Mutex;

pub use crate::answer::{Completion, CopyColumns, Notice, Output, Response, ResultColumn, TransactionStatus};
use crate::copy::pieces::Sharing;
use crate::evaluation;
use crate::settings::Settings;
use crate::statement::lifting::Lifting;
use crate::statement::split;
use crate::viewpoint::identity::Identity;
use crate::viewpoint::meaning::Meaning;
use crate::viewpoint::{SuperuserNames, Viewpoint};
use activity::{Activities, Activity, Full};
pub use activity::{Controller, Encryption};
use advisory_locks::{AdvisoryTable, SessionLocks};
use cursors::OpenCursors;
pub use listeners::Delivered;
use listeners::{ListenChange, Listeners, Mailbox};
pub use login::Login;
use login::{FoundDatabase, closed};
pub use prepared::Prepared;
use prepared::{NamedStatement, StatementCache};
use requests::SchemaRequests;
use running::{Checking, CopyIn, Running};
use state::{NamedSavepoint, State};

/// An open database. Clones share it.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Arc<dyn Engine>,
    memory: Limits,
    sessions: AtomicI32,
    transactions: AtomicI64,
    activities: Arc<Activities>,
    /// By database.
    neighbours: Mutex<HashMap<DatabaseId, Arc<Neighbours>>>,
    /// More names of the first superuser.
    superuser_names: Arc<SuperuserNames>,
    /// Whether there have been roles.
    has_had_roles: AtomicBool,
    /// How COPY divides its work.
    sharing: Arc<Sharing>,
}

/// What the sessions in one database share.
#[derive(Default)]
struct Neighbours {
    advisory_locks: Arc<AdvisoryTable>,
    listeners: Listeners,
}

/// What a client says about itself when it connects.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    pub user: String,
    /// The role that was found when the client was let in. If it is gone, the session is refused. `None` is
    /// for clients in this process, which need no login: the role that has the name of the user or,
    /// if there is none, the first superuser.
    pub role: Option<RoleId>,
    /// How many sessions a role may have that has no limit of its own and is no superuser.
    pub sessions_per_role: Option<usize>,
    /// Empty: the database that was there first.
    pub database: String,
    /// For programs that look at everything: whether the database lets sessions in does not matter.
    pub enters_any_database: bool,
    /// The operator's settings, applied before the client's, for every client.
    pub defaults: Vec<(String, String)>,
    /// Startup parameters (application_name, DateStyle, TimeZone ...), applied as by SET. Unknown ones are
    /// kept.
    pub parameters: Vec<(String, String)>,
}

/// Compiles PL/pgSQL. An engine that is opened without [`Database::open`] needs it in its configuration to
/// run routines.
pub fn routine_compiler() -> Arc<dyn RoutineCompiler> {
    Arc::new(routine_compiler::PlpgsqlCompiler)
}

/// So often a statement that is alone in its transaction, or the body of a transaction that is repeated,
/// reads without locks, if its database has an optimistic concurrency control. Then it locks what it reads.
pub(crate) const MOST_ATTEMPTS: u32 = 3;

/// What there was when the statement began.
#[derive(Default)]
struct Before {
    /// What the transaction had gathered.
    gathered: Gathered,
    notices: usize,
}

/// What is known of the implicit transaction.
#[derive(Default)]
struct Implicit {
    /// Statements that have succeeded in it. If there are any, a conflict cannot be retried transparently.
    statements: u32,
    /// Whether the statement that is executed next is its last one.
    ends: bool,
    /// How often the running statement may still run without locks.
    attempts_left: u32,
    /// Blocks lock what they read, too.
    blocks_lock: bool,
}

/// One client's conversation with a database.
pub struct Session {
    shared: Arc<Shared>,
    neighbours: Arc<Neighbours>,
    /// The databases that the transaction keeps other sessions out of.
    closed: Vec<DatabaseId>,
    view: Viewpoint,
    state: State,
    activity: Arc<Activity>,
    /// The address of the statement that other sessions see.
    shown_statement: usize,
    /// `None` while it computes.
    guest: Option<Box<Guest>>,
    /// What the answers since the last [`Session::pending_durability`] depend on.
    durability: Durability,
    /// See [`Session::promise_to_wait`].
    waits: bool,
    /// Shown by `pg_backend_pid()`.
    process: i32,
    transaction_number: i64,
    cache: StatementCache,
    /// The lifting of the text that was looked at last.
    lifting: Lifting,
    /// Statements of SQL's PREPARE.
    named: HashMap<String, NamedStatement>,
    cursors: Arc<OpenCursors>,
    mailbox: Arc<Mailbox>,
    /// LISTEN and UNLISTEN of the transaction.
    listen_changes: Vec<ListenChange>,
    savepoints: Vec<NamedSavepoint>,
    /// Whether the transaction has looked at data.
    has_queried: bool,
    /// Whether the isolation level of the transaction is settled.
    is_isolated: bool,
    /// Whether the query string has several statements.
    is_in_list: bool,
    /// Messages for [`Session::take_notices`].
    notices: Vec<Notice>,
    implicit: Implicit,
    /// The statement that waits.
    running: Option<Running>,
    /// The constraint check that waits, at the end of the transaction or in SET CONSTRAINTS.
    checking: Option<Checking>,
    before: Before,
    /// The prepared statement and the values of the EXECUTE that waits.
    executing: Option<(Arc<Prepared>, Vec<Value>)>,
    schema_requests: SchemaRequests,
    /// How many plans of the running statement have become stale.
    stale_plans: u32,
    copy: Option<Box<CopyIn>>,
    /// Frames of procedures that ran lately, the latest last. Running one of them again needs no new
    /// memory.
    #[allow(clippy::vec_box)] // They move out and in again with every statement.
    spare_frames: Vec<Box<Frame>>,
}

impl Database {
    /// Opens, or creates, the database in the configuration's data directory and recovers it.
    ///
    /// # Errors
    /// Fatal ones for a directory that cannot be used: another version, a missing log, damage, I/O errors.
    pub fn open(config: Config) -> Result<Database> {
        Ok(Database::with_engine(hyades_engine::db::open(config, Some(routine_compiler()))?))
    }

    /// The state that a recovery has found, in memory, for inspection. What is written to it is not kept.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn of_recovered(config: &Config, databases: Arc<Databases>) -> Result<Database> {
        let engine = hyades_engine::db::open_recovered(config, databases, Some(routine_compiler()))?;
        Ok(Database::with_engine(engine))
    }

    /// A database on an engine that is open already.
    pub fn with_engine(engine: Arc<dyn Engine>) -> Database {
        Database::sharing(engine, Sharing::default())
    }

    /// As [`Database::with_engine`], with this division of the work of COPY.
    pub(crate) fn sharing(engine: Arc<dyn Engine>, sharing: Sharing) -> Database {
        Database {
            shared: Arc::new(Shared {
                memory: engine.memory_limits(),
                sessions: AtomicI32::new(0),
                transactions: AtomicI64::new(0),
                activities: Arc::new(Activities::of_engine(&engine)),
                engine,
                neighbours: Mutex::default(),
                superuser_names: Arc::default(),
                has_had_roles: AtomicBool::new(false),
                sharing: Arc::new(sharing),
            }),
        }
    }

    /// The underlying engine.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.shared.engine
    }

    /// Starts a session.
    ///
    /// # Errors
    /// Fails for a startup parameter with a bad value.
    pub fn session(&self, options: SessionOptions) -> Result<Session> {
        self.session_with(options, Arc::new(self.account()))
    }

    /// The memory limits.
    pub fn memory_limits(&self) -> Limits {
        self.shared.memory
    }

    /// An account with this database's limits.
    pub fn account(&self) -> Account {
        Account::new(self.shared.memory)
    }

    /// Adds a session to those that others see.
    fn register(
        &self,
        (options, found): (&SessionOptions, &FoundDatabase),
        (process, lock_owner): (i32, u64),
        identity: &Identity,
        account: &Arc<Account>,
        stop: &Arc<StopRequest>,
    ) -> Result<Arc<Activity>> {
        let database = (found.id, options.database.as_str());
        let activity = Arc::new(Activity::new(&options.user, database, process, Arc::clone(stop)));
        activity.is_role(identity.role());
        activity.pays(account);
        activity.locks(lock_owner, &found.neighbours.advisory_locks);
        let of_role = identity.connection_limit(options.sessions_per_role);
        let of_database = found.connection_limit().filter(|_| !identity.is_superuser);
        self.shared.activities.add(process, &activity, (of_role, of_database)).map_err(|full| {
            let (word, name) = match full {
                Full::Role => ("role", &options.user),
                Full::Database => ("database", &options.database),
                Full::Closed => return closed(&options.database),
            };
            let message = format!("too many connections for {word} \"{name}\"");
            Error::input(sqlstate::TOO_MANY_CONNECTIONS, message)
        })?;
        self.check_lasts(found, process)?;
        Ok(activity)
    }

    /// Like [`Database::session`], with this account charged for what the session does.
    ///
    /// # Errors
    /// As [`Database::session`].
    pub fn session_with(&self, mut options: SessionOptions, account: Arc<Account>) -> Result<Session> {
        let found = self.database_of(&options)?;
        options.database.clone_from(&found.definition.name);
        let (access, role) = found.let_in(&options)?;
        let settings = options.settings(&access, (found.id, role))?;
        let process = self.shared.sessions.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let cursors = Arc::new(OpenCursors::new(&account));
        let mut environment = self.environment(&options, &settings, (process, &account), &found);
        environment.cursors = Some(Arc::clone(&cursors) as Arc<dyn SessionCursors>);
        let identity = Identity::of(role, &options.user, access, found.catalog.access_version());
        options.check_parameters(identity.is_superuser)?;
        let worker = self.shared.engine.worker_in(found.id).ok_or_else(|| no_database(&options.database))?;
        let guest = Box::new(Guest::new(Arc::clone(&environment.stop)));
        let owner = (process, worker.lock_owner());
        let activity = self.register((&options, &found), owner, &identity, &account, &environment.stop)?;
        let view = Viewpoint {
            engine: Arc::clone(&self.shared.engine),
            database: found.id,
            catalog: found.catalog,
            worker,
            settings,
            meaning: Meaning::default(),
            identity,
            environment,
            superuser_names: Arc::clone(&self.shared.superuser_names),
            number: process,
            is_whole_transaction: false,
            account,
        };
        let mut session = Session {
            shared: Arc::clone(&self.shared),
            neighbours: found.neighbours,
            closed: Vec::new(),
            view,
            state: State::Idle,
            activity,
            shown_statement: 0,
            guest: Some(guest),
            durability: Durability::immediate(),
            waits: false,
            process,
            transaction_number: 0,
            cache: StatementCache::default(),
            lifting: Lifting::default(),
            named: HashMap::new(),
            cursors,
            mailbox: Arc::default(),
            listen_changes: Vec::new(),
            savepoints: Vec::new(),
            has_queried: false,
            is_isolated: false,
            is_in_list: false,
            notices: Vec::new(),
            implicit: Implicit::default(),
            running: None,
            checking: None,
            before: Before::default(),
            executing: None,
            schema_requests: SchemaRequests::default(),
            stale_plans: 0,
            copy: None,
            spare_frames: Vec::new(),
        };
        session.refresh_environment();
        session.take_initial_role(&options)?;
        session.refresh_identity();
        session.refresh_path();
        session.show_application();
        Ok(session)
    }

    /// What a session of this number sees of the database when it computes.
    fn environment(
        &self,
        options: &SessionOptions,
        settings: &Settings,
        (process, account): (i32, &Arc<Account>),
        found: &FoundDatabase,
    ) -> Environment {
        let mut environment = evaluation::environment(&options.user, &options.database);
        environment.time_zone = settings.time_zone().clone();
        environment.styles = settings.styles();
        environment.random = std::cell::RefCell::new(Random::unpredictable());
        environment.sessions = Some(Arc::clone(&self.shared.activities) as Arc<dyn Sessions>);
        environment.advisory_locks =
            Some(Arc::new(SessionLocks::new(&found.neighbours.advisory_locks, process, account)));
        environment.sequences.get_mut().catalog =
            Some(Arc::clone(&found.catalog) as Arc<dyn SequenceCatalog>);
        environment.work_memory.directory = self.shared.engine.temporary_directory();
        environment
    }

    /// The progress of the restart.
    pub fn restart_status(&self) -> RestartStatus {
        self.shared.engine.restart_status()
    }

    /// `None` if the restart is complete, else a ticket that fires when it is complete or has failed.
    ///
    /// # Errors
    /// Returns the reason if it will never be complete. The database is poisoned then, or works without the
    /// tables that could not be recovered.
    pub fn wait_for_restart(&self) -> Result<Option<Ticket>> {
        self.shared.engine.wait_for_restart()
    }

    /// What recovery found when the database was opened. Empty until the restart is complete.
    pub fn recovery_report(&self) -> RecoveryReport {
        self.shared.engine.recovery_report()
    }

    /// Writes out what is buffered and closes the database.
    ///
    /// # Errors
    /// Fatal ones of the disk.
    pub fn shutdown(&self) -> Result<()> {
        self.shared.engine.shutdown()
    }
}

impl Session {
    /// Splits the text of a simple query at its semicolons, except those in comments and quotes. Empty
    /// statements are left out. Each statement comes with the 0-based character offset at which it starts,
    /// which must be added to error positions.
    ///
    /// # Errors
    /// 42601 for a quote or comment that is not closed.
    pub fn split(&mut self, sql: &str) -> Result<Vec<(usize, String)>> {
        self.as_guest(|_| split::split(sql))
    }

    /// Says whether the statements up to the next [`Session::end_implicit`] came in one query string. If
    /// so, those that must be transactions of their own are refused.
    pub fn set_in_list(&mut self, is_in_list: bool) {
        self.is_in_list = is_in_list;
    }

    /// Says whether the statements from here on are each the last one of an implicit transaction: the
    /// caller calls [`Session::end_implicit`] right after [`Session::execute`]. Under an optimistic
    /// concurrency control such a statement commits while it is executed, and runs again if it has read
    /// outdated rows. All others lock what they read.
    pub fn set_last(&mut self, is_last: bool) {
        self.implicit.ends = is_last;
    }

    /// Says whether serializable blocks that begin from here on lock what they read under every concurrency
    /// control, because their outdated reads have made them fail too often.
    pub(crate) fn lock_in_blocks(&mut self, locks: bool) {
        self.implicit.blocks_lock = locks;
    }

    /// Compiles one statement. `parameter_types` may give the types of the first parameters. A failure
    /// fails the transaction, as a failure of [`Session::execute`] does. Waits for transactions that have
    /// changed the definitions of its tables.
    ///
    /// # Errors
    /// Those of syntax, names and types; 25P02 in a failed transaction.
    pub fn prepare(&mut self, sql: &str, parameter_types: &[Option<SqlType>]) -> Flow<Arc<Prepared>> {
        self.compile_or_fail(|session| session.prepare_cached(sql, parameter_types))
    }

    /// Runs a statement. Outside BEGIN it runs in an implicit transaction, which lasts until
    /// [`Session::end_implicit`]. A conflict of a statement that is alone in its transaction is retried
    /// transparently. When an error is returned, the necessary rollback has been done.
    ///
    /// # Errors
    /// Everything a statement can fail with.
    pub fn execute(
        &mut self,
        statement: &Arc<Prepared>,
        parameters: &[Value],
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        self.show_statement(statement);
        let outcome = self.as_guest(|session| session.execute_inner(statement, parameters, output));
        self.notices.drain(..).for_each(|notice| output.notice(notice));
        let outcome = match outcome {
            Err(Interrupt::Failed(error)) => {
                if matches!(error, Error::Abort(Abort::Deadlock)) {
                    self.activity.counters.deadlocks.count();
                }
                self.running = None;
                self.checking = None;
                self.executing = None;
                self.as_guest(Session::fail_transaction);
                Err(Interrupt::Failed(error))
            }
            other => other,
        };
        self.show_state(matches!(outcome, Err(Interrupt::Wait(_))));
        outcome
    }

    /// Commits the implicit transaction, if one is open: at Sync and at the end of a simple query.
    ///
    /// # Errors
    /// Those of the commit. The transaction is rolled back then.
    pub fn end_implicit(&mut self) -> Flow<()> {
        self.is_in_list = false;
        if self.state == State::Implicit {
            // What it frees need not be counted: the account is settled after a transaction.
            let commits_soon =
                self.view.worker.commits_soon() && !self.view.environment.deferred.is_pending();
            let outcome = match commits_soon {
                true => self.commit_transaction(),
                false => self.as_guest(Session::commit_transaction),
            };
            self.show_state(matches!(outcome, Err(Interrupt::Wait(_))));
            outcome?;
        }
        Ok(())
    }

    /// If no transaction is open, sets the account back to what the session is known to keep, plus `more`.
    #[inline]
    pub fn settle_account(&self, more: usize) {
        if self.state == State::Idle || self.state == State::Failed && !self.view.worker.in_transaction() {
            self.view.account.settle(more + self.view.settings.bytes());
        }
    }

    /// Charges the session for something for as long as the charge lives, not only to the end of the
    /// transaction.
    pub fn charge(&self, bytes: usize) -> Charge {
        self.view.account.keep(bytes)
    }

    /// Gives up a call that returned `Wait` (cancel, timeout, disconnect), or reports an error that the
    /// caller met between calls. Withdraws the wait, fails the transaction with this error and returns the
    /// error.
    pub fn abandon(&mut self, error: Error) -> Error {
        self.running = None;
        self.executing = None;
        self.copy = None;
        self.as_guest(Session::fail_transaction);
        self.show_state(false);
        error
    }

    pub fn transaction_status(&self) -> TransactionStatus {
        match self.state {
            State::Idle | State::Implicit => TransactionStatus::Idle,
            State::Block => TransactionStatus::InTransaction,
            State::Failed => TransactionStatus::Failed,
        }
    }

    /// Whether a transaction holds locks. A failed block holds them too, if ROLLBACK TO may revive it.
    pub fn is_in_transaction(&self) -> bool {
        self.view.worker.in_transaction()
    }

    /// Whether it is in a SERIALIZABLE transaction that locks what it reads, and others wait for that.
    pub fn is_waited_for(&self) -> bool {
        self.view.worker.is_waited_for()
    }

    /// Whether [`Session::is_waited_for`] may be true while the client is silent.
    pub fn locks_what_it_reads(&self) -> bool {
        self.view.worker.in_transaction() && self.view.settings.isolation() == Isolation::Serializable
    }

    /// What must be durable before the answers produced since the last call may be sent: what the
    /// transactions have seen and done, and the definitions of the names that were looked up. Immediate
    /// under synchronous_commit=off (a crash can then lose the transactions acknowledged last; see
    /// `settings`).
    pub fn pending_durability(&mut self) -> Durability {
        let mut pending = std::mem::replace(&mut self.durability, Durability::immediate());
        if self.view.settings.is_commit_synchronous() {
            self.shared.engine.wait_for_names(&mut pending);
        }
        pending
    }

    /// Declares that the caller always calls [`Session::hasten`] before it waits for what
    /// [`Session::pending_durability`] returns, and waits before it answers. A lone session then writes its
    /// log itself.
    pub fn promise_to_wait(&mut self) {
        self.waits = true;
    }

    /// The caller is about to wait. May take as long as the log's device needs for a block.
    pub fn hasten(&mut self) {
        self.view.worker.hasten();
    }

    /// The handle by which other threads cancel the running statement or end the session.
    pub fn stop_request(&self) -> Arc<StopRequest> {
        Arc::clone(&self.view.environment.stop)
    }

    /// Sets the host that is told when the session computes for long. Without a host the session keeps its
    /// thread until it is done.
    pub fn set_host(&mut self, host: Box<dyn Host>) {
        if let Some(guest) = &mut self.guest {
            guest.set_host(host);
        }
    }

    /// Computes as the guest of this thread (`hyades_types::guest`), on the session's account unless the
    /// caller has entered that account already ([`Database::session_with`]). A caller that enters the
    /// account also settles it.
    #[inline]
    pub fn as_guest<T>(&mut self, compute: impl FnOnce(&mut Session) -> T) -> T {
        let visit = self.enter();
        let value = if self.view.account.is_entered() {
            compute(self)
        } else {
            self.settle_account(0);
            let entered = self.view.account.enter();
            let value = compute(self);
            self.view.account.leave(entered);
            value
        };
        self.leave(visit);
        value
    }

    /// Enters the guest, to compute for the session outside of its methods.
    #[inline]
    pub fn enter(&mut self) -> Visit {
        guest::enter(self.guest.take())
    }

    /// Ends what [`Session::enter`] began.
    #[inline]
    pub fn leave(&mut self, visit: Visit) {
        if let Some(guest) = visit.leave() {
            // The guest is away while it computes.
            self.guest.get_or_insert(guest);
        }
    }

    /// A setting's value as SHOW prints it.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.view.settings.get(name)
    }

    /// Reportable settings changed since the last call (for ParameterStatus).
    pub fn take_changed_settings(&mut self) -> Vec<(String, String)> {
        self.view.settings.take_changed()
    }

    /// Notices since the last call about the texts given to [`Session::prepare`], whether it succeeded or
    /// failed, and of triggers during COPY and at the end of a transaction.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// `extra_float_digits`, for text forms of floats.
    pub fn float_digits(&self) -> i8 {
        self.view.settings.float_digits()
    }

    /// `DateStyle` and `IntervalStyle`, for text forms of dates and intervals.
    pub fn date_styles(&self) -> DateStyles {
        self.view.settings.styles()
    }

    /// Whether [`Session::take_changed_settings`] would return anything.
    pub fn has_changed_settings(&self) -> bool {
        self.view.settings.has_changed()
    }

    /// The context in which texts of values are read. `now` is the transaction's time, or the current time
    /// if there is none.
    pub fn reading(&self) -> Reading<'_> {
        self.view.reading()
    }

    /// The session's time zone, for text forms of timestamptz.
    pub fn time_zone(&self) -> jiff::tz::TimeZone {
        self.view.settings.time_zone().clone()
    }

    /// The user-defined type with this `pg_type.oid`.
    pub fn user_type(&self, oid: u32) -> Option<SqlType> {
        self.view.type_of_number(oid)
    }

    /// The number that `pg_backend_pid()` returns and a cancel request names.
    pub fn process(&self) -> i32 {
        self.process
    }

    /// Makes `pg_backend_pid()` return this number, which the server gave the client.
    pub fn set_process(&mut self, process: i32) {
        self.process = process;
        self.activity.set_process(process);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.reopen();
        self.shared.activities.remove(self.view.number);
        self.neighbours.listeners.remove(self.view.number);
        if self.view.worker.in_transaction() {
            // There may be much to undo, so it runs as a guest like any other work.
            self.as_guest(|session| session.view.worker.rollback());
        }
        self.as_guest(|session| session.view.forget_temporaries());
        if let Some(locks) = &self.view.environment.advisory_locks {
            locks.end();
        }
    }
}
