//! CHECK constraints, generated columns, computed indexes and ALTER TABLE across crashes and clean stops:
//! definitions, rows and what is refused are the same before and after, with calls logged as commands and as
//! data.

use crate::harness::{across_ends, run, state};

/// Schema changes between changes of the rows, committed and rolled back.
const WORK: &[&str] = &[
    "create function small(i int) returns boolean language plpgsql as $$ begin return i < 1000; end $$",
    "create table t (id int primary key, a int check (a > 0), b text, constraint s check (small(id)))",
    "insert into t select i, i, 'b' || i from generate_series(1, 40) i",
    "create procedure put(n int) language plpgsql as $$ begin insert into t (id, a) values (n, n); end $$",
    "call put(50)",
    "alter table t add constraint long check (length(b) > 2) not valid",
    "update t set b = 'longer' where id < 20",
    "begin",
    "alter table t drop constraint t_a_check",
    "insert into t (id, a) values (60, -1)",
    "rollback",
    "delete from t where length(b) < 3",
    "alter table t validate constraint long",
    "call put(51)",
    "alter table t add column c int not null default 5, add column d timestamp default '2024-01-02 03:04:05.6'",
    "call put(52)",
    "alter table t add column e serial, drop column d",
    "update t set c = 6 where id = 52",
    "create table u (x int, t_id int references t, n numeric)",
    "insert into u values (0, 50, 1.5), (0, 51, 2.5)",
    "alter table u drop column x",
    "begin",
    "alter table t drop column b",
    "insert into t (id, a, c) values (80, 80, 80)",
    "alter table t rename a to z",
    "rollback",
    "alter table t rename column a to aa",
    "drop procedure put",
    "create procedure put(n int) language plpgsql as $$ begin insert into t (id, aa) values (n, n); end $$",
    "call put(53)",
    "alter table u alter n type text using n || '!', alter t_id set not null, add unique (n)",
    "insert into u values (53, 'more')",
    "alter table u rename to w",
    "create table u (a int)",
    "insert into u values (1)",
    "alter table w add primary key (n)",
    "alter table w drop constraint w_pkey",
    "insert into w values (53, 'again')",
    "alter table t alter aa type bigint, alter c set default 9",
    "begin",
    "alter table t rename to tt",
    "alter table tt add column f text default 'f'",
    "insert into tt (id, aa) values (90, 90)",
    "alter table tt rename to t",
    "commit",
    "call put(54)",
    "create table v (id int primary key, name text, n int, twice int generated always as (n * 2) stored)",
    "insert into v (id, name, n) select i, 'N' || i, i from generate_series(1, 20) i",
    "create unique index v_name on v (lower(name))",
    "create unique index v_live on v (n) where id > 5",
    "create procedure name(key int) language plpgsql as $$ begin \
     insert into v (id, name, n) values (key, 'n' || key, key); \
     update v set n = n + 1000 where lower(name) = 'n' || key; end $$",
    "call name(50)",
    "alter table v add column more text default 'm'",
    "call name(51)",
    "update v set name = upper(name), n = n + 100 where twice > 30",
    "begin",
    "drop index v_name",
    "insert into v (id, name) values (60, 'n1')",
    "rollback",
    "create index v_sum on v ((n + twice)) where more is not null",
    "drop procedure name",
    "comment on table t is 'of t'",
    "comment on column t.id is 'its key'",
    "comment on index v_live is 'partial'",
    "comment on table w is 'gone'",
    "comment on table w is null",
    "alter table v rename name to label",
    "delete from v where n + twice = 30 and more is not null",
    "create procedure grow(i int) language plpgsql as $$ begin \
     execute format('alter table v add column extra_%s int default %s', i, i); \
     begin alter table v add primary key (n); exception when invalid_table_definition then null; end; \
     execute 'update v set more = $1 where id > 10' using 'grown'; end $$",
    "call grow(1)",
    "call grow(2)",
    "do $$ begin drop procedure grow; create table made (a int); execute 'insert into made values (7)'; end $$",
];

/// What must be the same: the rows, and what the catalog shows.
const LOOKS: &[&str] = &[
    "select * from t order by id",
    "select obj_description('t'::regclass), col_description('t'::regclass, 1), obj_description('v_live'::regclass)",
    "select * from u",
    "select * from w order by n",
    "select * from v order by id",
    "select * from made",
    "select id from v where lower(label) = 'n19'",
    "select id from v where n + twice > 300 and more is not null order by id",
    "select string_agg(indexdef, ' ' order by indexname) from pg_indexes where tablename = 'v'",
    "select string_agg(conname || pg_get_constraintdef(oid), ' ' order by conname) from pg_constraint",
    "select string_agg(attname || attnum, ' ' order by attnum) from pg_attribute where attrelid = 't'::regclass",
];

#[test]
fn altered_tables_are_recovered() {
    across_ends(WORK, LOOKS, |connection, way| {
        assert_eq!(state(connection, "insert into t (id, aa) values (70, 0)"), "23514", "{way}");
        assert_eq!(state(connection, "call put(1000)"), "23514", "{way}");
        run(connection, "call put(999)");
        let taken = "insert into v (id, label, n) values (70, 'n3', 5000)";
        assert_eq!(state(connection, taken), "23505", "{way}");
        let live = "insert into v (id, label, n) values (70, 'new', 1150)";
        assert_eq!(state(connection, live), "23505", "{way}");
        run(connection, "insert into v (id, label, n) values (0, 'old', 1150)");
    });
}
