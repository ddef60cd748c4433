//! A session's view of the database, without the session: its transaction, what names mean in it, its role,
//! its settings. Whatever changes the catalog (`ddl`) looks through it.
//!
//! Files:
//! * `meaning`: the search path, and temporary relations;
//! * `identity` and `rights`: the role;
//! * `tables`: those that the transaction sees, and binding over them.

pub(crate) mod identity;
pub(crate) mod meaning;
pub(crate) mod rights;
pub(crate) mod tables;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use hyades_engine::db::{Engine, Worker};
use hyades_engine::storage::catalog::Catalog;
use hyades_types::definition::DatabaseId;
use hyades_types::environment::{Environment, Severity};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::now_us;
use hyades_types::memory::Account;
use hyades_types::text::Reading;

use crate::answer::{Notice, Output};
use crate::settings::Settings;
use identity::Identity;
use meaning::Meaning;
use rights::FIRST_OWNER;

/// More names of the first superuser.
pub(crate) type SuperuserNames = OnceLock<BTreeSet<String>>;

/// What a session works with.
pub(crate) struct Viewpoint {
    pub(crate) engine: Arc<dyn Engine>,
    /// The number of the session's database, and its committed catalog.
    pub(crate) database: DatabaseId,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) worker: Box<dyn Worker>,
    pub(crate) settings: Settings,
    /// What names mean.
    pub(crate) meaning: Meaning,
    pub(crate) identity: Identity,
    pub(crate) environment: Environment,
    pub(crate) superuser_names: Arc<SuperuserNames>,
    /// The number of the session in the database.
    pub(crate) number: i32,
    /// Whether the statement that changes the catalog is its whole transaction.
    pub(crate) is_whole_transaction: bool,
    pub(crate) account: Arc<Account>,
}

/// Whether this is a name of the first superuser.
pub(crate) fn is_first_superuser(names: &SuperuserNames, name: &str) -> bool {
    name == FIRST_OWNER || names.get().is_some_and(|names| names.contains(name))
}

/// For commands that must be transactions of their own.
pub(crate) fn refuse_in_block(is_whole_transaction: bool, command: &str) -> Result<()> {
    if is_whole_transaction {
        return Ok(());
    }
    let message = format!("{command} cannot run inside a transaction block");
    Err(Error::input(sqlstate::ACTIVE_SQL_TRANSACTION, message))
}

impl Viewpoint {
    /// The context in which texts of values are read. `now` is the transaction's time, or the current time
    /// if there is none.
    pub(crate) fn reading(&self) -> Reading<'_> {
        let is_open = self.worker.in_transaction();
        let now = if is_open { self.environment.transaction_time } else { now_us() };
        Reading { now: Some(now), styles: self.settings.styles(), ..self.settings.time_zone().into() }
    }

    /// Sends a warning of the session itself.
    pub(super) fn warn(&self, output: &mut dyn Output, state: &'static str, message: impl Into<String>) {
        if self.environment.wants(Severity::Warning) {
            output.notice(Notice::new("WARNING", state, message));
        }
    }

    /// Sends a notice of the session itself.
    pub(super) fn note(&self, output: &mut dyn Output, state: &'static str, message: String) {
        if self.environment.wants(Severity::Notice) {
            output.notice(Notice::new("NOTICE", state, message));
        }
    }

    /// Reports what a DROP ... CASCADE drops besides the named objects.
    pub(super) fn note_cascade<S: AsRef<str>>(&self, output: &mut dyn Output, dropped: &[S]) {
        match dropped {
            [] => {}
            [only] => self.note(output, "00000", format!("drop cascades to {}", only.as_ref())),
            several if self.environment.wants(Severity::Notice) => {
                let message = format!("drop cascades to {} other objects", several.len());
                let lines: Vec<String> =
                    several.iter().map(|one| format!("drop cascades to {}", one.as_ref())).collect();
                let notice = Notice::new("NOTICE", "00000", message);
                output.notice(Notice { detail: Some(lines.join("\n")), ..notice });
            }
            _ => {}
        }
    }
}
