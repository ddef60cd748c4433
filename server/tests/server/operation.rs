//! What an operator relies on: a log output that cannot be written does no harm, signals, limits on
//! connections.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

use crate::process::{Directory, Server, hyades, wait_for};
use crate::raw::{Client, kinds, message, query, read_answer, startup, state};

/// The directory of an existing database, so that the next start has something to log.
fn directory_with_a_database() -> Directory {
    let server = Server::start(&[]);
    server.query(&["create table t (id integer primary key)"]);
    server.stop()
}

#[test]
fn a_server_log_on_a_full_disk_stops_no_client() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let arguments = ["--log-level", "debug"];
    let server = Server::start_logging_to(full.into(), directory_with_a_database(), &arguments);
    assert_eq!(server.query(&["insert into t values (1)", "select count(*) from t"]), "INSERT 0 1\n1");
    server.stop();
}

#[test]
fn a_server_log_whose_reader_is_gone_stops_no_client() {
    let arguments = ["--log-level", "debug"];
    let mut server = Server::start_in(directory_with_a_database(), &arguments);
    drop(server.child.stderr.take());
    assert_eq!(server.query(&["insert into t values (1)", "select count(*) from t"]), "INSERT 0 1\n1");
    server.stop();
}

#[test]
fn a_server_log_that_is_not_read_stops_no_client() {
    let (reader, writer) = std::io::pipe().unwrap();
    let arguments = ["--log-level", "debug", "--log-format", "json"];
    let server = Server::start_logging_to(Stdio::from(writer), Directory::new(), &arguments);
    // A pipe holds 64 KiB, a connection logs some 500 bytes.
    for _ in 0..300 {
        assert_eq!(kinds(&Client::connect(&server).query("select 1")), "TDCZ");
    }
    // No line was lost: they waited for their reader, which starts late.
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        let mut reader = reader;
        reader.read_to_string(&mut text).unwrap();
        text
    });
    server.stop();
    let text = reading.join().unwrap();
    assert_eq!(text.matches("client connected").count(), 300);
    assert!(text.len() > 64 << 10, "the pipe has never been full: {} bytes", text.len());
    assert!(text.ends_with('\n') && text.contains("\"shut down\""), "{text}");
}

#[test]
fn a_server_with_a_stuck_log_stops_all_the_same() {
    let (reader, writer) = std::io::pipe().unwrap();
    let arguments = ["--log-level", "debug"];
    let server = Server::start_logging_to(Stdio::from(writer), Directory::new(), &arguments);
    for _ in 0..500 {
        Client::connect(&server);
    }
    server.stop();
    drop(reader);
}

/// A server whose logs can no longer be written, and the error that its client got.
fn poisoned_server(arguments: &[&str]) -> (Server, Client, String) {
    let server = Server::start(arguments);
    server.query(&["create table t (id integer primary key)", "insert into t values (1)"]);
    let idle = Client::connect(&server);
    let mut writer = Client::connect(&server);
    let process = Pid::from_child(&server.child);
    let limit = Rlimit { current: Some(512), maximum: Some(512) };
    prlimit(Some(process), Resource::Fsize, limit).unwrap();
    let answers = writer.query("insert into t values (2)");
    (server, idle, state(&answers))
}

#[test]
fn a_poisoned_server_says_so_to_all_clients() {
    let (server, mut idle, answer) = poisoned_server(&[]);
    assert_eq!(answer, "58030");
    // An idle client gets the error too.
    let error = idle.answer();
    assert_eq!((error.field(b'S').as_deref(), error.field(b'C').as_deref()), (Some("FATAL"), Some("58030")));
    assert_eq!(read_answer(&mut idle.stream), None);
    // As a health check would.
    for _ in 0..2 {
        let error = server.error(&["select 1"]);
        assert!(error.contains("FATAL:  could not write") && error.contains("Restart the server"), "{error}");
    }
    let mut server = server;
    assert_eq!(server.child.try_wait().unwrap(), None);
    server.signal("QUIT");
    let (code, _, log, directory) = server.wait();
    assert_eq!(code, Some(1), "{log}");
    // The second of the two lines says that the end was not clean either.
    assert_eq!(log.lines().filter(|line| line.contains("could not write")).count(), 2, "{log}");
    let server = Server::start_in(directory, &[]);
    assert_eq!(server.query(&["select id from t"]), "1");
    server.stop();
}

