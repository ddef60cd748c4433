//! Domains across crashes and clean stops: their constraints, and what is made of them.

use crate::harness::{across_ends, run, state};

const WORK: &[&str] = &[
    "create domain posint as int check (value > 0)",
    "create domain small as posint default 1 not null check (value < 100)",
    "create type mood as enum ('sad', 'happy')",
    "create domain good as mood check (value <> 'sad')",
    "create function is_even(i int) returns boolean language sql immutable as 'select i % 2 = 0'",
    "create domain even as int check (is_even(value)) check (value > -10)",
    "create table p (id posint primary key, s small, g good, e even)",
    "create procedure put(i int, g mood) language plpgsql as $$ declare s small := i; begin \
     insert into p values (i, s + 1, g, s + s); end $$",
    "call put(1, 'happy')",
    "insert into p (id) values (2)",
    "alter type mood rename value 'happy' to 'glad'",
    "alter type mood add value 'ok'",
    "call put(3, 'ok')",
    "alter domain even rename to pair",
    "alter domain pair drop constraint even_check1",
    "alter domain pair set default 4",
    "alter domain pair add constraint high check (value < 1000) not valid",
    "create schema kept",
    "alter domain posint set schema kept",
    "begin",
    "alter domain kept.posint drop constraint posint_check",
    "insert into p values (-1)",
    "rollback",
    "create table q as select id from p",
    "alter table q alter id type kept.posint",
    "alter table q add s small",
    "comment on domain small is 'below a hundred'",
    "create domain gone as int",
    "drop domain gone",
    "begin",
    "create domain never as int",
    "rollback",
];

const LOOKS: &[&str] = &[
    "select * from p order by id",
    "select * from q order by id",
    "select string_agg(typname || ' ' || oid || ' ' || typnotnull || ' ' || coalesce(typdefault, '-'), ', ' \
     order by oid) from pg_type where typtype = 'd'",
    "select string_agg(conname || ' ' || pg_get_constraintdef(oid), ', ' order by conname) from pg_constraint \
     where contypid >= 16384",
    "select obj_description('small'::regtype, 'pg_type')",
];

#[test]
fn domains_are_recovered() {
    across_ends(WORK, LOOKS, |connection, way| {
        for refused in [
            "insert into p values (0)",
            "insert into p values (9, 100)",
            "insert into p values (9, 1, 'sad')",
            "insert into p values (9, 1, 'glad', 3)",
            "insert into p values (9, 1, 'glad', 1000)",
            "insert into q values (-1)",
        ] {
            assert_eq!(state(connection, refused), "23514", "{refused}, {way}");
        }
        assert_eq!(state(connection, "insert into p values (9, null)"), "23502", "{way}");
        assert_eq!(state(connection, "select 1::never"), "42704", "{way}");
        run(connection, "insert into p (id) values (9)");
        run(connection, "call put(11, 'glad')");
    });
}
