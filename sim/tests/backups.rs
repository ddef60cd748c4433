//! Backups while transactions run and checkpoints give up logs. A restored backup is closed under
//! dependencies and holds everything that was acknowledged before the backup began. A restore to a point in
//! time has the state of that time.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyades_engine::backup::{Place, PointInTime, back_up, restore};
use hyades_engine::config::Config;
use hyades_engine::db::{Engine, open};
use hyades_engine::disk::Disk;
use hyades_engine::recovery::{recover, state_hash};
use hyades_engine::storage::databases::Databases;
use hyades_sim::crash::{Calls, Checkpoints, DATA, Life, Observed, Scenario, script, take_checkpoint};
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_sim::routines::test_compiler;
use hyades_sim::script::Script;

const BACKUP: &str = "/backup";
/// Each is made and restored, of one run.
const MOST_BACKUPS: usize = 12;

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as u64
}

/// The contents of the restored database.
fn restored(disk: &SimulatedDisk, scenario: Scenario, into: &str, point: PointInTime) -> Observed {
    restored_from(BACKUP, disk, scenario, into, point)
}

fn restored_from(
    backup: &str,
    disk: &SimulatedDisk,
    scenario: Scenario,
    into: &str,
    point: PointInTime,
) -> Observed {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    restore(Place::new(&shared, Path::new(backup)), Place::new(&shared, Path::new(into)), point)
        .expect("restored");
    let config = Config { data_directory: into.into(), ..scenario.config(disk) };
    let engine = open(config, test_compiler()).expect("opens");
    let observed = Observed::read(&*engine).expect("readable");
    engine.shutdown().expect("stops");
    observed
}

fn scenarios() -> [Scenario; 7] {
    [
        Scenario::taurus(2).with(Calls::Mixed),
        Scenario::taurus(4).with(Calls::Commands),
        Scenario::serial().with(Calls::Mixed),
        Scenario::striped(2),
        Scenario::silor(2).with(Calls::Data),
        Scenario::plover(3),
        Scenario::taurus_graph(2),
    ]
}

/// Backs up repeatedly into the same directory until it is told to stop.
fn back_up_often(disk: &SimulatedDisk, stop: &AtomicBool) -> usize {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut done = 0;
    while !stop.load(Ordering::Acquire) {
        // Here checkpoints come faster than any copy can be made.
        match back_up(Place::new(&shared, Path::new(DATA)), Place::new(&shared, Path::new(BACKUP))) {
            Ok(_) => done += 1,
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("is missing") || error.contains("files went while"), "{error}");
            }
        }
    }
    done
}

#[test]
fn a_backup_beside_transactions_and_checkpoints_holds_what_was_acknowledged_before() {
    for (seed, scenario) in scenarios().into_iter().enumerate() {
        let script = script(seed as u64);
        let disk = SimulatedDisk::new(seed as u64);
        let engine: Arc<dyn Engine> = scenario.open(&disk).expect("opens");
        let mut life = Life::begin_with(&*engine, 1, scenario.calls).expect("begins");
        let checkpoints = Checkpoints::start(&engine, &disk);
        let stop = Arc::new(AtomicBool::new(false));
        let backups = std::thread::spawn({
            let (disk, stop) = (disk.clone(), Arc::clone(&stop));
            move || back_up_often(&disk, &stop)
        });
        life.run(&script, 0..75).expect("runs");
        // The threads may not have run yet.
        take_checkpoint(&*engine).expect("taken");
        life.run(&script, 75..150).expect("runs");
        stop.store(true, Ordering::Release);
        backups.join().expect("no panic");
        checkpoints.stop().expect("checkpoints");
        let acknowledged = life.acknowledged();
        // The last backup finds all of it.
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        back_up(Place::new(&shared, Path::new(DATA)), Place::new(&shared, Path::new(BACKUP)))
            .expect("backed up");
        let observed = restored(&disk, scenario, "/restored", PointInTime::End);
        observed.check(&script, &acknowledged).unwrap_or_else(|error| panic!("{scenario:?}: {error}"));
        engine.shutdown().expect("stops");
    }
}

