//! Sequences across stops and crashes: a number that was given out is not drawn again, a value that was set
//! stays set, and a copy continues where the original stood.

mod draws;

use std::sync::Arc;

use hyades::engine::config::ProtocolKind;
use hyades::engine::db::create_copy;
use hyades::engine::recovery::{recover, state_hash};
use hyades::engine::storage::databases::Databases;
use hyades::{Connection, Database};
use hyades_sim::disk::SimulatedDisk;

use draws::{config, lose_power, number};

const PROTOCOLS: [ProtocolKind; 2] = [ProtocolKind::Taurus, ProtocolKind::Serial];

#[test]
fn what_was_told_is_not_drawn_again() {
    for protocol in PROTOCOLS {
        for operation in (0..60).step_by(7) {
            lose_power(protocol, operation + 1, Some(operation))
                .unwrap_or_else(|wrong| panic!("{protocol:?}, power lost at operation {operation}: {wrong}"));
        }
        lose_power(protocol, 99, None).unwrap_or_else(|wrong| panic!("{protocol:?}: {wrong}"));
    }
}

/// Runs the statements, loses power or stops, opens again, and returns the next number of `s`.
fn next_after(protocol: ProtocolKind, statements: &[&str], is_crash: bool) -> i64 {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk, protocol)).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    for sql in statements {
        connection.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let found = if is_crash {
        disk.crash_now();
        disk.after_power_cut(1)
    } else {
        drop(connection);
        database.shutdown().expect("a clean stop");
        disk
    };
    drop(database);
    let database = Database::open(config(&found, protocol)).expect("it opens again");
    number(&mut database.connect().expect("a connection"), "select nextval('s')").expect("a number")
}

#[test]
fn what_was_set_and_restarted_stays_so() {
    let create = "create sequence s maxvalue 60 cycle";
    let draw = "select nextval('s') from generate_series(1, 50)";
    let cases: [(&[&str], i64); 12] = [
        (&[create], 1),
        (&[create, draw], 51),
        (&[create, draw, "select setval('s', 5)"], 6),
        (&[create, draw, "select setval('s', 5, false)"], 5),
        (&[create, "select setval('s', 40)", "select setval('s', 5)", "select nextval('s')"], 7),
        (&[create, draw, "alter sequence s restart"], 1),
        (&[create, draw, "alter sequence s restart with 9", "select nextval('s')"], 10),
        (&[create, draw, "alter sequence s increment 5"], 55),
        (&[create, draw, "alter sequence s increment -5", "select nextval('s')"], 40),
        // It has started a new cycle.
        (&[create, draw, "select nextval('s') from generate_series(1, 15)"], 6),
        (
            &[
                create,
                "create table t (a integer)",
                "alter sequence s owned by t.a",
                draw,
                "truncate t restart identity",
            ],
            1,
        ),
        (
            &[
                create,
                draw,
                "begin",
                "alter sequence s restart",
                "select nextval('s')",
                "select nextval('s')",
                "commit",
            ],
            3,
        ),
    ];
    for protocol in PROTOCOLS {
        for (statements, next) in cases {
            for is_crash in [false, true] {
                let found = next_after(protocol, statements, is_crash);
                assert_eq!(found, next, "{protocol:?}, crash: {is_crash}, {statements:?}");
            }
        }
    }
}

#[test]
fn a_stop_remembers_what_was_rolled_back() {
    let statements = ["create sequence s", "select nextval('s')", "begin", "select nextval('s')", "rollback"];
    for protocol in PROTOCOLS {
        assert_eq!(next_after(protocol, &statements, false), 3, "{protocol:?}");
        // No client has been given the number for good.
        assert!([2, 3].contains(&next_after(protocol, &statements, true)), "{protocol:?}");
    }
}

