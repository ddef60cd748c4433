//! Restoring to a point: the state at that point, to the row, and a target that a refusal leaves unchanged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyades_engine::backup::{Place, PointInTime, Restored, back_up, restore};
use hyades_engine::config::Config;
use hyades_engine::db::open;
use hyades_engine::disk::Disk;
use hyades_engine::log::manifest::{FORMAT_VERSION, Manifest};
use hyades_engine::lsn::{Lsn, TransactionPlace};
use hyades_engine::recovery::{recover, tables_hash};
use hyades_engine::storage::databases::Databases;
use hyades_sim::crash::{
    Calls, Checkpoints, DATA, Laggard, Life, Observed, Scenario, script, take_checkpoint,
};
use hyades_sim::disk::SimulatedDisk;
use hyades_sim::routines::test_compiler;
use hyades_sim::script::{Script, ScriptTransaction, Step};

const BACKUP: &str = "/backup";

fn scenarios() -> [Scenario; 4] {
    [
        Scenario::taurus(2).with(Calls::Mixed),
        Scenario::taurus(4).with(Calls::Commands),
        Scenario::serial().with(Calls::Mixed),
        Scenario::striped(2),
    ]
}

/// And those whose logs do not count transaction by transaction.
fn all_scenarios() -> Vec<Scenario> {
    let others = [Scenario::silor(2).with(Calls::Data), Scenario::plover(2), Scenario::taurus_graph(3)];
    scenarios().into_iter().chain(others).collect()
}

fn shared(disk: &SimulatedDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

fn backed_up(disk: &SimulatedDisk) {
    back_up(Place::new(&shared(disk), Path::new(DATA)), Place::new(&shared(disk), Path::new(BACKUP)))
        .expect("backed up");
}

fn restored(disk: &SimulatedDisk, into: &str, point: PointInTime) -> hyades_types::Result<Restored> {
    restore(Place::new(&shared(disk), Path::new(BACKUP)), Place::new(&shared(disk), Path::new(into)), point)
}

fn config(disk: &SimulatedDisk, scenario: Scenario, into: &str) -> Config {
    Config { data_directory: into.into(), ..scenario.config(disk) }
}

/// The hash of the state after a restore to this point.
fn restored_hash(disk: &SimulatedDisk, scenario: Scenario, into: &str, point: PointInTime) -> u64 {
    restored(disk, into, point).unwrap_or_else(|error| panic!("{scenario:?}, {point:?}: {error}"));
    let databases = Arc::new(Databases::new());
    recover(&config(disk, scenario, into), test_compiler(), &databases).expect("recovers");
    let hash = tables_hash(&databases.tables()).expect("sound rows");
    disk.take_away(Path::new(into));
    hash
}

/// The contents of a database restored to this point, once it is opened.
fn observed(disk: &SimulatedDisk, scenario: Scenario, into: &str, point: PointInTime) -> Observed {
    restored(disk, into, point).unwrap_or_else(|error| panic!("{scenario:?}, {point:?}: {error}"));
    opened(disk, scenario, into)
}

/// The contents of a restored database, which is taken away.
fn opened(disk: &SimulatedDisk, scenario: Scenario, into: &str) -> Observed {
    let engine = open(config(disk, scenario, into), test_compiler()).expect("opens");
    let observed = Observed::read(&*engine).expect("readable");
    engine.shutdown().expect("stops");
    drop(engine);
    disk.take_away(Path::new(into));
    observed
}

fn files(disk: &SimulatedDisk) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    disk.paths().into_iter().map(|path| (path.clone(), disk.content(&path).ok())).collect()
}

