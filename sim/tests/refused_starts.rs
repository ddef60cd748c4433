//! A start that is refused gives the reason in a sentence, and writes nothing: the same files with the same
//! bytes are there afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::db::open;
use hyades_engine::disk::Disk;
use hyades_sim::crash::{DATA, Scenario, live, live_and_kill, recover_and_check, script};
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_sim::routines::test_compiler;
use hyades_types::error::sqlstate;

const TRANSACTIONS: usize = 200;

fn files(disk: &SimulatedDisk) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    disk.paths().into_iter().map(|path| (path.clone(), disk.content(&path).ok())).collect()
}

/// A database whose last process was closed or killed.
fn database(scenario: Scenario, is_killed: bool) -> SimulatedDisk {
    // With sectors of 4096 bytes the logs take several segments.
    let disk = SimulatedDisk::new(2);
    let script = script(1);
    if is_killed {
        let (killed, _) = live_and_kill(&disk, scenario, &script, 0..TRANSACTIONS, 1).expect("lives");
        return killed.after(PowerCut::KeepUnsynced);
    }
    live(&disk, scenario, &script, 0..TRANSACTIONS, 1).expect("lives");
    disk.after(PowerCut::KeepUnsynced)
}

/// Asserts that a start with this configuration is refused with these words, and that no byte has changed.
fn assert_refused(what: &str, disk: &SimulatedDisk, config: Config, words: &[&str]) {
    let before = files(disk);
    let error = open(config, test_compiler()).map(|_| ()).expect_err(what);
    for word in words {
        assert!(error.to_string().contains(word), "{what}: {error} lacks {word}");
    }
    let after = files(disk);
    let names = |files: &[(PathBuf, Option<Vec<u8>>)]| -> Vec<PathBuf> {
        files.iter().map(|(path, _)| path.clone()).collect()
    };
    assert_eq!(names(&before), names(&after), "{what}");
    assert!(before == after, "{what}: a file was changed");
}

fn data(name: &str) -> PathBuf {
    Path::new(DATA).join(name)
}

/// The segments of log 0, in order.
fn segments(disk: &SimulatedDisk) -> Vec<PathBuf> {
    let is_segment = |path: &PathBuf| path.starts_with(data("logs/log-0")) && path.extension().is_some();
    disk.paths().into_iter().filter(is_segment).collect()
}

#[test]
fn a_segment_missing_in_the_middle_is_refused_and_nothing_is_frozen() {
    for scenario in [Scenario::serial(), Scenario::taurus(1), Scenario::taurus(2)] {
        for is_killed in [false, true] {
            let disk = database(scenario, is_killed);
            let paths = segments(&disk);
            assert!(paths.len() >= 2, "{paths:?}");
            let whole = disk.content(&paths[1]).expect("there");
            let sentence: &[&str] = &["log-0", "damaged"];
            for damage in ["missing", "empty", "blank", "without its first sector", "cut"] {
                let damaged = disk.after(PowerCut::KeepUnsynced);
                match damage {
                    "missing" => damaged.take_away(&paths[1]),
                    "empty" => damaged.replace(&paths[1], &[]),
                    "blank" => damaged.replace(&paths[1], &vec![0; whole.len()]),
                    "cut" => damaged.replace(&paths[1], &whole[..10_000]),
                    _ => damaged.replace(&paths[1], &[&[0; 4096], &whole[4096..]].concat()),
                }
                assert_refused(damage, &damaged, scenario.config(&damaged), sentence);
                // With the segment restored, everything is there again.
                damaged.replace(&paths[1], &whole);
                let all = (0..TRANSACTIONS).collect();
                let found = recover_and_check(&damaged, scenario, &script(1), &all);
                assert!(found.is_ok(), "{damage}: {found:?}");
            }
        }
    }
}

#[test]
fn a_lost_manifest_is_named() {
    let scenario = Scenario::taurus(2);
    let disk = database(scenario, false);
    disk.take_away(&data("manifest"));
    let words = ["\"/data/manifest\" is missing", "put the manifest back"];
    for protocol in [ProtocolKind::Taurus, ProtocolKind::Serial, ProtocolKind::None] {
        let config = Config { protocol, ..scenario.config(&disk) };
        assert_refused("without manifest", &disk, config, &words);
    }
    // The lock file is not created either.
    disk.take_away(&data("lock"));
    assert_refused("without manifest and lock", &disk, scenario.config(&disk), &words);
}

