//! A log that cannot be written.
//!
//! What must hold: clients do not notice, neither at the start nor later, and the server ends as it should.

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::ground::{Attack, Ground, Host};
use super::ping::Pingers;
use super::report::{Observed, Verdict};

const ATTACKS: [Attack; 4] = [
    Attack {
        name: "standard error is a full disk",
        brief: true,
        work: |ground| log_to(ground, "2>/dev/full"),
    },
    Attack { name: "standard error is closed", brief: false, work: |ground| log_to(ground, "2>&-") },
    Attack {
        name: "standard error is a pipe whose reader has gone",
        brief: true,
        work: |ground| log_to(ground, "2> >(exec true)"),
    },
    Attack {
        name: "standard error is a pipe that nobody reads",
        brief: true,
        work: |ground| log_to(ground, "2> >(exec sleep 1000)"),
    },
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("logging", &ATTACKS, report);
}

fn log_to(ground: &Ground, redirection: &str) -> Result<Observed> {
    let script = format!("exec \"$0\" \"$@\" {redirection}");
    let arguments = ["--log-level", "debug", "--log-format", "json"];
    let mut host = ground.host_with_prefix(&["bash", "-c", &script], &arguments)?;
    host.connect()?.value("create table t (id integer primary key)")?;
    // A start that has something to log.
    host.end_with(Signal::TERM).and_then(expect_clean)?;
    host.restart().context("the second start")?;
    let pingers = Pingers::start(host.port())?;
    // Some 500 bytes for each row, and a pipe takes 64 KiB.
    for row in 0..ground.tries(1000, 300) {
        host.connect()?.value(&format!("insert into t values ({row})"))?;
    }
    // An error is logged at this level as well.
    let answer = host.connect()?.query("select 1 / 0")?;
    if answer.state() != "22012" {
        bail!("a division by zero: {:?}", answer.error);
    }
    let pings = pingers.finish()?;
    expect_serves(&mut host)?;
    host.end_with(Signal::TERM).and_then(expect_clean)?;
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong}");
    }
    Ok(Observed { pings: Some(pings), ..Observed::default() })
}

fn expect_serves(host: &mut Host) -> Result<()> {
    host.expect_alive()
}

fn expect_clean(code: Option<i32>) -> Result<()> {
    match code {
        Some(0) => Ok(()),
        code => bail!("SIGTERM ended the server with {code:?}"),
    }
}