/// The manifest of the backup with a piece of its text replaced, and the right checksum.
fn edited_manifest(disk: &SimulatedDisk, from: &str, to: &str) -> Vec<u8> {
    let whole = disk.content(&Path::new(BACKUP).join("manifest")).expect("there");
    let json = &whole[..whole.len() - "crc32c 00000000\n".len()];
    let edited = String::from_utf8(json.to_vec()).expect("text").replacen(from, to, 1);
    assert_ne!(edited.as_bytes(), json, "{from} is not there");
    [edited.as_bytes(), format!("crc32c {:08x}\n", crc32c::crc32c(edited.as_bytes())).as_bytes()].concat()
}

/// What replaces a file of the backup, the requested point, and the expected error.
type Damage = (&'static str, PathBuf, Vec<u8>, PointInTime, &'static str);

fn damages(disk: &SimulatedDisk) -> [Damage; 9] {
    let manifest = Path::new(BACKUP).join("manifest");
    let whole = disk.content(&manifest).expect("there");
    let part = disk.paths().into_iter().find(|path| {
        path.starts_with(BACKUP) && path.extension().is_some_and(|extension| extension == "part")
    });
    let part = part.unwrap_or_else(|| panic!("{:?}", disk.paths()));
    let place = |log, end| TransactionPlace { incarnation: 1, log, end: Lsn(end) };
    let before_place = |place| PointInTime::Transaction { place, is_exclusive: true };
    [
        ("a time before", manifest.clone(), whole.clone(), PointInTime::Time(1), "begins later than that"),
        (
            "a newer version",
            manifest.clone(),
            edited_manifest(disk, &format!("\"format_version\": {FORMAT_VERSION}"), "\"format_version\": 99"),
            PointInTime::End,
            "data format version 99",
        ),
        ("a flipped byte", manifest.clone(), [b"x", &whole[1..]].concat(), PointInTime::End, "is damaged"),
        ("cut", manifest.clone(), whole[..whole.len() / 2].to_vec(), PointInTime::End, "is damaged"),
        ("a part that is cut", part.clone(), vec![1; 10], PointInTime::End, "not as long as it was"),
        (
            "a checkpoint that is not there",
            manifest.clone(),
            whole.clone(),
            PointInTime::Checkpoint(7),
            "no checkpoint 7, but 1",
        ),
        (
            "a log that is not there",
            manifest.clone(),
            whole.clone(),
            before_place(place(2, 64)),
            "no log 2 of incarnation 1",
        ),
        (
            "a transaction that came later",
            manifest.clone(),
            whole.clone(),
            before_place(place(0, 1 << 40)),
            "ends before transaction 1/0/1099511627776",
        ),
        (
            "a transaction before it",
            manifest.clone(),
            whole.clone(),
            before_place(place(0, 8)),
            "begins after transaction 1/0/8",
        ),
    ]
}

#[test]
fn a_refused_restore_leaves_its_target_as_it_was() {
    let (scenario, script) = (Scenario::taurus(2), script(3));
    let disk = SimulatedDisk::new(3);
    let engine = scenario.open(&disk).expect("opens");
    let mut life = Life::begin(&*engine, 1).expect("begins");
    life.run(&script, 0..60).expect("runs");
    take_checkpoint(&*engine).expect("taken");
    life.run(&script, 60..90).expect("runs");
    let acknowledged = life.acknowledged();
    backed_up(&disk);
    engine.shutdown().expect("stops");
    drop(engine);
    disk.create_directory(Path::new("/empty")).expect("made");

    let damages = damages(&disk);
    for into in ["/new", "/empty"] {
        for (what, path, content, point, words) in &damages {
            let was = disk.content(path).expect("there");
            disk.replace(path, content);
            let before = files(&disk);
            let error = restored(&disk, into, *point).expect_err(what).to_string();
            assert!(error.contains(words), "{what}: {error}");
            assert!(before == files(&disk), "{what}: a file was changed");
            disk.replace(path, &was);
        }
        restored(&disk, into, PointInTime::End).expect("restored");
        let engine = open(config(&disk, scenario, into), test_compiler()).expect("opens");
        let observed = Observed::read(&*engine).expect("readable");
        observed.check(&script, &acknowledged).expect("all of it");
        engine.shutdown().expect("stops");
    }
}

