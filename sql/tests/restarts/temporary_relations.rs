//! Temporary tables and sequences across sessions, stops and crashes. No other session sees them, they
//! appear in no log, and the other work of a transaction that uses them is as durable as ever.

use hyades::engine::config::ProtocolKind;
use hyades::{Connection, Database};
use hyades_sim::disk::SimulatedDisk;

use crate::harness::{PROTOCOLS, config, number, run, state};

/// Both kinds of tables, changed separately and together, by statements and by calls.
const WORK: [&str; 18] = [
    "create table kept (a integer primary key, b integer)",
    "create procedure fill(n integer) language plpgsql as $$ begin insert into kept values (n, n); end $$",
    "create temp table own (a integer primary key, b serial)",
    "insert into own (a) select x from generate_series(1, 100) as g(x)",
    "create temp table kept_too as select a from own",
    "begin",
    "insert into kept select a, b from own where a <= 10",
    "update own set a = a + 1000",
    "insert into kept values (11, 11)",
    "delete from own where a > 1050",
    "commit",
    "call fill(12)",
    "create index on own (b)",
    "truncate kept_too",
    "alter table kept_too add primary key (a)",
    "begin",
    "insert into own values (1, 1)",
    "rollback",
];

#[test]
fn only_what_is_permanent_is_recovered() {
    for protocol in PROTOCOLS {
        for is_crash in [false, true] {
            let disk = SimulatedDisk::new(1);
            let database = Database::open(config(&disk, protocol)).expect("an empty disk");
            let mut connection = database.connect().expect("a connection");
            WORK.iter().for_each(|sql| run(&mut connection, sql));
            assert_eq!(number(&mut connection, "select count(*) from own"), 50);
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
            let mut connection = database.connect().expect("a connection");
            assert_eq!(number(&mut connection, "select sum(b) from kept"), 78, "{protocol:?}, {is_crash}");
            assert_eq!(state(&mut connection, "select * from own"), "42P01");
            assert_eq!(number(&mut connection, "select count(*) from pg_class where relname = 'own'"), 0);
            // Later relations do not reuse numbers of temporary ones.
            run(&mut connection, "create table own (a serial primary key)");
            run(&mut connection, "insert into own default values");
            assert_eq!(number(&mut connection, "select a from own"), 1);
        }
    }
}

#[test]
fn a_transaction_of_temporary_rows_needs_no_log() {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk, ProtocolKind::Taurus)).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    run(&mut connection, "create temp table own (a serial primary key, b text)");
    // Nothing after this can reach the disk.
    disk.crash_now();
    for _ in 0..3 {
        run(&mut connection, "insert into own (b) values ('x'), ('y')");
        run(&mut connection, "update own set b = b || 'z'");
        run(&mut connection, "create temp table other as select * from own");
        run(&mut connection, "drop table other");
    }
    assert_eq!(number(&mut connection, "select count(*) from own"), 6);
}

#[test]
fn sessions_have_their_own() {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk, ProtocolKind::Taurus)).expect("an empty disk");
    let mut one = database.connect().expect("a connection");
    let mut other = database.connect().expect("a connection");
    run(&mut one, "create temp table t (a serial, b integer unique)");
    assert_eq!(state(&mut other, "select * from t"), "42P01");
    run(&mut other, "begin");
    run(&mut other, "create temp table t (a text)");
    run(&mut one, "insert into t (b) values (1), (2)");
    run(&mut other, "insert into t values ('x')");
    run(&mut other, "commit");
    assert_eq!(number(&mut one, "select sum(a) from t"), 3);
    assert_eq!(number(&mut other, "select count(*) from t"), 1);
    let schema = "select nspname from pg_namespace where nspname like 'pg_temp_%'";
    let name = one.query(schema, &[]).expect("a schema")[0][0].as_str().unwrap_or_default().to_owned();
    assert_eq!(state(&mut other, &format!("select * from {name}.t")), "42P01");
    assert_eq!(database.engine().tables().len(), 2);
    drop(one);
    assert_eq!(database.engine().tables().len(), 1);
    assert_eq!(database.engine().databases().sequences().len(), 0);
    assert_eq!(number(&mut other, "select count(*) from t"), 1);
}

#[test]
fn a_call_that_touches_one_is_data() {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk, ProtocolKind::Taurus)).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    for sql in [
        "create table t (a integer primary key)",
        "create table u (a integer primary key)",
        "create procedure fill(n integer) language plpgsql as $$ begin \
         insert into t values (n); insert into u values (n); end $$",
        "create procedure outside(n integer) language plpgsql as $$ begin call fill(n); end $$",
    ] {
        run(&mut connection, sql);
    }
    let logging = |connection: &mut Connection, call: &str| {
        let lines = connection.query(&format!("explain call {call}"), &[]).expect(call);
        lines[1][0].as_str().unwrap_or_default().trim().to_owned()
    };
    for call in ["fill(1)", "outside(1)"] {
        assert!(logging(&mut connection, call).starts_with("Logging: command"), "{call}");
    }
    run(&mut connection, "create temp table other (a integer primary key)");
    assert!(logging(&mut connection, "outside(1)").starts_with("Logging: command"));
    run(&mut connection, "call outside(1)");
    run(&mut connection, "create temp table t (a integer primary key)");
    for call in ["fill(1)", "outside(1)"] {
        assert_eq!(logging(&mut connection, call), "Logging: data (it uses a temporary table)", "{call}");
    }
    run(&mut connection, "call outside(5)");
    run(&mut connection, "call fill(6)");
    assert_eq!(number(&mut connection, "select sum(a) from t"), 11);
    assert_eq!(state(&mut connection, "call fill(6)"), "23505");
    let mut other = database.connect().expect("a connection");
    run(&mut other, "call outside(7)");
    drop((connection, other));
    disk.crash_now();
    let found = disk.after_power_cut(1);
    drop(database);
    let database = Database::open(config(&found, ProtocolKind::Taurus)).expect("it opens again");
    let mut connection = database.connect().expect("a connection");
    assert_eq!(number(&mut connection, "select sum(a) from t"), 8);
    assert_eq!(number(&mut connection, "select sum(a) from u"), 19);
}
