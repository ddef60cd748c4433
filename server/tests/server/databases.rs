//! Databases as clients see them: createdb, dropdb, \l, connecting to one that is not there, dropping one
//! that is in use.

use std::process::Command;

use crate::process::{Server, wait_for};

/// What psql prints in this database, or its errors.
fn psql(server: &Server, database: &str, sql: &str) -> String {
    let mut command = server.psql();
    command.args(["-At", "-v", "ON_ERROR_STOP=1", "-U", "hyades", "-d", database, "-c", sql]);
    said(command)
}

fn said(mut command: Command) -> String {
    let output = command.output().expect("PostgreSQL's clients are installed");
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{printed}{errors}").trim_end().to_owned()
}

/// One of PostgreSQL's programs beside psql, with these arguments.
fn tool(server: &Server, name: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(name);
    command.args(["-h", "127.0.0.1", "-U", "hyades", "-p", &server.port.to_string()]).args(arguments);
    said(command)
}

#[test]
fn databases_come_and_go_as_in_postgresql() {
    let server = Server::start(&[]);
    assert_eq!(tool(&server, "createdb", &["shop"]), "");
    assert!(tool(&server, "createdb", &["shop"]).contains("database \"shop\" already exists"));
    psql(&server, "shop", "create table item (id int primary key); insert into item values (1), (2)");
    assert_eq!(psql(&server, "shop", "select current_database(), count(*) from item"), "shop|2");
    assert!(psql(&server, "hyades", "select * from item").contains("relation \"item\" does not exist"));
    assert!(psql(&server, "nowhere", "select 1").contains("FATAL:  database \"nowhere\" does not exist"));
    assert!(
        psql(&server, "template0", "select 1")
            .contains("FATAL:  database \"template0\" is not currently accepting connections")
    );
    let listed = psql(&server, "postgres", "\\l");
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split('|').next()).collect();
    assert_eq!(names, ["hyades", "postgres", "shop", "template0", "template1"], "{listed}");
    assert_eq!(tool(&server, "createdb", &["-T", "shop", "copy"]), "");
    assert_eq!(
        psql(&server, "copy", "delete from item where id = 1; select count(*) from item"),
        "DELETE 1\n1"
    );
    assert_eq!(psql(&server, "shop", "select count(*) from item"), "2");
    assert_eq!(tool(&server, "dropdb", &["copy"]), "");
    assert!(tool(&server, "dropdb", &["copy"]).contains("database \"copy\" does not exist"));
    assert_eq!(tool(&server, "dropdb", &["--if-exists", "copy"]).lines().count(), 1);
}

#[test]
fn a_database_in_use_stays_until_its_sessions_are_ended() {
    let server = Server::start(&[]);
    psql(&server, "hyades", "create database busy");
    let mut command = server.psql();
    command.args([
        "-U",
        "hyades",
        "-d",
        "busy",
        "-c",
        "create table t (i int)",
        "-c",
        "select pg_advisory_lock(1)",
    ]);
    command.args(["-c", "begin", "-c", "insert into t values (1)", "-c", "\\! sleep 30"]);
    let mut session = command.spawn().expect("psql is installed");
    let sees = |sql: &str| psql(&server, "hyades", sql);
    let begun =
        "select count(*) from pg_stat_activity where datname = 'busy' and state = 'idle in transaction'";
    wait_for("the session", || (sees(begun) == "1").then_some(()));
    let refused = sees("drop database busy");
    assert!(refused.contains("database \"busy\" is being accessed by other users"), "{refused}");
    assert!(refused.contains("There is 1 other session using the database."), "{refused}");
    assert_eq!(sees("select pg_try_advisory_lock(1)"), "t", "locks of another database are others");
    assert_eq!(sees("drop database busy with (force)"), "DROP DATABASE");
    assert_eq!(sees("select count(*) from pg_database where datname = 'busy'"), "0");
    session.kill().expect("it runs");
    session.wait().expect("it ends");
}
