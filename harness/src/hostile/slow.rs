//! Statements that compute for long, each beside sessions that send `select 1`.
//!
//! What must hold: the others are answered in time; the statement ends by itself or soon after a cancel
//! request, with the SQLSTATE for that; the server lives.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::client::{self, Client, cancel};
use super::ground::{Ground, Host, Statement, statement};
use super::ping::Pingers;
use super::report::{Observed, Verdict};

/// A table of 100,000 rows and routines that the statements need.
const SETUP: [&str; 4] = [
    "create table big (id integer primary key, v text)",
    "insert into big select g, 'row ' || g from generate_series(1, 100000) g",
    "create procedure spin() language plpgsql as $$ begin loop null; end loop; end $$",
    "create function slowly(n integer) returns integer language plpgsql as \
     $$ declare i integer := 0; begin while i < n loop i := i + 1; end loop; return i; end $$",
];

const STATEMENTS: [Statement; 24] = [
    statement("count over an endless series", true, || {
        "select count(*) from generate_series(1, 1000000000000) g".to_owned()
    }),
    statement("an endless loop in a procedure", true, || "call spin()".to_owned()),
    statement("a loop in a function, for every row", false, || {
        "select sum(slowly(100000)) from big".to_owned()
    }),
    statement("a join without a condition that an index helps", true, || {
        "select count(*) from big a join big b on a.v || 'x' = b.v".to_owned()
    }),
    statement("100,000 statements in one text", true, || "select 1;".repeat(100_000)),
    statement("100,000 statements with semicolons in strings", false, || "select ';';".repeat(100_000)),
    statement("200 tables joined", true, || joined(200)),
    statement("400 tables joined", false, || joined(400)),
    statement("800 tables crossed", false, || {
        let tables: Vec<String> = (0..800).map(|table| format!("generate_series(1, 1) t{table}")).collect();
        format!("select 1 from {}", tables.join(", "))
    }),
    statement("LIKE with 400,000 wildcards", true, || {
        "select repeat('ab', 500000) like '%' || repeat('_', 400000) || 'c'".to_owned()
    }),
    statement("LIKE with 400,000 wildcards, of a column", false, || {
        "select count(*) from big where repeat(v, 50000) like '%' || repeat('_', 400000) || 'c'".to_owned()
    }),
    statement("translate over a million characters", true, || {
        "select length(translate(repeat('z', 1000000), repeat('a', 1000000) || 'z', 'b'))".to_owned()
    }),
    statement("ltrim over a million characters", false, || {
        "select length(ltrim(repeat('z', 1000000), repeat('a', 1000000) || 'z'))".to_owned()
    }),
    statement("replace over a million characters", false, || {
        "select length(replace(repeat('aab', 1000000), repeat('a', 500) || 'b', 'c'))".to_owned()
    }),
    statement("16,000 constants in IN", true, || {
        let ids: Vec<String> = (0..16_000).map(|id| (id * 7).to_string()).collect();
        format!("select count(*) from big where id in ({})", ids.join(","))
    }),
    statement("100,000 constants in IN, no index", false, || {
        let words: Vec<String> = (0..100_000).map(|word| format!("'{word}'")).collect();
        format!("select count(*) from big where v in ({})", words.join(","))
    }),
    statement("sort a million rows", false, || {
        "select g from generate_series(1, 1000000) g order by g % 1000, g limit 1".to_owned()
    }),
    statement("group a million rows", false, || {
        "select g % 500000, count(*) from generate_series(1, 1000000) g group by 1 having count(*) > 2"
            .to_owned()
    }),
    statement("distinct over a million rows", false, || {
        "select count(distinct g % 500000) from generate_series(1, 1000000) g".to_owned()
    }),
    statement("change 100,000 rows", true, || {
        "begin; update big set v = v || '.'; update big set v = v || '.'; rollback".to_owned()
    }),
    statement("insert 300,000 rows and take them back", false, || {
        "begin; insert into big select g + 200000, 'x' from generate_series(1, 300000) g; rollback".to_owned()
    }),
    statement("an expression of 20,000 sums", false, || format!("select 1{}", "+1".repeat(20_000))),
    statement("5,000 parentheses", true, || format!("select {}1{}", "(".repeat(5000), ")".repeat(5000))),
    statement("numbers with 100,000 digits", false, || {
        format!("select length(({0}::numeric * {0}::numeric)::text)", "9".repeat(100_000))
    }),
];

