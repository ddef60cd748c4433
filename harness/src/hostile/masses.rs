//! Many of everything.
//!
//! What must hold: it works, or is refused with PostgreSQL's SQLSTATE; others are answered meanwhile; memory
//! stays bounded.

use anyhow::{Context, Result, bail};

use super::client::{Client, bind, execute, parse, sync};
use super::ground::{Attack, Ground, Host};
use super::ping::Pingers;
use super::report::{Observed, Verdict};

/// None of these needs more.
const LIMIT_KIB: u64 = 2 << 20;

const ATTACKS: [Attack; 8] = [
    Attack { name: "2,000 connections", brief: true, work: connections },
    Attack { name: "connections come and go", brief: true, work: coming_and_going },
    Attack { name: "100,000 prepared statements", brief: true, work: statements },
    Attack { name: "100,000 portals", brief: false, work: portals },
    Attack { name: "20,000 savepoints", brief: true, work: savepoints },
    Attack { name: "200,000 Syncs at once", brief: true, work: syncs },
    Attack { name: "64 waiters for one row", brief: false, work: waiters },
    Attack { name: "100,000 parts of one COPY", brief: false, work: copy },
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    ground.run("masses", &ATTACKS, report);
}

/// Runs an attack beside sessions that ping.
fn beside_others(
    ground: &Ground,
    arguments: &[&str],
    work: impl FnOnce(&Host) -> Result<String>,
) -> Result<Observed> {
    let mut host = ground.host(arguments)?;
    host.connect()?.value("create table t (id integer primary key, v text)")?;
    let pingers = Pingers::start(host.port())?;
    let outcome = work(&host);
    let pings = pingers.finish();
    host.expect_alive()?;
    let (note, pings) = (outcome?, pings?);
    let peak_kib = host.peak_kib();
    if peak_kib.is_some_and(|peak| peak > LIMIT_KIB) {
        bail!("{} MiB were taken", peak_kib.unwrap_or_default() >> 10);
    }
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong}");
    }
    Ok(Observed { pings: Some(pings), peak_kib, limit_kib: Some(LIMIT_KIB), note })
}

fn connections(ground: &Ground) -> Result<Observed> {
    let count = ground.tries(2000, 500);
    beside_others(ground, &["--max-connections", "2100"], |host| {
        let mut clients = Vec::new();
        for number in 0..count {
            clients.push(host.connect().with_context(|| format!("connection {number}"))?);
        }
        for client in &mut clients {
            client.value("select 1")?;
        }
        Ok(format!("{count} connections"))
    })
}

fn coming_and_going(ground: &Ground) -> Result<Observed> {
    let count = ground.tries(5000, 500);
    beside_others(ground, &["--max-connections", "50"], |host| {
        let mut refused = 0;
        for number in 0..count {
            match host.connect() {
                Ok(client) if number % 2 == 0 => client.vanish(),
                Ok(mut client) => drop(client.value("select 1")?),
                Err(error) if error.to_string().contains("53300") => refused += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(format!("{count} connections, {refused} found no place"))
    })
}

fn statements(ground: &Ground) -> Result<Observed> {
    let count = ground.tries(100_000, 5000);
    beside_others(ground, &[], |host| {
        let mut client = host.connect()?;
        for number in 0..count {
            let messages = [parse(&format!("s{number}"), "select v from t where id = $1::integer")];
            client.send(&messages.concat())?;
            if number % 1000 == 999 {
                client.send(&sync())?;
                expect_fine(&mut client)?;
            }
        }
        Ok(format!("{count} statements"))
    })
}

fn portals(ground: &Ground) -> Result<Observed> {
    let count = ground.tries(100_000, 5000);
    beside_others(ground, &[], |host| {
        let mut client = host.connect()?;
        client.value("begin")?;
        client.send(&parse("s", "select g from generate_series(1, 3) g"))?;
        for number in 0..count {
            let name = format!("p{number}");
            client.send(&[bind(&name, "s", &[]), execute(&name, 1)].concat())?;
            if number % 1000 == 999 {
                client.send(&sync())?;
                expect_fine(&mut client)?;
            }
        }
        client.value("commit")?;
        Ok(format!("{count} portals"))
    })
}

fn expect_fine(client: &mut Client) -> Result<()> {
    let answer = client.answer()?;
    match answer.error {
        Some((state, words)) => bail!("{state} {words}"),
        None if answer.closed => bail!("the connection ended"),
        None => Ok(()),
    }
}

fn savepoints(ground: &Ground) -> Result<Observed> {
    let count = ground.tries(20_000, 3000);
    beside_others(ground, &[], |host| {
        let mut client = host.connect()?;
        client.value("begin")?;
        for number in 0..count {
            client.value(&format!("savepoint s{number}; insert into t values ({number}, 'x')"))?;
        }
        client.value("rollback to savepoint s10")?;
        client.value("commit")?;
        let rows = client.value("select count(*) from t")?;
        if rows != "10" {
            bail!("{rows} rows are left of 10");
        }
        Ok(format!("{count} savepoints"))
    })
}

fn syncs(ground: &Ground) -> Result<Observed> {
    let count = ground.tries(200_000, 20_000);
    beside_others(ground, &[], |host| {
        let mut client = host.connect()?;
        let mut writer = client.stream.try_clone()?;
        let bytes = sync().repeat(count as usize);
        let writing = std::thread::spawn(move || std::io::Write::write_all(&mut writer, &bytes));
        for _ in 0..count {
            expect_fine(&mut client)?;
        }
        writing.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
        Ok(format!("{count} answers"))
    })
}

fn waiters(ground: &Ground) -> Result<Observed> {
    beside_others(ground, &[], |host| {
        let mut holder = host.connect()?;
        holder.value("insert into t values (1, '')")?;
        holder.value("begin; update t set v = 'held' where id = 1")?;
        let mut clients = Vec::new();
        for _ in 0..64 {
            let mut client = host.connect()?;
            client.send(&super::client::query("update t set v = v || '.' where id = 1"))?;
            clients.push(client);
        }
        holder.value("commit")?;
        for client in &mut clients {
            expect_fine(client)?;
        }
        let length = holder.value("select length(v) from t where id = 1")?;
        if length != "68" {
            bail!("{length} characters are there, 68 were written");
        }
        Ok(String::new())
    })
}

fn copy(ground: &Ground) -> Result<Observed> {
    let count = ground.tries(100_000, 5000);
    beside_others(ground, &[], |host| {
        let mut client = host.connect()?;
        client.send(&super::client::query("copy t from stdin"))?;
        for number in 0..count {
            client.send(&super::client::message(b'd', format!("{number}\tx\n").as_bytes()))?;
        }
        client.send(&super::client::message(b'c', b""))?;
        expect_fine(&mut client)?;
        let rows = client.value("select count(*) from t")?;
        if rows != count.to_string() {
            bail!("{rows} rows");
        }
        Ok(format!("{count} rows"))
    })
}
