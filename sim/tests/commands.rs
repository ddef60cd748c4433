//! Transactions logged as commands: their replay produces, byte for byte, what data logging would have kept.
//!
//! `the_same_state`: one script, three ways to log it. `live_and_recovered`: concurrent random calls that
//! read, scan, copy, insert and delete around each other, logged sometimes one way and sometimes the other;
//! in the end every kind of recovery finds the rows that were there. The rest: what replay refuses, and what
//! is logged as data after all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hyades_engine::config::{Config, ControlKind, ProtocolKind, RecoveryMode};
use hyades_engine::db::{Engine, Logging, LoggingChoice, open};
use hyades_engine::procedure::compiled_routine::{CatalogView, RoutineCompiler};
use hyades_engine::procedure::ir::Procedure;
use hyades_engine::recovery::{recover, state_hash};
use hyades_engine::storage::catalog::NewId;
use hyades_engine::storage::databases::Databases;
use hyades_sim::client::{Client, big, blocking, create_tables};
use hyades_sim::crash::{Calls, FIRST, Observed, Scenario, live, recovered_hash, script, within};
use hyades_sim::disk::SimulatedDisk;
use hyades_sim::routines::test_compiler;
use hyades_sim::routines::{TestCompiler, create_routines, replace_routine};
use hyades_types::definition::{CatalogChange, IndexKind, RoutineDefinition, RoutineId};
use hyades_types::error::Result;
use hyades_types::value::Value;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const SCENARIOS: [fn() -> Scenario; 4] =
    [Scenario::serial, || Scenario::taurus(1), || Scenario::taurus(2), || Scenario::taurus(4)];

fn database(scenario: Scenario, command_images: bool, disk: &SimulatedDisk) -> Arc<dyn Engine> {
    let config =
        Config { log_buffer_bytes: 1 << 20, segment_bytes: 1 << 20, command_images, ..scenario.config(disk) };
    let engine = open(config, test_compiler()).expect("an empty disk");
    create_tables(&*engine, IndexKind::Ordered).expect("the disk works");
    create_routines(&*engine).expect("the disk works");
    engine
}

#[test]
fn the_same_state() {
    for scenario in SCENARIOS {
        let script = script(3);
        let hashes = [Calls::Data, Calls::Commands, Calls::Mixed].map(|calls| {
            let scenario = scenario().with(calls);
            let disk = SimulatedDisk::new(7);
            live(&disk, scenario, &script, 0..FIRST, 7).expect("it lives");
            recovered_hash(&disk, scenario).expect("it recovers")
        });
        assert_eq!(hashes[0], hashes[1], "{:?}", scenario());
        // Transactions of several statements keep no sum of what they read in their ledger entry, so these
        // states differ.
        assert_ne!(hashes[0], hashes[2]);
    }
}

/// The contents of all tables, without the hidden keys.
fn contents(engine: &dyn Engine) -> (Observed, BTreeMap<u64, String>) {
    let observed = Observed::read(engine).expect("it can be read");
    let mut client = Client::new(engine).expect("the tables are there");
    client.begin();
    let texts = client.texts().expect("it can be read").into_iter().collect();
    client.commit().expect("nothing to write").wait().expect("the disk works");
    (observed, texts)
}

const KEYS: u64 = 24;

/// Makes one random call. Returns false if it was refused (a deadlock).
fn random_call(client: &mut Client, random: &mut StdRng) -> bool {
    let mut key = || random.random_range(0..KEYS) as i64;
    let (one, other) = (key(), key());
    let low = one.min(other);
    let (name, arguments) = match random.random_range(0..28) {
        0..7 => ("copy", vec![one, other, random.random_range(1..5)]),
        7..11 => ("sum", vec![low, low + random.random_range(1..6), random.random_range(0..KEYS) as i64]),
        11..15 => ("remove", vec![one]),
        15 => ("whole", vec![one]),
        16 => ("surroundings", vec![one]),
        17 => ("fail", vec![one]),
        18..20 => ("chances", vec![one]),
        20..25 => ("refer", vec![one, other, random.random_range(1..5)]),
        25 => ("bump", vec![one]),
        _ => ("journal", vec![one]),
    };
    let logging = if random.random_bool(0.7) { Logging::Command } else { Logging::Data };
    client.environment().transaction_time = random.random_range(0..1_000_000_000_000);
    client.environment().statement_time = client.environment().transaction_time + 5;
    let arguments: Vec<Value> = arguments.into_iter().map(big).collect();
    match client.call(name, &arguments, logging) {
        Ok((choice, _)) => {
            assert!(name != "fail");
            assert_eq!(choice == LoggingChoice::Command, logging == Logging::Command, "{choice:?}");
            true
        }
        Err(error) => {
            assert!(name == "fail" || error.sqlstate().0.starts_with("40"), "{error}");
            false
        }
    }
}

