//! The effects of a statement on the rest of its query string, and which answers remain after an error.

use crate::process::Server;
use crate::raw::{Answer, Client, bind, execute, kinds, parse, state, sync};

fn notices(answers: &[Answer]) -> Vec<String> {
    let notices = answers.iter().filter(|answer| answer.kind == b'N');
    notices.map(|notice| notice.field(b'M').unwrap_or_default()).collect()
}

fn values(answers: &[Answer]) -> Vec<Option<String>> {
    answers.iter().filter(|answer| answer.kind == b'D').flat_map(Answer::columns).collect()
}

fn shown(value: &str) -> Option<String> {
    Some(value.to_owned())
}

#[test]
fn notices_before_an_error_are_told_before_it() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    client.query(
        "create procedure fails() language plpgsql as $$ begin raise notice 'before'; raise warning 'again'; \
         raise exception 'check me'; end $$",
    );
    client.query(
        "create function says(i int) returns int language plpgsql as $$ begin raise notice 'says %', i; \
         return 10 / (3 - i); end $$",
    );
    let answers = client.query("call fails()");
    assert_eq!((kinds(&answers).as_str(), state(&answers)), ("NNEZ", "P0001".to_owned()));
    assert_eq!(notices(&answers), ["before", "again"]);
    let answers = client.query("select says(i) from generate_series(1, 5) i");
    assert_eq!((kinds(&answers).as_str(), state(&answers)), ("NNNEZ", "22012".to_owned()));
    assert_eq!(notices(&answers), ["says 1", "says 2", "says 3"]);
    let batch =
        [parse("", "select says(i) from generate_series(1, 5) i"), bind("", "", &[]), execute("", 0), sync()];
    let answers = client.ask(&batch);
    assert_eq!((kinds(&answers).as_str(), state(&answers)), ("12NNNEZ", "22012".to_owned()));
    let answers = client.query("set client_min_messages = warning; call fails()");
    assert_eq!((kinds(&answers).as_str(), notices(&answers)), ("CNEZ", vec!["again".to_owned()]));
}

#[test]
fn a_long_name_is_told_before_what_comes_of_it() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    let long = "n".repeat(70);
    let answers = client.query(&format!("select * from {long}"));
    assert_eq!((kinds(&answers).as_str(), state(&answers)), ("NEZ", "42P01".to_owned()));
    assert_eq!(answers[0].field(b'C').as_deref(), Some("42622"));
    let answers = client.ask(&[parse("", &format!("select 1 as {long}")), sync()]);
    assert_eq!(kinds(&answers), "N1Z");
    let answers = client.query(&format!("create table {long} (a int)"));
    assert_eq!(kinds(&answers), "NCZ");
    assert_eq!(kinds(&client.query(&format!("select * from {}", &long[..63]))), "TCZ");
}

#[test]
fn a_setting_holds_for_the_rest_of_its_query_string() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    let answers = client.query(
        "set extra_float_digits = 0; select 0.1::float8 + 0.2; set timezone = 'Asia/Tokyo'; \
         select timestamptz '2024-01-01 00:00+00'; set search_path = app; select current_schema",
    );
    assert_eq!(values(&answers), [shown("0.3"), shown("2024-01-01 09:00:00+09"), None]);
    // The names in a prepared statement are resolved when it runs.
    client.query("reset search_path; create table t (a int primary key); insert into t values (1)");
    let again = [bind("", "s", &[]), execute("", 0), sync()];
    assert_eq!(kinds(&client.ask(&[parse("s", "select a from t"), sync()])), "1Z");
    assert_eq!(kinds(&client.ask(&again)), "2DCZ");
    client.query("set search_path = app");
    assert_eq!(state(&client.ask(&again)), "42P01");
    client.query("set search_path = app, public");
    assert_eq!(kinds(&client.ask(&again)), "2DCZ");
}

#[test]
fn commands_that_are_their_own_transaction_stand_alone() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    client.query("create table t (a int primary key)");
    for several in [
        "insert into t values (1); vacuum",
        "vacuum; insert into t values (1)",
        "insert into t values (1); discard all",
        "set work_mem = '1MB'; discard all",
        "begin; vacuum",
    ] {
        assert_eq!(state(&client.query(several)), "25001", "{several}");
        client.query("rollback");
    }
    assert_eq!(values(&client.query("select count(*) from t")), [shown("0")]);
    for alone in ["vacuum", "vacuum;", "discard all", "vacuum t"] {
        assert_eq!(kinds(&client.query(alone)), "CZ", "{alone}");
    }
    let alone = [parse("", "vacuum"), bind("", "", &[]), execute("", 0), sync()];
    assert_eq!(kinds(&client.ask(&alone)), "12CZ");
    let answers =
        client.query("begin read only; select 1; set transaction read write; insert into t values (1)");
    assert_eq!(state(&answers), "25001");
    client.query("rollback");
    assert_eq!(values(&client.query("select count(*) from t")), [shown("0")]);
}
