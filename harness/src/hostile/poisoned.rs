//! A log that suddenly cannot be written: the kernel refuses writes beyond a limit on the size of files.
//!
//! What must hold: nothing is acknowledged after that; every session gets the reason, including the `select
//! 1` of a health check; the process ends if it was told to; the next one has everything that was
//! acknowledged.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

use super::client::Client;
use super::ground::{Attack, Ground, Host};
use super::report::{Observed, Verdict};

const ATTACKS: [Attack; 4] = [
    Attack { name: "taurus: all sessions learn it", brief: true, work: |ground| told(ground, &[]) },
    Attack {
        name: "four logs: all sessions learn it",
        brief: false,
        work: |ground| told(ground, &["--logs", "4"]),
    },
    Attack { name: "--exit-when-poisoned", brief: true, work: exits },
    Attack { name: "SIGTERM ends it all the same", brief: true, work: ends },
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("poisoned", &ATTACKS, report);
}

/// A server that can no longer write, with sessions from before. The acknowledged rows are 0 to 99.
fn poisoned(ground: &Ground, arguments: &[&str]) -> Result<(Host, Vec<Client>)> {
    let host = ground.host(arguments)?;
    let mut client = host.connect()?;
    client.value("create table t (id integer primary key)")?;
    for row in 0..100 {
        client.value(&format!("insert into t values ({row})"))?;
    }
    let sessions = (0..3).map(|_| host.connect()).collect::<Result<Vec<_>>>()?;
    let process = i32::try_from(host.server.process_id()).ok().and_then(Pid::from_raw);
    let limit = Rlimit { current: Some(512), maximum: Some(512) };
    prlimit(process, Resource::Fsize, limit).context("cannot limit the size of files")?;
    for row in 100..110 {
        let answer = client.query(&format!("insert into t values ({row})"))?;
        if answer.error.is_none() && !answer.closed {
            bail!("row {row} was acknowledged");
        }
        if !matches!(answer.state(), "58030" | "") {
            bail!("a row that cannot be written: {:?}", answer.error);
        }
        if answer.closed {
            break;
        }
    }
    Ok((host, sessions))
}

/// The next process has what was acknowledged.
fn expect_rows(host: &mut Host) -> Result<Observed> {
    host.restart().context("the next start")?;
    let rows = host.connect()?.value("select count(*) from t where id < 100")?;
    let more = host.connect()?.value("select count(*) from t")?;
    if rows != "100" || more.parse::<u32>()? > 101 {
        bail!("{rows} of 100 rows are there, {more} in all");
    }
    Ok(Observed::default())
}

fn told(ground: &Ground, arguments: &[&str]) -> Result<Observed> {
    let (mut host, sessions) = poisoned(ground, arguments)?;
    for (mut session, sql) in sessions.into_iter().zip(["select 1", "show server_version", "begin"]) {
        // It may get the error before it sends a query.
        let state = match session.query(sql) {
            Ok(answer) => answer.state().to_owned(),
            Err(_) => session.answer()?.state().to_owned(),
        };
        if state != "58030" {
            bail!("`{sql}` was answered with \"{state}\"");
        }
    }
    match host.connect() {
        Ok(_) => bail!("a new client got in"),
        Err(error) if error.to_string().contains("58030") => {}
        Err(error) => return Err(error.context("a new client")),
    }
    if !host.server.is_running() {
        bail!("the process has ended");
    }
    // The log is written by a thread of its own.
    host.wait_for_line("could not write log file")?;
    let reasons = host.log().lines().filter(|line| line.contains("could not write log file")).count();
    if reasons != 1 {
        bail!("the log gives the reason {reasons} times");
    }
    expect_rows(&mut host)
}

fn exits(ground: &Ground) -> Result<Observed> {
    ground.needs("--exit-when-poisoned")?;
    let (mut host, _sessions) = poisoned(ground, &["--exit-when-poisoned"])?;
    let code = host.wait_end()?;
    if code != Some(3) {
        bail!("it ended with {code:?}");
    }
    expect_rows(&mut host)
}

fn ends(ground: &Ground) -> Result<Observed> {
    let (mut host, _sessions) = poisoned(ground, &[])?;
    let code = host.end_with(Signal::TERM)?;
    if code != Some(1) {
        bail!("it ended with {code:?}, as if all were well");
    }
    expect_rows(&mut host)
}