#[test]
fn a_restore_to_a_transaction_has_the_state_that_was_there_with_it_or_before_it() {
    for (seed, scenario) in scenarios().into_iter().enumerate() {
        let script = script(seed as u64 + 20);
        let disk = SimulatedDisk::new(seed as u64);
        let engine = scenario.open(&disk).expect("opens");
        let mut life = Life::begin_with(&*engine, 1, scenario.calls).expect("begins");
        backed_up(&disk);
        let mut points = Vec::new();
        let mut before = tables_hash(&engine.tables()).expect("sound rows");
        for number in 0..60 {
            life.run_one(&script, number).expect("runs").wait().expect("durable");
            let transaction = &script.transactions[number];
            if transaction.is_writing() && !transaction.is_rolled_back {
                let place = life.place(&script, number).expect("it wrote");
                let after = tables_hash(&engine.tables()).expect("sound rows");
                points.push((place, before, after));
                before = after;
            }
            if number % 20 == 15 {
                take_checkpoint(&*engine).expect("taken");
                backed_up(&disk);
            }
        }
        backed_up(&disk);
        drop(life);
        engine.shutdown().expect("stops");
        assert!(points.len() > 20, "{scenario:?}: {}", points.len());
        for (place, before, after) in points.into_iter().step_by(3) {
            let at = |is_exclusive| {
                restored_hash(&disk, scenario, "/new", PointInTime::Transaction { place, is_exclusive })
            };
            assert_eq!(at(false), after, "{scenario:?}: with {place}");
            assert_eq!(at(true), before, "{scenario:?}: before {place}");
        }
    }
}

#[test]
fn a_restore_to_a_transaction_among_others_is_closed_under_dependencies() {
    for (seed, scenario) in scenarios().into_iter().enumerate() {
        let script = script(seed as u64 + 30);
        let disk = SimulatedDisk::new(seed as u64);
        let engine = scenario.open(&disk).expect("opens");
        let mut life = Life::begin_with(&*engine, 1, scenario.calls).expect("begins");
        backed_up(&disk);
        let laggard = Laggard::start(&disk, scenario.places(), seed as u64);
        let mut points = Vec::new();
        for number in 0..120 {
            let acknowledged = life.acknowledged_so_far();
            life.run(&script, number..number + 1).expect("runs");
            let transaction = &script.transactions[number];
            if transaction.is_writing() && !transaction.is_rolled_back {
                points.push((number, life.place(&script, number).expect("it wrote"), acknowledged));
            }
        }
        drop(laggard);
        life.acknowledged();
        backed_up(&disk);
        engine.shutdown().expect("stops");
        for (number, place, acknowledged) in points.into_iter().step_by(7) {
            let point = |is_exclusive| PointInTime::Transaction { place, is_exclusive };
            for is_exclusive in [false, true] {
                let found = observed(&disk, scenario, "/new", point(is_exclusive));
                assert_eq!(found.ledger.contains(&number), !is_exclusive, "{scenario:?}: {place}");
                found.check(&script, &acknowledged).unwrap_or_else(|error| panic!("{scenario:?}: {error}"));
            }
        }
    }
}

