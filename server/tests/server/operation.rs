//! What an operator relies on: a log that cannot be written harms nobody, signals, limits on connections.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use crate::process::{Directory, Server};
use crate::raw::{Client, kinds};

/// A database that exists, so that the next start has something to log.
fn directory_with_a_database() -> Directory {
    let server = Server::start(&[]);
    server.query(&["create table t (id integer primary key)"]);
    server.stop()
}

#[test]
fn a_log_on_a_full_disk_harms_nobody() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let arguments = ["--log-level", "debug"];
    let server = Server::start_logging_to(full.into(), directory_with_a_database(), &arguments);
    assert_eq!(server.query(&["insert into t values (1)", "select count(*) from t"]), "INSERT 0 1\n1");
    server.stop();
}

#[test]
fn a_log_whose_reader_has_gone_harms_nobody() {
    let arguments = ["--log-level", "debug"];
    let mut server = Server::start_in(directory_with_a_database(), &arguments);
    drop(server.child.stderr.take());
    assert_eq!(server.query(&["insert into t values (1)", "select count(*) from t"]), "INSERT 0 1\n1");
    server.stop();
}

#[test]
fn a_log_that_nobody_reads_stops_nobody() {
    let (reader, writer) = std::io::pipe().unwrap();
    let arguments = ["--log-level", "debug", "--log-format", "json"];
    let server = Server::start_logging_to(Stdio::from(writer), Directory::new(), &arguments);
    // A pipe holds 64 KiB, a connection logs some 500 bytes.
    for _ in 0..300 {
        assert_eq!(kinds(&Client::connect(&server).query("select 1")), "TDCZ");
    }
    // Nothing was lost: the lines waited for their reader, who comes late.
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
