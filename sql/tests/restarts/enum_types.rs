//! Enum types across crashes and clean stops: labels that were added later, between others and under other
//! names, in rows, keys, arrays, and arguments of calls that are logged as commands.

use crate::harness::{across_ends, number, run, state};

const WORK: &[&str] = &[
    "create type mood as enum ('sad', 'happy')",
    "create table p (id int primary key, m mood not null default 'sad', past mood[])",
    "create table by_mood (m mood primary key, n int)",
    "create index p_m on p (m, id)",
    "create procedure put(i int, m mood, past mood[]) language plpgsql as $$ begin \
     insert into p values (i, m, past); update by_mood set n = n + 1 where by_mood.m = put.m; end $$",
    "insert into by_mood values ('sad', 0), ('happy', 0)",
    "call put(1, 'happy', '{sad,NULL,happy}')",
    "call put(2, 'sad', NULL)",
    "alter type mood add value 'ok' before 'happy'",
    "insert into by_mood values ('ok', 0)",
    "call put(3, 'ok', '{ok}')",
    "alter type mood rename value 'happy' to 'glad'",
    "call put(4, 'glad', '{glad,sad}')",
    "begin",
    "alter type mood add value 'never'",
    "call put(5, 'never', NULL)",
    "rollback",
    "begin",
    "alter type mood add value 'furious' before 'sad'",
    "alter type mood add value 'better' after 'ok'",
    "call put(6, 'better', enum_range(null::mood))",
    "commit",
    "create type gone as enum ('x')",
    "create table uses_gone (g gone)",
    "insert into uses_gone values ('x')",
    "drop table uses_gone",
    "drop type gone",
    "create type gone as enum ('y')",
    "alter type gone rename to kept",
    "create function of(t text) returns mood language plpgsql as $$ begin return t; end $$",
    "update p set m = of('furious') where id = 2",
    "create view shown as select id, 'ok'::mood < m as is_good from p",
    "create type shade as enum ('light', 'dark')",
    "create table wall (id int primary key, s shade default 'light' check (s <> 'dark'), n serial, w text)",
    "create unique index wall_light on wall (w) where s = 'light'",
    "create index wall_n on wall (n)",
    "create view walls as select id from wall where s = 'light'",
    "insert into wall (id, w) values (1, 'a'), (2, 'b')",
    "alter type shade rename value 'light' to 'pale'",
    "alter type shade rename to tint",
    "create schema colours",
    "alter type tint set schema colours",
    "insert into wall (id, w) values (3, 'c')",
    "begin",
    "drop type colours.tint cascade",
    "insert into wall (id, w) values (4, 'd')",
    "rollback",
    "insert into wall (id, w) values (4, 'd')",
    "create type lost as enum ('x', 'y')",
    "create table losing (a lost, id serial, b lost[], c int unique, d lost default 'y' check (d > 'x'))",
    "create table refers (c int references losing (c))",
    "insert into losing (c) values (1), (2)",
    "insert into refers values (1)",
    "drop type lost cascade",
    "insert into losing (c) values (3)",
];

const LOOKS: &[&str] = &[
    "select id, m::text, past::text from p order by m desc, id",
    "select m::text, n from by_mood order by m",
    "select id from p where m > 'ok' order by m, id",
    "select * from shown order by id",
    "select enum_range(null::mood)::text, enum_range(null::kept)::text",
    "select id, s::text, n, w from wall order by id",
    "select * from walls order by id",
    "select * from losing order by id",
    "select indexdef from pg_indexes where tablename = 'wall' order by indexname",
    "select string_agg(typname || ' ' || oid || ' ' || typarray, ', ' order by oid) from pg_type where typtype = 'e'",
];

#[test]
fn enum_types_are_recovered() {
    across_ends(WORK, LOOKS, |connection, way| {
        assert_eq!(state(connection, "select 'never'::mood"), "22P02", "{way}");
        assert_eq!(state(connection, "select 'x'::kept"), "22P02", "{way}");
        assert_eq!(state(connection, "drop type mood"), "2BP01", "{way}");
        run(connection, "alter type mood add value 'last'");
        run(connection, "call put(7, 'last', '{last}')");
        assert_eq!(number(connection, "select id from p where m = enum_last(null::mood)"), 7, "{way}");
        assert_eq!(state(connection, "insert into wall (id, w) values (5, 'a')"), "23505", "{way}");
        assert_eq!(state(connection, "insert into wall (id, s) values (5, 'dark')"), "23514", "{way}");
        assert_eq!(state(connection, "insert into refers values (4)"), "23503", "{way}");
        assert_eq!(number(connection, "insert into losing (c) values (4) returning id"), 4, "{way}");
        run(connection, "insert into refers values (4)");
        run(connection, "create type after as enum ('a')");
        let ids = "select count(distinct oid) - count(*) from pg_type where typtype = 'e'";
        assert_eq!(number(connection, ids), 0, "{way}");
    });
}

#[test]
fn a_call_with_an_enum_is_logged_as_a_command() {
    use hyades::Database;
    use hyades::engine::config::ProtocolKind;
    use hyades_sim::disk::SimulatedDisk;

    let database = Database::open(crate::harness::config(&SimulatedDisk::new(1), ProtocolKind::Taurus));
    let mut connection = database.expect("an empty disk").connect().expect("a connection");
    run(&mut connection, "set hyades.logging = command");
    WORK[..7].iter().for_each(|sql| run(&mut connection, sql));
    let lines = connection.query("explain call put(9, 'sad', '{happy}')", &[]).expect("a plan");
    let shown = format!("{lines:?}");
    assert!(shown.contains("Logging: command"), "{shown}");
}
