//! The places that errors in the data of COPY report. The contexts are those of PostgreSQL 15.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt};
use hyades_types::error::Error;

use super::engine::{Silent, TestEngine, Trouble};
use crate::session::{Database, Session, SessionOptions};

fn done<T>(outcome: Flow<T>) -> Result<T, Error> {
    match outcome {
        Ok(value) => Ok(value),
        Err(Interrupt::Failed(error)) => Err(error),
        Err(Interrupt::Wait(_)) => panic!("one session does not wait"),
    }
}

fn run(session: &mut Session, sql: &str) -> Result<(), Error> {
    let prepared = done(session.prepare(sql, &[]))?;
    done(session.execute(&prepared, &[], &mut Silent)).map(|_| ())
}

/// The message, detail and context of the error that this data causes.
fn error_of(copy: &str, data: &[u8]) -> (String, Option<String>, Option<String>) {
    let database = Database::with_engine(Arc::new(TestEngine::with(Trouble::None)));
    let mut session = database.session(SessionOptions::default()).expect("a session");
    run(&mut session, "create table t (a int primary key, b text not null)").expect("a table");
    run(&mut session, copy).expect("COPY begins");
    let outcome = done(session.copy_feed(data)).and_then(|()| done(session.copy_finish()));
    match outcome {
        Err(Error::Input(error)) => (error.message, error.detail, error.context),
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_in_copied_data_say_where_they_are() {
    let context = |copy: &str, data: &[u8]| error_of(copy, data).2.unwrap_or_default();
    let csv = "copy t from stdin csv";
    let text = "copy t from stdin";
    assert_eq!(context(csv, b"1,x\nabc,y\n"), "COPY t, line 2, column a: \"abc\"");
    assert_eq!(context(csv, b"1\n"), "COPY t, line 1: \"1\"");
    assert_eq!(context(text, b"1\tx\t2\n"), "COPY t, line 1: \"1\tx\t2\"");
    assert_eq!(context(text, b"1\t\xff\n"), "COPY t, line 1");
    let long = format!("{}\tx\n", "9".repeat(101));
    assert_eq!(
        context(text, long.as_bytes()),
        format!("COPY t, line 1, column a: \"{}...\"", "9".repeat(100))
    );
    let duplicate = error_of(text, b"1\tx\n1\ty\n");
    assert_eq!(duplicate.1.as_deref(), Some("Key (a)=(1) already exists."));
    assert_eq!(duplicate.2.as_deref(), Some("COPY t, line 2"));
    assert_eq!(error_of(text, b"1\t\xc3(\n").0, "invalid byte sequence for encoding \"UTF8\": 0xc3 0x28");
    assert_eq!(error_of(text, b"1\t\\xff\n").0, "invalid byte sequence for encoding \"UTF8\": 0xff");
}
