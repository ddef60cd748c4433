//! Views across stops and crashes. Their definitions are recovered, and calls that read them are replayed
//! with the definitions of that time. No session can drop what a view uses while another creates a view on
//! it.

use hyades::Database;
use hyades::engine::config::ProtocolKind;
use hyades_sim::disk::SimulatedDisk;

use crate::harness::{PROTOCOLS, config, number, run, state};

/// Views that are created, changed through, replaced, dropped and rolled back, and calls that read one of
/// them while its meaning changes.
const WORK: [&str; 20] = [
    "create table t (a integer primary key, b integer)",
    "create table log (n integer primary key, seen bigint)",
    "insert into t select g, g * 10 from generate_series(1, 10) as g",
    "create view v as select a, b from t where a <= 5",
    "create view w (x, total) as select a % 2, sum(b) from v group by a % 2",
    "create view gone as select * from v",
    "create procedure note(k integer) language plpgsql as $$ begin \
     insert into log select k, count(*) from v; end $$",
    "call note(1)",
    "insert into v values (11, 110)",
    "update v set b = b + 1 where a = 1",
    "create or replace view v as select a, b from t where a <= 3",
    "call note(2)",
    "drop view gone",
    "begin",
    "create view never as select 1 as one",
    "create or replace view v as select a, b from t",
    "rollback",
    "call note(3)",
    "delete from v where a = 2",
    "create view late as select v.a, w.total from v join w on w.x = v.a",
];

#[test]
fn definitions_are_recovered() {
    for protocol in PROTOCOLS {
        for is_crash in [false, true] {
            let disk = SimulatedDisk::new(1);
            let database = Database::open(config(&disk, protocol)).expect("an empty disk");
            let mut connection = database.connect().expect("a connection");
            WORK.iter().for_each(|sql| run(&mut connection, sql));
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
            assert_eq!(number(&mut connection, "select seen from log where n = 1"), 5, "{protocol:?}");
            assert_eq!(number(&mut connection, "select sum(seen)::bigint from log where n > 1"), 6);
            assert_eq!(number(&mut connection, "select sum(b) from v"), 41);
            assert_eq!(number(&mut connection, "select total from w where x = 1"), 41);
            assert_eq!(number(&mut connection, "select count(*) from late"), 1);
            assert_eq!(number(&mut connection, "select b from t where a = 11"), 110);
            assert_eq!(
                number(&mut connection, "select count(*) from pg_views where schemaname = 'public'"),
                3
            );
            assert_eq!(state(&mut connection, "select * from gone"), "42P01");
            assert_eq!(state(&mut connection, "drop table t"), "2BP01");
            run(&mut connection, "call note(4)");
            assert_eq!(number(&mut connection, "select seen from log where n = 4"), 2);
            run(&mut connection, "drop table t cascade");
            assert_eq!(
                number(&mut connection, "select count(*) from pg_views where schemaname = 'public'"),
                0
            );
        }
    }
}

#[test]
fn what_a_new_view_uses_stays() {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk, ProtocolKind::Taurus)).expect("an empty disk");
    let mut one = database.connect().expect("a connection");
    run(&mut one, "create table t (a integer primary key)");
    run(&mut one, "begin");
    run(&mut one, "create view v as select * from t");
    let other = database.connect().expect("a connection");
    let dropping = std::thread::spawn(move || {
        let mut other = other;
        other.query("drop table t", &[]).expect_err("it is used").sqlstate().0.to_owned()
    });
    run(&mut one, "commit");
    assert_eq!(dropping.join().expect("no panic"), "2BP01");
    assert_eq!(number(&mut one, "select count(*) from v"), 0);
}