#[test]
fn a_poisoned_server_ends_if_it_shall() {
    let (server, _idle, answer) = poisoned_server(&["--exit-when-poisoned", "--protocol", "serial"]);
    assert_eq!(answer, "58030");
    let (code, _, log, directory) = server.wait();
    assert_eq!(code, Some(3), "{log}");
    assert!(log.contains("ending because the database is poisoned"), "{log}");
    let server = Server::start_in(directory, &["--protocol", "serial"]);
    assert_eq!(server.query(&["select id from t"]), "1");
}

#[test]
fn protocols_that_log_only_data_are_not_asked_for_calls() {
    for protocol in ["silor", "plover"] {
        let output =
            hyades().args(["serve", "--protocol", protocol, "--logging", "command"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("--logging command is not possible"), "{said}");
        let server = Server::start(&["--protocol", protocol, "--logs", "3", "--epoch", "1ms"]);
        server.query(&["create table t (id int primary key)", "insert into t values (1), (2)"]);
        server.query(&["create procedure p() language plpgsql as 'begin delete from t where id = 2; end'"]);
        assert!(server.query(&["explain call p()"]).contains("the protocol logs only data"));
        server.query(&["call p()"]);
        // What it has taken back of the catalog does not divide it.
        let insert = "insert into t select i from generate_series(11, 100) i";
        server.query(&["begin", "savepoint s", "create table x (id int)", "rollback to s", insert, "commit"]);
        server.signal("KILL");
        let (_, _, _, directory) = server.wait();
        let server = Server::start_in(directory, &["--protocol", protocol, "--logs", "2"]);
        assert_eq!(server.query(&["select count(*), min(id), max(id) from t"]), "91|1|100");
        server.stop();
    }
}

#[test]
fn signals_that_are_not_meant_to_end_a_server_do_not() {
    let server = Server::start(&[]);
    let mut client = Client::connect(&server);
    for name in ["HUP", "USR1", "USR2", "PIPE", "HUP"] {
        server.signal(name);
        assert_eq!(kinds(&client.query("select 1")), "TDCZ");
    }
    server.signal("QUIT");
    let (code, _, log, _) = server.wait();
    assert_eq!(code, Some(1));
    // The second one may still have been pending when the server ended.
    assert!(log.contains("SIGHUP changes nothing"), "{log}");
    assert!(log.contains("hyades: ended at once by SIGQUIT"), "{log}");
}

/// Opens connections that say nothing. The test may need as many file descriptors again.
fn half_open(server: &Server, count: usize) -> Vec<TcpStream> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    (0..count).map(|_| server.connect()).collect()
}

#[test]
fn half_open_connections_shut_out_no_client() {
    let server = Server::start(&[]);
    server.query(&["create table t (id integer primary key)", "insert into t values (1)"]);
    let mut holder = Client::connect(&server);
    holder.query("begin; update t set id = 2 where id = 1");
    let mut waiter = Client::connect(&server);
    waiter.send(&[query("update t set id = 3 where id = 1")]);
    let mut silent = half_open(&server, 1200);
    // A new client gets in, and so does a cancel request.
    assert_eq!(kinds(&Client::connect(&server).query("select 1")), "TDCZ");
    let mut cancel = vec![0, 0, 0, 16, 4, 210, 22, 46];
    cancel.extend_from_slice(&waiter.process_id.to_be_bytes());
    cancel.extend_from_slice(&waiter.secret);
    server.connect().write_all(&cancel).unwrap();
    assert_eq!(state(&waiter.until_ready()), "57014");
    // The oldest connections had to go, and got the reason.
    let answer = read_answer(&mut silent[0]).unwrap();
    assert_eq!(answer.field(b'C').as_deref(), Some("53300"));
    drop(silent);
    server.signal("QUIT");
    let (_, _, log, _) = server.wait();
    let lines = log.matches("a client lost its place").count();
    assert!((1..=40).contains(&lines), "{log}");
}

