//! Statements that need more memory than there is.
//!
//! What must hold: the statement fails with 53200, or goes on in files until it is cancelled (or fails with
//! 54000 or 54001, because no machine has that much, or succeeds after all), no other session notices, the
//! server stays below its limit and lives. The server also runs with a limit on its address space, so that a
//! server that bounds nothing ends itself and not this machine.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::client::{self, Client, bind, cancel, clip, execute, parse, sync};
use super::ground::{Attack, Ground, Host, Statement, statement, until};
use super::ping::Pingers;
use super::report::{Observed, Verdict};

/// The server's memory limit, in MiB.
const LIMIT_MIB: u64 = 768;
const PER_CONNECTION_MIB: u64 = 128;
/// How much it may take above the limit: code, buffers of the logs, stacks, what the allocator keeps.
const SLACK_MIB: u64 = 256;
/// Above this the process ends itself.
const ADDRESS_SPACE: &str = "--as=6442450944";

const SETUP: [&str; 5] = [
    "create table t (id integer primary key, v text)",
    "create procedure notices() language plpgsql as \
     $$ begin loop raise notice '%', repeat('x', 10000); end loop; end $$",
    "create function rows() returns setof bigint language plpgsql as \
     $$ declare i bigint := 0; begin loop i := i + 1; return next i; end loop; end $$",
    "create procedure doubling() language plpgsql as \
     $$ declare v text := 'x'; begin loop v := v || v; end loop; end $$",
    "create procedure growing() language plpgsql as \
     $$ declare v integer[] := array[1]; begin loop v := v || v; end loop; end $$",
];

const STATEMENTS: [Statement; 19] = [
    statement("notices of 10 kB without end", true, || "call notices()".to_owned()),
    statement("20 MB of parentheses", false, || format!("select {}", "(".repeat(20_000_000))),
    statement("5 MB of parentheses", true, || format!("select {}", "(".repeat(5_000_000))),
    statement("60 MB of constants in IN", false, || {
        format!("select 1 where 1 in (1{})", ",1".repeat(30_000_000))
    }),
    statement("60 MB of columns", false, || format!("select 1{}", ",1".repeat(30_000_000))),
    statement("order by over a series, one row wanted", true, || {
        "select g from generate_series(1, 1000000000) g order by g desc offset 1".to_owned()
    }),
    statement("group by over a series", false, || {
        "select g, count(*) from generate_series(1, 1000000000) g group by g".to_owned()
    }),
    statement("distinct over a series", false, || {
        "select distinct g from generate_series(1, 1000000000) g".to_owned()
    }),
    statement("count(distinct) over a series", true, || {
        "select count(distinct g) from generate_series(1, 1000000000) g".to_owned()
    }),
    statement("group by with a long text for each", false, || {
        "select g, max(repeat('x', 10000)) from generate_series(1, 100000000) g group by g".to_owned()
    }),
    statement("an array of a series", true, || {
        "select array_agg(g order by g) from generate_series(1, 1000000000) g".to_owned()
    }),
    statement("RETURN NEXT without end", true, || "select count(*) from rows()".to_owned()),
    statement("concat of 50 values of 100 MB", true, || {
        let parts = vec!["repeat('x', 100000000)"; 50].join(", ");
        format!("select length(concat({parts}))")
    }),
    statement("replace that blows up", true, || {
        "select length(replace(repeat('x', 1000000), 'x', repeat('y', 100000)))".to_owned()
    }),
    statement("quote_literal again and again", false, || {
        format!("select length({}repeat('''', 1000000){})", "quote_literal(".repeat(16), ")".repeat(16))
    }),
    statement("repeat to a gigabyte", false, || "select length(repeat('x', 1000000000))".to_owned()),
    statement("a text doubled in a loop", true, || "call doubling()".to_owned()),
    statement("an array doubled in a loop", false, || "call growing()".to_owned()),
    statement("a transaction of 20 million rows", true, || {
        "insert into t select g, 'row' from generate_series(1, 20000000) g".to_owned()
    }),
];