#[test]
fn a_lost_manifest_is_named_where_the_logs_are_elsewhere() {
    let scenario = Scenario::taurus(2);
    let disk = SimulatedDisk::new(1);
    let elsewhere = |disk: &SimulatedDisk| Config {
        log_directories: vec![PathBuf::from("/fast"), PathBuf::from("/near")],
        ..scenario.config(disk)
    };
    open(elsewhere(&disk), test_compiler()).expect("an empty disk").shutdown().expect("closed");
    let disk = disk.after(PowerCut::KeepUnsynced);
    open(elsewhere(&disk), test_compiler()).expect("it is all there").shutdown().expect("closed");
    disk.take_away(Path::new("/data"));
    assert_refused("elsewhere", &disk, elsewhere(&disk), &["\"/data/manifest\" is missing", "/fast/log-0"]);
}

#[test]
fn a_durable_database_is_not_opened_without_a_log() {
    for is_killed in [false, true] {
        let scenario = Scenario::serial();
        let disk = database(scenario, is_killed);
        let config = Config { protocol: ProtocolKind::None, ..scenario.config(&disk) };
        assert_refused("none", &disk, config, &["holds a durable database", "would be lost"]);
    }
    // The protocol's own directory is not a durable database, however often it is opened.
    let disk = SimulatedDisk::new(2);
    for _ in 0..2 {
        let config = Config { protocol: ProtocolKind::None, ..Scenario::serial().config(&disk) };
        open(config, test_compiler()).expect("nothing to lose").shutdown().expect("closed");
        assert!(!disk.exists(&data("manifest")));
    }
    Scenario::serial().open(&disk).expect("nothing was kept");
}

#[test]
fn whatever_else_is_refused_is_left_alone() {
    let scenario = Scenario::taurus(2);
    let whole = database(scenario, true);
    type Damage = fn(&SimulatedDisk);
    let damages: [(&str, Damage, &[&str]); 7] = [
        ("a moved log", |disk| disk.take_away(&data("logs/log-1")), &["log 1 is missing", "symbolic link"]),
        ("a damaged manifest", |disk| disk.replace(&data("manifest"), b"{}"), &["manifest", "is damaged"]),
        ("a foreign file", |disk| disk.replace(&data("logs/log-0/letter"), b"dear"), &["letter"]),
        (
            "a segment of a later run",
            |disk| disk.replace(&data("logs/log-1/00000009-00000001.segment"), &[0; 9000]),
            &["00000009-00000001.segment"],
        ),
        (
            "data in the way of the next run",
            |disk| disk.replace(&data("logs/log-1/00000002-00000001.segment"), &[7; 9000]),
            &["stands in the way of a new log"],
        ),
        (
            "a segment that is none",
            |disk| disk.replace(&segments(disk)[0], &[7; 9000]),
            &["is not the log file it should be"],
        ),
        (
            "a segment of another log",
            |disk| {
                let content = disk.content(&data("logs/log-1/00000001-00000001.segment")).expect("there");
                disk.replace(&segments(disk)[0], &content);
            },
            &["another log's segment"],
        ),
    ];
    for (name, damage, words) in damages {
        let disk = whole.after(PowerCut::KeepUnsynced);
        damage(&disk);
        assert_refused(name, &disk, scenario.config(&disk), words);
    }
    let disk = whole.after(PowerCut::KeepUnsynced);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let lock = shared.lock(&data("lock")).expect("free");
    assert_refused("in use", &disk, scenario.config(&disk), &["is in use by another process"]);
    drop(lock);
    assert_refused("settings", &disk, Config { logs: 0, ..scenario.config(&disk) }, &["number of logs"]);
    assert!(scenario.open(&disk).is_ok());
    let foreign = SimulatedDisk::new(3);
    foreign.create_directory(Path::new(DATA)).expect("created");
    foreign.replace(&data("holiday.jpg"), b"sea");
    let error = scenario.open(&foreign).map(|_| ()).expect_err("not ours");
    assert_eq!(error.sqlstate(), sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE);
    assert_refused("a foreign directory", &foreign, scenario.config(&foreign), &["holiday.jpg"]);
}