fn joined(tables: usize) -> String {
    let joins: String =
        (1..tables).map(|table| format!(" join big t{table} on t{table}.id = t{}.id", table - 1)).collect();
    format!("select count(*) from big t0{joins} where t0.id = 1")
}

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    let mut host = None;
    for statement in STATEMENTS.iter().filter(|statement| statement.brief || !ground.brief) {
        report(ground.judge("slow", statement.name, || attack(ground, &mut host, &(statement.sql)())));
    }
}

/// The host of all statements, or a new one if the last has not survived.
fn host_of<'a>(ground: &Ground, host: &'a mut Option<Host>) -> Result<&'a mut Host> {
    if host.as_mut().is_none_or(|host| host.expect_alive().is_err()) {
        // So that a statement without a bound does not bring this machine down.
        let fresh = ground.host_with_prefix(&["prlimit", "--as=8589934592", "--"], &[])?;
        let mut client = fresh.connect()?;
        for sql in SETUP {
            client.value(sql).context("setup")?;
        }
        *host = Some(fresh);
    }
    host.as_mut().context("a server was just started")
}

fn attack(ground: &Ground, host: &mut Option<Host>, sql: &str) -> Result<Observed> {
    let host = host_of(ground, host)?;
    host.reset_peak();
    let pingers = Pingers::start(host.port())?;
    let mut client = host.connect()?;
    let outcome = run_and_cancel(ground, &mut client, host.port(), sql);
    let pings = pingers.finish();
    host.expect_alive()?;
    let (note, late) = outcome?;
    let pings = pings?;
    // What the statement left open must not stay for the next.
    client.vanish();
    if let Some(wrong) = pings.beyond(ground.bounds()).or(late) {
        bail!("{wrong} ({note}; {} pings)", pings.count);
    }
    Ok(Observed { pings: Some(pings), peak_kib: host.peak_kib(), note, ..Observed::default() })
}

/// Runs the statement. Returns how it ended, or what is wrong with that.
fn run_and_cancel(
    ground: &Ground,
    client: &mut Client,
    port: u16,
    sql: &str,
) -> Result<(String, Option<String>)> {
    let patience = Duration::from_millis(if ground.brief { 300 } else { 4000 });
    let start = Instant::now();
    client.send(&client::query(sql))?;
    client.set_patience(patience)?;
    let mut first = [0];
    let has_answer = client.stream.peek(&mut first).is_ok_and(|count| count > 0);
    let canceled = Instant::now();
    if !has_answer {
        cancel(port, client.process_id, &client.secret)?;
    }
    let limit = Duration::from_secs(30);
    client.set_patience(limit)?;
    let answer = client.answer().context("after a request to cancel")?;
    let (took, after) = (start.elapsed(), canceled.elapsed());
    let state = if answer.state().is_empty() { "done" } else { answer.state() };
    if answer.closed {
        bail!("the connection was closed: {state}");
    }
    if has_answer {
        return Ok((format!("{state} in {:.2} s", took.as_secs_f64()), None));
    }
    let bound = ground.within(Duration::from_secs(1));
    let late =
        (after > bound).then(|| format!("ended {:.1} s after the request to cancel", after.as_secs_f64()));
    if !matches!(state, "57014" | "done" | "53200" | "54000" | "54001") {
        bail!("it ended with {state}");
    }
    Ok((format!("{state} {:.0} ms after cancel", after.as_secs_f64() * 1e3), late))
}
