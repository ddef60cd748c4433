//! Clients that try more than their role may do.
//!
//! What must hold: a client without the right gets 42501 and changes nothing; a right that was revoked is
//! gone for the next statement, prepared or not; limits of a role hold in a storm.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};

use super::client::{self, Client};
use super::ground::{Attack, Ground, Host};
use super::report::{Observed, Verdict};

const ATTACKS: [Attack; 4] = [
    Attack { name: "statements of a role without rights", brief: true, work: forbidden },
    Attack { name: "a right that is taken away between two statements", brief: true, work: revoked },
    Attack { name: "names of roles that are meant to break out", brief: true, work: names },
    Attack { name: "a storm on a role's connection limit", brief: true, work: limited },
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("rights", &ATTACKS, report);
}

/// A server with a role "eve" that may do nothing, and objects that are not hers.
fn host(ground: &Ground) -> Result<Host> {
    let host = ground.host(&[])?;
    let mut owner = host.connect()?;
    for sql in [
        "create role eve login",
        "create role boss superuser login password 'secret'",
        "create role staff",
        "create table t (id integer primary key, v text)",
        "insert into t values (1, 'mine')",
        "create view w as select * from t",
        "create sequence s",
        "create schema side",
        "create table side.u (id integer)",
        "create type mood as enum ('a')",
        "create function f() returns bigint language plpgsql as $$ begin return (select count(*) from t); end $$",
        "create procedure p() language plpgsql as $$ begin insert into t values (2, ''); end $$",
        "create procedure q() language plpgsql as $$ begin execute 'delete from t'; end $$",
        "create function g() returns integer language sql as 'select 1'",
        "revoke execute on function g() from public",
    ] {
        owner.value(sql).with_context(|| sql.to_owned())?;
    }
    Ok(host)
}

fn as_role(host: &Host, role: &str) -> Result<Client> {
    Client::connect_with(host.port(), &[("user", role), ("database", "hyades")])
}

/// What a role without rights may not do.
const FORBIDDEN: [&str; 52] = [
    "select * from t",
    "select 1 from t where false",
    "select * from w",
    "with x as (select * from t) select * from x",
    "select (select count(*) from t)",
    "select * from side.u",
    "table t",
    "insert into t values (7, '')",
    "insert into t select 7, ''",
    "update t set v = ''",
    "update w set v = ''",
    "delete from t",
    "delete from w",
    "truncate t",
    "copy t to stdout",
    "copy t from stdin",
    "copy (select * from t) to stdout",
    "declare c cursor with hold for select * from t",
    "create table own as select * from t",
    "create temp table own as select * from t",
    "select nextval('s')",
    "select nextval(('' || 's')::text::regclass)",
    "select setval('s', 1000)",
    "select last_value from s",
    "select f()",
    "select g()",
    "call p()",
    "call q()",
    "do $$ begin delete from t; end $$",
    "do $$ begin execute 'delete from t'; end $$",
    "do $$ declare r record; begin for r in select * from t loop null; end loop; end $$",
    "create table own (id integer)",
    "create view own as select 1",
    "create sequence own",
    "create schema own",
    "create function own() returns integer language sql as 'select 1'",
    "create or replace function g() returns integer language sql as 'select 2'",
    "alter table t add column x integer",
    "alter table t owner to eve",
    "alter function g() owner to eve",
    "create index on t (v)",
    "drop table t",
    "drop view w",
    "drop sequence s",
    "drop schema side",
    "drop type mood",
    "comment on table t is 'hers'",
    "grant select on t to eve",
    "grant staff to eve",
    "create role more",
    "set role boss",
    "select rolpassword from pg_authid",
];

