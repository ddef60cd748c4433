//! Composite types across crashes and clean stops: rows, keys, arrays and arguments of calls, before and
//! after the type has changed.

use crate::harness::{across_ends, number, run, state};

const WORK: &[&str] = &[
    "create type mood as enum ('sad', 'happy')",
    "create type pair as (a int, b text, m mood)",
    "create type outer_pair as (n numeric, p pair, ps pair[])",
    "create table t (id int primary key, p pair, ps pair[] default '{}', o outer_pair)",
    "create table by_pair (p pair primary key, n int)",
    "create table item (id int, label text)",
    "create index t_p on t (p, id)",
    "create procedure put(i int, p pair, ps pair[], o outer_pair) language plpgsql as $$ begin \
     insert into t values (i, p, ps, o); update by_pair set n = n + 1 where by_pair.p = put.p; end $$",
    "create procedure keep(i item) language plpgsql as $$ begin insert into item values (i.id, i.label); end $$",
    "insert into by_pair values ((1, 'x', 'sad'), 0), ((2, null, null), 0)",
    "call put(1, (1, 'x', 'sad'), array[(3, 'y', 'happy')::pair, null], null)",
    "call put(2, (2, null, null), null, (1.50, (4, 'z', null), '{\"(5,w,sad)\"}'))",
    "call put(3, null, '{}', (null, null, null))",
    "call keep((1, 'one'))",
    "insert into t (id, p.b) values (4, 'four')",
    "alter type pair add attribute since date",
    "call put(5, (1, 'x', 'happy', '2020-02-02'), null, (2, (1, 'q', 'sad', '2021-01-01'), null))",
    "insert into by_pair values ((1, 'x', 'sad', '2020-01-01'), 5)",
    "alter type mood add value 'ok' before 'happy'",
    "update t set p.m = 'ok' where id = 4",
    "alter type pair rename attribute b to label",
    "alter type outer_pair add attribute more pair, drop attribute n",
    "call put(6, null, null, ((6, 'six', 'ok', null), null, (7, 'seven', 'sad', null)))",
    "begin",
    "alter type pair add attribute never int",
    "insert into t (id, p.never) values (7, 1)",
    "rollback",
    "alter table item add column extra int default 7",
    "call keep((2, 'two', 3))",
    "create function found(i int) returns item language sql as $$ select * from item where id = i $$",
    "create function all_of() returns setof pair language sql as $$ select (p).* from t order by id $$",
    "create view shown as select id, (p).label, p from t",
    "create type gone as (x int)",
    "create table uses_gone (g gone, i int)",
    "insert into uses_gone values (row(1), 1)",
    "drop type gone cascade",
    "create schema s",
    "alter type pair set schema s",
    "alter type s.pair rename to couple",
    "insert into t (id, p) values (8, '(8,eight,happy,)'::s.couple)",
];

const LOOKS: &[&str] = &[
    "select id, p::text, ps::text, o::text from t order by p desc, id",
    "select p::text, n from by_pair order by p",
    "select id from t where p > (1, 'x', 'sad', null)::s.couple order by p, id",
    "select * from shown order by id",
    "select found(1)::text, found(2)::text",
    "select * from all_of()",
    "select * from item order by id",
    "select * from uses_gone",
    "select string_agg(typname || ' ' || oid || ' ' || typarray, ', ' order by oid) from pg_type where typtype = 'c'",
];

#[test]
fn composite_types_are_recovered() {
    across_ends(WORK, LOOKS, |connection, way| {
        assert_eq!(state(connection, "select null::gone"), "42704", "{way}");
        assert_eq!(state(connection, "drop type s.couple"), "2BP01", "{way}");
        assert_eq!(
            state(connection, "insert into by_pair values ((2, null, null, null), 1)"),
            "23505",
            "{way}"
        );
        run(connection, "alter type s.couple add attribute last int");
        run(connection, "call put(9, (9, 'nine', 'ok', null, 99), null, null)");
        assert_eq!(number(connection, "select (p).last from t where (p).a = 9"), 99, "{way}");
        run(connection, "call keep((3, 'three', 4))");
        assert_eq!(number(connection, "select (found(3)).extra"), 7, "{way}");
        run(connection, "create type after as (a int)");
        let ids = "select count(distinct oid) - count(*) from pg_type";
        assert_eq!(number(connection, ids), 0, "{way}");
    });
}

#[test]
fn a_call_with_a_row_is_logged_as_a_command() {
    use hyades::Database;
    use hyades::engine::config::ProtocolKind;
    use hyades_sim::disk::SimulatedDisk;

    let database = Database::open(crate::harness::config(&SimulatedDisk::new(1), ProtocolKind::Taurus));
    let mut connection = database.expect("an empty disk").connect().expect("a connection");
    run(&mut connection, "set hyades.logging = command");
    WORK[..13].iter().for_each(|sql| run(&mut connection, sql));
    let call = "explain call put(9, (1, 'x', 'sad'), '{\"(1,a,)\"}', null)";
    let shown = format!("{:?}", connection.query(call, &[]).expect("a plan"));
    assert!(shown.contains("Logging: command"), "{shown}");
}
