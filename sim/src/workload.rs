//! Concurrent list-append transactions, recorded for the checker; also on a disk that fails under them.
//!
//! The transactions are point reads, appends that insert or update, and range scans in both directions
//! (absent keys read as empty lists, so phantoms show as cycles), with one statement for each step or all
//! steps in one call. A call enters in the ledger what it has read, so that a replay which reads anything
//! else diverges.
//!
//! Every second session may run at a weaker level. The history then only has to meet that level ([`judge`]),
//! but the serializable calls beside such sessions must still replay the same.
//!
//! Now and then a statement that has to wait is cancelled, with whatever it was granted in that moment, and
//! its transaction goes on from a savepoint.
//!
//! The history continues across a crash: outcomes that no client has learned are unknown, and the first
//! transaction after the recovery reads all lists. So the checker demands that acknowledged appends are in
//! the lists, that all appends of a surviving transaction are there, and that no answered read saw what is
//! gone.

use std::sync::Arc;

use hyades_engine::db::{Engine, Isolation, Logging};
use hyades_engine::procedure::ir::Direction;
use hyades_types::definition::IndexKind;
use hyades_types::error::sqlstate;
use hyades_types::{Error, Result};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::client::{Client, big, create_tables};
use crate::crash::{Calls, Checkpoints, Laggard, Scenario};
use crate::disk::SimulatedDisk;
use crate::history::{History, Outcome, Recorder, Recording};
use crate::routines::{SCANNED_KEYS, create_routines};
use crate::serializability::{Anomaly, AnomalyKind, CheckOptions, CheckReport, check, explain};
use crate::threads;

/// Few keys, so that the sessions conflict.
pub const KEYS: u64 = 10;
/// Sessions, each in a thread of its own.
pub const SESSIONS: u32 = 4;
/// Transactions of one session in a life that ends with a crash. Most lives end before that.
const TRANSACTIONS: u32 = 60;

fn steps(
    client: &mut Client,
    recording: &mut Recording<'_>,
    recorder: &Recorder,
    random: &mut StdRng,
) -> Result<()> {
    for _ in 0..random.random_range(1..=4) {
        client.set_impatient(random.random_bool(0.3));
        let savepoint = client.savepoint();
        let done = step(client, recording, recorder, random);
        client.set_impatient(false);
        match done {
            Err(Error::Input(error)) if error.state == sqlstate::QUERY_CANCELED => {
                client.rollback_to(savepoint);
            }
            done => done?,
        }
        if random.random_bool(0.3) {
            threads::give_way();
        }
    }
    Ok(())
}

fn step(
    client: &mut Client,
    recording: &mut Recording<'_>,
    recorder: &Recorder,
    random: &mut StdRng,
) -> Result<()> {
    let key = random.random_range(0..KEYS);
    match random.random_range(0..10) {
        0..4 => {
            let list = client.get_list(key)?;
            recording.read(key, list);
        }
        4..9 => {
            let element = recorder.new_element();
            client.append_list(key, element)?;
            recording.append(key, element);
        }
        _ => {
            let direction = if random.random_bool(0.5) { Direction::Forward } else { Direction::Backward };
            let end = (key + SCANNED_KEYS).min(KEYS);
            let found = client.scan_lists(key, end, direction)?;
            for key in key..end {
                let list = found.iter().find(|(at, _)| *at == key).map(|(_, list)| list.clone());
                recording.read(key, list.unwrap_or_default());
            }
        }
    }
    Ok(())
}

/// The same steps in one call.
fn steps_as_call(
    client: &mut Client,
    recording: &mut Recording<'_>,
    recorder: &Recorder,
    random: &mut StdRng,
    logging: Logging,
) -> Result<()> {
    const KINDS: [u64; 10] = [0, 0, 0, 0, 1, 1, 1, 1, 2, 3];
    let steps: Vec<(u64, u64, u64)> = (0..random.random_range(1..=4))
        .map(|_| {
            let (kind, key) = (KINDS[random.random_range(0..10)], random.random_range(0..KEYS));
            (kind, key, recorder.new_element())
        })
        .collect();
    let mut arguments = vec![big(recorder.new_element() as i64)];
    let padded = steps.iter().chain(std::iter::repeat(&(4, 0, 0))).take(4);
    arguments
        .extend(padded.flat_map(|(kind, key, element)| [*kind, *key, *element]).map(|of| big(of as i64)));
    let found = client.call_lists(&arguments, logging)?;
    for (number, (kind, key, element)) in steps.into_iter().enumerate() {
        let list_of = |key| {
            let list = found.iter().find(|(step, at, _)| (*step, *at) == (number, key));
            list.map(|(.., list)| list.clone()).unwrap_or_default()
        };
        match kind {
            1 => recording.append(key, element),
            0 => recording.read(key, list_of(key)),
            _ => (key..(key + SCANNED_KEYS).min(KEYS)).for_each(|key| recording.read(key, list_of(key))),
        }
    }
    Ok(())
}

