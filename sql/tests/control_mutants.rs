//! Known bugs put back into what serializable transactions do without read locks. The interleavings below
//! must find them.
//!
//! | bug | caught by |
//! |---|---|
//! | absence has no time | a transaction commits that has not seen a key, which another one inserted and a third one deleted |
//! | an error leaves a transaction without a look | a division by the difference of a row and itself, read at two times |
//!
//! It has a process of its own, because the switch is for the whole process.

use std::sync::Arc;

use hyades::engine::mutant::{Mutant, activate};
use hyades::{Config, Connection, ControlKind, Database, ProtocolKind};
use hyades_sim::disk::SimulatedDisk;

fn open() -> Database {
    let config = Config {
        protocol: ProtocolKind::None,
        control: ControlKind::Optimistic,
        disk: Arc::new(SimulatedDisk::new(1)),
        ..Config::new("/data")
    };
    Database::open(config).expect("an empty disk")
}

fn run(connection: &mut Connection, sql: &str) {
    connection.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn sessions(database: &Database) -> [Connection; 2] {
    let mut sessions = [database.connect(), database.connect()].map(|session| session.expect("a connection"));
    run(&mut sessions[0], "create table t (id int primary key, v int)");
    run(&mut sessions[0], "insert into t select g, g from generate_series(1, 3) g");
    sessions
}

/// The SQLSTATE of a commit after a key has come and gone that the transaction has not seen.
fn commit_after_a_key_has_come_and_gone() -> Option<&'static str> {
    let [mut reader, mut other] = sessions(&open());
    run(&mut reader, "begin isolation level serializable");
    run(&mut reader, "select v from t where id = 9");
    run(&mut other, "insert into t values (9, 9)");
    run(&mut other, "delete from t where id = 9");
    run(&mut reader, "update t set v = 0 where id = 1");
    reader.execute("commit", &[]).err().map(|error| error.sqlstate().0)
}

/// The SQLSTATE of an error that is an error only because rows of different times were read.
fn error_of_outdated_reads() -> Option<&'static str> {
    let [mut reader, mut other] = sessions(&open());
    run(&mut reader, "create temp table seen (v int)");
    run(&mut reader, "begin isolation level serializable");
    run(&mut reader, "insert into seen select v from t where id = 1");
    run(&mut other, "update t set v = 7 where id = 1");
    let difference = "select 1 / (6 + (select v from seen) - v) from t where id = 1";
    reader.execute(difference, &[]).err().map(|error| error.sqlstate().0)
}

#[test]
fn outdated_reads_are_found_and_bugs_are_seen() {
    for (mutant, expected) in [(None, "40001"), (Some(Mutant::AbsenceWithoutTime), "")] {
        activate(mutant);
        let state = commit_after_a_key_has_come_and_gone();
        activate(None);
        assert_eq!(state.unwrap_or_default(), expected, "{mutant:?}");
    }
    for (mutant, expected) in [(None, "40001"), (Some(Mutant::ErrorOfOutdatedReads), "22012")] {
        activate(mutant);
        let state = error_of_outdated_reads();
        activate(None);
        assert_eq!(state.unwrap_or_default(), expected, "{mutant:?}");
    }
}
