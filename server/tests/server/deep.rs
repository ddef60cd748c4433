//! What nests deeply is carried out or refused. It never exhausts the stack of the thread that works for it,
//! which would end the process.

use crate::process::{Server, wait_for};
use crate::raw::{Client, cancel_request, query, state};

fn run(client: &mut Client, sql: &str) -> String {
    state(&client.query(sql))
}

/// Views, each on the one before, until one is refused.
fn pile_up(client: &mut Client, name: &str, most: usize, select: impl Fn(&str) -> String) -> usize {
    assert_eq!(run(client, &format!("create temp view {name}0 as select k from t")), "");
    for number in 1..=most {
        let below = format!("{name}{}", number - 1);
        let created = run(client, &format!("create temp view {name}{number} as {}", select(&below)));
        if !created.is_empty() {
            assert_eq!(created, "54001");
            return number;
        }
    }
    panic!("{most} views on views");
}

#[test]
fn views_on_views_never_exhaust_the_stack() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    assert_eq!(run(&mut client, "create temp table t (k integer)"), "");
    let refused = pile_up(&mut client, "plain", 1000, |below| format!("select * from {below}"));
    assert!(refused > 100, "{refused}");
    let last = format!("plain{}", refused - 1);
    for sql in [
        format!("select * from {last}"),
        format!("explain select * from {last}"),
        format!("insert into {last} values (1)"),
        format!("update {last} set k = 2"),
        format!("delete from {last}"),
        format!("copy (select * from {last}) to stdout"),
        format!("create temp table copied as select * from {last}"),
        format!("declare held cursor with hold for select * from {last}"),
        format!("create function counted() returns bigint language sql as 'select count(*) from {last}'"),
        "select counted()".to_owned(),
        format!("do $$ begin perform * from {last}; end $$"),
        format!("do $$ begin execute 'select * from {last}'; end $$"),
        format!("prepare named as select * from {last}"),
        "execute named".to_owned(),
    ] {
        assert_eq!(run(&mut client, &sql), "", "{sql}");
    }
    // A view may be replaced by one that is on others, which makes those on it deeper than they could be
    // created.
    assert_eq!(run(&mut client, "create temp view low0 as select k from t"), "");
    for number in 1..150 {
        let sql = format!("create temp view low{number} as select * from low{}", number - 1);
        assert_eq!(run(&mut client, &sql), "");
    }
    assert_eq!(run(&mut client, "create or replace temp view plain0 as select k from low149"), "");
    for sql in ["select * from X", "insert into X values (1)", "delete from X"] {
        assert_eq!(run(&mut client, &sql.replace('X', &last)), "54001", "{sql}");
    }
    let refused = pile_up(&mut client, "twice", 60, |below| format!("select a.k from {below} a, {below} b"));
    assert!(refused > 8, "{refused}");
    pile_up(&mut client, "grouped", 1000, |below| format!("select k from {below} group by k"));
    pile_up(&mut client, "both", 60, |below| {
        format!("select k from {below} union all select k from {below}")
    });
    pile_up(&mut client, "inner", 1000, |below| format!("select (select k from {below} limit 1) as k"));
    // Each of them is short, and all of them together are not.
    let nots = format!("select k from (select k, {}k > 0 as b from X) x", "not ".repeat(40));
    pile_up(&mut client, "nots", 1000, |below| nots.replace('X', below));
    for name in ["plain0", "low0", "twice0", "grouped0", "both0", "inner0", "nots0"] {
        assert_eq!(run(&mut client, &format!("drop view if exists {name} cascade")), "", "{name}");
    }
    assert_eq!(run(&mut client, "select 1"), "");
}

/// Expressions over a column `k`, and conditions over it.
fn deep_expressions() -> Vec<(String, String)> {
    let calls = format!("{}k{}", "abs(".repeat(450), ")".repeat(450));
    // What is shown by the catalog binds the operands of each operator once more: time grows with the square.
    let sum = format!("k{}", "+k".repeat(1_000));
    let nots = format!("{}k > 0", "not ".repeat(1_000));
    let few_nots = format!("{}k > 0", "not ".repeat(300));
    let queries = format!("{}1{}", "(select ".repeat(222), ")".repeat(222));
    let many_queries = format!("{}1{}", "(select ".repeat(2_000), ")".repeat(2_000));
    let parentheses = format!("{}k{}", "(".repeat(5_000), ")".repeat(5_000));
    [calls, sum, queries, many_queries, parentheses]
        .into_iter()
        .map(|value| (value.clone(), format!("{value} >= 0")))
        .chain([("k".to_owned(), nots), (format!("case when {few_nots} then 1 end"), few_nots)])
        .collect()
}