/// One session's transactions, until the database dies.
fn session(
    engine: &dyn Engine,
    recorder: &Recorder,
    session: u32,
    (transactions, calls, isolation): (u32, Calls, Isolation),
    seed: u64,
) {
    let mut random = StdRng::seed_from_u64(seed.wrapping_mul(1000) + u64::from(session));
    let Ok(mut client) = Client::new(engine) else { return };
    // Some write their logs themselves when they are alone.
    client.worker().promise_to_wait(session.is_multiple_of(2));
    for _ in 0..transactions {
        let mut recording = recorder.begin(session);
        client.begin();
        client.worker().isolate(isolation);
        let outcome = match calls.logging(random.random_range(0..1 << 20)) {
            None => steps(&mut client, &mut recording, recorder, &mut random),
            Some(logging) => steps_as_call(&mut client, &mut recording, recorder, &mut random, logging),
        };
        let is_kept = outcome.is_ok() && random.random_bool(0.95);
        if !is_kept {
            let answer = client.rollback();
            recording.end(Outcome::Aborted);
            if answer.wait().is_err() {
                return;
            }
            continue;
        }
        let answer = client.commit().inspect_err(|_| drop(client.rollback()));
        if matches!(answer, Err(Error::Abort(_))) {
            recording.end(Outcome::Aborted);
            continue;
        }
        client.worker().hasten();
        // Without an answer the outcome is recorded as unknown.
        if answer.and_then(|durability| durability.wait()).is_err() {
            return;
        }
        recording.end(Outcome::Committed);
    }
}

/// Runs all sessions to their end, or to that of the database. Every second one runs at this level.
pub fn run(
    engine: &Arc<dyn Engine>,
    recorder: &Arc<Recorder>,
    transactions: u32,
    (calls, isolation): (Calls, Isolation),
    seed: u64,
) {
    let threads: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let (engine, recorder) = (Arc::clone(engine), Arc::clone(recorder));
            let isolation = if number % 2 == 0 { isolation } else { Isolation::Serializable };
            let life = (transactions, calls, isolation);
            threads::spawn("session", move || session(&*engine, &recorder, number, life, seed))
        })
        .collect();
    for thread in threads {
        assert!(thread.join().is_some(), "a session panicked");
    }
}

/// Reads all lists in one transaction.
pub fn read_all(engine: &dyn Engine, recorder: &Recorder) -> Result<()> {
    let mut client = Client::new(engine)?;
    let mut recording = recorder.begin(SESSIONS);
    client.begin();
    for key in 0..KEYS {
        recording.read(key, client.get_list(key)?);
    }
    client.commit()?.wait()?;
    recording.end(Outcome::Committed);
    Ok(())
}

/// Three lives with one history: the power fails in the first two, at an operation drawn from the seed. The
/// third only reads.
pub fn crash_twice(scenario: Scenario, seed: u64) -> std::result::Result<CheckReport, String> {
    crash_twice_within(scenario, (TRANSACTIONS, 120), seed).map(|(report, _)| report)
}

/// As [`crash_twice`], with this many transactions in each session and life, and a power failure within this
/// many operations. Also returns the number of transactions in the history.
pub fn crash_twice_within(
    scenario: Scenario,
    (transactions, operations): (u32, u64),
    seed: u64,
) -> std::result::Result<(CheckReport, usize), String> {
    let named = |what: &'static str| move |error: Error| format!("{what}: {error}");
    let mut random = StdRng::seed_from_u64(seed);
    let recorder = Arc::new(Recorder::default());
    let mut disk = SimulatedDisk::new(seed);
    let engine = scenario.open(&disk).map_err(named("does not open"))?;
    create_tables(&*engine, IndexKind::Ordered).map_err(named("cannot create tables"))?;
    create_routines(&*engine).map_err(named("cannot create routines"))?;
    drop(engine);
    for life in 0..2 {
        let engine = scenario.open(&disk).map_err(named("does not open"))?;
        read_all(&*engine, &recorder).map_err(named("cannot be read"))?;
        // A checkpoint takes a dozen operations.
        let share = if scenario.takes_checkpoints { 4 } else { 1 };
        disk.crash_at(disk.operations() + random.random_range(1..operations * share));
        let checkpoints = scenario.takes_checkpoints.then(|| Checkpoints::start(&engine, &disk));
        let laggard = seed.is_multiple_of(2).then(|| Laggard::start(&disk, scenario.places(), seed));
        run(&engine, &recorder, transactions, (scenario.calls, scenario.isolation), seed * 2 + life);
        drop(laggard);
        let checkpointed = checkpoints.map_or(Ok(0), Checkpoints::stop);
        checkpointed.map_err(|error| format!("takes no checkpoint: {error}"))?;
        drop(engine);
        disk = disk.after_power_cut(seed);
    }
    let engine = scenario.open(&disk).map_err(named("does not open"))?;
    read_all(&*engine, &recorder).map_err(named("cannot be read"))?;
    let history = recorder.history();
    let report = judge(&history, scenario.isolation).map_err(|anomalies| explain(&anomalies))?;
    Ok((report, history.transactions.len()))
}

/// Checks a history, in real time, of which some transactions ran at this level, and ignores the anomalies
/// that the level permits. Each tangle is reported as its worst anomaly, so nothing worse hides behind a
/// permitted one.
pub fn judge(history: &History, level: Isolation) -> std::result::Result<CheckReport, Vec<Anomaly>> {
    use AnomalyKind::{G2, GSingle, Internal};
    let permitted: &[AnomalyKind] = match level {
        Isolation::ReadCommitted => &[Internal, GSingle, G2],
        Isolation::RepeatableRead => &[G2],
        Isolation::Serializable => &[],
    };
    check(history, CheckOptions { real_time: true }).or_else(|mut anomalies| {
        anomalies.retain(|anomaly| !permitted.contains(&anomaly.kind));
        if anomalies.is_empty() { Ok(CheckReport::default()) } else { Err(anomalies) }
    })
}
