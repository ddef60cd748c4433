//! The protocol message by message: order of answers, portals, errors, pipelines, COPY, cancel.

use std::io::Write;
use std::time::Duration;

use crate::process::{Server, wait_for};
use crate::raw::{
    Answer, Client, bind, close, describe, execute, flush, kinds, message, parse, query, read_answer,
    startup, state, sync,
};

fn server_with_numbers() -> (Server, Client) {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    client.query("create table numbers (id integer primary key, name text)");
    client.query("insert into numbers values (1, 'one'), (2, 'two'), (3, 'three'), (4, null), (5, 'five')");
    (server, client)
}

fn first_columns(answers: &[Answer]) -> Vec<String> {
    let rows = answers.iter().filter(|answer| answer.kind == b'D');
    rows.map(|row| row.columns()[0].clone().unwrap_or_default()).collect()
}

#[test]
fn the_greeting_has_thirteen_settings_a_key_and_is_ready() {
    let server = Server::start(&[]);
    let client = Client::connect(&server);
    assert_eq!(kinds(&client.greeting), "RSSSSSSSSSSSSSKZ");
    assert_eq!(client.greeting[0].body, [0, 0, 0, 0]);
    assert_eq!(client.greeting.last().unwrap().body, b"I");
}

#[test]
fn a_newer_protocol_is_negotiated_down() {
    let server = Server::start(&[]);
    let mut stream = server.connect();
    stream.write_all(&startup(196_610, &[("user", "hyades"), ("_pq_.magic", "1")])).unwrap();
    let answer = read_answer(&mut stream).unwrap();
    assert_eq!((answer.kind, &answer.body[..8]), (b'v', &[0, 3, 0, 0, 0, 0, 0, 1][..]));
    assert_eq!(&answer.body[8..], b"_pq_.magic\0");
    assert_eq!(read_answer(&mut stream).unwrap().kind, b'R');
}

#[test]
fn a_batch_is_answered_in_order() {
    let (_server, mut client) = server_with_numbers();
    let answers = client.ask(&[
        parse("s", "select id, name from numbers where id = $1"),
        describe('S', "s"),
        bind("", "s", &["2"]),
        describe('P', ""),
        execute("", 0),
        bind("", "s", &["4"]),
        execute("", 0),
        close('S', "s"),
        sync(),
    ]);
    assert_eq!(kinds(&answers), "1tT2TDC2DC3Z");
    assert_eq!(answers[1].body, [0, 1, 0, 0, 0, 23]);
    assert_eq!(answers[5].columns(), [Some("2".to_owned()), Some("two".to_owned())]);
    assert_eq!(answers[6].tag(), "SELECT 1");
    assert_eq!(answers[8].columns(), [Some("4".to_owned()), None]);
    // Column 1: name, table, attribute 1, integer of 4 bytes without modifier, text format.
    let description = &answers[2].body;
    assert_eq!(&description[..5], b"\0\x02id\0");
    assert_ne!(&description[5..9], [0; 4]);
    assert_eq!(&description[9..23], [0, 1, 0, 0, 0, 23, 0, 4, 255, 255, 255, 255, 0, 0]);
}

#[test]
fn a_row_limit_suspends_the_portal() {
    let (_server, mut client) = server_with_numbers();
    let answers = client.ask(&[
        parse("", "select id from numbers order by id"),
        bind("p", "", &[]),
        execute("p", 2),
        execute("p", 2),
        execute("p", 2),
        execute("p", 2),
        sync(),
    ]);
    assert_eq!(kinds(&answers), "12DDsDDsDCCZ");
    assert_eq!(first_columns(&answers), ["1", "2", "3", "4", "5"]);
    assert_eq!((answers[9].tag(), answers[10].tag()), ("SELECT 1".to_owned(), "SELECT 0".to_owned()));
    let answers = client.ask(&[execute("p", 0), sync()]);
    assert_eq!((kinds(&answers), state(&answers)), ("EZ".to_owned(), "34000".to_owned()));
    for limit in [i32::MAX, i32::MIN, -1] {
        let answers =
            client.ask(&[parse("", "select id from numbers"), bind("", "", &[]), execute("", limit), sync()]);
        assert_eq!(kinds(&answers), "12DDDDDCZ", "{limit}");
    }
}

