//! Statements that compute for long: other sessions are served meanwhile, and requests to stop reach them.
//!
//! Bounds are generous, because many servers may run on one core. They only have to distinguish "at once"
//! from "when the other statement has ended".

use std::time::{Duration, Instant};

use crate::process::{PATIENCE, Server, wait_for};
use crate::raw::{Answer, Client, cancel_request, kinds, query, read_answer, state};

/// Statements that run for minutes, each in its own way.
fn endless() -> Vec<(&'static str, String)> {
    vec![
        ("rows", "select count(*) from generate_series(1, 1000000000000) g".to_owned()),
        ("like", "select repeat('ab', 1000000) like '%' || repeat('_', 900000) || 'c'".to_owned()),
        ("ilike", "select repeat('AB', 1000000) ilike '%' || repeat('_', 900000) || 'c'".to_owned()),
        // Not so fast that its results fill the connection, through which no error would come then.
        ("script", "select count(*) from generate_series(1, 2000);".repeat(400_000)),
        ("loop", "call spin()".to_owned()),
        ("errors", caught("raise exception 'x';")),
        ("requests", caught("execute 'selec';")),
        ("sort", "select g from generate_series(1, 30000000) g order by -g".to_owned()),
    ]
}

/// A loop that leaves the interpreter, or one of its activations, more often than these look at the clock.
fn caught(statement: &str) -> String {
    format!("do $$ begin loop begin {statement} exception when others then null; end; end loop; end $$")
}

fn start() -> Server {
    let server = Server::start(&["--workers", "2"]);
    server.query(&[
        "create table t (id integer primary key, n integer)",
        "insert into t values (1, 0)",
        "create procedure spin() language plpgsql as $$ declare n bigint := 0; begin \
         loop begin n := n + 1; if n < 0 then raise exception 'no'; end if; \
         exception when others then null; end; end loop; end $$",
    ]);
    server
}

fn error(answers: &[Answer]) -> Option<String> {
    answers.iter().find(|answer| answer.kind == b'E').and_then(|answer| answer.field(b'C'))
}

