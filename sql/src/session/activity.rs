//! What the sessions of a database are doing, as other sessions see it: `pg_stat_activity`,
//! `pg_cancel_backend`, `pg_terminate_backend`, `pg_blocking_pids`.
//!
//! Each session writes its own [`Activity`]: two or three plain stores for each statement, and the
//! statement itself only if it differs from the last one. Readers see these fields while they change, so a
//! row may mix two moments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use hyades_engine::db::Engine;
use hyades_types::access::{Caller, RoleId};
use hyades_types::definition::DatabaseId;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::now_us;
use hyades_types::guest::{Sessions, Stop, StopRequest};
use hyades_types::memory::Account;
use hyades_types::value::Value;
use parking_lot::Mutex;

use super::advisory_locks::AdvisoryTable;
use super::prepared::Prepared;
use super::statistics::{Counters, Counts, SessionCounts};
use crate::system::object_id::OWNER;
use crate::system::row::{self, NamedRow};
use crate::system::snapshot::{SessionRows, SessionTotals};

/// Carries out requests of other sessions that need more than a flag for the running statement.
pub trait Controller: Send + Sync {
    fn stop(&self, stop: Stop);
    /// Tells the connection that something has arrived for its client.
    fn wake(&self) {}
}

/// How a client's connection is encrypted, for `pg_stat_ssl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// `TLSv1.3`
    pub version: &'static str,
    /// The name that OpenSSL uses.
    pub cipher: &'static str,
    /// The length of the key.
    pub bits: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Doing {
    Idle = 0,
    Active = 1,
    /// Waits for a lock.
    Waiting = 2,
    IdleInTransaction = 3,
    IdleInFailedTransaction = 4,
}

/// Texts are shown up to this length (as in PostgreSQL). A longer statement is not kept alive for this, nor
/// is one with a large plan.
const SHOWN_BYTES: usize = 1024;

/// The statement that runs, or the last one that ran.
#[derive(Default)]
pub(super) enum Shown {
    #[default]
    Nothing,
    Statement(Arc<Prepared>),
    /// A statement with parameters, and how it was written before its literals were lifted.
    Written(Arc<Prepared>, String),
    Beginning(String),
}

impl Shown {
    pub(super) fn of(statement: &Arc<Prepared>) -> Shown {
        if statement.text().len() <= SHOWN_BYTES && !statement.is_large() {
            return Shown::Statement(Arc::clone(statement));
        }
        Shown::beginning(statement.text())
    }

    pub(super) fn beginning(text: &str) -> Shown {
        Shown::Beginning(text[..text.floor_char_boundary(SHOWN_BYTES)].to_owned())
    }

    /// Shows a statement as the client wrote it.
    pub(super) fn write(&mut self, statement: &Arc<Prepared>, text: &str) {
        let shown = &text[..text.floor_char_boundary(SHOWN_BYTES)];
        if let Shown::Written(last, written) = self {
            if !Arc::ptr_eq(last, statement) {
                *last = Arc::clone(statement);
            }
            written.clear();
            written.push_str(shown);
        } else {
            *self = Shown::Written(Arc::clone(statement), shown.to_owned());
        }
    }

    fn text(&self) -> &str {
        match self {
            Shown::Nothing => "",
            Shown::Statement(statement) => statement.text(),
            Shown::Written(_, text) => text,
            Shown::Beginning(text) => text,
        }
    }
}

/// One session as other sessions see it.
pub(super) struct Activity {
    user: String,
    /// The role that logged in.
    role: AtomicU32,
    database: (DatabaseId, String),
    started: i64,
    process: AtomicI32,
    pub(super) application: Mutex<String>,
    pub(super) client: OnceLock<std::net::SocketAddr>,
    pub(super) encryption: OnceLock<Encryption>,
    doing: AtomicU8,
    /// 0 if none is open.
    transaction_start: AtomicI64,
    /// 0 if there has been none.
    statement_start: AtomicI64,
    pub(super) statement: Mutex<Shown>,
    stop: Arc<StopRequest>,
    pub(super) controller: OnceLock<Box<dyn Controller>>,
    pub(super) counters: Counters,
    account: OnceLock<Weak<Account>>,
    /// Whose locks its transactions hold, and the advisory locks of its database.
    locks: OnceLock<(u64, Weak<AdvisoryTable>)>,
}

