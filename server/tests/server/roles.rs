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
    // A client of the role is not the superuser because the role is gone.
    printed(&psql(&server, "hyades", "", "drop role ada"));
    let error = complained(&psql(&server, "ada", "", "select 1"));
    assert!(error.contains("FATAL:  role \"ada\" does not exist"), "{error}");
    assert_eq!(printed(&psql(&server, "hyades", "", "select current_user")), "hyades");
}

/// Writes a user file in which every password is "x".
fn user_file(directory: &Directory, users: &[(&str, &str)]) -> String {
    let path = directory.path().join("users");
    let verifier = hyades_server::scram::Verifier::of_password("x");
    let lines: Vec<String> = users.iter().map(|(user, mark)| format!("{user}:{verifier}{mark}")).collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A user does not become superuser when the role of the same name is dropped.
#[test]
fn only_the_user_file_makes_a_superuser() {
    let directory = Directory::new();
    let users = [("erin", ""), ("ghost", ""), ("root", ":superuser"), ("taken", ":superuser")];
    let users = user_file(&directory, &users);
    let server = Server::start_with_password(&[]);
    superuser(&server, "create role erin login createrole");
    superuser(&server, "create role taken login");
    let server = Server::start_with_password_in(server.stop(), &["--user-file", &users]);
    let who = "select current_user, current_setting('is_superuser')";
    assert_eq!(printed(&psql(&server, "root", "x", who)), "root|on");
    assert_eq!(printed(&psql(&server, "erin", "x", who)), "erin|off");
    assert_eq!(printed(&psql(&server, "taken", "x", who)), "taken|off");
    assert_eq!(superuser(&server, who), "hyades|on");
    printed(&psql(&server, "erin", "x", "create role mate login createrole password 'y'"));
    let nobody = |server: &Server, user: &str, password: &str| {
        let error = complained(&psql(server, user, password, who));
        assert!(error.contains(&format!("password authentication failed for user \"{user}\"")), "{error}");
    };
    nobody(&server, "ghost", "x");
    // Neither the new name nor the old one has more rights than the role.
    printed(&psql(&server, "mate", "y", "alter role erin rename to erna"));
    nobody(&server, "erin", "x");
    nobody(&server, "erna", "x");
    printed(&psql(&server, "mate", "y", "drop role erna, taken"));
    nobody(&server, "erin", "x");
    nobody(&server, "taken", "x");
    // No role can be created with, or renamed to, the name of a superuser.
    for name in ["root", "hyades"] {
        for statement in
            [format!("create role {name} login password 'y'"), format!("alter role other rename to {name}")]
        {
            printed(&psql(&server, "mate", "y", "create role other"));
            let error = complained(&psql(&server, "mate", "y", &statement));
            assert!(error.contains(&format!("42710: role \"{name}\" already exists")), "{error}");
            printed(&psql(&server, "mate", "y", "drop role other"));
        }
        let error = complained(&psql(&server, "mate", "y", &format!("alter role {name} password 'y'")));
        assert!(error.contains("42501: must be superuser to alter superuser roles"), "{error}");
        nobody(&server, name, "y");
    }
    server.signal("TERM");
    let (_, _, log, data) = server.wait();
    let warned = |log: &str, user: &str| {
        log.lines().any(|line| line.contains("the user file") && line.contains(&format!("\"{user}\"")))
    };
    assert!(warned(&log, "ghost") && warned(&log, "taken"), "{log}");
    assert!(!warned(&log, "erin") && !warned(&log, "root"), "{log}");
    // The next start does not make superusers of former roles, either.
    let server = Server::start_with_password_in(data, &["--user-file", &users]);
    nobody(&server, "erin", "x");
    nobody(&server, "erna", "x");
}

#[test]
fn a_role_without_a_limit_has_as_many_sessions_as_the_server_says() {
    let server = Server::start(&["--connections-per-role", "1"]);
    server.query(&["create role ada login", "create role bob login connection limit 2"]);
    let _ada = crate::raw::Client::connect_as(&server, "ada");
    let error = complained(&psql(&server, "ada", "", "select 1"));
    assert!(error.contains("too many connections for role \"ada\""), "{error}");
    let _bob = [(); 2].map(|()| crate::raw::Client::connect_as(&server, "bob"));
    let error = complained(&psql(&server, "bob", "", "select 1"));
    assert!(error.contains("too many connections for role \"bob\""), "{error}");
    let _superusers = [(); 2].map(|()| crate::raw::Client::connect(&server));
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
fn roles_cannot_stop_or_watch_more_powerful_ones() {
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