/// Logs are copied one after another while they grow, so a log may hold what follows something that came too
/// late for another one. It does not count.
#[test]
fn a_backup_that_is_made_while_transactions_run_is_closed() {
    let parallel =
        [Scenario::taurus(2), Scenario::taurus(4).with(Calls::Commands), Scenario::taurus_graph(3)];
    for (seed, scenario) in parallel.into_iter().flat_map(|scenario| [3, 4, 5].map(|seed| (seed, scenario))) {
        let script = script(seed);
        let disk = SimulatedDisk::new(seed);
        let engine = scenario.open(&disk).expect("opens");
        let mut life = Life::begin_with(&*engine, 1, scenario.calls).expect("begins");
        let stop = Arc::new(AtomicBool::new(false));
        let backups = std::thread::spawn({
            let (shared, stop): (Arc<dyn Disk>, _) = (Arc::new(disk.clone()), Arc::clone(&stop));
            move || {
                let mut made = 0;
                while !stop.load(Ordering::Acquire) && made < MOST_BACKUPS {
                    let into = format!("/backup-{made}");
                    back_up(Place::new(&shared, Path::new(DATA)), Place::new(&shared, Path::new(&into)))
                        .expect("backed up");
                    made += 1;
                }
                made
            }
        });
        life.run(&script, 0..150).expect("runs");
        stop.store(true, Ordering::Release);
        let made = backups.join().expect("no panic");
        life.acknowledged();
        engine.shutdown().expect("stops");
        for number in 0..made {
            let (backup, into) = (format!("/backup-{number}"), format!("/restored-{number}"));
            let observed = restored_from(&backup, &disk, scenario, &into, PointInTime::End);
            let closed = observed.check(&script, &BTreeSet::new());
            closed.unwrap_or_else(|error| panic!("{scenario:?}, seed {seed}, backup {number}: {error}"));
        }
    }
}

/// The transactions of a range that leave something to recover.
fn writing(script: &Script, range: std::ops::Range<usize>) -> BTreeSet<usize> {
    script.writing().into_iter().filter(|number| range.contains(number)).collect()
}

#[test]
fn a_point_in_time_is_as_the_database_was_then() {
    for (seed, scenario) in scenarios().into_iter().enumerate() {
        let script = script(seed as u64 + 10);
        let disk = SimulatedDisk::new(seed as u64);
        let engine = scenario.open(&disk).expect("opens");
        let mut life = Life::begin_with(&*engine, 1, scenario.calls).expect("begins");
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let mut times = Vec::new();
        for step in 0..4 {
            for number in step * 30..(step + 1) * 30 {
                let answer = life.run_one(&script, number).expect("runs");
                life.expect(number, &answer);
                answer.wait().expect("durable");
            }
            times.push(now_us());
            std::thread::sleep(Duration::from_millis(2));
            if step != 2 {
                take_checkpoint(&*engine).expect("taken");
                back_up(Place::new(&shared, Path::new(DATA)), Place::new(&shared, Path::new(BACKUP)))
                    .expect("backed up");
            }
        }
        drop(life);
        engine.shutdown().expect("stops");
        // The first backup was made after the first time.
        for (step, time) in times.into_iter().enumerate().skip(1) {
            let observed = restored(&disk, scenario, &format!("/restored-{step}"), PointInTime::Time(time));
            assert_eq!(observed.ledger, writing(&script, 0..(step + 1) * 30), "{scenario:?}, step {step}");
            let acknowledged = observed.ledger.clone();
            observed.check(&script, &acknowledged).unwrap_or_else(|error| panic!("{scenario:?}: {error}"));
        }
    }
}

