//! What nests deeply is carried out or refused. It never exhausts the stack of the thread that works for it,
//! which would end the process.

use crate::process::Server;
use crate::raw::{Client, state};

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
    let nots = format!("select k from (select k, {}k > 0 as b from X) x", "not ".repeat(220));
    pile_up(&mut client, "nots", 1000, |below| nots.replace('X', below));
    for name in ["plain0", "low0", "twice0", "grouped0", "both0", "inner0", "nots0"] {
        assert_eq!(run(&mut client, &format!("drop view if exists {name} cascade")), "", "{name}");
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
