//! Signals, under load.
//!
//! What must hold: those that are not meant to end a server do nothing; SIGTERM and SIGINT end it cleanly;
//! SIGQUIT ends it at once; nothing that was acknowledged is lost; a server that was stopped for a while goes
//! on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::client::Client;
use super::ground::{Attack, Ground, Host};
use super::report::{Observed, Verdict};

const ATTACKS: [Attack; 5] = [
    Attack { name: "SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ", brief: true, work: harmless },
    Attack { name: "SIGTERM", brief: true, work: |ground| ending(ground, Signal::TERM, Some(0)) },
    Attack { name: "SIGINT", brief: false, work: |ground| ending(ground, Signal::INT, Some(0)) },
    Attack { name: "SIGQUIT", brief: true, work: |ground| ending(ground, Signal::QUIT, Some(1)) },
    Attack { name: "SIGSTOP for three seconds, SIGCONT", brief: false, work: stopped },
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("signals", &ATTACKS, report);
}

/// Runs clients that insert. Returns what was acknowledged to each of them.
fn under_load(host: &mut Host, during: impl FnOnce(&mut Host) -> Result<()>) -> Result<u64> {
    host.connect()?.value("create table t (client integer, n bigint, primary key (client, n))")?;
    let (stop, port) = (AtomicBool::new(false), host.port());
    std::thread::scope(|scope| {
        let insert = |number: u32| {
            let stop = &stop;
            scope.spawn(move || -> Result<u64> {
                let mut client = Client::connect(port)?;
                let mut acknowledged = 0;
                while !stop.load(Ordering::Relaxed) {
                    let sql = format!("insert into t values ({number}, {acknowledged})");
                    match client.query(&sql) {
                        Ok(answer) if answer.error.is_none() && !answer.closed => acknowledged += 1,
                        // The end of the server.
                        _ => break,
                    }
                }
                Ok(acknowledged)
            })
        };
        let clients: Vec<_> = (0..4).map(insert).collect();
        std::thread::sleep(Duration::from_millis(300));
        let outcome = during(host);
        stop.store(true, Ordering::Relaxed);
        let mut acknowledged = 0;
        for client in clients {
            acknowledged += client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        outcome.map(|()| acknowledged)
    })
}

/// Everything acknowledged is there, and at most one more row of each client.
fn expect_rows(host: &Host, acknowledged: u64) -> Result<Observed> {
    let rows: u64 = host.connect()?.value("select count(*) from t")?.parse()?;
    if !(acknowledged..=acknowledged + 4).contains(&rows) {
        bail!("{acknowledged} rows were acknowledged, {rows} are there");
    }
    Ok(Observed::note(format!("{rows} rows")))
}

fn harmless(ground: &Ground) -> Result<Observed> {
    let mut host = ground.host(&[])?;
    let acknowledged = under_load(&mut host, |host| {
        for signal in [Signal::HUP, Signal::USR1, Signal::USR2, Signal::PIPE, Signal::XFSZ, Signal::HUP] {
            host.server.signal(signal)?;
            std::thread::sleep(Duration::from_millis(50));
            host.expect_alive().with_context(|| format!("{signal:?}"))?;
        }
        Ok(())
    })?;
    expect_rows(&host, acknowledged)
}

fn ending(ground: &Ground, signal: Signal, expected: Option<i32>) -> Result<Observed> {
    let mut host = ground.host(&[])?;
    let acknowledged = under_load(&mut host, |host| {
        let code = host.end_with(signal)?;
        if code != expected {
            bail!("it ended with {code:?}");
        }
        Ok(())
    })?;
    host.restart()?;
    expect_rows(&host, acknowledged)
}

fn stopped(ground: &Ground) -> Result<Observed> {
    let mut host = ground.host(&[])?;
    let acknowledged = under_load(&mut host, |host| {
        host.server.signal(Signal::STOP)?;
        std::thread::sleep(Duration::from_secs(3));
        host.server.signal(Signal::CONT)?;
        std::thread::sleep(Duration::from_millis(300));
        host.expect_alive()
    })?;
    expect_rows(&host, acknowledged)
}
