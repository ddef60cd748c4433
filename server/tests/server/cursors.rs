//! SQL cursors over the protocol, and procedures that end transactions.

use crate::process::Server;
use crate::raw::{Answer, Client, bind, close, describe, execute, kinds, parse, state, sync};

fn rows(answers: &[Answer]) -> Vec<Vec<Option<String>>> {
    answers.iter().filter(|answer| answer.kind == b'D').map(Answer::columns).collect()
}

fn server_with_rows() -> (Server, Client) {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    client.query("create table t (a int primary key)");
    client.query("insert into t select generate_series(1, 5)");
    (server, client)
}

#[test]
fn a_cursor_is_fetched_in_parts() {
    let (_server, mut client) = server_with_rows();
    assert_eq!(state(&client.query("declare c cursor for select a from t")), "25P01");
    client.query("begin");
    let declared = client.ask(&[
        parse("", "declare c cursor for select a from t where a > $1 order by a"),
        bind("", "", &["1"]),
        describe('P', ""),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(kinds(&declared), "12nCZ");
    let fetched = client.ask(&[
        parse("fetch", "fetch 3 from c"),
        describe('S', "fetch"),
        bind("", "fetch", &[]),
        execute("", 0),
        bind("", "fetch", &[]),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(kinds(&fetched), "1tT2DDDC2DCZ");
    assert_eq!(fetched[7].tag(), "FETCH 3");
    client.query("commit");
    assert_eq!(state(&client.query("fetch c")), "34000");
    // Several statements in one text are a transaction block too.
    let answers = client.query("declare d cursor for select a from t order by a; fetch 2 in d; close d");
    assert_eq!(kinds(&answers), "CTDDCCZ");
}

/// As psycopg does for a named cursor.
#[test]
fn a_cursor_is_described_and_closed_as_a_portal() {
    let (_server, mut client) = server_with_rows();
    client.query("begin");
    client.query("declare c cursor for select a from t order by a");
    client.query("declare b binary cursor for select a from t order by a");
    let answers = client.ask(&[describe('P', "c"), describe('P', "b"), sync()]);
    assert_eq!(kinds(&answers), "TTZ");
    // The format comes last.
    assert_eq!(answers[0].body[..], [&answers[1].body[..answers[1].body.len() - 1], &[0]].concat());
    assert_eq!(answers[1].body.last(), Some(&1));
    assert_eq!(kinds(&client.ask(&[close('P', "c"), close('P', "none"), sync()])), "33Z");
    assert_eq!(state(&client.query("fetch c")), "34000");
    client.query("rollback");
    assert_eq!(state(&client.ask(&[describe('P', "b"), sync()])), "34000");
}

#[test]
fn a_binary_cursor_gives_bytes_to_a_simple_query() {
    let (_server, mut client) = server_with_rows();
    client.query("begin");
    client.query("declare c binary cursor for select a from t order by a");
    let answers = client.query("fetch c");
    assert_eq!(kinds(&answers), "TDCZ");
    // One column of four bytes.
    assert_eq!(answers[1].body, [0, 1, 0, 0, 0, 4, 0, 0, 0, 1]);
}

#[test]
fn a_procedure_that_commits_is_seen_by_others_before_it_ends() {
    let (server, mut client) = server_with_rows();
    client.query(
        "create procedure p() language plpgsql as $$ begin \
         insert into t values (10); commit; insert into t values (11); perform 1/0; end $$",
    );
    assert_eq!(state(&client.query("call p()")), "22012");
    let mut other = Client::connect(&server);
    assert_eq!(rows(&other.query("select a from t where a >= 10")), [[Some("10".to_owned())]]);
    client.query("delete from t where a = 10");
    assert_eq!(state(&client.query("begin; call p(); commit")), "2D000");
    client.query("rollback");
    let called = client.ask(&[parse("", "call p()"), bind("", "", &[]), execute("", 0), sync()]);
    assert_eq!(state(&called), "22012");
}
