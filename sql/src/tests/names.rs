//! Like all answers, an answer that depends on the meaning of a name waits until that meaning is durable.
//!
//! The disk delays its writes while one session changes the schema and another one asks. Names are looked
//! up without locks, so only the catalog itself can tell what an answer depends on.

use std::path::Path;
use std::sync::Arc;

use hyades_engine::config::Config;
use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::log::durable::Durability;
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_types::Result;
use hyades_types::value::Value;

use super::engine::Silent;
use crate::session::{Notice, Output, SessionOptions};
use crate::{Database, Session};

const DATA: &str = "/data";

fn open(disk: &SimulatedDisk) -> Database {
    let config = Config {
        disk: Arc::new(disk.clone()),
        segment_bytes: 64 * 4096,
        log_buffer_bytes: 1 << 16,
        ..Config::new(DATA)
    };
    Database::open(config).expect("opens")
}

fn session(database: &Database) -> Session {
    database.session(SessionOptions::default()).expect("a session")
}

/// Runs one statement to its end. Returns whether it succeeded, and what its answer waits for.
fn run(session: &mut Session, sql: &str) -> (std::result::Result<(), String>, Durability) {
    let outcome = run_to_its_end(session, sql, &mut Silent);
    (outcome.map_err(|error| error.sqlstate().0.to_owned()), session.pending_durability())
}

/// Repeats a call until it no longer has to wait.
fn blocking<T>(session: &mut Session, mut call: impl FnMut(&mut Session) -> Flow<T>) -> Result<T> {
    loop {
        match call(session) {
            Ok(answer) => return Ok(answer),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
            Err(Interrupt::Failed(error)) => return Err(error),
        }
    }
}

fn run_to_its_end(session: &mut Session, sql: &str, output: &mut dyn Output) -> Result<()> {
    let prepared = blocking(session, |session| session.prepare(sql, &[]))?;
    blocking(session, |session| session.execute(&prepared, &[], output))?;
    blocking(session, Session::end_implicit)
}

fn settled(session: &mut Session, sql: &str) {
    let (outcome, answer) = run(session, sql);
    assert_eq!(outcome, Ok(()), "{sql}");
    answer.wait().expect("durable");
}

/// The answer to another session while `change` is not durable yet. That answer must not be durable before
/// the change is.
fn asked_during(change: &str, question: &str) -> std::result::Result<(), String> {
    let disk = SimulatedDisk::new(1);
    let database = open(&disk);
    let [mut changing, mut asking] = [session(&database), session(&database)];
    settled(&mut changing, "create table t (id int primary key)");
    settled(&mut changing, "create function f() returns int language plpgsql as $$ begin return 1; end $$");
    // Nothing waits for what is durable already.
    assert!(run(&mut asking, "select f()").1.is_durable());

    disk.hold_writes_under(Some(&Path::new(DATA).join("logs")));
    let (outcome, changed) = run(&mut changing, change);
    assert_eq!(outcome, Ok(()), "{change}");
    assert!(!changed.is_durable(), "the disk holds nothing back");
    let (outcome, answer) = run(&mut asking, question);
    let is_early = answer.is_durable();
    disk.hold_writes_under(None);
    answer.wait().expect("durable");
    assert!(changed.is_durable(), "{question} was answered before {change} was durable");
    assert!(!is_early, "{question} was answered before {change} was durable");
    // Afterwards nothing waits any more.
    assert!(run(&mut asking, "select 1").1.is_durable());
    outcome
}

#[test]
fn an_answer_about_a_name_waits_for_what_the_name_means() {
    let refused = |state: &str| Err(state.to_owned());
    assert_eq!(asked_during("drop table t", "select * from t"), refused("42P01"));
    assert_eq!(asked_during("drop table t", "drop table if exists t"), Ok(()));
    assert_eq!(asked_during("create table u (id int)", "create table u (id int)"), refused("42P07"));
    assert_eq!(asked_during("create table u (id int)", "create table if not exists u (id int)"), Ok(()));
    assert_eq!(asked_during("drop function f()", "select f()"), refused("42883"));
    let replacement =
        "create or replace function f() returns int language plpgsql as $$ begin return 2; end $$";
    assert_eq!(asked_during(replacement, "select f()"), Ok(()));
    let procedure = "create procedure p() language plpgsql as $$ begin null; end $$";
    assert_eq!(asked_during(procedure, "call p()"), Ok(()));
    assert_eq!(asked_during(procedure, procedure), refused("42723"));
}

#[test]
fn a_table_whose_drop_was_lost_was_never_said_to_be_gone() {
    let disk = SimulatedDisk::new(1);
    let database = open(&disk);
    let [mut changing, mut asking] = [session(&database), session(&database)];
    settled(&mut changing, "create table t (id int primary key)");
    disk.hold_writes_under(Some(&Path::new(DATA).join("logs")));
    assert_eq!(run(&mut changing, "drop table t").0, Ok(()));
    let answer = run(&mut asking, "select * from t").1;
    disk.crash_now();
    assert!(answer.wait().is_err(), "told of what is lost");
    drop((changing, asking, database));
    let database = open(&disk.after(PowerCut::LoseUnsynced));
    let mut rows = Rows::default();
    let mut found = session(&database);
    run_to_its_end(&mut found, "select count(*) from t", &mut rows).expect("the table is there");
    assert_eq!(rows.0, vec![vec![Value::BigInt(0)]]);
}

/// Keeps the rows.
#[derive(Default)]
struct Rows(Vec<Vec<Value>>);

impl Output for Rows {
    fn row(&mut self, values: &mut [Value]) -> Result<()> {
        self.0.push(values.to_vec());
        Ok(())
    }
    fn copy_data(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }
    fn notice(&mut self, _notice: Notice) {}
    fn restart(&mut self) {}
}