fn forbidden(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut eve = as_role(&host, "eve")?;
    for sql in FORBIDDEN {
        let sql = match sql.starts_with("declare") {
            true => format!("begin; {sql}; rollback"),
            false => sql.to_owned(),
        };
        let answer = eve.query(&sql)?;
        if answer.state() != "42501" {
            bail!("\"{}\" instead of 42501: {sql}", answer.state());
        }
        eve.query("rollback")?;
    }
    for sql in [
        "alter role eve superuser",
        "alter role boss password 'x'",
        "drop role boss",
        "alter role eve createrole",
        "set session authorization boss",
        "select pg_terminate_backend(pid) from pg_stat_activity where usename <> 'eve'",
    ] {
        // There may be no session to end.
        let state = eve.query(sql)?.state().to_owned();
        if state != "42501" && !(state.is_empty() && sql.contains("terminate")) {
            bail!("\"{state}\" instead of 42501: {sql}");
        }
    }
    let mut owner = host.connect()?;
    if owner.value("select string_agg(id::text || v, ',') from t")? != "1mine" {
        bail!("something was changed");
    }
    host.expect_alive()?;
    Ok(Observed::note(format!("{} refused", FORBIDDEN.len() + 6)))
}

/// Once REVOKE is answered, the right is gone, for prepared statements too.
fn revoked(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut owner = host.connect()?;
    let mut eve = as_role(&host, "eve")?;
    owner.value("grant select on t to eve")?;
    eve.send(&[client::parse("s", "select * from t"), client::sync()].concat())?;
    if !eve.answer()?.state().is_empty() {
        bail!("a right that was granted does not hold");
    }
    let run = [client::bind("", "s", &[]), client::execute("", 0), client::sync()].concat();
    let rounds = ground.tries(500, 100);
    for round in 0..rounds {
        owner.value("grant select on t to eve")?;
        eve.send(&run)?;
        let state = eve.answer()?.state().to_owned();
        if !state.is_empty() {
            bail!("{state} in round {round}, although it was granted");
        }
        owner.value("revoke select on t from eve")?;
        eve.send(&run)?;
        let prepared = eve.answer()?.state().to_owned();
        let plain = eve.query("select * from t")?.state().to_owned();
        if (prepared.as_str(), plain.as_str()) != ("42501", "42501") {
            bail!("\"{prepared}\" and \"{plain}\" in round {round}, although it was revoked");
        }
    }
    host.expect_alive()?;
    Ok(Observed::note(format!("{rounds} rounds")))
}

fn names(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut owner = host.connect()?;
    let hostile = [
        "a\"b",
        "a'b",
        "a=b/c",
        "a,b",
        "{a}",
        "a b",
        "\\",
        "a\nb",
        "ünï",
        "=r/x",
        "NULL",
        "public\u{200b}",
        ";--",
    ];
    for name in hostile {
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        owner.value(&format!("create role {quoted} login")).with_context(|| name.to_owned())?;
        owner.value(&format!("grant select on t to {quoted}"))?;
        let literal = name.replace('\'', "''").replace('\\', "\\\\");
        let has = owner.value(&format!("select has_table_privilege(E'{literal}', 't', 'select')"))?;
        if has != "t" {
            bail!("the right of {name:?} cannot be asked for");
        }
        let mut client = as_role(&host, name).with_context(|| format!("login of {name:?}"))?;
        client.value("select count(*) from t")?;
        if client.value("select current_user")? != name {
            bail!("{name:?} is somebody else");
        }
        if client.query("delete from t")?.state() != "42501" {
            bail!("{name:?} may delete");
        }
    }
    let long = "x".repeat(3000);
    owner.query(&format!("create role \"{long}\""))?;
    host.expect_alive()?;
    Ok(Observed::note(format!("{} names", hostile.len())))
}

fn limited(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let mut owner = host.connect()?;
    owner.value("alter role eve connection limit 5")?;
    let (inside, most) = (AtomicU32::new(0), AtomicU32::new(0));
    let (refused, tries, port) = (AtomicU32::new(0), ground.tries(50, 15), host.port());
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..tries {
                    match Client::connect_with(port, &[("user", "eve"), ("database", "hyades")]) {
                        Ok(client) => {
                            let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(now, Ordering::SeqCst);
                            std::thread::yield_now();
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(client);
                        }
                        Err(_) => {
                            refused.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                }
            });
        }
    });
    let (most, refused) = (most.into_inner(), refused.into_inner());
    if most > 5 {
        bail!("{most} sessions at a time, the limit is 5");
    }
    host.expect_alive()?;
    Ok(Observed::note(format!("{most} at a time, {refused} refused")))
}