#[test]
fn a_handshake_has_its_time() {
    let server = Server::start_with_password(&["--authentication-timeout", "1"]);
    let mut silent = server.connect();
    assert_eq!(read_answer(&mut silent), None);
    let mut undecided = server.connect();
    undecided.write_all(&startup(196_608, &[("user", "hyades")])).unwrap();
    assert_eq!(read_answer(&mut undecided).unwrap().kind, b'R');
    assert_eq!(read_answer(&mut undecided).unwrap().field(b'C').as_deref(), Some("57014"));
    server.signal("QUIT");
    let (_, _, log, _) = server.wait();
    assert_eq!(log.matches("did not complete its handshake in time").count(), 2, "{log}");
}

#[test]
fn failed_logins_are_logged_with_their_reason_and_seldom() {
    let server = Server::start_with_password(&[]);
    for (user, password) in [("hyades", "wrong"), ("nobody", "secret")] {
        let mut command = server.psql();
        command.env("PGPASSWORD", password).args(["-U", user, "-c", "select 1"]);
        let error = String::from_utf8(command.output().unwrap().stderr).unwrap();
        assert!(error.contains("password authentication failed for user"), "{error}");
    }
    for _ in 0..30 {
        let mut stream = server.connect();
        stream.write_all(&startup(196_608, &[("user", "eve\x1b[2J")])).unwrap();
        assert_eq!(read_answer(&mut stream).unwrap().kind, b'R');
        stream.write_all(&message(b'p', b"nonsense\0")).unwrap();
        assert_eq!(read_answer(&mut stream).unwrap().kind, b'E');
    }
    server.signal("QUIT");
    let (_, _, log, _) = server.wait();
    let failed: Vec<&str> = log.lines().filter(|line| line.contains("login failed")).collect();
    for (user, reason) in
        [("hyades", "wrong password"), ("nobody", "unknown user"), ("eve", "protocol violation")]
    {
        let is_it =
            |line: &&&str| line.contains(user) && line.contains(reason) && line.contains("127.0.0.1:");
        assert!(failed.iter().any(|line| is_it(&line)), "{log}");
    }
    assert!(failed.len() <= 20 && !log.contains('\x1b'), "{log}");
}

#[test]
fn the_last_places_are_reserved_for_superusers() {
    let server = Server::start(&["--max-connections", "5", "--superuser-reserved-connections", "2"]);
    server.query(&["create role mal login"]);
    // The previous client may still be leaving.
    let mut crowd = Vec::new();
    wait_for("all places of the role", || {
        while let Some(client) = try_connect(&server, "mal") {
            crowd.push(client);
        }
        (crowd.len() == 3).then_some(())
    });
    let mut refused = server.psql();
    refused.args(["-U", "mal", "-d", "hyades", "-c", "select 1"]);
    let error = String::from_utf8(refused.output().unwrap().stderr).unwrap();
    let sentence = "remaining connection slots are reserved for non-replication superuser connections";
    assert!(error.contains(&format!("FATAL:  {sentence}")), "{error}");
    let _operator = Client::connect(&server);
    assert_eq!(server.query(&["select 1"]), "1");
    let _second = wait_for("the last place", || try_connect(&server, "hyades"));
    assert!(server.error(&["select 1"]).contains("FATAL:  sorry, too many clients already"));
    server.signal("QUIT");
    let (_, _, log, _) = server.wait();
    assert!(log.contains(&format!("connection refused: {sentence}")), "{log}");
    assert!(log.contains("connection refused: sorry, too many clients already"), "{log}");
}

