//! Roles as clients see them: which ones may log in, with which password, and what psql shows.

use std::process::Output;

use crate::process::{Directory, Server, wait_for};

fn psql(server: &Server, user: &str, password: &str, sql: &str) -> Output {
    let mut command = server.psql();
    command.args(["-At", "-U", user, "-d", "hyades", "-c", sql]).env("PGPASSWORD", password);
    command.output().expect("psql is installed")
}

fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

fn complained(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// As the superuser "hyades", whose password is "secret".
fn superuser(server: &Server, sql: &str) -> String {
    printed(&psql(server, "hyades", "secret", sql))
}

#[test]
fn a_role_logs_in_with_its_own_password() {
    let server = Server::start_with_password(&[]);
    superuser(&server, "create role ada login password 'pässword'");
    superuser(&server, "create role staff password 'x'");
    superuser(&server, "create role old login password 'x' valid until '2020-01-01'");
    superuser(&server, "create role bare login");
    let who = "select current_user, session_user, current_setting('is_superuser')";
    assert_eq!(printed(&psql(&server, "ada", "pässword", who)), "ada|ada|off");
    assert_eq!(superuser(&server, who), "hyades|hyades|on");
    for (user, password, expected) in [
        ("ada", "wrong", "password authentication failed for user \"ada\""),
        ("staff", "x", "role \"staff\" is not permitted to log in"),
        ("old", "x", "password authentication failed for user \"old\""),
        ("bare", "", "fe_sendauth: no password supplied"),
        ("bare", "x", "password authentication failed for user \"bare\""),
        ("nobody", "x", "password authentication failed for user \"nobody\""),
    ] {
        let error = complained(&psql(&server, user, password, "select 1"));
        assert!(error.contains(expected), "{user}: {error}");
    }
    // A changed password takes effect at once, and persists across a restart.
    assert_eq!(printed(&psql(&server, "ada", "pässword", "alter role ada password 'new'")), "ALTER ROLE");
    complained(&psql(&server, "ada", "pässword", "select 1"));
    assert_eq!(printed(&psql(&server, "ada", "new", "select 1")), "1");
    superuser(&server, "revoke connect on database hyades from public");
    let error = complained(&psql(&server, "ada", "new", "select 1"));
    assert!(error.contains("permission denied for database \"hyades\""), "{error}");
    superuser(&server, "grant connect on database hyades to ada");
    assert_eq!(printed(&psql(&server, "ada", "new", "select 1")), "1");
}

#[test]
fn without_passwords_only_roles_get_in_once_there_are_roles() {
    let server = Server::start(&[]);
    assert_eq!(printed(&psql(&server, "anybody", "", "select 1")), "1");
    printed(&psql(&server, "anybody", "", "create role ada login"));
    assert_eq!(printed(&psql(&server, "ada", "", "select current_user")), "ada");
    assert_eq!(printed(&psql(&server, "hyades", "", "select current_user")), "hyades");
    let error = complained(&psql(&server, "anybody", "", "select 1"));
    assert!(error.contains("FATAL:  role \"anybody\" does not exist"), "{error}");
}

#[test]
fn a_role_has_so_many_sessions_and_no_more() {
    let server = Server::start(&[]);
    server.query(&["create role ada login connection limit 1"]);
    let count = "select count(*) from pg_stat_activity where usename = 'ada'";
    assert_eq!(printed(&psql(&server, "ada", "", count)), "1");
    // The previous session may still be leaving.
    wait_for("the place", || (server.query(&[count]) == "0").then_some(()));
    let mut first = crate::raw::Client::connect_as(&server, "ada");
    let error = complained(&psql(&server, "ada", "", "select 1"));
    assert!(error.contains("too many connections for role \"ada\""), "{error}");
    assert_eq!(crate::raw::kinds(&first.query("select 1")), "TDCZ");
}

#[test]
fn nobody_stops_or_watches_who_is_more_than_himself() {
    let server = Server::start(&[]);
    server.query(&["create role ada login", "create role bob login"]);
    let boss = crate::raw::Client::connect(&server);
    let bob = crate::raw::Client::connect_as(&server, "bob");
    let as_ada = |sql: String| psql(&server, "ada", "", &sql);
    for call in ["pg_cancel_backend", "pg_terminate_backend"] {
        let error = complained(&as_ada(format!("select {call}({})", boss.process_id)));
        assert!(error.contains("42501: must be a superuser to"), "{error}");
        let error = complained(&as_ada(format!("select {call}({})", bob.process_id)));
        assert!(error.contains("42501: must be a member of the role whose"), "{error}");
    }
    let seen = "select distinct query from pg_stat_activity where usename <> 'ada'";
    assert_eq!(printed(&as_ada(seen.to_owned())), "<insufficient privilege>");
    let error = complained(&as_ada("select rolpassword from pg_authid".to_owned()));
    assert!(error.contains("42501: permission denied for table pg_authid"), "{error}");
}

#[test]
fn a_prepared_statement_does_not_outlive_its_right() {
    let server = Server::start(&[]);
    server.query(&["create role ada login", "create table t (id int)", "grant select on t to ada"]);
    let mut ada = crate::raw::Client::connect_as(&server, "ada");
    let (parse, sync) = (crate::raw::parse("s", "select * from t"), crate::raw::sync());
    assert_eq!(crate::raw::kinds(&ada.ask(&[parse, sync.clone()])), "1Z");
    let run = [crate::raw::bind("", "s", &[]), crate::raw::execute("", 0), sync];
    assert_eq!(crate::raw::kinds(&ada.ask(&run)), "2CZ");
    server.query(&["revoke select on t from ada"]);
    assert_eq!(crate::raw::state(&ada.ask(&run)), "42501");
    server.query(&["grant select on t to ada"]);
    assert_eq!(crate::raw::kinds(&ada.ask(&run)), "2CZ");
}

#[test]
fn psql_lists_roles_and_rights() {
    let server = Server::start_in(Directory::new(), &[]);
    server.query(&[
        "create role ada login connection limit 2",
        "create role staff nologin",
        "grant staff to ada",
        "create table t (id int)",
        "grant select on t to ada",
        "grant all on t to public",
    ]);
    let shown = |command: &str| printed(&psql(&server, "hyades", "", command));
    let roles = "ada|2 connections|{staff}\n\
                 hyades|Superuser, Create role, Create DB, Replication, Bypass RLS|{}\n\
                 staff|Cannot login|{}";
    assert_eq!(shown("\\du"), roles);
    assert_eq!(shown("\\dp"), "public|t|table|hyades=arwdDxt/hyades\nada=r/hyades\n=arwdDxt/hyades||");
}
