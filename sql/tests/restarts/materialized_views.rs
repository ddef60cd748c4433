//! Materialized views across stops and crashes: their rows are recovered from what was logged, also where the
//! tables beneath have changed since, and nothing computes them again.

use hyades::Database;
use hyades::engine::config::ProtocolKind;
use hyades_sim::disk::SimulatedDisk;

use crate::harness::{across_ends, config, number, run, state};

/// Views that are created, refreshed in each way, emptied, altered and rolled back, with a checkpoint in
/// between and rows beneath that change after each refresh.
const WORK: &[&str] = &[
    "create table t (a integer primary key, b integer)",
    "insert into t select g, g * 10 from generate_series(1, 200) as g",
    "create materialized view kept as select a, b, random() as chance from t",
    "create unique index kept_a on kept (a)",
    "create index kept_expression on kept ((b + 1))",
    "create materialized view unread (n) as select count(*) from t with no data",
    "create materialized view emptied as select a from t",
    "create materialized view refreshed as select sum(b) as total from kept",
    "create view over as select max(a) as most from kept",
    "refresh materialized view emptied with no data",
    "checkpoint",
    "update t set b = b + 1 where a <= 100",
    "delete from t where a = 150",
    "insert into t values (1000, 1)",
    "refresh materialized view concurrently kept",
    "refresh materialized view refreshed",
    "begin",
    "delete from t where a > 10",
    "refresh materialized view refreshed",
    "refresh materialized view kept",
    "create materialized view never as select 1 as one",
    "rollback",
    "alter materialized view refreshed rename to again",
    "alter materialized view again rename column total to whole",
    "create function refreshing() returns integer language plpgsql as $$ begin \
     refresh materialized view again; return 1; end $$",
    "select refreshing()",
    "delete from t where a = 1",
];

const LOOKS: &[&str] = &[
    "select a, b, chance from kept order by a",
    "select count(*) from kept where b + 1 = 12",
    "select whole from again",
    "select most from over",
    "select matviewname, ispopulated, hasindexes, definition from pg_matviews order by 1",
];

#[test]
fn rows_and_queries_are_recovered() {
    across_ends(WORK, LOOKS, |connection, way| {
        assert_eq!(number(connection, "select count(*) from kept"), 200, "{way}");
        assert_eq!(state(connection, "select * from unread"), "55000", "{way}");
        assert_eq!(state(connection, "select * from emptied"), "55000", "{way}");
        assert_eq!(state(connection, "select * from never"), "42P01", "{way}");
        assert_eq!(state(connection, "delete from kept"), "42809", "{way}");
        assert_eq!(state(connection, "drop table t"), "2BP01", "{way}");
        run(connection, "refresh materialized view unread");
        assert_eq!(number(connection, "select n from unread"), 199, "{way}");
        run(connection, "refresh materialized view concurrently kept");
        assert_eq!(number(connection, "select count(*) from kept"), 199, "{way}");
        run(connection, "drop table t cascade");
        assert_eq!(number(connection, "select count(*) from pg_matviews"), 0, "{way}");
    });
}

/// A refresh that a crash interrupts leaves the rows from before.
#[test]
fn an_unfinished_refresh_is_undone() {
    for refresh in ["refresh materialized view kept", "refresh materialized view concurrently kept"] {
        let disk = SimulatedDisk::new(1);
        let database = Database::open(config(&disk, ProtocolKind::Taurus)).expect("an empty disk");
        let mut connection = database.connect().expect("a connection");
        run(&mut connection, "create table t (a integer primary key)");
        run(&mut connection, "insert into t select generate_series(1, 50)");
        run(&mut connection, "create materialized view kept as select a from t");
        run(&mut connection, "create unique index on kept (a)");
        run(&mut connection, "insert into t select generate_series(51, 60)");
        run(&mut connection, "begin");
        run(&mut connection, refresh);
        assert_eq!(number(&mut connection, "select count(*) from kept"), 60);
        disk.crash_now();
        let found = disk.after_power_cut(1);
        drop(database);
        let database = Database::open(config(&found, ProtocolKind::Taurus)).expect("it opens again");
        let mut connection = database.connect().expect("a connection");
        assert_eq!(number(&mut connection, "select count(*) from kept"), 50);
        assert_eq!(number(&mut connection, "select count(*) from t"), 60);
    }
}

/// Readers beside a concurrent refresh see the old rows until it commits, and never wait.
#[test]
fn readers_see_all_rows_or_none_of_the_new() {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk, ProtocolKind::Taurus)).expect("an empty disk");
    let mut one = database.connect().expect("a connection");
    run(&mut one, "create table t (a integer primary key, b integer)");
    run(&mut one, "insert into t select g, 0 from generate_series(1, 100) as g");
    run(&mut one, "create materialized view kept as select a, b from t");
    run(&mut one, "create unique index on kept (a)");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let mut reader = database.connect().expect("a connection");
                let done = &done;
                scope.spawn(move || {
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        let sql = "select count(distinct b) * 1000 + count(*) from kept";
                        assert_eq!(number(&mut reader, sql), 1100);
                    }
                })
            })
            .collect();
        for round in 0..40 {
            run(&mut one, "update t set b = b + 1");
            let how = if round % 2 == 0 { "concurrently " } else { "" };
            run(&mut one, &format!("refresh materialized view {how}kept"));
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().expect("no panic"));
    });
    assert_eq!(number(&mut one, "select min(b) from kept"), 40);
}
