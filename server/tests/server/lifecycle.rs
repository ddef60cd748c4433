//! Starting, refusing to start, draining, ending.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::process::{Directory, Server, hyades, wait_for};
use crate::raw::{Client, kinds, query, read_answer};

#[test]
fn the_ready_line_tells_how_to_connect() {
    let server = Server::start(&[]);
    assert_eq!(
        server.ready_line,
        format!("hyades is ready: psql -h 127.0.0.1 -p {} -U hyades\n", server.port)
    );
    server.stop();
}

#[test]
fn the_version_names_a_commit() {
    let output = hyades().arg("--version").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("hyades ") && printed.contains("(commit "), "{printed}");
}

/// Starts a server that must refuse. Checks its exit code and returns its complaint.
fn refusal(data: &std::path::Path, arguments: &[&str]) -> String {
    let output = hyades().args(["serve", "--data"]).arg(data).args(arguments).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(output.stdout.is_empty());
    assert_eq!(complaint.lines().filter(|line| line.starts_with("hyades: ")).count(), 1, "{complaint}");
    complaint
}

#[test]
fn a_server_that_cannot_start_says_why_and_touches_nothing() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let directory = Directory::new();
    let data = directory.path().join("data");
    for (arguments, expected) in [
        (vec!["--listen", &address], "could not listen on 127.0.0.1:"),
        (vec!["--listen", "nowhere"], "is not an address to listen on"),
        (vec!["--listen", "0.0.0.0:0"], "say --auth trust"),
        (vec!["--listen", "127.0.0.1:0", "--auth", "scram"], "--auth scram lets nobody in"),
        (vec!["--listen", "127.0.0.1:0", "--user-file", "/nonexistent"], "could not read the user file"),
        (
            vec!["--listen", "127.0.0.1:0", "--reserve-memory-mib", "1000000000"],
            "could not reserve 1000000000 MiB",
        ),
    ] {
        let complaint = refusal(&data, &arguments);
        assert!(complaint.contains(expected), "{complaint}");
        assert!(!data.exists());
    }
}

#[test]
fn memory_is_taken_before_the_server_is_ready() {
    let server = Server::start(&["--reserve-memory-mib", "256"]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: usize = resident.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib >= 256 * 1024, "{resident}");
    server.stop();
}

#[test]
fn a_data_directory_in_use_is_refused() {
    let server = Server::start(&[]);
    server.query(&["create table t (id integer primary key)"]);
    let data = format!("/proc/{}/cwd", server.child.id());
    assert!(std::path::Path::new(&data).exists());
    let arguments = std::fs::read(format!("/proc/{}/cmdline", server.child.id())).unwrap();
    let words: Vec<_> = arguments.split(|byte| *byte == 0).collect();
    let position = words.iter().position(|word| *word == b"--data").unwrap();
    let data = std::str::from_utf8(words[position + 1]).unwrap();
    refusal(std::path::Path::new(data), &["--listen", "127.0.0.1:0"]);
    assert_eq!(server.query(&["select count(*) from t"]), "0");
}

#[test]
fn a_foreign_directory_is_refused_and_untouched() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("holiday.jpg"), b"not a database").unwrap();
    refusal(&data, &["--listen", "127.0.0.1:0"]);
    let names: Vec<_> = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["holiday.jpg"]);
}

#[test]
fn idle_sessions_end_and_open_transactions_finish_when_the_server_drains() {
    let server = Server::start(&["--drain-seconds", "20"]);
    server.query(&["create table t (id integer primary key)"]);
    let mut idle = Client::connect(&server);
    let mut busy = Client::connect(&server);
    busy.query("begin; insert into t values (1)");
    server.signal("TERM");
    let answer = idle.answer();
    assert_eq!(
        (answer.field(b'S').as_deref(), answer.field(b'C').as_deref()),
        (Some("FATAL"), Some("57P01"))
    );
    let sentence = "terminating connection due to administrator command";
    assert_eq!(answer.field(b'M').as_deref(), Some(sentence));
    assert_eq!(read_answer(&mut idle.stream), None);
    assert_eq!(kinds(&busy.query("insert into t values (2)")), "CZ");
    assert_eq!(kinds(&busy.query("commit")), "CZ");
    assert_eq!(busy.answer().field(b'C').as_deref(), Some("57P01"));
    let (code, rest, log, directory) = server.wait();
    assert_eq!((code, rest.as_str()), (Some(0), ""), "{log}");
    let server = Server::start_in(directory, &[]);
    assert_eq!(server.query(&["select count(*) from t"]), "2");
}

#[test]
fn transactions_that_outlast_the_drain_are_ended() {
    let server = Server::start(&["--drain-seconds", "0"]);
    server.query(&["create table t (id integer primary key)", "insert into t values (0)"]);
    let mut holder = Client::connect(&server);
    holder.query("begin; update t set id = 1 where id = 0");
    let mut waiter = Client::connect(&server);
    waiter.send(&[query("update t set id = 2 where id = 0")]);
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    server.signal("TERM");
    assert_eq!(holder.answer().field(b'C').as_deref(), Some("57P01"));
    // The wait may have ended with the holder's transaction, before the waiter's own session was ended.
    let answers = std::iter::from_fn(|| read_answer(&mut waiter.stream));
    assert_eq!(
        answers.filter(|answer| answer.kind == b'E').last().unwrap().field(b'C').as_deref(),
        Some("57P01")
    );
    let (code, _, log, _) = server.wait();
    assert_eq!(code, Some(0), "{log}");
    assert!(start.elapsed() < Duration::from_secs(4), "{log}");
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let server = Server::start(&["--drain-seconds", "1000"]);
    let mut busy = Client::connect(&server);
    busy.query("begin");
    server.signal("INT");
    // Draining has begun once new clients are refused.
    let address = ("127.0.0.1", server.port);
    wait_for("the drain", || std::net::TcpStream::connect(address).is_err().then_some(()));
    server.signal("TERM");
    let (code, _, log, _) = server.wait();
    assert_eq!(code, Some(1));
    assert!(log.contains("ended at once by SIGTERM"), "{log}");
}