impl Activity {
    pub(super) fn new(
        user: &str,
        (id, database): (DatabaseId, &str),
        process: i32,
        stop: Arc<StopRequest>,
    ) -> Activity {
        Activity {
            user: user.to_owned(),
            role: AtomicU32::new(OWNER),
            database: (id, database.to_owned()),
            started: now_us(),
            process: AtomicI32::new(process),
            application: Mutex::default(),
            client: OnceLock::new(),
            encryption: OnceLock::new(),
            doing: AtomicU8::new(Doing::Idle as u8),
            transaction_start: AtomicI64::new(0),
            statement_start: AtomicI64::new(0),
            statement: Mutex::default(),
            stop,
            controller: OnceLock::new(),
            counters: Counters::default(),
            account: OnceLock::new(),
            locks: OnceLock::new(),
        }
    }

    pub(super) fn set_process(&self, process: i32) {
        self.process.store(process, Ordering::Relaxed);
    }

    pub(super) fn is_role(&self, role: RoleId) {
        self.role.store(role.0, Ordering::Relaxed);
    }

    fn count_in(&self, sessions: &mut SessionCounts) {
        let counted = match self.doing.load(Ordering::Relaxed) {
            doing if doing == Doing::Active as u8 => &mut sessions.active,
            doing if doing == Doing::Waiting as u8 => &mut sessions.waiting,
            doing if doing == Doing::IdleInTransaction as u8 => &mut sessions.idle_in_transaction,
            doing if doing == Doing::IdleInFailedTransaction as u8 => {
                &mut sessions.idle_in_failed_transaction
            }
            _ => &mut sessions.idle,
        };
        *counted += 1;
    }

    /// Makes this account the one that is charged for the session.
    pub(super) fn pays(&self, account: &Arc<Account>) {
        let _ = self.account.set(Arc::downgrade(account));
    }

    /// Its transactions lock under this number ([`Engine::blockers`]), and its advisory locks are here. A
    /// session gets another number after 2^32 transactions; from then on, it is not seen whom it blocks.
    pub(super) fn locks(&self, owner: u64, advisory: &Arc<AdvisoryTable>) {
        let _ = self.locks.set((owner, Arc::downgrade(advisory)));
    }

    fn lock_owner(&self) -> Option<u64> {
        self.locks.get().map(|(owner, _)| *owner)
    }

    fn used_bytes(&self) -> u64 {
        let account = self.account.get().and_then(Weak::upgrade);
        account.map_or(0, |account| account.used_bytes() as u64)
    }

    pub(super) fn does(&self, doing: Doing) {
        self.doing.store(doing as u8, Ordering::Relaxed);
    }

    pub(super) fn is_active(&self) -> bool {
        self.doing.load(Ordering::Relaxed) == Doing::Active as u8
    }

    pub(super) fn begins_transaction(&self, time: i64) {
        self.transaction_start.store(time, Ordering::Relaxed);
    }

    pub(super) fn begins_statement(&self, time: i64) {
        self.statement_start.store(time, Ordering::Relaxed);
    }

    /// Makes the session's connection look for work.
    pub(super) fn wake(&self) {
        if let Some(controller) = self.controller.get() {
            controller.wake();
        }
    }

    pub(super) fn stop(&self, stop: Stop) {
        match (self.controller.get(), stop) {
            (Some(controller), _) => controller.stop(stop),
            (None, Stop::Cancel) => self.stop.cancel(),
            (None, Stop::TimedOut) => self.stop.time_out(),
            (None, Stop::End) => self.stop.end(),
        }
    }

    /// The row of `pg_stat_activity`.
    fn row(&self) -> NamedRow {
        let doing = self.doing.load(Ordering::Relaxed);
        let is = |wanted: Doing| doing == wanted as u8;
        let text = |text: &str| Value::text(text);
        let (wait_type, wait) = if is(Doing::Waiting) {
            (text("Lock"), text("transactionid"))
        } else if is(Doing::Active) {
            (Value::Null, Value::Null)
        } else {
            (text("Client"), text("ClientRead"))
        };
        let state = if is(Doing::Active) || is(Doing::Waiting) {
            "active"
        } else if is(Doing::IdleInTransaction) {
            "idle in transaction"
        } else if is(Doing::IdleInFailedTransaction) {
            "idle in transaction (aborted)"
        } else {
            "idle"
        };
        let time = |time: i64| if time == 0 { Value::Null } else { Value::TimestampTz(time) };
        let transaction_start =
            if is(Doing::Idle) { 0 } else { self.transaction_start.load(Ordering::Relaxed) };
        let client = self.client.get();
        vec![
            ("datid", row::oid(self.database.0.0)),
            ("datname", text(&self.database.1)),
            ("pid", Value::Integer(self.process.load(Ordering::Relaxed))),
            ("usesysid", row::oid(self.role.load(Ordering::Relaxed))),
            ("usename", text(&self.user)),
            ("application_name", text(&self.application.lock())),
            ("client_addr", row::or_null(client, |address| Value::Network(address.ip().into()))),
            ("client_port", row::or_null(client, |address| Value::Integer(i32::from(address.port())))),
            ("backend_start", time(self.started)),
            ("xact_start", time(transaction_start)),
            ("query_start", time(self.statement_start.load(Ordering::Relaxed))),
            ("wait_event_type", wait_type),
            ("wait_event", wait),
            ("state", text(state)),
            ("query", text(self.statement.lock().text())),
            ("backend_type", text("client backend")),
        ]
    }
}