#[test]
fn a_row_limit_on_a_command_without_rows_changes_nothing() {
    let (_server, mut client) = server_with_numbers();
    let update = parse("", "update numbers set name = 'x' where id = 1");
    let answers = client.ask(&[update, bind("", "", &[]), execute("", 1), execute("", 1), sync()]);
    assert_eq!(kinds(&answers), "12CEZ");
    assert_eq!((answers[2].tag(), state(&answers)), ("UPDATE 1".to_owned(), "55000".to_owned()));
    let name = client.query("select name from numbers where id = 1");
    assert_eq!(first_columns(&name), ["one"], "the error has undone the whole batch");
}

#[test]
fn names_that_do_not_exist_and_names_that_do() {
    let (_server, mut client) = server_with_numbers();
    for (messages, expected) in [
        (vec![bind("", "nothing", &[])], "26000"),
        (vec![describe('S', "nothing")], "26000"),
        (vec![describe('P', "nothing")], "34000"),
        (vec![execute("nothing", 0)], "34000"),
        (vec![parse("twice", "select 1"), parse("twice", "select 1")], "42P05"),
        (vec![parse("", "select $1::integer"), bind("", "", &[])], "08P01"),
        (vec![parse("", "select $1::integer"), bind("", "", &["x"])], "22P02"),
        (vec![parse("", "selec 1")], "42601"),
        (vec![message(b'B', b"\0")], "08P01"),
    ] {
        let answers = client.ask(&[messages, vec![execute("skipped", 0), sync()]].concat());
        assert_eq!(state(&answers), expected);
        assert_eq!(answers.iter().filter(|answer| answer.kind == b'E').count(), 1);
        assert_eq!(answers.last().unwrap().body, b"I");
    }
    let answers = client.ask(&[close('S', "nothing"), close('P', "nothing"), sync()]);
    assert_eq!(kinds(&answers), "33Z");
}

/// The names are looked up when the values are bound.
#[test]
fn a_parameter_is_a_name_of_an_object() {
    let (_server, mut client) = server_with_numbers();
    let columns =
        "select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 order by attnum";
    let answers =
        client.ask(&[parse("columns", columns), bind("", "columns", &["numbers"]), execute("", 0), sync()]);
    assert_eq!(
        (kinds(&answers).as_str(), first_columns(&answers)),
        ("12DDCZ", vec!["id".into(), "name".into()])
    );
    let answers = client.ask(&[bind("", "columns", &["missing"]), execute("", 0), sync()]);
    assert_eq!((kinds(&answers).as_str(), state(&answers).as_str()), ("EZ", "42P01"));
    client.query("create table missing (a integer)");
    let answers = client.ask(&[bind("", "columns", &["missing"]), execute("", 0), sync()]);
    assert_eq!(first_columns(&answers), ["a"]);

    let types = parse("types", "select $1::regtype, $1::oid = 'integer'::regtype::oid");
    let answers = client.ask(&[types, bind("", "types", &["int4"]), execute("", 0), sync()]);
    assert_eq!(first_columns(&answers), ["integer"]);
}

#[test]
fn an_error_in_a_batch_undoes_it_and_the_next_batch_runs() {
    let (_server, mut client) = server_with_numbers();
    let insert = parse("", "insert into numbers values (6, 'six')");
    let failing = parse("", "insert into numbers values (1, 'again')");
    let run = || [bind("", "", &[]), execute("", 0)].concat();
    client.send(&[insert.clone(), run(), failing, run(), sync(), insert, run(), sync()]);
    let answers = client.until_ready();
    assert_eq!((kinds(&answers), state(&answers)), ("12C12EZ".to_owned(), "23505".to_owned()));
    assert_eq!(kinds(&client.until_ready()), "12CZ");
}

#[test]
fn a_failure_before_the_session_sees_it_fails_the_transaction() {
    let (_server, mut client) = server_with_numbers();
    client.query("begin");
    let answers = client.ask(&[bind("", "nothing", &[]), sync()]);
    assert_eq!(answers.last().unwrap().body, b"E");
    assert_eq!(state(&client.query("select 1")), "25P02");
    assert_eq!(client.query("rollback").last().unwrap().body, b"I");
}

