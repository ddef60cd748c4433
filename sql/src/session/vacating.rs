//! DROP DATABASE, ALTER DATABASE .. RENAME and CREATE DATABASE .. TEMPLATE need a database to themselves.
//!
//! A client that has just disconnected may still have its session for a moment. So the command waits a little
//! for the other sessions to end, as PostgreSQL does (procarray.c, CountOtherDBBackends). DROP DATABASE ..
//! (FORCE) ends them.
//!
//! Meanwhile no session begins there, until the end of the transaction. (One that did would do no harm: in a
//! dropped database it finds nothing, and can change nothing.)

use std::time::Duration;

use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::ticket;
use hyades_types::error::{Error, sqlstate};
use hyades_types::function::now_us;
use hyades_types::guest::Stop;

use super::Session;
use super::activity::check_may_stop;
use crate::ddl::databases::Vacated;

/// For so many microseconds, other sessions may take to end.
const PATIENCE_US: i64 = 5_000_000;
/// The time between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

impl Session {
    /// Waits until no other session is in the database. `since` is when this began, by the
    /// system's clock.
    ///
    /// # Errors
    /// 55006 after a while.
    pub(super) fn vacate(&mut self, vacated: &Vacated, since: &mut Option<i64>) -> Flow<()> {
        let is_own = vacated.id == self.view.database;
        let is_closed = self.closed.contains(&vacated.id);
        if !is_own && !is_closed && self.shared.activities.close(vacated.id) {
            self.closed.push(vacated.id);
        }
        // Another session may just be about to reopen it.
        let is_alone = is_own || self.closed.contains(&vacated.id);
        let others = self.shared.activities.others_in(vacated.id, self.view.number);
        if is_alone && others.is_empty() {
            return Ok(());
        }
        let is_first = since.is_none();
        let begun = *since.get_or_insert_with(now_us);
        if vacated.is_forced && is_first {
            if !self.view.is_superuser() {
                others.iter().try_for_each(|other| check_may_stop(self.view.caller(), other, Stop::End))?;
            }
            others.iter().for_each(|other| other.stop(Stop::End));
        }
        if now_us().saturating_sub(begun) < PATIENCE_US {
            return Err(Interrupt::Wait(ticket::after(BETWEEN_LOOKS)));
        }
        Err(in_use(vacated, others.len().max(1)).into())
    }

    /// The transaction has ended: sessions may begin again in the databases that it had for itself.
    pub(super) fn reopen(&mut self) {
        while let Some(database) = self.closed.pop() {
            self.shared.activities.reopen(database);
        }
    }
}

/// Error 55006: so many other sessions are in the database.
fn in_use(vacated: &Vacated, others: usize) -> Error {
    let message = format!("{} is being accessed by other users", vacated.described);
    let detail = match others {
        1 => "There is 1 other session using the database.".to_owned(),
        several => format!("There are {several} other sessions using the database."),
    };
    Error::input(sqlstate::OBJECT_IN_USE, message).with_detail(detail)
}