impl Activity {
    /// The row of `pg_stat_ssl`. Clients have no certificates.
    fn encryption_row(&self) -> NamedRow {
        let mut row = vec![
            ("pid", Value::Integer(self.process.load(Ordering::Relaxed))),
            ("ssl", Value::Boolean(self.encryption.get().is_some())),
        ];
        if let Some(encryption) = self.encryption.get() {
            row.push(("version", Value::text(encryption.version)));
            row.push(("cipher", Value::text(encryption.cipher)));
            row.push(("bits", Value::Integer(encryption.bits)));
        }
        row
    }
}

/// What already has as many sessions as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    Role,
    Database,
    /// A session keeps others out of the database.
    Closed,
}

/// All sessions, oldest first.
#[derive(Default)]
pub(super) struct Activities {
    sessions: Mutex<BTreeMap<i32, Arc<Activity>>>,
    /// The counts of the sessions that have ended.
    before: Mutex<BTreeMap<DatabaseId, Counts>>,
    /// The databases that sessions want for themselves.
    closed: Mutex<BTreeSet<DatabaseId>>,
    engine: OnceLock<Arc<dyn Engine>>,
}

impl std::fmt::Debug for Activities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} sessions", self.sessions.lock().len())
    }
}

impl Activities {
    /// Adds a session, unless its role or its database already has as many as it may have. The limits are in
    /// this order.
    pub(super) fn add(
        &self,
        number: i32,
        activity: &Arc<Activity>,
        (of_role, of_database): (Option<usize>, Option<usize>),
    ) -> std::result::Result<(), Full> {
        let mut sessions = self.sessions.lock();
        let role = activity.role.load(Ordering::Relaxed);
        let same_role = |one: &&Arc<Activity>| one.role.load(Ordering::Relaxed) == role;
        let same_database = |one: &&Arc<Activity>| one.database.0 == activity.database.0;
        if self.closed.lock().contains(&activity.database.0) {
            return Err(Full::Closed);
        }
        if of_role.is_some_and(|limit| sessions.values().filter(same_role).count() >= limit) {
            return Err(Full::Role);
        }
        if of_database.is_some_and(|limit| sessions.values().filter(same_database).count() >= limit) {
            return Err(Full::Database);
        }
        sessions.insert(number, Arc::clone(activity));
        Ok(())
    }

    /// Keeps sessions from beginning in a database. False if another session already does so.
    pub(super) fn close(&self, database: DatabaseId) -> bool {
        self.closed.lock().insert(database)
    }

    pub(super) fn reopen(&self, database: DatabaseId) {
        self.closed.lock().remove(&database);
    }

    /// The other sessions in a database.
    pub(super) fn others_in(&self, database: DatabaseId, own: i32) -> Vec<Arc<Activity>> {
        let sessions = self.sessions.lock();
        let others = sessions.iter().filter(|(number, one)| **number != own && one.database.0 == database);
        others.map(|(_, one)| Arc::clone(one)).collect()
    }

    pub(super) fn remove(&self, number: i32) {
        let mut sessions = self.sessions.lock();
        if let Some(activity) = sessions.remove(&number) {
            self.before.lock().entry(activity.database.0).or_default().add(&activity.counters);
        }
    }

    /// The number of sessions in each state, the counts of all of them, and the memory that they use; in one
    /// database or in all.
    pub(super) fn counted(&self, database: Option<DatabaseId>) -> (SessionCounts, Counts, u64) {
        let is_meant = |id: DatabaseId| database.is_none_or(|database| database == id);
        let (mut now, mut counts, mut bytes) = (SessionCounts::default(), Counts::default(), 0);
        let sessions = self.sessions.lock();
        for (_, ended) in self.before.lock().iter().filter(|(id, _)| is_meant(**id)) {
            counts.join(ended);
        }
        for activity in sessions.values().filter(|activity| is_meant(activity.database.0)) {
            activity.count_in(&mut now);
            counts.add(&activity.counters);
            bytes += activity.used_bytes();
        }
        (now, counts, bytes)
    }

