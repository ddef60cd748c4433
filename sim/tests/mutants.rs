//! Known bugs put back into the whole engine, one by one: a bounded search of crashes must find each.
//!
//! | bug | caught here by | also by |
//! |---|---|---|
//! | 1 own end in the stored LV, 2 reserve before freeze | crash points: recovery refuses the log | `engine/tests/mutants.rs` |
//! | 3 release before raise | crashed histories: a predecessor is lost | |
//! | 7 reads do not wait, 8 commit in log order, 9 durable before sync | one log held back | `engine/tests/mutants.rs`, `engine/tests/recovery_mutants.rs` (8) |
//! | 15 zombies revived | one log held back, and a second crash | `engine/tests/recovery_mutants.rs` |
//! | 16 no sync before the cut | crash points: what a start has shown is gone | `engine/tests/recovery_mutants.rs` |
//! | 19 tuple LVs read as zero, 21 idle workers hold back nothing | a late writer and his early successor, replayed | `engine/tests/mutants.rs` (19), `engine/tests/recovery_mutants.rs` (21) |
//!
//! One test, because the switch is for the whole process. Every search passes without a bug first.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use hyades_engine::error::Error;
use hyades_engine::mutant::{Mutant, activate};
use hyades_sim::crash::{
    DATA, Life, Scenario, live, recover_and_check, script, try_point, within, without_the_lost,
};
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_sim::script::{Script, ScriptTransaction, Step};
use hyades_sim::workload;

/// Longer than any search step takes, also with a bug that makes it wait for nothing.
const LIMIT: Duration = Duration::from_secs(20);

type Outcome = Result<(), String>;
/// One step of a search, by its number.
type Search = fn(u64) -> Outcome;

fn as_text(error: Error) -> String {
    error.to_string()
}

/// Two logs, cut anywhere.
fn crash_point(attempt: u64) -> Outcome {
    try_point(Scenario::taurus(2), &script(attempt), 20 + attempt * 7 % 100).map(drop)
}

/// Concurrent sessions, two crashes.
fn crashed_history(attempt: u64) -> Outcome {
    workload::crash_twice(Scenario::taurus(2), attempt).map(drop)
}

/// Sessions 0 and 2 append to log 1, sessions 1 and 3 to log 0: the tables were created by worker 0.
const IN_LOG_0: usize = 1;
const IN_LOG_1: usize = 0;

fn transaction(session: usize, step: Step) -> ScriptTransaction {
    ScriptTransaction { session, steps: vec![step], is_rolled_back: false }
}

/// Log 1 hangs; what depends on it must neither be acknowledged nor survive, and everything else must do both.
///
/// ```text
///   0: put in log 1, durable    1: put in log 0, durable    -- log 1 hangs --
///   2: put in log 1    3, 4: after 2, in log 0 (zombies)    5: in log 0, alone    6: reads what 2 wrote
///   -- power cut --    7...: in both logs, beyond the end of 2    -- power cut --
/// ```
fn held_log_script() -> Script {
    let put = |session, key| transaction(session, Step::Put { key, value: key as i64 });
    let mut transactions = vec![
        put(IN_LOG_1, 1),
        put(IN_LOG_0, 2),
        put(IN_LOG_1, 10),
        transaction(IN_LOG_0, Step::Add { key: 10, amount: 5 }),
        transaction(IN_LOG_0, Step::Add { key: 10, amount: 7 }),
        put(IN_LOG_0, 4),
        transaction(IN_LOG_0, Step::Read { key: 10 }),
    ];
    for key in 0..20 {
        transactions.extend([put(IN_LOG_1, 20 + key), put(IN_LOG_0, 40 + key)]);
    }
    Script { transactions }
}

