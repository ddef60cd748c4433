//! Disks that fail but go on working: a failed sync, a full disk, flipped bits.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use hyades_sim::client::{Client, create_tables};
use hyades_sim::crash::{
    Life, Observed, Scenario, live, live_and_kill, recover_and_check, recovered_hash, take_checkpoint, within,
};
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_sim::script::{Script, ScriptOptions};
use hyades_types::definition::IndexKind;
use hyades_types::error::{Error, Result, sqlstate};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const LIMIT: Duration = Duration::from_secs(60);
const TRANSACTIONS: usize = 400;

fn scenarios() -> [Scenario; 6] {
    [
        Scenario::serial(),
        Scenario::taurus(2),
        Scenario::taurus(4),
        Scenario::silor(2),
        Scenario::plover(2),
        Scenario::taurus_graph(3),
    ]
}

fn script(seed: u64) -> Script {
    Script::generate(seed, &ScriptOptions { transactions: TRANSACTIONS, ..ScriptOptions::default() })
}

/// Runs from `first` to the first error, or to the end, and returns how far it came.
fn run_until_error(life: &mut Life, script: &Script, first: usize) -> (usize, Result<()>) {
    for number in first..script.transactions.len() {
        if let Err(error) = life.run(script, number..number + 1) {
            return (number, Err(error));
        }
    }
    (script.transactions.len(), Ok(()))
}

fn is_fatal(error: &Error) -> bool {
    matches!(error, Error::Fatal(_))
}

fn failing_sync(scenario: Scenario, seed: u64) -> std::result::Result<(), String> {
    let script = script(seed);
    let disk = SimulatedDisk::new(seed);
    let engine = scenario.open(&disk).map_err(|error| error.to_string())?;
    let mut life = Life::begin(&*engine, seed).map_err(|error| error.to_string())?;
    let before = 20 + 10 * seed as usize;
    life.run(&script, 0..before).map_err(|error| error.to_string())?;
    // The sync that fails may be that of a segment in preparation, which is simply prepared again.
    let mut number = before;
    while number < TRANSACTIONS {
        disk.fail_next_sync();
        let Err(error) = life.run(&script, number..number + 1) else {
            number += 1;
            continue;
        };
        assert!(is_fatal(&error), "{error}");
        break;
    }
    assert!(number < TRANSACTIONS, "no sync failed");
    // Poisoned for good: no more commits, although the disk works again.
    for later in number + 1..number + 20 {
        match life.run_one(&script, later) {
            Ok(durability) => assert!(!script.transactions[later].is_writing() || !durability.is_durable()),
            Err(error) => assert!(is_fatal(&error), "{error}"),
        }
    }
    let acknowledged = life.acknowledged();
    assert!(acknowledged.iter().all(|acknowledged| *acknowledged < number), "acknowledged after the failure");
    let stopped = engine.shutdown();
    assert!(stopped.as_ref().is_err_and(is_fatal), "{stopped:?}");
    drop(engine);
    for cut in [PowerCut::LoseUnsynced, PowerCut::KeepUnsynced, PowerCut::Seeded(seed)] {
        recover_and_check(&disk.after(cut), scenario, &script, &acknowledged)?;
    }
    Ok(())
}

#[test]
fn a_failed_sync_poisons() {
    for scenario in scenarios() {
        for seed in 0..4 {
            let outcome = within(LIMIT, move || failing_sync(scenario, seed));
            assert_eq!(outcome, Ok(()), "seed {seed}, {scenario:?}");
        }
    }
}

/// Runs 100 transactions, marking those that were refused. A single refusal may be followed by success, but a
/// fatal error may not.
fn run_through_failures(life: &mut Life, script: &mut Script) -> std::result::Result<(), String> {
    let mut is_poisoned = false;
    for number in 0..100 {
        let is_writing = script.transactions[number].is_writing();
        match life.run_one(script, number) {
            Ok(answer) => {
                if is_poisoned && is_writing {
                    return Err(format!("{number} commits after a fatal error"));
                }
                life.expect(number, &answer);
                is_poisoned |= number % 5 == 0 && answer.wait().is_err();
            }
            Err(error) => {
                if is_poisoned && !is_fatal(&error) {
                    return Err(format!("{number} after a fatal error: {error}"));
                }
                is_poisoned |= is_fatal(&error);
                script.transactions[number].is_rolled_back = true;
            }
        }
    }
    Ok(())
}

