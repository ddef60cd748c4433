//! The embedded database: a blocking connection for programs that use no server.
//!
//! A [`Connection`] is a [`Session`] whose waits block the calling thread: for rows that other transactions
//! hold, and for the durability of what it returns. Results are returned as a whole.
//!
//! ```no_run
//! use hyades::{Config, Database, Value};
//!
//! # fn main() -> hyades::Result<()> {
//! let database = Database::open(Config::new("./data"))?;
//! let mut connection = database.connect()?;
//! connection.execute("create table if not exists accounts (id int primary key, balance bigint not null)", &[])?;
//! connection.execute("insert into accounts values ($1, $2), (2, 0)", &[Value::Integer(1), Value::BigInt(100)])?;
//!
//! // Runs again if it meets a conflict; what it returns is durable when it returns.
//! let left = connection.transaction(|transaction| {
//!     let amount = Value::BigInt(30);
//!     transaction.execute("update accounts set balance = balance - $1 where id = 1", &[amount.clone()])?;
//!     transaction.execute("update accounts set balance = balance + $1 where id = 2", &[amount])?;
//!     let rows = transaction.query("select balance from accounts where id = $1", &[Value::Integer(1)])?;
//!     Ok(rows[0][0].clone())
//! })?;
//! assert_eq!(left, Value::BigInt(70));
//! database.shutdown()
//! # }
//! ```

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::Value;

use crate::session::{
    Completion, Database, MOST_ATTEMPTS, Notice, Output, Prepared, Session, SessionOptions,
};

/// A blocking connection. See the module head.
pub struct Connection {
    session: Session,
}

/// A transaction of a [`Connection`]; see [`Connection::transaction`].
pub struct Transaction<'c> {
    session: &'c mut Session,
    /// A statement met a conflict: the whole transaction must run again, whatever the body does with the
    /// error.
    is_aborted: bool,
}

/// Collects a result.
#[derive(Default)]
struct Rows(Vec<Vec<Value>>);

impl Output for Rows {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        self.0.push(values.iter_mut().map(std::mem::take).collect());
        Ok(())
    }
    fn copy_data(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.push(vec![Value::Bytea(bytes.into())]);
        Ok(())
    }
    fn notice(&mut self, notice: Notice) {
        tracing::debug!(severity = notice.severity, state = notice.state, "{}", notice.message);
    }
    fn restart(&mut self) {
        self.0.clear();
    }
}

/// Repeats a call of the session until it no longer waits.
fn wait<T>(session: &mut Session, mut call: impl FnMut(&mut Session) -> Flow<T>) -> Result<T> {
    loop {
        match call(session) {
            Ok(value) => return Ok(value),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(error)) => return Err(error),
        }
    }
}

/// The number at the end of a command tag.
fn count_of(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn run_prepared(
    session: &mut Session,
    prepared: &Arc<Prepared>,
    parameters: &[Value],
    rows: &mut Rows,
) -> Result<String> {
    let parameters = match session.fitted_parameters(prepared, parameters) {
        Ok(parameters) => parameters,
        Err(error) => return Err(session.abandon(error)),
    };
    session.set_last(true);
    match wait(session, |session| session.execute(prepared, &parameters, rows))? {
        Completion::Tag(tag) => Ok(tag.into_owned()),
        Completion::CopyIn => {
            let message = "COPY FROM STDIN needs a Session: feed it with copy_feed";
            Err(session.abandon(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)))
        }
    }
}

fn run(session: &mut Session, sql: &str, parameters: &[Value], rows: &mut Rows) -> Result<String> {
    if parameters.is_empty() {
        let (prepared, values) = wait(session, |session| session.prepare_text(sql))?;
        return run_prepared(session, &prepared, &values, rows);
    }
    let prepared = wait(session, |session| session.prepare(sql, &[]))?;
    run_prepared(session, &prepared, parameters, rows)
}

/// Waits until what has happened may be reported (architecture invariant 1).
fn durable(session: &mut Session) -> Result<()> {
    let pending = session.pending_durability();
    session.hasten();
    pending.wait()
}

/// Waits until the outcome, even an error, may be reported.
fn settled<T>(session: &mut Session, outcome: Result<T>) -> Result<T> {
    let ended = match outcome {
        Ok(value) => wait(session, Session::end_implicit).map(|()| value),
        Err(error) => Err(error),
    };
    durable(session)?;
    ended
}

impl Database {
    /// A blocking connection to the database that there is from the beginning.
    ///
    /// # Errors
    /// As [`Database::session`].
    pub fn connect(&self) -> Result<Connection> {
        self.connect_to("")
    }

    /// A blocking connection to the database of this name; an empty name is that of the first one.
    ///
    /// # Errors
    /// 3D000 if it does not exist; as [`Database::session`].
    pub fn connect_to(&self, database: &str) -> Result<Connection> {
        let options = SessionOptions {
            user: "hyades".to_owned(),
            database: database.to_owned(),
            ..SessionOptions::default()
        };
        Ok(Connection::of(self.session(options)?))
    }