fn run(connection: &mut Connection, sql: &str) {
    connection.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[test]
fn drawing_blocks_no_transaction() {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk, ProtocolKind::Taurus)).expect("an empty disk");
    let (mut one, mut other) = (database.connect().unwrap(), database.connect().unwrap());
    run(&mut one, "create sequence s");
    run(&mut one, "begin isolation level serializable");
    assert_eq!(number(&mut one, "select nextval('s')").unwrap(), 1);
    run(&mut other, "begin isolation level serializable");
    assert_eq!(number(&mut other, "select nextval('s')").unwrap(), 2);
    assert_eq!(number(&mut one, "select nextval('s')").unwrap(), 3);
    assert_eq!(number(&mut other, "select currval('s')").unwrap(), 2);
    run(&mut other, "rollback");
    // Even a change of the sequence does not wait. What was drawn before it does not count.
    run(&mut other, "alter sequence s restart with 100");
    assert_eq!(number(&mut one, "select nextval('s')").unwrap(), 100);
    run(&mut other, "drop sequence s");
    assert!(number(&mut one, "select nextval('s')").is_err_and(|error| error.sqlstate().0 == "42P01"));
    run(&mut one, "rollback");
    run(&mut one, "create sequence s");
    run(&mut one, "begin");
    assert_eq!(number(&mut one, "select nextval('s')").unwrap(), 1);
    run(&mut other, "drop sequence s");
    run(&mut one, "commit");
    disk.crash_now();
    let found = disk.after_power_cut(1);
    let database =
        Database::open(config(&found, ProtocolKind::Taurus)).expect("a draw after a drop does no harm");
    assert!(database.connect().unwrap().query("select nextval('s')", &[]).is_err());
}

#[test]
fn a_copy_goes_on_where_the_original_stood() {
    let disk = SimulatedDisk::new(1);
    let original = config(&disk, ProtocolKind::Taurus);
    let database = Database::open(original.clone()).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    for sql in [
        "create table t (id integer generated always as identity (start with 10), b serial)",
        "insert into t default values",
        "create sequence s cycle maxvalue 3",
        "select nextval('s') from generate_series(1, 7)",
        "create sequence unused increment -1",
    ] {
        run(&mut connection, sql);
    }
    drop(connection);
    database.shutdown().expect("a clean stop");
    drop(database);
    let databases = Arc::new(Databases::new());
    recover(&original, Some(hyades::routine_compiler()), &databases).expect("it can be recovered");
    let copy = hyades::Config { data_directory: "/copy".into(), ..original };
    create_copy(&copy, &databases).expect("a copy");
    let copied = Arc::new(Databases::new());
    recover(&copy, Some(hyades::routine_compiler()), &copied).expect("it can be recovered");
    assert_eq!(state_hash(&copied).unwrap(), state_hash(&databases).unwrap());
    let database = Database::open(copy).expect("the copy opens");
    let mut connection = database.connect().expect("a connection");
    assert_eq!(number(&mut connection, "insert into t default values returning id").unwrap(), 11);
    assert_eq!(number(&mut connection, "select nextval('s')").unwrap(), 2);
    assert_eq!(number(&mut connection, "select nextval('unused')").unwrap(), -1);
}

#[test]
fn calls_that_draw_are_data_and_say_so() {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk, ProtocolKind::Taurus)).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    for sql in [
        "create sequence s",
        "create table t (id serial primary key, b bigint)",
        "create procedure draws() language plpgsql as $$ begin perform nextval('s'); end $$",
        "create procedure fills(b integer) language plpgsql as $$ begin insert into t (b) values (fills.b); end $$",
        "create procedure sorts() language plpgsql as $$ begin \
         insert into t select x, nextval('s') from generate_series(50, 52) as g(x) order by x limit 2; end $$",
        "create procedure given(id bigint) language plpgsql as $$ begin insert into t values (given.id, 0); end $$",
        "create procedure by_another() language plpgsql as $$ begin call draws(); end $$",
    ] {
        run(&mut connection, sql);
    }
    let draws = "data (it draws numbers from sequences)";
    let arguments = "data (its arguments draw numbers from sequences)";
    for (call, expected) in [
        ("draws()", draws),
        ("fills(1)", draws),
        ("sorts()", draws),
        ("by_another()", draws),
        ("given(nextval('s') + 100)", arguments),
        ("given(900)", "command (the call and its arguments; replay repeats the run)"),
    ] {
        let lines = connection.query(&format!("explain call {call}"), &[]).expect("a plan");
        let says = |line: &Vec<hyades::Value>| line[0].as_str().is_some_and(|line| line.contains(expected));
        assert!(lines.iter().any(says), "{call}: {lines:?}");
        run(&mut connection, &format!("call {call}"));
    }
    let all = "select sum(id * 1000 + b) from t";
    let (sum, next) =
        (number(&mut connection, all).unwrap(), number(&mut connection, "select nextval('s')").unwrap());
    disk.crash_now();
    let found = disk.after_power_cut(1);
    let database = Database::open(config(&found, ProtocolKind::Taurus)).expect("it opens again");
    let mut connection = database.connect().expect("a connection");
    assert_eq!(number(&mut connection, all).unwrap(), sum);
    assert_eq!(number(&mut connection, "select nextval('s')").unwrap(), next + 1);
}
