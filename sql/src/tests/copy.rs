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

/// Runs a statement in a transaction of its own.
fn run_alone(session: &mut Session, sql: &str) {
    let outcome = run(session, sql).and_then(|()| done(session.end_implicit()));
    outcome.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// A plan that is stale is made anew for the current row alone.
#[test]
fn a_trigger_function_may_be_replaced_during_copy() {
    let database = Database::with_engine(Arc::new(TestEngine::with(Trouble::None)));
    let session = || database.session(SessionOptions::default()).expect("a session");
    let (mut copying, mut other) = (session(), session());
    let function = |name: &str, what: &str| {
        format!("create or replace function {name}() returns trigger language plpgsql as 'begin {what} end'")
    };
    for sql in [
        "create table t (a int, b text, c int)",
        "create sequence s",
        "create table late (a int)",
        &function("named", "new.b := ''old''; new.c := nextval(''s''); return new;"),
        &function("noted", "insert into late values (new.a); return null;"),
        "create trigger b before insert on t for each row execute function named()",
        "create constraint trigger d after insert on t deferrable initially deferred
         for each row execute function noted()",
    ] {
        run_alone(&mut other, sql);
    }
    run(&mut copying, "copy t (a) from stdin").expect("COPY begins");
    done(copying.copy_feed(b"1\n2\n")).expect("rows");
    let another = function("named", "new.b := ''new''; new.c := nextval(''s''); return new;");
    run_alone(&mut other, &another);
    done(copying.copy_feed(b"3\n4")).expect("rows");
    run_alone(&mut other, &function("noted", "insert into late values (-new.a); return null;"));
    done(copying.copy_finish()).expect("all rows");
    done(copying.end_implicit()).expect("a commit");
    for (shown, expected) in [
        ("select string_agg(a || b || c, ' ' order by a) from t", "1old1 2old2 3new3 4new4"),
        ("select string_agg(a::text, ' ' order by a) from late", "-4 -3 -2 -1"),
    ] {
        let sql = format!("do 'begin assert ({}) = ''{expected}''; end'", shown.replace('\'', "''"));
        run_alone(&mut other, &sql);
    }
}