/// One operation fails with an I/O error, and the disk goes on: the database refuses or is poisoned, and
/// reports nothing that is not true.
fn failing_operation(scenario: Scenario, operation: u64) -> std::result::Result<bool, String> {
    let mut script = script(9);
    let disk = SimulatedDisk::new(operation);
    disk.fail_operation(operation);
    let mut acknowledged = BTreeSet::new();
    if let Ok(engine) = scenario.open(&disk) {
        if let Ok(mut life) = Life::begin(&*engine, operation) {
            run_through_failures(&mut life, &mut script)?;
            acknowledged = life.acknowledged();
        }
        drop(engine.shutdown());
    }
    let named = |error| format!("{error} ({})", disk.describe_operation(operation).unwrap_or_default());
    for cut in [PowerCut::LoseUnsynced, PowerCut::KeepUnsynced] {
        recover_and_check(&disk.after(cut), scenario, &script, &acknowledged).map_err(named)?;
    }
    Ok(disk.operations() > operation)
}

#[test]
fn any_operation_may_fail() {
    for scenario in scenarios() {
        let (mut operation, stride) = (0, if scenario.logs > 2 { 3 } else { 1 });
        loop {
            match within(LIMIT, move || failing_operation(scenario, operation)) {
                Ok(true) => operation += stride,
                Ok(false) => break,
                Err(error) => panic!("operation {operation}, {scenario:?}: {error}"),
            }
        }
        println!("{scenario:?}: one operation in {stride} of {operation} failed, one at a time");
    }
}

/// Writes are refused and reads go on. With space again, writes go on, and nothing acknowledged is lost.
fn full_disk(scenario: Scenario, seed: u64) -> std::result::Result<(), String> {
    let as_text = |error: Error| error.to_string();
    let script = script(seed);
    let disk = SimulatedDisk::new(seed);
    let engine = scenario.open(&disk).map_err(as_text)?;
    let mut life = Life::begin(&*engine, seed).map_err(as_text)?;
    disk.limit_bytes(Some(disk.used_bytes() + (seed + 1) * 50_000));
    let (refused, outcome) = run_until_error(&mut life, &script, 0);
    let Err(error) = outcome else { return Err("the disk was never full".to_owned()) };
    assert_eq!(error.sqlstate(), sqlstate::DISK_FULL, "{error}");
    assert!(!is_fatal(&error), "{error}");
    assert!(error.to_string().contains("No space left on device"), "{error}");
    Observed::read(&*engine).map_err(|error| format!("reads must go on: {error}"))?;
    let cut_while_full = disk.after_power_cut(seed);

    disk.limit_bytes(None);
    let mut script = script;
    script.transactions[refused].is_rolled_back = true;
    let mut number = refused + 1;
    // It takes a moment until the space is noticed. Earlier transactions are refused and leave nothing.
    while number < TRANSACTIONS {
        let (next, outcome) = run_until_error(&mut life, &script, number);
        if let Err(error) = outcome {
            assert_eq!(error.sqlstate(), sqlstate::DISK_FULL, "{error}");
            script.transactions[next].is_rolled_back = true;
            std::thread::sleep(Duration::from_millis(5));
        }
        number = next + 1;
    }
    let acknowledged = life.acknowledged();
    assert!(acknowledged.len() > refused + 20, "writes go on when there is space again");
    engine.shutdown().map_err(as_text)?;
    drop(engine);
    recover_and_check(&disk.after(PowerCut::LoseUnsynced), scenario, &script, &acknowledged)?;
    // What was durable while the disk was full is found on it, and the database opens once it has space.
    cut_while_full.limit_bytes(None);
    let early: BTreeSet<usize> = BTreeSet::new();
    recover_and_check(&cut_while_full, scenario, &script, &early).map(drop)
}

