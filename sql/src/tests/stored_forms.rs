//! Values in every stored form are recovered after a crash, whether rows or calls are logged.

use std::sync::Arc;

use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::db::open;
use hyades_sim::disk::SimulatedDisk;
use hyades_types::value::Value;

use crate::session::Database;

/// The database on this disk.
fn database(disk: SimulatedDisk) -> (Database, Arc<SimulatedDisk>) {
    let disk = Arc::new(disk);
    let config =
        Config { protocol: ProtocolKind::Taurus, disk: Arc::clone(&disk) as _, ..Config::new("/data") };
    let engine = open(config, Some(crate::routine_compiler())).expect("a disk that can be read");
    (Database::with_engine(engine), disk)
}

fn rows(database: &Database, query: &str) -> Vec<Vec<Value>> {
    database.connect().expect("a connection").query(query, &[]).expect(query)
}

fn execute(database: &Database, statements: &[&str]) {
    let mut connection = database.connect().expect("a connection");
    for statement in statements {
        connection.execute(statement, &[]).unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
}

/// The answers to the queries must be the same after a crash.
fn survives(statements: &[&str], queries: &[&str]) {
    let (before, disk) = database(SimulatedDisk::new(7));
    execute(&before, statements);
    let answers: Vec<_> = queries.iter().map(|query| rows(&before, query)).collect();
    disk.crash_now();
    let (after, _) = database(disk.after_power_cut(3));
    for (query, answer) in queries.iter().zip(&answers) {
        assert!(!answer.is_empty(), "{query}");
        assert_eq!(rows(&after, query), *answer, "{query}");
    }
}

#[test]
fn arrays_in_rows_keys_and_calls() {
    survives(
        &[
            "create table t (k int[] primary key, m text[], c char(3)[], v numeric(9,2)[], b bytea[])",
            "create index on t (m)",
            "insert into t values ('{}', '{}', null, '{}', null), ('{1,null}', '{{a,b},{c,null}}', '{x,y}', \
             '[0:1]={1.5,2}', '{\"\\\\x00\"}')",
            "create procedure put(k int[], m text[], v numeric[]) language plpgsql as $$
             begin insert into t values (k, m, null, v); end $$",
            "set hyades.logging = command",
            "call put('[2:3]={7,8}', '{{{deep}}}', '{1.005,null}')",
            "set hyades.logging = data",
            "call put('{{9},{10}}', '{\"quo\\\"ted\"}', '{1}')",
            "update t set v[3] = 2.345, m[1][2] = 'changed' where k = '{1,null}'",
            "delete from t where k = '{}'",
        ],
        &["select * from t order by k", "select k from t where m = '{{a,changed},{c,null}}'"],
    );
}

#[test]
fn parameters_of_relations() {
    survives(
        &[
            "create table t (a int primary key, b int) with (fillfactor = 70)",
            "create index i on t (b) with (fillfactor = 60)",
            "create view v with (security_barrier) as select a from t",
            "create materialized view m with (fillfactor = 50) as select a from t",
            "alter table t set (autovacuum_enabled = off)",
            "alter index t_pkey set (fillfactor = 80)",
            "alter view v set (security_barrier = false)",
            "alter materialized view m reset (fillfactor)",
            "alter materialized view m set (autovacuum_enabled = on)",
        ],
        &[
            "select relname, reloptions from pg_class where reloptions is not null order by 1",
            "select pg_get_indexdef('i'::regclass), pg_get_indexdef('t_pkey'::regclass)",
        ],
    );
}

#[test]
fn views_of_tables_whose_columns_change() {
    survives(
        &[
            "create table s (a int, b int)",
            "create table t (c int, b int)",
            "insert into s values (1, 2)",
            "insert into t values (3, 2)",
            "create view v as select * from (s cross join t) j(p, q, r, x)",
            "create view w as select * from s join t using (b)",
            "create materialized view m as select z from s k(y, z)",
            "alter table s add column c int default 9, add column r int",
            "alter table t rename b to d",
            "alter table s drop column r",
            "refresh materialized view m",
        ],
        &["select * from v, w, m", "select pg_get_viewdef('v'), pg_get_viewdef('w'), pg_get_viewdef('m')"],
    );
}