#[test]
fn a_restore_to_a_checkpoint_has_what_it_holds() {
    for (seed, scenario) in all_scenarios().into_iter().enumerate() {
        let script = script(seed as u64 + 40);
        let disk = SimulatedDisk::new(seed as u64);
        let engine = scenario.open(&disk).expect("opens");
        let mut life = Life::begin_with(&*engine, 1, scenario.calls).expect("begins");
        let mut hashes = Vec::new();
        for step in 0..4_usize {
            life.run(&script, step * 20..(step + 1) * 20).expect("runs");
            take_checkpoint(&*engine).expect("taken");
            hashes.push(tables_hash(&engine.tables()).expect("sound rows"));
            backed_up(&disk);
        }
        life.run(&script, 80..100).expect("runs");
        life.acknowledged();
        backed_up(&disk);
        engine.shutdown().expect("stops");
        for (number, hash) in (1..).zip(&hashes) {
            let found = restored_hash(&disk, scenario, "/new", PointInTime::Checkpoint(number));
            assert_eq!(found, *hash, "{scenario:?}: checkpoint {number}");
        }
        let points =
            [("/on", PointInTime::Checkpoint(2), "/backup-of-it"), ("/end", PointInTime::End, "/another")];
        for (into, point, backup) in points {
            restored(&disk, into, point).expect("restored");
            goes_on(&disk, scenario, into, backup);
        }
    }
}

/// Asserts that a restored database works like any other: it runs transactions, takes checkpoints, is backed
/// up and starts again.
fn goes_on(disk: &SimulatedDisk, scenario: Scenario, into: &str, backup: &str) {
    let engine = open(config(disk, scenario, into), test_compiler()).expect("opens");
    let back_up = || {
        back_up(Place::new(&shared(disk), Path::new(into)), Place::new(&shared(disk), Path::new(backup)))
            .expect("backed up")
    };
    back_up();
    let script = script(60);
    let mut life = Life::begin_with(&*engine, 1, scenario.calls).expect("begins");
    life.run(&script, 150..200).expect("runs");
    take_checkpoint(&*engine).expect("taken");
    life.acknowledged();
    back_up();
    let hash = tables_hash(&engine.tables()).expect("sound rows");
    engine.shutdown().expect("stops");
    drop(engine);
    let engine = open(config(disk, scenario, into), test_compiler()).expect("opens again");
    assert_eq!(tables_hash(&engine.tables()).expect("sound rows"), hash, "{scenario:?}");
    engine.shutdown().expect("stops");
}

#[test]
fn checkpoints_among_transactions_are_closed_under_dependencies() {
    for (seed, scenario) in all_scenarios().into_iter().enumerate() {
        let script = script(seed as u64 + 50);
        let disk = SimulatedDisk::new(seed as u64);
        let engine = scenario.open(&disk).expect("opens");
        let mut life = Life::begin_with(&*engine, 1, scenario.calls).expect("begins");
        let checkpoints = Checkpoints::start(&engine, &disk);
        let stop = Arc::new(AtomicBool::new(false));
        let backups = std::thread::spawn({
            let (disk, stop) = (disk.clone(), Arc::clone(&stop));
            move || {
                while !stop.load(Ordering::Acquire) {
                    // Here checkpoints come faster than any copy can be made.
                    drop(back_up(
                        Place::new(&shared(&disk), Path::new(DATA)),
                        Place::new(&shared(&disk), Path::new(BACKUP)),
                    ));
                }
            }
        });
        life.run(&script, 0..75).expect("runs");
        // The thread may not have run yet.
        take_checkpoint(&*engine).expect("taken");
        life.run(&script, 75..150).expect("runs");
        checkpoints.stop().expect("checkpoints");
        stop.store(true, Ordering::Release);
        backups.join().expect("no panic");
        backed_up(&disk);
        life.acknowledged();
        engine.shutdown().expect("stops");
        let backup = Manifest::read(&disk, Path::new(BACKUP)).expect("readable").expect("there");
        assert!(!backup.checkpoints.is_empty());
        for checkpoint in &backup.checkpoints {
            let found = observed(&disk, scenario, "/new", PointInTime::Checkpoint(checkpoint.number));
            found.check(&script, &BTreeSet::new()).unwrap_or_else(|error| panic!("{scenario:?}: {error}"));
        }
    }
}