#[test]
fn a_statement_of_parse_is_deallocated_by_sql() {
    let (_server, mut client) = server_with_numbers();
    client.ask(&[parse("one", "select 1"), parse("two", "select 2"), parse("three", "select 3"), sync()]);
    assert_eq!(kinds(&client.query("deallocate one")), "CZ");
    assert_eq!(
        kinds(&client.ask(&[parse("", "deallocate two"), bind("", "", &[]), execute("", 0), sync()])),
        "12CZ"
    );
    for gone in ["one", "two"] {
        assert_eq!(state(&client.ask(&[describe('S', gone), sync()])), "26000");
    }
    assert_eq!(state(&client.query("deallocate one")), "26000");
    assert_eq!(kinds(&client.query("deallocate all")), "CZ");
    assert_eq!(state(&client.ask(&[describe('S', "three"), sync()])), "26000");
}

#[test]
fn flush_sends_what_is_there() {
    let (_server, mut client) = server_with_numbers();
    client.send(&[parse("", "select id from numbers where id = 1"), describe('S', ""), flush()]);
    let answers: Vec<_> = (0..3).map(|_| client.answer()).collect();
    assert_eq!(kinds(&answers), "1tT");
    client.send(&[bind("", "", &[]), execute("", 0), flush()]);
    let answers: Vec<_> = (0..3).map(|_| client.answer()).collect();
    assert_eq!(kinds(&answers), "2DC");
    client.send(&[bind("", "nothing", &[])]);
    assert_eq!(client.answer().kind, b'E', "errors do not wait for Sync");
    assert_eq!(kinds(&client.ask(&[sync()])), "Z");
}

#[test]
fn empty_queries_have_their_own_answer() {
    let (_server, mut client) = server_with_numbers();
    for sql in ["", ";", " ;; ", "-- nothing", "/* nothing */ ;"] {
        assert_eq!(kinds(&client.query(sql)), "IZ", "{sql:?}");
    }
    let answers = client.ask(&[parse("", ""), describe('S', ""), bind("", "", &[]), execute("", 0), sync()]);
    assert_eq!(kinds(&answers), "1tn2IZ");
}

#[test]
fn a_text_of_several_statements_is_one_transaction() {
    let (_server, mut client) = server_with_numbers();
    let answers = client.query(
        "insert into numbers values (7, 'a;b'); select id from numbers where id = 7; select 1/0; select 2",
    );
    assert_eq!((kinds(&answers), state(&answers)), ("CTDCEZ".to_owned(), "22012".to_owned()));
    assert_eq!(kinds(&client.query("select id from numbers where id = 7")), "TCZ");
    let answers = client.query("select 1; selec 2");
    assert_eq!(answers.iter().find_map(|answer| answer.field(b'P')).as_deref(), Some("11"));
}

#[test]
fn copy_in_both_protocols() {
    let (_server, mut client) = server_with_numbers();
    client.send(&[query("copy numbers from stdin; select count(*) from numbers")]);
    let answer = client.answer();
    assert_eq!((answer.kind, &answer.body[..]), (b'G', &[0, 0, 2, 0, 0, 0, 0][..]));
    let answers = client.ask(&[message(b'd', b"10\tten\n1"), message(b'd', b"1\t\\N\n"), message(b'c', b"")]);
    assert_eq!(kinds(&answers), "CTDCZ");
    assert_eq!((answers[0].tag(), first_columns(&answers)), ("COPY 2".to_owned(), vec!["7".to_owned()]));

    client.send(&[parse("", "copy numbers from stdin"), bind("", "", &[]), execute("", 0), sync()]);
    let answers: Vec<_> = (0..3).map(|_| client.answer()).collect();
    assert_eq!(kinds(&answers), "12G");
    let answers = client.ask(&[message(b'd', b"12\ttwelve\n"), message(b'c', b""), sync()]);
    assert_eq!((kinds(&answers), answers[0].tag()), ("CZ".to_owned(), "COPY 1".to_owned()));

    let answers = client.query("copy numbers to stdout");
    assert_eq!(kinds(&answers), "HddddddddcCZ");
    assert_eq!(answers[1].body, b"1\tone\n");
}