/// Sends a statement that takes long, and waits until it is under way.
fn send_endless(client: &mut Client, sql: &str) {
    client.send(&[query(sql)]);
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
fn others_are_served_while_statements_compute() {
    let server = start();
    let mut pings: Vec<Client> = (0..6).map(|_| Client::connect(&server)).collect();
    for (name, sql) in endless() {
        let mut hogs: Vec<Client> = (0..3).map(|_| Client::connect(&server)).collect();
        for hog in &mut hogs {
            hog.send(&[query(&sql)]);
        }
        let mut longest = Duration::ZERO;
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(1500) {
            for ping in &mut pings {
                let start = Instant::now();
                assert_eq!(kinds(&ping.query("select 1")), "TDCZ");
                longest = longest.max(start.elapsed());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(longest < Duration::from_secs(1), "{name}: a ping took {longest:?}");
    }
}

#[test]
fn whatever_computes_can_be_cancelled() {
    let server = start();
    for (name, sql) in endless() {
        let mut victim = Client::connect(&server);
        send_endless(&mut victim, &sql);
        let start = Instant::now();
        cancel_request(&server, victim.process_id, &victim.secret);
        let answers = victim.until_ready();
        assert_eq!(error(&answers).as_deref(), Some("57014"), "{name}");
        assert!(start.elapsed() < Duration::from_secs(2), "{name}: {:?}", start.elapsed());
        assert_eq!(kinds(&victim.query("select 1")), "TDCZ", "{name}");
    }
}

#[test]
fn whatever_computes_ends_at_its_statement_timeout() {
    let server = start();
    for (name, sql) in endless() {
        if name == "script" {
            continue; // Each of its statements is short.
        }
        let mut victim = Client::connect(&server);
        victim.query("set statement_timeout = 300");
        let start = Instant::now();
        let answers = victim.query(&sql);
        assert_eq!(state(&answers), "57014", "{name}");
        assert!(start.elapsed() < Duration::from_secs(4), "{name}: {:?}", start.elapsed());
    }
}

#[test]
fn a_client_that_leaves_while_it_computes_gives_its_locks_back() {
    let server = start();
    let mut next = Client::connect(&server);
    next.query("set lock_timeout = '15s'");
    for (name, sql) in endless() {
        let mut leaver = Client::connect(&server);
        assert_eq!(kinds(&leaver.query("begin; update t set n = 1 where id = 1")), "CCZ");
        send_endless(&mut leaver, &sql);
        drop(leaver);
        let start = Instant::now();
        assert_eq!(kinds(&next.query("update t set n = 2 where id = 1")), "CZ", "{name}");
        assert!(start.elapsed() < Duration::from_secs(2), "{name}: {:?}", start.elapsed());
    }
}

/// These functions used to search the whole set for each character.
#[test]
fn long_sets_of_characters_are_looked_up() {
    let server = start();
    let mut client = Client::connect(&server);
    for sql in [
        "select length(translate(repeat('z', 1000000), repeat('a', 1000000) || 'z', 'b'))",
        "select length(ltrim(repeat('z', 1000000), repeat('a', 1000000) || 'z'))",
    ] {
        let start = Instant::now();
        assert_eq!(kinds(&client.query(sql)), "TDCZ");
        assert!(start.elapsed() < Duration::from_secs(10), "{sql}: {:?}", start.elapsed());
    }
}

#[test]
fn short_statements_of_a_client_that_has_left_are_run() {
    let server = start();
    let mut leaver = Client::connect(&server);
    let updates: Vec<Vec<u8>> = (0..50).map(|_| query("update t set n = n + 1 where id = 1")).collect();
    leaver.send(&updates);
    leaver.stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut client = Client::connect(&server);
    // Does not wait by looking at the row: its lock would make the updates wait, and a statement that waits
    // ends with its client.
    let others = format!("select pid from pg_stat_activity where pid = {}", leaver.process_id);
    wait_for("the end of the session", || value(&client.query(&others)).is_none().then_some(()));
    assert_eq!(value(&client.query("select n from t where id = 1")).as_deref(), Some("50"));
}

#[test]
fn a_shutdown_ends_what_computes() {
    let server = Server::start(&["--drain-seconds", "0", "--workers", "2"]);
    let mut hog = Client::connect(&server);
    send_endless(&mut hog, "select count(*) from generate_series(1, 1000000000000) g");
    let start = Instant::now();
    server.signal("TERM");
    assert_eq!(hog.answer().field(b'C').as_deref(), Some("57P01"));
    let (code, _, log, _) = server.wait();
    assert_eq!(code, Some(0), "{log}");
    assert!(start.elapsed() < PATIENCE / 4, "{log}");
}

fn value(answers: &[Answer]) -> Option<String> {
    answers.iter().find(|answer| answer.kind == b'D')?.columns().into_iter().next()?
}

#[test]
fn a_terminated_session_ends_whatever_it_does() {
    let server = start();
    let mut holder = Client::connect(&server);
    holder.query("begin; update t set n = 1 where id = 1");
    let mut doings = vec![("idle", None), ("waits", Some("update t set n = 2 where id = 1".to_owned()))];
    doings.extend(endless().into_iter().map(|(name, sql)| (name, Some(sql))));
    let mut other = Client::connect(&server);
    for (name, sql) in doings {
        let mut victim = Client::connect(&server);
        if let Some(sql) = sql {
            send_endless(&mut victim, &sql);
        }
        let start = Instant::now();
        let answers = other.query(&format!("select pg_terminate_backend({})", victim.process_id));
        assert_eq!(value(&answers).as_deref(), Some("t"), "{name}");
        let answers: Vec<Answer> = std::iter::from_fn(|| read_answer(&mut victim.stream)).collect();
        assert_eq!(error(&answers).as_deref(), Some("57P01"), "{name}");
        assert!(start.elapsed() < Duration::from_secs(3), "{name}: {:?}", start.elapsed());
    }
    assert_eq!(value(&other.query("select pg_terminate_backend(123456789)")).as_deref(), Some("f"));
    assert_eq!(kinds(&holder.query("commit")), "CZ");
}

#[test]
fn one_session_cancels_another_by_its_number() {
    let server = start();
    let mut victim = Client::connect(&server);
    send_endless(&mut victim, "select count(*) from generate_series(1, 1000000000000) g");
    let mut other = Client::connect(&server);
    let sql = "select pg_cancel_backend(pid) from pg_stat_activity where query like 'select count(*)%'";
    assert_eq!(value(&other.query(sql)).as_deref(), Some("t"));
    let answers = victim.until_ready();
    assert_eq!(error(&answers).as_deref(), Some("57014"));
    assert_eq!(kinds(&victim.query("select 1")), "TDCZ");
}

/// The handler has consumed the request, so its own waits are not cancelled by the same one.
#[test]
fn a_request_to_cancel_is_obeyed_once() {
    let server = start();
    let mut client = Client::connect(&server);
    client.query(
        "create function patient() returns text language plpgsql as $$ begin \
             begin perform count(*) from generate_series(1, 1000000000000); \
             exception when query_canceled then update t set n = 5 where id = 1; return 'caught'; end; \
             return 'done'; end $$",
    );
    for is_timeout in [false, true] {
        if is_timeout {
            client.query("set statement_timeout = 500");
        }
        let mut holder = Client::connect(&server);
        assert_eq!(kinds(&holder.query("begin; update t set n = 1 where id = 1")), "CCZ");
        send_endless(&mut client, "select patient()");
        if !is_timeout {
            cancel_request(&server, client.process_id, &client.secret);
        }
        let sql = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
        wait_for("the handler", || (kinds(&holder.query(sql)) == "TDCZ").then_some(()));
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(kinds(&holder.query("commit")), "CZ");
        let answers = client.until_ready();
        assert_eq!(value(&answers).as_deref(), Some("caught"), "timeout: {is_timeout}");
    }
}

#[test]
fn sessions_see_what_the_others_do() {
    let server = start();
    let mut holder = Client::connect(&server);
    holder.query("set application_name = 'holder'; begin; update t set n = 1 where id = 1");
    let mut waiter = Client::connect(&server);
    waiter.query("set application_name = 'waiter'");
    waiter.send(&[query("update t set n = 2 where id = 1")]);
    let mut idle = Client::connect(&server);
    idle.query("set application_name = 'idle'");
    let mut other = Client::connect(&server);
    let shown = wait_for("the waiter", || {
        let answers = other.query(
            "select application_name, state, wait_event_type, query, usename, datname, client_addr, \
             xact_start is not null, query_start >= backend_start, pid from pg_stat_activity a \
             where a.application_name <> '' order by 1",
        );
        let rows: Vec<Vec<Option<String>>> =
            answers.iter().filter(|answer| answer.kind == b'D').map(Answer::columns).collect();
        (rows.len() == 3 && rows[2][2].as_deref() == Some("Lock")).then_some(rows)
    });
    let row = |at: usize| -> Vec<&str> { shown[at].iter().map(|c| c.as_deref().unwrap_or("NULL")).collect() };
    let common = ["hyades", "hyades", "127.0.0.1"];
    let update = "update t set n = 2 where id = 1";
    assert_eq!(row(0)[..4], ["holder", "idle in transaction", "Client", "update t set n = 1 where id = 1"]);
    assert_eq!(row(1)[..4], ["idle", "idle", "Client", "set application_name = 'idle'"]);
    assert_eq!(row(2)[..4], ["waiter", "active", "Lock", update]);
    for at in 0..3 {
        assert_eq!(row(at)[4..7], common);
    }
    assert_eq!((row(0)[7], row(1)[7], row(2)[7]), ("t", "f", "t"));
    assert_eq!(row(2)[9], waiter.process_id.to_string());
    let answers = other.query("select count(*), count(distinct pid) from pg_catalog.pg_stat_activity");
    assert_eq!(value(&answers).as_deref(), Some("4"));
    drop(waiter);
    wait_for("the waiter's end", || {
        let answers = other.query("select count(*) from pg_stat_activity");
        (value(&answers).as_deref() == Some("3")).then_some(())
    });
}

/// A role that may only read cannot block all writers for good. The second reader blocks no session, and
/// stays.
#[test]
fn a_silent_reader_makes_way_for_those_who_wait() {
    let server = Server::start(&["--idle-blocker-timeout", "500ms"]);
    let mut writer = Client::connect(&server);
    writer.query("create table t (id int primary key); create table u (id int primary key)");
    writer.query("create role reader login; grant select on t, u to reader");
    let [mut blocker, mut other, mut snapshot] = [(); 3].map(|()| Client::connect(&server));
    for reader in [&mut blocker, &mut other, &mut snapshot] {
        reader.query("set role reader");
        for sql in [
            "set hyades.idle_blocker_timeout = 0",
            "select set_config('hyades.idle_blocker_timeout', '0', false)",
        ] {
            assert_eq!(state(&reader.query(sql)), "42501", "{sql}");
        }
    }
    blocker.query("begin isolation level serializable; select count(*) from t");
    other.query("begin isolation level serializable; select count(*) from u");
    snapshot.query("begin isolation level repeatable read; select count(*) from t");
    writer.send(&[query("insert into t values (1)")]);
    let answer = blocker.answer();
    assert_eq!(
        (answer.field(b'C').as_deref(), answer.field(b'M').as_deref()),
        (Some("25P03"), Some("terminating connection due to idle-in-transaction timeout"))
    );
    assert_eq!(kinds(&writer.until_ready()), "CZ");
    assert_eq!(value(&other.query("select count(*) from u")).as_deref(), Some("0"));
    assert_eq!(value(&snapshot.query("select count(*) from t")).as_deref(), Some("0"));
}

#[test]
fn the_server_has_timeouts_of_its_own() {
    let server = Server::start(&[
        "--statement-timeout",
        "500ms",
        "--idle-in-transaction-timeout",
        "1s",
        "--idle-session-timeout",
        "3s",
    ]);
    let mut client = Client::connect(&server);
    assert_eq!(value(&client.query("show statement_timeout")).as_deref(), Some("500ms"));
    assert_eq!(state(&client.query("select count(*) from generate_series(1, 1000000000000) g")), "57014");
    client.query("set statement_timeout = 0; reset statement_timeout");
    assert_eq!(value(&client.query("show statement_timeout")).as_deref(), Some("500ms"));
    let start = Instant::now();
    client.query("begin");
    assert_eq!(client.answer().field(b'C').as_deref(), Some("25P03"));
    assert!(start.elapsed() < Duration::from_secs(3));
    let mut idle = Client::connect(&server);
    let mut patient = Client::connect(&server);
    patient.query("set idle_session_timeout = 0");
    let answer = idle.answer();
    assert_eq!(
        (answer.field(b'C').as_deref(), answer.field(b'M').as_deref()),
        (Some("57P05"), Some("terminating connection due to idle-session timeout"))
    );
    assert!(start.elapsed() >= Duration::from_secs(3));
    assert_eq!(kinds(&patient.query("select 1")), "TDCZ");
}
