//! `hyades top`, printed once. Its interactive use is not tested.

use std::process::Command;

use crate::process::{Server, hyades};
use crate::raw::Client;

fn top(server: &Server, more: &str) -> Command {
    let mut command = hyades();
    let connection = format!("host=127.0.0.1 port={} dbname=hyades {more}", server.port);
    command.args(["top", "--once", &connection]);
    command
}

#[test]
fn a_picture_shows_sessions_logs_and_memory() {
    let server = Server::start(&[]);
    server.query(&[
        "create table t (id int primary key)",
        "insert into t values (1)",
        "create role ada login",
    ]);
    let mut holder = Client::connect_as(&server, "ada");
    holder.query("begin; select 'something of ada''s'");
    let output = top(&server, "user=hyades").output().unwrap();
    let picture = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for shown in
        ["sessions      0 active", "1 idle in transaction", "log 0", "log 1", "committed in all", "tables"]
    {
        assert!(picture.contains(shown), "{shown}: {picture}");
    }
    let line = picture.lines().find(|line| line.contains(" ada ")).expect("the session of ada");
    assert!(line.contains("idle in transaction"), "{picture}");
    // The activity of other roles is shown only to those with the privilege.
    server.query(&["create role bob login"]);
    let output = top(&server, "user=bob").output().unwrap();
    let picture = String::from_utf8(output.stdout).unwrap();
    assert!(picture.contains("<insufficient privilege>") && !picture.contains("something"), "{picture}");
}

#[test]
fn a_server_that_is_not_there_is_a_sentence() {
    let mut command = hyades();
    command.args(["top", "--once", "host=127.0.0.1 port=1 user=hyades"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("hyades: could not connect"), "{error}");
}