#[test]
fn what_is_no_backup_is_refused_and_a_backup_is_not_opened() {
    let scenario = Scenario::taurus(2);
    let disk = SimulatedDisk::new(1);
    let engine = scenario.open(&disk).expect("opens");
    engine.shutdown().expect("stops");
    drop(engine);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let refused = |outcome: hyades_types::Result<String>| outcome.expect_err("refused").to_string();
    let backed_up = |from: &str, into: &str| {
        back_up(Place::new(&shared, Path::new(from)), Place::new(&shared, Path::new(into)))
            .map(|report| format!("{report:?}"))
    };
    let made = |from: &str, into: &str, point| {
        restore(Place::new(&shared, Path::new(from)), Place::new(&shared, Path::new(into)), point)
            .map(|restored| format!("{restored:?}"))
    };
    assert!(refused(backed_up("/nowhere", BACKUP)).contains("there is no Hyades database"));
    assert!(
        refused(backed_up(DATA, DATA)).contains("in use")
            || refused(backed_up(DATA, DATA)).contains("holds a database")
    );
    assert!(refused(made(DATA, "/new", PointInTime::End)).contains("there is no backup"));
    backed_up(DATA, BACKUP).expect("backed up");
    assert!(refused(made(BACKUP, DATA, PointInTime::End)).contains("holds a database already"));
    let opened = open(Config { data_directory: BACKUP.into(), ..scenario.config(&disk) }, test_compiler());
    assert!(opened.err().expect("refused").to_string().contains("is a backup"));
    // Before anything was written: the empty database.
    made(BACKUP, "/empty", PointInTime::Time(1)).expect("restored");
}

/// The state of a backup that is read in place, as `hyades check` does it.
fn state_of_backup(disk: &SimulatedDisk, scenario: Scenario) -> Result<u64, String> {
    let config = Config { data_directory: BACKUP.into(), reads_backups: true, ..scenario.config(disk) };
    let databases = Arc::new(Databases::new());
    recover(&config, test_compiler(), &databases).map_err(|error| error.to_string())?;
    state_hash(&databases).map_err(|error| error.to_string())
}

#[test]
fn a_backup_that_is_cut_short_leaves_the_one_before_whole() {
    let scenario = Scenario::taurus(2);
    let (script, disk) = (script(20), SimulatedDisk::new(20));
    let live = |range| {
        let engine = scenario.open(&disk).expect("opens");
        Life::begin_with(&*engine, 1, scenario.calls).expect("begins").run(&script, range).expect("runs");
        engine.shutdown().expect("stops");
    };
    let back_up = |disk: &SimulatedDisk| {
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        back_up(Place::new(&shared, Path::new(DATA)), Place::new(&shared, Path::new(BACKUP))).map(drop)
    };
    live(0..40);
    back_up(&disk).expect("backed up");
    let before = state_of_backup(&disk, scenario).expect("whole");
    // The next backup adds incarnations that this one does not know of.
    live(40..60);
    live(60..80);
    let complete = disk.after(PowerCut::KeepUnsynced);
    back_up(&complete).expect("backed up");
    let after = state_of_backup(&complete, scenario).expect("whole");
    assert_ne!(before, after);
    for point in 0.. {
        let copy = disk.after(PowerCut::KeepUnsynced);
        copy.crash_at(copy.operations() + point);
        let is_complete = back_up(&copy).is_ok() && !copy.has_crashed();
        for cut in [PowerCut::KeepUnsynced, PowerCut::Seeded(point)] {
            let found = copy.after(cut);
            let state =
                state_of_backup(&found, scenario).unwrap_or_else(|error| panic!("at {point}: {error}"));
            assert!(state == after || (state == before && !is_complete), "at {point}");
            back_up(&found).unwrap_or_else(|error| panic!("again, at {point}: {error}"));
            assert_eq!(state_of_backup(&found, scenario), Ok(after), "again, at {point}");
        }
        if is_complete {
            return;
        }
    }
}