fn run_sessions(engine: &Arc<dyn Engine>, sessions: u64, calls: usize, seed: u64) {
    let threads: Vec<_> = (0..sessions)
        .map(|session| {
            let engine = Arc::clone(engine);
            std::thread::spawn(move || {
                let mut client = Client::new(&*engine).expect("the tables are there");
                let mut random = StdRng::seed_from_u64(seed * 100 + session);
                for _ in 0..calls {
                    random_call(&mut client, &mut random);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

fn live_and_recovered_with(scenario: Scenario, seed: u64) -> std::result::Result<(), String> {
    let disk = SimulatedDisk::new(seed);
    // In half of the seeds calls also log their after-images: the same logs can then be replayed both ways.
    let has_images = seed.is_multiple_of(2);
    let engine = database(scenario, has_images, &disk);
    run_sessions(&engine, 4, 150, seed);
    let before = contents(&*engine);
    engine.shutdown().map_err(|error| error.to_string())?;
    drop(engine);
    let mut hashes = Vec::new();
    for (recovery_workers, recovery_mode, replay_images) in [
        (1, RecoveryMode::Auto, false),
        (2, RecoveryMode::Parallel, false),
        (4, RecoveryMode::Auto, false),
        (4, RecoveryMode::Serial, false),
        (1, RecoveryMode::Auto, true),
        (4, RecoveryMode::Parallel, true),
    ] {
        let config = Config { recovery_workers, recovery_mode, replay_images, ..scenario.config(&disk) };
        // Without a compiler no call can be run.
        let compiler = if has_images && replay_images { None } else { test_compiler() };
        let databases = Arc::new(Databases::new());
        recover(&config, compiler, &databases)
            .map_err(|error| format!("{recovery_workers} workers: {error}"))?;
        hashes.push(state_hash(&databases).map_err(|error| error.to_string())?);
    }
    if hashes.iter().any(|hash| *hash != hashes[0]) {
        return Err(format!("different states: {hashes:?}"));
    }
    let engine = scenario.open(&disk).map_err(|error| error.to_string())?;
    let after = contents(&*engine);
    if before != after {
        return Err(format!("before {before:?}, after {after:?}"));
    }
    Ok(())
}

#[test]
fn live_and_recovered() {
    let controls = ControlKind::ALL
        .into_iter()
        .flat_map(|control| SCENARIOS.into_iter().map(move |scenario| (control, scenario().under(control))));
    for (control, scenario) in controls {
        let seeds = if control == ControlKind::TwoPhaseLocking { 12 } else { 6 };
        for seed in 0..seeds {
            if let Err(error) =
                within(Duration::from_secs(60), move || live_and_recovered_with(scenario, seed))
            {
                panic!("seed {seed}, {scenario:?}: {error}");
            }
        }
    }
}

/// Calls `copy(from, to, amount)` and returns how it was logged.
fn copy(client: &mut Client, from: i64, to: i64, amount: i64) -> LoggingChoice {
    let (choice, durability) =
        client.call("copy", &[from, to, amount].map(big), Logging::Auto).expect("nobody else is there");
    durability.wait().expect("the disk works");
    choice
}

#[test]
fn replaced_routines_replay_as_they_were() {
    for scenario in SCENARIOS {
        let (scenario, disk) = (scenario(), SimulatedDisk::new(1));
        let engine = database(scenario, false, &disk);
        let mut clients: Vec<_> =
            (0..4).map(|_| Client::new(&*engine).expect("the tables are there")).collect();
        let mut expected = BTreeMap::new();
        for round in 0..20 {
            let is_twice = round % 2 == 1;
            let body = if is_twice { "copy twice" } else { "copy" };
            replace_routine(&*engine, "copy", 3, body).expect("nobody else is there");
            for (number, client) in clients.iter_mut().enumerate() {
                let to = 100 + number as u64;
                let call = client.call("copy", &[1, to as i64, round].map(big), Logging::Auto);
                assert_eq!(call.expect("nobody else is there").0, LoggingChoice::Command);
                expected.insert(to, round + if is_twice { 1000 } else { 0 });
            }
        }
        drop(clients);
        engine.shutdown().expect("the disk works");
        drop(engine);
        let engine = scenario.open(&disk).expect("it recovers");
        assert_eq!(Observed::read(&*engine).expect("it can be read").rows, expected);
    }
}

/// Compiles the source of another routine, or none.
struct Wrong(Option<&'static str>);

impl RoutineCompiler for Wrong {
    fn compile(&self, routine: &RoutineDefinition, databases: &dyn CatalogView) -> Result<Procedure> {
        let body = self.0.unwrap_or("nothing that exists").to_owned();
        TestCompiler.compile(&RoutineDefinition { body, ..routine.clone() }, databases)
    }
}

#[test]
fn divergence_is_refused_with_routine_log_and_position() {
    let disk = SimulatedDisk::new(1);
    let scenario = Scenario::taurus(2);
    let engine = database(scenario, false, &disk);
    let mut client = Client::new(&*engine).expect("the tables are there");
    assert_eq!(copy(&mut client, 1, 2, 3), LoggingChoice::Command);
    drop(client);
    engine.shutdown().expect("the disk works");
    drop(engine);
    let refused = |compiler: Option<Arc<dyn RoutineCompiler>>| {
        let recovered = recover(&scenario.config(&disk), compiler, &Arc::new(Databases::new()));
        recovered.map(drop).expect_err("it must not recover").to_string()
    };
    let signature = "procedure copy(bigint, bigint, bigint)";
    let other = refused(Some(Arc::new(Wrong(Some("copy twice")))));
    assert!(other.contains(signature) && other.contains("writes something else than it did"), "{other}");
    assert!(other.contains("log 0") || other.contains("log 1"), "{other}");
    assert!(other.contains("in the record that ends at position"), "{other}");
    let failing = refused(Some(Arc::new(Wrong(Some("fail")))));
    assert!(failing.contains(signature) && failing.contains("it fails with \"on purpose\""), "{failing}");
    let nothing = refused(Some(Arc::new(Wrong(None))));
    assert!(nothing.contains(signature) && nothing.contains("it does not compile"), "{nothing}");
    let missing = refused(None);
    assert!(missing.contains(signature) && missing.contains("has no compiler for routines"), "{missing}");
    scenario.open(&disk).expect("nothing was written meanwhile");
}

#[test]
fn anything_else_in_the_transaction_makes_it_data() {
    let disk = SimulatedDisk::new(1);
    let scenario = Scenario::taurus(2);
    let engine = database(scenario, false, &disk);
    let mut client = Client::new(&*engine).expect("the tables are there");
    let call = |client: &mut Client, to: i64| {
        client.call_inside("copy", &[50, to, to].map(big), Logging::Auto).expect("nobody else is there")
    };
    // The transaction does something before the call.
    client.begin();
    client.put_number(1, 1).expect("nobody else is there");
    let LoggingChoice::Data(reason) = call(&mut client, 2) else { panic!("it was not alone") };
    assert!(reason.contains("something else has happened"), "{reason}");
    client.commit().expect("the disk works");
    // It does something after the call. Then the same row twice, with a savepoint in between.
    client.begin();
    assert_eq!(call(&mut client, 3), LoggingChoice::Command);
    client.add_number(3, 10).expect("nobody else is there");
    let savepoint = client.worker().savepoint();
    client.add_number(3, 100).expect("nobody else is there");
    drop(client.worker().rollback_to(savepoint));
    client.delete_number(2).expect("nobody else is there");
    client.commit().expect("the disk works");
    // The client rolls a call back, and makes another one.
    client.begin();
    let savepoint = client.worker().savepoint();
    assert_eq!(call(&mut client, 4), LoggingChoice::Command);
    drop(client.worker().rollback_to(savepoint));
    client.put_number(5, 5).expect("nobody else is there");
    client.commit().expect("the disk works");
    // A schema change after a call that wrote one row several times.
    client.begin();
    let choice =
        client.call_inside("sum", &[0, 10, 3].map(big), Logging::Auto).expect("nobody else is there");
    assert_eq!(choice, LoggingChoice::Command);
    let id = RoutineId(client.worker().new_id(NewId::Object));
    let definition = hyades_sim::routines::definition("again", 3, "copy");
    let change = CatalogChange::CreateRoutine { id, definition, replaces: None };
    blocking(|| client.worker().change_catalog(change.clone())).expect("nobody else is there");
    client.commit().expect("the disk works");
    // A call that only reads leaves no record and no trace.
    client.begin();
    let choice = client.call_inside("remove", &[big(77)], Logging::Auto).expect("nobody else is there");
    assert_eq!(choice, LoggingChoice::Command);
    client.commit().expect("the disk works").wait().expect("the disk works");
    let before = contents(&*engine);
    drop(client);
    engine.shutdown().expect("the disk works");
    drop(engine);
    let engine = scenario.open(&disk).expect("it recovers");
    assert_eq!(contents(&*engine), before);
    assert!(before.0.rows.contains_key(&3) && !before.0.rows.contains_key(&2), "{before:?}");
    assert_eq!(engine.recovery_report().transactions, 6);
}

#[test]
fn the_choice_has_its_reason() {
    let disk = SimulatedDisk::new(1);
    let engine = database(Scenario::taurus(2), false, &disk);
    let mut client = Client::new(&*engine).expect("the tables are there");
    let arguments = [1, 2, 3].map(big);
    let choice = client.call("copy", &arguments, Logging::Data).expect("nobody else is there").0;
    assert_eq!(choice, LoggingChoice::Data("hyades.logging is data".into()));
    // A schema change that has not committed keeps no call away.
    let mut other = engine.worker();
    other.begin();
    let id = RoutineId(other.new_id(NewId::Object));
    let definition = hyades_sim::routines::definition("again", 3, "copy");
    let change = CatalogChange::CreateRoutine { id, definition, replaces: None };
    blocking(|| other.change_catalog(change.clone())).expect("nobody else is there");
    let choice = client.call("copy", &arguments, Logging::Command).expect("it does not wait").0;
    assert_eq!(choice, LoggingChoice::Command);
    blocking(|| other.commit()).expect("the disk works");
    assert_eq!(copy(&mut client, 1, 2, 3), LoggingChoice::Command);
    drop((client, other));

    let config = Config {
        protocol: ProtocolKind::None,
        disk: Arc::new(SimulatedDisk::new(1)),
        ..Config::new("/data")
    };
    let engine = open(config, test_compiler()).expect("an empty disk");
    create_tables(&*engine, IndexKind::Ordered).expect("no disk");
    create_routines(&*engine).expect("no disk");
    let mut client = Client::new(&*engine).expect("the tables are there");
    assert_eq!(copy(&mut client, 1, 2, 3), LoggingChoice::Data("the protocol writes no log".into()));
}

/// The order of a hash index differs when its rows are inserted in another order (pitfall 26).
#[test]
fn scans_without_order_are_logged_as_data() {
    let disk = SimulatedDisk::new(1);
    let scenario = Scenario::taurus(2);
    let engine = scenario.open(&disk).expect("an empty disk");
    create_tables(&*engine, IndexKind::Hash).expect("the disk works");
    create_routines(&*engine).expect("the disk works");
    let mut client = Client::new(&*engine).expect("the tables are there");
    for key in 0..100 {
        copy(&mut client, 1000, key, key);
    }
    for into in 0..10 {
        client.call("sum", &[0, 100, into].map(big), Logging::Command).expect("nobody else is there");
        client.call("remove", &[big(into + 20)], Logging::Command).expect("nobody else is there");
    }
    let before = contents(&*engine);
    drop(client);
    engine.shutdown().expect("the disk works");
    drop(engine);
    assert_eq!(contents(&*scenario.open(&disk).expect("it recovers")), before);
}
