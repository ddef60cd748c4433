//! Timeouts of sessions: of the statement, of the lock, of the idle transaction, of the idle session; by SET
//! and by the server's options.
//!
//! What must hold: PostgreSQL's SQLSTATE after the time that was set, and waiting clients are served.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::client::{self, Client};
use super::ground::{Attack, Ground, Host, until};
use super::report::{Observed, Verdict};

const ENDLESS: &str = "select count(*) from generate_series(1, 1000000000000) g";

const ATTACKS: [Attack; 10] = [
    Attack { name: "statement_timeout, computing", brief: true, work: |ground| statement(ground, ENDLESS) },
    Attack {
        name: "statement_timeout, in a procedure",
        brief: true,
        work: |ground| statement(ground, "call spin()"),
    },
    Attack { name: "statement_timeout, waiting", brief: true, work: |ground| statement(ground, LOCKED) },
    Attack { name: "lock_timeout", brief: true, work: lock },
    Attack { name: "idle_in_transaction_session_timeout", brief: true, work: idle_in_transaction },
    Attack { name: "idle_session_timeout", brief: true, work: idle },
    Attack { name: "--statement-timeout", brief: true, work: server_statement },
    Attack { name: "--idle-in-transaction-timeout", brief: true, work: server_idle_in_transaction },
    Attack { name: "--idle-session-timeout", brief: false, work: server_idle },
    Attack { name: "pg_terminate_backend and pg_cancel_backend", brief: true, work: terminated },
];

const LOCKED: &str = "update t set v = 'mine' where id = 1";
/// The value of every timeout here.
const TIMEOUT: Duration = Duration::from_millis(500);

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("sessions", &ATTACKS, report);
}

/// A server, and a client that holds the lock of row 1.
fn host(ground: &Ground, arguments: &[&str]) -> Result<(Host, Client)> {
    let host = ground.host(arguments)?;
    let mut holder = host.connect()?;
    holder.value("create table t (id integer primary key, v text)")?;
    holder.value("insert into t values (1, '')")?;
    holder.value("create procedure spin() language plpgsql as $$ begin loop null; end loop; end $$")?;
    Ok((host, holder))
}

fn expect(ground: &Ground, answer: &client::Answer, state: &str, took: Duration) -> Result<Observed> {
    if answer.state() != state {
        bail!("\"{}\" instead of {state} after {:.1} s", answer.state(), took.as_secs_f64());
    }
    if took < TIMEOUT.mul_f64(0.9) || took > TIMEOUT + ground.within(Duration::from_millis(300)) {
        bail!("{state} after {:.2} s instead of {:.2}", took.as_secs_f64(), TIMEOUT.as_secs_f64());
    }
    Ok(Observed::note(format!("{state} after {:.2} s", took.as_secs_f64())))
}

fn timed(client: &mut Client, sql: &str) -> Result<(client::Answer, Duration)> {
    let start = Instant::now();
    let answer = client.query(sql)?;
    Ok((answer, start.elapsed()))
}

fn statement(ground: &Ground, sql: &str) -> Result<Observed> {
    let (mut host, mut holder) = host(ground, &[])?;
    holder.value("begin; update t set v = 'held' where id = 1")?;
    let mut client = host.connect()?;
    client.value("set statement_timeout = 500")?;
    let (answer, took) = timed(&mut client, sql)?;
    let observed = expect(ground, &answer, "57014", took)?;
    client.value("select 1").context("afterwards")?;
    host.expect_alive()?;
    Ok(observed)
}

fn lock(ground: &Ground) -> Result<Observed> {
    let (host, mut holder) = host(ground, &[])?;
    holder.value("begin; update t set v = 'held' where id = 1")?;
    let mut client = host.connect()?;
    client.value("set lock_timeout = '500ms'")?;
    let (answer, took) = timed(&mut client, LOCKED)?;
    let observed = expect(ground, &answer, "55P03", took)?;
    holder.value("commit")?;
    client.value(LOCKED).context("afterwards")?;
    Ok(observed)
}

/// Says nothing until the server ends the connection.
fn silent(mut client: Client) -> Result<(client::Answer, Duration)> {
    let start = Instant::now();
    let answer = client.answer()?;
    if !answer.closed {
        bail!("the connection goes on");
    }
    Ok((answer, start.elapsed()))
}

fn idle_in_transaction(ground: &Ground) -> Result<Observed> {
    let (host, mut holder) = host(ground, &[])?;
    holder.value("set idle_in_transaction_session_timeout = '500ms'")?;
    holder.value("begin; update t set v = 'held' where id = 1")?;
    let mut waiter = host.connect()?;
    waiter.send(&client::query(LOCKED))?;
    let (answer, took) = silent(holder)?;
    let observed = expect(ground, &answer, "25P03", took)?;
    if !waiter.answer()?.state().is_empty() {
        bail!("the waiting client was not served");
    }
    Ok(observed)
}

fn idle(ground: &Ground) -> Result<Observed> {
    let (_host, mut client) = host(ground, &[])?;
    client.value("set idle_session_timeout = '500ms'")?;
    let (answer, took) = silent(client)?;
    expect(ground, &answer, "57P05", took)
}

fn server_statement(ground: &Ground) -> Result<Observed> {
    ground.needs("--statement-timeout")?;
    let (host, _holder) = host(ground, &["--statement-timeout", "500ms"])?;
    let (answer, took) = timed(&mut host.connect()?, ENDLESS)?;
    expect(ground, &answer, "57014", took)
}

fn server_idle_in_transaction(ground: &Ground) -> Result<Observed> {
    ground.needs("--idle-in-transaction-timeout")?;
    let (_host, mut holder) = host(ground, &["--idle-in-transaction-timeout", "500ms"])?;
    holder.value("begin; update t set v = 'held' where id = 1")?;
    let (answer, took) = silent(holder)?;
    expect(ground, &answer, "25P03", took)
}

fn server_idle(ground: &Ground) -> Result<Observed> {
    ground.needs("--idle-session-timeout")?;
    let (_host, client) = host(ground, &["--idle-session-timeout", "500ms"])?;
    let (answer, took) = silent(client)?;
    expect(ground, &answer, "57P05", took)
}

fn terminated(ground: &Ground) -> Result<Observed> {
    let (host, mut operator) = host(ground, &[])?;
    let mut canceled = host.connect()?;
    canceled.send(&client::query(ENDLESS))?;
    let mut ended = host.connect()?;
    ended.value("begin; update t set v = 'held' where id = 1")?;
    ended.send(&client::query("call spin()"))?;
    std::thread::sleep(Duration::from_millis(100));
    operator.value(&format!("select pg_cancel_backend({})", canceled.process_id))?;
    if canceled.answer()?.state() != "57014" {
        bail!("pg_cancel_backend does not cancel");
    }
    operator.value(&format!("select pg_terminate_backend({})", ended.process_id))?;
    let answer = ended.answer()?;
    if answer.state() != "57P01" || !(answer.closed || ended.answer()?.closed) {
        bail!("pg_terminate_backend does not end: {:?}", answer.error);
    }
    let freed = until(client::PATIENCE, || Ok(operator.query(LOCKED)?.state().is_empty()))?;
    freed.context("the lock of a terminated session stays")?;
    operator.value("select count(*) from pg_stat_activity")?;
    Ok(Observed::default())
}