fn held_log(attempt: u64) -> Outcome {
    let scenario = Scenario::taurus(2);
    let script = held_log_script();
    let disk = SimulatedDisk::new(attempt);
    let engine = scenario.open(&disk).map_err(as_text)?;
    let mut life = Life::begin(&*engine, attempt).map_err(as_text)?;
    let mut answers = Vec::new();
    for number in 0..7 {
        if number == 2 {
            disk.hold_writes_under(Some(&Path::new(DATA).join("logs/log-1")));
        }
        let answer = life.run_one(&script, number).map_err(as_text)?;
        if matches!(number, 0 | 1 | 5) {
            // None of these depends on the log that hangs.
            let waiting = answer.clone();
            within(LIMIT, || waiting.wait().map_err(as_text))?;
        }
        answers.push(answer);
    }
    std::thread::sleep(Duration::from_millis(1));
    let acknowledged = (0..7).filter(|number| answers[*number].is_durable()).collect();
    disk.crash_now();
    drop(engine);

    let found = disk.after(PowerCut::LoseUnsynced);
    let mut ledger = recover_and_check(&found, scenario, &script, &acknowledged)?;
    let script = without_the_lost(&script, 7, &ledger);
    ledger.extend(live(&found, scenario, &script, 7..script.transactions.len(), attempt)?);
    recover_and_check(&found.after(PowerCut::LoseUnsynced), scenario, &script, &ledger).map(drop)
}

/// Log 0 is long, and at its end stands the last but one write of a row; the last one is the first of log 1. Replayed out of order, the
/// row is wrong.
fn late_writer_and_early_successor(attempt: u64) -> Outcome {
    const LONG: usize = 1500;
    const KEY: u64 = 1_000_000;
    let scenario = Scenario::taurus(2);
    let put = |key: u64, value| transaction(IN_LOG_0, Step::Put { key, value });
    let mut transactions: Vec<_> = (0..LONG).map(|number| put(number as u64 % 50, number as i64)).collect();
    transactions.push(put(KEY, 1));
    transactions.push(transaction(IN_LOG_0, Step::Read { key: KEY }));
    transactions.push(transaction(IN_LOG_1, Step::Put { key: KEY, value: 2 }));
    let script = Script { transactions };

    let disk = SimulatedDisk::new(attempt);
    let engine = scenario.open(&disk).map_err(as_text)?;
    let mut life = Life::begin(&*engine, attempt).map_err(as_text)?;
    for number in 0..script.transactions.len() {
        let answer = life.run_one(&script, number).map_err(as_text)?;
        if number >= LONG {
            // Once it is durable, the reader lets the row's lock entry be forgotten.
            answer.wait().map_err(as_text)?;
        }
    }
    engine.shutdown().map_err(as_text)?;
    drop(engine);
    let all: BTreeSet<usize> = script.writing();
    for _ in 0..5 {
        recover_and_check(&disk.after(PowerCut::LoseUnsynced), scenario, &script, &all)?;
    }
    Ok(())
}

/// Which step of the search found something, and what.
fn search(step: Search, attempts: u64) -> Option<(u64, String)> {
    (0..attempts).find_map(|attempt| Some((attempt, within(LIMIT, move || step(attempt)).err()?)))
}

#[test]
fn every_mutant_is_found() {
    let searches: [(Mutant, Search, u64); 10] = [
        (Mutant::OwnEndInStoredLv, crash_point, 10),
        (Mutant::ReserveBeforeFreeze, crash_point, 10),
        (Mutant::ReleaseBeforeRaise, crashed_history, 100),
        (Mutant::ReadOnlyNoWait, held_log, 10),
        (Mutant::CommitInLogOrder, held_log, 10),
        (Mutant::DurableBeforeSync, held_log, 20),
        (Mutant::ZombiesRevived, held_log, 10),
        (Mutant::NoSyncBeforeCut, crash_point, 100),
        (Mutant::ZeroTupleLv, late_writer_and_early_successor, 20),
        (Mutant::IdleWorkerInfinity, late_writer_and_early_successor, 20),
    ];
    for step in [crash_point, crashed_history, held_log, late_writer_and_early_successor] as [Search; 4] {
        assert_eq!(search(step, 10), None, "a search must find nothing without a bug");
    }
    for (mutant, step, attempts) in searches {
        let started = Instant::now();
        activate(Some(mutant));
        let found = search(step, attempts);
        activate(None);
        let Some((attempt, violation)) = found else {
            panic!("{mutant:?} was not found in {attempts} attempts");
        };
        let first_line = violation.lines().next().unwrap_or_default();
        println!("{mutant:?}: attempt {attempt}, {} ms: {first_line}", started.elapsed().as_millis());
    }
}
