//! Every SQL function with the greediest arguments that could be thought of.
//!
//! The functions are those of the table in `types/src/function` (`functions::table` reads its text), so a new
//! one is attacked without being named here. Functions that the compiler finds by itself (arrays), operators,
//! aggregates and set-returning functions have a list of their own (`functions::statements`). The test
//! `types/tests/greedy` does the same within a process, where what a call holds can be counted.
//!
//! What must hold for each statement: it gives a result or an error of the user's, never the end of the
//! process, whose address space is limited; the server stays below its limit; a statement that goes on is
//! ended by a cancel request; and afterwards its memory is there for the next.

mod statements;
mod table;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rand::SeedableRng as _;
use rand::rngs::StdRng;

use super::client::{self, Client, cancel};
use super::ground::{Ground, Host};
use super::report::{Observed, Verdict};
use crate::tools;
use table::Signature;

/// The server's memory limit, in MiB.
const LIMIT_MIB: u64 = 1024;
const PER_CONNECTION_MIB: u64 = 256;
/// How much it may take above the limit: code, buffers of the logs, stacks, what the allocator keeps.
const SLACK_MIB: u64 = 256;
/// Above this the process ends itself.
const ADDRESS_SPACE: &str = "--as=4294967296";
/// Sets of arguments for each signature.
const SETS: u32 = 20;
/// One of so many functions is attacked in the shortened run.
const BRIEF_SHARE: usize = 12;

/// What a statement must not end with, because the user has done nothing wrong: an internal error.
const OWN_FAULT: &str = "XX000";

pub(super) fn run(ground: &Ground, report: &mut dyn FnMut(Verdict)) {
    let mut host = None;
    let mut judge = |name: &str, texts: &[String], report: &mut dyn FnMut(Verdict)| {
        report(ground.judge("functions", name, || {
            let host = host_of(ground, &mut host)?;
            attack(ground, host, texts)
        }));
    };
    let signatures = match table::read(&tools::repository_root()) {
        Ok(signatures) => signatures,
        Err(error) => {
            report(ground.judge("functions", "the table of functions", || Err(error)));
            return;
        }
    };
    let mut names: Vec<&str> = signatures.iter().map(|signature| signature.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for (number, name) in names.into_iter().enumerate() {
        if ground.brief && number % BRIEF_SHARE != 0 {
            continue;
        }
        let own = signatures.iter().filter(|signature| signature.name == name);
        let texts: Vec<String> = own.flat_map(|signature| statements_of(ground, signature)).collect();
        judge(name, &texts, report);
    }
    for (number, (name, texts)) in statements::all().into_iter().enumerate() {
        if !ground.brief || number % BRIEF_SHARE == 0 {
            judge(name, &texts, report);
        }
    }
}

/// One statement for each set of arguments.
fn statements_of(ground: &Ground, signature: &Signature) -> Vec<String> {
    let sets = ground.tries(SETS, 2);
    let mut random = StdRng::seed_from_u64(ground.seed ^ u64::from(table::digest(signature)));
    (0..sets).map(|_| signature.statement(&mut random)).collect()
}

fn host_of<'a>(ground: &Ground, host: &'a mut Option<Host>) -> Result<&'a mut Host> {
    if host.as_mut().is_none_or(|host| host.expect_alive().is_err()) {
        let (limit, per_connection) = (LIMIT_MIB.to_string(), PER_CONNECTION_MIB.to_string());
        let arguments = ["--memory-limit", &limit, "--memory-per-connection", &per_connection];
        *host = Some(ground.host_with_prefix(&["prlimit", ADDRESS_SPACE, "--"], &arguments)?);
    }
    host.as_mut().context("a server was just started")
}

fn attack(ground: &Ground, host: &mut Host, texts: &[String]) -> Result<Observed> {
    host.reset_peak();
    let mut client = host.connect()?;
    let (mut refused, mut canceled, mut slowest) = (0, 0, Duration::ZERO);
    for text in texts {
        let ended = end_of(ground, &mut client, host.port(), text);
        host.expect_alive().with_context(|| clip_long(text))?;
        let ended = ended.with_context(|| clip_long(text))?;
        refused += u32::from(matches!(ended.state.as_str(), "53200" | "54000"));
        canceled += u32::from(ended.state == "57014");
        slowest = slowest.max(ended.after_cancel);
    }
    // Nearly all of the connection's memory is there for the next statement, which has its text three times.
    client.value("select length(repeat('x', 80000000))").context("the memory is not back")?;
    let (peak_kib, limit_kib) = (host.peak_kib(), (LIMIT_MIB + SLACK_MIB) << 10);
    if peak_kib.is_some_and(|peak| peak > limit_kib) {
        bail!("{} MiB were taken, {} are allowed", peak_kib.unwrap_or_default() >> 10, limit_kib >> 10);
    }
    let note = format!(
        "{} statements, {refused} refused, {canceled} canceled, slowest after {:.0} ms",
        texts.len(),
        slowest.as_secs_f64() * 1e3
    );
    Ok(Observed { peak_kib, limit_kib: Some(limit_kib), note, ..Observed::default() })
}

/// The beginning of a statement, with all of its arguments if they are expressions.
fn clip_long(text: &str) -> String {
    let mut clipped: String = text.chars().take(300).collect();
    if clipped.len() < text.len() {
        clipped.push_str("...");
    }
    clipped
}

/// How a statement ended.
struct Ended {
    state: String,
    /// How long it took after a request to cancel.
    after_cancel: Duration,
}

/// Runs a statement, and cancels it if it goes on for long.
fn end_of(ground: &Ground, client: &mut Client, port: u16, sql: &str) -> Result<Ended> {
    client.send(&client::query(sql))?;
    client.set_patience(Duration::from_millis(if ground.brief { 300 } else { 700 }))?;
    let has_answer = client.stream.peek(&mut [0]).is_ok_and(|count| count > 0);
    let since = Instant::now();
    if !has_answer {
        cancel(port, client.process_id, &client.secret)?;
    }
    client.set_patience(Duration::from_secs(60))?;
    let answer = client.answer().context("after a request to cancel")?;
    let after_cancel = if has_answer { Duration::ZERO } else { since.elapsed() };
    if answer.closed {
        bail!("the connection was closed: {:?}", answer.error);
    }
    if answer.state() == OWN_FAULT {
        bail!("{:?}", answer.error);
    }
    let bound = ground.within(Duration::from_secs(2));
    if after_cancel > bound {
        bail!("it ended {:.1} s after the request to cancel", after_cancel.as_secs_f64());
    }
    Ok(Ended { state: answer.state().to_owned(), after_cancel })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found_and_gets_arguments() {
        let signatures = table::read(&tools::repository_root()).expect("the table is readable");
        let has = |name: &str| signatures.iter().any(|signature| signature.name == name);
        assert!(signatures.len() > 300, "{}", signatures.len());
        for name in ["abs", "repeat", "regexp_replace", "jsonb_set", "to_char", "pg_size_pretty", "||"] {
            assert!(has(name), "{name}");
        }
        let mut random = StdRng::seed_from_u64(1);
        for signature in &signatures {
            let statement = signature.statement(&mut random);
            assert!(statement.starts_with("select ("), "{statement}");
        }
    }
}