/// A client that was let in, or `None` if there was no place for it.
fn try_connect(server: &Server, user: &str) -> Option<TcpStream> {
    let mut stream = server.connect();
    stream.write_all(&startup(196_608, &[("user", user), ("database", "hyades")])).unwrap();
    let mut answer = [0; 10];
    stream.read_exact(&mut answer).unwrap();
    // A parameter follows the nine bytes that let the client in, and no error.
    (answer[0] == b'R' && answer[9] == b'S').then_some(stream)
}

#[test]
fn who_guesses_passwords_waits_and_takes_no_place() {
    let arguments = ["--failed-login-delay", "1min", "--authentication-timeout", "600"];
    let places = ["--max-connections", "1", "--superuser-reserved-connections", "0"];
    let server = Server::start_with_password(&[&arguments[..], &places[..]].concat());
    let psql = |password: &str| {
        let mut command = server.psql();
        command.args(["-Atc", "select 1"]).env("PGPASSWORD", password);
        command
    };
    let mut guessers: Vec<_> =
        (0..3).map(|_| psql("wrong").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()).collect();
    for _ in 0..3 {
        wait_for("the only place", || (psql("secret").output().unwrap().stdout == b"1\n").then_some(()));
    }
    for guesser in &mut guessers {
        assert_eq!(guesser.try_wait().unwrap(), None);
        guesser.kill().unwrap();
        guesser.wait().unwrap();
    }
}

#[test]
fn a_start_without_passwords_is_logged() {
    let warning = "authentication is \"trust\": every user of this machine is let in without a password";
    for (server, is_warned) in [(Server::start(&[]), true), (Server::start_with_password(&[]), false)] {
        server.signal("TERM");
        let (_, _, log, _) = server.wait();
        assert_eq!(log.contains(warning), is_warned, "{log}");
    }
}

#[test]
fn a_walsender_is_not_to_be_had() {
    let server = Server::start(&[]);
    for (value, expected) in [("true", "0A000"), ("database", "0A000"), ("maybe", "22023")] {
        let mut stream = server.connect();
        stream.write_all(&startup(196_608, &[("user", "hyades"), ("replication", value)])).unwrap();
        assert_eq!(read_answer(&mut stream).unwrap().field(b'C').as_deref(), Some(expected), "{value}");
    }
    let mut stream = server.connect();
    stream.write_all(&startup(196_608, &[("user", "hyades"), ("replication", "off")])).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().kind, b'R');
}

#[test]
fn statements_that_take_long_are_logged() {
    let server = Server::start(&["--log-slow-statements", "3600000"]);
    server.query(&["create role ada login", "select 'never'"]);
    let endless = "select count(*), 'was ended' from generate_series(1, 1000000000000) g";
    server.error(&["set log_min_duration_statement = 100", "set statement_timeout = 150", endless]);
    server.query(&[
        "set log_min_duration_statement = 0",
        "alter role ada password 'hidden'",
        "select 'quick'",
    ]);
    server.query(&["set log_min_duration_statement = -1", "select 'never'"]);
    let mut command = server.psql();
    command.args(["-U", "ada", "-d", "hyades", "-c", "set log_min_duration_statement = 0"]);
    let error = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(error.contains("42501: permission denied to set parameter"), "{error}");
    let mut command = server.psql();
    command.args(["-U", "ada", "-d", "hyades", "-c", "select 1"]);
    command.env("PGOPTIONS", "-c log_min_duration_statement=0");
    let error = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(error.contains("FATAL:  permission denied to set parameter"), "{error}");
    server.signal("QUIT");
    let (_, _, log, _) = server.wait();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("a statement took long")).collect();
    for shown in ["was ended", "quick", "(with a password)"] {
        assert!(lines.iter().any(|line| line.contains(shown)), "{shown}: {log}");
    }
    assert!(!log.contains("hidden") && !log.contains("never"), "{log}");
}