#[test]
fn a_full_disk_refuses_writes_only() {
    for scenario in scenarios() {
        for seed in 0..3 {
            let outcome = within(LIMIT, move || full_disk(scenario, seed));
            assert_eq!(outcome, Ok(()), "seed {seed}, {scenario:?}");
        }
    }
}

/// A start needs space for its first segments. Without it the database reports that, touches nothing, and
/// opens when there is space again.
fn full_disk_at_start(scenario: Scenario) -> std::result::Result<(), String> {
    let disk = SimulatedDisk::new(5);
    let acknowledged = live(&disk, scenario, &script(5), 0..50, 5)?;
    for spare_bytes in [0, 4096, 100_000, 300_000] {
        disk.limit_bytes(Some(disk.used_bytes() + spare_bytes));
        match scenario.open(&disk) {
            Ok(engine) => engine.shutdown().map_err(|error| error.to_string())?,
            Err(error) => {
                let is_plain = error.to_string().contains("No space left on device");
                assert!(is_plain && error.sqlstate() == sqlstate::DISK_FULL, "{}: {error}", error.sqlstate());
            }
        }
        disk.limit_bytes(None);
        recover_and_check(&disk.after_power_cut(spare_bytes), scenario, &script(5), &acknowledged)?;
    }
    recover_and_check(&disk, scenario, &script(5), &acknowledged).map(drop)
}

#[test]
fn a_full_disk_at_a_start_is_no_harm() {
    for scenario in scenarios() {
        assert_eq!(within(LIMIT, move || full_disk_at_start(scenario)), Ok(()), "{scenario:?}");
    }
}

/// Segment files of the first incarnation, and the manifest.
fn damageable(disk: &SimulatedDisk) -> Vec<PathBuf> {
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        name.ends_with(".segment") || name == "manifest"
    };
    disk.paths().into_iter().filter(is_wanted).collect()
}

/// Flips random bits one by one. Returns how many were refused.
fn flip_bits(
    disk: &SimulatedDisk,
    scenario: Scenario,
    flips: u32,
    judge: impl Fn(&SimulatedDisk) -> std::result::Result<(), String>,
) -> std::result::Result<u32, String> {
    let mut random = StdRng::seed_from_u64(7);
    let paths = damageable(disk);
    let mut refused = 0;
    for _ in 0..flips {
        let path = &paths[random.random_range(0..paths.len())];
        let content = disk.content(path).map_err(|error| error.to_string())?;
        let used = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        if used == 0 {
            continue;
        }
        let (offset, bit) = (random.random_range(0..used as u64), random.random_range(0..8));
        let damaged = disk.after(PowerCut::KeepUnsynced);
        damaged.flip_bit(path, offset, bit).map_err(|error| error.to_string())?;
        let place = format!("bit {bit} of byte {offset} of {}", path.display());
        match recovered_hash(&damaged, scenario) {
            Ok(_) => judge(&damaged).map_err(|error| format!("{place}: {error}"))?,
            Err(message) => {
                refused += 1;
                // If the header of a file is damaged, nothing more can be reported.
                let is_placed = path.ends_with("manifest")
                    || offset < 4096
                    || message.contains(" byte ")
                    || message.contains("position");
                if !message.contains(&path.display().to_string()) || !is_placed {
                    return Err(format!("{place}: file or offset is missing: {message}"));
                }
            }
        }
    }
    Ok(refused)
}

/// Every used byte of a database that stopped is known to have been durable. The same holds for one that was
/// killed and opened again.
fn flips_in_ended_incarnations(scenario: Scenario, is_killed: bool) -> std::result::Result<u32, String> {
    let mut disk = SimulatedDisk::new(3);
    if is_killed {
        let (killed, acknowledged) = live_and_kill(&disk, scenario, &script(3), 0..TRANSACTIONS, 3)?;
        recover_and_check(&killed, scenario, &script(3), &acknowledged)?;
        disk = killed;
    } else {
        live(&disk, scenario, &script(3), 0..TRANSACTIONS, 3)?;
    }
    let whole = recovered_hash(&disk, scenario)?;
    flip_bits(&disk, scenario, 200, |damaged| {
        let found = recovered_hash(damaged, scenario)?;
        if found == whole { Ok(()) } else { Err("other data is found".to_owned()) }
    })
}