    /// The process number of a session.
    pub(super) fn process(&self, number: i32) -> i32 {
        let sessions = self.sessions.lock();
        sessions.get(&number).map_or(number, |activity| activity.process.load(Ordering::Relaxed))
    }

    /// Tells it who knows about locks.
    pub(super) fn of_engine(engine: &Arc<dyn Engine>) -> Activities {
        let activities = Activities::default();
        let _ = activities.engine.set(Arc::clone(engine));
        activities
    }

    /// The process numbers of the sessions for which one waits.
    fn blocking(&self, process: i32) -> Vec<i32> {
        let sessions: Vec<(i32, Arc<Activity>)> =
            self.sessions.lock().iter().map(|(number, one)| (*number, Arc::clone(one))).collect();
        let process_of = |one: &Activity| one.process.load(Ordering::Relaxed);
        let Some((number, waiting)) = sessions.iter().find(|(_, one)| process_of(one) == process) else {
            return Vec::new();
        };
        let Some((owner, advisory)) = waiting.locks.get() else { return Vec::new() };
        let owners = self.engine.get().map(|engine| engine.blockers(*owner)).unwrap_or_default();
        let holders = advisory.upgrade().map(|table| table.blockers(*number)).unwrap_or_default();
        let blocks = |(number, one): &&(i32, Arc<Activity>)| {
            one.lock_owner().is_some_and(|owner| owners.contains(&owner)) || holders.contains(number)
        };
        let mut found: Vec<i32> = sessions.iter().filter(blocks).map(|(_, one)| process_of(one)).collect();
        found.sort_unstable();
        found
    }

    fn find(&self, process: i32) -> Option<Arc<Activity>> {
        self.all().into_iter().find(|activity| activity.process.load(Ordering::Relaxed) == process)
    }

    fn all(&self) -> Vec<Arc<Activity>> {
        self.sessions.lock().values().cloned().collect()
    }
}

/// The other sessions, with the checks that apply to a role that is not a superuser.
#[derive(Debug)]
pub(super) struct SessionsOfOthers {
    pub(super) activities: Arc<Activities>,
    pub(super) caller: Caller,
}

impl Sessions for SessionsOfOthers {
    fn stop(&self, process: i32, stop: Stop) -> Result<bool> {
        let Some(other) = self.activities.find(process) else { return Ok(false) };
        check_may_stop(&self.caller, &other, stop)?;
        other.stop(stop);
        Ok(true)
    }

    fn blocking(&self, process: i32) -> Vec<i32> {
        self.activities.blocking(process)
    }
}

/// Error 42501 unless a role that is not a superuser may do this to another session.
pub(super) fn check_may_stop(caller: &Caller, other: &Activity, stop: Stop) -> Result<()> {
    let role = RoleId(other.role.load(Ordering::Relaxed));
    let (verb, what, done) = match stop {
        Stop::End => ("terminate", "process", "terminated"),
        _ => ("cancel", "query", "canceled"),
    };
    let message = if caller.access.is_superuser(role) {
        format!("must be a superuser to {verb} superuser {what}")
    } else if !caller.access.has_privileges_of(caller.role, role) {
        format!("must be a member of the role whose {what} is being {done} or member of pg_signal_backend")
    } else {
        return Ok(());
    };
    Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
}

impl SessionRows for Activities {
    fn rows(&self) -> Vec<NamedRow> {
        self.all().iter().map(|activity| activity.row()).collect()
    }

    fn counts(&self, database: Option<DatabaseId>) -> SessionTotals {
        let (now, counts, bytes) = self.counted(database);
        let idle = now.idle + now.idle_in_transaction + now.idle_in_failed_transaction;
        SessionTotals {
            sessions: now.active + now.waiting + idle,
            commits: counts.commits,
            rollbacks: counts.rollbacks,
            deadlocks: counts.deadlocks,
            bytes,
        }
    }

    fn encryption_rows(&self) -> Vec<NamedRow> {
        self.all().iter().map(|activity| activity.encryption_row()).collect()
    }
}

impl Sessions for Activities {
    fn stop(&self, process: i32, stop: Stop) -> Result<bool> {
        let found = self.find(process);
        if let Some(activity) = &found {
            activity.stop(stop);
        }
        Ok(found.is_some())
    }

    fn blocking(&self, process: i32) -> Vec<i32> {
        Activities::blocking(self, process)
    }
}