/// Copied data is cut as PostgreSQL does: a message for each row, the header in the first, the end apart.
#[test]
fn binary_copy() {
    let (_server, mut client) = server_with_numbers();
    let header = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
    let row = b"\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x03one";
    let answers =
        client.query("copy (select * from numbers where id in (1, 4) order by id) to stdout binary");
    assert_eq!(kinds(&answers), "HdddcCZ");
    assert_eq!(answers[0].body, [1, 0, 2, 0, 1, 0, 1]);
    assert_eq!(answers[1].body, [&header[..], row].concat());
    assert_eq!(answers[2].body, b"\0\x02\0\0\0\x04\0\0\0\x04\xff\xff\xff\xff");
    assert_eq!(answers[3].body, [0xff, 0xff]);
    let answers = client.query("copy (select 1 where false) to stdout binary");
    assert_eq!(kinds(&answers), "HdcCZ");
    assert_eq!(answers[1].body, [&header[..], &[0xff, 0xff]].concat());
    client.query("delete from numbers");
    client.send(&[query("copy numbers from stdin binary; select count(*) from numbers")]);
    let answer = client.answer();
    assert_eq!((answer.kind, &answer.body[..]), (b'G', &[1, 0, 2, 0, 1, 0, 1][..]));
    let answers = client.ask(&[
        message(b'd', &header[..9]),
        message(b'd', &[&header[9..], &row[..7]].concat()),
        message(b'd', &row[7..]),
        message(b'c', b""),
    ]);
    assert_eq!(kinds(&answers), "CTDCZ");
    assert_eq!(answers[0].tag(), "COPY 1");
    client.send(&[parse("", "copy numbers from stdin binary"), bind("", "", &[]), execute("", 0), sync()]);
    assert_eq!([client.answer().kind, client.answer().kind, client.answer().kind], *b"12G");
    let answers = client.ask(&[message(b'd', header), message(b'd', b"\0\x01"), message(b'c', b""), sync()]);
    assert_eq!((kinds(&answers).as_str(), state(&answers).as_str()), ("EZ", "22P04"));
    assert_eq!(answers[0].field(b'W').as_deref(), Some("COPY numbers, line 1"));
    assert_eq!(client.query("select * from numbers").len(), 4);
}

#[test]
fn a_copy_can_fail_in_every_way() {
    let (_server, mut client) = server_with_numbers();
    for (messages, expected) in [
        (vec![message(b'f', b"changed my mind\0")], "57014"),
        (vec![message(b'd', b"x\ty\n"), message(b'c', b"")], "22P02"),
        (vec![message(b'd', b"20\n"), message(b'c', b"")], "22P04"),
        (vec![parse("", "select 1")], "08P01"),
    ] {
        client.send(&[query("copy numbers from stdin")]);
        assert_eq!(client.answer().kind, b'G');
        let answers = client.ask(&messages);
        assert_eq!((kinds(&answers), state(&answers)), ("EZ".to_owned(), expected.to_owned()));
        // The rest of the failed COPY is ignored.
        assert_eq!(first_columns(&client.query("select count(*) from numbers")), ["5"]);
    }
}

#[test]
fn a_cancel_request_ends_a_wait_for_a_row() {
    let (server, mut holder) = server_with_numbers();
    holder.query("begin; update numbers set name = 'held' where id = 1");
    let mut waiter = Client::connect(&server);
    waiter.send(&[query("update numbers set name = 'wanted' where id = 1")]);
    std::thread::sleep(Duration::from_millis(200));
    let mut body = 80_877_102_u32.to_be_bytes().to_vec();
    body.extend_from_slice(&waiter.process_id.to_be_bytes());
    body.extend_from_slice(&waiter.secret);
    server.connect().write_all(&message(0, &body)[1..]).unwrap();
    let answers = waiter.until_ready();
    assert_eq!((kinds(&answers), state(&answers)), ("EZ".to_owned(), "57014".to_owned()));
    let text = answers[0].field(b'M').unwrap();
    assert_eq!(text, "canceling statement due to user request");
    holder.query("commit");
    assert_eq!(first_columns(&waiter.query("select name from numbers where id = 1")), ["held"]);
}

#[test]
fn statement_and_lock_timeouts_end_a_wait() {
    let (server, mut holder) = server_with_numbers();
    holder.query("begin; update numbers set name = 'held' where id = 1");
    let mut waiter = Client::connect(&server);
    for (setting, expected) in [("lock_timeout", "55P03"), ("statement_timeout", "57014")] {
        waiter.query(&format!("set {setting} = 100"));
        assert_eq!(state(&waiter.query("update numbers set name = 'x' where id = 1")), expected);
        waiter.query(&format!("set {setting} = 0"));
    }
}