/// If a database was cut off, bytes after the last anchor cannot be distinguished from a torn write. They may
/// be lost, but what is found is never wrong.
fn flips_in_the_last_incarnation(scenario: Scenario) -> std::result::Result<u32, String> {
    let disk = SimulatedDisk::new(4);
    let (disk, _) = live_and_kill(&disk, scenario, &script(4), 0..TRANSACTIONS, 4)?;
    flip_bits(&disk, scenario, 200, |damaged| {
        recover_and_check(damaged, scenario, &script(4), &BTreeSet::new()).map(drop)
    })
}

#[test]
fn flipped_bits_are_refused_or_harmless() {
    for scenario in scenarios() {
        let closed = within(LIMIT, move || flips_in_ended_incarnations(scenario, false)).expect("precise");
        let ended = within(LIMIT, move || flips_in_ended_incarnations(scenario, true)).expect("precise");
        let last = within(LIMIT, move || flips_in_the_last_incarnation(scenario)).expect("precise");
        println!("{scenario:?}: {closed}, {ended} and {last} flips refused");
        assert!(closed > 100 && ended > 100 && last > 30, "{closed}, {ended} and {last} flips refused");
    }
}

/// The files of the logs are removed under a running database: it notices at the next checkpoint, or when it
/// stops, and acknowledges nothing from then on.
#[test]
fn logs_that_go_while_the_database_runs_are_missed() {
    for scenario in [Scenario::serial(), Scenario::taurus(2), Scenario::striped(2)] {
        for takes_checkpoint in [true, false] {
            let disk = SimulatedDisk::new(3);
            let engine = scenario.open(&disk).expect("opens");
            create_tables(&*engine, IndexKind::Ordered).expect("made");
            let mut client = Client::new(&*engine).expect("begins");
            let mut put = |value| {
                client.begin();
                client.put_number(1, value)?;
                client.commit()?.wait()
            };
            put(1).expect("acknowledged");
            for place in scenario.places() {
                disk.take_away(&place);
            }
            let refused = if takes_checkpoint {
                let refused = take_checkpoint(&*engine).expect_err("it is missed");
                put(2).expect_err("poisoned");
                refused
            } else {
                drop(client);
                engine.shutdown().expect_err("it is missed")
            };
            let refused = refused.to_string();
            assert!(refused.contains("has gone while the server runs"), "{scenario:?}: {refused}");
        }
    }
}

/// The same for files in the middle of a log, and for the one that is being written.
#[test]
fn segments_that_go_while_the_database_runs_are_missed() {
    for scenario in [Scenario::serial(), Scenario::taurus(2), Scenario::striped(2)] {
        for takes_the_last in [true, false] {
            let disk = SimulatedDisk::new(4);
            let engine = scenario.open(&disk).expect("opens");
            create_tables(&*engine, IndexKind::Ordered).expect("made");
            let mut client = Client::new(&*engine).expect("begins");
            let segments = || -> Vec<PathBuf> {
                let of_log = |path: &PathBuf| path.parent() == Some(&scenario.places()[0]);
                disk.paths().into_iter().filter(of_log).collect()
            };
            let mut value = 0;
            while segments().len() < 5 {
                client.begin();
                (0..50).for_each(|key| client.put_number(key, value).expect("written"));
                client.commit().expect("committed").wait().expect("acknowledged");
                value += 1;
            }
            // The last ones have been prepared, and are not in use.
            let has_blocks = |path: &PathBuf| {
                let content = disk.content(path).expect("readable");
                content.iter().skip(4096).any(|byte| *byte != 0)
            };
            let used: Vec<PathBuf> = segments().into_iter().filter(has_blocks).collect();
            let gone = if takes_the_last { used.len() - 1 } else { 1 };
            disk.take_away(&used[gone]);
            let refused = take_checkpoint(&*engine).expect_err("it is missed").to_string();
            assert!(refused.contains("has gone while the server runs"), "{scenario:?}: {refused}");
        }
    }
}
