//! Loops without an end, of a role without rights, from as many sessions as there are workers and from twice
//! as many.
//!
//! What must hold: others are answered in time and new clients get in; each loop can be cancelled and its
//! session terminated at once; SIGTERM ends the server in time.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::client::{self, Client, cancel};
use super::ground::{Ground, Host, Statement, statement};
use super::ping::Pingers;
use super::report::{Observed, Verdict};

const WORKERS: usize = 2;
/// What the loops use. Every role may call functions.
const SETUP: [&str; 6] = [
    "create role mal login",
    "create function tiny() returns integer language plpgsql as 'begin return 1; end'",
    "create function fails() returns integer language plpgsql as 'begin raise exception ''x''; end'",
    "create function deep(n integer) returns integer language plpgsql as 'begin return deep(n + 1); end'",
    "create function guarded(n bigint) returns bigint language plpgsql as \
     'begin return n / (n - n); exception when division_by_zero then return 0; end'",
    "create procedure commits() language plpgsql as 'begin loop commit; end loop; end'",
];
/// What each session of the role has of its own.
const OWN: &str = "create temporary table own (id integer primary key); insert into own values (1)";

/// A loop over a body in PL/pgSQL.
macro_rules! endless {
    ($body:expr) => {
        || concat!("do $$ begin loop ", $body, " end loop; end $$").to_owned()
    };
}

/// The body inside a block that catches everything.
macro_rules! caught {
    ($body:expr) => {
        endless!(concat!("begin ", $body, " exception when others then null; end;"))
    };
}

const LOOPS: [Statement; 17] = [
    statement("an error is raised and caught", true, caught!("raise exception 'x';")),
    statement("a division by zero, caught", false, caught!("perform 1 / 0;")),
    statement("a duplicate key, caught", true, caught!("insert into own values (1);")),
    statement("an insert that is undone", false, caught!("insert into own values (2); raise exception 'x';")),
    statement(
        "handlers in handlers",
        false,
        caught!("begin raise exception 'x'; exception when others then raise; end;"),
    ),
    statement("a function that fails, caught", true, caught!("perform fails();")),
    statement("EXECUTE of what does not parse, caught", true, caught!("execute 'selec';")),
    statement("EXECUTE of what fails, caught", false, caught!("execute 'select 1 / 0';")),
    statement("recursion to the limit, caught", false, caught!("perform deep(1);")),
    statement("a tiny function", true, endless!("perform tiny();")),
    statement("EXECUTE", false, endless!("execute 'select 1';")),
    statement(
        "EXECUTE of schema changes",
        false,
        endless!("execute 'create temp table x (a int)'; execute 'drop table x';"),
    ),
    statement("COMMIT", true, || "call commits()".to_owned()),
    statement(
        "a cursor",
        false,
        endless!(
            "declare c cursor for select id from own; n integer; begin open c; fetch c into n; close c; end;"
        ),
    ),
    statement(
        "a loop over rows",
        false,
        endless!("declare r record; begin for r in select id from own loop null; end loop; end;"),
    ),
    statement("messages", false, endless!("raise debug 'x';")),
    statement("a handler for every row", false, || {
        "select count(guarded(g)) from generate_series(1, 1000000000000) g".to_owned()
    }),
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    for one in LOOPS.iter().filter(|one| one.brief || !ground.brief) {
        for sessions in [WORKERS, 2 * WORKERS] {
            if ground.brief && sessions > WORKERS {
                continue;
            }
            let name = format!("{}, {sessions} sessions", one.name);
            report(ground.judge("loops", &name, || attack(ground, &(one.sql)(), sessions)));
        }
    }
}

fn attack(ground: &Ground, sql: &str, sessions: usize) -> Result<Observed> {
    let mut host = ground.host(&["--workers", &WORKERS.to_string()])?;
    let mut owner = host.connect()?;
    for sql in SETUP {
        owner.value(sql).context("setup")?;
    }
    let mut hogs = Vec::new();
    for _ in 0..sessions {
        let mut hog = Client::connect_with(host.port(), &[("user", "mal"), ("database", "hyades")])?;
        hog.value(OWN)?;
        hogs.push(hog);
    }
    let pingers = Pingers::start(host.port())?;
    for hog in &mut hogs {
        hog.send(&client::query(sql))?;
    }
    std::thread::sleep(Duration::from_millis(if ground.brief { 300 } else { 2000 }));
    let stopped = stop_two(ground, &host, &mut owner, &mut hogs);
    let pings = pingers.finish();
    let note = stopped?;
    let pings = pings?;
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong} ({note}; {} pings)", pings.count);
    }
    let start = Instant::now();
    let code = host.end_with(Signal::TERM)?;
    let took = start.elapsed();
    if code != Some(0) || took > ground.within(Duration::from_secs(2)) {
        bail!("SIGTERM: {code:?} after {:.1} s", took.as_secs_f64());
    }
    let note = format!("{note}, SIGTERM {:.1} s", took.as_secs_f64());
    Ok(Observed { pings: Some(pings), note, ..Observed::default() })
}

/// Connects, cancels the loop of one session, which begins again, and terminates another session.
fn stop_two(ground: &Ground, host: &Host, owner: &mut Client, hogs: &mut [Client]) -> Result<String> {
    let bound = ground.within(Duration::from_millis(100));
    let mut note = String::new();
    let mut within = |what: &str, start: Instant| {
        let took = start.elapsed();
        if took > bound {
            bail!("{what} took {:.0} ms", took.as_secs_f64() * 1e3);
        }
        note.push_str(&format!("{what} {:.0} ms ", took.as_secs_f64() * 1e3));
        Ok(())
    };
    let start = Instant::now();
    host.connect()?.value("select 1")?;
    within("connect", start)?;
    let [first, second, ..] = hogs else { bail!("there are two at least") };
    let start = Instant::now();
    cancel(host.port(), first.process_id, &first.secret)?;
    let state = first.answer().context("after a request to cancel")?.state().to_owned();
    within("cancel", start)?;
    if state != "57014" {
        bail!("it was cancelled, and ended with {state}");
    }
    let start = Instant::now();
    owner.value(&format!("select pg_terminate_backend({})", second.process_id))?;
    let answer = second.answer().context("after pg_terminate_backend")?;
    within("terminate", start)?;
    if answer.state() != "57P01" {
        bail!("it was terminated, and ended with {}", answer.state());
    }
    Ok(note.trim_end().to_owned())
}
