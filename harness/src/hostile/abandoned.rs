//! Clients that go away in the middle of an action.
//!
//! What must hold: their statements end at once, whether computing or waiting; their locks are free; the
//! server serves, however many such clients there were; it does not go on computing for clients that are
//! gone.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::client::{self, Client};
use super::ground::{Attack, Ground, Host, until};
use super::ping::Pingers;
use super::report::{Observed, Verdict};

/// How soon the locks of a client that went away must be free.
const SOON: Duration = Duration::from_millis(100);

const SETUP: [&str; 3] = [
    "create table t (id integer primary key, v integer)",
    "insert into t select g, 0 from generate_series(1, 100) g",
    "create procedure spin() language plpgsql as $$ begin loop null; end loop; end $$",
];

const ATTACKS: [Attack; 8] = [
    Attack {
        name: "computing an endless SELECT: its locks",
        brief: true,
        work: |ground| leave(ground, ENDLESS),
    },
    Attack {
        name: "computing a loop in a procedure: its locks",
        brief: true,
        work: |ground| leave(ground, "call spin()"),
    },
    Attack {
        name: "evaluating one long expression: its locks",
        brief: false,
        work: |ground| leave(ground, "select repeat('ab', 500000) like '%' || repeat('_', 400000) || 'c'"),
    },
    Attack {
        name: "reading rows: its locks",
        brief: false,
        work: |ground| leave(ground, "select * from generate_series(1, 100000000) g"),
    },
    Attack { name: "waiting for a lock: the next in line", brief: true, work: waiting },
    Attack {
        name: "idle in a transaction: its locks",
        brief: true,
        work: |ground| leave(ground, "select 1"),
    },
    Attack { name: "half-closed while computing: its locks", brief: true, work: half_closed },
    Attack { name: "16 at once: others are served, nothing computes", brief: true, work: many },
];

const ENDLESS: &str = "select count(*) from generate_series(1, 1000000000000) g";

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("abandoned", &ATTACKS, report);
}

fn host(ground: &Ground) -> Result<Host> {
    let host = ground.host(&[])?;
    let mut client = host.connect()?;
    for sql in SETUP {
        client.value(sql).context("setup")?;
    }
    Ok(host)
}

/// A client that has locked a row and computes.
fn busy(host: &Host, row: u32, sql: &str) -> Result<Client> {
    let mut client = host.connect()?;
    client.value(&format!("begin; update t set v = v + 1 where id = {row}"))?;
    client.send(&client::query(sql))?;
    // Let it pass through the socket, and begin.
    std::thread::sleep(Duration::from_millis(100));
    Ok(client)
}

/// How long it takes until another client gets the lock of a row.
fn freed(ground: &Ground, host: &Host, row: u32) -> Result<Duration> {
    let start = Instant::now();
    let mut other = host.connect()?;
    let limit = ground.within(Duration::from_secs(5));
    other.set_patience(limit)?;
    let answer = other.query(&format!("update t set v = v + 1 where id = {row}"));
    let answer = answer.with_context(|| format!("row {row} stays locked"))?;
    if let Some((state, words)) = answer.error {
        bail!("row {row}: {state} {words}");
    }
    Ok(start.elapsed())
}

fn expect_soon(ground: &Ground, took: Duration) -> Result<Observed> {
    let took_ms = took.as_secs_f64() * 1e3;
    if took > ground.within(SOON) {
        bail!("the lock was free only after {took_ms:.0} ms");
    }
    Ok(Observed::note(format!("free after {took_ms:.0} ms")))
}

fn leave(ground: &Ground, sql: &str) -> Result<Observed> {
    let mut host = host(ground)?;
    let pingers = Pingers::start(host.port())?;
    let client = busy(&host, 1, sql)?;
    client.vanish();
    let took = freed(ground, &host, 1)?;
    let pings = pingers.finish()?;
    host.expect_alive()?;
    let observed = expect_soon(ground, took)?;
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong}");
    }
    Ok(Observed { pings: Some(pings), ..observed })
}

fn half_closed(ground: &Ground) -> Result<Observed> {
    let host = host(ground)?;
    let client = busy(&host, 1, ENDLESS)?;
    client.stream.shutdown(std::net::Shutdown::Write)?;
    let took = freed(ground, &host, 1)?;
    expect_soon(ground, took)
}

/// The first in line goes away. The next one must get the lock when the holder releases it.
fn waiting(ground: &Ground) -> Result<Observed> {
    let host = host(ground)?;
    let mut holder = host.connect()?;
    holder.value("begin; update t set v = 1 where id = 1")?;
    let waiter = busy(&host, 2, "update t set v = 2 where id = 1")?;
    let mut next = host.connect()?;
    next.send(&client::query("update t set v = 3 where id = 1"))?;
    std::thread::sleep(Duration::from_millis(50));
    waiter.vanish();
    // The locks of the waiter are free, although the one it waited for is not.
    let took = freed(ground, &host, 2)?;
    holder.value("commit")?;
    let answer = next.answer().context("the next in line")?;
    if !answer.state().is_empty() {
        bail!("the next in line got {}", answer.state());
    }
    expect_soon(ground, took)
}

fn many(ground: &Ground) -> Result<Observed> {
    let mut host = host(ground)?;
    let pingers = Pingers::start(host.port())?;
    for row in 1..=16 {
        busy(&host, row, if row % 2 == 0 { ENDLESS } else { "call spin()" })?.vanish();
    }
    for row in 1..=16 {
        freed(ground, &host, row)?;
    }
    let pings = pingers.finish()?;
    host.expect_alive()?;
    let limit = ground.within(Duration::from_secs(2));
    // With nothing to do, there must be a moment in which it does next to nothing.
    let rests = until(limit, || {
        let before = host.cpu().context("/proc tells the time computed")?;
        std::thread::sleep(Duration::from_millis(300));
        Ok(host.cpu().context("/proc tells the time computed")? - before < Duration::from_millis(100))
    })?;
    if rests.is_none() {
        bail!("the server goes on computing for clients that have left");
    }
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong}");
    }
    Ok(Observed { pings: Some(pings), ..Observed::default() })
}