    /// As [`Database::connect_to`], also to a database that lets no session in.
    pub(crate) fn connect_to_any(&self, database: &str) -> Result<Connection> {
        let options = SessionOptions {
            user: "hyades".to_owned(),
            database: database.to_owned(),
            enters_any_database: true,
            ..SessionOptions::default()
        };
        Ok(Connection::of(self.session(options)?))
    }
}

impl Connection {
    pub(crate) fn of(mut session: Session) -> Connection {
        session.promise_to_wait();
        Connection { session }
    }

    /// The underlying session, for everything else: COPY, parameter types, cancelling.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Runs one statement; returns how many rows it affected (or returned). Outside of a transaction its
    /// effect is durable when this returns.
    ///
    /// # Errors
    /// Those of the statement; nothing has happened then.
    pub fn execute(&mut self, sql: &str, parameters: &[Value]) -> Result<u64> {
        let outcome = run(&mut self.session, sql, parameters, &mut Rows::default());
        settled(&mut self.session, outcome).map(|tag| count_of(&tag))
    }

    /// Runs one statement and returns its rows.
    ///
    /// # Errors
    /// Those of the statement; nothing has happened then.
    pub fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Vec<Value>>> {
        let mut rows = Rows::default();
        let outcome = run(&mut self.session, sql, parameters, &mut rows);
        settled(&mut self.session, outcome).map(|_| rows.0)
    }

    /// Compiles a statement that is to run often.
    ///
    /// # Errors
    /// Those of syntax, names and types.
    pub fn prepare(&mut self, sql: &str) -> Result<Arc<Prepared>> {
        let outcome = wait(&mut self.session, |session| session.prepare(sql, &[]));
        settled(&mut self.session, outcome)
    }

    /// As [`Connection::query`], for a compiled statement.
    ///
    /// # Errors
    /// Those of the statement; nothing has happened then.
    pub fn query_prepared(
        &mut self,
        prepared: &Arc<Prepared>,
        parameters: &[Value],
    ) -> Result<Vec<Vec<Value>>> {
        let mut rows = Rows::default();
        let outcome = run_prepared(&mut self.session, prepared, parameters, &mut rows);
        settled(&mut self.session, outcome).map(|_| rows.0)
    }

    /// Runs `body` in a transaction and commits it, or rolls it back if `body` fails. A conflict with another
    /// transaction runs `body` again from the start, so it should do nothing outside the database that must
    /// not happen twice. The commit is durable when this returns.
    ///
    /// # Errors
    /// That of `body` or of the commit; the transaction has been rolled back then.
    pub fn transaction<T>(&mut self, mut body: impl FnMut(&mut Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut attempts = 0;
        loop {
            self.session.lock_in_blocks(attempts >= MOST_ATTEMPTS);
            attempts += 1;
            let begun = run(&mut self.session, "begin", &[], &mut Rows::default());
            begun.inspect_err(|_| self.session.lock_in_blocks(false))?;
            let mut transaction = Transaction { session: &mut self.session, is_aborted: false };
            let mut outcome = body(&mut transaction);
            let mut is_aborted = transaction.is_aborted || matches!(outcome, Err(Error::Abort(_)));
            let end = if is_aborted || outcome.is_err() { "rollback" } else { "commit" };
            match run(&mut self.session, end, &[], &mut Rows::default()) {
                Ok(tag) if end == "commit" && tag != "COMMIT" => {
                    // The body ignored the failure of a statement.
                    outcome = Err(Error::input(
                        sqlstate::IN_FAILED_SQL_TRANSACTION,
                        "a statement of the transaction failed, so it was rolled back",
                    ));
                }
                Ok(_) => {}
                Err(Error::Abort(_)) => is_aborted = true,
                Err(error) => outcome = Err(error),
            }
            if is_aborted {
                // The outcome of this attempt is not reported.
                self.session.pending_durability();
                continue;
            }
            self.session.lock_in_blocks(false);
            durable(&mut self.session)?;
            return outcome;
        }
    }
}

impl Transaction<'_> {
    /// As [`Connection::execute`]; durable with the transaction.
    ///
    /// # Errors
    /// Those of the statement; the transaction has failed then.
    pub fn execute(&mut self, sql: &str, parameters: &[Value]) -> Result<u64> {
        let outcome = run(self.session, sql, parameters, &mut Rows::default());
        self.noted(outcome).map(|tag| count_of(&tag))
    }

    /// As [`Connection::query`]. The result is provisional until the transaction commits.
    ///
    /// # Errors
    /// Those of the statement; the transaction has failed then.
    pub fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<Vec<Vec<Value>>> {
        let mut rows = Rows::default();
        let outcome = run(self.session, sql, parameters, &mut rows);
        self.noted(outcome).map(|_| rows.0)
    }

    fn noted<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.is_aborted |= matches!(outcome, Err(Error::Abort(_)));
        outcome
    }
}
