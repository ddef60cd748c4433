//! What expressions may read of their surroundings.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use crate::access::Caller;
use crate::advisory::AdvisoryLocks;
use crate::cursors::SessionCursors;
use crate::deferred_checks::{DeferredChecks, DeferredMark};
use crate::definition::TableId;
use crate::guest::{Sessions, StopRequest};
use crate::notifications::Notifications;
use crate::random::Random;
use crate::sequence::SessionSequences;
use crate::sleeps::Sleeps;
use crate::system_catalog::SystemCatalog;
use crate::text::{DateStyles, Reading, TextForm};

/// What expressions may read of their surroundings; captured once per transaction or statement, so that a
/// replay can be given the same.
#[derive(Clone, Debug)]
pub struct Environment {
    /// `now()`: start of the transaction, microseconds since 2000-01-01 UTC.
    pub transaction_time: i64,
    /// `statement_timestamp()`.
    pub statement_time: i64,
    pub time_zone: jiff::tz::TimeZone,
    /// `extra_float_digits`, for the conversion of floats to texts.
    pub float_digits: i8,
    /// `DateStyle` and `IntervalStyle`, for texts in both directions.
    pub styles: DateStyles,
    /// Messages below this severity are not sent.
    pub least_message: Severity,
    /// `current_user`
    pub user: String,
    /// `session_user`: the user that logged in.
    pub session_user: String,
    /// The caller that must have rights on sequences, and to whom details of errors show only what it may
    /// read. `None`: rights are not checked, as for superusers and in a replay.
    pub caller: Option<Arc<Caller>>,
    pub database: String,
    /// Set from another thread to make the run fail; looked at every few instructions.
    pub stop: Arc<StopRequest>,
    /// For `pg_cancel_backend` and `pg_terminate_backend`.
    pub sessions: Option<Arc<dyn Sessions>>,
    /// State of `random()` and `gen_random_uuid()`; in a cell, because expressions see the environment only
    /// shared.
    pub random: RefCell<Random>,
    /// For `nextval` and similar functions.
    pub sequences: RefCell<SessionSequences>,
    /// For statements that look at the catalog.
    pub catalog: Option<Arc<dyn SystemCatalog>>,
    /// Checks of constraints that wait for the end of the transaction.
    pub deferred: DeferredChecks,
    /// What other sessions will be notified of when the transaction commits.
    pub notifications: RefCell<Notifications>,
    pub advisory_locks: Option<Arc<dyn AdvisoryLocks>>,
    pub sleeps: RefCell<Sleeps>,
    /// For routines that open cursors.
    pub cursors: Option<Arc<dyn SessionCursors>>,
    /// Whether procedures may commit and roll back: the statement is a CALL and the only one of its
    /// transaction.
    pub may_end_transactions: bool,
    pub work_memory: WorkMemory,
    /// How many triggers are running inside one another. The interpreter keeps count.
    pub trigger_depth: u32,
}

/// What a sort or a grouping holds in memory, and where the rest goes.
#[derive(Clone, Debug)]
pub struct WorkMemory {
    /// For each sort and each grouping (`work_mem`). They keep to it by estimates.
    pub bytes: usize,
    /// The most bytes of one temporary file (`temp_file_limit`).
    pub file_bytes: Option<u64>,
    /// Where temporary files are; `None`: in the system's directory.
    pub directory: Option<Arc<Path>>,
}

impl Default for WorkMemory {
    /// Without a limit.
    fn default() -> WorkMemory {
        WorkMemory { bytes: usize::MAX, file_bytes: None, directory: None }
    }
}

/// A point to go back to: what a transaction has gathered apart from its rows.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    deferred: DeferredMark,
    notifications: usize,
    advisory_locks: usize,
    cursors: usize,
}

impl Default for Environment {
    /// No user, at the epoch, in UTC, with a fixed random seed.
    fn default() -> Environment {
        Environment {
            transaction_time: 0,
            statement_time: 0,
            time_zone: jiff::tz::TimeZone::UTC,
            float_digits: 1,
            styles: DateStyles::default(),
            least_message: Severity::Notice,
            user: String::new(),
            session_user: String::new(),
            caller: None,
            database: String::new(),
            stop: Arc::default(),
            sessions: None,
            random: RefCell::new(Random::seeded(0)),
            sequences: RefCell::default(),
            catalog: None,
            deferred: DeferredChecks::default(),
            notifications: RefCell::default(),
            advisory_locks: None,
            sleeps: RefCell::default(),
            cursors: None,
            may_end_transactions: false,
            work_memory: WorkMemory::default(),
            trigger_depth: 0,
        }
    }
}

impl Environment {
    /// What the transaction has gathered so far.
    pub fn mark(&self) -> Gathered {
        Gathered {
            deferred: self.deferred.mark(),
            notifications: self.notifications.borrow().mark(),
            advisory_locks: self.advisory_locks.as_ref().map_or(0, |locks| locks.mark()),
            cursors: self.cursors.as_ref().map_or(0, |cursors| cursors.mark()),
        }
    }

    /// What the transaction has gathered so far. The statement that begins may have to run again.
    pub fn begin_statement(&mut self, is_read_only: bool) -> Gathered {
        self.sequences.get_mut().begin_statement(is_read_only);
        Gathered {
            deferred: self.deferred.mark(),
            notifications: self.notifications.get_mut().mark(),
            advisory_locks: self.advisory_locks.as_ref().map_or(0, |locks| locks.begin_statement()),
            cursors: self.cursors.as_ref().map_or(0, |cursors| cursors.begin_statement()),
        }
    }

    /// The statement that began with this mark is undone, and runs again.
    pub fn repeat_statement(&mut self, begun: &Gathered) {
        self.sequences.get_mut().repeat_statement();
        self.go_back(begun);
        if let Some(locks) = &self.advisory_locks {
            locks.repeat_statement();
        }
        if let Some(cursors) = &self.cursors {
            cursors.repeat_statement();
        }
    }

    /// Discards what it has gathered since.
    pub fn go_back(&mut self, mark: &Gathered) {
        *self.sleeps.get_mut() = Sleeps::default();
        self.deferred.go_back(&mark.deferred);
        self.notifications.get_mut().go_back(mark.notifications);
        if let Some(locks) = &self.advisory_locks {
            locks.go_back(mark.advisory_locks);
        }
        if let Some(cursors) = &self.cursors {
            cursors.go_back(mark.cursors);
        }
    }

    /// Whether the details of errors may show the rows of a table.
    pub fn shows_rows_of(&self, table: TableId) -> bool {
        self.caller.as_ref().is_none_or(|caller| caller.may_read(table.0))
    }

    /// Whether there may be a table whose rows they do not show.
    pub fn may_hide_rows(&self) -> bool {
        self.caller.is_some()
    }

    /// The settings by which values become texts.
    pub fn text_form(&self) -> TextForm<'_> {
        TextForm { time_zone: &self.time_zone, float_digits: self.float_digits, styles: self.styles }
    }

    /// The settings by which texts are read.
    pub fn reading(&self) -> Reading<'_> {
        Reading {
            time_zone: &self.time_zone,
            styles: self.styles,
            now: Some(self.transaction_time),
            catalog: self.catalog.as_deref(),
        }
    }

    /// Whether messages of this severity are sent.
    pub fn wants(&self, severity: Severity) -> bool {
        severity == Severity::Info || severity >= self.least_message
    }
}

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Debug,
    Log,
    Info,
    Notice,
    Warning,
    /// An error.
    Exception,
}