/// Logs hang now and then, and the database is restored to many times.
#[test]
fn times_among_transactions_are_closed_under_dependencies() {
    for (seed, scenario) in all_scenarios().into_iter().enumerate() {
        let script = script(seed as u64 + 70);
        let disk = SimulatedDisk::new(seed as u64);
        let engine = scenario.open(&disk).expect("opens");
        let mut life = Life::begin_with(&*engine, 1, scenario.calls).expect("begins");
        let laggard = Laggard::start(&disk, scenario.places(), seed as u64);
        let now = || std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_micros() as u64;
        let mut times = Vec::new();
        for step in 0..12 {
            life.run(&script, step * 10..(step + 1) * 10).expect("runs");
            times.push(now());
            if step % 4 == 1 {
                take_checkpoint(&*engine).expect("taken");
                backed_up(&disk);
            }
        }
        drop(laggard);
        life.acknowledged();
        backed_up(&disk);
        engine.shutdown().expect("stops");
        let mut tried = 0;
        for time in times.into_iter().flat_map(|time| [0, 200, 400, 800].map(|later| time + later)) {
            // There may be no backup of that time.
            if restored(&disk, "/new", PointInTime::Time(time)).is_ok() {
                tried += 1;
                let found = opened(&disk, scenario, "/new");
                found
                    .check(&script, &BTreeSet::new())
                    .unwrap_or_else(|error| panic!("{scenario:?}: {error}"));
            }
        }
        assert!(tried > 10, "{scenario:?}: {tried}");
    }
}

/// A checkpoint is taken in the middle of an epoch. What comes after it counts only when the epoch is closed
/// in all logs: one log may have a block with a transaction of the epoch that follows another one, which
/// still waits in its log for the next block.
#[test]
fn a_time_in_an_open_epoch_has_nothing_of_what_came_after_the_checkpoint() {
    // On a busy machine a checkpoint takes long.
    let epochs = [300, 1_000, 3_000, 10_000].map(Duration::from_millis);
    let found = epochs.into_iter().find_map(checkpoint_within);
    let [then, in_the_end] = found.expect("the checkpoint is taken in time");
    assert_eq!(then.ledger, BTreeSet::from([0]));
    assert_eq!(in_the_end.ledger, BTreeSet::from([0, 1, 2]));
}

/// What is found of a moment in the middle of an epoch of this length, after a checkpoint in the same one,
/// and of the end. `None` if the checkpoint was not taken before the moment.
fn checkpoint_within(epoch: Duration) -> Option<[Observed; 2]> {
    let scenario = Scenario::silor(2);
    let disk = SimulatedDisk::new(1);
    let engine = open(Config { epoch, ..scenario.config(&disk) }, test_compiler()).expect("opens");
    let step = |session, step| ScriptTransaction { session, steps: vec![step], is_rolled_back: false };
    let transactions = vec![
        step(0, Step::Put { key: 1, value: 1 }),
        step(0, Step::Put { key: 2, value: 2 }),
        step(1, Step::Add { key: 2, amount: 3 }),
    ];
    let script = Script { transactions };
    let mut life = Life::begin(&*engine, 1).expect("begins").without_ballast();
    // A new epoch begins with the first one.
    life.run_one(&script, 0).expect("runs").wait().expect("durable");
    life.run_one(&script, 0).expect("runs");
    let checkpoint = std::thread::spawn({
        let engine = Arc::clone(&engine);
        move || take_checkpoint(&*engine)
    });
    std::thread::sleep(epoch / 10);
    let answers = [1, 2].map(|number| life.run_one(&script, number).expect("runs"));
    std::thread::sleep(epoch / 10);
    let time = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_micros() as u64;
    answers.into_iter().for_each(|answer| answer.wait().expect("durable"));
    checkpoint.join().expect("no panic").expect("taken");
    backed_up(&disk);
    engine.shutdown().expect("stops");
    match restored(&disk, "/new", PointInTime::Time(time)) {
        Ok(_) => {
            let then = opened(&disk, scenario, "/new");
            Some([then, observed(&disk, scenario, "/new", PointInTime::End)])
        }
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains("begins later than that"), "{message}");
            None
        }
    }
}