const ATTACKS: [Attack; 5] = [
    Attack { name: "40 portals with a result of 60 MB each", brief: true, work: portals },
    Attack { name: "a result that nobody reads, 8 times", brief: false, work: unread },
    Attack { name: "a transaction of 2 GB in rows of 10 MB", brief: false, work: large_rows },
    Attack { name: "16 connections that make large arrays at once", brief: false, work: together },
    Attack { name: "a full database: reads, deletes, a restart", brief: false, work: full },
];

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    let mut host = None;
    for statement in STATEMENTS.iter().filter(|statement| statement.brief || !ground.brief) {
        report(ground.judge("memory", statement.name, || {
            let host = host_of(ground, &mut host)?;
            beside_others(ground, host, |client, port| refused(ground, client, port, &(statement.sql)()))
        }));
    }
    drop(host);
    ground.run("memory", &ATTACKS, report);
}

/// A server with limits, if it supports them.
fn limited(ground: &Ground) -> Result<Host> {
    ground.needs("--memory-limit")?;
    ground.needs("--memory-per-connection")?;
    let (limit, per_connection) = (LIMIT_MIB.to_string(), PER_CONNECTION_MIB.to_string());
    let arguments = ["--memory-limit", &limit, "--memory-per-connection", &per_connection];
    let host = ground.host_with_prefix(&["prlimit", ADDRESS_SPACE, "--"], &arguments)?;
    let mut client = host.connect()?;
    for sql in SETUP {
        client.value(sql).context("setup")?;
    }
    Ok(host)
}

fn host_of<'a>(ground: &Ground, host: &'a mut Option<Host>) -> Result<&'a mut Host> {
    if host.as_mut().is_none_or(|host| host.expect_alive().is_err()) {
        *host = Some(limited(ground)?);
    }
    host.as_mut().context("a server was just started")
}

/// Runs an attack beside sessions that ping. Judges them, the memory and the server.
fn beside_others(
    ground: &Ground,
    host: &mut Host,
    work: impl FnOnce(&mut Client, u16) -> Result<String>,
) -> Result<Observed> {
    host.reset_peak();
    let pingers = Pingers::start(host.port())?;
    let mut client = host.connect()?;
    let outcome = work(&mut client, host.port());
    let pings = pingers.finish();
    host.expect_alive()?;
    let (note, pings) = (outcome?, pings?);
    let (peak_kib, limit_kib) = (host.peak_kib(), (LIMIT_MIB + SLACK_MIB) << 10);
    if peak_kib.is_some_and(|peak| peak > limit_kib) {
        bail!(
            "{} MiB were taken, {} are allowed ({note})",
            peak_kib.unwrap_or_default() >> 10,
            limit_kib >> 10
        );
    }
    if let Some(wrong) = pings.beyond(ground.bounds()) {
        bail!("{wrong} ({note})");
    }
    Ok(Observed { pings: Some(pings), peak_kib, limit_kib: Some(limit_kib), note })
}

/// The statement must fail. One that still runs after a while is canceled.
fn refused(ground: &Ground, client: &mut Client, port: u16, sql: &str) -> Result<String> {
    let patience = Duration::from_secs(if ground.brief { 3 } else { 20 });
    client.stream.set_write_timeout(Some(Duration::from_secs(60)))?;
    // A message beyond the limit on messages: the server hangs up while it is being sent.
    client.send(&client::query(sql))?;
    client.set_patience(patience)?;
    if client.stream.peek(&mut [0]).is_err() {
        cancel(port, client.process_id, &client.secret)?;
    }
    client.set_patience(Duration::from_secs(30))?;
    let answer = client.answer().with_context(|| format!("after a request to cancel: {}", clip(sql)))?;
    match answer.state() {
        "" if !answer.closed => Ok("done".to_owned()),
        state @ ("53200" | "54000" | "54001" | "54011" | "57014" | "22003") if !answer.closed => {
            Ok(state.to_owned())
        }
        state => bail!("{state} {:?}, closed: {}", answer.error, answer.closed),
    }
}

