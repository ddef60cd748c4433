//! Serializable transactions that read 100,000 rows and write one, under the controls that read without
//! locks. At its end such a transaction looks once more at all that it has read
//! (`engine/src/txn/writes/look.rs`).
//!
//! What must hold: sessions that change other rows of the same table, or read what is written, are never held
//! up for long, and the reader commits.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::client::Client;
use super::ground::{Ground, Host};
use super::ping::{Bounds, Pingers};
use super::report::{Observed, Verdict};
use crate::server::Control;

/// Rows that are read. Of the sessions beside some change those after them, and some read what is written.
const READ: u32 = 100_000;
const SESSIONS: u32 = 4;
/// The longest time for which a session may be held up.
const BOUNDS: Bounds = Bounds { max: Duration::from_millis(20), ..Bounds::STRICT };

/// The ways to read so much: names and statements.
const WAYS: [(&str, &str); 2] =
    [("a scan", "select count(*) from big where id <= 100000"), ("single rows", "select read_each(100000)")];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    for control in [Control::Optimistic, Control::MultiVersion] {
        for (way, read) in WAYS {
            let name = format!("100,000 reads by {way}, {}", control.name());
            report(ground.judge("readers", &name, || attack(ground, control, read)));
        }
    }
}

fn attack(ground: &Ground, control: Control, read: &'static str) -> Result<Observed> {
    let mut host = ground.host(&["--control", control.name()])?;
    let mut owner = host.connect()?;
    for sql in [
        "create table written (id integer primary key, v integer)",
        "insert into written values (1, 0)",
        "create table big (id integer primary key, v integer)",
        &format!("insert into big select g, 0 from generate_series(1, {}) g", READ + SESSIONS),
        "create function read_each(n integer) returns bigint language plpgsql as $$
         declare s bigint := 0; w integer; begin
           for i in 1..n loop select v into w from big where id = i; s := s + w; end loop; return s; end $$",
    ] {
        owner.value(sql).context("setup")?;
    }
    let pingers = (1..=SESSIONS).map(|session| {
        let row = READ + session;
        let ping = match session % 2 {
            // Nothing waits for a disk, and the reader does not become outdated.
            0 => format!("begin; update big set v = v + 1 where id = {row}; rollback"),
            // While the reader looks, its outcome is awaited.
            _ => "select v from written".to_owned(),
        };
        Ok((Client::connect(host.port())?, ping))
    });
    let pingers = Pingers::with(pingers.collect::<Result<_>>()?);
    let seconds = if ground.brief { 1 } else { 5 };
    let reads = read_for(&host, read, Duration::from_secs(seconds))?.join();
    let pings = pingers.finish();
    host.expect_alive()?;
    let reads = reads.map_err(|_| anyhow::anyhow!("the reading thread panicked"))??;
    let (pings, note) = (pings?, format!("{reads} transactions"));
    if let Some(wrong) = pings.beyond(if ground.brief { Bounds::ALIVE } else { BOUNDS }) {
        bail!("{wrong} ({note}; {} pings)", pings.count);
    }
    Ok(Observed { pings: Some(pings), note, ..Observed::default() })
}

/// Reads and writes for some time, and returns how many transactions that were.
fn read_for(host: &Host, read: &'static str, length: Duration) -> Result<JoinHandle<Result<u32>>> {
    let mut client = host.connect()?;
    Ok(std::thread::spawn(move || {
        let (begun, mut count) = (Instant::now(), 0);
        while count == 0 || begun.elapsed() < length {
            client.value("begin isolation level serializable")?;
            client.value(read)?;
            client.value("update written set v = v + 1 where id = 1")?;
            client.value("commit")?;
            count += 1;
        }
        Ok(count)
    }))
}