#[test]
fn a_client_that_vanishes_lets_go_of_its_locks() {
    let (server, mut holder) = server_with_numbers();
    holder.query("begin; update numbers set name = 'held' where id = 1");
    let mut waiter = Client::connect(&server);
    waiter.send(&[query("update numbers set name = 'wanted' where id = 1")]);
    std::thread::sleep(Duration::from_millis(100));
    drop(holder);
    assert_eq!(kinds(&waiter.until_ready()), "CZ");
    assert_eq!(first_columns(&waiter.query("select name from numbers where id = 1")), ["wanted"]);
}

#[test]
fn a_client_that_vanishes_while_it_waits_gives_up_its_other_locks() {
    let (server, mut holder) = server_with_numbers();
    holder.query("begin; update numbers set name = 'held' where id = 1");
    let mut between = Client::connect(&server);
    between.query("begin; update numbers set name = 'between' where id = 2");
    // With more messages after the one that waits, so that the socket stays readable.
    between.send(&[query("update numbers set name = 'between' where id = 1"), query("select 1")]);
    let mut last = Client::connect(&server);
    last.send(&[query("update numbers set name = 'last' where id = 2")]);
    std::thread::sleep(Duration::from_millis(100));
    drop(between);
    assert_eq!(kinds(&last.until_ready()), "CZ");
    holder.query("commit");
}

#[test]
fn a_client_that_does_not_read_blocks_no_other() {
    let (server, mut client) = server_with_numbers();
    client.query("create table wide (id integer primary key, filler text)");
    client.query("insert into wide select g, repeat('x', 1000) from generate_series(1, 20000) g");
    let mut lazy = Client::connect(&server);
    lazy.send(&[query("select * from wide")]);
    std::thread::sleep(Duration::from_millis(300));
    let answers = client.query("update wide set filler = 'y'");
    assert_eq!(answers[0].tag(), "UPDATE 20000");
    assert_eq!(kinds(&lazy.until_ready()).len(), 20_003);
}

#[test]
fn a_changed_setting_is_reported() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    let answers = client.query("set application_name = 'tested'");
    assert_eq!(kinds(&answers), "CSZ");
    assert_eq!(answers[1].body, b"application_name\0tested\0");
}

#[test]
fn many_batches_in_one_write_are_all_answered() {
    let (_server, mut client) = server_with_numbers();
    let mut batch = parse("s", "select name from numbers where id = $1");
    for _ in 0..1000 {
        batch.extend(bind("", "s", &["3"]));
        batch.extend(execute("", 0));
        batch.extend(sync());
    }
    client.send(&[batch]);
    for number in 0..1000 {
        let answers = client.until_ready();
        assert_eq!(kinds(&answers), if number == 0 { "12DCZ" } else { "2DCZ" });
    }
}

#[test]
fn messages_torn_into_single_bytes_are_understood() {
    let (_server, mut client) = server_with_numbers();
    client.stream.set_nodelay(true).unwrap();
    let select = parse("", "select name from numbers where id = $1");
    for byte in [select, bind("", "", &["3"]), execute("", 0), sync()].concat() {
        client.stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(first_columns(&client.until_ready()), ["three"]);
}

#[test]
fn the_limit_on_connections_holds_and_places_return() {
    let server = Server::start(&["--max-connections", "2"]);
    let first = Client::connect(&server);
    let _second = Client::connect(&server);
    let refused = || {
        let mut stream = server.connect();
        stream.write_all(&startup(196_608, &[("user", "hyades")])).unwrap();
        std::iter::from_fn(|| read_answer(&mut stream))
            .find(|answer| matches!(answer.kind, b'E' | b'Z'))
            .unwrap()
    };
    let error = refused();
    assert_eq!(error.field(b'C').as_deref(), Some("53300"));
    assert_eq!(error.field(b'M').as_deref(), Some("sorry, too many clients already"));
    assert_eq!(error.field(b'S').as_deref(), Some("FATAL"));
    drop(first);
    wait_for("a place", || (refused().kind == b'Z').then_some(()));
}