fn portals(ground: &Ground) -> Result<Observed> {
    let mut host = limited(ground)?;
    beside_others(ground, &mut host, |client, _| {
        client.send(
            &[parse("s", "select repeat('x', 1000) from generate_series(1, 60000) g"), sync()].concat(),
        )?;
        client.answer()?;
        // Portals live as long as their transaction.
        client.value("begin")?;
        for portal in 0..40 {
            let name = format!("p{portal}");
            client.send(&[bind(&name, "s", &[]), execute(&name, 1), sync()].concat())?;
            let answer = client.answer()?;
            match answer.state() {
                "" => {}
                "53200" => return Ok(format!("53200 at portal {portal}")),
                state => bail!("portal {portal}: {state}"),
            }
        }
        Ok("done".to_owned())
    })
}

fn unread(ground: &Ground) -> Result<Observed> {
    let mut host = limited(ground)?;
    beside_others(ground, &mut host, |_, port| {
        let mut silent = Vec::new();
        for _ in 0..8 {
            let mut client = Client::connect(port)?;
            client.send(&client::query("select repeat('x', 1000) from generate_series(1, 3000000) g"))?;
            silent.push(client);
        }
        std::thread::sleep(Duration::from_secs(8));
        Ok("8 results of 3 GB".to_owned())
    })
}

fn large_rows(ground: &Ground) -> Result<Observed> {
    let mut host = limited(ground)?;
    beside_others(ground, &mut host, |client, _| {
        client.set_patience(Duration::from_secs(60))?;
        client.value("begin")?;
        for row in 0..201 {
            let answer = client.query(&format!("insert into t values ({row}, repeat('x', 10000000))"))?;
            match answer.state() {
                "" => {}
                "53200" => return Ok(format!("53200 at row {row}")),
                state => bail!("row {row}: {state}"),
            }
        }
        bail!("2 GB fit into less than 1")
    })
}

fn together(ground: &Ground) -> Result<Observed> {
    let mut host = limited(ground)?;
    beside_others(ground, &mut host, |_, port| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                let client = Client::connect(port);
                std::thread::spawn(move || {
                    let mut client = client?;
                    client.set_patience(Duration::from_secs(120))?;
                    client.query("select array_agg(g) from generate_series(1, 1000000000) g")
                })
            })
            .collect();
        for thread in threads {
            let answer = thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
            if answer.state() != "53200" {
                bail!("one of them got {:?}", answer.error);
            }
        }
        Ok("53200 for each".to_owned())
    })
}

/// Inserts until the server's limit is reached; then everything but inserts works.
fn full(ground: &Ground) -> Result<Observed> {
    let mut host = limited(ground)?;
    let observed = beside_others(ground, &mut host, |client, _| {
        client.set_patience(Duration::from_secs(60))?;
        for batch in 0..20_000 {
            let first = batch * 1000;
            let sql = format!(
                "insert into t select g, repeat('x', 1000) from generate_series({first}, {}) g",
                first + 999
            );
            let answer = client.query(&sql)?;
            match answer.state() {
                "" => {}
                "53200" => {
                    let rows = client.value("select count(*) from t")?;
                    client.value("begin; delete from t where id < 10; rollback")?;
                    client.value("delete from t where id < 5000")?;
                    return Ok(format!("53200 at {rows} rows"));
                }
                state => bail!("batch {batch}: {state}"),
            }
        }
        bail!("20 GB fit into less than 1")
    })?;
    let rows = host.connect()?.value("select count(*) from t")?;
    host.restart().context("restart of a full database")?;
    let after = host.connect()?.value("select count(*) from t")?;
    if rows != after {
        bail!("{rows} rows before and {after} after the restart");
    }
    let fits = until(Duration::from_secs(10), || {
        Ok(host.connect()?.query("insert into t values (1, 'fits again')")?.state().is_empty())
    })?;
    fits.context("nothing can be inserted where 5,000 rows have been deleted")?;
    Ok(observed)
}
