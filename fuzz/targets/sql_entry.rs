//! The text of a simple query: split into statements, each compiled against a small schema; of CREATE
//! PROCEDURE and FUNCTION that means the whole body. Nothing is executed: a statement that is asked to run
//! for ever may do so.

#![no_main]

use std::cell::RefCell;

use hyades::session::Notice;
use hyades::session::{Output, SessionOptions};
use hyades::{Config, Database, ProtocolKind, Result, Session, Value};
use libfuzzer_sys::fuzz_target;

const SCHEMA: &[&str] = &[
    "create table account (id integer primary key, owner varchar(20) not null, balance numeric(10, 2) default 0)",
    "create table event (day date, at timestamptz, code uuid, data bytea, note text, flag boolean, x double precision)",
    "create procedure pay(a int, amount numeric default 1, inout left_over numeric default null) language plpgsql as $$
     begin update account set balance = balance - amount where id = a returning balance into left_over; end $$",
    "create function twice(a int) returns int language plpgsql as $$ begin return 2 * a; end $$",
    "create function up_to(n int) returns setof int language plpgsql as $$ begin for i in 1 .. n loop return next i; end loop; end $$",
];

struct NoOutput;

impl Output for NoOutput {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }
    fn notice(&mut self, _notice: Notice) {}
    fn restart(&mut self) {}
}

/// One session for the whole run, so that what it keeps from one input to the next is bounded too.
struct Harness {
    session: Session,
    _database: Database,
    _directory: tempfile::TempDir,
}

fn open() -> Harness {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut config = Config::new(directory.path());
    config.protocol = ProtocolKind::None;
    let database = Database::open(config).expect("an empty directory opens");
    let mut session = database.session(SessionOptions::default()).expect("a session");
    for statement in SCHEMA {
        let Ok(prepared) = session.prepare(statement, &[]) else {
            panic!("the schema compiles: {statement}")
        };
        assert!(session.execute(&prepared, &[], &mut NoOutput).is_ok(), "the schema is created");
        assert!(session.end_implicit().is_ok());
    }
    Harness { session, _database: database, _directory: directory }
}

thread_local! {
    static HARNESS: RefCell<Harness> = RefCell::new(open());
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    HARNESS.with_borrow_mut(|harness| {
        let Ok(statements) = harness.session.split(text) else { return };
        let characters = text.chars().count();
        for (offset, statement) in statements {
            assert!(offset <= characters);
            let _ = harness.session.prepare(&statement, &[]);
            let _ = harness.session.end_implicit();
        }
    });
});
