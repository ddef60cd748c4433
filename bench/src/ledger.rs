//! What clients know, for tests that kill a server: which calls were acknowledged, and which got no answer.
//!
//! A call that can be traced ([`crate::workload::Trace`]) leaves one row in the database, whose numbers are
//! derived from its arguments. With B the rows before the run, A the acknowledged calls and U those without
//! an answer, each as a multiset, the rows afterwards must satisfy B + A <= rows <= B + A + U: everything
//! acknowledged is there, and nothing that was never requested.
//!
//! The file is written when the clients have noticed that the server is gone. [`verify`] makes what it found
//! the B of the next run: what a recovery has shown must stay.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::target::over_wire::{WireCaller, WireConnection};
use crate::target::{Caller, Connection};
use crate::workload::{Request, Workload};

pub struct Plan {
    pub workers: u64,
    pub length: Duration,
    pub seed: u64,
}

/// Rows and how often they occur.
type Rows = HashMap<Vec<i64>, i64>;

#[derive(Serialize, Deserialize)]
struct Ledger {
    /// For each trace.
    traces: Vec<Traced>,
    acknowledged: u64,
    unknown: u64,
}

#[derive(Default)]
struct Traced {
    before: Rows,
    acknowledged: Rows,
    unknown: Rows,
}

/// JSON keys must be text, so rows are written as pairs.
#[derive(Serialize, Deserialize)]
struct WrittenTraced {
    before: Vec<(Vec<i64>, i64)>,
    acknowledged: Vec<(Vec<i64>, i64)>,
    unknown: Vec<(Vec<i64>, i64)>,
}

impl Serialize for Traced {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let pairs = |rows: &Rows| rows.iter().map(|(row, count)| (row.clone(), *count)).collect();
        WrittenTraced {
            before: pairs(&self.before),
            acknowledged: pairs(&self.acknowledged),
            unknown: pairs(&self.unknown),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Traced {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Traced, D::Error> {
        let written = WrittenTraced::deserialize(deserializer)?;
        Ok(Traced {
            before: written.before.into_iter().collect(),
            acknowledged: written.acknowledged.into_iter().collect(),
            unknown: written.unknown.into_iter().collect(),
        })
    }
}

fn found(connection: &mut dyn Connection, sql: &str) -> Result<Rows> {
    let mut rows = Rows::new();
    for row in connection.numbers(sql)? {
        *rows.entry(row).or_default() += 1;
    }
    Ok(rows)
}

/// Runs calls until the time is over or the server is gone.
///
/// # Errors
/// A call that fails although the server lives.
pub fn run(
    workload: &dyn Workload,
    mut connection: WireConnection,
    new_caller: &(dyn Fn() -> Result<WireCaller> + Sync),
    plan: Plan,
    path: &Path,
) -> Result<()> {
    let traces = workload.traces();
    if traces.is_empty() {
        bail!("the calls of {} leave no rows that a ledger could trace", workload.name());
    }
    let ledger = match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).context("this is no ledger")?,
        Err(_) => {
            let before = |sql| Ok(Traced { before: found(&mut connection, sql)?, ..Traced::default() });
            let traces = traces.iter().map(|trace| trace.found).map(before);
            Ledger { traces: traces.collect::<Result<_>>()?, acknowledged: 0, unknown: 0 }
        }
    };
    let callers = (0..plan.workers).map(|_| new_caller()).collect::<Result<Vec<WireCaller>>>()?;
    // The test that kills the server may start its clock now.
    println!("running");
    let ledger = Mutex::new(ledger);
    let end = Instant::now() + plan.length;
    std::thread::scope(|scope| {
        let workers: Vec<_> = callers
            .into_iter()
            .zip(0..)
            .map(|(caller, worker)| {
                let (ledger, plan) = (&ledger, &plan);
                scope.spawn(move || work(workload, caller, (worker, plan), end, ledger))
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a client of the ledger panicked")))
        })
    })?;
    let ledger = ledger.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    std::fs::write(path, serde_json::to_vec(&ledger)?)
        .with_context(|| format!("could not write {}", path.display()))?;
    println!("{} acknowledged, {} without an answer", ledger.acknowledged, ledger.unknown);
    Ok(())
}

