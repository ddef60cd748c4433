//! Schemas across stops and crashes: created, renamed and dropped ones, their contents, objects that were
//! moved, and calls that are replayed although their routines have moved since.

use hyades::Database;
use hyades_sim::disk::SimulatedDisk;

use crate::harness::{PROTOCOLS, config, number, run, state};

const WORK: [&str; 28] = [
    "create schema app create table t (id serial primary key, v integer) \
     create view w as select id, v from t where v > 0",
    "insert into app.t (v) values (1), (-2), (3)",
    "set search_path = app",
    "create procedure note(k integer) language plpgsql as $$ begin \
     insert into t (v) select k * count(*) from w; end $$",
    "call note(10)",
    "set search_path = public",
    "create schema gone",
    "create table gone.g (a integer)",
    "drop schema gone cascade",
    "begin",
    "create schema never",
    "create table never.n (a integer)",
    "rollback",
    "create table moved (id integer primary key, t integer references app.t)",
    "create index moved_t on moved (t)",
    "create view over as select count(*)::integer as n from moved",
    "insert into moved values (1, 1)",
    "create schema other",
    "alter table moved set schema other",
    "insert into other.moved values (2, 3)",
    "call app.note(100)",
    "alter schema app rename to application",
    "call application.note(1000)",
    "create schema app",
    "create sequence app.q start 7",
    "alter sequence app.q set schema other",
    "drop schema app",
    "drop schema public cascade",
];

#[test]
fn schemas_are_recovered() {
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
            let schemas = "select count(*) from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'";
            assert_eq!(number(&mut connection, schemas), 2, "{protocol:?}");
            assert_eq!(number(&mut connection, "select sum(v)::bigint from application.t"), 4322);
            assert_eq!(number(&mut connection, "select count(*) from application.w"), 5);
            assert_eq!(number(&mut connection, "select count(*) from other.moved"), 2);
            assert_eq!(number(&mut connection, "select nextval('other.q')"), 7);
            assert_eq!(state(&mut connection, "select * from never.n"), "42P01");
            assert_eq!(state(&mut connection, "create table never.n (a integer)"), "3F000");
            assert_eq!(state(&mut connection, "create table t (a integer)"), "3F000");
            assert_eq!(state(&mut connection, "insert into other.moved values (3, 999)"), "23503");
            assert_eq!(state(&mut connection, "drop schema application"), "2BP01");
            run(&mut connection, "call application.note(1)");
            run(&mut connection, "create schema public");
            run(&mut connection, "create table t (a integer)");
            run(&mut connection, "drop schema application cascade");
            assert_eq!(number(&mut connection, "select count(*) from other.moved"), 2);
            assert_eq!(state(&mut connection, "select * from application.t"), "42P01");
        }
    }
}
