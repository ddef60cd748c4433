//! CHECK constraints, generated columns, computed indexes and ALTER TABLE across crashes and clean stops.
//! Definitions, rows and refusals are the same before and after, with calls logged as commands and as data.

use crate::harness::{across_ends, number, run, state};

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
    "comment on index v_sum is 'computed'",
    "create table likewise (like v including all)",
    "insert into likewise (id, label, n) values (1, 'One', 7), (2, 'Two', 3)",
    "create procedure alike(key int) language plpgsql as $$ begin \
     insert into likewise (id, label, n) values (key, 'n' || key, key); \
     update likewise set n = n + 1000 where lower(label) = 'n' || key; end $$",
    "call alike(50)",
    "begin",
    "create table never (like likewise including all)",
    "rollback",
    "create table parent (id int, n int)",
    "insert into parent values (1, 10), (2, 20)",
    "create unique index parent_id on parent (id)",
    "create unique index parent_n on parent (n)",
    "alter table parent add constraint parent_key primary key using index parent_id, add constraint ns unique using index parent_n",
    "create table child (p int constraint to_parent references parent, n int constraint to_n references parent (n))",
    "alter table child alter constraint to_parent deferrable initially deferred, alter constraint to_n deferrable",
    "begin",
    "insert into child values (3, 20)",
    "insert into parent values (3, 30)",
    "commit",
    "begin",
    "alter table child alter constraint to_parent not deferrable",
    "alter table parent drop constraint parent_key cascade",
    "rollback",
    "create table x (id int generated always as identity, n int generated by default as identity, m int)",
    "insert into x (m) values (1), (2)",
    "alter table x alter id set generated by default, alter id set increment 5 restart with 100",
    "insert into x (m) values (3), (4)",
    "begin",
    "alter table x alter id restart with 7, alter n drop identity",
    "rollback",
    "insert into x (m) values (5)",
    "alter table x alter n drop identity, alter m set not null",
    "alter table x alter m add generated always as identity (start 70)",
    "insert into x (n) values (6)",
    "do $$ begin drop procedure grow; create table made (a int); execute 'insert into made values (7)'; end $$",
];

/// Queries whose results must stay the same: the rows, and what the catalog shows.
const LOOKS: &[&str] = &[
    "select * from t order by id",
    "select obj_description('t'::regclass), col_description('t'::regclass, 1), obj_description('v_live'::regclass)",
    "select * from u",
    "select * from w order by n",
    "select * from v order by id",
    "select * from made",
    "select * from x order by id",
    "select * from likewise order by id",
    "select conname, condeferrable, condeferred from pg_constraint where conrelid = 'child'::regclass order by 1",
    "select indexname, indexdef from pg_indexes where tablename = 'parent' order by 1",
    "select * from child",
    "select id from likewise where n + twice > 20 and more is not null",
    "select indexname, indexdef, obj_description(indexname::regclass) from pg_indexes where tablename = 'likewise' order by 1",
    "select attname, attidentity, atthasdef from pg_attribute where attrelid = 'x'::regclass and attnum > 0",
    "select seqrelid::regclass::text, seqstart, seqincrement from pg_sequence order by 1",
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
        assert_eq!(number(connection, "insert into x (n) values (7) returning id"), 120, "{way}");
        assert_eq!(number(connection, "insert into x (n) values (8) returning m"), 72, "{way}");
        assert_eq!(state(connection, "insert into x (m) values (9)"), "428C9", "{way}");
        assert_eq!(state(connection, "select nextval('x_n_seq')"), "42P01", "{way}");
        let alike = "insert into likewise (id, label, n) values (3, 'ONE', 7)";
        assert_eq!(state(connection, alike), "23505", "{way}");
        assert_eq!(state(connection, "insert into parent values (2, 50)"), "23505", "{way}");
        assert_eq!(state(connection, "insert into parent values (5, 20)"), "23505", "{way}");
        assert_eq!(state(connection, "insert into child values (9, 20)"), "23503", "{way}");
        run(connection, "begin");
        run(connection, "insert into child values (4, 20)");
        run(connection, "insert into parent values (4, 40)");
        run(connection, "commit");
        let live = "insert into v (id, label, n) values (70, 'new', 1150)";
        assert_eq!(state(connection, live), "23505", "{way}");
        run(connection, "insert into v (id, label, n) values (0, 'old', 1150)");
    });
}