/// With V for an expression, and C for a condition.
const STATEMENTS: [&str; 58] = [
    "create temp table made (k integer, check (C))",
    "insert into made values (1)",
    "create temp table made2 (k integer, g integer generated always as (V) stored)",
    "insert into made2 values (1)",
    "create temp table made3 (k integer, d integer default V)",
    "insert into made3 values (1)",
    "create temp table made4 (like made3 including all, like made2 including generated)",
    "create temp table made5 as select V from a",
    "alter table a add check (C)",
    "alter table a add constraint c check (C) not valid",
    "alter table a validate constraint c",
    "alter table a add n integer check (C)",
    "alter table a add p integer default V",
    "alter table a alter d set default V",
    "alter table a add g integer generated always as (V) stored",
    "alter table a alter k type bigint using V",
    "alter table a alter k type bigint using (V)::bigint",
    "alter table a rename k to other",
    "alter table a rename other to k",
    "create index on a ((V))",
    "create unique index on a ((V), k)",
    "create index on a (k) where C",
    "create index on a ((V)) where C",
    "insert into a (k) values (3)",
    "update a set k = 4",
    "insert into a (k) values (5) on conflict ((V)) do nothing",
    "delete from a where C",
    "create temp view w as select V as v from a",
    "select * from w",
    "create or replace temp view w as select V as v from a",
    "create function f_sql(k integer) returns integer language sql as 'select V'",
    "select f_sql(1)",
    "create function f_plpgsql(k integer) returns integer language plpgsql as 'begin return V; end'",
    "select f_plpgsql(1)",
    "create procedure p_sql(k integer) language plpgsql as 'begin if C then k := V; end if; end'",
    "call p_sql(1)",
    "create function f_default(k integer default V) returns integer language sql as 'select 1'",
    "select f_default()",
    "do $$ declare k integer := 1; begin k := V; perform V; end $$",
    "do $$ declare k integer := 1; begin execute 'alter table a add check (C)'; end $$",
    "do $$ begin execute 'select V from a'; end $$",
    "do $$ begin create index on a ((V)); end $$",
    "prepare p as select V from a",
    "execute p",
    "deallocate all",
    "declare held cursor with hold for select V from a",
    "copy (select V from a) to stdout",
    "create schema deep create table t (k integer, check (C)) create view w as select V from t",
    "create schema deep create table t (k integer) create index on t ((V))",
    "select pg_get_expr(adbin, adrelid) from pg_attrdef",
    "select pg_get_constraintdef(oid) from pg_constraint",
    "select pg_get_indexdef(indexrelid), pg_get_viewdef('w'::regclass) from pg_index",
    "select prosrc from pg_proc where proname like 'f%'",
    "drop schema if exists deep cascade",
    "drop table if exists a, made, made2, made3, made4, made5 cascade",
    "drop function if exists f_sql, f_plpgsql, f_default",
    "drop procedure if exists p_sql",
    "close all",
];

#[test]
fn deep_expressions_never_exhaust_the_stack() {
    let server = Server::start(&["--memory-limit", "1024", "--memory-per-connection", "256"]);
    let mut client = Client::connect(&server);
    for (value, condition) in deep_expressions() {
        assert_eq!(run(&mut client, "create temp table a (k integer, b boolean, d integer)"), "");
        assert_eq!(run(&mut client, "insert into a values (1), (2)"), "");
        for statement in STATEMENTS {
            let outcome = run(&mut client, &statement.replace('V', &value).replace('C', &condition));
            assert_ne!(outcome, "57014", "{statement}");
        }
    }
    assert_eq!(run(&mut client, "select 1"), "");
}

#[test]
fn a_long_list_of_joins_is_explained() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    assert_eq!(run(&mut client, "create temp table t (k integer)"), "");
    let tables: Vec<String> = (0..3_000).map(|number| format!("t t{number}")).collect();
    let select = format!("select 1 from {}", tables.join(","));
    for explain in ["explain", "explain analyze", "explain (analyze, format json)"] {
        let outcome = run(&mut client, &format!("{explain} {select}"));
        assert!(matches!(outcome.as_str(), "" | "53200"), "{outcome}: {explain}");
    }
}

#[test]
fn a_line_of_parentheses_is_refused_at_once() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    let (open, close) = ("(".repeat(400_000), ")".repeat(400_000));
    for sql in
        [format!("select {open}"), format!("select {open}1{close}"), format!("select 1 in {open}1{close}")]
    {
        assert_eq!(run(&mut client, &sql), "54001");
    }
    // Each of them contains all the others, and what follows. The time used to grow with the square of the
    // depth, to minutes, for which no client waits here.
    let (open, close) = ("(".repeat(4_000), ")".repeat(4_000));
    let items = "1, ".repeat(100_000);
    for sql in [
        format!("select {open}select array[{items}1]{close}"),
        format!("select {}({items}1){}", "1 in ((".repeat(2_000), "))".repeat(2_000)),
    ] {
        assert!(
            ["", "42601", "42804", "42883", "54001", "0A000", "53200"]
                .contains(&run(&mut client, &sql).as_str())
        );
    }
}

#[test]
fn others_see_what_a_session_compiles() {
    let server = Server::start(&[]);
    let (mut client, mut other) = (Client::connect(&server), Client::connect(&server));
    let tables: Vec<String> = (0..8_000).map(|number| format!("pg_class t{number}")).collect();
    client.send(&[query(&format!("select 1 as long_list from {}", tables.join(",")))]);
    let sql = format!("select state from pg_stat_activity where pid = {}", client.process_id);
    let is_active = || {
        let answers = other.query(&format!("{sql} and query like 'select 1 as long_list%'"));
        let row = answers.iter().find(|answer| answer.kind == b'D')?;
        (row.columns() == [Some("active".to_owned())]).then_some(())
    };
    wait_for("the statement to be shown", is_active);
    cancel_request(&server, client.process_id, &client.secret);
    client.until_ready();
}
