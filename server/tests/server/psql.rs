//! Real psql, used as a person at a terminal would.

use std::io::Write;
use std::process::Stdio;

use crate::process::{Directory, Server, hyades};

#[test]
fn statements_and_errors_look_as_in_postgresql() {
    let server = Server::start(&[]);
    server.query(&["create table t (id integer primary key, name varchar(5) not null)"]);
    assert_eq!(server.query(&["insert into t values (1, 'a'), (2, 'b') returning id"]), "1\n2\nINSERT 0 2");
    assert_eq!(server.query(&["select id, name from t order by id"]), "1|a\n2|b");
    for (statement, state, caret) in [
        ("selec 1", "42601", true),
        ("select * from nothing", "42P01", true),
        ("select nothing from t", "42703", true),
        ("insert into t values (1, 'x')", "23505", false),
        ("insert into t values (3, null)", "23502", false),
        ("insert into t values (3, 'too long')", "22001", false),
        ("select 'x'::integer", "22P02", true),
        ("select 2147483647 + 1", "22003", false),
        ("select 1 / 0", "22012", false),
    ] {
        let error = server.error(&[statement]);
        assert!(error.starts_with(&format!("ERROR:  {state}: ")), "{statement}: {error}");
        assert_eq!(error.contains("LINE 1: "), caret, "{statement}: {error}");
    }
}

#[test]
fn transactions_fail_and_roll_back() {
    let server = Server::start(&[]);
    server.query(&["create table t (id integer primary key)"]);
    let error = server.error(&["begin", "insert into t values (1)", "select 1/0"]);
    assert!(error.contains("22012"), "{error}");
    let mut command = server.psql();
    let script =
        ["begin", "insert into t values (1)", "select 1/0", "select 1", "commit", "select count(*) from t"];
    let output = command.args(["-At"]).args(script.iter().flat_map(|sql| ["-c", sql])).output().unwrap();
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed, "BEGIN\nINSERT 0 1\nROLLBACK\n0\n");
    assert!(errors.contains("25P02: current transaction is aborted"), "{errors}");
}

#[test]
fn copy_goes_both_ways() {
    let server = Server::start(&[]);
    server.query(&["create table t (id integer primary key, name text)"]);
    let mut child = server
        .psql()
        .args(["-c", "copy t from stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let rows: String = (0..20_000).map(|id| format!("{id}\tname {id}\n")).collect();
    child.stdin.take().unwrap().write_all(rows.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap(), "COPY 20000\n");
    let output = server.run(&["copy t to stdout"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), rows);
}

#[test]
fn what_is_committed_survives_a_restart() {
    let server = Server::start(&[]);
    server.query(&["create table t (id integer primary key)", "insert into t values (1), (2)"]);
    let mut server = Server::start_in(server.stop(), &[]);
    assert_eq!(server.query(&["insert into t values (3)", "select count(*) from t"]), "INSERT 0 1\n3");
    server.child.kill().unwrap();
    let (_, _, _, directory) = server.wait();
    let server = Server::start_in(directory, &[]);
    assert_eq!(server.query(&["select count(*) from t"]), "3");
    let (_, _, log, _) = {
        server.signal("TERM");
        server.wait()
    };
    assert!(log.contains("recovered "), "{log}");
}

#[test]
fn passwords_are_checked() {
    let directory = Directory::new();
    let users = directory.path().join("users");
    let mut child = hyades()
        .args(["password", "--user", "ada", "--superuser"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all("päss wörd\n".as_bytes()).unwrap();
    std::fs::write(&users, child.wait_with_output().unwrap().stdout).unwrap();
    let server = Server::start(&["--auth", "scram", "--user-file", users.to_str().unwrap()]);
    for (user, password, expected) in
        [("ada", "päss wörd", None), ("ada", "wrong", Some("ada")), ("eve", "päss wörd", Some("eve"))]
    {
        let mut command = server.psql();
        command.args(["-At", "-U", user, "-d", "hyades", "-c", "select 1"]).env("PGPASSWORD", password);
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        match expected {
            None => assert_eq!(output.stdout, b"1\n", "{errors}"),
            Some(user) => {
                let sentence = format!("FATAL:  password authentication failed for user \"{user}\"");
                assert!(errors.contains(&sentence), "{errors}");
            }
        }
    }
}

/// The results of psql's own queries are compared with PostgreSQL's by `sql/tests/scripts/catalog_psql.sql`.
#[test]
fn backslash_commands_list_what_there_is() {
    let server = Server::start(&[]);
    server.query(&[
        "create table parent (id integer primary key, name varchar(20))",
        "create table child (id serial primary key, parent integer references parent)",
        "create function f(a integer, b text) returns integer language plpgsql as $$ begin return 1; end $$",
    ]);
    let shown = |command: &str| {
        let output = server.psql().args(["-At", "-c", command]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let user = shown("select current_user");
    let user = user.trim_end();
    assert_eq!(shown("\\dt"), format!("public|child|table|{user}\npublic|parent|table|{user}\n"));
    assert_eq!(
        shown("\\di"),
        format!("public|child_pkey|index|{user}|child\npublic|parent_pkey|index|{user}|parent\n")
    );
    assert_eq!(shown("\\ds"), format!("public|child_id_seq|sequence|{user}\n"));
    assert_eq!(shown("\\dn"), "public|pg_database_owner\n");
    assert_eq!(shown("\\df"), "public|f|integer|a integer, b text|func\n");
    assert!(shown("\\du").starts_with(&format!("{user}|Superuser")));
    assert!(shown("\\dx").starts_with("plpgsql|1.0|pg_catalog|"));
}

#[test]
fn numbers_of_objects_are_the_same_after_a_restart() {
    let server = Server::start(&[]);
    server.query(&[
        "create table parent (id integer primary key)",
        "create table child (id serial primary key, parent integer references parent)",
    ]);
    let numbers = [
        "select oid, relname from pg_class where relnamespace = 'public'::regnamespace order by 2",
        "select oid, conname from pg_constraint order by 2",
    ];
    let before = server.query(&numbers);
    let server = Server::start_in(server.stop(), &[]);
    assert_eq!(server.query(&numbers), before);
    assert!(before.contains("|child_parent_fkey"), "{before}");
}
