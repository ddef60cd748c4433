//! A database in this process: sessions whose waits block.

use std::sync::Arc;

use anyhow::{Context, Result};
use hyades::session::{Completion, Notice, Output, Prepared, SessionOptions};
use hyades::{Database, Error, Session, Value};
use hyades_engine::db::{Flow, Interrupt};
use hyades_types::text;
use hyades_types::value::ArrayElement;

use super::{Argument, Caller, Connection, Ended, fill_chunk, parse_number};
use crate::target::{Call, Request};

/// Discards the rows that statements return, or keeps them if asked to. Counts restarts.
#[derive(Default)]
pub(crate) struct Answer {
    rows: Option<Vec<Vec<Value>>>,
    restarts: u64,
}

impl Output for Answer {
    fn row(&mut self, values: &mut [Value]) -> hyades::Result<()> {
        if let Some(rows) = &mut self.rows {
            rows.push(values.iter_mut().map(std::mem::take).collect());
        }
        Ok(())
    }

    fn copy_data(&mut self, _bytes: &[u8]) -> hyades::Result<()> {
        Ok(())
    }

    fn notice(&mut self, _notice: Notice) {}

    fn restart(&mut self) {
        self.restarts += 1;
        if let Some(rows) = &mut self.rows {
            rows.clear();
        }
    }
}

/// Repeats a call of the session until it no longer waits.
pub(crate) fn wait<T>(mut call: impl FnMut() -> Flow<T>) -> hyades::Result<T> {
    loop {
        match call() {
            Ok(value) => return Ok(value),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(error)) => return Err(error),
        }
    }
}

/// A session of a database in this process.
pub struct EmbeddedConnection {
    session: Session,
}

impl EmbeddedConnection {
    /// # Errors
    /// The database is shut down or poisoned.
    pub fn new(database: &Database) -> Result<EmbeddedConnection> {
        let options = SessionOptions {
            user: "hyades".to_owned(),
            database: "hyades".to_owned(),
            ..SessionOptions::default()
        };
        Ok(EmbeddedConnection { session: database.session(options)? })
    }

    fn run(&mut self, sql: &str, answer: &mut Answer) -> Result<()> {
        let session = &mut self.session;
        let prepared = wait(|| session.prepare(sql, &[])).with_context(|| shorten(sql))?;
        let completion = wait(|| session.execute(&prepared, &[], answer)).with_context(|| shorten(sql))?;
        if completion == Completion::CopyIn {
            return Ok(());
        }
        self.settle()
    }

    fn settle(&mut self) -> Result<()> {
        let session = &mut self.session;
        wait(|| session.end_implicit())?;
        Ok(session.pending_durability().wait()?)
    }

    /// Turns the connection into the caller of a workload.
    ///
    /// # Errors
    /// Calls that do not compile.
    pub fn into_caller(mut self, calls: &'static [Call]) -> Result<EmbeddedCaller> {
        let session = &mut self.session;
        let prepare =
            |call: &Call| wait(|| session.prepare(call.sql, &[])).with_context(|| call.sql.to_owned());
        let prepared = calls.iter().map(prepare).collect::<Result<Vec<_>>>()?;
        self.settle()?;
        let (values, answer) = (Vec::new(), Answer::default());
        Ok(EmbeddedCaller { session: self.session, calls, prepared, values, answer })
    }
}

fn shorten(sql: &str) -> String {
    sql.lines().find(|line| !line.trim().is_empty() && !line.starts_with("--")).unwrap_or(sql).to_owned()
}

impl Connection for EmbeddedConnection {
    fn script(&mut self, sql: &str) -> Result<()> {
        for (_, statement) in self.session.split(sql)? {
            self.run(&statement, &mut Answer::default())?;
        }
        Ok(())
    }

    fn copy(&mut self, table: &str, next: &mut dyn FnMut(&mut String) -> bool) -> Result<()> {
        self.run(&format!("COPY {table} FROM STDIN"), &mut Answer::default())?;
        let session = &mut self.session;
        let (mut chunk, mut goes_on) = (String::new(), true);
        while goes_on {
            goes_on = fill_chunk(&mut chunk, next);
            wait(|| session.copy_feed(chunk.as_bytes())).with_context(|| format!("COPY {table}"))?;
        }
        wait(|| session.copy_finish()).with_context(|| format!("COPY {table}"))?;
        self.settle()
    }

    fn numbers(&mut self, sql: &str) -> Result<Vec<Vec<i64>>> {
        let mut answer = Answer { rows: Some(Vec::new()), restarts: 0 };
        self.run(sql, &mut answer)?;
        let number = |value: &Value| match value.as_i64() {
            Some(number) => Ok(number),
            None => parse_number(&text::format(value, &jiff::tz::TimeZone::UTC), sql),
        };
        let rows = answer.rows.unwrap_or_default();
        rows.iter().map(|row| row.iter().map(number).collect()).collect()
    }
}

/// Calls procedures in a session.
pub struct EmbeddedCaller {
    session: Session,
    calls: &'static [Call],
    prepared: Vec<Arc<Prepared>>,
    values: Vec<Value>,
    answer: Answer,
}

pub(crate) fn value(argument: &Argument) -> Value {
    let array = Value::array;
    match argument {
        Argument::Null => Value::Null,
        Argument::Integer(number) => Value::Integer(*number),
        Argument::BigInt(number) => Value::BigInt(*number),
        Argument::Text(text) => Value::Text(text.clone()),
        Argument::Integers(numbers) => {
            array(ArrayElement::Integer, numbers.iter().map(|number| Value::Integer(*number)).collect())
        }
        Argument::SmallInts(numbers) => {
            array(ArrayElement::SmallInt, numbers.iter().map(|number| Value::SmallInt(*number)).collect())
        }
    }
}

impl Caller for EmbeddedCaller {
    fn call(&mut self, request: &Request) -> Result<Ended> {
        self.values.clear();
        for argument in &request.arguments {
            self.values.push(value(argument));
        }
        let (session, prepared) = (&mut self.session, &self.prepared[request.call]);
        self.answer.restarts = 0;
        session.set_last(true);
        let mut is_refused = false;
        loop {
            let ran = wait(|| session.execute(prepared, &self.values, &mut self.answer))
                .and_then(|_| wait(|| session.end_implicit()));
            match ran {
                Ok(()) => break,
                // The session has already retried what it can.
                Err(Error::Abort(_)) => self.answer.restarts += 1,
                Err(Error::Input(error)) if self.calls[request.call].refusals.contains(&error.state.0) => {
                    is_refused = true;
                    break;
                }
                Err(error) => return Err(error).with_context(|| format!("{request:?}")),
            }
        }
        Ok(Ended { durability: session.pending_durability(), retries: self.answer.restarts, is_refused })
    }
}