fn work(
    workload: &dyn Workload,
    mut caller: WireCaller,
    (worker, plan): (u64, &Plan),
    end: Instant,
    ledger: &Mutex<Ledger>,
) -> Result<()> {
    let mut stream = workload.stream(worker, plan.workers, plan.seed);
    let mut request = Request::default();
    while Instant::now() < end {
        stream.next(&mut request);
        let outcome = caller.call(&request);
        let mut ledger = ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_acknowledged = match &outcome {
            Ok(ended) if ended.is_refused => continue,
            Ok(_) => true,
            Err(error) if is_server_gone(error) => false,
            Err(_) => return outcome.map(drop),
        };
        let ledger = &mut *ledger;
        *(if is_acknowledged { &mut ledger.acknowledged } else { &mut ledger.unknown }) += 1;
        for (trace, traced) in workload.traces().iter().zip(&mut ledger.traces) {
            if trace.call == request.call {
                let rows = if is_acknowledged { &mut traced.acknowledged } else { &mut traced.unknown };
                *rows.entry((trace.expected)(&request.arguments)).or_default() += 1;
            }
        }
        if !is_acknowledged {
            break;
        }
    }
    Ok(())
}

/// An error that a server did not send, or with which it ended the connection.
fn is_server_gone(error: &anyhow::Error) -> bool {
    let cause = error.chain().find_map(|cause| cause.downcast_ref::<postgres::Error>());
    cause.is_some_and(|error| error.code().is_none_or(|code| code.code().starts_with("57P")))
}

/// Compares a database with a ledger and with the workload's conditions. The ledger then begins with what was
/// found.
///
/// # Errors
/// Rows that are missing or should not be there, or the condition that does not hold.
pub fn verify(workload: &dyn Workload, url: &str, path: &Path) -> Result<()> {
    let bytes = std::fs::read(path).with_context(|| format!("could not read {}", path.display()))?;
    let mut ledger: Ledger = serde_json::from_slice(&bytes).context("this is no ledger")?;
    let mut connection = WireConnection::new(url)?;
    let violations = workload.check(&mut connection)?;
    crate::instance::verdict(&violations, None)?;
    if ledger.traces.len() != workload.traces().len() {
        bail!("the ledger is of another workload");
    }
    let mut resolved = 0;
    for (trace, traced) in workload.traces().iter().zip(&mut ledger.traces) {
        let name = workload.calls()[trace.call].name;
        let now = found(&mut connection, trace.found)?;
        resolved += compare(name, traced, &now)?;
        *traced = Traced { before: now, ..Traced::default() };
    }
    println!(
        "{} acknowledged calls are there; of {} without an answer {resolved} happened",
        ledger.acknowledged, ledger.unknown
    );
    ledger.acknowledged = 0;
    ledger.unknown = 0;
    std::fs::write(path, serde_json::to_vec(&ledger)?)
        .with_context(|| format!("could not write {}", path.display()))
}

/// Returns how many of the calls without an answer took effect.
fn compare(name: &str, traced: &Traced, now: &Rows) -> Result<i64> {
    let count = |rows: &Rows, row: &Vec<i64>| rows.get(row).copied().unwrap_or(0);
    let mut happened = 0;
    let all = traced.before.keys().chain(traced.acknowledged.keys()).chain(now.keys());
    let distinct: std::collections::HashSet<&Vec<i64>> = all.collect();
    for row in distinct {
        let least = count(&traced.before, row) + count(&traced.acknowledged, row);
        let most = least + count(&traced.unknown, row);
        let found = count(now, row);
        if found < least {
            bail!("{name} {row:?} was acknowledged or shown {least} times and is there {found} times");
        }
        if found > most {
            bail!("{name} {row:?} is there {found} times, but was asked for {most} times at most");
        }
        happened += found - least;
    }
    Ok(happened)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(pairs: &[(i64, i64)]) -> Rows {
        pairs.iter().map(|(row, count)| (vec![*row], *count)).collect()
    }

    #[test]
    fn what_is_missing_or_too_much_is_found() {
        let traced = || Traced {
            before: rows(&[(1, 1)]),
            acknowledged: rows(&[(1, 1), (2, 1)]),
            unknown: rows(&[(2, 1), (3, 1)]),
        };
        assert_eq!(compare("x", &traced(), &rows(&[(1, 2), (2, 1)])).expect("right"), 0);
        assert_eq!(compare("x", &traced(), &rows(&[(1, 2), (2, 2), (3, 1)])).expect("right"), 2);
        assert!(compare("x", &traced(), &rows(&[(1, 1), (2, 1)])).is_err(), "one is lost");
        assert!(compare("x", &traced(), &rows(&[(1, 2)])).is_err(), "another is lost");
        assert!(compare("x", &traced(), &rows(&[(1, 2), (2, 3)])).is_err(), "too many");
        assert!(compare("x", &traced(), &rows(&[(1, 2), (2, 1), (4, 1)])).is_err(), "nobody asked for it");
        let text = serde_json::to_string(&traced()).expect("serialized");
        let back: Traced = serde_json::from_str(&text).expect("deserialized");
        assert_eq!(back.unknown, traced().unknown);
    }
}
